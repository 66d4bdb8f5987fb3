//! Round trips, golden bytes and damage.
use super::*;
use crate::block::{Block, Direction, Element};

fn block_of(values: &[&[u8]]) -> Block {
    let mut block = Block::empty();
    values.iter().for_each(|value| block.push_unlimited(value));
    block
}

fn random_block(rng: &mut fastrand::Rng) -> Block {
    let mut block = Block::empty();
    for _ in 0..rng.usize(..120) {
        let value = match rng.usize(..6) {
            0 => (rng.i64(..) >> rng.u32(..64)).to_string().into_bytes(),
            1 => rng.i32(-5000..5000).to_string().into_bytes(),
            2 => vec![b'z'; [63, 64, 4095, 4096, 127, 124, 16_000, 17_000][rng.usize(..8)]],
            _ => {
                let mut bytes = vec![0; rng.usize(..30)];
                rng.fill(&mut bytes);
                bytes
            }
        };
        block.push_unlimited(&value);
    }
    block
}

fn elements(block: &Block) -> Vec<Vec<u8>> {
    block.iter(0, Direction::Forward).map(Element::to_vec).collect()
}

fn elements_of(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Damaged> {
    super::elements(bytes).map(|all| all.into_iter().map(Element::to_vec).collect())
}

#[test]
fn golden_bytes() {
    let bytes = from_block(&block_of(&[b"a", b"1", b"-1", b"1000", b"100000", b"-9223372036854775808"]));
    let expected = [
        &[39, 0, 0, 0, 6, 0][..],
        &[0x81, b'a', 2],
        &[1, 1],
        &[0xdf, 0xff, 2],
        &[0xc3, 0xe8, 2],
        &[0xf2, 0xa0, 0x86, 0x01, 4],
        &[0xf4, 0, 0, 0, 0, 0, 0, 0, 0x80, 9],
        &[0xff],
    ]
    .concat();
    assert_eq!(bytes.len(), expected.len());
    assert_eq!(bytes[6..], expected[6..]);
    assert_eq!(bytes[0] as usize, bytes.len());
}

#[test]
fn back_lengths_are_those_of_the_original() {
    let cases: [(usize, &[u8]); 6] = [
        (1, &[1]),
        (127, &[127]),
        (128, &[1, 128]),
        (16_382, &[127, 254]),
        (16_383, &[0, 255, 255]),
        (2_097_151, &[0, 255, 255, 255]),
    ];
    for (len, bytes) in cases {
        let (back, count) = backlen(len);
        assert_eq!(&back[..count], bytes, "{len}");
    }
}

#[test]
fn blocks_come_back() {
    for seed in larder_testkit::seeds(200, 200) {
        let block = random_block(&mut fastrand::Rng::with_seed(seed));
        let bytes = from_block(&block);
        assert_eq!(validate(&bytes), Ok(block.len()));
        assert!(elements_of(&bytes).unwrap() == elements(&block));
        let back = to_block(&bytes).unwrap();
        back.check_invariants();
        assert_eq!(elements(&back), elements(&block));
    }
}

#[test]
fn integers_of_every_size_come_back() {
    for seed in larder_testkit::seeds(300, 300) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut block, mut writer) = (Block::empty(), Writer::default());
        let (bits, is_front) = (rng.u32(0..64), rng.bool());
        for _ in 0..rng.usize(..400) {
            let value = rng.i64(..) >> rng.u32(bits..64);
            block.push_unlimited(value.to_string().as_bytes());
            writer.push(Element::Int(value));
        }
        let bytes = writer.finish();
        assert_eq!(from_block(&block), bytes);
        let back = to_block(&bytes).unwrap();
        back.check_invariants();
        assert_eq!(elements(&back), elements(&block));
        if is_front && !block.is_empty() {
            let at = rng.usize(6..bytes.len());
            let mut bad = bytes.clone();
            bad[at] ^= 1 << rng.u32(..8);
            assert_eq!(to_block(&bad).is_ok(), validate(&bad).is_ok());
        }
    }
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    for seed in 0..4000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut bytes = from_block(&random_block(&mut rng));
        match rng.usize(..4) {
            0 => {
                bytes.truncate(rng.usize(..bytes.len()));
                assert!(validate(&bytes).is_err(), "SEED={seed}");
            }
            1 => {
                let at = rng.usize(..bytes.len());
                bytes[at] ^= 1 << rng.u32(..8);
                let _ = validate(&bytes);
            }
            2 => {
                let at = rng.usize(6..bytes.len());
                rng.fill(&mut bytes[at..]);
                let _ = validate(&bytes);
            }
            _ => {
                let mut noise = vec![0; rng.usize(..200)];
                rng.fill(&mut noise);
                assert!(noise.len() < 7 || validate(&noise).is_err());
            }
        }
        assert_eq!(super::elements(&bytes).is_ok(), validate(&bytes).is_ok());
        if validate(&bytes).is_ok() {
            assert!(elements_of(&bytes).unwrap() == elements(&to_block(&bytes).unwrap()));
            to_block(&bytes).unwrap().check_invariants();
        }
    }
}
