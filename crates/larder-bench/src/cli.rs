//! The command line.

use lexopt::{Arg, Error, Parser, ValueExt};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use wildmatch::WildMatch;

/// What `--help` prints.
pub const HELP: &str = "\
usage: larder-bench [OPTION...]
       larder-bench scaling [OPTION...]  the engine without sockets, by the number of threads (--help)
       larder-bench isolation [OPTION...]  what clients feel while another one's command takes long (--help)
  --larder PATH         Larder's binary (default: $LARDER_SERVER, else larder-server beside this program)
  --peer NAME=COMMAND   a server to compare with; COMMAND takes redis-server's flags. May be repeated.
                        Without it: redis-server in the PATH, and redis8 and valkey as tests/peers.sh fetches
                        them (into target/peers, or the folder that $LARDER_PEERS names). With it: redis-server
                        in the PATH, and those named.
  --peers none          no peers but those that are named
  --only GLOB,...       the workloads whose name matches, as memory/*,cpu/p16,rows/p100/*
  --scale F             sizes and counts by this factor (default 1; 0.01 takes seconds)
  --repeat K            measure K times, servers in turn, and take medians (default 1)
  --threads N           Larder's worker threads (default 1)
  --json FILE           write every figure there
  --list                print the names of the workloads
  --charts FOLDER       measure nothing: draw pictures from the reports (--json) in FOLDER, beside them
";

/// What the command line asks for.
pub enum Parsed {
    /// The text above.
    Help,
    /// The names of the workloads.
    List,
    /// Pictures, from the reports in this folder.
    Charts(PathBuf),
    /// Measurements.
    Run(Options),
}

/// How to measure.
pub struct Options {
    /// Larder's binary, if named.
    pub larder: Option<PathBuf>,
    /// Further servers: name and command.
    pub peers: Vec<(String, String)>,
    /// Whether peers that are not named are left out.
    pub without_peers: bool,
    /// Patterns of workload names; none means all.
    pub only: Vec<WildMatch>,
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
        self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(name))
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            larder: None,
            peers: vec![],
            without_peers: false,
            only: vec![],
            scale: 1.0,
            json: None,
            threads: 1,
            repeat: 1,
        }
    }
}

/// Parses the arguments after the program's name.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, Error> {
    let (mut options, mut list, mut parser) = (Options::default(), false, Parser::from_args(args));
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Parsed::Help),
            Arg::Long("list") => list = true,
            Arg::Long("charts") => return Ok(Parsed::Charts(parser.value()?.into())),
            Arg::Long("larder") => options.larder = Some(parser.value()?.into()),
            Arg::Long("peer") => options.peers.push(peer(&parser.value()?.string()?)?),
            Arg::Long("peers") => match parser.value()?.to_str() {
                Some("none") => options.without_peers = true,
                _ => return Err("--peers takes the word none; --peer names a server".into()),
            },
            Arg::Long("only") => {
                options.only.extend(parser.value()?.string()?.split(',').map(WildMatch::new));
            }
            Arg::Long("scale") => options.scale = positive("--scale", &parser.value()?)?,
            Arg::Long("json") => options.json = Some(parser.value()?.into()),
            Arg::Long("threads") => options.threads = positive("--threads", &parser.value()?)?,
            Arg::Long("repeat") => options.repeat = positive("--repeat", &parser.value()?)?,
            unknown => return Err(unknown.unexpected()),
        }
    }
    Ok(if list { Parsed::List } else { Parsed::Run(options) })
}

/// Reads a peer: its name and its command.
pub fn peer(text: &str) -> Result<(String, String), Error> {
    let (name, command) = text.split_once('=').ok_or("--peer takes NAME=COMMAND")?;
    if name.is_empty() || command.trim().is_empty() {
        return Err("--peer takes NAME=COMMAND".into());
    }
    Ok((name.to_owned(), command.to_owned()))
}

/// Reads the number of an option that is above zero.
pub fn positive<T: FromStr + PartialOrd + Default>(option: &str, text: &OsString) -> Result<T, Error> {
    let number = text.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > T::default());
    number.ok_or_else(|| format!("{option} takes a positive number").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Options, Error> {
        match parse(line.split_whitespace().map(OsString::from))? {
            Parsed::Run(options) => Ok(options),
            Parsed::Charts(_) | Parsed::Help | Parsed::List => Err("not a run".into()),
        }
    }

    #[test]
    fn options_are_read() {
        let options = run("--scale 0.5 --repeat 3 --only memory/*,cpu/p16 --peer v=valkey-server").unwrap();
        assert_eq!((options.scale, options.repeat), (0.5, 3));
        assert_eq!(options.peers, [("v".to_owned(), "valkey-server".to_owned())]);
        assert!(options.wants("memory/ints") && options.wants("cpu/p16") && !options.wants("cpu/p1"));
        assert!(run("").unwrap().wants("anything") && !run("").unwrap().without_peers);
        assert!(run("--peers none --peer v=x").unwrap().without_peers);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--scale 0",
            "--scale nan",
            "--scale x",
            "--repeat",
            "--repeat -1",
            "--peer x",
            "--peers v",
            "--odd",
        ] {
            assert!(run(line).is_err(), "{line}");
        }
    }

    #[test]
    fn patterns_match() {
        let wants = |pattern: &str, name: &str| run(&format!("--only {pattern}")).unwrap().wants(name);
        assert!(wants("a*c", "abbc") && wants("*/x*", "memory/x40") && wants("mem*", "memory/x40"));
        assert!(!wants("a*c", "abcd") && !wants("memory", "memory/x40"));
        // Many stars take no longer than few.
        assert!(!wants(&"*a".repeat(40), &"a".repeat(39)));
    }
}
