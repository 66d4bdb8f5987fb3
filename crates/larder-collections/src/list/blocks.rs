//! The blocks of a list as they are, for dumps: out of a list, and into one.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use larder_packed::block::{Block, Direction, Limit, width_of};
use larder_packed::int;

use super::directory::{Directory, ListTree};
use super::{List, ListOptions};

/// The longest text of an integer, which takes a byte at least in a block of integers.
const INT_TEXT_MAX: u64 = 20;

impl List {
    /// A list of these blocks in order, whatever their sizes; empty ones are left out. No element is moved: O(number of
    /// blocks).
    pub fn from_blocks(blocks: impl IntoIterator<Item = Block>, options: &ListOptions) -> List {
        let mut blocks = blocks.into_iter().filter(|block| !block.is_empty());
        let Some(first) = blocks.next() else { return List::new() };
        let mut tree = ListTree::of(first.to_plain());
        for block in blocks {
            // Only the last block becomes the tail, so that inner ones are not decompressed for it.
            tree.append(block);
        }
        let limit = options.fill.limit();
        let fits =
            |block: &Block| block.size_bytes() <= limit.bytes as usize && block.len() <= limit.count as usize;
        if !tree.seal() && fits(&tree.head) {
            return List::Packed(tree.head);
        }
        List::Tree(Directory(Arc::new(tree)))
    }

    /// A list of these integers, called what it would be if they had been pushed one by one. Blocks of a large one are made at once:
    /// O(n), and a fraction of what as many calls of [`push_back`](Self::push_back) take.
    pub fn of_integers(values: &[i64], options: &ListOptions) -> List {
        let limit = options.fill.limit();
        if values.len() as u64 <= u64::from(limit.count.min(limit.bytes)) {
            let mut list = List::new();
            values.iter().for_each(|&value| int::with_text(value, |text| list.push_back(text, options)));
            return list;
        }
        let mut left = values;
        let blocks = std::iter::from_fn(|| {
            let (block, rest) = left.split_at(fitting(left, limit));
            left = rest;
            (!block.is_empty()).then(|| Block::of_integers(block))
        });
        List::from_blocks(blocks, options)
    }

    /// The elements of a range as a list of their own, called what it would be if they had been pushed one by one. Of a large one the
    /// blocks are shared: O(blocks); a small one is pushed.
    pub fn slice(&self, range: Range<u64>, options: &ListOptions) -> List {
        let mut part = self.clone();
        part.remove_range(range.end, part.len().saturating_sub(range.end), options);
        part.remove_range(0, range.start, options);
        let limit = options.fill.limit();
        // No single block holds this many elements, or this many bytes even where all of them are integers of the least width.
        let is_large = part.len() > u64::from(limit.count.min(limit.bytes))
            || part.plain_bytes(0) > INT_TEXT_MAX * u64::from(limit.bytes);
        if is_large {
            return part;
        }
        let mut pushed = List::new();
        let _ = part.for_each_range::<()>(0, part.len(), |element| {
            element.with_bytes(|bytes| pushed.push_back(bytes, options));
            ControlFlow::Continue(())
        });
        pushed
    }

    /// Calls `f` with every block in order, until it fails. The number of calls is [`List::node_count`].
    pub fn try_for_each_block<E>(&self, mut f: impl FnMut(&Block) -> Result<(), E>) -> Result<(), E> {
        match self {
            List::Packed(block) => f(block),
            List::Tree(tree) => {
                let flow = tree.0.walk(0, Direction::Forward, |block, _| match f(block) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => ControlFlow::Break(error),
                });
                match flow {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(error) => Err(error),
                }
            }
        }
    }
}

/// How many of the first integers fit a block. At least one, if there is one.
fn fitting(values: &[i64], limit: Limit) -> usize {
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    let mut is_over = |(at, &value): (usize, &i64)| {
        (low, high) = (low.min(value), high.max(value));
        let width = usize::from(width_of(high.wrapping_sub(low) as u64));
        at > 0 && ((at + 1) * width > limit.bytes as usize || at >= limit.count as usize)
    };
    values.iter().enumerate().position(&mut is_over).unwrap_or(values.len())
}

impl ListTree {
    /// Puts a block after the last inner one, for a list that has no tail yet.
    pub(super) fn append(&mut self, block: Block) {
        debug_assert!(self.tail.is_none(), "sealed already");
        self.len += block.len() as u64;
        self.inner_mut().push_back(block);
    }

    /// Makes the last inner block the tail (L2); false if there is none.
    pub(super) fn seal(&mut self) -> bool {
        self.tail = self.pop_back_inner().map(|block| block.to_plain());
        self.tail.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{Fill, Popped};

    #[test]
    fn blocks_out_and_in_again() {
        for fill in [-1, 3, 100] {
            let options = ListOptions { fill: Fill::new(fill), ..ListOptions::default() };
            for count in [1, 2, 3, 4, 7, 500, 5000] {
                let mut list = List::new();
                (0..count).for_each(|i| list.push_back(format!("element {i}").as_bytes(), &options));
                let mut blocks = Vec::new();
                let all: Result<(), ()> = list.try_for_each_block(|block| {
                    blocks.push(block.clone());
                    Ok(())
                });
                assert_eq!((all, blocks.len() as u64), (Ok(()), list.node_count()));
                blocks.insert(blocks.len() / 2, Block::empty());
                let mut again = List::from_blocks(blocks, &options);
                again.check_invariants();
                assert_eq!((again.len(), again.encoding()), (list.len(), list.encoding()));
                again.push_front(b"new", &options);
                for i in (0..count).rev() {
                    let expected = format!("element {i}").into_bytes();
                    assert_eq!(again.pop_back(&options).map(Popped::into_vec), Some(expected));
                }
                assert_eq!((again.len(), list.len()), (1, count));
            }
        }
        assert!(List::from_blocks([], &ListOptions::default()).is_empty());
    }

    #[test]
    fn lists_of_integers() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(62));
        for fill in [-2, -1, 3] {
            let options = ListOptions { fill: Fill::new(fill), ..ListOptions::default() };
            for count in [0, 1, 3, 4, 1000, 9000, 20_000] {
                for bits in [2, 9, 20, 40, 64] {
                    let values: Vec<i64> = (0..count).map(|_| rng.i64(..) >> (64 - bits)).collect();
                    let list = List::of_integers(&values, &options);
                    list.check_invariants();
                    let mut pushed = List::new();
                    values.iter().for_each(|value| pushed.push_back(value.to_string().as_bytes(), &options));
                    assert_eq!(
                        (list.len(), list.encoding()),
                        (pushed.len(), pushed.encoding()),
                        "{count} {bits}"
                    );
                    let limit = options.fill.limit();
                    let fits: Result<(), usize> = list.try_for_each_block(|block| {
                        let is_in =
                            block.size_bytes() <= limit.bytes as usize && block.len() <= limit.count as usize;
                        if is_in { Ok(()) } else { Err(block.size_bytes()) }
                    });
                    assert_eq!(fits, Ok(()));
                    let mut at = values.iter();
                    let _ = list.for_each_range::<()>(0, list.len(), |element| {
                        assert_eq!(element.as_int().as_ref(), at.next());
                        ControlFlow::Continue(())
                    });
                    assert_eq!(at.next(), None);
                }
            }
        }
    }

    #[test]
    fn slices_are_lists_of_their_own() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(61));
        for fill in [-2, -1, 3] {
            let options = ListOptions { fill: Fill::new(fill), ..ListOptions::default() };
            for count in [0, 1, 3, 100, 30_000] {
                let element =
                    |i: u64| if i.is_multiple_of(7) { format!("element {i}") } else { i.to_string() };
                let mut list = List::new();
                (0..count).for_each(|i| list.push_back(element(i).as_bytes(), &options));
                for _ in 0..10 {
                    let from = rng.u64(..=count);
                    let range = from..rng.u64(from..=count);
                    let mut part = list.slice(range.clone(), &options);
                    part.check_invariants();
                    assert_eq!(part.len(), range.end - range.start);
                    let mut pushed = List::new();
                    range.clone().for_each(|i| pushed.push_back(element(i).as_bytes(), &options));
                    assert_eq!(part.encoding(), pushed.encoding(), "{range:?} of {count}");
                    part.push_back(b"new", &options);
                    for i in range {
                        assert_eq!(
                            part.pop_front(&options).map(Popped::into_vec),
                            Some(element(i).into_bytes())
                        );
                    }
                    assert_eq!((part.len(), list.len()), (1, count));
                }
            }
        }
    }

    #[test]
    fn the_first_error_ends_the_walk() {
        let options = ListOptions { fill: Fill::new(2), ..ListOptions::default() };
        let mut list = List::new();
        (0..20).for_each(|_| list.push_back(b"x", &options));
        let mut seen = 0;
        let result = list.try_for_each_block(|_| {
            seen += 1;
            if seen == 4 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((result, seen), (Err("enough"), 4));
    }
}
