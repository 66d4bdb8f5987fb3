//! Payloads of Larder's own types: every byte damaged, cut everywhere, and lengths that lie.

use super::corpus::{options, values};
use super::{Loaded, Value, check, dump, use_it, with_footer};
use fastrand::Rng;
use larder_packed::int_block::IntBlock;
use larder_rdb::Result;

const HASH: u8 = 202;
const SET: u8 = 203;
const FOOTER_BYTES: usize = 10;
/// Longer payloads are damaged at some of their bytes only.
const EVERY_BYTE_MAX: usize = 4000;

/// What a payload with a right footer gives.
fn restored(body: &[u8]) -> Result<Option<Loaded>> {
    dump::restore(&with_footer(body.to_vec()), &options(0))
}

/// What one with a number as a length is: nine bytes.
fn length(number: u64) -> Vec<u8> {
    [&[0x81][..], &number.to_be_bytes()].concat()
}

fn string(bytes: &[u8]) -> Vec<u8> {
    [length(bytes.len() as u64), bytes.to_vec()].concat()
}

/// Bodies of payloads of hashes and sets, without their footers.
fn bodies(counts: &[u64]) -> Vec<Vec<u8>> {
    let mut rng = Rng::with_seed(larder_testkit::seed(71));
    let values: Vec<Value> = counts.iter().flat_map(|&count| values(count, &mut rng)).collect();
    let own = values.iter().filter_map(dump::of_blocks).filter(|own| own[0] >= HASH);
    own.map(|own| own[..own.len() - FOOTER_BYTES].to_vec()).collect()
}

/// The elements of a hash or a set in order.
fn sorted(value: &Value) -> Vec<(Vec<u8>, Vec<u8>, Option<u64>)> {
    let mut all: Vec<_> = match value {
        Value::Hash(hash) => {
            hash.iter(0).map(|f| (f.name.to_vec(), f.value.to_vec(), f.expire_at_ms)).collect()
        }
        Value::Set(set) => set.iter().map(|member| (member.to_vec(), Vec::new(), None)).collect(),
        _ => panic!("a hash or a set"),
    };
    all.sort();
    all
}

#[test]
fn hashes_and_sets_come_back() {
    let mut rng = Rng::with_seed(larder_testkit::seed(72));
    let mut seen = [0; 2];
    for count in [1, 5, 60, 129, 700, 20_000] {
        for value in values(count, &mut rng).iter().filter(|v| matches!(v, Value::Hash(_) | Value::Set(_))) {
            let Some(own) = dump::of_blocks(value) else { continue };
            seen[usize::from(own[0] - HASH)] += 1;
            for which in 0..4 {
                let Ok(Some(Loaded::Value(again))) = dump::restore(&own, &options(which)) else {
                    panic!("{count} elements, options {which}: not read")
                };
                check(&again);
                assert!(sorted(&again) == sorted(value), "{count} elements, options {which}");
                let standard = dump::of_value(value, larder_rdb::Version::V80, false);
                let Ok(Some(Loaded::Value(by_standard))) = dump::restore(&standard, &options(which)) else {
                    panic!("{count} elements, options {which}: the standard form is not read")
                };
                let encoding = |value: &Value| match value {
                    Value::Hash(hash) => format!("{:?}", hash.encoding()),
                    Value::Set(set) => format!("{:?}", set.encoding()),
                    _ => panic!("a hash or a set"),
                };
                assert_eq!(encoding(&again), encoding(&by_standard), "{count} elements, options {which}");
            }
        }
    }
    assert!(seen.iter().all(|&seen| seen > 5), "{seen:?}");
}

#[test]
fn every_byte_damaged() {
    let mut rng = Rng::with_seed(larder_testkit::seed(73));
    let mut accepted = 0;
    for body in bodies(&[1, 5, 60, 200]) {
        let step = body.len().div_ceil(EVERY_BYTE_MAX);
        for at in (0..body.len()).step_by(step) {
            for other in [body[at] ^ 1, body[at] ^ 0x80, 0, 0xff, rng.u8(..)] {
                let mut bad = body.clone();
                bad[at] = other;
                if let Ok(Some(Loaded::Value(value))) = restored(&bad) {
                    accepted += 1;
                    check(&value);
                }
            }
        }
        for _ in 0..50 {
            let mut bad = body.clone();
            (0..rng.usize(1..5)).for_each(|_| bad[rng.usize(..body.len())] = rng.u8(..));
            if let Ok(Some(loaded)) = restored(&bad) {
                use_it(loaded, &options(0), &mut rng);
            }
        }
    }
    assert!(accepted > 0);
}

#[test]
fn cut_everywhere() {
    for body in bodies(&[1, 5, 60]) {
        assert!(restored(&body).is_ok());
        for len in 0..body.len() {
            assert!(restored(&body[..len]).is_err(), "type {} cut to {len} of {}", body[0], body.len());
        }
        assert!(restored(&[&body[..], &[0]].concat()).is_err(), "a byte too many");
    }
}

#[test]
fn lengths_that_lie() {
    let none = [0];
    let block = |values: &[i64]| {
        let mut image = Vec::new();
        IntBlock::of_sorted(values).expect("few values").image_into(&mut image);
        string(&image)
    };
    let field = b"\x01\x01fv";
    let long = |name: &[u8]| [&(-1_i64).to_le_bytes()[..], &string(name), &string(&[b'v'; 300])].concat();
    let two = b"\x01\x01fv\x01\x01gw";
    let good: [Vec<u8>; 5] = [
        [&[HASH, 1][..], &string(two), &none].concat(),
        [&[HASH, 2][..], &string(field), &string(b"\x01\x00g"), &[1], &long(b"long")].concat(),
        [&[SET, 1][..], &block(&[1, 2, 3]), &none, &none].concat(),
        [&[SET, 2][..], &block(&[1, 2]), &block(&[3]), &[1], &string(b"\x01a\x00"), &[1], &string(b"long")]
            .concat(),
        // Integers among the strings, as a small set has them.
        [&[SET, 0, 1][..], &string(b"\x011\x01a\x013"), &none].concat(),
    ];
    for (at, body) in good.iter().enumerate() {
        let Ok(Some(Loaded::Value(value))) = restored(body) else { panic!("number {at} is not read") };
        check(&value);
        assert!(sorted(&value).len() > 1);
    }
    let huge = length(u64::MAX);
    let wide = length(1 << 40);
    let bad: Vec<Vec<u8>> = vec![
        // Numbers of packs, of long fields, of blocks.
        [&[HASH][..], &huge].concat(),
        [&[HASH][..], &huge, &string(field)].concat(),
        [&[HASH, 1][..], &string(field), &huge].concat(),
        [&[SET][..], &huge, &block(&[1])].concat(),
        [&[SET, 0][..], &huge, &string(b"\x01a")].concat(),
        [&[SET, 0, 0][..], &huge].concat(),
        // Lengths of packs, names and values.
        [&[HASH, 1][..], &wide, field, &none].concat(),
        [&[HASH, 1][..], &string(b"\x02\x01fv"), &none].concat(),
        [&[HASH, 1][..], &string(b"\x01\xfffv"), &none].concat(),
        [&[HASH, 1][..], &string(b"\x81\x01fv"), &none].concat(),
        [&[HASH, 1][..], &string(b"\x01"), &none].concat(),
        [&[HASH, 0, 1][..], &(-1_i64).to_le_bytes(), &wide, b"name"].concat(),
        [&[HASH, 0, 1][..], &(-1_i64).to_le_bytes(), &string(b"name"), &wide].concat(),
        [&[HASH, 0, 1][..], &(-2_i64).to_le_bytes(), &string(b"name"), &string(b"value")].concat(),
        [&[SET, 0, 1][..], &string(b"\x05a"), &none].concat(),
        // A pack that is too long, whose entries would take far more memory than it does.
        [&[SET, 0, 1][..], &string(&[0; 200 << 10]), &none].concat(),
        // Elements that are twice: in a pack, in two, and once long.
        [&[HASH, 1][..], &string(&[&field[..], field].concat()), &none].concat(),
        [&[HASH, 2][..], &string(field), &string(field), &none].concat(),
        [&[HASH, 1][..], &string(field), &[1], &long(b"f")].concat(),
        [&[HASH, 0, 2][..], &long(b"f"), &long(b"f")].concat(),
        [&[SET, 0, 1][..], &string(b"\x01a\x01a"), &none].concat(),
        [&[SET, 0, 1][..], &string(b"\x01a"), &[1], &string(b"a")].concat(),
        [&[SET, 1][..], &block(&[1]), &[1], &string(b"\x011"), &none].concat(),
        // Blocks that overlap, and one without integers.
        [&[SET, 2][..], &block(&[1, 5]), &block(&[5]), &none, &none].concat(),
        [&[SET, 2][..], &block(&[5]), &block(&[1]), &none, &none].concat(),
        [&[SET, 1][..], &string(&[0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), &none, &none].concat(),
        [&[SET, 1][..], &string(&[2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7]), &none, &none].concat(),
    ];
    for (at, body) in bad.iter().enumerate() {
        assert!(restored(body).is_err(), "number {at} is read");
    }
    for empty in [&[HASH, 0, 0][..], &[SET, 0, 0, 0]] {
        assert!(matches!(restored(empty), Ok(None)));
    }
}
