//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

/// What `--help` prints.
pub const HELP: &str = "\
usage: larder-bench [OPTION...]
  --larder PATH         Larder's binary (default: $LARDER_SERVER, else larder-server beside this program)
  --peer NAME=COMMAND   another server to compare with; COMMAND takes redis-server's flags. May be repeated.
                        redis-server is a peer whenever it is in the PATH.
  --only GLOB,...       the workloads whose name matches, as memory/*,cpu/p16
  --scale F             sizes and counts by this factor (default 1; 0.01 takes seconds)
  --repeat K            measure K times, servers in turn, and take medians (default 1)
  --threads N           Larder's worker threads (default 1)
  --json FILE           write every figure there
  --list                print the names of the workloads
";

/// What the command line asks for.
pub enum Parsed {
    /// The text above.
    Help,
    /// The names of the workloads.
    List,
    /// Measurements.
    Run(Options),
}

/// How to measure.
pub struct Options {
    /// Larder's binary, if named.
    pub larder: Option<PathBuf>,
    /// Further servers: name and command.
    pub peers: Vec<(String, String)>,
    /// Patterns of workload names; none means all.
    pub only: Vec<String>,
    /// Factor for sizes and counts.
    pub scale: f64,
    /// Where the figures go as JSON.
    pub json: Option<PathBuf>,
    /// Larder's worker threads.
    pub threads: usize,
    /// Runs of each workload on each server.
    pub repeat: usize,
}

impl Options {
    /// Whether a workload is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|glob| matches(glob.as_bytes(), name.as_bytes()))
    }
}

impl Default for Options {
    fn default() -> Self {
        Options { larder: None, peers: vec![], only: vec![], scale: 1.0, json: None, threads: 1, repeat: 1 }
    }
}

/// Parses the arguments after the program's name.
pub fn parse(args: impl Iterator<Item = String>) -> Result<Parsed, String> {
    let (mut options, mut list, mut args) = (Options::default(), false, args);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--help" | "-h" => return Ok(Parsed::Help),
            "--list" => list = true,
            "--larder" => options.larder = Some(value()?.into()),
            "--peer" => options.peers.push(peer(&value()?)?),
            "--only" => options.only.extend(value()?.split(',').map(str::to_owned)),
            "--scale" => options.scale = positive(&arg, &value()?)?,
            "--json" => options.json = Some(value()?.into()),
            "--threads" => options.threads = positive(&arg, &value()?)?,
            "--repeat" => options.repeat = positive(&arg, &value()?)?,
            _ => return Err(format!("unknown option {arg}")),
        }
    }
    Ok(if list { Parsed::List } else { Parsed::Run(options) })
}

fn peer(text: &str) -> Result<(String, String), String> {
    let (name, command) = text.split_once('=').ok_or("--peer takes NAME=COMMAND")?;
    if name.is_empty() || command.trim().is_empty() {
        return Err("--peer takes NAME=COMMAND".to_owned());
    }
    Ok((name.to_owned(), command.to_owned()))
}

fn positive<T: FromStr + PartialOrd + Default>(option: &str, text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number > T::default());
    number.ok_or_else(|| format!("{option} takes a positive number"))
}

/// Whether a name matches a pattern in which `*` stands for anything.
fn matches(glob: &[u8], name: &[u8]) -> bool {
    match (glob.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|skip| matches(rest, &name[skip..])),
        (Some((a, glob)), Some((b, name))) => a == b && matches(glob, name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Options, String> {
        match parse(line.split_whitespace().map(str::to_owned))? {
            Parsed::Run(options) => Ok(options),
            Parsed::Help | Parsed::List => Err("not a run".to_owned()),
        }
    }

    #[test]
    fn options_are_read() {
        let options = run("--scale 0.5 --repeat 3 --only memory/*,cpu/p16 --peer v=valkey-server").unwrap();
        assert_eq!((options.scale, options.repeat), (0.5, 3));
        assert_eq!(options.peers, [("v".to_owned(), "valkey-server".to_owned())]);
        assert!(options.wants("memory/ints") && options.wants("cpu/p16") && !options.wants("cpu/p1"));
        assert!(run("").unwrap().wants("anything"));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["--scale 0", "--scale nan", "--scale x", "--repeat", "--repeat -1", "--peer x", "--odd"]
        {
            assert!(run(line).is_err(), "{line}");
        }
    }

    #[test]
    fn globs_match() {
        assert!(matches(b"*", b"") && matches(b"a*c", b"abbc") && matches(b"*/x*", b"memory/x40"));
        assert!(!matches(b"a*c", b"abcd") && !matches(b"", b"a"));
    }
}
