//! The table of a group, aligned.

use super::parts::{Group, Row};
use crate::figure::Target;
use crate::peer::LARDER;

/// Renders a group: a column a server, the worker threads' part after a stroke, Larder's ratio to each peer.
pub fn render(group: &Group, servers: &[&str]) -> String {
    let mut lines = vec![head(servers)];
    lines.extend(group.rows.iter().map(|row| line(group, row, servers)));
    let mut text = format!("\n== {} ==\n", group.name);
    if group.rows.iter().flat_map(|row| &row.cells).any(|cell| !cell.workers.is_empty()) {
        text += "(processor time: all threads | those that serve clients)\n";
    }
    text += &align(&lines);
    for failure in &group.failures {
        text += &format!("failed: {} on {}: {}\n", failure.workload, failure.server, failure.error);
    }
    text
}

fn head(servers: &[&str]) -> Vec<String> {
    let mut cells = vec!["workload".to_owned(), "unit".to_owned()];
    cells.extend(servers.iter().map(|&name| name.to_owned()));
    cells.extend(peers(servers).map(|name| format!("/{name}")));
    cells.extend(["target", "reached", ""].map(str::to_owned));
    cells
}

fn line(group: &Group, row: &Row, servers: &[&str]) -> Vec<String> {
    let mut cells = vec![row.name.clone(), row.unit.to_owned()];
    cells.extend(servers.iter().map(|name| value(row, name)));
    cells.extend(peers(servers).map(|name| row.ratio(name).map_or_else(dash, |ratio| format!("{ratio:.2}"))));
    cells.push(target(&row.target));
    cells.push(group.reached(row).map_or_else(String::new, |share| format!("{share:.2}")));
    cells.push(group.verdict(row).map_or("", |ok| if ok { "ok" } else { "over" }).to_owned());
    cells
}

fn peers<'a>(servers: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    servers.iter().copied().filter(|&name| name != LARDER)
}

fn value(row: &Row, server: &str) -> String {
    match (row.value(server), row.worker(server)) {
        (Some(value), Some(worker)) => format!("{} | {}", number(value), number(worker)),
        (Some(value), None) => number(value),
        (None, _) => dash(),
    }
}

/// A target in words.
pub fn target(target: &Target) -> String {
    match target {
        Target::None => String::new(),
        Target::Most(most) => format!("<= {}", number(*most)),
        Target::OfRedis(share) => format!("<= {share} of redis"),
        Target::OfPeer(share, peer) => format!("<= {share} of {peer}"),
        Target::OfRow(share, row) => format!("<= {share} of {}", short(row)),
        Target::WorkerOfRow(share, row) => format!("<= {share} of {}, workers", short(row)),
    }
}

/// The part of a row's name that tells it from its neighbours.
fn short(row: &str) -> &str {
    row.rsplit(", ").find(|part| !part.starts_with("pipeline")).unwrap_or(row)
}

/// Three digits or more.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

fn dash() -> String {
    "-".to_owned()
}

/// Pads the cells: the first two columns and the target to the right, numbers to the left.
fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut padded = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let left = column < 2 || column + 3 == columns || column + 1 == columns;
            padded += &if left { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
        }
        text += padded.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::parts::tests::group;
    use super::*;
    use crate::peer::REDIS;

    #[test]
    fn a_table() {
        let text = render(&group(), &[LARDER, REDIS]);
        let expected = "
== cpu ==
(processor time: all threads | those that serve clients)
workload  unit       larder  redis-server  /redis-server  target                   reached
SET       ns/op  100 | 90.0     200 | 200           0.50  <= 0.6 of redis             0.50  ok
GET       ns/op  300 | 95.0             -              -  <= 1.05 of SET, workers     1.06  over
LPOP      ns/op         300             -              -  <= 2 of SET                 3.00  over
size      ns/op        15.0             -              -  <= 15.0                     1.00  ok
failed: cpu/p16 on redis-server: it \"broke\"
";
        assert_eq!(text, expected, "{text}");
    }

    #[test]
    fn numbers_are_short() {
        let texts = [1234.5, 12.34, 1.234, 0.01234].map(number);
        assert_eq!(texts, ["1234", "12.3", "1.23", "0.0123"]);
    }
}
