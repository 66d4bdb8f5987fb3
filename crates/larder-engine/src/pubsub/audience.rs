//! The subscribers of one channel or pattern, by the worker that owns them.
//!
//! Each worker's clients are a sorted list that messages share: it is copied only when somebody comes or goes while a
//! message is in the mail. New clients have the highest ids, so coming is an append as a rule; going is a search and a
//! move of at most 8 bytes a client.
//!
//! Invariants: I1: ids within a group ascend strictly. I2: no group is empty. I3: `len` is the sum of the groups.

use crate::keyspace::address::Address;
use std::sync::Arc;

/// Clients of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub worker: usize,
    pub clients: Arc<Vec<u64>>,
}

/// All subscribers.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    groups: Vec<Group>,
    len: usize,
}

impl Audience {
    /// Takes a client in, unless it is there already.
    pub(crate) fn add(&mut self, who: Address) {
        let at = self.groups.iter().position(|group| group.worker == who.worker).unwrap_or_else(|| {
            self.groups.push(Group { worker: who.worker, clients: Arc::default() });
            self.groups.len() - 1
        });
        let clients = Arc::make_mut(&mut self.groups[at].clients);
        if let Err(place) = clients.binary_search(&who.client) {
            clients.insert(place, who.client);
            self.len += 1;
        }
    }

    /// Takes a client out, if it is there.
    pub(crate) fn remove(&mut self, who: Address) {
        let Some(at) = self.groups.iter().position(|group| group.worker == who.worker) else { return };
        let clients = Arc::make_mut(&mut self.groups[at].clients);
        if let Ok(place) = clients.binary_search(&who.client) {
            clients.remove(place);
            self.len -= 1;
        }
        if clients.is_empty() {
            self.groups.swap_remove(at);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn check(audience: &Audience, expected: &BTreeSet<(usize, u64)>) {
        let mut all = BTreeSet::new();
        for group in audience.groups() {
            assert!(!group.clients.is_empty(), "I2");
            assert!(group.clients.is_sorted_by(|a, b| a < b), "I1");
            all.extend(group.clients.iter().map(|&client| (group.worker, client)));
        }
        assert_eq!(&all, expected);
        assert_eq!(audience.len(), expected.len(), "I3");
    }

    #[test]
    fn those_who_come_and_go() {
        let seed = larder_testkit::seed(3);
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut audience, mut expected) = (Audience::default(), BTreeSet::new());
        for _ in 0..3000 {
            let (worker, client) = (rng.usize(..3), rng.u64(..40));
            let in_the_mail: Vec<Group> = audience.groups().to_vec();
            let before: Vec<Vec<u64>> = in_the_mail.iter().map(|group| group.clients.to_vec()).collect();
            if rng.bool() {
                audience.add(Address { worker, client });
                expected.insert((worker, client));
            } else {
                audience.remove(Address { worker, client });
                expected.remove(&(worker, client));
            }
            check(&audience, &expected);
            assert!(in_the_mail.iter().zip(&before).all(|(group, before)| *group.clients == *before));
        }
    }
}
