//! Model test of the tree against a vector of blocks.
use super::*;
use larder_packed::block::End;
use larder_testkit::seeds;

fn block(rng: &mut fastrand::Rng) -> (Block, Vec<u8>) {
    let text = format!("e{}", rng.u32(..));
    let mut block = Block::open(text.as_bytes(), End::Back, 0);
    for _ in 0..rng.usize(..3) {
        assert!(block.try_push(End::Back, b"x", larder_packed::block::Limit::NONE));
    }
    (block, text.into_bytes())
}

fn first(block: &Block) -> Vec<u8> {
    block.peek(End::Front).unwrap().to_vec()
}

#[test]
fn tree_behaves_like_a_vector() {
    for seed in seeds(60, 60) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut tree, mut model): (Tree, Vec<Vec<u8>>) = Default::default();
        let mut kept = (tree.clone(), model.clone());
        let grow = rng.usize(40..60);
        for _ in 0..700 {
            let n = model.len();
            match rng.usize(..100) {
                pick if pick < grow => {
                    let (block, text) = block(&mut rng);
                    let at = [0, n, rng.usize(..=n)][rng.usize(..3)];
                    tree.insert(at, block);
                    model.insert(at, text);
                }
                90..95 => {
                    let at = rng.usize(..=n);
                    let (mut back, mut model_back) = (tree.split_off(at), model.split_off(at));
                    tree.check_invariants();
                    back.check_invariants();
                    if rng.bool() {
                        std::mem::swap(&mut tree, &mut back);
                        std::mem::swap(&mut model, &mut model_back);
                    }
                    tree.append(back);
                    model.extend(model_back);
                }
                95 => kept = (tree.clone(), model.clone()),
                96 if rng.usize(..8) == 0 => {
                    let at = rng.usize(..=n);
                    tree = tree.split_off(at);
                    model = model.split_off(at);
                }
                97 if n > 0 => {
                    let at = rng.usize(..n);
                    let (fresh, text) = block(&mut rng);
                    tree.update(at, |block| *block = fresh);
                    model[at] = text;
                }
                _ if n > 0 => {
                    let at = [0, n - 1, rng.usize(..n)][rng.usize(..3)];
                    assert_eq!(first(&tree.remove(at)), model.remove(at));
                }
                _ => {}
            }
            tree.check_invariants();
            assert_same(&tree, &model, &mut rng);
        }
        assert_same(&kept.0, &kept.1, &mut rng);
    }
}

fn assert_same(tree: &Tree, model: &[Vec<u8>], rng: &mut fastrand::Rng) {
    assert_eq!(tree.blocks(), model.len());
    if model.is_empty() {
        return;
    }
    let at = rng.usize(..model.len());
    assert_eq!(first(tree.get(at).unwrap()), model[at]);
    let before = tree.prefix(at);
    assert_eq!(before.blocks as usize, at);
    assert_eq!(tree.locate(before.len), Some((at, 0)));
    for direction in [Direction::Forward, Direction::Backward] {
        let mut seen = Vec::new();
        let _ = tree.for_each_from(at, direction, &mut |block| {
            seen.push(first(block));
            ControlFlow::<()>::Continue(())
        });
        match direction {
            Direction::Forward => assert!(seen.iter().eq(&model[at..])),
            Direction::Backward => assert!(seen.iter().eq(model[..=at].iter().rev())),
        }
    }
}
