//! The connection of the heavy commands, which reads replies of any size and keeps their beginnings, and what those must be.

use crate::connect::connect;
use crate::resp::Replies;
use crate::rows::template::scaled;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Bytes of one read: the fewer calls the better.
const READ_BYTES: usize = 1 << 20;
/// Bytes that are kept of the beginning of the replies.
const HEAD_BYTES: usize = 512;

/// A number of elements or bytes: some times a number that is scaled, and some that are not.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    times: u64,
    full: u64,
    more: u64,
}

/// What a command must answer.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// This status.
    Status(&'static str),
    /// Any integer.
    Integer,
    /// This integer.
    Number(Count),
    /// A string of this many bytes.
    Bytes(Count),
    /// A string of one byte or more.
    SomeBytes,
    /// Null.
    Null,
    /// An array of this many items.
    Items(Count),
    /// A cursor and a page of half to three times this many items: servers return whole buckets.
    Page(Count),
}

/// A number of elements at full scale.
pub const fn n(full: u64) -> Count {
    Count { times: 1, full, more: 0 }
}

/// A number that is not scaled.
pub const fn exactly(number: u64) -> Count {
    Count { times: 0, full: 0, more: number }
}

impl Count {
    /// The same, multiplied after it has been scaled.
    pub const fn times(mut self, times: u64) -> Self {
        self.times *= times;
        self
    }

    /// The same and this many.
    pub const fn plus(mut self, more: u64) -> Self {
        self.more += more;
        self
    }

    /// The number at a scale.
    pub fn at(self, scale: f64) -> u64 {
        let own = if self.times == 0 { 0 } else { self.times * scaled(self.full, scale) };
        own + self.more
    }
}

/// The beginning of the last of some replies.
#[derive(Debug, PartialEq)]
pub struct Answer {
    head: String,
}

impl Answer {
    /// The beginning of some replies, of which the last one counts. Those before it are of one line each.
    fn of(head: &[u8], replies: usize) -> Self {
        let text = String::from_utf8_lossy(head);
        let last = text.splitn(replies.max(1), "\r\n").last().unwrap_or_default();
        Answer { head: last.to_owned() }
    }

    /// Whether this is what is wanted.
    pub fn is(&self, wanted: Wanted, scale: f64) -> bool {
        let mut lines = self.head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let number = |sign: char| first.strip_prefix(sign).and_then(|digits| digits.parse::<u64>().ok());
        match wanted {
            Wanted::Status(text) => first.strip_prefix('+') == Some(text),
            Wanted::Integer => first.strip_prefix(':').is_some_and(|digits| digits.parse::<i64>().is_ok()),
            Wanted::Number(count) => number(':') == Some(count.at(scale)),
            Wanted::Bytes(count) => number('$') == Some(count.at(scale)),
            Wanted::SomeBytes => number('$').is_some_and(|length| length > 0),
            Wanted::Null => ["$-1", "*-1"].contains(&first),
            Wanted::Items(count) => number('*') == Some(count.at(scale)),
            Wanted::Page(count) => {
                let items = lines.nth(2).and_then(|line| line.strip_prefix('*')?.parse::<u64>().ok());
                let about = count.at(scale) / 2..=count.at(scale) * 3;
                first == "*2" && items.is_some_and(|items| about.contains(&items))
            }
        }
    }

    /// Its first line, for messages.
    pub fn first_line(&self) -> &str {
        self.head.split("\r\n").next().unwrap_or_default()
    }
}

/// A connection on which a command is sent and its replies are read, of which only the beginning is kept.
pub struct Caller {
    stream: TcpStream,
    replies: Replies,
    buffer: Vec<u8>,
}

impl Caller {
    /// Connects to a port of this machine.
    pub fn connect(port: u16) -> io::Result<Self> {
        Ok(Caller { stream: connect(port)?, replies: Replies::default(), buffer: vec![0; READ_BYTES] })
    }

    /// Sends a request and reads the replies to its end. An error among them, at any depth, is an error.
    pub fn call(&mut self, request: &Request) -> io::Result<Answer> {
        self.stream.write_all(&request.bytes)?;
        self.replies.expect(request.replies as u64);
        let mut head = Vec::new();
        while self.replies.owed() > 0 {
            let count = self.stream.read(&mut self.buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let kept = count.min(HEAD_BYTES - head.len());
            head.extend_from_slice(&self.buffer[..kept]);
            self.replies.feed(&self.buffer[..count]);
        }
        match self.replies.take_error() {
            Some(error) => Err(io::Error::other(error)),
            None => Ok(Answer::of(&head, request.replies)),
        }
    }
}

/// Some commands, framed.
#[derive(Debug, Default, PartialEq)]
pub struct Request {
    /// What is sent.
    pub bytes: Vec<u8>,
    /// Commands in it.
    pub replies: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str, replies: usize) -> Answer {
        Answer::of(text.as_bytes(), replies)
    }

    #[test]
    fn answers_are_told_apart() {
        let all = [
            (Wanted::Status("OK"), "+OK\r\n"),
            (Wanted::Integer, ":-1\r\n"),
            (Wanted::Number(n(2000)), ":2000\r\n"),
            (Wanted::Bytes(n(2000).plus(1)), "$2001\r\nxxxxx"),
            (Wanted::SomeBytes, "$1\r\n"),
            (Wanted::Null, "$-1\r\n"),
            (Wanted::Items(n(1000).times(2)), "*2000\r\n$1\r\nx\r\n"),
            (Wanted::Page(n(1000)), "*2\r\n$1\r\n0\r\n*1500\r\n$1"),
        ];
        for (at, (wanted, text)) in all.into_iter().enumerate() {
            assert!(answer(text, 1).is(wanted, 1.0), "{wanted:?}");
            let others = all.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, (_, text)) in others.filter(|(_, (other, _))| !matches!(other, Wanted::Number(_))) {
                // A long string is some bytes.
                let is_string = matches!(wanted, Wanted::SomeBytes) && text.starts_with("$2");
                assert!(is_string || !answer(text, 1).is(wanted, 1.0), "{wanted:?}: {text}");
            }
            for text in
                ["-ERR no\r\n", "", "$0\r\n\r\n", "*2\r\n$1\r\n0\r\n*499\r\n", "*2\r\n$1\r\n0\r\n*3001\r\n"]
            {
                assert!(!answer(text, 1).is(wanted, 1.0), "{wanted:?}: {text}");
            }
        }
    }

    #[test]
    fn the_last_reply_counts() {
        let replies = answer("+OK\r\n+QUEUED\r\n*1\r\n:5\r\n", 3);
        assert!(replies.is(Wanted::Items(exactly(1)), 1.0) && replies.first_line() == "*1");
    }

    #[test]
    fn counts_are_scaled() {
        assert_eq!(n(500_000).times(3).plus(1).at(0.1), 150_001);
        assert_eq!((exactly(3).at(0.1), n(500_000).at(0.0001)), (3, 1000));
    }
}
