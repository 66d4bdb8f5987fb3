//! Which shards each thread holds: in debug builds a list with assertions on it, and in all builds the proof that a thread
//! holds none.
//!
//! ARCHITECTURE.md names the invariants; code that relies on one, or could break it, asserts it here.

#[cfg(debug_assertions)]
use std::cell::RefCell;
use std::marker::PhantomData;

/// The proof that the calling thread holds no shard, so that it may wait for one.
///
/// Code that a command can reach gets it from `Context::no_shards`, which refuses inside transactions and scripts. Other code
/// runs outside of commands, and makes its own.
#[derive(Clone, Copy, Debug)]
pub struct NoShards<'c>(PhantomData<&'c ()>);

impl NoShards<'_> {
    /// For code that no command reaches: the loops of threads, the start, the end. Debug builds panic if the thread holds a
    /// shard.
    #[inline]
    pub fn outside_commands() -> NoShards<'static> {
        waits();
        NoShards(PhantomData)
    }

    /// For a command that holds none.
    #[inline]
    pub(crate) fn of_command() -> Self {
        waits();
        NoShards(PhantomData)
    }
}

#[cfg(debug_assertions)]
thread_local! {
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A shard that this thread holds.
pub(crate) struct Entry {
    #[cfg(debug_assertions)]
    shard: usize,
    /// It belongs to the list of its thread.
    #[cfg(debug_assertions)]
    _local: std::marker::PhantomData<*const ()>,
}

impl Entry {
    #[inline]
    pub(crate) fn new(shard: usize) -> Entry {
        #[cfg(debug_assertions)]
        {
            HELD.with_borrow_mut(|held| held.push(shard));
            Entry { shard, _local: std::marker::PhantomData }
        }
        #[cfg(not(debug_assertions))]
        {
            let _ = shard;
            Entry {}
        }
    }
}

#[cfg(debug_assertions)]
impl Drop for Entry {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|held| {
            let at = held.iter().rposition(|&shard| shard == self.shard);
            held.swap_remove(at.expect("a shard is let go by the thread that has locked it"));
        });
    }
}

/// The thread is about to wait and to give way to nobody (L5).
#[inline]
pub(crate) fn waits() {
    assert_no_shard_is_held("waits");
}

/// The thread is about to do what nobody may who holds a shard, because it can take long: it waits, sleeps, evicts, reads or writes a
/// socket or a file. `what` is the verb for the message. Debug builds panic if the thread holds a shard.
#[inline]
pub fn assert_no_shard_is_held(what: &str) {
    #[cfg(debug_assertions)]
    HELD.with_borrow(|held| {
        assert!(
            held.is_empty() || std::thread::panicking(),
            "a thread {what} while it holds the shards {held:?}"
        );
    });
    #[cfg(not(debug_assertions))]
    let _ = what;
}

/// The thread changes what belongs to a shard, or logs such a change. Debug builds panic if the thread does not hold it.
#[inline]
pub(crate) fn assert_shard_is_held(shard: usize) {
    #[cfg(debug_assertions)]
    HELD.with_borrow(|held| {
        assert!(held.contains(&shard), "a thread changes shard {shard} and holds {held:?}");
    });
    #[cfg(not(debug_assertions))]
    let _ = shard;
}

/// The thread logs changes. Debug builds panic if it holds no shard at all.
#[inline]
pub(crate) fn assert_a_shard_is_held(what: &str) {
    #[cfg(debug_assertions)]
    HELD.with_borrow(|held| assert!(!held.is_empty(), "a thread {what} and holds no shard"));
    #[cfg(not(debug_assertions))]
    let _ = what;
}

/// The thread is about to lock `shard` beside those that it holds (L1).
#[inline]
pub(crate) fn ascends(shard: usize) {
    #[cfg(debug_assertions)]
    HELD.with_borrow(|held| {
        assert!(held.iter().all(|&other| other < shard), "shard {shard} is locked after {held:?}");
    });
    #[cfg(not(debug_assertions))]
    let _ = shard;
}

/// Does something for others in the middle of a script, as if its thread held nothing: it must not wait for anything.
pub(crate) fn aside<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(debug_assertions)]
    {
        let held = HELD.take();
        let done = work();
        assert!(HELD.replace(held).is_empty(), "what is done aside lets go of all its shards");
        done
    }
    #[cfg(not(debug_assertions))]
    work()
}
