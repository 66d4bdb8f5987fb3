//! A whole file, as a sequence of events.

use super::input::{Checked, Input};
use super::value::{Loaded, Options, module_name, read_value};
use crate::error::{Error, Result};
use crate::format::{FOREIGN_VERSIONS, VERSION_MAX, kind, opcode};
use std::io::BufRead;

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

/// The next thing in a file.
pub enum Event {
    /// A field about the file and its writer.
    Aux(Vec<u8>, Vec<u8>),
    /// The source of a function library.
    Function(Vec<u8>),
    /// A key of the database selected last.
    Key(KeyRecord),
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

impl<R: BufRead> FileReader<R> {
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

    /// A key, and what stands before it.
    fn key(&mut self, first: u8) -> Result<KeyRecord> {
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
        let value = read_value(&mut self.input, kind, &self.options)?;
        Ok(KeyRecord { key, expire_at_ms, idle_s, frequency, value })
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
        let expected = self.input.get_ref().checksum();
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
