//! Writing SVG: a frame with a title and a legend, and the shapes in it.

use std::fmt::Write;

/// Colours of servers, in their order: Larder's first. Each is told from the others in grey as well.
const COLOURS_LIGHT: [&str; 5] = ["#0b6e4f", "#9aa5b1", "#c28e0e", "#6c7a89", "#4a4e8c"];
const COLOURS_DARK: [&str; 5] = ["#3ddc97", "#7d8894", "#f0c04a", "#a9b4bf", "#9ba0f5"];
/// Width of every picture.
pub const WIDTH: f64 = 720.0;
/// Where the drawing begins, below title and legend.
pub const TOP: f64 = 62.0;
/// About as wide as a letter of 12 pixels is.
const LETTER: f64 = 6.8;

/// A picture that is being drawn.
pub struct Picture {
    title: String,
    servers: Vec<String>,
    body: String,
    height: f64,
}

impl Picture {
    /// A picture without shapes.
    pub fn new(title: &str, servers: &[String]) -> Self {
        Picture { title: title.to_owned(), servers: servers.to_vec(), body: String::new(), height: TOP }
    }

    /// A bar of a server.
    pub fn bar(&mut self, server: usize, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        self.reach(y + height);
        let class = server % COLOURS_LIGHT.len();
        let _ = writeln!(
            self.body,
            r#"<rect class="f{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        );
    }

    /// A line of a server through some points, with a dot on each.
    pub fn line(&mut self, server: usize, points: &[[f64; 2]]) {
        let class = server % COLOURS_LIGHT.len();
        let list: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.body, r#"<polyline class="s{class}" points="{}"/>"#, list.join(" "));
        for [x, y] in points {
            self.reach(*y);
            let _ = writeln!(self.body, r#"<circle class="f{class}" cx="{x:.1}" cy="{y:.1}" r="3"/>"#);
        }
    }

    /// A thin line that helps the eye.
    pub fn rule(&mut self, [x, y]: [f64; 2], [to_x, to_y]: [f64; 2]) {
        self.reach(y.max(to_y));
        let _ = writeln!(self.body, r#"<path class="r" d="M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}"/>"#);
    }

    /// A text that begins, ends or stands in the middle (`start`, `end`, `middle`) at a point.
    pub fn text(&mut self, [x, y]: [f64; 2], anchor: &str, text: &str) {
        self.reach(y + 4.0);
        let text = escaped(text);
        let _ = writeln!(self.body, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#);
    }

    /// The file.
    pub fn finish(self) -> String {
        let height = self.height + 12.0;
        let title = escaped(&self.title);
        let mut file = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\">\n\
             <title>{title}</title>\n<style>\n{}</style>\n<text class=\"h\" x=\"10\" y=\"22\">{title}</text>\n",
            style()
        );
        let mut x = 10.0;
        for (at, server) in self.servers.iter().enumerate() {
            let class = at % COLOURS_LIGHT.len();
            let _ = writeln!(file, r#"<rect class="f{class}" x="{x:.1}" y="34" width="12" height="12"/>"#);
            let _ = writeln!(file, r#"<text x="{:.1}" y="44">{}</text>"#, x + 17.0, escaped(server));
            x += 40.0 + LETTER * server.chars().count() as f64;
        }
        file + &self.body + "</svg>\n"
    }

    fn reach(&mut self, y: f64) {
        self.height = self.height.max(y);
    }
}

/// Colours on a light page, and on a dark one.
fn style() -> String {
    let mut css = String::from(
        "text{font:12px system-ui,sans-serif;fill:#24292f}.h{font-size:15px;font-weight:600}.r{stroke:#d0d7de}\n",
    );
    let shapes = |colours: &[&str]| -> String {
        let one = |(at, colour): (usize, &&str)| {
            format!(".f{at}{{fill:{colour}}}.s{at}{{fill:none;stroke:{colour};stroke-width:2}}")
        };
        colours.iter().enumerate().map(one).collect()
    };
    css += &shapes(&COLOURS_LIGHT);
    css += "\n@media (prefers-color-scheme:dark){text{fill:#e6edf3}.r{stroke:#3d444d}";
    css + &shapes(&COLOURS_DARK) + "}\n"
}

/// A number: below ten with one digit after the point, else whole, with commas.
pub fn number(value: f64) -> String {
    if value.abs() < 10.0 && value != 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_signs() {
        assert_eq!(
            [0.0, 3.25, 12.4, 1234.5, 1_234_567.0, -15.0].map(number),
            ["0", "3.2", "12", "1,234", "1,234,567", "-15"]
        );
        assert_eq!(escaped("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn a_picture_is_as_high_as_what_is_in_it() {
        let mut picture = Picture::new("t", &["a".to_owned()]);
        picture.bar(0, [0.0, 100.0], [10.0, 20.0]);
        let file = picture.finish();
        assert!(file.contains("viewBox=\"0 0 720 132\""), "{file}");
        assert!(!file.contains("href"), "it needs nothing from elsewhere");
    }
}
