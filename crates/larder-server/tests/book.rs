//! The pages for users: their shell blocks do what the page says.
//!
//! The blocks of a page (`sh`) run in order in one shell, in a folder of their own, with the server and the client programs in
//! the `PATH`. A block that starts a server is followed by a wait until the server answers. The output of a block is compared
//! with the block of `text` right after it, if there is one; `...` in it stands for any text within a line. What a reader does
//! not need, such as a wait, stands in a comment that begins with `<!-- sh`, and runs like a block. Ports in use replace those
//! that a page names.

use larder_testkit::{Kind, Port, temp_dir};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Pages whose blocks tests of their own run: `tests/tls/document.rs`, `tests/cluster/document.rs`, and `tests/page.rs` of larder-load.
const RUN_ELSEWHERE: [&str; 3] = ["docs/cluster.md", "docs/load.md", "docs/security.md"];
/// Seconds that a page may take.
const PATIENCE: &str = "120";

/// A shell block of a page, and what it is to print.
#[derive(Debug, PartialEq)]
struct Block {
    script: String,
    expected: Option<String>,
}

/// The shell blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut after_script = false;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let mut body =
            || lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        match line {
            "```sh" => {
                found.push(Block { script: body(), expected: None });
                after_script = true;
            }
            "<!-- sh" => {
                let hidden = lines.by_ref().take_while(|line| *line != "-->");
                let script = hidden.map(|line| format!("{line}\n")).collect();
                found.push(Block { script, expected: None });
                after_script = false;
            }
            "```text" if after_script => {
                found.last_mut().expect("there was a script").expected = Some(body());
                after_script = false;
            }
            "" => {}
            fence if fence.starts_with("```") => {
                let _: String = body();
                after_script = false;
            }
            _ => after_script = false,
        }
    }
    found
}

/// One script of all blocks of a page; what each prints goes to a file of its number.
fn script(blocks: &[Block]) -> String {
    let mut text = String::new();
    for (number, block) in blocks.iter().enumerate() {
        text += &format!("{{\n{}}} > \"$BOOK/{number}\"\n", block.script);
        if block.script.lines().any(|line| line.starts_with("larder-server") && line.ends_with('&')) {
            text += "until redis-cli PING > /dev/null 2>&1; do sleep 0.02; done\n";
        }
    }
    text
}

/// Programs by their usual names that know the port of this page.
fn put_programs(folder: &Path, port: &str) {
    let larder = Kind::Larder.program().canonicalize().unwrap();
    let real = |name: &str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).output().unwrap().stdout;
        String::from_utf8(found).unwrap().trim().to_owned()
    };
    let programs = [
        ("larder-server", format!("exec '{}' \"$@\" --port {port}", larder.display())),
        ("redis-cli", format!("exec {} -p {port} \"$@\"", real("redis-cli"))),
        ("redis-benchmark", format!("exec {} -p {port} \"$@\"", real("redis-benchmark"))),
    ];
    for (name, line) in programs {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{line}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Whether what was printed is what the page says.
fn agree(printed: &str, expected: &str) -> bool {
    let (printed, expected): (Vec<_>, Vec<_>) = (printed.lines().collect(), expected.lines().collect());
    printed.len() == expected.len()
        && printed.iter().zip(&expected).all(|(line, pattern)| matches(line, pattern))
}

/// Whether a line is the pattern, in which `...` stands for any text.
fn matches(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split("...");
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Runs a page; what is wrong with it.
fn faults(name: &str, blocks: &[Block]) -> Vec<String> {
    let (root, port, other) = (temp_dir(), Port::reserve(), Port::reserve());
    let [programs, outputs, work] = ["bin", "out", "work"].map(|part| root.join(part));
    [&programs, &outputs, &work].iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    put_programs(&programs, &port.number().to_string());
    let script = script(blocks).replace("9121", &other.number().to_string());
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let child = Command::new("timeout")
        .args([PATIENCE, "sh", "-euc", &script])
        .env("PATH", path)
        .env("BOOK", &outputs)
        .current_dir(&work)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(root.join("errors")).unwrap())
        .spawn()
        .unwrap();
    let group = child.id();
    let status = child.wait_with_output().unwrap().status;
    // A server that the page has left running, or that a failed block has.
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).stderr(Stdio::null()).status();
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let mut found = Vec::new();
    if !status.success() {
        found.push(format!("{name}: {status}\n{}{}", read(root.join("errors")), read(work.join("log"))));
    }
    for (number, block) in blocks.iter().enumerate() {
        let printed = read(outputs.join(number.to_string()));
        if block.expected.as_ref().is_some_and(|expected| !agree(&printed, expected)) {
            found.push(format!("{name}: the block\n{}prints\n{printed}", block.script));
        }
    }
    std::fs::remove_dir_all(root).unwrap();
    found
}

/// Every page that has shell blocks, by its path from the root of the project.
fn pages() -> Vec<(String, Vec<Block>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/design"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap().flatten() {
            let name = Path::new(folder).join(entry.file_name()).to_string_lossy().into_owned();
            if name.ends_with(".md") {
                found.push((name, blocks(&std::fs::read_to_string(entry.path()).unwrap())));
            }
        }
    }
    found.retain(|(_, blocks)| !blocks.is_empty());
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn shell_blocks_do_what_the_pages_say() {
    let pages = pages();
    assert!(RUN_ELSEWHERE.iter().all(|name| pages.iter().any(|page| page.0 == *name)));
    let here: Vec<_> = pages.iter().filter(|page| !RUN_ELSEWHERE.contains(&page.0.as_str())).collect();
    assert!(here.len() >= 6, "only {} pages have shell blocks", here.len());
    let faults: Vec<String> = here.iter().flat_map(|(name, blocks)| faults(name, blocks)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn blocks_of_other_languages_are_left_alone() {
    let page = "a\n```sh\necho 1\n```\n\n```text\n1\n```\n```conf\nport 1\n```\n```text\nno\n```\n```sh\ntrue\n```\nb\n```text\nno\n```\n";
    let block = |script: &str, expected: Option<&str>| Block {
        script: script.to_owned(),
        expected: expected.map(str::to_owned),
    };
    assert_eq!(blocks(page), [block("echo 1\n", Some("1\n")), block("true\n", None)]);
    assert_eq!(blocks("<!-- sh\nwait\n-->\n"), [block("wait\n", None)]);
    assert!(matches("used 7 MB of 9", "used ... MB of ...") && matches("", "...") && matches("a", "a"));
    assert!(!matches("used 7 MB", "used ... KB") && !matches("ab", "a") && !matches("aba", "ab...ba"));
    assert!(agree("1\n2\n", "1\n...\n") && !agree("1\n2\n", "1\n") && !agree("1\n", "2\n"));
}

/// A page that says what is not so is found out.
#[test]
fn a_wrong_page_fails() {
    let page = "```sh\nlarder-server > log &\n```\n```sh\nredis-cli SET a b\n```\n```text\nNO\n```\n";
    let found = faults("wrong.md", &blocks(page));
    assert!(found.len() == 1 && found[0].contains("prints\nOK"), "{found:?}");
    assert!(faults("wrong.md", &blocks("```sh\nfalse\n```\n"))[0].contains("exit status: 1"));
}
