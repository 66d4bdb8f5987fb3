//! The text format of Prometheus, version 0.0.4: families of samples, a line each.
//!
//! Source: "Text-based format" in Prometheus's documentation of exposition formats.

use std::fmt::{Display, Write};

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts by upper limits.
    Histogram,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        }
    }
}

/// Writes a page.
pub(super) struct Page<'t> {
    text: &'t mut String,
}

impl<'t> Page<'t> {
    /// Appends to `text`.
    pub fn new(text: &'t mut String) -> Self {
        Page { text }
    }

    /// Begins a family; its samples are to follow. `name` is without the prefix `larder_`, which all have.
    pub fn family(&mut self, name: &str, kind: Type, help: &str) {
        let kind = kind.name();
        let _ = write!(self.text, "# HELP larder_{name} {help}\n# TYPE larder_{name} {kind}\n");
    }

    /// Adds a sample to the family that was begun last.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.text, "larder_{name}");
        for (index, (label, value)) in labels.iter().enumerate() {
            self.text.push_str(if index == 0 { "{" } else { "," });
            let _ = write!(self.text, "{label}=\"");
            escape(value, self.text);
            self.text.push('"');
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// A family of one sample that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, Type::Gauge, help);
        self.sample(name, &[], value);
    }

    /// A family of one sample that only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, Type::Counter, help);
        self.sample(name, &[], value);
    }

    /// A family with a sample for each value of one label.
    pub fn by<V: Display>(
        &mut self,
        name: &str,
        (kind, help): (Type, &str),
        label: &str,
        samples: impl IntoIterator<Item = (impl AsRef<str>, V)>,
    ) {
        self.family(name, kind, help);
        for (of, value) in samples {
            self.sample(name, &[(label, of.as_ref())], value);
        }
    }
}

/// Writes the value of a label: quotes, backslashes and line ends are escaped, other control bytes replaced, since some readers refuse
/// them.
fn escape(value: &str, text: &mut String) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c if c.is_control() => text.push('\u{fffd}'),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_lines_that_scrapers_read() {
        let mut text = String::new();
        let mut page = Page::new(&mut text);
        page.gauge("a_bytes", "What it is.", 1.5);
        page.by("b_total", (Type::Counter, "Others."), "code", [("a\"\\\n\r", 2), ("ERR", 3)]);
        assert_eq!(
            text,
            "# HELP larder_a_bytes What it is.\n# TYPE larder_a_bytes gauge\nlarder_a_bytes 1.5\n\
             # HELP larder_b_total Others.\n# TYPE larder_b_total counter\n\
             larder_b_total{code=\"a\\\"\\\\\\n\u{fffd}\"} 2\nlarder_b_total{code=\"ERR\"} 3\n"
        );
    }
}
