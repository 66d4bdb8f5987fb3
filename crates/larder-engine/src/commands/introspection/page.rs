//! The page of all commands for users, `docs/commands.md`, from the command table.

use super::arguments::parse;
use super::syntax::syntax;
use crate::command::spec::{Found, Group};
use crate::command::table::table;
use std::fmt::Write;

const HEAD: &str = "\
# Commands

This page lists syntax and complexity of all commands. Replies, error texts and effects are those of
Valkey 9.1; [Compatibility](compatibility.md) lists the differences. `COMMAND DOCS` returns the same
information.

In the syntax, `[..]` is optional, `a | b` is a choice, and `..` can be repeated.
";

/// The groups in the order of the page, and what they are called there.
const GROUPS: &[(Group, &str)] = &[
    (Group::String, "Strings"),
    (Group::List, "Lists"),
    (Group::Hash, "Hashes"),
    (Group::Set, "Sets"),
    (Group::SortedSet, "Sorted sets"),
    (Group::Stream, "Streams"),
    (Group::Bitmap, "Bitmaps"),
    (Group::HyperLogLog, "HyperLogLogs"),
    (Group::Geo, "Geo"),
    (Group::Generic, "Keys"),
    (Group::PubSub, "Publish and subscribe"),
    (Group::Transactions, "Transactions"),
    (Group::Scripting, "Scripts and functions"),
    (Group::Connection, "Connections"),
    (Group::Server, "Server"),
    (Group::Cluster, "Cluster"),
];

/// What differs from Valkey, by the command's full name.
const DIFFERENCES: &[(&str, &str)] = &[
    ("blmpop", SERVED_BESIDE_WRONG_TYPE),
    ("blpop", SERVED_BESIDE_WRONG_TYPE),
    ("brpop", SERVED_BESIDE_WRONG_TYPE),
    ("bzmpop", SERVED_BESIDE_WRONG_TYPE),
    ("bzpopmax", SERVED_BESIDE_WRONG_TYPE),
    ("bzpopmin", SERVED_BESIDE_WRONG_TYPE),
    ("client|setinfo", "A value with a zero byte is refused."),
    ("client|setname", "A name with a zero byte is refused."),
    ("hgetex", "A key can be named `fields`."),
    ("hrandfield", DRAWS),
    ("hsetex", "A key can be named `fields`."),
    ("lscan", "Valkey does not have it."),
    ("lset", "An index that does not fit into 32 bits is out of range."),
    ("migrate", "A cached connection is reused only with the same credentials."),
    ("module|load", "Refused: modules are not supported."),
    ("module|loadex", "Refused: modules are not supported."),
    ("script|debug", "`YES` works on a debug snapshot of the keys; `SCRIPT KILL` can stop `SYNC`."),
    ("sort", "Elements are compared as a whole with `ALPHA`; a sorted set keeps its encoding."),
    ("sort_ro", "Elements are compared as a whole with `ALPHA`; a sorted set keeps its encoding."),
    ("srandmember", DRAWS),
    ("zrandmember", DRAWS),
];

const SERVED_BESIDE_WRONG_TYPE: &str =
    "A blocked client can be served although another of its keys has changed its type.";
const DRAWS: &str = "A negative count must be at least -16,777,216; the reply is limited to 1 GB.";

/// The page, in Markdown.
pub(crate) fn commands_page() -> String {
    let mut page = HEAD.to_owned();
    for (group, title) in GROUPS {
        let mut found: Vec<&Found> =
            table().all().iter().filter(|found| found.command.group == *group).collect();
        found.sort_by_key(|found| found.full_name());
        if !found.is_empty() {
            let _ = write!(page, "\n## {title}\n");
        }
        found
            .iter()
            .filter(|found| found.command.subcommands.is_empty())
            .for_each(|found| push(&mut page, found));
    }
    page
}

fn push(page: &mut String, found: &Found) {
    let command = found.command;
    let name = found.full_name().replace('|', " ").to_uppercase();
    let line = format!("{name} {}", syntax(&parse(command.args)));
    let _ = write!(page, "\n### {name}\n\n```text\n{}\n```\n\n{}", line.trim_end(), command.summary);
    if !command.complexity.is_empty() {
        let _ = write!(page, " {}.", command.complexity.trim_end_matches('.'));
    }
    let _ = writeln!(page, " Since {}.", command.since);
    for (_, text) in DIFFERENCES.iter().filter(|(name, _)| *name == found.full_name()) {
        let _ = writeln!(page, "\n*Differs from Valkey:* {text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_there_once() {
        let page = commands_page();
        for found in table().all().iter().filter(|found| found.command.subcommands.is_empty()) {
            let head = format!("\n### {}\n", found.full_name().replace('|', " ").to_uppercase());
            assert_eq!(page.matches(&head).count(), 1, "{head}");
        }
    }

    #[test]
    fn what_differs_is_a_command() {
        for (name, _) in DIFFERENCES {
            assert!(table().find_full(name.as_bytes()).is_some(), "{name}");
        }
    }
}
