//! The subscriptions of a connection, here and in the register of all. Its worker begins and ends them one by one; a thread
//! that closes the connection ends all of them.

use crate::clients::session::{ClientShared, Closing};
use crate::keyspace::address::Address;
use crate::pubsub::{PubSub, Space};
use std::sync::Arc;

/// Begins a subscription, unless there is one of the name.
pub(crate) fn join(pubsub: &PubSub, client: &ClientShared, space: Space, name: &[u8]) {
    let mut subscriptions = client.subscriptions.lock();
    // The thread that closes the connection ends its subscriptions after it has said so.
    if client.closing() == Closing::Now {
        return;
    }
    let subscriptions = subscriptions.get_or_insert_default();
    if !subscriptions.contains(space, name) {
        subscriptions.insert(space, pubsub.join(space, name, address(client)));
    }
}

/// Ends a subscription. Returns whether there was one of the name.
pub(crate) fn leave(pubsub: &PubSub, client: &ClientShared, space: Space, name: &[u8]) -> bool {
    let mut subscriptions = client.subscriptions.lock();
    let was_there = subscriptions.as_mut().is_some_and(|all| all.remove(space, name));
    if was_there {
        pubsub.leave(space, name, address(client));
    }
    was_there
}

/// Ends any one subscription. Returns its name, if there was one.
pub(crate) fn leave_any(pubsub: &PubSub, client: &ClientShared, space: Space) -> Option<Arc<[u8]>> {
    let mut subscriptions = client.subscriptions.lock();
    let name = subscriptions.as_mut()?.pop(space)?;
    pubsub.leave(space, &name, address(client));
    Some(name)
}

/// Ends all subscriptions.
pub(crate) fn end_all(pubsub: &PubSub, client: &ClientShared) {
    for space in [Space::Channels, Space::Patterns, Space::ShardChannels] {
        while leave_any(pubsub, client, space).is_some() {}
    }
}

fn address(client: &ClientShared) -> Address {
    Address { worker: client.worker, client: client.id }
}
