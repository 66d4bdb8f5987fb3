//! Steps of a sequence, as values and as lines of text.

use larder_testkit::{quote, words};
use std::fmt::Write as _;

/// One thing that happens to both servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A connection sends a command.
    Send {
        /// Which one.
        connection: usize,
        /// The command.
        args: Vec<Vec<u8>>,
    },
    /// A connection that waits is told to wait no longer.
    Unblock {
        /// Which one.
        connection: usize,
    },
    /// Time passes.
    Advance {
        /// This many ms.
        ms: u64,
    },
}

/// Writes a sequence, one step a line: `0> SET k v`, or `advance 100`.
pub fn to_text(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Send { connection, args } => {
                let args: Vec<String> = args.iter().map(|arg| quote(arg)).collect();
                let _ = writeln!(text, "{connection}> {}", args.join(" "));
            }
            Step::Unblock { connection } => {
                let _ = writeln!(text, "unblock {connection}");
            }
            Step::Advance { ms } => {
                let _ = writeln!(text, "advance {ms}");
            }
        }
    }
    text
}

/// Reads what [`to_text`] writes; lines that begin with `#` say something to the reader.
pub fn from_text(text: &str) -> Vec<Step> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(step_of).collect()
}

fn step_of(line: &str) -> Step {
    if let Some(ms) = line.strip_prefix("advance ") {
        return Step::Advance { ms: ms.parse().expect("a number of ms") };
    }
    if let Some(connection) = line.strip_prefix("unblock ") {
        return Step::Unblock { connection: connection.parse().expect("a connection's number") };
    }
    let (connection, command) = line.split_once("> ").expect("a connection and a command");
    Step::Send { connection: connection.parse().expect("a connection's number"), args: words(command) }
}

#[test]
fn steps_are_read_as_they_are_written() {
    let steps = vec![
        Step::Send { connection: 2, args: vec![b"SET".to_vec(), b"".to_vec(), b"\xff \"\\\r\n".to_vec()] },
        Step::Advance { ms: 7 },
        Step::Unblock { connection: 1 },
        Step::Send { connection: 0, args: vec![b"PING".to_vec()] },
    ];
    assert_eq!(from_text(&format!("# found so\n{}", to_text(&steps))), steps);
}
