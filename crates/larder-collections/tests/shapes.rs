//! Shapes under several threads: created, shared, exhausted and freed. One test, since the registry is of the process.

use larder_collections::hash::{FieldExpiry, Hash, HashLimits};
use larder_collections::shapes::{self, NAMES_BYTES_MAX, SHAPES_MAX, USERS_MIN};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

fn hash_of(names: &[String], value: usize) -> Hash {
    let mut hash = Hash::new();
    for name in names {
        let value = format!("{value} of {}", name.len());
        hash.set(name.as_bytes(), value.as_bytes(), FieldExpiry::Clear, HashLimits::default(), 0);
    }
    hash.settle();
    hash
}

fn check(hash: &Hash, names: &[String], value: usize) {
    assert_eq!(hash.len(), names.len());
    for (field, name) in hash.iter(0).zip(names) {
        let value = format!("{value} of {}", name.len());
        assert_eq!((field.name, field.value), (name.as_bytes(), value.as_bytes()));
        assert_eq!(hash.get(name.as_bytes(), 0), Some(field.value));
    }
    hash.check_invariants();
}

/// Hashes of the same names: as many as make them a shape, and more.
fn same(names: &[String], count: usize) -> Vec<Hash> {
    (0..count).map(|value| hash_of(names, value)).collect()
}

fn names(list: usize, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("field {at} of {list}")).collect()
}

fn sweep_all() {
    (0..4).for_each(|_| shapes::sweep());
}

#[test]
fn shapes_come_and_go() {
    enough_hashes_make_a_shape();
    the_registry_is_bounded();
    names_that_are_all_different_make_none();
    [1, 2, 4].into_iter().for_each(threads_share_shapes);
    assert_eq!(shapes::stats().shapes, 0);
}

fn enough_hashes_make_a_shape() {
    let names = names(0, 5);
    let all = same(&names, 3 * usize::from(USERS_MIN));
    let shaped = all.iter().filter(|hash| hash.is_shaped()).count();
    assert_eq!(shaped, all.len() - usize::from(USERS_MIN) + 1);
    let stats = shapes::stats();
    assert_eq!((stats.shapes, stats.users), (1, shaped));
    for (value, hash) in all.iter().enumerate() {
        check(hash, &names, value);
    }
    // A clone outlives the others, and keeps the shape.
    let (last, clone) = (all.len() - 1, all[all.len() - 1].clone());
    drop(all);
    sweep_all();
    assert_eq!((shapes::stats().shapes, shapes::stats().users), (1, 1));
    check(&clone, &names, last);
    drop(clone);
    sweep_all();
    assert_eq!(shapes::stats().shapes, 0);
    // Switched off, nothing gets one.
    shapes::enable(false);
    assert!(same(&names, 40).iter().all(|hash| !hash.is_shaped()));
    shapes::enable(true);
}

fn the_registry_is_bounded() {
    let count = usize::from(USERS_MIN) + 1;
    let mut kept = Vec::new();
    for list in 0..SHAPES_MAX + 50 {
        let names = names(list, 2);
        let mut hashes = same(&names, count);
        let last = hashes.pop().expect("there are some");
        check(&last, &names, count - 1);
        kept.push(last);
    }
    let stats = shapes::stats();
    assert_eq!((stats.shapes, stats.times_full), (SHAPES_MAX, 1));
    assert_eq!(kept.iter().filter(|hash| hash.is_shaped()).count(), SHAPES_MAX);
    // Those that are given back are used again.
    kept.truncate(SHAPES_MAX / 2);
    sweep_all();
    assert_eq!(shapes::stats().shapes, SHAPES_MAX / 2);
    assert!(same(&names(9_999, 3), count).iter().any(Hash::is_shaped));
    drop(kept);
    sweep_all();
    // Long names fill it by their bytes.
    let long = |list: usize| (0..28).map(|at| format!("{list:040}{at:080}")).collect::<Vec<_>>();
    let kept: Vec<Hash> = (0..400).filter_map(|list| same(&long(list), count).pop()).collect();
    let shaped = kept.iter().filter(|hash| hash.is_shaped()).count();
    assert_eq!(shaped, NAMES_BYTES_MAX / (28 * 120));
    drop(kept);
    sweep_all();
}

fn names_that_are_all_different_make_none() {
    let hashes: Vec<Hash> = (0..20_000).map(|list| hash_of(&names(1_000_000 + list, 4), list)).collect();
    assert_eq!(shapes::stats().shapes, 0);
    assert!(hashes.iter().all(|hash| !hash.is_shaped()));
}

fn threads_share_shapes(threads: u64) {
    let seed = larder_testkit::seed(7);
    let shared: Mutex<Vec<(Hash, usize, usize)>> = Mutex::default();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Relaxed) {
                shapes::sweep();
                std::thread::yield_now();
            }
        });
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let shared = &shared;
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed + thread);
                    let mut own: Vec<(Hash, usize, usize)> = Vec::new();
                    for value in 0..6_000 {
                        let list = rng.usize(..30);
                        let hash = hash_of(&names(list, 1 + list % 7), value);
                        if rng.u32(..8) == 0 {
                            shared.lock().unwrap().push((hash.clone(), list, value));
                        }
                        own.push((hash, list, value));
                        let other = if rng.bool() { own.pop() } else { shared.lock().unwrap().pop() };
                        if let Some((hash, list, value)) = other {
                            check(&hash, &names(list, 1 + list % 7), value);
                        }
                        if rng.u32(..500) == 0 {
                            own.clear();
                            shared.lock().unwrap().clear();
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        ends.store(true, Relaxed);
    });
    shared.lock().unwrap().clear();
    sweep_all();
}
