//! What was measured: a line for each cell, the figures of the report, and how many cells keep the target.

use super::cell::{Cell, MORE_MS};
use super::heavy::{Heavy, Scope};
use super::probes::KINDS;
use crate::figure::{Figure, Target};
use crate::peer::LARDER;

/// Letters of the longest title.
pub const TITLE: usize = 38;

/// The head of the table of cells with this many threads, and whether the machine has a core for the rest.
pub fn head(threads: usize, cores: usize) -> String {
    let title = "milliseconds";
    format!(
        "\n== isolation, {threads} threads{} ==\n{title:TITLE$}  keys  {:14} {:>5} {:>9}  {:>10}  {:>8} {:>8} {:>8} {:>8}  {:>6}\n",
        without_core(threads, cores),
        "server",
        "times",
        "took",
        "idle p99.9",
        "p50",
        "p99",
        "p99.9",
        "longest",
        "late",
    )
}

/// A word on machines where the server's threads leave no core to others.
fn without_core(threads: usize, cores: usize) -> String {
    if has_core(threads, cores) { String::new() } else { format!(", no free core ({cores} cores)") }
}

/// Whether a machine has a core that the server's threads leave to others.
pub fn has_core(threads: usize, cores: usize) -> bool {
    cores > threads
}

/// The line of a cell; one that misses the target says which probes wait.
pub fn line(heavy: &Heavy, server: &str, cell: &Cell) -> String {
    let (idle, beside) = (&cell.idle, &cell.beside);
    let scope = match heavy.scope {
        Scope::Keys => "own",
        Scope::Keyspace => "all",
    };
    let mut text = format!(
        "{:TITLE$}  {scope:4}  {server:14} {:>5} {:>9}  {:>10}  {:>8} {:>8} {:>8} {:>8}  {:>6}",
        heavy.title,
        cell.executions,
        ms(cell.took_ms),
        ms(idle.p999),
        ms(beside.p50),
        ms(beside.p99),
        ms(beside.p999),
        ms(beside.longest),
        ms(cell.late_ms),
    );
    if !cell.is_kept() {
        let kinds: Vec<String> =
            KINDS.iter().zip(cell.kinds_ms).map(|((name, _), own)| format!("{name} {}", ms(own))).collect();
        text += &format!("  over ({})", kinds.join(", "));
    }
    text.push('\n');
    text
}

/// The figures of a cell, in milliseconds. A row of the report is a figure of a command, its columns are the servers.
pub fn figures(heavy: &Heavy, cell: &Cell) -> Vec<Figure> {
    let row = |what: &str| format!("{}: {what}", heavy.title);
    let figure = |what: &str, value: f64, target: Target| Figure {
        row: row(what),
        unit: "ms",
        value,
        worker: None,
        target,
    };
    let plain = |what: &str, value: f64| figure(what, value, Target::None);
    vec![
        plain("took", cell.took_ms),
        plain("idle p50", cell.idle.p50),
        plain("idle p99", cell.idle.p99),
        plain("idle p99.9", cell.idle.p999),
        plain("idle longest", cell.idle.longest),
        plain("p50", cell.beside.p50),
        plain("p99", cell.beside.p99),
        figure("p99.9", cell.beside.p999, Target::AboveRow(MORE_MS, row("idle p99.9"))),
        plain("longest", cell.beside.longest),
        plain("late p99.9", cell.late_ms),
    ]
}

/// How many cells keep the target, by server.
pub fn summary(threads: usize, cores: usize, cells: &[(&str, bool)]) -> String {
    let mut servers: Vec<&str> = Vec::new();
    for (server, _) in cells {
        if !servers.contains(server) {
            servers.push(server);
        }
    }
    let mut text = String::new();
    for server in servers {
        let own: Vec<bool> =
            cells.iter().filter(|(name, _)| *name == server).map(|(_, kept)| *kept).collect();
        let kept = own.iter().filter(|&&kept| kept).count();
        let name = if server == LARDER { format!("{server}, {threads} threads") } else { server.to_owned() };
        text += &format!("{name}: p99.9 at most {MORE_MS} ms above idle in {kept} of {} cells", own.len());
        text += &without_core(threads, cores);
        text.push('\n');
    }
    text
}

/// A number of milliseconds, three digits or more.
fn ms(value: f64) -> String {
    match value {
        large if large >= 100.0 => format!("{large:.0}"),
        medium if medium >= 10.0 => format!("{medium:.1}"),
        small => format!("{small:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isolation::answer::Wanted;
    use crate::isolation::spread::Spread;
    use crate::report::Group;

    fn cell(p999: f64) -> Cell {
        let spread = |p999| Spread { count: 6000, p50: 0.1, p99: 0.5, p999, longest: 2.0 * p999 };
        Cell {
            took_ms: 1234.5,
            executions: 1,
            idle: spread(1.5),
            beside: spread(p999),
            kinds_ms: [0.2, 12.0, 0.2, 0.1],
            late_ms: 0.1,
        }
    }

    #[test]
    fn a_line_says_who_waits() {
        let heavy = Heavy::new("DEL of much", &[], "DEL a", Wanted::Integer);
        let text = line(&heavy, "larder", &cell(6.5));
        assert!(text.contains(" own ") && text.ends_with("13.0    0.10\n"), "{text}");
        let text = line(&heavy.everywhere(), "larder", &cell(6.6));
        assert!(text.contains(" all ") && text.contains("1234"), "{text}");
        assert!(text.ends_with("over (GET 0.20, SET 12.0, HGET 0.20, PING 0.10)\n"), "{text}");
    }

    #[test]
    fn heads_stand_above_their_columns() {
        let heavy = Heavy::new("DEL of much", &[], "DEL a", Wanted::Integer);
        let head = head(2, 4);
        let (line, head) = (line(&heavy, "larder", &cell(1.0)), head.lines().last().expect("it has lines"));
        assert_eq!(line.trim_end().len(), head.len(), "{head}\n{line}");
    }

    #[test]
    fn the_report_has_the_target() {
        let heavy = Heavy::new("DEL of much", &[], "DEL a", Wanted::Integer);
        let figures = figures(&heavy, &cell(6.6));
        let names: std::collections::HashSet<&str> =
            figures.iter().map(|figure| figure.row.as_str()).collect();
        assert_eq!(names.len(), figures.len());
        let targets = figures.iter().filter(|figure| figure.target != Target::None).count();
        assert_eq!(targets, 1);
        let mut group = Group::new("isolation");
        group.add(LARDER, figures);
    }

    #[test]
    fn cells_are_counted() {
        let cells = [("larder", true), ("valkey", false), ("larder", false)];
        let expected = "larder, 2 threads: p99.9 at most 5 ms above idle in 1 of 2 cells, no free core (2 cores)\n\
                        valkey: p99.9 at most 5 ms above idle in 0 of 1 cells, no free core (2 cores)\n";
        assert_eq!(summary(2, 2, &cells), expected);
        assert!(has_core(2, 3) && !has_core(4, 4));
    }
}
