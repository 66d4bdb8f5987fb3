//! Which shapes there are: from numbers to shapes, from names to shapes, and from names to how often they were seen.
//!
//! ```text
//!  TABLE   [ptr; 4096]    by number: a counted pointer; null where there is no shape
//!  INDEX   [u64; 8192]    by fingerprint, four places each: its upper 51 bits and the number + 1, 0 where there is none
//!  SKETCH  [u32; 8192]    by fingerprint: 24 other bits of it, and how often it was seen, 8 bits
//! ```
//! TABLE is the [places](crate::numbered) of shapes. INDEX and SKETCH are hints that may be lost; what INDEX says is checked
//! under the lock of the registry.

use super::{Fingerprint, NAMES_BYTES_MAX, SHAPE_FIELDS_MAX, SHAPES_MAX, Shape, USERS_MIN};
use crate::numbered::{self, Counted, Numbered};
use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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
pub type ShapeRef = Counted<Shape>;

impl Numbered for Shape {
    fn places() -> &'static [AtomicPtr<Shape>] {
        &TABLE
    }

    #[inline]
    fn number(&self) -> u16 {
        self.id()
    }
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
    let _lock = read();
    let word = place.load(Acquire);
    let id = (word & ((1 << NUMBER_BITS) - 1)).checked_sub(1)?;
    // Under the lock what the index says is so.
    let is_it = |shape: &ShapeRef| shape.fingerprint == fingerprint.0 && shape.has(names);
    numbered::get::<Shape>(id as u16).filter(is_it)
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
        return numbered::get::<Shape>(id).filter(|shape| shape.has(names));
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
    registry.unused[usize::from(id)] = 0;
    registry.names_bytes += bytes;
    registry.by_fingerprint.insert(fingerprint.0, id);
    numbered::put(Shape::new(id, fingerprint.0, names));
    let word = fingerprint.0 >> NUMBER_BITS << NUMBER_BITS | (u64::from(id) + 1);
    let place = places(fingerprint).find(|place| place.load(Relaxed) == 0);
    place.or(places(fingerprint).next()).expect("there are places").store(word, Release);
    numbered::get(id)
}

/// Frees shapes that nobody has used since the sweep before the last. For a periodic task: O(shapes).
pub fn sweep() {
    if read().by_fingerprint.is_empty() {
        return;
    }
    let mut registry = write();
    for id in 0..registry.next {
        let Some(users) = numbered::look::<Shape, _>(id, |_, users| users) else { continue };
        let unused = &mut registry.unused[usize::from(id)];
        *unused = if users == 0 { *unused + 1 } else { 0 };
        if *unused < SWEEPS_UNUSED {
            continue;
        }
        let Some((fingerprint, names_bytes)) =
            numbered::look(id, |shape: &Shape, _| (shape.fingerprint, shape.names_bytes()))
        else {
            continue;
        };
        if numbered::take_unused::<Shape>(id) {
            registry.forget(id, fingerprint, names_bytes);
            IS_FULL.store(false, Relaxed);
        }
    }
}

/// What there is now. O(shapes).
pub fn stats() -> ShapeStats {
    let registry = read();
    let mut stats = ShapeStats { times_full: registry.times_full, ..ShapeStats::default() };
    for id in 0..registry.next {
        numbered::look(id, |shape: &Shape, users| {
            stats.shapes += 1;
            stats.users += users;
            stats.bytes += shape.heap_bytes();
            // Two lengths a field, and the shape's number instead of the count.
            stats.saved_bytes += users * (shape.names_bytes() + shape.len());
        });
    }
    stats.saved_bytes = stats.saved_bytes.saturating_sub(stats.bytes);
    stats
}

impl Registry {
    /// Takes a shape that is gone out of all tables.
    fn forget(&mut self, id: u16, fingerprint: u64, names_bytes: usize) {
        let fingerprint = Fingerprint(fingerprint);
        for place in places(fingerprint) {
            let word = place.load(Relaxed);
            if is_of(word, fingerprint) && word & ((1 << NUMBER_BITS) - 1) == u64::from(id) + 1 {
                place.store(0, Relaxed);
            }
        }
        self.by_fingerprint.remove(&fingerprint.0);
        self.names_bytes -= names_bytes;
        self.free.push(id);
        self.unused[usize::from(id)] = 0;
    }
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
