//! The sample file has the defaults, and each option has a reader: its name, or the field of its hot value, stands in the source
//! outside of this folder.

use super::Config;
use super::table::{Effect, OPTIONS};
use std::collections::BTreeSet;
use std::path::Path;

/// The source of the engine, of the link of a replica, of the files and of the server, without their tests and without this folder.
fn sources() -> String {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    let roots = ["src", "../larder-link/src", "../larder-persist/src", "../larder-server/src"];
    for root in roots.map(|root| engine.join(root)) {
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
        // Readers ask for the name of the product.
        "extended-redis-compatibility" => vec![".product".to_owned()],
        "proto-max-bulk-len" => vec![".string_bytes_max".to_owned()],
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

/// The file, with every line in force, sets each option to its default.
#[test]
fn the_sample_file_has_the_defaults() {
    let file = super::sample_file();
    let is_setting = |line: &&str| line.starts_with('#') && !line.starts_with("# ") && line.len() > 1;
    let lines: Vec<&str> = file.lines().filter(is_setting).map(|line| &line[1..]).collect();
    let named: BTreeSet<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    let shown = OPTIONS.iter().filter(|opt| opt.effect == Effect::Read && !opt.hidden);
    assert_eq!(named, shown.map(|opt| opt.name).collect());
    let config = Config::new(1);
    // No value says that there is no primary.
    let text: String =
        lines.iter().filter(|line| !line.starts_with("replicaof ")).flat_map(|line| [line, "\n"]).collect();
    config.load_text(&text);
    let defaults = Config::new(1);
    for opt in OPTIONS.iter() {
        assert_eq!(config.value(opt.name), defaults.value(opt.name), "{}", opt.name);
    }
}

/// An option that does something says what in a line, and names a file of tests that speaks of it.
#[test]
fn rows_say_what_options_do() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../larder-server/tests");
    for opt in OPTIONS.iter() {
        let is_read = opt.effect == Effect::Read;
        assert_eq!(opt.summary.ends_with('.'), is_read, "{}", opt.name);
        assert!(!opt.summary.contains('\n') && !opt.summary.contains('|'), "{}", opt.name);
        if is_read {
            let path = tests.join(opt.tested_in);
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert!(
                opt.names().any(|name| text.contains(name)),
                "{} does not speak of {}",
                opt.tested_in,
                opt.name
            );
        }
    }
}
