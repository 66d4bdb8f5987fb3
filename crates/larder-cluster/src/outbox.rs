//! What has gathered to be done since it was last handed out.

use crate::action::Action;
use crate::link::LinkId;
use crate::slot_set::SlotSet;
use std::sync::Arc;

/// Actions that gather, and what has to be done once for all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    actions: Vec<Action>,
    /// Whether `nodes.conf` says less than what is known.
    pub must_save: bool,
    /// The same, of what may be lost with the machine.
    pub must_write: bool,
    /// Whether the slot map shows less than what is known.
    pub must_map: bool,
    /// Whether both should say more by the next tick.
    pub noticed: bool,
    /// Whether the state of the cluster may be another one.
    pub must_judge: bool,
    /// Whether all data is to be deleted.
    pub must_flush: bool,
    /// Slots whose keys are to be deleted.
    pub dropped: SlotSet,
}

impl Outbox {
    /// Adds an action to the end.
    pub fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Adds a packet.
    pub fn send(&mut self, link: LinkId, bytes: Arc<[u8]>) {
        self.push(Action::Send { link, bytes });
    }

    /// Takes what has been pushed.
    pub fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Notes what is worth remembering and showing, but no promise: names, addresses, who is there. Saving and showing it with the next
    /// tick makes a node of 1,000 that joins write ten files a second, not one for each packet.
    pub fn notice(&mut self) {
        (self.noticed, self.must_judge) = (true, true);
    }

    /// Makes what has been noticed due.
    pub fn settle_noticed(&mut self) {
        if std::mem::take(&mut self.noticed) {
            (self.must_save, self.must_map) = (true, true);
        }
    }

    /// Notes that something changed that a file, the clients and the state of the cluster depend on.
    pub fn changed(&mut self) {
        (self.must_save, self.must_map, self.must_judge) = (true, true, true);
    }

    /// Notes the same of a slot that an operator moves: moving thousands must not wait for the disk a dozen times for each.
    pub fn moved(&mut self) {
        (self.must_write, self.must_map, self.must_judge) = (true, true, true);
    }
}
