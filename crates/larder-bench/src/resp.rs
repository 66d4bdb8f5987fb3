//! The protocol as a loader needs it: requests are built, replies are counted but not kept.

use memchr::memchr;

/// Digits of the length of a bulk string, which is below 10^10.
const BULK_DIGITS_MAX: usize = 10;

/// Appends a command.
pub fn command(out: &mut Vec<u8>, args: &[&[u8]]) {
    header(out, b'*', args.len());
    args.iter().for_each(|arg| bulk(out, arg));
}

/// Appends the line that announces an array of this many items.
pub fn array(out: &mut Vec<u8>, len: usize) {
    header(out, b'*', len);
}

/// Appends a bulk string.
pub fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    header(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn header(out: &mut Vec<u8>, sign: u8, number: usize) {
    out.push(sign);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Counts replies in a stream of bytes cut anywhere.
///
/// A reply owed is an item owed; an array pays one item and owes its own. So nesting needs no stack.
#[derive(Default)]
pub struct Replies {
    owed: u64,
    /// Bytes of a bulk string, with its CRLF, still to come.
    skip: usize,
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    nulls: u64,
    error: Option<String>,
}

impl Replies {
    /// Expects this many replies more.
    pub fn expect(&mut self, replies: u64) {
        self.owed += replies;
    }

    /// Replies, or items of them, that have not arrived.
    pub fn owed(&self) -> u64 {
        self.owed
    }

    /// Null replies so far.
    pub fn nulls(&self) -> u64 {
        self.nulls
    }

    /// The first error reply, taken.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }

    /// Takes bytes that arrived.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let step = self.skip.min(bytes.len());
                self.skip -= step;
                self.owed = self.owed.saturating_sub(u64::from(self.skip == 0));
                bytes = &bytes[step..];
                continue;
            }
            if self.line.is_empty()
                && let Some((length, header)) = bulk_header(bytes)
            {
                // Not owed less before its bytes are here.
                self.skip = length + 2;
                bytes = &bytes[header..];
                continue;
            }
            let Some(end) = memchr(b'\n', bytes) else { return self.line.extend_from_slice(bytes) };
            if self.line.is_empty() {
                self.end_of_line(&bytes[..end]);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.end_of_line(&line);
            }
            bytes = &bytes[end + 1..];
        }
    }

    fn end_of_line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let number = || line.get(1..).and_then(|digits| str::from_utf8(digits).ok()?.parse::<i64>().ok());
        match line.first() {
            Some(b'$') if number().is_some_and(|len| len >= 0) => {
                return self.skip = number().map_or(0, |len| len as usize + 2);
            }
            Some(b'*') => self.owed += number().map_or(0, |len| len.max(0) as u64),
            Some(b'-') if self.error.is_none() => {
                self.error = Some(String::from_utf8_lossy(&line[1..]).into_owned());
            }
            _ => {}
        }
        self.nulls += u64::from(line == b"$-1" || line == b"*-1" || line == b"_");
        self.owed = self.owed.saturating_sub(1);
    }
}

/// The length of the bulk string that bytes begin with, and the bytes of its header, if that is complete: replies of a million strings are
/// counted without looking for the end of each line.
fn bulk_header(bytes: &[u8]) -> Option<(usize, usize)> {
    let digits = bytes.strip_prefix(b"$")?;
    let mut length = 0;
    for (at, &byte) in digits.iter().enumerate().take(BULK_DIGITS_MAX + 1) {
        match byte {
            b'0'..=b'9' if at < BULK_DIGITS_MAX => length = length * 10 + usize::from(byte - b'0'),
            b'\r' if at > 0 && digits.get(at + 1) == Some(&b'\n') => return Some((length, at + 3)),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] =
        b"+OK\r\n:12\r\n$5\r\na\r\nbc\r\n$-1\r\n*2\r\n*1\r\n$0\r\n\r\n:1\r\n-ERR no\r\n*0\r\n*-1\r\n";

    #[test]
    fn commands_are_framed() {
        let mut out = Vec::new();
        command(&mut out, &[b"SET", b"k", b"0123456789"]);
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\n0123456789\r\n");
    }

    #[test]
    fn headers_of_bulk_strings_are_read_when_they_are_complete() {
        assert_eq!(bulk_header(b"$0\r\n\r\n"), Some((0, 4)));
        assert_eq!(bulk_header(b"$9999999999\r\n"), Some((9_999_999_999, 13)));
        for other in
            [&b""[..], b"$", b"$1", b"$1\r", b"$\r\n", b"$-1\r\n", b"$1x\r\n", b"+1\r\n", b"$10000000000\r\n"]
        {
            assert_eq!(bulk_header(other), None, "{other:?}");
        }
    }

    #[test]
    fn replies_are_counted_however_they_are_cut() {
        for size in 1..=STREAM.len() {
            let mut replies = Replies::default();
            replies.expect(8);
            let (mut seen, mut done) = (0, 0);
            for piece in STREAM.chunks(size) {
                assert!(replies.owed() > 0, "pieces of {size}: done after {seen}");
                replies.feed(piece);
                seen += piece.len();
                done += 1;
            }
            assert_eq!((replies.owed(), replies.nulls()), (0, 2), "pieces of {size}, {done}");
            assert_eq!(replies.take_error().as_deref(), Some("ERR no"));
        }
    }
}
