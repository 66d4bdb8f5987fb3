//! The threads that build payloads and send them: a batch at a time, each with connections of its own.

use crate::connection::{Connection, OK, command};
use crate::error::{Error, Result};
use crate::joint::{self, each};
use crate::pace::Pace;
use crate::reject::Reject;
use crate::request::{Maker, Requests, Sent};
use crate::same::is_same;
use crate::shared::{Batch, Shared, lock};
use crate::slot;
use crate::state::Past;
use larder_resp::Value;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};

/// Room for the requests of a batch that is kept for the next.
const ROOM_BYTES_MAX: usize = 8 << 20;
/// How often a request is sent on to another node.
const REDIRECTIONS_MAX: u32 = 5;

/// Works until no batch is left.
pub fn run(shared: &Shared<'_>, batches: &Mutex<Receiver<Batch>>) -> Result<()> {
    let mut worker =
        Worker { shared, joins: true, connections: HashMap::new(), requests: Requests::default() };
    loop {
        let next = lock(batches).recv();
        let Ok(batch) = next else { return Ok(()) };
        worker.load(batch)?;
    }
}

/// A node, and a database of it.
type Place = (String, u32);

/// A key that exists.
struct Existing {
    /// The number of its request.
    at: usize,
    /// Who says so.
    place: Place,
}

/// What the reply to a request says of its key.
enum Settled {
    /// It exists: who says so.
    Exists(String),
    /// It is loaded.
    Loaded,
    /// It cannot be, and why.
    Refused(String),
}

struct Worker<'a> {
    shared: &'a Shared<'a>,
    /// Whether strings are sent together.
    joins: bool,
    connections: HashMap<Place, Connection>,
    /// The room for those of a batch.
    requests: Requests,
}

impl Worker<'_> {
    fn load(&mut self, batch: Batch) -> Result<()> {
        let (shared, number, mut rejects) = (self.shared, batch.number, Vec::new());
        let loaded = self.batch(batch, &mut rejects);
        let told = {
            let mut all = lock(&shared.rejects);
            let added = rejects.iter().try_for_each(|reject| all.add(reject));
            // What the state says is done has all its rejects in the file, even if the load is killed then.
            if rejects.is_empty() { added } else { added.and(all.flush()) }
        };
        loaded.and(told)?;
        if shared.dry_run { Ok(()) } else { lock(&shared.state).done(number, &rejects) }
    }

    /// Loads a batch; those of its keys that are not loaded are added to `rejects`.
    fn batch(&mut self, batch: Batch, rejects: &mut Vec<Reject>) -> Result<()> {
        let mut requests = std::mem::take(&mut self.requests);
        requests.clear();
        let made = Maker { shared: self.shared }.make(batch.content, &mut requests);
        rejects.append(&mut requests.rejects);
        let loaded = made.and_then(|()| self.requests(&requests, (batch.number, batch.past), rejects));
        // What few batches need is not kept.
        if requests.bytes.capacity() <= ROOM_BYTES_MAX {
            self.requests = requests;
        }
        loaded
    }

    /// Sends the requests of a batch, and takes the replies.
    fn requests(
        &mut self,
        requests: &Requests,
        (number, past): (u64, Past),
        rejects: &mut Vec<Reject>,
    ) -> Result<()> {
        let shared = self.shared;
        if shared.dry_run {
            self.count(requests.all.iter());
            return Ok(());
        }
        lock(&shared.state).start(number)?;
        let nodes = self.nodes(requests);
        let mut existing = Vec::new();
        let sent = self.send(requests, &nodes, &mut existing, rejects);
        // If the link is broken nothing can be compared; the load that goes on then does.
        let is_over = sent.is_err() && past == Past::Started;
        let judged = if is_over { Ok(()) } else { self.judge(requests, &existing, past, rejects) };
        sent.and(judged).map_err(|error| match error {
            Error::Target(text) => Error::Target(format!("{text}; {}", whereabouts(requests, number))),
            other => other,
        })
    }

    /// The requests by the nodes and databases that they are for, in their order.
    fn nodes(&self, requests: &Requests) -> Vec<(Place, Vec<usize>)> {
        let owners = self.shared.owners.read().unwrap_or_else(PoisonError::into_inner);
        let alone = self.shared.target.address();
        let mut nodes: Vec<(Place, Vec<usize>)> = Vec::new();
        for (at, sent) in requests.all.iter().enumerate() {
            let owner = if owners.is_empty() { None } else { owners.get(slot::of_key(requests.key(sent))) };
            let address = owner.unwrap_or(&alone);
            match nodes.iter_mut().find(|((other, db), _)| other == address && *db == sent.db) {
                Some((_, all)) => all.push(at),
                None => nodes.push(((address.clone(), sent.db), vec![at])),
            }
        }
        nodes
    }

    /// Sends to all nodes before it waits for the replies of any.
    fn send(
        &mut self,
        requests: &Requests,
        nodes: &[(Place, Vec<usize>)],
        existing: &mut Vec<Existing>,
        rejects: &mut Vec<Reject>,
    ) -> Result<()> {
        let replace = self.shared.replace;
        let mut units = Vec::new();
        for (place, row) in nodes {
            // Keys of a command are of one slot in a cluster.
            let joins = self.joins && self.shared.facts.slots.is_none();
            let of_row = if joins { joint::units(requests, row) } else { each(row) };
            self.connection(place)?.send(&joint::bytes(requests, row, &of_row, replace))?;
            units.push(of_row);
        }
        let mut apart = Vec::new();
        for ((place, row), units) in nodes.iter().zip(&units) {
            let (mut left, mut rest, mut alone) = (Vec::new(), &units[..], 0);
            while let Some((unit, after)) = rest.split_first() {
                if alone == 0 {
                    alone = rest.iter().take_while(|unit| unit.len() == 1).count();
                }
                let loaded = self.connection(place)?.take_run(OK, alone)?;
                if loaded > 0 {
                    self.count(row[unit.start..unit.start + loaded].iter().map(|&at| &requests.all[at]));
                    (rest, alone) = (&rest[loaded..], alone - loaded);
                    continue;
                }
                (rest, alone) = (after, alone.saturating_sub(1));
                if let &[at] = &row[unit.clone()] {
                    self.take(requests, at, place, existing, rejects)?;
                    continue;
                }
                let connection = self.connection(place)?;
                if connection.take(joint::all_set(replace))? {
                    self.count(row[unit.clone()].iter().map(|&at| &requests.all[at]));
                    continue;
                }
                // A target, or a user of it, may have no such command.
                self.joins &= !matches!(connection.reply()?, Value::Error(_));
                left.extend_from_slice(&row[unit.clone()]);
            }
            apart.push((place, left));
        }
        for (place, row) in apart.iter().filter(|(_, row)| !row.is_empty()) {
            self.connection(place)?.send(&joint::bytes(requests, row, &each(row), replace))?;
            row.iter().try_for_each(|&at| self.take(requests, at, place, existing, rejects))?;
        }
        Ok(())
    }

    /// Takes the reply to a request.
    fn take(
        &mut self,
        requests: &Requests,
        at: usize,
        place: &Place,
        existing: &mut Vec<Existing>,
        rejects: &mut Vec<Reject>,
    ) -> Result<()> {
        let (sent, connection) = (&requests.all[at], self.connection(place)?);
        let settled = if connection.take(OK)? {
            Settled::Loaded
        } else {
            let reply = connection.reply()?;
            self.settle(requests, sent, &place.0, reply)?
        };
        match settled {
            Settled::Exists(address) => existing.push(Existing { at, place: (address, sent.db) }),
            Settled::Loaded => self.count(std::iter::once(sent)),
            Settled::Refused(reason) => rejects.push(Reject::new(sent.place, &reason, requests.key(sent))),
        }
        Ok(())
    }

    /// What a reply says, after it was followed to where it sends.
    fn settle(&self, requests: &Requests, sent: &Sent, address: &str, reply: Value) -> Result<Settled> {
        let (address, reply) = self
            .follow(requests.request(sent), sent.db, address, reply)
            .map_err(|error| self.about(requests, sent, &error.to_string()))?;
        let error = match reply {
            Value::Bytes(_) | Value::Status(_) => return Ok(Settled::Loaded),
            Value::Null => "BUSYKEY Target key name already exists.".to_owned(),
            Value::Error(error) => error,
            other => return Err(Error::Target(format!("{address}: invalid reply to RESTORE: {other:?}"))),
        };
        match error.split(' ').collect::<Vec<_>>()[..] {
            ["BUSYKEY", ..] => Ok(Settled::Exists(address)),
            ["ERR", "Bad", "data", "format"] | ["ERR", "DUMP", "payload", ..] => Ok(Settled::Refused(error)),
            ["MOVED" | "ASK", ..] => {
                let what = format!("{address}: {error}, after {REDIRECTIONS_MAX} redirections");
                Err(self.about(requests, sent, &what))
            }
            _ => Err(self.about(requests, sent, &format!("{address}: {error}"))),
        }
    }

    /// Says of keys that exist what they are: rejects, or loaded already.
    ///
    /// A batch that was begun before may be there in parts, and nobody has noted which: the load was killed. Nothing is replaced then either,
    /// as any key may be one that was there before the load, or that somebody has made or changed since. A key that holds just what it is
    /// sent has arrived. This costs nothing unless a load is gone on with, and then a look at the keys of a few batches.
    fn judge(
        &mut self,
        requests: &Requests,
        existing: &[Existing],
        past: Past,
        rejects: &mut Vec<Reject>,
    ) -> Result<()> {
        let mut pace = Pace::default();
        for at_one_place in existing.chunk_by(|a, b| a.place == b.place) {
            pace.each(at_one_place, |together| {
                let (have_arrived, bytes) = match past {
                    Past::Started => self.have_arrived(requests, together)?,
                    Past::Done | Past::New => (vec![false; together.len()], 0),
                };
                for (Existing { at, .. }, has_arrived) in together.iter().zip(have_arrived) {
                    let sent = &requests.all[*at];
                    if has_arrived {
                        self.count(std::iter::once(sent));
                    } else {
                        rejects.push(Reject::new(sent.place, "the key exists", requests.key(sent)));
                    }
                }
                Ok::<_, Error>(bytes)
            })?;
        }
        Ok(())
    }

    /// Whether keys at one place hold what they are sent. When a key expires is not compared, only whether: a load that is gone on with
    /// counts from its own beginning. Returns also how many bytes the values there are.
    fn have_arrived(&mut self, requests: &Requests, together: &[Existing]) -> Result<(Vec<bool>, usize)> {
        let Some(Existing { place, .. }) = together.first() else { return Ok((Vec::new(), 0)) };
        let questions = |existing: &Existing| {
            let key = requests.key(&requests.all[existing.at]);
            [&b"DUMP"[..], b"PTTL"].map(|name| {
                let mut question = Vec::new();
                command(&mut question, &[name, key]);
                question
            })
        };
        let questions: Vec<_> = together.iter().map(questions).collect();
        self.connection(place)?.send(&questions.as_flattened().concat())?;
        let (mut have_arrived, mut bytes) = (Vec::new(), 0);
        for (existing, asked) in together.iter().zip(&questions) {
            let sent = &requests.all[existing.at];
            let mut answers = Vec::new();
            for question in asked {
                let reply = self.connection(place)?.reply()?;
                let (address, reply) = self.follow(question, place.1, &place.0, reply)?;
                if let Value::Error(error) = &reply {
                    return Err(self.about(requests, sent, &format!("{address}: {error}")));
                }
                answers.push(reply);
            }
            have_arrived.push(match &answers[..] {
                [Value::Bytes(found), Value::Int(ttl)] => {
                    bytes += found.len();
                    (*ttl != -1) == sent.expires && is_same(requests.value(sent), found)
                }
                _ => false,
            });
        }
        Ok((have_arrived, bytes))
    }

    /// An error that names the key it is about.
    fn about(&self, requests: &Requests, sent: &Sent, what: &str) -> Error {
        let (unit, place) = (self.shared.source.place_unit(), sent.place);
        let key = requests.key(sent).escape_ascii();
        Error::Target(format!("{what} ({unit} {place}, key '{key}')"))
    }

    /// Goes where replies to a request send it, as often as is allowed; returns the last reply, and who gave it.
    fn follow(&self, request: &[u8], db: u32, address: &str, mut reply: Value) -> Result<(String, Value)> {
        let mut address = address.to_owned();
        for _ in 0..REDIRECTIONS_MAX {
            let Value::Error(error) = &reply else { break };
            let [kind @ ("MOVED" | "ASK"), slot, to] = error.split(' ').collect::<Vec<_>>()[..] else {
                break;
            };
            // Without a name it is where the one is who says so.
            let host = address.rsplit_once(':').map_or("", |(host, _)| host);
            let to = if to.starts_with(':') { format!("{host}{to}") } else { to.to_owned() };
            if kind == "MOVED" {
                let mut owners = self.shared.owners.write().unwrap_or_else(PoisonError::into_inner);
                if let Some(owner) = slot.parse().ok().and_then(|slot: usize| owners.get_mut(slot)) {
                    owner.clone_from(&to);
                }
            }
            // A connection of its own: the replies to the rest of a batch may be on the way on the others.
            let mut connection = self.shared.target.connect(&to, db)?;
            if kind == "ASK" {
                connection.ask(&[b"ASKING"])?;
            }
            connection.send(request)?;
            reply = connection.reply()?;
            address = to;
        }
        Ok((address, reply))
    }

    fn connection(&mut self, place: &Place) -> Result<&mut Connection> {
        if !self.connections.contains_key(place) {
            let new = self.shared.target.connect(&place.0, place.1)?;
            self.connections.insert(place.clone(), new);
        }
        Ok(self.connections.get_mut(place).expect("it has just been put there"))
    }

    /// Counts keys that are loaded.
    fn count<'s>(&self, all: impl Iterator<Item = &'s Sent>) {
        let (mut keys, mut elements, mut payload_bytes, mut memory_bytes) = (0, 0, 0, 0);
        for sent in all {
            keys += 1;
            elements += sent.elements;
            payload_bytes += sent.payload_bytes;
            memory_bytes += sent.memory_bytes;
        }
        let counts = &self.shared.counts;
        counts.keys.fetch_add(keys, Relaxed);
        counts.elements.fetch_add(elements, Relaxed);
        counts.payload_bytes.fetch_add(payload_bytes, Relaxed);
        counts.memory_bytes.fetch_add(memory_bytes, Relaxed);
    }
}

/// Which keys are in doubt when a batch fails.
fn whereabouts(requests: &Requests, batch: u64) -> String {
    let key = |sent: Option<&Sent>| {
        sent.map_or(String::new(), |sent| requests.key(sent).escape_ascii().to_string())
    };
    let (first, last) = (key(requests.all.first()), key(requests.all.last()));
    format!("some of the keys '{first}' to '{last}' (batch {batch}) may have been loaded")
}
