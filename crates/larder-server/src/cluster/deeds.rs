//! What the bus does to the engine: the role, the slot map, keys that go, writes that pause.
//!
//! What cannot be done because a script keeps the shards stays here and is tried again, in the same order. A node that is to follow another hands
//! the new map out first, so that clients are told where to go before the connections of those that wait are closed; one that is to lead takes
//! the role first, so that a slot that it has is one that it can write. One that ends, and has told a replica to take its place, keeps the
//! role to its end: it only says where clients are to go.

use larder_cluster::{NodeId, SlotMap, SlotSet};
use larder_engine::{Busy, Engine, Migration, SlotKeys, instant};
use larder_persist::Pace;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long keys are deleted at a time: nodes that say something wait for that.
const DELETING: Duration = Duration::from_millis(2);

/// The role that a node is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Of a replica of this primary.
    Follow(NodeId, String, u16),
    /// Of a primary.
    Lead,
}

/// What is still to be done.
pub struct Deeds {
    engine: Arc<Engine>,
    keys: Option<SlotKeys>,
    role: Option<Role>,
    map: Option<Arc<SlotMap>>,
    /// Shards with slots that have changed, while commands may still go by the map before.
    unsettled: Option<BTreeSet<usize>>,
    flushes: bool,
    dropped: SlotSet,
    /// Imports that have failed, and the slots of theirs that may still have keys.
    cleanups: Vec<(Arc<Migration>, SlotSet)>,
    /// Keys could have been deleted for longer.
    must_go_on: bool,
    pauses: bool,
    resumes: bool,
}

impl Deeds {
    /// Nothing is to be done.
    pub fn new(engine: &Arc<Engine>) -> Deeds {
        Deeds {
            engine: Arc::clone(engine),
            keys: None,
            role: None,
            map: None,
            unsettled: None,
            flushes: false,
            dropped: SlotSet::new(),
            cleanups: Vec::new(),
            must_go_on: false,
            pauses: false,
            resumes: false,
        }
    }

    /// The workers are made: keys can be deleted from now on.
    pub fn begin_deleting(&mut self) {
        self.keys = Some(SlotKeys::new(&self.engine));
    }

    /// The node is to have another role.
    pub fn take_role(&mut self, role: Role) {
        self.role = Some(role);
    }

    /// Clients are to be served by another map.
    pub fn use_map(&mut self, map: Arc<SlotMap>) {
        self.map = Some(map);
    }

    /// All keys are to go.
    pub fn flush(&mut self) {
        self.flushes = true;
    }

    /// The keys of slots are to go.
    pub fn drop_slots(&mut self, slots: &SlotSet) {
        self.dropped.insert_all(slots);
    }

    /// The keys of an import that has failed are to go.
    pub fn clean_up(&mut self, job: &Arc<Migration>) {
        if !self.cleanups.iter().any(|(other, _)| Arc::ptr_eq(other, job)) {
            self.cleanups.push((Arc::clone(job), job.slots.clone()));
        }
    }

    /// The imports of which nothing is left.
    pub fn take_cleaned(&mut self) -> Vec<Arc<Migration>> {
        let (cleaned, left) =
            std::mem::take(&mut self.cleanups).into_iter().partition(|(_, slots)| slots.is_empty());
        self.cleanups = left;
        let cleaned: Vec<_> = cleaned;
        cleaned.into_iter().map(|(job, _)| job).collect()
    }

    /// The node has got slots back: their keys stay.
    pub fn keep_slots(&mut self, has: impl Fn(u16) -> bool) {
        let kept: Vec<u16> = self.dropped.iter().filter(|&slot| has(slot)).collect();
        for slot in kept {
            self.dropped.remove(slot);
        }
    }

    /// Writes are to pause.
    pub fn pause(&mut self) {
        (self.pauses, self.resumes) = (true, false);
    }

    /// Writes may go on, once the role and the map are what they are to be: before, they would be made where they are lost.
    pub fn resume(&mut self) {
        (self.pauses, self.resumes) = (false, true);
    }

    /// Whether it is to go on at once, unless there is something else to be done.
    pub fn is_urgent(&self) -> bool {
        self.must_go_on
    }

    /// Whether something is left.
    pub fn is_pending(&self) -> bool {
        self.role.is_some()
            || self.map.is_some()
            || self.unsettled.is_some()
            || self.flushes
            || self.pauses
            || self.resumes
            || !self.dropped.is_empty()
            || !self.cleanups.is_empty()
    }

    /// Does what can be done. Whether writes have paused because of that.
    pub fn work(&mut self) -> bool {
        self.try_work().unwrap_or(false)
    }

    fn try_work(&mut self) -> Result<bool, Busy> {
        if !matches!(self.role, Some(Role::Lead)) {
            self.hand_out_map()?;
        }
        if self.engine.replication().is_handing_over() {
            // What is being saved is that of a primary. Writes that were put off are told where to go.
            self.engine.retry_put_off();
            return Ok(false);
        }
        match &self.role {
            Some(Role::Follow(node, host, port)) => self.engine.follow_in_cluster(*node, host, *port)?,
            Some(Role::Lead) => self.engine.lead_in_cluster()?,
            None => {}
        }
        self.role = None;
        self.hand_out_map()?;
        if std::mem::take(&mut self.resumes) {
            self.engine.resume_writes_in_cluster();
        }
        let Some(keys) = &mut self.keys else { return Ok(false) };
        if self.flushes {
            keys.delete_all()?;
            self.flushes = false;
        }
        if self.pauses {
            self.engine.pause_writes_in_cluster()?;
        }
        Ok(std::mem::take(&mut self.pauses))
    }

    /// Hands the map out now, if there is one: clients wait for it.
    pub fn show_map(&mut self) {
        if self.role.is_none() {
            // What is left is done with the rest.
            let _ = self.hand_out_map();
        }
    }

    /// Deletes keys of slots for a while, if that is all that is left.
    pub fn delete_some(&mut self) {
        // A script keeps them: it is tried again.
        self.must_go_on = self.try_delete_some().unwrap_or(false);
    }

    /// Whether there are more.
    fn try_delete_some(&mut self) -> Result<bool, Busy> {
        let must_wait = self.role.is_some()
            || self.map.is_some()
            || self.unsettled.is_some()
            || self.flushes
            || self.engine.replication().is_handing_over();
        let has_none = self.dropped.is_empty() && self.cleanups.is_empty();
        let Some(keys) = self.keys.as_mut().filter(|_| !must_wait && !has_none) else { return Ok(false) };
        let (begun, mut pace) = (instant(), Pace::of(&self.engine));
        while begun.elapsed() < DELETING {
            let is_lost = !self.dropped.is_empty();
            let mut cleanups = self.cleanups.iter_mut().map(|(_, slots)| slots);
            let slots = match is_lost {
                true => Some(&mut self.dropped),
                false => cleanups.find(|slots| !slots.is_empty()),
            };
            let Some(slots) = slots else { return Ok(false) };
            let Some(slot) = slots.iter().next() else { return Ok(false) };
            let has_more = match is_lost {
                true => keys.delete_some(slot)?,
                false => keys.delete_some_hidden(slot)?,
            };
            if !has_more {
                slots.remove(slot);
            }
            pace.look();
        }
        Ok(true)
    }

    fn hand_out_map(&mut self) -> Result<(), Busy> {
        if let Some(map) = self.map.take() {
            let changed = self.engine.use_slot_map(&map);
            self.unsettled.get_or_insert_default().extend(changed);
        }
        if let Some(shards) = &mut self.unsettled {
            self.engine.settle_slot_map(shards)?;
            self.unsettled = None;
        }
        Ok(())
    }
}
