//! Pictures of measured figures: `--charts FOLDER` draws each chart of the table below from the reports (`--json`) in that folder.
//!
//! A picture is an SVG that needs nothing else: its fonts are the reader's, its colours follow a light or dark page, and every bar and
//! line has its number as text. The same report makes the same bytes, so that a test can tell whether a committed picture is what its
//! report says.

mod bars;
mod lines;
mod report;
mod svg;

use report::Report;
use std::io;
use std::path::Path;

/// How a chart shows its rows.
enum Form {
    /// A group of bars for each row, a bar a server.
    Bars,
    /// A panel of lines for each word that rows begin with, a line a server; the number in a row's name is its place.
    Lines(&'static [&'static str]),
}

/// One picture.
struct Chart {
    /// The file's name, without its ending.
    name: &'static str,
    /// The report that it is drawn from.
    report: &'static str,
    title: &'static str,
    form: Form,
    /// The rows by their names in the report, and what the picture calls them. Lines name none: they are found by their beginnings.
    rows: &'static [(&'static str, &'static str)],
}

const CHARTS: &[Chart] = &[
    Chart {
        name: "memory",
        report: "memory.json",
        title: "Resident memory of the same data, MB (each row to its own scale)",
        form: Form::Bars,
        rows: &[
            ("strings", "5M keys, 16-byte key, 20-byte value"),
            ("10k hashes", "10,000 hashes of 600-1,000 fields"),
            ("sorted sets of 129-200", "20,000 sorted sets of 129-200 members"),
            ("1 large sorted set", "1 sorted set of 2M members"),
            ("1 set of strings", "1 set of 2M strings of 16 bytes"),
            ("20 lists of integers", "20 lists of 1M integers"),
            ("JSON documents, compressed", "24,000 documents in compressed lists"),
        ],
    },
    Chart {
        name: "sizes",
        report: "sizes.json",
        title: "Bytes of memory for an element, by the number of elements in a collection",
        form: Form::Lines(&["list", "hash", "set", "sorted set"]),
        rows: &[],
    },
    Chart {
        name: "cpu",
        report: "cpu.json",
        title: "Processor time of the server for an operation, ns (each row to its own scale)",
        form: Form::Bars,
        rows: &[
            ("SET, pipeline 1", "SET"),
            ("GET, pipeline 1", "GET"),
            ("LPUSH, pipeline 1", "LPUSH"),
            ("RPOP, pipeline 1", "RPOP"),
            ("SET, pipeline 16", "SET, pipeline of 16"),
            ("GET, pipeline 16", "GET, pipeline of 16"),
            ("LPUSH, pipeline 16", "LPUSH, pipeline of 16"),
            ("RPOP, pipeline 16", "RPOP, pipeline of 16"),
        ],
    },
];

/// Draws every chart whose report is in a folder, beside it. Returns the names of the pictures; an error when a report cannot be read,
/// lacks a row, or when there is none.
pub fn draw_all(folder: &Path) -> io::Result<Vec<String>> {
    let mut drawn = Vec::new();
    for chart in CHARTS {
        let path = folder.join(chart.report);
        if path.exists() {
            let name = format!("{}.svg", chart.name);
            std::fs::write(folder.join(&name), draw(chart, &Report::read(&path)?)?)?;
            drawn.push(name);
        }
    }
    if drawn.is_empty() {
        return Err(io::Error::other(format!(
            "{} has none of the reports that charts are drawn from",
            folder.display()
        )));
    }
    Ok(drawn)
}

fn draw(chart: &Chart, report: &Report) -> io::Result<String> {
    match chart.form {
        Form::Bars => {
            let groups: io::Result<Vec<_>> =
                chart.rows.iter().map(|(row, label)| Ok((*label, report.values(row)?))).collect();
            Ok(bars::draw(chart.title, &report.servers(), &groups?))
        }
        Form::Lines(panels) => {
            let panels: io::Result<Vec<_>> =
                panels.iter().map(|panel| Ok((*panel, report.series(panel)?))).collect();
            Ok(lines::draw(chart.title, &report.servers(), &panels?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pictures of the documents are what their reports say.
    #[test]
    fn committed_pictures_are_drawn_from_committed_reports() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks");
        let mut seen = 0;
        for chart in CHARTS.iter().filter(|chart| folder.join(chart.report).exists()) {
            let made = draw(chart, &Report::read(&folder.join(chart.report)).unwrap()).unwrap();
            let committed =
                std::fs::read_to_string(folder.join(format!("{}.svg", chart.name))).unwrap_or_default();
            assert!(made == committed, "{}.svg is not what {} says: make charts", chart.name, chart.report);
            seen += 1;
        }
        assert!(seen > 0, "no report is committed");
    }

    #[test]
    fn a_report_that_lacks_a_row_is_refused() {
        let report =
            Report::parse(r#"{"servers": [{"name": "larder", "version": "1"}], "rows": []}"#).unwrap();
        let error = draw(&CHARTS[0], &report).unwrap_err().to_string();
        assert!(error.contains("strings"), "{error}");
        assert!(Report::parse("[]").is_err());
        assert!(draw_all(Path::new("/nowhere")).is_err());
    }
}
