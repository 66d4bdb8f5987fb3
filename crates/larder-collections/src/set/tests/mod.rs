mod chance;
mod encoding;
mod model;

use super::{Set, SetLimits};
use std::collections::BTreeSet;

type Model = BTreeSet<Vec<u8>>;

fn members(set: &Set) -> Model {
    let all: Vec<Vec<u8>> = set.iter().map(|element| element.to_vec()).collect();
    let count = all.len();
    let members: Model = all.into_iter().collect();
    assert_eq!((members.len(), members.len() as u64), (count, set.len()), "each member once");
    members
}

fn set_of<'a>(members: impl IntoIterator<Item = &'a str>) -> Set {
    let mut set = Set::new();
    for member in members {
        set.insert(member.as_bytes(), &SetLimits::default());
    }
    set
}
