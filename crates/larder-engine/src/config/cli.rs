//! The command line: `larder-server [/path/to/larder.conf] [--name value ...] [-]`. Options become lines of
//! configuration that are read after the file.

use super::load::{ConfigText, Source, words};
use super::rewrite::quoted;

/// What the arguments ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// `-v`, `--version`.
    pub version: bool,
    /// `-h`, `--help`.
    pub help: bool,
    /// `--check-system`.
    pub check_system: bool,
    /// `--check-config`: the configuration file and the options are checked, and nothing is started.
    pub check_config: bool,
    /// `--test-memory`, with what follows it; empty if that is not one argument.
    pub test_memory: Option<String>,
    /// The first argument, when it is no option.
    pub config_file: Option<String>,
    /// A lone `-`: more configuration on standard input.
    pub from_stdin: bool,
    /// The options as configuration lines.
    pub options: String,
}

impl CommandLine {
    /// Reads `args`, the program's name not among them.
    pub fn parse(args: &[String]) -> CommandLine {
        let mut line = CommandLine::default();
        match args.first().map(String::as_str) {
            Some("-v" | "--version") => line.version = true,
            Some("-h" | "--help") => line.help = true,
            Some("--check-system") => line.check_system = true,
            Some("--check-config") => {
                line.check_config = true;
                line.config_file = args.get(1).filter(|path| !path.starts_with('-')).cloned();
            }
            Some("--test-memory") => {
                let only = args.get(1).filter(|_| args.len() == 2);
                line.test_memory = Some(only.cloned().unwrap_or_default());
            }
            Some(path) if !path.starts_with('-') => line.config_file = Some(path.to_string()),
            _ => {}
        }
        if !line.version && !line.help && !line.check_system && line.test_memory.is_none() {
            let first = usize::from(line.check_config) + usize::from(line.config_file.is_some());
            line.read_options(args, first);
        }
        line
    }

    /// The texts to load, in the order of precedence: file, standard input, options.
    pub fn texts(&self, file: Option<String>, stdin: Option<String>) -> Vec<ConfigText> {
        let source = |path: &String| Source::File(path.clone());
        let file = self.config_file.as_ref().map(source).zip(file);
        let stdin = stdin.map(|text| (Source::StandardInput, text));
        let options = (!self.options.is_empty()).then(|| (Source::CommandLine, self.options.clone()));
        let all = [file, stdin, options].into_iter().flatten();
        all.map(|(source, text)| ConfigText { source, text }).collect()
    }

    fn read_options(&mut self, args: &[String], first: usize) {
        // An option's name must be followed by one argument at least, even if that starts with dashes.
        let mut complete = true;
        for (i, arg) in args.iter().enumerate().skip(first) {
            let last = i + 1 == args.len();
            if arg == "-" && (i == usize::from(self.check_config) || last) {
                self.from_stdin = true;
            } else if let Some(name) = arg.strip_prefix("--").filter(|_| complete) {
                if !self.options.is_empty() {
                    self.options.push('\n');
                }
                self.options.push_str(name);
                self.options.push(' ');
                complete = words(arg).is_none_or(|words| words.len() != 1);
                let no_value = last || args[i + 1].starts_with("--");
                if !complete && no_value && arg.eq_ignore_ascii_case("--save") {
                    self.options.push_str("\"\"");
                    complete = true;
                }
            } else {
                self.options.push_str(&quoted(arg));
                self.options.push(' ');
                complete = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> CommandLine {
        CommandLine::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn options_become_lines() {
        let line = parse(&["/etc/l.conf", "--port", "7000", "--save", "900", "1", "--bind", "a b", "-"]);
        assert_eq!(line.config_file.as_deref(), Some("/etc/l.conf"));
        assert!(line.from_stdin);
        assert_eq!(line.options, "port \"7000\" \nsave \"900\" \"1\" \nbind \"a b\" ");
    }

    #[test]
    fn save_without_value() {
        assert_eq!(parse(&["--save", "--port", "1"]).options, "save \"\"\nport \"1\" ");
        assert_eq!(parse(&["--save", ""]).options, "save \"\" ");
        assert_eq!(parse(&["--save"]).options, "save \"\"");
        assert_eq!(parse(&["--requirepass", "--x"]).options, "requirepass \"--x\" ");
        assert_eq!(parse(&["--port 7000", "--timeout", "5"]).options, "port 7000 \ntimeout \"5\" ");
    }

    #[test]
    fn help_and_version() {
        assert!(parse(&["--version"]).version);
        assert!(parse(&["-h"]).help);
        assert!(parse(&["--check-system"]).check_system);
        assert_eq!(parse(&["--test-memory", "64"]).test_memory.as_deref(), Some("64"));
        assert_eq!(parse(&["--test-memory"]).test_memory.as_deref(), Some(""));
        assert_eq!(parse(&["--test-memory", "1", "2"]).test_memory.as_deref(), Some(""));
        let check = parse(&["--check-config", "l.conf", "--port", "1"]);
        assert_eq!((check.check_config, check.config_file.as_deref()), (true, Some("l.conf")));
        assert_eq!(check.options, "port \"1\" ");
        let check = parse(&["--check-config", "-"]);
        assert_eq!((check.check_config, check.config_file, check.from_stdin), (true, None, true));
        assert!(parse(&["-"]).from_stdin);
        assert_eq!(parse(&[]), CommandLine::default());
    }
}
