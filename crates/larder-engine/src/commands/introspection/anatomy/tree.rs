//! The groups: a tree of the words of names, which stays small whatever the names are.
//!
//! A node is a place in a pattern, its children are the words that come next, and the end of a name has the tally. A parameter that varies
//! too much for its form to show it (`user:alice`, `user:bob`, ...) is found by its number of values. Rules that look at all values, as
//! counting the different ones first, would take memory by the number of keys; so the tree decides while names come, and what it has
//! decided stays.
//!
//! - A node with more than [`WORDS_MAX`] words *folds*. If some of them are alike but for their digits (user1, user2), then digits vary
//!   there: those words, and all that come, have `*` for them. If more than half of the limit is left, the node is *wide*: only
//!   words with at least 1/[`SHARE_MIN`] of its keys stay (at most half of the limit), the others, and all that are new, become `*`.
//! - With more than [`NODES_MAX`] nodes the limit is halved, and every node folds to it, until half are left.
//! - At the end, words alike but for digits are put together if there are [`ALIKE_MIN`] of them, and the rarest words of a node
//!   with more than [`SHOWN_MAX`] become `*`.
//!
//! Keys should come in no order that has to do with their names: then the first hundreds at a node are a sample of all, and a word of which
//! 1/[`SHARE_MIN`] of the keys are is among them several times. A walk in the order of hashes is such.
//!
//! Cost: a lookup in a hash table for each part of a name, and one allocation for each new word; folding a node is O(its nodes below),
//! and happens three times at a node before all that is new is `*`. Memory: at most [`NODES_MAX`] nodes and those of one more name, of
//! 200 bytes, and 1.3 KB where names end: 6 MB.
//!
//! - G1: every key is in one tally; the keys of all are the sum.
//! - G2: a node has at most `limit` words that are no `*`.
//! - G3: the keys of a node are those of its tally and of its children.
//!
//! Tested here, with a model: exact groups where the names are few, G1 to G3 for any.

use super::pattern::{Parts, write_star, write_without_digits};
use super::tally::{Seen, Tally};
use larder_collections::keyed_hash::KeyedState;
use std::collections::HashMap;

/// Words of a node, at first.
const WORDS_MAX: usize = 128;
/// Nodes of the tree.
const NODES_MAX: usize = 4096;
/// A word stays where others become `*` if one key in this many has it.
const SHARE_MIN: u64 = 64;
/// Words that are put together at the end if nothing but digits tells them apart.
const ALIKE_MIN: usize = 4;
/// Words of a node above which, at the end, those with less than [`RARE_KEYS`] keys become `*`.
const SHOWN_MAX: usize = 16;
const RARE_KEYS: u64 = 8;

type Words = HashMap<Box<[u8]>, Node, KeyedState>;

/// A place in a pattern.
#[derive(Default)]
struct Node {
    words: Words,
    /// Of the node and all below.
    keys: u64,
    /// The separator at the end of its word.
    end: Option<u8>,
    /// Words that are new become `*`.
    is_wide: bool,
    /// Words have `*` for their digits.
    digits_vary: bool,
    tally: Option<Box<Tally>>,
}

/// The groups of keys by the patterns of their names.
pub(super) struct Tree {
    root: Node,
    /// At least as many as there are.
    nodes: usize,
    /// Words of a node.
    limit: usize,
    /// Parts of a name that are kept.
    depth: usize,
    /// The word that is looked up, and another.
    word: Vec<u8>,
    other: Vec<u8>,
}

/// A group.
#[derive(Debug)]
pub(super) struct Group {
    pub pattern: Vec<u8>,
    pub tally: Tally,
}

impl Tree {
    /// An empty one; `depth` parts of each name are kept.
    pub(super) fn new(depth: usize) -> Tree {
        Tree { root: Node::default(), nodes: 0, limit: WORDS_MAX, depth, word: Vec::new(), other: Vec::new() }
    }

    /// Counts a key; its group, as it is now.
    pub(super) fn add(&mut self, name: &[u8], seen: &Seen) -> &mut Tally {
        if self.nodes > NODES_MAX {
            self.coarsen();
        }
        let (word, other) = (&mut self.word, &mut self.other);
        let mut node = &mut self.root;
        node.keys += 1;
        for part in Parts::of(name, self.depth) {
            part.write_word(word);
            if node.place(word, part.end, other) {
                self.nodes += 1;
                if node.count_words() > self.limit {
                    node.fold(self.limit);
                    part.write_word(word);
                    node.place(word, part.end, other);
                }
            }
            node = node.words.get_mut(&word[..]).expect("it has its place");
            node.keys += 1;
        }
        let tally = node.tally.get_or_insert_default();
        tally.add(seen);
        tally
    }

    /// Folds until half of the nodes are free.
    fn coarsen(&mut self) {
        self.nodes = self.root.count_nodes();
        while self.nodes > NODES_MAX / 2 {
            self.limit /= 2;
            self.root.fold_all(self.limit);
            self.nodes = self.root.count_nodes();
            if self.limit == 0 {
                break;
            }
        }
    }

    /// The groups, in no order.
    pub(super) fn into_groups(mut self) -> Vec<Group> {
        self.root.round_off(self.limit);
        let mut groups = Vec::new();
        self.root.collect(&mut Vec::new(), &mut groups);
        groups
    }
}

fn is_star(word: &[u8]) -> bool {
    word[..] == *b"*" || (word.len() == 2 && word[0] == b'*')
}

impl Node {
    /// Makes `word` what it is at this node, and a child of it; true if that is new.
    fn place(&mut self, word: &mut Vec<u8>, end: Option<u8>, other: &mut Vec<u8>) -> bool {
        if self.digits_vary && write_without_digits(word, other) {
            std::mem::swap(word, other);
        }
        if self.words.contains_key(&word[..]) {
            return false;
        }
        if self.is_wide {
            write_star(end, word);
        }
        let mut is_new = false;
        self.words.entry(word.as_slice().into()).or_insert_with(|| {
            is_new = true;
            Node { end, ..Node::default() }
        });
        is_new
    }

    /// Those that are no `*`.
    fn count_words(&self) -> usize {
        self.words.keys().filter(|word| !is_star(word)).count()
    }

    fn count_nodes(&self) -> usize {
        1 + self.words.values().map(Node::count_nodes).sum::<usize>()
    }

    /// Puts words together until there are at most `limit`, and then at most half of that.
    fn fold(&mut self, limit: usize) {
        if !self.digits_vary && self.alike().values().any(|words| words.len() > 1) {
            self.digits_vary = true;
            self.rename(limit, |word, _, into| write_without_digits(word, into));
        }
        if self.count_words() <= limit / 2 {
            return;
        }
        self.is_wide = true;
        let least = self.keys.div_ceil(SHARE_MIN).max(2);
        let mut kept: Vec<(u64, Box<[u8]>)> =
            self.words.iter().map(|(word, node)| (node.keys, word.clone())).collect();
        kept.retain(|(keys, word)| *keys >= least && !is_star(word));
        kept.sort_unstable_by(|a, b| b.cmp(a));
        kept.truncate(limit / 2);
        self.rename(limit, |word, end, into| {
            let goes = !is_star(word) && !kept.iter().any(|(_, other)| **other == *word);
            if goes {
                write_star(end, into);
            }
            goes
        });
    }

    /// Folds the node and all below it to a limit.
    fn fold_all(&mut self, limit: usize) {
        if self.count_words() > limit {
            self.fold(limit);
        }
        self.words.values_mut().for_each(|node| node.fold_all(limit));
    }

    /// The words that have digits, by what they are without.
    fn alike(&self) -> HashMap<Vec<u8>, Vec<Box<[u8]>>> {
        let mut alike: HashMap<Vec<u8>, Vec<Box<[u8]>>> = HashMap::new();
        let mut into = Vec::new();
        for word in self.words.keys() {
            if write_without_digits(word, &mut into) {
                alike.entry(into.clone()).or_default().push(word.clone());
            }
        }
        alike
    }

    /// Gives words other names: those for which `rename` puts one into its buffer and says so. What gets the same is merged.
    fn rename(&mut self, limit: usize, rename: impl Fn(&[u8], Option<u8>, &mut Vec<u8>) -> bool) {
        let mut into = Vec::new();
        for (word, node) in std::mem::take(&mut self.words) {
            let word = if rename(&word, node.end, &mut into) { into.as_slice().into() } else { word };
            self.put(word, node, limit);
        }
    }

    /// Puts a child in; one of the same word takes it up.
    fn put(&mut self, word: Box<[u8]>, node: Node, limit: usize) {
        match self.words.get_mut(&word) {
            Some(other) => other.merge(node, limit),
            None => drop(self.words.insert(word, node)),
        }
    }

    /// Takes up all that another node has.
    fn merge(&mut self, other: Node, limit: usize) {
        self.keys += other.keys;
        self.is_wide |= other.is_wide;
        self.digits_vary |= other.digits_vary;
        if let Some(theirs) = other.tally {
            match &mut self.tally {
                Some(mine) => mine.merge(&theirs),
                None => self.tally = Some(theirs),
            }
        }
        for (word, node) in other.words {
            self.put(word, node, limit);
        }
        if self.count_words() > limit {
            self.fold(limit);
        }
    }

    /// What is done at the end, below first.
    fn round_off(&mut self, limit: usize) {
        let alike = self.alike();
        let together = |into: &Vec<u8>| {
            alike.get(into).is_some_and(|words| words.len() >= ALIKE_MIN)
                || self.words.contains_key(&into[..])
        };
        let together: Vec<Vec<u8>> = alike.keys().filter(|into| together(into)).cloned().collect();
        self.rename(limit, |word, _, into| write_without_digits(word, into) && together.contains(into));
        if self.count_words() > SHOWN_MAX {
            let rare: Vec<_> = self.words.iter().filter(|(_, node)| node.keys < RARE_KEYS).collect();
            let rare: Vec<Box<[u8]>> = rare.into_iter().map(|(word, _)| word.clone()).collect();
            self.rename(limit, |word, end, into| {
                write_star(end, into);
                !is_star(word) && rare.iter().any(|other| **other == *word)
            });
        }
        self.words.values_mut().for_each(|node| node.round_off(limit));
    }

    fn collect(self, pattern: &mut Vec<u8>, groups: &mut Vec<Group>) {
        if let Some(tally) = self.tally {
            groups.push(Group { pattern: pattern.clone(), tally: *tally });
        }
        let len = pattern.len();
        for (word, node) in self.words {
            pattern.extend_from_slice(&word);
            node.collect(pattern, groups);
            pattern.truncate(len);
        }
    }

    /// Panics unless G2 and G3 hold.
    #[cfg(test)]
    fn check_invariants(&self, limit: usize) {
        assert!(self.count_words() <= limit, "G2");
        let below: u64 = self.words.values().map(|node| node.keys).sum();
        assert_eq!(self.keys, below + self.tally.as_ref().map_or(0, |tally| tally.keys), "G3");
        self.words.values().for_each(|node| node.check_invariants(limit));
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
