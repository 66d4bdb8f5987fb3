//! Which blocks of jemalloc lie in sparse slabs, and how much memory those take.

use larder_engine::Fragmentation;
use larder_packed::heap::{self, FULL_EIGHTHS};
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;
use tikv_jemalloc_ctl::{epoch, raw};

/// What jemalloc says of an address, in its own order.
#[repr(C)]
#[derive(Default)]
struct Utilization {
    /// The slab that serves next.
    serving: usize,
    free: usize,
    blocks: usize,
    bytes: usize,
    /// The same of all slabs of this size in the arena.
    free_in_all: usize,
    blocks_in_all: usize,
}

/// A name of jemalloc's, looked up.
struct Name {
    numbers: [usize; 4],
    len: usize,
}

/// Prepares the calling thread for moving blocks: without a cache of free blocks it does not get those back that it has just
/// freed. The first call has the heap ask jemalloc about its blocks.
pub fn prepare_to_move() {
    heap::set_sparse_query(is_sparse);
    // SAFETY: the name takes a C `bool`.
    let _ = unsafe { raw::write(b"thread.tcache.enabled\0", false) };
}

/// Memory that moving blocks could give back.
pub fn fragmentation() -> Fragmentation {
    let _ = epoch::advance();
    // SAFETY: the name gives a C `unsigned`.
    let bins: u32 = unsafe { raw::read(b"arenas.nbins\0") }.unwrap_or(0);
    let sparse = (0..bins).filter_map(surplus_bytes).sum::<usize>() + heap::sparse_bytes();
    Fragmentation { sparse: sparse as u64, used: super::read().used }
}

/// Bytes of the slabs of a size that would not be needed if all its blocks lay side by side.
fn surplus_bytes(bin: u32) -> Option<usize> {
    let read = |name: String| {
        // SAFETY: all names given below give a C `size_t`.
        unsafe { raw::read::<usize>(name.as_bytes()) }.ok()
    };
    // SAFETY: the name gives a C `uint32_t`.
    let per_slab = unsafe { raw::read::<u32>(format!("arenas.bin.{bin}.nregs\0").as_bytes()) }.ok()?;
    let slab_bytes = read(format!("arenas.bin.{bin}.slab_size\0"))?;
    // 4096 stands for all arenas together.
    let blocks = read(format!("stats.arenas.4096.bins.{bin}.curregs\0"))?;
    let slabs = read(format!("stats.arenas.4096.bins.{bin}.curslabs\0"))?;
    Some(slabs.saturating_sub(blocks.div_ceil(per_slab as usize)) * slab_bytes)
}

/// Whether a block should move: at least an eighth of its slab is free, the slab does not serve next, and others have room
/// for all that is in a slab.
fn is_sparse(ptr: *const u8) -> bool {
    let Some(of) = utilization(ptr) else { return false };
    let is_serving = (of.serving..of.serving + of.bytes).contains(&ptr.addr());
    of.free * 8 >= of.blocks * (8 - FULL_EIGHTHS) && of.free > 0 && of.free_in_all >= of.blocks && !is_serving
}

/// What jemalloc says of an address that it gave, or of one in the same block.
fn utilization(ptr: *const u8) -> Option<Utilization> {
    static NAME: OnceLock<Option<Name>> = OnceLock::new();
    let name = NAME.get_or_init(|| look_up(c"experimental.utilization.query")).as_ref()?;
    let (mut of, mut len, mut ptr) = (Utilization::default(), size_of::<Utilization>(), ptr);
    // SAFETY: the name takes an address of any kind, and gives six words as `Utilization` has them; the lengths say so, and
    // jemalloc refuses others.
    let failed = unsafe {
        tikv_jemalloc_sys::mallctlbymib(
            name.numbers.as_ptr(),
            name.len,
            (&raw mut of).cast::<c_void>(),
            &raw mut len,
            (&raw mut ptr).cast::<c_void>(),
            size_of::<*const u8>(),
        )
    };
    (failed == 0).then_some(of)
}

fn look_up(name: &CStr) -> Option<Name> {
    let mut found = Name { numbers: [0; 4], len: 4 };
    let name: *const c_char = name.as_ptr();
    // SAFETY: the name ends with NUL, and there is room for as many numbers as the length says.
    let failed =
        unsafe { tikv_jemalloc_sys::mallctlnametomib(name, found.numbers.as_mut_ptr(), &raw mut found.len) };
    (failed == 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a thousand blocks one in ten stays: these are in sparse slabs, and those of a full slab are not.
    #[test]
    fn blocks_of_sparse_slabs_are_told_from_others() {
        let dense: Vec<Box<[u8; 600]>> = (0..2000).map(|_| Box::new([1; 600])).collect();
        assert!(dense.iter().filter(|block| !is_sparse(block.as_ptr())).count() > 1900);
        let kept: Vec<Box<[u8; 600]>> = dense.into_iter().step_by(10).collect();
        let sparse = kept.iter().filter(|block| is_sparse(block.as_ptr())).count();
        assert!(sparse > 150, "{sparse} of {}", kept.len());
        let large = vec![1_u8; 1 << 20];
        assert!(!is_sparse(large.as_ptr()));
    }

    #[test]
    fn fragmentation_is_what_free_blocks_keep() {
        let before = fragmentation().sparse;
        let blocks: Vec<Box<[u8; 700]>> = (0..20_000).map(|_| Box::new([1; 700])).collect();
        let kept: Vec<Box<[u8; 700]>> = blocks.into_iter().step_by(10).collect();
        let after = fragmentation().sparse;
        assert!(after > before + (8 << 20), "{before} {after} {}", kept.len());
    }
}
