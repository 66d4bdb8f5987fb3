//! Gathered commands on one key, done again on the client: the value that they leave, and which of them fail as a server would fail them.

use crate::group::Parts;
use crate::scores;
use crate::understand::Op;
use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
use larder_collections::list::{List, ListOptions};
use larder_collections::set::{Set, SetLimits};
use larder_collections::sorted_set::SortedSet;
use larder_collections::stream::{Limits as StreamLimits, Stream, StreamId};
use larder_collections::value::Value;

/// What a key holds.
pub enum Held<'a> {
    /// Nothing: its time has passed, or all commands failed.
    Nothing,
    /// A string.
    String(&'a [u8]),
    /// A collection.
    Value(Value),
}

/// What commands leave.
pub struct Replayed<'a> {
    /// The value.
    pub held: Held<'a>,
    /// When the key expires, in milliseconds since 1970.
    pub expire_at_ms: Option<u64>,
    /// Whether the key was there and its time has passed.
    pub has_expired: bool,
    /// Commands that failed: where they are, and why.
    pub faults: Vec<(u64, String)>,
    /// What the last commands set in a sorted set, which gets all of it at once.
    entries: Vec<(f64, &'a [u8])>,
}

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

/// The fields and values that the commands of a group set, if they are one command that does nothing else.
pub fn fields_only(elements: &[u8]) -> Option<Parts<'_>> {
    let mut parts = Parts::of(elements);
    let head = parts.next()?;
    if head.first() != Some(&(Op::SetFields as u8)) {
        return None;
    }
    let count = head.get(9..13).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    let is_last = parts.clone().nth(count as usize).is_none();
    is_last.then_some(parts)
}

/// Does the commands of a group again, in their order. O(n log n) in their arguments.
pub fn replay(elements: &[u8], now_ms: u64) -> Replayed<'_> {
    let mut state = Replayed {
        held: Held::Nothing,
        expire_at_ms: None,
        has_expired: false,
        faults: Vec::new(),
        entries: Vec::new(),
    };
    let mut parts = Parts::of(elements);
    while let Some(head) = parts.next() {
        let offset = head.get(1..9).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
        let count = head.get(9..13).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
        let op = head.first().and_then(|&number| Op::ALL.get(usize::from(number))).copied();
        let mut args = parts.by_ref().take(count as usize);
        if let Some(Err(fault)) = op.map(|op| state.apply(op, &mut args, now_ms)) {
            state.faults.push((offset, fault));
        }
        // What was not looked at belongs to this command all the same.
        args.for_each(drop);
    }
    state.settle();
    state
}

/// The collection of a key, which is made if nothing is there.
macro_rules! collection {
    ($state:expr, $variant:ident, $new:expr) => {{
        if let Held::Nothing = $state.held {
            $state.held = Held::Value(Value::$variant($new));
        }
        match &mut $state.held {
            Held::Value(Value::$variant(value)) => value,
            _ => return Err(WRONG_TYPE.to_owned()),
        }
    }};
}

impl<'a> Replayed<'a> {
    fn apply(
        &mut self,
        op: Op,
        args: &mut impl Iterator<Item = &'a [u8]>,
        now_ms: u64,
    ) -> Result<(), String> {
        if op != Op::SetScores {
            self.settle();
        }
        match op {
            Op::SetString => {
                (self.held, self.expire_at_ms) = (Held::String(args.next().unwrap_or_default()), None);
                self.has_expired = false;
            }
            Op::ExpireAt => return self.expire(args.next().unwrap_or_default(), now_ms),
            Op::PushBack => {
                let (list, options) = (collection!(self, List, List::new()), ListOptions::default());
                args.for_each(|element| list.push_back(element, &options));
            }
            Op::PushFront => {
                let (list, options) = (collection!(self, List, List::new()), ListOptions::default());
                args.for_each(|element| list.push_front(element, &options));
            }
            Op::AddMembers => {
                let (set, limits) = (collection!(self, Set, Set::new()), SetLimits::default());
                args.for_each(|member| {
                    set.insert(member, &limits);
                });
            }
            Op::SetFields => {
                let hash = collection!(self, Hash, Hash::new());
                while let (Some(field), Some(value)) = (args.next(), args.next()) {
                    hash.set(field, value, FieldExpiry::Clear, HashLimits::default(), 0);
                }
            }
            Op::SetScores => {
                collection!(self, SortedSet, SortedSet::new());
                while let (Some(score), Some(member)) = (args.next(), args.next()) {
                    self.entries.push((scores::of(score), member));
                }
            }
            Op::AddEntry => {
                let stream = collection!(self, Stream, Stream::new());
                let added = add_entry(stream, args);
                if stream.is_empty() {
                    self.held = Held::Nothing;
                }
                return added;
            }
        }
        Ok(())
    }

    /// Puts the entries where they belong.
    fn settle(&mut self) {
        if let Held::Value(Value::SortedSet(set)) = &mut self.held {
            scores::add(set, &mut self.entries);
        }
        self.entries.clear();
    }

    fn expire(&mut self, at: &[u8], now_ms: u64) -> Result<(), String> {
        if let Held::Nothing = self.held {
            return Err("no earlier command creates the key".to_owned());
        }
        let at = at.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
        match u64::try_from(at) {
            Ok(at) if at > now_ms => self.expire_at_ms = Some(at),
            _ => (self.held, self.expire_at_ms, self.has_expired) = (Held::Nothing, None, true),
        }
        Ok(())
    }
}

/// Appends an entry: its ID in sixteen bytes, and fields with values.
pub fn add_entry<'a>(stream: &mut Stream, args: &mut impl Iterator<Item = &'a [u8]>) -> Result<(), String> {
    let id = args.next().unwrap_or_default();
    let word = |at: usize| id.get(at..at + 8).and_then(|w| w.try_into().ok()).map_or(0, u64::from_le_bytes);
    let id = StreamId { ms: word(0), seq: word(8) };
    if !stream.is_empty() && id <= stream.last_id() {
        return Err(format!("the entry {}-{} is not greater than the previous one", id.ms, id.seq));
    }
    let mut fields: Vec<(&[u8], &[u8])> = Vec::new();
    while let (Some(name), Some(value)) = (args.next(), args.next()) {
        fields.push((name, value));
    }
    if fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > Stream::ENTRY_BYTES_MAX {
        return Err(format!("the entry {}-{} is too large", id.ms, id.seq));
    }
    stream.append(id, fields.into_iter(), &StreamLimits::default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::understand::understand;
    use larder_resp::OwnedArgs;

    /// What lines leave: a description of the value, when it expires, and the offsets of what fails (lines are counted from 0).
    fn left(lines: &[&str]) -> (String, Option<u64>, Vec<u64>) {
        let mut elements = Vec::new();
        for (offset, line) in lines.iter().enumerate() {
            let args: OwnedArgs = line.split(' ').map(str::as_bytes).collect();
            let add = &mut |_: &[u8], element: &[u8]| elements.extend_from_slice(element);
            assert!(understand(args.as_args(), (offset as u64, 1000), &mut Vec::new(), add), "{line}");
        }
        let done = replay(&elements, 1000);
        let held = match &done.held {
            Held::Nothing => format!("nothing {}", done.has_expired),
            Held::String(bytes) => format!("string {}", bytes.escape_ascii()),
            Held::Value(Value::List(list)) => format!("list {}", list.len()),
            Held::Value(Value::Hash(hash)) => format!("hash {}", hash.len()),
            Held::Value(Value::Set(set)) => format!("set {}", set.len()),
            Held::Value(Value::SortedSet(set)) => format!("zset {}", set.len()),
            Held::Value(Value::Stream(stream)) => format!("stream {}", stream.len()),
            Held::Value(Value::String(_) | Value::Cold(_)) => {
                unreachable!("strings are kept apart, and nothing is compressed")
            }
        };
        (held, done.expire_at_ms, done.faults.iter().map(|(offset, _)| *offset).collect())
    }

    #[test]
    fn fields_of_one_command_are_found() {
        let fields = |lines: &[&str]| {
            let mut elements = Vec::new();
            for line in lines {
                let args: OwnedArgs = line.split(' ').map(str::as_bytes).collect();
                let add = &mut |_: &[u8], element: &[u8]| elements.extend_from_slice(element);
                assert!(understand(args.as_args(), (0, 1000), &mut Vec::new(), add), "{line}");
            }
            fields_only(&elements).map(|parts| parts.map(<[u8]>::to_vec).collect::<Vec<_>>().join(&b' '))
        };
        assert_eq!(fields(&["HSET k a 1 b 2"]), Some(b"a 1 b 2".to_vec()));
        assert_eq!(fields(&["HMSET k a 1"]), Some(b"a 1".to_vec()));
        for others in [&["SADD k a"][..], &["HSET k a 1", "HSET k b 2"], &["HSET k a 1", "EXPIRE k 9"]] {
            assert_eq!(fields(others), None);
        }
    }

    #[test]
    fn every_state_meets_every_operation() {
        let make = ["SET k v", "RPUSH k a b", "SADD k a", "HSET k f v", "ZADD k 1 a", "XADD k 5-1 f v"];
        let held = ["string v", "list 2", "set 1", "hash 1", "zset 1", "stream 1"];
        for (first, before) in make.iter().zip(held) {
            assert_eq!(left(&[first]), (before.to_owned(), None, vec![]));
            for (second, after) in make.iter().zip(held) {
                let (found, _, faults) = left(&[first, second]);
                let is_refused =
                    before != after && after != "string v" || before == after && after == "stream 1";
                assert_eq!(faults, if is_refused { vec![1] } else { vec![] }, "{first}, {second}");
                let twice = if first == second && after == "list 2" { "list 4" } else { after };
                assert_eq!(found, if is_refused { before } else { twice }, "{first}, {second}");
            }
            let kept = left(&[first, "PEXPIREAT k 2000"]);
            assert_eq!(kept, (before.to_owned(), Some(2000), vec![]));
            assert_eq!(left(&[first, "PEXPIREAT k 2000", "SET k x"]).1, None);
            for gone in ["PEXPIREAT k 1000", "EXPIRE k -1", "EXPIRE k 0", "EXPIREAT k -5"] {
                assert_eq!(left(&[first, gone]).0, "nothing true", "{first}, {gone}");
                assert_eq!(left(&[first, gone, "SADD k x"]), ("set 1".to_owned(), None, vec![]));
            }
        }
        assert_eq!(left(&["EXPIRE k 5", "SET k v"]), ("string v".to_owned(), None, vec![0]));
        assert_eq!(left(&["SET k v EX 5"]).1, Some(6000));
        assert_eq!(left(&["PSETEX k 5 v"]).1, Some(1005));
        assert_eq!(left(&["LPUSH k a", "RPUSH k b", "EXPIRE k 1", "LPUSH k c"]).1, Some(2000));
    }
}
