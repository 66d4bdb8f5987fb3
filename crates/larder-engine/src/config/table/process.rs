//! The process: threads, log, files, signals, scheduling.

use super::row::*;
use crate::config::choices::{
    Choice, LogFormat, LogThreshold, LogTimestampFormat, OomScoreAdj, SHUTDOWN, Supervised,
};
use crate::config::error::OptionError;
use crate::config::kind::Kind;
use crate::config::kind::Names;
use crate::config::special::Special;

const FACILITIES: Names = &[
    ("user", 8),
    ("local0", 128),
    ("local1", 136),
    ("local2", 144),
    ("local3", 152),
    ("local4", 160),
    ("local5", 168),
    ("local6", 176),
    ("local7", 184),
];
const TITLE: &str = "{title} {listen-addr} {server-mode}";
/// What a process title may be made of.
const TITLE_VARIABLES: [&str; 7] =
    ["title", "listen-addr", "server-mode", "port", "tls-port", "unixsocket", "config-file"];

pub(super) static OPTIONS: &[Opt] = &[
    // The default is the number of cores, see `Config::new`.
    int("threads", 1, 1024, "1")
        .alias(&["io-threads"])
        .immutable()
        .does("Threads that serve clients; the default is the number of cores.", "options/main.rs"),
    int("prefetch-batch-max-size", 0, 128, "16").dormant("prefetching for threads of input and output"),
    yes_no("daemonize", "no").immutable().does("Runs in the background.", "start.rs"),
    one_of("supervised", Supervised::NAMES, "no")
        .immutable()
        .does("Tells systemd or upstart when the server is ready.", "options/main.rs"),
    text("pidfile", "").immutable().does("File with the process's number.", "start.rs"),
    one_of("loglevel", LogThreshold::NAMES, "notice")
        .does("Messages below this level are not logged.", "options/main.rs"),
    text("logfile", "")
        .immutable()
        .does("File that the log is written to; standard output if empty.", "start.rs"),
    one_of("log-format", LogFormat::NAMES, "legacy").does("Form of a line of the log.", "options/process.rs"),
    one_of("log-timestamp-format", LogTimestampFormat::NAMES, "legacy")
        .does("Form of the time in a line of the log.", "options/process.rs"),
    yes_no("hide-user-data-from-log", "yes")
        .hot_bool(|h| &h.hide_user_data_from_log)
        .does("Leaves arguments out of reports of crashes and the log.", "crashes.rs"),
    yes_no("syslog-enabled", "no")
        .immutable()
        .does("Writes the log to the system's log as well.", "options/main.rs"),
    text("syslog-ident", "larder")
        .immutable()
        .does("Name of the server in the system's log.", "options/main.rs"),
    one_of("syslog-facility", FACILITIES, "local0")
        .immutable()
        .does("Facility of the system's log.", "options/main.rs"),
    yes_no("always-show-logo", "no")
        .immutable()
        .does("Draws the logo also when nobody looks on.", "options/main.rs"),
    yes_no("set-proc-title", "yes")
        .immutable()
        .does("Shows in the list of processes what is served.", "options/main.rs"),
    checked_text("proc-title-template", title_template, TITLE)
        .does("What is shown there.", "options/main.rs"),
    yes_no("crash-log-enabled", "yes").does("Reports crashes in the log.", "crashes.rs"),
    yes_no("crash-memcheck-enabled", "no").ignored("Larder does not test memory when it crashes"),
    text("debug-context", "")
        .hidden()
        .immutable()
        .does("A text that reports of crashes contain.", "options/main.rs"),
    yes_no("enable-debug-assert", "no")
        .hidden()
        .immutable()
        .ignored("Larder has no assertions that an option switches on"),
    text("ignore-warnings", "").dormant("warnings that stop the start"),
    checked_text("locale-collate", locale, "").dormant("orders of strings other than that of bytes"),
    text("availability-zone", "").does("A name that `INFO` tells.", "options/main.rs"),
    special("dir", Special::Dir, ".")
        .protected()
        .does("Working directory: the files of data are there.", "options/main.rs"),
    option("shutdown-on-sigint", Kind::Flags(SHUTDOWN), "default")
        .does("How SIGINT ends the server.", "options/process.rs"),
    option("shutdown-on-sigterm", Kind::Flags(SHUTDOWN), "default")
        .does("How SIGTERM ends the server.", "options/process.rs"),
    int("shutdown-timeout", 0, INT_MAX, "10")
        .does("Seconds for which the end of a primary waits for its replicas.", "replication/roles.rs"),
    one_of("oom-score-adj", OomScoreAdj::NAMES, "no")
        .does("Whether the kernel is told how gladly it may kill the process.", "options/main.rs"),
    special("oom-score-adj-values", Special::OomScores, "0 200 800")
        .does("What the kernel is told by `oom-score-adj`; the first number counts.", "options/main.rs"),
    yes_no("disable-thp", "yes").immutable().does("Turns transparent huge pages off.", "options/process.rs"),
    yes_no("jemalloc-bg-thread", "yes")
        .does("Memory is given back by a thread of the allocator.", "options/process.rs"),
    text("server-cpulist", "")
        .alias(&["server_cpulist"])
        .immutable()
        .does("Processors for the threads that serve clients.", "options/main.rs"),
    text("bio-cpulist", "")
        .alias(&["bio_cpulist"])
        .immutable()
        .does("Processors for the threads that work in the background.", "options/main.rs"),
    text("aof-rewrite-cpulist", "")
        .alias(&["aof_rewrite_cpulist"])
        .immutable()
        .does("Processors for rewriting the append-only file.", "options/main.rs"),
    text("bgsave-cpulist", "")
        .alias(&["bgsave_cpulist"])
        .immutable()
        .does("Processors for saving in the background.", "options/main.rs"),
    int("hz", 0, INT_MAX, "10")
        .hot_int(|h| &h.hz)
        .does("How often a second the server looks after what is due.", "options/main.rs"),
    int("databases", 1, INT_MAX, "16")
        .immutable()
        .hot_int(|h| &h.databases)
        .does("Number of databases.", "memory.rs"),
    int("watchdog-period", 0, INT_MAX, "0")
        .hidden()
        .does("Milliseconds after which the stack of a thread that hangs is logged.", "crashes.rs"),
    yes_no("use-exit-on-panic", "no")
        .hidden()
        .does("A panic ends the process by exit code 1 and not by a signal.", "options/main.rs"),
];

fn title_template(template: &str) -> Result<(), OptionError> {
    if template.trim_ascii().is_empty() {
        return Err(OptionError::TitleTemplate);
    }
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let known = rest[open + 1..].split_once('}').filter(|(name, _)| TITLE_VARIABLES.contains(name));
        let Some((_, after)) = known else {
            return Err(OptionError::TitleTemplate);
        };
        rest = after;
    }
    Ok(())
}

/// Strings are compared byte by byte, as in these locales.
fn locale(name: &str) -> Result<(), OptionError> {
    match name {
        "" | "C" | "C.UTF-8" | "C.utf8" | "POSIX" => Ok(()),
        _ => Err(OptionError::Locale),
    }
}
