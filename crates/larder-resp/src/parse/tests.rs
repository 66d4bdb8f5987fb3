//! Cases with fixed expectations, and the same bytes whole and in slices.

use super::*;

const OPEN: Limits = Limits { bulk_bytes_max: 512 << 20, authenticated: true };
const CLOSED: Limits = Limits { bulk_bytes_max: 512 << 20, authenticated: false };

type Outcome = (Vec<Vec<Vec<u8>>>, Option<ProtocolError>);

/// Feeds `bytes` in slices of `step` and collects the commands until the end or the first error.
fn run(bytes: &[u8], step: usize, limits: &Limits) -> Outcome {
    let (mut parser, mut commands) = (Parser::new(), Vec::new());
    let (mut start, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + step).min(bytes.len());
        loop {
            match parser.next(&bytes[start..end], limits) {
                Err(e) => return (commands, Some(e)),
                Ok(Parsed::Incomplete) => break,
                Ok(Parsed::Command { args, consumed }) => {
                    commands.push(args.iter().map(<[u8]>::to_vec).collect());
                    start += consumed;
                }
            }
            parser.check_invariants(end - start);
        }
        parser.check_invariants(end - start);
    }
    (commands, None)
}

fn text(commands: &[Vec<Vec<u8>>]) -> Vec<String> {
    commands.iter().map(|c| String::from_utf8_lossy(&c.join(&b'|')).into_owned()).collect()
}

#[test]
fn commands_whole_and_sliced() {
    let bytes =
        b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\n\r\n*0\r\n*-1\r\nset 'a b' \"\\x00\"\n*1\r\n$0\r\n\r\n";
    let expected = ["ECHO|hi", "PING", "", "", "", "set|a b|\0", ""];
    for step in [1, 2, 3, 7, 1000] {
        let (commands, error) = run(bytes, step, &OPEN);
        assert_eq!(error, None);
        assert_eq!(text(&commands), expected, "step {step}");
    }
}

#[test]
fn errors() {
    use ProtocolError::*;
    let cases: [(&[u8], ProtocolError); 18] = [
        (b"*abc\r\n", InvalidMultibulkLength),
        (b"*\r\n", InvalidMultibulkLength),
        (b"*2147483648\r\n", InvalidMultibulkLength),
        (b"*99999999999999999999\r\n", InvalidMultibulkLength),
        (b"*1\r\nfoo\r\n", ExpectedDollar(b'f')),
        (b"*1\r\n\r\n", ExpectedDollar(b'\r')),
        (b"*1\r\n$-1\r\n", InvalidBulkLength),
        (b"*1\r\n$\r\n", InvalidBulkLength),
        (b"*1\r\n$536870913\r\n", InvalidBulkLength),
        (b"*1\r\n$9223372036854775807\r\n", InvalidBulkLength),
        (b"*1\r\n$01\r\n", InvalidBulkLength),
        (b"set \"a\r\n", UnbalancedQuotes),
        (b"'a'b'\n", UnbalancedQuotes),
        (b"*1\r\n$4\r\nPINGxx", InvalidLineEnd),
        (b"*1\r\n$4\r\nPING\n\n", InvalidLineEnd),
        (b"*1\r$4\r\nPING\r\n", InvalidLineEnd),
        (b"*1\r\n$4\r\rPING\r\n", InvalidLineEnd),
        (b"*1\r\nxy\rPING\r\n", ExpectedDollar(b'x')),
    ];
    for (bytes, expected) in cases {
        for step in [1, 1000] {
            assert_eq!(run(bytes, step, &OPEN).1, Some(expected), "{}", String::from_utf8_lossy(bytes));
        }
    }
}

#[test]
fn long_lines() {
    let cases: [(&[u8], ProtocolError); 3] = [
        (b"*", ProtocolError::TooBigCountString),
        (b"*1\r\n$", ProtocolError::TooBigBulkString),
        (b"x", ProtocolError::TooBigInline),
    ];
    for (head, expected) in cases {
        for fill in [b'1', 0] {
            let mut bytes = head.to_vec();
            bytes.resize(head.len() + LINE_BYTES_MAX - 1, fill);
            assert_eq!(run(&bytes, 5000, &OPEN).1, None);
            bytes.extend([fill; 4]);
            assert_eq!(run(&bytes, 5000, &OPEN).1, Some(expected), "fill {fill}");
        }
    }
}

/// The end of a line counts when it has arrived, however long the line is.
#[test]
fn a_long_line_that_has_arrived() {
    let line = [&b"ECHO "[..], &b"x".repeat(LINE_BYTES_MAX), b"\r\n"].concat();
    let (commands, error) = run(&line, usize::MAX, &OPEN);
    assert_eq!((commands.len(), error), (1, None));
    // With the last read, the line is as long as it may be without an end; without it, longer.
    assert_eq!(run(&line, LINE_BYTES_MAX, &OPEN).1, None);
    assert_eq!(run(&line, LINE_BYTES_MAX + 1, &OPEN).1, Some(ProtocolError::TooBigInline));
}

#[test]
fn before_authentication() {
    let fits = b"*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n";
    assert_eq!(run(fits, 3, &CLOSED).1, None);
    assert_eq!(run(b"*11\r\n", 1, &CLOSED).1, Some(ProtocolError::UnauthenticatedMultibulkLength));
    assert_eq!(run(b"*1\r\n$16385\r\n", 1, &CLOSED).1, Some(ProtocolError::UnauthenticatedBulkLength));
    assert_eq!(run(b"*1\r\n$16384\r\n", 1, &CLOSED).1, None);
}

#[test]
fn announcements_allocate_nothing() {
    let limits = Limits { bulk_bytes_max: u64::MAX, authenticated: true };
    let mut parser = Parser::new();
    let buf = b"*2147483647\r\n$9223372036854775807\r\n";
    assert!(matches!(parser.next(buf, &limits), Ok(Parsed::Incomplete)));
    assert_eq!(parser.heap_bytes(), 0);
    assert!(parser.is_pending());
    assert!(parser.missing(buf.len()) > 1 << 40);
}

#[test]
fn missing_counts_down() {
    let mut parser = Parser::new();
    let buf = b"*1\r\n$100\r\nabc";
    assert!(matches!(parser.next(buf, &OPEN), Ok(Parsed::Incomplete)));
    assert_eq!(parser.missing(buf.len()), 99);
}

#[test]
fn the_offending_byte_is_echoed_raw() {
    let mut out = Vec::new();
    ProtocolError::ExpectedDollar(0xff).write(&mut out);
    assert_eq!(out, b"-ERR Protocol error: expected '$', got '\xff'\r\n");
}

#[test]
fn an_error_leaves_no_state_behind() {
    let mut parser = Parser::new();
    for bad in [&b"*3\r\n$1\r\na\r\n$-1\r\n"[..], b"*1\r\nx\r\n", b"\"\n"] {
        assert!(parser.next(bad, &OPEN).is_err());
        assert!(!parser.is_pending());
        let Ok(Parsed::Command { args, .. }) = parser.next(b"PING\r\n", &OPEN) else { panic!() };
        assert_eq!(args.iter().collect::<Vec<_>>(), [b"PING"]);
    }
}

/// Four whole commands, one of them empty, and the beginning of another.
const PIPELINE: &[u8] =
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
        parser.look_ahead(PIPELINE, &OPEN, max);
        let found: Vec<_> = parser.ahead(PIPELINE).map(words).collect();
        assert_eq!(found, expected[..max.min(4)]);
        assert_eq!(parser.has_ahead(), max > 0);
        let (all, left) = rest_of(&mut parser, PIPELINE, &OPEN);
        assert_eq!(
            (all.as_slice(), left),
            (&expected.map(|words| words.iter().map(ToString::to_string).collect())[..], 21)
        );
        assert!(!parser.has_ahead() && parser.is_pending());
        parser.look_ahead(PIPELINE, &OPEN, max);
        assert!(!parser.has_ahead(), "within a command");
    }
}

#[test]
fn what_is_left_is_found_ahead_of_the_second() {
    let mut parser = Parser::new();
    parser.look_ahead(PIPELINE, &OPEN, 3);
    let Ok(Parsed::Command { consumed, .. }) = parser.next(PIPELINE, &OPEN) else { panic!("it is whole") };
    let rest = &PIPELINE[consumed..];
    assert_eq!(parser.ahead(rest).map(words).collect::<Vec<_>>(), [vec!["PING".to_owned()], vec![]]);
    // Begun again from the first.
    parser.forget_ahead();
    assert_eq!(rest_of(&mut parser, PIPELINE, &OPEN).0.len(), 4);
}

#[test]
fn who_has_to_authenticate_again_is_held_to_the_limits() {
    let args = "$1\r\nx\r\n".repeat(20);
    let bytes = format!("*1\r\n$5\r\nRESET\r\n*20\r\n{args}");
    let mut parser = Parser::new();
    parser.look_ahead(bytes.as_bytes(), &OPEN, 9);
    let Ok(Parsed::Command { consumed, .. }) = parser.next(bytes.as_bytes(), &OPEN) else {
        panic!("it is whole")
    };
    assert!(parser.has_ahead());
    assert!(parser.next(&bytes.as_bytes()[consumed..], &CLOSED).is_err());
    assert!(!parser.has_ahead());
    parser.look_ahead(bytes.as_bytes(), &CLOSED, 9);
    assert!(!parser.has_ahead());
}

#[test]
fn anything_else_ends_the_search() {
    for bytes in
        ["", "GET a\r\n", "*", "*x\r\n", "*2\r\n:1\r\n", "*99999\r\n", "*2\r\n$-1\r\n", "*1\r\n$1\r\nab\r\n"]
    {
        let mut parser = Parser::new();
        parser.look_ahead(bytes.as_bytes(), &OPEN, 9);
        assert!(!parser.has_ahead(), "{bytes}");
    }
    let of = |count: usize| format!("*{count}\r\n{}", "$1\r\nx\r\n".repeat(count));
    let many = [64, 2, 65, 2].map(of).concat();
    let mut parser = Parser::new();
    parser.look_ahead(many.as_bytes(), &OPEN, 9);
    assert_eq!(parser.ahead(many.as_bytes()).map(|args| args.len()).collect::<Vec<_>>(), [64, 2, 65]);
    assert_eq!(rest_of(&mut parser, many.as_bytes(), &OPEN).0.len(), 4);
}
