//! Streams: server CPU of adding, reading ranges and consuming by groups, and memory of entries and of pending ones.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::{Target, median_cost};
use crate::loader::Loader;
use crate::resp;
use fastrand::Rng;
use std::io;

const PIPELINE: usize = 16;
/// Entries of a range.
const RANGE: u64 = 100;

/// Appends entries of three fields, as a sensor would, with ids of a few entries a millisecond.
pub fn load(loader: &mut Loader, key: &str, ids: std::ops::Range<u64>) -> io::Result<()> {
    let mut rng = Rng::with_seed(SEED);
    for i in ids {
        let id = id(i);
        let (temperature, humidity) = (rng.u8(..=40).to_string(), rng.u8(..=100).to_string());
        let device = format!("sensor-{:04}", i % 1000);
        loader.send(&[
            b"XADD",
            key.as_bytes(),
            id.as_bytes(),
            b"temp",
            temperature.as_bytes(),
            b"hum",
            humidity.as_bytes(),
            b"dev",
            device.as_bytes(),
        ])?;
    }
    Ok(())
}

fn id(i: u64) -> String {
    format!("{}-{}", 1_700_000_000_000 + i / 4, i % 4)
}

/// Measures the commands on `streams` streams of `each` entries.
pub fn run(context: &mut Context, streams: usize, each: usize) -> io::Result<()> {
    let mut session = context.start()?;
    let (streams, each) = if streams == 1 {
        (1, context.scaled(each, 2000) as u64)
    } else {
        (context.scaled(streams, 20), each as u64)
    };
    context.stage("loading");
    let mut loader = session.loader()?;
    for stream in 0..streams {
        let key = format!("stream:{stream}");
        load(&mut loader, &key, 0..each)?;
        loader.send(&[b"XGROUP", b"CREATE", key.as_bytes(), b"g", b"$"])?;
        loader.send(&[b"XGROUP", b"CREATE", key.as_bytes(), b"old", b"0"])?;
    }
    loader.finish()?;
    let mut pool = session.pool(CONNECTIONS)?;
    let (mut rng, mut next) = (Rng::with_seed(SEED), 0);
    for name in
        ["XADD", "XADD MAXLEN ~", "XRANGE of 100", "XREVRANGE of 1", "XREADGROUP and XACK", "XREAD of 10"]
    {
        context.stage(name);
        let operations = if name == "XRANGE of 100" { 20_000 } else { 300_000 };
        let rounds = pool.rounds(context.scaled(operations, 800), PIPELINE);
        let mut write = |out: &mut Vec<u8>| {
            let key = format!("stream:{}", rng.usize(..streams));
            let (key, value) = (key.as_bytes(), rng.u16(..).to_string());
            next += 1;
            match name {
                "XADD" => {
                    resp::command(out, &[b"XADD", key, b"*", b"temp", value.as_bytes(), b"dev", b"sensor"]);
                }
                "XADD MAXLEN ~" => {
                    let len = each.to_string();
                    resp::command(
                        out,
                        &[b"XADD", key, b"MAXLEN", b"~", len.as_bytes(), b"*", b"temp", value.as_bytes()],
                    );
                }
                "XRANGE of 100" => {
                    let from = id(rng.u64(..each.saturating_sub(RANGE).max(1)));
                    resp::command(out, &[b"XRANGE", key, from.as_bytes(), b"+", b"COUNT", b"100"]);
                }
                "XREVRANGE of 1" => resp::command(out, &[b"XREVRANGE", key, b"+", b"-", b"COUNT", b"1"]),
                "XREAD of 10" => {
                    let from = id(rng.u64(..each));
                    resp::command(out, &[b"XREAD", b"COUNT", b"10", b"STREAMS", key, from.as_bytes()]);
                }
                // A delivery and an acknowledgement in turns.
                _ => consume(out, key, next, each),
            }
        };
        pool.run(rounds.div_ceil(10), PIPELINE, &mut write)?;
        let mut costs = Vec::new();
        for _ in 0..context.rounds(3) {
            costs.push(timed(&mut session, &mut pool, rounds, PIPELINE, &mut write)?.0);
        }
        let what = if streams == 1 { "one stream" } else { "many streams" };
        context.cost(format!("{name}, {what}"), median_cost(&costs), Target::OfRedis(0.9));
    }
    Ok(())
}

/// Delivers the entries loaded one by one, and acknowledges them.
fn consume(out: &mut Vec<u8>, key: &[u8], next: u64, each: u64) {
    if next.is_multiple_of(2) {
        let consumer = [b'c', b'0' + (next / 2 % 10) as u8];
        let group: &[&[u8]] =
            &[b"XREADGROUP", b"GROUP", b"old", &consumer, b"COUNT", b"1", b"STREAMS", key, b">"];
        resp::command(out, group);
    } else {
        resp::command(out, &[b"XACK", key, b"old", id(next / 2 % each).as_bytes()]);
    }
}

/// A stream whose entries are all pending for ten consumers, in batches of a hundred.
pub fn load_pending(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(1_000_000, 1000) as u64;
    load(loader, "stream", 0..count)?;
    loader.send(&[b"XGROUP", b"CREATE", b"stream", b"g", b"0"])?;
    for batch in 0..count.div_ceil(100) {
        let consumer = [b'c', b'0' + (batch % 10) as u8];
        loader.send(&[
            b"XREADGROUP",
            b"GROUP",
            b"g",
            &consumer,
            b"COUNT",
            b"100",
            b"STREAMS",
            b"stream",
            b">",
        ])?;
    }
    Ok(count)
}
