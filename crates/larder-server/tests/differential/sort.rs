//! SORT of large lists and sets: those that keep their order, and integers, have ways of their own.

use crate::{Pair, compare, words};
use fastrand::Rng;
use larder_testkit::seed;

/// Elements of a list: of one kind, or of several.
fn element(rng: &mut Rng, kind: usize) -> String {
    match kind {
        0 => rng.i64(-300..300).to_string(),
        1 => rng.i64(-1_000_000_000..1_000_000_000).to_string(),
        // Not all of them are exact as doubles.
        2 => (rng.i64(..) >> rng.u32(..64)).to_string(),
        3 => format!("element {}", rng.u32(..)),
        _ => {
            let kind = rng.usize(..4);
            element(rng, kind)
        }
    }
}

#[test]
fn large_sources_are_sorted_and_stored_as_small_ones_are() {
    let seed = seed(9);
    let mut rng = Rng::with_seed(seed);
    let mut pair = Pair::start(2, &[]);
    let mut ask = |line: &str| {
        let difference = compare(line, &pair.both(&words(line)));
        assert!(difference.is_none(), "SEED={seed}\n{}", difference.unwrap_or_default());
    };
    for kind in 0..5 {
        for count in [10, 900, 12_000] {
            ask("FLUSHALL");
            for _ in 0..count / 10 {
                let some: Vec<String> = (0..10).map(|_| format!("\"{}\"", element(&mut rng, kind))).collect();
                ask(&format!("RPUSH list {}", some.join(" ")));
                ask(&format!("SADD set {}", some.join(" ")));
            }
            for _ in 0..3 {
                let (from, some) = (rng.u32(..count), rng.u32(..count));
                for order in ["", "DESC", "BY nosort", "BY nosort DESC", "ALPHA"] {
                    for key in ["list", "set"] {
                        // A set has no order of its own.
                        if key == "set" && order.starts_with("BY") {
                            continue;
                        }
                        ask(&format!("SORT {key} {order} LIMIT {from} {some} STORE target"));
                        ask("LRANGE target 0 -1");
                        ask("DEBUG DIGEST-VALUE target");
                        ask("RPUSH target 1 x");
                        ask("LINDEX target -3");
                        ask(&format!("SORT {key} {order} LIMIT {some} {from}"));
                    }
                }
                ask("SORT list BY nosort STORE list");
                ask("LLEN list");
            }
            ask("DEBUG DIGEST-VALUE list set");
        }
    }
}
