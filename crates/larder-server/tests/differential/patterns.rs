//! Which texts a pattern matches, wherever patterns are given: random ones, and the empty text.

use super::{Pair, run_script, stage};
use fastrand::Rng;
use larder_testkit::Value;
use std::fmt::Write;

const LETTERS: &[u8] = b"abcAZ-]\\^[*?\xff\x80";

fn text(rng: &mut Rng, letters: &[u8], longest: usize) -> Vec<u8> {
    (0..rng.usize(..=longest)).map(|_| letters[rng.usize(..letters.len())]).collect()
}

/// The keys or fields of a reply, in order.
fn selected(reply: &Value) -> Vec<Vec<u8>> {
    let mut names: Vec<_> = match reply.items() {
        [_, found] => found.items(),
        found => found,
    }
    .iter()
    .map(|name| name.bytes().to_vec())
    .collect();
    names.sort();
    names
}

#[test]
fn random_patterns_select_the_same() {
    let mut pair = Pair::start(1, &[]);
    let mut rng = Rng::with_seed(larder_testkit::seed(21));
    let mut fields = vec![Vec::new()];
    fields.extend((0..150).map(|_| text(&mut rng, LETTERS, 4)));
    let mut build = vec![b"HSET".to_vec(), b"hash".to_vec()];
    for field in &fields {
        build.extend([field.clone(), b"v".to_vec()]);
        pair.both(&[b"SET".to_vec(), field.clone(), b"v".to_vec()]);
    }
    pair.both(&build);
    let mut differences = String::new();
    for _ in 0..1500 {
        // Stars often: they are what patterns are about.
        let pattern = text(&mut rng, &[LETTERS, b"***"].concat(), 7);
        let count = b"100000".to_vec();
        let scan = ["HSCAN", "hash", "0", "NOVALUES", "MATCH"].map(|word| word.as_bytes().to_vec());
        let scan = [&scan[..], &[pattern.clone(), b"COUNT".to_vec(), count]].concat();
        for command in [scan, vec![b"KEYS".to_vec(), pattern.clone()]] {
            let (ours, theirs) = pair.both(&command);
            let (ours, theirs) = (selected(&ours), selected(&theirs));
            if ours != theirs {
                let name = String::from_utf8_lossy(&command[0]);
                let pattern = pattern.escape_ascii();
                let _ = writeln!(differences, "{name} {pattern}\n  larder: {ours:?}\n  peer:   {theirs:?}");
            }
        }
    }
    pair.judge(&differences);
}

#[test]
fn rules_of_users_match_the_same() {
    let mut script = String::new();
    let keys = ["~*", "%RW~*", "%R~*", "%W~*", "~**", "allkeys", "%R~* %W~*", "~x*", "~?", "~", "%R~**"];
    for (at, rules) in keys.iter().enumerate() {
        let _ = writeln!(script, "ACL SETUSER u{at} on nopass +@all resetkeys {rules}");
        for key in ["\"\"", "x", "y"] {
            let _ = writeln!(script, "ACL DRYRUN u{at} SET {key} 1\nACL DRYRUN u{at} GET {key}");
        }
    }
    for (at, rules) in ["&*", "&**", "allchannels", "&x*", "&?", "&"].iter().enumerate() {
        let _ = writeln!(script, "ACL SETUSER c{at} on nopass +@all resetchannels {rules}");
        for channel in ["\"\"", "x", "y", "*", "**"] {
            for command in ["PUBLISH", "SUBSCRIBE", "PSUBSCRIBE", "SPUBLISH"] {
                let message = if command.ends_with("PUBLISH") { " m" } else { "" };
                let _ = writeln!(script, "ACL DRYRUN c{at} {command} {channel}{message}");
            }
        }
    }
    run_script(&script, &[]);
}

#[test]
fn the_empty_text_is_matched_by_few() {
    run_script(
        r#"
        SET "" v
        KEYS *
        KEYS **
        KEYS ""
        HSET h "" v
        SADD s ""
        ZADD z 1 ""
        SCAN 0 MATCH *
        SCAN 0 MATCH **
        SCAN 0 MATCH ""
        HSCAN h 0 MATCH *
        HSCAN h 0 MATCH **
        SSCAN s 0 MATCH *
        SSCAN s 0 MATCH **
        ZSCAN z 0 MATCH *
        ZSCAN z 0 MATCH **
        SORT s BY * GET *
        FUNCTION LIST LIBRARYNAME ""
        CONFIG GET ""
        COMMAND LIST FILTERBY PATTERN ""
        "#,
        &[],
    );
    stage::play(
        r#"
        all> PSUBSCRIBE *
        two> PSUBSCRIBE **
        none3> PSUBSCRIBE ""
        empty> SUBSCRIBE ""
        a> PUBSUB CHANNELS
        a> PUBSUB CHANNELS *
        a> PUBSUB CHANNELS **
        a> PUBSUB CHANNELS ""
        a> PUBLISH "" m
        a> PUBLISH x m
        "#,
        &[],
    );
}
