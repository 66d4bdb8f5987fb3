//! Model test: random operations on packed records and on an ordered map, compared after each step.

use crate::stream::StreamId;
use crate::stream::pack::Delivery;
use crate::stream::pending::Records;
use larder_testkit::seeds;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

type Model = BTreeMap<StreamId, Delivery>;

fn all(records: &Records<Delivery>, from: StreamId) -> Model {
    let mut all = Model::new();
    let _ = records.walk(from, |id, delivery| {
        assert!(all.insert(id, delivery).is_none());
        ControlFlow::<()>::Continue(())
    });
    all
}

#[test]
fn random_operations_agree_with_the_model() {
    for seed in seeds(60, 5000) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut records, mut model) = (Records::<Delivery>::default(), Model::new());
        let wide = rng.u32(1..64);
        let mut kept = None;
        for step in 0..rng.usize(1..1500) {
            let id = match rng.u8(..3) {
                0 => StreamId::new(rng.u64(..) >> wide, rng.u64(..4)),
                1 => StreamId::new(rng.u64(..300), rng.u64(..) >> rng.u32(..64)),
                _ => records.last().and_then(StreamId::next).unwrap_or_default(),
            };
            let delivery = Delivery {
                consumer: u32::from(rng.u8(..)) << rng.u8(..20),
                time_ms: if rng.bool() { 1000 + step as u64 } else { rng.u64(..) },
                count: rng.u64(..) >> rng.u32(..64),
            };
            match rng.u8(..10) {
                0..6 => assert_eq!(records.put(id, delivery), model.insert(id, delivery)),
                6..9 => {
                    let known = model.keys().nth(rng.usize(..=model.len()) / 2).copied().unwrap_or(id);
                    assert_eq!(records.remove(known), model.remove(&known));
                    assert_eq!(records.remove(known), None);
                }
                _ => kept = Some((records.clone(), model.clone())),
            }
            assert_eq!(records.len(), model.len() as u64);
            assert_eq!(records.get(id), model.get(&id).copied());
            assert_eq!(records.first(), model.keys().next().copied());
            assert_eq!(records.last(), model.keys().next_back().copied());
            if step % 50 == 0 {
                records.check_invariants();
                assert_eq!(all(&records, id), model.range(id..).map(|(&id, &d)| (id, d)).collect());
                let mut lookup = records.lookup();
                let near = |known: StreamId| [Some(known), known.next()];
                let ids: BTreeSet<StreamId> =
                    model.keys().copied().filter(|_| rng.u8(..4) == 0).flat_map(near).flatten().collect();
                assert!(ids.iter().all(|&id| lookup(id) == model.get(&id).copied()));
            }
        }
        records.check_invariants();
        assert_eq!(all(&records, StreamId::ZERO), model);
        if let Some((records, model)) = kept {
            assert_eq!(all(&records, StreamId::ZERO), model);
        }
    }
}
