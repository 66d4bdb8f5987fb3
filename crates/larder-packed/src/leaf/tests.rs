//! Model test: a leaf beside a sorted vector, with scores and members of many kinds.

use super::{Draft, Leaf, Target};
use larder_testkit::seeds;
use std::ops::ControlFlow;

type Entry = (u64, Vec<u8>);

fn tag(member: &[u8]) -> u8 {
    member.iter().fold(7, |tag: u8, &b| tag.wrapping_mul(31).wrapping_add(b))
}

fn random_key(rng: &mut fastrand::Rng, flavour: usize) -> u64 {
    match flavour {
        0 => u64::from(rng.u8(..4)),
        1 => (1 << 63) + u64::from(rng.u16(..)),
        2 => rng.f64().to_bits() | 1 << 63,
        3 => rng.u64(..),
        4 => [0, u64::MAX, 1, u64::MAX - 1, 1 << 63][rng.usize(..5)],
        _ => f64::from(rng.u16(..)).to_bits() | 1 << 63,
    }
}

fn random_member(rng: &mut fastrand::Rng, flavour: usize) -> Vec<u8> {
    let len = match (flavour, rng.usize(..60)) {
        (3, _) => 16,
        (_, 0) => rng.usize(..700),
        (2, 1) => 70_000 + rng.usize(..10),
        (_, 2) => 250 + rng.usize(..10),
        _ => rng.usize(..12),
    };
    let start: &[u8] = if rng.usize(..100) < 97 { b"user:" } else { b"us" };
    start.iter().copied().chain((0..len).map(|_| rng.u8(b'a'..b'e'))).collect()
}

fn check(leaf: &Leaf, model: &[Entry], rng: &mut fastrand::Rng) {
    leaf.check_invariants();
    assert_eq!(leaf.len(), model.len());
    let mut seen = Vec::new();
    let mut scratch = Vec::new();
    let (from, to) = (rng.usize(..=model.len()), model.len());
    let _ = leaf.visit(from..to, &mut scratch, |key, member| {
        seen.push((key, member.to_vec()));
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(seen, &model[from..to]);
    seen.clear();
    let _ = leaf.visit_rev(0..from, &mut scratch, |key, member| {
        seen.push((key, member.to_vec()));
        ControlFlow::<()>::Continue(())
    });
    seen.reverse();
    assert_eq!(seen, &model[..from]);
    if let Some((key, member)) = model.get(from) {
        assert_eq!(leaf.find(tag(member), member), Some(from));
        assert!(leaf.member(from).is(member) && leaf.key(from) == *key);
        let mut tagged = 0;
        leaf.for_each_tag(tag(member), |i, m| tagged += usize::from(i == from && m.is(member)));
        assert_eq!(tagged, 1);
    }
}

fn rank(model: &[Entry], target: &Target<'_>) -> usize {
    model.partition_point(|(key, member)| {
        let order = (*key, &member[..]).cmp(&(target.key, target.member));
        order.is_lt() || (order.is_eq() && target.past_equal)
    })
}

fn run(seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (keys, members) = (rng.usize(..6), rng.usize(..4));
    let (mut leaf, mut model) = (Leaf::new(), Vec::<Entry>::new());
    leaf.set_mark(seed.is_multiple_of(2));
    let mut kept = None;
    for _ in 0..rng.usize(1..150) {
        let (key, member) = (random_key(&mut rng, keys), random_member(&mut rng, members));
        let target = Target { key, member: &member, past_equal: rng.bool() };
        assert_eq!(leaf.rank(&target), rank(&model, &target), "{target:?}");
        match rng.usize(..20) {
            0 => {
                let from = rng.usize(..=model.len());
                let to = (from + rng.usize(..4)).min(model.len());
                leaf.remove(from..to);
                model.drain(from..to);
            }
            1 if !model.is_empty() => {
                let i = rng.usize(..model.len());
                leaf.remove(i..i + 1);
                model.remove(i);
            }
            2 => kept = Some((leaf.clone(), model.clone())),
            3 if !model.is_empty() => {
                let i = rng.usize(..model.len());
                let member = model[i].1.clone();
                let mut changed = model.clone();
                changed[i].0 = key;
                changed.sort();
                if changed[i].1 == member {
                    leaf.set_key(i, key);
                    model = changed;
                }
            }
            4 => divide(&mut leaf, &mut rng),
            _ if model.iter().all(|entry| entry.1 != member) => {
                let at = leaf.rank(&target);
                leaf.insert(at, key, tag(&member), &member);
                model.insert(at, (key, member));
            }
            _ => assert!(leaf.find(tag(&member), &member).is_some()),
        }
        check(&leaf, &model, &mut rng);
        assert_eq!(leaf.mark(), seed.is_multiple_of(2));
        if let Some((leaf, model)) = &kept {
            check(leaf, model, &mut rng);
        }
    }
}

/// Divides the leaf, checks the parts, and puts them together again.
fn divide(leaf: &mut Leaf, rng: &mut fastrand::Rng) {
    let whole = leaf.clone();
    let parts = leaf.divide(rng.usize(100..2000));
    for part in &parts {
        assert!(!part.is_empty());
        leaf.append(part);
    }
    assert_eq!(leaf.len(), whole.len());
}

#[test]
fn a_leaf_is_like_a_sorted_vector() {
    for seed in seeds(600, 50_000) {
        run(seed);
    }
}

/// A leaf of entries that are all at hand is the one that a draft of them encodes, to the byte.
#[test]
fn a_leaf_made_at_once_is_the_one_that_a_draft_encodes() {
    for seed in seeds(2_000, 200_000) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (keys, members, count) = (rng.usize(..6), rng.usize(..4), rng.usize(..40));
        // Prefixes of every length, shorter and longer than a word.
        let start: Vec<u8> = (0..rng.usize(..20)).map(|_| rng.u8(b'a'..b'c')).collect();
        let mut model: Vec<Entry> = (0..count)
            .map(|_| {
                let cut = if rng.usize(..50) == 0 { rng.usize(..=start.len()) } else { start.len() };
                (random_key(&mut rng, keys), [&start[..cut], &random_member(&mut rng, members)].concat())
            })
            .collect();
        model.sort_by(|a, b| a.1.cmp(&b.1));
        model.dedup_by(|a, b| a.1 == b.1);
        model.sort();
        let entries: Vec<_> =
            model.iter().map(|(key, member)| (*key, &member[..], u64::from(tag(member)))).collect();
        let leaf = Leaf::of_sorted(&entries, |tag| tag as u8);
        let drafted = Draft::with(|draft| {
            model.iter().for_each(|(key, member)| draft.push(*key, tag(member), member));
            draft.encode(0..draft.len())
        });
        assert_eq!(leaf.0[..], drafted.0[..]);
        leaf.check_invariants();
    }
}

#[test]
fn forms_are_as_narrow_as_the_entries_allow() {
    let build = |scores: &mut dyn Iterator<Item = f64>| {
        let mut leaf = Leaf::new();
        for (i, score) in scores.enumerate() {
            leaf.insert(i, score.to_bits() | 1 << 63, i as u8, format!("member:{i:05}").as_bytes());
        }
        leaf.content_bytes() - super::OVERHEAD_BYTES
    };
    let equal = build(&mut std::iter::repeat_n(1.5, 40));
    assert_eq!(equal, 40 * (1 + 2) + 10, "the eleventh member cut the prefix, once");
    let integers = build(&mut (100..140).map(f64::from));
    assert_eq!(integers - equal, 40, "one byte a score");
}

#[test]
fn bytes_of_an_empty_and_a_filled_leaf() {
    let mut leaf = Leaf::new();
    assert_eq!(leaf.heap_bytes(), 32);
    leaf.insert(0, 0x1122_3344_5566_7788, 9, b"ab");
    leaf.insert(1, 0x1122_3344_5566_7799, 8, b"ac");
    let body: Vec<u8> = leaf.0[..leaf.content_bytes() - 8].to_vec();
    let room = (255 - 0x11) / 2;
    let base: u64 = 0x1122_3344_5566_7788 - room;
    let mut expected = base.to_le_bytes().to_vec();
    expected.extend([1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 0, 9, 8]);
    expected.extend([room as u8, room as u8 + 0x11, b'a', b'b', b'c']);
    assert_eq!(body, expected);
}
