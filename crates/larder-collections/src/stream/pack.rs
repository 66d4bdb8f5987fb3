//! A packed run of records in order of their ids: the pending entries of a group, or just the ids of those of a consumer.
//!
//! What it is: each record is written as its difference to the one before, in as many bytes as that takes, so an entry
//! delivered in a batch with its neighbours costs four to six. Why not a record of its own in two trees, as Redis has: that is
//! over 100 bytes an entry.
//!
//! | | cost |
//! |---|---|
//! | memory | 24 + 52 bytes for up to 128 records; a record: id 1-10 + 1-10, delivery 1-5 + 1-10 + 1-10 |
//! | append | O(1) |
//! | find, insert, change, remove | a scan of up to 128 records |
//!
//! ```text
//!  0         16         24        40         48       52
//!  +---------+----------+---------+----------+--------+----------+----------+---
//!  | base id | base time| last id | last time| count 4| record   | record   |       ids: ms 8, seq 8
//!  +---------+----------+---------+----------+--------+----------+----------+---
//!  record: ms - previous ms | seq, less the previous one when ms is the same | payload         numbers of 7 bits a byte
//!  payload of a delivery: consumer | time - previous time, sign in bit 0 | times delivered
//! ```
//!
//! Invariants:
//! - P1: ids ascend; the base is not above the first; `last` is the id and the time of the last record.
//! - P2: `count` records follow, and nothing else.
//!
//! Tested by the model test in `tests/pending.rs`.

use super::tree::Block;
use crate::counted_tree::Rows;
use crate::varint::{number, put_number};
use larder_packed::bytes::SharedBytes;
use larder_packed::heap::Mover;
use larder_packed::stream_node::StreamId;
use std::ops::Range;

/// Most records of a pack.
pub(super) const RECORDS_MAX: u64 = 128;
const HEADER: usize = 52;
const LAST: usize = 24;
const COUNT: usize = 48;

/// What a record says beside its id.
pub(super) trait Payload: Copy {
    /// The time in it, from which the next one is told.
    fn time(&self) -> u64;

    /// Writes it after a record of this time.
    fn put(&self, previous: u64, out: &mut Vec<u8>);

    /// Reads what [`Payload::put`] wrote from `at` on, and where the next record begins.
    fn get(previous: u64, bytes: &[u8], at: usize) -> (Self, usize);
}

impl Payload for () {
    fn time(&self) -> u64 {
        0
    }

    fn put(&self, _previous: u64, _out: &mut Vec<u8>) {}

    fn get(_previous: u64, _bytes: &[u8], at: usize) -> ((), usize) {
        ((), at)
    }
}

/// Delivery of an entry to a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    /// The consumer's number.
    pub consumer: u32,
    /// When it was delivered last, in ms.
    pub time_ms: u64,
    /// How often it was delivered.
    pub count: u64,
}

impl Payload for Delivery {
    fn time(&self) -> u64 {
        self.time_ms
    }

    fn put(&self, previous: u64, out: &mut Vec<u8>) {
        put_number(out, u64::from(self.consumer));
        let change = self.time_ms.wrapping_sub(previous) as i64;
        put_number(out, (change << 1 ^ change >> 63) as u64);
        put_number(out, self.count);
    }

    #[inline]
    fn get(previous: u64, bytes: &[u8], at: usize) -> (Self, usize) {
        let (consumer, at) = number(bytes, at);
        let (change, at) = number(bytes, at);
        let (count, at) = number(bytes, at);
        let change = change >> 1 ^ (change & 1).wrapping_neg();
        (Delivery { consumer: consumer as u32, time_ms: previous.wrapping_add(change), count }, at)
    }
}

/// What a record is told from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    id: StreamId,
    time: u64,
}

/// See the module's comment.
#[derive(Clone)]
pub(super) struct Pack<P> {
    bytes: SharedBytes,
    payload: std::marker::PhantomData<P>,
}

/// A record where it lies.
struct Found<P> {
    start: usize,
    end: usize,
    /// What it is told from.
    previous: State,
    id: StreamId,
    payload: P,
}

impl<P: Payload> Found<P> {
    fn state(&self) -> State {
        State { id: self.id, time: self.payload.time() }
    }
}

impl<P: Payload> Pack<P> {
    /// A pack of one record.
    pub(super) fn new(id: StreamId, payload: P) -> Self {
        let mut bytes = SharedBytes::with_capacity(HEADER + 12);
        bytes.pad(HEADER);
        let mut pack = Pack { bytes, payload: std::marker::PhantomData };
        let base = State { id, time: payload.time() };
        pack.set_state(0, base);
        pack.splice(HEADER..HEADER, base, Some((id, payload)), None);
        pack.set_len(1);
        pack
    }

    /// The highest id.
    pub(super) fn last(&self) -> StreamId {
        self.state(LAST).id
    }

    /// The record of an id.
    pub(super) fn get(&self, id: StreamId) -> Option<P> {
        self.seek(id).filter(|found| found.id == id).map(|found| found.payload)
    }

    /// Puts a record; the one that it replaces.
    pub(super) fn put(&mut self, id: StreamId, payload: P) -> Option<P> {
        let (last, put) = (self.state(LAST), Some((id, payload)));
        if id > last.id {
            let end = self.bytes.len();
            self.splice(end..end, last, put, None);
            self.set_len(self.len() + 1);
            return None;
        }
        let found = self.seek(id).expect("P1: the last id is not below this one");
        let start = found.start;
        if found.id == id {
            let next = self.read(found.end, found.state());
            self.splice(start..found.end, found.previous, put, next);
            return Some(found.payload);
        }
        let mut previous = found.previous;
        if id < previous.id {
            // Only the base can be above: the pack begins with this record from now on.
            previous = State { id, time: payload.time() };
            self.set_state(0, previous);
        }
        self.splice(start..start, previous, put, Some(found));
        self.set_len(self.len() + 1);
        None
    }

    /// Removes a record.
    pub(super) fn remove(&mut self, id: StreamId) -> Option<P> {
        let found = self.seek(id).filter(|found| found.id == id)?;
        let next = self.read(found.end, found.state());
        self.splice(found.start..found.end, found.previous, None, next);
        self.set_len(self.len() - 1);
        if self.bytes.heap_bytes() > 2 * self.bytes.len() + 64 {
            self.bytes.shrink();
        }
        Some(found.payload)
    }

    /// The records in order.
    pub(super) fn records(&self) -> impl Iterator<Item = (StreamId, P)> {
        let (mut at, mut state) = (HEADER, self.state(0));
        std::iter::from_fn(move || {
            let found = self.read(at, state)?;
            (at, state) = (found.end, found.state());
            Some((found.id, found.payload))
        })
    }

    /// Cuts the upper half off: its first id and its records.
    pub(super) fn split(&mut self) -> (StreamId, Self) {
        let records: Vec<(StreamId, P)> = self.records().collect();
        let (left, right) = records.split_at(records.len() / 2);
        *self = Self::of(left);
        (right[0].0, Self::of(right))
    }

    /// Gives back the room for more records.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink();
    }

    /// Panics if an invariant of the module's comment is violated.
    pub(super) fn check_invariants(&self) {
        let ids: Vec<StreamId> = self.records().map(|(id, _)| id).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "P1: order");
        assert!(ids.first().is_none_or(|&first| self.state(0).id <= first), "P1: base");
        assert_eq!(ids.last().copied(), Some(self.last()), "P1: last");
        let last = self.records().last().map(|(_, payload)| payload.time());
        assert_eq!(last, Some(self.state(LAST).time), "P1: last time");
        assert_eq!(ids.len() as u64, self.len(), "P2");
    }

    fn of(records: &[(StreamId, P)]) -> Self {
        let mut pack = Self::new(records[0].0, records[0].1);
        for &(id, payload) in &records[1..] {
            pack.put(id, payload);
        }
        pack.shrink();
        pack
    }

    /// The first record whose id is not below `id`.
    fn seek(&self, id: StreamId) -> Option<Found<P>> {
        let (mut at, mut state) = (HEADER, self.state(0));
        loop {
            let found = self.read(at, state)?;
            if found.id >= id {
                return Some(found);
            }
            (at, state) = (found.end, found.state());
        }
    }

    #[inline]
    fn read(&self, start: usize, previous: State) -> Option<Found<P>> {
        let bytes = &self.bytes[..];
        if start >= bytes.len() {
            return None;
        }
        let (ms, at) = number(bytes, start);
        let (seq, at) = number(bytes, at);
        let from = if ms == 0 { previous.id.seq } else { 0 };
        let id = StreamId { ms: previous.id.ms + ms, seq: from + seq };
        let (payload, end) = P::get(previous.time, bytes, at);
        Some(Found { start, end, previous, id, payload })
    }

    /// Writes `put`, if anything, in the place of `range`, and then `next` again, the record after that: it was told from
    /// another one before.
    fn splice(
        &mut self,
        mut range: Range<usize>,
        previous: State,
        put: Option<(StreamId, P)>,
        next: Option<Found<P>>,
    ) {
        let (mut state, mut out) = (previous, Vec::with_capacity(48));
        let behind = next.as_ref().map(|next| (next.id, next.payload));
        for (id, payload) in put.into_iter().chain(behind) {
            let ms = id.ms - state.id.ms;
            put_number(&mut out, ms);
            put_number(&mut out, if ms == 0 { id.seq - state.id.seq } else { id.seq });
            payload.put(state.time, &mut out);
            state = State { id, time: payload.time() };
        }
        match next {
            Some(next) => range.end = next.end,
            None => self.set_state(LAST, state),
        }
        self.bytes.splice(range, &out);
    }

    fn state(&self, at: usize) -> State {
        let word = |at: usize| {
            let bytes = self.bytes[at..at + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        State { id: StreamId { ms: word(at), seq: word(at + 8) }, time: word(at + 16) }
    }

    fn set_state(&mut self, at: usize, state: State) {
        let bytes = self.bytes.make_mut();
        for (i, word) in [state.id.ms, state.id.seq, state.time].into_iter().enumerate() {
            bytes[at + 8 * i..at + 8 * (i + 1)].copy_from_slice(&word.to_le_bytes());
        }
    }

    fn set_len(&mut self, len: u64) {
        self.bytes.make_mut()[COUNT..HEADER].copy_from_slice(&(len as u32).to_le_bytes());
    }
}

impl<P: Payload> Block for Pack<P> {
    type Leaf = Rows<StreamId, u64, Self>;

    #[inline]
    fn count(&self) -> u64 {
        self.len()
    }

    #[inline]
    fn len(&self) -> u64 {
        let bytes = self.bytes[COUNT..HEADER].try_into().expect("four bytes");
        u64::from(u32::from_le_bytes(bytes))
    }

    fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes()
    }

    fn move_block(&mut self, mover: &mut Mover) {
        self.bytes.move_block(mover);
    }
}
