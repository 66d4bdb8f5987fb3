use super::*;
use fastrand::Rng;
use larder_testkit::seeds;

const SPARSE_MAX: usize = 3000;

/// Sparse, dense and one byte a register, side by side.
struct Trio {
    sparse: SharedBytes,
    dense: SharedBytes,
    naive: Vec<u8>,
}

impl Trio {
    fn new() -> Self {
        let mut dense = empty();
        assert_eq!(Sketch::of(&mut dense).unwrap().make_dense(), Ok(true));
        Trio { sparse: empty(), dense, naive: vec![0; REGISTERS] }
    }

    fn raise(&mut self, index: usize, rank: u8) {
        let grown = self.naive[index] < rank;
        self.naive[index] = self.naive[index].max(rank);
        for bytes in [&mut self.sparse, &mut self.dense] {
            let mut sketch = Sketch::of(bytes).unwrap();
            assert_eq!(sketch.raise(index, rank, 1 << 20), Ok(grown));
        }
    }

    fn check(&self) {
        let mut counts = Vec::new();
        for bytes in [&self.sparse, &self.dense] {
            let mut registers = Registers::new();
            let view = View::of(bytes).unwrap();
            registers.merge(view).unwrap();
            assert!(registers.iter().eq(self.naive.iter().copied()));
            counts.extend([view.count().unwrap(), registers.count()]);
        }
        assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
        let view = View::of(&self.sparse).unwrap();
        if view.encoding() == Encoding::Sparse {
            assert_eq!(
                view.runs()
                    .map(|run| match run {
                        Run::ShortZeros(len) | Run::LongZeros(len) | Run::Values(_, len) => len,
                    })
                    .sum::<usize>(),
                REGISTERS,
                "H2"
            );
        }
    }
}

#[test]
fn sparse_and_dense_agree() {
    for seed in seeds(20, 2000) {
        let mut rng = Rng::with_seed(seed);
        let mut trio = Trio::new();
        let (span, rank_max) = ([20, 300, REGISTERS][rng.usize(..3)], [3, 32, 51][rng.usize(..3)]);
        let base = rng.usize(..=REGISTERS - span);
        for _ in 0..rng.usize(..600) {
            trio.raise(base + rng.usize(..span), rng.u8(1..=rank_max));
        }
        trio.check();
        let mut merged = empty();
        let mut registers = Registers::new();
        registers.merge(View::of(&trio.dense).unwrap()).unwrap();
        Sketch::of(&mut merged).unwrap().raise_all(&registers, SPARSE_MAX).unwrap();
        assert_eq!(View::of(&merged).unwrap().count(), View::of(&trio.dense).unwrap().count(), "SEED={seed}");
        assert_eq!(View::of(&merged).unwrap().cached_count(), None);
    }
}

#[test]
fn a_million_elements_are_counted_within_the_bound() {
    let mut bytes = empty();
    let mut sketch = Sketch::of(&mut bytes).unwrap();
    let mut check_at = 1;
    for n in 1..=1_000_000_u64 {
        sketch.add(&n.to_le_bytes(), SPARSE_MAX).unwrap();
        if n == check_at {
            let count = sketch.view().count().unwrap();
            // Three times the standard error, which is 1.04 / sqrt(16384); steps are coarse while there are few.
            let error_max = 3.0 * 0.0081 * n as f64 + 2.0;
            assert!((count as f64 - n as f64).abs() < error_max, "{count} of {n}");
            check_at = check_at * 3 / 2 + 1;
        }
    }
    assert_eq!(sketch.view().encoding(), Encoding::Dense);
    let count = sketch.view().count().unwrap();
    assert!((count as f64 / 1e6 - 1.0).abs() < 0.02, "{count}");
}

#[test]
fn known_bytes() {
    let mut bytes = empty();
    assert_eq!(&bytes[..], b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff");
    assert_eq!(View::of(&bytes).unwrap().cached_count(), Some(0));
    assert!(Sketch::of(&mut bytes).unwrap().add(b"a", SPARSE_MAX).unwrap());
    assert_eq!(bytes[15], 0x80);
    assert_eq!(View::of(&bytes).unwrap().count(), Ok(1));
    Sketch::of(&mut bytes).unwrap().store_count(1);
    assert_eq!(View::of(&bytes).unwrap().cached_count(), Some(1));
    assert!(!Sketch::of(&mut bytes).unwrap().add(b"a", SPARSE_MAX).unwrap());
    assert_eq!(View::of(&bytes).unwrap().cached_count(), Some(1));
}

#[test]
fn the_sparse_limit_is_in_bytes() {
    let mut bytes = empty();
    let mut longest = 0;
    for n in 0..5000_u32 {
        let mut sketch = Sketch::of(&mut bytes).unwrap();
        sketch.add(&n.to_le_bytes(), 200).unwrap();
        if sketch.view().encoding() == Encoding::Sparse {
            longest = longest.max(bytes.len());
        }
    }
    assert!((190..=200).contains(&longest), "{longest}");
    assert_eq!(bytes.len(), DENSE_BYTES);
    let mut small = empty();
    Sketch::of(&mut small).unwrap().add(b"x", 0).unwrap();
    assert_eq!(View::of(&small).unwrap().encoding(), Encoding::Dense);
}

/// Whatever the bytes, every operation returns.
#[test]
fn damaged_strings() {
    for seed in seeds(300, 30_000) {
        let mut rng = Rng::with_seed(seed);
        let mut bytes = empty();
        for n in 0..rng.u32(..200) {
            Sketch::of(&mut bytes).unwrap().add(&n.to_le_bytes(), SPARSE_MAX).unwrap();
        }
        let mut damaged = bytes.to_vec();
        match rng.u8(..4) {
            0 => damaged.truncate(rng.usize(..=damaged.len())),
            1 => damaged.extend(std::iter::repeat_with(|| rng.u8(..)).take(5)),
            2 => damaged[HEADER..].iter_mut().for_each(|byte| *byte = rng.u8(..)),
            _ => (0..3).for_each(|_| damaged[rng.usize(..bytes.len())] = rng.u8(..)),
        }
        let mut damaged = SharedBytes::new(&damaged);
        let Some(view) = View::of(&damaged) else { continue };
        let counted = view.count();
        assert!(view.runs().count() <= damaged.len());
        let mut registers = Registers::new();
        assert_eq!(registers.merge(View::of(&damaged).unwrap()).is_err(), counted.is_err());
        let mut copy = damaged.clone();
        let _ = Sketch::of(&mut copy).unwrap().make_dense();
        let mut sketch = Sketch::of(&mut damaged).unwrap();
        for n in 0..50_u32 {
            let _ = sketch.add(&n.to_le_bytes(), [0, 100, SPARSE_MAX][n as usize % 3]);
        }
    }
}

#[test]
fn what_is_no_hyperloglog() {
    let bad: [&[u8]; 5] = [
        b"",
        b"HYLL\x01",
        b"HYLX\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff",
        b"HYLL\x02\0\0\0\0\0\0\0\0\0\0\0\x7f\xff",
        b"HYLL\x00\0\0\0\0\0\0\0\0\0\0\0\x7f\xff",
    ];
    assert!(bad.iter().all(|bytes| View::of(bytes).is_none()));
    let short = View::of(b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x7f\xfe").unwrap();
    assert_eq!(short.count(), Err(Corrupted));
}
