//! Turns tracking on and off for a connection.

use crate::clients::session::{ClientShared, Session, client_flags};
use crate::command::spec::Found;
use crate::keyspace::address::Address;
use crate::tracking::{Options, Trackers, Tracking};
use std::sync::atomic::Ordering::Relaxed;

/// Turns tracking on, or changes its options. Listens to `prefixes` beside those listened to already.
pub(crate) fn turn_on(trackers: &Trackers, session: &mut Session, options: Options, prefixes: &[&[u8]]) {
    if session.tracking.is_none() {
        trackers.clients.fetch_add(1, Relaxed);
    }
    let address = address(session);
    let tracking = session.tracking.get_or_insert_default();
    tracking.options = options;
    tracking.is_broken = false;
    tracking.prefixes.extend(prefixes.iter().map(|&prefix| prefix.into()));
    for prefix in &tracking.prefixes {
        trackers.prefixes.join(prefix, address, options.no_loop);
    }
    let bytes = tracking.prefixes.iter().map(|prefix| 2 * prefix.len() + 96).sum::<usize>();
    session.shared.tracking_bytes.store((size_of::<Tracking>() + bytes) as u64, Relaxed);
    note(&session.shared, Some(options));
}

/// Turns tracking off; what is on its way to the connection is not sent any more.
pub(crate) fn turn_off(trackers: &Trackers, session: &mut Session) {
    let Some(tracking) = session.tracking.take() else { return };
    for prefix in &tracking.prefixes {
        trackers.prefixes.leave(prefix, address(session));
    }
    trackers.clients.fetch_sub(1, Relaxed);
    session.shared.tracking_bytes.store(0, Relaxed);
    note(&session.shared, None);
}

/// After a command, or a refusal of one (`None`: an unknown one): CLIENT CACHING is for the one command, or transaction, that follows it.
#[inline]
pub(crate) fn end_caching(session: &mut Session, found: Option<Found>) {
    if let Some(tracking) = &mut session.tracking
        && session.multi.is_none()
        && found.and_then(|found| found.parent).is_none_or(|parent| parent.name != "client")
    {
        tracking.caching = false;
    }
}

fn address(session: &Session) -> Address {
    Address { worker: session.shared.worker, client: session.shared.id }
}

/// Makes known what others may see.
fn note(shared: &ClientShared, options: Option<Options>) {
    shared.set_flag(client_flags::TRACKING, options.is_some());
    shared.set_flag(client_flags::BROKEN_REDIRECT, false);
    shared.set_flag(client_flags::BROADCAST, options.is_some_and(|options| options.broadcast));
    let redirect = options.map_or(-1, |options| options.redirect.unwrap_or(0) as i64);
    shared.redirect.store(redirect, Relaxed);
}
