//! The report as JSON: every run of every figure.

use super::parts::{Cell, Group, Report, Row};
use crate::figure::Target;
use serde::{Serialize, Serializer};

/// Renders a report. What is no number, as an infinity, is null.
pub fn render(report: &Report) -> String {
    let document = Document {
        machine: &report.machine.facts,
        parameters: &report.parameters,
        servers: report
            .servers
            .iter()
            .map(|server| ServerJson {
                name: &server.name,
                version: &server.version,
                command: &server.command,
            })
            .collect(),
        rows: report
            .groups
            .iter()
            .flat_map(|group| group.rows.iter().map(|row| row_json(group, row)))
            .collect(),
        failures: report.groups.iter().flat_map(failures).collect(),
    };
    let text = serde_json::to_string_pretty(&document).expect("every key is a string");
    text + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(serialize_with = "map")]
    machine: &'a [(&'static str, String)],
    #[serde(serialize_with = "map")]
    parameters: &'a [(&'static str, String)],
    servers: Vec<ServerJson<'a>>,
    rows: Vec<RowJson<'a>>,
    failures: Vec<FailureJson<'a>>,
}

#[derive(Serialize)]
struct ServerJson<'a> {
    name: &'a str,
    version: &'a str,
    command: &'a str,
}

#[derive(Serialize)]
struct RowJson<'a> {
    group: &'a str,
    name: &'a str,
    unit: &'a str,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<&'a str>,
    reached: Option<f64>,
    verdict: Option<&'static str>,
    #[serde(serialize_with = "map")]
    values: Vec<(&'a str, CellJson<'a>)>,
}

#[derive(Serialize)]
struct CellJson<'a> {
    median: f64,
    runs: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    worker_median: Option<f64>,
    #[serde(skip_serializing_if = "<[f64]>::is_empty")]
    worker_runs: &'a [f64],
}

#[derive(Serialize)]
struct FailureJson<'a> {
    workload: &'a str,
    server: &'a str,
    error: &'a str,
}

/// Pairs as an object, in their order.
fn map<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &(impl AsRef<[(K, V)]> + ?Sized),
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.as_ref().iter().map(|(name, value)| (name, value)))
}

fn row_json<'a>(group: &'a Group, row: &'a Row) -> RowJson<'a> {
    RowJson {
        group: &group.name,
        name: &row.name,
        unit: row.unit,
        target: super::table::target(row),
        best: matches!(row.target, Target::OfBest(_)).then(|| row.best()).flatten().map(|(name, _)| name),
        reached: group.reached(row),
        verdict: super::table::verdict(group, row),
        values: row.cells.iter().map(|cell| (cell.server.as_str(), cell_json(cell))).collect(),
    }
}

fn cell_json(cell: &Cell) -> CellJson<'_> {
    CellJson {
        median: cell.value(),
        runs: &cell.runs,
        worker_median: cell.worker(),
        worker_runs: &cell.workers,
    }
}

fn failures(group: &Group) -> impl Iterator<Item = FailureJson<'_>> {
    group.failures.iter().map(|failure| FailureJson {
        workload: &failure.workload,
        server: &failure.server,
        error: &failure.error,
    })
}

#[cfg(test)]
mod tests {
    use super::super::parts::tests::{figure, group, rows};
    use super::*;
    use crate::machine::Machine;
    use crate::peer::LARDER;
    use serde_json::{Value, json};

    #[test]
    fn a_report() {
        let machine = Machine { facts: vec![("cpu", "a \"fast\" one\t".to_owned()), ("a", String::new())] };
        let mut group = group();
        group.add(LARDER, vec![figure("none", f64::NAN, None, Target::None)]);
        let text = render(&Report { machine, parameters: vec![], servers: vec![], groups: vec![group] });
        let cpu = text.find("\"cpu\"").expect("the machine is described");
        assert!(cpu < text.find("\"a\"").expect("all of it"), "facts are in their order: {text}");
        let report: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(report["machine"]["cpu"], "a \"fast\" one\t");
        let row = &report["rows"][0];
        assert_eq!(
            (&row["group"], &row["name"], &row["verdict"]),
            (&json!("cpu"), &json!("SET"), &json!("ok"))
        );
        let runs = json!({
            "median": 100.0, "runs": [100.0, 110.0, 90.0],
            "worker_median": 90.0, "worker_runs": [90.0, 100.0, 80.0],
        });
        assert_eq!(row["values"][LARDER], runs);
        assert_eq!(report["rows"][4]["values"][LARDER], json!({"median": null, "runs": [null]}));
        assert_eq!(report["failures"][0]["workload"], "cpu/p16");
    }

    #[test]
    fn rows_name_their_best_peer() {
        let machine = Machine { facts: vec![] };
        let text = render(&Report { machine, parameters: vec![], servers: vec![], groups: vec![rows()] });
        let report: Value = serde_json::from_str(&text).expect("it is JSON");
        let row = &report["rows"][1];
        assert_eq!((&row["best"], &row["verdict"]), (&json!("valkey"), &json!("over (floor)")));
        assert_eq!(row["values"]["floor"]["median"], 60.0);
    }
}
