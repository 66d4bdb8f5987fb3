//! A whole file, as a sequence of events.

use super::input::{Checked, Input};
use super::skim::skim;
use super::value::{Loaded, Options, module_name, read_value};
use crate::error::{Error, Result};
use crate::format::{FOREIGN_VERSIONS, VERSION_MAX, kind, opcode};
use std::io::{BufRead, Read};

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
    /// The bytes of the value; none when it had to be read to find its end.
    bytes: Vec<u8>,
    is_read: bool,
}

impl RawKey {
    /// Makes the value.
    pub fn read(self, options: &Options) -> Result<KeyRecord> {
        let RawKey { mut record, kind, bytes, is_read } = self;
        if !is_read {
            record.value = read_value(&mut Input::new(bytes.as_slice()), kind, options)?;
        }
        Ok(record)
    }

    /// Size of the value in the file, in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the bytes of the value are not here.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// The next thing in a file.
pub enum Event {
    /// A field about the file and its writer.
    Aux(Vec<u8>, Vec<u8>),
    /// The source of a function library.
    Function(Vec<u8>),
    /// A key of the database selected last.
    Key(RawKey),
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

    /// The next event; None at the end, once the checksum is checked.
    pub fn next_event(&mut self) -> Result<Option<Event>> {
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
                first => Event::Key(self.key(first)?),
            };
            return Ok(Some(event));
        }
    }

    /// The source, and what has been read of it beyond the end of the file: an append-only file goes on there.
    pub fn into_rest(self) -> (R, Vec<u8>) {
        self.input.into_inner().into_rest()
    }

    /// A key, and what stands before it.
    fn key(&mut self, first: u8) -> Result<RawKey> {
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
        let key = self.input.string()?;
        // The later formats of Redis give other meanings to type numbers of Valkey's.
        if kind > kind::SHARED_MAX && FOREIGN_VERSIONS.contains(&self.version) {
            return Err(Error::Version(self.version));
        }
        let mut record = KeyRecord { key, expire_at_ms, idle_s, frequency, value: None };
        self.input.get_mut().start_record(Vec::new());
        let skimmed = skim(&mut self.input, kind)?;
        let bytes = self.input.get_mut().end_record();
        if !skimmed {
            record.value = read_value(&mut self.input, kind, &self.options)?;
        }
        Ok(RawKey { record, kind, bytes, is_read: !skimmed })
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
