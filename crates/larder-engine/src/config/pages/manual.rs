//! Manual pages, in the macros that `man` knows: the program's, and the configuration file's with every option.

use super::{Opt, SECTIONS, read_by, values_of};
use crate::config::rewrite::default_lines;
use std::fmt::Write;

const SERVER_NAME: &str = "\
.SH NAME
larder-server \\- in-memory data store that speaks the Redis protocol
.SH SYNOPSIS
.B larder-server
.RI [ FILE ]
.RB [ \\-\\-\\c
.IR OPTION \\ VALUE ...]...
.RB [ \\- ]
.br
.B larder-server
.BR \\-v | \\-\\-version | \\-h | \\-\\-help | \\-\\-check\\-system
.br
.B larder-server \\-\\-check\\-config
.I FILE
.RB [ \\-\\-\\c
.IR OPTION \\ VALUE ...]...
.br
.B larder-server \\-\\-test\\-memory
.I MEGABYTES
.br
.B larder-server \\-\\-health
.RB [ \\-\\-ready ]
.RB [ \\-h
.IR HOST ]
.RB [ \\-p
.IR PORT ]
.RI [ FILE ]
.br
.B larder-server
.I FILE
.B \\-\\-sentinel
.SH DESCRIPTION
.B larder-server
keeps strings, lists, hashes, sets, sorted sets and streams in memory and serves them over TCP, TLS and Unix sockets. Clients,
configuration files, data files and replicas of Redis and Valkey work with it.
.PP
Without a
.I FILE
the server starts with its defaults, which are those of Valkey. It listens on port 6379 on all addresses. While the default user has no
password, it accepts only connections from this machine.
.SH OPTIONS
Every option of
.BR larder.conf (5)
can be set with
.BI \\-\\- OPTION\\ VALUE\\fR,
which overrides the file.
.TP
.B \\-
reads more lines of configuration from standard input. They override the file, and options on the command line override them.
.TP
.BR \\-v ,\\  \\-\\-version
prints the version.
.TP
.BR \\-h ,\\  \\-\\-help
prints a summary.
.TP
.BI \\-\\-check\\-config\\  FILE
reports every problem in a configuration file and in the options after it, each with advice, and does not start the server. Exits with 1 if
there is a problem.
.TP
.B \\-\\-check\\-system
looks for system settings that can slow the server down or terminate it. Exits with 1 if it finds one.
.TP
.BI \\-\\-test\\-memory\\  MEGABYTES
writes patterns to this much memory and reads them back. Exits with 1 if any have changed.
.TP
.B \\-\\-health
asks the server on this machine, or the one that
.I FILE
configures, whether it is alive. Exits with 1 if it is not. With
.BR \\-\\-ready ,
also exits with 1 while it does not serve commands.
.B larder-server \\-\\-health \\-\\-help
lists the options.
.TP
.B \\-\\-sentinel
starts
.BR valkey-sentinel (1)
or
.BR redis-sentinel (1),
whichever is installed, with the same arguments.
";

const SERVER_END: &str = "\
.SH SIGNALS
.TP
.BR SIGTERM ,\\  SIGINT
shut the server down as
.B SHUTDOWN
does. The options
.B shutdown-on-sigterm
and
.B shutdown-on-sigint
set how. A second SIGINT makes the server exit without saving.
.SH EXIT STATUS
0 after a shutdown, 1 if the server could not start, another value if it crashed or a signal terminated it.
.SH ENVIRONMENT
.TP
.B NOTIFY_SOCKET
socket of systemd, which the server notifies when it is ready, with
.B supervised systemd
or
.BR auto .
.TP
.B LARDER_PROTECTED_MODE
default of
.BR protected-mode :
yes, or no in container images that replace those of Valkey and Redis.
.TP
.BR LARDERCLI_AUTH ,\\  VALKEYCLI_AUTH ,\\  REDISCLI_AUTH
password for
.BR \\-\\-health .
.SH FILES
.TP
.I /etc/larder/larder.conf
configuration of the packaged service.
.TP
.I /var/lib/larder
data of the packaged service:
.I dump.rdb
and
.IR appendonlydir .
.SH EXAMPLES
.nf
larder-server \\-\\-port 7000 \\-\\-maxmemory 2gb \\-\\-maxmemory\\-policy allkeys\\-lru
larder-server /etc/larder/larder.conf \\-\\-loglevel verbose
echo \\(aqmaxmemory 128mb\\(aq | larder-server \\-
.fi
.SH SEE ALSO
.BR larder.conf (5),
.BR redis-cli (1),
.BR valkey-cli (1)
";

const FILE_NAME: &str = "\
.SH NAME
larder.conf \\- configuration of larder-server
.SH DESCRIPTION
Each line holds the name of an option and its value, in quotes if the value contains spaces. Lines that begin with # are comments. Byte
values can have units: 1k (1000 bytes), 1kb (1024), 1m, 1mb, 1g, 1gb. To include the lines of another file, write
.BI include\\  path\\fR.
If an option appears several times, the last line counts. If a line is invalid, the server shows it and does not start.
.PP
.B CONFIG SET
changes most options of a running server, and
.B CONFIG REWRITE
writes them to the file. Options marked [start] can only be set at startup.
";

/// The manual page of the program, section 1.
pub fn server_manual() -> String {
    head("LARDER-SERVER", 1) + SERVER_NAME + SERVER_END
}

/// The manual page of the configuration file, section 5.
pub fn file_manual() -> String {
    let mut page = head("LARDER.CONF", 5) + FILE_NAME;
    for section in SECTIONS.iter().filter(|section| read_by(section).next().is_some()) {
        let _ = writeln!(page, ".SH {}", escaped(&section.title.to_uppercase()));
        read_by(section).filter(|opt| !opt.hidden).for_each(|opt| push_option(&mut page, opt));
    }
    page + ".SH SEE ALSO\n.BR larder-server (1)\n"
}

fn head(title: &str, section: u8) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        ".\\\" Made from the table of options by: make pages\n.TH {title} {section} \"\" \"Larder {version}\"\n"
    )
}

fn push_option(page: &mut String, opt: &Opt) {
    let start = if opt.immutable { " [start]" } else { "" };
    for (nth, line) in default_lines(opt).iter().enumerate() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        // The number of cores is found at the start.
        let value = if opt.name == "threads" { "(cores)" } else { value };
        let tag = if nth == 0 { ".TP" } else { ".TQ" };
        let _ = writeln!(page, "{tag}\n\\fB{}\\fR {}{start}", escaped(name), escaped(value));
    }
    let aliases = opt.aliases.iter().map(|alias| format!(" Another name: {alias}."));
    let text = opt.summary.replace('`', "") + &values_of(opt.kind) + &aliases.collect::<String>();
    let _ = writeln!(page, "{}", escaped(&text));
}

/// Text in which nothing is taken for a request or an escape, and hyphens can be searched for.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_text_or_a_request() {
        for page in [server_manual(), file_manual()] {
            let requests = [
                ".TH ", ".SH ", ".TP", ".TQ", ".PP", ".BR ", ".RB ", ".RI ", ".B ", ".BI ", ".I ", ".IR ",
                ".br", ".nf", ".fi", ".\\\"",
            ];
            for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
                assert!(requests.iter().any(|request| line.starts_with(request)), "{line}");
            }
        }
        assert_eq!(escaped(".a-b\\"), "\\&.a\\-b\\e");
    }

    #[test]
    fn every_option_is_there_once() {
        let page = file_manual();
        for opt in SECTIONS.iter().flat_map(read_by).filter(|opt| !opt.hidden) {
            let name = format!("\n\\fB{}\\fR ", escaped(opt.name));
            assert_eq!(page.matches(&name).count(), default_lines(opt).len(), "{}", opt.name);
        }
    }
}
