//! Loading the same data three ways: by commands of an element each in pipelines of 100, by larder-load from a file of these commands, and by
//! `redis-cli --pipe` from the same file. What each costs the server, and how long the whole takes.

use crate::context::Context;
use crate::figure::{Cost, Target};
use crate::folder::Folder;
use crate::resp;
use crate::session::Session;
use crate::wire::Wire;
use larder_load::load::load;
use larder_load::options::{Options, Source};
use larder_load::security::Security;
use larder_load::target::Target as Server;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Commands that are sent before their replies are read.
const PIPELINE: usize = 100;

/// Takes a command.
type Sink<'a> = &'a mut dyn FnMut(&[&[u8]]) -> io::Result<()>;

/// What is loaded.
pub struct Data {
    /// How its rows begin.
    row: &'static str,
    /// Hands out its commands; returns how many keys they make.
    commands: fn(&Context, Sink<'_>) -> io::Result<usize>,
    /// The most that larder-load may cost Larder, as a part of what the commands cost.
    target: f64,
}

pub const HASHES: Data = Data { row: "hashes", commands: hashes, target: 0.25 };
pub const ZSET: Data = Data { row: "sorted set", commands: zset, target: 0.25 };
pub const LISTS: Data = Data { row: "lists", commands: lists, target: 0.25 };
pub const STRINGS: Data = Data { row: "strings", commands: strings, target: 0.6 };

/// A way of loading: what it cost the server for an element, and how long it took, in milliseconds.
struct Way {
    cost: Cost,
    wall_ms: f64,
}

/// Measures all three.
pub fn run(context: &mut Context, data: &Data) -> io::Result<()> {
    let mut session = context.start()?;
    let folder = Folder::new();
    let path = folder.path().join("commands");
    let (mut elements, mut file) = (0_u64, BufWriter::new(File::create(&path)?));
    let mut bytes = Vec::new();
    let keys = (data.commands)(context, &mut |words| {
        elements += 1;
        bytes.clear();
        resp::command(&mut bytes, words);
        file.write_all(&bytes)
    })?;
    file.into_inner()?.sync_all()?;
    let mut measure = |context: &Context, way: &str, work: &mut dyn FnMut(u16) -> io::Result<()>| {
        context.stage(way);
        let (port, mut wall_ms) = (session.port(), 0.0);
        let cost = session.cost(elements, || {
            let start = Instant::now();
            work(port)?;
            wall_ms = start.elapsed().as_secs_f64() * 1e3;
            Ok(())
        })?;
        check_and_empty(&mut session, keys)?;
        Ok::<_, io::Error>(Way { cost, wall_ms })
    };
    let commands = measure(context, "commands", &mut |port| by_commands(context, data, port))?;
    let loaded = measure(context, "larder-load", &mut |port| by_larder_load(&path, port))?;
    let piped = measure(context, "redis-cli --pipe", &mut |port| by_redis_cli(&path, port))?;
    let row = data.row;
    let (of_commands, of_pipe) =
        (format!("{row}: commands, CPU"), format!("{row}: redis-cli --pipe, wall time"));
    context.cost(of_commands.clone(), commands.cost, Target::None);
    context.cost(format!("{row}: larder-load, CPU"), loaded.cost, Target::OfRow(data.target, of_commands));
    context.cost(format!("{row}: larder-load, CPU beside redis-server"), loaded.cost, Target::OfRedis(0.5));
    context.cost(format!("{row}: redis-cli --pipe, CPU"), piped.cost, Target::None);
    context.figure(of_pipe.clone(), "ms", piped.wall_ms, Target::None);
    context.figure(
        format!("{row}: larder-load, wall time"),
        "ms",
        loaded.wall_ms,
        Target::OfRow(1.0, of_pipe),
    );
    Ok(())
}

fn check_and_empty(session: &mut Session, keys: usize) -> io::Result<()> {
    let found = session.ask("DBSIZE")?.int();
    if found != keys as i64 {
        return Err(io::Error::other(format!("{found} keys instead of {keys}")));
    }
    session.ask("FLUSHALL SYNC").map(drop)
}

fn by_commands(context: &Context, data: &Data, port: u16) -> io::Result<()> {
    let (mut wire, mut request, mut waiting) = (Wire::connect(port)?, Vec::new(), 0);
    (data.commands)(context, &mut |words| {
        resp::command(&mut request, words);
        waiting += 1;
        if waiting == PIPELINE {
            wire.exchange(&std::mem::take(&mut request), std::mem::take(&mut waiting))?;
        }
        Ok(())
    })?;
    wire.exchange(&request, waiting).map(drop)
}

fn by_larder_load(path: &Path, port: u16) -> io::Result<()> {
    let (host, security) = ("127.0.0.1".to_owned(), Security::default());
    let target = Server { host, port, user: None, password: None, security };
    let options = Options {
        input: Some(path.to_owned()),
        source: Source::Resp,
        target,
        db: None,
        workers: 2,
        // What is measured is not the disk.
        budget_bytes: 4 << 30,
        adjacent: false,
        replace: false,
        dry_run: false,
        rejects: None,
        state: None,
        spill: std::env::temp_dir(),
        quiet: true,
    };
    let report = load(&options).map_err(io::Error::other)?;
    match report.failure.or(report.first_rejects.into_iter().next()) {
        Some(reason) => Err(io::Error::other(reason)),
        None => Ok(()),
    }
}

fn by_redis_cli(path: &Path, port: u16) -> io::Result<()> {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &port.to_string(), "--pipe"]).stdin(File::open(path)?).stdout(Stdio::piped());
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && text.contains("errors: 0") {
        Ok(())
    } else {
        Err(io::Error::other(text.into_owned()))
    }
}

fn hashes(context: &Context, to: Sink<'_>) -> io::Result<usize> {
    let count = context.scaled(10_000, 10);
    for hash in 0..count {
        let key = format!("hash:{hash:06}");
        for field in 0..800 {
            let (name, value) = (format!("field:{field:04}"), format!("{:08}", field * 7919 % 100_000_000));
            to(&[b"HSET", key.as_bytes(), name.as_bytes(), value.as_bytes()])?;
        }
    }
    Ok(count)
}

fn zset(context: &Context, to: Sink<'_>) -> io::Result<usize> {
    let mut rng = fastrand::Rng::with_seed(crate::data::SEED);
    for member in 0..context.scaled(2_000_000, 1000) {
        let (score, member) = (rng.u32(..1_000_000_000).to_string(), format!("member:{member:09}"));
        to(&[b"ZADD", b"zset", score.as_bytes(), member.as_bytes()])?;
    }
    Ok(1)
}

fn lists(context: &Context, to: Sink<'_>) -> io::Result<usize> {
    for list in 0..20 {
        let key = format!("ints:{list}");
        for number in 0..context.scaled(1_000_000, 1000) {
            to(&[b"RPUSH", key.as_bytes(), number.to_string().as_bytes()])?;
        }
    }
    Ok(20)
}

fn strings(context: &Context, to: Sink<'_>) -> io::Result<usize> {
    let count = context.scaled(5_000_000, 1000);
    for key in 0..count {
        let (key, value) = (format!("key:{key:012}"), format!("value:{key:014}"));
        to(&[b"SET", key.as_bytes(), value.as_bytes()])?;
    }
    Ok(count)
}
