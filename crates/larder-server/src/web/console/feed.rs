//! Feeds: the commands that the server executes (by MONITOR), or the messages of channels.
//!
//! A feed keeps the last [`LINES_MAX`] lines and [`BYTES_MAX`] bytes, each line cut to [`LINE_BYTES_MAX`]; the page asks for new lines. A
//! feed ends after a fixed time, and when the page stops asking. A feed of commands also counts names and keys, in tables of bounded size.

use super::json::write_text;
use larder_engine::Session;
use larder_engine::command::spec::Begin;
use larder_engine::command::table::table;
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Lines that are kept, their bytes, and those of one line.
const LINES_MAX: usize = 1000;
const BYTES_MAX: usize = 512 << 10;
const LINE_BYTES_MAX: usize = 2 << 10;
/// Different names that are counted.
const NAMES_MAX: usize = 2000;
/// Items of a message.
const ITEMS_MAX: usize = 8;
/// Names of one answer.
const TOP: usize = 20;
/// How long a feed lasts.
const COMMANDS_AT_MOST: Duration = Duration::from_secs(60);
const CHANNELS_AT_MOST: Duration = Duration::from_secs(3600);
/// It ends when it is not read for this long.
const UNREAD_MAX: Duration = Duration::from_secs(15);

/// The kinds of feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All commands of the server.
    Commands,
    /// Messages of channels.
    Channels,
}

/// A feed of a login.
pub struct Feed {
    pub session: Session,
    pub kind: Kind,
    /// The lines as JSON; the last has the number `next - 1`.
    lines: VecDeque<String>,
    bytes: usize,
    next: u64,
    commands: Counts,
    keys: Counts,
    /// Messages that the worker's clients had missed when the feed began.
    missed_before: u64,
    ends: Instant,
    read: Instant,
}

impl Feed {
    pub fn new(session: Session, kind: Kind, missed_before: u64, now: Instant) -> Feed {
        let at_most = match kind {
            Kind::Commands => COMMANDS_AT_MOST,
            Kind::Channels => CHANNELS_AT_MOST,
        };
        let (lines, commands, keys) = (VecDeque::new(), Counts::default(), Counts::default());
        let ends = now + at_most;
        Feed { session, kind, lines, bytes: 0, next: 0, commands, keys, missed_before, ends, read: now }
    }

    /// Whether the feed has lasted its time, or is not read any longer.
    pub fn is_over(&self, now: Instant) -> bool {
        now >= self.ends || now.duration_since(self.read) >= UNREAD_MAX
    }

    /// Adds a line of MONITOR, unless it is the console's own.
    pub fn add_command(&mut self, line: &[u8]) {
        let line = line.strip_prefix(b"+").unwrap_or(line);
        let line = line.strip_suffix(b"\r\n").unwrap_or(line);
        let Some(at) = memchr::memmem::find(line, b"] ") else { return };
        let (head, args) = (&line[..at], &line[at + 2..]);
        if head.ends_with(format!(" {}", self.session.shared().addr).as_bytes()) {
            return;
        }
        self.count(args);
        let mut json = String::new();
        write_text(&line[..line.len().min(LINE_BYTES_MAX)], &mut json);
        self.add(json);
    }

    fn count(&mut self, args: &[u8]) {
        let mut words = Quoted(args);
        let Some(name) = words.next() else { return };
        self.commands.add(&name.to_ascii_uppercase());
        let found = table().find(&name.to_ascii_lowercase());
        let has_key = found.is_some_and(|found| {
            found.command.keys.first().is_some_and(|keys| matches!(keys.begin, Begin::Index(1)))
        });
        if let Some(key) = words.next().filter(|_| has_key) {
            self.keys.add(&key[..key.len().min(LINE_BYTES_MAX)]);
        }
    }

    /// Adds a message: the items of a push, without its first byte.
    pub fn add_message(&mut self, at_ms: u64, body: &[u8]) {
        let items = items(body);
        let [kind, .., channel, payload] = items[..] else { return };
        let mut json = format!("{{\"at\":{at_ms},\"kind\":");
        write_text(kind, &mut json);
        json.push_str(",\"channel\":");
        write_text(&channel[..channel.len().min(LINE_BYTES_MAX)], &mut json);
        let _ = write!(json, ",\"bytes\":{},\"payload\":", payload.len());
        write_text(&payload[..payload.len().min(LINE_BYTES_MAX)], &mut json);
        json.push('}');
        self.add(json);
    }

    fn add(&mut self, json: String) {
        self.next += 1;
        self.bytes += json.len();
        self.lines.push_back(json);
        while self.lines.len() > LINES_MAX || self.bytes > BYTES_MAX {
            let Some(line) = self.lines.pop_front() else { break };
            self.bytes -= line.len();
        }
    }

    /// Writes the lines from the number `from` on, and the counts.
    pub fn write(&mut self, from: u64, missed: u64, now: Instant) -> String {
        self.read = now;
        let oldest = self.next - self.lines.len() as u64;
        let skipped = (from.max(oldest) - oldest) as usize;
        let lines: Vec<&str> = self.lines.iter().skip(skipped).map(String::as_str).collect();
        let (next, left_s) = (self.next, self.ends.saturating_duration_since(now).as_secs());
        let missed = missed - self.missed_before + oldest.saturating_sub(from);
        let mut json =
            format!("{{\"state\":\"on\",\"next\":{next},\"missed\":{missed},\"left\":{left_s},\"lines\":[");
        json.push_str(&lines.join(","));
        json.push(']');
        for (name, counts) in [("commands", &self.commands), ("keys", &self.keys)] {
            let _ = write!(json, ",\"{name}\":");
            counts.write(&mut json);
        }
        json.push('}');
        json
    }
}

/// Counts the most frequent names: when there are too many different ones, the median count is subtracted from all.
#[derive(Debug, Default)]
struct Counts(HashMap<Vec<u8>, u64>);

impl Counts {
    fn add(&mut self, name: &[u8]) {
        if let Some(count) = self.0.get_mut(name) {
            *count += 1;
            return;
        }
        self.0.insert(name.to_vec(), 1);
        if self.0.len() > NAMES_MAX {
            let mut counts: Vec<u64> = self.0.values().copied().collect();
            let middle = counts.len() / 2;
            let median = *counts.select_nth_unstable(middle).1;
            self.0.retain(|_, count| {
                *count = count.saturating_sub(median);
                *count > 0
            });
        }
    }

    fn write(&self, out: &mut String) {
        let mut top: Vec<(&Vec<u8>, &u64)> = self.0.iter().collect();
        top.sort_unstable_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
        out.push('[');
        for (at, (name, count)) in top.into_iter().take(TOP).enumerate() {
            out.push_str(if at > 0 { ",[" } else { "[" });
            write_text(name, out);
            let _ = write!(out, ",{count}]");
        }
        out.push(']');
    }
}

/// The arguments of a line of MONITOR, which are quoted.
struct Quoted<'l>(&'l [u8]);

impl Iterator for Quoted<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let rest = self.0.trim_ascii_start().strip_prefix(b"\"")?;
        let (mut word, mut at) = (Vec::new(), 0);
        loop {
            match *rest.get(at)? {
                b'"' => break,
                b'\\' => {
                    let (byte, len) = unescape(&rest[at + 1..])?;
                    word.push(byte);
                    at += 1 + len;
                }
                byte => {
                    word.push(byte);
                    at += 1;
                }
            }
        }
        self.0 = &rest[at + 1..];
        Some(word)
    }
}

/// The byte of an escape without its backslash, and how many bytes the escape takes.
fn unescape(rest: &[u8]) -> Option<(u8, usize)> {
    Some(match *rest.first()? {
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'a' => (7, 1),
        b'b' => (8, 1),
        b'x' => {
            let digits = std::str::from_utf8(rest.get(1..3)?).ok()?;
            (u8::from_str_radix(digits, 16).ok()?, 3)
        }
        byte => (byte, 1),
    })
}

/// The bulk strings of an array without its first byte; empty if it is none.
fn items(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut read = || {
        let count = number(&mut rest, b"")?;
        (0..count.min(ITEMS_MAX)).map(|_| bulk(&mut rest)).collect::<Option<Vec<&[u8]>>>()
    };
    read().unwrap_or_default()
}

fn bulk<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let len = number(rest, b"$")?;
    let item = rest.get(..len)?;
    *rest = rest.get(len..)?.strip_prefix(b"\r\n")?;
    Some(item)
}

/// The number on a line after a sign.
fn number(rest: &mut &[u8], sign: &[u8]) -> Option<usize> {
    let end = memchr::memmem::find(rest, b"\r\n")?;
    let digits = std::str::from_utf8(rest[..end].strip_prefix(sign)?).ok()?;
    *rest = &rest[end + 2..];
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_monitor_are_read() {
        let words = |line: &'static [u8]| Quoted(line).collect::<Vec<Vec<u8>>>();
        assert_eq!(words(b"\"GET\" \"a b\""), [b"GET".to_vec(), b"a b".to_vec()]);
        assert_eq!(words(b"\"SET\" \"\\x00\\xff\\n\\\"\\\\\""), [b"SET".to_vec(), b"\0\xff\n\"\\".to_vec()]);
        for broken in [&b""[..], b"\"", b"\"\\", b"\"\\x", b"\"\\xf", b"\"\\xzz\"", b"GET"] {
            assert_eq!(Quoted(broken).count(), 0, "{broken:?}");
        }
    }

    #[test]
    fn messages_are_read() {
        let body = b"3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$4\r\n\r\n$1\r\n";
        assert_eq!(items(body), [&b"message"[..], b"ch", b"\r\n$1"]);
        for broken in
            [&b""[..], b"3", b"3\r\n", b"1\r\n$9\r\nab\r\n", b"1\r\n$1\r\nab\r\n", b"1\r\n:1\r\n", b"x\r\n"]
        {
            assert!(items(broken).is_empty(), "{broken:?}");
        }
    }

    #[test]
    fn frequent_names_are_found_among_many() {
        let mut counts = Counts::default();
        for n in 0..100_000_u32 {
            counts.add(&n.to_le_bytes());
            if n % 20 == 0 {
                counts.add(b"hot");
            }
            assert!(counts.0.len() <= NAMES_MAX + 1);
        }
        let mut json = String::new();
        counts.write(&mut json);
        assert!(json.starts_with("[[\"hot\","), "{json}");
    }
}
