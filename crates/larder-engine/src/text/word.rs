//! Words of commands and options.

use crate::error::CommandError;

/// Whether an argument is this word, in any case.
pub(crate) fn is_word(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}

/// Puts texts of the request into an error: each of `parts` follows a piece of `text`.
pub(crate) fn error_with(text: &[&str], parts: &[&[u8]]) -> CommandError {
    let mut bytes = Vec::new();
    for (i, piece) in text.iter().enumerate() {
        bytes.extend_from_slice(piece.as_bytes());
        let part = parts.get(i).copied().unwrap_or(b"");
        // Where C prints a string it ends at a zero byte.
        bytes.extend_from_slice(part.split(|&b| b == 0).next().unwrap_or(b""));
    }
    CommandError::Text(bytes)
}
