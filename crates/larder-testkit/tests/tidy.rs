//! What the sources and the documents must not say: words with a plainer one, names of files that are not there, the clock outside of
//! its module. A line that fails says what to write instead.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Words of comments and documents, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("anew", "again"),
    ("behind it", "after it"),
    ("behind them", "after them"),
    ("behind that", "after that"),
    ("behind the end", "past the end"),
    ("behind the header", "after the header"),
    ("behind the others", "after the others"),
    ("kids", "children"),
    ("one behind the other", "one after the other"),
    ("So many", "This many, or N"),
    ("so many bytes", "this many bytes"),
    ("so many elements", "this many elements"),
    ("so many entries", "this many entries"),
    ("at most so many", "at most this many"),
    ("up to so many", "up to this many"),
];

/// Code that belongs to one module, and what others call.
const CODE: &[(&str, &str, &str)] = &[
    ("larder-engine/src", "Instant::now", "clock::instant"),
    ("larder-engine/src", "SystemTime::now", "clock::wall_us"),
];

/// The module that may read the clock.
const CLOCK: &str = "larder-engine/src/clock.rs";

/// Endings of names that are taken for those of files of the project.
const ENDINGS: &[&str] = &[".rs", ".md", ".py", ".lua", ".c", ".sh"];

struct Text {
    /// From the root of the project.
    name: String,
    lines: Vec<String>,
}

impl Text {
    fn is_source(&self) -> bool {
        self.name.ends_with(".rs")
    }

    /// The prose of a line: all of it, or the comment at its end.
    fn prose(&self, line: usize) -> Option<&str> {
        let line = self.lines[line].as_str();
        if !self.is_source() {
            return Some(line);
        }
        let trimmed = line.trim_start();
        if trimmed.starts_with("//") {
            Some(trimmed)
        } else {
            line.split_once(" // ").map(|(_, comment)| comment)
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below a folder, but for what is built and what is hidden.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// The sources and the documents, and the names of all files.
fn texts() -> (Vec<Text>, BTreeSet<String>) {
    let mut paths = Vec::new();
    files(&root(), &mut paths);
    let name =
        |path: &PathBuf| path.strip_prefix(root()).expect("it is below").to_string_lossy().into_owned();
    let names = paths.iter().map(|path| format!("/{}", name(path))).collect();
    let is_text = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "rs" || ending == "md");
    let texts = paths.iter().filter(is_text).map(|path| {
        let text = fs::read_to_string(path).expect("it is text");
        Text { name: name(path), lines: text.lines().map(str::to_owned).collect() }
    });
    (texts.collect(), names)
}

/// Whether a text has a phrase that neither begins nor ends within a word.
fn has(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + phrase.len()..].chars().next())
    })
}

/// Names of files in a text, in backticks.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|word| {
        let is_name = word.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
        is_name && ENDINGS.iter().any(|ending| word.len() > ending.len() && word.ends_with(ending))
    })
}

#[test]
fn words_are_plain() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for text in texts().0.iter().filter(|text| !text.name.ends_with("tests/tidy.rs")) {
        for at in 0..text.lines.len() {
            let Some(prose) = text.prose(at) else { continue };
            seen += 1;
            for (word, instead) in WORDS.iter().filter(|(word, _)| has(prose, word)) {
                faults.push(format!("{}:{}: \"{word}\": say \"{instead}\"", text.name, at + 1));
            }
        }
    }
    assert!(seen > 10_000, "only {seen} lines of prose were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_that_are_named_are_there() {
    let (texts, names) = texts();
    let mut faults = Vec::new();
    let mut seen = 0;
    for text in &texts {
        for at in 0..text.lines.len() {
            for name in text.prose(at).into_iter().flat_map(named_files) {
                seen += 1;
                let tail = format!("/{}", name.trim_start_matches("./"));
                if !names.iter().any(|other| other.ends_with(&tail)) {
                    faults.push(format!("{}:{}: {name}", text.name, at + 1));
                }
            }
        }
    }
    assert!(seen > 120, "only {seen} names of files were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn one_module_reads_the_clock() {
    let mut faults = Vec::new();
    for text in texts().0.iter().filter(|text| text.is_source() && !text.name.ends_with(CLOCK)) {
        for (at, line) in text.lines.iter().enumerate() {
            for (_, code, instead) in
                CODE.iter().filter(|(folder, code, _)| text.name.contains(folder) && line.contains(code))
            {
                faults.push(format!("{}:{}: {code}: call {instead}", text.name, at + 1));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn phrases_are_found_between_other_words() {
    assert!(has("read anew, twice", "anew") && has("anew", "anew") && !has("a newt", "anew"));
    assert!(!has("sanewt", "anew") && !has("anew_one", "anew"));
    let names: Vec<&str> = named_files("see `a/b.rs` and `c.rs`, not `d rs` or b.rs or `.rs`").collect();
    assert_eq!(names, ["a/b.rs", "c.rs"]);
}
