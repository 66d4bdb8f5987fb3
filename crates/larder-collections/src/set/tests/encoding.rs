//! What a set is called, and how much of it is one allocation.

use super::{Set, SetLimits, members, set_of};
use crate::set::SetEncoding::{self, Hashtable, Intset, Listpack};

const LIMITS: SetLimits =
    SetLimits { intset_count_max: 512, listpack_count_max: 128, listpack_bytes_max: 64 };

fn numbers(range: std::ops::Range<i64>) -> Set {
    let texts: Vec<String> = range.map(|n| n.to_string()).collect();
    set_of(texts.iter().map(String::as_str))
}

fn after(mut set: Set, member: &str) -> SetEncoding {
    set.insert(member.as_bytes(), &LIMITS);
    set.check_invariants();
    set.encoding()
}

#[test]
fn encodings_follow_the_thresholds() {
    assert_eq!(numbers(0..512).encoding(), Intset);
    assert_eq!(numbers(0..513).encoding(), Hashtable);
    assert_eq!(after(numbers(0..127), "x"), Listpack);
    assert_eq!(after(numbers(0..128), "x"), Hashtable);
    assert_eq!(after(numbers(0..10), &"x".repeat(64)), Listpack);
    assert_eq!(after(numbers(0..10), &"x".repeat(65)), Hashtable);
    assert_eq!(set_of(["a", "1"]).encoding(), Listpack);
    assert_eq!(after(numbers(5000..10_000), "x"), Hashtable);
    let texts: Vec<String> = (0..129).map(|n| format!("m{n}")).collect();
    assert_eq!(set_of(texts[..128].iter().map(String::as_str)).encoding(), Listpack);
    assert_eq!(set_of(texts.iter().map(String::as_str)).encoding(), Hashtable);
}

#[test]
fn there_is_no_way_back() {
    let mut set = numbers(0..600);
    (5..600).for_each(|n| assert!(set.remove(n.to_string().as_bytes())));
    assert_eq!(set.encoding(), Hashtable);
    set.insert(b"x", &LIMITS);
    (0..5).for_each(|n| assert!(set.remove(n.to_string().as_bytes())));
    assert!(matches!(set, Set::Strings(_)) && set.encoding() == Hashtable);
    set.insert(b"7", &LIMITS);
    assert!(matches!(set, Set::Both(_)));
    assert!(set.remove(b"x"));
    assert!(matches!(set, Set::Ints(_)) && set.encoding() == Hashtable);
}

#[test]
fn a_hint_of_many_members_makes_a_hashtable_at_once() {
    assert_eq!(Set::for_members(b"1", 512, &LIMITS).encoding(), Intset);
    assert_eq!(Set::for_members(b"1", 513, &LIMITS).encoding(), Hashtable);
    assert_eq!(Set::for_members(b"a", 128, &LIMITS).encoding(), Listpack);
    assert_eq!(Set::for_members(b"a", 129, &LIMITS).encoding(), Hashtable);
    for first in ["1", "a"] {
        let mut set = Set::for_members(first.as_bytes(), 1000, &LIMITS);
        assert!(set.is_empty() && set.iter().next().is_none() && !set.contains(b"1"));
        set.insert(first.as_bytes(), &LIMITS);
        set.insert(b"2", &LIMITS);
        set.check_invariants();
        assert_eq!(members(&set).len(), 2);
    }
}

#[test]
fn small_sets_keep_their_order() {
    let mut set = set_of(["banana", "10", "apple", "9", "cherry"]);
    set.remove(b"apple");
    set.insert(b"apple", &LIMITS);
    let order: Vec<String> = set.iter().map(|e| String::from_utf8_lossy(&e.to_vec()).into_owned()).collect();
    assert_eq!(order, ["banana", "10", "9", "cherry", "apple"]);
    let mut set = set_of(["3", "1", "2"]);
    set.insert(b"x", &LIMITS);
    let order: Vec<Vec<u8>> = set.iter().map(|e| e.to_vec()).collect();
    assert_eq!(order, [b"1", b"2", b"3", b"x"]);
}

#[test]
fn memory_is_what_was_promised() {
    let mut strings = Set::new();
    for n in 0..200_000 {
        strings.insert(format!("member:{n:09}").as_bytes(), &LIMITS);
    }
    strings.check_invariants();
    let bytes = strings.memory_bytes(0) as f64 / strings.len() as f64;
    assert!(bytes < 22.5, "a member of 16 bytes takes {bytes}");
    let mut mixed = numbers(0..100_000);
    mixed.insert(b"x", &LIMITS);
    assert!(mixed.memory_bytes(0) < 200_000, "{}", mixed.memory_bytes(0));
}
