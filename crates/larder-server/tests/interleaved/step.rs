//! Steps of a sequence, as values and as lines of text.

use larder_testkit::{quote, words};
use std::fmt::Write as _;

/// One event that both servers see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A connection sends a command. A connection that was closed is opened again first.
    Send {
        /// The connection's number.
        connection: usize,
        /// The command; `%2` is replaced by the id of connection 2, `@2` by its address.
        args: Vec<Vec<u8>>,
        /// Whether the command is written together with the next one of this connection.
        joins_next: bool,
    },
    /// A connection is closed by the client.
    Close {
        /// The connection's number.
        connection: usize,
    },
    /// Time passes.
    Advance {
        /// Milliseconds.
        ms: u64,
    },
    /// Both servers load their append-only files, and the data is compared.
    Reload,
}

/// The number of connections that a sequence uses.
pub fn connections(steps: &[Step]) -> usize {
    let last = steps.iter().map(|step| match step {
        Step::Send { connection, .. } | Step::Close { connection } => connection + 1,
        Step::Advance { .. } | Step::Reload => 0,
    });
    last.max().unwrap_or(0).max(3)
}

/// Writes a sequence, one step a line: `0> SET k v`, `0| SET k v` if it is written together with the next command of the
/// connection, `close 0`, `advance 100` or `reload`.
pub fn to_text(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        let _ = match step {
            Step::Send { connection, args, joins_next } => {
                let sign = if *joins_next { '|' } else { '>' };
                let args: Vec<String> = args.iter().map(|arg| quote(arg)).collect();
                writeln!(text, "{connection}{sign} {}", args.join(" "))
            }
            Step::Close { connection } => writeln!(text, "close {connection}"),
            Step::Advance { ms } => writeln!(text, "advance {ms}"),
            Step::Reload => writeln!(text, "reload"),
        };
    }
    text
}

/// Reads what [`to_text`] writes; lines that begin with `#` are comments.
pub fn from_text(text: &str) -> Vec<Step> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(step_of).collect()
}

fn step_of(line: &str) -> Step {
    if let Some(ms) = line.strip_prefix("advance ") {
        return Step::Advance { ms: ms.parse().expect("a number of ms") };
    }
    if let Some(connection) = line.strip_prefix("close ") {
        return Step::Close { connection: connection.parse().expect("a connection's number") };
    }
    if line == "reload" {
        return Step::Reload;
    }
    let sign = line.find(['>', '|']).expect("a connection and a command");
    let connection = line[..sign].parse().expect("a connection's number");
    let joins_next = line[sign..].starts_with('|');
    Step::Send { connection, args: words(&line[sign + 1..]), joins_next }
}

#[test]
fn steps_are_read_as_they_are_written() {
    let text = "0| SET \"\" \"\\xff \\\"\\\\\\x0d\\x0a\"\n0> GET %1\nadvance 7\nclose 3\nreload\n";
    assert_eq!(to_text(&from_text(&format!("# a comment\n{text}"))), text);
}
