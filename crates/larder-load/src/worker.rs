//! The threads that build payloads and send them: a batch at a time, each with connections of its own.

use crate::connection::{Connection, Reply};
use crate::error::{Error, Result};
use crate::request::{Maker, Sent};
use crate::shared::{Batch, Shared, lock};
use crate::slot;
use crate::state::Past;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};

/// How often a key is sent on to another node.
const REDIRECTIONS_MAX: u32 = 5;

/// Works until no batch is left.
pub fn run(shared: &Shared<'_>, batches: &Mutex<Receiver<Batch>>) -> Result<()> {
    let mut worker = Worker { shared, connections: HashMap::new() };
    loop {
        let next = lock(batches).recv();
        let Ok(batch) = next else { return Ok(()) };
        worker.load(batch)?;
    }
}

/// A node, and a database of it.
type Place = (String, u32);

struct Worker<'a> {
    shared: &'a Shared<'a>,
    connections: HashMap<Place, Connection>,
}

impl Worker<'_> {
    fn load(&mut self, batch: Batch) -> Result<()> {
        let shared = self.shared;
        let maker = Maker { shared, replace: shared.replace || batch.past == Past::Started };
        let all = maker.make(batch.content)?;
        if shared.dry_run {
            all.iter().for_each(|sent| self.count(sent));
            return Ok(());
        }
        let whereabouts = whereabouts(&all, batch.number);
        lock(&shared.state).start(batch.number)?;
        let mut nodes: Vec<(Place, Vec<Sent>)> = Vec::new();
        for sent in all {
            let place = (self.owner(&sent.key), sent.db);
            match nodes.iter_mut().find(|(other, _)| *other == place) {
                Some((_, all)) => all.push(sent),
                None => nodes.push((place, vec![sent])),
            }
        }
        self.send(&nodes).map_err(|error| match error {
            Error::Target(text) => Error::Target(format!("{text}; {whereabouts}")),
            other => other,
        })?;
        lock(&shared.state).done(batch.number)
    }

    /// Sends to all nodes before it waits for the replies of any.
    fn send(&mut self, nodes: &[(Place, Vec<Sent>)]) -> Result<()> {
        for (place, all) in nodes {
            let connection = self.connection(place)?;
            let requests: Vec<&[u8]> = all.iter().map(|sent| sent.request.as_slice()).collect();
            connection.send(&requests.concat())?;
        }
        for (place, all) in nodes {
            for sent in all {
                let reply = self.connection(place)?.reply()?;
                self.settle(sent, &place.0, reply)?;
            }
        }
        Ok(())
    }

    /// Does what a reply asks for.
    fn settle(&mut self, sent: &Sent, address: &str, mut reply: Reply) -> Result<()> {
        for _ in 0..=REDIRECTIONS_MAX {
            let error = match reply {
                Reply::Text(_) => {
                    self.count(sent);
                    return Ok(());
                }
                Reply::Null => "BUSYKEY Target key name already exists.".to_owned(),
                Reply::Error(error) => error,
                other => return Err(Error::Target(format!("{address}: {other:?} is no reply to RESTORE"))),
            };
            match error.split(' ').collect::<Vec<_>>()[..] {
                [kind @ ("MOVED" | "ASK"), slot, to] => {
                    reply = self.redirect(sent, address, kind, slot, to)?;
                }
                ["BUSYKEY", ..] => return self.shared.reject(sent.place, "the key exists", &sent.key),
                ["ERR", "Bad", "data", "format"] | ["ERR", "DUMP", "payload", ..] => {
                    return self.shared.reject(sent.place, &error, &sent.key);
                }
                _ => {
                    let (unit, key) = (self.shared.source.place_unit(), sent.key.escape_ascii());
                    let place = sent.place;
                    return Err(Error::Target(format!("{address}: {error} ({unit} {place}, key '{key}')")));
                }
            }
        }
        Err(Error::Target(format!("{address}: sent from node to node without end")))
    }

    fn redirect(&mut self, sent: &Sent, from: &str, kind: &str, slot: &str, to: &str) -> Result<Reply> {
        // Without a name it is where the one is who says so.
        let host = from.rsplit_once(':').map_or("", |(host, _)| host);
        let to = if to.starts_with(':') { format!("{host}{to}") } else { to.to_owned() };
        if kind == "MOVED" {
            let mut owners = self.shared.owners.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(owner) = slot.parse().ok().and_then(|slot: usize| owners.get_mut(slot)) {
                owner.clone_from(&to);
            }
        }
        // A connection of its own: the replies to the rest of a batch may be on the way on the others.
        let mut connection = self.shared.target.connect(&to, sent.db)?;
        if kind == "ASK" {
            connection.ask(&[b"ASKING"])?;
        }
        connection.send(&sent.request)?;
        connection.reply()
    }

    fn connection(&mut self, place: &Place) -> Result<&mut Connection> {
        if !self.connections.contains_key(place) {
            let new = self.shared.target.connect(&place.0, place.1)?;
            self.connections.insert(place.clone(), new);
        }
        Ok(self.connections.get_mut(place).expect("it has just been put there"))
    }

    /// The address of the node for a key.
    fn owner(&self, key: &[u8]) -> String {
        let owners = self.shared.owners.read().unwrap_or_else(PoisonError::into_inner);
        let owner = if owners.is_empty() { None } else { owners.get(slot::of_key(key)).cloned() };
        owner.unwrap_or_else(|| self.shared.target.address())
    }

    fn count(&self, sent: &Sent) {
        let counts = &self.shared.counts;
        counts.keys.fetch_add(1, Relaxed);
        counts.elements.fetch_add(sent.elements, Relaxed);
        counts.payload_bytes.fetch_add(sent.payload_bytes, Relaxed);
        counts.memory_bytes.fetch_add(sent.memory_bytes, Relaxed);
    }
}

/// Which keys are in doubt when a batch fails.
fn whereabouts(all: &[Sent], batch: u64) -> String {
    let key = |sent: Option<&Sent>| sent.map_or(String::new(), |sent| sent.key.escape_ascii().to_string());
    let (first, last) = (key(all.first()), key(all.last()));
    format!("of the keys '{first}' to '{last}' (batch {batch}) some may be loaded")
}
