//! One cell: a heavy command on a server, and what others feel of it.

use super::heavy::Heavy;
use super::probes::{Control, KINDS, Sample};
use super::server::Running;
use super::spread::Spread;
use crate::figure::median;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// What others may wait longer than beside no heavy command, in milliseconds.
pub const MORE_MS: f64 = 5.0;
/// Probes of the first moments are not counted: threads that were asleep get their cores.
const WARM_UP: Duration = Duration::from_millis(5);
/// A command is not sent before this many probes have been answered that count.
const IDLE_LEAST: u64 = 20;
/// Between two looks whether they have.
const PAUSE: Duration = Duration::from_millis(1);
/// A command that cannot be executed again at once is executed no more than this many times; fewer, if it takes long.
const ROUNDS: u32 = 3;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Cell {
    /// How long the command took, in milliseconds: the median of its executions.
    pub took_ms: f64,
    /// Executions of it.
    pub executions: usize,
    /// Latencies of the probes just before.
    pub idle: Spread,
    /// Those of the probes that were due meanwhile.
    pub beside: Spread,
    /// Their 99.9th percentiles, in milliseconds, by kind.
    pub kinds_ms: [f64; KINDS.len()],
    /// The 99.9th percentile of how late they were sent, in milliseconds, which is this program's own part.
    pub late_ms: f64,
}

impl Cell {
    /// Whether others wait no more than they may.
    pub fn is_kept(&self) -> bool {
        self.beside.p999 <= self.idle.p999 + MORE_MS
    }
}

/// What all rounds have measured.
#[derive(Default)]
struct Measured {
    took_ms: Vec<f64>,
    idle: Vec<Sample>,
    beside: Vec<Sample>,
    /// How long commands have been executed, with the rest of their windows.
    filled: Duration,
    rounds: u32,
}

/// A command's executions: how long each took, and when the first began and the window of the last ended.
struct Window {
    took_ms: Vec<f64>,
    begin: Instant,
    end: Instant,
}

/// Measures a command on a server for this long.
///
/// # Errors
/// The command, or a probe, was answered with an error or with something else than it should be; a connection has failed.
pub fn measure(running: &mut Running, heavy: &Heavy, fill: Duration) -> io::Result<Cell> {
    running.provide(heavy)?;
    let nulls = running.probes.nulls();
    let mut measured = Measured::default();
    while measured.filled < fill && measured.rounds < ROUNDS {
        running.prepare(heavy)?;
        let request = running.request(heavy.command)?;
        let idle = if measured.rounds == 0 { fill } else { fill / ROUNDS };
        let (mut execution, probes) = running.split();
        let mut samples = Vec::new();
        let from = Instant::now() + WARM_UP;
        let control = Control::counting_from(from);
        let (window, probed) = thread::scope(|scope| {
            let probes = scope.spawn(|| probes.run(&mut samples, &control));
            thread::sleep(WARM_UP + idle);
            // On a busy machine it may be later before there is anything to compare with.
            while control.answered() < IDLE_LEAST && !probes.is_finished() {
                thread::sleep(PAUSE);
            }
            let window = execute(|| execution.execute(heavy, &request), heavy.is_repeatable(), fill);
            let end = window.as_ref().map_or_else(|_| Instant::now(), |window| window.end);
            thread::sleep(end.saturating_duration_since(Instant::now()));
            control.end_at(end);
            (window, probes.join().expect("the probes do not panic"))
        });
        probed?;
        measured.add(window?, from, &samples);
        running.clean(heavy)?;
    }
    if !heavy.empties && running.probes.nulls() > nulls {
        return Err(io::Error::other("keys of the probes are gone"));
    }
    measured.cell().ok_or_else(|| io::Error::other("no probe was due"))
}

/// Executes a command, again and again for this long if it can be; otherwise once, and its window lasts for a part of that: what it leaves
/// to other threads falls into it.
fn execute(
    mut once: impl FnMut() -> io::Result<Duration>,
    repeats: bool,
    fill: Duration,
) -> io::Result<Window> {
    let begin = Instant::now();
    let mut took_ms = Vec::new();
    loop {
        took_ms.push(once()?.as_secs_f64() * 1e3);
        let now = Instant::now();
        if !repeats {
            return Ok(Window { took_ms, begin, end: now.max(begin + fill / ROUNDS) });
        }
        if now - begin >= fill {
            return Ok(Window { took_ms, begin, end: now });
        }
    }
}

impl Measured {
    /// Adds a round, whose probes count from a moment on.
    fn add(&mut self, window: Window, from: Instant, samples: &[Sample]) {
        self.filled += window.end - window.begin;
        self.rounds += 1;
        self.took_ms.extend(window.took_ms);
        // A probe that is on its way when the command is sent belongs to neither.
        let is_idle = |sample: &&Sample| sample.due >= from && sample.due + sample.latency <= window.begin;
        let is_beside = |sample: &&Sample| sample.due >= window.begin && sample.due <= window.end;
        self.idle.extend(samples.iter().filter(is_idle));
        self.beside.extend(samples.iter().filter(is_beside));
    }

    /// `None` when there were no probes.
    fn cell(self) -> Option<Cell> {
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let latencies = |samples: &[Sample], kind: Option<usize>| {
            let chosen = samples.iter().filter(|sample| kind.is_none_or(|kind| sample.kind == kind));
            Spread::of(chosen.map(|sample| nanos(sample.latency)).collect())
        };
        let mut kinds_ms = [f64::NAN; KINDS.len()];
        for (kind, ms) in kinds_ms.iter_mut().enumerate() {
            *ms = latencies(&self.beside, Some(kind))?.p999;
        }
        Some(Cell {
            idle: latencies(&self.idle, None)?,
            beside: latencies(&self.beside, None)?,
            kinds_ms,
            late_ms: Spread::of(self.beside.iter().map(|sample| nanos(sample.late)).collect())?.p999,
            executions: self.took_ms.len(),
            took_ms: median(self.took_ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn sample(begin: Instant, due_ms: u32, latency_ms: u32) -> Sample {
        let kind = due_ms as usize % KINDS.len();
        Sample { kind, due: begin + due_ms * MS, latency: latency_ms * MS, late: Duration::ZERO }
    }

    #[test]
    fn probes_belong_to_the_time_when_they_were_due() {
        let begin = Instant::now();
        let window = Window { took_ms: vec![40.0], begin: begin + 100 * MS, end: begin + 200 * MS };
        // Every one in the first half of the window waits for its middle.
        let latency = |due: u32| if (100..150).contains(&due) { 150 - due } else { 1 };
        let samples: Vec<Sample> = (0..300).map(|due| sample(begin, due, latency(due))).collect();
        let mut measured = Measured::default();
        measured.add(window, begin + 10 * MS, &samples);
        assert_eq!((measured.idle.len(), measured.beside.len()), (90, 101));
        assert_eq!(measured.filled, 100 * MS);
        let cell = measured.cell().expect("there were probes");
        assert_eq!((cell.idle.longest, cell.beside.longest, cell.took_ms), (1.0, 50.0, 40.0));
        assert!(!cell.is_kept() && cell.kinds_ms == [50.0, 49.0, 48.0, 47.0]);
    }

    #[test]
    fn who_is_on_the_way_when_the_command_is_sent_is_not_idle() {
        let begin = Instant::now();
        let window = Window { took_ms: vec![], begin: begin + 10 * MS, end: begin + 20 * MS };
        let mut measured = Measured::default();
        measured.add(window, begin, &[sample(begin, 9, 5), sample(begin, 8, 1)]);
        assert_eq!((measured.idle.len(), measured.beside.len()), (1, 0));
        assert!(measured.cell().is_none());
    }

    #[test]
    fn what_can_be_repeated_is() {
        let took = || Ok(Duration::from_millis(1));
        let window = execute(took, true, 5 * MS).expect("it does not fail");
        assert!(window.took_ms.len() > 1 && window.end - window.begin >= 5 * MS);
        let window = execute(took, false, 300 * MS).expect("it does not fail");
        assert_eq!((window.took_ms.as_slice(), window.end - window.begin), (&[1.0][..], 100 * MS));
        assert!(execute(|| Err(io::Error::other("no")), true, MS).is_err());
    }
}
