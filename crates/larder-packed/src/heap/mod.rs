//! Where every packed block gets its memory: one place for allocation and free.
//!
//! A general allocator rounds a block up to one of four sizes per doubling: a block of 7.2 KB takes 8 KB and an eighth
//! of the memory is air. Packed blocks are most of what the server holds, so sizes between 1 KB and 72 KB get classes
//! of fine step here, carved from slabs; slabs of small blocks are pieces of larger chunks, so that a class has less of
//! them half empty. Smaller and larger sizes pass through to the global allocator: small ones because its classes are
//! fine enough there, large ones because their untouched pages cost nothing.
//!
//! | size | class step | worst waste | slab |
//! |---|---|---|---|
//! | up to 1 KB | the allocator's own (16, 32, 64, 128 bytes) | 20 % | - |
//! | to 4 KB | 64 | 6 % at 1 KB, 1.6 % at 4 KB | 128 KB |
//! | to 8.5 KB | 64 | 0.8 % at 8 KB | 1 MB |
//! | to 16, 32, 64, 72 KB | 128, 256, 512, 1024 | 1.6 % | 1 MB |
//! | above 72 KB | 16, then pages of the allocator | a page | - |
//!
//! Cost: `alloc` and `free` take one uncontended lock of their class and touch the slab's header line and the block's
//! first line (17-20 ns for the pair). A slab costs 64 bytes of header; its tail beyond the highest block ever handed out is
//! never touched, so a class with one small block costs two pages and not a slab.
//!
//! ```text
//!  slab, aligned to its own size
//!  0        4        8        12       64            64+size       64+2*size
//!  +--------+--------+--------+--------+-------------+-------------+---- - - ----+
//!  | free   | bump   | live   | unused | block       | block       | untouched   |
//!  +--------+--------+--------+--------+-------------+-------------+---- - - ----+
//!    |        first untouched offset       ^ a free block's first 8 bytes: offset of the next free one, 0 at the end;
//!    offset of the first free block, 0 when none           1 if its other pages were given back to the system, else 0
//! ```
//! A slab with one live block left would otherwise keep all the memory that it ever touched: [`trim`] gives the whole
//! pages inside free blocks back to the system. Blocks that are smaller than pages are moved out of such slabs by a
//! [`Mover`].
//!
//! Invariants:
//! - H1: a block handed out lies wholly inside its slab, at `64 + k * size`, below `bump`.
//! - H2: `live` blocks are out; a slab is in its class's `partial` set exactly if it has room and `live > 0`.
//! - H3: the partial slab of the lowest address serves first, so that high slabs run empty and are given back.
//! - H4: a free block's link is never given back: pages are only if they lie wholly after it.
//! - H5: spare (empty, kept) slabs hold at most [`SPARE_BYTES_MAX`] in all, one per class, until [`trim`].
//!   (Threads that keep a slab at the same moment may exceed that by one each: classes share nothing but a
//!   counter.)
//!
//! Tested at the foot of this file, and by every structure on top.

mod mover;
mod pieces;
mod sparse;
mod system;

pub use mover::{Moved, Mover};
pub use sparse::{FULL_EIGHTHS, set_sparse_query, sparse_bytes};

use std::alloc::{Layout, dealloc};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use system::{CHUNK_BYTES, chunk_layout, give_back_range, raw_alloc, raw_alloc_zeroed};

/// Alignment of every block, in bytes.
pub const ALIGN: usize = 8;

/// Sizes up to this pass through to the global allocator.
const SMALL_MAX: usize = 1024;
/// The largest block that [`alloc_growing`] takes from the global allocator instead of a slab.
const SHARED_MAX: usize = 4096;
/// Sizes above this pass through to the global allocator.
const LARGE_MIN: usize = 72 << 10;
/// Slabs of blocks up to this size are pieces of chunks: a table of two million entries in 1 MB slabs of such sizes had
/// 3 MB of empty room in them. Larger blocks would leave too much of a piece's end unused.
const PIECES_MAX: usize = 4096;
/// Bytes before the first block of a slab.
const SLAB_HEADER: usize = 64;
/// The system's pages are this long or, where they are longer, giving back what is shorter does nothing.
const PAGE_SIZE: usize = 4096;
/// All empty slabs that are kept for the next allocation hold at most this together.
const SPARE_BYTES_MAX: usize = 2 << 20;
/// Class ranges: upper bound and step. Each range starts where the one before ends, the first at [`SMALL_MAX`].
const RANGES: [(usize, usize); 5] =
    [(8704, 64), (16 << 10, 128), (32 << 10, 256), (64 << 10, 512), (LARGE_MIN, 1024)];
const CLASS_COUNT: usize = class_count();

static CLASSES: [OwnLine; CLASS_COUNT] = [const { OwnLine(Mutex::new(Class::new())) }; CLASS_COUNT];
static SPARE_BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// See [`thread_growth`].
    static GROWTH: Cell<i64> = const { Cell::new(0) };
}

/// What the slabs hold, for the memory accounting of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapStats {
    /// Bytes of all slabs, as the global allocator sees them.
    pub slab_bytes: usize,
    /// Bytes inside those slabs that no block occupies (free blocks, headers and untouched tails).
    pub free_bytes: usize,
}

/// The bytes that an allocation of `size` really gets; never less than `size`. A caller that grows a block should ask
/// for a size whose class it fills.
pub fn class_size(size: usize) -> usize {
    if size <= SMALL_MAX {
        small_class(size)
    } else {
        slab_class(size).map_or(size.next_multiple_of(16), |c| c.1)
    }
}

/// Allocates `class_size(size)` bytes, uninitialised, aligned to [`ALIGN`].
pub fn alloc(size: usize) -> NonNull<u8> {
    match slab_class(size) {
        Some((index, size)) => lock(index).alloc(size),
        None => raw_alloc(plain_layout(size)),
    }
}

/// The same, filled with zeros. A large block costs nothing for that where the system's pages are new.
pub fn alloc_zeroed(size: usize) -> NonNull<u8> {
    if slab_class(size).is_none() {
        return raw_alloc_zeroed(plain_layout(size));
    }
    let ptr = alloc(size);
    // SAFETY: the block has this many bytes, and is ours alone.
    unsafe { ptr.write_bytes(0, class_size(size)) };
    ptr
}

/// Gives back what [`alloc`] returned.
///
/// # Safety
/// `ptr` came from `alloc(s)` with `class_size(s) == class_size(size)` and is not used again.
pub unsafe fn free(ptr: NonNull<u8>, size: usize) {
    match slab_class(size) {
        // SAFETY: the caller promises that `ptr` is a live block of this class.
        Some((index, size)) => unsafe { lock(index).free(ptr, size) },
        // SAFETY: the caller promises the same class, hence the same layout that `alloc` used.
        None => unsafe { dealloc(ptr.as_ptr(), plain_layout(size)) },
    }
}

/// As [`alloc`] for `class_size(size)` bytes, but what the global allocator has a class of just that size for comes from
/// there, up to [`SHARED_MAX`]. For owners of very many blocks that pass through the sizes as they grow: a slab belongs
/// to one size for good, while the allocator turns small runs of one size into runs of another.
pub fn alloc_growing(size: usize) -> NonNull<u8> {
    if is_shared(size) { raw_alloc(plain_layout(size)) } else { alloc(size) }
}

/// Gives back what [`alloc_growing`] returned.
///
/// # Safety
/// As for [`free`].
pub unsafe fn free_growing(ptr: NonNull<u8>, size: usize) {
    if is_shared(size) {
        // SAFETY: the caller promises the same class, hence the same layout that `alloc_growing` used.
        unsafe { dealloc(ptr.as_ptr(), plain_layout(size)) };
    } else {
        // SAFETY: passed on to the caller.
        unsafe { free(ptr, size) };
    }
}

/// Whether [`alloc_growing`] takes this size from the global allocator though there are slabs of it.
fn is_shared(size: usize) -> bool {
    size <= SHARED_MAX && small_class(size) == size
}

/// Sums up all slabs. Locks each of the classes, about three hundred: for INFO, not for every command.
pub fn stats() -> HeapStats {
    let mut stats = HeapStats::default();
    for index in 0..CLASS_COUNT {
        let class = lock(index);
        let size = size_of_class(index);
        stats.slab_bytes += class.slabs * slab_bytes(size);
        stats.free_bytes += class.slabs * slab_bytes(size) - class.live * size;
    }
    let pieces = pieces::free_bytes();
    HeapStats { slab_bytes: stats.slab_bytes + pieces, free_bytes: stats.free_bytes + pieces }
}

/// Bytes of the blocks in slabs that this thread has taken, less those that it gave back, less the slabs that it took from
/// the global allocator for them. Added to the allocator's own count for the thread, this is by how much the thread has
/// made the memory in use grow: a slab counts only as far as there are blocks in it. May be negative.
#[inline]
pub fn thread_growth() -> i64 {
    GROWTH.get()
}

#[inline]
fn grow(bytes: i64) {
    GROWTH.set(GROWTH.get() + bytes);
}

/// A class, on a cache line that no other class is on: threads that grow blocks of different sizes do not take it from each other.
#[repr(align(64))]
struct OwnLine(Mutex<Class>);

const _: () = assert!(size_of::<OwnLine>() == 64);

/// One size: the slabs that have room, and how many slabs and blocks there are.
struct Class {
    partial: BTreeSet<usize>,
    spare: usize,
    slabs: usize,
    live: usize,
    /// Whether a block was freed since free pages were last given back.
    freed: bool,
}

/// The start of a block that is free.
#[repr(C)]
struct FreeBlock {
    next: u32,
    given_back: u32,
}

/// The header at a slab's start.
#[repr(C)]
struct Slab {
    free: u32,
    bump: u32,
    live: u32,
}

impl Class {
    const fn new() -> Self {
        Class { partial: BTreeSet::new(), spare: 0, slabs: 0, live: 0, freed: false }
    }

    fn alloc(&mut self, size: usize) -> NonNull<u8> {
        let base = match self.partial.first() {
            Some(&base) => base,
            None => self.open_slab(slab_bytes(size)),
        };
        // SAFETY: `base` is a slab of this class (only those are in `partial`, or just opened), and the class lock is
        // held, so nobody else touches its header.
        let slab = unsafe { &mut *(base as *mut Slab) };
        let offset = if slab.free != 0 {
            let offset = slab.free;
            // SAFETY: H1, H4: a free block lies inside the slab and starts with its link.
            slab.free = unsafe { (*((base + offset as usize) as *const FreeBlock)).next };
            offset
        } else {
            slab.bump += size as u32;
            slab.bump - size as u32
        };
        slab.live += 1;
        self.live += 1;
        grow(size as i64);
        if slab.free == 0 && slab.bump as usize + size > slab_bytes(size) {
            self.partial.remove(&base);
        }
        NonNull::new((base + offset as usize) as *mut u8).expect("a slab is not at address zero")
    }

    /// # Safety
    /// `ptr` is a live block of this class, of `size` bytes.
    unsafe fn free(&mut self, ptr: NonNull<u8>, size: usize) {
        let base = ptr.as_ptr() as usize & !(slab_bytes(size) - 1);
        let offset = ptr.as_ptr() as usize - base;
        // SAFETY: slabs are aligned to their size, so the mask finds the header of the slab that the block is from.
        let slab = unsafe { &mut *(base as *mut Slab) };
        assert!(slab.live > 0 && offset < slab.bump as usize, "block is not of this slab");
        let was_full = slab.free == 0 && slab.bump as usize + size > slab_bytes(size);
        // SAFETY: the block is dead by the caller's promise, and at least 8 bytes long.
        unsafe { ptr.as_ptr().cast::<FreeBlock>().write(FreeBlock { next: slab.free, given_back: 0 }) };
        self.freed = true;
        slab.free = offset as u32;
        slab.live -= 1;
        self.live -= 1;
        grow(-(size as i64));
        if slab.live == 0 {
            self.partial.remove(&base);
            self.retire(base, slab_bytes(size));
        } else if was_full {
            self.partial.insert(base);
        }
    }

    /// A slab of this class, which is `bytes` long.
    fn open_slab(&mut self, bytes: usize) -> usize {
        let base = if self.spare != 0 {
            SPARE_BYTES.fetch_sub(bytes, Ordering::Relaxed);
            std::mem::take(&mut self.spare)
        } else {
            self.slabs += 1;
            take_slab(bytes)
        };
        // SAFETY: the slab is ours alone, of `bytes` bytes and aligned to that.
        unsafe { (base as *mut Slab).write(Slab { free: 0, bump: SLAB_HEADER as u32, live: 0 }) };
        self.partial.insert(base);
        base
    }

    /// An empty slab is kept as the class's spare if the budget allows, else given back.
    fn retire(&mut self, base: usize, bytes: usize) {
        if self.spare == 0 && SPARE_BYTES.load(Ordering::Relaxed) + bytes <= SPARE_BYTES_MAX {
            SPARE_BYTES.fetch_add(bytes, Ordering::Relaxed);
            self.spare = base;
            return;
        }
        self.give_back(base, bytes);
    }

    /// Gives the spare slab back, if there is one.
    fn trim(&mut self, bytes: usize) {
        if self.spare != 0 {
            SPARE_BYTES.fetch_sub(bytes, Ordering::Relaxed);
            let base = std::mem::take(&mut self.spare);
            self.give_back(base, bytes);
        }
    }

    /// Gives the pages inside the free blocks of a slab back to the system.
    fn give_back_pages(&mut self, base: usize, size: usize) {
        // SAFETY: `base` is in `partial`, and the class lock is held.
        let mut offset = unsafe { &*(base as *const Slab) }.free as usize;
        while offset != 0 {
            // SAFETY: H1, H4: the offsets of the free list are those of free blocks, which nobody else looks at.
            let block = unsafe { &mut *((base + offset) as *mut FreeBlock) };
            if block.given_back == 0 {
                block.given_back = 1;
                let from = (base + offset + size_of::<FreeBlock>()).next_multiple_of(PAGE_SIZE);
                let until = (base + offset + size) & !(PAGE_SIZE - 1);
                give_back_range(from, until);
            }
            offset = block.next as usize;
        }
    }

    fn give_back(&mut self, base: usize, bytes: usize) {
        self.slabs -= 1;
        // SAFETY: both callers pass a slab of this length that came from `take_slab` and has no live block.
        unsafe { give_slab_back(base, bytes) };
    }
}

/// Memory for a slab.
fn take_slab(bytes: usize) -> usize {
    let (base, taken) = if bytes == pieces::PIECE_BYTES {
        pieces::take()
    } else {
        (raw_alloc(chunk_layout()).as_ptr() as usize, CHUNK_BYTES)
    };
    grow(-(taken as i64));
    base
}

/// # Safety
/// `base` came from `take_slab(bytes)` and nothing uses the slab any more.
unsafe fn give_slab_back(base: usize, bytes: usize) {
    let given = if bytes == pieces::PIECE_BYTES {
        // SAFETY: the caller promises that; slabs of this length are pieces.
        unsafe { pieces::give_back(base) }
    } else {
        // SAFETY: the caller promises that; slabs of another length came from `raw_alloc` with this layout.
        unsafe { dealloc(base as *mut u8, chunk_layout()) };
        CHUNK_BYTES
    };
    grow(given as i64);
}

/// Gives empty slabs back to the global allocator, and the pages of free blocks to the system. Meant for a
/// timer: what has just become free is worth keeping for a while. Holds a class's lock for one slab at a
/// time, some 0.1 ms. When it returns, all is given back that was free when it was called: it waits for
/// another thread that does the same.
pub fn trim() {
    static TRIMMING: Mutex<()> = Mutex::new(());
    let _alone = TRIMMING.lock().unwrap_or_else(PoisonError::into_inner);
    for index in 0..CLASS_COUNT {
        let mut class = lock(index);
        let size = size_of_class(index);
        class.trim(slab_bytes(size));
        // Smaller blocks need not contain a whole page.
        if size < 2 * PAGE_SIZE || !std::mem::take(&mut class.freed) {
            continue;
        }
        let slabs: Vec<usize> = class.partial.iter().copied().collect();
        drop(class);
        for base in slabs {
            let mut class = lock(index);
            if class.partial.contains(&base) {
                class.give_back_pages(base, size);
            }
        }
    }
}

fn lock(index: usize) -> MutexGuard<'static, Class> {
    CLASSES[index].0.lock().unwrap_or_else(PoisonError::into_inner)
}

fn plain_layout(size: usize) -> Layout {
    Layout::from_size_align(class_size(size.max(1)), ALIGN).expect("a block is smaller than isize::MAX")
}

/// Bytes of a slab of blocks of this size.
#[inline]
const fn slab_bytes(size: usize) -> usize {
    if size <= PIECES_MAX { pieces::PIECE_BYTES } else { CHUNK_BYTES }
}

/// The usual allocator classes: four a doubling, 16 bytes at least.
fn small_class(size: usize) -> usize {
    if size <= 128 {
        return size.max(1).next_multiple_of(16);
    }
    let step = (size - 1).next_power_of_two() >> 3;
    size.next_multiple_of(if (size - 1).is_power_of_two() { step << 1 } else { step })
}

/// Index and exact size of the slab class that serves `size`; None when the size passes through.
#[inline]
fn slab_class(size: usize) -> Option<(usize, usize)> {
    if size <= SMALL_MAX || size > LARGE_MIN {
        return None;
    }
    let (mut low, mut index) = (SMALL_MAX, 0);
    for (high, step) in RANGES {
        if size <= high {
            let k = (size - low).div_ceil(step);
            return Some((index + k - 1, low + k * step));
        }
        index += (high - low) / step;
        low = high;
    }
    None
}

fn size_of_class(index: usize) -> usize {
    let (mut low, mut first) = (SMALL_MAX, 0);
    for (high, step) in RANGES {
        let count = (high - low) / step;
        if index < first + count {
            return low + (index - first + 1) * step;
        }
        first += count;
        low = high;
    }
    unreachable!("class index {index} is out of range")
}

const fn class_count() -> usize {
    let (mut low, mut count, mut i) = (SMALL_MAX, 0, 0);
    while i < RANGES.len() {
        count += (RANGES[i].0 - low) / RANGES[i].1;
        low = RANGES[i].0;
        i += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_every_size_tightly() {
        for size in 1..(80 << 10) {
            let class = class_size(size);
            assert!(class >= size && class_size(class) == class, "size {size} class {class}");
            assert!(size <= 8192 || class - size <= size / 60, "size {size} wastes {}", class - size);
            if let Some((index, exact)) = slab_class(size) {
                assert_eq!(size_of_class(index), exact);
                assert!(index < CLASS_COUNT && exact.is_multiple_of(64));
            }
        }
        let small: Vec<usize> =
            [1, 16, 17, 128, 129, 161, 256, 257, 321, 513, 897, 1024].map(class_size).to_vec();
        assert_eq!(small, [16, 16, 32, 128, 160, 192, 256, 320, 384, 640, 1024, 1024]);
    }

    #[test]
    fn blocks_do_not_overlap_and_come_back() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut live: Vec<(NonNull<u8>, usize, u8)> = Vec::new();
        for round in 0..20_000 {
            if rng.usize(..100) < 52 && live.len() < 600 {
                let size = rng.usize(8..20_000);
                let ptr = alloc(size);
                let tag = round as u8;
                // SAFETY: `size` bytes were just allocated.
                unsafe { std::ptr::write_bytes(ptr.as_ptr(), tag, size) };
                live.push((ptr, size, tag));
            } else if !live.is_empty() {
                let (ptr, size, tag) = live.swap_remove(rng.usize(..live.len()));
                // SAFETY: the block is live, was wholly written above, and is freed once.
                unsafe {
                    let bytes = std::slice::from_raw_parts(ptr.as_ptr(), size);
                    assert!(bytes.iter().all(|&b| b == tag));
                    free(ptr, size);
                }
            }
        }
        for (ptr, size, _) in live {
            // SAFETY: each is live and freed once.
            unsafe { free(ptr, size) };
        }
    }

    #[test]
    fn pages_of_free_blocks_go_and_come_back() {
        const SIZE: usize = 40_960;
        let blocks: Vec<NonNull<u8>> = (0..60).map(|_| alloc(SIZE)).collect();
        for (i, ptr) in blocks.iter().enumerate() {
            // SAFETY: `SIZE` bytes were just allocated.
            unsafe { ptr.as_ptr().write_bytes(i as u8, SIZE) };
        }
        for ptr in blocks.iter().skip(1).step_by(2) {
            // SAFETY: live, and freed once.
            unsafe { free(*ptr, SIZE) };
        }
        trim();
        let again: Vec<NonNull<u8>> = (0..30).map(|_| alloc(SIZE)).collect();
        for ptr in &again {
            // SAFETY: `SIZE` bytes were just allocated.
            unsafe { ptr.as_ptr().write_bytes(0xEE, SIZE) };
        }
        for (i, ptr) in blocks.iter().enumerate().step_by(2) {
            // SAFETY: live, wholly written, and freed once.
            unsafe {
                assert!(std::slice::from_raw_parts(ptr.as_ptr(), SIZE).iter().all(|&b| b == i as u8));
                free(*ptr, SIZE);
            }
        }
        // SAFETY: live, and freed once.
        again.into_iter().for_each(|ptr| unsafe { free(ptr, SIZE) });
    }

    #[test]
    fn threads_share_the_heap() {
        std::thread::scope(|scope| {
            for seed in 0..4 {
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    for _ in 0..5_000 {
                        let size = rng.usize(1100..1300);
                        let ptr = alloc(size);
                        // SAFETY: just allocated, written within bounds, freed once.
                        unsafe {
                            ptr.as_ptr().write(seed as u8);
                            assert_eq!(ptr.as_ptr().read(), seed as u8);
                            free(ptr, size);
                        }
                    }
                });
            }
        });
        let stats = stats();
        assert!(stats.free_bytes <= stats.slab_bytes);
    }
}
