//! Groups of horizontal bars: a group a row, a bar a server, from one zero on. The longest bar of each group
//! takes the whole width.

use super::report::Values;
use super::svg::{Picture, TOP, WIDTH, number};

const LEFT: f64 = 262.0;
const RIGHT: f64 = 110.0;
const BAR: f64 = 15.0;
const GAP: f64 = 14.0;

/// The bars of one row.
pub struct Bars<'a> {
    /// What stands before them.
    pub label: &'a str,
    /// A bar a server.
    pub values: Values,
    /// What stands after the first server's number: the target that it does not reach.
    pub fault: Option<&'a str>,
}

/// Draws rows with their labels. Each group is drawn to its own scale, as what counts is the servers' ratio:
/// how many times the first server's value another one's is stands after the number of that one.
pub fn draw(title: &str, servers: &[String], groups: &[Bars]) -> String {
    let mut picture = Picture::new(title, servers);
    let mut y = TOP;
    for Bars { label, values, fault } in groups {
        let most = values.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
        let middle = y + BAR * values.len() as f64 / 2.0 + 4.0;
        picture.text([LEFT - 10.0, middle], "end", label);
        for (server, value) in values.iter().enumerate() {
            let Some(value) = *value else {
                picture.text([LEFT + 4.0, y + BAR - 4.0], "start", "not measured");
                y += BAR;
                continue;
            };
            let width = (WIDTH - LEFT - RIGHT) * value.max(0.0) / most;
            picture.bar(server, [LEFT, y + 1.0], [width, BAR - 2.0]);
            picture.text(
                [LEFT + width + 5.0, y + BAR - 4.0],
                "start",
                &caption(value, server, values, *fault),
            );
            y += BAR;
        }
        y += GAP;
    }
    picture.finish()
}

/// The number of a bar; of a peer's also how many times it is the first server's.
fn caption(value: f64, server: usize, values: &[Option<f64>], fault: Option<&str>) -> String {
    match values.first() {
        _ if server == 0 && fault.is_some() => format!("{}, {}", number(value), fault.unwrap_or_default()),
        Some(Some(own)) if server > 0 && *own > 0.0 => format!("{} ({:.1} x)", number(value), value / own),
        _ => number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_numbers() {
        let servers = ["Larder".to_owned(), "Redis".to_owned()];
        let rows = [
            Bars { label: "row", values: vec![Some(100.0), Some(400.0)], fault: Some("over") },
            Bars { label: "other", values: vec![Some(1.0), None], fault: None },
        ];
        let file = draw("t", &servers, &rows);
        let full = WIDTH - LEFT - RIGHT;
        assert!(file.contains(&format!("width=\"{:.1}\"", full / 4.0)), "{file}");
        assert!(file.contains(&format!("width=\"{full:.1}\"")), "{file}");
        assert!(
            file.contains(">100, over<") && file.contains(">400 (4.0 x)<") && file.contains(">not measured<"),
            "{file}"
        );
    }
}
