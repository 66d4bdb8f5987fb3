//! Bytes that have arrived and wait to be executed.
//!
//! Most reads bring whole commands into the event loop's shared buffer and leave nothing behind. Only what is left
//! (part of a command, or everything after a command that blocks) is kept here, in a buffer that grows with what
//! arrives and never with what is announced. O(n) over all bytes: a consumed front is cut off when it is half of the
//! buffer.

use larder_resp::Parser;

/// An argument with more missing bytes than this is read straight into its place.
pub const BIG_ARGUMENT_BYTES: usize = 32 * 1024;

/// The most that one read adds straight to the buffer.
const DIRECT_READ_BYTES_MAX: usize = 1 << 20;

/// What waits; one pointer when nothing does.
#[derive(Default)]
pub struct Input {
    pending: Option<Box<Pending>>,
}

/// The bytes and how far they have been understood.
pub struct Pending {
    buf: Vec<u8>,
    /// Bytes at the front that have been executed.
    start: usize,
    /// In the middle of the command at `start`, or between commands.
    pub parser: Parser,
}

impl Input {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.pending.is_none()
    }

    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.bytes().len())
    }

    /// Bytes held.
    pub fn capacity(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.buf.capacity() + pending.parser.heap_bytes())
    }

    /// What waits, to be executed; [`Input::put_back`] what remains.
    pub fn take(&mut self) -> Option<Box<Pending>> {
        self.pending.take()
    }

    /// Keeps what has not been executed.
    pub fn put_back(&mut self, pending: Box<Pending>) {
        debug_assert!(self.pending.is_none());
        if !pending.bytes().is_empty() {
            self.pending = Some(pending);
        }
    }

    /// Keeps `bytes` with the parser that is in the middle of them.
    pub fn keep(&mut self, bytes: &[u8], parser: Parser) {
        debug_assert!(self.pending.is_none());
        self.pending = Some(Box::new(Pending { buf: bytes.to_vec(), start: 0, parser }));
    }

    /// Adds bytes that have just arrived.
    pub fn append(&mut self, bytes: &[u8]) {
        match &mut self.pending {
            Some(pending) => pending.buf.extend_from_slice(bytes),
            None => self.keep(bytes, Parser::new()),
        }
    }

    /// The buffer of a big argument with room for the next read and how much that is; `None` when reads should go
    /// through the shared buffer. The room is what is missing, but not more than has arrived already.
    pub fn direct(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        let pending = self.pending.as_mut()?;
        let missing = pending.parser.missing(pending.bytes().len());
        if missing <= BIG_ARGUMENT_BYTES {
            return None;
        }
        if pending.start > 0 {
            pending.cut();
        }
        let buf = &mut pending.buf;
        if buf.capacity() == buf.len() {
            buf.reserve_exact(missing.min(buf.len().max(2 * BIG_ARGUMENT_BYTES)));
        }
        let room = (buf.capacity() - buf.len()).min(missing).min(DIRECT_READ_BYTES_MAX);
        Some((buf, room))
    }
}

impl Pending {
    /// What has not been executed.
    pub fn bytes(&self) -> &[u8] {
        &self.buf[self.start..]
    }

    /// The same, with the parser that goes with it.
    pub fn parts(&mut self) -> (&[u8], &mut Parser) {
        (&self.buf[self.start..], &mut self.parser)
    }

    /// The first `count` bytes have been executed.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.buf.len());
        if self.start > self.buf.len() / 2 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.buf.drain(..self.start);
        self.start = 0;
        if self.buf.capacity() > 4 * self.buf.len().max(4096) {
            self.buf.shrink_to(self.buf.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_resp::{Limits, Parsed};

    const LIMITS: Limits = Limits { bulk_bytes_max: 1 << 40, authenticated: true };

    fn parse(input: &mut Input) -> bool {
        let Some(mut pending) = input.take() else { return false };
        let (bytes, parser) = pending.parts();
        let consumed = match parser.next(bytes, &LIMITS) {
            Ok(Parsed::Command { consumed, .. }) => consumed,
            _ => 0,
        };
        pending.consume(consumed);
        input.put_back(pending);
        consumed > 0
    }

    #[test]
    fn a_big_argument_gets_room_as_it_arrives() {
        let mut input = Input::default();
        input.append(b"*1\r\n$10000000000\r\nabc");
        assert!(!parse(&mut input));
        let (buf, room) = input.direct().unwrap();
        assert!((BIG_ARGUMENT_BYTES..=4 * BIG_ARGUMENT_BYTES).contains(&room));
        buf.extend(std::iter::repeat_n(b'x', room));
        let len = input.len();
        let (_, room) = input.direct().unwrap();
        assert!(room <= len, "the room doubles at most");
    }

    #[test]
    fn small_ones_go_through_the_shared_buffer() {
        let mut input = Input::default();
        input.append(b"*1\r\n$4\r\nPI");
        assert!(!parse(&mut input));
        assert!(input.direct().is_none());
        input.append(b"NG\r\n*1\r\n$4\r\nPING\r\n");
        assert!(parse(&mut input) && parse(&mut input));
        assert!(input.is_empty());
        assert_eq!(input.capacity(), 0);
    }
}
