//! A consumer group: how far it has read, its consumers, and what they have got and not acknowledged.
//!
//! The pending entries stand once with everything about them, in order of their ids, and once more as ids in the list of
//! their consumer. Both are packed: with ids that come in batches an entry takes 5 to 15 bytes of both together, where Redis
//! keeps a node in two trees and a structure, more than 100 bytes.
//!
//! | | cost |
//! |---|---|
//! | a group without consumers | 170 bytes |
//! | a consumer | 110 bytes and its name |
//! | find a consumer | O(log consumers) |
//! | deliver, acknowledge, claim an entry | O(log n) and a scan of up to 128 records |
//! | clone | O(consumers), done on the first write to a shared group |
//!
//! Invariants:
//! - G1: the lists of the consumers are disjoint, and together they are the ids that are pending.
//! - G2: an entry that is pending names the consumer in whose list it is.
//! - G3: `by_name` has the numbers of all consumers in order of their names.
//!
//! Tested by the model test in `tests/groups.rs`.

use super::pack::Delivery;
use super::pending::Records;
use crate::relocation::move_arc;
use larder_packed::heap::Mover;
use larder_packed::stream_node::StreamId;
use std::ops::ControlFlow;
use std::sync::Arc;

/// See the module's comment.
#[derive(Clone)]
pub struct Group {
    name: Box<[u8]>,
    /// The last entry that was delivered to a consumer.
    pub last_id: StreamId,
    /// How many entries from the first one ever added the group has read; None when nobody can tell.
    pub entries_read: Option<u64>,
    pending: Records<Delivery>,
    consumers: Vec<Option<Arc<Consumer>>>,
    by_name: Vec<u32>,
}

/// A consumer of a group.
#[derive(Clone)]
pub struct Consumer {
    name: Box<[u8]>,
    /// When it last asked for anything, in ms.
    pub seen_ms: u64,
    /// When it last got anything, in ms; None if it never did.
    pub active_ms: Option<u64>,
    pending: Records<()>,
}

/// A consumer of a group, by a number that stays the same while it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerId(u32);

/// An entry that was delivered and not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The entry.
    pub id: StreamId,
    /// Who has it.
    pub consumer: ConsumerId,
    /// When it was delivered last, in ms.
    pub time_ms: u64,
    /// How often it was delivered.
    pub count: u64,
}

impl Pending {
    fn of(id: StreamId, delivery: Delivery) -> Pending {
        let consumer = ConsumerId(delivery.consumer);
        Pending { id, consumer, time_ms: delivery.time_ms, count: delivery.count }
    }
}

impl Consumer {
    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Entries that it has got and not acknowledged.
    pub fn pending_len(&self) -> u64 {
        self.pending.len()
    }
}

impl Group {
    /// A group without consumers.
    pub fn new(name: &[u8], last_id: StreamId, entries_read: Option<u64>) -> Group {
        Group {
            name: name.into(),
            last_id,
            entries_read,
            pending: Records::default(),
            consumers: Vec::new(),
            by_name: Vec::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Number of consumers.
    pub fn consumer_count(&self) -> usize {
        self.by_name.len()
    }

    /// The consumers in order of their names.
    pub fn consumers(&self) -> impl ExactSizeIterator<Item = (ConsumerId, &Consumer)> {
        self.by_name.iter().map(|&number| (ConsumerId(number), self.consumer(ConsumerId(number))))
    }

    /// Moves the group's blocks, those that lie in sparse slabs and are not shared.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover) {
        mover.each(1 + self.consumers.len(), |mover, part| match part.checked_sub(1) {
            None => self.pending.move_blocks(mover),
            Some(at) => {
                let consumer = self.consumers[at].as_mut();
                if let Some(consumer) = consumer.and_then(|consumer| move_arc(consumer, mover)) {
                    consumer.pending.move_blocks(mover);
                }
            }
        });
    }

    /// The consumer of a name.
    pub fn find(&self, name: &[u8]) -> Option<ConsumerId> {
        self.position(name).ok().map(|at| ConsumerId(self.by_name[at]))
    }

    /// A consumer that exists.
    pub fn consumer(&self, id: ConsumerId) -> &Consumer {
        self.consumers[id.0 as usize].as_deref().expect("G3: the consumer exists")
    }

    /// A consumer that exists, to change its times.
    pub fn consumer_mut(&mut self, id: ConsumerId) -> &mut Consumer {
        Arc::make_mut(self.consumers[id.0 as usize].as_mut().expect("G3: the consumer exists"))
    }

    /// Creates a consumer, seen now; None if there is one of this name.
    pub fn create(&mut self, name: &[u8], now_ms: u64) -> Option<ConsumerId> {
        let at = self.position(name).err()?;
        let consumer =
            Consumer { name: name.into(), seen_ms: now_ms, active_ms: None, pending: Records::default() };
        let all_taken = self.by_name.len() == self.consumers.len();
        let free = if all_taken { None } else { self.consumers.iter().position(Option::is_none) };
        let number = free.unwrap_or_else(|| {
            self.consumers.push(None);
            self.consumers.len() - 1
        });
        self.consumers[number] = Some(Arc::new(consumer));
        self.by_name.insert(at, number as u32);
        Some(ConsumerId(number as u32))
    }

    /// Removes a consumer and what is pending for it; how many entries these were. None if there is no such consumer.
    pub fn remove_consumer(&mut self, name: &[u8]) -> Option<u64> {
        let at = self.position(name).ok()?;
        let number = self.by_name.remove(at);
        let consumer = self.consumers[number as usize].take().expect("G3: the consumer exists");
        let _ = consumer.pending.walk(StreamId::ZERO, |id, ()| {
            self.pending.remove(id);
            ControlFlow::<()>::Continue(())
        });
        Some(consumer.pending.len())
    }

    /// Number of entries that were delivered and not acknowledged.
    pub fn pending_len(&self) -> u64 {
        self.pending.len()
    }

    /// The lowest and the highest id of these.
    pub fn pending_ends(&self) -> Option<(StreamId, StreamId)> {
        Some((self.pending.first()?, self.pending.last()?))
    }

    /// What is known of an entry that was delivered and not acknowledged.
    pub fn pending(&self, id: StreamId) -> Option<Pending> {
        self.pending.get(id).map(|delivery| Pending::of(id, delivery))
    }

    /// Gives an entry to a consumer that exists, whichever had it before.
    pub fn put(&mut self, pending: Pending) {
        let Pending { id, consumer, time_ms, count } = pending;
        let delivery = Delivery { consumer: consumer.0, time_ms, count };
        let old = self.pending.put(id, delivery);
        if let Some(old) = old {
            if old.consumer == consumer.0 {
                return;
            }
            self.consumer_mut(ConsumerId(old.consumer)).pending.remove(id);
        }
        self.consumer_mut(consumer).pending.put(id, ());
    }

    /// Forgets an entry that was delivered; true if it was pending.
    pub fn acknowledge(&mut self, id: StreamId) -> bool {
        let Some(delivery) = self.pending.remove(id) else { return false };
        self.consumer_mut(ConsumerId(delivery.consumer)).pending.remove(id);
        true
    }

    /// Calls `f` with what is pending from `from` on, in order of ids, until it breaks.
    pub fn for_each_pending(&self, from: StreamId, mut f: impl FnMut(Pending) -> ControlFlow<()>) {
        let _ = self.pending.walk(from, |id, delivery| f(Pending::of(id, delivery)));
    }

    /// The same for one consumer that exists.
    pub fn for_each_pending_of(
        &self,
        consumer: ConsumerId,
        from: StreamId,
        mut f: impl FnMut(Pending) -> ControlFlow<()>,
    ) {
        let mut lookup = self.pending.lookup();
        let _ = self
            .consumer(consumer)
            .pending
            .walk(from, |id, ()| f(Pending::of(id, lookup(id).expect("G1: the entry is pending"))));
    }

    /// Bytes of heap, estimated from `samples` packs of each list; 0 looks at all.
    pub fn memory_bytes(&self, samples: u64) -> u64 {
        let lists = self.consumers().map(|(_, consumer)| {
            let own = size_of::<Consumer>() + 16 + consumer.name.len();
            own as u64 + consumer.pending.heap_bytes(samples)
        });
        let own = size_of::<Group>()
            + 16
            + self.name.len()
            + self.consumers.capacity() * 8
            + self.by_name.capacity() * 4;
        own as u64 + self.pending.heap_bytes(samples) + lists.sum::<u64>()
    }

    /// Number of allocations, roughly.
    pub(super) fn node_count(&self) -> u64 {
        1 + self.pending.blocks()
            + self.consumers().map(|(_, consumer)| 2 + consumer.pending.blocks()).sum::<u64>()
    }

    /// Panics if an invariant of the module's comment is violated.
    pub fn check_invariants(&self) {
        self.pending.check_invariants();
        let names: Vec<&[u8]> = self.consumers().map(|(_, consumer)| consumer.name()).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "G3: order");
        assert_eq!(self.consumers.iter().flatten().count(), names.len(), "G3: all consumers");
        let mut sum = 0;
        for (id, consumer) in self.consumers() {
            consumer.pending.check_invariants();
            sum += consumer.pending.len();
            self.for_each_pending_of(id, StreamId::ZERO, |pending| {
                assert_eq!(pending.consumer, id, "G2");
                ControlFlow::Continue(())
            });
        }
        assert_eq!(sum, self.pending.len(), "G1");
    }

    fn position(&self, name: &[u8]) -> Result<usize, usize> {
        self.by_name.binary_search_by(|&number| self.consumer(ConsumerId(number)).name().cmp(name))
    }
}
