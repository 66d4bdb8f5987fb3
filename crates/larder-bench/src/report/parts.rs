//! What a report consists of.

use crate::figure::{Figure, Target, median};
use crate::machine::Machine;
use crate::peer::{FLOOR, LARDER, REDIS};

/// Everything of one run.
pub struct Report {
    pub(super) machine: Machine,
    pub(super) parameters: Vec<(&'static str, String)>,
    pub(super) servers: Vec<Described>,
    pub(super) groups: Vec<Group>,
}

/// A server as the report names it.
pub struct Described {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) command: String,
}

/// The rows of one table.
pub struct Group {
    pub(super) name: String,
    pub(super) rows: Vec<Row>,
    pub(super) failures: Vec<Failure>,
}

/// A workload that could not be measured.
pub struct Failure {
    pub(super) workload: String,
    pub(super) server: String,
    pub(super) error: String,
}

/// One line of a table.
pub struct Row {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) target: Target,
    pub(super) cells: Vec<Cell>,
}

/// What one server reached, run by run.
pub struct Cell {
    pub(super) server: String,
    pub(super) runs: Vec<f64>,
    pub(super) workers: Vec<f64>,
}

impl Group {
    /// A group without rows.
    pub fn new(name: &str) -> Self {
        Group { name: name.to_owned(), rows: Vec::new(), failures: Vec::new() }
    }

    /// Adds what one run on a server measured.
    pub fn add(&mut self, server: &str, figures: Vec<Figure>) {
        for figure in figures {
            let cell = self.row(&figure).cell(server);
            cell.runs.push(figure.value);
            cell.workers.extend(figure.worker);
        }
    }

    /// Notes a failure.
    pub fn fail(&mut self, workload: &str, server: &str, error: &str) {
        let [workload, server, error] = [workload, server, error].map(str::to_owned);
        self.failures.push(Failure { workload, server, error });
    }

    pub(super) fn row(&mut self, figure: &Figure) -> &mut Row {
        let at = self.rows.iter().position(|row| row.name == figure.row).unwrap_or_else(|| {
            let (name, target) = (figure.row.clone(), figure.target.clone());
            self.rows.push(Row { name, unit: figure.unit, target, cells: Vec::new() });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    pub(super) fn find(&self, row: &str) -> Option<&Row> {
        self.rows.iter().find(|other| other.name == row)
    }

    /// Whether Larder's median is within the target; `None` where either is missing.
    pub(super) fn verdict(&self, row: &Row) -> Option<bool> {
        let own = row.value(LARDER)?;
        match &row.target {
            Target::None => None,
            Target::Most(most) => Some(own <= *most),
            Target::OfRedis(share) => Some(own <= share * row.value(REDIS)?),
            Target::OfPeer(share, peer) => Some(own <= share * row.value(peer)?),
            Target::OfBest(share) => Some(own <= share * row.best()?.1),
            Target::OfRow(share, name) => Some(own <= share * self.find(name)?.value(LARDER)?),
            Target::AboveRow(more, name) => Some(own <= self.find(name)?.value(LARDER)? + more),
            Target::WorkerOfRow(share, name) => {
                Some(row.worker(LARDER)? <= share * self.find(name)?.worker(LARDER)?)
            }
        }
    }

    /// Larder's value as a share of what the target compares it with.
    pub(super) fn reached(&self, row: &Row) -> Option<f64> {
        match &row.target {
            Target::None => None,
            Target::Most(most) => Some(row.value(LARDER)? / most),
            Target::OfRedis(_) => row.ratio(REDIS),
            Target::OfPeer(_, peer) => row.ratio(peer),
            Target::OfBest(_) => row.ratio(row.best()?.0),
            Target::OfRow(_, name) => Some(row.value(LARDER)? / self.find(name)?.value(LARDER)?),
            Target::AboveRow(more, name) => {
                Some(row.value(LARDER)? / (self.find(name)?.value(LARDER)? + more))
            }
            Target::WorkerOfRow(_, name) => Some(row.worker(LARDER)? / self.find(name)?.worker(LARDER)?),
        }
    }
}

impl Row {
    pub(super) fn cell(&mut self, server: &str) -> &mut Cell {
        let at = self.cells.iter().position(|cell| cell.server == server).unwrap_or_else(|| {
            self.cells.push(Cell { server: server.to_owned(), runs: Vec::new(), workers: Vec::new() });
            self.cells.len() - 1
        });
        &mut self.cells[at]
    }

    pub(super) fn of(&self, server: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.server == server)
    }

    pub(super) fn value(&self, server: &str) -> Option<f64> {
        self.of(server).map(Cell::value)
    }

    pub(super) fn worker(&self, server: &str) -> Option<f64> {
        self.of(server).and_then(Cell::worker)
    }

    /// The peer with the lowest value, and the value.
    pub(super) fn best(&self) -> Option<(&str, f64)> {
        let peers = self.cells.iter().filter(|cell| ![LARDER, FLOOR].contains(&cell.server.as_str()));
        let values = peers.map(|cell| (cell.server.as_str(), cell.value()));
        values.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Whether the target is below what a server takes that answers constants, so that none can reach it.
    pub(super) fn is_below_floor(&self) -> bool {
        let Target::OfBest(share) = self.target else { return false };
        let best = self.best().map(|(_, value)| value);
        best.zip(self.value(FLOOR)).is_some_and(|(best, floor)| share * best < floor)
    }

    /// Larder's value over a peer's.
    pub(super) fn ratio(&self, peer: &str) -> Option<f64> {
        Some(self.value(LARDER)? / self.value(peer)?)
    }
}

impl Cell {
    pub(super) fn value(&self) -> f64 {
        median(self.runs.clone())
    }

    pub(super) fn worker(&self) -> Option<f64> {
        (!self.workers.is_empty()).then(|| median(self.workers.clone()))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn figure(row: &str, value: f64, worker: Option<f64>, target: Target) -> Figure {
        Figure { row: row.to_owned(), unit: "ns/op", value, worker, target }
    }

    pub fn group() -> Group {
        let mut group = Group::new("cpu");
        for (own, peer) in [(100.0, 200.0), (110.0, 190.0), (90.0, 900.0)] {
            group.add(LARDER, vec![figure("SET", own, Some(own - 10.0), Target::OfRedis(0.6))]);
            group.add(REDIS, vec![figure("SET", peer, Some(peer), Target::OfRedis(0.6))]);
        }
        let beside = |share| Target::WorkerOfRow(share, "SET".to_owned());
        group.add(LARDER, vec![figure("GET", 300.0, Some(95.0), beside(1.05))]);
        group.add(LARDER, vec![figure("LPOP", 300.0, None, Target::OfRow(2.0, "SET".to_owned()))]);
        group.add(LARDER, vec![figure("size", 15.0, None, Target::Most(15.0))]);
        group.fail("cpu/p16", REDIS, "it \"broke\"");
        group
    }

    /// Rows with targets of the best peer.
    pub fn rows() -> Group {
        let mut group = Group::new("rows/p1");
        for (row, own, floor) in [("SET", 60.0, 40.0), ("GET", 80.0, 60.0)] {
            for (server, value) in [(LARDER, own), (REDIS, 110.0), ("valkey", 100.0), (FLOOR, floor)] {
                group.add(server, vec![figure(row, value, None, Target::OfBest(0.5))]);
            }
        }
        group
    }

    #[test]
    fn the_best_peer_is_the_one_to_beat() {
        let group = rows();
        let row = |name| group.find(name).unwrap();
        assert_eq!(row("SET").best(), Some(("valkey", 100.0)));
        assert_eq!((group.reached(row("SET")), group.verdict(row("SET"))), (Some(0.6), Some(false)));
        assert_eq!(["SET", "GET"].map(|name| row(name).is_below_floor()), [false, true]);
    }

    #[test]
    fn medians_and_verdicts() {
        let group = group();
        let row = |name| group.find(name).unwrap();
        assert_eq!((row("SET").value(LARDER), row("SET").ratio(REDIS)), (Some(100.0), Some(0.5)));
        assert_eq!(row("SET").worker(LARDER), Some(90.0));
        let verdicts = ["SET", "GET", "LPOP", "size"].map(|name| group.verdict(row(name)));
        assert_eq!(verdicts, [Some(true), Some(false), Some(false), Some(true)]);
        assert_eq!(group.reached(row("LPOP")), Some(3.0));
        assert_eq!(row("LPOP").ratio(REDIS), None);
    }

    #[test]
    fn a_row_may_be_this_much_above_another() {
        let mut group = Group::new("isolation");
        let above = || Target::AboveRow(5.0, "idle".to_owned());
        group.add(LARDER, vec![figure("near", 5.5, None, above()), figure("idle", 1.0, None, Target::None)]);
        group.add(LARDER, vec![figure("far", 9.0, None, above())]);
        let row = |name| group.find(name).unwrap();
        assert_eq!(["near", "far"].map(|name| group.verdict(row(name))), [Some(true), Some(false)]);
        assert_eq!(group.reached(row("far")), Some(1.5));
    }
}
