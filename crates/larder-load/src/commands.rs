//! Commands out of a file, with the offset of each: arrays of bulk strings, and inline lines. O(1) memory beside the longest command.

use crate::error::{Error, Result};
use crate::mapping::VALUE_BYTES_MAX;
use larder_resp::{Args, Limits, Parsed, Parser};
use std::io::Read;
use std::ops::ControlFlow;

/// This much is read at once.
const CHUNK_BYTES: u64 = 256 << 10;
/// What servers take by default.
const LIMITS: Limits = Limits { bulk_bytes_max: VALUE_BYTES_MAX as u64, authenticated: true };

/// A command of a file.
pub struct Command<'a> {
    /// Where it begins, in bytes from the start of the file.
    pub offset: u64,
    /// Its name and arguments.
    pub args: Args<'a>,
    /// Its bytes.
    pub raw: &'a [u8],
}

/// The commands of a file.
pub struct Commands {
    source: Box<dyn Read + Send>,
    /// The file's name, for errors.
    name: String,
    buffer: Vec<u8>,
    /// Where the next command begins in the buffer, and in the file.
    start: usize,
    offset: u64,
    parser: Parser,
    /// Whether lines that begin with `#` are notes, as in append-only files.
    has_notes: bool,
}

impl Commands {
    /// The commands of a source, of which some bytes may have been read: those before `offset` are others, `read` is what follows.
    pub fn new(
        source: Box<dyn Read + Send>,
        name: String,
        has_notes: bool,
        (offset, read): (u64, Vec<u8>),
    ) -> Self {
        Commands { source, name, buffer: read, start: 0, offset, parser: Parser::new(), has_notes }
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Hands out commands until `f` breaks, and returns whether it has: the command for which it did comes again the next time.
    ///
    /// # Errors
    /// The file cannot be read, is not of commands, or ends within one; or `f` fails.
    pub fn each(
        &mut self,
        f: &mut dyn FnMut(&Command<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        loop {
            let rest = &self.buffer[self.start..];
            if self.has_notes && rest.first() == Some(&b'#') {
                match rest.iter().position(|&byte| byte == b'\n') {
                    Some(end) => self.consume(end + 1),
                    None if self.fill()? > 0 => {}
                    None => return Err(self.broken(CUT)),
                }
                continue;
            }
            let consumed = match self.parser.next(rest, &LIMITS) {
                Err(error) => return Err(self.broken(&error.text())),
                Ok(Parsed::Incomplete) => {
                    if self.fill()? > 0 {
                        continue;
                    }
                    let is_whole = self.start == self.buffer.len();
                    return if is_whole { Ok(ControlFlow::Continue(())) } else { Err(self.broken(CUT)) };
                }
                Ok(Parsed::Command { args, consumed }) => {
                    let command = Command { offset: self.offset, args, raw: &rest[..consumed] };
                    if !args.is_empty() && f(&command)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    consumed
                }
            };
            self.consume(consumed);
        }
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Reads on; returns how many bytes have come.
    fn fill(&mut self) -> Result<usize> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let read = (&mut self.source).take(CHUNK_BYTES).read_to_end(&mut self.buffer);
        read.map_err(|error| Error::file(&self.name, &error))
    }

    fn broken(&self, what: &str) -> Error {
        Error::File(format!("{}: offset {}: {what}", self.name, self.offset))
    }
}

/// What is wrong with a file whose last command is not whole.
const CUT: &str = "the file ends within a command";

/// Follows transactions: one that is not closed is not executed.
#[derive(Default)]
pub struct Transaction(Option<u64>);

impl Transaction {
    /// Notes a command.
    pub fn note(&mut self, command: &Command<'_>) {
        let name = command.args.at(0);
        if name.eq_ignore_ascii_case(b"MULTI") {
            self.0 = Some(command.offset);
        } else if name.eq_ignore_ascii_case(b"EXEC") || name.eq_ignore_ascii_case(b"DISCARD") {
            self.0 = None;
        }
    }

    /// Whether one is open.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Fails if one is open at the end of a file.
    pub fn finish(&self, file: &str) -> Result<()> {
        match self.0 {
            None => Ok(()),
            Some(offset) => {
                Err(Error::File(format!("{file}: the file ends within the transaction at offset {offset}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(bytes: &[u8], has_notes: bool) -> Commands {
        let source = Box::new(std::io::Cursor::new(bytes.to_vec()));
        Commands::new(source, "file".to_owned(), has_notes, (0, Vec::new()))
    }

    /// The commands as `offset:word word`, and the error.
    fn all(bytes: &[u8], has_notes: bool) -> (Vec<String>, Option<String>) {
        let mut found = Vec::new();
        let result = commands(bytes, has_notes).each(&mut |command| {
            let words: Vec<String> =
                command.args.iter().map(|word| word.escape_ascii().to_string()).collect();
            found.push(format!("{}:{}", command.offset, words.join(" ")));
            Ok(ControlFlow::Continue(()))
        });
        (found, result.err().map(|error| error.to_string()))
    }

    #[test]
    fn commands_of_both_forms_with_their_offsets() {
        let bytes = b"*2\r\n$3\r\nGET\r\n$1\r\na\r\nSET b \"c d\"\n\r\n*1\r\n$4\r\nPING\r\n";
        let expected = ["0:GET a", "20:SET b c d", "34:PING"];
        assert_eq!(all(bytes, false), (expected.map(str::to_owned).to_vec(), None));
        // Cut anywhere, what is whole comes, and then an error unless nothing else is there.
        for len in 0..bytes.len() {
            let (found, error) = all(&bytes[..len], false);
            assert_eq!(found, expected[..found.len()]);
            assert_eq!(error.is_none(), [0, 20, 32, 34].contains(&len), "{len}: {error:?}");
            assert!(error.is_none_or(|error| error.ends_with("within a command")), "{len}");
        }
    }

    #[test]
    fn what_is_no_command_is_named_with_its_offset() {
        let text = |bytes: &[u8]| all(bytes, false).1.unwrap();
        assert_eq!(text(b"PING\r\n*1\r\nx"), "file: offset 6: the file ends within a command");
        assert_eq!(text(b"PING\r\n*x\r\n"), "file: offset 6: invalid multibulk length");
        assert_eq!(text(b"*1\r\n$-1\r\n"), "file: offset 0: invalid bulk length");
        assert_eq!(text(b"*1\r\n$99999999999\r\n"), "file: offset 0: invalid bulk length");
        assert_eq!(text(b"GET \"x\r\n"), "file: offset 0: unbalanced quotes in request");
        assert_eq!(text(&[b'x'; 70_000]), "file: offset 0: too big inline request");
    }

    #[test]
    fn notes_are_passed_over_and_a_break_keeps_the_command() {
        assert_eq!(all(b"#TS:17\r\nPING\r\n#x\n", true), (vec!["8:PING".to_owned()], None));
        assert_eq!(all(b"#x", true).1.unwrap(), "file: offset 0: the file ends within a command");
        let mut commands = commands(b"A\nB\nC\n", false);
        let mut seen = Vec::new();
        for stop in [b"B", b"B", b"D"] {
            let result = commands.each(&mut |command| {
                seen.push(command.args.at(0).to_vec());
                let is_it = command.args.at(0) == stop;
                Ok(if is_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            });
            assert_eq!(result.unwrap().is_break(), stop != b"D");
        }
        assert_eq!(seen.concat(), b"ABBBC");
    }
}
