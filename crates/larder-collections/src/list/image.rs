//! A list as bytes that this process keeps in its place: what is compressed when nobody uses it.
//!
//! ```text
//!  | form 1 | salt 4 | position label of the first element 8 | block, block .. |    little endian
//!  form:  0 one packed block, 1 a directory, 2 a directory that counts as small again
//!  block: | bytes of its image u32 | image: see `larder_packed::block` |
//! ```
//! Unlike a dump, an image keeps what cursors of scans refer to, and where the blocks end.
//!
//! Cost: O(bytes) both ways.

use super::List;
use super::directory::{Directory, ListTree};
use larder_packed::block::Block;
use std::sync::Arc;

const PACKED: u8 = 0;
const TREE: u8 = 1;
const TREE_SMALL_AGAIN: u8 = 2;
const HEAD_BYTES: usize = 13;

impl List {
    /// Appends the image if it has at most `max` bytes and no block is compressed; else `out` has a part of it.
    pub(crate) fn image_into(&self, out: &mut Vec<u8>, max: usize) -> bool {
        let (form, salt, origin) = match self {
            List::Packed(_) => (PACKED, 0, 0),
            List::Tree(tree) if tree.0.small_again => (TREE_SMALL_AGAIN, tree.0.salt, tree.0.origin),
            List::Tree(tree) => (TREE, tree.0.salt, tree.0.origin),
        };
        let start = out.len();
        out.push(form);
        out.extend_from_slice(&salt.to_le_bytes());
        out.extend_from_slice(&origin.to_le_bytes());
        let written = self.try_for_each_block(|block| {
            if block.is_compressed() || out.len() - start + block.size_bytes() > max {
                return Err(());
            }
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            block.image_into(out);
            let len = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&len.to_le_bytes());
            Ok(())
        });
        written.is_ok() && out.len() - start <= max
    }

    /// The list of an image. Panics on other bytes.
    pub(crate) fn of_image(image: &[u8]) -> List {
        const WHOLE: &str = "an image is kept as it was made";
        let (head, mut rest) = image.split_first_chunk::<HEAD_BYTES>().expect(WHOLE);
        let mut blocks = std::iter::from_fn(|| {
            let (len, after) = rest.split_first_chunk()?;
            let (image, after) = after.split_at(u32::from_le_bytes(*len) as usize);
            rest = after;
            Some(Block::from_image(image).expect(WHOLE))
        });
        let first = blocks.next().expect(WHOLE);
        let form = head[0];
        if form == PACKED {
            return List::Packed(first);
        }
        let mut tree = ListTree::of(first);
        blocks.for_each(|block| tree.append(block));
        tree.seal();
        tree.small_again = form == TREE_SMALL_AGAIN;
        tree.salt = u32::from_le_bytes(*head[1..].first_chunk().expect(WHOLE));
        tree.origin = u64::from_le_bytes(*head[5..].first_chunk().expect(WHOLE));
        List::Tree(Directory(Arc::new(tree)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{Fill, ListOptions};
    use larder_packed::codec::Codec;

    fn options(compress_depth: u32) -> ListOptions {
        ListOptions { fill: Fill::new(20), compress_depth, codec: Codec::Zstd }
    }

    fn image(list: &List, max: usize) -> Option<Vec<u8>> {
        let mut image = b"before".to_vec();
        list.image_into(&mut image, max).then(|| image.split_off(6))
    }

    #[test]
    fn lists_come_back_with_their_blocks_and_cursors() {
        let mut rng = fastrand::Rng::with_seed(larder_testkit::seed(55));
        for _ in 0..200 {
            let (mut list, options, count) = (List::new(), options(0), rng.usize(1..200));
            for at in 0..count {
                match rng.bool() {
                    true => list.push_back(format!("element {at}").as_bytes(), &options),
                    false => list.push_front(at.to_string().as_bytes(), &options),
                }
            }
            let left = rng.usize(1..=count);
            (left..count).for_each(|_| drop(list.pop_back(&options)));
            let back = List::of_image(&image(&list, 1 << 20).expect("it is short enough"));
            back.check_invariants();
            assert_eq!((back.len(), back.encoding()), (list.len(), list.encoding()));
            assert_eq!(back.node_count(), list.node_count());
            assert!((0..list.len()).all(|at| format!("{:?}", back.get(at)) == format!("{:?}", list.get(at))));
            let scan = |list: &List, cursor: u64| list.scan(cursor, 3, |_| ());
            let next = scan(&list, 0).expect("a scan begins with 0");
            assert_eq!(scan(&back, next), scan(&list, next));
        }
    }

    #[test]
    fn long_ones_and_those_with_compressed_blocks_have_none() {
        let options = options(1);
        let mut list = List::new();
        (0..200).for_each(|at| list.push_back(format!("element {at}").as_bytes(), &options));
        let whole = image(&list, 1 << 20).expect("no block is compressed");
        assert_eq!(image(&list, whole.len()), Some(whole.clone()));
        assert_eq!(image(&list, whole.len() - 1), None);
        let done: Vec<_> = list.compression_work(&options, 16).iter().map(super::super::Job::run).collect();
        assert!(done.into_iter().any(|done| list.apply(done, &options)));
        assert_eq!(image(&list, 1 << 20), None);
    }
}
