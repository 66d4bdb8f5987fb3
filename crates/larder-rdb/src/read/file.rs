//! A whole file, as a sequence of events.

use super::input::{Checked, Input};
use super::skim::skim;
use super::value::{Loaded, Options, module_name, read_value};
use crate::error::{Error, Result};
use crate::format::{FOREIGN_VERSIONS, VERSION_MAX, is_known, kind, opcode};
use larder_collections::value::Value;
use std::io::{BufRead, Read};

/// A key with its value.
pub struct KeyRecord<'a> {
    /// Its name.
    pub key: &'a [u8],
    /// When it expires, in milliseconds since 1970.
    pub expire_at_ms: Option<i64>,
    /// Seconds since it was used, when the file was written.
    pub idle_s: Option<u64>,
    /// How often it was used, as the logarithmic counter of LFU.
    pub frequency: Option<u8>,
    /// Its value; None if that has no element.
    pub value: Option<Content<'a>>,
}

/// The value of a key.
pub enum Content<'a> {
    /// A string.
    String(&'a [u8]),
    /// A collection with at least one element.
    Value(Value),
}

/// Keys that were found one after the other, with their values as they stand in the file. Finding where a value ends is
/// cheap; making it can be left to another thread.
#[derive(Default)]
pub struct RawKeys {
    /// Where each of them ends among the bytes.
    ends: Vec<usize>,
    /// What stands before the name, name, and value.
    bytes: Vec<u8>,
    /// Values that had to be read to find their ends, which are not among the bytes, and the numbers of their keys.
    made: Vec<(usize, Option<Loaded>)>,
}

impl RawKeys {
    /// No keys yet, but room for this many of this many bytes together.
    pub fn with_room(keys: usize, bytes: usize) -> Self {
        RawKeys { ends: Vec::with_capacity(keys), bytes: Vec::with_capacity(bytes), made: Vec::new() }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all names and values.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Makes the values and hands out the keys, in order.
    pub fn read(self, options: &Options, mut each: impl FnMut(KeyRecord<'_>)) -> Result<()> {
        let (mut name, mut text) = (Vec::new(), Vec::new());
        let mut made = self.made.into_iter().peekable();
        let mut start = 0;
        for (at, &end) in self.ends.iter().enumerate() {
            let mut input = Input::new(&self.bytes[start..end]);
            start = end;
            let first = input.byte()?;
            let head = Head::read(&mut input, first)?;
            let key = input.string_in(&mut name)?;
            let value = match made.next_if(|(number, _)| *number == at) {
                Some((_, value)) => value,
                None if head.kind == kind::STRING => {
                    each(head.record(key, Some(Content::String(input.string_in(&mut text)?))));
                    continue;
                }
                None => read_value(&mut input, head.kind, options)?,
            };
            match value {
                None => each(head.record(key, None)),
                Some(Loaded::String(bytes)) => each(head.record(key, Some(Content::String(&bytes)))),
                Some(Loaded::Value(value)) => each(head.record(key, Some(Content::Value(value)))),
            }
        }
        Ok(())
    }
}

/// What stands before a key's name.
struct Head {
    expire_at_ms: Option<i64>,
    idle_s: Option<u64>,
    frequency: Option<u8>,
    kind: u8,
}

impl Head {
    /// Reads it after its first byte.
    #[inline]
    fn read(input: &mut Input<impl BufRead>, first: u8) -> Result<Self> {
        let mut head = Head { expire_at_ms: None, idle_s: None, frequency: None, kind: first };
        loop {
            match head.kind {
                opcode::EXPIRE_MS => head.expire_at_ms = Some(i64::from_le_bytes(input.array()?)),
                opcode::EXPIRE_S => {
                    head.expire_at_ms = Some(i64::from(i32::from_le_bytes(input.array()?)) * 1000);
                }
                opcode::IDLE => head.idle_s = Some(input.length()?),
                opcode::FREQ => head.frequency = Some(input.byte()?),
                _ => return Ok(head),
            }
            head.kind = input.byte()?;
        }
    }

    fn record<'a>(&self, key: &'a [u8], value: Option<Content<'a>>) -> KeyRecord<'a> {
        let &Head { expire_at_ms, idle_s, frequency, .. } = self;
        KeyRecord { key, expire_at_ms, idle_s, frequency, value }
    }
}

/// The next thing in a file.
pub enum Event {
    /// A field about the file and its writer.
    Aux(Vec<u8>, Vec<u8>),
    /// The source of a function library.
    Function(Vec<u8>),
    /// A key of the database selected last: it has been added to the batch.
    Key,
    /// How many keys, and keys that expire, the database holds: a hint.
    ResizeDb(u64, u64),
    /// The database of the keys that follow.
    SelectDb(u64),
    /// Slots of a cluster whose keys come from another node: those in the file are not to be seen yet.
    SlotImport(SlotImport),
}

/// A migration of slots to the node that wrote a file, under way when it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotImport {
    /// The name of the migration.
    pub name: Vec<u8>,
    /// The first and the last slot of each range.
    pub ranges: Vec<(u16, u16)>,
}

/// What must be right about a file, or a payload, for it to be read.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// Its checksum.
    pub sum: bool,
    /// Its version must be one that is known whole. Otherwise later ones, and those of other servers, are read as far as their
    /// types are known.
    pub version: bool,
}

/// Reads a file from start to end.
pub struct FileReader<R> {
    input: Input<Checked<R>>,
    version: u32,
    options: Options,
    verify: bool,
    finished: bool,
    has_own_types: bool,
}

impl Checks {
    /// Everything is checked.
    pub const ALL: Checks = Checks { sum: true, version: true };
}

impl<R: Read> FileReader<R> {
    /// Reads the header.
    pub fn new(source: R, options: Options, checks: Checks) -> Result<Self> {
        let mut input = Input::new(Checked::new(source));
        let version = header(&mut input, checks.version)?;
        Ok(FileReader { input, version, options, verify: checks.sum, finished: false, has_own_types: false })
    }

    /// The version that the file states.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Whether other servers can read the file, as far as it has been read: all of its version is known, and no value has a type of
    /// Larder's own.
    pub fn is_portable(&self) -> bool {
        is_known(self.version) && !self.has_own_types
    }

    /// Bytes read so far.
    pub fn position(&self) -> u64 {
        self.input.get_ref().position()
    }

    /// The next event; None at the end, once the checksum is checked. Keys go to the end of `batch`.
    pub fn next_event(&mut self, batch: &mut RawKeys) -> Result<Option<Event>> {
        if self.finished {
            return Ok(None);
        }
        loop {
            let event = match self.input.byte()? {
                opcode::AUX => Event::Aux(self.input.string()?, self.input.string()?),
                opcode::FUNCTION_2 => Event::Function(self.input.string()?),
                opcode::FUNCTION_PRE_GA => {
                    return Err(Error::Damaged("functions in the format of a Redis 7 release candidate"));
                }
                opcode::MODULE_AUX => {
                    self.skip_module()?;
                    continue;
                }
                opcode::RESIZE_DB => Event::ResizeDb(self.input.length()?, self.input.length()?),
                opcode::SELECT_DB => Event::SelectDb(self.input.length()?),
                opcode::SLOT_INFO => {
                    (0..3).try_for_each(|_| self.input.length().map(|_| ()))?;
                    continue;
                }
                opcode::SLOT_IMPORT => Event::SlotImport(self.slot_import()?),
                opcode::END => {
                    self.finish()?;
                    return Ok(None);
                }
                first => {
                    let before = batch.bytes.len();
                    self.key(first, batch).inspect_err(|_| batch.bytes.truncate(before))?;
                    Event::Key
                }
            };
            return Ok(Some(event));
        }
    }

    /// The source, and what has been read of it beyond the end of the file: an append-only file goes on there.
    pub fn into_rest(self) -> (R, Vec<u8>) {
        self.input.into_inner().into_rest()
    }

    fn slot_import(&mut self) -> Result<SlotImport> {
        const SLOTS: u64 = 16384;
        const NAME_BYTES: usize = 40;
        let (name, count) = (self.input.string()?, self.input.length()?);
        if name.len() != NAME_BYTES {
            return Err(Error::Damaged("a slot migration name that is not 40 characters long"));
        }
        let mut ranges = Vec::new();
        // Each range takes two bytes at least, and there are no more ranges than slots.
        for _ in 0..count {
            let (first, last) = (self.input.length()?, self.input.length()?);
            if first > last || last >= SLOTS || ranges.len() as u64 >= SLOTS {
                return Err(Error::Damaged("slot out of range"));
            }
            ranges.push((first as u16, last as u16));
        }
        Ok(SlotImport { name, ranges })
    }

    /// A key, and what stands before it. After an error there may be bytes too many in the batch.
    fn key(&mut self, first: u8, batch: &mut RawKeys) -> Result<()> {
        batch.bytes.push(first);
        let ready = self.input.get_mut().fill_buf()?;
        if let Some((kind, len)) = len_of_key(ready, first, self.version) {
            self.has_own_types |= kind >= kind::OWN_MIN;
            batch.bytes.extend_from_slice(&ready[..len]);
            self.input.get_mut().consume(len);
            batch.ends.push(batch.bytes.len());
            return Ok(());
        }
        self.input.get_mut().start_record(std::mem::take(&mut batch.bytes));
        let skimmed = skim_key(&mut self.input, first, self.version);
        batch.bytes = self.input.get_mut().end_record();
        let (kind, is_skimmed) = skimmed?;
        self.has_own_types |= kind >= kind::OWN_MIN;
        if !is_skimmed {
            batch.made.push((batch.ends.len(), read_value(&mut self.input, kind, &self.options)?));
        }
        batch.ends.push(batch.bytes.len());
        Ok(())
    }

    /// Data that a module left beside the keys: skipped when it says nothing, an error when something would be lost.
    fn skip_module(&mut self) -> Result<()> {
        let name = module_name(self.input.length()?);
        // When it was written: an opcode and a number.
        self.input.length()?;
        self.input.length()?;
        match self.input.length()? {
            0 => Ok(()),
            _ => Err(Error::Module(name)),
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.finished = true;
        if self.version < 5 {
            return Ok(());
        }
        let expected = self.input.get_mut().checksum();
        let stored = u64::from_le_bytes(self.input.array()?);
        // Zero says that the writer did not compute it.
        if self.verify && stored != 0 && stored != expected { Err(Error::Checksum) } else { Ok(()) }
    }
}

/// Passes over a key after its first byte, and over its value unless that must be read to find its end. Returns the type of the value, and
/// whether it was passed.
#[inline]
fn skim_key(input: &mut Input<impl BufRead>, first: u8, version: u32) -> Result<(u8, bool)> {
    let kind = Head::read(input, first)?.kind;
    input.skip_string()?;
    // The later formats of Redis give other meanings to type numbers of Valkey's.
    if kind > kind::SHARED_MAX && FOREIGN_VERSIONS.contains(&version) {
        return Err(Error::Version(version));
    }
    Ok((kind, skim(input, kind)?))
}

/// The type of a value, and how many bytes a key and its value take after the first one, if they are sound, all there, and the end can be found
/// without making the value: so it is for nearly all, as what has been read of a file is longer than nearly all values.
fn len_of_key(bytes: &[u8], first: u8, version: u32) -> Option<(u8, usize)> {
    let mut input = Input::new(bytes);
    let (kind, is_skimmed) = skim_key(&mut input, first, version).ok()?;
    is_skimmed.then(|| (kind, bytes.len() - input.into_inner().len()))
}

/// The version. Files of Redis have those below Valkey's first.
fn header(input: &mut Input<impl BufRead>, is_strict: bool) -> Result<u32> {
    let start = input.array::<5>()?;
    let (digits, possible) = match &start {
        b"REDIS" => (input.array::<4>()?.to_vec(), 1..VERSION_MAX),
        b"VALKE" => match input.byte()? {
            b'Y' => (input.array::<3>()?.to_vec(), VERSION_MAX..u32::MAX),
            _ => return Err(Error::NotRdb),
        },
        _ => return Err(Error::NotRdb),
    };
    let text = std::str::from_utf8(&digits).map_err(|_| Error::NotRdb)?;
    let version = text.parse().map_err(|_| Error::NotRdb)?;
    let is_read = possible.contains(&version) && (!is_strict || is_known(version));
    if is_read { Ok(version) } else { Err(Error::Version(version)) }
}
