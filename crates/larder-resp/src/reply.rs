//! Writes replies into an output buffer, in RESP2 or RESP3.
//!
//! A caller speaks RESP3's richer vocabulary (maps, sets, doubles, booleans, nulls); under RESP2 each falls back to
//! what Redis sends there: a flat array, a bulk string, an integer, `$-1`.

/// The protocol version that a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The protocol of Redis 2 and later; what every connection starts with.
    #[default]
    Resp2,
    /// The protocol that HELLO 3 turns on.
    Resp3,
}

/// The numbers from 00 to 99 in decimal.
const DIGITS: [[u8; 2]; 100] = {
    let mut digits = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        digits[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    digits
};

/// Appends replies to a buffer. Aggregates are opened with their length and followed by that many replies.
pub struct Reply<'a> {
    out: &'a mut Vec<u8>,
    protocol: Protocol,
}

impl<'a> Reply<'a> {
    /// A writer that appends to `out`.
    pub fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> Self {
        Reply { out, protocol }
    }

    /// The protocol spoken.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether RESP3 is spoken.
    pub fn is_resp3(&self) -> bool {
        self.protocol == Protocol::Resp3
    }

    /// Speaks `protocol` from the next reply on.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// Bytes written into the buffer so far; a mark for [`Reply::truncate`].
    pub fn mark(&self) -> usize {
        self.out.len()
    }

    /// Takes back everything written after `mark`.
    pub fn truncate(&mut self, mark: usize) {
        self.out.truncate(mark);
    }

    /// What has been written after `mark`.
    pub fn written_since(&self, mark: usize) -> &[u8] {
        &self.out[mark..]
    }

    /// Bytes that are RESP already.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// `+OK`
    pub fn ok(&mut self) {
        self.raw(b"+OK\r\n");
    }

    /// A simple string; `text` must hold no CR or LF.
    pub fn simple(&mut self, text: &str) {
        debug_assert!(!text.contains(['\r', '\n']));
        self.line(b'+', text.as_bytes());
    }

    /// An error line; `text` carries its code (`ERR ...`). CR and LF become spaces, so that the frame stays whole.
    pub fn error(&mut self, text: &[u8]) {
        self.clean_line(b'-', text);
    }

    /// A simple string that comes from outside: CR and LF become spaces.
    pub fn status(&mut self, text: &[u8]) {
        self.clean_line(b'+', text);
    }

    fn clean_line(&mut self, kind: u8, text: &[u8]) {
        self.out.push(kind);
        self.out.extend(text.iter().map(|&b| if b == b'\r' || b == b'\n' { b' ' } else { b }));
        self.raw(b"\r\n");
    }

    /// An integer.
    pub fn int(&mut self, n: i64) {
        self.header(b':', n);
    }

    /// A count as an integer.
    pub fn count(&mut self, n: usize) {
        self.int(n as i64);
    }

    /// A bulk string.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.out.reserve(bytes.len() + 24);
        self.header(b'$', bytes.len() as i64);
        self.raw(bytes);
        self.raw(b"\r\n");
    }

    /// An integer as a bulk string.
    pub fn bulk_int(&mut self, n: i64) {
        self.bulk(itoa::Buffer::new().format(n).as_bytes());
    }

    /// A bulk string, or null for `None`.
    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(b) => self.bulk(b),
            None => self.null(),
        }
    }

    /// Null: `_` in RESP3, the null bulk string in RESP2.
    pub fn null(&mut self) {
        self.raw(if self.is_resp3() { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// Null where RESP2 sends the null array.
    pub fn null_array(&mut self) {
        self.raw(if self.is_resp3() { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// Opens an array of `len` replies.
    pub fn array(&mut self, len: usize) {
        self.header(b'*', len as i64);
    }

    /// Opens a map of `len` pairs.
    pub fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', 2 * len as i64),
            Protocol::Resp3 => self.header(b'%', len as i64),
        }
    }

    /// Opens a set of `len` replies.
    pub fn set(&mut self, len: usize) {
        self.header(if self.is_resp3() { b'~' } else { b'*' }, len as i64);
    }

    /// Opens an out-of-band push of `len` replies.
    pub fn push(&mut self, len: usize) {
        self.header(if self.is_resp3() { b'>' } else { b'*' }, len as i64);
    }

    /// A boolean; 1 or 0 in RESP2.
    pub fn bool(&mut self, value: bool) {
        match (self.protocol, value) {
            (Protocol::Resp2, _) => self.int(i64::from(value)),
            (Protocol::Resp3, true) => self.raw(b"#t\r\n"),
            (Protocol::Resp3, false) => self.raw(b"#f\r\n"),
        }
    }

    /// A floating-point number by its text: `,` in RESP3, a bulk string in RESP2.
    #[inline]
    pub fn double(&mut self, text: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => self.line(b',', text),
        }
    }

    /// A big number from its decimal digits; a bulk string in RESP2.
    pub fn big_number(&mut self, digits: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits.as_bytes()),
            Protocol::Resp3 => self.line(b'(', digits.as_bytes()),
        }
    }

    /// A verbatim string with its three-letter format (`txt`, `mkd`); a bulk string in RESP2.
    pub fn verbatim(&mut self, format: &str, text: &[u8]) {
        debug_assert_eq!(format.len(), 3);
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => {
                self.header(b'=', text.len() as i64 + 4);
                self.raw(format.as_bytes());
                self.raw(b":");
                self.raw(text);
                self.raw(b"\r\n");
            }
        }
    }

    /// Several simple strings as an array: the form of every HELP reply. The first word of the first line is the name that the command was
    /// called by, in capitals.
    pub fn help(&mut self, name: &[u8], lines: &[&str]) {
        self.array(lines.len());
        let name = String::from_utf8_lossy(name).to_ascii_uppercase().replace(['\r', '\n'], " ");
        for (at, line) in lines.iter().enumerate() {
            match line.split_once(' ').filter(|_| at == 0) {
                Some((_, rest)) => self.simple(&format!("{name} {rest}")),
                None => self.simple(line),
            }
        }
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.push(kind);
        self.raw(text);
        self.raw(b"\r\n");
    }

    #[inline]
    fn header(&mut self, kind: u8, n: i64) {
        if (0..10).contains(&n) {
            self.raw(&[kind, b'0' + n as u8, b'\r', b'\n']);
        } else if (10..100).contains(&n) {
            let [tens, ones] = DIGITS[n as usize];
            self.raw(&[kind, tens, ones, b'\r', b'\n']);
        } else {
            self.long_header(kind, n);
        }
    }

    /// Written backwards into one piece, for one copy into the buffer.
    fn long_header(&mut self, kind: u8, n: i64) {
        let mut line = *b"......................\r\n";
        let (mut at, mut rest) = (line.len() - 2, n.unsigned_abs());
        while rest >= 100 {
            at -= 2;
            line[at..at + 2].copy_from_slice(&DIGITS[(rest % 100) as usize]);
            rest /= 100;
        }
        let [tens, ones] = DIGITS[rest as usize];
        at -= 1;
        line[at] = ones;
        if rest >= 10 {
            at -= 1;
            line[at] = tens;
        }
        if n < 0 {
            at -= 1;
            line[at] = b'-';
        }
        at -= 1;
        line[at] = kind;
        self.raw(&line[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol, f: impl FnOnce(&mut Reply)) -> String {
        let mut out = Vec::new();
        f(&mut Reply::new(&mut out, protocol));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_kind_in_both_protocols() {
        type Case = (fn(&mut Reply), &'static str, &'static str);
        let cases: [Case; 17] = [
            (|r| r.double(b"1.5"), "$3\r\n1.5\r\n", ",1.5\r\n"),
            (|r| r.ok(), "+OK\r\n", "+OK\r\n"),
            (|r| r.error(b"ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n"),
            (|r| r.int(100), ":100\r\n", ":100\r\n"),
            (|r| r.int(-7), ":-7\r\n", ":-7\r\n"),
            (|r| r.int(-12), ":-12\r\n", ":-12\r\n"),
            (|r| r.int(i64::MIN), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"),
            (|r| r.int(i64::MAX), ":9223372036854775807\r\n", ":9223372036854775807\r\n"),
            (|r| r.bulk(b"abc"), "$3\r\nabc\r\n", "$3\r\nabc\r\n"),
            (|r| r.bulk_int(i64::MIN), "$20\r\n-9223372036854775808\r\n", "$20\r\n-9223372036854775808\r\n"),
            (|r| r.null(), "$-1\r\n", "_\r\n"),
            (|r| r.null_array(), "*-1\r\n", "_\r\n"),
            (|r| r.map(12), "*24\r\n", "%12\r\n"),
            (|r| r.set(1), "*1\r\n", "~1\r\n"),
            (|r| r.bool(true), ":1\r\n", "#t\r\n"),
            (|r| r.big_number("123"), "$3\r\n123\r\n", "(123\r\n"),
            (|r| r.verbatim("txt", b"hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"),
        ];
        for (f, two, three) in cases {
            assert_eq!(written(Protocol::Resp2, f), two);
            assert_eq!(written(Protocol::Resp3, f), three);
        }
    }
}
