//! Reads the text of configuration files. The caller opens the files, through a callback.

use super::error::OptionError;
use super::table::{OPTIONS, find};
use super::{Config, special};
use crate::host::SystemError;
use std::fmt;
use std::ops::ControlFlow;

/// `include` within `include`, at most.
const INCLUDE_DEPTH_MAX: usize = 16;

/// Text of a configuration and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigText {
    /// Where the lines come from.
    pub source: Source,
    /// The lines.
    pub text: String,
}

/// Where lines of a configuration come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The options of the command line, one a line.
    CommandLine,
    /// A file, by its path as the user wrote it.
    File(String),
    /// Standard input.
    StandardInput,
}

/// A line of a configuration. Displays as `l.conf, line 3` or `command line`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the line comes from.
    pub source: Source,
    /// Number of the line in its source, counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::CommandLine => f.write_str("command line"),
            Source::File(path) => write!(f, "{path}, line {}", self.line),
            Source::StandardInput => write!(f, "standard input, line {}", self.line),
        }
    }
}

impl Place {
    /// Names the place in the first line of an error.
    fn phrase(&self) -> String {
        match &self.source {
            Source::CommandLine => "the command line".to_owned(),
            Source::File(path) => format!("the configuration file '{path}', at line {}", self.line),
            Source::StandardInput => format!("standard input, at line {}", self.line),
        }
    }
}

/// Why a configuration cannot be followed. Displays as the whole text for standard error or the log. `D` is the error of a line
/// that sets no option.
#[derive(Debug)]
pub enum FatalConfig<D> {
    /// A line that cannot be understood.
    Line {
        /// Where the line is.
        place: Box<Place>,
        /// The line, trimmed.
        line: String,
        /// What is wrong with it.
        error: LineError<D>,
    },
    /// A replica in cluster mode.
    ReplicaInCluster,
    /// A configuration file that cannot be read.
    Unreadable {
        /// The path as the user wrote it.
        path: String,
        /// Why not.
        error: SystemError,
    },
}

impl<D: fmt::Display> fmt::Display for FatalConfig<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FatalConfig::Line { place, line, error } => {
                writeln!(f, "{FatalHeading}Reading {}\n>>> '{line}'\n{place}: {error}", place.phrase())
            }
            FatalConfig::ReplicaInCluster => {
                writeln!(f, "{FatalHeading}replicaof directive not allowed in cluster mode")
            }
            FatalConfig::Unreadable { path, error } => {
                write!(f, "Fatal error, can't open config file '{path}': {error}")
            }
        }
    }
}

impl<D: fmt::Debug + fmt::Display> std::error::Error for FatalConfig<D> {}

/// The lines that begin the text of an error in a configuration.
pub struct FatalHeading;

impl fmt::Display for FatalHeading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n*** FATAL CONFIG FILE ERROR (Larder {}) ***", env!("CARGO_PKG_VERSION"))
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineError<D> {
    /// A line that sets no option and cannot be followed.
    Directive(D),
    /// Files that include each other too deeply.
    Include,
    /// An option that does not take the value.
    Option {
        /// The name or alias of the option, as the table spells it.
        name: &'static str,
        /// Why it does not take the value.
        error: OptionError,
    },
    /// A quote that is not closed.
    Quotes,
}

impl<D: fmt::Display> fmt::Display for LineError<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Directive(error) => error.fmt(f),
            LineError::Include => f.write_str("Too many nested includes"),
            LineError::Option { name, error } => write!(f, "option \"{name}\": {error}"),
            LineError::Quotes => f.write_str("Unbalanced quotes in configuration line"),
        }
    }
}

impl<D: fmt::Debug + fmt::Display> std::error::Error for LineError<D> {}

/// Reads an included file, or all files that a pattern names.
pub type Include<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<ConfigText>, SystemError>;

/// Takes a line that sets no option: its first word in lower case, and the others.
pub(crate) type Others<'a, D> = &'a mut dyn FnMut(&str, &[String]) -> Result<(), D>;

/// Takes a problem, and decides whether the lines after it are read.
pub(crate) type Problems<'a, D> = &'a mut dyn FnMut(FatalConfig<D>) -> ControlFlow<()>;

impl Config {
    /// Applies every line of `texts`, in order. `include` reads included files; lines that set no option go to `others`, and
    /// problems to `problems`.
    pub(crate) fn load<D>(
        &self,
        texts: &[ConfigText],
        include: Include,
        others: Others<D>,
        problems: Problems<D>,
    ) {
        let mut loader = Loader { config: self, include, others, problems, save_seen: false };
        let read = texts.iter().try_for_each(|text| loader.text(text, 0));
        if read.is_continue() && self.is_yes("cluster-enabled") && !self.value("replicaof").is_empty() {
            let _: ControlFlow<()> = (loader.problems)(FatalConfig::ReplicaInCluster);
        }
    }

    /// Applies the lines of a text that sets options only.
    #[cfg(test)]
    pub(super) fn load_text(&self, text: &str) {
        let text = ConfigText { source: Source::StandardInput, text: text.to_owned() };
        let mut problem = |problem: FatalConfig<std::convert::Infallible>| panic!("{problem}");
        self.load(&[text], &mut |_| Ok(Vec::new()), &mut |_, _| Ok(()), &mut problem);
    }

    fn option_line(
        &self,
        index: usize,
        args: &[String],
        save_seen: &mut bool,
    ) -> Result<(), Option<OptionError>> {
        let kind = OPTIONS[index].kind;
        let args = match args {
            [single] if kind.is_multi_arg() && !single.is_empty() => words(single).ok_or(None)?,
            _ => args.to_vec(),
        };
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        if !kind.is_multi_arg() && args.len() != 1 {
            return Err(Some(OptionError::WrongCount));
        }
        if OPTIONS[index].name != "save" {
            return Ok(self.store_args(index, &args)?);
        }
        // Checked on its own first: a bad line must not pass as part of a longer one.
        special::canonical(special::Special::Save, &args, "")?;
        let present = self.text(index);
        if std::mem::replace(save_seen, true) && args != [""] && !present.is_empty() {
            args.splice(0..0, present.split(' '));
        }
        Ok(self.store_args(index, &args)?)
    }
}

/// One pass over the texts of a configuration.
struct Loader<'a, D> {
    config: &'a Config,
    include: Include<'a>,
    others: Others<'a, D>,
    problems: Problems<'a, D>,
    /// Whether there was a `save` line. The first one replaces the default, the others add.
    save_seen: bool,
}

impl<D> Loader<'_, D> {
    fn text(&mut self, ConfigText { source, text }: &ConfigText, depth: usize) -> ControlFlow<()> {
        for (i, raw) in text.split('\n').enumerate() {
            let line = raw.trim_matches([' ', '\t', '\r', '\n']);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at_line = |error| {
                let place = Box::new(Place { source: source.clone(), line: i + 1 });
                FatalConfig::Line { place, line: line.to_owned(), error }
            };
            let Some(words) = words(line) else {
                (self.problems)(at_line(LineError::Quotes))?;
                continue;
            };
            match words.as_slice() {
                [] => {}
                [name, _] if name.eq_ignore_ascii_case("include") && depth == INCLUDE_DEPTH_MAX => {
                    (self.problems)(at_line(LineError::Include))?;
                }
                [name, path] if name.eq_ignore_ascii_case("include") => self.included(path, depth + 1)?,
                [name, args @ ..] => {
                    if let Err(error) = self.directive(name, args) {
                        (self.problems)(at_line(error))?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn included(&mut self, path: &str, depth: usize) -> ControlFlow<()> {
        match (self.include)(path) {
            Ok(texts) => texts.iter().try_for_each(|text| self.text(text, depth)),
            Err(error) => (self.problems)(FatalConfig::Unreadable { path: path.to_owned(), error }),
        }
    }

    fn directive(&mut self, name: &str, args: &[String]) -> Result<(), LineError<D>> {
        let Some((index, name)) = find(name) else {
            return (self.others)(&name.to_ascii_lowercase(), args).map_err(LineError::Directive);
        };
        let set = self.config.option_line(index, args, &mut self.save_seen);
        set.map_err(|error| error.map_or(LineError::Quotes, |error| LineError::Option { name, error }))
    }
}

/// The words of a line; `None` when quotes are unbalanced.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let words = larder_resp::split_args(line.as_bytes())?;
    Some(words.into_iter().map(|word| String::from_utf8_lossy(&word).into_owned()).collect())
}
