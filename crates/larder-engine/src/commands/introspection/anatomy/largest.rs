//! The keys that take the most memory.

use super::tally::Seen;

/// Keys that are remembered.
const KEYS_MAX: usize = 20;
/// Keys with longer names are left out, so that the list stays small.
const NAME_BYTES_MAX: usize = 1024;

/// A large key.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Large {
    pub bytes: u64,
    pub name: Vec<u8>,
    pub kind: &'static str,
}

/// The largest keys, the largest first.
#[derive(Debug, Default)]
pub(super) struct Largest(Vec<Large>);

impl Largest {
    /// Remembers a key if it is one of the largest.
    pub(super) fn offer(&mut self, name: &[u8], seen: &Seen) {
        let is_full = self.0.len() == KEYS_MAX;
        let least = self.0.last().map_or(0, |large| large.bytes);
        if name.len() > NAME_BYTES_MAX || (is_full && seen.bytes <= least) {
            return;
        }
        self.0.truncate(KEYS_MAX - 1);
        let at = self.0.partition_point(|large| large.bytes >= seen.bytes);
        self.0.insert(at, Large { bytes: seen.bytes, name: name.to_vec(), kind: seen.encoding.0 });
    }

    pub(super) fn keys(&self) -> &[Large] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_keys_are_remembered_in_order() {
        let mut largest = Largest::default();
        for n in (0..100).map(|n| n * 37 % 100) {
            let seen = Seen { encoding: ("string", "raw"), bytes: n, ..Seen::default() };
            largest.offer(format!("key{n}").as_bytes(), &seen);
            largest.offer(&[b'x'; NAME_BYTES_MAX + 1], &Seen { bytes: 1000, ..seen });
        }
        let bytes: Vec<u64> = largest.keys().iter().map(|large| large.bytes).collect();
        assert_eq!(bytes, (80..100).rev().collect::<Vec<u64>>());
    }
}
