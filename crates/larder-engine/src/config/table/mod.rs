//! The table of options: one row each, in sections. Names, aliases, types, ranges and defaults live here and nowhere
//! else; parsing, CONFIG GET/SET/REWRITE, the hot values and the documents follow from the row.

mod advanced;
mod cluster;
mod memory;
mod network;
mod persistence;
mod process;
mod replication;
mod row;
mod tls;
mod types;

use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) use row::{Effect, Opt};

/// Options that belong together.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) options: &'static [Opt],
}

/// The sections, in the order of the documents.
pub(crate) static SECTIONS: [Section; 9] = [
    Section { title: "Connections", options: network::OPTIONS },
    Section { title: "Process", options: process::OPTIONS },
    Section { title: "Memory", options: memory::OPTIONS },
    Section { title: "Values", options: types::OPTIONS },
    Section { title: "Persistence", options: persistence::OPTIONS },
    Section { title: "Replication", options: replication::OPTIONS },
    Section { title: "Cluster", options: cluster::OPTIONS },
    Section { title: "TLS", options: tls::OPTIONS },
    Section { title: "Commands: logs, latency, scripts", options: advanced::OPTIONS },
];

/// All options; an option is known elsewhere by its index here.
pub(crate) static OPTIONS: LazyLock<Vec<Opt>> =
    LazyLock::new(|| SECTIONS.iter().flat_map(|section| section.options).copied().collect());

static INDEX: LazyLock<HashMap<&'static str, (usize, &'static str)>> = LazyLock::new(|| {
    let rows = OPTIONS.iter().enumerate();
    rows.flat_map(|(i, opt)| opt.names().map(move |name| (name, (i, name)))).collect()
});

/// Index of the option called `name` in any letter case, and the spelling of that name or alias.
pub(crate) fn find(name: &str) -> Option<(usize, &'static str)> {
    INDEX.get(name.to_ascii_lowercase().as_str()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sound() {
        let mut names: Vec<_> = OPTIONS.iter().flat_map(Opt::names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a name occurs twice");
        for opt in OPTIONS.iter() {
            assert_eq!(opt.name, opt.name.to_ascii_lowercase());
            let words: Vec<&str> =
                if opt.kind.is_multi_arg() { opt.default.split(' ').collect() } else { vec![opt.default] };
            if opt.name != "replicaof" {
                assert_eq!(opt.kind.canonical(&words, "").as_deref(), Ok(opt.default), "{}", opt.name);
            }
            if opt.slot.is_some() {
                assert!(opt.kind.value(opt.default).is_some(), "{}", opt.name);
            }
        }
    }
}
