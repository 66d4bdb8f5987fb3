//! The way of eviction through the keyspace: segment after segment, round after round, the worst of each.
//!
//! Where a segment has enough keys, as it has in all but small databases, a part of them goes at once: one of
//! `maxmemory-samples`, the worst. That is one fetch of the segment, one look at each key and one copy of those that stay for
//! a dozen evictions. Every segment has its turn in each round, and its keys are a random choice: so the keys that go are
//! those that should, but for how much chance gives one segment more of them than another. The threads share the rounds: each
//! takes the next shard that nobody has taken ([`Rounds`]). If each made its own, some segments would have a second turn before
//! others had a first, and keys would go that are better than many that stay.
//!
//! Keys of slots that are on their way here stay: their source goes on to change them, and it is their owner who says which of them go. Where a
//! shard has such slots, keys go one by one.
//!
//! Small segments, few keys that expire among others, and tables of which a snapshot is taken fill the pool, as does
//! `volatile-ttl`, whose samples are not random.

use super::pool::{Judge, Policy, Pool};
use super::turn::{Turn, cost, free, is_noticed, tell};
use crate::delivery::invalidations::Invalidations;
use crate::keyspace::field_expiry::{NEVER, earliest_field_expiry};
use crate::keyspace::hash::hash;
use crate::keyspace::key::{Key, SHARDS};
use crate::keyspace::shard::{ShardData, Table};
use crate::stats::eviction::Rounds;
use larder_collections::key_table::{Old, Sample, SampleFrom, SlotSet};
use larder_collections::value::Value;
use std::sync::atomic::Ordering::Relaxed;

/// More samples than this are not asked for: the pool is too small to profit.
const SAMPLES_MAX: i64 = 64;
/// This many keys go at once, or none.
const BATCH_MIN: usize = 4;
/// Not more of a segment than one key of this many goes at once.
const BATCH_PART_MIN: usize = 4;
/// Bits of a weight that say which slot it is of.
const SLOT_BITS: u32 = 16;

/// A buffer of names that has grown beyond this is not kept.
const NAMES_KEPT_BYTES: usize = 64 << 10;

/// What a look has led to.
pub(super) enum Look {
    /// This many keys are gone.
    Evicted(usize),
    /// There are candidates in the pool, and this many of them may be evicted before more is looked at.
    Candidates(usize),
    /// There is nothing to evict.
    Nothing,
}

/// Where a sweep stands, and what it uses again and again.
#[derive(Default)]
pub(super) struct Sweep {
    /// Keys may be left that could be evicted: somebody has held their shards, or a script has reserved them.
    pub(super) has_passed: bool,
    /// None before the first look.
    shard: Option<usize>,
    db: usize,
    position: u32,
    /// How much each key of a sample is to be evicted, above its slot: among equals the one of the lower slot, which
    /// mostly is the older one.
    weights: Vec<u64>,
    /// The slots of the sample's values that are not inline.
    outs: SlotSet,
    gone: Gone,
}

/// Keys that were evicted and of which somebody is to hear, and values that are not inline.
#[derive(Default)]
struct Gone {
    names: Vec<u8>,
    /// Where each name ends, and when the first field of its hash would have expired.
    ends: Vec<(usize, u64)>,
    values: Vec<Value>,
}

impl Sweep {
    /// Looks at the next segments. `goal_bytes` are to be freed.
    pub(super) fn look(
        &mut self,
        turn: &Turn<'_>,
        policy: Policy,
        goal_bytes: i64,
        pool: &mut Pool,
        rng: &mut fastrand::Rng,
        invalidations: &mut Invalidations,
    ) -> Look {
        let engine = turn.engine;
        // Keys looked at for one that is evicted.
        let per_key = engine.config.hot.maxmemory_samples.load(Relaxed).clamp(1, SAMPLES_MAX) as usize;
        let mut looked = 0;
        let rounds = &engine.eviction.rounds;
        let taken_before = rounds.taken();
        let hidden = engine.cluster.migrations.hidden();
        // Where the sweep stands may be in the middle of a shard, of which the beginning comes last. If other threads have taken
        // shards meanwhile, which may be those that have keys, all are looked at once more.
        for moves in 0..=2 * SHARDS {
            let shard = *self.shard.get_or_insert_with(|| rounds.take_shard());
            // Once it is waited for a moment for one that somebody holds.
            let locked = match self.has_passed {
                true => engine.shards.lock_lent_now(shard),
                false => engine.shards.lock_lent_soon(shard),
            };
            let Some(mut data) = locked else {
                self.has_passed = true;
                self.pass_on(shard, moves, rounds);
                continue;
            };
            if turn.must_stop() {
                break;
            }
            let has_hidden = hidden.of_shard(shard).next().is_some();
            // Of those one is asked for by itself that a script has reserved.
            let one_by_one = has_hidden || !data.reserved.is_empty();
            while let Some((db, sample)) = self.next(&mut data, policy.sample_from()) {
                let table = data.table_mut(db);
                let mut judge = Judge { policy, rules: turn.rules, now_s: turn.now_ms / 1000, rng };
                if !one_by_one && let Some(worst) = self.worst(table, sample, per_key, goal_bytes, &mut judge)
                {
                    self.take(turn, &mut data, db, sample, worst, invalidations);
                    drop(data);
                    self.gone.values.drain(..).for_each(|value| free(engine, value));
                    return Look::Evicted(worst.len());
                }
                table.visit_sample(sample, |_, entry| {
                    if !has_hidden || !hidden.hides(entry.key()) {
                        looked += 1;
                        pool.offer(db, &entry, &mut judge);
                    }
                });
                if looked >= per_key {
                    return candidates(pool, policy, looked / per_key);
                }
            }
            drop(data);
            if moves == SHARDS && rounds.taken() == taken_before + SHARDS {
                break;
            }
            self.pass_on(shard, moves, rounds);
        }
        candidates(pool, policy, 1)
    }

    /// Goes on to the next shard of the round, or after a whole one to the neighbour.
    fn pass_on(&mut self, shard: usize, moves: usize, rounds: &Rounds) {
        let next = if moves < SHARDS { rounds.take_shard() } else { (shard + 1) % SHARDS };
        (self.shard, self.db, self.position) = (Some(next), 0, 0);
    }

    /// The next sample of the shard, if there is one.
    fn next(&mut self, data: &mut ShardData, from: SampleFrom) -> Option<(usize, Sample)> {
        let dbs = data.tables().len();
        while self.db < dbs {
            let db = self.db;
            let sample = data.table_mut(db).sample(from, self.position);
            match sample.and_then(|sample| sample.next) {
                Some(next) => self.position = next,
                None => (self.db, self.position) = (db + 1, 0),
            }
            if let Some(sample) = sample {
                return Some((db, sample));
            }
        }
        None
    }

    /// The slots of the keys of a sample that are to go at once: one key of `per_key`, but of those with values that are
    /// not inline only as many as the goal needs. None if that would be too few, or keys must go one by one.
    fn worst(
        &mut self,
        table: &mut Table,
        sample: Sample,
        per_key: usize,
        goal_bytes: i64,
        judge: &mut Judge<'_>,
    ) -> Option<SlotSet> {
        if judge.policy.sample_from() == SampleFrom::Soonest || table.capture_label().is_some() {
            return None;
        }
        self.weigh(table, sample, judge);
        let share = self.weights.len() / per_key.max(BATCH_PART_MIN);
        if share < BATCH_MIN {
            return None;
        }
        let (worst, _, _) = self.weights.select_nth_unstable_by(share, |a, b| b.cmp(a));
        let all: SlotSet = worst.iter().map(|&weight| slot_of(weight)).collect();
        if !all.meets(self.outs) {
            return Some(all);
        }
        worst.sort_unstable_by(|a, b| b.cmp(a));
        let (mut some, mut freed) = (SlotSet::default(), 0);
        for index in worst.iter().map(|&weight| slot_of(weight)) {
            if freed < goal_bytes || !self.outs.contains(index) {
                freed += table.sampled(sample, index).map_or(0, |entry| cost(&entry) as i64);
                some.add(index);
            }
        }
        Some(some)
    }

    /// Notes how much each key of a sample is to be evicted, and which values are not inline.
    fn weigh(&mut self, table: &mut Table, sample: Sample, judge: &mut Judge<'_>) {
        self.weights.clear();
        self.outs = SlotSet::default();
        table.visit_sample(sample, |index, entry| {
            if index < SlotSet::END {
                self.weights.push(judge.weight(&entry) << SLOT_BITS | (SlotSet::END - index) as u64);
                if !entry.is_inline() {
                    self.outs.add(index);
                }
            }
        });
    }

    /// Removes keys, and tells everybody concerned. The values that are not inline are to be freed.
    fn take(
        &mut self,
        turn: &Turn<'_>,
        data: &mut ShardData,
        db: usize,
        sample: Sample,
        worst: SlotSet,
        invalidations: &mut Invalidations,
    ) {
        let is_noticed = is_noticed(turn.engine, data);
        let Gone { names, ends, values } = &mut self.gone;
        data.table_mut(db).remove_sampled(sample, worst, |record| {
            let mut expires = NEVER;
            if let Old::Out(value) = record.value {
                expires = earliest_field_expiry(&value);
                values.push(value);
            }
            if is_noticed || expires != NEVER {
                names.extend_from_slice(record.key);
                ends.push((names.len(), expires));
            }
        });
        let mut start = 0;
        for (end, expires) in ends.drain(..) {
            let bytes = &names[start..end];
            start = end;
            data.field_expiry.note(db, bytes, expires, NEVER);
            tell(turn, data, db, &Key { bytes, hash: hash(bytes) }, invalidations);
        }
        names.clear();
        names.shrink_to(NAMES_KEPT_BYTES);
    }
}

/// The slot that a weight is of.
fn slot_of(weight: u64) -> usize {
    SlotSet::END - (weight & ((1 << SLOT_BITS) - 1)) as usize
}

/// What is in the pool, if anything, may be evicted: `credit` keys of it.
fn candidates(pool: &Pool, policy: Policy, credit: usize) -> Look {
    // The best of a shard is worth more than the next best of its segment.
    let credit = if policy.sample_from() == SampleFrom::Soonest { 1 } else { credit };
    if pool.is_empty() { Look::Nothing } else { Look::Candidates(credit) }
}
