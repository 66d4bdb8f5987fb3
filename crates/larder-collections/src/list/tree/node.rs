//! Nodes of the counted tree: leaves with blocks, inner nodes with children, and what they know by heart.

use std::ops::{Add, ControlFlow, Range, Sub};
use std::sync::Arc;

use larder_packed::block::{Block, Direction};

/// Most children of a node.
pub(super) const FANOUT: usize = 32;
/// Fewest children of a node that is not the root. A quarter, where an appending split leaves more, so that appending
/// and popping at one spot do not split and merge in turns.
pub(super) const FANOUT_MIN: usize = 8;

/// What lies below a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Elements.
    pub(crate) len: u64,
    /// Blocks.
    pub(crate) blocks: u32,
    /// Plain blocks that may be worth compressing.
    pub(crate) pending: u32,
    /// Compressed blocks.
    pub(crate) compressed: u32,
}

impl Sub for Sum {
    type Output = Sum;

    fn sub(self, other: Sum) -> Sum {
        Sum {
            len: self.len - other.len,
            blocks: self.blocks - other.blocks,
            pending: self.pending - other.pending,
            compressed: self.compressed - other.compressed,
        }
    }
}

impl Add for Sum {
    type Output = Sum;

    fn add(self, other: Sum) -> Sum {
        Sum {
            len: self.len + other.len,
            blocks: self.blocks + other.blocks,
            pending: self.pending + other.pending,
            compressed: self.compressed + other.compressed,
        }
    }
}

/// What a leaf knows about one of its blocks without touching it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u32);

const PENDING: u32 = 1 << 31;
const COMPRESSED: u32 = 1 << 30;
const LEN: u32 = COMPRESSED - 1;

/// Blocks smaller than this are not worth compressing.
const COMPRESS_MIN_BYTES: usize = 128;

impl Tag {
    pub(super) fn of(block: &Block) -> Tag {
        let len = u32::try_from(block.len()).expect("a block holds fewer than 2^30 elements");
        assert!(len <= LEN);
        let pending =
            !block.is_compressed() && !block.is_incompressible() && block.heap_bytes() >= COMPRESS_MIN_BYTES;
        let compressed = block.is_compressed();
        Tag(len | if pending { PENDING } else { 0 } | if compressed { COMPRESSED } else { 0 })
    }

    fn len(self) -> u64 {
        u64::from(self.0 & LEN)
    }

    pub(super) fn sum(self) -> Sum {
        Sum { len: self.len(), blocks: 1, pending: self.0 >> 31, compressed: self.0 >> 30 & 1 }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Inner(Inner),
    Leaf(Leaf),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Inner {
    pub(super) children: Vec<Arc<Node>>,
    pub(super) sums: Vec<Sum>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Leaf {
    pub(super) blocks: Vec<Block>,
    pub(super) tags: Vec<Tag>,
}

impl Leaf {
    /// Position of the block with element `index`, and the offset in it. There is such an element.
    pub(super) fn find(&self, mut index: u64) -> (usize, u64) {
        let mut i = 0;
        while index >= self.tags[i].len() {
            index -= self.tags[i].len();
            i += 1;
        }
        (i, index)
    }

    pub(super) fn prefix(&self, count: usize) -> Sum {
        self.tags[..count].iter().fold(Sum::default(), |sum, tag| sum + tag.sum())
    }

    pub(super) fn insert(&mut self, at: usize, block: Block) {
        self.tags.insert(at, Tag::of(&block));
        self.blocks.insert(at, block);
    }

    /// Lets `f` change a block; returns its sum before and after, too.
    pub(super) fn update<R>(&mut self, at: usize, f: impl FnOnce(&mut Block) -> R) -> (R, Sum, Sum) {
        let result = f(&mut self.blocks[at]);
        let old = std::mem::replace(&mut self.tags[at], Tag::of(&self.blocks[at]));
        (result, old.sum(), self.tags[at].sum())
    }

    pub(super) fn remove(&mut self, at: usize) -> (Block, Sum) {
        let sum = self.tags.remove(at).sum();
        (self.blocks.remove(at), sum)
    }
}

impl Inner {
    /// Child with element `left`, which becomes relative to it; `position` grows by the blocks before it.
    pub(super) fn find_element(&self, left: &mut u64, position: &mut usize) -> usize {
        let mut i = 0;
        while *left >= self.sums[i].len {
            *left -= self.sums[i].len;
            *position += self.sums[i].blocks as usize;
            i += 1;
        }
        i
    }

    /// Child with block `left`, which becomes relative to it.
    pub(super) fn find_block(&self, left: &mut usize) -> usize {
        let mut i = 0;
        while *left >= self.sums[i].blocks as usize {
            *left -= self.sums[i].blocks as usize;
            i += 1;
        }
        i
    }

    pub(super) fn insert(&mut self, at: usize, child: Arc<Node>) {
        self.sums.insert(at, child.sum());
        self.children.insert(at, child);
    }

    pub(super) fn remove(&mut self, at: usize) -> Arc<Node> {
        self.sums.remove(at);
        self.children.remove(at)
    }

    pub(super) fn refresh(&mut self, at: usize) {
        self.sums[at] = self.children[at].sum();
    }
}

impl Node {
    pub(super) fn leaf(block: Block) -> Node {
        Node::Leaf(Leaf { tags: vec![Tag::of(&block)], blocks: vec![block] })
    }

    pub(super) fn inner(children: Vec<Arc<Node>>) -> Node {
        Node::Inner(Inner { sums: children.iter().map(|child| child.sum()).collect(), children })
    }

    pub(super) fn sum(&self) -> Sum {
        match self {
            Node::Inner(inner) => inner.sums.iter().fold(Sum::default(), |sum, &s| sum + s),
            Node::Leaf(leaf) => leaf.prefix(leaf.tags.len()),
        }
    }

    /// Number of children.
    pub(super) fn width(&self) -> usize {
        match self {
            Node::Inner(inner) => inner.children.len(),
            Node::Leaf(leaf) => leaf.blocks.len(),
        }
    }

    /// Levels below: 0 for a leaf.
    pub(super) fn height(&self) -> usize {
        match self {
            Node::Inner(inner) => 1 + inner.children[0].height(),
            Node::Leaf(_) => 0,
        }
    }

    /// Cuts the node in two of the same height; this one keeps the first `at` children.
    pub(super) fn split_off(&mut self, at: usize) -> Node {
        match self {
            Node::Inner(inner) => {
                Node::Inner(Inner { children: cut(&mut inner.children, at), sums: cut(&mut inner.sums, at) })
            }
            Node::Leaf(leaf) => {
                Node::Leaf(Leaf { blocks: cut(&mut leaf.blocks, at), tags: cut(&mut leaf.tags, at) })
            }
        }
    }

    /// Takes over all children of a node of the same height.
    pub(super) fn append(&mut self, other: Node) {
        match (self, other) {
            (Node::Inner(a), Node::Inner(b)) => {
                a.children.extend(b.children);
                a.sums.extend(b.sums);
            }
            (Node::Leaf(a), Node::Leaf(b)) => {
                a.blocks.extend(b.blocks);
                a.tags.extend(b.tags);
            }
            _ => unreachable!("nodes of one height are of one kind"),
        }
    }

    pub(super) fn for_each_from<'a, B>(
        &'a self,
        position: usize,
        direction: Direction,
        f: &mut impl FnMut(&'a Block) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match (self, direction) {
            (Node::Leaf(leaf), Direction::Forward) => leaf.blocks[position..].iter().try_for_each(f),
            (Node::Leaf(leaf), Direction::Backward) => leaf.blocks[..=position].iter().rev().try_for_each(f),
            (Node::Inner(inner), _) => inner.for_each_from(position, direction, f),
        }
    }

    /// See the tree's method; `before` is what lies before this node. False when `f` said no.
    pub(super) fn for_each_of(
        &self,
        kind: fn(&Sum) -> u32,
        range: Range<usize>,
        mut before: Sum,
        f: &mut impl FnMut(u64, &Block) -> bool,
    ) -> bool {
        let sums = |i: usize| match self {
            Node::Inner(inner) => inner.sums[i],
            Node::Leaf(leaf) => leaf.tags[i].sum(),
        };
        for i in 0..self.width() {
            let (sum, first) = (sums(i), before.blocks as usize);
            let overlaps = first < range.end && first + sum.blocks as usize > range.start;
            if kind(&sum) > 0 && overlaps {
                let go_on = match self {
                    Node::Inner(inner) => inner.children[i].for_each_of(kind, range.clone(), before, f),
                    Node::Leaf(leaf) => f(before.len, &leaf.blocks[i]),
                };
                if !go_on {
                    return false;
                }
            }
            before = before + sum;
        }
        true
    }

    /// Heap bytes of this node and all below, without the blocks.
    pub(super) fn heap_bytes(&self) -> usize {
        let header = 2 * size_of::<usize>() + size_of::<Node>();
        header
            + match self {
                Node::Inner(inner) => {
                    inner.children.capacity() * size_of::<Arc<Node>>()
                        + inner.sums.capacity() * size_of::<Sum>()
                        + inner.children.iter().map(|child| child.heap_bytes()).sum::<usize>()
                }
                Node::Leaf(leaf) => {
                    leaf.blocks.capacity() * size_of::<Block>() + leaf.tags.capacity() * size_of::<Tag>()
                }
            }
    }

    pub(super) fn check(&self, is_root: bool) {
        let width = self.width();
        let min = if !is_root { FANOUT_MIN } else { 1 + usize::from(matches!(self, Node::Inner(_))) };
        assert!((min..=FANOUT).contains(&width), "T1: width {width}, root {is_root}");
        match self {
            Node::Inner(inner) => {
                assert_eq!(inner.children.len(), inner.sums.len(), "T2: a sum per child");
                for (child, sum) in inner.children.iter().zip(&inner.sums) {
                    assert_eq!(child.height() + 1, self.height(), "T1: equal depth");
                    assert_eq!(child.sum(), *sum, "T2: sum of child");
                    child.check(false);
                }
            }
            Node::Leaf(leaf) => {
                assert_eq!(leaf.blocks.len(), leaf.tags.len(), "T2: a tag per block");
                for (block, tag) in leaf.blocks.iter().zip(&leaf.tags) {
                    block.check_invariants();
                    assert_eq!(block.len() as u64, tag.len(), "T2: tag length");
                    assert_eq!(block.is_compressed(), tag.sum().compressed == 1, "T2: tag compressed");
                    assert!(!block.is_empty(), "T3: no empty block");
                }
            }
        }
    }
}

impl Inner {
    fn for_each_from<'a, B>(
        &'a self,
        mut position: usize,
        direction: Direction,
        f: &mut impl FnMut(&'a Block) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let i = self.find_block(&mut position);
        self.children[i].for_each_from(position, direction, f)?;
        match direction {
            Direction::Forward => {
                self.children[i + 1..].iter().try_for_each(|child| child.for_each_from(0, direction, f))
            }
            Direction::Backward => self.children[..i]
                .iter()
                .rev()
                .try_for_each(|child| child.for_each_from(child.sum().blocks as usize - 1, direction, f)),
        }
    }
}

/// `Vec::split_off` that leaves both halves without spare capacity worth mentioning.
fn cut<T>(vec: &mut Vec<T>, at: usize) -> Vec<T> {
    let back = vec.split_off(at);
    vec.shrink_to_fit();
    back
}
