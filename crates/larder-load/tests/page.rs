//! `docs/load.md` does what it says: its shell blocks run in order, and print what the blocks of text after them have.

use larder_testkit::{Kind, Port, temp_dir};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The blocks with these fences, and the number of the line after each.
fn blocks(page: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    for piece in page.split("\n```").skip(1).step_by(2) {
        let (fence, body) = piece.split_once('\n').unwrap();
        found.push((fence == "sh", format!("{body}\n")));
    }
    found
}

/// One script: what the block of a number prints goes to a file of that number.
fn script(blocks: &[(bool, String)], port: u16) -> String {
    let run = blocks.iter().enumerate().filter(|(_, (is_shell, _))| *is_shell);
    let one = |(number, (_, body)): (usize, &(bool, String))| {
        let wait = "until redis-cli PING > /dev/null 2>&1; do sleep 0.02; done\n";
        let wait = if body.contains("larder-server") { wait } else { "" };
        format!("{{\n{body}}} > out{number}\n{wait}")
    };
    run.map(one).collect::<String>().replace("6379", &port.to_string())
}

fn put_program(folder: &Path, name: &str, line: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{line}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_page_does_what_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/load.md");
    let blocks = blocks(&std::fs::read_to_string(page).unwrap());
    let (folder, port) = (temp_dir(), Port::reserve());
    let port = port.number();
    let larder = Kind::Larder.program().canonicalize().unwrap();
    put_program(&folder, "larder-server", &format!("exec '{}' \"$@\" --port {port}", larder.display()));
    let load = env!("CARGO_BIN_EXE_larder-load");
    put_program(&folder, "larder-load", &format!("exec '{load}' \"$@\" --port {port} --quiet"));
    let real = Command::new("sh").args(["-c", "command -v redis-cli"]).output().unwrap().stdout;
    let real = String::from_utf8(real).unwrap();
    put_program(&folder, "redis-cli", &format!("exec {} -p {port} \"$@\"", real.trim()));
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("timeout")
        .args(["60", "sh", "-euc", &script(&blocks, port)])
        .env("PATH", path)
        .current_dir(&folder)
        .process_group(0)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let (group, status) = (shell.id(), shell.wait().unwrap());
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).stderr(Stdio::null()).status();
    assert!(status.success(), "{status}");
    let mut compared = 0;
    for (number, pair) in blocks.windows(2).enumerate() {
        let [(true, script), (false, expected)] = pair else { continue };
        let printed = std::fs::read_to_string(folder.join(format!("out{number}"))).unwrap();
        let is_same = printed.lines().count() == expected.lines().count()
            && printed.lines().zip(expected.lines()).all(|(a, b)| b == "..." || a == b);
        assert!(is_same, "{script}\nprints\n{printed}\nand not\n{expected}");
        compared += 1;
    }
    assert!(compared >= 9);
    std::fs::remove_dir_all(&folder).unwrap();
}
