//! The bytes of a record, and values that are pointers.

use super::super::{Borrowed, KINDS_MAX, ValueRef};
use super::{IntoRaw, NewValue, Old, OwnedValue, Records};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

/// A shared number, of a kind.
struct Shared {
    kind: u8,
    number: Arc<u64>,
}

// SAFETY: the kinds used here are below 32, the pointer is the Arc's own, and borrowed copies only read through it.
unsafe impl IntoRaw for Shared {
    const KINDS: u8 = KINDS_MAX;

    fn into_raw(self) -> (u8, NonNull<u8>) {
        let ptr = Arc::into_raw(self.number).cast_mut().cast();
        (self.kind, NonNull::new(ptr).expect("an Arc is not null"))
    }

    unsafe fn from_raw(kind: u8, ptr: NonNull<u8>) -> Self {
        // SAFETY: the pointer is from `Arc::into_raw`, and one copy only is dropped.
        Shared { kind, number: unsafe { Arc::from_raw(ptr.as_ptr().cast()) } }
    }
}

fn bytes_of(records: &Records<Shared>) -> Vec<Vec<u8>> {
    records.segment.entries().map(|(_, entry)| entry.to_vec()).collect()
}

#[test]
fn golden_bytes_of_records() {
    let mut records = Records::<Shared>::new();
    records.insert(1, b"key", NewValue::Inline { kind: 2, bytes: b"value" }, None, 0x030201);
    records.insert(1, b"", NewValue::Inline { kind: 0, bytes: b"" }, Some(0x0605_0403_0201), 0);
    assert_eq!(
        bytes_of(&records),
        [&b"\x02\x01\x02\x03\x03keyvalue"[..], b"\x40\0\0\0\x01\x02\x03\x04\x05\x06\0"]
    );
    records.set_expiry(0, Some(7));
    assert_eq!(bytes_of(&records)[0], b"\x42\x01\x02\x03\x07\0\0\0\0\0\x03keyvalue");
    let number = Arc::new(5);
    let address = Arc::as_ptr(&number) as usize;
    records.replace(0, NewValue::Out(Shared { kind: 31, number }), None, 1);
    let expected = [&b"\x3F\x01\0\0\x03key"[..], &address.to_le_bytes()].concat();
    assert_eq!(bytes_of(&records)[0], expected);
}

#[test]
fn values_are_owned_once() {
    let number = Arc::new(42);
    let value = |kind| NewValue::Out(Shared { kind, number: number.clone() });
    let long_key = vec![b'k'; 300];
    let mut records = Records::<Shared>::new();
    records.insert(1, b"a", value(1), None, 0);
    records.insert(2, &long_key, value(2), Some(1), 0);
    records.insert(3, b"c", value(3), None, 0);
    assert_eq!(Arc::strong_count(&number), 4);
    {
        let found = records.find(2, &long_key).expect("the key is there");
        let ValueRef::Out(value) = found.value() else { panic!("a value of its own") };
        let value: &Borrowed<'_, Shared> = &value;
        assert_eq!((value.kind, *value.number), (2, 42));
    }
    assert_eq!(Arc::strong_count(&number), 4);
    let mut right = records.split(|record| record.key() != b"a");
    assert!(matches!(records.replace(0, value(9), Some(3), 0), Old::Out(old) if old.kind == 1));
    let removed = right.record_mut(0).expect("a record").remove();
    assert!(matches!(removed.value, OwnedValue::Out(old) if old.kind == 2));
    assert_eq!(Arc::strong_count(&number), 3);
    records.absorb(&mut ManuallyDrop::new(right));
    assert_eq!(records.page().live(), 2);
    drop(records);
    assert_eq!(Arc::strong_count(&number), 1);
}
