//! Keeping inner blocks compressed, by a background thread that holds no lock while it works.
//!
//! The owner of the list asks [`List::wants_compression`] after a write, and hands the list to the background if so.
//! There: take jobs under the lock ([`List::compression_work`]: clones of blocks, O(1) each), run them without, and
//! swap each result in under the lock ([`List::apply`]), which only happens if the very same block is still in place.
//! A writer that came in between has copied the block, as it was shared; the result is then dropped.
//!
//! Blocks within `compress_depth` of either end stay plain. When pops run through whole blocks at an end, some more
//! blocks there are kept plain so that the popping thread finds them ready: [`AHEAD_MIN`](super::ahead) at first, and twice as many
//! whenever it comes to a block that is still compressed, up to [`AHEAD_BYTES_MAX`](super::ahead) or an eighth of the list. The
//! background refills that stock when half of it is used up, and pushing block after block takes it back, one by one.
//! It leaves the part of it that is next to be popped ([`LEFT_TO_POPS`]) until the rest is there: where the pops are
//! faster, they would come to each block before its result.
//! A block that would not shrink enough stays plain and is not tried again.
//!
//! Small neighbours are compressed together, up to [`UNIT_BYTES`], as one block from then on: 16 KB of documents shrink
//! by 8 % more than 8 KB do. So that there are neighbours, a single new block beside a plain end waits for the next.

use std::ops::Range;

use larder_packed::block::{Block, Kind};
use larder_packed::codec::Codec;

use super::ahead::Ahead;
use super::directory::ListTree;
use super::tree::Tree;
use super::{List, ListOptions};

/// One in this many blocks of the stock, those nearest to the end, is decompressed last.
const LEFT_TO_POPS: usize = 8;
/// Neighbours whose plain sizes sum up to at most this are compressed as one.
const UNIT_BYTES: usize = 16 << 10;

/// Blocks to compress as one, or a block to decompress before it is needed.
#[derive(Debug)]
pub struct Job {
    blocks: Vec<Block>,
    /// Position label of the first block's first element.
    label: u64,
    task: Task,
}

#[derive(Clone, Copy, Debug)]
enum Task {
    Compress(Codec),
    Decompress,
}

/// The outcome of a [`Job`].
#[derive(Debug)]
pub struct Done {
    old: Vec<Block>,
    new: Option<Block>,
    label: u64,
}

impl Job {
    /// Does the work. Needs no lock.
    pub fn run(&self) -> Done {
        let new = match (self.task, self.blocks.as_slice()) {
            (Task::Decompress, blocks) => Some(blocks[0].to_plain()),
            (Task::Compress(_), [block]) if block.is_incompressible() => None,
            (Task::Compress(codec), [block]) => block.compress(codec),
            (Task::Compress(codec), blocks) => Block::concat(blocks).compress(codec),
        };
        Done { old: self.blocks.clone(), new, label: self.label }
    }

    /// True if `block`, which begins at `label`, is the neighbour to go together with.
    fn takes(&self, block: &Block, label: u64) -> bool {
        let count: u64 = self.blocks.iter().map(|block| block.len() as u64).sum();
        let size: usize = self.blocks.iter().map(Block::size_bytes).sum();
        let last = self.blocks.last().expect("a job has a block");
        let joinable = |block: &Block| block.kind() == Kind::Str && !block.is_incompressible();
        self.label.wrapping_add(count) == label
            && size + block.size_bytes() <= UNIT_BYTES
            && joinable(last)
            && joinable(block)
    }
}

impl List {
    /// True if [`List::compression_work`] has something to do. O(log n), and O(1) when nothing is pending.
    pub fn wants_compression(&self, options: &ListOptions) -> bool {
        match self {
            List::Tree(tree) if options.compress_depth > 0 => tree.0.has_work(options),
            _ => false,
        }
    }

    /// As [`List::wants_compression`], but true only once until the list opens or closes a block: a caller
    /// that asks after every write passes the news on once. O(1) mostly.
    #[inline]
    pub fn news_of_compression(&self, options: &ListOptions) -> bool {
        match self {
            List::Tree(tree) if options.compress_depth > 0 => tree.0.news_of_work(options),
            _ => false,
        }
    }

    /// Up to `max_blocks` jobs: blocks to decompress near the ends first, then blocks to compress.
    pub fn compression_work(&self, options: &ListOptions, max_blocks: usize) -> Vec<Job> {
        match self {
            List::Tree(tree) if options.compress_depth > 0 => tree.0.compression_work(options, max_blocks),
            _ => Vec::new(),
        }
    }

    /// Swaps the result of a job in, if the block it was made from is still there. True if the list changed.
    pub fn apply(&mut self, done: Done, options: &ListOptions) -> bool {
        let List::Tree(tree) = self else {
            return false;
        };
        match tree.0.position_of(&done, options) {
            Some(position) => self.make_tree().swap_in(position, done),
            None => false,
        }
    }
}

impl ListTree {
    #[inline]
    fn news_of_work(&self, options: &ListOptions) -> bool {
        self.work.is_news(options.compress_depth, || self.has_work(options))
    }

    fn has_work(&self, options: &ListOptions) -> bool {
        let sum = self.inner().sum();
        let pending = |range: Range<usize>| {
            !range.is_empty()
                && self.inner().prefix(range.end).pending > self.inner().prefix(range.start).pending
        };
        if sum.pending > 0 && pending(self.packed_range(options)) {
            return true;
        }
        let (front, back) = self.margins(options.compress_depth, self.ahead.low());
        let compressed = |until: usize| self.inner().prefix(until).compressed;
        sum.compressed > 0 && (compressed(front) > 0 || sum.compressed > compressed(back))
    }

    fn compression_work(&self, options: &ListOptions, max_blocks: usize) -> Vec<Job> {
        let mut jobs = self.decompression_work(options, max_blocks);
        let mut count = jobs.len();
        let task = Task::Compress(options.codec);
        self.inner().for_each_of(|sum| sum.pending, self.packed_range(options), &mut |before, block| {
            let label = self.label_of(before);
            match jobs.last_mut() {
                Some(job) if matches!(job.task, Task::Compress(_)) && job.takes(block, label) => {
                    job.blocks.push(block.clone());
                }
                _ if count < max_blocks => jobs.push(Job { blocks: vec![block.clone()], label, task }),
                _ => return false,
            }
            count += 1;
            true
        });
        jobs
    }

    /// Jobs for the ends, in the order of need but for what is left to the pops.
    fn decompression_work(&self, options: &ListOptions, max_blocks: usize) -> Vec<Job> {
        let blocks = self.inner().blocks();
        let (front, back) = self.plain_ends(options);
        let back = back.max(front);
        let (near_front, near_back) = (front / LEFT_TO_POPS, blocks - (blocks - back) / LEFT_TO_POPS);
        let compressed = |until: usize| self.inner().prefix(until).compressed as usize;
        let mut jobs: Vec<Job> = Vec::new();
        for (range, is_back) in [
            (near_front..front, false),
            (back..near_back, true),
            (0..near_front, false),
            (near_back..blocks, true),
        ] {
            let (before, end) = (compressed(range.start), compressed(range.end));
            let wanted = (end - before).min(max_blocks - jobs.len());
            if wanted == 0 {
                continue;
            }
            // At the back the last ones are needed first.
            let skipped = if is_back { end - wanted } else { before };
            let from = partition_point(range.clone(), |position| compressed(position + 1) <= skipped);
            let all = jobs.len() + wanted;
            self.inner().for_each_of(|sum| sum.compressed, from..range.end, &mut |before, block| {
                let label = self.label_of(before);
                jobs.push(Job { blocks: vec![block.clone()], label, task: Task::Decompress });
                jobs.len() < all
            });
        }
        jobs
    }

    /// The inner position of the blocks that `done` was made from, if they are still there and the result is wanted.
    fn position_of(&self, done: &Done, options: &ListOptions) -> Option<usize> {
        let index = self.index_of_label(done.label).checked_sub(self.head.len() as u64)?;
        let (position, offset) = self.inner().locate(index)?;
        let same = |(i, old): (usize, &Block)| {
            self.inner().block(position + i).is_some_and(|b| Block::ptr_eq(b, old))
        };
        let (front, back) = self.plain_ends(options);
        let compresses = done.new.as_ref().is_some_and(Block::is_compressed);
        let unwanted = compresses && (position < front || position + done.old.len() > back);
        (offset == 0 && done.old.iter().enumerate().all(same) && !unwanted).then_some(position)
    }

    fn swap_in(&mut self, position: usize, done: Done) -> bool {
        let inner = self.inner_mut();
        let Some(new) = done.new else {
            let flag = |i| inner.update(position + i, |block| block.set_incompressible());
            (0..done.old.len()).for_each(flag);
            return false;
        };
        (1..done.old.len()).for_each(|_| drop(inner.remove(position + 1)));
        inner.update(position, |block| *block = new);
        true
    }

    fn label_of(&self, inner_index: u64) -> u64 {
        self.origin.wrapping_add(self.head.len() as u64 + inner_index)
    }

    /// The index of a label, any number if it is no longer there.
    fn index_of_label(&self, label: u64) -> u64 {
        label.wrapping_sub(self.origin)
    }

    /// Inner blocks before the first number, and from the second on, are to be plain.
    fn plain_ends(&self, options: &ListOptions) -> (usize, usize) {
        self.margins(options.compress_depth, self.ahead)
    }

    /// Inner blocks in this range are to be compressed.
    fn packed_range(&self, options: &ListOptions) -> Range<usize> {
        let (mut start, mut end) = self.margins(options.compress_depth, self.ahead.high());
        if start < end && self.waits(start, start + 1) {
            start += 1;
        }
        if start < end && self.waits(end - 1, end.wrapping_sub(2)) {
            end -= 1;
        }
        start..end.max(start)
    }

    /// True for a plain block on the border that is small enough to get a neighbour, and has none on the `inner` side.
    fn waits(&self, position: usize, inner: usize) -> bool {
        let is_pending = |position: usize| self.inner().block(position).is_some_and(Tree::is_pending);
        let block = self.inner().block(position).expect("the position is inside");
        block.kind() == Kind::Str
            && is_pending(position)
            && block.size_bytes() <= UNIT_BYTES / 2
            && !is_pending(inner)
    }

    /// Inner blocks before the first number, and from the second on, are within the depth and `ahead`.
    fn margins(&self, depth: u32, ahead: Ahead) -> (usize, usize) {
        let blocks = self.inner().blocks();
        let margin = |ahead: u32| (depth.saturating_sub(1).saturating_add(ahead) as usize).min(blocks);
        (margin(ahead.front), blocks - margin(ahead.back))
    }
}

/// The first number in `range` of which `is_before` is not true, if it is true of none after one of which it is not.
fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{Fill, Popped};

    fn options(depth: u32) -> ListOptions {
        ListOptions { fill: Fill::new(-1), compress_depth: depth, codec: Codec::Zstd }
    }

    fn settle(list: &mut List, options: &ListOptions) -> usize {
        let mut applied = 0;
        while list.wants_compression(options) {
            let jobs = list.compression_work(options, 16);
            assert!(!jobs.is_empty());
            for done in jobs.iter().map(Job::run) {
                applied += usize::from(list.apply(done, options));
            }
            list.check_invariants();
        }
        applied
    }

    fn filled(options: &ListOptions, count: usize) -> List {
        let mut list = List::new();
        (0..count).for_each(|i| list.push_back(format!("element number {i}").as_bytes(), options));
        list
    }

    #[test]
    fn all_but_the_depth_is_compressed() {
        for depth in 1..5 {
            let options = options(depth);
            let mut list = filled(&options, 20_000);
            settle(&mut list, &options);
            let stats = list.stats(&options);
            let plain = stats.nodes - stats.nodes_compressed;
            let ends = 2 * u64::from(depth);
            assert!((ends..=ends + 1).contains(&plain), "{plain} plain blocks at depth {depth}");
            assert_eq!(list.get(9999).map(Popped::into_vec).unwrap(), b"element number 9999");
            assert_eq!(
                list.stats(&options).nodes_compressed,
                stats.nodes_compressed,
                "reading leaves it packed"
            );
        }
    }

    #[test]
    fn random_bytes_stay_plain_and_are_tried_once() {
        let options = options(1);
        let mut rng = fastrand::Rng::with_seed(1);
        let mut list = List::new();
        for _ in 0..200 {
            let mut bytes = vec![0; 500];
            rng.fill(&mut bytes);
            list.push_back(&bytes, &options);
        }
        assert_eq!(settle(&mut list, &options), 0);
        assert_eq!(list.stats(&options).nodes_compressed, 0);
        assert!(!list.wants_compression(&options));
    }

    #[test]
    fn a_stale_result_is_dropped() {
        let options = options(1);
        let mut list = filled(&options, 5000);
        let jobs = list.compression_work(&options, 4);
        let done: Vec<Done> = jobs.iter().map(Job::run).collect();
        drop(jobs);
        for i in 0..1000 {
            list.set(i, b"changed", &options);
        }
        for done in done {
            assert!(!list.apply(done, &options));
        }
        list.check_invariants();
        assert_eq!(list.get(300).map(Popped::into_vec).unwrap(), b"changed");
    }

    #[test]
    fn pops_find_blocks_decompressed() {
        let options = options(1);
        let mut list = filled(&options, 20_000);
        settle(&mut list, &options);
        let mut on_worker = 0;
        while list.len() > 2000 {
            let List::Tree(tree) = &list else { panic!("the list is big") };
            let next_is_compressed = tree.0.inner().block(0).is_some_and(Block::is_compressed);
            on_worker += usize::from(tree.0.head.len() == 1 && next_is_compressed);
            list.pop_front(&options);
            settle(&mut list, &options);
        }
        assert!(on_worker <= 1, "{on_worker} blocks were decompressed by pops");
    }
}
