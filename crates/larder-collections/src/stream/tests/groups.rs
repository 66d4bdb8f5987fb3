//! Model test of groups, and what a million pending entries cost.

use crate::relocation::tests::move_some;
use crate::stream::{ConsumerId, Group, Pending, StreamId};
use larder_testkit::seeds;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

type Model = BTreeMap<StreamId, (String, u64, u64)>;

fn pending_of(group: &Group, name: &str, from: StreamId) -> Model {
    let mut all = Model::new();
    let Some(consumer) = group.find(name.as_bytes()) else { return all };
    group.for_each_pending_of(consumer, from, |p| {
        all.insert(p.id, (name.to_owned(), p.time_ms, p.count));
        ControlFlow::Continue(())
    });
    all
}

#[test]
fn random_operations_agree_with_the_model() {
    for seed in seeds(60, 5000) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut group, mut model) = (Group::new(b"g", StreamId::ZERO, Some(0)), Model::new());
        let names: Vec<String> = (0..rng.usize(1..12)).map(|i| format!("consumer {}", i * 7 % 10)).collect();
        let mut kept = None;
        for step in 0..rng.u64(1..400) {
            let name = names[rng.usize(..names.len())].clone();
            let consumer = |group: &mut Group| -> ConsumerId {
                let found = group.find(name.as_bytes());
                found.unwrap_or_else(|| group.create(name.as_bytes(), step).expect("there is none"))
            };
            move_some(|mover| group.move_blocks(mover));
            match rng.u8(..12) {
                0..6 => {
                    let (consumer, start) = (consumer(&mut group), rng.u64(..300));
                    for ms in start..start + rng.u64(1..40) {
                        let (id, count) = (StreamId::new(ms, 0), rng.u64(1..5));
                        group.put(Pending { id, consumer, time_ms: step, count });
                        model.insert(id, (name.clone(), step, count));
                    }
                }
                6..10 => {
                    for _ in 0..rng.usize(..40) {
                        let id = StreamId::new(rng.u64(..340), 0);
                        assert_eq!(group.acknowledge(id), model.remove(&id).is_some());
                    }
                }
                10 => {
                    let exists = group.find(name.as_bytes()).is_some();
                    let count = model.values().filter(|(owner, ..)| *owner == name).count() as u64;
                    model.retain(|_, (owner, ..)| *owner != name);
                    assert_eq!(group.remove_consumer(name.as_bytes()), exists.then_some(count));
                }
                _ => kept = Some((group.clone(), model.clone())),
            }
            group.check_invariants();
            assert_eq!(group.pending_len(), model.len() as u64);
            let from = StreamId::new(rng.u64(..300), 0);
            let expected: Model = model
                .range(from..)
                .filter(|(_, (owner, ..))| *owner == name)
                .map(|(id, record)| (*id, record.clone()))
                .collect();
            assert_eq!(pending_of(&group, &name, from), expected);
        }
        if let Some((group, model)) = kept {
            group.check_invariants();
            let all =
                names.iter().flat_map(|name| pending_of(&group, name, StreamId::ZERO)).collect::<Model>();
            assert_eq!(all, model);
        }
    }
}

#[test]
fn a_million_pending_entries_are_packed() {
    for (batch, limit) in [(1, 20.0), (100, 12.0)] {
        let mut group = Group::new(b"g", StreamId::ZERO, Some(0));
        let consumers: Vec<ConsumerId> =
            (0..100).map(|i| group.create(format!("c{i}").as_bytes(), 0).expect("a new one")).collect();
        let count = 1_000_000;
        for i in 0..count {
            let id = StreamId::new(1_700_000_000_000 + i / 7, i % 7);
            let consumer = consumers[(i / batch) as usize % consumers.len()];
            group.put(Pending {
                id,
                consumer,
                time_ms: 1_700_000_100_000 + i / 10 / batch * batch,
                count: 1,
            });
        }
        let each = group.memory_bytes(0) as f64 / count as f64;
        println!("batches of {batch}: {each:.1} bytes an entry");
        assert!(each < limit, "{each} bytes an entry");
    }
}
