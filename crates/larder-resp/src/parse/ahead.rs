//! The commands of a pipeline, found before their turn.
//!
//! Who knows the keys of the next commands while it executes the first one can have the processor load what they will read.
//! To find them costs nothing, as each is parsed once: [`Parser::next`] goes on with what was found.

use super::{Limits, Parser};
use crate::args::{Args, Span};
use std::slice;

/// No more commands are looked for when those that were found have this many arguments.
const ARGUMENTS_MAX: usize = 1024;

/// A command that was found before its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    /// Where its arguments end among those of all.
    pub spans_end: usize,
    /// Bytes that it takes.
    pub bytes: usize,
}

/// Commands that were found before their turn, in order.
#[derive(Clone, Debug)]
pub struct Ahead<'a> {
    /// The buffer from the next command on.
    rest: &'a [u8],
    spans: &'a [Span],
    spans_start: usize,
    wholes: slice::Iter<'a, Whole>,
}

impl Parser {
    /// Looks for whole commands at the start of `buf`, `commands_max` at most: plain ones, as [`Parser::next`] finds most of them. Does nothing
    /// within a command. O(n) of the bytes of the commands that are found, which is saved later.
    ///
    /// The next calls of [`Parser::next`] must get the same buffer without what has been consumed, until [`Parser::has_ahead`] is false or
    /// [`Parser::forget_ahead`] was called.
    pub fn look_ahead(&mut self, buf: &[u8], limits: &Limits, commands_max: usize) {
        self.forget_ahead();
        if self.is_pending() || !limits.authenticated {
            return;
        }
        self.start();
        let mut rest = buf;
        while self.ahead.len() < commands_max && self.spans.len() < ARGUMENTS_MAX {
            let Some(bytes) = self.add_whole(rest, limits) else { break };
            self.ahead.push(Whole { spans_end: self.spans.len(), bytes });
            rest = &rest[bytes..];
        }
    }

    /// Whether [`Parser::next`] has the next command already.
    #[inline]
    pub fn has_ahead(&self) -> bool {
        self.taken < self.ahead.len()
    }

    /// What [`Parser::look_ahead`] has found in `buf` and [`Parser::next`] has not returned yet.
    pub fn ahead<'a>(&'a self, buf: &'a [u8]) -> Ahead<'a> {
        Ahead {
            rest: buf,
            spans: &self.spans,
            spans_start: self.ahead_start(),
            wholes: self.ahead[self.taken..].iter(),
        }
    }

    /// Forgets it: the buffer is to be given again from a command on that has been returned, or changes.
    pub fn forget_ahead(&mut self) {
        self.ahead.clear();
        self.taken = 0;
    }

    /// Where the arguments of the next one begin among those of all.
    #[inline]
    pub(super) fn ahead_start(&self) -> usize {
        match self.taken {
            0 => 0,
            taken => self.ahead[taken - 1].spans_end,
        }
    }
}

impl<'a> Iterator for Ahead<'a> {
    type Item = Args<'a>;

    #[inline]
    fn next(&mut self) -> Option<Args<'a>> {
        let whole = self.wholes.next()?;
        let args = Args::new(self.rest, &self.spans[self.spans_start..whole.spans_end]);
        self.spans_start = whole.spans_end;
        self.rest = &self.rest[whole.bytes..];
        Some(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::Parsed;

    const LIMITS: Limits = Limits { bulk_bytes_max: 512 << 20, authenticated: true };
    const BYTES: &[u8] =
        b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n*0\r\n*3\r\n$3\r\nSET\r\n$2\r\nbc\r\n$0\r\n\r\n*2\r\n$3\r\nGET\r\n$9\r\npart";

    fn words(args: Args<'_>) -> Vec<String> {
        args.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// All commands that `next` returns, with `limits` for each.
    fn rest_of(parser: &mut Parser, mut bytes: &[u8], limits: &Limits) -> (Vec<Vec<String>>, usize) {
        let mut all = Vec::new();
        while let Ok(Parsed::Command { args, consumed }) = parser.next(bytes, limits) {
            all.push(words(args));
            bytes = &bytes[consumed..];
        }
        (all, bytes.len())
    }

    #[test]
    fn what_is_found_ahead_is_what_comes() {
        let expected: [&[&str]; 4] = [&["GET", "a"], &["PING"], &[], &["SET", "bc", ""]];
        for max in 0..6 {
            let mut parser = Parser::new();
            parser.look_ahead(BYTES, &LIMITS, max);
            let found: Vec<_> = parser.ahead(BYTES).map(words).collect();
            assert_eq!(found, expected[..max.min(4)]);
            assert_eq!(parser.has_ahead(), max > 0);
            let (all, left) = rest_of(&mut parser, BYTES, &LIMITS);
            assert_eq!(
                (all.as_slice(), left),
                (&expected.map(|words| words.iter().map(ToString::to_string).collect())[..], 21)
            );
            assert!(!parser.has_ahead() && parser.is_pending());
            parser.look_ahead(BYTES, &LIMITS, max);
            assert!(!parser.has_ahead(), "within a command");
        }
    }

    #[test]
    fn what_is_left_is_found_ahead_of_the_second() {
        let mut parser = Parser::new();
        parser.look_ahead(BYTES, &LIMITS, 3);
        let Ok(Parsed::Command { consumed, .. }) = parser.next(BYTES, &LIMITS) else { panic!("it is whole") };
        let rest = &BYTES[consumed..];
        assert_eq!(parser.ahead(rest).map(words).collect::<Vec<_>>(), [vec!["PING".to_owned()], vec![]]);
        // Begun again from the first.
        parser.forget_ahead();
        assert_eq!(rest_of(&mut parser, BYTES, &LIMITS).0.len(), 4);
    }

    #[test]
    fn who_has_to_authenticate_again_is_held_to_the_limits() {
        let args = "$1\r\nx\r\n".repeat(20);
        let bytes = format!("*1\r\n$5\r\nRESET\r\n*20\r\n{args}");
        let mut parser = Parser::new();
        parser.look_ahead(bytes.as_bytes(), &LIMITS, 9);
        let Ok(Parsed::Command { consumed, .. }) = parser.next(bytes.as_bytes(), &LIMITS) else {
            panic!("it is whole")
        };
        let stranger = Limits { authenticated: false, ..LIMITS };
        assert!(parser.has_ahead());
        assert!(parser.next(&bytes.as_bytes()[consumed..], &stranger).is_err());
        assert!(!parser.has_ahead());
        parser.look_ahead(bytes.as_bytes(), &stranger, 9);
        assert!(!parser.has_ahead());
    }

    #[test]
    fn anything_else_ends_the_search() {
        for bytes in [
            "",
            "GET a\r\n",
            "*",
            "*x\r\n",
            "*2\r\n:1\r\n",
            "*99999\r\n",
            "*2\r\n$-1\r\n",
            "*1\r\n$1\r\nab\r\n",
        ] {
            let mut parser = Parser::new();
            parser.look_ahead(bytes.as_bytes(), &LIMITS, 9);
            assert!(!parser.has_ahead(), "{bytes}");
        }
        let many = format!("*600\r\n{}", "$1\r\nx\r\n".repeat(600)).repeat(4);
        let mut parser = Parser::new();
        parser.look_ahead(many.as_bytes(), &LIMITS, 9);
        assert_eq!(parser.ahead(many.as_bytes()).map(|args| args.len()).collect::<Vec<_>>(), [600, 600]);
        assert_eq!(rest_of(&mut parser, many.as_bytes(), &LIMITS).0.len(), 4);
    }
}
