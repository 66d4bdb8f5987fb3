//! CLUSTERSCAN: walking the keys of a cluster slot by slot, from whichever node has the slot.
//!
//! ```text
//!  cursor:  mark - {tag} - position
//! ```
//! The tag hashes to the slot that the walk is in, so that clients send the cursor where that slot is. The position is one within the
//! slot, concealed as that of SCAN. It holds for the order of this process: the mark says whose it is, and another node, or the same one
//! after a restart, begins the slot again. A walk that moves with a slot thereby visits all keys, some of them twice.
//!
//! Tested by `tests/cluster/scan.rs` of the server, beside Valkey.

use super::{map, slot};
use crate::commands::cursor::{conceal, reveal};
use crate::commands::scan::{Scan, delete_overdue, reply_step_to, wanted_type};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::deadlines::is_due;
use crate::keyspace::hash::{prefix_of_slot, shard_of_slot};
use crate::keyspace::kind::Kind;
use crate::text::number;
use crate::text::word::is_word;
use larder_cluster::{SLOTS, key_slot, pattern_slot};
use larder_collections::keyed_hash::{Purpose, keyed_hasher};
use larder_resp::{Args, Reply};
use std::sync::LazyLock;

/// What tags and marks are made of.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const MARK_LETTERS: usize = 6;

/// A tag of three letters for every slot.
static TAGS: LazyLock<Vec<[u8; 3]>> = LazyLock::new(|| {
    let mut tags = vec![[0; 3]; usize::from(SLOTS)];
    for &a in LETTERS {
        for &b in LETTERS {
            for &c in LETTERS {
                tags[usize::from(key_slot(&[a, b, c]))] = [a, b, c];
            }
        }
    }
    assert!(tags.iter().all(|tag| tag[0] != 0), "every slot has one");
    tags
});

/// Whose positions they are.
static MARK: LazyLock<[u8; MARK_LETTERS]> = LazyLock::new(|| {
    let mut hash = keyed_hasher(Purpose::Cursors).hash(b"the mark of cursors");
    [(); MARK_LETTERS].map(|()| {
        let letter = LETTERS[(hash % LETTERS.len() as u64) as usize];
        hash /= LETTERS.len() as u64;
        letter
    })
});

/// Where a walk stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    /// It begins.
    Start,
    /// In a slot, at a position of its table; 0 is its beginning.
    In { slot: u16, position: u64 },
    /// Nothing is left.
    End,
}

impl Cursor {
    fn parse(text: &[u8]) -> CommandResult<Cursor> {
        if text == b"0" {
            return Ok(Cursor::Start);
        }
        Self::parse_place(text).ok_or(CommandError::Fixed("ERR Invalid cursor"))
    }

    fn parse_place(text: &[u8]) -> Option<Cursor> {
        let find =
            |from: usize, wanted: u8| Some(from + text[from..].iter().position(|&byte| byte == wanted)?);
        let first = find(0, b'-')?;
        let last = find(find(first, b'}')?, b'-')?;
        let (mark, tag) = (&text[..first], &text[first + 1..last]);
        let position = reveal(number::parse_u64_of_c(&text[last + 1..])?);
        if tag.first() != Some(&b'{') {
            return None;
        }
        let position = if mark == *MARK { position } else { 0 };
        Some(Cursor::In { slot: key_slot(tag), position })
    }

    fn text(self) -> Vec<u8> {
        let Cursor::In { slot, position } = self else { return b"0".to_vec() };
        let (mark, tag) = (if position == 0 { b"0" } else { &MARK[..] }, &TAGS[usize::from(slot)]);
        let mut number = itoa::Buffer::new();
        [mark, b"-{", tag, b"}-", number.format(conceal(position)).as_bytes()].concat()
    }

    /// The beginning of a slot, or the end after the last one.
    fn at(slot: u16) -> Cursor {
        if slot < SLOTS { Cursor::In { slot, position: 0 } } else { Cursor::End }
    }
}

/// What a walk is after.
struct Wanted<'a> {
    scan: Scan<'a>,
    kind: Option<&'a [u8]>,
    /// The only slot: that of SLOT.
    slot: Option<u16>,
    /// The only slot that can have keys that match.
    pattern_slot: Option<u16>,
}

impl<'a> Wanted<'a> {
    fn parse(args: Args<'a>) -> CommandResult<Wanted<'a>> {
        let (mut kind, mut only) = (None, None);
        let scan = Scan::parse(args, |word, value| {
            if let Some(value) = value.filter(|_| is_word(word, "slot")) {
                if only.is_some() {
                    return Err(CommandError::Fixed("ERR SLOT option can only be specified once"));
                }
                only = Some(slot(value)?);
                return Ok(2);
            }
            let given = wanted_type(word, value)?;
            kind = given.or(kind);
            Ok(if given.is_some() { 2 } else { 0 })
        })?;
        let pattern_slot = scan.pattern().and_then(pattern_slot);
        Ok(Wanted { scan, kind, slot: only, pattern_slot })
    }

    /// The first slot from one on that may have keys; [`SLOTS`]: none.
    fn slot_from(&self, from: u16) -> u16 {
        let only = match (self.slot, self.pattern_slot) {
            (Some(one), Some(other)) if one != other => return SLOTS,
            (one, other) => one.or(other),
        };
        match only {
            None => from,
            Some(only) if only >= from => only,
            Some(_) => SLOTS,
        }
    }
}

/// CLUSTERSCAN.
pub(super) fn clusterscan(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    super::needs_cluster(context)?;
    let wanted = Wanted::parse(args.from(2))?;
    let cursor = Cursor::parse(args.at(1))?;
    reply_step_to(
        context,
        |context, items| walk(context, cursor, &wanted, items),
        |next, reply| reply.bulk(&next.text()),
    )
}

/// Goes on from a cursor, through slots of this node only. Returns the next cursor and the number of keys.
fn walk(
    context: &mut Context<'_>,
    cursor: Cursor,
    wanted: &Wanted<'_>,
    items: &mut Reply<'_>,
) -> CommandResult<(Cursor, usize)> {
    let Cursor::In { slot, position } = cursor else { return Ok((Cursor::at(wanted.slot_from(0)), 0)) };
    if wanted.slot.is_some_and(|only| only != slot) {
        return Err(CommandError::Fixed("ERR Cursor slot mismatch with SLOT argument"));
    }
    if wanted.slot_from(slot) != slot {
        return Ok((Cursor::at(wanted.slot_from(slot)), 0));
    }
    let (mut at, mut position, mut seen, mut count) = (slot, position, 0, 0);
    loop {
        if !has_keys_of(context, at)? {
            return Ok((Cursor::at(at), count));
        }
        let mark = items.mark();
        let (next, found) = step(context, (at, position), wanted, &mut seen, items)?;
        if !has_keys_of(context, at)? {
            // The slot has left meanwhile, perhaps some of its keys.
            items.truncate(mark);
            return Ok((Cursor::In { slot: at, position: 0 }, count));
        }
        count += found;
        if next > 0 {
            return Ok((Cursor::In { slot: at, position: next }, count));
        }
        position = 0;
        at = if at + 1 < SLOTS { wanted.slot_from(at + 1) } else { SLOTS };
        if at == SLOTS || seen >= wanted.scan.count {
            return Ok((Cursor::at(at), count));
        }
    }
}

/// Whether the keys of a slot are here: it is this node's, or its primary's.
fn has_keys_of(context: &mut Context<'_>, slot: u16) -> CommandResult<bool> {
    let map = map(context)?;
    Ok(map.is_mine(slot) || map.is_my_primarys(slot))
}

/// Writes keys of a slot from a position on; returns the next position, 0 at its end, and how many were written.
fn step(
    context: &mut Context<'_>,
    (slot, position): (u16, u64),
    wanted: &Wanted<'_>,
    seen: &mut usize,
    items: &mut Reply<'_>,
) -> CommandResult<(u64, usize)> {
    let (db, due_ms) = (context.db, context.due_ms());
    let (mut count, mut overdue) = (0, Vec::new());
    let next = context.with_shard(shard_of_slot(slot), |data| {
        let Some(table) = data.table(db) else { return 0 };
        let left = wanted.scan.count.saturating_sub(*seen);
        table.scan_prefix(prefix_of_slot(slot), position, left, |entry| {
            *seen += 1;
            let is_wanted = |kind: &[u8]| is_word(kind, Kind::of(&entry.kept()).name());
            if !wanted.scan.takes(entry.key()) || !wanted.kind.is_none_or(is_wanted) {
                return;
            }
            if is_due(&entry, due_ms) {
                overdue.push(entry.key().to_vec());
            } else {
                items.bulk(entry.key());
                count += 1;
            }
        })
    })?;
    delete_overdue(context, shard_of_slot(slot), &overdue)?;
    Ok((next, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back() {
        for slot in 0..SLOTS {
            for position in [0, 1, 77, u64::from(u32::MAX)] {
                let cursor = Cursor::In { slot, position };
                assert_eq!(Cursor::parse(&cursor.text()).ok(), Some(cursor));
                assert_eq!(key_slot(&cursor.text()), slot, "the tag is what the cursor is routed by");
            }
        }
        for text in
            ["", "1", "00", "0-{06S}", "0-{a}--1", "0--{a}-0", "0-{a}-x", "-", "--", "0-{a}--1", "0-{-0"]
        {
            assert!(Cursor::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(Cursor::parse(b"another-{06S}-5").ok(), Some(Cursor::In { slot: 0, position: 0 }));
    }
}
