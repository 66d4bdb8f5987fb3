//! Shapes: lists of field names that many hashes have in common, each stored once.
//!
//! An order or a profile is a hash whose field names are those of thousands of others. JavaScript engines keep the property
//! names of such objects in a *shape* (hidden class) and only the values in the object. Here a [`Shape`] is an ordered list of
//! names; a hash that has one holds the shape's number and its values in that order (`hash/shaped.rs`).
//!
//! A shape comes into being when [`USERS_MIN`] hashes have been stored with the same names in the same order, which a sketch
//! of counters notices, and goes when no hash has used it for a while. At most [`SHAPES_MAX`] exist, with [`NAMES_BYTES_MAX`]
//! bytes of names together; beyond that hashes keep their own names. Shapes are of the process: all stores in it share them.
//!
//! ```text
//!  Shape   id, fingerprint | names "idnamecity" | ends 2 6 10 | slots: position + 1 by a hash of the name, 0 where there is none
//! ```
//! Cost: a name to its position O(1), a position to its name O(1). A shape takes its names, 4 to 6 bytes for each, and about 100.
//!
//! Tenants share the registry: one that can see the memory of the process learns whether a list of names is in use.
//!
//! Tested at the foot of this file, by `registry`, and by the hashes on top.

mod registry;

pub use registry::{
    ShapeRef, ShapeStats, create, created, enable, find, is_enabled, limit_shapes, note, require_users,
    stats, sweep,
};
mod effort;
pub use effort::skipped;
pub(crate) use effort::{expects_some, may_try, note_outcome};

use std::sync::LazyLock;

/// The most shapes at a time.
pub const SHAPES_MAX: usize = 4096;
/// The most bytes of names in all shapes.
pub const NAMES_BYTES_MAX: usize = 1 << 20;
/// The most names of a shape.
pub const SHAPE_FIELDS_MAX: usize = 64;
/// Hashes that have the same names before these become a shape, unless [`require_users`] has changed that.
pub const USERS_MIN: u8 = 16;

/// Makes the places of names differ between processes, so that nobody can choose names that collide.
static SEED: LazyLock<u64> = LazyLock::new(|| crate::member_hash(b"shapes"));

/// An ordered list of distinct field names. See the module's comment.
pub struct Shape {
    id: u16,
    fingerprint: u64,
    names: Box<[u8]>,
    ends: Box<[u16]>,
    slots: Box<[u8]>,
    seed: u64,
}

impl Shape {
    fn new<'a>(id: u16, fingerprint: u64, names: impl Iterator<Item = &'a [u8]>) -> Shape {
        let (mut all, mut ends) = (Vec::new(), Vec::new());
        for name in names {
            all.extend_from_slice(name);
            ends.push(u16::try_from(all.len()).expect("names are short, and few"));
        }
        let slots = vec![0; (ends.len() * 2).next_power_of_two()];
        let mut shape =
            Shape { id, fingerprint, names: all.into(), ends: ends.into(), slots: slots.into(), seed: *SEED };
        for at in 0..shape.len() {
            let mut slot = shape.first_slot(shape.name(at));
            while shape.slots[slot] != 0 {
                slot = (slot + 1) % shape.slots.len();
            }
            shape.slots[slot] = at as u8 + 1;
        }
        shape
    }

    /// The number by which records name the shape.
    #[inline]
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Number of names.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name at a position. Panics if there are not that many.
    #[inline]
    pub fn name(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| usize::from(self.ends[before]));
        &self.names[start..usize::from(self.ends[at])]
    }

    /// The position of a name.
    #[inline]
    pub fn position(&self, name: &[u8]) -> Option<usize> {
        let mut slot = self.first_slot(name);
        loop {
            // Half of the slots are free, so the walk ends.
            let at = usize::from(self.slots[slot]).checked_sub(1)?;
            if self.name(at) == name {
                return Some(at);
            }
            slot = (slot + 1) % self.slots.len();
        }
    }

    /// All names in their order.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|at| self.name(at))
    }

    /// Whether these are all names, in their order.
    pub fn has<'a>(&self, names: impl Iterator<Item = &'a [u8]>) -> bool {
        self.names().eq(names)
    }

    /// Bytes of all names.
    pub fn names_bytes(&self) -> usize {
        self.names.len()
    }

    fn heap_bytes(&self) -> usize {
        size_of::<Self>() + 16 + self.names.len() + 2 * self.ends.len() + self.slots.len()
    }

    #[inline]
    fn first_slot(&self, name: &[u8]) -> usize {
        mix(self.seed, name) as usize & (self.slots.len() - 1)
    }
}

/// A number for a list of names: equal lists have equal ones.
#[derive(Clone, Copy)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// That of no names.
    #[inline]
    #[allow(clippy::new_without_default, reason = "the seed makes it no constant")]
    pub fn new() -> Fingerprint {
        Fingerprint(*SEED)
    }

    /// That of a list.
    #[inline]
    pub fn of<'a>(names: impl Iterator<Item = &'a [u8]>) -> Fingerprint {
        names.fold(Fingerprint::new(), Fingerprint::with)
    }

    /// That of a list with one more name.
    #[inline]
    #[must_use]
    pub fn with(self, name: &[u8]) -> Fingerprint {
        Fingerprint(mix(self.0, name))
    }
}

/// Mixes a name into a hash. Not safe against those who know the seed, who gain nothing: names are compared.
#[inline]
fn mix(hash: u64, name: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let (words, rest) = name.as_chunks::<8>();
    let mut hash = hash ^ name.len() as u64;
    for &word in words {
        hash = fold(hash ^ u64::from_le_bytes(word), FACTOR);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(hash ^ u64::from_le_bytes(last), FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_positions_and_positions_names() {
        let names: Vec<Vec<u8>> =
            (0..SHAPE_FIELDS_MAX).map(|at| vec![b'a' + (at % 26) as u8; at * 2]).collect();
        let shape = Shape::new(7, 1, names.iter().map(|name| &name[..]));
        assert_eq!((shape.id(), shape.len()), (7, SHAPE_FIELDS_MAX));
        for (at, name) in names.iter().enumerate() {
            assert_eq!((shape.name(at), shape.position(name)), (&name[..], Some(at)));
            assert_eq!(shape.position(&[&name[..], b"x"].concat()), None);
        }
        assert!(shape.names().eq(names.iter().map(|name| &name[..])));
    }

    #[test]
    fn fingerprints_tell_lists_apart() {
        let of =
            |names: &[&str]| names.iter().fold(Fingerprint::new(), |all, name| all.with(name.as_bytes())).0;
        let lists = [&["ab", "c"][..], &["a", "bc"], &["abc"], &["c", "ab"], &["ab", "c", ""], &["ab"], &[]];
        for (at, list) in lists.iter().enumerate() {
            assert_eq!(of(list), of(list));
            assert!(lists[..at].iter().all(|other| of(other) != of(list)), "{list:?}");
        }
    }
}
