//! A whole file.

use super::blocks;
use super::output::Output;
use super::value::{type_of, write_value};
use crate::Crc64;
use crate::format::{Version, kind, opcode};
use larder_collections::value::Value;
use std::io::{self, Write};

/// What stands before a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHeader {
    /// When it expires, in milliseconds since 1970.
    pub expire_at_ms: Option<u64>,
    /// Seconds since it was used.
    pub idle_s: Option<u64>,
    /// How often it was used, as the logarithmic counter of LFU.
    pub frequency: Option<u8>,
}

/// Writes a file from start to end.
pub struct FileWriter<W> {
    output: Output<Summed<W>>,
    version: Version,
}

impl<W: Write> FileWriter<W> {
    /// Writes the header. `compress`: strings may be compressed with LZF. `checksum`: the end carries one.
    pub fn new(to: W, version: Version, compress: bool, checksum: bool) -> io::Result<Self> {
        let to = Summed { to, crc: checksum.then(Crc64::new), written: 0 };
        let mut output = Output::new(to, compress);
        match version {
            Version::V80 => output.raw(b"VALKEY080")?,
            older => output.raw(format!("REDIS{:04}", older.number()).as_bytes())?,
        }
        Ok(FileWriter { output, version })
    }

    /// A field about the file and its writer.
    pub fn aux(&mut self, name: &str, value: &str) -> io::Result<()> {
        self.output.raw(&[opcode::AUX])?;
        self.output.string(name.as_bytes())?;
        self.output.string(value.as_bytes())
    }

    /// The source of a function library.
    pub fn function(&mut self, source: &[u8]) -> io::Result<()> {
        self.output.raw(&[opcode::FUNCTION_2])?;
        self.output.string(source)
    }

    /// Slots of a cluster whose keys are still coming from another node, as ranges with their first and last one. Versions before 80 have no place for
    /// that.
    pub fn slot_import(&mut self, name: &[u8], ranges: &[(u16, u16)]) -> io::Result<()> {
        if self.version < Version::V80 {
            return Ok(());
        }
        self.output.raw(&[opcode::SLOT_IMPORT])?;
        self.output.string(name)?;
        self.output.length(ranges.len() as u64)?;
        ranges.iter().try_for_each(|&(first, last)| {
            self.output.length(first.into())?;
            self.output.length(last.into())
        })
    }

    /// The keys that follow are of this database, which has this many, and this many that expire.
    pub fn database(&mut self, db: u64, keys: u64, expires: u64) -> io::Result<()> {
        self.output.raw(&[opcode::SELECT_DB])?;
        self.output.length(db)?;
        self.output.raw(&[opcode::RESIZE_DB])?;
        self.output.length(keys)?;
        self.output.length(expires)
    }

    /// A key with a string.
    pub fn string(&mut self, header: KeyHeader, key: &[u8], value: &[u8]) -> io::Result<()> {
        write_string(&mut self.output, header, key, value)
    }

    /// A key with any value.
    pub fn value(&mut self, header: KeyHeader, key: &[u8], value: &Value) -> io::Result<()> {
        write_any(&mut self.output, type_of(value, self.version), header, key, value)
    }

    /// Keys that a [`KeyWriter`] has written.
    pub fn keys(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.raw(bytes)
    }

    /// Bytes written so far.
    pub fn written(&mut self) -> u64 {
        self.output.get_mut().written
    }

    /// Writes the end and gives the destination back, flushed.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.raw(&[opcode::END])?;
        let mut to = self.output.into_inner();
        let crc = to.crc.take().map_or(0, |crc| crc.value());
        to.write_all(&crc.to_le_bytes())?;
        to.flush()?;
        Ok(to.to)
    }
}

/// Writes keys into memory, to be put into a file as they are: threads may each have one.
pub struct KeyWriter {
    output: Output<Vec<u8>>,
    version: Version,
    blocks: bool,
}

impl KeyWriter {
    /// For a file of this version; `compress` as for [`FileWriter::new`]. `blocks`: lists and sorted sets go as the blocks that they
    /// lie in, for a Larder that has asked for it.
    pub fn new(version: Version, compress: bool, blocks: bool) -> Self {
        KeyWriter { output: Output::new(Vec::new(), compress), version, blocks }
    }

    /// A key with a string.
    pub fn string(&mut self, header: KeyHeader, key: &[u8], value: &[u8]) -> io::Result<()> {
        write_string(&mut self.output, header, key, value)
    }

    /// A key with any value.
    pub fn value(&mut self, header: KeyHeader, key: &[u8], value: &Value) -> io::Result<()> {
        let own = blocks::link_type_of(value).filter(|_| self.blocks);
        let kind = own.unwrap_or_else(|| type_of(value, self.version));
        write_any(&mut self.output, kind, header, key, value)
    }

    /// What has been written since this was last emptied.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        self.output.get_mut()
    }
}

fn write_string(
    output: &mut Output<impl Write>,
    header: KeyHeader,
    key: &[u8],
    value: &[u8],
) -> io::Result<()> {
    write_key(output, header, kind::STRING, key)?;
    output.string(value)
}

fn write_any(
    output: &mut Output<impl Write>,
    kind: u8,
    header: KeyHeader,
    key: &[u8],
    value: &Value,
) -> io::Result<()> {
    write_key(output, header, kind, key)?;
    write_value(output, value, kind)
}

fn write_key(output: &mut Output<impl Write>, header: KeyHeader, kind: u8, key: &[u8]) -> io::Result<()> {
    if let Some(at) = header.expire_at_ms {
        output.raw(&[opcode::EXPIRE_MS])?;
        output.raw(&at.to_le_bytes())?;
    }
    if let Some(seconds) = header.idle_s {
        output.raw(&[opcode::IDLE])?;
        output.length(seconds)?;
    }
    if let Some(frequency) = header.frequency {
        output.raw(&[opcode::FREQ, frequency])?;
    }
    output.raw(&[kind])?;
    output.string(key)
}

/// Keeps the checksum of what goes through, if it is wanted.
struct Summed<W> {
    to: W,
    crc: Option<Crc64>,
    written: u64,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        if let Some(crc) = &mut self.crc {
            crc.update(&bytes[..written]);
        }
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
