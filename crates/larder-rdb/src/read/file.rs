//! A whole file, as a sequence of events.

use super::input::{Checked, Input};
use super::skim::skim;
use super::value::{Loaded, Options, module_name, read_value};
use crate::error::{Error, Result};
use crate::format::{FOREIGN_VERSIONS, VERSION_MAX, kind, opcode};
use std::io::{BufRead, Read};
use std::ops::Range;

/// A key with its value.
pub struct KeyRecord {
    /// Its name.
    pub key: Vec<u8>,
    /// When it expires, in milliseconds since 1970.
    pub expire_at_ms: Option<i64>,
    /// Seconds since it was used, when the file was written.
    pub idle_s: Option<u64>,
    /// How often it was used, as the logarithmic counter of LFU.
    pub frequency: Option<u8>,
    /// Its value; None if that has no element.
    pub value: Option<Loaded>,
}

/// A key with its value as it stands in the file. Finding where a value ends is cheap; making it can be left to another
/// thread.
pub struct RawKey {
    record: KeyRecord,
    kind: u8,
    /// Where its bytes are among those of the batch.
    bytes: Range<usize>,
    /// The value had to be read to find its end.
    is_read: bool,
}

/// Keys that were found one after the other.
#[derive(Default)]
pub struct RawKeys {
    keys: Vec<RawKey>,
    /// Names and values.
    bytes: Vec<u8>,
}

impl RawKeys {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Bytes of all names and values.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Makes the values and hands out the keys, in order.
    pub fn read(self, options: &Options, mut each: impl FnMut(KeyRecord)) -> Result<()> {
        for RawKey { mut record, kind, bytes, is_read } in self.keys {
            let mut input = Input::new(&self.bytes[bytes]);
            record.key = input.string()?;
            if !is_read {
                record.value = read_value(&mut input, kind, options)?;
            }
            each(record);
        }
        Ok(())
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
}

/// Reads a file from start to end.
pub struct FileReader<R> {
    input: Input<Checked<R>>,
    version: u32,
    options: Options,
    verify: bool,
    finished: bool,
}

impl<R: Read> FileReader<R> {
    /// Reads the header. `verify` says whether the checksum at the end must be right.
    pub fn new(source: R, options: Options, verify: bool) -> Result<Self> {
        let mut input = Input::new(Checked::new(source));
        let version = header(&mut input)?;
        Ok(FileReader { input, version, options, verify, finished: false })
    }

    /// The version that the file states.
    pub fn version(&self) -> u32 {
        self.version
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
                    return Err(Error::Damaged("functions of a release candidate of Redis 7"));
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
                opcode::SLOT_IMPORT => return Err(Error::UnknownType(opcode::SLOT_IMPORT)),
                opcode::END => {
                    self.finish()?;
                    return Ok(None);
                }
                first => {
                    let before = (batch.keys.len(), batch.bytes.len());
                    let found = self.key(first, batch);
                    if found.is_err() {
                        batch.keys.truncate(before.0);
                        batch.bytes.truncate(before.1);
                    }
                    found?;
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

    /// A key, and what stands before it.
    fn key(&mut self, first: u8, batch: &mut RawKeys) -> Result<()> {
        let (mut expire_at_ms, mut idle_s, mut frequency) = (None, None, None);
        let mut next = first;
        let kind = loop {
            match next {
                opcode::EXPIRE_MS => expire_at_ms = Some(i64::from_le_bytes(self.input.array()?)),
                opcode::EXPIRE_S => {
                    expire_at_ms = Some(i64::from(i32::from_le_bytes(self.input.array()?)) * 1000);
                }
                opcode::IDLE => idle_s = Some(self.input.length()?),
                opcode::FREQ => frequency = Some(self.input.byte()?),
                kind => break kind,
            }
            next = self.input.byte()?;
        };
        // The later formats of Redis give other meanings to type numbers of Valkey's.
        let is_foreign = kind > kind::SHARED_MAX && FOREIGN_VERSIONS.contains(&self.version);
        let start = batch.bytes.len();
        self.input.get_mut().start_record(std::mem::take(&mut batch.bytes));
        let skimmed = self.input.skip_string().and_then(|()| {
            if is_foreign { Err(Error::Version(self.version)) } else { skim(&mut self.input, kind) }
        });
        batch.bytes = self.input.get_mut().end_record();
        let is_read = !skimmed?;
        let value = if is_read { read_value(&mut self.input, kind, &self.options)? } else { None };
        let record = KeyRecord { key: Vec::new(), expire_at_ms, idle_s, frequency, value };
        batch.keys.push(RawKey { record, kind, bytes: start..batch.bytes.len(), is_read });
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

fn header(input: &mut Input<impl BufRead>) -> Result<u32> {
    let start = input.array::<5>()?;
    let digits = match &start {
        b"REDIS" => input.array::<4>()?.to_vec(),
        b"VALKE" => match input.byte()? {
            b'Y' => input.array::<3>()?.to_vec(),
            _ => return Err(Error::NotRdb),
        },
        _ => return Err(Error::NotRdb),
    };
    let text = std::str::from_utf8(&digits).map_err(|_| Error::NotRdb)?;
    let version = text.parse().map_err(|_| Error::NotRdb)?;
    if (1..=VERSION_MAX).contains(&version) { Ok(version) } else { Err(Error::Version(version)) }
}
