//! What a client that debugs sends: arrays of bulk strings, all of them short.

/// A command and its arguments.
pub(super) type Request = Vec<Vec<u8>>;

/// Arguments of a command, and bytes of each.
const MAX: usize = 1024;

/// What the bytes so far are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// A command, and how many bytes it took.
    Request(Request, usize),
    /// The beginning of one.
    Incomplete,
    /// Nothing that the debugger understands.
    Wrong,
}

/// Looks for a command at the beginning of `bytes`. O(bytes), of which there are at most about 1 MB.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut at = 0;
    let count = match number(bytes, &mut at, b'*') {
        Ok(count) => count,
        Err(other) => return other,
    };
    let mut request = Vec::new();
    for _ in 0..count {
        let len = match number(bytes, &mut at, b'$') {
            Ok(len) => len,
            Err(other) => return other,
        };
        match bytes.get(at..at + len + 2) {
            None => return Parsed::Incomplete,
            Some(text) => request.push(text[..len].to_vec()),
        }
        at += len + 2;
    }
    Parsed::Request(request, at)
}

/// A line of `kind` with a number from 1 to [`MAX`].
fn number(bytes: &[u8], at: &mut usize, kind: u8) -> Result<usize, Parsed> {
    let rest = &bytes[*at..];
    match rest.first() {
        None => return Err(Parsed::Incomplete),
        Some(first) if *first != kind => return Err(Parsed::Wrong),
        Some(_) => {}
    }
    let digits = &rest[1..rest.len().min(8)];
    let Some(end) = digits.iter().position(|&b| b == b'\r') else {
        return Err(if digits.len() < 7 { Parsed::Incomplete } else { Parsed::Wrong });
    };
    let number = std::str::from_utf8(&digits[..end]).ok().and_then(|text| text.parse().ok());
    *at += end + 3;
    if *at > bytes.len() {
        return Err(Parsed::Incomplete);
    }
    number.filter(|number| (1..=MAX).contains(number)).ok_or(Parsed::Wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_any_pieces() {
        let bytes = b"*2\r\n$5\r\nprint\r\n$1\r\nx\r\n*1\r\n$1\r\ns\r\n";
        let Parsed::Request(request, used) = parse(bytes) else { panic!("a whole command") };
        assert_eq!((request, used), (vec![b"print".to_vec(), b"x".to_vec()], 22));
        assert_eq!(parse(&bytes[22..]), Parsed::Request(vec![b"s".to_vec()], 11));
        for end in 0..22 {
            assert_eq!(parse(&bytes[..end]), Parsed::Incomplete, "{end}");
        }
    }

    #[test]
    fn what_is_no_command() {
        for wrong in [
            "s\r\n",
            "*0\r\n",
            "*-1\r\n",
            "*x\r\n",
            "*1025\r\n",
            "*99999999999999",
            "*1\r\n$-1\r\n",
            "*1\r\n$0\r\n\r\n",
            "*1\r\n$1025\r\n",
            "*1\r\n:1\r\n",
        ] {
            assert_eq!(parse(wrong.as_bytes()), Parsed::Wrong, "{wrong:?}");
        }
        assert_eq!(parse(b"*1024\r\n$1024\r\n"), Parsed::Incomplete);
    }
}
