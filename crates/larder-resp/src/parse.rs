//! Finds the commands in a connection's read buffer: multibulk (`*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n`) and inline
//! (`ECHO hi\r\n`).
//!
//! The buffer is given again on each call and always starts where the current command starts; it may only have grown
//! since the last call. Everything the parser remembers is an offset into it, so the owner is free to move the bytes.
//!
//! Costs: every byte is looked at once (O(n) however the bytes are sliced); 16 bytes per argument that has arrived;
//! nothing is reserved for what is merely announced. A parser without a started command holds no state, so one can be
//! shared by every connection that has nothing pending.
//!
//! Invariants:
//! - I1: every span ends at or before `at`, and `at <= buf.len()`.
//! - I2: `args_left > 0` or `bulk_len.is_some()` only between a multibulk header and the command's last byte.
//! - I3: `buf[at..searched]` does not hold what ends the current line, as far as its search goes.
//!
//! Tested in `parse/tests.rs`, by mutation in `tests/mutation.rs`, and side by side with Valkey in
//! `tests/differential.rs`.

mod ahead;
mod inline;
mod number;
mod prefix;
#[cfg(test)]
mod tests;

use crate::args::{Args, Span};
pub use ahead::Ahead;
use ahead::Queue;
pub use inline::split_args;
use memchr::{memchr, memchr2};
pub use prefix::begins_command;

/// Bytes of a line (inline command, count or length) after which its end must have arrived. A line whose end has arrived is
/// accepted, as in Valkey: how much longer it may be depends on how much a read brings.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// A command with more arguments is the last one that is found ahead of its turn: by the time that it has been executed, what was read of later ones
/// would have left the cache.
const ARGUMENTS_AHEAD_MAX: usize = 64;

/// What ends a count, a length and an argument.
const LINE_END: &[u8; 2] = b"\r\n";
/// Arguments a command may have before the client has authenticated.
const UNAUTHENTICATED_ARGS_MAX: i64 = 10;
/// Bytes an argument may have before the client has authenticated.
const UNAUTHENTICATED_BULK_BYTES_MAX: i64 = 16 * 1024;
/// Span capacity that is kept from command to command.
const SPANS_KEPT_MAX: usize = 4096;
/// Inline buffer capacity that is kept from command to command.
const INLINE_BYTES_KEPT_MAX: usize = 16 * 1024;

/// What the connection allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest argument, in bytes (`proto-max-bulk-len`).
    pub bulk_bytes_max: u64,
    /// Whether the client has authenticated, or need not.
    pub authenticated: bool,
}

/// What a call found.
pub enum Parsed<'a> {
    /// The command is not complete; call again with more bytes after the same ones.
    Incomplete,
    /// A command that took the first `consumed` bytes. No arguments at all for an empty line or `*0`: to be skipped
    /// without a reply.
    Command {
        /// The name and the arguments.
        args: Args<'a>,
        /// Bytes that the command occupied.
        consumed: usize,
    },
}

/// Why a connection cannot be understood any further. The client is told and closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The argument count is no number, or more than a command can have.
    InvalidMultibulkLength,
    /// The argument's length is no number, negative, or beyond `proto-max-bulk-len`.
    InvalidBulkLength,
    /// Something else than `$` where an argument should start.
    ExpectedDollar(u8),
    /// No end of line within the limit, in an argument count.
    TooBigCountString,
    /// No end of line within the limit, in an argument's length.
    TooBigBulkString,
    /// No end of line within the limit, in an inline command.
    TooBigInline,
    /// An inline command with a quote that is not closed.
    UnbalancedQuotes,
    /// No CR LF where a count, a length or an argument ends.
    InvalidLineEnd,
    /// More arguments than a client may send before AUTH.
    UnauthenticatedMultibulkLength,
    /// A longer argument than a client may send before AUTH.
    UnauthenticatedBulkLength,
}

impl ProtocolError {
    /// The text after `-ERR Protocol error: `.
    pub fn text(self) -> String {
        match self {
            Self::InvalidMultibulkLength => "invalid multibulk length".into(),
            Self::InvalidBulkLength => "invalid bulk length".into(),
            Self::ExpectedDollar(got) => expected_dollar(got),
            Self::TooBigCountString => "too big mbulk count string".into(),
            Self::TooBigBulkString => "too big bulk count string".into(),
            Self::TooBigInline => "too big inline request".into(),
            Self::UnbalancedQuotes => "unbalanced quotes in request".into(),
            Self::InvalidLineEnd => "invalid CRLF in request".into(),
            Self::UnauthenticatedMultibulkLength => "unauthenticated multibulk length".into(),
            Self::UnauthenticatedBulkLength => "unauthenticated bulk length".into(),
        }
    }

    /// Appends the whole error reply. Bytes, not text: the offending byte is echoed as it came.
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"-ERR Protocol error: ");
        match self {
            Self::ExpectedDollar(got) => {
                out.extend_from_slice(b"expected '$', got '");
                out.push(if matches!(got, b'\r' | b'\n') { b' ' } else { got });
                out.push(b'\'');
            }
            other => out.extend_from_slice(other.text().as_bytes()),
        }
        out.extend_from_slice(b"\r\n");
    }
}

fn expected_dollar(got: u8) -> String {
    format!("expected '$', got '{}'", char::from(got))
}

/// The parser's state within one command. Cheap to create; see the module's head.
#[derive(Debug, Default)]
pub struct Parser {
    spans: Vec<Span>,
    /// Unescaped arguments of an inline command.
    inline: Vec<u8>,
    /// Offset of the next byte to understand.
    at: usize,
    /// Offset up to which the current line's end has been searched.
    searched: usize,
    /// Arguments of a multibulk command that have not been seen whole.
    args_left: usize,
    /// Length of the argument that is arriving, once known.
    bulk_len: Option<usize>,
    /// Commands that were found before their turn; `spans` has the arguments of all of them.
    ahead: Queue,
}

/// A whole command at the start of the buffer; its arguments are in `spans`.
struct Found {
    consumed: usize,
    /// Whether the spans point into `inline`.
    inline: bool,
}

impl Parser {
    /// A parser between commands.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a command has been started and not finished: this parser then belongs to one buffer.
    pub fn is_pending(&self) -> bool {
        self.at > 0 || self.searched > 0
    }

    /// Bytes that must still arrive, beyond the first `available` bytes of the buffer, before the argument that is
    /// arriving is whole. 0 when no length is known. Never trust it for an allocation.
    pub fn missing(&self, available: usize) -> usize {
        match self.bulk_len {
            Some(len) => len.saturating_add(2).saturating_add(self.at).saturating_sub(available),
            None => 0,
        }
    }

    /// Bytes of the command that have been understood: up to the end of the last argument that has arrived whole, or of the length after it.
    pub fn understood(&self) -> usize {
        self.at
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.spans.capacity() * size_of::<Span>() + self.inline.capacity() + self.ahead.heap_bytes()
    }

    /// Looks for one command at the start of `buf`, unless [`Parser::look_ahead`] has found it. After [`Parsed::Command`] or an error the parser is between
    /// commands again.
    pub fn next<'a>(&'a mut self, buf: &'a [u8], limits: &Limits) -> Result<Parsed<'a>, ProtocolError> {
        if !limits.authenticated {
            self.forget_ahead();
        }
        if let Some((spans, consumed)) = self.ahead.take() {
            return Ok(Parsed::Command { args: Args::new(buf, &self.spans[spans]), consumed });
        }
        if !self.is_pending() && limits.authenticated {
            self.start();
            if let Some(consumed) = self.add_whole(buf, limits) {
                return Ok(Parsed::Command { args: Args::new(buf, &self.spans), consumed });
            }
        }
        match self.find(buf, limits) {
            Ok(None) => Ok(Parsed::Incomplete),
            Ok(Some(Found { consumed, inline })) => {
                let args = Args::new(if inline { &self.inline } else { buf }, &self.spans);
                Ok(Parsed::Command { args, consumed })
            }
            Err(error) => {
                *self = Self::default();
                Err(error)
            }
        }
    }

    /// Looks for whole commands at the start of `buf`, `commands_max` at most: plain ones, as [`Parser::next`] finds most of them. Does nothing
    /// within a command. O(n) of the bytes of the commands that are found, which is saved later.
    ///
    /// The next calls of [`Parser::next`] must get the same buffer without what has been consumed, until [`Parser::has_ahead`] is false or
    /// [`Parser::forget_ahead`] was called.
    pub fn look_ahead(&mut self, buf: &[u8], limits: &Limits, commands_max: usize) {
        self.forget_ahead();
        if self.is_pending() || !limits.authenticated {
            return;
        }
        self.start();
        let (mut rest, mut is_last) = (buf, false);
        while self.ahead.len() < commands_max && !is_last {
            let before = self.spans.len();
            let Some(bytes) = self.add_whole(rest, limits) else { break };
            self.ahead.push(self.spans.len(), bytes);
            is_last = self.spans.len() - before > ARGUMENTS_AHEAD_MAX;
            rest = &rest[bytes..];
        }
    }

    /// The next command, at the start of `buf`, and its bytes, if [`Parser::look_ahead`] has found it and the client may still send such: what
    /// [`Parser::next`] would return. Inlined, as what a function has written in two pieces is slow to be read in one soon afterwards.
    #[inline(always)]
    pub fn next_ahead<'a>(&'a mut self, buf: &'a [u8], limits: &Limits) -> Option<(Args<'a>, usize)> {
        let (spans, consumed) = if limits.authenticated { self.ahead.take() } else { None }?;
        Some((Args::new(buf, &self.spans[spans]), consumed))
    }

    /// Whether [`Parser::next`] has the next command already.
    #[inline]
    pub fn has_ahead(&self) -> bool {
        self.ahead.has_next()
    }

    /// What [`Parser::look_ahead`] has found in `buf` and [`Parser::next`] has not returned yet.
    pub fn ahead<'a>(&'a self, buf: &'a [u8]) -> Ahead<'a> {
        self.ahead.rest(buf, &self.spans)
    }

    /// Forgets it: the buffer is to be given again from a command on that has been returned, or changes.
    pub fn forget_ahead(&mut self) {
        self.ahead.clear();
    }

    /// Takes a command that has arrived whole, with short numbers: nearly every one. Adds its arguments, counted from its own beginning, and says
    /// how many bytes it took. `None` means "look closer", not "wrong": nothing has been decided then, and nothing remembered.
    #[inline]
    fn add_whole(&mut self, buf: &[u8], limits: &Limits) -> Option<usize> {
        let before = self.spans.len();
        let bytes = self.add_arguments(buf, limits);
        if bytes.is_none() {
            self.spans.truncate(before);
        }
        bytes
    }

    #[inline]
    fn add_arguments(&mut self, buf: &[u8], limits: &Limits) -> Option<usize> {
        let (count, mut at) = number::short_header(b'*', buf)?;
        for _ in 0..count {
            let rest = &buf[at..];
            let (len, header) = number::short_header(b'$', rest)?;
            if len as u64 > limits.bulk_bytes_max || rest.get(header + len..header + len + 2)? != LINE_END {
                return None;
            }
            self.spans.push(Span { start: at + header, end: at + header + len });
            at += header + len + 2;
        }
        Some(at)
    }

    fn find(&mut self, buf: &[u8], limits: &Limits) -> Result<Option<Found>, ProtocolError> {
        if self.args_left > 0 {
            return self.arguments(buf, limits);
        }
        match buf.first() {
            None => Ok(None),
            Some(b'*') => self.multibulk(buf, limits),
            Some(_) => self.inline(buf),
        }
    }

    fn multibulk(&mut self, buf: &[u8], limits: &Limits) -> Result<Option<Found>, ProtocolError> {
        self.start();
        let Some((line, next)) = self.line(buf, ProtocolError::TooBigCountString)? else {
            return Ok(None);
        };
        let count = number::parse(line).ok_or(ProtocolError::InvalidMultibulkLength)?;
        if count > i64::from(i32::MAX) {
            return Err(ProtocolError::InvalidMultibulkLength);
        }
        if count > UNAUTHENTICATED_ARGS_MAX && !limits.authenticated {
            return Err(ProtocolError::UnauthenticatedMultibulkLength);
        }
        self.advance(next);
        if count <= 0 {
            return Ok(Some(self.finish()));
        }
        self.args_left = count as usize;
        self.arguments(buf, limits)
    }

    /// Goes on with the arguments of a multibulk command.
    fn arguments(&mut self, buf: &[u8], limits: &Limits) -> Result<Option<Found>, ProtocolError> {
        while self.args_left > 0 {
            let len = match self.bulk_len {
                Some(len) => len,
                None => match self.bulk_header(buf, limits)? {
                    Some(len) => len,
                    None => return Ok(None),
                },
            };
            if buf.len() - self.at < len.saturating_add(2) {
                self.bulk_len = Some(len);
                return Ok(None);
            }
            if buf[self.at + len..self.at + len + 2] != *LINE_END {
                return Err(ProtocolError::InvalidLineEnd);
            }
            self.spans.push(Span { start: self.at, end: self.at + len });
            self.bulk_len = None;
            self.args_left -= 1;
            self.advance(self.at + len + 2);
        }
        Ok(Some(self.finish()))
    }

    /// Reads `$<length>\r\n`. `None` while it is not complete.
    fn bulk_header(&mut self, buf: &[u8], limits: &Limits) -> Result<Option<usize>, ProtocolError> {
        if let Some((len, next)) = number::short_header(b'$', &buf[self.at..]) {
            self.advance(self.at + next);
            return Ok(Some(len));
        }
        let Some((line, next)) = self.line(buf, ProtocolError::TooBigBulkString)? else {
            return Ok(None);
        };
        let len = number::parse(line).filter(|&n| n >= 0 && n as u64 <= limits.bulk_bytes_max);
        let len = len.ok_or(ProtocolError::InvalidBulkLength)?;
        if len > UNAUTHENTICATED_BULK_BYTES_MAX && !limits.authenticated {
            return Err(ProtocolError::UnauthenticatedBulkLength);
        }
        self.advance(next);
        Ok(Some(len as usize))
    }

    /// The line at `at` without its first byte and its end, and where the next one starts. An argument's begins with `$`.
    fn line<'b>(
        &mut self,
        buf: &'b [u8],
        too_long: ProtocolError,
    ) -> Result<Option<(&'b [u8], usize)>, ProtocolError> {
        let found = memchr(b'\r', &buf[self.searched..]).map(|i| self.searched + i);
        self.searched = found.unwrap_or(buf.len());
        if found.is_none() && self.searched - self.at > LINE_BYTES_MAX {
            return Err(too_long);
        }
        let Some(end) = found.filter(|end| end + 1 < buf.len()) else { return Ok(None) };
        if self.args_left > 0 && buf[self.at] != b'$' {
            return Err(ProtocolError::ExpectedDollar(buf[self.at]));
        }
        if buf[end + 1] != b'\n' {
            return Err(ProtocolError::InvalidLineEnd);
        }
        Ok(Some((&buf[self.at + 1..end], end + 2)))
    }

    fn inline(&mut self, buf: &[u8]) -> Result<Option<Found>, ProtocolError> {
        self.start();
        // As in Valkey a NUL hides everything after it.
        let found = memchr2(b'\n', 0, &buf[self.searched..]).map(|i| self.searched + i);
        self.searched = found.unwrap_or(buf.len());
        let hidden = found.is_some_and(|end| buf[end] == 0);
        if (found.is_none() || hidden) && buf.len() > LINE_BYTES_MAX {
            return Err(ProtocolError::TooBigInline);
        }
        let Some(end) = found.filter(|_| !hidden) else {
            return Ok(None);
        };
        let line = buf[..end].strip_suffix(b"\r").unwrap_or(&buf[..end]);
        inline::split(line, &mut self.inline, &mut self.spans).ok_or(ProtocolError::UnbalancedQuotes)?;
        self.reset();
        Ok(Some(Found { consumed: end + 1, inline: true }))
    }

    /// Forgets the arguments of the previous command, which its caller may have read until now.
    #[inline]
    fn start(&mut self) {
        self.spans.clear();
        if self.spans.capacity() > SPANS_KEPT_MAX {
            self.spans.shrink_to(SPANS_KEPT_MAX);
        }
        if self.inline.capacity() > INLINE_BYTES_KEPT_MAX {
            self.inline = Vec::new();
        }
    }

    #[inline]
    fn advance(&mut self, to: usize) {
        self.at = to;
        self.searched = to;
    }

    #[inline]
    fn finish(&mut self) -> Found {
        let consumed = self.at;
        self.reset();
        Found { consumed, inline: false }
    }

    #[inline]
    fn reset(&mut self) {
        debug_assert!(self.bulk_len.is_none());
        debug_assert!(self.args_left == 0);
        self.advance(0);
    }

    /// Panics when an invariant does not hold for a buffer of `len` bytes.
    pub fn check_invariants(&self, len: usize) {
        assert!(self.at <= self.searched && self.searched <= len, "I1: offsets inside the buffer");
        if self.is_pending() {
            assert!(self.spans.iter().all(|s| s.start <= s.end && s.end <= self.at), "I1: spans before at");
        }
        assert!(self.bulk_len.is_none() || self.args_left > 0, "I2: a length without a command");
    }
}
