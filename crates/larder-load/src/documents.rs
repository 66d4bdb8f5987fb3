//! Files that are made from the table of options: the manual page and completions of shells.

use crate::option::{Entry, OPTIONS, Section};

/// Their names from the root of the project, and their texts.
pub fn documents() -> Vec<(&'static str, String)> {
    vec![
        ("packaging/man/larder-load.1", manual_page()),
        ("packaging/completions/larder-load.bash", bash()),
        ("packaging/completions/larder-load.fish", fish()),
        ("packaging/completions/_larder-load", zsh()),
    ]
}

const MADE: &str = "Made from the table of options by: make pages";

/// The text of the manual page before the options, and after them.
const BEFORE: &str = r#".SH NAME
larder-load \- loads data into a server that speaks the Redis protocol
.SH SYNOPSIS
.B larder-load
.BR \-\-csv | \-\-tsv | \-\-ndjson | \-\-parquet
.I FILE
.BI \-\-key\  TEMPLATE\  TYPE
.RI [ OPTION ...]
.br
.B larder-load
.BR \-\-resp | \-\-rdb
.I FILE
.RI [ OPTION ...]
.br
.B larder-load
.BI \-\-aof\  PATH
.RI [ OPTION ...]
.br
.B larder-load
.BI \-\-from\  ADDRESS
.RI [ OPTION ...]
.SH DESCRIPTION
.B larder-load
loads keys from tables, files of commands, RDB files, append-only files or another server. It builds each value itself and sends it with one
.B RESTORE
command (strings with
.BR SET ).
The target is Larder, Valkey, or Redis 6.2 or later, standalone or a cluster.
.PP
Files other than CSV, TSV and JSON tables are read to the end before anything is sent. If such a file is damaged or truncated, the error
names the offset or the row, and nothing is loaded.
"#;

const AFTER: &str = r#".SH ENVIRONMENT
.TP
.B LARDER_LOAD_PASSWORD
The password for the target.
.TP
.B LARDER_LOAD_FROM_PASSWORD
The password for the server of
.BR \-\-from ,
if its address contains none.
.TP
.B LARDER_LOAD_CERT_KEY_PASSWORD
The password of the file of
.BR \-\-cert\-key ,
if it is encrypted.
.SH EXIT STATUS
0 if everything was loaded, 1 if the load failed or something was rejected, 2 if the command line or the mapping is wrong.
.SH SEE ALSO
.BR larder-server (1)
"#;

fn manual_page() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text =
        format!(".\\\" {MADE}\n.TH LARDER-LOAD 1 \"\" \"Larder {version}\"\n{BEFORE}.SH OPTIONS\n");
    for section in Section::ALL {
        text += &format!(".SS {}\n", roff(section.title()));
        for Entry { name, value, text: about, .. } in OPTIONS.iter().filter(|entry| entry.section == section)
        {
            let name = roff(&format!("--{name}"));
            text += &match *value {
                "" => format!(".TP\n.B {name}\n"),
                value => format!(".TP\n.BI {name}\\  {}\n", roff(value)),
            };
            text += &format!("{}\n", roff(about));
        }
    }
    text + AFTER
}

/// A text in which nothing is taken for a request, and dashes stay what they are.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// Whether the value is a name of a file.
fn takes_file(entry: &Entry) -> bool {
    matches!(entry.value, "FILE" | "DIRECTORY" | "PATH")
}

fn bash() -> String {
    let names = |has: &dyn Fn(&Entry) -> bool, between: &str| {
        let names = OPTIONS.iter().filter(|entry| has(entry)).map(|entry| format!("--{}", entry.name));
        names.collect::<Vec<_>>().join(between)
    };
    let (files, values) = (names(&takes_file, "|"), names(&|e| !e.value.is_empty() && !takes_file(e), "|"));
    let all = names(&|_| true, " ");
    format!(
        "# Completes larder-load. {MADE}\n\n\
        _larder_load() {{\n    \
            local word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n    \
            case \"$before\" in\n        \
                {files}) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n        \
                {values}) COMPREPLY=() ;;\n        \
                *) mapfile -t COMPREPLY < <(compgen -W '{all}' -- \"$word\") ;;\n    \
            esac\n\
        }}\n\
        complete -o filenames -F _larder_load larder-load\n"
    )
}

fn fish() -> String {
    let line = |entry: &Entry| {
        let argument = match entry.value {
            "" => "",
            _ if takes_file(entry) => " -rF",
            _ => " -x",
        };
        let text = entry.text.replace('\\', "\\\\").replace('\'', "\\'");
        format!("complete -c larder-load -l {}{argument} -d '{text}'\n", entry.name)
    };
    format!("# Completes larder-load. {MADE}\n{}", OPTIONS.iter().map(line).collect::<String>())
}

fn zsh() -> String {
    let line = |entry: &Entry| {
        let argument = match entry.value {
            "" => String::new(),
            value if takes_file(entry) => format!(":{}:_files", value.to_lowercase()),
            value => format!(":{}: ", value.to_lowercase()),
        };
        // A bracket would end the text.
        let text = entry.text.replace('[', "\\[").replace(']', "\\]");
        format!("'--{}[{}]{argument}'", entry.name, text.replace('\'', "'\\''"))
    };
    let lines = OPTIONS.iter().map(line).collect::<Vec<_>>().join(" \\\n    ");
    format!("#compdef larder-load\n# Completes larder-load. {MADE}\n\n_arguments \\\n    {lines}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn documents_are_what_the_table_says() {
        for (name, made) in documents() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(text == made, "{} is not what the table says: make pages", path.display());
        }
    }
}
