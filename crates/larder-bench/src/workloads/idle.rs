//! Connections that do nothing: their memory, and whether another client feels them.

use crate::context::Context;
use crate::figure::Target;
use crate::machine;
use crate::session::Session;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 10_000;
/// Descriptors that either side needs besides.
const SPARE: usize = 256;
/// Requests whose latency is taken.
const REQUESTS: usize = 50_000;
/// Memory that a connection may take.
const BYTES_EACH: f64 = 2048.0;
/// Servers return an idle connection's buffers only after a while.
const IDLE_FOR: Duration = Duration::from_secs(4);

/// Connects many times, then lets each connection ask once and rest.
pub fn run(context: &mut Context) -> io::Result<()> {
    let count = context.scaled(CONNECTIONS, 100).min(machine::raise_open_files().saturating_sub(SPARE));
    let mut session = context.start()?;
    session.configure(&[("maxclients", &(count + SPARE / 2).to_string())])?;
    session.ask("SET key value")?;
    let alone = latencies(context, &session)?;
    session.wait_quiet(context.still())?;
    let before = session.rss();
    context.stage("connecting");
    let mut crowd = connect(&mut session, count)?;
    session.wait_quiet(context.still())?;
    let each = |session: &Session| (session.rss() - before) / count as f64;
    let silent = each(&session);
    for stream in &mut crowd {
        stream.write_all(b"*1\r\n$4\r\nPING\r\n")?;
        stream.read_exact(&mut [0; 7])?;
    }
    context.stage("resting");
    std::thread::sleep(IDLE_FOR.mul_f64(context.options.scale.clamp(0.01, 1.0)));
    session.wait_quiet(context.still())?;
    let rested = each(&session);
    let crowded = latencies(context, &session)?;
    let of = |what: &str| format!("{what}, {count} connections");
    context.figure(of("a connection that never spoke"), "bytes", silent, Target::Most(BYTES_EACH));
    context.figure(of("a connection that asked once"), "bytes", rested, Target::Most(BYTES_EACH));
    for (name, share, slack) in [("p50", 0.5, 1.1), ("p99", 0.99, 1.25)] {
        let row = format!("GET {name}, alone");
        context.figure(row.clone(), "us", percentile(&alone, share), Target::None);
        let target = Target::OfRow(slack, row);
        context.figure(of(&format!("GET {name}, beside")), "us", percentile(&crowded, share), target);
    }
    Ok(())
}

fn connect(session: &mut Session, count: usize) -> io::Result<Vec<TcpStream>> {
    let crowd = (0..count).map(|_| crate::connect::connect(session.port())).collect::<io::Result<_>>()?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while session.info("connected_clients")?.is_some_and(|clients| clients <= count as u64) {
        if Instant::now() > deadline {
            return Err(io::Error::other("not all connections are accepted"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(crowd)
}

/// Round trips of GET on one connection, in microseconds, sorted.
pub fn latencies(context: &Context, session: &Session) -> io::Result<Vec<f64>> {
    context.stage("latency");
    let mut stream = crate::connect::connect(session.port())?;
    let mut times = Vec::new();
    for _ in 0..context.scaled(REQUESTS, 500) {
        let start = Instant::now();
        stream.write_all(b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n")?;
        stream.read_exact(&mut [0; 11])?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted.get((sorted.len() as f64 * share) as usize).or(sorted.last()).copied().unwrap_or(f64::NAN)
}
