//! The threads that build payloads and send them: a batch at a time, each with connections of its own.

use crate::build::{Built, build};
use crate::connection::{Connection, Reply, command};
use crate::error::{Error, Result};
use crate::group::Group;
use crate::mapping::{Mapping, VALUE_BYTES_MAX};
use crate::reject::Rejects;
use crate::slot;
use crate::state::{Past, State};
use crate::target::{Facts, Target};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// What a string takes beside key and value, about.
const STRING_BYTES: u64 = 8;
/// How often a key is sent on to another node.
const REDIRECTIONS_MAX: u32 = 5;

/// Keys that are sent together.
pub struct Batch {
    /// Its number, from 0.
    pub number: u64,
    /// Its keys.
    pub groups: Vec<Group>,
    /// What an earlier load has done of it.
    pub past: Past,
}

/// What has been done so far.
#[derive(Default)]
pub struct Counts {
    /// Keys that are loaded, or would be.
    pub keys: AtomicU64,
    /// Elements in them.
    pub elements: AtomicU64,
    /// Bytes of values or payloads.
    pub payload_bytes: AtomicU64,
    /// Memory that the keys take in Larder, about.
    pub memory_bytes: AtomicU64,
}

/// What all workers share.
pub struct Shared<'a> {
    /// What rows become.
    pub mapping: &'a Mapping,
    /// Who is loaded.
    pub target: &'a Target,
    /// What it takes.
    pub facts: &'a Facts,
    /// The owners of slots, as far as is known; empty without a cluster.
    pub owners: RwLock<Vec<String>>,
    /// Keys that are there are replaced.
    pub replace: bool,
    /// Nothing is sent.
    pub dry_run: bool,
    /// Counts.
    pub counts: Counts,
    /// What was not loaded.
    pub rejects: Mutex<Rejects>,
    /// What is loaded.
    pub state: Mutex<State>,
}

/// A lock; a thread that panicked ends the load anyway.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Works until no batch is left.
pub fn run(shared: &Shared<'_>, batches: &Mutex<Receiver<Batch>>) -> Result<()> {
    let mut worker = Worker { shared, connections: HashMap::new() };
    loop {
        let next = lock(batches).recv();
        let Ok(batch) = next else { return Ok(()) };
        worker.load(&batch)?;
    }
}

struct Worker<'a> {
    shared: &'a Shared<'a>,
    connections: HashMap<String, Connection>,
}

/// A command that waits for its reply.
struct Sent<'a> {
    group: &'a Group,
    request: Vec<u8>,
    elements: u64,
    payload_bytes: u64,
    memory_bytes: u64,
}

impl Worker<'_> {
    fn load(&mut self, batch: &Batch) -> Result<()> {
        let shared = self.shared;
        let replace = shared.replace || batch.past == Past::Started;
        let mut nodes: Vec<(String, Vec<Sent<'_>>)> = Vec::new();
        for group in &batch.groups {
            let sent = match request(shared, group, replace) {
                Ok(sent) => sent,
                Err(reason) => {
                    self.reject(group, &reason)?;
                    continue;
                }
            };
            if shared.dry_run {
                self.count(&sent);
                continue;
            }
            let address = self.owner(&group.key);
            match nodes.iter_mut().find(|(other, _)| *other == address) {
                Some((_, all)) => all.push(sent),
                None => nodes.push((address, vec![sent])),
            }
        }
        if shared.dry_run {
            return Ok(());
        }
        lock(&shared.state).start(batch.number)?;
        self.send(&nodes).map_err(|error| match error {
            Error::Target(text) => Error::Target(format!("{text}; {}", whereabouts(batch))),
            other => other,
        })?;
        lock(&shared.state).done(batch.number)
    }

    /// Sends to all nodes before it waits for the replies of any.
    fn send(&mut self, nodes: &[(String, Vec<Sent<'_>>)]) -> Result<()> {
        for (address, all) in nodes {
            let connection = self.connection(address)?;
            let requests: Vec<&[u8]> = all.iter().map(|sent| sent.request.as_slice()).collect();
            connection.send(&requests.concat())?;
        }
        for (address, all) in nodes {
            for sent in all {
                let reply = self.connection(address)?.reply()?;
                self.settle(sent, address, reply)?;
            }
        }
        Ok(())
    }

    /// Does what a reply asks for.
    fn settle(&mut self, sent: &Sent<'_>, address: &str, mut reply: Reply) -> Result<()> {
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
                ["BUSYKEY", ..] => return self.reject(sent.group, "the key exists"),
                ["ERR", "Bad", "data", "format"] | ["ERR", "DUMP", "payload", ..] => {
                    return self.reject(sent.group, &error);
                }
                _ => {
                    let (line, key) = (sent.group.line, sent.group.key.escape_ascii());
                    return Err(Error::Target(format!("{address}: {error} (line {line}, key '{key}')")));
                }
            }
        }
        Err(Error::Target(format!("{address}: sent from node to node without end")))
    }

    fn redirect(&mut self, sent: &Sent<'_>, from: &str, kind: &str, slot: &str, to: &str) -> Result<Reply> {
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
        let mut connection = self.shared.target.connect(&to)?;
        if kind == "ASK" {
            connection.ask(&[b"ASKING"])?;
        }
        connection.send(&sent.request)?;
        connection.reply()
    }

    fn connection(&mut self, address: &str) -> Result<&mut Connection> {
        if !self.connections.contains_key(address) {
            let new = self.shared.target.connect(address)?;
            self.connections.insert(address.to_owned(), new);
        }
        Ok(self.connections.get_mut(address).expect("it has just been put there"))
    }

    /// The address of the node for a key.
    fn owner(&self, key: &[u8]) -> String {
        let owners = self.shared.owners.read().unwrap_or_else(PoisonError::into_inner);
        owners.get(slot::of_key(key)).cloned().unwrap_or_else(|| self.shared.target.address())
    }

    fn count(&self, sent: &Sent<'_>) {
        let counts = &self.shared.counts;
        counts.keys.fetch_add(1, Relaxed);
        counts.elements.fetch_add(sent.elements, Relaxed);
        counts.payload_bytes.fetch_add(sent.payload_bytes, Relaxed);
        counts.memory_bytes.fetch_add(sent.memory_bytes, Relaxed);
    }

    fn reject(&self, group: &Group, reason: &str) -> Result<()> {
        lock(&self.shared.rejects).add(group.line, reason, &group.key)
    }
}

/// The command for a group; the error says why there is none.
fn request<'a>(
    shared: &Shared<'_>,
    group: &'a Group,
    replace: bool,
) -> std::result::Result<Sent<'a>, String> {
    let mut request = Vec::new();
    let expiry = group.expire_at_ms.map(|at| itoa::Buffer::new().format(at).to_owned());
    let (elements, payload_bytes, memory_bytes) = match build(&shared.mapping.kind, group, shared.facts.form)?
    {
        Built::String(value) => {
            let mut words: Vec<&[u8]> = vec![b"SET", &group.key, value];
            if !replace {
                words.push(b"NX");
            }
            if let Some(at) = &expiry {
                words.extend([b"PXAT", at.as_bytes()]);
            }
            command(&mut request, &words);
            (1, value.len() as u64, value.len() as u64)
        }
        Built::Payload(payload, elements, memory_bytes) => {
            if payload.len() > VALUE_BYTES_MAX {
                return Err(format!(
                    "a payload of {} bytes, above the 512 MB that servers take",
                    payload.len()
                ));
            }
            let at = expiry.as_deref().unwrap_or("0").as_bytes();
            let mut words: Vec<&[u8]> = vec![b"RESTORE", &group.key, at, &payload, b"ABSTTL"];
            if replace {
                words.push(b"REPLACE");
            }
            command(&mut request, &words);
            (elements, payload.len() as u64, memory_bytes)
        }
    };
    let memory_bytes = memory_bytes + group.key.len() as u64 + STRING_BYTES;
    Ok(Sent { group, request, elements, payload_bytes, memory_bytes })
}

/// Which keys are in doubt when a batch fails.
fn whereabouts(batch: &Batch) -> String {
    let key =
        |group: Option<&Group>| group.map_or(String::new(), |group| group.key.escape_ascii().to_string());
    let (first, last) = (key(batch.groups.first()), key(batch.groups.last()));
    format!("of the keys '{first}' to '{last}' (batch {}) some may be loaded", batch.number)
}
