//! The command line.

use crate::error::{Error, Result};
use crate::load::{Options, Report};
use crate::mapping::Draft;
use crate::reader::Format;
use crate::target::Target;
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;

/// What `--help` prints.
pub const HELP: &str = "\
usage: larder-load [OPTION...]
Loads a table into a server of the Redis protocol: keys are packed here and sent as payloads.

Input (one of them; - is the standard input):
  --csv FILE            comma-separated values, the first line names the columns
  --tsv FILE            the same with tabs, without quotes
  --ndjson FILE         a JSON object a line

Mapping:
  --key TEMPLATE        the key of a row, as 'user:{id}'
  --hash                the row as fields of a hash; --fields A,B,.. takes only these columns
  --string TEMPLATE     a string; --list, --set likewise add an element or member, as '{name}'
  --zset TEMPLATE       a member of a sorted set, whose score is in the column --score NAME
  --stream              an entry of a stream; --id NAME is the column of its ID, --fields as above
  --expire SECONDS      keys expire so long after the load; --expire-at NAME: at the time in this column (Unix seconds)
  --mapping FILE        all of that as TOML: key, type, value, fields, score, id, expire, expire-at

Target:
  --host NAME           default 127.0.0.1
  --port N              default 6379
  --user NAME           the password is read from the environment: LARDER_LOAD_PASSWORD
  --db N                the database, default 0
  --workers N           threads, each with a connection (default: as many as processors)
  --replace             keys that exist are replaced; without it they stay, and are rejects

How:
  --memory MB           for keys that are not complete yet, default 256; what is more goes to disk
  --spill FOLDER        where to, default: the folder for temporary files
  --adjacent            the rows of a key follow each other: nothing is kept
  --rejects FILE        gets what was not loaded: line, reason, text
  --state FILE          notes what is loaded; the same command again goes on from there
  --dry-run             sends nothing, and says what it would have made
  --quiet               no progress
";

/// What the command line asks for.
pub enum Parsed {
    /// The text above.
    Help,
    /// A load.
    Load(Box<Options>),
    /// The version.
    Version,
}

/// Parses the arguments after the program's name.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed> {
    let usage = |error: lexopt::Error| Error::Usage(error.to_string());
    let mut parser = Parser::from_args(args);
    let mut state = Unfinished::default();
    while let Some(arg) = parser.next().map_err(usage)? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Parsed::Help),
            Arg::Long("version") | Arg::Short('V') => return Ok(Parsed::Version),
            Arg::Long(name) => {
                let name = name.to_owned();
                state.take(&name, &mut parser)?;
            }
            other => return Err(usage(other.unexpected())),
        }
    }
    state.finish().map(|options| Parsed::Load(Box::new(options)))
}

#[derive(Default)]
struct Unfinished {
    input: Option<(Format, PathBuf)>,
    draft: Draft,
    host: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    db: u32,
    workers: Option<usize>,
    megabytes: Option<usize>,
    spill: Option<PathBuf>,
    rejects: Option<PathBuf>,
    state: Option<PathBuf>,
    adjacent: bool,
    replace: bool,
    dry_run: bool,
    quiet: bool,
}

impl Unfinished {
    fn take(&mut self, name: &str, parser: &mut Parser) -> Result<()> {
        match name {
            "adjacent" => self.adjacent = true,
            "dry-run" => self.dry_run = true,
            "quiet" => self.quiet = true,
            "replace" => self.replace = true,
            "hash" | "stream" => self.kind(name, None)?,
            "csv" => self.read(Format::Csv, path(parser, name)?)?,
            "tsv" => self.read(Format::Tsv, path(parser, name)?)?,
            "ndjson" => self.read(Format::Ndjson, path(parser, name)?)?,
            "key" => self.draft.key = Some(text(parser, name)?),
            "list" | "set" | "string" | "zset" => {
                let value = text(parser, name)?;
                self.kind(name, Some(value))?;
            }
            "fields" => self.draft.fields = Some(text(parser, name)?.split(',').map(str::to_owned).collect()),
            "score" => self.draft.score = Some(text(parser, name)?),
            "id" => self.draft.id = Some(text(parser, name)?),
            "expire" => self.draft.expire = Some(number(parser, name)?),
            "expire-at" => self.draft.expire_at = Some(text(parser, name)?),
            "mapping" => {
                let path = path(parser, name)?;
                let text =
                    std::fs::read_to_string(&path).map_err(|error| Error::file(path.display(), &error))?;
                self.draft = Draft::parse(&text)?;
            }
            "host" => self.host = Some(text(parser, name)?),
            "port" => self.port = Some(number(parser, name)?),
            "user" => self.user = Some(text(parser, name)?),
            "db" => self.db = number(parser, name)?,
            "workers" => self.workers = Some(number(parser, name)?),
            "memory" => self.megabytes = Some(number(parser, name)?),
            "spill" => self.spill = Some(path(parser, name)?),
            "rejects" => self.rejects = Some(path(parser, name)?),
            "state" => self.state = Some(path(parser, name)?),
            unknown => return Err(Error::Usage(format!("invalid option '--{unknown}'"))),
        }
        Ok(())
    }

    fn kind(&mut self, name: &str, value: Option<String>) -> Result<()> {
        if self.draft.kind.is_some() {
            return Err(Error::Usage("more than one type is given".to_owned()));
        }
        (self.draft.kind, self.draft.value) = (Some(name.to_owned()), value);
        Ok(())
    }

    fn read(&mut self, format: Format, path: PathBuf) -> Result<()> {
        match self.input.replace((format, path)) {
            Some(_) => Err(Error::Usage("more than one input is given".to_owned())),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<Options> {
        let (format, path) = self.input.ok_or_else(|| {
            Error::Usage("no input: say --csv FILE, --tsv FILE or --ndjson FILE".to_owned())
        })?;
        let workers =
            self.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from));
        if workers == 0 || workers > 1024 {
            return Err(Error::Usage("--workers takes 1 to 1024".to_owned()));
        }
        let target = Target {
            host: self.host.unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: self.port.unwrap_or(6379),
            user: self.user,
            password: std::env::var("LARDER_LOAD_PASSWORD").ok(),
            db: self.db,
        };
        if target.user.is_some() && target.password.is_none() {
            return Err(Error::Usage("--user needs a password in LARDER_LOAD_PASSWORD".to_owned()));
        }
        Ok(Options {
            input: (path.as_os_str() != "-").then_some(path),
            format,
            mapping: self.draft.finish()?,
            target,
            workers,
            budget_bytes: self.megabytes.unwrap_or(256).saturating_mul(1 << 20),
            adjacent: self.adjacent,
            replace: self.replace,
            dry_run: self.dry_run,
            rejects: self.rejects,
            state: self.state,
            spill: self.spill.unwrap_or_else(std::env::temp_dir),
            quiet: self.quiet,
        })
    }
}

fn path(parser: &mut Parser, name: &str) -> Result<PathBuf> {
    parser.value().map(PathBuf::from).map_err(|_| Error::Usage(format!("--{name} takes a file")))
}

fn text(parser: &mut Parser, name: &str) -> Result<String> {
    let value = parser.value().map_err(|_| Error::Usage(format!("--{name} takes a value")))?;
    value.string().map_err(|_| Error::Usage(format!("--{name} takes text in UTF-8")))
}

fn number<T: FromStr>(parser: &mut Parser, name: &str) -> Result<T> {
    text(parser, name)?.parse().map_err(|_| Error::Usage(format!("--{name} takes a number")))
}

/// A report in words.
pub fn describe(report: &Report, is_dry: bool) -> String {
    let mut text = String::new();
    let verb = if is_dry { "would load" } else { "loaded" };
    let Report { keys, elements, rows, target, payload_bytes, memory_bytes, .. } = report;
    let _ = writeln!(text, "{verb} {keys} keys with {elements} elements from {rows} rows into {target}");
    let _ =
        writeln!(text, "{payload_bytes} bytes of payloads, about {memory_bytes} bytes of memory in Larder");
    if report.skipped_batches > 0 {
        let _ = writeln!(text, "{} batches were loaded before", report.skipped_batches);
    }
    if report.rejected > 0 {
        let _ = writeln!(text, "{} rows or keys were not loaded:", report.rejected);
        report.first_rejects.iter().for_each(|reason| {
            let _ = writeln!(text, "  {reason}");
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options> {
        match parse(line.split_whitespace().map(OsString::from))? {
            Parsed::Load(options) => Ok(*options),
            _ => Err(Error::Usage("no load".to_owned())),
        }
    }

    #[test]
    fn options_are_read() {
        let all =
            options("--csv - --key k:{a} --zset {m} --score s --port 7000 --workers 3 --memory 1 --adjacent")
                .unwrap();
        assert_eq!((all.input, all.workers, all.target.port, all.budget_bytes), (None, 3, 7000, 1 << 20));
        assert!(all.adjacent && !all.replace && !all.dry_run);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "",
            "--csv",
            "--csv a --tsv b --key k --hash",
            "--csv a --hash",
            "--csv a --key k",
            "--csv a --key k --hash --set {x}",
            "--csv a --key k --hash --workers 0",
            "--csv a --key k --hash --port x",
            "--csv a --key k --hash --odd",
            "--csv a --key k --hash extra",
            "--csv a --mapping /nonexistent/mapping",
        ] {
            assert!(options(line).is_err(), "{line}");
        }
    }
}
