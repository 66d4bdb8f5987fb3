//! Keys as requests: `SET` for strings, `RESTORE` for all else and for what another server has dumped.

use crate::build::{Built, of_fields, of_payload, of_replayed, of_rows, of_value};
use crate::error::{Error, Result};
use crate::group::Group;
use crate::mapping::VALUE_BYTES_MAX;
use crate::options::Source;
use crate::reject::Reject;
use crate::replay::replay;
use crate::same;
use crate::shared::{Content, Records, Shared};
use larder_collections::footprint::Footprint;
use larder_rdb::read::{Content as Read, KeyRecord, Options as ReadOptions};
use larder_resp::{encode_command_head, encode_word, encode_word_with};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Requests, one after the other.
#[derive(Default)]
pub struct Requests {
    /// Their bytes.
    pub bytes: Vec<u8>,
    /// What is known of each.
    pub all: Vec<Sent>,
    /// What there is no request for.
    pub rejects: Vec<Reject>,
}

/// A command that waits for its reply.
pub struct Sent {
    /// The database.
    pub db: u32,
    /// Where the key came from.
    pub place: u64,
    /// Where the command is among the bytes.
    request: Range<usize>,
    /// Where the key is there.
    key: Range<usize>,
    /// Where key and value are there, as two bulk strings, of a string that does not expire.
    pair: Option<Range<usize>>,
    /// Whether the key expires.
    pub expires: bool,
    /// Elements of the value.
    pub elements: u64,
    /// Bytes of the value or payload.
    pub payload_bytes: u64,
    /// Memory that the key takes in Larder, about. Only a dry run counts a collection.
    pub memory_bytes: u64,
}

impl Requests {
    /// The bytes of a command.
    pub fn request(&self, sent: &Sent) -> &[u8] {
        &self.bytes[sent.request.clone()]
    }

    /// Its key.
    pub fn key(&self, sent: &Sent) -> &[u8] {
        &self.bytes[sent.key.clone()]
    }

    /// Its key and value as two bulk strings, if it is a string that does not expire.
    pub fn pair(&self, sent: &Sent) -> Option<&[u8]> {
        sent.pair.clone().map(|pair| &self.bytes[pair])
    }

    /// Its value.
    pub fn value(&self, sent: &Sent) -> same::Sent<'_> {
        let request = self.request(sent);
        let mut words = words(request).skip(2);
        if request.get(4..).is_some_and(|rest| rest.starts_with(b"$3\r\nSET")) {
            same::Sent::String(words.next().unwrap_or_default())
        } else {
            same::Sent::Payload(words.nth(1).unwrap_or_default())
        }
    }
}

/// The words of a command.
fn words(request: &[u8]) -> impl Iterator<Item = &[u8]> {
    let line_end = |bytes: &[u8]| bytes.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
    let mut rest = &request[line_end(request).unwrap_or(request.len())..];
    std::iter::from_fn(move || {
        let start = line_end(rest)?;
        let len: usize = std::str::from_utf8(rest.get(1..start)?).ok()?.trim_end().parse().ok()?;
        let word = rest.get(start..start + len)?;
        rest = rest.get(start + len + 2..)?;
        Some(word)
    })
}

/// Makes requests.
pub struct Maker<'a> {
    /// What is loaded, and how.
    pub shared: &'a Shared<'a>,
}

/// A key, and what is known of it beside its value.
struct Head<'a> {
    db: u32,
    key: &'a [u8],
    place: u64,
    expire_at_ms: Option<u64>,
    idle_s: Option<u64>,
    frequency: Option<u8>,
}

impl Maker<'_> {
    /// Appends the requests for the keys of a batch.
    ///
    /// # Errors
    /// A value of an RDB file is damaged.
    pub fn make(&self, content: Content, to: &mut Requests) -> Result<()> {
        match content {
            Content::Groups(groups) => {
                self.groups(&groups, to);
                Ok(())
            }
            Content::Records(records) => self.records(records, to),
        }
    }

    /// The requests for groups; those for which there is none are rejects.
    fn groups(&self, groups: &[Group], to: &mut Requests) {
        for group in groups {
            let head = Head {
                db: group.db,
                key: group.key(),
                place: group.place,
                expire_at_ms: group.expire_at_ms,
                idle_s: None,
                frequency: None,
            };
            if let Err(reason) = self.group(group, head, to) {
                to.rejects.push(Reject::new(group.place, &reason, group.key()));
            }
        }
    }

    fn group(&self, group: &Group, mut head: Head<'_>, to: &mut Requests) -> std::result::Result<(), String> {
        let form = self.shared.facts.form;
        match self.shared.source {
            Source::Parquet(mapping) | Source::Table(_, mapping) => {
                self.request(&head, of_rows(&mapping.kind, group, form)?, to)
            }
            Source::Server(..) | Source::Rdb => self.request(&head, of_payload(group.elements(), form)?, to),
            Source::Aof | Source::Resp => {
                if let Some(built) = of_fields(group.elements(), form) {
                    return self.request(&head, built, to);
                }
                let replayed = replay(group.elements(), self.shared.now_ms);
                let faults = replayed.faults.iter();
                to.rejects.extend(faults.map(|(offset, fault)| Reject::new(*offset, fault, group.key())));
                head.expire_at_ms = replayed.expire_at_ms;
                self.shared.counts.expired.fetch_add(u64::from(replayed.has_expired), Relaxed);
                of_replayed(&replayed, form).map_or(Ok(()), |built| self.request(&head, built, to))
            }
        }
    }

    /// The requests for the keys of a file. A value that is damaged ends the load.
    fn records(&self, records: Records, to: &mut Requests) -> Result<()> {
        let Records { db, keys, places } = records;
        let mut read = 0;
        let made = keys.read(&ReadOptions::default(), |record| {
            let place = places.get(read).copied().unwrap_or(0);
            read += 1;
            if let Err(reason) = self.record(&record, db, place, to) {
                to.rejects.push(Reject::new(place, &reason, record.key));
            }
        });
        let place = places.get(read).copied().unwrap_or(0);
        made.map_err(|error| Error::File(format!("RDB file: offset {place}: {error}")))
    }

    fn record(
        &self,
        record: &KeyRecord<'_>,
        db: u32,
        place: u64,
        to: &mut Requests,
    ) -> std::result::Result<(), String> {
        let expire_at_ms = match record.expire_at_ms.map(u64::try_from) {
            None => None,
            Some(Ok(at)) if at > self.shared.now_ms => Some(at),
            Some(_) => {
                self.shared.counts.expired.fetch_add(1, Relaxed);
                return Ok(());
            }
        };
        let &KeyRecord { key, idle_s, frequency, .. } = record;
        let head = Head { db, key, place, expire_at_ms, idle_s, frequency };
        match &record.value {
            None => Ok(()),
            Some(Read::String(bytes)) => self.request(&head, Built::String(bytes), to),
            Some(Read::Value(value)) => self.request(&head, of_value(value, self.shared.facts.form), to),
        }
    }

    /// Appends the command for a value; the error says why there is none.
    fn request(
        &self,
        head: &Head<'_>,
        built: Built<'_>,
        to: &mut Requests,
    ) -> std::result::Result<(), String> {
        match built {
            Built::String(value) => self.set(head, value, to),
            Built::Hash(hash) => {
                let sizes = Sizes {
                    elements: hash.elements() as u64,
                    payload_bytes: hash.payload_bytes() as u64,
                    memory: Footprint::default(),
                };
                self.restore(head, &sizes, |to| hash.write(to), to);
            }
            Built::Payload(payload, elements, memory) => {
                let payload_bytes = payload.len() as u64;
                if payload.len() > VALUE_BYTES_MAX {
                    return Err(format!(
                        "a payload of {payload_bytes} bytes exceeds the 512 MB that servers accept"
                    ));
                }
                let sizes = Sizes { elements, payload_bytes, memory };
                self.restore(head, &sizes, |to| to.extend_from_slice(&payload), to);
            }
        }
        Ok(())
    }

    /// Appends a `SET`.
    fn set(&self, head: &Head<'_>, value: &[u8], to: &mut Requests) {
        let start = to.bytes.len();
        let (expires, only_new) = (head.expire_at_ms.is_some(), !self.shared.replace);
        encode_command_head(&mut to.bytes, 3 + 2 * usize::from(expires) + usize::from(only_new));
        encode_word(&mut to.bytes, b"SET");
        let pair = to.bytes.len();
        let key = word(&mut to.bytes, head.key);
        encode_word(&mut to.bytes, value);
        let pair = (!expires).then_some(pair..to.bytes.len());
        if let Some(at) = head.expire_at_ms {
            encode_word(&mut to.bytes, b"PXAT");
            number(&mut to.bytes, at);
        }
        if only_new {
            encode_word(&mut to.bytes, b"NX");
        }
        let len = value.len() as u64;
        let sizes = Sizes { elements: 1, payload_bytes: len, memory: Footprint::of_string(value) };
        to.note(head, start, (key, pair), &sizes);
    }

    /// Appends a `RESTORE`, with the payload that `write` appends.
    fn restore(&self, head: &Head<'_>, sizes: &Sizes, write: impl FnOnce(&mut Vec<u8>), to: &mut Requests) {
        let start = to.bytes.len();
        let (expires, replaces) = (head.expire_at_ms.is_some(), self.shared.replace);
        let access = [(&b"IDLETIME"[..], head.idle_s), (b"FREQ", head.frequency.map(u64::from))];
        let given = access.iter().filter(|(_, number)| number.is_some()).count();
        encode_command_head(&mut to.bytes, 4 + usize::from(expires) + usize::from(replaces) + 2 * given);
        encode_word(&mut to.bytes, b"RESTORE");
        let key = word(&mut to.bytes, head.key);
        number(&mut to.bytes, head.expire_at_ms.unwrap_or(0));
        encode_word_with(&mut to.bytes, sizes.payload_bytes as usize, write);
        if expires {
            encode_word(&mut to.bytes, b"ABSTTL");
        }
        if replaces {
            encode_word(&mut to.bytes, b"REPLACE");
        }
        for (name, value) in access {
            if let Some(value) = value {
                encode_word(&mut to.bytes, name);
                number(&mut to.bytes, value);
            }
        }
        to.note(head, start, (key, None), sizes);
    }
}

/// What a value takes.
struct Sizes {
    elements: u64,
    payload_bytes: u64,
    memory: Footprint,
}

impl Requests {
    /// Forgets all, and keeps the room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.all.clear();
        self.rejects.clear();
    }

    /// Notes what is known of the command that begins at `start` and ends where the bytes do.
    fn note(
        &mut self,
        head: &Head<'_>,
        start: usize,
        (key, pair): (Range<usize>, Option<Range<usize>>),
        sizes: &Sizes,
    ) {
        self.all.push(Sent {
            db: head.db,
            place: head.place,
            request: start..self.bytes.len(),
            key,
            pair,
            expires: head.expire_at_ms.is_some(),
            elements: sizes.elements,
            payload_bytes: sizes.payload_bytes,
            memory_bytes: sizes.memory.with_key(head.key, head.expire_at_ms.is_some()),
        });
    }
}

/// Appends a word; returns where it is.
fn word(to: &mut Vec<u8>, bytes: &[u8]) -> Range<usize> {
    encode_word(to, bytes);
    let end = to.len() - b"\r\n".len();
    end - bytes.len()..end
}

/// Appends a number as a word.
fn number(to: &mut Vec<u8>, number: u64) {
    encode_word(to, itoa::Buffer::new().format(number).as_bytes());
}
