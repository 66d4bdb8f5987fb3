//! Who is to be told of which changes, until it is sent.

use crate::clients::registry::Clients;
use crate::clients::session::client_flags;
use crate::delivery::invalidation::{Invalidation, Scope};
use crate::delivery::mailbox::{Mail, Mailboxes, Told};
use crate::keyspace::address::Address;
use crate::tracking::Trackers;
use crate::tracking::broadcast::Listener;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

/// What a key takes here beside its bytes: its place, and what an allocation takes.
const ENTRY_BYTES: usize = 64;

/// Where those are found who are to be told, and how they are reached.
#[derive(Clone, Copy)]
pub(crate) struct Receivers<'e> {
    pub clients: &'e Clients,
    pub trackers: &'e Trackers,
    pub mailboxes: &'e Mailboxes,
}

/// What a thread has to tell.
#[derive(Default)]
pub(crate) struct Invalidations {
    /// Keys with those who have read them, and who has changed them.
    read: Vec<(Box<[u8]>, Vec<Address>, u64)>,
    /// Everything is gone: all clients that track keys are to be told.
    all: bool,
    /// All but the client whose command it was have been told so.
    all_but_own: bool,
    /// Changed keys that may have a prefix somebody listens to, and who changed them: 0 for several clients.
    changed: BTreeMap<Box<[u8]>, u64>,
    /// Bytes of what is in `read` and in `changed`, about.
    read_bytes: usize,
    changed_bytes: usize,
    /// The messages to other workers since somebody asked.
    told: Vec<Told>,
}

impl Invalidations {
    /// The readers of a key are to be told.
    pub(crate) fn push(&mut self, key: &[u8], readers: Vec<Address>, writer: u64) {
        self.read_bytes += ENTRY_BYTES + key.len() + size_of_val(&readers[..]);
        self.read.push((key.into(), readers, writer));
    }

    /// Those who listen to prefixes of the key are to be told.
    pub(crate) fn broadcast(&mut self, key: &[u8], writer: u64) {
        match self.changed.entry(key.into()) {
            Entry::Vacant(place) => {
                self.changed_bytes += ENTRY_BYTES + key.len();
                place.insert(writer);
            }
            // Each of the writers learns of the other's change.
            Entry::Occupied(mut known) if *known.get() != writer => *known.get_mut() = 0,
            Entry::Occupied(_) => {}
        }
    }

    /// The messages that other workers are to deliver before replies of this one leave.
    pub(crate) fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// Bytes that it takes in memory until it is sent, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.read_bytes + self.changed_bytes
    }

    /// Everybody is to be told that everything has changed.
    pub(crate) fn push_all(&mut self) {
        self.all = true;
    }

    /// Whether there is something to send at the end of a command.
    #[inline]
    pub(crate) fn has_direct(&self) -> bool {
        self.all || self.all_but_own || !self.read.is_empty()
    }

    /// Sends what is sent at the end of a command. What is for the client `own` is returned instead: it comes after
    /// the reply of its command. No shard is locked.
    pub(crate) fn send_direct(
        &mut self,
        receivers: Receivers<'_>,
        from: Option<usize>,
        own: u64,
    ) -> Vec<Arc<Invalidation>> {
        let mut for_own = Vec::new();
        let told = &mut self.told;
        let mut send = |what: Arc<Invalidation>, readers: &mut dyn Iterator<Item = Address>| {
            let mut others = BTreeMap::new();
            for reader in readers {
                if reader.client == own {
                    for_own.push(Arc::clone(&what));
                } else {
                    others.entry(reader.worker).or_insert_with(Vec::new).push(reader.client);
                }
            }
            mail(receivers, from, others, &what, told);
        };
        self.read_bytes = 0;
        for (key, readers, writer) in self.read.drain(..) {
            let what = Invalidation::of(Scope::Readers { writer }, std::iter::once(&*key));
            send(what, &mut readers.into_iter());
        }
        let everybody = || Arc::new(Invalidation { scope: Scope::Everybody, keys: None });
        if std::mem::take(&mut self.all) {
            send(everybody(), &mut all_trackers(receivers));
        }
        if std::mem::take(&mut self.all_but_own)
            && all_trackers(receivers).any(|tracker| tracker.client == own)
        {
            for_own.push(everybody());
        }
        for_own
    }

    /// Sends to the readers of keys what is sent at the end of a command, but for what concerns the client `own`, and what a client has
    /// changed itself when it was served.
    pub(crate) fn send_direct_to_others(&mut self, receivers: Receivers<'_>, from: Option<usize>, own: u64) {
        self.send_direct_to(receivers, from, |reader, writer| reader != own && reader != writer);
        if std::mem::take(&mut self.all) {
            let mut others = BTreeMap::new();
            for tracker in all_trackers(receivers).filter(|tracker| tracker.client != own) {
                others.entry(tracker.worker).or_insert_with(Vec::new).push(tracker.client);
            }
            let what = Arc::new(Invalidation { scope: Scope::Everybody, keys: None });
            mail(receivers, from, others, &what, &mut self.told);
            self.all_but_own = true;
        }
    }

    /// Sends to clients that were served what they have changed themselves: it comes after their replies.
    pub(crate) fn send_direct_to_served(&mut self, receivers: Receivers<'_>, from: Option<usize>, own: u64) {
        self.send_direct_to(receivers, from, |reader, _| reader != own);
    }

    /// Sends to those readers of keys that are chosen, by their ids and those of the writers.
    fn send_direct_to(
        &mut self,
        receivers: Receivers<'_>,
        from: Option<usize>,
        is_chosen: impl Fn(u64, u64) -> bool,
    ) {
        for (key, readers, writer) in &mut self.read {
            let mut others = BTreeMap::new();
            readers.retain(|reader| {
                let is_chosen = is_chosen(reader.client, *writer);
                if is_chosen {
                    others.entry(reader.worker).or_insert_with(Vec::new).push(reader.client);
                }
                !is_chosen
            });
            if !others.is_empty() {
                let what = Invalidation::of(Scope::Readers { writer: *writer }, std::iter::once(&**key));
                mail(receivers, from, others, &what, &mut self.told);
            }
        }
    }

    /// Sends the changed keys to those who listen to their prefixes.
    pub(crate) fn send_broadcasts(&mut self, receivers: Receivers<'_>, from: Option<usize>) {
        if self.changed.is_empty() {
            return;
        }
        let changed = std::mem::take(&mut self.changed);
        self.changed_bytes = 0;
        let told = &mut self.told;
        receivers.trackers.prefixes.each(|prefix, listeners| {
            let behind = changed.range::<[u8], _>((Bound::Included(prefix), Bound::Unbounded));
            let keys: Vec<(&[u8], u64)> = behind
                .take_while(|(key, _)| key.starts_with(prefix))
                .map(|(key, writer)| (&**key, *writer))
                .collect();
            if !keys.is_empty() {
                tell((receivers, from), &keys, listeners, told);
            }
        });
    }

    /// Sends everything; for threads that serve no client.
    pub(crate) fn send(&mut self, receivers: Receivers<'_>) {
        self.send_direct(receivers, None, 0);
        self.send_broadcasts(receivers, None);
    }
}

/// The clients that track keys.
fn all_trackers(receivers: Receivers<'_>) -> impl Iterator<Item = Address> {
    let clients = receivers.clients.snapshot().into_iter();
    clients
        .filter(|client| client.has(client_flags::TRACKING))
        .map(|client| Address { worker: client.worker, client: client.id })
}

/// Tells the listeners of a prefix of keys with it.
fn tell(
    (receivers, from): (Receivers<'_>, Option<usize>),
    keys: &[(&[u8], u64)],
    listeners: &[Listener],
    told: &mut Vec<Told>,
) {
    let is_writer = |listener: &Listener| keys.iter().any(|(_, writer)| *writer == listener.address.client);
    let mut others = BTreeMap::new();
    for listener in listeners {
        let Address { worker, client } = listener.address;
        if !(listener.no_loop && is_writer(listener)) {
            others.entry(worker).or_insert_with(Vec::new).push(client);
            continue;
        }
        let left: Vec<&[u8]> = keys.iter().filter(|(_, by)| *by != client).map(|(key, _)| *key).collect();
        if !left.is_empty() {
            let what = Invalidation::of(Scope::Listeners, left.into_iter());
            mail(receivers, from, BTreeMap::from([(worker, vec![client])]), &what, told);
        }
    }
    if !others.is_empty() {
        let what = Invalidation::of(Scope::Listeners, keys.iter().map(|(key, _)| *key));
        mail(receivers, from, others, &what, told);
    }
}

fn mail(
    receivers: Receivers<'_>,
    from: Option<usize>,
    to: BTreeMap<usize, Vec<u64>>,
    what: &Arc<Invalidation>,
    told: &mut Vec<Told>,
) {
    for (worker, clients) in to {
        let mail = Mail::Invalidate { clients, what: Arc::clone(what) };
        // Threads that are no workers have no replies.
        told.extend(receivers.mailboxes.send_from(from, worker, mail).filter(|_| from.is_some()));
    }
}
