//! The table of a group, aligned.

use super::parts::{Group, Row};
use crate::figure::{MOST_OF_BEST, Target};
use crate::peer::{FLOOR, LARDER};

/// Renders a group: a column a server, the worker threads' part after a stroke, Larder's ratio to each peer. The server that answers
/// constants has a column where it was measured.
pub fn render(group: &Group, servers: &[&str]) -> String {
    let mut servers = servers.to_vec();
    if group.rows.iter().any(|row| row.of(FLOOR).is_some()) {
        servers.push(FLOOR);
    }
    let servers = &servers[..];
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
    cells.push(target(row));
    cells.push(group.reached(row).map_or_else(String::new, |share| format!("{share:.2}")));
    cells.push(verdict(group, row).unwrap_or_default().to_owned());
    cells
}

/// Whether the target is reached, in a word; another one where no server can reach it.
pub fn verdict(group: &Group, row: &Row) -> Option<&'static str> {
    Some(match group.verdict(row)? {
        true => "ok",
        false if row.is_below_floor() => "over (floor)",
        false => "over",
    })
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

/// Counts the rows whose targets are parts of the best peer's figures, and names those above what no row may be above.
pub fn summary(groups: &[Group]) -> String {
    let rows = groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    let compared: Vec<_> = rows.filter(|(_, row)| matches!(row.target, Target::OfBest(_))).collect();
    let count = |word| compared.iter().filter(|(group, row)| verdict(group, row) == Some(word)).count();
    if compared.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n{} rows beside the best peer: {} ok, {} over, {} over (floor)\n",
        compared.len(),
        count("ok"),
        count("over"),
        count("over (floor)")
    );
    for (group, row) in compared {
        if let Some(reached) = group.reached(row).filter(|reached| *reached > MOST_OF_BEST) {
            text +=
                &format!("above {MOST_OF_BEST} of the best: {}: {}: {reached:.2}\n", group.name, row.name);
        }
    }
    text
}

/// The target of a row in words.
pub fn target(row: &Row) -> String {
    match &row.target {
        Target::None => String::new(),
        Target::Most(most) => format!("<= {}", number(*most)),
        Target::OfRedis(share) => format!("<= {share} of redis"),
        Target::OfPeer(share, peer) => format!("<= {share} of {peer}"),
        Target::OfBest(share) => {
            let best = row.best().map_or_else(String::new, |(name, _)| format!(", {name}"));
            format!("<= {share} of the best{best}")
        }
        Target::OfRow(share, row) => format!("<= {share} of {}", short(row)),
        Target::AboveRow(more, row) => format!("<= {} above {row}", number(*more)),
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
    use super::super::parts::tests::{figure, group, rows};
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
    fn a_table_with_a_floor() {
        let text = render(&rows(), &[LARDER, REDIS, "valkey"]);
        let expected = "
== rows/p1 ==
workload  unit   larder  redis-server  valkey  floor  /redis-server  /valkey  /floor  target                      reached
SET       ns/op    60.0           110     100   40.0           0.55     0.60    1.50  <= 0.5 of the best, valkey     0.60  over
GET       ns/op    80.0           110     100   60.0           0.73     0.80    1.33  <= 0.5 of the best, valkey     0.80  over (floor)
";
        assert_eq!(text, expected, "{text}");
    }

    #[test]
    fn the_rows_beside_the_best_are_counted() {
        let mut slow = rows();
        for (server, value) in [(LARDER, 96.0), (REDIS, 100.0)] {
            slow.add(server, vec![figure("DEL", value, None, Target::OfBest(0.5))]);
        }
        let expected = "\n3 rows beside the best peer: 0 ok, 2 over, 1 over (floor)\n\
                        above 0.95 of the best: rows/p1: DEL: 0.96\n";
        assert_eq!(summary(&[group(), slow]), expected);
        assert_eq!(summary(&[group()]), "");
    }

    #[test]
    fn numbers_are_short() {
        let texts = [1234.5, 12.34, 1.234, 0.01234].map(number);
        assert_eq!(texts, ["1234", "12.3", "1.23", "0.0123"]);
    }
}
