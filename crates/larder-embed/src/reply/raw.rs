//! Replies of known form, taken from the bytes that the engine has written: without the detour of a tree.

use super::fields::Fields;
use crate::error::{Error, Result};

/// Bytes of a reply, read from the front.
pub struct Raw<'r> {
    bytes: &'r [u8],
    at: usize,
}

impl<'r> Raw<'r> {
    /// Of a whole reply.
    ///
    /// # Errors
    /// The reply is an error.
    pub fn new(bytes: &'r [u8]) -> Result<Raw<'r>> {
        match bytes.first() {
            Some(b'-') => Err(error_of(bytes)),
            _ => Ok(Raw { bytes, at: 0 }),
        }
    }

    /// The next line without its mark and its end, and the mark. Lines of the engine are whole.
    fn line(&mut self) -> Result<(u8, &'r [u8])> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&byte| byte == b'\r').ok_or(Error::Form)?;
        let (&mark, line) = rest[..end].split_first().ok_or(Error::Form)?;
        self.at += end + 2;
        Ok((mark, line))
    }

    /// The next string, or nothing: where it lies.
    fn bulk_span(&mut self) -> Result<Option<(usize, usize)>> {
        match self.line()? {
            (b'_', _) => Ok(None),
            (b'$', b"-1") => Ok(None),
            (b'$', line) => {
                let len = number(line)? as usize;
                let begin = self.at;
                self.at += len + 2;
                if self.at > self.bytes.len() {
                    return Err(Error::Form);
                }
                Ok(Some((begin, begin + len)))
            }
            (b'+' | b',', line) => Ok(Some((self.at - 2 - line.len(), self.at - 2))),
            _ => Err(Error::Form),
        }
    }

    /// A string, or nothing.
    pub fn bulk(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.bulk_span()?.map(|(begin, end)| self.bytes[begin..end].to_vec()))
    }

    /// A string that is there.
    pub fn string(&mut self) -> Result<Vec<u8>> {
        self.bulk()?.ok_or(Error::Form)
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
        let Some((begin, end)) = self.bulk_span()? else { return Ok(None) };
        let text = std::str::from_utf8(&self.bytes[begin..end]).map_err(|_| Error::Form)?;
        text.parse().map(Some).map_err(|_| Error::Form)
    }

    /// Whether a command has been executed that answers `OK`, or nothing if not.
    pub fn ok(&mut self) -> Result<bool> {
        match self.line()? {
            (b'+', _) => Ok(true),
            (b'_', _) | (b'$', b"-1") => Ok(false),
            _ => Err(Error::Form),
        }
    }

    /// The number of items of the next array, set or map (of which each pair is two); none of nothing.
    pub fn len(&mut self) -> Result<usize> {
        match self.line()? {
            (b'*' | b'~', b"-1") | (b'_', _) => Ok(0),
            (b'*' | b'~', line) => Ok(number(line)? as usize),
            (b'%', line) => Ok(2 * number(line)? as usize),
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

    /// Pairs of strings, all in one piece of memory.
    pub fn fields(mut self) -> Result<Fields> {
        let count = self.len()?;
        let begin = self.at;
        let mut spans = Vec::with_capacity(count);
        for _ in 0..count {
            let (start, end) = self.bulk_span()?.ok_or(Error::Form)?;
            spans.push((start - begin, end - begin));
        }
        Ok(Fields::new(self.bytes[begin..self.at].into(), spans))
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let fields = raw(b"%1\r\n$1\r\na\r\n$2\r\nbc\r\n").fields().unwrap();
        assert_eq!(fields.iter().collect::<Vec<_>>(), [(&b"a"[..], &b"bc"[..])]);
        assert_eq!(raw(b"*0\r\n").fields().unwrap().len(), 0);
    }

    #[test]
    fn other_forms_are_errors() {
        assert!(matches!(Raw::new(b"-WRONGTYPE x\r\n"), Err(Error::Command(text)) if text == "WRONGTYPE x"));
        assert!(matches!(Raw::new(b":1\r\n").unwrap().bulk(), Err(Error::Form)));
        assert!(matches!(Raw::new(b"$1\r\na\r\n").unwrap().int(), Err(Error::Form)));
        assert!(matches!(Raw::new(b"$9\r\na\r\n").unwrap().bulk(), Err(Error::Form)));
        assert!(matches!(Raw::new(b"").unwrap().int(), Err(Error::Form)));
    }
}
