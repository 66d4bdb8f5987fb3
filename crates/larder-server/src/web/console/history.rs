//! What the server has done in the last day, for charts: three rings of points, each coarser than the one before.
//!
//! ```text
//! level    a point each    points    reaches back
//! 0            2 s            450    15 minutes
//! 1           10 s            720    2 hours
//! 2           60 s           1440    24 hours
//! ```
//! A point has 184 bytes, so that all rings take less than half a megabyte. They are allocated with the console.
//!
//! Tested here, and by `tests/console_live.rs`.

use larder_engine::{Figures, LATENCY_ROWS};
use std::collections::VecDeque;
use std::fmt::Write;
use std::time::Duration;

/// How often figures are taken.
pub const PERIOD: Duration = Duration::from_secs(2);
/// Seconds of a point, and points, of each level.
const LEVELS: [(u64, usize); 3] = [(2, 450), (10, 720), (60, 1440)];

/// What happened between two moments, and the state at the second. Counts of a minute fit into 32 bits.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    at_ms: u64,
    used_bytes: u64,
    resident_bytes: u64,
    /// `u64::MAX`: unknown.
    keys: u64,
    bytes_in: u64,
    bytes_out: u64,
    span_ms: u32,
    clients: u32,
    commands: u32,
    hits: u32,
    misses: u32,
    expired: u32,
    evicted: u32,
    cpu_ms: u32,
    latencies: [u32; LATENCY_ROWS],
}

const _: () = assert!(size_of::<Point>() == 184);

/// Takes the difference of a counter; after CONFIG RESETSTAT it is smaller than before.
fn since(now: u64, before: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

/// The same in 32 bits.
fn few_since(now: u64, before: u64) -> u32 {
    narrow(since(now, before))
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Point {
    fn between(before: &Figures, now: &Figures, at_ms: u64, span_ms: u64) -> Point {
        let mut latencies = [0; LATENCY_ROWS];
        for (row, (&now, &before)) in latencies.iter_mut().zip(now.latencies.iter().zip(&before.latencies)) {
            *row = few_since(now, before);
        }
        Point {
            at_ms,
            used_bytes: now.used_bytes,
            resident_bytes: now.resident_bytes,
            keys: now.keys.unwrap_or(u64::MAX),
            bytes_in: since(now.bytes_in, before.bytes_in),
            bytes_out: since(now.bytes_out, before.bytes_out),
            span_ms: narrow(span_ms),
            clients: narrow(now.clients),
            commands: few_since(now.commands, before.commands),
            hits: few_since(now.hits, before.hits),
            misses: few_since(now.misses, before.misses),
            expired: few_since(now.expired, before.expired),
            evicted: few_since(now.evicted, before.evicted),
            cpu_ms: few_since(now.cpu_ms, before.cpu_ms),
            latencies,
        }
    }

    /// Adds what happened next.
    fn extend(&mut self, next: &Point) {
        let before = *self;
        *self = *next;
        self.bytes_in += before.bytes_in;
        self.bytes_out += before.bytes_out;
        for (sum, more) in [
            (&mut self.span_ms, before.span_ms),
            (&mut self.commands, before.commands),
            (&mut self.hits, before.hits),
            (&mut self.misses, before.misses),
            (&mut self.expired, before.expired),
            (&mut self.evicted, before.evicted),
            (&mut self.cpu_ms, before.cpu_ms),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (sum, more) in self.latencies.iter_mut().zip(before.latencies) {
            *sum = sum.saturating_add(more);
        }
    }
}

/// A ring of points, and the one that is not complete yet.
#[derive(Debug)]
struct Level {
    points: VecDeque<Point>,
    open: Option<Point>,
    step_ms: u64,
    len: usize,
}

impl Level {
    fn add(&mut self, point: &Point) {
        let open = self.open.get_or_insert(Point { span_ms: 0, ..*point });
        match open.span_ms {
            0 => *open = *point,
            _ => open.extend(point),
        }
        // Samples come a little late; half a period less is complete.
        if u64::from(open.span_ms) + PERIOD.as_millis() as u64 / 2 >= self.step_ms {
            if self.points.len() == self.len {
                self.points.pop_front();
            }
            self.points.push_back(*open);
            self.open = None;
        }
    }
}

/// The last day.
#[derive(Debug)]
pub struct History {
    levels: [Level; LEVELS.len()],
    last: Option<(u64, Figures)>,
}

impl History {
    /// Allocates the rings.
    pub fn new() -> History {
        let level = |(step_s, len)| {
            let (points, step_ms) = (VecDeque::with_capacity(len), step_s * 1000);
            Level { points, open: None, step_ms, len }
        };
        History { levels: LEVELS.map(level), last: None }
    }

    /// Adds the figures of a moment.
    pub fn add(&mut self, at_ms: u64, figures: &Figures) {
        if let Some((before_ms, before)) = self.last.replace((at_ms, *figures))
            && at_ms > before_ms
        {
            let point = Point::between(&before, figures, at_ms, at_ms - before_ms);
            self.levels.iter_mut().for_each(|level| level.add(&point));
        }
    }

    /// Writes the points of the last `seconds` that are newer than `after_ms`, from the finest level that reaches back so far.
    pub fn write(&self, seconds: u64, after_ms: u64, out: &mut String) {
        let reaches = |level: &&Level| level.step_ms * level.len as u64 >= seconds.saturating_mul(1000);
        let level = self.levels.iter().find(reaches).unwrap_or(&self.levels[LEVELS.len() - 1]);
        let from_ms = self.last.map_or(0, |(at_ms, _)| at_ms.saturating_sub(seconds.saturating_mul(1000)));
        let from_ms = from_ms.max(after_ms);
        let points: Vec<&Point> = level.points.iter().filter(|point| point.at_ms > from_ms).collect();
        let _ = write!(out, "{{\"step\":{},\"points\":{{", level.step_ms / 1000);
        write_columns(&points, out);
        out.push_str("},\"latencies\":[");
        for (at, point) in points.iter().enumerate() {
            let _ = write!(out, "{}[", if at > 0 { "," } else { "" });
            let used = point.latencies.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
            for (row, count) in point.latencies[..used].iter().enumerate() {
                let _ = write!(out, "{}{count}", if row > 0 { "," } else { "" });
            }
            out.push(']');
        }
        out.push_str("]}");
    }
}

/// The name of a column, and its value of a point.
type Column = (&'static str, fn(&Point) -> u64);

fn write_columns(points: &[&Point], out: &mut String) {
    let columns: [Column; 14] = [
        ("at", |point| point.at_ms),
        ("span", |point| u64::from(point.span_ms)),
        ("used", |point| point.used_bytes),
        ("resident", |point| point.resident_bytes),
        ("clients", |point| u64::from(point.clients)),
        ("keys", |point| point.keys),
        ("commands", |point| u64::from(point.commands)),
        ("hits", |point| u64::from(point.hits)),
        ("misses", |point| u64::from(point.misses)),
        ("in", |point| point.bytes_in),
        ("out", |point| point.bytes_out),
        ("expired", |point| u64::from(point.expired)),
        ("evicted", |point| u64::from(point.evicted)),
        ("cpu", |point| u64::from(point.cpu_ms)),
    ];
    for (at, (name, pick)) in columns.into_iter().enumerate() {
        let _ = write!(out, "{}\"{name}\":[", if at > 0 { "," } else { "" });
        for (at, point) in points.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            match pick(point) {
                u64::MAX => out.push_str("null"),
                value => drop(write!(out, "{value}")),
            }
        }
        out.push(']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(history: &History, seconds: u64, after_ms: u64) -> Value {
        let mut out = String::new();
        history.write(seconds, after_ms, &mut out);
        serde_json::from_str(&out).expect("JSON")
    }

    fn sum(answer: &Value, name: &str) -> u64 {
        answer["points"][name].as_array().expect("a column").iter().filter_map(Value::as_u64).sum()
    }

    #[test]
    fn a_day_fits_and_the_oldest_goes() {
        let mut history = History::new();
        let mut figures = Figures::default();
        for n in 0..50_000_u64 {
            figures.commands = n * 10;
            figures.latencies[3] = n * 10;
            figures.used_bytes = n;
            history.add(1_000_000 + n * 2000, &figures);
        }
        for (seconds, step, points) in [(600, 2, 300), (900, 2, 450), (3600, 10, 360), (86_400, 60, 1440)] {
            let answer = read(&history, seconds, 0);
            let len = answer["points"]["at"].as_array().expect("points").len();
            assert_eq!(answer["step"], step);
            assert!(len.abs_diff(points) <= 1, "{seconds}: {len}");
            let per_second = sum(&answer, "commands") as f64 / seconds as f64;
            assert!((4.8..5.2).contains(&per_second), "{seconds}: {per_second}");
            assert_eq!(answer["latencies"][0][3], step * 5);
        }
        let newest = read(&history, 900, 1_000_000 + 49_998 * 2000);
        assert_eq!(newest["points"]["used"], serde_json::json!([49_999]));
        assert!(history.levels.iter().all(|level| level.points.capacity() <= level.len * 2));
    }

    #[test]
    fn counters_that_begin_again_are_no_negative_numbers() {
        let mut history = History::new();
        let mut figures = Figures { commands: 1000, keys: Some(5), ..Figures::default() };
        history.add(2000, &figures);
        figures.commands = 7;
        history.add(4000, &figures);
        // A clock that goes back adds nothing.
        history.add(3000, &figures);
        figures.keys = None;
        history.add(5000, &figures);
        let answer = read(&history, 900, 0);
        assert_eq!(answer["points"]["commands"], serde_json::json!([7, 0]));
        assert_eq!(answer["points"]["keys"], serde_json::json!([5, null]));
    }
}
