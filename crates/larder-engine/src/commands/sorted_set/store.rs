//! A sorted set in the making, for the commands that store their result.

use super::limits;
use crate::context::Context;
use crate::engine::notify::class;
use crate::keyspace::key::Key;
use crate::text::number::ScoreText;
use larder_collections::sorted_set::{Limits, SortedSet, SortedSetEncoding};

/// See the module's comment.
pub(crate) struct Result {
    set: SortedSet,
    limits: Limits,
    /// Members that were given the score -0 while the set counted as small, if its size is known only in the end.
    zeros: Option<Vec<Vec<u8>>>,
}

impl Result {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        Result { set: SortedSet::new(), limits: limits(context), zeros: Some(Vec::new()) }
    }

    /// From here on the set grows entry by entry as with ZADD: what a small set does not remember of scores is lost.
    pub(crate) fn begin_small(&mut self) {
        self.zeros = None;
    }

    /// Adds a member that is not there. Fastest in ascending order.
    pub(crate) fn push(&mut self, score: f64, member: &[u8]) {
        self.set.add(member, score, &self.limits);
        if score == 0.0 && score.is_sign_negative() && self.set.encoding() == SortedSetEncoding::Listpack {
            self.zeros.iter_mut().for_each(|zeros| zeros.push(member.to_vec()));
        }
    }

    /// The entries as arguments of ZADD.
    pub(crate) fn entries(&self) -> Vec<Vec<u8>> {
        let mut words = Vec::with_capacity(2 * self.set.len() as usize);
        self.set.for_each(|score, member| {
            words.push(ScoreText::of(score).as_bytes().to_vec());
            words.push(member.to_vec());
        });
        words
    }

    /// The same as [`store`](Self::store) for a result that depends on how a server keeps its values, or finds them: others are
    /// sent the entries.
    pub(crate) fn store_for_all(self, context: &mut Context<'_>, key: &Key<'_>, event: &str) {
        let entries = if context.logs() { self.entries() } else { Vec::new() };
        let dirty = context.worker.stats.dirty.get();
        self.store(context, key, event);
        if context.worker.stats.dirty.get() != dirty {
            context.propagate_elements(key, b"ZADD", &entries, 2);
        }
    }

    /// Puts the result in place of whatever the key holds, and replies with the number of members. An empty one removes
    /// the key. Listeners are told of `event`.
    pub(crate) fn store(mut self, context: &mut Context<'_>, key: &Key<'_>, event: &str) {
        self.zeros.iter().flatten().for_each(|member| self.set.negate_zero(member));
        let len = self.set.len();
        if len == 0 {
            context.delete_target(key);
        } else {
            context.put_value(key, self.set);
            context.modified(key);
            context.notify(class::SORTED_SET, event, key);
            context.signal_ready(key);
        }
        context.reply.int(len as i64);
    }
}
