//! Pictures of measured figures: `--charts FOLDER` draws each chart of the table below from the reports (`--json`) in that folder.
//!
//! A picture is an SVG that needs nothing else: its fonts are the reader's, its colours follow a light or dark page, and every bar and
//! line has its number as text. The same report makes the same bytes, so that a test can tell whether a committed picture is what its
//! report says.

mod bars;
mod lines;
mod report;
mod svg;

use bars::Bars;
use report::Report;
use std::io;
use std::path::Path;

/// How a chart shows its rows.
enum Form {
    /// A group of bars for each row, a bar a server.
    Bars,
    /// The same for all rows of a group of the report, with a bar for the server that answers constants.
    Section(&'static str),
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
    /// The rows by their names in the report, and what the picture calls them. Lines name none: they are found by their beginnings; sections have all rows.
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
        name: "small",
        report: "small.json",
        title: "Resident memory of many small collections, MB (each row to its own scale)",
        form: Form::Bars,
        rows: &[
            ("objects of 5 fields", "500,000 objects of 5 fields"),
            ("objects of 10 fields", "300,000 objects of 10 fields"),
            ("objects of 34 fields", "100,000 objects of 34 fields"),
            ("hashes of 3 fields", "200,000 hashes of 3 fields"),
            ("sets of 3", "200,000 sets of 3 strings"),
            ("sets of 10", "100,000 sets of 10 strings"),
            ("lists of 3", "200,000 lists of 3 strings"),
            ("lists of 10", "100,000 lists of 10 strings"),
            ("sorted sets of 3", "200,000 sorted sets of 3 members"),
            ("sorted sets of 10", "100,000 sorted sets of 10 members"),
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
    Chart {
        name: "scaling",
        report: "scaling.json",
        title: "Millions of operations a second without sockets, by the number of threads",
        form: Form::Lines(&["GET", "SET", "INCR", "LPUSH", "HSET", "ZADD"]),
        rows: &[],
    },
    section(
        "rows-p100",
        "rows/p100",
        "One element, pipeline of 100: processor time of the server, ns a command",
    ),
    section("rows-p16", "rows/p16", "Pipeline of 16: processor time of the server, ns a command"),
    section("rows-p1", "rows/p1", "One element, no pipeline: processor time of the server, ns a command"),
    section("rows-replies", "rows/replies", "Replies of 10 to 1,000 elements: processor time, ns a command"),
    section(
        "rows-misses",
        "rows/misses",
        "What finds nothing, pipeline of 100: processor time, ns a command",
    ),
    section("rows-several", "rows/several", "Several keys, fields or members: processor time, ns a command"),
    section("rows-whole", "rows/whole", "Whole collections: processor time of the server, ns a command"),
];

/// All rows of a group of the report of `rows`.
const fn section(name: &'static str, group: &'static str, title: &'static str) -> Chart {
    Chart { name, report: "rows.json", title, form: Form::Section(group), rows: &[] }
}

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
            let groups: io::Result<Vec<_>> = chart
                .rows
                .iter()
                .map(|(row, label)| Ok(Bars { label, values: report.values(row)?, fault: None }))
                .collect();
            Ok(bars::draw(chart.title, &report.servers(), &groups?))
        }
        Form::Section(group) => {
            let rows = report.section(group)?;
            let bars: Vec<Bars> = rows
                .iter()
                .map(|row| Bars {
                    label: &row.label,
                    values: row.values.clone(),
                    fault: row.fault.as_deref(),
                })
                .collect();
            let mut servers = report.servers();
            servers.push("constants".to_owned());
            Ok(bars::draw(chart.title, &servers, &bars))
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

    /// Every section of the table of rows has a picture, and every picture a section.
    #[test]
    fn sections_are_drawn() {
        let drawn: Vec<&str> = CHARTS
            .iter()
            .filter_map(|chart| if let Form::Section(group) = chart.form { Some(group) } else { None })
            .collect();
        let mut sections: Vec<String> =
            crate::rows::all().iter().map(|row| format!("rows/{}", row.section)).collect();
        sections.dedup();
        assert_eq!(drawn, sections);
        let report = Report::parse(
            r#"{"servers": [{"name": "larder", "version": "1"}, {"name": "valkey", "version": "9"}], "rows": [
                {"group": "rows/p1", "name": "SET, pipeline 1", "verdict": "over (floor)", "values": {
                    "larder": {"median": 90}, "valkey": {"median": 100}, "floor": {"median": 80}}},
                {"group": "other", "name": "stranger", "verdict": null, "values": {}}]}"#,
        )
        .unwrap();
        let chart = section("t", "rows/p1", "t");
        let file = draw(&chart, &report).unwrap();
        let texts = [">SET<", ">90, over (floor)<", ">100 (1.1 x)<", ">80 (0.9 x)<", ">constants<"];
        assert!(texts.iter().all(|text| file.contains(text)), "{file}");
        assert!(!file.contains("stranger") && draw(&section("t", "rows/unknown", "t"), &report).is_err());
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
