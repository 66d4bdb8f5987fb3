//! A disk that fails: what is not kept is said, and what was said to be kept is there.
//!
//! The store is in a child, this test once more, since the library that makes the disk fail is loaded when a program starts. Lines on its
//! standard input are commands; it answers each with a line.

use super::{Dir, child_command, store_of_child};
use larder_embed::Error;
use larder_testkit::FaultyDisk;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

#[test]
fn child() {
    let Some(store) = store_of_child() else { return };
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("it is text");
        let words: Vec<&str> = line.split(' ').collect();
        let outcome = match words[..] {
            ["close"] => store.close().map(|()| String::new()),
            ["sync"] => store.sync().map(|()| String::new()),
            _ => store.command(&words).map(|reply| format!("{reply:?}")),
        };
        let answer = match outcome {
            Ok(reply) => format!("ok {reply}"),
            Err(Error::NotKept(reason)) => format!("not kept {reason}"),
            Err(Error::Write(reason)) => format!("not written {reason}"),
            Err(other) => format!("error {other}"),
        };
        let line = format!("\nanswer {answer}\n");
        std::io::stdout().lock().write_all(line.as_bytes()).expect("somebody reads");
    }
}

/// A program with a store on a disk that may fail.
struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    disk: FaultyDisk,
}

impl Program {
    fn start(dir: &Dir, policy: &str) -> Program {
        let disk = FaultyDisk::default();
        let mut child = child_command("faults::child", &dir.0, policy)
            .envs(disk.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("it is a pipe");
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Program { child, input, output, disk }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").expect("it reads");
        loop {
            let mut answer = String::new();
            assert!(self.output.read_line(&mut answer).expect("it is text") > 0, "{line}: it has ended");
            if let Some(answer) = answer.strip_prefix("answer ") {
                return answer.trim_end().to_owned();
            }
        }
    }

    fn end(self) {
        let Program { mut child, input, mut output, disk: _disk } = self;
        drop(input);
        // It prints how the test has ended.
        output.read_to_end(&mut Vec::new()).expect("it is read");
        assert!(child.wait().expect("it has ended").success());
    }
}

#[test]
fn a_sync_that_fails_is_told_with_always_and_no_write_is_taken_afterwards() {
    for (call, error, text) in
        [("sync", EIO, "Input/output error"), ("write", ENOSPC, "No space left on device")]
    {
        let dir = Dir::new();
        let mut program = Program::start(&dir, "always");
        assert_eq!(program.ask("SET kept 1"), "ok Status(\"OK\")");
        program.disk.fail(&format!("{call} .incr.aof {error}\n"));
        assert_eq!(program.ask("SET lost 1"), format!("not kept {text}"), "{call}");
        let refusal = format!("error MISCONF Errors writing to the AOF file: {text}");
        assert_eq!(program.ask("SET refused 1"), refusal, "{call}");
        assert_eq!(program.ask("GET kept"), "ok Bytes([49])");
        // Nobody knows what a disk keeps that has failed: it is not tried again.
        program.disk.heal();
        assert_eq!(program.ask("SET refused 1"), refusal, "{call}");
        assert_eq!(program.ask("close"), "ok");
        program.end();
        let store = dir.open_logged();
        assert!(store.exists("kept").unwrap() && !store.exists("refused").unwrap(), "{call}");
        store.set("refused", "2").unwrap();
    }
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    let dir = Dir::new();
    let mut program = Program::start(&dir, "everysec");
    assert_eq!(program.ask("SET kept 1"), "ok Status(\"OK\")");
    program.disk.fail(&format!("write .incr.aof {ENOSPC}\n"));
    // As on the server, the write that meets the fault is answered, and waits for the disk.
    assert_eq!(program.ask("SET waits 1"), "ok Status(\"OK\")");
    let refusal = "error MISCONF Errors writing to the AOF file: No space left on device";
    assert_eq!(program.ask("SET refused 1"), refusal);
    assert_eq!(program.ask("close"), "not written No space left on device");
    assert_eq!(program.ask("GET waits"), "ok Bytes([49])", "it is still open");
    program.disk.heal();
    let deadline = std::time::Instant::now() + super::PATIENCE;
    while program.ask("SET later 1") == refusal {
        assert!(std::time::Instant::now() < deadline, "it does not recover");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(program.ask("sync"), "ok");
    assert_eq!(program.ask("close"), "ok");
    program.end();
    let store = dir.open_logged();
    for (key, is_kept) in [("kept", true), ("waits", true), ("refused", false), ("later", true)] {
        assert_eq!(store.exists(key).unwrap(), is_kept, "{key}");
    }
}
