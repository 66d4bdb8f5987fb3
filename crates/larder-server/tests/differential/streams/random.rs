//! Random commands on a few keys, groups and consumers.

use crate::{Pair, compare, words};
use fastrand::Rng;
use larder_testkit::{Value, full_run, seed};

/// Draws a command on a few keys, groups and consumers, with ids that often meet.
fn random_command(rng: &mut Rng, clock: &mut u64) -> Vec<Vec<u8>> {
    let key = format!("k{}", rng.u8(..3));
    let (group, consumer) = (format!("g{}", rng.u8(..3)), format!("c{}", rng.u8(..4)));
    let id = |rng: &mut Rng| match rng.u8(..12) {
        0 => "-".to_owned(),
        1 => "+".to_owned(),
        2 => format!("({}-{}", rng.u64(..*clock), rng.u8(..3)),
        3 => "x".to_owned(),
        _ => format!("{}-{}", rng.u64(..*clock + 2), rng.u8(..3)),
    };
    let (a, b) = (id(rng), id(rng));
    let count = rng.u8(..6);
    let line = match rng.u8(..40) {
        0..12 => {
            *clock += u64::from(rng.bool());
            let field = if rng.u8(..4) == 0 { "other 5 field" } else { "field" };
            let value = "v".repeat(rng.usize(1..30));
            format!("XADD {key} {}-{} {field} {value}", *clock, ["*", "1", "2"][rng.usize(..3)])
        }
        12 => format!("XADD {key} MAXLEN ~ {} {}-* a {}", rng.u8(..60), *clock, rng.i32(..)),
        13 => format!("XTRIM {key} MAXLEN {} {}", ["=", "~"][rng.usize(..2)], 20 + rng.u8(..60)),
        14 => format!("XTRIM {key} MINID {} {a} LIMIT {count}", ["=", "~"][rng.usize(..2)]),
        15 => format!("XDEL {key} {a} {b}"),
        16 => format!("XRANGE {key} {a} {b} COUNT {count}"),
        17 => format!("XREVRANGE {key} {a} {b}"),
        18 => format!("XLEN {key}"),
        // XREAD of `+` is newer than 7.0.
        19 => format!("XREAD COUNT {count} STREAMS {key} k1 {a} {b}").replace('+', "$"),
        20 => format!("XGROUP CREATE {key} {group} {a} MKSTREAM"),
        21 if rng.u8(..6) == 0 => format!("XGROUP DESTROY {key} {group}"),
        21 => format!("XGROUP SETID {key} {group} {a}"),
        22 if rng.u8(..4) == 0 => format!("XGROUP DELCONSUMER {key} {group} {consumer}"),
        22 => format!("XGROUP CREATECONSUMER {key} {group} {consumer}"),
        23..27 => format!("XREADGROUP GROUP {group} {consumer} COUNT {count} STREAMS {key} >"),
        27 => format!("XREADGROUP GROUP {group} {consumer} COUNT {count} NOACK STREAMS {key} >"),
        28 => {
            format!("XREADGROUP GROUP {group} {consumer} COUNT {count} STREAMS {key} {a}").replace('+', "$")
        }
        29..32 => format!("XACK {key} {group} {a} {b}"),
        32 => format!("XCLAIM {key} {group} {consumer} 0 {a} {b} JUSTID"),
        33 => format!("XCLAIM {key} {group} {consumer} 0 {a} {b} FORCE RETRYCOUNT {count}"),
        34 => format!("XAUTOCLAIM {key} {group} {consumer} 0 {a} COUNT {count}"),
        35 => format!("XPENDING {key} {group}"),
        36 => format!("XINFO GROUPS {key}"),
        37 if rng.u8(..10) == 0 => format!("DEL {key}"),
        37 => format!("COPY {key} k{} REPLACE", rng.u8(..3)),
        38 => format!("XSETID {key} {a} ENTRIESADDED {}", rng.u16(..500)),
        _ => format!("XPENDING {key} {group} {a} {b} {count} {consumer}"),
    };
    words(&line)
}

/// A reply to XPENDING without what depends on the time: when entries were delivered.
fn without_times(value: Value) -> Value {
    match value {
        Value::Array(items) if items.len() == 4 && matches!(items[2], Value::Int(_)) => {
            Value::Array(vec![items[0].clone(), items[1].clone(), items[3].clone()])
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_times).collect()),
        other => other,
    }
}

#[test]
fn random_commands() {
    let seed = seed(11);
    let rounds = if full_run() { 200_000 } else { 8000 };
    for (threads, args) in
        [(1, &[][..]), (2, &["--stream-node-max-entries", "4"]), (1, &["--stream-node-max-bytes", "120"])]
    {
        let (mut rng, mut pair) = (Rng::with_seed(seed), Pair::start(threads, args));
        for version in ["2", "3"] {
            pair.reset(version);
            let mut clock = 5;
            for round in 0..rounds {
                let command = random_command(&mut rng, &mut clock);
                let (ours, theirs) = pair.both(&command);
                let (ours, theirs) = (without_times(ours), without_times(theirs));
                let line = String::from_utf8_lossy(&command.join(&b' ')).into_owned();
                let difference = compare(&line, &(ours, theirs)).unwrap_or_default();
                assert!(difference.is_empty(), "SEED={seed} RESP{version} round {round}\n{difference}");
            }
            let digest = compare("DEBUG DIGEST", &pair.both(&words("DEBUG DIGEST"))).unwrap_or_default();
            assert!(digest.is_empty(), "SEED={seed} {digest}");
        }
    }
}
