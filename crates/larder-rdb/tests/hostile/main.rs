//! Hostile payloads and files: damage with a right checksum, so that every decoder sees it. Never a panic, and what is
//! accepted is a value like any other: its invariants hold, it can be changed, and it is written and read again as it is.
//!
//! `SEED=` replays; `FUZZ_SECONDS=` goes on for so long with ever new seeds (`make fuzz`, under AddressSanitizer).

mod corpus;
mod own;

use corpus::{options, payloads};
use fastrand::Rng;
use larder_collections::hash::FieldExpiry;
use larder_collections::stream::Limits as StreamLimits;
use larder_collections::value::Value;
use larder_rdb::read::{Checks, Content, Event, FileReader, Loaded, Options, RawKeys};
use larder_rdb::write::{FileWriter, KeyHeader};
use larder_rdb::{Crc64, Result, Version, dump};
use larder_testkit::fuzz::for_seeds;
use larder_testkit::mutate;

/// Payloads damaged without a word about time.
const CASES: u64 = 15_000;
/// And files.
const FILES: u64 = 2_000;

/// Puts the right footer after what was damaged before it.
fn with_footer(mut body: Vec<u8>) -> Vec<u8> {
    body.extend_from_slice(&Version::NEWEST.number().to_le_bytes());
    body.extend_from_slice(&Crc64::of(&body).to_le_bytes());
    body
}

#[test]
fn damaged_payloads() {
    let payloads = payloads();
    let mut accepted = 0_u64;
    for_seeds(1, CASES, |seed| {
        let mut rng = Rng::with_seed(seed);
        let good = &payloads[rng.usize(..payloads.len())];
        let other = &payloads[rng.usize(..payloads.len())];
        let mut body = good[..good.len() - 10].to_vec();
        mutate::damage(&mut rng, &mut body, other);
        let is_empty = body.is_empty();
        let payload = with_footer(body);
        assert_eq!(dump::verify(&payload, Checks::ALL), !is_empty);
        let options = options(rng.usize(..4));
        if let Ok(Some(loaded)) = dump::restore(&payload, &options) {
            accepted += 1;
            use_it(loaded, &options, &mut rng);
        }
    });
    assert!(accepted > 0 || larder_testkit::given_seed().is_some());
}

/// SEED=964: it was counted and not written, and what was written could not be read.
#[test]
fn a_field_that_expires_at_0_is_written() {
    let payload = with_footer([&[22, 1, 1, b'f', 1, b'v'][..], &[0; 8]].concat());
    let Ok(Some(Loaded::Value(value))) = dump::restore(&payload, &Options::default()) else {
        panic!("a hash")
    };
    let again = dump::of_value(&value, Version::V80, true);
    assert!(matches!(dump::restore(&again, &Options::default()), Ok(Some(Loaded::Value(Value::Hash(_))))));
}

/// What is done with a value that was accepted.
fn use_it(loaded: Loaded, options: &Options, rng: &mut Rng) {
    let Loaded::Value(mut value) = loaded else { return };
    check(&value);
    let payload = dump::of_value(&value, Version::V11, true);
    let again = dump::restore(&payload, options);
    let again = match again {
        Ok(Some(Loaded::Value(again))) => again,
        Ok(_) => panic!("what was written is read as nothing"),
        Err(error) => panic!("what was written is not read, type {}: {error}", payload[0]),
    };
    check(&again);
    let rewritten = dump::of_value(&again, Version::V11, true);
    assert!(is_unordered(&value) || rewritten == payload, "it has changed on the way");
    let _clone = value.clone();
    for _ in 0..4 {
        change(&mut value, options, rng);
        check(&value);
    }
}

/// Tables come back in another order.
fn is_unordered(value: &Value) -> bool {
    matches!(value, Value::Hash(_) | Value::Set(_))
}

fn check(value: &Value) {
    match value {
        Value::String(_) => {}
        Value::Hash(hash) => hash.check_invariants(),
        Value::List(list) => list.check_invariants(),
        Value::SortedSet(set) => set.check_invariants(),
        Value::Set(set) => set.check_invariants(),
        Value::Stream(stream) => stream.check_invariants(),
        Value::Cold(_) => unreachable!("what is loaded is not compressed"),
    }
}

/// Adds something and takes something away.
fn change(value: &mut Value, options: &Options, rng: &mut Rng) {
    let text = vec![b'n'; rng.usize(..100)];
    match value {
        Value::String(_) | Value::Cold(_) => {}
        Value::Hash(hash) => {
            hash.set(&text, b"value", FieldExpiry::Clear, options.hash, 0);
            let first = hash.iter(0).next().map(|field| field.name.to_vec());
            if let Some(name) = first {
                assert!(hash.remove(&name, 0));
            }
        }
        Value::List(list) => {
            let at = rng.u64(..=list.len());
            list.insert(at, &text, &options.list);
            list.pop_front(&options.list);
            list.push_back(&text, &options.list);
        }
        Value::SortedSet(set) => {
            set.add(&text, rng.f64(), &options.sorted_set);
            set.remove_ranks(rng.u64(..set.len()), 1, |_, _| ());
        }
        Value::Set(set) => {
            set.insert(&text, &options.set);
            set.insert(rng.i64(..).to_string().as_bytes(), &options.set);
            set.pop(rng, |_| ());
        }
        Value::Stream(stream) => {
            if let Some(next) = stream.last_id().next() {
                let pair = [(&b"field"[..], &text[..])];
                stream.append(next, pair.into_iter(), &StreamLimits::default());
                stream.delete(next);
            }
        }
    }
}

/// A file with a few of the payloads in it as keys.
fn file(rng: &mut Rng, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut file =
        FileWriter::new(Vec::new(), Version::NEWEST, true, false).expect("a vector takes everything");
    file.aux("redis-ver", "7.2.0").expect("a vector takes everything");
    file.database(rng.u64(..16), 3, 1).expect("a vector takes everything");
    for number in 0..rng.u8(1..4) {
        let header = KeyHeader {
            expire_at_ms: rng.bool().then(|| rng.u64(1 << 40..1 << 42)),
            idle_s: rng.bool().then(|| rng.u64(..1000)),
            frequency: rng.bool().then(|| rng.u8(..)),
        };
        let payload = &payloads[rng.usize(..payloads.len())];
        let done = match dump::restore(payload, &Options::default()) {
            Ok(Some(Loaded::Value(value))) => file.value(header, &[b'k', number], &value),
            Ok(Some(Loaded::String(bytes))) => file.string(header, &[b'k', number], &bytes),
            _ => Ok(()),
        };
        done.expect("a vector takes everything");
    }
    file.finish().expect("a vector takes everything")
}

fn read_file(bytes: &[u8], options: &Options, rng: &mut Rng) -> Result<usize> {
    let mut reader = FileReader::new(bytes, *options, Checks { sum: true, version: false })?;
    let (mut keys, mut count, mut values) = (RawKeys::default(), 0, Vec::new());
    while let Some(event) = reader.next_event(&mut keys)? {
        count += usize::from(matches!(event, Event::Key));
    }
    keys.read(options, |record| {
        if let Some(Content::Value(value)) = record.value {
            values.push(value);
        }
    })?;
    values.into_iter().for_each(|value| use_it(Loaded::Value(value), options, rng));
    Ok(count)
}

#[test]
fn damaged_files() {
    let payloads = payloads();
    let mut accepted = 0;
    for_seeds(2, FILES, |seed| {
        let mut rng = Rng::with_seed(seed);
        let mut bytes = file(&mut rng, &payloads);
        let other = &payloads[rng.usize(..payloads.len())];
        // The checksum, eight bytes of zero, says that there is none.
        bytes.truncate(bytes.len() - 8);
        let signature = if rng.u8(..20) == 0 { 0 } else { 9 };
        let mut body = bytes.split_off(signature);
        mutate::damage(&mut rng, &mut body, other);
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(&Crc64::of(&bytes).to_le_bytes());
        let options = options(rng.usize(..4));
        accepted += usize::from(read_file(&bytes, &options, &mut rng).is_ok());
    });
    assert!(accepted > 0 || larder_testkit::given_seed().is_some());
}
