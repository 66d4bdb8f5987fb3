//! Saving, loading, snapshots under load, and the append-only file.
//!
//! Servers are not pinned here, but for [`everysec`]: their background threads, or children, may use every
//! core, as they would.

use super::memory::{self, Dataset};
use crate::connect::connect;
use crate::context::Context;
use crate::figure::{Target, median};
use crate::resp;
use crate::session::Session;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// 1.5 times as fast as redis-server.
const FASTER: Target = Target::OfRedis(1.0 / 1.5);
/// Clients that write while something else is measured.
const WRITERS: usize = 50;

/// What is saved and loaded.
const DATASETS: &[&Dataset] = &[&memory::JSON, &memory::ZSET_MEDIUM, &memory::HASHES, &memory::STRINGS];

/// How long SAVE takes, and reading the file again.
pub fn save_and_load(context: &mut Context) -> io::Result<()> {
    for dataset in DATASETS {
        let mut session = Session::start_free(context.peer, &["--enable-debug-command", "yes"])?;
        let mut loader = session.loader()?;
        memory::load(context, dataset, &mut loader)?;
        loader.finish()?;
        let (mut saves, mut loads) = (Vec::new(), Vec::new());
        for _ in 0..context.rounds(3) {
            context.stage("saving");
            saves.push(time(|| session.ask("SAVE"))?);
            context.stage("loading");
            loads.push(time(|| session.ask("DEBUG RELOAD NOSAVE"))?);
        }
        let row = dataset.row();
        context.figure(format!("SAVE, {row}"), "ms", median(saves), FASTER);
        context.figure(format!("loading, {row}"), "ms", median(loads), FASTER);
    }
    Ok(())
}

fn time<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// The longest that a command takes while a snapshot of many keys begins and is written, and the memory it costs. Calm and
/// snapshots take turns, for the same time each: what a command waits without one is the machine's.
pub fn snapshot(context: &mut Context) -> io::Result<()> {
    let session = Session::start_free(context.peer, &[])?;
    let mut loader = session.loader()?;
    let keys = memory::load(context, &memory::STRINGS, &mut loader)?;
    loader.finish()?;
    let (mut calm, mut busy) = (Seen::default(), Seen::default());
    let (mut spent, mut grown) = (Vec::new(), Vec::new());
    let before = session.rss();
    for _ in 0..context.rounds(5) {
        context.stage("writing with a snapshot");
        let (mut peak, mut took) = (0.0_f64, Duration::ZERO);
        let start_rss = session.rss();
        busy.add(write_until(&session, keys, |control| {
            let start = Instant::now();
            control.ask("BGSAVE")?;
            while control.info_of("persistence", "rdb_bgsave_in_progress")? == Some(1) {
                peak = peak.max(control.rss());
                thread::sleep(Duration::from_millis(20));
            }
            took = start.elapsed();
            Ok(())
        })?);
        spent.push(took.as_secs_f64() * 1e3);
        grown.push(peak - start_rss);
        context.stage("writing without one");
        calm.add(write_until(&session, keys, |control| {
            let start = Instant::now();
            while start.elapsed() < took {
                control.info_of("persistence", "rdb_bgsave_in_progress")?;
                control.rss();
                thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        })?);
    }
    let longest = calm.at(1.0);
    for (when, seen) in [("no snapshot", &calm), ("snapshot", &busy)] {
        context.figure(format!("a SET, {when}"), "ms", seen.at(0.5), Target::None);
        context.figure(format!("99 % of SETs, {when}"), "ms", seen.at(0.99), Target::None);
        context.figure(format!("99.9 % of SETs, {when}"), "ms", seen.at(0.999), Target::None);
        context.figure(format!("SETs above 1 ms, {when}"), "", seen.above(1.0) as f64, Target::None);
        let target = if when == "snapshot" { Target::Most(longest + 3.0) } else { Target::None };
        context.figure(format!("longest SET, {when}"), "ms", seen.at(1.0), target);
    }
    context.figure("snapshot, wall time", "ms", median(spent), Target::None);
    context.figure("SETs meanwhile", "1000", busy.times.len() as f64 / 1e3, Target::None);
    let grown = median(grown);
    context.figure("more memory at the peak", "MB", grown / 1e6, Target::None);
    context.figure("the same, of what there was", "%", grown / before * 100.0, Target::None);
    Ok(())
}

/// What a client saw that set keys one by one: the time of each, in ms.
#[derive(Default)]
pub(super) struct Seen {
    times: Vec<f64>,
}

impl Seen {
    pub(super) fn add(&mut self, times: Vec<f64>) {
        self.times.extend(times);
        self.times.sort_by(f64::total_cmp);
    }

    /// The time that this share of all took at most.
    pub(super) fn at(&self, share: f64) -> f64 {
        self.times[((self.times.len() - 1) as f64 * share) as usize]
    }

    fn above(&self, ms: f64) -> usize {
        self.times.len() - self.times.partition_point(|&time| time <= ms)
    }
}

/// One connection sets random keys, one after the other, until `until` returns.
pub(super) fn write_until(
    session: &Session,
    keys: u64,
    until: impl FnOnce(&mut Session) -> io::Result<()>,
) -> io::Result<Vec<f64>> {
    let mut control = session.again()?;
    let mut stream = connect(session.port())?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| -> io::Result<Vec<f64>> {
            let mut rng = fastrand::Rng::with_seed(7);
            let (mut request, mut times) = (Vec::new(), Vec::new());
            while !stop.load(Ordering::Relaxed) {
                request.clear();
                let key = format!("key:{:012}", rng.u64(..keys));
                resp::command(&mut request, &[b"SET", key.as_bytes(), b"another value of 20."]);
                times.push(time(|| exchange(&mut stream, &request))?);
            }
            Ok(times)
        });
        let done = until(&mut control);
        stop.store(true, Ordering::Relaxed);
        let times = writer.join().map_err(|_| io::Error::other("the writer panicked"))?;
        done.and(times)
    })
}

/// Sends a request whose reply is one short line.
fn exchange(stream: &mut TcpStream, request: &[u8]) -> io::Result<()> {
    stream.write_all(request)?;
    let mut reply = [0; 64];
    match stream.read(&mut reply)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        n if reply[..n].ends_with(b"\r\n") && reply[0] != b'-' => Ok(()),
        n => Err(io::Error::other(String::from_utf8_lossy(&reply[..n]).into_owned())),
    }
}

/// `appendfsync always`: how fast many clients write, and what a reader feels of it.
pub fn always(context: &mut Context) -> io::Result<()> {
    let reads = |session: &Session, writers: bool, context: &Context| -> io::Result<(f64, Vec<f64>)> {
        let stop = AtomicBool::new(false);
        let operations = context.scaled(100_000, 1000);
        let port = session.port();
        thread::scope(|scope| {
            let reader = scope.spawn(|| -> io::Result<Vec<f64>> {
                let mut stream = connect(port)?;
                let mut request = Vec::new();
                resp::command(&mut request, &[b"GET", b"nothing"]);
                let mut times = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    times.push(time(|| exchange(&mut stream, &request))? * 1e3);
                    thread::sleep(Duration::from_micros(500));
                }
                Ok(times)
            });
            let mut pool = session.pool(WRITERS)?;
            let start = Instant::now();
            let done = if writers {
                let mut n = 0_u64;
                let rounds = pool.rounds(operations, 1);
                pool.run(rounds, 1, |request| {
                    n += 1;
                    let key = format!("key:{:06}", n % 100_000);
                    resp::command(request, &[b"SET", key.as_bytes(), b"a value of 20 bytes."]);
                })
            } else {
                thread::sleep(context.still());
                Ok(0)
            };
            let rate = operations as f64 / start.elapsed().as_secs_f64();
            stop.store(true, Ordering::Relaxed);
            done?;
            let times = reader.join().map_err(|_| io::Error::other("the reader panicked"))??;
            Ok((rate, times))
        })
    };
    let plain = Session::start_free(context.peer, &[])?;
    let (_, without) = reads(&plain, true, context)?;
    drop(plain);
    let logged = Session::start_free(context.peer, &["--appendonly", "yes", "--appendfsync", "always"])?;
    let (rate, with) = reads(&logged, true, context)?;
    context.figure("a SET of 50 writers, wall time", "us", 1e6 / rate, Target::OfRedis(1.0));
    let p99 = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[(times.len() - 1) * 99 / 100]
    };
    context.figure("GET p50 beside them, no log", "us", median(without.clone()), Target::None);
    context.figure("GET p50 beside them", "us", median(with.clone()), Target::OfRedis(1.0));
    context.figure("GET p99 beside them, no log", "us", p99(without), Target::None);
    context.figure("GET p99 beside them", "us", p99(with), Target::OfRedis(1.0));
    Ok(())
}

/// `appendfsync everysec`: what the log costs the server.
pub fn everysec(context: &mut Context) -> io::Result<()> {
    const PLAIN: &str = "SET, no log";
    for (row, args) in [(PLAIN, &[][..]), ("SET, everysec", &["--appendonly", "yes"][..])] {
        let mut session = Session::start_pinned(context.peer, args)?;
        let mut pool = session.pool(WRITERS)?;
        let operations = context.scaled(1_000_000, 5000);
        let rounds = pool.rounds(operations, 1);
        let mut n = 0_u64;
        let mut set = |request: &mut Vec<u8>| {
            n += 1;
            let key = format!("key:{:012}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44);
            resp::command(request, &[b"SET", key.as_bytes(), b"a value of 20 bytes."]);
        };
        pool.run(rounds / 10, 1, &mut set)?;
        context.stage(row);
        let cost = session.cost((rounds * WRITERS) as u64, || pool.run(rounds, 1, &mut set).map(drop))?;
        let target = if row == PLAIN { Target::None } else { Target::OfRow(1.1, PLAIN.to_owned()) };
        context.cost(row, cost, target);
    }
    Ok(())
}
