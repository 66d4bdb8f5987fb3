//! The table against models, hostile hashes, and its own promises.

mod capture;
mod expiry;
mod model;
mod prefix;
mod promises;
mod sample;

use super::{ExpireChange, IntoRaw, KINDS_MAX, KeyHash, KeyTable, NewValue};
use larder_packed::heap::Mover;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// A hash as good as any: FNV with a finalizer.
pub struct Good;

impl KeyHash for Good {
    fn hash(key: &[u8]) -> u64 {
        let mut h = key
            .iter()
            .fold(0xCBF2_9CE4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3));
        h = (h ^ h >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        h = (h ^ h >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        h ^ h >> 31
    }
}

/// The key's first eight bytes are its hash, so that a test can choose it.
pub struct Chosen;

impl KeyHash for Chosen {
    fn hash(key: &[u8]) -> u64 {
        key.iter().take(8).fold(0, |h, &b| h << 8 | u64::from(b))
    }
}

/// A value of its own that counts how many of it live.
#[derive(Debug)]
pub struct Counted {
    kind: u8,
    cell: NonNull<Cell>,
}

struct Cell {
    number: u64,
    live: Arc<AtomicIsize>,
}

// SAFETY: the cell is owned by the value alone, as a box would be, and the counter is shared safely.
unsafe impl Send for Counted {}

impl Counted {
    pub fn new(kind: u8, number: u64, live: &Arc<AtomicIsize>) -> Self {
        live.fetch_add(1, Ordering::Relaxed);
        let cell = Box::new(Cell { number, live: live.clone() });
        Counted { kind, cell: NonNull::from(Box::leak(cell)) }
    }

    pub fn kind(&self) -> u8 {
        self.kind
    }

    pub fn number(&self) -> u64 {
        // SAFETY: the cell lives as long as the value.
        unsafe { self.cell.as_ref() }.number
    }

    /// Changes everything: the kind, the number, and the address.
    pub fn change(&mut self, kind: u8, number: u64) {
        // SAFETY: as in `number`.
        let live = unsafe { self.cell.as_ref() }.live.clone();
        *self = Counted::new(kind, number, &live);
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        // SAFETY: as in `number`.
        Counted::new(self.kind, self.number(), &unsafe { self.cell.as_ref() }.live)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // SAFETY: made by `Box::leak` in `new`, and dropped once.
        let cell = unsafe { Box::from_raw(self.cell.as_ptr()) };
        assert!(cell.live.fetch_sub(1, Ordering::Relaxed) > 0);
    }
}

// SAFETY: the kind is below 32 as the tests choose it, the parts make the same value again, and a shared borrow of it
// only reads its cell.
unsafe impl IntoRaw for Counted {
    const KINDS: u8 = KINDS_MAX;

    fn into_raw(self) -> (u8, NonNull<u8>) {
        let value = std::mem::ManuallyDrop::new(self);
        (value.kind, value.cell.cast())
    }

    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> Self {
        Counted { kind, cell: ptr.cast() }
    }

    fn move_blocks(&mut self, mover: &mut Mover) {
        if mover.wants(self.cell.as_ptr().cast(), 16) {
            self.change(self.kind, self.number());
        }
    }
}

pub type Table<H = Good> = KeyTable<Counted, H>;

pub fn put<H: KeyHash>(table: &mut Table<H>, key: &[u8], value: &[u8], expire: ExpireChange) {
    table.put(H::hash(key), key, NewValue::Inline { kind: 0, bytes: value }, expire, 1);
}

pub fn key(n: u64) -> Vec<u8> {
    format!("key:{n:012}").into_bytes()
}

#[test]
fn an_empty_table_is_small_and_allocates_nothing() {
    assert!(size_of::<Table>() <= 80, "{}", size_of::<Table>());
    let table = Table::<Good>::new();
    assert_eq!((table.memory_bytes(), table.len(), table.expires_len()), (0, 0, 0));
    assert!(table.get(1, b"a").is_none() && table.random(&mut fastrand::Rng::with_seed(1)).is_none());
    assert_eq!(table.scan(0, 10, |_| panic!("nothing to visit")), 0);
    table.check_invariants();
}
