//! A report as `--json` writes it, read again.

use crate::peer::FLOOR;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What charts need of a report.
#[derive(Deserialize)]
pub struct Report {
    servers: Vec<Server>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    group: String,
    name: String,
    #[serde(default)]
    verdict: Option<String>,
    values: BTreeMap<String, Cell>,
}

#[derive(Deserialize)]
struct Cell {
    median: Option<f64>,
}

/// The values of one row, a server each, in the order of the report; `None` where one was not measured.
pub type Values = Vec<Option<f64>>;

/// A row of a section: what a picture calls it, the values, and the verdict where a target is not reached.
pub struct SectionRow {
    /// Its name without the pipeline.
    pub label: String,
    /// The values, that of the server that answers constants last.
    pub values: Values,
    /// `over`, or `over (floor)`.
    pub fault: Option<String>,
}

impl Report {
    /// Reads a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| fault(path, &error))?;
        Report::parse(&text).map_err(|error| fault(path, &error))
    }

    /// Reads a text.
    pub fn parse(text: &str) -> io::Result<Self> {
        serde_json::from_str(text).map_err(io::Error::from)
    }

    /// The servers by name and version.
    pub fn servers(&self) -> Vec<String> {
        self.servers.iter().map(|server| format!("{} {}", title(&server.name), server.version)).collect()
    }

    /// The values of a row; an error if there is none of this name.
    pub fn values(&self, name: &str) -> io::Result<Values> {
        let row = self.rows.iter().find(|row| row.name == name);
        row.map(|row| self.of(row)).ok_or_else(|| io::Error::other(format!("the report has no row '{name}'")))
    }

    /// The rows `panel, 100 elements`, by their number; an error if there are none.
    pub fn series(&self, panel: &str) -> io::Result<Vec<(u64, Values)>> {
        let number =
            |row: &Row| row.name.strip_prefix(panel)?.strip_prefix(", ")?.split(' ').next()?.parse().ok();
        let found: Vec<_> = self.rows.iter().filter_map(|row| Some((number(row)?, self.of(row)))).collect();
        if found.is_empty() {
            return Err(io::Error::other(format!("the report has no rows that begin with '{panel}, '")));
        }
        Ok(found)
    }

    /// The rows of a group, in their order; an error if there are none.
    pub fn section(&self, group: &str) -> io::Result<Vec<SectionRow>> {
        let rows = self.rows.iter().filter(|row| row.group == group).map(|row| {
            let label = row.name.rsplit_once(", pipeline ").map_or(row.name.as_str(), |(title, _)| title);
            let floor = row.values.get(FLOOR).and_then(|cell| cell.median);
            SectionRow {
                label: label.to_owned(),
                values: self.of(row).into_iter().chain([floor]).collect(),
                fault: row.verdict.clone().filter(|verdict| verdict != "ok"),
            }
        });
        let rows: Vec<SectionRow> = rows.collect();
        if rows.is_empty() {
            return Err(io::Error::other(format!("the report has no rows of '{group}'")));
        }
        Ok(rows)
    }

    fn of(&self, row: &Row) -> Values {
        let value = |server: &Server| row.values.get(&server.name)?.median;
        self.servers.iter().map(value).collect()
    }
}

/// A server's name as people write it.
fn title(name: &str) -> &str {
    match name {
        "larder" => "Larder",
        "redis-server" | "redis8" => "Redis",
        "valkey" => "Valkey",
        "dragonfly" => "Dragonfly",
        other => other,
    }
}

fn fault(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
