//! Sets: server CPU of the everyday commands on a large one and on many small ones, and memory after churn.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::{Target, median_cost};
use crate::loader::Loader;
use crate::resp;
use fastrand::Rng;
use std::io;

const PIPELINE: usize = 16;
/// Members that the commands draw from are the loaded ones and as many others.
const SPREAD: usize = 2;

/// How members look.
#[derive(Clone, Copy)]
enum Kind {
    Integers,
    Strings,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Integers => "integers",
            Kind::Strings => "strings",
        }
    }

    /// The member of this number.
    fn member(self, n: usize) -> String {
        let scattered = n as u64 * 7919 % 1_000_000_007;
        match self {
            Kind::Integers => scattered.to_string(),
            Kind::Strings => format!("member:{scattered:09}"),
        }
    }
}

/// Measures the commands on `sets` sets of `members`.
pub fn run(context: &mut Context, sets: usize, members: usize) -> io::Result<()> {
    for kind in [Kind::Strings, Kind::Integers] {
        let (sets, members) =
            if sets == 1 { (1, context.scaled(members, 1000)) } else { (context.scaled(sets, 10), members) };
        run_kind(context, kind, sets, members)?;
    }
    Ok(())
}

fn run_kind(context: &mut Context, kind: Kind, sets: usize, members: usize) -> io::Result<()> {
    let mut session = context.start()?;
    context.stage("loading");
    let mut loader = session.loader()?;
    for set in 0..sets {
        load(&mut loader, &key(set), kind, 0..members)?;
    }
    loader.finish()?;
    let mut pool = session.pool(CONNECTIONS)?;
    let rounds = pool.rounds(context.scaled(400_000, 800), PIPELINE);
    for verb in ["SISMEMBER", "SADD", "SREM", "SPOP", "SRANDMEMBER"] {
        context.stage(verb);
        let mut rng = Rng::with_seed(SEED);
        let mut command = |out: &mut Vec<u8>| {
            let key = key(rng.usize(..sets));
            let member = kind.member(rng.usize(..members * SPREAD));
            match verb {
                "SPOP" | "SRANDMEMBER" => resp::command(out, &[verb.as_bytes(), key.as_bytes()]),
                _ => resp::command(out, &[verb.as_bytes(), key.as_bytes(), member.as_bytes()]),
            }
        };
        pool.run(rounds.div_ceil(20), PIPELINE, &mut command)?;
        let (cost, _) = timed(&mut session, &mut pool, rounds, PIPELINE, command)?;
        context.cost(format!("{verb}, {}, {sets} of {members}", kind.name()), cost, Target::OfRedis(0.9));
    }
    Ok(())
}

/// SINTER, SINTERCARD, SUNIONSTORE and SDIFFSTORE of two sets that have half of their members in common.
pub fn intersect(context: &mut Context) -> io::Result<()> {
    let count = context.scaled(100_000, 1000);
    for kind in [Kind::Strings, Kind::Integers] {
        let mut session = context.start()?;
        let mut loader = session.loader()?;
        load(&mut loader, "set:0", kind, 0..count)?;
        load(&mut loader, "set:1", kind, count / 2..count / 2 + count)?;
        loader.finish()?;
        let mut pool = session.pool(1)?;
        for verb in [
            "SINTER set:0 set:1",
            "SINTERCARD 2 set:0 set:1",
            "SUNIONSTORE u set:0 set:1",
            "SDIFFSTORE d set:0 set:1",
        ] {
            context.stage(verb);
            let words: Vec<&[u8]> = verb.split(' ').map(str::as_bytes).collect();
            let mut costs = Vec::new();
            for _ in 0..context.rounds(5) {
                let (cost, _) = timed(&mut session, &mut pool, 4, 1, |out| resp::command(out, &words))?;
                costs.push(cost);
            }
            let name = verb.split(' ').next().unwrap_or(verb);
            context.cost(
                format!("{name}, {}, 2 of {count}", kind.name()),
                median_cost(&costs),
                Target::OfRedis(0.9),
            );
        }
    }
    Ok(())
}

/// Replaces members of a set ten times over: memory must stay near that of a fresh set of the same size.
pub fn churn(context: &mut Context) -> io::Result<()> {
    let count = context.scaled(1_000_000, 1000);
    for kind in [Kind::Strings, Kind::Integers] {
        let row = format!("{}, memory after churn over fresh", kind.name());
        let replace = |loader: &mut Loader, n: usize| {
            loader.send(&[b"SREM", b"set:0", kind.member(n).as_bytes()])?;
            loader.send(&[b"SADD", b"set:0", kind.member(n + count).as_bytes()])
        };
        let load = |loader: &mut Loader| load(loader, "set:0", kind, 0..count).map(drop);
        super::churn::run(context, &row, 10 * count, Target::Most(1.2), load, replace)?;
    }
    Ok(())
}

fn load(loader: &mut Loader, key: &str, kind: Kind, range: std::ops::Range<usize>) -> io::Result<u64> {
    loader.send_all("SADD", key, range.map(|n| kind.member(n)), 100)
}

fn key(n: usize) -> String {
    format!("set:{n}")
}
