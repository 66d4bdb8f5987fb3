//! Which shapes there are: from numbers to shapes, from names to shapes, and from names to how often they were seen.
//!
//! ```text
//!  TABLE   [ptr; 4096]    by number: a counted pointer; null where there is no shape
//!  INDEX   [u64; 8192]    by fingerprint, four places each: its upper 51 bits and the number + 1, 0 where there is none
//!  SKETCH  [u32; 8192]    by fingerprint: 24 other bits of it, and how often it was seen, 8 bits
//! ```
//! Reading is for threads that hold records: they take the pointer of a number from TABLE without a lock. INDEX and SKETCH
//! are hints that may be lost; what INDEX says is checked under the lock of the registry.
//!
//! Invariants, on which all `unsafe` here rests:
//! - P1: the pointer of a number comes from `Arc::into_raw`, and TABLE owns one count of it.
//! - P2: each record and value with a number owns a count of its shape ([`adopt`], [`ShapeRef`]), or borrows from one that
//!   does. So the pointer of a number that a reader finds in a record is live as long as the record.
//! - P3: a count is added by who has one, or under the lock. [`sweep`] frees a shape under the lock, when TABLE has the only
//!   count: then nobody else has one to add to.

use super::{Fingerprint, NAMES_BYTES_MAX, SHAPE_FIELDS_MAX, SHAPES_MAX, Shape, USERS_MIN};
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

const INDEX_LEN: usize = 8192;
/// Places of INDEX that one fingerprint may have.
const WAYS: usize = 4;
const NUMBER_BITS: u32 = 13;
const SKETCH_LEN: usize = 8192;
/// Sweeps that a shape outlives without a user.
const SWEEPS_UNUSED: u8 = 2;

const _: () = assert!(SHAPES_MAX < 1 << NUMBER_BITS && SHAPE_FIELDS_MAX < u8::MAX as usize);

static TABLE: [AtomicPtr<Shape>; SHAPES_MAX] = [const { AtomicPtr::new(null_mut()) }; SHAPES_MAX];
static INDEX: [AtomicU64; INDEX_LEN] = [const { AtomicU64::new(0) }; INDEX_LEN];
static SKETCH: [AtomicU32; SKETCH_LEN] = [const { AtomicU32::new(0) }; SKETCH_LEN];
/// Whether the registry has refused a shape since a sweep has freed one: nobody needs its lock to be refused again.
static IS_FULL: AtomicBool = AtomicBool::new(false);
static ENABLED: AtomicBool = AtomicBool::new(true);
/// Hashes with the same names that make these a shape.
static REQUIRED: AtomicU8 = AtomicU8::new(USERS_MIN);
/// The most shapes at a time.
static LIMIT: AtomicUsize = AtomicUsize::new(SHAPES_MAX);
static CREATED: AtomicU64 = AtomicU64::new(0);
static REGISTRY: LazyLock<RwLock<Registry>> = LazyLock::new(RwLock::default);

#[derive(Default)]
struct Registry {
    by_fingerprint: HashMap<u64, u16>,
    /// Numbers that were given back.
    free: Vec<u16>,
    /// Numbers from here on were never given out.
    next: u16,
    names_bytes: usize,
    /// By number: sweeps that have found no user in a row.
    unused: Vec<u8>,
    /// Number of times the registry became full.
    times_full: u64,
}

/// Figures of the registry, for INFO and the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapeStats {
    /// Shapes.
    pub shapes: usize,
    /// Hashes, clones among them, that use one.
    pub users: usize,
    /// Bytes of all shapes.
    pub bytes: usize,
    /// Bytes of names that hashes would hold themselves, without the bytes of the shapes.
    pub saved_bytes: usize,
    /// Number of times the registry became full.
    pub times_full: u64,
}

/// A shape that its holder keeps alive.
pub struct ShapeRef {
    shape: NonNull<Shape>,
    /// Whether this owns a count. If not it borrows that of a record.
    is_counted: bool,
}

// SAFETY: as for an `Arc` of a type that is never changed.
unsafe impl Send for ShapeRef {}
// SAFETY: as above.
unsafe impl Sync for ShapeRef {}

impl ShapeRef {
    /// The shape of a number, whose count the caller's record or value owns.
    ///
    /// # Safety
    /// A record, or a value that was given away, owns a count of the shape of this number, and does so until this is
    /// dropped.
    #[inline]
    pub(crate) unsafe fn borrowed(id: u16) -> ShapeRef {
        ShapeRef { shape: pointer(id), is_counted: false }
    }

    /// The shape of a number whose count passes to this.
    ///
    /// # Safety
    /// The caller owns a count of the shape of this number, and gives it up.
    #[inline]
    pub(crate) unsafe fn owned(id: u16) -> ShapeRef {
        ShapeRef { shape: pointer(id), is_counted: true }
    }

    /// The same with a count of its own.
    #[inline]
    pub(crate) fn into_counted(self) -> ShapeRef {
        if self.is_counted { self } else { self.clone() }
    }

    /// Gives the count to the caller, who passes it to [`owned`](Self::owned) later.
    #[inline]
    pub(crate) fn into_count(self) -> u16 {
        ManuallyDrop::new(self.into_counted()).id()
    }
}

impl Deref for ShapeRef {
    type Target = Shape;

    #[inline]
    fn deref(&self) -> &Shape {
        // SAFETY: P2.
        unsafe { self.shape.as_ref() }
    }
}

impl Clone for ShapeRef {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: P1, P2: the pointer came from an `Arc` that is alive.
        unsafe { Arc::increment_strong_count(self.shape.as_ptr()) };
        ShapeRef { shape: self.shape, is_counted: true }
    }
}

impl Drop for ShapeRef {
    #[inline]
    fn drop(&mut self) {
        if self.is_counted {
            // SAFETY: P1, and this owns the count.
            unsafe { Arc::decrement_strong_count(self.shape.as_ptr()) };
        }
    }
}

/// Counts a record that has got the number of a shape.
///
/// # Safety
/// The caller holds a [`ShapeRef`] of this number.
#[inline]
pub(crate) unsafe fn adopt(id: u16) {
    // SAFETY: passed on to the caller: P1, P3.
    unsafe { Arc::increment_strong_count(pointer(id).as_ptr()) };
}

/// Gives up the count of a record.
///
/// # Safety
/// [`adopt`] has counted the record, and it is going.
#[inline]
pub(crate) unsafe fn disown(id: u16) {
    // SAFETY: passed on to the caller: P1.
    unsafe { Arc::decrement_strong_count(pointer(id).as_ptr()) };
}

/// Returns the number of shapes ever created. Hashes stored before the last one may take it.
pub fn created() -> u64 {
    CREATED.load(Relaxed)
}

/// Sets how many hashes with the same names make these a shape, for tests: 1 gives a shape to every hash.
pub fn require_users(count: u8) {
    REQUIRED.store(count, Relaxed);
}

/// Sets how many shapes there may be at a time, [`SHAPES_MAX`] at most, for tests. Those that exist stay.
pub fn limit_shapes(count: usize) {
    LIMIT.store(count.min(SHAPES_MAX), Relaxed);
}

/// Switches on or off that hashes get shapes. Hashes that have one keep it.
pub fn enable(on: bool) {
    ENABLED.store(on, Relaxed);
}

/// Whether hashes get shapes.
#[inline]
pub fn is_enabled() -> bool {
    ENABLED.load(Relaxed)
}

/// The shape of a list of names with this fingerprint, if there is one.
#[inline]
pub fn find<'a>(fingerprint: Fingerprint, names: impl Iterator<Item = &'a [u8]>) -> Option<ShapeRef> {
    let place = places(fingerprint).find(|place| is_of(place.load(Relaxed), fingerprint))?;
    let registry = read();
    let word = place.load(Acquire);
    let id = (word & ((1 << NUMBER_BITS) - 1)).checked_sub(1)?;
    // Under the lock what the index says is so.
    let is_it = |shape: &ShapeRef| shape.fingerprint == fingerprint.0 && shape.has(names);
    registry.shape(id as u16).filter(is_it)
}

/// Notes that a hash with these names was stored; whether there are now enough to make them a shape.
#[inline]
pub fn note(fingerprint: Fingerprint) -> bool {
    let counter = &SKETCH[fingerprint.0 as usize % SKETCH_LEN];
    let (own_mark, word) = ((fingerprint.0 >> 40) as u32, counter.load(Relaxed));
    let (seen_mark, seen) = (word >> u8::BITS, word as u8);
    // Another list's counter runs down first, so that one that is frequent keeps its place among many that are not.
    let (mark, seen) = match (seen_mark == own_mark, seen) {
        (true, _) => (own_mark, seen.saturating_add(1)),
        (false, 0) => (own_mark, 1),
        (false, _) => (seen_mark, seen - 1),
    };
    counter.store(mark << u8::BITS | u32::from(seen), Relaxed);
    seen >= REQUIRED.load(Relaxed) && mark == own_mark
}

/// Makes a list of names a shape, unless the registry is full or the names are no list that it takes. Another thread may have
/// been faster.
pub fn create<'a>(
    fingerprint: Fingerprint,
    names: impl Iterator<Item = &'a [u8]> + Clone,
) -> Option<ShapeRef> {
    if IS_FULL.load(Relaxed) {
        return None;
    }
    let mut registry = write();
    if let Some(&id) = registry.by_fingerprint.get(&fingerprint.0) {
        return registry.shape(id).filter(|shape| shape.has(names));
    }
    let (count, bytes) = names.clone().fold((0, 0), |(count, bytes), name| (count + 1, bytes + name.len()));
    let is_full = registry.names_bytes + bytes > NAMES_BYTES_MAX
        || registry.by_fingerprint.len() >= LIMIT.load(Relaxed);
    if is_full {
        IS_FULL.store(true, Relaxed);
        registry.times_full += 1;
    }
    if count == 0 || count > SHAPE_FIELDS_MAX || is_full {
        return None;
    }
    let id = registry.free.pop().unwrap_or(registry.next);
    if id == registry.next {
        registry.next += 1;
        registry.unused.push(0);
    }
    CREATED.fetch_add(1, Relaxed);
    // Another list may count there.
    SKETCH[fingerprint.0 as usize % SKETCH_LEN].store(0, Relaxed);
    let shape = Arc::into_raw(Arc::new(Shape::new(id, fingerprint.0, names)));
    registry.unused[usize::from(id)] = 0;
    registry.names_bytes += bytes;
    registry.by_fingerprint.insert(fingerprint.0, id);
    TABLE[usize::from(id)].store(shape.cast_mut(), Release);
    let word = fingerprint.0 >> NUMBER_BITS << NUMBER_BITS | (u64::from(id) + 1);
    let place = places(fingerprint).find(|place| place.load(Relaxed) == 0);
    place.or(places(fingerprint).next()).expect("there are places").store(word, Release);
    registry.shape(id)
}

/// Frees shapes that nobody has used since the sweep before the last. For a periodic task: O(shapes).
pub fn sweep() {
    if read().by_fingerprint.is_empty() {
        return;
    }
    let mut registry = write();
    for id in 0..registry.next {
        let pointer = TABLE[usize::from(id)].load(Acquire);
        if pointer.is_null() {
            continue;
        }
        // SAFETY: P1: TABLE's own count, which stays where it is.
        let shape = ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        let unused = &mut registry.unused[usize::from(id)];
        *unused = if Arc::strong_count(&shape) == 1 { *unused + 1 } else { 0 };
        if *unused >= SWEEPS_UNUSED {
            registry.free_shape(id, &shape);
            IS_FULL.store(false, Relaxed);
            // SAFETY: P3: TABLE's count was the last, the lock is held for writing, and TABLE has given it up.
            drop(unsafe { Arc::from_raw(pointer) });
        }
    }
}

/// What there is now. O(shapes).
pub fn stats() -> ShapeStats {
    let registry = read();
    let mut stats = ShapeStats { times_full: registry.times_full, ..ShapeStats::default() };
    for id in 0..registry.next {
        let pointer = TABLE[usize::from(id)].load(Acquire);
        if pointer.is_null() {
            continue;
        }
        // SAFETY: P1, and the lock keeps the shape.
        let shape = ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        let users = Arc::strong_count(&shape) - 1;
        stats.shapes += 1;
        stats.users += users;
        stats.bytes += shape.heap_bytes();
        // Two lengths a field, and the shape's number instead of the count.
        stats.saved_bytes += users * (shape.names_bytes() + shape.len());
    }
    stats.saved_bytes = stats.saved_bytes.saturating_sub(stats.bytes);
    stats
}

impl Registry {
    /// The shape of a number, counted. The lock is held.
    fn shape(&self, id: u16) -> Option<ShapeRef> {
        let shape = NonNull::new(TABLE[usize::from(id)].load(Acquire))?;
        let borrowed = ShapeRef { shape, is_counted: false };
        // P3: the lock is held, so TABLE's count lasts meanwhile.
        Some(borrowed.clone())
    }

    /// Takes a shape out of all tables.
    fn free_shape(&mut self, id: u16, shape: &Shape) {
        TABLE[usize::from(id)].store(null_mut(), Release);
        let fingerprint = Fingerprint(shape.fingerprint);
        for place in places(fingerprint) {
            let word = place.load(Relaxed);
            if is_of(word, fingerprint) && word & ((1 << NUMBER_BITS) - 1) == u64::from(id) + 1 {
                place.store(0, Relaxed);
            }
        }
        self.by_fingerprint.remove(&shape.fingerprint);
        self.names_bytes -= shape.names_bytes();
        self.free.push(id);
        self.unused[usize::from(id)] = 0;
    }
}

/// The pointer of a number that is in use.
#[inline]
fn pointer(id: u16) -> NonNull<Shape> {
    let pointer = TABLE.get(usize::from(id)).map_or(null_mut(), |place| place.load(Acquire));
    NonNull::new(pointer).expect("a number in use has a shape")
}

/// Where INDEX may name a fingerprint.
#[inline]
fn places(fingerprint: Fingerprint) -> impl Iterator<Item = &'static AtomicU64> {
    let first = (fingerprint.0 >> 40) as usize % (INDEX_LEN / WAYS) * WAYS;
    INDEX[first..first + WAYS].iter()
}

#[inline]
fn is_of(word: u64, fingerprint: Fingerprint) -> bool {
    word != 0 && word >> NUMBER_BITS == fingerprint.0 >> NUMBER_BITS
}

fn read() -> RwLockReadGuard<'static, Registry> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Registry> {
    REGISTRY.write().unwrap_or_else(PoisonError::into_inner)
}
