//! Registers as runs of equal ones, in one or two bytes each: most are zero while few elements were added.
//!
//! ```text
//!   00nnnnnn            n + 1 zeros, 1 to 64
//!   01nnnnnn nnnnnnnn   n + 1 zeros, 1 to 16,384
//!   1vvvvvnn            n + 1 registers of v + 1: 1 to 4 of them, of 1 to 32
//! ```
//!
//! Which runs a change leaves behind is part of the format: other servers must come to the same bytes from the same
//! elements. A change splits the run of its register in up to three, and then joins neighbours of equal value among
//! the five runs from the one before on.

use super::estimate::Histogram;
use super::layout::{Corrupted, HEADER, REGISTERS};
use larder_packed::bytes::SharedBytes;

/// The runs of an empty one.
pub(super) const ALL_ZERO: [u8; 2] = [0x7F, 0xFF];

const SHORT_ZEROS_MAX: usize = 64;
const VALUE_MAX: u8 = 32;
const VALUE_RUN_MAX: usize = 4;
/// Runs looked at for joining.
const JOIN_WINDOW: usize = 5;

/// A run of equal registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// This many zeros, in one byte.
    ShortZeros(usize),
    /// This many zeros, in two bytes.
    LongZeros(usize),
    /// This many registers of this value.
    Values(u8, usize),
}

impl Run {
    /// The run at the start of these bytes, which are at least one. The second byte counts as 0 when it is missing.
    fn read(bytes: &[u8]) -> Run {
        let first = bytes[0];
        match first >> 6 {
            0 => Run::ShortZeros(usize::from(first & 0x3F) + 1),
            1 => {
                let second = bytes.get(1).copied().unwrap_or(0);
                Run::LongZeros((usize::from(first & 0x3F) << 8 | usize::from(second)) + 1)
            }
            _ => Run::Values((first >> 2 & 0x1F) + 1, usize::from(first & 3) + 1),
        }
    }

    /// Registers in the run.
    fn len(self) -> usize {
        match self {
            Run::ShortZeros(len) | Run::LongZeros(len) | Run::Values(_, len) => len,
        }
    }

    /// Bytes that it takes.
    fn size_bytes(self) -> usize {
        if matches!(self, Run::LongZeros(_)) { 2 } else { 1 }
    }

    /// The shortest form of this many zeros.
    fn zeros(len: usize) -> Run {
        if len > SHORT_ZEROS_MAX { Run::LongZeros(len) } else { Run::ShortZeros(len) }
    }

    /// A run of the same value and another length.
    fn resized(self, len: usize) -> Run {
        match self {
            Run::Values(value, _) => Run::Values(value, len),
            _ => Run::zeros(len),
        }
    }
}

/// The runs of these bytes.
pub(super) fn runs(mut body: &[u8]) -> impl Iterator<Item = Run> {
    std::iter::from_fn(move || {
        let run = (!body.is_empty()).then(|| Run::read(body))?;
        body = &body[run.size_bytes().min(body.len())..];
        Some(run)
    })
}

/// How often each value occurs.
pub(super) fn histogram(body: &[u8]) -> Result<Histogram, Corrupted> {
    let mut histogram = Histogram::default();
    let mut registers = 0;
    for run in runs(body) {
        registers += run.len();
        if registers > REGISTERS {
            return Err(Corrupted);
        }
        histogram.add(if let Run::Values(value, _) = run { value } else { 0 }, run.len() as u32);
    }
    if registers == REGISTERS { Ok(histogram) } else { Err(Corrupted) }
}

/// Calls `f` with index and value of all registers that are not zero.
pub(super) fn for_each_value(body: &[u8], mut f: impl FnMut(usize, u8)) -> Result<(), Corrupted> {
    let mut first = 0;
    for run in runs(body) {
        let end = first + run.len();
        if end > REGISTERS {
            return Err(Corrupted);
        }
        if let Run::Values(value, _) = run {
            (first..end).for_each(|index| f(index, value));
        }
        first = end;
    }
    if first == REGISTERS { Ok(()) } else { Err(Corrupted) }
}

/// What has come of [`raise`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raised {
    /// The register was as high already.
    Not,
    /// It has grown.
    Grown,
    /// Nothing was changed: this needs a dense string.
    TooLarge,
}

/// The run of a register.
struct Found {
    run: Run,
    /// Offset of the run in the string, and of the run before it.
    at: usize,
    before: Option<usize>,
    /// Its first register.
    first: usize,
}

/// Raises a register to at least `rank`, unless the string would become longer than `bytes_max` by that.
///
/// O(bytes).
pub(super) fn raise(
    bytes: &mut SharedBytes,
    index: usize,
    rank: u8,
    bytes_max: usize,
) -> Result<Raised, Corrupted> {
    if rank > VALUE_MAX {
        return Ok(Raised::TooLarge);
    }
    let found = find(bytes, index)?;
    if matches!(found.run, Run::Values(value, _) if value >= rank) {
        return Ok(Raised::Not);
    }
    let (parts, len) = split(&found, index, rank);
    let old_len = found.run.size_bytes().min(bytes.len() - found.at);
    if len > old_len && bytes.len() + len - old_len > bytes_max {
        return Ok(Raised::TooLarge);
    }
    bytes.splice(found.at..found.at + old_len, &parts[..len]);
    join(bytes, found.before.unwrap_or(HEADER));
    Ok(Raised::Grown)
}

/// The innermost loop of adding to a sparse string. Zeros and values follow each other without a pattern that a
/// processor could guess, so that the length of both is computed without a branch; long runs of zeros are rare.
fn find(bytes: &[u8], index: usize) -> Result<Found, Corrupted> {
    let (mut at, mut before, mut first) = (HEADER, None, 0);
    while let Some(&byte) = bytes.get(at) {
        let (len, size) = if byte >> 6 == 1 {
            (Run::read(&bytes[at..]).len(), 2)
        } else {
            // Six bits of length for zeros, two for values.
            (usize::from(byte & (0x3F >> (byte >> 7 << 2))) + 1, 1)
        };
        if index < first + len {
            return Ok(Found { run: Run::read(&bytes[at..]), at, before, first });
        }
        before = Some(at);
        at += size;
        first += len;
    }
    Err(Corrupted)
}

/// The bytes of a run with one register of it set: what is left of it before and after keeps its value.
fn split(found: &Found, index: usize, rank: u8) -> ([u8; 5], usize) {
    let (before, behind) = (index - found.first, found.first + found.run.len() - index - 1);
    let (mut parts, mut len) = ([0; 5], 0);
    let mut push = |run: Run| {
        let (bytes, size) = write(run);
        parts[len..len + size].copy_from_slice(&bytes[..size]);
        len += size;
    };
    if before > 0 {
        push(found.run.resized(before));
    }
    push(Run::Values(rank, 1));
    if behind > 0 {
        push(found.run.resized(behind));
    }
    (parts, len)
}

fn write(run: Run) -> ([u8; 2], usize) {
    match run {
        Run::ShortZeros(len) => ([(len - 1) as u8, 0], 1),
        Run::LongZeros(len) => ([0x40 | ((len - 1) >> 8) as u8, (len - 1) as u8], 2),
        Run::Values(value, len) => ([0x80 | (value - 1) << 2 | (len - 1) as u8, 0], 1),
    }
}

/// Joins runs of equal values from the run at `at` on. A run that was joined is tried again with the next.
fn join(bytes: &mut SharedBytes, mut at: usize) {
    for _ in 0..JOIN_WINDOW {
        let Some(&byte) = bytes.get(at) else { return };
        if let (Run::Values(value, len), Some(&next)) = (Run::read(&[byte]), bytes.get(at + 1))
            && let Run::Values(other, more) = Run::read(&[next])
            && value == other
            && len + more <= VALUE_RUN_MAX
        {
            let (joined, _) = write(Run::Values(value, len + more));
            bytes.splice(at..at + 2, &joined[..1]);
            continue;
        }
        at += Run::read(&[byte]).size_bytes();
    }
}
