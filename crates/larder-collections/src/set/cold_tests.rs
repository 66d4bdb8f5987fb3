//! Large sets whose segments are compressed and made plain between any two changes, beside a model, with clones that must not notice.

use super::super::{Set, SetLimits};
use crate::cold::parts::PartJobs;
use crate::cold::testing::Tools;
use crate::cold::{stats, sweep};
use std::collections::BTreeSet;

type Model = BTreeSet<Vec<u8>>;

const TEXT: &str = "https://www.example.com/products/alpha/beta.html?page=";

fn member(rng: &mut fastrand::Rng) -> Vec<u8> {
    match rng.u32(..3000) {
        // One that lies out of line keeps its segment plain.
        at @ 0..5 => format!("{TEXT}{at}").repeat(4).into_bytes(),
        at @ 5..200 => at.to_string().into_bytes(),
        at => format!("{TEXT}{at}").into_bytes(),
    }
}

/// The number of cold segments.
fn cold(set: &Set) -> u64 {
    set.part_sums(0).cold.count
}

fn check(set: &Set, model: &Model) {
    set.check_invariants();
    assert_eq!(set.len(), model.len() as u64);
    let mut seen: Model = set.looks().map(|look| look.element().to_vec()).collect();
    assert!(seen == *model, "the members differ");
    seen.clear();
    set.for_each(|element| assert!(seen.insert(element.to_vec())));
    assert!(seen == *model, "the members that are read differ");
}

#[test]
fn changes_and_walks_agree_with_a_model() {
    let first = larder_testkit::seed(83);
    let mut tools = Tools::of(TEXT);
    let limits = SetLimits::default();
    for seed in first..first + 6 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut all = vec![(Set::new(), Model::new())];
        for step in 0..8000 {
            let at = rng.usize(..all.len());
            let clones = all.len();
            let (set, model) = &mut all[at];
            let member = member(&mut rng);
            match rng.u32(..60) {
                0 => drop(tools.walk(set, rng.bool())),
                1 if clones < 4 => {
                    let clone = (set.clone(), model.clone());
                    all.push(clone);
                }
                1 => drop(all.swap_remove(at)),
                2 => {
                    let popped = set.pop(&mut rng, |element| element.to_vec());
                    assert_eq!(popped.is_some(), popped.is_some_and(|member| model.remove(&member)));
                }
                3 => {
                    let (mut cursor, mut seen) = (0, Model::new());
                    loop {
                        cursor = set.scan(cursor, 40, |element| assert!(seen.insert(element.to_vec())));
                        if cursor == 0 {
                            break;
                        }
                    }
                    assert!(seen == *model, "a scan differs");
                }
                4 => assert!(set.iter().all(|element| model.contains(&element.to_vec()))),
                5..15 => assert_eq!(set.remove(&member), model.remove(&member)),
                15..30 => assert_eq!(set.contains(&member), model.contains(&member)),
                _ => assert_eq!(set.insert(&member, &limits), model.insert(member)),
            }
            if step % 500 == 0 {
                all.iter().for_each(|(set, model)| check(set, model));
            }
        }
    }
}

#[test]
fn what_a_clone_shares_is_left_alone() {
    let mut tools = Tools::of(TEXT);
    let mut set = Set::new();
    (0..20_000).for_each(|at| assert!(set.insert(format!("{TEXT}{at}").as_bytes(), &SetLimits::default())));
    let clone = set.clone();
    // The roots part, and all but the way to one segment stays shared.
    assert!(set.insert(b"one more", &SetLimits::default()));
    let changed = tools.walk(&mut set, true);
    assert!(changed < 64, "{changed} segments are compressed while a clone has them as they are");
    assert_eq!(cold(&clone), 0);
    drop(clone);
    assert!(tools.walk(&mut set, true) > 100);
    set.check_invariants();
}

#[test]
fn a_scan_of_what_is_called_a_listpack_leaves_no_copies() {
    let mut tools = Tools::of(TEXT);
    let limits = SetLimits { listpack_count_max: 1 << 20, ..SetLimits::default() };
    let mut set = Set::new();
    (0..20_000).for_each(|at| assert!(set.insert(format!("{TEXT}{at}").as_bytes(), &limits)));
    assert!(tools.walk(&mut set, true) > 200);
    let mut seen = 0;
    assert_eq!(set.scan(0, 10, |_| seen += 1), 0);
    assert_eq!(seen, 20_000);
    // The second walk after it would free copies.
    for _ in 0..3 {
        let mut found = PartJobs::default();
        assert!(set.cold_jobs(0, false, usize::MAX, &mut found).is_some());
        assert!(found.jobs.is_empty() && found.cold.count > 200);
    }
}

#[test]
fn what_nobody_uses_shrinks_and_what_is_read_comes_back() {
    let mut tools = Tools::of(TEXT);
    let mut set = Set::new();
    let model: Model = (0..20_000).map(|at| format!("{TEXT}{at}").into_bytes()).collect();
    model.iter().for_each(|member| assert!(set.insert(member, &SetLimits::default())));
    assert!(set.has_cold_parts());
    let before = set.memory_bytes(0);
    for _ in 0..4 {
        assert_eq!(tools.walk(&mut set, false), 0);
        assert!(set.contains(b"https://www.example.com/products/alpha/beta.html?page=77"));
    }
    let segments = tools.walk(&mut set, false);
    assert!(segments > 200 && set.memory_bytes(0) * 3 < before, "{} of {before}", set.memory_bytes(0));
    // Who copies or reads all of the set leaves it as it is.
    let packed = set.memory_bytes(0);
    check(&set, &model);
    let clone = set.clone();
    assert!(!clone.contains(b"none"));
    drop(clone);
    assert_eq!((set.memory_bytes(0), cold(&set)), (packed, segments as u64));
    // A segment that is read in two periods comes back.
    let mut changed = 0;
    for _ in 0..3 {
        assert!(set.contains(b"https://www.example.com/products/alpha/beta.html?page=5000"));
        changed += tools.walk(&mut set, false);
    }
    assert!(
        (1..=2).contains(&changed),
        "that, and the one of page 77 has been compressed meanwhile: {changed}"
    );
    // A set of which all is read in several periods comes back.
    for _ in 0..4 {
        set.for_each(|_| ());
        tools.walk(&mut set, false);
    }
    assert_eq!(cold(&set), 0);
    check(&set, &model);
    // A change makes one segment plain.
    assert!(tools.walk(&mut set, true) > 200);
    let before = cold(&set);
    assert!(set.remove(b"https://www.example.com/products/alpha/beta.html?page=5000"));
    assert_eq!(cold(&set), before - 1);
    // A change that changes nothing makes none plain.
    let before = cold(&set);
    for at in 0..20_000 {
        assert!(!set.remove(format!("none:{at}").as_bytes()));
        assert_eq!(set.insert(format!("{TEXT}{at}").as_bytes(), &SetLimits::default()), at == 5000);
    }
    // That of the member that was removed and is back, at most.
    assert!(cold(&set) + 1 >= before, "{} of {before}", cold(&set));
    let users = stats().users;
    drop((set, tools));
    sweep();
    assert!(stats().users < users, "{users}");
}
