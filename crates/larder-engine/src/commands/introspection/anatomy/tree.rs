//! The groups: a tree of the words of names, which stays small whatever the names are.
//!
//! A node is a place in a pattern, its children are the words that come next, and the end of a name has the tally. A parameter that varies
//! too much for its form to show it (`user:alice`, `user:bob`, ...) is found by its number of values. Rules that look at all values, as
//! counting the different ones first, would take memory by the number of keys; so the tree decides while names arrive, and its
//! decisions stay.
//!
//! - A node with more than [`WORDS_MAX`] words *folds*. If some of them are alike but for their digits (user1, user2), then digits vary
//!   there: those words, and all later ones, have `*` for them. If more than half of the limit is left, the node is *wide*: the
//!   words with at least 1/[`SHARE_MIN`] of its keys stay (at most half of the limit), and so do all *heavy* words, which hold 1/128 of the
//!   bytes of all keys (`heavy`). The others become `*`, and so do new words until they are heavy.
//! - With more than [`NODES_MAX`] nodes the limit is halved, and every node folds to it, until half are left.
//! - At the end, nodes fold to [`WORDS_SHOWN_MAX`] words, words alike but for digits are put together if there are [`ALIKE_MIN`] of them,
//!   and the small words of a node with more than [`SHOWN_MAX`] become `*`: those that have few keys and hold less than
//!   1/[`PART_SHOWN`] of the bytes.
//!
//! Keys should arrive in no order that has to do with their names: then the first hundreds at a node are a sample of all, and a word of which
//! 1/[`SHARE_MIN`] of the keys are is among them several times. A walk in the order of hashes is such.
//!
//! Cost: a lookup in a hash table for each part of a name, and one allocation for each new word; folding a node is O(its nodes below),
//! and happens a few times at a node before all that is new is `*`. Memory: at most [`NODES_MAX`] nodes and those of one more name, of
//! 200 bytes, and 1.3 KB where names end: 6 MB.
//!
//! - G1: every key is in one tally; the keys and bytes of all are the sum.
//! - G2: a node has at most `limit` words that are neither `*` nor heavy.
//! - G3: the keys and bytes of a node are those of its tally and of its children.
//! - G4: a word that holds 1/[`PART_SHOWN`] of all bytes is not folded into `*`. The part of it that arrived before it was found to be heavy,
//!   less than 1/[`PART_SHOWN`], may be in `*`.
//!
//! Tested here, with a model: exact groups where the names are few, G1 to G4 for any.

use super::heavy::Heavy;
use super::pattern::{Parts, write_star, write_without_digits};
use super::tally::{Seen, Tally};
use larder_collections::keyed_hash::KeyedState;
use std::collections::{HashMap, HashSet};

/// Words of a node while names arrive, at first.
const WORDS_MAX: usize = 512;
/// Words of a node at the end.
const WORDS_SHOWN_MAX: usize = 128;
/// Nodes of the tree.
const NODES_MAX: usize = 4096;
/// A word stays where others become `*` if one key in this many has it.
const SHARE_MIN: u64 = 64;
/// Words that are put together at the end if nothing but digits tells them apart.
const ALIKE_MIN: usize = 4;
/// Words of a node above which, at the end, the small ones become `*`: those with less than [`RARE_KEYS`] keys and less than one byte in
/// [`PART_SHOWN`].
const SHOWN_MAX: usize = 16;
const RARE_KEYS: u64 = 8;
const PART_SHOWN: u64 = 100;

type Words = HashMap<Box<[u8]>, Node, KeyedState>;

/// A place in a pattern.
#[derive(Default)]
struct Node {
    words: Words,
    /// The number of the place in `heavy`.
    identity: u64,
    /// Keys and bytes of the node and all below.
    keys: u64,
    bytes: u64,
    /// Bytes of its word that went to `*` before the word was found to be heavy.
    bytes_before: u64,
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
    /// Words that hold much.
    heavy: Heavy,
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
    /// Returns an empty tree that keeps `depth` parts of each name.
    pub(super) fn new(depth: usize) -> Tree {
        Tree {
            root: Node::default(),
            nodes: 0,
            limit: WORDS_MAX,
            heavy: Heavy::default(),
            depth,
            word: Vec::new(),
            other: Vec::new(),
        }
    }

    /// Counts a key, and returns its present group.
    pub(super) fn add(&mut self, name: &[u8], seen: &Seen) -> &mut Tally {
        if self.nodes > NODES_MAX {
            self.coarsen();
        }
        self.heavy.count_key(seen.bytes);
        let (word, other) = (&mut self.word, &mut self.other);
        let mut node = &mut self.root;
        node.count(1, seen.bytes);
        for part in Parts::of(name, self.depth) {
            part.write_word(word);
            if node.place(word, other, (part.end, seen.bytes), &mut self.heavy) {
                self.nodes += 1;
                if node.exceeds(self.limit) {
                    node.fold(&mut Rules { limit: self.limit, heavy: &mut self.heavy });
                    part.write_word(word);
                    node.place(word, other, (part.end, 0), &mut self.heavy);
                }
            }
            node = node.words.get_mut(&word[..]).expect("it has its place");
            node.count(1, seen.bytes);
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
            self.root.fold_all(&mut Rules { limit: self.limit, heavy: &mut self.heavy });
            self.nodes = self.root.count_nodes();
            if self.limit == 0 {
                break;
            }
        }
    }

    /// The groups, in no order.
    pub(super) fn into_groups(mut self) -> Vec<Group> {
        let least = (self.root.bytes.div_ceil(PART_SHOWN)).max(1);
        let limit = self.limit.min(WORDS_SHOWN_MAX);
        self.root.round_off(&mut Rules { limit, heavy: &mut self.heavy }, least);
        let mut groups = Vec::new();
        self.root.collect(&mut Vec::new(), &mut groups);
        groups
    }
}

/// The rules by which words are folded.
struct Rules<'h> {
    /// Words of a node.
    limit: usize,
    heavy: &'h mut Heavy,
}

fn is_star(word: &[u8]) -> bool {
    word[..] == *b"*" || (word.len() == 2 && word[0] == b'*')
}

impl Node {
    fn count(&mut self, keys: u64, bytes: u64) {
        self.keys += keys;
        self.bytes += bytes;
    }

    /// Makes `word` what it is at this node, and a child of it. Returns whether the child is new. `bytes` are those of the key.
    fn place(
        &mut self,
        word: &mut Vec<u8>,
        other: &mut Vec<u8>,
        (end, bytes): (Option<u8>, u64),
        heavy: &mut Heavy,
    ) -> bool {
        if self.digits_vary && write_without_digits(word, other) {
            std::mem::swap(word, other);
        }
        if self.words.contains_key(&word[..]) {
            return false;
        }
        let mut bytes_before = 0;
        if self.is_wide {
            match heavy.count(heavy.identity(self.identity, word), bytes) {
                Some(counted) => bytes_before = counted - bytes,
                None => write_star(end, word),
            }
        }
        let identity = heavy.identity(self.identity, word);
        let mut is_new = false;
        self.words.entry(word.as_slice().into()).or_insert_with(|| {
            is_new = true;
            Node { end, identity, bytes_before, ..Node::default() }
        });
        is_new
    }

    /// Bytes of all keys with its word, as far as they were counted.
    fn word_bytes(&self) -> u64 {
        self.bytes + self.bytes_before
    }

    /// Those that are no `*`.
    fn count_words(&self) -> usize {
        self.words.keys().filter(|word| !is_star(word)).count()
    }

    /// Whether there are more words than `limit` that are no `*`. Counts them only near the limit: this is asked for every new word.
    fn exceeds(&self, limit: usize) -> bool {
        self.words.len() > limit && self.count_words() > limit
    }

    fn count_nodes(&self) -> usize {
        1 + self.words.values().map(Node::count_nodes).sum::<usize>()
    }

    /// Puts words together until at most `limit` are left that are not heavy, and then at most half of that.
    fn fold(&mut self, rules: &mut Rules<'_>) {
        if !self.digits_vary && self.alike().values().any(|words| words.len() > 1) {
            self.digits_vary = true;
            self.rename(rules, |word, _, into| write_without_digits(word, into));
        }
        if self.count_words() <= rules.limit / 2 {
            return;
        }
        self.is_wide = true;
        let least = self.keys.div_ceil(SHARE_MIN).max(2);
        let words = self.words.iter().filter(|(word, _)| !is_star(word));
        let (heavy, light): (Vec<_>, Vec<_>) =
            words.partition(|(_, node)| rules.heavy.is_heavy(node.word_bytes()));
        let mut kept: Vec<(u64, Box<[u8]>)> = light
            .into_iter()
            .filter(|(_, node)| node.keys >= least)
            .map(|(word, node)| (node.keys, word.clone()))
            .collect();
        kept.sort_unstable_by(|a, b| b.cmp(a));
        kept.truncate(rules.limit / 2);
        let stays: HashSet<Box<[u8]>> = kept
            .into_iter()
            .map(|(_, word)| word)
            .chain(heavy.into_iter().map(|(word, _)| word.clone()))
            .collect();
        // A folded word becomes heavy by the bytes that it has already, and those to come.
        for (word, node) in self.words.iter().filter(|(word, _)| !is_star(word) && !stays.contains(*word)) {
            rules.heavy.count(rules.heavy.identity(self.identity, word), node.word_bytes());
        }
        self.rename(rules, |word, node, into| {
            let goes = !is_star(word) && !stays.contains(word);
            if goes {
                write_star(node.end, into);
            }
            goes
        });
    }

    /// Folds the node and all below it to a limit.
    fn fold_all(&mut self, rules: &mut Rules<'_>) {
        if self.exceeds(rules.limit) {
            self.fold(rules);
        }
        self.words.values_mut().for_each(|node| node.fold_all(rules));
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

    /// Gives words other names: those for which `rename` puts one into its buffer and returns true. Words that get the same name are merged.
    fn rename(&mut self, rules: &mut Rules<'_>, rename: impl Fn(&[u8], &Node, &mut Vec<u8>) -> bool) {
        let mut into = Vec::new();
        for (word, node) in std::mem::take(&mut self.words) {
            let word = if rename(&word, &node, &mut into) { into.as_slice().into() } else { word };
            self.put(word, node, rules);
        }
    }

    /// Puts a child in; one of the same word takes it up.
    fn put(&mut self, word: Box<[u8]>, mut node: Node, rules: &mut Rules<'_>) {
        match self.words.get_mut(&word) {
            Some(other) => other.merge(node, rules),
            None => {
                node.identity = rules.heavy.identity(self.identity, &word);
                self.words.insert(word, node);
            }
        }
    }

    /// Takes up all that another node has.
    fn merge(&mut self, other: Node, rules: &mut Rules<'_>) {
        self.count(other.keys, other.bytes);
        self.bytes_before += other.bytes_before;
        self.is_wide |= other.is_wide;
        self.digits_vary |= other.digits_vary;
        if let Some(theirs) = other.tally {
            match &mut self.tally {
                Some(mine) => mine.merge(&theirs),
                None => self.tally = Some(theirs),
            }
        }
        for (word, node) in other.words {
            self.put(word, node, rules);
        }
        if self.exceeds(rules.limit) {
            self.fold(rules);
        }
    }

    /// Does what is done at the end, below first. A word with `least` bytes stays.
    fn round_off(&mut self, rules: &mut Rules<'_>, least: u64) {
        if self.exceeds(rules.limit) {
            self.fold(rules);
        }
        let alike = self.alike();
        let together = |into: &Vec<u8>| {
            alike.get(into).is_some_and(|words| words.len() >= ALIKE_MIN)
                || self.words.contains_key(&into[..])
        };
        let together: Vec<Vec<u8>> = alike.keys().filter(|into| together(into)).cloned().collect();
        self.rename(rules, |word, _, into| write_without_digits(word, into) && together.contains(into));
        if self.count_words() > SHOWN_MAX {
            self.rename(rules, |word, node, into| {
                write_star(node.end, into);
                !is_star(word) && node.keys < RARE_KEYS && node.word_bytes() < least
            });
        }
        self.words.values_mut().for_each(|node| node.round_off(rules, least));
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

    /// Panics unless G2 and G3 hold. `heavy` is the number of heavy words that there may be.
    #[cfg(test)]
    fn check_invariants(&self, limit: usize, heavy: usize) {
        assert!(self.count_words() <= limit + heavy, "G2");
        let below = |pick: fn(&Node) -> u64| self.words.values().map(pick).sum::<u64>();
        let own = |pick: fn(&Tally) -> u64| self.tally.as_deref().map_or(0, pick);
        assert_eq!(self.keys, below(|node| node.keys) + own(|tally| tally.keys), "G3");
        assert_eq!(self.bytes, below(|node| node.bytes) + own(|tally| tally.bytes), "G3");
        self.words.values().for_each(|node| node.check_invariants(limit, heavy));
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
