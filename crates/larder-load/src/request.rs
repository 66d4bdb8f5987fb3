//! Keys as requests: `SET` for strings, `RESTORE` for all else and for what another server has dumped.

use crate::build::{Built, of_payload, of_replayed, of_rows, of_value};
use crate::connection::command;
use crate::error::{Error, Result};
use crate::group::Group;
use crate::mapping::VALUE_BYTES_MAX;
use crate::options::Source;
use crate::reject::Reject;
use crate::replay::replay;
use crate::same;
use crate::shared::{Content, Records, Shared};
use larder_rdb::read::{Content as Read, KeyRecord, Options as ReadOptions};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// What a key takes beside its name and its value, about.
const STRING_BYTES: u64 = 8;

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
    /// Memory that the key takes in Larder, about.
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

/// The words of a command that [`command`] has written.
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
        made.map_err(|error| Error::File(format!("offset {place}: {error}")))
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
        let start = to.bytes.len();
        let text = |number: Option<u64>| number.map(|n| itoa::Buffer::new().format(n).to_owned());
        let expiry = text(head.expire_at_ms);
        let mut pair_len = None;
        let (elements, payload_bytes, memory_bytes) = match built {
            Built::String(value) => {
                let at = expiry.as_deref().unwrap_or_default().as_bytes();
                let words: [&[u8]; 6] = [b"SET", head.key, value, b"PXAT", at, b"NX"];
                let words: &[&[u8]] = match (self.shared.replace, expiry.is_some()) {
                    (true, false) => &words[..3],
                    (true, true) => &words[..5],
                    (false, true) => &words,
                    (false, false) => &[b"SET", head.key, value, b"NX"],
                };
                command(&mut to.bytes, words);
                pair_len = expiry.is_none().then(|| bulk_len(head.key) + bulk_len(value));
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
                let mut words: Vec<&[u8]> = vec![b"RESTORE", head.key, at, &payload, b"ABSTTL"];
                if self.shared.replace {
                    words.push(b"REPLACE");
                }
                let (idle, frequency) = (text(head.idle_s), text(head.frequency.map(u64::from)));
                for (name, value) in [(&b"IDLETIME"[..], &idle), (b"FREQ", &frequency)] {
                    if let Some(value) = value {
                        words.extend([name, value.as_bytes()]);
                    }
                }
                command(&mut to.bytes, &words);
                (elements, payload.len() as u64, memory_bytes)
            }
        };
        let memory_bytes = memory_bytes + head.key.len() as u64 + STRING_BYTES;
        let &Head { db, place, key, .. } = head;
        let key = key_at(&to.bytes, start, key.len());
        let request = start..to.bytes.len();
        let pair = pair_len.map(|len| {
            let from = key.end + 2 - bulk_len(&to.bytes[key.clone()]);
            from..from + len
        });
        let expires = expiry.is_some();
        to.all.push(Sent { db, place, request, key, pair, expires, elements, payload_bytes, memory_bytes });
        Ok(())
    }
}

/// Bytes of a bulk string.
fn bulk_len(bytes: &[u8]) -> usize {
    let digits = itoa::Buffer::new().format(bytes.len()).len();
    digits + bytes.len() + b"$\r\n\r\n".len()
}

/// Where the key of a command is that begins at `start`: after the lines of the count, the name's length, the name, and its own length.
fn key_at(bytes: &[u8], start: usize, len: usize) -> Range<usize> {
    let ends = bytes[start..].iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let from = ends.map(|(at, _)| start + at + 1).nth(3).unwrap_or(start);
    from..from + len
}
