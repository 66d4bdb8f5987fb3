//! Numbers and words of arguments.

/// An integer as commands take it: no sign but `-`, no zero in front.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_canonical = match digits {
        [b'0'] => digits.len() == text.len(),
        [first, rest @ ..] => (b'1'..=b'9').contains(first) && rest.iter().all(u8::is_ascii_digit),
        [] => false,
    };
    is_canonical.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

/// Whether an argument is a word, in whatever case.
pub(super) fn is(arg: Option<&&[u8]>, word: &str) -> bool {
    arg.is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
}

/// An argument for a message.
pub(super) fn shown(arg: &[u8]) -> String {
    String::from_utf8_lossy(arg).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_form() {
        for (text, value) in [("0", 0), ("-1", -1), ("9223372036854775807", i64::MAX), ("10", 10)] {
            assert_eq!(integer(text.as_bytes()), Some(value));
        }
        for text in ["", "-", "+1", "01", "-0", "1x", " 1", "9223372036854775808", "1.0"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }
}
