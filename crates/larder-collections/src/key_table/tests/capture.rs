//! Snapshots show the table as it was when they began, whatever happens meanwhile.

use super::{Counted, ExpireChange, Good, KeyHash, NewValue, Table, key};
use crate::key_table::{Captured, OwnedValue};
use crate::relocation::tests::move_some;
use larder_testkit::{seed, seeds};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// What a key looks like from outside: its value, as a number or as bytes, and its expiry.
type Seen = (Option<u64>, Vec<u8>, Option<u64>);
type Contents = BTreeMap<Vec<u8>, Seen>;

fn seen(captured: &Captured<Counted>) -> Seen {
    match &captured.value {
        OwnedValue::Out(value) => (Some(value.number()), Vec::new(), captured.expire_at_ms),
        OwnedValue::Inline { bytes, .. } => (None, bytes.to_vec(), captured.expire_at_ms),
    }
}

fn contents(table: &Table) -> Contents {
    table.iter().map(|entry| (entry.key().to_vec(), seen(&Captured::of(&entry)))).collect()
}

fn change(table: &mut Table, rng: &mut fastrand::Rng, keys: u64, live: &Arc<AtomicIsize>) {
    let name = key(rng.u64(..keys));
    let hash = Good::hash(&name);
    let expire = match rng.u8(..4) {
        0 => ExpireChange::At(rng.u64(1_000..9_000)),
        1 => ExpireChange::Clear,
        _ => ExpireChange::Keep,
    };
    match rng.u8(..9) {
        0 | 1 => {
            let bytes = vec![b'x'; rng.usize(..60)];
            table.put(hash, &name, NewValue::Inline { kind: 0, bytes: &bytes }, expire, 1);
        }
        2 => {
            table.put(hash, &name, NewValue::Out(Counted::new(9, rng.u64(..), live)), expire, 1);
        }
        3 => drop(table.remove(hash, &name)),
        4 => drop(table.remove_if(hash, &name, |entry| entry.expire_at_ms().is_none())),
        5 => drop(table.set_expire(hash, &name, rng.bool().then(|| rng.u64(1_000..9_000)))),
        6 => drop(table.modify_out(hash, &name, |value| value.change(8, rng.u64(..)))),
        7 => {
            if let Some(bytes) = table.inline_mut(hash, &name).filter(|bytes| !bytes.is_empty()) {
                bytes[0] = bytes[0].wrapping_add(1);
            }
        }
        _ => drop(table.take_expired(rng.u64(..9_000), 5, |_, value| drop(value))),
    }
}

#[test]
fn a_snapshot_is_the_table_as_it_was() {
    let live = Arc::new(AtomicIsize::new(0));
    for number in seeds(60, 5_000) {
        let mut rng = fastrand::Rng::with_seed(seed(number));
        let keys = [1, 40, 3_000][rng.usize(..3)];
        let mut table = Table::<Good>::new();
        for _ in 0..rng.u64(..2 * keys) {
            change(&mut table, &mut rng, keys, &live);
        }
        let expected = contents(&table);
        table.begin_capture(7);
        assert_eq!(table.capture_label(), Some(7));
        let mut got = Contents::new();
        let busy = rng.usize(..200);
        let mut move_from = 0;
        loop {
            for _ in 0..rng.usize(..=busy) {
                change(&mut table, &mut rng, keys, &live);
            }
            move_from = move_some(|mover| table.move_blocks(move_from, mover)).unwrap_or(0);
            let more = table.capture_next(|entry| {
                let again = got.insert(entry.key().to_vec(), seen(&Captured::of(&entry)));
                assert!(again.is_none(), "visited twice, SEED={number}");
            });
            if !more {
                break;
            }
        }
        for _ in 0..busy {
            change(&mut table, &mut rng, keys, &live);
        }
        for entry in table.end_capture().iter() {
            let twin = got.insert(entry.key().to_vec(), seen(&Captured::of(&entry)));
            assert!(twin.is_none(), "held and visited, SEED={number}");
        }
        assert!(got == expected, "SEED={number}");
        assert_eq!(table.capture_label(), None);
        table.check_invariants();
    }
    assert_eq!(live.load(Ordering::Relaxed), 0);
}

#[test]
fn without_a_snapshot_there_is_nothing_to_visit() {
    let mut table = Table::<Good>::new();
    assert!(!table.capture_next(|_| panic!("no snapshot")) && table.end_capture().iter().next().is_none());
    table.begin_capture(0);
    assert!(!table.capture_next(|_| panic!("no key")));
    super::put(&mut table, b"later", b"", ExpireChange::Keep);
    assert!(table.end_capture().iter().next().is_none());
}
