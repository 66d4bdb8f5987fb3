//! The reply: what was found, as a map.

use super::largest::Largest;
use super::tally::{ColdValues, Spread, Tally};
use super::tree::{Group, Tree};
use larder_resp::Reply;

/// The patterns and the largest keys that a walk has found so far.
pub(super) struct Found {
    pub tree: Tree,
    pub largest: Largest,
}

/// What was found.
pub(super) struct Report {
    db: usize,
    /// Keys of the database.
    keys: u64,
    /// Keys that were looked at: numbers are scaled by the quotient of both.
    looked: u64,
    /// The largest first, and what compressing their values would save.
    groups: Vec<(Group, Option<u64>)>,
    largest: Largest,
}

impl Report {
    pub(super) fn new(db: usize, keys: u64, looked: u64, found: Found) -> Report {
        let mut groups = found.tree.into_groups();
        groups.sort_unstable_by(|a, b| (b.tally.bytes, &a.pattern).cmp(&(a.tally.bytes, &b.pattern)));
        let groups = groups.into_iter().map(|group| {
            let would_save = group.tally.cold.would_save();
            (group, would_save)
        });
        Report { db, keys, looked, groups: groups.collect(), largest: found.largest }
    }

    /// A count of what was looked at, for all.
    fn scaled(&self, count: u64) -> i64 {
        let scaled = u128::from(count) * u128::from(self.keys) / u128::from(self.looked.max(1));
        i64::try_from(scaled).unwrap_or(i64::MAX)
    }

    pub(super) fn write(&self, reply: &mut Reply<'_>) {
        let sum = |pick: fn(&Tally) -> u64| self.groups.iter().map(|(group, _)| pick(&group.tally)).sum();
        let head = [
            ("database", self.db as i64),
            ("keys", self.keys.min(i64::MAX as u64) as i64),
            ("keys-looked-at", self.looked as i64),
            ("keys-matched", self.scaled(sum(|tally| tally.keys))),
            ("bytes", self.scaled(sum(|tally| tally.bytes))),
        ];
        reply.map(head.len() + 2);
        for (name, value) in head {
            reply.bulk(name.as_bytes());
            reply.int(value);
        }
        reply.bulk(b"patterns");
        reply.array(self.groups.len());
        self.groups.iter().for_each(|group| self.write_group(group, reply));
        reply.bulk(b"largest-keys");
        reply.array(self.largest.keys().len());
        for large in self.largest.keys() {
            reply.map(3);
            reply.bulk(b"key");
            reply.bulk(&large.name);
            reply.bulk(b"type");
            reply.bulk(large.kind.as_bytes());
            reply.bulk(b"bytes");
            reply.int(large.bytes as i64);
        }
    }

    fn write_group(
        &self,
        (Group { pattern, tally }, would_save): &(Group, Option<u64>),
        reply: &mut Reply<'_>,
    ) {
        reply.map(13);
        reply.bulk(b"pattern");
        reply.bulk(pattern);
        for (name, count) in [("keys", tally.keys), ("elements", tally.elements), ("bytes", tally.bytes)] {
            reply.bulk(name.as_bytes());
            reply.int(self.scaled(count));
        }
        write_quotient("bytes-per-key", tally.bytes, tally.keys, reply);
        write_quotient("bytes-per-element", tally.bytes, tally.elements, reply);
        self.write_encodings(tally, reply);
        let expiring = tally.ttl_s.as_ref().map_or(0, |spread| spread.count());
        write_quotient("expiring", expiring, tally.keys, reply);
        write_quartiles("ttl-seconds", tally.ttl_s.as_deref(), reply);
        write_quartiles("idle-seconds", tally.idle_s.as_deref(), reply);
        self.write_blocks(tally, reply);
        self.write_shared(tally, reply);
        self.write_cold(&tally.cold, *would_save, reply);
    }

    fn write_cold(&self, cold: &ColdValues, would_save: Option<u64>, reply: &mut Reply<'_>) {
        reply.bulk(b"cold");
        if cold.values == 0 && cold.plain_bytes == 0 {
            return reply.null();
        }
        reply.map(3);
        for (name, count) in [("values", cold.values), ("saves", cold.saves)] {
            reply.bulk(name.as_bytes());
            reply.int(self.scaled(count));
        }
        reply.bulk(b"would-save");
        match would_save {
            Some(bytes) => reply.int(self.scaled(bytes)),
            None => reply.null(),
        }
    }

    fn write_shared(&self, tally: &Tally, reply: &mut Reply<'_>) {
        reply.bulk(b"shared-names");
        if tally.shared.hashes == 0 {
            return reply.null();
        }
        reply.map(2);
        for (name, count) in [("hashes", tally.shared.hashes), ("saves", tally.shared.names_bytes)] {
            reply.bulk(name.as_bytes());
            reply.int(self.scaled(count));
        }
    }

    fn write_encodings(&self, tally: &Tally, reply: &mut Reply<'_>) {
        reply.bulk(b"encodings");
        reply.map(tally.encodings.len());
        let mut encodings = tally.encodings.clone();
        encodings.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        for ((kind, encoding), keys) in encodings {
            reply.bulk(format!("{kind}/{encoding}").as_bytes());
            reply.int(self.scaled(keys));
        }
    }

    fn write_blocks(&self, tally: &Tally, reply: &mut Reply<'_>) {
        reply.bulk(b"compression");
        let plain = tally.blocks.plain_bytes;
        if plain == 0 {
            return reply.null();
        }
        let [lzf, zstd] = tally.blocks.savings();
        reply.map(3);
        for (name, bytes) in [("plain-bytes", plain), ("lzf-saves", lzf), ("zstd-saves", zstd)] {
            reply.bulk(name.as_bytes());
            reply.int(self.scaled(bytes));
        }
    }
}

/// A quotient; null where there is nothing to divide by.
fn write_quotient(name: &str, a: u64, b: u64, reply: &mut Reply<'_>) {
    reply.bulk(name.as_bytes());
    match b {
        0 => reply.null(),
        _ => reply.double(zmij::Buffer::new().format(a as f64 / b as f64).as_bytes()),
    }
}

fn write_quartiles(name: &str, spread: Option<&Spread>, reply: &mut Reply<'_>) {
    reply.bulk(name.as_bytes());
    let Some(spread) = spread else { return reply.null() };
    reply.array(3);
    spread.quartiles().into_iter().for_each(|seconds| reply.int(seconds as i64));
}
