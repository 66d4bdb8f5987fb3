//! Searches for keys: what the page asks, and the answers as JSON.
//!
//! ```text
//! search      {"keys": [[name, type, encoding, bytes, elements, ttl_ms or null, used], ...], ...}
//! branches    {"branches": [[part, keys, bytes], ...], "leaves": [as keys], "leaf_count", ...}
//! both        "looked", "matched", "next": "shard:position" or null, "held": whether something keeps the keys,
//!             "total": keys of the database, in the first answer
//! ```

use super::json::{argument, write_plain, write_text};
use larder_engine::{FoundKey, KeyFilter, Level, Order, Place, Slice, Wanted};
use serde_json::Value;
use std::fmt::Write;

/// Keys of one answer.
const LIMIT: usize = 500;
const LIMIT_MAX: usize = 2000;
/// Bytes of a pattern, a prefix or a delimiter.
const WORD_BYTES_MAX: usize = 4 << 10;

/// A search for keys.
pub struct Search {
    pub filter: KeyFilter,
    pub wanted: Wanted,
    pub from: Place,
}

/// A search for the branches below a prefix.
pub struct Branches {
    pub filter: KeyFilter,
    pub prefix: Vec<u8>,
    pub delimiter: Vec<u8>,
    pub from: Place,
}

impl Search {
    pub fn read(db: usize, body: &Value) -> Option<Search> {
        let order = match body.get("order").map_or(Some("none"), Value::as_str)? {
            "none" => Order::None,
            "name" => Order::Name,
            "bytes" => Order::Bytes,
            "elements" => Order::Elements,
            "ttl" => Order::Ttl,
            "use" => Order::Use,
            _ => return None,
        };
        let limit = number(body, "limit")?.map_or(LIMIT, |limit| limit as usize);
        let wanted = Wanted {
            order,
            descending: body.get("descending").map_or(Some(false), Value::as_bool)?,
            limit: limit.clamp(1, LIMIT_MAX),
            bound: number(body, "bound")?,
        };
        Some(Search { filter: filter(db, body)?, wanted, from: place(body)? })
    }
}

impl Branches {
    pub fn read(db: usize, body: &Value) -> Option<Branches> {
        let delimiter = word(body, "delimiter")?.filter(|delimiter| !delimiter.is_empty())?;
        let prefix = word(body, "prefix")?.unwrap_or_default();
        Some(Branches { filter: filter(db, body)?, prefix, delimiter, from: place(body)? })
    }
}

fn filter(db: usize, body: &Value) -> Option<KeyFilter> {
    Some(KeyFilter { db, pattern: word(body, "pattern")?, kind: word(body, "type")? })
}

/// A text or bytes; `Some(None)` where there is none.
fn word(body: &Value, name: &str) -> Option<Option<Vec<u8>>> {
    match body.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(value) => argument(value).filter(|word| word.len() <= WORD_BYTES_MAX).map(Some),
    }
}

fn number(body: &Value, name: &str) -> Option<Option<u64>> {
    match body.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(value) => value.as_u64().map(Some),
    }
}

fn place(body: &Value) -> Option<Place> {
    match body.get("from") {
        None | Some(Value::Null) => Some(Place::default()),
        Some(value) => {
            let (shard, position) = value.as_str()?.split_once(':')?;
            Some(Place { shard: shard.parse().ok()?, position: position.parse().ok()? })
        }
    }
}

pub fn write_found(slice: &Slice<Vec<FoundKey>>, total: Option<u64>) -> String {
    let mut out = "{\"keys\":".to_owned();
    write_keys(&slice.found, &mut out);
    write_rest(slice, total, &mut out);
    out
}

pub fn write_level(slice: &Slice<Level>, total: Option<u64>) -> String {
    let mut out = "{\"branches\":[".to_owned();
    for (at, (part, (keys, bytes))) in slice.found.branches.iter().enumerate() {
        out.push_str(if at > 0 { ",[" } else { "[" });
        write_text(part, &mut out);
        let _ = write!(out, ",{keys},{bytes}]");
    }
    out.push_str("],\"leaves\":");
    write_keys(&slice.found.leaves, &mut out);
    let _ = write!(out, ",\"leaf_count\":{}", slice.found.leaf_count);
    write_rest(slice, total, &mut out);
    out
}

fn write_keys(keys: &[FoundKey], out: &mut String) {
    out.push('[');
    for (at, key) in keys.iter().enumerate() {
        out.push_str(if at > 0 { ",[" } else { "[" });
        write_text(&key.name, out);
        for text in [key.kind, key.encoding] {
            out.push(',');
            write_plain(text, out);
        }
        let ttl = key.ttl_ms.map_or("null".to_owned(), |ttl| ttl.to_string());
        let _ = write!(out, ",{},{},{ttl},{}]", key.bytes, key.elements, key.used);
    }
    out.push(']');
}

fn write_rest<T>(slice: &Slice<T>, total: Option<u64>, out: &mut String) {
    let next =
        slice.next.map_or("null".to_owned(), |place| format!("\"{}:{}\"", place.shard, place.position));
    let total = total.map_or("null".to_owned(), |total| total.to_string());
    let (looked, matched, held) = (slice.looked, slice.matched, slice.is_held_up);
    let _ = write!(
        out,
        ",\"looked\":{looked},\"matched\":{matched},\"next\":{next},\"held\":{held},\"total\":{total}}}"
    );
}
