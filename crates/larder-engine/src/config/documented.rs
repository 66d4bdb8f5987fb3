//! `docs/options.md` has a row for each option in the table that its effect asks for, and whoever is said to read an option
//! does so: its name, or the field of its hot value, stands in the source outside of this folder.

use super::table::{Effect, OPTIONS};
use std::collections::BTreeSet;
use std::path::Path;

/// The source of the engine and the server, without their tests and without this folder.
fn sources() -> String {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for root in [engine.join("src"), engine.join("../larder-server/src")] {
        read_folder(&root, &mut text);
    }
    text
}

fn read_folder(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_ours = path.ends_with("larder-engine/src/config");
        if path.is_dir() && !is_ours {
            read_folder(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
            let file = std::fs::read_to_string(&path).unwrap();
            text.push_str(file.split("#[cfg(test)]\nmod tests {").next().unwrap());
        }
    }
}

fn is_read(name: &str, sources: &str) -> bool {
    let field = name.replace('-', "_");
    let fields = match name {
        // One option, a field for each class of clients.
        "client-output-buffer-limit" => vec![".output_limits".to_owned()],
        _ => vec![format!(".{field}"), format!(".{field}_s")],
    };
    let goes_on =
        |at: usize| sources.as_bytes().get(at).is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_');
    let is_field = |field: &String| sources.match_indices(field).any(|(at, _)| !goes_on(at + field.len()));
    sources.contains(&format!("\"{name}\"")) || fields.iter().any(is_field)
}

#[test]
fn every_option_has_a_reader() {
    // Rows of a table may be broken over lines.
    let sources: String = sources().split_whitespace().collect();
    for opt in OPTIONS.iter().filter(|opt| opt.effect == Effect::Read) {
        assert!(is_read(opt.name, &sources), "nobody reads {}: what does it do?", opt.name);
    }
}

/// The names in backticks of the rows of the sections whose heading `wanted` accepts; of the first column, or of all.
fn names_in(page: &str, column: usize, wanted: impl Fn(&str) -> bool) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut heading = "";
    for line in page.lines() {
        heading = line.strip_prefix("## ").unwrap_or(heading);
        let cell = line.strip_prefix('|').and_then(|row| row.split('|').nth(column));
        if let Some(cell) = cell.filter(|_| wanted(heading)) {
            names.extend(cell.split('`').skip(1).step_by(2));
        }
    }
    names
}

#[test]
fn the_page_has_every_option_where_it_belongs() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/options.md")).unwrap();
    let (dormant, refused) = ("Accepted, and nothing to shape", "Refused");
    let of = |is: fn(&Effect) -> bool| -> BTreeSet<&str> {
        OPTIONS.iter().filter(|opt| is(&opt.effect)).map(|opt| opt.name).collect()
    };
    let read = names_in(&page, 0, |heading| heading != dormant && heading != refused);
    assert_eq!(read, of(|effect| *effect == Effect::Read));
    assert_eq!(
        names_in(&page, 1, |heading| heading == dormant),
        of(|effect| matches!(effect, Effect::Dormant(_)))
    );
    assert_eq!(
        names_in(&page, 1, |heading| heading == refused),
        of(|effect| matches!(effect, Effect::Absent(_)))
    );
}

/// The last column of the page names files, which speak of the option; a dash says that there is none.
#[test]
fn tests_named_on_the_page_exist() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/options.md")).unwrap();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, file] = cells[..] else { panic!("{line}") };
        if file == "—" {
            continue;
        }
        let name = name.trim_matches('`');
        let places = [crates.join("larder-server/tests").join(file), crates.join(file)];
        let text = places.iter().find_map(|path| std::fs::read_to_string(path).ok());
        let text = text.unwrap_or_else(|| panic!("{name}: no file {file}"));
        let opt = OPTIONS.iter().find(|opt| opt.name == name).unwrap();
        assert!(opt.names().any(|name| text.contains(name)), "{file} does not speak of {name}");
    }
}
