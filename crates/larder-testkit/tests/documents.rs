//! What documents and comments name is there: words in backticks are words of the code, and the modules that may have unsafe code are
//! those that have it. Names of files are in `tidy.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Words in backticks that are not ours: those of C, Linux, Valkey and its images that a comment compares with, and parts of names.
const FOREIGN: &[&str] = &[
    "ALLOW_EMPTY_PASSWORD",
    "Collected",
    "LLONG_MAX",
    "LLONG_MIN",
    "OOMKilled",
    "SAFETY",
    "SCHED_BATCH",
    "SCHED_FLAG_KEEP_POLICY",
    "SCHED_IDLE",
    "ULLONG_MAX",
    "VALKEY_REPLICATION_MODE",
    "atoi",
    "ip_local_port_range",
    "isspace",
    "loadu",
    "longjmp",
    "luaL_check",
    "min-replicas",
    "minor",
    "overcommit_memory",
    "pid_max",
    "sched_yield",
    "somaxconn",
    "string2ull",
    "strtold",
    "uXXXX",
];

/// The modules with unsafe code, by crate: what the section "Unsafe code" of the map says.
const UNSAFE: &[(&str, &[&str])] = &[
    (
        "larder-packed",
        &[
            "bits",
            "block",
            "buffer",
            "bytes",
            "cold",
            "cycles",
            "heap",
            "int_block",
            "leaf",
            "lzf",
            "segment",
            "small_bytes",
        ],
    ),
    ("larder-collections", &["raw", "numbered"]),
    ("larder-lua", &["elements", "gateway", "inspect", "scoped"]),
    ("larder-persist", &["sync_range"]),
    ("larder-python", &["fork"]),
    ("larder-server", &["crash::fault", "memory", "sys::libc_calls", "sys::syslog", "sys::title"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below a folder, by its path from the root, with its text; what is built and what is no text is left out.
fn read(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            read(&path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let name = path.strip_prefix(root()).expect("it is below").to_string_lossy().into_owned();
            found.push((name, text));
        }
    }
}

fn all() -> Vec<(String, String)> {
    let mut found = Vec::new();
    read(&root(), &mut found);
    found
}

/// A line of a source, cut where its comment begins.
fn code_and_comment(line: &str) -> (&str, &str) {
    if line.trim_start().starts_with("//") {
        return ("", line);
    }
    line.find(" // ").map_or((line, ""), |at| line.split_at(at))
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Words of code: identifiers, and names of options and commands, which have dashes.
fn add_words(text: &str, words: &mut BTreeSet<String>) {
    words.extend(text.split(|c| !is_letter(c)).map(str::to_lowercase));
    words.extend(text.split(|c| !is_letter(c) && c != '-').map(str::to_lowercase));
}

/// The words of the code, and the lines of prose with their places.
fn words_and_prose(files: &[(String, String)]) -> (BTreeSet<String>, Vec<(String, &str)>) {
    let (mut words, mut prose) = (BTreeSet::new(), Vec::new());
    for (name, text) in files {
        add_words(name, &mut words);
        let lines = text.lines().enumerate().map(|(at, line)| (format!("{name}:{}", at + 1), line));
        match Path::new(name).extension().and_then(|ending| ending.to_str()) {
            Some("rs") => lines.for_each(|(place, line)| {
                let (code, comment) = code_and_comment(line);
                // The list above does not make a word one of the code.
                if !name.ends_with("tests/documents.rs") {
                    add_words(code, &mut words);
                }
                prose.push((place, comment));
            }),
            Some("md") => prose.extend(lines),
            _ => add_words(text, &mut words),
        }
    }
    (words, prose)
}

/// The names in the backticks of a line. A path or a sentence has none; what ends in a dash or an underscore is a
/// beginning of names, and what ends in a digit an example.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let prose = if line.trim_start().starts_with("```") { "" } else { line };
    let quoted = prose.split('`').skip(1).step_by(2).filter(|text| !text.contains(['/', ' ']));
    let parts = quoted.flat_map(|text| text.split(|c: char| !is_letter(c) && c != '-'));
    parts.filter(|name| {
        name.len() > 3
            && !name.ends_with(|c: char| c == '-' || c == '_' || c.is_ascii_digit())
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

#[test]
fn names_in_backticks_are_in_the_code() {
    let files = all();
    let (words, prose) = words_and_prose(&files);
    let (mut faults, mut seen) = (Vec::new(), 0);
    for (place, line) in &prose {
        for name in names(line) {
            seen += 1;
            if !words.contains(&name.to_lowercase()) && !FOREIGN.contains(&name) {
                faults.push(format!("{place}: `{name}` is nowhere in the code"));
            }
        }
    }
    assert!(seen > 2000, "only {seen} names were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn names_are_found_in_backticks_only() {
    let found: Vec<&str> =
        names("plain `one_name` and `a::second(x)`, `a/path`, `two words`, `some-option`, `lock_`").collect();
    assert_eq!(found, ["one_name", "second", "some-option"]);
}

/// Whether a line of code has unsafe code or begins some.
fn is_unsafe(line: &str) -> bool {
    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
        .iter()
        .any(|words| code_and_comment(line).0.contains(words))
}

/// The module of a source below `src`, as a path of names.
fn module(path: &str) -> String {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.replace('/', "::")
}

#[test]
fn unsafe_code_is_where_the_map_says() {
    let files = all();
    let map = &files.iter().find(|(name, _)| name == "ARCHITECTURE.md").expect("there is a map").1;
    let section = map.split("\n## Unsafe code\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let section = section.expect("the map has the section");
    let mut faults = Vec::new();
    for (name, _) in files.iter().filter(|(name, text)| name.ends_with(".rs") && text.lines().any(is_unsafe))
    {
        let Some((folder, path)) = name.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
        else {
            continue;
        };
        if path.contains("/tests/") || path.ends_with("tests.rs") {
            continue;
        }
        let allowed = UNSAFE.iter().find(|(name, _)| *name == folder).map_or(&[][..], |(_, modules)| modules);
        let here = module(path);
        if !allowed.iter().any(|module| here == *module || here.starts_with(&format!("{module}::"))) {
            faults.push(format!("{name} has unsafe code, which the map does not say"));
        }
    }
    for (name, modules) in UNSAFE {
        for module in *modules {
            let path = format!("crates/{name}/src/{}", module.replace("::", "/"));
            let has = |(name, text): &&(String, String)| {
                (*name == format!("{path}.rs") || name.starts_with(&format!("{path}/")))
                    && text.lines().any(is_unsafe)
            };
            if files.iter().find(has).is_none() {
                faults.push(format!("{name}: {module} has no unsafe code"));
            }
            if !section.contains(&format!("`{module}`")) {
                faults.push(format!("the map does not name {module} of {name}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
