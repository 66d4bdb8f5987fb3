//! Panels of lines, two in a row of the picture: a panel a kind, a line a server, a point a size. Values begin at zero; sizes are evenly
//! spaced, as each is ten times the one before.

use super::report::Values;
use super::svg::{Picture, TOP, WIDTH, number};

const PANEL: [f64; 2] = [WIDTH / 2.0, 220.0];
/// Room in a panel: left, right, above, below.
const LEFT: f64 = 40.0;
const RIGHT: f64 = 42.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 30.0;
/// Two texts, one above the other, do not touch at this distance.
const TEXT_HEIGHT: f64 = 13.0;

/// Draws panels with their titles.
pub fn draw(title: &str, servers: &[String], panels: &[(&str, Vec<(u64, Values)>)]) -> String {
    let mut picture = Picture::new(title, servers);
    for (at, (name, points)) in panels.iter().enumerate() {
        let corner = [PANEL[0] * (at % 2) as f64, TOP + PANEL[1] * (at / 2) as f64];
        draw_panel(&mut picture, corner, name, points, servers.len());
    }
    picture.finish()
}

fn draw_panel(picture: &mut Picture, [x, y]: [f64; 2], name: &str, points: &[(u64, Values)], servers: usize) {
    let most = points.iter().flat_map(|point| point.1.iter().flatten()).copied().fold(1.0, f64::max);
    let (width, height) = (PANEL[0] - LEFT - RIGHT, PANEL[1] - ABOVE - BELOW);
    let bottom = y + ABOVE + height;
    let place = |nth: usize| x + LEFT + width * nth as f64 / points.len().saturating_sub(1).max(1) as f64;
    let level = |value: f64| bottom - height * value / most;
    picture.text([x + LEFT, y + 16.0], "start", name);
    for share in [0.0, 0.5, 1.0] {
        let value = most * share;
        picture.rule([x + LEFT, level(value)], [x + LEFT + width, level(value)]);
        picture.text([x + LEFT - 6.0, level(value) + 4.0], "end", &number(value));
    }
    for (nth, (size, _)) in points.iter().enumerate() {
        picture.text([place(nth), bottom + 18.0], "middle", &short(*size));
    }
    for server in (0..servers).rev() {
        let value = |point: &(u64, Values)| point.1.get(server).copied().flatten();
        let line: Vec<[f64; 2]> = points
            .iter()
            .enumerate()
            .filter_map(|(nth, point)| Some([place(nth), level(value(point)?)]))
            .collect();
        picture.line(server, &line);
    }
    // The first server's last value, and the largest of the others: the lines' ends say how far they are apart.
    if let Some((_, last)) = points.last() {
        let own = last.first().copied().flatten();
        let others = last.iter().skip(1).flatten().copied().reduce(f64::max);
        let mut free_above = f64::INFINITY;
        let mut ends: Vec<f64> = [own, others].into_iter().flatten().collect();
        ends.sort_by(f64::total_cmp);
        for value in ends {
            let text_y = (level(value) + 4.0).min(free_above);
            picture.text([x + LEFT + width + 8.0, text_y], "start", &number(value));
            free_above = text_y - TEXT_HEIGHT;
        }
    }
}

/// 1000 as 1k, 1000000 as 1M.
fn short(size: u64) -> String {
    match size {
        1_000_000.. => format!("{}M", size / 1_000_000),
        1_000.. => format!("{}k", size / 1_000),
        _ => size.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_their_values_are() {
        let points = vec![(10, vec![Some(50.0), Some(100.0)]), (1000, vec![Some(25.0), Some(100.0)])];
        let file = draw("t", &["Larder".to_owned(), "Redis".to_owned()], &[("set", points)]);
        let bottom = TOP + PANEL[1] - BELOW;
        let quarter = bottom - (PANEL[1] - ABOVE - BELOW) / 4.0;
        assert!(file.contains(&format!(",{quarter:.1}\"")), "{file}");
        assert!(file.contains(">1k<") && file.contains(">25<") && file.contains(">100<"), "{file}");
    }
}
