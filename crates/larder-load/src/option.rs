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
                "Input (exactly one; - is standard input, except for --parquet; gzip and Zstandard files are decompressed)"
            }
            Section::Mapping => "Mapping (for rows of --csv, --tsv, --ndjson and --parquet)",
            Section::Target => "Target",
            Section::How => "Behavior",
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
    /// What its value is called; empty if it has none. `FILE`, `PATH` and `DIRECTORY` are completed.
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
    entry(Input, "csv", "FILE", "comma-separated values; the first line names the columns"),
    entry(Input, "tsv", "FILE", "tab-separated values without quotes; the first line names the columns"),
    entry(Input, "ndjson", "FILE", "one JSON object per line"),
    entry(Input, "parquet", "FILE", "a Parquet file (only if built with the feature parquet)"),
    entry(Input, "resp", "FILE", "commands, as for redis-cli --pipe"),
    entry(Input, "rdb", "FILE", "an RDB file"),
    entry(Input, "aof", "PATH", "an append-only file: its directory, its manifest, or a single file"),
    entry(Input, "from", "ADDRESS", "another server: redis://[user:password@]host[:port][/db], or rediss:// for TLS"),
    entry(Mapping, "delimiter", "CHARACTER", "character between the values of --csv (default: a comma); \\t is a tab"),
    entry(Mapping, "no-header", "", "read the first line of --csv or --tsv as a row; the columns are named 1, 2, .."),
    entry(Mapping, "columns", "A,B,..", "read the first line of --csv or --tsv as a row; the columns have these names"),
    entry(Mapping, "key", "TEMPLATE", "key of each row, such as 'user:{id}'"),
    entry(Mapping, "hash", "", "each row becomes a hash, with columns as fields"),
    entry(Mapping, "string", "TEMPLATE", "each row becomes a string, such as '{name}'"),
    entry(Mapping, "list", "TEMPLATE", "each row becomes an element of a list"),
    entry(Mapping, "set", "TEMPLATE", "each row becomes a member of a set"),
    entry(Mapping, "zset", "TEMPLATE", "each row becomes a member of a sorted set; needs --score"),
    entry(Mapping, "score", "COLUMN", "column with the score of the member, for --zset"),
    entry(Mapping, "stream", "", "each row becomes an entry of a stream, with columns as fields"),
    entry(Mapping, "id", "COLUMN", "column with the ID of the entry, for --stream (default: 1-1, 2-1, ..)"),
    entry(Mapping, "fields", "A,B,..", "use only these columns as fields, for --hash and --stream (default: all)"),
    entry(Mapping, "expire", "SECONDS", "time to live of the keys, in seconds from the start of the load"),
    entry(Mapping, "expire-at", "COLUMN", "column with the expiry time of the key, in Unix seconds"),
    entry(Mapping, "mapping", "FILE", "TOML file with these settings; options on the command line override it"),
    entry(Target, "host", "NAME", "host of the target (default: 127.0.0.1)"),
    entry(Target, "port", "N", "port of the target (default: 6379)"),
    entry(Target, "user", "NAME", "user of the target; the password is read from LARDER_LOAD_PASSWORD"),
    entry(Target, "tls", "", "connect with TLS; the server's certificate must name the host"),
    entry(Target, "cacert", "FILE", "trusted authorities (PEM), for --tls and for --from rediss://"),
    entry(Target, "cert", "FILE", "client certificate (PEM)"),
    entry(Target, "cert-key", "FILE", "private key of --cert; its password is read from LARDER_LOAD_CERT_KEY_PASSWORD"),
    entry(Target, "db", "N", "target database (default: 0); with --rdb, load only this database (default: all)"),
    entry(Target, "workers", "N", "number of threads, each with a connection (default: number of cores, at least 2)"),
    entry(Target, "replace", "", "replace existing keys; without it, they are rejected"),
    entry(How, "memory", "MB", "megabytes of memory for incomplete keys (default: 256); beyond it, they go to temporary files"),
    entry(How, "spill", "DIRECTORY", "directory for these temporary files (default: $TMPDIR, or /tmp)"),
    entry(How, "adjacent", "", "send a key as soon as the next one begins, for input that is grouped by key"),
    entry(How, "rejects", "FILE", "file for what is not loaded, one per line: position, reason, text or key"),
    entry(How, "state", "FILE", "file that records the progress; the same command resumes an interrupted load"),
    entry(How, "dry-run", "", "build all keys and report their size, but send nothing"),
    entry(How, "quiet", "", "show no progress"),
    entry(How, "help", "", "print this summary"),
    entry(How, "version", "", "print the version"),
];

/// The option of a name.
pub fn find(name: &str) -> Option<&'static Entry> {
    OPTIONS.iter().find(|entry| entry.name == name)
}

/// What `--help` prints.
pub fn summary() -> String {
    let mut text = "Usage: larder-load [OPTION...]\n\
        Loads data into a server that speaks the Redis protocol. Builds each value itself and sends it as one command.\n"
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
