//! Processes that end when the one that started them does, by whatever signal.
//!
//! A server ends with its `Drop`, which a process that is killed does not run. So the first server that a process starts brings a watcher
//! along: a shell that reads the numbers of processes from a pipe. Only this process can write to the pipe; when it has ended, the watcher
//! reads the end, and kills every process that is still the one of the number (numbers are used again; when a process began says which it
//! is). The watcher is in a process group of its own, so that what ends the tests of a terminal does not end it first.
//!
//! A child says its own number before it becomes the server, so there is no moment at which nobody knows of it. The kernel's
//! own way, `PR_SET_PDEATHSIG`, is none: it ends the child with the *thread* that started it, and tests start servers in threads and
//! hand them on.

use std::io::{PipeWriter, pipe};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Reads numbers to the end, each with the time when the process began, and then kills those that are there.
const WATCH: &str = r#"
trap '' HUP INT TERM
began() { at=; read -r line < "/proc/$1/stat" && set -- ${line##*) } && at=${20}; }
while read -r pid; do began "$pid"; all="$all $pid:$at"; done
for one in $all; do
    began "${one%:*}"
    [ -n "$at" ] && [ "$at" = "${one#*:}" ] && kill -KILL "${one%:*}"
done
"#;

/// Says its number, and becomes the program, whose output is appended to a file.
const START: &str = r#"echo $$; exec "$@" >>"$0""#;

/// A command that runs `program`, with its output at the end of the file `log`, until it ends or this process does. Its arguments
/// are added to it; its input and its errors are for the caller to set.
pub fn watched(program: &str, log: &Path) -> Command {
    let is_path = program.contains('/');
    assert!(!is_path || Path::new(program).exists(), "{program} does not start: it is not there");
    let numbers = watcher().try_clone().expect("a pipe can be cloned");
    let mut command = Command::new("sh");
    command.args(["-c", START]).arg(log).arg(program).stdout(numbers);
    command
}

/// The pipe to the watcher of this process, which is started with the first call.
#[expect(clippy::zombie_processes, reason = "the watcher ends after this process, which cannot wait for it")]
fn watcher() -> &'static PipeWriter {
    static WATCHER: OnceLock<PipeWriter> = OnceLock::new();
    WATCHER.get_or_init(|| {
        let (numbers, writer) = pipe().expect("there is room for a pipe");
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCH]).stdin(numbers).stdout(Stdio::null()).stderr(Stdio::null());
        shell.process_group(0).spawn().expect("there is a shell");
        writer
    })
}
