//! Damaged requests: never a panic, never more memory than the bytes justify, and the same outcome however the bytes
//! are sliced.

mod common;

use fastrand::Rng;
use larder_resp::{Limits, Parsed, Parser, ProtocolError};

type Outcome = (Vec<Vec<Vec<u8>>>, Option<ProtocolError>);

const LIMITS: Limits = Limits { bulk_bytes_max: 512 << 20, authenticated: true };

/// All commands, if the bytes come in slices and this many commands are looked for ahead of their turn.
fn run(bytes: &[u8], ahead_max: usize, mut slice: impl FnMut() -> usize) -> Outcome {
    let (mut parser, mut commands) = (Parser::new(), Vec::new());
    let (mut start, mut end) = (0, 0);
    while end < bytes.len() {
        end = (end + slice()).min(bytes.len());
        loop {
            if !parser.has_ahead() {
                parser.look_ahead(&bytes[start..end], &LIMITS, ahead_max);
            }
            let expected = parser.ahead(&bytes[start..end]).next().map(|args| args.to_owned());
            match parser.next(&bytes[start..end], &LIMITS) {
                Err(e) => return (commands, Some(e)),
                Ok(Parsed::Incomplete) => break,
                Ok(Parsed::Command { args, consumed }) => {
                    assert!(consumed > 0 && start + consumed <= end);
                    if let Some(expected) = expected {
                        assert!(args.iter().eq(expected.as_args().iter()));
                    }
                    commands.push(args.iter().map(<[u8]>::to_vec).collect());
                    start += consumed;
                }
            }
        }
        if bytes.len() < 100_000 {
            parser.check_invariants(end - start);
        }
        assert!(parser.heap_bytes() <= 32 * bytes.len() + 4096);
    }
    (commands, None)
}

#[test]
fn damaged_requests() {
    let seed = larder_testkit::seed(7);
    for case in 0..20_000 {
        let mut rng = Rng::with_seed(seed + case);
        let mut bytes = common::commands(&mut rng);
        common::damage(&mut rng, &mut bytes);
        let whole = run(&bytes, 0, || usize::MAX / 2);
        let sliced = run(&bytes, rng.usize(..5), || rng.usize(1..40));
        assert!(whole == sliced, "SEED={} replays: {:?}", seed + case, String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn many_arguments_a_byte_at_a_time_is_linear() {
    let mut bytes = b"*200000\r\n".to_vec();
    for _ in 0..200_000 {
        bytes.extend_from_slice(b"$1\r\nx\r\n");
    }
    let (commands, error) = run(&bytes, 16, || 1);
    assert_eq!((commands.len(), error), (1, None));
    assert_eq!(commands[0].len(), 200_000);
}
