//! The user of a connection, and the rights it has taken.

use crate::acl::{Acl, DEFAULT, Rights, User};
use std::sync::Arc;

/// Never an epoch.
pub(super) const NEVER: u64 = 0;

/// The user of a connection and a copy of the rights, good while the epoch is the same.
#[derive(Clone)]
pub(crate) struct Access {
    pub(super) user: Arc<User>,
    pub(super) rights: Arc<Rights>,
    /// When the rights were taken.
    pub(super) epoch: u64,
    /// The same if they allow everything, else [`NEVER`].
    pub(super) free_epoch: u64,
    /// Whether the connection has said who it is, or did not have to when it came.
    pub(super) proved: bool,
}

impl Access {
    /// Of a new connection: the default user, who is in if no password is asked for.
    pub(crate) fn of_new(acl: &Acl) -> Self {
        let mut access = Access::of(acl, Arc::clone(acl.default_user()), false);
        access.proved = access.rights.is_open();
        access
    }

    /// Of one that reads a log: nothing is refused.
    pub(crate) fn of_replay(acl: &Acl) -> Self {
        Access::of(acl, User::new(DEFAULT, Rights::all()), true)
    }

    pub(super) fn of(acl: &Acl, user: Arc<User>, proved: bool) -> Self {
        // Before the rights (I1).
        let epoch = acl.epoch();
        let rights = user.rights();
        let free_epoch = if rights.is_all() { epoch } else { NEVER };
        Access { user, rights, epoch, free_epoch, proved }
    }

    /// Whether the connection may do everything, for all that is known without a closer look.
    #[inline]
    pub(crate) fn is_unrestricted(&self, acl: &Acl) -> bool {
        self.free_epoch == acl.epoch()
    }

    /// Whether the connection is let in.
    pub(crate) fn is_in(&self, acl: &Acl) -> bool {
        self.proved || acl.default_user().rights().is_open()
    }

    /// When the rights were taken.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn user(&self) -> &Arc<User> {
        &self.user
    }

    /// A counted reference to the rights, which stays valid when the user's rights change.
    pub(crate) fn shared_rights(&self) -> Arc<Rights> {
        Arc::clone(&self.rights)
    }

    pub(crate) fn rights(&self) -> &Rights {
        &self.rights
    }
}
