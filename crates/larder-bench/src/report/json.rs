//! The report as JSON: every run of every figure.

use super::parts::{Cell, Group, Report, Row};
use std::fmt::Write;

/// Renders a report.
pub fn render(report: &Report) -> String {
    let pairs =
        |list: &[(&'static str, String)]| object(list.iter().map(|(name, value)| (*name, string(value))));
    let servers = report.servers.iter().map(|server| {
        let fields = [("name", &server.name), ("version", &server.version), ("command", &server.command)];
        object(fields.into_iter().map(|(name, value)| (name, string(value))))
    });
    let rows = report.groups.iter().flat_map(|group| group.rows.iter().map(|one| row(group, one)));
    let fields = [
        ("machine", pairs(&report.machine.facts)),
        ("parameters", pairs(&report.parameters)),
        ("servers", array(servers)),
        ("rows", lines(rows)),
        ("failures", array(report.groups.iter().flat_map(failures))),
    ];
    object(fields.into_iter()) + "\n"
}

fn row(group: &Group, row: &Row) -> String {
    let verdict = group.verdict(row).map_or("null", |ok| if ok { "\"ok\"" } else { "\"over\"" });
    let fields = [
        ("group", string(&group.name)),
        ("name", string(&row.name)),
        ("unit", string(row.unit)),
        ("target", string(&super::table::target(&row.target))),
        ("reached", group.reached(row).map_or_else(|| "null".to_owned(), number)),
        ("verdict", verdict.to_owned()),
        ("values", object(row.cells.iter().map(|one| (one.server.as_str(), cell(one))))),
    ];
    object(fields.into_iter())
}

fn cell(cell: &Cell) -> String {
    let mut fields = vec![("median", number(cell.value())), ("runs", numbers(&cell.runs))];
    if let Some(worker) = cell.worker() {
        fields.extend([("worker_median", number(worker)), ("worker_runs", numbers(&cell.workers))]);
    }
    object(fields.into_iter())
}

fn failures(group: &Group) -> impl Iterator<Item = String> {
    group.failures.iter().map(|failure| {
        let fields =
            [("workload", &failure.workload), ("server", &failure.server), ("error", &failure.error)];
        object(fields.into_iter().map(|(name, value)| (name, string(value))))
    })
}

fn object<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> = fields.map(|(name, value)| format!("{}: {value}", string(name))).collect();
    format!("{{{}}}", fields.join(", "))
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// An array with an item a line.
fn lines(items: impl Iterator<Item = String>) -> String {
    format!("[\n{}\n]", items.collect::<Vec<_>>().join(",\n"))
}

fn numbers(values: &[f64]) -> String {
    array(values.iter().map(|&value| number(value)))
}

/// JSON knows no infinities.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { "null".to_owned() }
}

fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if control < ' ' => drop(write!(out, "\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::super::parts::tests::group;
    use super::*;
    use crate::machine::Machine;

    #[test]
    fn a_report() {
        let machine = Machine { facts: vec![("cpu", "a \"fast\" one\t".to_owned())] };
        let report = Report { machine, parameters: vec![], servers: vec![], groups: vec![group()] };
        let text = render(&report);
        assert!(text.starts_with("{\"machine\": {\"cpu\": \"a \\\"fast\\\" one\\u0009\"}, "), "{text}");
        assert!(
            text.contains("\"larder\": {\"median\": 100, \"runs\": [100, 110, 90], \"worker_median\": 90,")
        );
        assert!(text.contains("\"failures\": [{\"workload\": \"cpu/p16\","));
        assert_eq!(number(f64::NAN), "null");
    }
}
