//! Keys as the commands that make them: for append-only files without an RDB preamble, and for slot
//! migrations.

use crate::context::replies::element_bytes;
use crate::context::stream_effects::with_claim;
use crate::snapshot::{Content, Record};
use crate::text::number::ScoreText;
use crate::text::stream_id::IdText;
use larder_collections::hash::Hash;
use larder_collections::list::List;
use larder_collections::set::Set;
use larder_collections::sorted_set::SortedSet;
use larder_collections::stream::{Group, Stream, StreamId};
use larder_collections::value::Value;
use larder_resp::encode_command;
use std::ops::ControlFlow;

/// Elements in one command.
const ITEMS_MAX: usize = 64;

/// The command that selects a database.
pub fn select_command(db: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_command(&mut bytes, [b"SELECT", itoa::Buffer::new().format(db).as_bytes()].into_iter());
    bytes
}

/// The command that loads a library of functions.
pub fn function_command(text: &[u8]) -> Vec<u8> {
    let mut command = Vec::new();
    encode_command(&mut command, [b"FUNCTION".as_slice(), b"LOAD", text].into_iter());
    command
}

/// Appends the commands that make a key.
pub fn commands_of(record: &Record<'_>, to: &mut Vec<u8>) {
    match &record.content {
        Content::String(bytes) => encode_command(to, [b"SET", record.key, bytes].into_iter()),
        Content::Value(Value::String(bytes)) => {
            encode_command(to, [b"SET".as_slice(), record.key, bytes].into_iter());
        }
        Content::Value(Value::List(list)) => push_list(record.key, list, to),
        Content::Value(Value::Set(set)) => push_set(record.key, set, to),
        Content::Value(Value::SortedSet(set)) => push_sorted_set(record.key, set, to),
        Content::Value(Value::Hash(hash)) => push_hash(record.key, hash, to),
        Content::Value(Value::Stream(stream)) => push_stream(record.key, stream, to),
        Content::Value(Value::Cold(_)) => unreachable!("a snapshot shows values as they are used"),
    }
    if let Some(at) = record.expire_at_ms {
        encode_command(to, [b"PEXPIREAT", record.key, itoa::Buffer::new().format(at).as_bytes()].into_iter());
    }
}

/// Entries, then what is remembered of the past, then groups with consumers and what is pending.
fn push_stream(key: &[u8], stream: &Stream, to: &mut Vec<u8>) {
    stream.for_each_node(|base, node| {
        for entry in node.entries(base) {
            let mut words = vec![b"XADD".to_vec(), key.to_vec(), IdText::of(entry.id).as_bytes().to_vec()];
            entry.for_each(|field, value| words.extend([field.to_vec(), value.to_vec()]));
            encode_command(to, words.iter().map(Vec::as_slice));
        }
    });
    if stream.is_empty() {
        encode_command(to, [&b"XADD"[..], key, b"MAXLEN", b"0", b"0-1", b"x", b"y"].into_iter());
    }
    let (last, deleted) = (IdText::of(stream.last_id()), IdText::of(stream.max_deleted_id()));
    let mut number = itoa::Buffer::new();
    let added = number.format(stream.entries_added()).as_bytes();
    let words: [&[u8]; 7] =
        [b"XSETID", key, last.as_bytes(), b"ENTRIESADDED", added, b"MAXDELETEDID", deleted.as_bytes()];
    encode_command(to, words.into_iter());
    stream.groups().for_each(|group| push_group(key, group, to));
}

fn push_group(key: &[u8], group: &Group, to: &mut Vec<u8>) {
    let (last, mut number) = (IdText::of(group.last_id), itoa::Buffer::new());
    let read = group.entries_read.map_or("-1", |read| number.format(read)).as_bytes();
    let words: [&[u8]; 7] = [b"XGROUP", b"CREATE", key, group.name(), last.as_bytes(), b"ENTRIESREAD", read];
    encode_command(to, words.into_iter());
    for (_, consumer) in group.consumers() {
        encode_command(
            to,
            [&b"XGROUP"[..], b"CREATECONSUMER", key, group.name(), consumer.name()].into_iter(),
        );
    }
    group.for_each_pending(StreamId::ZERO, |pending| {
        let names = (group.name(), group.consumer(pending.consumer).name());
        with_claim(key, names, &pending, group.last_id, |words| encode_command(to, words.iter().copied()));
        ControlFlow::Continue(())
    });
}

/// Gathers the words of a command, and begins another one when they are many.
struct Pieces<'a> {
    to: &'a mut Vec<u8>,
    name: &'static [u8],
    key: &'a [u8],
    words: Vec<Vec<u8>>,
    words_max: usize,
}

impl<'a> Pieces<'a> {
    fn new(to: &'a mut Vec<u8>, name: &'static [u8], key: &'a [u8], words_per_item: usize) -> Self {
        Pieces { to, name, key, words: Vec::new(), words_max: ITEMS_MAX * words_per_item }
    }

    fn push(&mut self, word: &[u8]) {
        if self.words.len() == self.words_max {
            self.finish();
        }
        self.words.push(word.to_vec());
    }

    fn finish(&mut self) {
        if !self.words.is_empty() {
            let head = [self.name, self.key];
            let words: Vec<&[u8]> = head.into_iter().chain(self.words.iter().map(Vec::as_slice)).collect();
            encode_command(self.to, words.into_iter());
            self.words.clear();
        }
    }
}

fn push_list(key: &[u8], list: &List, to: &mut Vec<u8>) {
    let mut pieces = Pieces::new(to, b"RPUSH", key, 1);
    let _ = list.for_each_range::<()>(0, list.len(), |element| {
        pieces.push(element_bytes(&element, &mut itoa::Buffer::new()));
        ControlFlow::Continue(())
    });
    pieces.finish();
}

fn push_set(key: &[u8], set: &Set, to: &mut Vec<u8>) {
    let mut pieces = Pieces::new(to, b"SADD", key, 1);
    set.looks().for_each(|member| pieces.push(element_bytes(&member.element(), &mut itoa::Buffer::new())));
    pieces.finish();
}

fn push_sorted_set(key: &[u8], set: &SortedSet, to: &mut Vec<u8>) {
    let mut pieces = Pieces::new(to, b"ZADD", key, 2);
    set.for_each(|score, member| {
        pieces.push(ScoreText::of(score).as_bytes());
        pieces.push(member);
    });
    pieces.finish();
}

fn push_hash(key: &[u8], hash: &Hash, to: &mut Vec<u8>) {
    let mut pieces = Pieces::new(to, b"HSET", key, 2);
    for field in hash.peeks(0) {
        pieces.push(field.name());
        pieces.push(&field.value());
    }
    pieces.finish();
    for field in hash.peeks(0) {
        if let Some(at) = field.expire_at_ms() {
            let at = itoa::Buffer::new().format(at).to_owned();
            let words: [&[u8]; 6] = [b"HPEXPIREAT", key, at.as_bytes(), b"FIELDS", b"1", field.name()];
            encode_command(to, words.into_iter());
        }
    }
}
