//! What replicas cost a primary, how fast a snapshot travels and a stream is applied, and how long a failover takes.

use super::memory;
use super::persistence::{Seen, write_until};
use crate::connect::connect;
use crate::context::Context;
use crate::data::SEED;
use crate::figure::{Target, median};
use crate::links::{Drain, Feed};
use crate::resp;
use crate::session::Session;
use fastrand::Rng;
use std::io::{self, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

/// Clients that write.
const WRITERS: usize = 50;
/// Commands in a pipeline of theirs.
const PIPELINE: usize = 16;
/// Snapshots begin at once.
const AT_ONCE: [&str; 2] = ["--repl-diskless-sync-delay", "0"];
/// How long a link may take to come up.
const LINK_AT_MOST: Duration = Duration::from_secs(300);

/// SET with replicas that follow: what it costs the primary.
pub fn primary(context: &mut Context) -> io::Result<()> {
    const ALONE: &str = "SET, no replica";
    for (row, replicas, target) in [
        (ALONE, 0, Target::None),
        ("SET, 1 replica", 1, Target::OfRow(1.1, ALONE.to_owned())),
        ("SET, 4 replicas", 4, Target::OfRow(1.25, ALONE.to_owned())),
    ] {
        let mut session = Session::start_pinned(context.peer, &AT_ONCE)?;
        let drains = (0..replicas).map(|_| Drain::attach(&mut session)).collect::<io::Result<Vec<_>>>()?;
        let mut pool = session.pool(WRITERS)?;
        let rounds = pool.rounds(context.scaled(2_000_000, 5000), PIPELINE);
        let mut set = random_sets();
        pool.run(rounds / 10, PIPELINE, &mut set)?;
        context.stage(row);
        let operations = (rounds * PIPELINE * WRITERS) as u64;
        let cost = session.cost(operations, || pool.run(rounds, PIPELINE, &mut set).map(drop))?;
        drains.into_iter().try_for_each(Drain::end)?;
        context.cost(row, cost, target);
    }
    Ok(())
}

fn random_sets() -> impl FnMut(&mut Vec<u8>) {
    let mut rng = Rng::with_seed(SEED);
    move |out| {
        let key = format!("key:{:012}", rng.u32(..100_000));
        resp::command(out, &[b"SET", key.as_bytes(), b"a value of 20 bytes."]);
    }
}

/// What a replica spends on a command of the stream.
pub fn apply(context: &mut Context) -> io::Result<()> {
    let count = context.scaled(1_000_000, 2000);
    let mut rng = Rng::with_seed(SEED);
    let mut stream = |kind: &str, count: usize| {
        let mut bytes = Vec::new();
        resp::command(&mut bytes, &[b"SELECT", b"0"]);
        for n in 0..count {
            let (key, other) = (rng.u32(..100_000), rng.u32(..1000));
            let value = format!("value:{n:014}");
            let set = |out: &mut Vec<u8>| {
                resp::command(out, &[b"SET", format!("key:{key:012}").as_bytes(), value.as_bytes()]);
            };
            match kind {
                "SET" => set(&mut bytes),
                "LPUSH" => {
                    resp::command(
                        &mut bytes,
                        &[b"LPUSH", format!("list:{other}").as_bytes(), value.as_bytes()],
                    );
                }
                "ZADD" => resp::command(
                    &mut bytes,
                    &[
                        b"ZADD",
                        format!("zset:{other}").as_bytes(),
                        key.to_string().as_bytes(),
                        value.as_bytes(),
                    ],
                ),
                "HSET" => resp::command(
                    &mut bytes,
                    &[
                        b"HSET",
                        format!("hash:{other}").as_bytes(),
                        key.to_string().as_bytes(),
                        value.as_bytes(),
                    ],
                ),
                _ => {
                    if n % 10 == 0 {
                        resp::command(&mut bytes, &[b"MULTI"]);
                    }
                    set(&mut bytes);
                    if n % 10 == 9 || n + 1 == count {
                        resp::command(&mut bytes, &[b"EXEC"]);
                    }
                }
            }
        }
        bytes
    };
    for kind in ["SET", "LPUSH", "ZADD", "HSET", "SET in MULTI of 10"] {
        context.stage(kind);
        let mut session = context.start()?;
        let mut feed = Feed::attach(&mut session)?;
        feed.apply(&stream(kind, count / 10))?;
        let bytes = stream(kind, count);
        let start = Instant::now();
        let cost = session.cost(count as u64, || feed.apply(&bytes))?;
        let each_ns = start.elapsed().as_secs_f64() * 1e9 / count as f64;
        context.cost(format!("{kind}, applied"), cost, Target::OfRedis(0.5));
        context.figure(format!("{kind}, wall time"), "ns", each_ns, Target::None);
    }
    Ok(())
}

/// A replica that needs a snapshot of many keys, while a client writes.
pub fn sync(context: &mut Context) -> io::Result<()> {
    let session = Session::start_free(context.peer, &AT_ONCE)?;
    let mut loader = session.loader()?;
    let keys = memory::load(context, &memory::STRINGS, &mut loader)?;
    loader.finish()?;
    let (mut calm, mut busy) = (Seen::default(), Seen::default());
    let (mut spent, mut grown) = (Vec::new(), Vec::new());
    let before = session.rss();
    for _ in 0..context.rounds(3) {
        context.stage("without a replica");
        calm.add(write_until(&session, keys, |_| {
            thread::sleep(context.still());
            Ok(())
        })?);
        context.stage("with one that comes");
        let mut replica = Session::start_free(context.peer, &AT_ONCE)?;
        let mut peak = 0.0_f64;
        busy.add(write_until(&session, keys, |control| {
            let start = Instant::now();
            replica.ask(&format!("REPLICAOF 127.0.0.1 {}", control.port()))?;
            wait_for_link(&mut replica, || peak = peak.max(control.rss()))?;
            spent.push(start.elapsed().as_secs_f64() * 1e3);
            Ok(())
        })?);
        grown.push(peak - before);
    }
    context.figure("full sync, wall time", "ms", median(spent), Target::OfRedis(0.5));
    context.figure("longest SET, no replica", "ms", calm.at(1.0), Target::None);
    context.figure("longest SET, full sync", "ms", busy.at(1.0), Target::Most(calm.at(1.0) + 3.0));
    let share = median(grown) / before * 100.0;
    context.figure("more memory at the peak", "%", share, Target::None);
    Ok(())
}

/// Waits until the link of a replica is up.
fn wait_for_link(replica: &mut Session, mut each: impl FnMut()) -> io::Result<()> {
    let deadline = Instant::now() + LINK_AT_MOST;
    while !replica.ask("INFO replication")?.text().contains("master_link_status:up") {
        if Instant::now() > deadline {
            return Err(io::Error::other("the link does not come up"));
        }
        each();
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A primary and a replica of it.
fn pair(context: &Context) -> io::Result<(Session, Session)> {
    let (primary, mut replica) =
        (Session::start_free(context.peer, &AT_ONCE)?, Session::start_free(context.peer, &AT_ONCE)?);
    replica.ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port()))?;
    wait_for_link(&mut replica, || ())?;
    Ok((primary, replica))
}

/// How long it takes until a write is seen at the replica, while others write 20,000 times a second.
pub fn lag(context: &mut Context) -> io::Result<()> {
    const BURST: usize = 200;
    const PERIOD: Duration = Duration::from_millis(10);
    let (mut primary, mut replica) = pair(context)?;
    let mut pool = primary.pool(1)?;
    let mut set = random_sets();
    let mut times = Vec::new();
    for n in 0..context.scaled(1000, 20) {
        let begun = Instant::now();
        pool.run(1, BURST, &mut set)?;
        let start = Instant::now();
        primary.ask(&format!("SET probe {n}"))?;
        while replica.ask("GET probe")?.text() != n.to_string() {}
        times.push(start.elapsed().as_secs_f64() * 1e3);
        thread::sleep(PERIOD.saturating_sub(begun.elapsed()));
    }
    times.sort_by(f64::total_cmp);
    context.figure("write to read at the replica", "ms", median(times.clone()), Target::None);
    context.figure("99 % of them", "ms", times[(times.len() - 1) * 99 / 100], Target::Most(5.0));
    Ok(())
}

/// FAILOVER: from the last write that the old primary takes to the first one that the new one does.
pub fn failover(context: &mut Context) -> io::Result<()> {
    let mut gaps = Vec::new();
    for _ in 0..context.rounds(5) {
        let (mut primary, replica) = pair(context)?;
        let (old, new) = (primary.port(), replica.port());
        let writer = thread::spawn(move || last_write(old));
        thread::sleep(context.still() / 3);
        let first = thread::spawn(move || first_write(new));
        primary.ask("FAILOVER")?;
        let joined = |thread: thread::JoinHandle<io::Result<Instant>>| {
            thread.join().map_err(|_| io::Error::other("a writer panicked"))?
        };
        let (last, first) = (joined(writer)?, joined(first)?);
        gaps.push(first.saturating_duration_since(last).as_secs_f64() * 1e3);
    }
    context.figure("no writes during FAILOVER", "ms", median(gaps), Target::Most(100.0));
    Ok(())
}

/// Writes until the server refuses; when it last did not.
fn last_write(port: u16) -> io::Result<Instant> {
    let mut stream = connect(port)?;
    let mut last = Instant::now();
    while exchange(&mut stream)? {
        last = Instant::now();
    }
    Ok(last)
}

/// Tries to write until the server accepts it; when that is.
fn first_write(port: u16) -> io::Result<Instant> {
    let mut stream = connect(port)?;
    let deadline = Instant::now() + LINK_AT_MOST;
    while !exchange(&mut stream)? {
        if Instant::now() > deadline {
            return Err(io::Error::other("the replica does not lead"));
        }
        thread::sleep(Duration::from_micros(200));
    }
    Ok(Instant::now())
}

/// Whether a SET is accepted.
fn exchange(stream: &mut std::net::TcpStream) -> io::Result<bool> {
    stream.write_all(b"SET a 1\r\n")?;
    let mut reply = [0; 256];
    match stream.read(&mut reply)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(reply[0] == b'+'),
    }
}
