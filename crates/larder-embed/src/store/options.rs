//! Options of a store: those of the server that have a meaning in a library.

use crate::error::{Error, Result};
use larder_engine::LogLevel;
use larder_engine::config::{Config, ConfigText, FatalConfig, LineError, Source};
use larder_engine::config_file::{DirectiveError, Loaded};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

/// Options that may be set: what is about the data and how it lies in memory. All others are about connections, other servers, or the memory
/// of a process of its own.
const KNOWN: &[&str] = &[
    "active-expire-effort",
    "databases",
    "hash-max-listpack-entries",
    "hash-max-listpack-value",
    "hash-shared-fields",
    "hll-sparse-max-bytes",
    "lazyfree-lazy-expire",
    "lazyfree-lazy-server-del",
    "lazyfree-lazy-user-del",
    "lazyfree-lazy-user-flush",
    "list-compress-codec",
    "list-compress-depth",
    "list-max-listpack-size",
    "proto-max-bulk-len",
    "set-max-intset-entries",
    "set-max-listpack-entries",
    "set-max-listpack-value",
    "stream-node-max-bytes",
    "stream-node-max-entries",
    "zset-max-listpack-entries",
    "zset-max-listpack-value",
];

/// Options that may be set where there is a directory: how its files are written and read.
const OF_FILES: &[&str] = &[
    "aof-disable-auto-gc",
    "aof-load-truncated",
    "aof-rewrite-incremental-fsync",
    "aof-timestamp-enabled",
    "aof-use-rdb-preamble",
    "appenddirname",
    "appendfilename",
    "appendfsync",
    "appendonly",
    "auto-aof-rewrite-min-size",
    "auto-aof-rewrite-percentage",
    "dbfilename",
    "no-appendfsync-on-rewrite",
    "rdb-key-save-delay",
    "rdb-save-incremental-fsync",
    "rdb-target-version",
    "rdb-version-check",
    "rdbchecksum",
    "rdbcompression",
    "save",
    "stop-writes-on-bgsave-error",
];

/// What is set for every store, before what is given: there are no reports of crashes, no port, no save points, and nobody to ask for latencies.
const GIVEN: &[(&str, &str)] = &[
    ("appendonly", "no"),
    ("commandlog-execution-slower-than", "-1"),
    ("commandlog-reply-larger-than", "-1"),
    ("commandlog-request-larger-than", "-1"),
    ("hide-user-data-from-log", "yes"),
    ("latency-tracking", "no"),
    ("port", "0"),
    ("save", ""),
];

/// Hears a line of the log.
type Hear = dyn Fn(LogLevel, &str) + Send + Sync;

/// Who hears what a server would write to its log.
#[derive(Clone)]
pub(crate) struct Listener(pub Arc<Hear>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Options of a store that is opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    set: Vec<(String, String)>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) saves_at_end: bool,
    pub(crate) listener: Option<Listener>,
}

/// Whether an option is one of a store with a directory.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name) || OF_FILES.contains(&name)
}

impl Options {
    /// The defaults of the server.
    pub fn new() -> Options {
        Options::default()
    }

    /// Sets an option of the server, as `databases` or `hash-max-listpack-entries`. What is wrong with it is said when the store is opened.
    #[must_use]
    pub fn option(mut self, name: &str, value: &str) -> Options {
        self.set.push((name.to_ascii_lowercase(), value.to_owned()));
        self
    }

    /// Keeps the data in files below a directory, which is created if it does not exist. The files are those of the server: what either has
    /// written, the other reads. Every write is kept in the append-only file, as `appendfsync` says, unless [`persist`](Options::persist) or
    /// the option `appendonly` switches that off. If the directory has an RDB file and no append-only file, the RDB file is loaded, and an
    /// append-only file is begun.
    #[must_use]
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Options {
        self.directory = Some(path.into());
        self
    }

    /// Whether a store with a directory keeps every write in the append-only file. With `false` it keeps only what the commands SAVE and
    /// BGSAVE, save points or [`save_on_close`](Options::save_on_close) write to the RDB file. The default is `true`.
    #[must_use]
    pub fn persist(self, yes: bool) -> Options {
        self.option("appendonly", if yes { "yes" } else { "no" })
    }

    /// Whether the append-only file is kept because of the directory alone.
    pub(crate) fn implies_log(&self) -> bool {
        self.directory.is_some() && !self.set.iter().any(|(name, _)| name == "appendonly")
    }

    /// Saves the data to the RDB file when the store is closed, or its last handle dropped. So it is without this if there are save points.
    #[must_use]
    pub fn save_on_close(mut self) -> Options {
        self.saves_at_end = true;
        self
    }

    /// Has a function called with what a server would write to its log: above all, why a file was not written. It is called on any thread, and
    /// must not use the store.
    #[must_use]
    pub fn log(mut self, hear: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Options {
        self.listener = Some(Listener(Arc::new(hear)));
        self
    }

    /// The configuration of an engine.
    ///
    /// # Errors
    /// An option is unknown, wrong, or not one of a library.
    pub(crate) fn config(&self) -> Result<Config> {
        self.config_with(&[])
    }

    /// The same with further options, which are not checked against those of a library.
    pub(crate) fn config_with(&self, more: &[(&str, &str)]) -> Result<Config> {
        let config = Config::new(thread::available_parallelism().map_or(1, usize::from));
        let has_files = self.directory.is_some();
        if self.saves_at_end && !has_files {
            let reason = "requires a directory".to_owned();
            return Err(Error::Option { name: "save_on_close".to_owned(), reason });
        }
        let is_allowed = |name: &str| KNOWN.contains(&name) || has_files && OF_FILES.contains(&name);
        if let Some((name, _)) = self.set.iter().find(|(name, _)| !is_allowed(name)) {
            let reason = match config.get(name) {
                Some(_) if OF_FILES.contains(&name.as_str()) => "requires a directory",
                Some(_) => "is not supported in a library",
                None => "no such option",
            };
            return Err(Error::Option { name: name.clone(), reason: reason.to_owned() });
        }
        let implied = self.implies_log().then_some(("appendonly", "yes"));
        let own = self.set.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in GIVEN.iter().copied().chain(implied).chain(own).chain(more.iter().copied()) {
            let text = format!("{name} {}\n", words(name, value));
            let text = ConfigText { source: Source::CommandLine, text };
            let mut include = |_: &str| Ok(Vec::new());
            Loaded::load(&config, &[text], &mut include)
                .map_err(|error| Error::Option { name: name.to_owned(), reason: reason(&error) })?;
        }
        Ok(config)
    }
}

/// Why an option does not take a value.
fn reason(error: &FatalConfig<DirectiveError>) -> String {
    match error {
        FatalConfig::Line { error: LineError::Option { error, .. }, .. } => error.to_string(),
        FatalConfig::Line { error, .. } => error.to_string(),
        other => other.to_string(),
    }
}

/// A value in quotes; that of the primary's address is two words.
fn words(name: &str, value: &str) -> String {
    match value.rsplit_once(' ').filter(|_| name == "replicaof") {
        Some((host, port)) => format!("{} {}", quoted(host), quoted(port)),
        None => quoted(value),
    }
}

fn quoted(value: &str) -> String {
    let bytes = value.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    });
    format!("\"{}\"", bytes.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_those_of_the_server() {
        let config = Config::new(1);
        for name in KNOWN.iter().chain(OF_FILES).chain(GIVEN.iter().map(|(name, _)| name)) {
            assert!(config.get(name).is_some(), "{name}");
        }
    }

    #[test]
    fn what_is_set_holds_and_what_is_not_known_is_refused_by_name() {
        let config = Options::new().option("Databases", "3").config().unwrap();
        assert_eq!((config.number("databases"), config.number("port")), (3, 0));
        for (name, value) in [("port", "1"), ("maxmemory", "1gb"), ("no-such", "1"), ("databases", "-1")] {
            let error = Options::new().option(name, value).config().err();
            assert!(matches!(&error, Some(Error::Option { name: said, .. }) if said == name), "{error:?}");
        }
    }

    #[test]
    fn options_of_files_take_a_directory() {
        let options = Options::new().option("appendonly", "yes").option("save", "60 1 10 100");
        let refused = options.config().err();
        assert!(matches!(&refused, Some(Error::Option { name, .. }) if name == "appendonly"), "{refused:?}");
        let config = options.directory("d").config().unwrap();
        assert_eq!((config.is_yes("appendonly"), config.value("save").as_str()), (true, "60 1 10 100"));
        let config = Options::new().directory("d").config().unwrap();
        assert_eq!((config.is_yes("appendonly"), config.value("save").as_str()), (true, ""));
        for options in [Options::new().persist(false), Options::new().option("appendonly", "no")] {
            assert!(!options.directory("d").config().unwrap().is_yes("appendonly"));
        }
        assert!(!Options::new().config().unwrap().is_yes("appendonly"));
        assert!(Options::new().save_on_close().config().is_err());
    }

    #[test]
    fn values_of_any_bytes() {
        let secret = "a b\"c\\d\u{e9}\n";
        let config =
            Options::new().config_with(&[("primaryauth", secret), ("replicaof", "::1 7000")]).unwrap();
        assert_eq!(
            (config.value("primaryauth").as_str(), config.value("replicaof").as_str()),
            (secret, "::1 7000")
        );
    }
}
