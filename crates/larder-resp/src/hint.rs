//! Guesses at the keys of the commands in a buffer, ahead of parsing them.
//!
//! Most commands have their key as first argument. A server that knows the keys of a whole pipeline before it executes
//! the first command can have the processor load all of them at once. A wrong guess costs a little time and nothing
//! else, so this looks only at well-formed, complete arrays of bulk strings, no long ones, and stops at anything else.

/// A command with more arguments ends the guessing: going through them would take longer than it gains.
const ARGUMENTS_MAX: usize = 64;

/// The first arguments of the commands in a buffer, in order.
#[derive(Clone, Debug)]
pub struct KeyHints<'a> {
    rest: &'a [u8],
    /// Commands that are still to be looked at.
    left: usize,
}

/// What a command may work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint<'a> {
    /// Its first argument.
    pub key: &'a [u8],
    /// The two after that, as far as there are any.
    pub more: [Option<&'a [u8]>; 2],
}

impl<'a> KeyHints<'a> {
    /// Looks at the first `commands_max` commands of `bytes`, which start with one.
    pub fn new(bytes: &'a [u8], commands_max: usize) -> Self {
        KeyHints { rest: bytes, left: commands_max }
    }

    /// Takes `<sign><number>CRLF` off the front.
    #[inline]
    fn number(&mut self, sign: u8) -> Option<usize> {
        let [first, rest @ ..] = self.rest else { return None };
        if *first != sign {
            return None;
        }
        let mut number = 0;
        // Longer numbers are not worth a guess.
        for (at, &byte) in rest.iter().take(6).enumerate() {
            match byte {
                b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
                b'\r' => {
                    self.rest = rest.get(at + 2..)?;
                    return Some(number);
                }
                _ => return None,
            }
        }
        None
    }

    /// Takes a bulk string off the front.
    #[inline]
    fn bulk(&mut self) -> Option<&'a [u8]> {
        let len = self.number(b'$')?;
        let (bulk, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest.get(2..)?;
        Some(bulk)
    }

    /// The next key, with the arguments after it.
    #[inline]
    pub fn next_hint(&mut self) -> Option<Hint<'a>> {
        loop {
            self.left = self.left.checked_sub(1)?;
            let count = self.number(b'*').filter(|&count| count <= ARGUMENTS_MAX)?;
            let mut arguments = [None; 4];
            for at in 0..count {
                let argument = self.bulk()?;
                if let Some(slot) = arguments.get_mut(at) {
                    *slot = Some(argument);
                }
            }
            if let [_, Some(key), second, third] = arguments {
                return Some(Hint { key, more: [second, third] });
            }
        }
    }
}

impl<'a> Iterator for KeyHints<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.next_hint().map(|hint| hint.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_whole_commands() {
        let bytes = b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nSET\r\n$2\r\nbc\r\n$0\r\n\r\n*2\r\n$3\r\nGET\r\n$9\r\npart";
        assert_eq!(KeyHints::new(bytes, 9).collect::<Vec<_>>(), [&b"a"[..], b"bc"]);
        assert_eq!(KeyHints::new(bytes, 2).collect::<Vec<_>>(), [b"a"]);
        let mut hints = KeyHints::new(bytes, 9);
        assert_eq!(hints.next_hint(), Some(Hint { key: b"a", more: [None, None] }));
        assert_eq!(hints.next_hint(), Some(Hint { key: b"bc", more: [Some(b""), None] }));
        assert_eq!(hints.next_hint(), None);
    }

    #[test]
    fn anything_else_ends_the_guessing() {
        for bytes in [
            "",
            "GET a\r\n",
            "*",
            "*x\r\n",
            "*2\r\n:1\r\n",
            "*99999999\r\n",
            "*2\r\n$-1\r\n",
            "*0\r\n*0\r\n",
            "*2\r\n$3\r\nGET\r\n$999999\r\na",
        ] {
            assert_eq!(KeyHints::new(bytes.as_bytes(), 9).next(), None, "{bytes}");
        }
        let long = format!("*65\r\n{}", "$1\r\nx\r\n".repeat(65));
        assert_eq!(KeyHints::new(long.as_bytes(), 9).next(), None);
        for at in 0..40 {
            let whole = b"*2\r\n$3\r\nGET\r\n$5\r\nabcde\r\n*2\r\n$3\r\nGET\r\n$5\r\nabcde\r\n";
            assert!(KeyHints::new(&whole[..at], 9).count() <= 1);
        }
    }
}
