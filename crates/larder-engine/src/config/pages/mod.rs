//! What users read of the options, made from the table: the page `docs/options.md`, the file `docs/larder.conf`, the file that a
//! package installs, manual pages and completions for shells. The example `pages` of this crate writes all of them.

mod completions;
mod help;
mod manual;

use super::kind::Kind;
use super::kind::Names;
use super::number::{Bounds, Unit};
use super::rewrite::default_lines;
use super::special::Special;
use super::table::{Effect, Opt, SECTIONS, Section};
pub use completions::{bash_completion, fish_completion, zsh_completion};
pub use help::common_options;
pub use manual::{file_manual, server_manual};
use std::fmt::Write;

const PAGE_HEAD: &str = "\
# Options

This page lists all options. [larder.conf](larder.conf) contains them as a file, with their defaults;
[Configuration](configuration.md) explains how to set them.

- *start*: the option can only be set at startup.
- Alternative names of an option follow its name.
- Sizes take units: `1k` (1000), `1kb` (1024), `1m`, `1mb`, `1g`, `1gb`.
- The last column names the test of the option, below `crates/larder-server/tests`. Another test,
  `config_differential.rs`, compares types, ranges and error texts of all options with Valkey.
- Options that Larder accepts without effect, and those that it refuses, are at the end.
";

const DORMANT_HEAD: &str = "
## Accepted: nothing to tune

These options tune mechanisms that Larder does not have, so no value changes what clients see.
`CONFIG GET` and `CONFIG REWRITE` keep them.

| mechanism | options |
|---|---|
";

const IGNORED_HEAD: &str = "
## Accepted with a warning

These options change how Valkey works internally, but not what clients see. The server accepts them
and logs that they have no effect.

| reason | options |
|---|---|
";

const ABSENT_HEAD: &str = "
## Refused

These options request features that Larder does not have. Only their defaults are accepted. Lines
with `loadmodule` or `sentinel` are refused too.

| feature | options |
|---|---|
";

const PAGE_END: &str = "
## Removed from Valkey

Files with these options load, as in Valkey: `dynamic-hz`, `events-per-io-thread`,
`io-threads-do-reads`, `list-max-ziplist-entries`, `list-max-ziplist-value`,
`lua-replicate-commands`, `sanitize-dump-payload` (payloads are always checked).

Files with options of Redis 8 load too, with a warning that they have no effect:
`cluster-compatibility-sample-ratio`, `repl-rdb-channel`, `replica-full-sync-buffer-limit`, and
options of its modules, which start with `bf-`, `cf-`, `search-`, `ts-` or `vset-`.
";

const FILE_HEAD: &str = "\
# Options of Larder with their defaults. To change one, remove the # and edit the value.
#
# A line is a name and a value, in quotes if it contains spaces. Units of bytes: 1k (1000),
# 1kb (1024), 1m, 1mb, 1g, 1gb. To include another file: include /path/to/other.conf
";

/// The page of all options, in Markdown.
pub fn options_page() -> String {
    let mut page = PAGE_HEAD.to_owned();
    for section in SECTIONS.iter().filter(|section| read_by(section).next().is_some()) {
        let _ = write!(
            page,
            "\n## {}\n\n| option | default | values | what it does | tested in |\n|---|---|---|---|---|\n",
            section.title
        );
        for opt in read_by(section) {
            let names: Vec<String> = opt.names().map(|name| format!("`{name}`")).collect();
            let start = if opt.immutable { ", *start*" } else { "" };
            let default = match opt.default {
                _ if opt.name == "threads" => "cores".to_owned(),
                "" => "none".to_owned(),
                text => format!("`{text}`"),
            };
            let _ = writeln!(
                page,
                "| {}{start} | {default} | {} | {} | {} |",
                names.join(", "),
                cell_of(opt.kind),
                opt.summary,
                opt.tested_in
            );
        }
    }
    page.push_str(DORMANT_HEAD);
    push_groups(&mut page, |effect| match effect {
        Effect::Dormant(what) => Some(what),
        _ => None,
    });
    page.push_str(IGNORED_HEAD);
    push_groups(&mut page, |effect| match effect {
        Effect::Ignored(why) => Some(why),
        _ => None,
    });
    page.push_str(ABSENT_HEAD);
    push_groups(&mut page, |effect| match effect {
        Effect::Absent(what) => Some(what),
        _ => None,
    });
    page + PAGE_END
}

fn read_by(section: &Section) -> impl Iterator<Item = &'static Opt> {
    section.options.iter().filter(|opt| opt.effect == Effect::Read)
}

/// A row for each thing that `thing_of` finds in effects, with the options that have it.
fn push_groups(page: &mut String, thing_of: fn(Effect) -> Option<&'static str>) {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for opt in SECTIONS.iter().flat_map(|section| section.options) {
        let Some(thing) = thing_of(opt.effect) else { continue };
        let name = format!("`{}`", opt.name);
        match groups.iter_mut().find(|(other, _)| *other == thing) {
            Some((_, names)) => names.push(name),
            None => groups.push((thing, vec![name])),
        }
    }
    for (thing, names) in groups {
        let _ = writeln!(page, "| {thing} | {} |", names.join(", "));
    }
}

/// A configuration file that says what is so without it: each option that does something, what it does and what it takes in comments.
pub fn sample_file() -> String {
    file_with(&[])
}

/// The file that a package installs: the sample, with the lines in force that a service of the system needs.
pub fn packaged_file() -> String {
    file_with(PACKAGED)
}

/// What a service of the system needs: only this machine is served until somebody says otherwise.
const PACKAGED: &[(&str, &str)] =
    &[("bind", "127.0.0.1 -::1"), ("dir", "/var/lib/larder"), ("supervised", "auto")];

/// The sample with some lines in force.
fn file_with(in_force: &[(&str, &str)]) -> String {
    let mut file = FILE_HEAD.to_owned();
    for section in SECTIONS.iter().filter(|section| read_by(section).next().is_some()) {
        let _ = write!(file, "\n\n# ---- {} ----\n", section.title);
        for opt in read_by(section).filter(|opt| !opt.hidden) {
            let summary = opt.summary.replace('`', "");
            file.push('\n');
            push_comment(&mut file, &format!("{summary}{}", values_of(opt.kind)));
            match in_force.iter().find(|(name, _)| *name == opt.name) {
                Some((name, value)) => {
                    let _ = writeln!(file, "{name} {value}");
                }
                None => default_lines(opt).iter().for_each(|line| {
                    let _ = writeln!(file, "#{line}");
                }),
            }
        }
    }
    file
}

/// Columns of the file's comments.
const COMMENT_COLUMNS: usize = 100;

/// Appends a comment to a configuration file, wrapped between words.
fn push_comment(file: &mut String, text: &str) {
    let mut columns = 0;
    for word in text.split(' ') {
        if columns == 0 || columns + 1 + word.len() > COMMENT_COLUMNS {
            file.push_str(if columns == 0 { "#" } else { "\n#" });
            columns = 1;
        }
        file.push(' ');
        file.push_str(word);
        columns += 1 + word.len();
    }
    file.push('\n');
}

/// The first sentence of an option's summary, for lists with a line per option.
fn first_sentence(opt: &Opt) -> String {
    let sentence = match opt.summary.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => opt.summary.to_owned(),
    };
    sentence.replace('`', "")
}

/// What an option takes, after its summary.
fn values_of(kind: Kind) -> String {
    match values(kind, |name| name.to_owned()) {
        values if values.is_empty() => values,
        values => format!(" ({values})"),
    }
}

/// What an option takes, as a cell of the table.
fn cell_of(kind: Kind) -> String {
    match kind {
        Kind::Text(_) => "text".to_owned(),
        kind => values(kind, |name| format!("`{name}`")),
    }
}

/// What an option takes; empty if that is any text, or more than a few words say. `shown` makes a name stand out.
fn values(kind: Kind, shown: fn(&str) -> String) -> String {
    let listed = |names: Names| names.iter().map(|name| shown(name.0)).collect::<Vec<_>>().join(", ");
    match kind {
        Kind::Bool => format!("{} or {}", shown("yes"), shown("no")),
        Kind::Enum(names) => listed(names),
        Kind::Flags(names) => format!("one or more of {}", listed(names)),
        Kind::Int { bounds, unit } => range(bounds, unit),
        Kind::Special(Special::OutputLimits) => "class, hard limit, soft limit, seconds".to_owned(),
        Kind::Text(_) | Kind::Special(_) => String::new(),
    }
}

/// The bounds of a number in words. Those that only say how it is stored are left out.
fn range((min, max): Bounds, unit: Unit) -> String {
    let text = |number: i128| match unit {
        Unit::Octal => format!("{number:o}"),
        _ => number.to_string(),
    };
    let kind = match unit {
        Unit::Plain => "a number",
        Unit::Octal => "an octal number",
        Unit::Memory => "a size",
        Unit::MemoryOrNone => "a size, or -1 for no limit",
        Unit::MemoryOrPercent => "a size or a percentage",
    };
    let has_limit = max < i128::from(i32::MAX);
    match (unit, min) {
        (Unit::MemoryOrNone | Unit::MemoryOrPercent, _) => kind.to_owned(),
        _ if has_limit => format!("{} to {}", text(min), text(max)),
        (Unit::Memory, 0) => kind.to_owned(),
        (Unit::Memory, _) => format!("{kind} of {} or more", text(min)),
        _ if min > i128::from(i32::MIN) => format!("{} or more", text(min)),
        _ => kind.to_owned(),
    }
}
