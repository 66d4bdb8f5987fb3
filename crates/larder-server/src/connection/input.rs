//! Bytes that have arrived and wait to be executed.
//!
//! Most reads bring whole commands into the event loop's shared buffer and leave nothing behind. Only what is left
//! (part of a command, or everything after a command that blocks) is kept here, in a buffer that grows with what
//! arrives: to twice that, and from a MB on to eight times that, so most of a large argument is read into its last place, while one that is
//! only announced holds little. O(n) over all bytes: a consumed front is cut off when it is half of the
//! buffer. A large buffer moves to its next place piece by piece while it fills: no read has to wait until the whole has been copied.

use larder_resp::{OwnedArgs, Parser, Span};

/// An argument with more missing bytes than this is read straight into its place.
pub const BIG_ARGUMENT_BYTES: usize = 32 * 1024;

/// The most that one read adds straight to the buffer.
const DIRECT_READ_BYTES_MAX: usize = 1 << 20;

/// A buffer of at least this size grows to [`LARGE_STEP`] times its size at once, else to twice.
const LARGE_BYTES: usize = 1 << 20;
const LARGE_STEP: usize = 8;

/// Buffers of at least this size move piece by piece.
const MOVES_SLOWLY_BYTES: usize = 4 << 20;

/// What waits; one pointer when nothing does.
#[derive(Default)]
pub struct Input {
    pending: Option<Box<Pending>>,
}

/// The bytes and how far they have been understood.
pub struct Pending {
    buf: Vec<u8>,
    /// The beginning of `buf` in the place where it moves to; without capacity when it does not move.
    next: Vec<u8>,
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

    /// Bytes that wait and are not part of an argument that has arrived whole.
    pub fn unparsed_len(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.bytes().len() - pending.parser.understood())
    }

    /// Bytes held.
    pub fn capacity(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.heap_bytes())
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
        self.pending = Some(Box::new(Pending { buf: bytes.to_vec(), next: Vec::new(), start: 0, parser }));
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
        pending.grow(missing);
        let buf = &mut pending.buf;
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

    /// The first `count` bytes are a command with arguments at `spans` of them, which is executed elsewhere: it takes the buffer along. What
    /// comes after it is copied.
    pub fn give_front(&mut self, count: usize, mut spans: Vec<Span>) -> OwnedArgs {
        let rest = self.buf[self.start + count..].to_vec();
        let buf = std::mem::replace(&mut self.buf, rest);
        spans
            .iter_mut()
            .for_each(|span| *span = Span { start: span.start + self.start, end: span.end + self.start });
        self.next = Vec::new();
        self.start = 0;
        OwnedArgs::of_buffer(buf, spans)
    }

    fn heap_bytes(&self) -> usize {
        self.buf.capacity() + self.next.capacity() + self.parser.heap_bytes()
    }

    /// Makes room at the end of the buffer, of which nothing has been consumed, for some of the `missing` bytes.
    fn grow(&mut self, missing: usize) {
        if self.buf.capacity() >= MOVES_SLOWLY_BYTES {
            self.move_on(missing);
        }
        let len = self.buf.len();
        if len == self.buf.capacity() {
            self.buf.reserve_exact(missing.min(step(len)));
        }
    }

    /// While the last quarter of the buffer fills, four bytes move for one that comes; when it is full, the few that are left.
    fn move_on(&mut self, missing: usize) {
        let (len, capacity) = (self.buf.len(), self.buf.capacity());
        let room = capacity - len;
        if missing <= room || room > capacity / 4 {
            return;
        }
        if self.next.capacity() == 0 {
            self.next.reserve_exact((len + missing).min(capacity + step(capacity)));
        }
        let moved = self.next.len();
        let end = if room == 0 { len } else { len.min(moved + 4 * DIRECT_READ_BYTES_MAX) };
        self.next.extend_from_slice(&self.buf[moved..end]);
        if room == 0 {
            self.buf = std::mem::take(&mut self.next);
        }
    }

    fn cut(&mut self) {
        self.next = Vec::new();
        self.buf.drain(..self.start);
        self.start = 0;
        if self.buf.capacity() > 4 * self.buf.len().max(4096) {
            self.buf.shrink_to(self.buf.len());
        }
    }
}

/// How many bytes are made room for when this many have come.
fn step(len: usize) -> usize {
    match len {
        ..LARGE_BYTES => len.max(2 * BIG_ARGUMENT_BYTES),
        _ => (LARGE_STEP - 1) * len,
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

    /// Whole, whatever the sizes of reads are, and no step copies more than a few times what one read brings.
    #[test]
    fn a_large_argument_moves_piece_by_piece() {
        const LEN: usize = 70 << 20;
        let pattern: Vec<u8> = (0..1_000_003).map(|at: usize| ((at * at) >> 7) as u8).collect();
        for read_max in [100_000, 1 << 20] {
            let mut input = Input::default();
            input.append(format!("*2\r\n$4\r\nECHO\r\n${LEN}\r\n").as_bytes());
            assert!(!parse(&mut input));
            let (mut at, mut moved) = (0, 0);
            // The last bytes come by the shared buffer.
            while at < LEN {
                let Some((buf, room)) = input.direct() else { break };
                let next = &pattern[at % pattern.len()..];
                let room = room.min(read_max).min(LEN - at).min(next.len());
                assert!(room > 0);
                buf.extend_from_slice(&next[..room]);
                at += room;
                assert!(!parse(&mut input));
                let pending = input.pending.as_ref().unwrap();
                let most = (1 + LARGE_STEP + LARGE_STEP / 2) * at.max(BIG_ARGUMENT_BYTES);
                assert!(input.capacity() <= most, "{} for {at}", input.capacity());
                let now = pending.next.len();
                assert!(now <= moved + 5 * DIRECT_READ_BYTES_MAX);
                assert!(now > 0 || moved == 0 || moved + 6 * DIRECT_READ_BYTES_MAX > at, "{moved} of {at}");
                moved = now;
            }
            assert!(at > LEN - BIG_ARGUMENT_BYTES);
            input.append(&pattern[at % pattern.len()..][..LEN - at]);
            input.append(b"\r\nREST");
            let mut pending = input.take().unwrap();
            let (bytes, parser) = pending.parts();
            let Ok(Parsed::Command { args, consumed }) = parser.next(bytes, &LIMITS) else {
                panic!("it is whole")
            };
            let spans = args.spans_in(bytes).unwrap();
            let owned = pending.give_front(consumed, spans);
            assert_eq!(pending.bytes(), b"REST");
            let args = owned.as_args();
            assert_eq!((args.len(), &args[0], args[1].len()), (2, &b"ECHO"[..], LEN));
            assert!(args[1].chunks(pattern.len()).all(|piece| *piece == pattern[..piece.len()]));
        }
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
