//! Every member has the same chance.

use super::{Set, set_of};
use std::collections::HashMap;

/// Chi-square of the counts, per degree of freedom: near 1 when all members are equally likely.
fn chi_square(set: &Set, mut draw: impl FnMut(&Set, &mut fastrand::Rng) -> Vec<u8>) -> f64 {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut counts: HashMap<Vec<u8>, u32> = set.iter().map(|element| (element.to_vec(), 0)).collect();
    let draws = counts.len() * 100;
    for _ in 0..draws {
        *counts.get_mut(&draw(set, &mut rng)).expect("a member") += 1;
    }
    let sum: f64 = counts.values().map(|&count| (f64::from(count) - 100.0).powi(2) / 100.0).sum();
    sum / (counts.len() - 1) as f64
}

#[test]
fn members_of_both_parts_are_equally_likely() {
    let texts: Vec<String> =
        (0..3000).map(|n| if n % 3 == 0 { format!("{}", n * n) } else { format!("m{n}") }).collect();
    let set = set_of(texts.iter().map(String::as_str));
    assert!(matches!(set, Set::Both(_)));
    let sampled = chi_square(&set, |set, rng| set.sample(rng).expect("not empty").to_vec());
    assert!((0.9..1.1).contains(&sampled), "sample: {sampled}");
    let popped = chi_square(&set, |set, rng| set.clone().pop(rng, |e| e.to_vec()).expect("not empty"));
    assert!((0.9..1.1).contains(&popped), "pop: {popped}");
    let distinct = chi_square(&set, |set, rng| set.sample_distinct(3, rng)[1].to_vec());
    assert!((0.9..1.1).contains(&distinct), "distinct: {distinct}");
}

#[test]
fn members_of_small_sets_are_equally_likely() {
    for set in [set_of(["a", "b", "1", "2", "e"]), set_of(["5", "6", "70000", "8"])] {
        let sampled = chi_square(&set, |set, rng| set.sample(rng).expect("not empty").to_vec());
        assert!(sampled < 4.0, "sample: {sampled}");
    }
}
