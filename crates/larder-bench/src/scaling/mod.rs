//! `larder-bench scaling`: how many operations a second threads do together on one keyspace, by the number of threads.
//!
//! Without sockets: the engine is a library here (`larder-embed`), and threads call it, so that no loader and no kernel limits them. A
//! store with a million keys is made for each command; then all threads execute it on keys that have been drawn before, uniformly or by Zipf's
//! law, or with one key, the hottest that there can be. Numbers of threads take turns, and the best of three turns counts, as neighbours on the
//! machine only ever slow one down.

mod commands;
mod keys;

use crate::data::SEED;
use crate::figure::{Figure, Target};
use crate::machine::{Machine, Pinning};
use crate::report::{Group, Report};
use commands::{COMMANDS, Command};
use keys::{Distribution, KEY_BYTES, Keys};
use larder_embed::Store;
use lexopt::{Arg, Error, Parser, ValueExt};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// What `scaling --help` prints.
pub const HELP: &str = "\
usage: larder-bench scaling [OPTION...]
  --threads A..B        numbers of threads, both counted (default: 1 to what the machine has); also one number
  --only NAME,...       of GET, SET, INCR, LPUSH, HSET, ZADD (default all)
  --keys NAME,...       of uniform, Zipf, one (default all)
  --scale F             keys (a million) and operations by this factor (default 1)
  --json FILE           write the figures there: scaling.json is what --charts draws the curve from
";

/// Keys and operations of a turn, shared out among the threads.
const KEYS: f64 = 1_000_000.0;
const OPERATIONS: f64 = 1_000_000.0;
const TURNS: usize = 3;
/// More threads than this are a mistake.
const THREADS_MAX: usize = 1024;
/// What the report calls the kinds of keys.
const DISTRIBUTIONS: [(&str, Distribution); 3] =
    [("uniform", Distribution::Uniform), ("Zipf", Distribution::Zipf), ("one", Distribution::One)];

/// What is asked for.
#[derive(Debug, PartialEq)]
struct Options {
    threads: Vec<usize>,
    only: Vec<String>,
    keys: Vec<String>,
    scale: f64,
    json: Option<PathBuf>,
    help: bool,
}

/// Measures and prints.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Result<(), Box<dyn std::error::Error>> {
    let options = parse(args)?;
    if options.help {
        print!("{HELP}");
        return Ok(());
    }
    let machine = Machine::describe(&Pinning::none());
    let parameters = vec![("scale", options.scale.to_string())];
    let wanted = || DISTRIBUTIONS.iter().filter(|(name, _)| is_wanted(&options.keys, name));
    let servers: Vec<_> = wanted().map(|(name, _)| (*name, "keys")).collect();
    let mut report = Report::of(machine, parameters, &servers);
    print!("{}", report.heading());
    let mut group = Group::new("scaling");
    for command in COMMANDS.iter().filter(|command| is_wanted(&options.only, command.name)) {
        for &(name, distribution) in wanted() {
            let rates = measure(command, distribution, &options)?;
            println!("{}", line(command.name, name, &options.threads, &rates));
            for (threads, rate) in options.threads.iter().zip(rates) {
                group.add(name, vec![figure(command.name, *threads, rate)]);
            }
        }
    }
    report.add(group);
    if let Some(path) = &options.json {
        std::fs::write(path, report.json()).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

impl Options {
    fn scaled(&self, full: f64) -> u64 {
        ((full * self.scale) as u64).max(100)
    }
}

/// Whether something is among what is asked for: all is, where nothing is named.
fn is_wanted(asked: &[String], name: &str) -> bool {
    asked.is_empty() || asked.iter().any(|asked| asked.eq_ignore_ascii_case(name))
}

fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Options, Error> {
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options {
        threads: (1..=most).collect(),
        only: Vec::new(),
        keys: Vec::new(),
        scale: 1.0,
        json: None,
        help: false,
    };
    let mut parser = Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => options.help = true,
            Arg::Long("threads") => options.threads = threads(&parser.value()?.string()?)?,
            Arg::Long("only") => {
                options.only.extend(names(&parser.value()?.string()?, COMMANDS.map(|one| one.name))?);
            }
            Arg::Long("keys") => {
                options.keys.extend(names(&parser.value()?.string()?, DISTRIBUTIONS.map(|one| one.0))?);
            }
            Arg::Long("scale") => options.scale = parser.value()?.parse()?,
            Arg::Long("json") => options.json = Some(parser.value()?.into()),
            unknown => return Err(unknown.unexpected()),
        }
    }
    // Keys have eight digits.
    if !(options.scale > 0.0 && options.scale <= 100.0) {
        return Err("--scale takes a number above 0, up to 100".into());
    }
    Ok(options)
}

/// Names, separated by commas, of those that there are.
fn names<const N: usize>(text: &str, known: [&str; N]) -> Result<Vec<String>, Error> {
    let names: Vec<String> = text.split(',').map(str::to_owned).collect();
    match names.iter().find(|name| !known.iter().any(|known| known.eq_ignore_ascii_case(name))) {
        Some(name) => Err(format!("{name} is none of {}", known.join(", ")).into()),
        None => Ok(names),
    }
}

/// `4`, or `1..4` with both ends.
fn threads(text: &str) -> Result<Vec<usize>, Error> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) if first >= 1 && first <= last && last <= THREADS_MAX => {
            Ok((first..=last).collect())
        }
        _ => Err(format!("--threads takes a number or A..B, from 1 to {THREADS_MAX}").into()),
    }
}

/// Operations a second for each number of threads.
fn measure(
    command: &Command,
    distribution: Distribution,
    options: &Options,
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let (count, operations) = (options.scaled(KEYS), options.scaled(OPERATIONS));
    let store = Store::in_memory()?;
    let keys = Keys::new(distribution, count);
    (0..keys.count()).try_for_each(|number| (command.load)(&store, &keys::key(number)))?;
    let most = options.threads.iter().copied().max().unwrap_or(1) as u64;
    let least = options.threads.iter().copied().min().unwrap_or(1) as u64;
    let work: Vec<_> =
        (0..most).map(|thread| keys.draw_many(operations.div_ceil(least), SEED + thread)).collect();
    let mut best = vec![0.0; options.threads.len()];
    for _ in 0..TURNS {
        for (threads, best) in options.threads.iter().zip(&mut best) {
            let each = operations.div_ceil(*threads as u64);
            let work: Vec<&[[u8; KEY_BYTES]]> =
                work.iter().take(*threads).map(|keys| &keys[..each as usize]).collect();
            let time = run(command, &store, &work)?;
            let rate = (each * *threads as u64) as f64 / time.as_secs_f64();
            *best = f64::max(*best, rate);
        }
    }
    Ok(best)
}

/// Runs each part on a thread of its own; the time from the first thread's beginning to the last one's end.
fn run(
    command: &Command,
    store: &Store,
    work: &[&[[u8; KEY_BYTES]]],
) -> Result<Duration, Box<dyn std::error::Error>> {
    let barrier = Barrier::new(work.len());
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for &keys in work {
            let (barrier, store) = (&barrier, store.clone());
            threads.push(scope.spawn(move || {
                barrier.wait();
                let begin = Instant::now();
                for (key, number) in keys.iter().zip(0..) {
                    (command.run)(&store, key, number)?;
                }
                Ok::<_, larder_embed::Error>((begin, Instant::now()))
            }));
        }
        let mut spans = Vec::new();
        for thread in threads {
            spans.push(thread.join().map_err(|_| "a thread has panicked")??);
        }
        let begin = spans.iter().map(|span| span.0).min().ok_or("there is no thread")?;
        let end = spans.iter().map(|span| span.1).max().ok_or("there is no thread")?;
        Ok(end - begin)
    })
}

fn figure(command: &str, threads: usize, rate: f64) -> Figure {
    Figure {
        row: format!("{command}, {threads} threads"),
        unit: "M/s",
        value: rate / 1e6,
        worker: None,
        target: Target::None,
    }
}

/// The rates of a command, and how many times that of the fewest threads each is.
fn line(command: &str, keys: &str, threads: &[usize], rates: &[f64]) -> String {
    let mut text = format!("{command:6} {keys:8}");
    let first = rates.first().copied().unwrap_or(f64::NAN);
    for (threads, rate) in threads.iter().zip(rates) {
        text += &format!("  {threads}: {:.2} M/s ({:.2} x)", rate / 1e6, rate / first);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, Error> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_are_read() {
        let options = read("--threads 2..4 --only get,ZADD --scale 0.5").expect("it is right");
        assert_eq!((options.threads.as_slice(), options.scale), (&[2, 3, 4][..], 0.5));
        assert!(is_wanted(&options.only, "GET") && !is_wanted(&options.only, "SET"));
        assert_eq!(read("--keys one,zipf").expect("it is right").keys, ["one", "zipf"]);
        assert_eq!(read("--threads 3").expect("it is right").threads, [3]);
        for line in [
            "--threads 0",
            "--threads 4..2",
            "--threads x",
            "--only DEL",
            "--keys two",
            "--scale 0",
            "--scale nan",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn every_command_runs_on_threads() {
        let options = read("--threads 1..3 --scale 0.0005").expect("it is right");
        for command in &COMMANDS {
            for (name, distribution) in DISTRIBUTIONS {
                let rates = measure(command, distribution, &options).expect("it runs");
                assert!(rates.len() == 3 && rates.iter().all(|rate| *rate > 0.0), "{} {name}", command.name);
            }
        }
    }

    #[test]
    fn a_line_has_the_ratios() {
        assert_eq!(
            line("GET", "Zipf", &[1, 2], &[2e6, 3e6]),
            "GET    Zipf      1: 2.00 M/s (1.00 x)  2: 3.00 M/s (1.50 x)"
        );
    }
}
