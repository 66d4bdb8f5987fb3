//! Golden bytes, a model, and damage.
use super::*;

type Pair = (Vec<u8>, Vec<u8>);

fn refs(pairs: &[Pair]) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone {
    pairs.iter().map(|(field, value)| (&field[..], &value[..]))
}

fn read(entry: &Entry<'_>) -> (StreamId, Vec<Pair>) {
    let mut pairs = Vec::new();
    entry.for_each(|field, value| pairs.push((field.to_vec(), value.to_vec())));
    (entry.id, pairs)
}

#[test]
fn golden_bytes() {
    let base = StreamId::new(1000, 0);
    let pairs = [(b"f".to_vec(), b"7".to_vec())];
    let mut node = StreamNode::new(refs(&pairs));
    node.push(base, base, refs(&pairs));
    node.push(base, StreamId::new(1001, 5), refs(&[(b"g".to_vec(), b"x".to_vec())]));
    assert!(node.delete(base, base) && !node.delete(base, base));
    let expected = [
        &[49, 0, 0, 0, 17, 0][..],
        &[1, 1, 1, 1, 1, 1, 0x81, b'f', 2, 0, 1],
        &[3, 1, 0, 1, 0, 1, 7, 1, 4, 1],
        &[0, 1, 1, 1, 5, 1, 1, 1, 0x81, b'g', 2, 0x81, b'x', 2, 6, 1],
        &[0xff],
    ]
    .concat();
    assert_eq!(node.as_bytes()[6..], expected[6..]);
    assert_eq!(usize::from(node.as_bytes()[0]), node.len_bytes());
    assert_eq!(node.as_bytes()[4], 17);
    assert_eq!((node.live(), node.slots()), (1, 2));
    node.check_invariants(base);
}

#[test]
fn a_dump_need_not_know_its_number_of_elements() {
    let base = StreamId::new(1000, 0);
    let mut node = StreamNode::new(refs(&[]));
    node.push(base, base, refs(&[(b"f".to_vec(), b"7".to_vec())]));
    let mut bytes = node.as_bytes().to_vec();
    bytes[4..6].fill(0xff);
    let (again, last) = StreamNode::from_bytes(&bytes, base).expect("it is sound");
    again.check_invariants(base);
    assert_eq!((again.as_bytes(), last), (node.as_bytes(), base));
}

fn random_node(rng: &mut fastrand::Rng) -> (StreamNode, StreamId, Vec<(StreamId, Vec<Pair>)>) {
    let text = |rng: &mut fastrand::Rng| match rng.u8(..6) {
        0 => (rng.i64(..) >> rng.u32(..64)).to_string().into_bytes(),
        1 => vec![b'z'; [62, 63, 64, 130, 4095, 17_000][rng.usize(..6)]],
        _ => (0..rng.usize(..9)).map(|_| rng.u8(..)).collect(),
    };
    let fields: Vec<Vec<u8>> = (0..rng.usize(..5)).map(|_| text(rng)).collect();
    let pairs = |rng: &mut fastrand::Rng| -> Vec<Pair> {
        if rng.u8(..4) == 0 {
            return (0..rng.usize(..4)).map(|_| (text(rng), text(rng))).collect();
        }
        fields.iter().map(|field| (field.clone(), text(rng))).collect()
    };
    let base = StreamId::new(rng.u64(..) >> rng.u32(..64), rng.u64(..) >> rng.u32(..64));
    let first = pairs(rng);
    let (mut node, mut model) = (StreamNode::new(refs(&first)), Vec::new());
    let mut id = base;
    for i in 0..rng.usize(1..200) {
        let own = if i == 0 { first.clone() } else { pairs(rng) };
        node.push(base, id, refs(&own));
        model.push((id, own));
        if id.ms == u64::MAX {
            break;
        }
        id = match rng.u8(..3) {
            0 => StreamId::new(id.ms.saturating_add(1 + (rng.u64(..) >> rng.u32(20..64))), rng.u64(..)),
            _ => id.next().expect("there is one"),
        };
    }
    (node, base, model)
}

#[test]
fn nodes_are_what_a_vector_says() {
    for seed in larder_testkit::seeds(200, 200) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut node, base, mut model) = random_node(&mut rng);
        for _ in 0..rng.usize(..4) {
            let kept = (node.clone(), model.clone());
            match rng.u8(..3) {
                0 => {
                    let count = rng.u64(..=model.len() as u64);
                    assert_eq!(node.delete_while(base, |_, gone| gone < count), count);
                    model.drain(..count as usize);
                }
                1 if !model.is_empty() => {
                    let below = model[rng.usize(..model.len())].0;
                    node.delete_while(base, |id, _| id < below);
                    model.retain(|(id, _)| *id >= below);
                }
                _ if !model.is_empty() => {
                    let (id, _) = model.remove(rng.usize(..model.len()));
                    assert!(node.delete(base, id) && !node.delete(base, id));
                }
                _ => {}
            }
            node.check_invariants(base);
            assert_eq!(kept.0.entries(base).map(|entry| read(&entry)).collect::<Vec<_>>(), kept.1);
        }
        assert_eq!(node.entries(base).map(|entry| read(&entry)).collect::<Vec<_>>(), model);
        let mut back: Vec<_> = node.entries_back(base).map(|entry| read(&entry)).collect();
        back.reverse();
        assert_eq!(back, model);
        assert_eq!(node.live(), model.len() as u64);
        let (again, last) = StreamNode::from_bytes(node.as_bytes(), base).expect("it is whole");
        assert_eq!(again.as_bytes(), node.as_bytes());
        assert_eq!(node.last_id(base), Some(last));
    }
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let mut rejected = 0;
    for seed in larder_testkit::seeds(4000, 4000) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (node, base, _) = random_node(&mut rng);
        let mut bytes = node.as_bytes().to_vec();
        match rng.u8(..3) {
            0 => bytes.truncate(rng.usize(..bytes.len())),
            1 => {
                for _ in 0..rng.usize(1..4) {
                    let at = rng.usize(..bytes.len().min(60));
                    bytes[at] ^= 1 << rng.u32(..8);
                }
            }
            _ => {
                let at = rng.usize(6..bytes.len());
                rng.fill(&mut bytes[at..]);
            }
        }
        match StreamNode::from_bytes(&bytes, base) {
            Err(_) => rejected += 1,
            Ok((mut node, last)) => {
                let ids: Vec<_> = node.entries(base).map(|entry| read(&entry).0).collect();
                assert_eq!(node.entries_back(base).count(), ids.len());
                ids.iter().for_each(|&id| assert!(node.delete(base, id)));
                assert!(node.last_id(base) == Some(last) && node.live() == 0);
            }
        }
    }
    assert!(rejected > 2000, "only {rejected}");
}
