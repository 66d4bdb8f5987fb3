//! Reading the commands of one file of an append-only file, and judging the end of a file that breaks off.
//!
//! A file is a sequence of commands and comments. A crash may leave a part of the last one at the end: a *torn* item. It may be cut off.
//! Anything else that cannot be read is damage, of which nobody knows how much it spoils: such a file is refused, and stays as it is.
//!
//! Torn are, and nothing else:
//! - the beginning of a command as servers write it ([`begins_command`]): canonical numbers, CR LF, binary-safe arguments;
//! - the beginning of a comment, of printable characters;
//! - a transaction without its EXEC, with or without a torn item after it.
//!
//! Valkey takes more for torn: zero bytes after `*`, numbers with other characters after the digits, lines that end in CR alone. A page that
//! a file system has filled with zeros, or a file whose line ends were converted, loses what follows there.
//!
//! Tested by `larder-server/tests/persistence/damage.rs`, which compares thousands of damaged files with Valkey.

use crate::error::{CommandError, PartError};
use larder_engine::{Engine, History, Replay, noted_place};
use larder_link::load::key_delay;
use larder_resp::{Args, Limits, Parsed, Parser, begins_command};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What is read from a file at once.
const READ_BYTES: usize = 1 << 20;
/// Progress is reported after this many bytes.
const PROGRESS_BYTES: usize = 1024;
/// The clocks are read again after this many commands.
const COMMANDS_PER_TICK: u64 = 1024;
/// The longest comment, with the end of its line: that of Valkey.
const COMMENT_BYTES_MAX: usize = 1023;
const LIMITS: Limits = Limits { bulk_bytes_max: u64::MAX, authenticated: true };

/// How a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// After a command or a comment, and outside of a transaction.
    Whole,
    /// Within one.
    Torn(Torn),
}

/// A file that ends within a command, a comment or a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Torn {
    /// Bytes before it, which are whole.
    pub good_bytes: u64,
    /// Whether it is a transaction, whose commands have not been executed.
    pub is_transaction: bool,
}

/// What becomes of the commands of a file.
pub(super) trait TakeCommands {
    /// Takes a command. An error ends the reading.
    fn take(&mut self, args: Args<'_>) -> Result<(), String>;

    /// Takes a comment.
    fn note(&mut self, _comment: &[u8]) {}

    /// Whether the commands so far end within a transaction.
    fn in_transaction(&self) -> bool;

    /// This many more bytes have been taken.
    fn advance(&mut self, _bytes: u64) {}
}

/// Executes commands.
pub(super) struct Execute<'e> {
    engine: &'e Engine,
    replay: Replay,
    /// Where in the history of the data the last command ends, if a comment after it says so.
    pub history: Option<History>,
    delay: Duration,
    count: u64,
}

impl<'e> Execute<'e> {
    /// For the commands of one file, before which the data is at `history`.
    pub fn new(engine: &'e std::sync::Arc<Engine>, history: Option<History>) -> Execute<'e> {
        let delay = key_delay(engine.config().number("key-load-delay"));
        Execute { engine, replay: Replay::new(engine), history, delay, count: 0 }
    }
}

impl TakeCommands for Execute<'_> {
    fn take(&mut self, args: Args<'_>) -> Result<(), String> {
        self.replay.execute(args)?;
        self.history = None;
        self.count += 1;
        if !self.delay.is_zero() {
            std::thread::sleep(self.delay);
        }
        if self.count.is_multiple_of(COMMANDS_PER_TICK) {
            self.replay.tick();
        }
        Ok(())
    }

    fn note(&mut self, comment: &[u8]) {
        if let Some((id, position, db)) = noted_place(comment) {
            self.history = Some(History { id, position, db });
        }
    }

    fn in_transaction(&self) -> bool {
        self.replay.in_transaction()
    }

    fn advance(&mut self, bytes: u64) {
        self.engine.persistence().load.loaded_bytes.fetch_add(bytes, Relaxed);
    }
}

/// Looks at commands without executing them.
#[derive(Default)]
struct Check {
    in_transaction: bool,
}

impl TakeCommands for Check {
    fn take(&mut self, args: Args<'_>) -> Result<(), String> {
        match args.get(0) {
            Some(name) if name.eq_ignore_ascii_case(b"multi") => self.in_transaction = true,
            Some(name) if name.eq_ignore_ascii_case(b"exec") => self.in_transaction = false,
            _ => {}
        }
        Ok(())
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }
}

/// Returns whether a file is a sequence of whole commands, to which others can be appended.
pub(super) fn is_whole(path: &Path) -> io::Result<bool> {
    let mut file = CommandFile::new(path, File::open(path)?, Vec::new())?;
    match file.read(&mut Check::default()) {
        Ok(end) => Ok(end == End::Whole),
        Err(PartError::Read(_, error)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// A file that is read from where commands begin.
pub(super) struct CommandFile<'p> {
    path: &'p Path,
    file: File,
    /// Its size when reading began.
    pub size: u64,
    /// What has been read and not been taken.
    bytes: Vec<u8>,
    /// Where in the file that begins.
    base: u64,
    /// Where the last command or comment outside of a transaction ends.
    good: u64,
    parser: Parser,
}

impl<'p> CommandFile<'p> {
    /// For a file of which `bytes` have been read just before its position.
    pub fn new(path: &'p Path, mut file: File, bytes: Vec<u8>) -> io::Result<CommandFile<'p>> {
        let size = file.metadata()?.len();
        let base = file.stream_position()? - bytes.len() as u64;
        Ok(CommandFile { path, file, size, bytes, base, good: base, parser: Parser::new() })
    }

    /// Hands all commands and comments to `taker`.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged, or `taker` refuses a command.
    pub fn read(&mut self, taker: &mut dyn TakeCommands) -> Result<End, PartError> {
        loop {
            self.take_whole(taker)?;
            if !self.is_beyond_the_end() && self.read_more()? > 0 {
                continue;
            }
            if !self.bytes.is_empty() && !is_torn(&self.bytes) {
                return Err(self.bad(0, CommandError::NotACommand));
            }
            let is_transaction = taker.in_transaction();
            return Ok(match self.bytes.is_empty() && !is_transaction {
                true => End::Whole,
                false => End::Torn(Torn { good_bytes: self.good, is_transaction }),
            });
        }
    }

    /// Hands over all that is whole.
    fn take_whole(&mut self, taker: &mut dyn TakeCommands) -> Result<(), PartError> {
        let (mut at, mut told) = (0, 0);
        while let Some(&first) = self.bytes.get(at) {
            let taken = match first {
                b'#' => self.take_comment(at, taker)?,
                b'*' => self.take_command(at, taker)?,
                _ => return Err(self.bad(at, CommandError::NotACommand)),
            };
            if taken == 0 {
                break;
            }
            at += taken;
            if !taker.in_transaction() {
                self.good = self.base + at as u64;
            }
            if at - told >= PROGRESS_BYTES {
                taker.advance((at - told) as u64);
                told = at;
            }
        }
        taker.advance((at - told) as u64);
        self.bytes.drain(..at);
        self.base += at as u64;
        Ok(())
    }

    /// Returns how many bytes the comment takes, 0 if it is not whole.
    fn take_comment(&self, at: usize, taker: &mut dyn TakeCommands) -> Result<usize, PartError> {
        let bytes = &self.bytes[at..];
        match memchr::memchr(b'\n', &bytes[..bytes.len().min(COMMENT_BYTES_MAX)]) {
            Some(len) => {
                taker.note(&bytes[..len]);
                Ok(len + 1)
            }
            None if bytes.len() > COMMENT_BYTES_MAX => Err(self.bad(at, CommandError::NotACommand)),
            None => Ok(0),
        }
    }

    /// Returns how many bytes the command takes, 0 if it is not whole.
    fn take_command(&mut self, at: usize, taker: &mut dyn TakeCommands) -> Result<usize, PartError> {
        let failed = match self.parser.next(&self.bytes[at..], &LIMITS) {
            Ok(Parsed::Incomplete) => return Ok(0),
            Ok(Parsed::Command { args, .. }) if args.is_empty() => CommandError::NotACommand,
            Ok(Parsed::Command { args, consumed }) => match taker.take(args) {
                Ok(()) => return Ok(consumed),
                Err(text) => CommandError::Refused(text),
            },
            Err(error) => CommandError::Syntax(error),
        };
        Err(self.bad(at, failed))
    }

    /// Whether the argument that has begun is longer than the rest of the file: there is no use in reading that.
    fn is_beyond_the_end(&self) -> bool {
        let missing = self.parser.missing(self.bytes.len()) as u64;
        missing > self.size.saturating_sub(self.base + self.bytes.len() as u64)
    }

    /// Returns how many bytes there were.
    fn read_more(&mut self) -> Result<usize, PartError> {
        let read = (&mut self.file).take(READ_BYTES as u64).read_to_end(&mut self.bytes);
        read.map_err(|error| PartError::Read(self.path.display().to_string(), error))
    }

    fn bad(&self, at: usize, error: CommandError) -> PartError {
        PartError::Command { file: self.path.display().to_string(), at: self.base + at as u64, error }
    }
}

/// Whether the end of a file, which is neither a whole command nor a whole comment, is the beginning of one.
fn is_torn(rest: &[u8]) -> bool {
    match rest {
        [b'#', comment @ ..] => {
            let text = comment.strip_suffix(b"\r").unwrap_or(comment);
            text.iter().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t'))
        }
        _ => begins_command(rest),
    }
}
