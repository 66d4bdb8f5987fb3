//! INFO keysizes: how long the strings of each database are, and how many elements its collections have, in powers of two.
//!
//! Counted by a walk when somebody asks, and not at every write: a histogram kept up to date would cost each command that
//! changes a length two more additions and the length before. The walk locks one shard at a time for [`KEYS_PER_HOLD`]
//! keys, so that others wait for less than a millisecond; the thread that walks is busy for some 25 ns a key (a million
//! strings of 20 bytes and 300,000 lists: 34 ms), and its other clients wait. So only those get it who name it: tools
//! that watch servers ask for `INFO all` or `INFO everything` all the time. Keys that are written meanwhile may or may not
//! count, all others do, once.

use crate::context::Context;
use crate::error::CommandResult;
use crate::keyspace::key::SHARDS;
use crate::keyspace::kind::Kind;
use crate::keyspace::shard::Table;
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::value::Value;
use std::fmt::Write;

/// Keys looked at while a shard is locked.
const KEYS_PER_HOLD: usize = 1280;
/// Bins: 0, 1, 2 to 3, 4 to 7, and so on.
const BINS: usize = 65;
/// What is counted of each type, in the order of the reply. Streams are not.
const KINDS: [&str; 5] = [
    "distrib_strings_sizes",
    "distrib_lists_items",
    "distrib_sets_items",
    "distrib_zsets_items",
    "distrib_hashes_items",
];

/// The histograms of one database.
struct Sizes([[u64; BINS]; KINDS.len()]);

impl Sizes {
    fn of(context: &mut Context<'_>, db: usize) -> CommandResult<Self> {
        let mut sizes = Sizes([[0; BINS]; KINDS.len()]);
        for shard in 0..SHARDS {
            let mut cursor = Some(0);
            while let Some(from) = cursor {
                cursor = context.with_shard(shard, |data| sizes.count_some(data.table(db)?, from))?;
            }
        }
        Ok(sizes)
    }

    /// Counts some keys from a cursor on; returns the next cursor, if there are more.
    fn count_some(&mut self, table: &Table, cursor: u64) -> Option<u64> {
        let next = table.scan(cursor, KEYS_PER_HOLD, |entry| self.count(&entry));
        (next != 0).then_some(next)
    }

    fn count(&mut self, entry: &Entry<'_, Value>) {
        let value = entry.kept();
        let at = match Kind::of(&value) {
            Kind::String => 0,
            Kind::List => 1,
            Kind::Set => 2,
            Kind::SortedSet => 3,
            Kind::Hash => 4,
            Kind::Stream => return,
        };
        let len = match &value {
            ValueRef::Inline { bytes, .. } => bytes.len() as u64,
            ValueRef::Out(value) => match &**value {
                Value::String(bytes) => bytes.len() as u64,
                Value::Cold(cold) if at == 0 => cold.raw_bytes() as u64,
                value => value.elements(),
            },
        };
        self.0[at][bin(len)] += 1;
    }

    fn write(&self, db: usize, text: &mut String) {
        for (kind, bins) in KINDS.iter().zip(&self.0) {
            let counts = bins.iter().enumerate().filter(|(_, count)| **count > 0);
            let counts: Vec<String> = counts.map(|(bin, count)| format!("{}={count}", label(bin))).collect();
            if !counts.is_empty() {
                let _ = write!(text, "db{db}_{kind}:{}\r\n", counts.join(","));
            }
        }
    }
}

pub(super) fn keysizes(context: &mut Context<'_>, text: &mut String) -> CommandResult {
    text.push_str("# Keysizes\r\n");
    for db in 0..context.engine.database_count() {
        Sizes::of(context, db)?.write(db, text);
    }
    Ok(())
}

/// The bin of a length.
fn bin(len: u64) -> usize {
    (u64::BITS - len.leading_zeros()) as usize
}

/// The least length of a bin, with a letter for each factor of 1024.
fn label(bin: usize) -> String {
    let Some(bits) = bin.checked_sub(1) else { return "0".to_owned() };
    let letter = ["", "K", "M", "G", "T", "P", "E"][bits / 10];
    format!("{}{letter}", 1_u64 << (bits % 10))
}

#[cfg(test)]
mod tests {
    use super::{BINS, bin, label};

    #[test]
    fn bins_begin_at_powers_of_two() {
        let cases = [
            (0, "0"),
            (1, "1"),
            (2, "2"),
            (3, "2"),
            (4, "4"),
            (1023, "512"),
            (1024, "1K"),
            (65_535, "32K"),
            (1 << 20, "1M"),
            (1 << 33, "8G"),
            (u64::MAX, "8E"),
        ];
        for (len, name) in cases {
            assert_eq!(label(bin(len)), name, "{len}");
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }
}
