//! The locks of the shards, and the rules by which they are taken.
//!
//! - L1: a thread that locks several shards locks them in ascending order, but for those that it need not wait for.
//! - L2: one script at a time may *widen*: lock shards that it does not hold yet, in any order. It holds the [`ScriptTurn`], which is
//!   taken before any shard, but by those who need not wait for it. A thread that waits for a shard while it holds others gives way to it: it lets everything go, waits until
//!   the widening is over, and starts again. Nothing has been done yet when that happens, because handlers run only once all
//!   locks are there (or walk: they hold one shard at a time).
//! - L3: a script that runs for too long makes the shards *busy* ([`Shards::set_busy`]). Threads that serve clients give up then:
//!   the methods `try_lock_*` return [`Busy`].
//!   Threads that serve several clients do not wait for a shard either that anybody keeps for longer than a moment: the methods
//!   `lock_*_or_later` say so, and the command is tried again. How: `later.rs`.
//! - L4: the methods `lock_*` do not give up, but for `lock_now` and `lock_soon`. They ask for a proof that
//!   the wait holds up no client or ends soon: [`MayWait`], which only threads that serve no clients have, or
//!   the [`ScriptTurn`], since no script runs while somebody else holds it.
//! - L5: a thread that waits for a shard without giving way holds none. `lock_now` and `lock_soon` wait at most a moment and suit
//!   everybody.
//! - L6: what an applier has done in a batch is in the stream only at the batch's end
//!   ([`Shards::begin_batch`]). Whoever locks all shards waits for that first, holding none, and keeps the
//!   next batch from beginning: what they see and change is of one place in the stream. Within a batch nobody
//!   takes the turn. A script that widens to all shards holds the turn and does not wait for a batch.
//! - L7: a script that runs for a while *lends* its shards: between its commands it holds none, and only the keys that it has used are
//!   reserved. Who locks shards for certain keys asks whether these are; for all others a shard with reserved keys is held. How:
//!   `lending.rs`.
//!
//! - L8: who may lock is said by types. A method that waits asks for [`NoShards`] or for one of the proofs of L4: code that a
//!   command can reach gets it from `Context::no_shards`, which refuses inside transactions and scripts. A function that needs
//!   all shards locks nothing itself, and asks for [`AllShards`]: so a transaction that holds them can call it.
//!
//! There is no other way to a shard than the methods here. In debug builds every thread keeps a list of what it holds, and L1,
//! L2 and L5 are checked.
//!
//! Tested here, and by `larder-server/tests/busy_scripts.rs`: every command beside a script that does not end.

mod awaited;
mod later;
mod lending;

use awaited::TURN;
pub(crate) use awaited::Unlocked;
pub(crate) use lending::Lends;

use crate::keyspace::key::{Key, SHARDS};
use crate::keyspace::shard::ShardData;
use crate::ledger::{self, Entry, NoShards};
use parking_lot::{Mutex, MutexGuard};
use std::hint;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::mpsc::RecvError;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long those who hold a shard and wait for another sleep between two looks at whether they must give way.
const LOOK: Duration = Duration::from_micros(200);
/// How long those who hold nothing and wait sleep between two looks at whether a script keeps them waiting.
const LOOK_FOR_BUSY: Duration = Duration::from_millis(20);
/// How often those who find a shard locked look whether it has been let go, before they wait for it: for about a microsecond. Most commands
/// hold theirs for a fraction of that, so this costs less than to sleep and to be woken, and less than to read the clock.
const SPINS: usize = 32;
/// How long [`Shards::lock_soon`] waits.
const SOON: Duration = Duration::from_micros(500);

/// A script that would hold more shards than this locks all of them instead.
const WIDEN_ALL_FROM: usize = 32;

/// A shard, alone on its cache lines.
#[repr(align(128))]
#[derive(Default)]
struct Shard(Mutex<ShardData>);

/// The lock of one shard, held.
pub(crate) struct ShardGuard<'e> {
    data: MutexGuard<'e, ShardData>,
    _entry: Entry,
}

impl ShardGuard<'_> {
    /// Lets go. One who waits gets it before this thread could lock it again.
    fn hand_over(self) {
        MutexGuard::unlock_fair(self.data);
    }
}

impl Deref for ShardGuard<'_> {
    type Target = ShardData;

    #[inline]
    fn deref(&self) -> &ShardData {
        &self.data
    }
}

impl DerefMut for ShardGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut ShardData {
        &mut self.data
    }
}

/// A script keeps the shards for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// The proof that a thread serves no clients: it may wait for a shard however long a script keeps it.
#[derive(Debug)]
pub struct MayWait(());

/// The proof that all shards are held: no command is under way. What every command goes by is changed only then: the role, and
/// whether effects are logged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllShards<'h>(PhantomData<&'h ()>);

/// Starts a thread that serves no clients, and so may wait for shards.
///
/// # Errors
/// What the system says when it starts no further thread.
pub fn spawn_background<R: Send + 'static>(
    name: &str,
    run: impl FnOnce(&MayWait) -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    spawn(thread::Builder::new().name(name.to_owned()), run)
}

/// The same for a thread that runs scripts, with this much stack.
///
/// # Errors
/// What the system says when it starts no further thread.
pub fn spawn_background_with_stack<R: Send + 'static>(
    name: &str,
    stack_bytes: usize,
    run: impl FnOnce(&MayWait) -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    spawn(thread::Builder::new().name(name.to_owned()).stack_size(stack_bytes), run)
}

fn spawn<R: Send + 'static>(
    builder: thread::Builder,
    run: impl FnOnce(&MayWait) -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    let (begun, begins) = std::sync::mpsc::channel();
    let thread = builder.spawn(move || {
        crate::threads::started();
        drop(begun);
        run(&MayWait(()))
    })?;
    // What a thread takes when it begins is in use by now, so it is not taken later from the little room that a limit leaves.
    let _: Result<(), RecvError> = begins.recv();
    Ok(thread)
}

/// The right to run a script, or to keep all others from running one. It is taken before any shard.
pub struct ScriptTurn<'e> {
    _guard: MutexGuard<'e, ()>,
    may_wait: MayWait,
}

impl<'e> ScriptTurn<'e> {
    fn of(guard: MutexGuard<'e, ()>) -> Self {
        ScriptTurn { _guard: guard, may_wait: MayWait(()) }
    }

    /// While no script runs, every wait for a shard ends soon.
    pub fn may_wait(&self) -> &MayWait {
        &self.may_wait
    }

    /// A proof for a snapshot, which is read by a thread that serves no clients, or before the turn is over.
    pub(crate) fn may_wait_for_snapshot(&self) -> MayWait {
        MayWait(())
    }
}

/// All shards.
pub(crate) struct Shards {
    list: Box<[Shard]>,
    turn: Mutex<()>,
    /// Somebody is widening.
    widening: AtomicBool,
    /// Held by the thread that is widening.
    widener: Mutex<()>,
    busy: AtomicBool,
    /// Held by an applier for a batch, and by who has locked all shards.
    batch: Mutex<()>,
    /// Held by a script that lends its shards.
    lending: Mutex<()>,
    /// Threads that wait for its end.
    waiting: AtomicUsize,
    waits: Waits,
    awaited: awaited::Awaited,
}

/// Waits of threads for shards that others held, in case somebody asks. A lock that is free at once, or after [`SPINS`], is not counted.
#[repr(align(128))]
#[derive(Default)]
struct Waits {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Waits {
    /// Counts the wait that `wait` is.
    #[cold]
    fn note<T>(&self, wait: impl FnOnce() -> T) -> T {
        let begun = crate::clock::instant();
        let got = wait();
        self.count.fetch_add(1, Relaxed);
        self.nanos.fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        got
    }
}

/// As long as it lives no other batch of the primary's commands begins.
pub(crate) struct Batch<'e> {
    _guard: MutexGuard<'e, ()>,
}

impl Default for Shards {
    fn default() -> Self {
        Shards {
            list: (0..SHARDS).map(|_| Shard::default()).collect(),
            turn: Mutex::new(()),
            widening: AtomicBool::new(false),
            widener: Mutex::new(()),
            busy: AtomicBool::new(false),
            batch: Mutex::new(()),
            lending: Mutex::new(()),
            waiting: AtomicUsize::new(0),
            waits: Waits::default(),
            awaited: awaited::Awaited::default(),
        }
    }
}

impl Shards {
    /// A script runs for too long, or has ended.
    pub(crate) fn set_busy(&self, on: bool) {
        self.busy.store(on, SeqCst);
    }

    /// Whether a script runs for too long.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// How often, and for how many seconds, threads have waited for shards that others held.
    pub(crate) fn waits(&self) -> (u64, f64) {
        (self.waits.count.load(Relaxed), self.waits.nanos.load(Relaxed) as f64 / 1e9)
    }

    /// Takes the turn, however long that takes.
    pub(crate) fn take_turn(&self, MayWait(()): &MayWait) -> ScriptTurn<'_> {
        ledger::waits();
        self.take_turn_now().unwrap_or_else(|| {
            // A transaction that has it gives it up when it is awaited.
            self.awaited.add(TURN);
            ScriptTurn::of(self.turn.lock())
        })
    }

    /// Takes the turn; gives up when a script runs for too long.
    pub(crate) fn try_take_turn(&self, _: NoShards<'_>) -> Result<ScriptTurn<'_>, Busy> {
        ledger::waits();
        if let Some(turn) = self.take_turn_now() {
            return Ok(turn);
        }
        self.awaited.add(TURN);
        self.wait(&self.turn).map(ScriptTurn::of)
    }

    /// Waits for a mutex that others hold while they wait for the turn or for shards; gives up when a script runs for too long.
    pub(crate) fn wait_for<'t, T>(
        &self,
        mutex: &'t Mutex<T>,
        _: NoShards<'_>,
    ) -> Result<MutexGuard<'t, T>, Busy> {
        self.wait(mutex)
    }

    fn wait<'t, T>(&self, mutex: &'t Mutex<T>) -> Result<MutexGuard<'t, T>, Busy> {
        self.unless_busy(|| mutex.try_lock(), || mutex.try_lock_for(LOOK_FOR_BUSY))
    }

    /// Locks a shard if it is free.
    #[inline]
    pub(crate) fn lock_now(&self, at: usize) -> Option<ShardGuard<'_>> {
        self.lock_lent_now(at).filter(is_unlent)
    }

    /// The same also if the shard is lent: reserved keys may be looked at for what is no answer to anybody, and not changed.
    #[inline]
    pub(crate) fn lock_lent_now(&self, at: usize) -> Option<ShardGuard<'_>> {
        Some(note(at, self.list[at].0.try_lock()?))
    }

    /// Locks a shard if it becomes free within half a millisecond.
    pub(crate) fn lock_soon(&self, at: usize) -> Option<ShardGuard<'_>> {
        self.lock_lent_soon(at).filter(is_unlent)
    }

    /// The same also if the shard is lent.
    pub(crate) fn lock_lent_soon(&self, at: usize) -> Option<ShardGuard<'_>> {
        Some(note(at, self.list[at].0.try_lock_for(SOON)?))
    }

    /// Locks a shard, however long that takes.
    pub(crate) fn lock_one(&self, at: usize, may_wait: &MayWait) -> ShardGuard<'_> {
        ledger::waits();
        self.lock_unlent(at, may_wait)
    }

    /// Locks the shards in `wanted`, which need be neither sorted nor unique. The turn may not be the caller's own script's.
    pub(crate) fn lock_many(&self, wanted: Vec<usize>, _turn: &ScriptTurn<'_>) -> Held<'_> {
        ledger::waits();
        let wanted = in_order(wanted);
        Held::many(wanted.into_iter().map(|at| (at, self.lock_at(at))).collect())
    }

    /// Locks all shards. The turn may not be the caller's own script's.
    pub(crate) fn lock_all(&self, _turn: &ScriptTurn<'_>) -> Held<'_> {
        ledger::waits();
        let batch = self.begin_batch();
        Held::All { shards: (0..SHARDS).map(|at| self.lock_at(at)).collect(), _batch: Some(batch) }
    }

    /// Locks one shard; gives up when a script keeps it for long.
    #[inline]
    pub(crate) fn try_lock_one(&self, at: usize, _: NoShards<'_>) -> Result<ShardGuard<'_>, Busy> {
        match self.lock_now(at) {
            Some(data) => Ok(data),
            None => self.wait_for_unlent(at),
        }
    }

    fn wait_for_unlent(&self, at: usize) -> Result<ShardGuard<'_>, Busy> {
        loop {
            let data = self.try_lock_lent(at)?;
            if is_unlent(&data) {
                return Ok(data);
            }
            drop(data);
            self.wait_for_lender()?;
        }
    }

    /// Locks the shards in `wanted`, which need be neither sorted nor unique, lent or not; gives up when a script keeps one for long.
    pub(crate) fn try_lock_many_lent(&self, wanted: Vec<usize>) -> Result<Held<'_>, Busy> {
        let wanted = in_order(wanted);
        match wanted[..] {
            [] => Ok(Held::None),
            [at] => Ok(Held::One(at, self.try_lock_lent(at)?)),
            _ => Ok(Held::many(self.try_lock_in_order(&wanted)?)),
        }
    }

    /// Locks all shards; gives up when a script keeps one for long.
    pub(crate) fn try_lock_all(&self, _: NoShards<'_>) -> Result<Held<'_>, Busy> {
        ledger::waits();
        let batch = Batch { _guard: self.wait(&self.batch)? };
        Ok(Held::all(self.try_lock_unlent(&ALL)?, Some(batch)))
    }

    /// The same within a batch.
    pub(crate) fn try_lock_all_in_batch(&self) -> Result<Held<'_>, Busy> {
        Ok(Held::all(self.try_lock_unlent(&ALL)?, None))
    }

    /// Locks several shards, of which none is lent.
    fn try_lock_unlent(&self, wanted: &[usize]) -> Result<Vec<Numbered<'_>>, Busy> {
        loop {
            let guards = self.try_lock_in_order(wanted)?;
            if guards.iter().all(|(_, data)| is_unlent(data)) {
                return Ok(guards);
            }
            drop(guards);
            self.wait_for_lender()?;
        }
    }

    /// Begins a batch. Until it is dropped nobody outside of it locks all shards.
    pub(crate) fn begin_batch(&self) -> Batch<'_> {
        ledger::waits();
        Batch { _guard: self.batch.lock() }
    }

    /// Locks those of the shards in `wanted` that are free at this moment and not held yet. It does not wait, so L1 need not be
    /// kept.
    pub(crate) fn widen_now<'e>(&'e self, held: Held<'e>, wanted: impl Iterator<Item = usize>) -> Held<'e> {
        let mut guards = held.into_guards();
        for at in wanted {
            if let Err(place) = guards.binary_search_by_key(&at, |(held, _)| *held)
                && let Some(data) = self.lock_now(at)
            {
                guards.insert(place, (at, data));
            }
        }
        Held::many(guards)
    }

    /// Locks those of the shards in `wanted` that are free at this moment, lent or not.
    pub(crate) fn lock_free_lent(&self, wanted: Vec<usize>) -> Held<'_> {
        let lock = |at| Some((at, self.lock_lent_now(at)?));
        Held::many(in_order(wanted).into_iter().filter_map(lock).collect())
    }

    /// Locks all shards that a script does not hold yet.
    pub(crate) fn widen<'e>(&'e self, held: Held<'e>, _turn: &ScriptTurn<'_>) -> Held<'e> {
        if held.is_all() {
            return held;
        }
        let widening = self.begin_widening();
        let mut had = held.into_guards().into_iter().peekable();
        let guards = (0..SHARDS)
            .map(|at| match had.next_if(|(held, _)| *held == at) {
                Some((_, data)) => data,
                None => self.lock_at(at),
            })
            .collect();
        self.end_widening(widening);
        Held::All { shards: guards, _batch: None }
    }

    /// Locks further shards for a script.
    pub(crate) fn widen_to<'e>(
        &'e self,
        held: Held<'e>,
        wanted: &[usize],
        turn: &ScriptTurn<'_>,
    ) -> Held<'e> {
        if held.is_all() {
            return held;
        }
        let mut guards = held.into_guards();
        if guards.len() + wanted.len() > WIDEN_ALL_FROM {
            return self.widen(Held::many(guards), turn);
        }
        let widening = self.begin_widening();
        for &at in wanted {
            if let Err(place) = guards.binary_search_by_key(&at, |(held, _)| *held) {
                guards.insert(place, (at, self.lock_at(at)));
            }
        }
        self.end_widening(widening);
        Held::many(guards)
    }

    fn begin_widening(&self) -> MutexGuard<'_, ()> {
        let widening = self.widener.lock();
        self.widening.store(true, SeqCst);
        widening
    }

    fn end_widening(&self, widening: MutexGuard<'_, ()>) {
        self.widening.store(false, SeqCst);
        drop(widening);
    }

    fn lock_at(&self, at: usize) -> ShardGuard<'_> {
        match self.lock_at_once(at) {
            Some(data) => data,
            None => note(at, self.waits.note(|| self.list[at].0.lock())),
        }
    }

    /// Locks a shard, lent or not, if it is free or just about to be.
    #[inline]
    fn lock_at_once(&self, at: usize) -> Option<ShardGuard<'_>> {
        self.lock_lent_now(at).or_else(|| Some(note(at, spin(&self.list[at].0)?)))
    }

    fn try_lock_in_order(&self, wanted: &[usize]) -> Result<Vec<Numbered<'_>>, Busy> {
        'again: loop {
            let mut guards = Vec::with_capacity(wanted.len());
            guards.push((wanted[0], self.try_lock_lent(wanted[0])?));
            for &at in &wanted[1..] {
                match self.try_lock_next(at)? {
                    Some(data) => guards.push((at, data)),
                    None => {
                        drop(guards);
                        drop(self.widener.lock());
                        continue 'again;
                    }
                }
            }
            return Ok(guards);
        }
    }

    /// Locks a shard, lent or not, while holding none; gives up when a script keeps it for long.
    pub(crate) fn try_lock_lent(&self, at: usize) -> Result<ShardGuard<'_>, Busy> {
        ledger::waits();
        if let Some(data) = self.lock_at_once(at) {
            return Ok(data);
        }
        let mutex = &self.list[at].0;
        let wait = || self.unless_busy(|| None, || mutex.try_lock_for(LOOK_FOR_BUSY));
        self.waits.note(wait).map(|data| note(at, data))
    }

    /// Locks a shard while holding lower ones; `None`: they must be let go.
    fn try_lock_next(&self, at: usize) -> Result<Option<ShardGuard<'_>>, Busy> {
        ledger::ascends(at);
        if let Some(data) = self.lock_at_once(at) {
            return Ok(Some(data));
        }
        self.waits.note(|| {
            while !self.widening.load(SeqCst) {
                if let Some(data) = self.list[at].0.try_lock_for(LOOK) {
                    return Ok(Some(note(at, data)));
                }
                if self.is_busy() {
                    return Err(Busy);
                }
            }
            Ok(None)
        })
    }

    /// Tries `now`, and then `soon` for as long as no script runs for too long.
    fn unless_busy<T>(
        &self,
        now: impl FnOnce() -> Option<T>,
        soon: impl Fn() -> Option<T>,
    ) -> Result<T, Busy> {
        if let Some(got) = now() {
            return Ok(got);
        }
        while !self.is_busy() {
            if let Some(got) = soon() {
                return Ok(got);
            }
        }
        Err(Busy)
    }
}

/// Locks what others hold, if they let go of it very soon.
#[cold]
fn spin<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    (0..SPINS).find_map(|_| {
        hint::spin_loop();
        // Looking takes the cache line from its owner less than trying does.
        if mutex.is_locked() { None } else { mutex.try_lock() }
    })
}

fn note(at: usize, data: MutexGuard<'_, ShardData>) -> ShardGuard<'_> {
    ShardGuard { data, _entry: Entry::new(at) }
}

/// Whether no key of a shard is reserved.
#[inline]
fn is_unlent(data: &ShardGuard<'_>) -> bool {
    data.reserved.is_empty()
}

fn in_order(mut wanted: Vec<usize>) -> Vec<usize> {
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// The numbers of all shards.
const ALL: [usize; SHARDS] = {
    let mut all = [0; SHARDS];
    let mut at = 0;
    while at < SHARDS {
        all[at] = at;
        at += 1;
    }
    all
};

/// The lock of a shard, held, with the number of the shard.
type Numbered<'e> = (usize, ShardGuard<'e>);

/// The shards that a command holds locked. Small, as every command carries one.
pub(crate) enum Held<'e> {
    None,
    One(usize, ShardGuard<'e>),
    Many {
        /// In ascending order.
        guards: Box<[Numbered<'e>]>,
        /// The place of the one that was asked for last: most likely it is the next one, too.
        last: usize,
    },
    All {
        shards: Box<[ShardGuard<'e>]>,
        /// No other batch is under way.
        _batch: Option<Batch<'e>>,
    },
}

const _: () = assert!(size_of::<Held<'_>>() <= 32);

impl<'e> Held<'e> {
    fn many(guards: Vec<Numbered<'e>>) -> Self {
        Held::Many { guards: guards.into(), last: 0 }
    }

    fn all(guards: Vec<Numbered<'e>>, batch: Option<Batch<'e>>) -> Self {
        Held::All { shards: guards.into_iter().map(|(_, data)| data).collect(), _batch: batch }
    }

    /// The data of shard `at`, if it is held.
    #[inline]
    pub(crate) fn shard_mut(&mut self, at: usize) -> Option<&mut ShardData> {
        match self {
            Held::None => None,
            Held::One(held, data) => (*held == at).then_some(&mut **data),
            Held::Many { guards, last } => {
                if guards.get(*last).is_none_or(|(held, _)| *held != at) {
                    *last = place_of(guards, at)?;
                }
                Some(&mut *guards[*last].1)
            }
            Held::All { shards: held, .. } => Some(&mut *held[at]),
        }
    }

    /// Where shard `at` is among those that are held, for [`Held::turn_to`]. A wrong place costs time, and no more.
    #[inline]
    pub(crate) fn place(&self, at: usize) -> Option<u16> {
        let place = match self {
            Held::None => None,
            Held::One(held, _) => (*held == at).then_some(0),
            Held::Many { guards, .. } => place_of(guards, at),
            Held::All { .. } => Some(at),
        };
        place.map(|place| place as u16)
    }

    /// The shard in a place is asked for next, most likely: then it is found at once.
    #[inline]
    pub(crate) fn turn_to(&mut self, place: u16) {
        if let Held::Many { last, .. } = self {
            *last = usize::from(place);
        }
    }

    /// The data of the shard of a key that the command has declared. Panics if it is not held.
    #[inline]
    pub(crate) fn shard_of(&mut self, key: &Key<'_>) -> &mut ShardData {
        self.shard_mut(key.shard()).expect("the shards of the declared keys are held")
    }

    /// Whether shard `at` is held.
    #[inline]
    pub(crate) fn holds(&self, at: usize) -> bool {
        match self {
            Held::None => false,
            Held::One(held, _) => *held == at,
            Held::Many { guards, .. } => place_of(guards, at).is_some(),
            Held::All { .. } => true,
        }
    }

    /// Lets go of all shards. Those who wait get them before this thread could lock them again.
    pub(crate) fn hand_over(self) {
        match self {
            Held::None => {}
            Held::One(_, data) => data.hand_over(),
            several => several.into_guards().into_iter().for_each(|(_, data)| data.hand_over()),
        }
    }

    /// Whether nothing is held.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Held::None)
    }

    /// Whether all shards are held.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Held::All { .. })
    }

    /// The proof that all shards are held. Panics if they are not.
    pub(crate) fn all_shards(&self) -> AllShards<'_> {
        assert!(self.is_all(), "all shards are held");
        AllShards(PhantomData)
    }

    /// Whether any of the shards held satisfies `predicate`.
    pub(crate) fn any(&self, predicate: impl Fn(&ShardData) -> bool) -> bool {
        match self {
            Held::None => false,
            Held::One(_, data) => predicate(data),
            Held::Many { guards, .. } => guards.iter().any(|(_, data)| predicate(data)),
            Held::All { shards: held, .. } => held.iter().any(|data| predicate(data)),
        }
    }

    /// Every shard that is held, with its number, in ascending order.
    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = (usize, &mut ShardData)> {
        let (one, many, all) = match self {
            Held::None => (None, None, None),
            Held::One(at, data) => (Some((*at, &mut **data)), None, None),
            Held::Many { guards, .. } => (None, Some(guards), None),
            Held::All { shards: held, .. } => (None, None, Some(held)),
        };
        let many = many.into_iter().flatten().map(|(at, data)| (*at, &mut **data));
        let all = all.into_iter().flatten().enumerate().map(|(at, data)| (at, &mut **data));
        one.into_iter().chain(many).chain(all)
    }

    /// The locks with the numbers of their shards, in ascending order.
    pub(crate) fn into_guards(self) -> Vec<Numbered<'e>> {
        match self {
            Held::None => Vec::new(),
            Held::One(at, data) => vec![(at, data)],
            Held::Many { guards, .. } => guards.into_vec(),
            Held::All { shards: held, .. } => held.into_iter().enumerate().collect(),
        }
    }
}

#[inline]
fn place_of(guards: &[Numbered<'_>], at: usize) -> Option<usize> {
    guards.binary_search_by_key(&at, |(held, _)| *held).ok()
}

#[cfg(test)]
mod tests;
