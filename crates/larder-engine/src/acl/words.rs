//! The words that rules and lines of users consist of.

/// Whether a name or pattern contains what separates rules.
pub(crate) fn has_blanks(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, 0 | b' ' | b'\t'..=b'\r'))
}
