//! A reference that functions without an argument for it can use, while the call that lent it goes on.
//!
//! Lua calls Rust functions that own all they hold. What a script asks for is in references of the call that runs it. So that
//! call puts its reference in a [`ScopedSlot`] of the thread, and the functions take it from there. The slot takes references of any
//! lifetime, which no safe type can.
//!
//! # Safety
//!
//! The slot holds a pointer to a local of [`ScopedSlot::set`]. It is sound by these rules:
//! - R1: the pointer leaves the slot before the local ends: a guard puts the one before it back when `set` returns or panics. A
//!   `longjmp` over `set` would pass over that guard. Rust forbids one that passes over values to be dropped, and those of Lua end at
//!   the protected call that runs the script, which is further down the stack than `set`.
//! - R2: there is one user of the reference at a time: [`ScopedSlot::with`] takes the pointer out of the slot, and a guard puts it back
//!   afterwards, also after a panic. A function that is called in between finds the slot empty.
//! - R3: a script that begins while another is in `with` puts its own reference in the slot. The guards are dropped in the opposite
//!   order, so that the slot is empty again when `with` goes on.
//! - R4: the reference does not outlive the call of `with`: its user must take one of any lifetime.
//! - R5: no other thread sees the pointer: a slot is neither `Send` nor `Sync`.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

/// A kind of references: a type for each lifetime.
pub trait Reborrow: 'static {
    /// The reference.
    type Ref<'a>;

    /// The same reference for a shorter time.
    fn reborrow<'short, 'long: 'short>(long: &'short mut Self::Ref<'long>) -> Self::Ref<'short>;
}

/// Room for one reference of a kind, to be kept in a `thread_local`.
pub struct ScopedSlot<K: Reborrow> {
    /// Null, or to a `K::Ref` that nobody uses at present.
    lent: Cell<*mut ()>,
    kind: PhantomData<*mut K>,
}

/// Puts a pointer back when it is dropped.
struct Restore<'a> {
    slot: &'a Cell<*mut ()>,
    before: *mut (),
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        self.slot.set(self.before);
    }
}

impl<K: Reborrow> Default for ScopedSlot<K> {
    fn default() -> Self {
        ScopedSlot::new()
    }
}

impl<K: Reborrow> ScopedSlot<K> {
    /// An empty slot.
    pub const fn new() -> Self {
        ScopedSlot { lent: Cell::new(ptr::null_mut()), kind: PhantomData }
    }

    /// Calls `f`, and has the reference in the slot meanwhile.
    pub fn set<R>(&self, mut reference: K::Ref<'_>, f: impl FnOnce() -> R) -> R {
        let before = self.lent.replace((&raw mut reference).cast());
        // Dropped before `reference` is (R1).
        let _restore = Restore { slot: &self.lent, before };
        f()
    }

    /// Calls `f` with the reference in the slot. `None`, and no call, if there is none or somebody uses it.
    pub fn with<R>(&self, f: impl FnOnce(K::Ref<'_>) -> R) -> Option<R> {
        let lent = self.lent.replace(ptr::null_mut());
        if lent.is_null() {
            return None;
        }
        let _restore = Restore { slot: &self.lent, before: lent };
        // SAFETY: a pointer in the slot is to the local of a `set` that has not ended (R1), which made it from a `K::Ref`, and
        // nobody else has it now (R2, R5). The lifetime here is not the one that `set` was given; `reborrow` is the same for all, and
        // what it returns is used within this call only (R4).
        let reference = unsafe { &mut *lent.cast::<K::Ref<'_>>() };
        Some(f(K::reborrow(reference)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    struct Words;

    impl Reborrow for Words {
        type Ref<'a> = &'a mut Vec<&'static str>;

        fn reborrow<'short, 'long: 'short>(long: &'short mut Self::Ref<'long>) -> Self::Ref<'short> {
            long
        }
    }

    thread_local! {
        static SLOT: ScopedSlot<Words> = const { ScopedSlot::new() };
    }

    fn set<R>(words: &mut Vec<&'static str>, f: impl FnOnce() -> R) -> R {
        SLOT.with(|slot| slot.set(words, f))
    }

    fn push(word: &'static str) -> bool {
        SLOT.with(|slot| slot.with(|words| words.push(word))).is_some()
    }

    #[test]
    fn the_innermost_reference_is_used() {
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        assert!(!push("before"));
        set(&mut outer, || {
            assert!(push("a"));
            set(&mut inner, || assert!(push("b")));
            assert!(push("c"));
        });
        assert!(!push("after"));
        assert_eq!((outer, inner), (vec!["a", "c"], vec!["b"]));
    }

    #[test]
    fn a_reference_has_one_user_at_a_time() {
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        set(&mut outer, || {
            SLOT.with(|slot| {
                slot.with(|words| {
                    assert!(!push("again"));
                    set(&mut inner, || assert!(push("b")));
                    assert!(!push("again"));
                    words.push("a");
                })
            });
            assert!(push("c"));
            assert!(std::thread::spawn(|| !push("elsewhere")).join().unwrap());
        });
        assert_eq!((outer, inner), (vec!["a", "c"], vec!["b"]));
    }

    #[test]
    fn a_panic_restores_the_slot() {
        let mut words = Vec::new();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            set(&mut words, || {
                let using = AssertUnwindSafe(|| SLOT.with(|slot| slot.with(|_| panic!("asked for"))));
                assert!(catch_unwind(using).is_err());
                assert!(push("a"));
                panic!("asked for");
            });
        }));
        assert!(panicked.is_err() && !push("after"));
        assert_eq!(words, ["a"]);
    }
}
