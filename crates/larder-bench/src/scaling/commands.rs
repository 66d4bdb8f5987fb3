//! The commands whose scaling is measured, as calls of the library.

use larder_embed::{Error, Result, Store};

const VALUE: &[u8] = b"a value of 20 bytes.";
/// Fields and members of a key that are written in turn.
const FIELDS: u64 = 10;

/// A command.
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// Makes a key that it works on.
    pub load: fn(&Store, &[u8]) -> Result<()>,
    /// Executes it on a key; the number is another one each time.
    pub run: fn(&Store, &[u8], u64) -> Result<()>,
}

/// All of them.
pub const COMMANDS: [Command; 6] = [
    Command {
        name: "GET",
        load: |store, key| store.set(key, VALUE),
        run: |store, key, _| match store.get(key)? {
            Some(_) => Ok(()),
            // Every key was loaded.
            None => Err(Error::Form),
        },
    },
    Command {
        name: "SET",
        load: |store, key| store.set(key, VALUE),
        run: |store, key, _| store.set(key, VALUE),
    },
    Command {
        name: "INCR",
        load: |store, key| store.set(key, b"1000000"),
        run: |store, key, _| store.incrby(key, 1).map(drop),
    },
    Command {
        name: "LPUSH",
        load: |store, key| store.lpush(key, &[VALUE]).map(drop),
        run: |store, key, _| store.lpush(key, &[VALUE]).map(drop),
    },
    Command {
        name: "HSET",
        load: |store, key| store.hset(key, &[(field(0), VALUE)]).map(drop),
        run: |store, key, number| store.hset(key, &[(field(number), VALUE)]).map(drop),
    },
    Command {
        name: "ZADD",
        load: |store, key| store.zadd(key, &[(0.0, field(0))]).map(drop),
        run: |store, key, number| {
            store.zadd(key, &[((number * 7919 % 100_000) as f64, field(number))]).map(drop)
        },
    },
];

fn field(number: u64) -> [u8; 7] {
    let mut field = *b"field:0";
    field[6] += (number % FIELDS) as u8;
    field
}
