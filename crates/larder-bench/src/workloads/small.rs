//! Resident memory of many small collections, and of objects whose field names are those of others: most keys of most users.

use super::memory::Dataset;
use crate::context::Context;
use crate::data::SEED;
use crate::loader::Loader;
use std::io;

pub const HASHES_3: Dataset = Dataset::plain("hashes of 3 fields", |c, l| hashes(c, l, 200_000, 3), 14.0);
pub const HASHES_10: Dataset = Dataset::plain("hashes of 10 fields", |c, l| hashes(c, l, 100_000, 10), 18.0);
pub const SETS_3: Dataset = Dataset::plain("sets of 3", |c, l| sets(c, l, 200_000, 3), 17.0);
pub const SETS_10: Dataset = Dataset::plain("sets of 10", |c, l| sets(c, l, 100_000, 10), 21.5);
pub const LISTS_3: Dataset = Dataset::plain("lists of 3", |c, l| lists(c, l, 200_000, 3), 19.0);
pub const LISTS_10: Dataset = Dataset::plain("lists of 10", |c, l| lists(c, l, 100_000, 10), 25.5);
pub const ZSETS_3: Dataset = Dataset::plain("sorted sets of 3", |c, l| sorted_sets(c, l, 200_000, 3), 20.0);
pub const ZSETS_10: Dataset =
    Dataset::plain("sorted sets of 10", |c, l| sorted_sets(c, l, 100_000, 10), 26.5);
pub const OBJECTS_5: Dataset = Dataset::plain(
    "objects of 5 fields",
    |c, l| objects(c, l, 500_000, &Schema { fields: 5, kinds: 10, value: 8 }),
    40.0,
);
pub const OBJECTS_10: Dataset = Dataset::plain(
    "objects of 10 fields",
    |c, l| objects(c, l, 300_000, &Schema { fields: 10, kinds: 20, value: 10 }),
    46.0,
);
pub const OBJECTS_34: Dataset = Dataset::plain(
    "objects of 34 fields",
    |c, l| objects(c, l, 100_000, &Schema { fields: 34, kinds: 100, value: 13 }),
    57.0,
);

/// The fields of generated objects.
struct Schema {
    fields: usize,
    /// Lists of names, of which objects take the next one in turn.
    kinds: usize,
    /// Bytes of a value.
    value: usize,
}

/// Letters and digits that say nothing.
fn text(rng: &mut fastrand::Rng, letters: &[u8], len: usize) -> Vec<u8> {
    (0..len).map(|_| letters[rng.usize(..letters.len())]).collect()
}

const HEX: &[u8] = b"0123456789abcdef";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

fn hashes(context: &Context, loader: &mut Loader, count: usize, fields: usize) -> io::Result<u64> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let count = context.scaled(count, 10);
    for key in 0..count {
        let pair = |at: usize| (format!("field{at:03}"), text(&mut rng, HEX, 12));
        loader.set_fields(&format!("h:{key}"), (0..fields).map(pair))?;
    }
    Ok((count * fields) as u64)
}

fn sets(context: &Context, loader: &mut Loader, count: usize, members: usize) -> io::Result<u64> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let count = context.scaled(count, 10);
    for key in 0..count {
        let all = (0..members).map(|_| text(&mut rng, HEX, 16));
        loader.send_all("SADD", &format!("s:{key}"), all, members)?;
    }
    Ok((count * members) as u64)
}

fn lists(context: &Context, loader: &mut Loader, count: usize, elements: usize) -> io::Result<u64> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let count = context.scaled(count, 10);
    for key in 0..count {
        loader.push_all(&format!("l:{key}"), (0..elements).map(|_| text(&mut rng, HEX, 20)), elements)?;
    }
    Ok((count * elements) as u64)
}

fn sorted_sets(context: &Context, loader: &mut Loader, count: usize, members: usize) -> io::Result<u64> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let count = context.scaled(count, 10);
    for key in 0..count {
        let mut words = vec![b"ZADD".to_vec(), format!("z:{key}").into_bytes()];
        for _ in 0..members {
            words.push(rng.u32(..1_000_000_000).to_string().into_bytes());
            words.push(text(&mut rng, HEX, 16));
        }
        loader.send(&words.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    }
    Ok((count * members) as u64)
}

fn objects(context: &Context, loader: &mut Loader, count: usize, schema: &Schema) -> io::Result<u64> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let count = context.scaled(count, 10);
    let kinds: Vec<Vec<Vec<u8>>> = (0..schema.kinds)
        .map(|_| (0..schema.fields).map(|_| text(&mut rng, LETTERS, 13)).collect())
        .collect();
    for key in 0..count {
        let kind = key % schema.kinds;
        let pair = |name: &Vec<u8>| (name.clone(), text(&mut rng, LETTERS, schema.value));
        loader.set_fields(&format!("obj:{kind}:{key}"), kinds[kind].iter().map(pair))?;
    }
    Ok((count * schema.fields) as u64)
}
