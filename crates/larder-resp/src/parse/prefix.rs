//! Whether bytes that are not a whole command are the beginning of one.
//!
//! The parser of a connection waits for the end of a line before it judges the line. A file that ends within a line has to be
//! judged without that end: a torn command may be cut off, anything else must not.

use super::number;
use std::ops::RangeInclusive;

/// Returns whether `bytes` are the beginning of a multibulk command, short of its end: whether some continuation makes them a
/// command that [`Parser`](super::Parser) accepts. The empty slice is such a beginning, a whole command is not.
///
/// O(number of arguments).
pub fn begins_command(bytes: &[u8]) -> bool {
    let Some(header) = Header::read(b'*', &(1..=i64::from(i32::MAX)), bytes) else { return false };
    let Header::Whole { number, mut rest } = header else { return true };
    for _ in 0..number {
        let Some(header) = Header::read(b'$', &(0..=i64::MAX), rest) else { return false };
        let Header::Whole { number, rest: argument } = header else { return true };
        let len = usize::try_from(number).expect("it has no sign");
        let Some((_, end)) = argument.split_at_checked(len) else { return true };
        if end.len() < 2 {
            return b"\r\n".starts_with(end);
        }
        let Some(next) = end.strip_prefix(b"\r\n") else { return false };
        rest = next;
    }
    false
}

/// The line with a count or a length.
enum Header<'b> {
    /// The bytes end within it.
    Torn,
    Whole {
        number: i64,
        /// The bytes after it.
        rest: &'b [u8],
    },
}

impl<'b> Header<'b> {
    /// Reads a line that begins with `kind` and has a number in `range`. `None`: it is not such a line. (A number out of range does
    /// not get into it by more digits.)
    fn read(kind: u8, range: &RangeInclusive<i64>, bytes: &'b [u8]) -> Option<Header<'b>> {
        let Some((&first, line)) = bytes.split_first() else { return Some(Header::Torn) };
        if first != kind {
            return None;
        }
        let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, end) = line.split_at(digits);
        let number = number::parse(digits).filter(|number| range.contains(number));
        match end {
            [] if digits.is_empty() => Some(Header::Torn),
            [] | [b'\r'] => number.map(|_| Header::Torn),
            [b'\r', b'\n', rest @ ..] => number.map(|number| Header::Whole { number, rest }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Parsed, Parser, encode_command};

    const LIMITS: Limits = Limits { bulk_bytes_max: u64::MAX, authenticated: true };

    fn commands() -> Vec<Vec<u8>> {
        let long = "x".repeat(12_345);
        let all: [&[&str]; 5] =
            [&["SET", "key", "value"], &[""], &["A", "", ""], &["SET", "k", &long], &["x"; 12]];
        let encode = |words: &&[&str]| {
            let mut bytes = Vec::new();
            encode_command(&mut bytes, words.iter().map(|word| word.as_bytes()));
            bytes
        };
        all.iter().map(encode).collect()
    }

    #[test]
    fn every_cut_of_a_command_begins_one() {
        for command in commands() {
            for len in 0..command.len() {
                assert!(
                    begins_command(&command[..len]),
                    "{len} bytes of {:?}",
                    &command[..command.len().min(60)]
                );
            }
            assert!(!begins_command(&command), "a whole command is no beginning");
        }
    }

    #[test]
    fn damaged_commands_do_not() {
        for bad in [
            &b"*0\r\n"[..],
            b"*0",
            b"*-1\r\n",
            b"*+3",
            b"* 3",
            b"*03\r",
            b"*3x",
            b"*\0",
            b"*\r",
            b"*3\n$3\nSET",
            b"*3\r$3",
            b"*3\r\n*1",
            b"*3\r\n\r\n",
            b"*3\r\n#",
            b"*2147483648\r\n",
            b"*2147483648",
            b"*99999999999999999999",
            b"*1\r\n$-1\r\n",
            b"*1\r\n$9223372036854775808",
            b"*1\r\n$5\0\0\0",
            b"*2\r\n$3\r\nSETxx",
            b"*2\r\n$3\r\nSET\n",
            b"*2\r\n$3\r\nSET\r\r",
            b"PING",
            b"\0",
            b"\r\n",
        ] {
            assert!(!begins_command(bad), "{:?}", String::from_utf8_lossy(bad));
        }
        assert!(begins_command(b"*3\r\n$3\r\nSET\r\n$9223372036854775807\r\nabc"));
    }

    /// With random damages: what is called a beginning must not be refused by the parser, and what is refused must not be called one.
    #[test]
    fn agrees_with_the_parser() {
        let seed = larder_testkit::seed(1);
        let mut rng = fastrand::Rng::with_seed(seed);
        let commands = commands();
        let mut torn = 0;
        for round in 0..20_000 {
            let mut bytes = commands[rng.usize(..commands.len())].clone();
            bytes.truncate(rng.usize(..bytes.len().min(80)) + 1);
            for _ in 0..rng.usize(..3) {
                let at = rng.usize(..bytes.len());
                bytes[at] = rng.choice(*b"\r\n\0*$0129 -x").expect("there are some");
            }
            let mut parser = Parser::new();
            let parsed = if bytes[0] == b'*' { parser.next(&bytes, &LIMITS).ok() } else { None };
            let begins = begins_command(&bytes);
            torn += u32::from(begins);
            let place = format!("seed {seed}, round {round}: {:?}", String::from_utf8_lossy(&bytes));
            // Until the end of a line the parser has no opinion.
            assert!(!begins || matches!(parsed, Some(Parsed::Incomplete)), "{place}");
        }
        assert!(torn > 2_000, "only {torn} of the beginnings were taken");
    }
}
