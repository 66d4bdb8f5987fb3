//! Who has reported that a node cannot be reached.

use crate::node_key::NodeKey;

/// Reports of a failure, each by another node. 16 bytes a report; O(log n) to find one, O(n) to add or remove it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    /// The reporter and the time of its last report, in the order of reporters.
    reports: Vec<(NodeKey, u64)>,
}

impl Reports {
    /// Notes a report; whether this reporter had none.
    pub fn add(&mut self, reporter: NodeKey, now: u64) -> bool {
        match self.position(reporter) {
            Ok(at) => {
                self.reports[at].1 = now;
                false
            }
            Err(at) => {
                self.reports.insert(at, (reporter, now));
                true
            }
        }
    }

    /// Takes back a report.
    pub fn remove(&mut self, reporter: NodeKey) {
        if let Ok(at) = self.position(reporter) {
            self.reports.remove(at);
        }
    }

    /// Number of reports that are not older than a time; forgets the others.
    pub fn count_since(&mut self, oldest: u64) -> usize {
        self.reports.retain(|&(_, time)| time >= oldest);
        self.reports.len()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.reports.clear();
    }

    /// The reporters, and when they reported.
    pub fn iter(&self) -> impl Iterator<Item = (NodeKey, u64)> + '_ {
        self.reports.iter().copied()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    fn position(&self, reporter: NodeKey) -> Result<usize, usize> {
        self.reports.binary_search_by_key(&reporter, |&(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reporter_counts_once_and_for_a_time() {
        let mut reports = Reports::default();
        assert!(reports.add(NodeKey(5), 10) && reports.add(NodeKey(2), 20) && !reports.add(NodeKey(5), 30));
        assert_eq!(reports.iter().collect::<Vec<_>>(), [(NodeKey(2), 20), (NodeKey(5), 30)]);
        assert_eq!(reports.count_since(20), 2);
        assert_eq!(reports.count_since(21), 1);
        reports.remove(NodeKey(2));
        reports.remove(NodeKey(5));
        assert!(reports.is_empty());
    }
}
