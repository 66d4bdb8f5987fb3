//! Random members, each with the same chance.

use super::{Element, Set};
use std::collections::HashSet;
use std::sync::Arc;

/// Distinct samples that are more than this part of the set are drawn from a list of all members.
const SPARSE: u64 = 3;

impl Set {
    /// A random member; None if there is none.
    pub fn sample(&self, rng: &mut fastrand::Rng) -> Option<Element<'_>> {
        if self.is_empty() {
            return None;
        }
        let ints = self.ints().map_or(0, |ints| ints.len());
        let rank = rng.u64(..self.len());
        match self.ints() {
            Some(part) if rank < ints => part.select(rank).map(Element::Int),
            _ => self.strings()?.sample(rng).map(|row| Element::Bytes(row.key())),
        }
    }

    /// This many different members, or all of them if they are fewer; in no order to rely on.
    pub fn sample_distinct(&self, count: u64, rng: &mut fastrand::Rng) -> Vec<Element<'_>> {
        if count.saturating_mul(SPARSE) <= self.len() {
            return self.sample_sparsely(count as usize, rng);
        }
        let mut all: Vec<_> = self.iter().collect();
        let count = usize::try_from(count).map_or(all.len(), |count| count.min(all.len()));
        if count < all.len() {
            for at in 0..count {
                let other = rng.usize(at..all.len());
                all.swap(at, other);
            }
            all.truncate(count);
        }
        all
    }

    /// Takes a random member out and shows it to `f`.
    pub fn pop<R>(&mut self, rng: &mut fastrand::Rng, f: impl FnOnce(Element<'_>) -> R) -> Option<R> {
        let rank = rng.u64(..self.len().max(1));
        let popped = match self {
            Set::Ints(ints) => {
                let value = ints.select(rank)?;
                ints.remove(value);
                Some(f(Element::Int(value)))
            }
            Set::Strings(strings) => pop_string(strings, rng, f),
            Set::Both(parts) => {
                let parts = Arc::make_mut(parts);
                match parts.ints.select(rank) {
                    Some(value) => {
                        parts.ints.remove(value);
                        Some(f(Element::Int(value)))
                    }
                    None => pop_string(&mut parts.strings, rng, f),
                }
            }
        };
        self.drop_empty_part();
        popped
    }

    fn sample_sparsely(&self, count: usize, rng: &mut fastrand::Rng) -> Vec<Element<'_>> {
        let (mut seen, mut picked) = (HashSet::new(), Vec::with_capacity(count));
        while picked.len() < count {
            let Some(element) = self.sample(rng) else { break };
            // Nothing moves meanwhile, so that the place of a string tells it from others.
            let identity = match element {
                Element::Int(value) => (true, value as u64, 0),
                Element::Bytes(bytes) => (false, bytes.as_ptr() as u64, bytes.len()),
            };
            if seen.insert(identity) {
                picked.push(element);
            }
        }
        picked
    }
}

fn pop_string<R>(
    strings: &mut super::Table<super::Member>,
    rng: &mut fastrand::Rng,
    f: impl FnOnce(Element<'_>) -> R,
) -> Option<R> {
    let member = strings.sample(rng)?.key().to_vec();
    strings.take(&member, |row| f(Element::Bytes(row.key())))
}
