//! The options that `larder-server --help` lists.

use super::first_sentence;
use crate::config::table::{OPTIONS, find};
use std::fmt::Write;

/// A heading, and the options below it with the names of their values.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

const GROUPS: [Group; 6] = [
    (
        "Connections",
        &[("port", "PORT"), ("bind", "ADDRESS.."), ("unixsocket", "PATH"), ("maxclients", "NUMBER")],
    ),
    (
        "Security",
        &[
            ("requirepass", "PASSWORD"),
            ("protected-mode", "yes|no"),
            ("aclfile", "FILE"),
            ("tls-port", "PORT"),
            ("tls-cert-file", "FILE"),
            ("tls-key-file", "FILE"),
            ("tls-ca-cert-file", "FILE"),
        ],
    ),
    ("Memory", &[("maxmemory", "BYTES"), ("maxmemory-policy", "POLICY"), ("threads", "NUMBER")]),
    (
        "Persistence",
        &[
            ("dir", "DIRECTORY"),
            ("appendonly", "yes|no"),
            ("appendfsync", "POLICY"),
            ("save", "SECONDS CHANGES"),
            ("dbfilename", "NAME"),
        ],
    ),
    (
        "Replication and cluster",
        &[("replicaof", "HOST PORT"), ("primaryauth", "PASSWORD"), ("cluster-enabled", "yes|no")],
    ),
    ("Process", &[("daemonize", "yes|no"), ("pidfile", "FILE"), ("loglevel", "LEVEL"), ("logfile", "FILE")]),
];

/// Columns before the summaries.
const SUMMARY_COLUMN: usize = 30;

/// The common options in groups, one per line, with the first sentence of the summary and the default.
pub fn common_options() -> String {
    let mut text = String::new();
    for (title, options) in GROUPS {
        let _ = writeln!(text, "\n{title}:");
        for (name, value) in options {
            let (index, _) = find(name).unwrap_or_else(|| panic!("no option {name}"));
            let opt = &OPTIONS[index];
            let default = match opt.default {
                _ if opt.name == "threads" => " [default: the number of cores]".to_owned(),
                "" => String::new(),
                text => format!(" [default: {text}]"),
            };
            let option = format!("--{name} {value}");
            let summary = first_sentence(opt);
            let _ = writeln!(text, "  {option:SUMMARY_COLUMN$} {summary}{default}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_a_line_with_its_summary() {
        let text = common_options();
        for (name, _) in GROUPS.iter().flat_map(|(_, options)| *options) {
            let line = text.lines().find(|line| line.starts_with(&format!("  --{name} "))).unwrap();
            assert!(line.trim_end().len() > 2 + SUMMARY_COLUMN + 10, "{line}");
        }
    }
}
