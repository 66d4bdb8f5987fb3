//! The command line.

use crate::error::{Error, Result};
use crate::mapping::{Draft, Mapping};
use crate::option::{self, Section};
use crate::options::{Options, Report, Source};
use crate::parquet;
use crate::reader::{Columns, Format, Layout};
use crate::security::Security;
use crate::server::{self, Named};
use crate::target::Target;
use crate::words::count;
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::OsString;
use std::fmt::Write;
use std::mem::take;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What the command line asks for.
pub enum Parsed {
    /// The summary.
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

/// The options that name an input.
const INPUTS: &str = "--csv, --tsv, --ndjson, --parquet, --resp, --rdb, --aof and --from";

/// What the input is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Aof,
    Parquet,
    Rdb,
    Resp,
    Server,
    Table(Format),
}

#[derive(Default)]
struct Unfinished {
    input: Option<(Input, PathBuf)>,
    delimiter: Option<u8>,
    columns: Columns,
    draft: Draft,
    /// What the file of the mapping has.
    file: Option<Draft>,
    /// The first option of the mapping that was given.
    mapping: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    tls: bool,
    authorities: Option<PathBuf>,
    certificate: Option<PathBuf>,
    certificate_key: Option<PathBuf>,
    db: Option<u32>,
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
        let is_layout = matches!(name, "delimiter" | "no-header" | "columns");
        if !is_layout && option::find(name).is_some_and(|entry| entry.section == Section::Mapping) {
            self.mapping.get_or_insert_with(|| name.to_owned());
        }
        match name {
            "adjacent" => self.adjacent = true,
            "dry-run" => self.dry_run = true,
            "quiet" => self.quiet = true,
            "replace" => self.replace = true,
            "tls" => self.tls = true,
            "hash" | "stream" => self.kind(name, None)?,
            "aof" => self.read(Input::Aof, path(parser, name)?)?,
            "csv" => self.read(Input::Table(Format::Csv), path(parser, name)?)?,
            "from" => self.read(Input::Server, PathBuf::from(text(parser, name)?))?,
            "ndjson" => self.read(Input::Table(Format::Ndjson), path(parser, name)?)?,
            "parquet" => self.read(Input::Parquet, path(parser, name)?)?,
            "rdb" => self.read(Input::Rdb, path(parser, name)?)?,
            "resp" => self.read(Input::Resp, path(parser, name)?)?,
            "tsv" => self.read(Input::Table(Format::Tsv), path(parser, name)?)?,
            "delimiter" => self.delimiter = Some(delimiter(&text(parser, name)?)?),
            "no-header" if self.columns == Columns::Header => self.columns = Columns::Numbered,
            "no-header" => {}
            "columns" => {
                self.columns = Columns::Named(text(parser, name)?.split(',').map(str::to_owned).collect());
            }
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
                let draft = Draft::parse(&text)
                    .map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
                if self.file.replace(draft).is_some() {
                    return Err(Error::Usage("--mapping is given more than once".to_owned()));
                }
            }
            "host" => self.host = Some(text(parser, name)?),
            "port" => self.port = Some(number(parser, name)?),
            "user" => self.user = Some(text(parser, name)?),
            "cacert" => self.authorities = Some(path(parser, name)?),
            "cert" => self.certificate = Some(path(parser, name)?),
            "cert-key" => self.certificate_key = Some(path(parser, name)?),
            "db" => self.db = Some(number(parser, name)?),
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
            let what = "more than one type is given: use one of --hash, --list, --set, --stream, --string and --zset";
            return Err(Error::Usage(what.to_owned()));
        }
        (self.draft.kind, self.draft.value) = (Some(name.to_owned()), value);
        Ok(())
    }

    fn read(&mut self, input: Input, path: PathBuf) -> Result<()> {
        match self.input.replace((input, path)) {
            Some(_) => Err(Error::Usage(format!("more than one input is given: use one of {INPUTS}"))),
            None => Ok(()),
        }
    }

    /// Refuses options that mean nothing for the input.
    fn check(&self, input: Input) -> Result<()> {
        let refuse = |name: &str, what: &str| Err(Error::Usage(format!("--{name} {what}")));
        if input == Input::Parquet && !parquet::IS_BUILT {
            return Err(parquet::not_built());
        }
        let has_rows = matches!(input, Input::Parquet | Input::Table(_));
        if let (Some(name), false) = (&self.mapping, has_rows) {
            return refuse(name, "works only with --csv, --tsv, --ndjson and --parquet");
        }
        if self.delimiter.is_some() && input != Input::Table(Format::Csv) {
            return refuse("delimiter", "works only with --csv");
        }
        if self.columns != Columns::Header
            && !matches!(input, Input::Table(Format::Csv) | Input::Table(Format::Tsv))
        {
            return refuse("no-header", "and --columns work only with --csv and --tsv");
        }
        let is_gathered = has_rows || input == Input::Resp;
        if self.adjacent && !is_gathered {
            return refuse("adjacent", "works only with --csv, --tsv, --ndjson, --parquet and --resp");
        }
        if self.state.is_some() && matches!(input, Input::Aof | Input::Server) {
            return refuse("state", "does not work with --aof and --from, which cannot be resumed");
        }
        if self.db.is_some() && input == Input::Aof {
            return refuse("db", "does not work with --aof, whose commands name their databases");
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Options> {
        let (input, path) = self
            .input
            .clone()
            .ok_or_else(|| Error::Usage(format!("no input is given: use one of {INPUTS}")))?;
        self.check(input)?;
        if input == Input::Parquet && path.as_os_str() == "-" {
            let what =
                "--parquet needs a file: Parquet is read from its end, which standard input does not allow";
            return Err(Error::Usage(what.to_owned()));
        }
        let workers = self.workers.unwrap_or_else(default_workers);
        if workers == 0 || workers > 1024 {
            return Err(Error::Usage(format!("--workers takes a number from 1 to 1024, not {workers}")));
        }
        let source = self.source(input, &path)?;
        let target = self.target(matches!(&source, Source::Server(from, _) if from.security.is_tls()))?;
        let is_file = input != Input::Server && path.as_os_str() != "-";
        Ok(Options {
            input: is_file.then_some(path),
            source,
            target,
            db: self.db,
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

    fn source(&mut self, input: Input, path: &Path) -> Result<Source> {
        Ok(match input {
            Input::Aof => Source::Aof,
            Input::Rdb => Source::Rdb,
            Input::Resp => Source::Resp,
            Input::Server => {
                let named = server::parse(&path.to_string_lossy()).map_err(Error::Usage)?;
                let Named { server: mut from, db, is_secure } = named;
                from.password = from.password.or_else(|| std::env::var("LARDER_LOAD_FROM_PASSWORD").ok());
                if is_secure {
                    from.security = self.security()?;
                }
                if self.db.is_some() && db.is_none() {
                    let what = "--db with --from needs the database of the source in its address, as in redis://host/0";
                    return Err(Error::Usage(what.to_owned()));
                }
                Source::Server(from, db)
            }
            Input::Parquet => Source::Parquet(self.whole_mapping()?),
            Input::Table(format) => {
                let layout = Layout {
                    format,
                    delimiter: self.delimiter.unwrap_or(b','),
                    columns: take(&mut self.columns),
                };
                Source::Table(layout, self.whole_mapping()?)
            }
        })
    }

    fn whole_mapping(&mut self) -> Result<Mapping> {
        take(&mut self.draft).over(self.file.take().unwrap_or_default())?.finish()
    }

    /// `reads_tls`: the source is read by TLS.
    fn target(&self, reads_tls: bool) -> Result<Target> {
        let files = [&self.authorities, &self.certificate, &self.certificate_key];
        if !self.tls && !reads_tls && files.iter().any(|file| file.is_some()) {
            let what = "--cacert, --cert and --cert-key work only with --tls or --from rediss://";
            return Err(Error::Usage(what.to_owned()));
        }
        let password = std::env::var("LARDER_LOAD_PASSWORD").ok();
        if self.user.is_some() && password.is_none() {
            let what = "--user needs a password: set the environment variable LARDER_LOAD_PASSWORD";
            return Err(Error::Usage(what.to_owned()));
        }
        Ok(Target {
            host: self.host.clone().unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: self.port.unwrap_or(6379),
            user: self.user.clone(),
            password,
            security: if self.tls { self.security()? } else { Security::default() },
        })
    }

    /// TLS, as the options say.
    fn security(&self) -> Result<Security> {
        let usage = |text: &str| Error::Usage(text.to_owned());
        let authorities = self.authorities.as_deref();
        let authorities =
            authorities.ok_or_else(|| usage("TLS needs --cacert with a file of trusted authorities"))?;
        let identity = match (&self.certificate, &self.certificate_key) {
            (Some(certificate), Some(key)) => Some((certificate.as_path(), key.as_path())),
            (None, None) => None,
            _ => return Err(usage("--cert and --cert-key must be given together")),
        };
        let password = std::env::var("LARDER_LOAD_CERT_KEY_PASSWORD").unwrap_or_default();
        Security::of(authorities, identity, &password)
    }
}

/// As many as processors; at least two, so that a server has something to do while the replies to another batch are read.
fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).max(2)
}

fn path(parser: &mut Parser, name: &str) -> Result<PathBuf> {
    parser.value().map(PathBuf::from).map_err(|_| Error::Usage(format!("--{name} needs a path")))
}

fn text(parser: &mut Parser, name: &str) -> Result<String> {
    let value = parser.value().map_err(|_| Error::Usage(format!("--{name} needs a value")))?;
    value.string().map_err(|_| Error::Usage(format!("the value of --{name} is not UTF-8")))
}

fn number<T: FromStr>(parser: &mut Parser, name: &str) -> Result<T> {
    let text = text(parser, name)?;
    text.parse().map_err(|_| Error::Usage(format!("--{name} takes a number, not '{text}'")))
}

fn delimiter(text: &str) -> Result<u8> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if matches!(byte, b' '..=b'~' | b'\t') && *byte != b'"' => Ok(*byte),
        _ => Err(Error::Usage(format!(
            "--delimiter takes one ASCII character other than a quote, or \\t, not '{text}'"
        ))),
    }
}

/// A report in words.
pub fn describe(report: &Report, is_dry: bool) -> String {
    let mut text = String::new();
    let Report { keys, elements, rows, row_unit, target, payload_bytes, memory_bytes, seconds, .. } = report;
    let (keys, elements) = (count(*keys, "key", "keys"), count(*elements, "element", "elements"));
    let one = row_unit.trim_end_matches('s');
    let what = format!("{keys} with {elements} from {}", count(*rows, one, row_unit));
    let _ = match is_dry {
        true => writeln!(text, "would load {what}"),
        false => writeln!(text, "loaded {what} into {target}"),
    };
    let rate = *rows as f64 / seconds.max(0.001);
    let memory =
        if is_dry { format!("about {memory_bytes} bytes of memory in Larder, ") } else { String::new() };
    let _ = writeln!(
        text,
        "{payload_bytes} bytes of payloads, {memory}{seconds:.1} seconds, {rate:.0} {row_unit} per second"
    );
    let counts = [
        (report.commands, "command", "commands", "sent unchanged"),
        (report.expired, "expired key", "expired keys", "skipped"),
        (report.skipped_batches, "batch", "batches", "loaded by an earlier run"),
    ];
    for (n, one, many, what) in counts.into_iter().filter(|(n, ..)| *n > 0) {
        let _ = writeln!(text, "{} {what}", count(n, one, many));
    }
    report.notes.iter().for_each(|note| {
        let _ = writeln!(text, "{note}");
    });
    if report.rejected > 0 {
        let what = match *row_unit {
            "keys" => count(report.rejected, "key", "keys"),
            unit => count(report.rejected, &format!("{one} or key"), &format!("{unit} or keys")),
        };
        let _ = writeln!(text, "{what} not loaded:");
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
        let from = options("--from redis://a:7/3 --db 4 --replace").unwrap();
        assert_eq!((from.input.is_none(), from.db), (true, Some(4)));
        assert!(matches!(from.source, Source::Server(Target { port: 7, .. }, Some(3))));
        assert!(matches!(options("--aof a").unwrap().source, Source::Aof));
        assert!(options("--resp - --adjacent --state s --db 2").unwrap().input.is_none());
    }

    #[test]
    fn layouts_are_read() {
        let layout = |line: &str| match options(line).unwrap().source {
            Source::Table(layout, _) => layout,
            other => panic!("{other:?}"),
        };
        let named = |names: &[&str]| Columns::Named(names.iter().map(|&name| name.to_owned()).collect());
        for (line, delimiter, columns) in [
            ("", b',', Columns::Header),
            ("--delimiter ;", b';', Columns::Header),
            (r"--delimiter \t --no-header", b'\t', Columns::Numbered),
            ("--columns a,b --no-header", b',', named(&["a", "b"])),
            ("--no-header --columns a", b',', named(&["a"])),
        ] {
            let found = layout(&format!("--csv f --key {{a}} --hash {line}"));
            assert_eq!(found, Layout { format: Format::Csv, delimiter, columns }, "{line}");
        }
    }

    #[test]
    fn parquet_is_read_by_who_is_built_for_it() {
        let columns = options("--parquet a --key {k} --hash --adjacent --state s");
        if parquet::IS_BUILT {
            let columns = columns.unwrap();
            assert!(matches!(columns.source, Source::Parquet(_)) && columns.input == Some("a".into()));
            let error = options("--parquet - --key {k} --hash").unwrap_err().to_string();
            assert!(error.contains("which standard input does not allow"), "{error}");
        } else {
            let error = columns.unwrap_err().to_string();
            assert!(error.ends_with("cargo build --release -p larder-load --features parquet"), "{error}");
        }
    }

    #[test]
    fn options_and_a_mapping_are_one_wherever_they_stand() {
        let folder = larder_testkit::temp_dir();
        let path = folder.join("mapping");
        let shown = |line: &str| {
            let line = line.replace("FILE", path.to_str().unwrap());
            match options(&format!("--csv a {line}")) {
                Ok(Options { source: Source::Table(_, mapping), .. }) => format!("{mapping:?}"),
                Ok(_) => "no table".to_owned(),
                Err(error) => error.to_string(),
            }
        };
        std::fs::write(&path, "key = 'k:{id}'\ntype = 'zset'\nvalue = '{m}'\nscore = 's'\n").unwrap();
        for (option, whole) in [
            ("--expire 60", "--key k:{id} --zset {m} --score s --expire 60"),
            ("--expire-at e", "--key k:{id} --zset {m} --score s --expire-at e"),
            ("--key other:{id}", "--key other:{id} --zset {m} --score s"),
            ("--score t", "--key k:{id} --zset {m} --score t"),
        ] {
            let expected = shown(whole);
            assert!(expected.contains("SortedSet"), "{expected}");
            assert_eq!(shown(&format!("{option} --mapping FILE")), expected, "{option}");
            assert_eq!(shown(&format!("--mapping FILE {option}")), expected, "{option}");
        }
        for (option, reason) in [
            ("--hash", "--hash and the mapping file both set a type"),
            ("--list {m}", "--list and the mapping file both set a type"),
            ("--id i", "the type 'zset' takes no id"),
            ("--fields a", "the type 'zset' takes no fields"),
            ("--mapping FILE", "--mapping is given more than once"),
        ] {
            assert_eq!(shown(&format!("{option} --mapping FILE")), reason);
            assert_eq!(shown(&format!("--mapping FILE {option}")), reason);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_table_has_what_the_command_line_takes() {
        for entry in option::OPTIONS {
            // The value may be nonsense for the option, which then is not unknown.
            let value = if entry.value.is_empty() { String::new() } else { " x".to_owned() };
            let parsed = parse(format!("--{}{value}", entry.name).split_whitespace().map(OsString::from));
            let error = parsed.err().map_or(String::new(), |error| error.to_string());
            assert!(!error.contains("invalid option") && !error.contains("unexpected"), "{error}");
            assert_eq!(error.contains("takes a"), matches!(entry.value, "N" | "MB" | "SECONDS"), "{error}");
        }
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
            "--csv a --key k --hash --delimiter",
            "--csv a --key k --hash --delimiter ab",
            "--csv a --key k --hash --delimiter \"",
            "--tsv a --key k --hash --delimiter ;",
            "--ndjson a --key k --hash --no-header",
            "--resp a --columns a,b",
            "--csv a --key k --hash --odd",
            "--csv a --key k --hash extra",
            "--csv a --mapping /nonexistent/mapping",
            "--resp a --key k",
            "--rdb a --zset k",
            "--rdb a --resp b",
            "--parquet a --csv b --key k --hash",
            "--parquet a",
            "--parquet a --key k",
            "--rdb a --adjacent",
            "--aof a --adjacent",
            "--aof a --state s",
            "--aof a --db 1",
            "--from redis://a --state s",
            "--from redis://a --db 1",
            "--from a",
            "--from rediss://a",
            "--csv a --key k --hash --tls",
            "--csv a --key k --hash --cacert c",
            "--csv a --key k --hash --cert c --cert-key k",
            "--csv a --key k --hash --tls --cacert /nonexistent/authorities",
        ] {
            assert!(options(line).is_err(), "{line}");
        }
    }
}
