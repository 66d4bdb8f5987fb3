//! The price of compressed values, and what they bring: the cost of reading them, the wait of clients while values are
//! compressed, and the hit rate of a cache below a limit. Servers without such an option show the plain figures.

use super::idle::percentile;
use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::Target;
use crate::peer::LARDER;
use crate::resp;
use crate::session::Session;
use crate::wire::Wire;
use fastrand::Rng;
use std::fmt::Write;
use std::io;
use std::time::{Duration, Instant};

/// Keys of which each is read once.
const KEYS: usize = 200_000;
/// Keys that are read by Zipf's law.
const KEYS_ZIPF: usize = 1_000_000;
/// Keys of which half fit below the limit.
const KEYS_LIMITED: usize = 400_000;
/// Idle time while values are to become compressed, and while they are read, in seconds.
const SOON: &str = "1";
const LATER: &str = "900";
/// The longest wait until all is compressed.
const COMPRESSED_AT_MOST: Duration = Duration::from_secs(300);
/// Requests between two looks at what is compressed.
const LOOK_EVERY: usize = 1000;
const BATCH: usize = 64;
const NAMES: [&str; 8] = ["Anna", "Bernd", "Carla", "Dmitri", "Elif", "Farid", "Grace", "Hiroshi"];

/// A session of a web application, about 560 bytes of JSON.
fn value(rng: &mut Rng, id: usize) -> String {
    let (name, other) = (NAMES[rng.usize(..8)], NAMES[rng.usize(..8)]);
    let mut out = format!(
        "{{\"user\":{{\"id\":{id},\"name\":\"{name} {other}\",\"email\":\"{name}.{}@example.com\",\"roles\":[\"member\"]}},\
         \"csrf\":\"{:032x}\",\"created\":\"2026-0{}-1{}T1{}:0{}:00Z\",\"agent\":\"Mozilla/5.0 (X11; Linux x86_64) Gecko/{}\",\
         \"cart\":[",
        rng.u16(..),
        rng.u128(..),
        rng.u8(1..9),
        rng.u8(..9),
        rng.u8(..9),
        rng.u8(..9),
        rng.u16(..),
    );
    for item in 0..3 {
        let comma = if item > 0 { "," } else { "" };
        let (sku, count, price) = (rng.u32(..99_999), rng.u8(1..9), rng.u16(..9999));
        write!(out, "{comma}{{\"sku\":\"P-{sku:05}\",\"count\":{count},\"price\":{price}}}")
            .expect("it is a string");
    }
    write!(out, "],\"flags\":{{\"newsletter\":{},\"beta\":false}},\"locale\":\"de_DE\"}}", rng.bool())
        .expect("it is a string");
    out
}

fn key(id: usize) -> String {
    format!("session:{id:010}")
}

fn get(out: &mut Vec<u8>, id: usize) {
    resp::command(out, &[b"GET", key(id).as_bytes()]);
}

/// A server with that many sessions.
fn loaded(context: &Context, keys: usize) -> io::Result<Session> {
    let session = context.start()?;
    context.stage("loading");
    let (mut loader, mut rng) = (session.loader()?, Rng::with_seed(SEED));
    for id in 0..keys {
        loader.send(&[b"SET", key(id).as_bytes(), value(&mut rng, id).as_bytes()])?;
    }
    loader.finish()?;
    Ok(session)
}

/// Calls `meanwhile` until all values but one in a thousand are compressed.
fn compress(
    session: &mut Session,
    keys: usize,
    mut meanwhile: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    session.configure(&[("compress-idle-time", SOON)])?;
    let deadline = Instant::now() + COMPRESSED_AT_MOST;
    while session.info("cold_values")?.unwrap_or(0) < (keys - keys / 1000) as u64 {
        if Instant::now() > deadline {
            return Err(io::Error::other("not all values are compressed"));
        }
        meanwhile()?;
    }
    Ok(())
}

/// Waits until all values are compressed.
fn wait_cold(context: &Context, session: &mut Session, keys: usize) -> io::Result<()> {
    context.stage("compressing");
    compress(session, keys, || {
        std::thread::sleep(Duration::from_millis(100));
        Ok(())
    })
}

fn compresses(context: &Context) -> bool {
    context.peer.name == LARDER
}

/// GET of each of the values once, plain and compressed.
pub fn reads(context: &mut Context) -> io::Result<()> {
    let keys = context.scaled(KEYS, 5000);
    let mut session = loaded(context, keys)?;
    let mut order: Vec<usize> = (0..keys).collect();
    Rng::with_seed(SEED).shuffle(&mut order);
    for pipeline in [1, 16] {
        let row = format!("GET of a session, pipeline {pipeline}");
        let plain = each_once(context, &mut session, &order, pipeline)?;
        context.figure(row.clone(), "ns/op", plain, Target::None);
        if compresses(context) {
            wait_cold(context, &mut session, keys)?;
            let cold = each_once(context, &mut session, &order, pipeline)?;
            let target = if pipeline == 1 { Target::OfRow(1.35, row) } else { Target::None };
            context.figure(format!("the same, compressed, pipeline {pipeline}"), "ns/op", cold, target);
            session.configure(&[("compress-idle-time", "0")])?;
            // With the option off, a read brings a value back.
            each_once(context, &mut session, &order, 16)?;
        }
    }
    Ok(())
}

/// Processor time of the threads that serve, for one read of each value, in nanoseconds a read.
fn each_once(context: &Context, session: &mut Session, order: &[usize], pipeline: usize) -> io::Result<f64> {
    context.stage("reading");
    let mut pool = session.pool(CONNECTIONS)?;
    let rounds = order.len() / (pipeline * pool.len());
    let mut ids = order.iter();
    let next = |out: &mut Vec<u8>| get(out, *ids.next().expect("there are as many"));
    let (cost, nulls) = timed(session, &mut pool, rounds, pipeline, next)?;
    if nulls > 0 {
        return Err(io::Error::other("a key is missing"));
    }
    Ok(cost.worker)
}

/// Numbers of which the n-th comes with a chance of 1 to n.
struct Zipf {
    /// The chance of a number up to this one.
    up_to: Vec<f64>,
    /// Which key has which number, so that frequent ones are not neighbours.
    ids: Vec<usize>,
}

impl Zipf {
    fn new(count: usize) -> Zipf {
        let mut sum = 0.0;
        let mut up_to: Vec<f64> = (1..=count)
            .map(|n| {
                sum += 1.0 / n as f64;
                sum
            })
            .collect();
        up_to.iter_mut().for_each(|chance| *chance /= sum);
        let mut ids: Vec<usize> = (0..count).collect();
        Rng::with_seed(SEED).shuffle(&mut ids);
        Zipf { up_to, ids }
    }

    fn draw(&self, rng: &mut Rng) -> usize {
        let chance = rng.f64();
        let at = self.up_to.partition_point(|&up_to| up_to < chance);
        self.ids[at.min(self.ids.len() - 1)]
    }
}

/// GET by Zipf's law, of plain values, and after all were compressed and some have come back.
pub fn zipf(context: &mut Context) -> io::Result<()> {
    let keys = context.scaled(KEYS_ZIPF, 5000);
    let law = Zipf::new(keys);
    let mut session = loaded(context, keys)?;
    let plain = zipf_figures(context, &mut session, &law)?;
    let rows = ["cost", "p50", "p99"].map(|name| format!("GET by Zipf's law, {name}"));
    let units = ["ns/op", "us", "us"];
    for at in 0..rows.len() {
        context.figure(rows[at].clone(), units[at], plain[at], Target::None);
    }
    if !compresses(context) {
        return Ok(());
    }
    wait_cold(context, &mut session, keys)?;
    session.configure(&[("compress-idle-time", LATER)])?;
    let some = zipf_figures(context, &mut session, &law)?;
    let targets = [Some(1.05), None, Some(1.1)];
    for at in 0..rows.len() {
        let target = targets[at].map_or(Target::None, |most| Target::OfRow(most, rows[at].clone()));
        context.figure(format!("{}, most values compressed", rows[at]), units[at], some[at], target);
    }
    Ok(())
}

/// Processor time of a read, and how long half of the clients and one in a hundred wait.
fn zipf_figures(context: &Context, session: &mut Session, law: &Zipf) -> io::Result<[f64; 3]> {
    let mut rng = Rng::with_seed(SEED);
    let mut pool = session.pool(CONNECTIONS)?;
    context.stage("warming up");
    let mut next = |out: &mut Vec<u8>| get(out, law.draw(&mut rng));
    let warm = pool.rounds(context.scaled(2_000_000, 5000), 16);
    pool.run(warm, 16, &mut next)?;
    context.stage("reading");
    let rounds = pool.rounds(context.scaled(400_000, 2000), 1);
    let (cost, _) = timed(session, &mut pool, rounds, 1, &mut next)?;
    let times = times(context, session, &mut next)?;
    Ok([cost.worker, percentile(&times, 0.5), percentile(&times, 0.99)])
}

/// Round trips of requests on one connection, in microseconds, sorted.
fn times(context: &Context, session: &Session, next: &mut impl FnMut(&mut Vec<u8>)) -> io::Result<Vec<f64>> {
    let (mut wire, mut all) = (Wire::connect(session.port())?, Vec::new());
    ask(&mut wire, context.scaled(100_000, 500), next, &mut all)?;
    all.sort_by(f64::total_cmp);
    Ok(all)
}

/// Adds the round trips of this many requests, in microseconds.
fn ask(
    wire: &mut Wire,
    count: usize,
    next: &mut impl FnMut(&mut Vec<u8>),
    times: &mut Vec<f64>,
) -> io::Result<()> {
    let mut request = Vec::new();
    for _ in 0..count {
        request.clear();
        next(&mut request);
        let start = Instant::now();
        wire.exchange(&request, 1)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(())
}

/// Latency of clients while values are compressed on the core that serves them.
pub fn beside(context: &mut Context) -> io::Result<()> {
    if !compresses(context) {
        return Ok(());
    }
    let keys = context.scaled(KEYS_ZIPF, 5000);
    let mut session = loaded(context, keys)?;
    session.ask("SET key value")?;
    let mut next = |out: &mut Vec<u8>| resp::command(out, &[b"GET", b"key"]);
    let alone = times(context, &session, &mut next)?;
    let before = session.thread_seconds("larder-cold");
    let (mut wire, mut beside) = (Wire::connect(session.port())?, Vec::new());
    compress(&mut session, keys, || ask(&mut wire, LOOK_EVERY, &mut next, &mut beside))?;
    beside.sort_by(f64::total_cmp);
    let seconds = session.thread_seconds("larder-cold") - before;
    let megabytes = session.info("cold_values_raw_bytes")?.unwrap_or(0) as f64 / 1e6;
    for (name, share, most) in [("p50", 0.5, None), ("p99", 0.99, Some(1.1)), ("p99.9", 0.999, None)] {
        let row = format!("GET {name}, alone");
        let target = most.map_or(Target::None, |most| Target::OfRow(most, row.clone()));
        context.figure(row, "us", percentile(&alone, share), Target::None);
        context.figure(
            format!("GET {name}, while values are compressed"),
            "us",
            percentile(&beside, share),
            target,
        );
    }
    context.figure("time to compress 150 MB", "s", seconds * 150.0 / megabytes, Target::Most(1.0));
    Ok(())
}

/// The hit rate of a cache with a limit at which half of the values fit.
pub fn hits(context: &mut Context) -> io::Result<()> {
    let keys = context.scaled(KEYS_LIMITED, 5000);
    let law = Zipf::new(keys);
    let mut session = context.start()?;
    let empty = session.info("used_memory")?.unwrap_or(0);
    let mut whole = loaded(context, keys)?;
    let bytes = whole.info("used_memory")?.unwrap_or(0).saturating_sub(empty);
    drop(whole);
    let limit = (empty + bytes / 2).to_string();
    for idle in ["0", "900"] {
        if idle != "0" {
            if !compresses(context) {
                break;
            }
            session = context.start()?;
            session.configure(&[("compress-idle-time", idle)])?;
        }
        session.configure(&[("maxmemory-policy", "allkeys-lru"), ("maxmemory", &limit)])?;
        let share = share_of_hits(context, &session, &law)?;
        let name = if idle == "0" { "values as they are" } else { "values compressed" };
        context.figure(format!("reads that find nothing, {name}"), "%", 100.0 - share, Target::None);
    }
    Ok(())
}

/// Percent of reads that find their value, in the second half of the requests; a value that is missing is set.
fn share_of_hits(context: &Context, session: &Session, law: &Zipf) -> io::Result<f64> {
    context.stage("reading");
    let mut client = larder_testkit::Client::connect(session.port())?;
    let (mut rng, mut contents) = (Rng::with_seed(SEED), Rng::with_seed(SEED + 1));
    let batches = context.scaled(4_000_000, 20_000) / BATCH;
    let (mut hits, mut all) = (0, 0);
    for batch in 0..batches {
        let ids: Vec<usize> = (0..BATCH).map(|_| law.draw(&mut rng)).collect();
        let mut request = Vec::new();
        ids.iter().for_each(|&id| get(&mut request, id));
        client.send_raw(&request)?;
        request.clear();
        let (mut found, mut missing) = (0, 0);
        for &id in &ids {
            if client.read()? == larder_testkit::Value::NullBulk {
                missing += 1;
                resp::command(
                    &mut request,
                    &[b"SET", key(id).as_bytes(), value(&mut contents, id).as_bytes()],
                );
            } else {
                found += 1;
            }
        }
        client.send_raw(&request)?;
        (0..missing).try_for_each(|_| client.read().map(drop))?;
        if batch >= batches / 2 {
            (hits, all) = (hits + found, all + BATCH);
        }
    }
    Ok(f64::from(hits) * 100.0 / all.max(1) as f64)
}
