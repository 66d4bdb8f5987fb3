//! Several glob patterns, of which one is to match.

use super::glob;

/// Patterns as KEYS takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(Vec<Box<[u8]>>);

impl Patterns {
    /// Of these patterns.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p [u8]>) -> Patterns {
        Patterns(patterns.into_iter().map(Box::from).collect())
    }

    /// Whether one of them matches: O(patterns * bytes) where each has at most one `*`, at its end.
    pub fn matches(&self, text: &[u8]) -> bool {
        self.0.iter().any(|pattern| glob::selects(pattern, text))
    }
}
