//! Resident memory of an element, by type and by how many of them a collection holds.
//!
//! The same elements are in few large collections or in many small ones, so that a row says what growing costs. Every server is a fresh
//! one for each row.

use super::memory::watched;
use crate::context::Context;
use crate::figure::Target;
use crate::loader::Loader;
use std::io;

/// How many elements a collection has, row by row.
const SIZES: [usize; 6] = [10, 100, 1000, 10_000, 100_000, 1_000_000];
/// Elements with a command.
const BATCH: usize = 100;

/// What is filled.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Pairs of 8 and 12 bytes.
    Hash,
    /// Strings of 20 bytes.
    List,
    /// Members of 16 bytes.
    Set,
    /// Members of 16 bytes, scattered scores below a million.
    SortedSet,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Hash => "hash",
            Kind::List => "list",
            Kind::Set => "set",
            Kind::SortedSet => "sorted set",
        }
    }

    /// Adds elements to a collection.
    fn fill(self, loader: &mut Loader, key: &str, count: usize) -> io::Result<()> {
        let member = |i: usize| format!("member:{:09}", i as u64 * 7919 % 1_000_000_000);
        match self {
            Kind::Hash => (0..count).step_by(BATCH).try_for_each(|first| {
                let pairs = first..count.min(first + BATCH);
                let pair = |i: usize| (format!("{:08}", i * 7919 % 100_000_000), format!("value:{i:06}"));
                loader.set_fields(key, pairs.map(pair)).map(drop)
            }),
            Kind::List => {
                loader.push_all(key, (0..count).map(|i| format!("element:{i:012}")), BATCH).map(drop)
            }
            Kind::Set => loader.send_all("SADD", key, (0..count).map(member), BATCH).map(drop),
            Kind::SortedSet => {
                let score = |i: usize| (i as u64 * 104_729 % 1_000_000).to_string();
                let pairs = (0..count).flat_map(|i| [score(i), member(i)]);
                loader.send_all("ZADD", key, pairs, 2 * BATCH).map(drop)
            }
        }
    }
}

/// A row for each size.
pub fn run(context: &mut Context, kind: Kind) -> io::Result<()> {
    let total = context.scaled(1_000_000, 1000);
    for size in SIZES {
        let size = size.min(total);
        let mut session = context.start()?;
        session.wait_quiet(context.still() / 3)?;
        let (before, mut loader) = (session.rss(), session.loader()?);
        let collections = total / size;
        for at in watched(context, 0..collections, collections) {
            kind.fill(&mut loader, &format!("key:{at:08}"), size)?;
        }
        loader.finish()?;
        context.stage("waiting for quiet");
        session.wait_quiet(context.still())?;
        let each = (session.rss() - before) / (collections * size) as f64;
        context.figure(format!("{}, {size} elements", kind.name()), "bytes/element", each, Target::None);
    }
    Ok(())
}
