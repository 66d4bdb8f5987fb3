//! Glob patterns as KEYS, SCAN and CONFIG GET take them: `*`, `?`, `[a-z]`, `[^a]`, and a backslash to escape.
//!
//! The rules are those of Valkey on x86-64, odd ones among them: the empty text matches the empty pattern only, so neither `*`
//! nor `**`; bytes of ranges are signed numbers; and where case is ignored, the ends of a range are sorted before they are
//! folded.

/// Whether KEYS, SCAN or the like selects a text: `*` alone selects every text, the empty one too.
pub fn selects(pattern: &[u8], text: &[u8]) -> bool {
    pattern == b"*" || matches(pattern, text)
}

/// Whether `text` matches `pattern`. Time is O(pattern * text) at worst: a `*` is retried at most once a byte, and
/// only the last one seen, so that hostile patterns cannot explode.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    matches_with(pattern, text, false)
}

/// The same, with letters compared in lower case when `ignore_case`.
pub fn matches_with(pattern: &[u8], text: &[u8], ignore_case: bool) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
            continue;
        }
        let step = if t < text.len() { one(&pattern[p..], text[t], ignore_case) } else { None };
        match step {
            Some(used) => {
                p += used;
                t += 1;
            }
            None if t == text.len() && p == pattern.len() => return true,
            None => match star {
                Some((after, from)) if from < text.len() => {
                    star = Some((after, from + 1));
                    (p, t) = (after, from + 1);
                }
                _ => return false,
            },
        }
    }
}

/// Matches one byte against the pattern's first item and returns the item's length, or `None`.
fn one(pattern: &[u8], byte: u8, ignore_case: bool) -> Option<usize> {
    let fold = |b: u8| if ignore_case { b.to_ascii_lowercase() } else { b };
    match *pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', ..] => class(pattern, byte, fold),
        [b'\\', escaped, ..] => (fold(escaped) == fold(byte)).then_some(2),
        [plain, ..] => (fold(plain) == fold(byte)).then_some(1),
    }
}

/// Matches `[...]`; an unclosed class ends with the pattern, as in Redis.
fn class(pattern: &[u8], byte: u8, fold: impl Fn(u8) -> u8) -> Option<usize> {
    let mut at = 1;
    let negated = pattern.get(at) == Some(&b'^');
    at += usize::from(negated);
    let mut found = false;
    loop {
        match pattern.get(at..).unwrap_or(&[]) {
            [] => break,
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                at += 2;
            }
            [b']', ..] => {
                at += 1;
                break;
            }
            [low, b'-', high, ..] => {
                let signed = |byte: u8| i8::from_ne_bytes([byte]);
                let (low, high) = if signed(*low) > signed(*high) { (*high, *low) } else { (*low, *high) };
                found |= (signed(fold(low))..=signed(fold(high))).contains(&signed(fold(byte)));
                at += 3;
            }
            [plain, ..] => {
                found |= fold(*plain) == fold(byte);
                at += 1;
            }
        }
    }
    (found != negated).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let yes = [
            ("", ""),
            ("*", "abc"),
            ("h?llo", "hello"),
            ("h*llo", "heeello"),
            ("h[ae]llo", "hallo"),
            ("h[^e]llo", "hallo"),
            ("h[a-b]llo", "hbllo"),
            ("h[b-a]llo", "hallo"),
            ("\\*", "*"),
            ("a*b*c", "aXbXbXc"),
            ("[\\]]", "]"),
            ("[a", "a"),
            ("a**", "a"),
        ];
        let no = [
            ("", "a"),
            ("?", ""),
            ("*", ""),
            ("**", ""),
            ("h[^e]llo", "hello"),
            ("\\*", "a"),
            ("a*b", "ac"),
            ("[a", "b"),
            ("abc", "ab"),
            ("ab", "abc"),
        ];
        for (p, t) in yes {
            assert!(matches(p.as_bytes(), t.as_bytes()), "{p} {t}");
        }
        for (p, t) in no {
            assert!(!matches(p.as_bytes(), t.as_bytes()), "{p} {t}");
        }
        assert!(matches_with(b"ABC*", b"abcd", true));
        assert!(selects(b"*", b"") && !selects(b"**", b"") && selects(b"a*", b"a"));
        assert!(matches(b"[a-\xff]", b"A") && !matches(b"[a-\xff]", b"b"), "0xFF is -1");
        assert!(!matches_with(b"[Z-a]", b"z", true) && matches_with(b"[A-Z]", b"q", true));
    }

    #[test]
    fn many_stars_end_soon() {
        let text = vec![b'a'; 100_000];
        assert!(!matches(
            "a*".repeat(50).as_bytes().iter().chain(b"b").copied().collect::<Vec<_>>().as_slice(),
            &text
        ));
    }
}
