//! Random fields.

use super::{Field, Form, Hash};
use std::collections::HashSet;

/// Draws in a row that may hit due fields before all fields are looked at.
const DRAWS_MAX: usize = 64;
/// When more than one field of this many is wanted, walking over all is faster than drawing.
const DRAW_PART: usize = 4;

impl Hash {
    /// A field that readers see, each with the same chance; None when there is none.
    pub fn random(&self, now_ms: u64, rng: &mut fastrand::Rng) -> Option<Field<'_>> {
        let Form::Table(table) = &self.form else {
            return self.iter(now_ms).nth(rng.usize(..self.len().max(1)));
        };
        for _ in 0..DRAWS_MAX {
            let field = Field::of(table.sample(rng)?);
            if field.is_live(now_ms) {
                return Some(field);
            }
        }
        let live = self.live(now_ms);
        self.iter(now_ms).nth(if live == 0 { 0 } else { rng.usize(..live) })
    }

    /// Visits `count` different fields that readers see, all sets of this many with the same chance; fewer if there are
    /// not that many. Returns their number.
    pub fn random_distinct(
        &self,
        count: usize,
        now_ms: u64,
        rng: &mut fastrand::Rng,
        mut visit: impl FnMut(Field<'_>),
    ) -> usize {
        let live = self.live(now_ms);
        let count = count.min(live);
        if count > live / DRAW_PART || live < self.len() {
            self.choose(count, live, now_ms, rng, visit);
            return count;
        }
        let mut drawn = HashSet::with_capacity(count);
        while drawn.len() < count {
            let Some(field) = self.random(now_ms, rng) else { break };
            if drawn.insert(field.name) {
                visit(field);
            }
        }
        drawn.len()
    }

    /// Walks over all fields and takes each with the chance that is left for it.
    fn choose(
        &self,
        count: usize,
        live: usize,
        now_ms: u64,
        rng: &mut fastrand::Rng,
        mut visit: impl FnMut(Field<'_>),
    ) {
        let (mut wanted, mut left) = (count, live);
        for field in self.iter(now_ms) {
            if wanted == 0 {
                return;
            }
            if rng.usize(..left) < wanted {
                visit(field);
                wanted -= 1;
            }
            left -= 1;
        }
    }
}
