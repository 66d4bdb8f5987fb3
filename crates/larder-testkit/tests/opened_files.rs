//! Every place that makes, replaces, shortens, renames or deletes a file is in the table of `docs/design/persistence.md`, with the reason why it
//! may: a new place has to be justified there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Calls that change what is in the file system. `.set_len(` counts on files only: vectors have it, too.
const CALLS: &[&str] = &[
    "File::create",
    "File::options",
    "OpenOptions::new",
    "SockAddr::unix",
    "file.set_len(",
    "fs::copy",
    "fs::create_dir",
    "fs::hard_link",
    "fs::remove_dir",
    "fs::remove_file",
    "fs::rename",
    "fs::write",
    "symlink(",
];

/// Crates that serve tests and measurements alone.
const NOT_SHIPPED: &[&str] = &["larder-bench", "larder-testkit"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The name of the function that a line begins.
fn function_of(line: &str) -> Option<&str> {
    let at = line.find("fn ").filter(|&at| at == 0 || line[..at].ends_with([' ', '(']))?;
    let name = line[at + 3..].split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (!name.is_empty()).then_some(name)
}

/// The functions of a source that make such calls. Its tests, which are at its foot, are left out.
fn functions_with_calls(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = code.split("#[cfg(test)]\npub(crate) mod tests {").next().unwrap_or_default();
    let (mut functions, mut current) = (BTreeSet::new(), "");
    for line in code.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        current = function_of(line).unwrap_or(current);
        let has_call = CALLS.iter().any(|call| line.contains(call)) && !line.starts_with("use ");
        if has_call {
            functions.insert(current.to_owned());
        }
    }
    functions
}

/// What the sources have: `path: function`.
fn found() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).expect("the folder is there").flatten() {
        if NOT_SHIPPED.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let mut paths = Vec::new();
        sources(&entry.path().join("src"), &mut paths);
        for path in paths.iter().filter(|path| !path.ends_with("tests.rs")) {
            let text = fs::read_to_string(path).expect("it is text");
            let name = path.strip_prefix(root().join("crates")).expect("it is below").to_string_lossy();
            found.extend(
                functions_with_calls(&text).into_iter().map(|function| format!("{name}: {function}")),
            );
        }
    }
    found
}

/// What the table has. A row begins with the source and its functions, in backticks.
fn listed() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/design/persistence.md")).expect("it is there");
    let section = text.split("\n## Files that are changed\n").nth(1).expect("the page has the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut listed = BTreeSet::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert!(cells.len() >= 6 && !cells[4].is_empty(), "a row without a reason: {row}");
        let source = cells[1].trim_matches('`');
        let functions = cells[2].split('`').skip(1).step_by(2);
        listed.extend(functions.map(|function| format!("{source}: {function}")));
    }
    listed
}

#[test]
fn places_that_change_files_are_listed() {
    let (found, listed) = (found(), listed());
    assert!(found.len() > 20, "only {} places were found", found.len());
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "not in the table of docs/design/persistence.md: {missing:#?}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "in the table, and not in the code: {gone:#?}");
}

#[test]
fn calls_are_found_by_function() {
    let text = "fn a() {\n    // fs::write\n    x();\n}\npub(super) fn b<T>() {\n    let f = File::create(p)?;\n}\n#[cfg(test)]\nmod tests {\n    fn c() { fs::write(p, b) }\n}\n";
    assert_eq!(functions_with_calls(text).into_iter().collect::<Vec<_>>(), ["b"]);
    assert_eq!(function_of("pub fn open_it(path: &Path)"), Some("open_it"));
    assert_eq!(function_of("let often = 1;"), None);
}
