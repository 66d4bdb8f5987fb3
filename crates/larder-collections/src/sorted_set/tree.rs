//! The large form of a sorted set: leaves in a counted B+ tree, with an index once they are many.

use super::index::{self, Index, Rehash, tag_of};
use super::node::{Bound, Child, FANOUT, Node};
use super::slab::Slab;
use super::zeros::NegativeZeros;
use crate::relocation::move_arc;
use larder_packed::heap::Mover;
use larder_packed::leaf::{Leaf, Target};
use std::sync::Arc;

/// Most bytes of a leaf in a tree.
pub(super) const LEAF_BYTES_MAX: usize = 1024;
/// A leaf of fewer bytes looks for a neighbour to join.
const LEAF_BYTES_MIN: usize = LEAF_BYTES_MAX * 2 / 5;
/// Two leaves of at most this many bytes together may join.
const JOIN_BYTES_MAX: usize = LEAF_BYTES_MAX * 7 / 8;
/// A tree of more leaves has an index.
const UNINDEXED_MAX: usize = 8;
/// A tree of fewer leaves drops its index.
const INDEXED_MIN: usize = 4;
/// Nodes of fewer children look for a neighbour to join.
const FANOUT_MIN: usize = FANOUT / 4;
/// Two nodes of at most this many children together may join.
const FANOUT_JOIN: usize = FANOUT * 3 / 4;

/// See the module's comment.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(super) root: Arc<Node>,
    pub(super) leaves: Slab<Leaf>,
    pub(super) index: Option<Index>,
    pub(super) len: u64,
    pub(super) zeros: NegativeZeros,
    /// Whether the set counts as large for OBJECT ENCODING.
    pub(super) large: bool,
    hash: fn(&[u8]) -> u64,
}

/// Where an entry lies: its leaf and its place there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub leaf: u32,
    pub at: usize,
}

/// What to look for on the way down the tree.
#[derive(Clone, Copy)]
pub(super) enum SeekBy<'a> {
    Rank(u64),
    Target(&'a Target<'a>),
}

struct Entry<'a> {
    key: u64,
    tag: u8,
    member: &'a [u8],
}

/// Members of leaf `old` are in leaf `new` now, as a leaf was divided or two were joined.
struct Relocation {
    old: u32,
    new: u32,
}

/// What an insertion below a node has changed.
#[derive(Default)]
struct InsertOutcome {
    relocations: Vec<Relocation>,
    /// The leaf that holds the entry, or one of its first half if it was divided.
    leaf: u32,
    sibling: Option<(Bound, Arc<Node>)>,
}

impl Rehash for (&Slab<Leaf>, fn(&[u8]) -> u64) {
    fn hashes(&self, ids: &[u32], bits: u32, prefix: u64, f: &mut dyn FnMut(u64, u32)) {
        const AHEAD: usize = 8;
        for (i, &id) in ids.iter().enumerate() {
            if let Some(&ahead) = ids.get(i + AHEAD) {
                self.0.get(ahead).prefetch();
            }
            index::hashes_of(self.0.get(id), bits, prefix, self.1, |hash, _| f(hash, id));
        }
    }
}

impl Tree {
    /// A tree of these leaves, none of them empty, few enough for one node.
    pub(super) fn of(parts: Vec<Leaf>, large: bool, hash: fn(&[u8]) -> u64) -> Tree {
        let (mut root, mut leaves) = (Node::default(), Slab::new());
        let mut last: Option<Leaf> = None;
        for (i, leaf) in parts.into_iter().enumerate() {
            let bound = last.as_ref().map_or_else(Bound::default, |last| Bound::between(last, &leaf));
            let count = leaf.len();
            last = Some(leaf.clone());
            root.insert(i, bound, Child::Leaf { id: leaves.insert(leaf), count });
        }
        assert!(root.width() <= FANOUT, "T1");
        let len = root.total();
        let mut tree = Tree {
            root: Arc::new(root),
            leaves,
            index: None,
            len,
            zeros: NegativeZeros::default(),
            large,
            hash,
        };
        tree.check_index();
        tree
    }

    /// A tree of these leaves, in the order of their ids, none of them empty. `hashes`: of all members, with their leaves, in
    /// order.
    pub(super) fn of_leaves(
        leaves: Slab<Leaf>,
        ids: &[u32],
        hashes: Vec<(u64, u32)>,
        large: bool,
        hash: fn(&[u8]) -> u64,
    ) -> Tree {
        let len = hashes.len() as u64;
        let index = (ids.len() > UNINDEXED_MAX).then(|| Index::of_sorted(&hashes));
        drop(hashes);
        let mut last: Option<&Leaf> = None;
        let mut level: Vec<(Bound, Child)> = Vec::with_capacity(ids.len());
        for &id in ids {
            let leaf = leaves.get(id);
            let bound = last.map_or_else(Bound::default, |last| Bound::between(last, leaf));
            level.push((bound, Child::Leaf { id, count: leaf.len() }));
            last = Some(leaf);
        }
        while level.len() > FANOUT {
            let nodes = level.len().div_ceil(FANOUT_JOIN);
            let (size, larger) = (level.len() / nodes, level.len() % nodes);
            let mut children = level.into_iter();
            level =
                (0..nodes).map(|i| node_of(children.by_ref().take(size + usize::from(i < larger)))).collect();
        }
        let (_, root) = node_of(level.into_iter());
        let Child::Node(root) = root else { unreachable!("a node was made") };
        Tree { root, leaves, index, len, zeros: NegativeZeros::default(), large, hash }
    }

    /// Moves leaves, nodes and segments of the index that lie in sparse slabs and are not shared.
    pub(super) fn move_blocks(&mut self, mover: &mut Mover) {
        mover.each(4, |mover, part| match part {
            0 => {
                if let Some(root) = move_arc(&mut self.root, mover) {
                    root.move_blocks(mover);
                }
            }
            1 => self.leaves.move_blocks(mover, Leaf::move_block),
            2 => {
                if let Some(index) = &mut self.index {
                    index.move_blocks(mover);
                }
            }
            _ => self.zeros.move_blocks(mover),
        });
    }

    /// Where a member lies.
    #[inline]
    pub(super) fn find(&self, hash: u64, member: &[u8]) -> Option<Position> {
        let tag = tag_of(hash);
        let Some(index) = &self.index else { return self.find_in_all(tag, member) };
        let mut last = None;
        for id in index.candidates(hash) {
            if last == Some(id) {
                continue;
            }
            let leaf = self.leaves.get(id);
            leaf.prefetch();
            if let Some(at) = leaf.find(tag, member) {
                return Some(Position { leaf: id, at });
            }
            last = Some(id);
        }
        None
    }

    /// Asks the processor to load what lookups of these hashes will touch.
    pub(super) fn prefetch(&self, hashes: impl Iterator<Item = u64> + Clone) {
        let Some(index) = &self.index else { return };
        hashes.clone().for_each(|hash| index.prefetch(hash));
        for id in hashes.filter_map(|hash| index.candidates(hash).next()) {
            self.leaves.get(id).prefetch_front();
        }
    }

    fn find_in_all(&self, tag: u8, member: &[u8]) -> Option<Position> {
        let mut found = None;
        self.for_each_leaf(|_, leaf| leaf.prefetch_front());
        self.for_each_leaf(|id, leaf| {
            if found.is_none() {
                found = leaf.find(tag, member).map(|at| Position { leaf: id, at });
            }
        });
        found
    }

    /// Calls `f` with all leaves in order.
    pub(super) fn for_each_leaf(&self, mut f: impl FnMut(u32, &Leaf)) {
        self.root.for_each(&mut |node| {
            for i in (0..node.width()).filter(|_| node.is_bottom()) {
                f(node.leaf_id(i), self.leaves.get(node.leaf_id(i)));
            }
        });
    }

    /// The leaf that `target` leads to, and the number of entries before that leaf.
    #[inline]
    pub(super) fn descend(&self, target: &Target<'_>) -> (u32, u64) {
        let (mut node, mut before) = (&*self.root, 0);
        loop {
            let (i, counted) = node.find_counting(target);
            before += counted;
            if node.is_bottom() {
                return (node.leaf_id(i), before);
            }
            node = &node.children[i];
        }
    }

    /// The leaf that holds entry `rank`, which there is, and its place there.
    pub(super) fn descend_rank(&self, mut rank: u64) -> Position {
        let mut node = &*self.root;
        loop {
            let (i, before) = node.find_rank(rank);
            rank -= before;
            if node.is_bottom() {
                return Position { leaf: node.leaf_id(i), at: rank as usize };
            }
            node = &node.children[i];
        }
    }

    /// Number of entries before `target`.
    pub(super) fn rank(&self, target: &Target<'_>) -> u64 {
        let (id, before) = self.descend(target);
        let leaf = self.leaves.get(id);
        leaf.prefetch();
        before + leaf.rank(target) as u64
    }

    /// Adds a member that is not there.
    pub(super) fn insert(&mut self, hash: u64, key: u64, member: &[u8]) {
        let entry = Entry { key, tag: tag_of(hash), member };
        let outcome =
            insert_below(&mut self.root, &mut self.leaves, &entry, Edge { first: true, last: true });
        self.len += 1;
        if let Some((bound, right)) = outcome.sibling {
            let left = std::mem::take(&mut self.root);
            let mut root = Node::default();
            root.insert(0, Bound::default(), Child::Node(left));
            root.insert(1, bound, Child::Node(right));
            self.root = Arc::new(root);
        }
        if self.index.is_none() {
            return self.check_index();
        }
        let mut leaf = outcome.leaf;
        for relocation in &outcome.relocations {
            if self.leaves.get(relocation.new).find(entry.tag, member).is_some() {
                leaf = relocation.new;
            }
            self.reindex(relocation, Some(member));
        }
        let rehash = (&self.leaves, self.hash);
        self.index.as_mut().expect("it was just there").insert(hash, leaf, &rehash);
    }

    /// Gives a member another score. True if that could be done where it is, as its place in the leaf stays.
    pub(super) fn set_key_in_place(&mut self, position: Position, key: u64) -> bool {
        let leaf = self.leaves.get(position.leaf);
        let stays = position.at > 0
            && position.at + 1 < leaf.len()
            && leaf.key(position.at - 1) < key
            && key < leaf.key(position.at + 1)
            && leaf.fits_key(key);
        if stays {
            self.leaves.get_mut(position.leaf).set_key(position.at, key);
        }
        stays
    }

    /// Removes up to `max` entries from where `seek` leads, all in one leaf, and shows them to `f`. Returns their
    /// number, which is 0 only if there is none or `max` is.
    pub(super) fn remove_run(
        &mut self,
        seek: SeekBy<'_>,
        max: u64,
        hash: Option<u64>,
        f: &mut dyn FnMut(u64, &[u8]),
    ) -> u64 {
        let mut removal = Removal {
            leaves: &mut self.leaves,
            index: self.index.as_mut(),
            max,
            known: hash,
            hash: self.hash,
            f,
        };
        let removed = removal.below(&mut self.root, seek);
        self.len -= removed;
        while self.root.width() == 1 && !self.root.is_bottom() {
            self.root = self.root.children[0].clone();
        }
        if self.index.is_some() && self.leaves.len() < INDEXED_MIN {
            self.index = None;
        }
        removed
    }

    /// Takes the only leaf out of a tree that has just one; a new one if it has none.
    pub(super) fn take_single(&mut self) -> Leaf {
        let mut ids = Vec::new();
        self.for_each_leaf(|id, _| ids.push(id));
        ids.first().map_or_else(Leaf::new, |&id| self.leaves.remove(id))
    }

    /// Makes the index if there are enough leaves for one.
    fn check_index(&mut self) {
        if self.leaves.len() <= UNINDEXED_MAX || self.index.is_some() {
            return;
        }
        let mut hashes = Vec::with_capacity(self.len as usize);
        self.for_each_leaf(|id, leaf| {
            index::hashes_of(leaf, 0, 0, self.hash, |hash, _| hashes.push((hash, id)));
        });
        self.index = Some(Index::of(hashes));
    }

    /// Brings the index up to date after members were relocated, all but `except`, which it does not know yet.
    fn reindex(&mut self, relocation: &Relocation, except: Option<&[u8]>) {
        let Some(index) = &mut self.index else { return };
        relocate(index, self.leaves.get(relocation.new), self.hash, relocation, except);
    }

    /// Panics unless the invariants of the tree hold.
    pub(super) fn check_invariants(&self) {
        let mut leaves = 0;
        check_node(&self.root, &self.leaves, None, None, &mut leaves);
        assert_eq!(leaves, self.leaves.len(), "T4: every leaf hangs in the tree");
        assert_eq!(self.root.total(), self.len, "T2");
        assert!(self.leaves.len() > UNINDEXED_MAX || self.root.is_bottom() || self.index.is_some());
        assert!(self.index.is_some() || self.leaves.len() <= UNINDEXED_MAX, "T5");
        let mut hashes = Vec::new();
        self.for_each_leaf(|id, leaf| {
            index::hashes_of(leaf, 0, 0, self.hash, |hash, i| {
                assert_eq!(tag_of(hash), leaf.tag(i), "T6: tags");
                hashes.push((hash, id));
            });
        });
        if let Some(index) = &self.index {
            index.check_invariants(&mut hashes.into_iter());
        }
    }
}

/// A node of these children, one or more, with its bound: that of the first child, which does not need it any more.
fn node_of(children: impl Iterator<Item = (Bound, Child)>) -> (Bound, Child) {
    let (mut node, mut first) = (Node::default(), Bound::default());
    for (i, (bound, child)) in children.enumerate() {
        let own = if i == 0 {
            first = bound;
            Bound::default()
        } else {
            bound
        };
        node.insert(i, own, child);
    }
    (first, Child::Node(Arc::new(node)))
}

/// Which sides of the tree a node lies on.
#[derive(Clone, Copy)]
struct Edge {
    first: bool,
    last: bool,
}

/// Inserts below `node`.
fn insert_below(
    node: &mut Arc<Node>,
    leaves: &mut Slab<Leaf>,
    entry: &Entry<'_>,
    edge: Edge,
) -> InsertOutcome {
    let node = Arc::make_mut(node);
    let target = Target { key: entry.key, member: entry.member, past_equal: false };
    let i = node.find(&target);
    let edge = Edge { first: edge.first && i == 0, last: edge.last && i + 1 == node.width() };
    let mut outcome = if node.is_bottom() {
        insert_in_leaf(node, i, leaves, entry, &target, edge)
    } else {
        node.add(i, 1);
        let mut outcome = insert_below(&mut node.children[i], leaves, entry, edge);
        if let Some((bound, right)) = outcome.sibling.take() {
            node.add(i, -(right.total() as i64));
            node.insert(i + 1, bound, Child::Node(right));
        }
        outcome
    };
    if node.width() > FANOUT {
        let cut = if edge.last {
            node.width() - FANOUT_MIN
        } else if edge.first {
            FANOUT_MIN
        } else {
            node.width() / 2
        };
        let bound = node.bound(cut);
        outcome.sibling = Some((bound, Arc::new(node.split_off(cut))));
    }
    outcome
}

/// Inserts into leaf `i` of a bottom node, and divides it if it has become too large.
fn insert_in_leaf(
    node: &mut Node,
    i: usize,
    leaves: &mut Slab<Leaf>,
    entry: &Entry<'_>,
    target: &Target<'_>,
    edge: Edge,
) -> InsertOutcome {
    let id = node.leaf_id(i);
    let leaf = leaves.get_mut(id);
    leaf.prefetch();
    let at = leaf.rank(target);
    let outside = (edge.last && at == leaf.len()) || (edge.first && at == 0);
    if outside && leaf.insert_bytes(entry.key, entry.member) > LEAF_BYTES_MAX {
        return open_leaf(node, i, leaves, entry, at > 0);
    }
    leaf.insert(at, entry.key, entry.tag, entry.member);
    node.add(i, 1);
    if leaf.heap_bytes() <= LEAF_BYTES_MAX || leaf.len() == 1 {
        return InsertOutcome { leaf: id, ..InsertOutcome::default() };
    }
    let parts = leaf.divide(LEAF_BYTES_MAX);
    node.set_leaf(i, id, leaf.len());
    let mut left = leaf.clone();
    let mut relocations = Vec::new();
    for (j, part) in parts.into_iter().enumerate() {
        let bound = Bound::between(&left, &part);
        left = part.clone();
        let count = part.len();
        let new = leaves.insert(part);
        node.insert(i + 1 + j, bound, Child::Leaf { id: new, count });
        relocations.push(Relocation { old: id, new });
    }
    InsertOutcome { relocations, leaf: id, sibling: None }
}

/// Opens a leaf for an entry after the last one or before the first one: the full one stays as it is.
fn open_leaf(
    node: &mut Node,
    i: usize,
    leaves: &mut Slab<Leaf>,
    entry: &Entry<'_>,
    after: bool,
) -> InsertOutcome {
    let old = leaves.get(node.leaf_id(i)).clone();
    let new = Leaf::of(entry.key, entry.tag, entry.member);
    if after {
        let bound = Bound::between(&old, &new);
        let id = leaves.insert(new);
        node.insert(i + 1, bound, Child::Leaf { id, count: 1 });
        return InsertOutcome { leaf: id, ..InsertOutcome::default() };
    }
    let bound = Bound::between(&new, &old);
    let own = node.bound(i);
    let id = leaves.insert(new);
    node.set_bound(i, bound);
    node.insert(i, own, Child::Leaf { id, count: 1 });
    InsertOutcome { leaf: id, ..InsertOutcome::default() }
}

/// A removal on its way down.
struct Removal<'a> {
    leaves: &'a mut Slab<Leaf>,
    index: Option<&'a mut Index>,
    max: u64,
    /// The hash of the one member to be removed, if the caller knows it.
    known: Option<u64>,
    hash: fn(&[u8]) -> u64,
    f: &'a mut dyn FnMut(u64, &[u8]),
}

impl Removal<'_> {
    fn below(&mut self, node: &mut Arc<Node>, seek: SeekBy<'_>) -> u64 {
        let node = Arc::make_mut(node);
        if node.width() == 0 {
            return 0;
        }
        let (i, seek) = match seek {
            SeekBy::Target(target) => (node.find(target), seek),
            SeekBy::Rank(rank) => {
                let (i, before) = node.find_rank(rank);
                (i, SeekBy::Rank(rank - before))
            }
        };
        if node.is_bottom() {
            return self.in_leaf(node, i, seek);
        }
        let removed = self.below(&mut node.children[i], seek);
        node.add(i, -(removed as i64));
        refill_node(node, i);
        removed
    }

    fn in_leaf(&mut self, node: &mut Node, i: usize, seek: SeekBy<'_>) -> u64 {
        let id = node.leaf_id(i);
        let leaf = self.leaves.get(id);
        let at = match seek {
            SeekBy::Target(target) => leaf.rank(target),
            SeekBy::Rank(rank) => rank as usize,
        };
        let end = (at as u64 + self.max).min(leaf.len() as u64) as usize;
        if at >= end {
            return 0;
        }
        self.show(id, at..end);
        let leaf = self.leaves.get_mut(id);
        if end - at == leaf.len() {
            self.leaves.remove(id);
            node.remove(i);
        } else {
            leaf.remove(at..end);
            node.set_leaf(i, id, leaf.len());
            self.refill_leaf(node, i);
        }
        (end - at) as u64
    }

    /// Shows entries to the caller and takes them out of the index.
    fn show(&mut self, id: u32, range: std::ops::Range<usize>) {
        let (mut index, mut known) = (self.index.as_deref_mut(), self.known.take());
        let (hash, f) = (self.hash, &mut self.f);
        let mut scratch = Vec::new();
        let _ = self.leaves.get(id).visit(range, &mut scratch, |key, member| {
            if let Some(index) = &mut index {
                index.remove(known.take().unwrap_or_else(|| hash(member)), id);
            }
            f(key, member);
            std::ops::ControlFlow::<()>::Continue(())
        });
    }

    /// Joins leaf `i` with a neighbour, if it has become small and they fit.
    fn refill_leaf(&mut self, node: &mut Node, i: usize) {
        let size = |j: usize| self.leaves.get(node.leaf_id(j)).content_bytes();
        let own = size(i);
        if own >= LEAF_BYTES_MIN || node.width() < 2 {
            return;
        }
        let left = [i.wrapping_sub(1), i]
            .into_iter()
            .find(|&left| left < node.width() - 1 && size(left) + size(left + 1) <= JOIN_BYTES_MAX);
        if let Some(left) = left {
            self.join_leaves(node, left);
        }
    }

    /// Makes leaves `i` and `i + 1` one, under the id of the one with more entries.
    fn join_leaves(&mut self, node: &mut Node, i: usize) {
        let ids = [node.leaf_id(i), node.leaf_id(i + 1)];
        let right = self.leaves.get(ids[1]).clone();
        let left = self.leaves.get(ids[0]).clone();
        let mut whole = left.clone();
        whole.append(&right);
        // Scores that are far apart and members that are unlike may take more together than each alone.
        if whole.heap_bytes() > LEAF_BYTES_MAX {
            return;
        }
        let (keep, gone, moving) =
            if right.len() > left.len() { (ids[1], ids[0], &left) } else { (ids[0], ids[1], &right) };
        if let Some(index) = &mut self.index {
            relocate(index, moving, self.hash, &Relocation { old: gone, new: keep }, None);
        }
        let count = whole.len();
        *self.leaves.get_mut(keep) = whole;
        self.leaves.remove(gone);
        node.set_leaf(i, keep, count);
        node.remove(i + 1);
    }
}

/// Notes in the index that members of `leaf` are now in `relocation.new`.
fn relocate(
    index: &mut Index,
    leaf: &Leaf,
    hash: fn(&[u8]) -> u64,
    relocation: &Relocation,
    except: Option<&[u8]>,
) {
    let mut hashes = Vec::with_capacity(leaf.len());
    let mut scratch = Vec::new();
    let _ = leaf.visit(0..leaf.len(), &mut scratch, |_, member| {
        if Some(member) != except {
            hashes.push(hash(member));
        }
        std::ops::ControlFlow::<()>::Continue(())
    });
    hashes.iter().for_each(|&hash| index.prefetch(hash));
    hashes.iter().for_each(|&hash| index.replace(hash, relocation.old, relocation.new));
}

/// Removes child `i` of an inner node if it is empty, or joins it with a neighbour if it has become small and they fit.
fn refill_node(node: &mut Node, i: usize) {
    let width = node.children[i].width();
    if width == 0 {
        return node.remove(i);
    }
    if width >= FANOUT_MIN || node.width() < 2 {
        return;
    }
    let fits = |left: usize| node.children[left].width() + node.children[left + 1].width() <= FANOUT_JOIN;
    let left = [i.wrapping_sub(1), i].into_iter().find(|&left| left < node.width() - 1 && fits(left));
    let Some(left) = left else { return };
    let (bound, count) = (node.bound(left + 1), node.count(left + 1));
    let right = Arc::unwrap_or_clone(std::mem::take(&mut node.children[left + 1]));
    Arc::make_mut(&mut node.children[left]).append(right, bound);
    node.add(left, count as i64);
    node.remove(left + 1);
}

/// Checks a node whose entries lie between two bounds; returns its entries and height.
fn check_node(
    node: &Node,
    leaves: &Slab<Leaf>,
    low: Option<&Bound>,
    high: Option<&Bound>,
    seen: &mut usize,
) -> (u64, usize) {
    assert!(node.width() <= FANOUT, "T1: fanout");
    let mut height = None;
    for i in 0..node.width() {
        let own = (i > 0).then(|| node.bound(i));
        let next = (i + 1 < node.width()).then(|| node.bound(i + 1));
        let (low, high) = (own.as_ref().or(low), next.as_ref().or(high));
        let (count, below) = if node.is_bottom() {
            *seen += 1;
            (check_leaf(leaves.get(node.leaf_id(i)), low, high), 0)
        } else {
            check_node(&node.children[i], leaves, low, high, seen)
        };
        assert_eq!(count, node.count(i), "T2: counts");
        assert!(count > 0, "T3: nothing is empty");
        assert!(height.is_none_or(|height| height == below), "T1: all leaves at one depth");
        height = Some(below);
    }
    (node.total(), height.unwrap_or(0) + 1)
}

fn check_leaf(leaf: &Leaf, low: Option<&Bound>, high: Option<&Bound>) -> u64 {
    leaf.check_invariants();
    assert!(leaf.heap_bytes() <= LEAF_BYTES_MAX || leaf.len() == 1, "T1: leaf size");
    let first = (leaf.key(0), leaf.member(0).to_vec());
    let last = (leaf.key(leaf.len() - 1), leaf.member(leaf.len() - 1).to_vec());
    let pair = |bound: &Bound| (bound.key, bound.tie.as_deref().unwrap_or_default().to_vec());
    assert!(low.is_none_or(|low| pair(low) <= first), "T3: lower bound");
    assert!(high.is_none_or(|high| last < pair(high)), "T3: upper bound");
    leaf.len() as u64
}
