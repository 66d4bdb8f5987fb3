use super::{BYTES_MAX, HEADER, Insert, IntBlock, LEN_MAX};
use std::collections::BTreeSet;

/// Values of one kind: near each other, far from each other, at the ends of the range.
fn value(rng: &mut fastrand::Rng, flavour: usize) -> i64 {
    match flavour {
        0 => rng.i64(0..200),
        1 => rng.i64(-30_000..30_000),
        2 => rng.i64(-1_000_000_000..1_000_000_000),
        3 => rng.i64(..),
        4 => i64::MAX - rng.i64(0..300),
        _ => i64::MIN + rng.i64(0..300),
    }
}

fn check(block: &IntBlock, model: &BTreeSet<i64>) {
    block.check_invariants();
    assert_eq!(block.len(), model.len());
    assert!(block.values(0).eq(model.iter().copied()));
    assert_eq!((block.first(), block.last()), (model.first().copied(), model.last().copied()));
}

#[test]
fn a_block_behaves_like_a_sorted_set() {
    for seed in 0..600 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut block, mut model) = (IntBlock::empty(), BTreeSet::new());
        let mut kept = Vec::new();
        let mut flavour = rng.usize(..6);
        for _ in 0..rng.usize(1..700) {
            let value = value(&mut rng, flavour);
            match rng.usize(..20) {
                0..13 => match block.insert(value) {
                    Insert::Added => assert!(model.insert(value)),
                    Insert::Present => assert!(model.contains(&value)),
                    Insert::Full => assert!(!model.contains(&value) && block.len() >= 62, "seed {seed}"),
                },
                13..18 => {
                    let found = block.search(value);
                    assert_eq!(found.is_ok(), model.remove(&value));
                    if let Ok(at) = found {
                        block.remove(at);
                    }
                }
                18 if kept.len() < 4 => kept.push((block.clone(), model.clone())),
                _ if rng.usize(..10) == 0 => flavour = rng.usize(..6),
                _ => {}
            }
        }
        check(&block, &model);
        for (block, model) in kept {
            check(&block, &model);
        }
    }
}

#[test]
fn parts_and_wholes() {
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut left, mut all) = (IntBlock::empty(), BTreeSet::new());
        let flavour = rng.usize(..6);
        while all.len() < 300 {
            let value = value(&mut rng, flavour);
            match left.insert(value) {
                Insert::Full => break,
                _ => all.insert(value),
            };
            if rng.usize(..250) == 0 {
                break;
            }
        }
        let at = rng.usize(..=left.len());
        let before = left.clone();
        let right = left.split_off(at);
        check(&before, &all);
        check(&left, &all.iter().copied().take(at).collect());
        check(&right, &all.iter().copied().skip(at).collect());
        if let Some(joined) = IntBlock::join(&left, &right) {
            check(&joined, &all);
            assert!(joined.size_bytes() <= BYTES_MAX * 3 / 4);
        }
    }
}

#[test]
fn sequences_pack_to_a_byte_each() {
    for descending in [false, true] {
        let mut block = IntBlock::empty();
        let mut count = 0;
        while block.insert(if descending { -count } else { count }) == Insert::Added {
            count += 1;
        }
        assert_eq!((count, block.size_bytes()), (256, HEADER + 256));
    }
    let all: Vec<i64> = (0..LEN_MAX as i64).collect();
    assert!(IntBlock::of_sorted(&all).is_none(), "496 values span more than a byte holds");
}

#[test]
fn the_ends_of_the_range_fit_together() {
    let mut block = IntBlock::empty();
    for value in [i64::MIN, i64::MAX, 0, -1, 1] {
        assert_eq!(block.insert(value), Insert::Added);
        assert_eq!(block.insert(value), Insert::Present);
        block.check_invariants();
    }
    assert!(block.values(0).eq([i64::MIN, -1, 0, 1, i64::MAX]));
}

#[test]
fn images_come_back_and_damaged_ones_are_refused() {
    let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(31));
    for _ in 0..200 {
        let bits = rng.u32(1..64);
        let mut values: Vec<i64> =
            (0..rng.usize(1..60)).map(|_| rng.i64(..) >> (63 - bits.min(63))).collect();
        values.sort_unstable();
        values.dedup();
        let block = IntBlock::of_sorted(&values).expect("few values");
        let mut image = Vec::new();
        block.image_into(&mut image);
        let again = IntBlock::from_image(&image).expect("it is an image");
        again.check_invariants();
        assert_eq!(again.values(0).collect::<Vec<_>>(), values);
        for len in 0..image.len() {
            assert!(IntBlock::from_image(&image[..len]).is_err(), "cut to {len}");
        }
        for at in 0..image.len() {
            let mut bad = image.clone();
            bad[at] ^= 1 << rng.u8(..8);
            if let Ok(block) = IntBlock::from_image(&bad) {
                block.check_invariants();
                assert!(!block.is_empty());
            }
        }
    }
}
