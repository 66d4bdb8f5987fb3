//! The known name that an unknown one was probably meant to be.

use super::table::{OPTIONS, Opt};

/// Letters of the unknown name for each edit that separates it from a known one.
const LETTERS_PER_EDIT: usize = 4;

/// The option, or the one of `others`, whose name is nearest to `name`; `None` if no name is near.
pub fn nearest_name(name: &str, others: &[&'static str]) -> Option<&'static str> {
    let edits_max = (name.chars().count() / LETTERS_PER_EDIT).clamp(1, 4);
    let visible = OPTIONS.iter().filter(|opt| !opt.hidden).flat_map(Opt::names);
    let distances = visible
        .chain(others.iter().copied())
        .map(|known| (strsim::osa_distance(name, known), known))
        .filter(|(edits, _)| (1..=edits_max).contains(edits));
    distances.min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_near() {
        for (name, expected) in [
            ("maxmemroy", Some("maxmemory")),
            ("max-memory", Some("maxmemory")),
            ("appendonyl", Some("appendonly")),
            ("prot", Some("port")),
            ("requirepas", Some("requirepass")),
            ("maxmemory-polcy", Some("maxmemory-policy")),
            ("renam-command", Some("rename-command")),
            ("foo", None),
            ("completely-different", None),
        ] {
            assert_eq!(nearest_name(name, &["rename-command", "user"]), expected, "{name}");
        }
    }
}
