//! Counts in words.

/// Returns a count with its noun: `1 key`, `2 keys`.
pub fn count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
