//! Model tests of the tree with trivial blocks: without keys against a vector of blocks, with keys against a set of numbers.

use super::*;
use fastrand::Rng;
use larder_packed::block::Direction::{Backward, Forward};
use larder_testkit::seeds;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A tree without keys: blocks are numbers, and count as many items each.
struct Plain;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Total {
    blocks: u64,
    items: u64,
}

impl Sum for Total {
    fn plus(self, other: Total) -> Total {
        Total { blocks: self.blocks.plus(other.blocks), items: self.items.plus(other.items) }
    }

    fn minus(self, other: Total) -> Total {
        Total { blocks: self.blocks.minus(other.blocks), items: self.items.minus(other.items) }
    }
}

impl CountsBlocks for Total {
    fn blocks(&self) -> u64 {
        self.blocks
    }
}

impl Shape for Plain {
    const FANOUT: usize = 8;

    type Key = ();
    type Block = u64;
    type Sum = Total;
    type Leaf = Columns<(), Total, u64>;
    type Inner = Columns<(), Total, Arc<Node<Plain>>>;

    fn count(&block: &u64) -> Total {
        Total { blocks: 1, items: block }
    }
}

/// Looks for an item, which becomes relative to its block.
struct ByItem(u64);

impl Seek<Plain> for ByItem {
    fn at(&mut self, slots: &impl SlotsOf<Plain>, _is_leaf: bool) -> usize {
        find_counted(slots, |sum: Total| pass(&mut self.0, sum.items))
    }
}

fn change(tree: &mut Tree<Plain>, model: &mut Vec<u64>, grow: usize, rng: &mut Rng) {
    let (n, number) = (model.len(), rng.u64(1..1000));
    let at = [0, n, rng.usize(..=n)][rng.usize(..3)];
    match rng.usize(..100) {
        pick if pick < grow => {
            tree.edit(&mut ByBlock(at.saturating_sub(1) as u64), |leaf| {
                leaf.insert(leaf.at() + usize::from(at > 0), (), number);
            });
            model.insert(at, number);
        }
        90..95 => {
            let (mut back, mut model_back) = (tree.split_off(at as u64), model.split_off(at));
            check(tree, model, rng);
            check(&back, &model_back, rng);
            if rng.bool() {
                std::mem::swap(tree, &mut back);
                std::mem::swap(model, &mut model_back);
            }
            tree.append(back);
            model.extend(model_back);
        }
        95 if rng.usize(..8) == 0 => {
            *tree = tree.split_off(at as u64);
            *model = model.split_off(at);
        }
        96..98 if at < n => {
            tree.edit(&mut ByBlock(at as u64), |leaf| leaf.update(leaf.at(), |block| *block = number));
            model[at] = number;
        }
        _ if n > 0 => {
            let at = at.min(n - 1);
            let removed = tree.edit(&mut ByBlock(at as u64), |leaf| leaf.remove(leaf.at()));
            assert_eq!(removed, model.remove(at));
        }
        _ => {}
    }
}

fn check(tree: &Tree<Plain>, model: &[u64], rng: &mut Rng) {
    tree.check_invariants(&mut |_, (), _| {});
    let items = model.iter().sum();
    assert_eq!(tree.sum(), Total { blocks: model.len() as u64, items });
    assert_eq!(tree.heap_bytes().1, model.len());
    if model.is_empty() {
        return;
    }
    let at = rng.usize(..model.len());
    let before: u64 = model[..at].iter().sum();
    assert_eq!(tree.get(&mut ByBlock(at as u64)), Some(((), &model[at])));
    let offset = rng.u64(..model[at]);
    let mut seek = ByItem(before + offset);
    let (sum, slots, place) = tree.find_summing(&mut seek);
    assert_eq!((sum, *slots.child(place)), (Total { blocks: at as u64, items: before }, model[at]));
    assert_eq!(seek.0, offset);
    assert_eq!(walked(tree, &mut ByBlock(at as u64), Forward), model[at..]);
    let mut back = walked(tree, &mut ByBlock(at as u64), Backward);
    back.reverse();
    assert_eq!(back, model[..=at]);
}

fn walked<S: Shape>(tree: &Tree<S>, seek: &mut impl Seek<S>, direction: Direction) -> Vec<S::Block> {
    let mut blocks = Vec::new();
    let _ = tree.walk(seek, direction, &mut |_, block| {
        blocks.push(block.clone());
        ControlFlow::<()>::Continue(())
    });
    blocks
}

#[test]
fn a_tree_without_keys_behaves_like_a_vector() {
    for seed in seeds(40, 40) {
        let mut rng = Rng::with_seed(seed);
        let (mut tree, mut model) = (Tree::default(), Vec::new());
        let mut kept = (tree.clone(), model.clone());
        let grow = rng.usize(40..60);
        for _ in 0..700 {
            change(&mut tree, &mut model, grow, &mut rng);
            check(&tree, &model, &mut rng);
            if rng.usize(..50) == 0 {
                kept = (tree.clone(), model.clone());
            }
        }
        check(&kept.0, &kept.1, &mut rng);
    }
}

/// A tree with keys: blocks are sorted numbers.
struct Sorted;

const NUMBERS_MAX: usize = 5;

impl Shape for Sorted {
    const FANOUT: usize = 8;

    type Key = i32;
    type Block = Vec<i32>;
    type Sum = u64;
    type Leaf = Rows<i32, u64, Vec<i32>>;
    type Inner = Rows<i32, u64, Arc<Node<Sorted>>>;

    fn count(block: &Vec<i32>) -> u64 {
        block.len() as u64
    }
}

fn insert(tree: &mut Tree<Sorted>, number: i32) {
    tree.edit(&mut ByKey(number), |leaf| {
        if leaf.slots().is_empty() {
            return leaf.insert(0, number, vec![number]);
        }
        let right = leaf.update(leaf.at(), |block| {
            let Err(at) = block.binary_search(&number) else { return None };
            block.insert(at, number);
            (block.len() > NUMBERS_MAX).then(|| block.split_off(NUMBERS_MAX / 2))
        });
        if let Some(right) = right {
            leaf.insert(leaf.at() + 1, right[0], right);
        }
    });
}

fn remove(tree: &mut Tree<Sorted>, number: i32) {
    tree.edit(&mut ByKey(number), |leaf| {
        let at = leaf.at();
        if !leaf.slots().is_empty()
            && leaf.update(at, |block| {
                block.retain(|&other| other != number);
                block.is_empty()
            })
        {
            leaf.remove(at);
        }
    });
}

fn check_sorted(tree: &Tree<Sorted>, model: &BTreeSet<i32>, probe: i32) {
    tree.check_invariants(&mut |block, _, bounds| {
        assert!(bounds.start <= Some(block[0]), "T3: {block:?} in {bounds:?}");
        assert!(bounds.end.is_none_or(|end| block[block.len() - 1] < end), "T3: {block:?} in {bounds:?}");
    });
    assert_eq!(tree.sum(), model.len() as u64);
    let (before, slots, at) = tree.find_summing(&mut ByKey(probe));
    let in_block = slots.get(at).map_or(0, |(_, _, block)| block.partition_point(|&n| n < probe));
    assert_eq!(before as usize + in_block, model.range(..probe).count());
    let up = walked(tree, &mut ByKey(probe), Forward).concat();
    assert!(up.iter().skip_while(|&&n| n < probe).eq(model.range(probe..)));
    let mut down = walked(tree, &mut ByKey(probe), Backward).concat();
    down.sort_unstable();
    assert!(down.iter().take_while(|&&n| n <= probe).eq(model.range(..=probe)));
}

#[test]
fn a_tree_with_keys_behaves_like_a_set() {
    for seed in seeds(30, 30) {
        let mut rng = Rng::with_seed(seed);
        let (mut tree, mut model) = (Tree::default(), BTreeSet::new());
        let mut kept = (tree.clone(), model.clone());
        for step in 0..3000 {
            let number = [rng.i32(-400..400), step % 1000, -(step % 1000)][seed as usize % 3];
            if rng.usize(..1000) < if step / 1000 == 1 { 250 } else { 700 } {
                insert(&mut tree, number);
                model.insert(number);
            } else {
                remove(&mut tree, number);
                model.remove(&number);
            }
            if step % 16 == 0 {
                check_sorted(&tree, &model, rng.i32(-410..410));
            }
            if rng.usize(..200) == 0 {
                kept = (tree.clone(), model.clone());
            }
        }
        check_sorted(&kept.0, &kept.1, 0);
        model.iter().for_each(|&number| remove(&mut tree, number));
        check_sorted(&tree, &BTreeSet::new(), 0);
    }
}
