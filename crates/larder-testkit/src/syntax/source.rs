//! Where decisions come from.

/// Decides.
pub trait Source {
    /// A number below `count`, which is not 0.
    fn below(&mut self, count: usize) -> usize;

    /// True once in `times`.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// One of several.
    fn choose<'a, T>(&mut self, all: &'a [T]) -> &'a T
    where
        Self: Sized,
    {
        &all[self.below(all.len())]
    }
}

impl Source for fastrand::Rng {
    fn below(&mut self, count: usize) -> usize {
        self.usize(..count)
    }
}

/// The bytes that a fuzzer gives: one or two of them a decision. When they are used up, every decision is 0, which leads to a
/// short call.
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// Reads from the front.
    pub fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes(bytes)
    }

    /// Whether all are used up.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn next(&mut self) -> usize {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                usize::from(byte)
            }
            None => 0,
        }
    }
}

impl Source for Bytes<'_> {
    fn below(&mut self, count: usize) -> usize {
        match count {
            1 => 0,
            2..=256 => self.next() % count,
            _ => (self.next() << 8 | self.next()) % count,
        }
    }
}
