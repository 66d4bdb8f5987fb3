//! The longest single command while a collection grows: no insert may pay for the growth of the whole.
//!
//! The server's own clock is asked, by way of its slow log, so the figures are those of the worker thread. A thread that
//! loses its core for a while in the middle of a command is in them as well.

use crate::context::Context;
use crate::figure::Target;
use std::io;

/// Commands slower than this are counted, in microseconds.
const SLOW_US: i64 = 200;

/// Row, command, and the arguments after the key for a number.
type GrowthCase = (&'static str, &'static [u8], fn(u64) -> [String; 2]);

/// Grows a hash, a set of strings, a set of integers and a sorted set. A command adds one field or member; to
/// sets it adds two.
pub fn run(context: &mut Context) -> io::Result<()> {
    let count = context.scaled(5_000_000, 5000);
    let cases: [GrowthCase; 4] = [
        ("HSET", b"HSET", |n| [format!("field:{n:010}"), "0123456789abcdef".to_owned()]),
        ("SADD, strings", b"SADD", |n| [format!("member:{n:09}"), format!("other:{n:010}")]),
        ("SADD, integers", b"SADD", |n| [(n % (1 << 40)).to_string(), (n >> 7).to_string()]),
        ("ZADD", b"ZADD", |n| [(n % 1_000_003).to_string(), format!("member:{n:09}")]),
    ];
    for (row, name, arguments) in cases {
        let mut session = context.start()?;
        session.configure(&[
            ("slowlog-log-slower-than", &SLOW_US.to_string()),
            ("slowlog-max-len", "1000000"),
        ])?;
        let mut loader = session.loader()?;
        for i in 0..count {
            if i.is_multiple_of(100_000) {
                context.progress(row, i, count);
            }
            // Scattered, and each one once.
            let [a, b] = arguments((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20);
            loader.send(&[name, b"grows", a.as_bytes(), b.as_bytes()])?;
        }
        loader.finish()?;
        let slow = session.ask("SLOWLOG GET -1")?;
        let times: Vec<i64> = slow
            .items()
            .iter()
            .filter(|entry| entry.items()[3].items()[0].bytes() == name)
            .map(|entry| entry.items()[2].int())
            .collect();
        let longest = times.iter().copied().max().unwrap_or(SLOW_US);
        context.figure(format!("{row}, longest"), "us", longest as f64, Target::Most(2000.0));
        for limit in [SLOW_US, 1000, 2000] {
            let more = times.iter().filter(|&&time| time >= limit).count();
            context.figure(format!("{row}, {limit} us and more"), "commands", more as f64, Target::None);
        }
    }
    Ok(())
}
