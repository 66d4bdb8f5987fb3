//! Commands that came shortly before, by the exact bytes of their names.
//!
//! Clients write the few commands that they use always the same way. A name of up to 16 bytes is compared as
//! one number, without a loop and without folding its case; what is not here is looked up in the table. O(1),
//! 48 bytes a place.

use crate::command::spec::Found;

/// Places; a power of two.
const PLACES: usize = 32;

/// A name as a number: its first and its last bytes, which overlap in most, and how many there are.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Name {
    bytes: u128,
    len: usize,
}

impl Name {
    /// `None` for names of no or of more than 16 bytes.
    #[inline]
    fn of(name: &[u8]) -> Option<Name> {
        let len = name.len();
        let bytes = match len {
            4..=7 => {
                let (head, tail) = (name.first_chunk()?, name.last_chunk()?);
                u128::from(u32::from_le_bytes(*head)) | u128::from(u32::from_le_bytes(*tail)) << 64
            }
            8..=16 => {
                let (head, tail) = (name.first_chunk()?, name.last_chunk()?);
                u128::from(u64::from_le_bytes(*head)) | u128::from(u64::from_le_bytes(*tail)) << 64
            }
            1..=3 => u128::from(u32::from_le_bytes([name[0], name[len / 2], name[len - 1], 0])),
            _ => return None,
        };
        Some(Name { bytes, len })
    }

    #[inline]
    fn place(self) -> usize {
        let mixed = (self.bytes as u64 ^ (self.bytes >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (u64::BITS - PLACES.ilog2())) as usize
    }
}

/// Commands found before.
pub(crate) struct Recent([Option<(Name, Found)>; PLACES]);

impl Default for Recent {
    fn default() -> Self {
        Recent([None; PLACES])
    }
}

impl Recent {
    /// The command of this name, found with `find` unless it is still known.
    #[inline]
    pub(crate) fn find(&mut self, name: &[u8], find: impl FnOnce(&[u8]) -> Option<Found>) -> Option<Found> {
        let Some(short) = Name::of(name) else { return find(name) };
        let place = &mut self.0[short.place()];
        match place {
            Some((known, found)) if *known == short => Some(*found),
            _ => {
                let found = find(name)?;
                *place = Some((short, found));
                Some(found)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::table::table;

    #[test]
    fn every_name_is_a_number_of_its_own() {
        let mut rng = fastrand::Rng::with_seed(5);
        for len in 0..=20 {
            for _ in 0..200 {
                let name: Vec<u8> = (0..len).map(|_| rng.u8(b'a'..=b'c')).collect();
                let other: Vec<u8> = (0..len).map(|_| rng.u8(b'a'..=b'c')).collect();
                let (one, two) = (Name::of(&name), Name::of(&other));
                assert_eq!(one.is_some(), (1..=16).contains(&len));
                assert!(one.is_none() || (one == two) == (name == other), "{name:?} {other:?}");
            }
        }
        assert!(Name::of(b"aaaa") != Name::of(b"aaaaa"));
    }

    #[test]
    fn finds_what_the_table_finds() {
        let mut recent = Recent::default();
        for _ in 0..2 {
            for known in table().commands() {
                let name = known.command.name;
                for name in [name.to_owned(), name.to_uppercase(), format!("{name}x")] {
                    let found = recent.find(name.as_bytes(), |name| table().find(name));
                    assert_eq!(
                        found.map(|found| found.id),
                        table().find(name.as_bytes()).map(|found| found.id),
                        "{name}"
                    );
                }
            }
        }
        assert!(recent.find(b"", |name| table().find(name)).is_none());
        let found = recent.find(b"GeT", |name| table().find(name)).map(|found| found.id);
        let again = recent.find(b"GeT", |_| unreachable!("it was looked up just now"));
        assert_eq!(again.map(|found| found.id), found);
    }
}
