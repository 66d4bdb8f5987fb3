//! Resident memory of data at rest, and what loading it cost.

use super::{sorted_sets, stream};
use crate::context::Context;
use crate::data;
use crate::figure::Target;
use crate::loader::Loader;
use std::io;

/// Data to load, a row of the tables.
pub struct Dataset {
    row: &'static str,
    options: &'static [(&'static str, &'static str)],
    /// Loads it and returns the number of elements.
    load: fn(&Context, &mut Loader) -> io::Result<u64>,
    /// Megabytes (10^6 bytes) that Larder may take.
    target: f64,
}

const PLAIN: &[(&str, &str)] = &[];
const COMPRESSED: &[(&str, &str)] = &[("list-compress-depth", "1")];

pub const INTS: Dataset = Dataset { row: "20 lists of integers", options: PLAIN, load: ints, target: 45.0 };
pub const WORDS: Dataset = Dataset { row: "words", options: PLAIN, load: words, target: 26.0 };
pub const WORDS_COMPRESSED: Dataset =
    Dataset { row: "words, compressed", options: COMPRESSED, load: words, target: 17.0 };
pub const JSON: Dataset = Dataset { row: "JSON documents", options: PLAIN, load: json, target: 62.0 };
pub const JSON_COMPRESSED: Dataset =
    Dataset { row: "JSON documents, compressed", options: COMPRESSED, load: json, target: 22.0 };
pub const X40: Dataset = Dataset { row: "40 bytes of x", options: PLAIN, load: x40, target: 42.0 };
pub const X40_COMPRESSED: Dataset =
    Dataset { row: "40 bytes of x, compressed", options: COMPRESSED, load: x40, target: 1.5 };
pub const X1K: Dataset = Dataset { row: "1 KB of x", options: PLAIN, load: x1k, target: 1050.0 };
pub const X1K_COMPRESSED: Dataset =
    Dataset { row: "1 KB of x, compressed", options: COMPRESSED, load: x1k, target: 20.0 };
pub const STRINGS: Dataset = Dataset { row: "strings", options: PLAIN, load: strings, target: 255.0 };
pub const STRINGS_TTL: Dataset =
    Dataset { row: "strings with a time to live", options: PLAIN, load: strings_ttl, target: 118.0 };

pub const ZSET_LARGE: Dataset =
    Dataset { row: "1 large sorted set", options: PLAIN, load: zset_large, target: 55.0 };
pub const ZSET_MEDIUM: Dataset =
    Dataset { row: "sorted sets of 129-200", options: PLAIN, load: zset_medium, target: 85.0 };
pub const ZSET_SMALL: Dataset =
    Dataset { row: "sorted sets of 10-128", options: PLAIN, load: zset_small, target: 36.0 };
pub const HASH: Dataset = Dataset { row: "1 hash", options: PLAIN, load: hash, target: 80.0 };
pub const HASHES: Dataset = Dataset { row: "10k hashes", options: PLAIN, load: hashes, target: 205.0 };
pub const SET: Dataset = Dataset { row: "1 set of strings", options: PLAIN, load: set, target: 45.0 };
pub const SET_INTS: Dataset =
    Dataset { row: "1 set of integers", options: PLAIN, load: set_ints, target: 10.0 };
pub const STREAM: Dataset = Dataset { row: "1 stream", options: PLAIN, load: stream, target: 27.0 };
pub const STREAM_PENDING: Dataset =
    Dataset { row: "1 stream, all pending", options: PLAIN, load: stream::load_pending, target: 40.0 };

impl Dataset {
    /// Data that is loaded into a server as it starts.
    pub const fn plain(
        row: &'static str,
        load: fn(&Context, &mut Loader) -> io::Result<u64>,
        target: f64,
    ) -> Dataset {
        Dataset { row, options: PLAIN, load, target }
    }

    /// What the tables call it.
    pub fn row(&self) -> &'static str {
        self.row
    }
}

/// Loads a dataset; returns the number of elements.
pub fn load(context: &Context, dataset: &Dataset, loader: &mut Loader) -> io::Result<u64> {
    (dataset.load)(context, loader)
}

/// Loads a dataset into a fresh server.
pub fn run(context: &mut Context, dataset: &Dataset) -> io::Result<()> {
    let mut session = context.start()?;
    session.configure(dataset.options)?;
    session.wait_quiet(context.still() / 3)?;
    let before = session.rss();
    let (mut loader, mut elements) = (session.loader()?, 0);
    // Per element it is divided below, when their number is known.
    let total = session.cost(1, || {
        elements = (dataset.load)(context, &mut loader)?;
        loader.finish()
    })?;
    context.stage("waiting for quiet");
    session.wait_quiet(context.still())?;
    let grown = (session.rss() - before) / 1e6;
    context.figure(dataset.row, "MB", grown, context.scaled_target(dataset.target));
    let row = format!("{}, to load", dataset.row);
    let each = total.per(elements);
    context.cost(row, each, Target::OfRedis(1.0));
    Ok(())
}

fn ints(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let (lists, each) = (20, context.scaled(1_000_000, 1000));
    let mut total = 0;
    for list in 0..lists {
        context.progress("loading", list, lists);
        total += loader.push_all(&format!("ints:{list}"), (0..each).map(|n| n.to_string()), 500)?;
    }
    Ok(total)
}

fn words(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(2_300_000, 1000);
    loader.push_all("words", watched(context, data::random_words(count), count), 500)
}

fn json(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let (lists, each) = (30, context.scaled(800, 5));
    let (mut documents, mut total) = (data::documents(lists * each), 0);
    for list in 0..lists {
        context.progress("loading", list, lists);
        total += loader.push_all(&format!("json:{list}"), documents.by_ref().take(each), 10)?;
    }
    Ok(total)
}

fn x40(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(1_000_000, 1000);
    loader.push_all("x40", watched(context, std::iter::repeat_n([b'x'; 40], count), count), 500)
}

fn x1k(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(1_000_000, 1000);
    loader.push_all("x1k", watched(context, std::iter::repeat_n([b'x'; 1024], count), count), 50)
}

fn strings(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(5_000_000, 1000);
    set_all(context, loader, "key", count, &[])
}

fn strings_ttl(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(2_000_000, 1000);
    set_all(context, loader, "ttl", count, &[b"EX", b"100000"])
}

fn zset_large(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    sorted_sets::load_large(context, loader, context.scaled(2_000_000, 1000))
}

fn zset_medium(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    sorted_sets::load_bands(loader, context.scaled(20_000, 20), 129, 200)
}

fn zset_small(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    sorted_sets::load_bands(loader, context.scaled(20_000, 20), 10, 128)
}

fn hash(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(2_000_000, 1000);
    let mut total = 0;
    for first in watched(context, (0..count).step_by(50), count / 50) {
        let pairs = first..count.min(first + 50);
        let pair = |i: usize| (format!("field:{:010}", i * 7919 % 10_000_000_000), format!("value:{i:010}"));
        total += loader.set_fields("hash", pairs.map(pair))?;
    }
    Ok(total)
}

fn hashes(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(10_000, 10);
    let (mut rng, mut total) = (fastrand::Rng::with_seed(data::SEED), 0);
    for hash in watched(context, 0..count, count) {
        let (key, fields) = (format!("hash:{hash:06}"), rng.usize(600..=1000));
        for first in (0..fields).step_by(100) {
            let pairs = first..fields.min(first + 100);
            let pair = |i: usize| (format!("field:{i:04}"), format!("{:08}", i * 7919 % 100_000_000));
            total += loader.set_fields(&key, pairs.map(pair))?;
        }
    }
    Ok(total)
}

fn stream(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(1_000_000, 1000) as u64;
    stream::load(loader, "stream", 0..count)?;
    Ok(count)
}

fn set(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(2_000_000, 1000);
    let member = |i: usize| format!("member:{:09}", i as u64 * 7919 % 1_000_000_000);
    loader.send_all("SADD", "set", watched(context, 0..count, count).map(member), 100)
}

fn set_ints(context: &Context, loader: &mut Loader) -> io::Result<u64> {
    let count = context.scaled(2_000_000, 1000);
    let mut rng = fastrand::Rng::with_seed(data::SEED);
    let members = watched(context, 0..count, count).map(|_| rng.u32(..1_000_000_000).to_string());
    loader.send_all("SADD", "set", members, 100)
}

fn set_all(
    context: &Context,
    loader: &mut Loader,
    prefix: &str,
    count: usize,
    options: &[&[u8]],
) -> io::Result<u64> {
    for i in watched(context, 0..count, count) {
        let key = format!("{prefix}:{:012}", i as u64 * 7919 % 1_000_000_000_000);
        let value = format!("value-{i:014}");
        loader.send(&[&[b"SET", key.as_bytes(), value.as_bytes()], options].concat())?;
    }
    Ok(count as u64)
}

/// The same items, with the progress shown now and then.
pub fn watched<T>(
    context: &Context,
    items: impl Iterator<Item = T>,
    count: usize,
) -> impl Iterator<Item = T> {
    let shown = move |at: usize| {
        if at.is_multiple_of(50_000) {
            context.progress("loading", at, count);
        }
    };
    items.enumerate().inspect(move |(at, _)| shown(*at)).map(|(_, item)| item)
}
