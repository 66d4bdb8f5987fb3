//! The blocks of a list as they are, for dumps: out of a list, and into one.

use std::ops::ControlFlow;
use std::sync::Arc;

use larder_packed::block::{Block, Direction};

use super::directory::{Directory, ListTree};
use super::{List, ListOptions};

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

impl ListTree {
    /// Puts a block after the last inner one, for a list that has no tail yet.
    fn append(&mut self, block: Block) {
        debug_assert!(self.tail.is_none(), "sealed already");
        self.len += block.len() as u64;
        self.inner_mut().push_back(block);
    }

    /// Makes the last inner block the tail (L2); false if there is none.
    fn seal(&mut self) -> bool {
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
