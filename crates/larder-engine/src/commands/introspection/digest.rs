//! The digest of the data that DEBUG DIGEST prints: equal data on two servers of this protocol gives equal digests.
//!
//! Keys are combined with exclusive or, so that their order does not matter; within a list it does.

use crate::context::Context;
use crate::error::CommandResult;
use crate::keyspace::kind::Kind;
use crate::text::hex;
use crate::text::number::ScoreText;
use larder_collections::hash::Hash;
use larder_collections::key_table::{Entry, ValueRef};
use larder_collections::list::Element;
use larder_collections::sorted_set::SortedSet;
use larder_collections::stream::Stream;
use larder_collections::value::Value;
use sha1::{Digest as _, Sha1};
use std::ops::ControlFlow;

/// Twenty bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Digest([u8; 20]);

impl Digest {
    /// Combines with the hash of `bytes`, whatever the order.
    fn xor(&mut self, bytes: &[u8]) {
        let hash = Sha1::digest(bytes);
        self.0.iter_mut().zip(hash).for_each(|(a, b)| *a ^= b);
    }

    /// Combines with the hash of `bytes`; the order matters.
    fn mix(&mut self, bytes: &[u8]) {
        self.xor(bytes);
        self.0 = Sha1::digest(self.0).into();
    }

    /// Mixes in a value with its type and whether it expires.
    fn mix_value(&mut self, entry: &Entry<'_, Value>) {
        let value = entry.value();
        self.mix(&type_number(Kind::of(&value)).to_be_bytes());
        match &value {
            ValueRef::Inline { bytes, .. } => self.mix(bytes),
            ValueRef::Out(value) => match &**value {
                Value::String(bytes) => self.mix(bytes),
                Value::Cold(_) => unreachable!("the value is as it is used"),
                Value::Hash(hash) => self.mix_hash(hash),
                Value::List(list) => self.mix_list(list),
                Value::SortedSet(set) => self.mix_sorted_set(set),
                Value::Stream(stream) => self.mix_stream(stream),
                Value::Set(set) => {
                    set.looks().for_each(|member| member.element().with_bytes(|bytes| self.xor(bytes)));
                }
            },
        }
        if entry.expire_at_ms().is_some() {
            self.xor(b"!!expire!!");
        }
    }

    /// Fields in any order; each with its value.
    fn mix_hash(&mut self, hash: &Hash) {
        for field in hash.peeks(crate::keyspace::deadlines::due_at(crate::clock::wall_ms())) {
            let mut digest = Digest::default();
            digest.mix(field.name());
            digest.mix(&field.value());
            self.xor(&digest.0);
        }
    }

    fn mix_list(&mut self, list: &larder_collections::list::List) {
        let mut number = itoa::Buffer::new();
        let _ = list.for_each_range::<()>(0, list.len(), |element: Element<'_>| {
            self.mix(crate::context::replies::element_bytes(&element, &mut number));
            ControlFlow::Continue(())
        });
    }

    fn mix_sorted_set(&mut self, set: &SortedSet) {
        set.for_each(|score, member| {
            let mut entry = Digest::default();
            entry.mix(member);
            entry.mix(ScoreText::of_digest(score).as_bytes());
            self.xor(&entry.0);
        });
    }

    fn mix_stream(&mut self, stream: &Stream) {
        stream.for_each_node(|base, node| {
            for entry in node.entries(base) {
                self.mix(format!("{}.{}", entry.id.ms, entry.id.seq).as_bytes());
                entry.for_each(|field, value| {
                    field.with_bytes(|bytes| self.mix(bytes));
                    value.with_bytes(|bytes| self.mix(bytes));
                });
            }
        });
    }

    pub(super) fn hex(&self) -> String {
        hex::digits(&self.0)
    }
}

/// The number of a type in Redis's sources and dumps, which the digest starts with.
fn type_number(kind: Kind) -> u32 {
    match kind {
        Kind::String => 0,
        Kind::List => 1,
        Kind::Set => 2,
        Kind::SortedSet => 3,
        Kind::Hash => 4,
        Kind::Stream => 6,
    }
}

/// The digest of one value; zeros when there is no such key.
pub(super) fn of_value(context: &mut Context<'_>, name: &[u8]) -> CommandResult<Digest> {
    let (key, db) = (context.key(name), context.db);
    let mut digest = Digest::default();
    context.with_shard(key.shard(), |data| {
        if let Some(entry) = data.table(db).and_then(|table| table.get(key.hash, name)) {
            digest.mix_value(&entry);
        }
    })?;
    Ok(digest)
}

/// The digest of all databases.
pub(super) fn of_everything(context: &mut Context<'_>) -> CommandResult<Digest> {
    let mut total = Digest::default();
    for db in 0..context.engine.database_count() {
        let mut of_db = Digest::default();
        let mut any = false;
        context.each_shard(|data| {
            for entry in data.table(db).into_iter().flat_map(|table| table.iter()) {
                let mut digest = Digest::default();
                digest.mix(entry.key());
                digest.mix_value(&entry);
                of_db.xor(&digest.0);
                any = true;
            }
        })?;
        if any {
            total.mix(&(db as u32).to_be_bytes());
            total.0.iter_mut().zip(of_db.0).for_each(|(a, b)| *a ^= b);
        }
    }
    Ok(total)
}
