//! Whether a key of the target has the value that it is sent: then it has arrived.
//!
//! Payloads of one value differ, by the version that wrote them, by the encodings that a server chose, by the order of its tables. So both
//! are read, and what they hold is compared: what a server says of it when it is asked, but not how often and when consumers of streams
//! got entries, which older versions leave out.

use larder_collections::stream::{Entry, Group, Order, Stream, StreamId};
use larder_collections::value::Value;
use larder_collections::{hash::Hash, list::List, set::Set, sorted_set::SortedSet};
use larder_rdb::dump;
use larder_rdb::read::{Loaded, Options};
use std::ops::ControlFlow;

/// A value as it is sent.
#[derive(Clone, Copy, Debug)]
pub enum Sent<'a> {
    /// With `RESTORE`.
    Payload(&'a [u8]),
    /// With `SET`.
    String(&'a [u8]),
}

/// Whether a payload that the target has dumped holds what was sent. Payloads that nobody here can read are the same if their bytes are.
/// O(n) for lists, sets, hashes and streams, O(n log n) for sorted sets.
pub fn is_same(sent: Sent<'_>, found: &[u8]) -> bool {
    let read = |payload: &[u8]| {
        dump::restore(payload, &Options { blocks: true, ..Options::default() }).ok().flatten()
    };
    let (of_sent, of_found) = match sent {
        Sent::String(bytes) => {
            return matches!(read(found), Some(Loaded::String(other)) if other == bytes);
        }
        Sent::Payload(payload) if payload == found => return true,
        Sent::Payload(payload) => (read(payload), read(found)),
    };
    match (of_sent, of_found) {
        (Some(Loaded::String(a)), Some(Loaded::String(b))) => a == b,
        (Some(Loaded::Value(a)), Some(Loaded::Value(b))) => same_values(&a, &b),
        _ => false,
    }
}

fn same_values(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Hash(a), Value::Hash(b)) => same_hashes(a, b),
        (Value::List(a), Value::List(b)) => a.len() == b.len() && elements(a) == elements(b),
        (Value::Set(a), Value::Set(b)) => same_sets(a, b),
        (Value::SortedSet(a), Value::SortedSet(b)) => same_sorted_sets(a, b),
        (Value::Stream(a), Value::Stream(b)) => same_streams(a, b),
        _ => false,
    }
}

fn same_hashes(a: &Hash, b: &Hash) -> bool {
    let has = |name, value, expire_at_ms| {
        b.field(name, 0).is_some_and(|other| other.value == value && other.expire_at_ms == expire_at_ms)
    };
    a.len() == b.len() && a.iter(0).all(|field| has(field.name, field.value, field.expire_at_ms))
}

fn elements(list: &List) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let _ = list.for_each_range(0, list.len(), |element| {
        all.push(element.to_vec());
        ControlFlow::<()>::Continue(())
    });
    all
}

fn same_sets(a: &Set, b: &Set) -> bool {
    a.len() == b.len() && a.iter().all(|member| b.contains_element(member))
}

fn same_sorted_sets(a: &SortedSet, b: &SortedSet) -> bool {
    let mut is_same = a.len() == b.len();
    a.for_each(|score, member| is_same = is_same && b.score(member) == Some(score));
    is_same
}

fn same_streams(a: &Stream, b: &Stream) -> bool {
    let has = |group: &Group| b.group(group.name()).is_some_and(|other| same_groups(group, other));
    (a.len(), a.last_id(), a.group_count()) == (b.len(), b.last_id(), b.group_count())
        && entries(a) == entries(b)
        && a.groups().all(has)
}

/// Each entry: its ID, and fields and values in turn.
fn entries(stream: &Stream) -> Vec<(StreamId, Vec<Vec<u8>>)> {
    let mut all = Vec::new();
    let _: Option<()> =
        stream.range(StreamId::default(), StreamId::MAX, Order::Ascending, |entry: Entry<'_>| {
            let mut words = Vec::new();
            entry.for_each(|field, value| words.extend([field.to_vec(), value.to_vec()]));
            all.push((entry.id, words));
            ControlFlow::Continue(())
        });
    all
}

fn same_groups(a: &Group, b: &Group) -> bool {
    let names = |group: &Group| group.consumers().map(|(_, c)| c.name().to_vec()).collect::<Vec<_>>();
    a.last_id == b.last_id && names(a) == names(b) && pending(a) == pending(b)
}

/// The entries that are pending, and who has each.
fn pending(group: &Group) -> Vec<(StreamId, Vec<u8>)> {
    let mut all = Vec::new();
    group.for_each_pending(StreamId::default(), |pending| {
        all.push((pending.id, group.consumer(pending.consumer).name().to_vec()));
        ControlFlow::Continue(())
    });
    all
}
