//! Packets that Valkey 9.1.2 and redis-server 7.0.15 sent to each other.

use std::collections::BTreeMap;

/// The samples by their names. A line of the file is a name and the bytes: hexadecimal, `00*30` for a byte that is repeated.
pub fn samples() -> BTreeMap<&'static str, Vec<u8>> {
    include_str!("samples.txt").lines().map(sample).collect()
}

fn sample(line: &'static str) -> (&'static str, Vec<u8>) {
    let (name, bytes) = line.split_once(' ').expect("there are bytes");
    (name, bytes.split(' ').flat_map(run).collect())
}

fn run(text: &str) -> Vec<u8> {
    let (text, times) = text.split_once('*').unwrap_or((text, "1"));
    let digits = text.as_bytes().chunks_exact(2);
    let bytes: Vec<u8> = digits
        .map(|pair| {
            u8::from_str_radix(std::str::from_utf8(pair).expect("it is ASCII"), 16).expect("it is hex")
        })
        .collect();
    bytes.repeat(times.parse().expect("it is a number"))
}
