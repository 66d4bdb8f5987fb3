//! Completions for shells: the names of options after `--`, and the values of those that have a list of them.

use super::{Opt, SECTIONS, first_sentence, read_by};
use crate::config::kind::Kind;
use crate::config::special::Special;
use std::fmt::Write;

const MADE: &str = "# Completes larder-server. Made from the table of options by: make pages\n";

/// What may stand after an option.
enum Values {
    /// One of these.
    Words(Vec<&'static str>),
    /// The path of a file.
    File,
    /// The path of a folder.
    Folder,
    /// Anything else.
    Free,
}

/// Completions for bash.
pub fn bash_completion() -> String {
    let mut text = format!(
        "{MADE}\n_larder_server() {{\n    local word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n    \
         case \"$before\" in\n"
    );
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for (name, values) in names() {
        match values {
            Values::Words(words) => {
                let words = words.join(" ");
                let _ = writeln!(
                    text,
                    "        --{name}) mapfile -t COMPREPLY < <(compgen -W '{words}' -- \"$word\") ;;"
                );
            }
            Values::File => files.push(format!("--{name}")),
            Values::Folder => folders.push(format!("--{name}")),
            Values::Free => {}
        }
    }
    let _ =
        writeln!(text, "        {}) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;", files.join("|"));
    let _ =
        writeln!(text, "        {}) mapfile -t COMPREPLY < <(compgen -d -- \"$word\") ;;", folders.join("|"));
    let all: Vec<String> = names().map(|(name, _)| format!("--{name}")).collect();
    let _ = write!(
        text,
        "        *)\n            if [[ $word == -* ]]; then\n                \
         mapfile -t COMPREPLY < <(compgen -W '--help --version --check-config --check-system --test-memory --health --sentinel {}' -- \"$word\")\n            \
         elif [[ $COMP_CWORD == 1 ]]; then\n                mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n            \
         fi ;;\n    esac\n}}\ncomplete -o filenames -F _larder_server larder-server\n",
        all.join(" ")
    );
    text
}

/// Completions for zsh.
pub fn zsh_completion() -> String {
    let mut text = format!("#compdef larder-server\n{MADE}\n_arguments \\\n");
    text += "    '(- *)'{-h,--help}'[print a summary]' \\\n    '(- *)'{-v,--version}'[print the version]' \\\n    '(- *)--check-config[check a configuration file]:file:_files' \\\n    '(- *)--check-system[look for \
         unsuitable system settings]' \\\n    '(- *)--test-memory[test memory]:megabytes: ' \\\n    \
         '(- *)--health[ask whether the server is alive]:configuration file:_files' \\\n    \
         '--sentinel[start Sentinel, if it is installed]' \\\n";
    for (opt, (name, values)) in shown().flat_map(|opt| of(opt).map(move |row| (opt, row))) {
        let action = match values {
            Values::Words(words) => format!("({})", words.join(" ")),
            Values::File => "_files".to_owned(),
            Values::Folder => "_files -/".to_owned(),
            Values::Free => " ".to_owned(),
        };
        let summary =
            plain(opt).replace('[', "\\[").replace(']', "\\]").replace(':', "\\:").replace('\'', "'\\''");
        let _ = writeln!(text, "    '--{name}[{summary}]:value:{action}' \\");
    }
    text + "    '1:configuration file:_files'\n"
}

/// Completions for fish.
pub fn fish_completion() -> String {
    let mut text = MADE.to_owned();
    text += "complete -c larder-server -s h -l help -d 'Prints a summary'\n";
    text += "complete -c larder-server -s v -l version -d 'Prints the version'\n";
    text += "complete -c larder-server -l check-config -d 'Checks a configuration file' -rF\n";
    text += "complete -c larder-server -l check-system -d 'Checks the settings of the system'\n";
    text += "complete -c larder-server -l test-memory -d 'Tests memory' -x\n";
    text += "complete -c larder-server -l health -d 'Asks whether the server is alive'\n";
    text += "complete -c larder-server -l sentinel -d 'Starts Sentinel, if it is installed'\n";
    for (opt, (name, values)) in shown().flat_map(|opt| of(opt).map(move |row| (opt, row))) {
        let action = match values {
            Values::Words(words) => format!("-xa '{}'", words.join(" ")),
            Values::File => "-rF".to_owned(),
            Values::Folder => "-xa '(__fish_complete_directories)'".to_owned(),
            Values::Free => "-x".to_owned(),
        };
        let summary = plain(opt).replace('\'', "\\'");
        let _ = writeln!(text, "complete -c larder-server -l {name} {action} -d '{summary}'");
    }
    text
}

fn shown() -> impl Iterator<Item = &'static Opt> {
    SECTIONS.iter().flat_map(read_by).filter(|opt| !opt.hidden)
}

fn names() -> impl Iterator<Item = (&'static str, Values)> {
    shown().flat_map(of)
}

/// Each name of an option, with its values.
fn of(opt: &'static Opt) -> impl Iterator<Item = (&'static str, Values)> {
    opt.names().map(|name| (name, values(opt)))
}

fn values(opt: &Opt) -> Values {
    match opt.kind {
        Kind::Bool => Values::Words(vec!["yes", "no"]),
        Kind::Enum(names) | Kind::Flags(names) => Values::Words(names.iter().map(|name| name.0).collect()),
        Kind::Special(Special::Dir) => Values::Folder,
        Kind::Text(_) if opt.name.ends_with("-dir") => Values::Folder,
        Kind::Text(_) if opt.name.ends_with("file") || opt.name == "unixsocket" => Values::File,
        Kind::Int { .. } | Kind::Text(_) | Kind::Special(_) => Values::Free,
    }
}

/// The first sentence about an option, without characters that shells interpret within single quotes.
fn plain(opt: &Opt) -> String {
    first_sentence(opt).trim_end_matches('.').replace('\\', "")
}
