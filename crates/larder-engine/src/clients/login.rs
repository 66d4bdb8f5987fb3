//! Who a connection is: logging in, and what becomes of a connection whose user changes.

use crate::acl::{Acl, Rights, User};
use crate::clients::access::{Access, NEVER};
use crate::clients::session::Session;
use crate::pubsub::Space;
use std::sync::Arc;

/// Takes the rights again if they may have changed.
pub(crate) fn refresh(acl: &Acl, session: &mut Session) {
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

/// Makes a connection this user's, if the password is right.
pub(crate) fn log_in(acl: &Acl, session: &mut Session, name: &[u8], password: &[u8]) -> bool {
    let user = acl.find(name).filter(|user| user.rights().admits(password));
    let Some(user) = user else { return false };
    enter(acl, session, user)
}

/// Makes a connection this user's without a password, if there is one of the name and it is enabled.
pub(crate) fn log_in_by_certificate(acl: &Acl, session: &mut Session, name: &[u8]) -> bool {
    let user = acl.find(name).filter(|user| user.rights().is_enabled());
    user.is_some_and(|user| enter(acl, session, user))
}

/// Makes a connection a user's, unless the user is removed meanwhile.
fn enter(acl: &Acl, session: &mut Session, user: Arc<User>) -> bool {
    become_user(acl, session, Access::of(acl, user, true));
    // Looked at after the change: who deletes the user looks for connections after marking it (I3).
    if !session.access.user.is_gone() {
        return true;
    }
    start_over(acl, session);
    false
}

/// Whether the connection may go on: its user is still there and may hear all that it subscribes to.
pub(crate) fn may_stay(acl: &Acl, session: &mut Session) -> bool {
    if session.access.user.is_gone() {
        return false;
    }
    refresh(acl, session);
    let rights = &session.access.rights;
    let subscriptions = session.shared.subscriptions.lock();
    let Some(subscriptions) = &*subscriptions else { return true };
    [Space::Channels, Space::Patterns, Space::ShardChannels].into_iter().all(|space| {
        subscriptions.names(space).all(|name| rights.allows_channel(name, space == Space::Patterns))
    })
}
