//! Groups as values, and values as payloads.

use crate::group::{Group, Pairs, Parts};
use crate::mapping::Kind;
use crate::replay::{Held, Replayed, add_entry, fields_only};
use crate::scores;
use larder_collections::footprint::Footprint;
use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
use larder_collections::list::{List, ListOptions};
use larder_collections::set::{Set, SetLimits};
use larder_collections::sorted_set::SortedSet;
use larder_collections::stream::Stream;
use larder_collections::value::Value;
use larder_rdb::dump::{self, Checks};
use larder_rdb::read::{Loaded, Options};
use larder_rdb::write::SmallHash;
use larder_rdb::{Version, is_known};

/// How payloads are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The version of the format.
    pub version: Version,
    /// The newest version that the target takes.
    pub newest: Version,
    /// Whether the target takes the types of Larder's own.
    pub own: bool,
    /// Whether the memory that keys take in Larder is wanted.
    pub measures: bool,
}

/// What is sent for a group.
#[derive(Debug)]
pub enum Built<'a> {
    /// The value of a string.
    String(&'a [u8]),
    /// A small hash, of which the payload is written straight to where it is sent from.
    Hash(SmallHash<Pairs<'a>>),
    /// The payload of a collection, how many elements it has, and the memory that it takes in Larder if that is wanted.
    Payload(Vec<u8>, u64, Footprint),
}

/// Builds the value of rows; the error says why there is none. O(n log n) in its elements.
pub fn of_rows<'a>(kind: &Kind, group: &'a Group, form: Form) -> Result<Built<'a>, String> {
    let mut parts = Parts::of(group.elements());
    let value = match kind {
        Kind::String(_) => return Ok(Built::String(parts.next().unwrap_or_default())),
        Kind::Hash(_) => {
            if let Some(small) = small_hash(parts, form) {
                return Ok(Built::Hash(small));
            }
            let mut hash = Hash::new();
            while let (Some(field), Some(value)) = (parts.next(), parts.next()) {
                hash.set(field, value, FieldExpiry::Clear, HashLimits::default(), 0);
            }
            Value::Hash(hash)
        }
        Kind::List(_) => {
            let (mut list, options) = (List::new(), ListOptions::default());
            parts.for_each(|element| list.push_back(element, &options));
            Value::List(list)
        }
        Kind::Set(_) => {
            let (mut set, limits) = (Set::new(), SetLimits::default());
            parts.for_each(|member| {
                set.insert(member, &limits);
            });
            Value::Set(set)
        }
        Kind::SortedSet(..) => Value::SortedSet(sorted_set(parts)),
        Kind::Stream(..) => {
            let mut stream = Stream::new();
            while let (Some(id), Some(count)) = (parts.next(), parts.next()) {
                let count = count.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                let fields = parts.by_ref().take(2 * count as usize);
                add_entry(&mut stream, &mut std::iter::once(id).chain(fields))?;
            }
            Value::Stream(stream)
        }
    };
    Ok(of_value(&value, form))
}

/// The hash of fields with their values, if it is a small one and the target takes types of Larder's own.
fn small_hash(fields: Parts<'_>, form: Form) -> Option<SmallHash<Pairs<'_>>> {
    if form.own && !form.measures { SmallHash::of(Pairs::of(fields)) } else { None }
}

/// What the commands of a group leave, if they are one that sets the fields of a small hash: that need not be done again.
pub fn of_fields(elements: &[u8], form: Form) -> Option<Built<'_>> {
    small_hash(fields_only(elements)?, form).map(Built::Hash)
}

/// What commands left; None if that is nothing.
pub fn of_replayed<'a>(replayed: &Replayed<'a>, form: Form) -> Option<Built<'a>> {
    match &replayed.held {
        Held::Nothing => None,
        Held::String(bytes) => Some(Built::String(bytes)),
        Held::Value(value) => Some(of_value(value, form)),
    }
}

/// A value as the target takes it. O(n).
pub fn of_value(value: &Value, form: Form) -> Built<'static> {
    let own = if form.own { dump::of_blocks(value) } else { None };
    let payload = own.unwrap_or_else(|| dump::of_value(value, form.version, false));
    Built::Payload(payload, count(value), footprint(value, form))
}

/// The payload of another server in the form that the target takes. One that is not understood, as those of modules and of types that only
/// its own kind of server has, stays as it is: the target decides. The error says that the payload is damaged.
pub fn of_payload(payload: &[u8], form: Form) -> Result<Built<'static>, String> {
    if !dump::verify(payload, Checks { sum: true, version: false }) {
        return Err("its payload arrived damaged".to_owned());
    }
    let as_it_is = |elements, memory| Built::Payload(payload.to_vec(), elements, memory);
    let Ok(Some(loaded)) = dump::restore(payload, &Options { blocks: true, ..Options::default() }) else {
        return Ok(as_it_is(0, Footprint { in_record: 0, outside: payload.len() as u64 }));
    };
    let (_, footer) = payload.split_at(payload.len().saturating_sub(FOOTER_BYTES));
    let version = footer.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
    let is_taken = version <= form.newest.number() && is_known(u32::from(version));
    Ok(match loaded {
        Loaded::String(bytes) if is_taken => as_it_is(1, Footprint::of_string(&bytes)),
        Loaded::String(bytes) => {
            Built::Payload(dump::of_string(&bytes, form.version, false), 1, Footprint::of_string(&bytes))
        }
        Loaded::Value(value) if is_taken && !form.own => as_it_is(count(&value), footprint(&value, form)),
        Loaded::Value(value) => of_value(&value, form),
    })
}

/// The version and the checksum at the end of a payload.
const FOOTER_BYTES: usize = 10;

fn footprint(value: &Value, form: Form) -> Footprint {
    if form.measures { Footprint::of(value) } else { Footprint::default() }
}

/// Elements of a value.
fn count(value: &Value) -> u64 {
    if let Value::String(_) = value { 1 } else { value.elements() }
}

fn sorted_set(mut parts: Parts<'_>) -> SortedSet {
    let mut entries = Vec::new();
    while let (Some(member), Some(score)) = (parts.next(), parts.next()) {
        entries.push((scores::of(score), member));
    }
    let mut set = SortedSet::new();
    scores::add(&mut set, &mut entries);
    set
}
