//! Servers end with the process of the tests, however that ends; and not with the thread that has started them.

use larder_testkit::{Server, wait_until};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

/// Says to the child that it is one.
const CHILD: &str = "LARDER_TESTKIT_CHILD";

/// Whether a process is there and has not ended.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .and_then(|rest| rest.trim_start().chars().next())
        .is_some_and(|state| state != 'Z')
}

/// The child: starts a server in a thread that ends, says where it is, and waits.
#[test]
fn child() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    let server = thread::spawn(|| Server::redis(&[])).join().unwrap();
    // It has outlived the thread.
    assert!(server.client().ask("PING").text() == "PONG");
    println!("\nserver {} {}", server.pid(), server.dir().display());
    loop {
        thread::park();
    }
}

#[test]
fn servers_end_when_the_tests_are_killed() {
    for signal in ["KILL", "TERM", "INT", "ABRT"] {
        let mut tests = Command::new(env::current_exe().unwrap());
        tests.args(["child", "--exact", "--nocapture"]).env(CHILD, "yes").stdout(Stdio::piped());
        let mut child = tests.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.map_while(Result::ok).find(|line| line.starts_with("server ")).unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let (pid, dir): (u32, PathBuf) = (words[1].parse().unwrap(), words[2].into());
        assert!(runs(pid));
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        assert!(!child.wait().unwrap().success());
        wait_until(&format!("the server has ended after {signal}"), || !runs(pid));
        fs::remove_dir_all(dir).unwrap();
    }
}
