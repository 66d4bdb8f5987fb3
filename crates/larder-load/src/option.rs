//! The table of options: the summary, the manual page and the completions of shells are made from it. A test
//! checks that the command line takes each of them.

/// What an option is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What is read.
    Input,
    /// What becomes of rows.
    Mapping,
    /// Who is loaded.
    Target,
    /// All else.
    How,
}

impl Section {
    /// All of them, in the order of the summary.
    pub const ALL: [Section; 4] = [Section::Input, Section::Mapping, Section::Target, Section::How];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::Input => {
                "Input (one of them; - is the standard input, but for --parquet; gzip and Zstandard are decompressed)"
            }
            Section::Mapping => "Mapping (of the rows of --csv, --tsv, --ndjson and --parquet)",
            Section::Target => "Target",
            Section::How => "How",
        }
    }
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is about.
    pub section: Section,
    /// Its name without dashes.
    pub name: &'static str,
    /// What its value is called; empty if it has none. `FILE`, `PATH` and `FOLDER` are completed.
    pub value: &'static str,
    /// What it says.
    pub text: &'static str,
}

const fn entry(section: Section, name: &'static str, value: &'static str, text: &'static str) -> Entry {
    Entry { section, name, value, text }
}

use Section::{How, Input, Mapping, Target};

/// All options.
#[rustfmt::skip]
pub const OPTIONS: &[Entry] = &[
    entry(Input, "csv", "FILE", "comma-separated values, the first line names the columns"),
    entry(Input, "tsv", "FILE", "the same with tabs, without quotes"),
    entry(Input, "ndjson", "FILE", "a JSON object a line"),
    entry(Input, "parquet", "FILE", "a Parquet file, if the program is built with the feature of that name"),
    entry(Input, "resp", "FILE", "commands, as for redis-cli --pipe"),
    entry(Input, "rdb", "FILE", "an RDB file"),
    entry(Input, "aof", "PATH", "an append-only file: its folder, its manifest, or a single file"),
    entry(Input, "from", "ADDRESS", "another server: redis://[user:password@]host[:port][/db]; rediss:// is by TLS"),
    entry(Mapping, "delimiter", "CHARACTER", "between the values of --csv, instead of a comma; \\t is a tab"),
    entry(Mapping, "no-header", "", "the first line of --csv or --tsv is a row; columns are 1, 2, .."),
    entry(Mapping, "columns", "A,B,..", "the same, and these are the names of the columns"),
    entry(Mapping, "key", "TEMPLATE", "the key of a row, as 'user:{id}'"),
    entry(Mapping, "hash", "", "the row as fields of a hash"),
    entry(Mapping, "string", "TEMPLATE", "a string, as '{name}'"),
    entry(Mapping, "list", "TEMPLATE", "an element of a list"),
    entry(Mapping, "set", "TEMPLATE", "a member of a set"),
    entry(Mapping, "zset", "TEMPLATE", "a member of a sorted set"),
    entry(Mapping, "score", "COLUMN", "where its score is"),
    entry(Mapping, "stream", "", "an entry of a stream"),
    entry(Mapping, "id", "COLUMN", "where its ID is"),
    entry(Mapping, "fields", "A,B,..", "only these columns are fields of the hash or the entry"),
    entry(Mapping, "expire", "SECONDS", "keys expire so long after the load"),
    entry(Mapping, "expire-at", "COLUMN", "or at the time in this column (Unix seconds)"),
    entry(Mapping, "mapping", "FILE", "all of that as TOML; options add to it, or replace what it says"),
    entry(Target, "host", "NAME", "default 127.0.0.1"),
    entry(Target, "port", "N", "default 6379"),
    entry(Target, "user", "NAME", "the password is read from the environment: LARDER_LOAD_PASSWORD"),
    entry(Target, "tls", "", "by TLS; the certificate of the server must name the host"),
    entry(Target, "cacert", "FILE", "the authorities that are trusted, for --tls and for --from rediss://"),
    entry(Target, "cert", "FILE", "the certificate that is shown to servers that ask for one"),
    entry(Target, "cert-key", "FILE", "its key; a password is read from LARDER_LOAD_CERT_KEY_PASSWORD"),
    entry(Target, "db", "N", "the database, default 0; of an RDB file the only one that is loaded, default all"),
    entry(Target, "workers", "N", "threads, each with a connection (default: as many as processors, at least 2)"),
    entry(Target, "replace", "", "keys that exist are replaced; without it they stay, and are rejects"),
    entry(How, "memory", "MB", "for keys that are not complete yet, default 256; what is more goes to disk"),
    entry(How, "spill", "FOLDER", "where to, default: the folder for temporary files"),
    entry(How, "adjacent", "", "the rows or commands of a key follow each other: nothing is kept"),
    entry(How, "rejects", "FILE", "gets what was not loaded: line, row or offset, reason, text"),
    entry(How, "state", "FILE", "notes what is loaded; the same command again goes on from there"),
    entry(How, "dry-run", "", "sends nothing, and says what it would have made"),
    entry(How, "quiet", "", "no progress"),
    entry(How, "help", "", "prints a summary"),
    entry(How, "version", "", "prints the version"),
];

/// The option of a name.
pub fn find(name: &str) -> Option<&'static Entry> {
    OPTIONS.iter().find(|entry| entry.name == name)
}

/// What `--help` prints.
pub fn summary() -> String {
    let mut text = "usage: larder-load [OPTION...]\n\
        Loads keys into a server of the Redis protocol: they are packed here and sent as payloads.\n"
        .to_owned();
    for section in Section::ALL {
        text += &format!("\n{}:\n", section.title());
        for entry in OPTIONS.iter().filter(|entry| entry.section == section) {
            let head = format!("--{} {}", entry.name, entry.value);
            text += &format!("  {:<21} {}\n", head.trim_end(), entry.text);
        }
    }
    text
}
