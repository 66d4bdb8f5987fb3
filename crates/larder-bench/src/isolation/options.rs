//! The command line of `larder-bench isolation`.

use crate::cli::{peer, positive};
use lexopt::{Arg, Error, Parser, ValueExt};
use std::ffi::OsString;
use std::path::PathBuf;
use wildmatch::WildMatch;

/// What `isolation --help` prints.
pub const HELP: &str = "\
usage: larder-bench isolation [OPTION...]
  --larder PATH         Larder's binary (default: $LARDER_SERVER, else larder-server beside this program)
  --peer NAME=COMMAND   a server to compare with; COMMAND takes redis-server's flags. May be repeated.
                        Without it: valkey as tests/peers.sh fetches it
  --peers none          no peers but those that are named
  --threads N,...       numbers of Larder's threads (default 2,4)
  --only GLOB,...       the heavy commands whose name matches, as removals/*,sets/sunion-*
  --scale F             sizes of what the commands work on by this factor (default 1; 0.01 to see that it works)
  --seconds F           for how long a command is repeated, and the server measured idle before (default 0.3)
  --json FILE           write every figure there
  --list                print the names of the commands
";

/// More threads than this are a mistake.
const THREADS_MAX: usize = 256;

/// What is asked for.
#[derive(Debug)]
pub struct Options {
    /// Larder's binary, if named.
    pub larder: Option<PathBuf>,
    /// Further servers: name and command.
    pub peers: Vec<(String, String)>,
    /// Whether peers that are not named are left out.
    pub without_peers: bool,
    /// Numbers of Larder's threads.
    pub threads: Vec<usize>,
    /// Patterns of names; none means all.
    pub only: Vec<WildMatch>,
    /// Factor for sizes.
    pub scale: f64,
    /// How long a command is repeated.
    pub seconds: f64,
    /// Where the figures go as JSON.
    pub json: Option<PathBuf>,
    /// Whether only the names are asked for.
    pub list: bool,
    /// Whether only the text above is asked for.
    pub help: bool,
}

impl Options {
    /// Reads the arguments after the name of the subcommand.
    pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let mut options = Options::default();
        let mut parser = Parser::from_args(args);
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("help") | Arg::Short('h') => options.help = true,
                Arg::Long("list") => options.list = true,
                Arg::Long("larder") => options.larder = Some(parser.value()?.into()),
                Arg::Long("peer") => options.peers.push(peer(&parser.value()?.string()?)?),
                Arg::Long("peers") => match parser.value()?.to_str() {
                    Some("none") => options.without_peers = true,
                    _ => return Err("--peers takes the word none; --peer names a server".into()),
                },
                Arg::Long("threads") => options.threads = threads(&parser.value()?.string()?)?,
                Arg::Long("only") => {
                    options.only.extend(parser.value()?.string()?.split(',').map(WildMatch::new));
                }
                Arg::Long("scale") => options.scale = positive("--scale", &parser.value()?)?,
                Arg::Long("seconds") => options.seconds = positive("--seconds", &parser.value()?)?,
                Arg::Long("json") => options.json = Some(parser.value()?.into()),
                unknown => return Err(unknown.unexpected()),
            }
        }
        // A request has no more than about a million arguments, and a string half a gigabyte; a cell takes no more than minutes.
        if options.scale > 1.0 || options.seconds > 60.0 {
            return Err("--scale takes 1 at most, --seconds 60".into());
        }
        Ok(options)
    }

    /// Whether a heavy command is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(name))
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            larder: None,
            peers: Vec::new(),
            without_peers: false,
            threads: vec![2, 4],
            only: Vec::new(),
            scale: 1.0,
            seconds: 0.3,
            json: None,
            list: false,
            help: false,
        }
    }
}

/// `2,4`: each number once, in the order given.
fn threads(text: &str) -> Result<Vec<usize>, Error> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let number = part.parse().ok().filter(|number| (1..=THREADS_MAX).contains(number));
        let number = number.ok_or_else(|| format!("--threads takes numbers from 1 to {THREADS_MAX}"))?;
        if !all.contains(&number) {
            all.push(number);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, Error> {
        Options::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_are_read() {
        let options = read("--threads 8,2,8 --only sets/*,writes/mset-* --scale 0.5 --peer v=x --seconds 2");
        let options = options.expect("they are right");
        assert_eq!((options.threads.as_slice(), options.scale, options.seconds), (&[8, 2][..], 0.5, 2.0));
        assert_eq!(options.peers, [("v".to_owned(), "x".to_owned())]);
        assert!(options.wants("sets/sinter-of-500k") && !options.wants("walks/keys-of-2m"));
        let options = read("").expect("they are right");
        assert_eq!((options.threads.as_slice(), options.wants("anything")), (&[2, 4][..], true));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--threads 0",
            "--threads 2,",
            "--threads 1..4",
            "--threads 257",
            "--scale 0",
            "--scale 2",
            "--scale nan",
            "--seconds 0",
            "--seconds 61",
            "--seconds inf",
            "--peer x",
            "--peers v",
            "--odd",
            "odd",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
