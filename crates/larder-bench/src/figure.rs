//! What a workload measures.

/// No command may take Larder more than this part of what it takes the best peer.
pub const MOST_OF_BEST: f64 = 0.95;

/// One measured number of one server.
pub struct Figure {
    /// The row of the group's table.
    pub row: String,
    /// What the number counts.
    pub unit: &'static str,
    /// The number.
    pub value: f64,
    /// The part of it that the worker threads alone spent, where it is processor time.
    pub worker: Option<f64>,
    /// What Larder is to reach.
    pub target: Target,
}

/// What Larder is to reach, as an upper limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Nothing: the row is for information.
    None,
    /// A value.
    Most(f64),
    /// This times the value of redis-server in the same run.
    OfRedis(f64),
    /// This times the value of another peer, by its name, in the same run.
    OfPeer(f64, &'static str),
    /// This times the lowest value of all peers in the same run.
    OfBest(f64),
    /// This times Larder's own value in another row of the group.
    OfRow(f64, String),
    /// This much more than Larder's own value in another row of the group.
    AboveRow(f64, String),
    /// This times Larder's own value in another row, comparing the worker threads alone.
    WorkerOfRow(f64, String),
}

/// Processor time per operation in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Of the whole process.
    pub whole: f64,
    /// Of all threads but those that work in the background.
    pub worker: f64,
}

impl Cost {
    /// The cost of all shared out among this many.
    pub fn per(self, operations: u64) -> Self {
        let operations = operations.max(1) as f64;
        Cost { whole: self.whole / operations, worker: self.worker / operations }
    }
}

/// The middle of some numbers; NaN of none.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => numbers[n / 2],
        n => f64::midpoint(numbers[n / 2 - 1], numbers[n / 2]),
    }
}

/// The median of several costs, each part for itself.
pub fn median_cost(costs: &[Cost]) -> Cost {
    Cost {
        whole: median(costs.iter().map(|cost| cost.whole).collect()),
        worker: median(costs.iter().map(|cost| cost.worker).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![]).is_nan());
        let costs = [Cost { whole: 1.0, worker: 9.0 }, Cost { whole: 3.0, worker: 7.0 }];
        assert_eq!(median_cost(&costs), Cost { whole: 2.0, worker: 8.0 });
    }
}
