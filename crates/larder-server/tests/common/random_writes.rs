//! Random writes that every server with replication executes in the same way.

use larder_testkit::{Client, words};
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes at random until `stop` is set; returns the number of executed commands.
pub fn write_until(client: &mut Client, rng: &mut fastrand::Rng, databases: usize, stop: &AtomicBool) -> u64 {
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let batch: Vec<Vec<Vec<u8>>> =
            (0..rng.usize(1..40)).flat_map(|_| random_unit(rng, databases)).collect();
        batch.iter().for_each(|command| client.send(command));
        for command in &batch {
            let reply = client.read().expect("the server answers");
            let expected = ["WRONGTYPE", "LOADING", "EXECABORT"];
            let is_fine = !reply.is_error() || expected.iter().any(|word| reply.text().starts_with(word));
            assert!(is_fine, "{:?}: {reply}", String::from_utf8_lossy(&command.join(&b' ')));
            count += 1;
        }
    }
    count
}

/// A command, or a transaction. Types keep to their keys.
fn random_unit(rng: &mut fastrand::Rng, databases: usize) -> Vec<Vec<Vec<u8>>> {
    if rng.u8(..) < 12 {
        let inner = (0..rng.usize(1..5)).map(|_| random_command(rng));
        let multi = std::iter::once(words("MULTI")).chain(inner).chain([words("EXEC")]);
        return multi.collect();
    }
    if rng.u8(..) < 8 {
        return vec![words(&format!("SELECT {}", rng.usize(..databases)))];
    }
    if databases > 1 && rng.u8(..) == 0 {
        return vec![words(&format!("SWAPDB 0 {}", rng.usize(1..databases)))];
    }
    vec![random_command(rng)]
}

pub fn random_command(rng: &mut fastrand::Rng) -> Vec<Vec<u8>> {
    let (k, n, m) = (rng.u8(..40), rng.i64(0..1000), rng.u16(..300));
    let line = match rng.u8(..26) {
        0 => format!("SET s:{k} value{n}"),
        1 => format!("APPEND s:{k} {n}"),
        2 => format!("INCRBY n:{k} {n}"),
        3 => format!("INCRBYFLOAT f:{k} 0.{n}"),
        4 => format!("SET s:{k} {n} EX 100000"),
        5 => format!("EXPIRE h:{k} {}", 50_000 + n),
        6 => format!("RPUSH l:{k} {n} element{m}"),
        7 => format!("LPOP l:{k}"),
        8 => format!("LINSERT l:{k} BEFORE {n} x"),
        9 => format!("LTRIM l:{k} 0 200"),
        10 => format!("SADD m:{k} {m} member{n}"),
        11 => format!("SPOP m:{k} 2"),
        12 => format!("SREM m:{k} {m}"),
        13 => format!("HSET h:{k} f{m} {n} g{n} {m}"),
        14 => format!("HINCRBY h:{k} n {n}"),
        15 => format!("HDEL h:{k} f{m}"),
        16 => format!("ZADD z:{k} {n} member{m} 1.5 other{n}"),
        17 => format!("ZINCRBY z:{k} 2.25 member{m}"),
        18 => format!("ZPOPMIN z:{k}"),
        19 => format!("XADD x:{k} MAXLEN ~ 100 * field {n}"),
        20 => format!("DEL s:{k} l:{k} m:{}", rng.u8(..40)),
        21 => format!("COPY s:{k} s:{}", k + 1),
        22 => format!("COPY z:{k} z:{} REPLACE", k + 1),
        23 => format!(
            "EVAL \"redis.call('set','s:{k}',ARGV[1]) redis.call('rpush','l:{k}',ARGV[1],1) return 1\" 2 s:{k} l:{k} {n}"
        ),
        24 => format!("SETRANGE s:{k} {m} abc"),
        _ => format!("PFADD p:{k} {n} {m}"),
    };
    words(&line)
}
