//! What was measured, as tables and as JSON.

mod json;
mod table;

use crate::cli::Options;
use crate::figure::{Figure, Target, median};
use crate::machine::Machine;
use crate::rival::{LARDER, REDIS, Rival};

/// Everything of one run.
pub struct Report {
    machine: Machine,
    parameters: Vec<(&'static str, String)>,
    servers: Vec<Described>,
    groups: Vec<Group>,
}

/// A server as the report names it.
struct Described {
    name: String,
    version: String,
    command: String,
}

/// The rows of one table.
pub struct Group {
    name: String,
    rows: Vec<Row>,
    failures: Vec<Failure>,
}

/// A workload that could not be measured.
struct Failure {
    workload: String,
    server: String,
    error: String,
}

/// One line of a table.
struct Row {
    name: String,
    unit: &'static str,
    target: Target,
    cells: Vec<Cell>,
}

/// What one server reached, run by run.
struct Cell {
    server: String,
    runs: Vec<f64>,
    workers: Vec<f64>,
}

impl Report {
    /// A report without figures.
    pub fn new(machine: Machine, options: &Options, rivals: &[Rival]) -> Self {
        let parameters = vec![
            ("scale", options.scale.to_string()),
            ("repeat", options.repeat.to_string()),
            ("threads", options.threads.to_string()),
        ];
        let describe = |rival: &Rival| Described {
            name: rival.name.clone(),
            version: rival.version.clone(),
            command: rival.command().0.join(" "),
        };
        Report { machine, parameters, servers: rivals.iter().map(describe).collect(), groups: Vec::new() }
    }

    /// The machine and the servers, to print first.
    pub fn heading(&self) -> String {
        let facts = self.machine.facts.iter().chain(&self.parameters);
        let mut text: String = facts.map(|(name, value)| format!("{name}: {value}\n")).collect();
        for server in &self.servers {
            text += &format!("{}: version {}, {}\n", server.name, server.version, server.command);
        }
        text
    }

    /// Adds a group and returns its table.
    pub fn add(&mut self, group: Group) -> String {
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        let text = table::render(&group, &names);
        self.groups.push(group);
        text
    }

    /// Everything as JSON.
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// Whether a workload could not be measured.
    pub fn failed(&self) -> bool {
        self.groups.iter().any(|group| !group.failures.is_empty())
    }
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

    fn row(&mut self, figure: &Figure) -> &mut Row {
        let at = self.rows.iter().position(|row| row.name == figure.row).unwrap_or_else(|| {
            let (name, target) = (figure.row.clone(), figure.target.clone());
            self.rows.push(Row { name, unit: figure.unit, target, cells: Vec::new() });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    fn find(&self, row: &str) -> Option<&Row> {
        self.rows.iter().find(|other| other.name == row)
    }

    /// Whether Larder's median is within the target; `None` where either is missing.
    fn verdict(&self, row: &Row) -> Option<bool> {
        let own = row.value(LARDER)?;
        match &row.target {
            Target::None => None,
            Target::Most(most) => Some(own <= *most),
            Target::OfRedis(share) => Some(own <= share * row.value(REDIS)?),
            Target::OfRow(share, name) => Some(own <= share * self.find(name)?.value(LARDER)?),
            Target::WorkerOfRow(share, name) => {
                Some(row.worker(LARDER)? <= share * self.find(name)?.worker(LARDER)?)
            }
        }
    }

    /// Larder's value as a share of what the target compares it with.
    fn reached(&self, row: &Row) -> Option<f64> {
        match &row.target {
            Target::None => None,
            Target::Most(most) => Some(row.value(LARDER)? / most),
            Target::OfRedis(_) => row.ratio(REDIS),
            Target::OfRow(_, name) => Some(row.value(LARDER)? / self.find(name)?.value(LARDER)?),
            Target::WorkerOfRow(_, name) => Some(row.worker(LARDER)? / self.find(name)?.worker(LARDER)?),
        }
    }
}

impl Row {
    fn cell(&mut self, server: &str) -> &mut Cell {
        let at = self.cells.iter().position(|cell| cell.server == server).unwrap_or_else(|| {
            self.cells.push(Cell { server: server.to_owned(), runs: Vec::new(), workers: Vec::new() });
            self.cells.len() - 1
        });
        &mut self.cells[at]
    }

    fn of(&self, server: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.server == server)
    }

    fn value(&self, server: &str) -> Option<f64> {
        self.of(server).map(Cell::value)
    }

    fn worker(&self, server: &str) -> Option<f64> {
        self.of(server).and_then(Cell::worker)
    }

    /// Larder's value over a peer's.
    fn ratio(&self, peer: &str) -> Option<f64> {
        Some(self.value(LARDER)? / self.value(peer)?)
    }
}

impl Cell {
    fn value(&self) -> f64 {
        median(self.runs.clone())
    }

    fn worker(&self) -> Option<f64> {
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
}
