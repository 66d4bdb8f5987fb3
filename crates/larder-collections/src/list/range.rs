//! Reading by position: one element, or a run of them.

use std::ops::ControlFlow;

use larder_packed::block::{Block, Direction, Element, Needle};

use super::{List, Popped};

impl List {
    /// Calls `f` with the element at `index`. A compressed block is read from a scratch copy and stays compressed.
    pub fn with_element<R>(&self, index: u64, f: impl FnOnce(Element<'_>) -> R) -> Option<R> {
        if index >= self.len() {
            return None;
        }
        match self {
            List::Packed(block) => block.get(index as usize).map(f),
            List::Tree(tree) => {
                let (block, offset) = tree.0.find_element(index);
                if block.is_compressed() {
                    block.to_plain().get(offset).map(f)
                } else {
                    block.get(offset).map(f)
                }
            }
        }
    }

    /// A copy of the element at `index`.
    pub fn get(&self, index: u64) -> Option<Popped> {
        self.with_element(index, Popped::of)
    }

    /// Calls `f` with up to `count` elements from `start` on, towards the back, until it breaks.
    pub fn for_each_range<B>(
        &self,
        start: u64,
        count: u64,
        f: impl FnMut(Element<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.walk(start, count, Direction::Forward, f)
    }

    /// Calls `f` with up to `count` elements from `start` on, towards the front, until it breaks.
    pub fn for_each_range_rev<B>(
        &self,
        start: u64,
        count: u64,
        f: impl FnMut(Element<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.walk(start, count, Direction::Backward, f)
    }

    /// Position of the first element equal to `value` from `start` on in `direction`, among `count` elements.
    pub fn find(&self, value: &[u8], start: u64, count: u64, direction: Direction) -> Option<u64> {
        let needle = Needle::new(value);
        let mut seen = 0;
        let found = self.walk(start, count, direction, |element| {
            if needle.matches(element) {
                return ControlFlow::Break(());
            }
            seen += 1;
            ControlFlow::Continue(())
        });
        found.is_break().then(|| if direction == Direction::Forward { start + seen } else { start - seen })
    }

    /// Calls `f` with every block in order: for serializers. Blocks may be compressed; none is empty.
    pub fn for_each_block<B>(&self, mut f: impl FnMut(&Block) -> ControlFlow<B>) -> ControlFlow<B> {
        match self {
            _ if self.is_empty() => ControlFlow::Continue(()),
            List::Packed(block) => f(block),
            List::Tree(tree) => tree.0.walk(0, Direction::Forward, |block, _| f(block)),
        }
    }

    fn walk<B>(
        &self,
        start: u64,
        count: u64,
        direction: Direction,
        mut f: impl FnMut(Element<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if start >= self.len() || count == 0 {
            return ControlFlow::Continue(());
        }
        let mut left = count;
        match self {
            List::Packed(block) => walk_block(block, start as usize, &mut left, direction, &mut f),
            List::Tree(tree) => {
                // Break(None) ends the walk when all elements were seen.
                let flow = tree.0.walk(start, direction, |block, from| {
                    match walk_block(block, from, &mut left, direction, &mut f) {
                        ControlFlow::Break(value) => ControlFlow::Break(Some(value)),
                        ControlFlow::Continue(()) if left == 0 => ControlFlow::Break(None),
                        ControlFlow::Continue(()) => ControlFlow::Continue(()),
                    }
                });
                match flow {
                    ControlFlow::Break(Some(value)) => ControlFlow::Break(value),
                    _ => ControlFlow::Continue(()),
                }
            }
        }
    }
}

fn walk_block<B>(
    block: &Block,
    from: usize,
    left: &mut u64,
    direction: Direction,
    f: &mut impl FnMut(Element<'_>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if block.is_compressed() {
        return walk_block(&block.to_plain(), from, left, direction, f);
    }
    for element in block.iter(from, direction).take(usize::try_from(*left).unwrap_or(usize::MAX)) {
        *left -= 1;
        f(element)?;
    }
    ControlFlow::Continue(())
}
