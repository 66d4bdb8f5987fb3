//! The payload of a small hash, written straight from its fields: without a hash, and without an allocation.

use super::blocks::NAME_MAX;
use super::output::Output;
use crate::crc64::Crc64;
use crate::format::{BLOCKS_TRAVEL, Version, kind};

/// The most fields: each name is compared with all others.
const FIELDS_MAX: usize = 32;
/// The most bytes of the pack: a hash of these is one segment.
const PACK_BYTES_MAX: usize = 3000;
/// The longest value: with a long name it is an entry whose length is one byte.
const VALUE_MAX: usize = 120;
/// What a field takes in a pack beside its name and its value.
const FIELD_BYTES: usize = 2;
/// Version and checksum.
const FOOTER_BYTES: usize = 10;

/// A hash of a few short fields that do not expire, in Larder's own form (see `write/blocks.rs`).
#[derive(Clone, Copy, Debug)]
pub struct SmallHash<I> {
    fields: I,
    count: usize,
    pack_bytes: usize,
}

impl<'a, I: Iterator<Item = (&'a [u8], &'a [u8])> + Clone> SmallHash<I> {
    /// The hash of these names and values. None if there are too many or too long ones, none at all, or two with the same name, and on
    /// machines whose blocks do not travel. O(n^2) in the fields, of which there are few.
    pub fn of(fields: I) -> Option<Self> {
        let mut names = [&b""[..]; FIELDS_MAX];
        let (mut count, mut pack_bytes) = (0, 0);
        for (name, value) in fields.clone() {
            let is_long = name.len() > NAME_MAX || value.len() > VALUE_MAX;
            pack_bytes += FIELD_BYTES + name.len() + value.len();
            if is_long || count == FIELDS_MAX || names[..count].contains(&name) {
                return None;
            }
            names[count] = name;
            count += 1;
        }
        let is_small = BLOCKS_TRAVEL && count > 0 && pack_bytes <= PACK_BYTES_MAX;
        is_small.then_some(SmallHash { fields, count, pack_bytes })
    }

    /// Number of fields.
    pub fn elements(&self) -> usize {
        self.count
    }

    /// Bytes of the payload.
    pub fn payload_bytes(&self) -> usize {
        // The type, the number of packs, the length of one, itself, and the number of long fields.
        let length_bytes = if self.pack_bytes < 0x40 { 1 } else { 2 };
        1 + 1 + length_bytes + self.pack_bytes + 1 + FOOTER_BYTES
    }

    /// Appends the payload.
    pub fn write(self, to: &mut Vec<u8>) {
        let start = to.len();
        to.reserve(self.payload_bytes());
        to.extend_from_slice(&[kind::HASH_BLOCKS, 1]);
        Output::new(&mut *to, false).length(self.pack_bytes as u64).expect("a vector takes everything");
        for (name, value) in self.fields {
            to.extend_from_slice(&[name.len() as u8, value.len() as u8]);
            to.extend_from_slice(name);
            to.extend_from_slice(value);
        }
        to.push(0);
        to.extend_from_slice(&Version::default().number().to_le_bytes());
        let checksum = Crc64::of(&to[start..]);
        to.extend_from_slice(&checksum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::{self, Checks};
    use crate::read::{Loaded, Options};
    use larder_collections::value::Value;

    type Pairs<'a> = &'a [(&'a str, &'a str)];

    fn small(pairs: Pairs<'_>) -> Option<Vec<u8>> {
        let fields = pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let hash = SmallHash::of(fields)?;
        let mut payload = b"before".to_vec();
        let expected = (hash.elements(), hash.payload_bytes());
        hash.write(&mut payload);
        let payload = payload.split_off(6);
        assert_eq!((pairs.len(), payload.len()), (expected.0, expected.1));
        assert!(dump::verify(&payload, Checks::ALL) && dump::is_own(&payload));
        let Ok(Some(Loaded::Value(value))) =
            dump::restore(&payload, &Options { blocks: true, ..Options::default() })
        else {
            panic!("a value");
        };
        let Value::Hash(hash) = value else { panic!("a hash") };
        assert_eq!(hash.len(), pairs.len());
        for (name, value) in pairs {
            assert_eq!(hash.field(name.as_bytes(), 0).unwrap().value, value.as_bytes());
        }
        Some(payload)
    }

    #[test]
    fn small_hashes_are_restored_as_they_were() {
        let long = "x".repeat(VALUE_MAX);
        let name = "n".repeat(127);
        for pairs in [
            &[("a", "")][..],
            &[("", "b")],
            &[("id", "7"), ("name", "Ann"), ("age", "31")],
            &[(&name, &long), ("b", &long)],
        ] {
            assert!(small(pairs).is_some(), "{pairs:?}");
        }
        // Both forms of the pack's length.
        for len in 50..70 {
            assert!(small(&[("f", &long[..len])]).is_some());
        }
    }

    #[test]
    fn others_are_for_the_general_way() {
        let (long, wide) = ("x".repeat(VALUE_MAX + 1), "x".repeat(VALUE_MAX));
        let names: Vec<String> = (0..=FIELDS_MAX).map(|n| n.to_string()).collect();
        let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
        let big: Vec<(&str, &str)> =
            names.iter().take(30).map(|name| (name.as_str(), wide.as_str())).collect();
        for pairs in [
            &[][..],
            &[("a", "1"), ("b", "2"), ("a", "3")],
            &[("a", &long)],
            &[(&"n".repeat(NAME_MAX + 1), "1")],
            &many,
            &big,
        ] {
            assert!(small(pairs).is_none(), "{pairs:?}");
        }
        assert!(small(&many[..FIELDS_MAX]).is_some());
    }
}
