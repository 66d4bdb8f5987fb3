//! Model test of the block against a deque of byte strings, and golden bytes.
use super::*;
use std::collections::VecDeque;

fn value(rng: &mut fastrand::Rng, flavour: usize) -> Vec<u8> {
    let number = |rng: &mut fastrand::Rng| match rng.usize(..4) {
        0 => rng.i64(-100..200).to_string(),
        1 => rng.i64(..).to_string(),
        2 => rng.i32(..).to_string(),
        _ => [i64::MIN, i64::MAX, 0, -1][rng.usize(..4)].to_string(),
    };
    let len = match rng.usize(..20) {
        0 => rng.usize(..700),
        1 => 0,
        _ => rng.usize(..12),
    };
    match flavour {
        0 => number(rng).into_bytes(),
        1 => (1_000_000 + rng.usize(..3000)).to_string().into_bytes(),
        2 => vec![b'x'; 7],
        3 if rng.bool() => number(rng).into_bytes(),
        _ => std::iter::repeat_with(|| rng.u8(b'a'..b'e')).take(len).collect(),
    }
}

fn assert_same(block: &Block, model: &VecDeque<Vec<u8>>, rng: &mut fastrand::Rng) {
    block.check_invariants();
    assert_eq!(block.len(), model.len());
    let forward: Vec<Vec<u8>> = block.iter(0, Direction::Forward).map(Element::to_vec).collect();
    assert!(forward.iter().eq(model.iter()), "{block:?}\n{forward:?}\n{model:?}");
    let backward = block.iter(model.len().wrapping_sub(1), Direction::Backward).map(Element::to_vec);
    assert!(backward.eq(model.iter().rev().cloned()));
    assert_eq!(block.peek(End::Front).map(Element::to_vec).as_ref(), model.front());
    assert_eq!(block.peek(End::Back).map(Element::to_vec).as_ref(), model.back());
    if !model.is_empty() {
        let at = rng.usize(..model.len());
        assert_eq!(block.get(at).unwrap().to_vec(), model[at]);
        let tail: Vec<Vec<u8>> = block.iter(at, Direction::Forward).map(Element::to_vec).collect();
        assert!(tail.iter().eq(model.iter().skip(at)));
    }
}

fn step(
    block: &mut Block,
    model: &mut VecDeque<Vec<u8>>,
    rng: &mut fastrand::Rng,
    flavour: usize,
    limit: Limit,
) {
    let n = model.len();
    let fresh = value(rng, flavour);
    match rng.usize(..12) {
        0..=2 if block.try_push(End::Back, &fresh, limit) => model.push_back(fresh),
        3..=5 if block.try_push(End::Front, &fresh, limit) => model.push_front(fresh),
        6 if n > 0 => {
            block.pop(End::Back);
            model.pop_back();
        }
        7 if n > 0 => {
            block.pop(End::Front);
            model.pop_front();
        }
        8 if n > 0 => {
            let at = rng.usize(..n);
            if block.try_replace(at, &fresh, limit) {
                model[at] = fresh;
            }
        }
        9 => {
            let at = rng.usize(..=n);
            if block.try_insert(at, &fresh, limit) {
                model.insert(at, fresh);
            }
        }
        10 if rng.usize(..4) == 0 => {
            let from = rng.usize(..=n);
            let to = rng.usize(from..=n.min(from + 5));
            block.remove(from..to);
            model.drain(from..to);
        }
        11 if rng.usize(..4) == 0 => split_and_merge(block, rng, limit),
        11 => block.shrink_if_sparse(),
        _ => {}
    }
}

fn split_and_merge(block: &mut Block, rng: &mut fastrand::Rng, limit: Limit) {
    let before = block.clone();
    let back = block.split_off(rng.usize(..=block.len()));
    back.check_invariants();
    block.check_invariants();
    *block = Block::try_merge(block, &back, limit).unwrap_or(before);
}

#[test]
fn block_behaves_like_a_deque() {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok());
    let count = if std::env::var_os("LARDER_TEST_FULL").is_some() { 30_000 } else { 600 };
    for seed in seed.map_or(0..count, |s: u64| s..s + 1) {
        println!("SEED={seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut block, mut model) = (Block::empty(), VecDeque::new());
        let limit = Limit { bytes: rng.u32(40..3000), count: rng.u32(1..300) };
        let mut flavour = rng.usize(..5);
        let mut kept: Option<(Block, VecDeque<Vec<u8>>)> = None;
        for _ in 0..rng.usize(1..200) {
            step(&mut block, &mut model, &mut rng, flavour, limit);
            assert!(block.len() <= 1 || block.size_bytes() <= limit.bytes as usize);
            if rng.usize(..30) == 0 {
                kept = Some((block.clone(), model.clone()));
            }
            if rng.usize(..50) == 0 {
                flavour = rng.usize(..5);
            }
            assert_same(&block, &model, &mut rng);
        }
        if let Some((block, model)) = kept {
            assert_same(&block, &model, &mut rng);
        }
    }
}
