//! Replies as the bytes that the engine has written, read from the front without the detour of a tree.
//!
//! Nearly every string is shorter than 100 bytes: its line is recognized by its first five bytes at once (`$7\r\n.`, `$12\r\n`). Other lines are
//! searched for their end and read as numbers. A string costs about 10 instructions, whatever its length.

use super::Reply;
use crate::error::{Error, Result};

/// How deep aggregates lie in each other at most.
const DEPTH_MAX: u32 = 128;

/// Bytes of a reply, read from the front.
///
/// What is not a whole reply of RESP3 is [`Error::Form`]; no length is believed before its bytes are there.
#[derive(Clone, Debug)]
pub struct Raw<'r> {
    bytes: &'r [u8],
    at: usize,
}

/// One value of a reply, or the beginning of one that has others in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'r> {
    /// An array, or a push message; this many values follow.
    Array(usize),
    /// The digits of a number of any size.
    BigNumber(&'r [u8]),
    /// Yes or no.
    Bool(bool),
    /// A string, verbatim text among them.
    Bytes(&'r [u8]),
    /// A number with a fraction.
    Double(f64),
    /// The text of an error.
    Error(&'r [u8]),
    /// A number.
    Int(i64),
    /// A map; twice this many values follow: a name, what it has, a name..
    Map(usize),
    /// Nothing.
    Null,
    /// Members in no order; this many values follow.
    Set(usize),
    /// A word such as `OK`.
    Status(&'r [u8]),
}

impl<'r> Raw<'r> {
    /// Of a whole reply.
    ///
    /// # Errors
    /// The reply is an error.
    pub fn new(bytes: &'r [u8]) -> Result<Raw<'r>> {
        match bytes.first() {
            Some(b'-') => Err(error_of(bytes)),
            _ => Ok(Raw::of(bytes)),
        }
    }

    /// Of bytes that may be an error, or no reply at all.
    pub(crate) fn of(bytes: &'r [u8]) -> Raw<'r> {
        Raw { bytes, at: 0 }
    }

    /// What has not been read yet.
    fn rest(&self) -> &'r [u8] {
        &self.bytes[self.at..]
    }

    /// The next value.
    ///
    /// # Errors
    /// The bytes are not a valid reply.
    pub fn token(&mut self) -> Result<Token<'r>> {
        if let Some(bytes) = self.short_string() {
            return Ok(Token::Bytes(bytes));
        }
        let (mark, line) = self.line()?;
        Ok(match mark {
            b'$' | b'*' if line == b"-1" => Token::Null,
            b'$' => Token::Bytes(self.take(length(line)?)?),
            b'+' => Token::Status(line),
            b'-' => Token::Error(line),
            b':' => Token::Int(number(line)?),
            b'_' => Token::Null,
            b'#' => Token::Bool(line == b"t"),
            b',' => Token::Double(double(line)?),
            b'(' => Token::BigNumber(line),
            // Three letters and a colon name the form of the text.
            b'=' => Token::Bytes(self.take(length(line)?)?.get(4..).ok_or(Error::Form)?),
            b'!' => Token::Error(self.take(length(line)?)?),
            b'*' | b'>' => Token::Array(self.items(line, 1)?),
            b'~' => Token::Set(self.items(line, 1)?),
            b'%' => Token::Map(self.items(line, 2)?),
            _ => return Err(Error::Form),
        })
    }

    /// The next value as a tree.
    ///
    /// # Errors
    /// The bytes are not a valid reply, or values are nested more than 128 deep.
    pub fn tree(&mut self) -> Result<Reply> {
        self.tree_of_depth(DEPTH_MAX)
    }

    /// Skips the next value, and returns where the one after it begins.
    ///
    /// # Errors
    /// The bytes are not a valid reply.
    pub(crate) fn skip(&mut self) -> Result<usize> {
        let mut left = 1_usize;
        while left > 0 {
            left -= 1;
            left += match self.token()? {
                Token::Array(len) | Token::Set(len) => len,
                Token::Map(len) => 2 * len,
                _ => 0,
            };
        }
        Ok(self.at)
    }

    fn tree_of_depth(&mut self, depth: u32) -> Result<Reply> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let depth = depth.checked_sub(1).ok_or(Error::Form)?;
        Ok(match self.token()? {
            Token::Array(len) => Reply::Array(self.trees(len, depth)?),
            Token::BigNumber(digits) => Reply::BigNumber(text(digits)),
            Token::Bool(yes) => Reply::Bool(yes),
            Token::Bytes(bytes) => Reply::Bytes(bytes.to_vec()),
            Token::Double(number) => Reply::Double(number),
            Token::Error(error) => Reply::Error(text(error)),
            Token::Int(number) => Reply::Int(number),
            Token::Map(len) => {
                let pair = |_| Ok((self.tree_of_depth(depth)?, self.tree_of_depth(depth)?));
                Reply::Map((0..len).map(pair).collect::<Result<_>>()?)
            }
            Token::Null => Reply::Null,
            Token::Set(len) => Reply::Set(self.trees(len, depth)?),
            Token::Status(word) => Reply::Status(text(word)),
        })
    }

    fn trees(&mut self, len: usize, depth: u32) -> Result<Vec<Reply>> {
        (0..len).map(|_| self.tree_of_depth(depth)).collect()
    }

    /// A string of less than 100 bytes, if that is what comes.
    #[inline]
    fn short_string(&mut self) -> Option<&'r [u8]> {
        let rest = self.rest();
        let digit = |byte: u8| byte.wrapping_sub(b'0');
        let (begin, len) = match *rest.first_chunk::<5>()? {
            [b'$', ones, b'\r', b'\n', _] if digit(ones) < 10 => (4, digit(ones)),
            [b'$', tens, ones, b'\r', b'\n'] if digit(tens) < 10 && digit(ones) < 10 => {
                (5, 10 * digit(tens) + digit(ones))
            }
            _ => return None,
        };
        let end = begin + usize::from(len);
        let string = rest.get(begin..end)?;
        if rest.get(end..end + 2)? != b"\r\n" {
            return None;
        }
        self.at += end + 2;
        Some(string)
    }

    /// The next line without its mark and its end, and the mark.
    fn line(&mut self) -> Result<(u8, &'r [u8])> {
        let rest = self.rest();
        let end = rest.iter().position(|&byte| byte == b'\r').ok_or(Error::Form)?;
        let (&mark, line) = rest[..end].split_first().ok_or(Error::Form)?;
        if rest.get(end + 1) != Some(&b'\n') {
            return Err(Error::Form);
        }
        self.at += end + 2;
        Ok((mark, line))
    }

    /// This many bytes and the end of their line.
    fn take(&mut self, len: usize) -> Result<&'r [u8]> {
        let string = self.rest().get(..len).ok_or(Error::Form)?;
        if !self.rest()[len..].starts_with(b"\r\n") {
            return Err(Error::Form);
        }
        self.at += len + 2;
        Ok(string)
    }

    /// The number of items, each of which has this many values. The smallest value has three bytes: more than there can be are no reply.
    fn items(&self, line: &[u8], values: usize) -> Result<usize> {
        let len = length(line)?;
        let is_possible = len.checked_mul(3 * values).is_some_and(|bytes| bytes <= self.rest().len());
        if is_possible { Ok(len) } else { Err(Error::Form) }
    }

    /// The next string, or nothing. A word and a number with a fraction are taken by their text.
    #[inline]
    pub fn bytes(&mut self) -> Result<Option<&'r [u8]>> {
        match self.short_string() {
            Some(string) => Ok(Some(string)),
            None => self.other_bytes(),
        }
    }

    fn other_bytes(&mut self) -> Result<Option<&'r [u8]>> {
        match self.line()? {
            (b'_', _) | (b'$', b"-1") => Ok(None),
            (b'$', line) => Ok(Some(self.take(length(line)?)?)),
            (b'+' | b',', line) => Ok(Some(line)),
            _ => Err(Error::Form),
        }
    }

    /// A string that is there.
    #[inline]
    pub fn text(&mut self) -> Result<&'r [u8]> {
        self.bytes()?.ok_or(Error::Form)
    }

    /// A string of its own, or nothing.
    pub fn bulk(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.bytes()?.map(<[u8]>::to_vec))
    }

    /// A string of its own.
    pub fn string(&mut self) -> Result<Vec<u8>> {
        Ok(self.text()?.to_vec())
    }

    /// A number.
    pub fn int(&mut self) -> Result<i64> {
        match self.line()? {
            (b':', line) => number(line),
            _ => Err(Error::Form),
        }
    }

    /// How many there are of something.
    pub fn count(&mut self) -> Result<u64> {
        self.int()?.try_into().map_err(|_| Error::Form)
    }

    /// A number that is 0 or another one.
    pub fn yes(&mut self) -> Result<bool> {
        Ok(self.int()? != 0)
    }

    /// A number with a fraction, or nothing.
    pub fn double(&mut self) -> Result<Option<f64>> {
        self.bytes()?.map(double).transpose()
    }

    /// Whether a command has been executed that answers `OK`, or nothing if not.
    pub fn ok(&mut self) -> Result<bool> {
        match self.line()? {
            (b'+', _) => Ok(true),
            (b'_', _) | (b'$', b"-1") => Ok(false),
            _ => Err(Error::Form),
        }
    }

    /// The number of values in the next array, set or map (of which each pair is two); none of nothing.
    #[expect(clippy::len_without_is_empty, reason = "it reads the length, and is none of the reader")]
    pub fn len(&mut self) -> Result<usize> {
        match self.token()? {
            Token::Null => Ok(0),
            Token::Array(len) | Token::Set(len) => Ok(len),
            Token::Map(len) => Ok(2 * len),
            _ => Err(Error::Form),
        }
    }

    /// Strings, each of which may be nothing.
    pub fn bulks(&mut self) -> Result<Vec<Option<Vec<u8>>>> {
        (0..self.len()?).map(|_| self.bulk()).collect()
    }

    /// Strings.
    pub fn strings(&mut self) -> Result<Vec<Vec<u8>>> {
        (0..self.len()?).map(|_| self.string()).collect()
    }
}

/// The error that a reply is.
pub fn error_of(bytes: &[u8]) -> Error {
    let text = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let text = text.strip_suffix(b"\r\n").unwrap_or(text);
    Error::Command(String::from_utf8_lossy(text).into_owned())
}

fn number(line: &[u8]) -> Result<i64> {
    std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()).ok_or(Error::Form)
}

fn length(line: &[u8]) -> Result<usize> {
    number(line)?.try_into().map_err(|_| Error::Form)
}

fn double(line: &[u8]) -> Result<f64> {
    std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()).ok_or(Error::Form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::read;

    #[test]
    fn forms() {
        let raw = |bytes: &'static [u8]| Raw::new(bytes).unwrap();
        assert_eq!(raw(b"$2\r\nab\r\n").bulk().unwrap().as_deref(), Some(&b"ab"[..]));
        assert_eq!(raw(b"_\r\n").bulk().unwrap(), None);
        assert_eq!(raw(b":-3\r\n").int().unwrap(), -3);
        assert_eq!(raw(b",2.5\r\n").double().unwrap(), Some(2.5));
        assert_eq!(raw(b"*2\r\n$1\r\na\r\n_\r\n").bulks().unwrap(), [Some(b"a".to_vec()), None]);
        assert!(raw(b"+OK\r\n").ok().unwrap());
        assert!(!raw(b"_\r\n").ok().unwrap());
    }

    #[test]
    fn other_forms_are_errors() {
        assert!(matches!(Raw::new(b"-WRONGTYPE x\r\n"), Err(Error::Command(text)) if text == "WRONGTYPE x"));
        assert!(matches!(Raw::new(b":1\r\n").unwrap().bulk(), Err(Error::Form)));
        assert!(matches!(Raw::new(b"$1\r\na\r\n").unwrap().int(), Err(Error::Form)));
        assert!(matches!(Raw::new(b"$9\r\na\r\n").unwrap().bulk(), Err(Error::Form)));
        assert!(matches!(Raw::new(b"").unwrap().int(), Err(Error::Form)));
    }

    #[test]
    fn strings_of_every_length() {
        for len in (0..=120).chain([999, 1000, 70_000]) {
            let string = vec![b'\r'; len];
            let reply = [format!("${len}\r\n").as_bytes(), &string, b"\r\n:1\r\n"].concat();
            let mut raw = Raw::new(&reply).unwrap();
            assert_eq!(raw.token().unwrap(), Token::Bytes(&string), "{len}");
            assert_eq!(raw.int().unwrap(), 1, "{len}");
            for cut in 0..reply.len() - 4 {
                assert!(Raw::of(&reply[..cut]).text().is_err(), "{len} bytes, cut at {cut}");
                if len > 200 && cut > 20 {
                    break;
                }
            }
        }
    }

    /// Replies in which every form occurs, and what damage makes of them.
    fn examples() -> Vec<Vec<u8>> {
        let whole: &[&[u8]] = &[
            b"+OK\r\n",
            b"-ERR no\r\n",
            b"!3\r\nE x\r\n",
            b":-5\r\n",
            b"$-1\r\n",
            b"*-1\r\n",
            b"_\r\n",
            b"#t\r\n",
            b",1.5\r\n",
            b",-inf\r\n",
            b"(12345678901234567890\r\n",
            b"=6\r\ntxt:ab\r\n",
            b"*3\r\n:1\r\n*0\r\n$11\r\nhello world\r\n",
            b"~1\r\n$1\r\na\r\n",
            b"%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n~1\r\n,2\r\n",
            b">1\r\n+x\r\n",
        ];
        whole.iter().map(|bytes| bytes.to_vec()).collect()
    }

    /// The reader of connections is the model: both agree on what is whole, and on what that is.
    #[test]
    fn trees_are_those_that_a_connection_gives() {
        for reply in examples() {
            let tree = Raw::of(&reply).tree().unwrap();
            assert_eq!(tree, read(&mut &reply[..]).unwrap(), "{}", reply.escape_ascii());
            for cut in 0..reply.len() {
                assert!(Raw::of(&reply[..cut]).tree().is_err(), "{}", reply[..cut].escape_ascii());
            }
        }
    }

    #[test]
    fn damage_gives_errors_and_no_panic() {
        let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
        println!("SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        for round in 0..20_000 {
            let mut reply = examples().swap_remove(round % examples().len());
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..reply.len());
                reply[at] = rng.choice(*b"0123456789-$*~%:+_\r\n\0\xff").unwrap_or(0);
            }
            let whole = Raw::of(&reply).tree();
            assert!(whole.is_ok() || matches!(whole, Err(Error::Form)), "{}", reply.escape_ascii());
        }
    }

    #[test]
    fn announced_items_must_fit_into_the_bytes() {
        for reply in
            [&b"*9223372036854775807\r\n:1\r\n"[..], b"%4611686018427387904\r\n:1\r\n", b"*2\r\n:1\r\n"]
        {
            assert!(matches!(Raw::of(reply).tree(), Err(Error::Form)), "{}", reply.escape_ascii());
        }
        let deep = b"*1\r\n".repeat(10_000);
        assert!(matches!(Raw::of(&deep).tree(), Err(Error::Form)));
    }
}
