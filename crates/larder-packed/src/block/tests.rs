//! Model test of the block against a deque of byte strings, and golden bytes.
use super::*;
use crate::codec::Codec;
use crate::listpack;
use larder_testkit::seeds;
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
        11 if rng.bool() => block.shrink_if_sparse(),
        11 => compress_and_back(block, rng),
        _ => {}
    }
}

fn compress_and_back(block: &mut Block, rng: &mut fastrand::Rng) {
    let codec = [Codec::Lzf, Codec::Lz4, Codec::Zstd][rng.usize(..3)];
    let Some(packed) = block.compress(codec) else {
        return;
    };
    packed.check_invariants();
    assert!(packed.heap_bytes() < block.heap_bytes() && packed.len() == block.len());
    if let Some(image) = packed.lzf_image() {
        let (again, plain) = Block::from_lzf(image).unwrap();
        assert_eq!((again.len(), plain.len()), (block.len(), block.len()));
    }
    *block = packed.to_plain();
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
    for seed in seeds(600, 30_000) {
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

fn body(block: &Block) -> Vec<u8> {
    let h = block.header();
    let data = block.bytes(h.start as usize, h.data_len());
    if h.kind == Kind::Int {
        return data.to_vec();
    }
    [data, block.bytes(h.length_offset(block.len()), block.len() * h.width as usize)].concat()
}

#[test]
fn golden_layouts() {
    let of = |values: &[&str], end: End| {
        let mut block = Block::empty();
        for value in values {
            assert!(block.try_push(end, value.as_bytes(), Limit::NONE));
        }
        (block.kind(), block.header().width, body(&block))
    };
    assert_eq!(of(&["ab", "cd"], End::Back), (Kind::Str, 0, b"abcd".to_vec()));
    assert_eq!(of(&["ab", "cde"], End::Back), (Kind::Str, 1, b"abcde\x03\x02".to_vec()));
    assert_eq!(of(&["ab", "cde"], End::Front), (Kind::Str, 1, b"abcde\x03\x02".to_vec()));
    assert_eq!(of(&["7", "9"], End::Back), (Kind::Int, 1, vec![128, 130]));
    // 0 to 1000: the base is centred, (65535 - 1000) / 2 below the lowest.
    let (kind, width, bytes) = of(&["0", "1000"], End::Back);
    assert_eq!((kind, width), (Kind::Int, 2));
    assert_eq!(bytes, [32_267u16.to_ne_bytes(), 33_267u16.to_ne_bytes()].concat());
    assert_eq!(of(&["7", "x"], End::Back), (Kind::Str, 0, b"7x".to_vec()));
    let long = "y".repeat(300);
    assert_eq!(of(&["", &long], End::Back).2[300..], [[0x2c, 0x01], [0, 0]].concat());
}

#[test]
fn sequences_take_two_bytes_each() {
    for (end, step) in [(End::Back, 1), (End::Front, 1), (End::Back, -1)] {
        let limit = Limit { bytes: 8192, count: 1 << 20 };
        let mut block = Block::open(b"1000000", end, 8192);
        let mut count = 1i64;
        while block.try_push(end, (1_000_000 + count * step).to_string().as_bytes(), limit) {
            count += 1;
        }
        assert_eq!((count, block.heap_bytes()), (4096, crate::heap::class_size(8192 + HEADER)));
    }
}

#[test]
fn one_huge_number_among_small_ones_turns_the_block_to_text() {
    let mut block = Block::empty();
    (0..200).for_each(|_| block.push_unlimited(b"7"));
    block.push_unlimited(b"9000000000000000000");
    assert_eq!((block.kind(), block.size_bytes()), (Kind::Str, 200 + 19 + 201));
    let packed = listpack::to_block(&listpack::from_block(&block)).unwrap();
    assert_eq!(packed.size_bytes(), block.size_bytes());
}

#[test]
fn pushing_and_popping_at_opposite_ends_stays_cheap() {
    let limit = Limit { bytes: 8192, count: 1 << 20 };
    for (push, pop) in [(End::Back, End::Front), (End::Front, End::Back)] {
        let mut block = Block::empty();
        let mut n = 0;
        while block.try_push(push, format!("element {n}").as_bytes(), limit) {
            n += 1;
        }
        let mut rebuilds = 0;
        for i in 0..100_000 {
            let before = block.ptr;
            block.pop(pop);
            let _ = block.try_push(push, format!("element {}", i % 1000).as_bytes(), limit);
            rebuilds += usize::from(block.ptr != before);
        }
        assert!(rebuilds < 2000, "{rebuilds} rebuilds");
    }
}

#[test]
fn damaged_lzf_payloads_are_errors() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut block = Block::empty();
    (0..200).for_each(|i| block.push_unlimited(format!("some text {}", i % 9).as_bytes()));
    let packed = block.compress(Codec::Lzf).unwrap();
    let image = packed.lzf_image().unwrap();
    for _ in 0..5000 {
        let mut payload = image.payload.to_vec();
        match rng.usize(..3) {
            0 => payload.truncate(rng.usize(..payload.len())),
            1 => {
                let at = rng.usize(..payload.len());
                payload[at] ^= 1 << rng.u32(..8);
            }
            _ => rng.fill(&mut payload),
        }
        let plain_len = if rng.bool() { image.plain_len } else { rng.usize(..) };
        let is_raw = rng.bool();
        if let Ok((block, plain)) = Block::from_lzf(LzfImage { payload: &payload, plain_len, is_raw }) {
            plain.check_invariants();
            assert_eq!(block.len(), plain.len());
        }
    }
}

/// Blocks of many kinds: made at either end, popped, compressed.
fn random_block(rng: &mut fastrand::Rng) -> Block {
    let mut block = Block::empty();
    let (kind, n) = (rng.u8(..5), rng.usize(1..300));
    for _ in 0..n {
        let element = match kind {
            0 => rng.i64(-50..50).to_string(),
            1 => rng.i64(..).to_string(),
            2 => "same".to_owned(),
            3 => String::new(),
            _ => "x".repeat(rng.usize(..300)),
        };
        let end = if rng.bool() { End::Back } else { End::Front };
        let _ = block.try_push(end, element.as_bytes(), Limit::NONE);
        if rng.u8(..8) == 0 && block.len() > 1 {
            block.pop(end);
        }
    }
    if rng.bool() {
        block.set_incompressible();
    }
    let codec = [None, Some(Codec::Lzf), Some(Codec::Lz4), Some(Codec::Zstd)][rng.usize(..4)];
    codec.and_then(|codec| block.compress(codec)).unwrap_or(block)
}

fn elements_of(block: &Block) -> Vec<Vec<u8>> {
    block.to_plain().iter(0, Direction::Forward).map(|e| e.with_bytes(<[u8]>::to_vec)).collect()
}

/// A block of LZF holds what dumps do: one that holds our own form would be dumped as something that it is not.
#[test]
fn our_own_form_is_not_compressed_with_lzf() {
    let mut block = Block::empty();
    block.push_unlimited(&[b'z'; 9000]);
    let mut image = Vec::new();
    block.compress(Codec::Lzf).unwrap().image_into(&mut image);
    assert!(Block::from_image(&image).unwrap().is_compressed());
    // The same bytes as a string block of one element.
    image[0] = 0;
    image[6..14].copy_from_slice(&9000_u64.to_le_bytes());
    assert!(Block::from_image(&image).is_err());
}

#[test]
fn images_come_back() {
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..2000 {
        let (block, mut image) = (random_block(&mut rng), Vec::new());
        block.image_into(&mut image);
        let again = Block::from_image(&image).unwrap();
        again.check_invariants();
        assert_eq!(elements_of(&again), elements_of(&block));
        assert_eq!(again.is_incompressible(), block.is_incompressible());
        let mut second = Vec::new();
        again.image_into(&mut second);
        assert_eq!(second, image);
    }
}

#[test]
fn payloads_that_hold_too_much_are_sent_plain() {
    let mut block = Block::empty();
    block.push_unlimited(&[b'x'; 1 << 20]);
    let packed = block.compress(Codec::Zstd).unwrap();
    let mut image = Vec::new();
    packed.image_into(&mut image);
    assert!(image.len() > 1 << 20);
    assert!(!Block::from_image(&image).unwrap().is_compressed());
}

#[test]
fn damaged_images_are_errors() {
    let mut rng = fastrand::Rng::with_seed(12);
    let mut taken = 0;
    for _ in 0..20_000 {
        let mut image = Vec::new();
        random_block(&mut rng).image_into(&mut image);
        match rng.usize(..4) {
            0 => image.truncate(rng.usize(..image.len())),
            1 => image.extend([0; 3]),
            2 => rng.fill(&mut image[..14]),
            _ => {
                // Heads are where the damage is.
                let at = if rng.bool() { rng.usize(..18.min(image.len())) } else { rng.usize(..image.len()) };
                image[at] ^= 1 << rng.u32(..8);
            }
        }
        if let Ok(block) = Block::from_image(&image) {
            block.check_invariants();
            let plain = block.to_plain();
            plain.check_invariants();
            assert_eq!(plain.iter(0, Direction::Forward).count(), block.len());
            taken += 1;
        }
    }
    assert!(taken > 100, "{taken} of the damages change the content only");
}

#[test]
fn blocks_of_integers_are_those_of_their_elements() {
    for seed in larder_testkit::seeds(500, 500) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (count, bits, shift) = (rng.usize(..60), rng.u32(..64), rng.u32(..64));
        let value = |rng: &mut fastrand::Rng| {
            if rng.u8(..8) == 0 { rng.i64(..) >> shift } else { rng.i64(..) >> bits }
        };
        let values: Vec<i64> = (0..count).map(|_| value(&mut rng)).collect();
        let elements = || values.iter().map(|&value| Element::Int(value));
        let mut shape = Shape::default();
        elements().for_each(|element| shape.add(element));
        let (block, other) = (Block::of_integers(&values), Block::of_shape(&shape, elements()));
        block.check_invariants();
        assert_eq!((block.kind(), block.heap_bytes()), (other.kind(), other.heap_bytes()), "{values:?}");
        assert!(
            block
                .iter(0, Direction::Forward)
                .map(|element| element.as_int())
                .eq(values.iter().map(|&v| Some(v)))
        );
        let mut again = Vec::new();
        assert_eq!(block.integers_into(&mut again), block.kind() == Kind::Int);
        assert!(block.kind() != Kind::Int || again == values);
    }
}
