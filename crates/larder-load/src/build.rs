//! Groups as values, and values as payloads.

use crate::group::{Group, Parts};
use crate::mapping::Kind;
use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
use larder_collections::list::{List, ListOptions};
use larder_collections::set::{Set, SetLimits};
use larder_collections::sorted_set::{Limits, SortedSet};
use larder_collections::stream::{Limits as StreamLimits, Stream, StreamId};
use larder_collections::value::Value;
use larder_rdb::{Version, dump};

/// How payloads are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The version of the format.
    pub version: Version,
    /// Whether the target takes the types of Larder's own.
    pub own: bool,
}

/// What is sent for a group.
#[derive(Debug)]
pub enum Built<'a> {
    /// The value of a string.
    String(&'a [u8]),
    /// The payload of a collection, how many elements it has, and bytes of memory that it takes in Larder.
    Payload(Vec<u8>, u64, u64),
}

/// Builds the value of a group; the error says why there is none. O(n log n) in its elements.
pub fn build<'a>(kind: &Kind, group: &'a Group, form: Form) -> Result<Built<'a>, String> {
    let mut parts = Parts::of(&group.elements);
    let (value, count) = match kind {
        Kind::String(_) => return Ok(Built::String(parts.next().unwrap_or_default())),
        Kind::Hash(_) => {
            let mut hash = Hash::new();
            while let (Some(field), Some(value)) = (parts.next(), parts.next()) {
                hash.set(field, value, FieldExpiry::Clear, HashLimits::default(), 0);
            }
            let count = hash.len() as u64;
            (Value::Hash(hash), count)
        }
        Kind::List(_) => {
            let (mut list, options) = (List::new(), ListOptions::default());
            parts.for_each(|element| list.push_back(element, &options));
            let count = list.len();
            (Value::List(list), count)
        }
        Kind::Set(_) => {
            let (mut set, limits) = (Set::new(), SetLimits::default());
            parts.for_each(|member| {
                set.insert(member, &limits);
            });
            let count = set.len();
            (Value::Set(set), count)
        }
        Kind::SortedSet(..) => {
            let set = sorted_set(parts);
            let count = set.len();
            (Value::SortedSet(set), count)
        }
        Kind::Stream(..) => {
            let stream = stream(&mut parts)?;
            let count = stream.len();
            (Value::Stream(stream), count)
        }
    };
    let own = if form.own { dump::of_blocks(&value) } else { None };
    let payload = own.unwrap_or_else(|| dump::of_value(&value, form.version, false));
    Ok(Built::Payload(payload, count, value.memory_bytes(0)))
}

/// Of members that are there twice the last score counts.
fn sorted_set(mut parts: Parts<'_>) -> SortedSet {
    let (mut set, limits) = (SortedSet::new(), Limits::default());
    while let (Some(member), Some(score)) = (parts.next(), parts.next()) {
        let score = score.first_chunk().map_or(0.0, |bytes| f64::from_le_bytes(*bytes));
        set.add(member, score, &limits);
    }
    set
}

fn stream(parts: &mut Parts<'_>) -> Result<Stream, String> {
    let mut stream = Stream::new();
    while let (Some(id), Some(count)) = (parts.next(), parts.next()) {
        let word =
            |at: usize| id.get(at..at + 8).and_then(|w| w.try_into().ok()).map_or(0, u64::from_le_bytes);
        let id = StreamId { ms: word(0), seq: word(8) };
        if !stream.is_empty() && id <= stream.last_id() {
            return Err(format!("the entry {}-{} does not come after the one before", id.ms, id.seq));
        }
        let count = count.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let fields: Vec<(&[u8], &[u8])> =
            (0..count).filter_map(|_| Some((parts.next()?, parts.next()?))).collect();
        if fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
            > Stream::ENTRY_BYTES_MAX
        {
            return Err(format!("the entry {}-{} is too large", id.ms, id.seq));
        }
        stream.append(id, fields.into_iter(), &StreamLimits::default());
    }
    Ok(stream)
}
