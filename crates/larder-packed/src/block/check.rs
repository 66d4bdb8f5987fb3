//! The invariants of a block as code.

use super::{Block, HEADER, Kind};

impl Block {
    /// Panics if an invariant of the module's comment is violated. O(n).
    pub fn check_invariants(&self) {
        let h = self.header();
        assert_eq!(crate::heap::class_size(h.cap as usize), h.cap as usize, "B1: cap is a class");
        if h.kind == Kind::Compressed {
            assert!(HEADER + h.end as usize <= h.cap as usize, "B1: payload inside");
            return;
        }
        assert!(HEADER <= h.start as usize && h.start <= h.end, "B1: start {} end {}", h.start, h.end);
        let n = self.len();
        match h.kind {
            Kind::Str => {
                let lengths = (h.lgap() + n) * h.width as usize;
                assert!(h.end as usize + lengths <= h.cap as usize, "B1: data and lengths overlap");
                let sum: usize = (0..n).map(|i| self.str_len(i)).sum();
                assert_eq!(sum, h.data_len(), "B2: lengths sum up to the data");
                assert!(matches!(h.width, 0 | 1 | 2 | 4), "B1: width {}", h.width);
            }
            _ => {
                assert!(h.end <= h.cap, "B1: data inside");
                assert_eq!(h.data_len(), n * h.width as usize, "B2: n * width");
                assert!(matches!(h.width, 1 | 2 | 4 | 8), "B1: width {}", h.width);
                assert!(h.width != 8 || h.aux == 0, "B3: base of width 8");
            }
        }
    }
}
