//! The allocator and what it knows: jemalloc with one arena per worker, unused pages given back after about a second by
//! a thread of jemalloc's own.
//!
//! Arena 0 serves everything but the workers. Without this, jemalloc would spread the few threads over four arenas per
//! core, each with half-filled runs of every size.
#![allow(unsafe_code)]

mod sparse;

pub use sparse::{fragmentation, prepare_to_move};

use larder_engine::HostMemory;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tikv_jemalloc_ctl::{background_thread, epoch, raw, stats, stats_print, thread};

/// As in [`MALLOC_CONF`].
const DIRTY_DECAY_MS: isize = 1000;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Read by jemalloc before `main`. The background thread is started later, since a fork would lose it.
// SAFETY: the name is jemalloc's, and the value a NUL-terminated string as jemalloc wants it.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static MALLOC_CONF: Option<&'static std::ffi::c_char> = Some({
    const CONF: &std::ffi::CStr = c"narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0";
    // SAFETY: a C string has at least its NUL.
    unsafe { &*CONF.as_ptr() }
});

/// Starts or stops jemalloc's own thread.
pub fn set_background_thread(on: bool) {
    let _ = background_thread::write(on);
}

/// Gives the calling thread an arena of its own. Without one it goes on with arena 0.
pub fn own_arena() {
    // SAFETY: both names take and give a C `unsigned`, which is `u32`.
    unsafe {
        if let Ok(arena) = raw::read::<u32>(b"arenas.create\0") {
            let _ = raw::write::<u32>(b"thread.arena\0", arena);
        }
    }
}

/// Memory now.
pub fn read() -> HostMemory {
    let _ = epoch::advance();
    let bytes = |result: tikv_jemalloc_ctl::Result<usize>| result.unwrap_or(0) as u64;
    let allocated = bytes(stats::allocated::read());
    // Whole slabs count as allocated, and so do small blocks that are kept at hand for threads: neither is in use.
    let idle = larder_packed::heap::stats().free_bytes as u64 + cached_bytes();
    HostMemory {
        used: allocated.saturating_sub(idle),
        rss: rss_bytes(),
        allocated,
        active: bytes(stats::active::read()),
        resident: bytes(stats::resident::read()),
        system_total: crate::sys::system_memory_bytes(),
    }
}

thread_local! {
    /// jemalloc's counters of the bytes that this thread has allocated and freed so far.
    static COUNTERS: Option<(thread::ThreadLocal<u64>, thread::ThreadLocal<u64>)> =
        Option::zip(thread::allocatedp::read().ok(), thread::deallocatedp::read().ok());
}

/// By how many bytes this thread has made the memory in use grow since it began; may be negative. A few loads.
#[inline]
pub fn thread_growth() -> i64 {
    let plain = COUNTERS.with(|counters| {
        counters.as_ref().map_or(0, |(allocated, freed)| allocated.get().wrapping_sub(freed.get()) as i64)
    });
    plain + larder_packed::heap::thread_growth()
}

/// Bytes of free blocks in the caches of threads.
fn cached_bytes() -> u64 {
    // 4096 stands for all arenas together.
    // SAFETY: the name gives a C `size_t`.
    unsafe { raw::read::<usize>(b"stats.arenas.4096.tcache_bytes\0") }.unwrap_or(0) as u64
}

/// How often all threads were asked to empty their caches of free blocks.
static RELEASES: AtomicU64 = AtomicU64::new(0);

/// Asks all threads to empty their caches of free blocks; the calling one does.
pub fn release_caches() {
    RELEASES.fetch_add(1, Relaxed);
    flush_cache();
}

/// Empties the calling thread's cache of free blocks if that was asked since `seen`, which is noted then.
#[inline]
pub fn follow_release(seen: &mut u64) {
    let asked = RELEASES.load(Relaxed);
    if *seen != asked {
        *seen = asked;
        flush_cache();
    }
}

#[cold]
fn flush_cache() {
    // SAFETY: the name neither takes nor gives anything.
    unsafe {
        tikv_jemalloc_sys::mallctl(
            c"thread.tcache.flush".as_ptr(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            0,
        );
    }
}

/// Gives every unused page back to the kernel: pages decay at once while the decay time is 0.
pub fn purge() {
    // SAFETY: `arenas.narenas` gives a C `unsigned`, `arena.<i>.dirty_decay_ms` takes an `ssize_t`.
    unsafe {
        for arena in 0..raw::read::<u32>(b"arenas.narenas\0").unwrap_or(1) {
            let name = format!("arena.{arena}.dirty_decay_ms\0");
            let _ = raw::write::<isize>(name.as_bytes(), 0);
            let _ = raw::write::<isize>(name.as_bytes(), DIRTY_DECAY_MS);
        }
    }
}

/// What jemalloc says of itself.
pub fn report() -> String {
    let mut text = Vec::new();
    let _ = epoch::advance();
    // A vector takes everything.
    let _ = stats_print::stats_print(&mut text, stats_print::Options::default());
    String::from_utf8_lossy(&text).into_owned()
}

/// Resident memory of the process; 0 where the kernel does not tell.
fn rss_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * crate::sys::page_bytes()
}
