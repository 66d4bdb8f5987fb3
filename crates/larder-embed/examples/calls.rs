//! Executes one call a number of times on a store in memory, for those who count instructions:
//!
//! `valgrind --tool=callgrind target/release/examples/calls hgetall 1000`, and the same with 2000: the difference, divided by 1000, is what
//! one call costs. The call is `get`, `hget`, `hgetall` (20 fields), `command` (the same by its words) or `none`.

use larder_embed::{Result, Store};
use std::hint::black_box;

/// Keys of each type, so that not every call finds the same one.
const KEYS: u64 = 64;
const FIELDS: u64 = 20;

fn main() -> Result<()> {
    let what = std::env::args().nth(1).unwrap_or_default();
    let count: u64 = std::env::args().nth(2).and_then(|count| count.parse().ok()).unwrap_or(1000);
    let store = Store::in_memory()?;
    let fields = |key: u64| {
        (0..FIELDS)
            .map(|field| (format!("field:{field}"), format!("value-{key}-{field}")))
            .collect::<Vec<_>>()
    };
    let strings: Vec<String> = (0..KEYS).map(|key| format!("calls:s:{key}")).collect();
    let hashes: Vec<String> = (0..KEYS).map(|key| format!("calls:h:{key}")).collect();
    for key in 0..KEYS {
        store.set(&strings[key as usize], format!("value-{key}"))?;
        store.hset(&hashes[key as usize], &fields(key))?;
    }
    for call in 0..count {
        let at = (call % KEYS) as usize;
        match what.as_str() {
            "get" => drop(black_box(store.get(&strings[at])?)),
            "hget" => drop(black_box(store.hget(&hashes[at], "field:7")?)),
            "hgetall" => {
                let fields = store.hgetall(&hashes[at])?;
                for field in fields.iter() {
                    black_box(field);
                }
            }
            "command" => drop(black_box(store.command(&["HGETALL", &hashes[at]])?)),
            _ => drop(black_box(at)),
        }
    }
    Ok(())
}
