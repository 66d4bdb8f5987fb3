//! A sorted set in the making, for the commands that store their result.

use super::limits;
use crate::context::Context;
use crate::notify::class;
use crate::shard::Key;
use larder_collections::sorted_set::{Limits, SortedSet};

/// See the module's comment.
pub(crate) struct Result {
    set: SortedSet,
    limits: Limits,
}

impl Result {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        Result { set: SortedSet::new(), limits: limits(context) }
    }

    /// Adds a member that is not there. Fastest in ascending order.
    pub(crate) fn push(&mut self, score: f64, member: &[u8]) {
        self.set.add(member, score, &self.limits);
    }

    /// Puts the result in place of whatever the key holds, and replies with the number of members. An empty one removes
    /// the key. Listeners are told of `event`.
    pub(crate) fn store(self, context: &mut Context<'_>, key: &Key<'_>, event: &str) {
        let len = self.set.len();
        if len == 0 {
            context.delete(key);
        } else {
            context.put_value(key, self.set);
            context.modified(key);
            context.notify(class::SORTED_SET, event, key);
            context.signal_ready(key);
        }
        context.reply.int(len as i64);
    }
}
