//! Who a connection is, and the rights it has taken.

use super::{Acl, DEFAULT, Origin, Reason, Rights, User};
use crate::engine::Engine;
use crate::pubsub::Space;
use crate::session::Session;
use std::sync::Arc;

/// Never an epoch.
const NEVER: u64 = 0;

/// The user of a connection and a copy of the rights, good while the epoch is the same.
#[derive(Clone)]
pub(crate) struct Access {
    user: Arc<User>,
    rights: Arc<Rights>,
    /// When the rights were taken.
    epoch: u64,
    /// The same if they allow everything, else [`NEVER`].
    free_epoch: u64,
    /// Whether the connection has said who it is, or did not have to when it came.
    proved: bool,
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

    fn of(acl: &Acl, user: Arc<User>, proved: bool) -> Self {
        // Before the rights (I1).
        let epoch = acl.epoch();
        let rights = user.rights();
        let free_epoch = if rights.is_all() { epoch } else { NEVER };
        Access { user, rights, epoch, free_epoch, proved }
    }

    /// Whether the connection may do everything, for all that is known without a closer look.
    #[inline]
    pub(super) fn is_free(&self, acl: &Acl) -> bool {
        self.free_epoch == acl.epoch()
    }

    /// Whether the connection is let in.
    pub(crate) fn is_in(&self, acl: &Acl) -> bool {
        self.proved || acl.default_user().rights().is_open()
    }

    pub(crate) fn user(&self) -> &Arc<User> {
        &self.user
    }

    pub(crate) fn rights(&self) -> &Rights {
        &self.rights
    }
}

/// Takes the rights anew if they may have changed.
pub(super) fn refresh(acl: &Acl, session: &mut Session) {
    let access = &session.access;
    if access.epoch == acl.epoch() {
        return;
    }
    let mut fresh = Access::of(acl, Arc::clone(&access.user), access.proved);
    if fresh.user.is_gone() {
        // It stays a connection of that user, so that those who look for such find it, and may do nothing.
        fresh.rights = Arc::new(Rights::none(false));
        fresh.free_epoch = NEVER;
        session.authenticated = false;
    } else {
        session.authenticated = fresh.is_in(acl);
    }
    session.access = fresh;
}

/// Whether the connection's user has been removed: it must not be answered any more.
pub(crate) fn is_nobodys(session: &Session) -> bool {
    session.access.user.is_gone()
}

fn become_user(acl: &Acl, session: &mut Session, access: Access) {
    let is_default = Arc::ptr_eq(&access.user, acl.default_user());
    session.shared.names.lock().user = (!is_default).then(|| Arc::clone(&access.user));
    session.authenticated = access.is_in(acl);
    session.was_in |= session.authenticated;
    session.access = access;
}

/// Makes a connection what a new one is.
pub(crate) fn start_over(acl: &Acl, session: &mut Session) {
    become_user(acl, session, Access::of_new(acl));
}

/// Makes a connection this user's, if the password is right; `origin` and `object`, the command that asked, are for
/// the log.
pub(crate) fn authenticate(
    engine: &Engine,
    session: &mut Session,
    name: &[u8],
    password: &[u8],
    origin: Origin,
    object: &[u8],
) -> bool {
    let acl = &engine.acl;
    let user = acl.find(name).filter(|user| user.rights().admits(password));
    if let Some(user) = user {
        become_user(acl, session, Access::of(acl, user, true));
        // Looked at behind the change: who deletes the user looks for connections behind marking it (I3).
        if !session.access.user.is_gone() {
            return true;
        }
        start_over(acl, session);
    }
    super::log::note(engine, session, Reason::Auth, origin, object, name);
    false
}

/// Whether the connection may go on: its user is still there and may hear all that it subscribes to.
pub(crate) fn may_stay(acl: &Acl, session: &mut Session) -> bool {
    if session.access.user.is_gone() {
        return false;
    }
    refresh(acl, session);
    let rights = &session.access.rights;
    let Some(subscriptions) = &session.subscriptions else { return true };
    [Space::Channels, Space::Patterns, Space::ShardChannels].into_iter().all(|space| {
        subscriptions.names(space).all(|name| rights.allows_channel(name, space == Space::Patterns))
    })
}
