//! Names of keys in parts, and parts as words of a pattern.
//!
//! A name has one separator: the first of [`SEPARATORS`] that is in it. `:` is the custom, and where it is used the others belong to
//! words: `mail:ann.lee@site.org`, `page:/en/home`, `job:2024-01-31`. Where it is not, paths (`/`), then `|`, `.`, `-` and at last `_`
//! take its place. A name that is a number, an address, a uuid or a hash as a whole has none.
//!
//! A part varies by its form if it is a number (a date, an address), hexadecimal digits ([`HEX_MIN`] of them, uuids among them), long and
//! a mixture of letters and digits ([`MIXTURE_MIN`]), an e-mail address, longer than [`WORD_MAX`], or no text. Brackets around it stay:
//! `{1000}.followers` becomes `{*}.followers`. Whatever varies in no such form is found by its number of values (`tree.rs`).
//!
//! What matters to patterns of SCAN is escaped in words, so that a pattern of a group finds its keys (and perhaps others).

/// What separates the parts of a name: the first of these that it has.
const SEPARATORS: &[u8] = b":/|.-_";
/// Longer parts are no words.
const WORD_MAX: usize = 64;
/// Hexadecimal digits that are a hash, if there is a decimal one among them.
const HEX_MIN: usize = 8;
/// Bytes of a part that is taken for a random one if digits and letters alternate.
const MIXTURE_MIN: usize = 16;
/// Runs of digits in such.
const MIXTURE_RUNS: usize = 2;

/// A part of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part<'n> {
    text: &'n [u8],
    /// The separator that ends it; none at the end of the name.
    pub end: Option<u8>,
    /// All that is left of a name with more parts than are kept.
    is_rest: bool,
}

/// The parts of a name.
pub(super) struct Parts<'n> {
    left: Option<&'n [u8]>,
    separator: Option<u8>,
    /// Parts that are still kept.
    depth: usize,
}

impl<'n> Parts<'n> {
    /// At most `depth` parts, and what is left after them as one more.
    pub(super) fn of(name: &'n [u8], depth: usize) -> Parts<'n> {
        let separator =
            SEPARATORS.iter().copied().find(|separator| memchr::memchr(*separator, name).is_some());
        let separator = separator.filter(|separator| *separator == b':' || !is_number_or_hash(name));
        Parts { left: Some(name), separator, depth }
    }
}

impl<'n> Iterator for Parts<'n> {
    type Item = Part<'n>;

    fn next(&mut self) -> Option<Part<'n>> {
        let name = self.left.take()?;
        if self.depth == 0 {
            return Some(Part { text: name, end: None, is_rest: true });
        }
        self.depth -= 1;
        match self.separator.and_then(|separator| memchr::memchr(separator, name)) {
            Some(at) => {
                self.left = Some(&name[at + 1..]);
                Some(Part { text: &name[..at], end: Some(name[at]), is_rest: false })
            }
            None => Some(Part { text: name, end: None, is_rest: false }),
        }
    }
}

impl Part<'_> {
    /// Puts the word of the part, with its separator, into a buffer.
    pub(super) fn write_word(&self, into: &mut Vec<u8>) {
        let (before, core, after) = without_brackets(self.text);
        if self.is_rest || self.text.len() > WORD_MAX {
            return write_star(self.end, into);
        }
        into.clear();
        if varies(core) {
            escape(before, into);
            into.push(b'*');
            escape(after, into);
        } else {
            escape(self.text, into);
        }
        into.extend(self.end);
    }
}

/// Puts the word for a part of any value into a buffer.
pub(super) fn write_star(end: Option<u8>, into: &mut Vec<u8>) {
    into.clear();
    into.push(b'*');
    into.extend(end);
}

/// Puts a word with `*` for each run of digits into a buffer; false if it has none.
pub(super) fn write_without_digits(word: &[u8], into: &mut Vec<u8>) -> bool {
    into.clear();
    let mut was_digit = false;
    for &byte in word {
        let is_digit = byte.is_ascii_digit();
        if !is_digit {
            into.push(byte);
        } else if !was_digit {
            into.push(b'*');
        }
        was_digit = is_digit;
    }
    into.len() != word.len() || into != word
}

fn escape(text: &[u8], into: &mut Vec<u8>) {
    for &byte in text {
        if matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\') {
            into.push(b'\\');
        }
        into.push(byte);
    }
}

/// The brackets and marks before a part, the part, and those after it.
fn without_brackets(text: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let is_mark = |byte: &u8| b"{}[]()<>\"'#@$=&".contains(byte);
    let start = text.iter().position(|byte| !is_mark(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_mark(byte)).map_or(start, |last| last + 1);
    (&text[..start], &text[start..end], &text[end..])
}

/// Whether a part varies, by its form.
fn varies(text: &[u8]) -> bool {
    is_number_or_hash(text) || is_mixture(text) || text.contains(&b'@') || !is_text(text)
}

/// Numbers, dates, addresses; hashes and uuids.
fn is_number_or_hash(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    let has_digit = text.iter().any(u8::is_ascii_digit);
    let is_number = text.iter().all(|byte| byte.is_ascii_digit() || b".,:+-_".contains(byte));
    let hex = text.iter().filter(|byte| byte.is_ascii_hexdigit()).count();
    let is_hash = hex >= HEX_MIN && text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    has_digit && (is_number || is_hash)
}

/// Long, and of letters and digits by turns, as random names are.
fn is_mixture(text: &[u8]) -> bool {
    let starts = text.windows(2).filter(|pair| !pair[0].is_ascii_digit() && pair[1].is_ascii_digit()).count();
    let runs = starts + usize::from(text.first().is_some_and(u8::is_ascii_digit));
    text.len() >= MIXTURE_MIN
        && runs >= MIXTURE_RUNS
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_=+".contains(byte))
}

fn is_text(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pattern of a name by the forms of its parts alone.
    fn pattern(name: &[u8], depth: usize) -> String {
        let (mut all, mut word) = (Vec::new(), Vec::new());
        for part in Parts::of(name, depth) {
            part.write_word(&mut word);
            all.extend_from_slice(&word);
        }
        String::from_utf8_lossy(&all).into_owned()
    }

    #[test]
    fn parts_that_vary_become_stars() {
        for (name, expected) in [
            ("user:123:cart", "user:*:cart"),
            ("user:123", "user:*"),
            ("user:", "user:"),
            (":", ":"),
            ("", ""),
            ("user::x", "user::x"),
            ("counter", "counter"),
            ("12345", "*"),
            ("session:550e8400-e29b-41d4-a716-446655440000", "session:*"),
            ("550e8400-e29b-41d4-a716-446655440000", "*"),
            ("10.0.0.1", "*"),
            ("10.0.0.1:hits", "*:hits"),
            ("{user1000}.following", "{user1000}.following"),
            ("{1000}.following", "{*}.following"),
            ("{user:1000}:cart", "{user:*}:cart"),
            ("cache/2024/01/index", "cache/*/*/index"),
            ("page:/en/home", "page:/en/home"),
            ("job:2024-01-31", "job:*"),
            ("app.web.9.hits", "app.web.*.hits"),
            ("queue-7-done", "queue-*-done"),
            ("user_1234", "user_*"),
            ("a|1|b", "a|*|b"),
            ("mail:ann.lee@site.org", "mail:*"),
            ("obj:507f1f77bcf86cd799439011", "obj:*"),
            ("feed:deadbeef", "feed:deadbeef"),
            ("feed:0xdeadbee5", "feed:*"),
            ("id:01ARZ3NDEKTSV4RRFFQ69G5FAV", "id:*"),
            ("conversation:report-for-2024", "conversation:report-for-2024"),
            ("recommendations:v2", "recommendations:v2"),
            ("odd:a*b[c]?\\", "odd:a\\*b\\[c\\]\\?\\\\"),
            ("a:1:b:2:c:3", "a:*:b:*:*"),
        ] {
            assert_eq!(pattern(name.as_bytes(), 4), expected, "{name}");
        }
        assert_eq!(pattern(b"user:123:cart", 1), "user:*");
        assert_eq!(pattern(b"user:123:cart:x", 3), "user:*:cart:*");
        assert_eq!(pattern(b"bin:\xff\xfe", 4), "bin:*");
        assert_eq!(pattern(b"bin:a\nb", 4), "bin:*");
        assert_eq!(pattern(format!("long:{}", "x".repeat(65)).as_bytes(), 4), "long:*");
    }

    #[test]
    fn digits_become_stars() {
        let mut into = Vec::new();
        for (word, expected) in
            [("user12x3:", Some("user*x*:")), ("v1", Some("v*")), ("user:", None), ("1", Some("*"))]
        {
            let has_digits = write_without_digits(word.as_bytes(), &mut into);
            assert_eq!(has_digits.then(|| String::from_utf8_lossy(&into).into_owned()).as_deref(), expected);
        }
    }
}
