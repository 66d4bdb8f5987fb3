//! Sorted sets: server CPU of the everyday commands, ranges by score over many sets, and memory under churn.

use super::operations::{CONNECTIONS, timed};
use crate::context::Context;
use crate::data::SEED;
use crate::figure::Target;
use crate::loader::Loader;
use crate::pool::ConnectionPool;
use crate::resp;
use crate::session::Session;
use fastrand::Rng;
use std::cell::RefCell;
use std::io;

const PIPELINE: usize = 16;
/// Entries of a range.
const RANGE: usize = 100;

/// How many sets, and members of each.
#[derive(Clone, Copy)]
pub struct SetSizes {
    what: &'static str,
    sets: usize,
    each: usize,
}

pub const ONE: SetSizes = SetSizes { what: "1 set of 1M", sets: 1, each: 1_000_000 };
pub const MANY: SetSizes = SetSizes { what: "10,000 sets of 100", sets: 10_000, each: 100 };

/// Keys, members and scores of the sets, as bytes, from the seed.
struct Data {
    sets: usize,
    each: usize,
    rng: Rng,
}

impl Data {
    fn key(&self, set: usize) -> String {
        format!("zset:{set}")
    }

    fn any_key(&mut self) -> String {
        let set = self.rng.usize(..self.sets);
        self.key(set)
    }

    fn member(&self, i: usize) -> String {
        format!("m{i:015}")
    }

    fn any_member(&mut self) -> String {
        let i = self.rng.usize(..self.each);
        self.member(i)
    }

    fn score(&mut self) -> String {
        format!("{:?}", self.rng.f64() * 1e6)
    }
}

/// Loads a set, this many entries with a command.
fn load_set(
    loader: &mut Loader,
    key: &str,
    entries: impl Iterator<Item = (String, String)>,
    batch: usize,
) -> io::Result<u64> {
    let (mut held, mut total): (Vec<(String, String)>, u64) = (Vec::with_capacity(batch), 0);
    let mut send = |held: &mut Vec<(String, String)>| {
        total += held.len() as u64;
        let mut args: Vec<&[u8]> = vec![b"ZADD", key.as_bytes()];
        args.extend(held.iter().flat_map(|(score, member)| [score.as_bytes(), member.as_bytes()]));
        let sent = if held.is_empty() { Ok(()) } else { loader.send(&args) };
        held.clear();
        sent
    };
    for entry in entries {
        held.push(entry);
        if held.len() == batch {
            send(&mut held)?;
        }
    }
    send(&mut held)?;
    Ok(total)
}

/// Loads the members of the sets in random order of scores.
fn load(context: &Context, session: &Session, data: &mut Data) -> io::Result<()> {
    let mut loader = session.loader()?;
    let sets = data.sets;
    load_all(&mut loader, data, |set| context.progress("loading", set, sets))?;
    loader.finish()
}

fn load_all(loader: &mut Loader, data: &mut Data, progress: impl Fn(usize)) -> io::Result<()> {
    for set in 0..data.sets {
        progress(set);
        let key = data.key(set);
        let entries: Vec<_> = (0..data.each).map(|i| (data.score(), data.member(i))).collect();
        load_set(loader, &key, entries.into_iter(), 400)?;
    }
    Ok(())
}

/// Measures the commands on sets of these sizes.
pub fn run(context: &mut Context, sizes: &SetSizes) -> io::Result<()> {
    let mut session = context.start()?;
    let (sets, each) = if sizes.sets == 1 {
        (1, context.scaled(sizes.each, 2000))
    } else {
        (context.scaled(sizes.sets, 20), sizes.each)
    };
    let mut data = Data { sets, each, rng: Rng::with_seed(SEED) };
    load(context, &session, &mut data)?;
    let mut pool = session.pool(CONNECTIONS)?;
    let rounds = pool.rounds(context.scaled(400_000, 800), PIPELINE);
    let mut measure =
        |context: &mut Context, name: &str, rounds: usize, command: &mut dyn FnMut(&mut Vec<u8>)| {
            context.stage(name);
            let (cost, _) = timed(&mut session, &mut pool, rounds, PIPELINE, command)?;
            context.cost(format!("{name}, {}", sizes.what), cost, Target::OfRedis(0.9));
            io::Result::Ok(())
        };
    let few = rounds.div_ceil(10);
    let mut next = each;
    measure(context, "ZSCORE", rounds, &mut |out| {
        resp::command(out, &[b"ZSCORE", data.any_key().as_bytes(), data.any_member().as_bytes()]);
    })?;
    measure(context, "ZRANK", rounds, &mut |out| {
        resp::command(out, &[b"ZRANK", data.any_key().as_bytes(), data.any_member().as_bytes()]);
    })?;
    measure(context, "ZRANGE of 100 by rank", few, &mut |out| {
        let start = data.rng.usize(..(data.each - RANGE).max(1));
        let (start, stop) = (start.to_string(), (start + RANGE - 1).to_string());
        resp::command(out, &[b"ZRANGE", data.any_key().as_bytes(), start.as_bytes(), stop.as_bytes()]);
    })?;
    measure(context, "ZRANGEBYSCORE of 100", few, &mut |out| {
        let (key, from) = (data.any_key(), data.score());
        resp::command(
            out,
            &[b"ZRANGEBYSCORE", key.as_bytes(), from.as_bytes(), b"+inf", b"LIMIT", b"0", b"100"],
        );
    })?;
    measure(context, "ZADD, another score", rounds, &mut |out| {
        let (key, score, member) = (data.any_key(), data.score(), data.any_member());
        resp::command(out, &[b"ZADD", key.as_bytes(), score.as_bytes(), member.as_bytes()]);
    })?;
    measure(context, "ZINCRBY", rounds, &mut |out| {
        let (key, member) = (data.any_key(), data.any_member());
        resp::command(out, &[b"ZINCRBY", key.as_bytes(), b"1.5", member.as_bytes()]);
    })?;
    measure(context, "ZADD, new members", rounds, &mut |out| {
        let (key, score, member) = (data.any_key(), data.score(), data.member(next));
        resp::command(out, &[b"ZADD", key.as_bytes(), score.as_bytes(), member.as_bytes()]);
        next += 1;
    })?;
    measure(context, "ZPOPMIN", rounds, &mut |out| {
        resp::command(out, &[b"ZPOPMIN", data.any_key().as_bytes()]);
    })
}

/// For each of two bands of sizes: many sets, loaded with one ZADD each, then asked for ranges of scores.
pub fn bands(context: &mut Context) -> io::Result<()> {
    for (sets, least, most) in [(100_000, 10, 128), (80_000, 129, 200)] {
        let mut session = context.start()?;
        let sets = context.scaled(sets, 50);
        let mut rng = Rng::with_seed(SEED);
        let mut loader = session.loader()?;
        let mut total = 0;
        let row = format!("{least} to {most} members");
        context.stage("loading");
        let cost = session.cost(1, || {
            for set in 0..sets {
                total += load_set(&mut loader, &format!("zset:{set}"), entries(&mut rng, least, most), most)?;
            }
            loader.finish()
        })?;
        context.cost(format!("ZADD, a member, sets of {row}"), cost.per(total), Target::OfRedis(0.9));
        context.figure(format!("resident, {row}"), "MB", session.rss() / 1e6, Target::OfRedis(0.6));
        let mut pool: ConnectionPool = session.pool(CONNECTIONS)?;
        let rounds = pool.rounds(context.scaled(200_000, 800), PIPELINE);
        let (cost, _) = timed(&mut session, &mut pool, rounds, PIPELINE, |out| {
            let key = format!("zset:{}", rng.usize(..sets));
            let from = rng.f64();
            let (min, max) = (format!("{from:?}"), format!("{:?}", from + 0.2));
            resp::command(out, &[b"ZRANGEBYSCORE", key.as_bytes(), min.as_bytes(), max.as_bytes()]);
        })?;
        context.cost(format!("ZRANGEBYSCORE, sets of {row}"), cost, Target::OfRedis(0.9));
    }
    Ok(())
}

/// The entries of one set: between this many and this many members of 14 bytes, scores at random.
pub fn entries(rng: &mut Rng, least: usize, most: usize) -> impl Iterator<Item = (String, String)> {
    let count = rng.usize(least..=most);
    (0..count).map(move |_| (format!("{:?}", rng.f64()), format!("elem-{:09}", rng.u32(..1_000_000_000))))
}

/// Members come and go at constant size: resident memory beside that of the fresh load.
pub fn churn(context: &mut Context) -> io::Result<()> {
    let each = context.scaled(1_000_000, 5000);
    let data = RefCell::new(Data { sets: 1, each, rng: Rng::with_seed(SEED) });
    let mut live: Vec<usize> = (0..each).collect();
    let replace = |loader: &mut Loader, n: usize| {
        let (mut data, next) = (data.borrow_mut(), each + n);
        let at = data.rng.usize(..each);
        let (old, new, score) = (data.member(live[at]), data.member(next), data.score());
        live[at] = next;
        loader.send(&[b"ZREM", b"zset:0", old.as_bytes()])?;
        loader.send(&[b"ZADD", b"zset:0", score.as_bytes(), new.as_bytes()])
    };
    let load = |loader: &mut Loader| load_all(loader, &mut data.borrow_mut(), |_| ());
    // At small scale the buffers of connections outweigh the data.
    let target = if context.options.scale < 0.1 { Target::None } else { Target::Most(1.2) };
    super::churn::run(context, "resident after churn, of fresh", 5 * each, target, load, replace)
}

/// Loads a set of `count` members of 16 bytes.
pub fn load_large(context: &Context, loader: &mut Loader, count: usize) -> io::Result<u64> {
    let mut data = Data { sets: 1, each: count, rng: Rng::with_seed(SEED) };
    let entries = (0..count).map(|i| {
        if i % 50_000 == 0 {
            context.progress("loading", i, count);
        }
        (data.score(), format!("m{i:015}"))
    });
    load_set(loader, "z", entries, 400)
}

/// Loads this many sets of one band of sizes.
pub fn load_bands(loader: &mut Loader, sets: usize, least: usize, most: usize) -> io::Result<u64> {
    let mut rng = Rng::with_seed(SEED);
    (0..sets).map(|set| load_set(loader, &format!("z:{set}"), entries(&mut rng, least, most), most)).sum()
}
