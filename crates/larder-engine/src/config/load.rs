//! Reads redis.conf text. Files are opened by the caller, through a callback.

use super::error::OptionError;
use super::table::{OPTIONS, find};
use super::{Config, special};
use crate::host::SystemError;
use std::fmt;

/// `include` within `include`, at most.
const INCLUDE_DEPTH_MAX: usize = 16;

/// Why a configuration cannot be followed. Shown is the whole text for standard error or the log. `D` says what is wrong
/// with a line that sets no option.
#[derive(Debug)]
pub enum FatalConfig<D> {
    /// A line that cannot be understood.
    Line {
        /// Counted from 1 in the text given.
        number: usize,
        /// The line, trimmed.
        line: String,
        /// What is wrong with it.
        error: LineError<D>,
    },
    /// A replica in cluster mode.
    ReplicaInCluster,
    /// An included file that cannot be read.
    Unreadable {
        /// As written in the file.
        path: String,
        /// Why not.
        error: SystemError,
    },
}

impl<D: fmt::Display> fmt::Display for FatalConfig<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FatalConfig::Line { number, line, error } => writeln!(
                f,
                "{FatalHeading}Reading the configuration file, at line {number}\n>>> '{line}'\n{error}"
            ),
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
    /// It sets no option, and what it says cannot be followed.
    Directive(D),
    /// Files that include others, deeper than is allowed.
    Include,
    /// An option that does not take the value.
    Option(OptionError),
    /// A quote that nothing ends.
    Quotes,
}

impl<D: fmt::Display> fmt::Display for LineError<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Directive(error) => error.fmt(f),
            LineError::Include => f.write_str("Too many nested includes"),
            LineError::Option(error) => error.fmt(f),
            LineError::Quotes => f.write_str("Unbalanced quotes in configuration line"),
        }
    }
}

impl<D: fmt::Debug + fmt::Display> std::error::Error for LineError<D> {}

impl<D> From<OptionError> for LineError<D> {
    fn from(error: OptionError) -> Self {
        LineError::Option(error)
    }
}

/// Reads an included file.
pub type Include<'a> = &'a mut dyn FnMut(&str) -> Result<String, SystemError>;

/// Takes a line that sets no option: its first word in lower case, and the others.
pub(crate) type Others<'a, D> = &'a mut dyn FnMut(&str, &[String]) -> Result<(), D>;

impl Config {
    /// Applies every line of `text`, in order. `include` reads included files; lines that set no option go to `others`.
    pub(crate) fn load<D>(
        &self,
        text: &str,
        include: Include,
        others: Others<D>,
    ) -> Result<(), FatalConfig<D>> {
        let mut save_seen = false;
        self.load_into(text, include, others, &mut save_seen, 0)?;
        if self.is_yes("cluster-enabled") && !self.value("replicaof").is_empty() {
            return Err(FatalConfig::ReplicaInCluster);
        }
        Ok(())
    }

    /// `save_seen`: whether there was a `save` line. The first one replaces the default, the others add.
    fn load_into<D>(
        &self,
        text: &str,
        include: Include,
        others: Others<D>,
        save_seen: &mut bool,
        depth: usize,
    ) -> Result<(), FatalConfig<D>> {
        for (i, raw) in text.split('\n').enumerate() {
            let line = raw.trim_matches([' ', '\t', '\r', '\n']);
            let at_line = |error| FatalConfig::Line { number: i + 1, line: line.to_string(), error };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words = words(line).ok_or_else(|| at_line(LineError::Quotes))?;
            match words.as_slice() {
                [] => {}
                [name, path] if name.eq_ignore_ascii_case("include") => {
                    if depth == INCLUDE_DEPTH_MAX {
                        return Err(at_line(LineError::Include));
                    }
                    let unreadable = |error| FatalConfig::Unreadable { path: path.clone(), error };
                    let text = include(path).map_err(unreadable)?;
                    self.load_into(&text, include, others, save_seen, depth + 1)?;
                }
                [name, args @ ..] => match find(name) {
                    Some((index, _)) => self.option_line(index, args, save_seen).map_err(at_line)?,
                    None => others(&name.to_ascii_lowercase(), args)
                        .map_err(|error| at_line(LineError::Directive(error)))?,
                },
            }
        }
        Ok(())
    }

    fn option_line<D>(
        &self,
        index: usize,
        args: &[String],
        save_seen: &mut bool,
    ) -> Result<(), LineError<D>> {
        let kind = OPTIONS[index].kind;
        let args = match args {
            [single] if kind.is_multi_arg() && !single.is_empty() => {
                words(single).ok_or(LineError::Quotes)?
            }
            _ => args.to_vec(),
        };
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        if !kind.is_multi_arg() && args.len() != 1 {
            return Err(OptionError::WrongCount.into());
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

/// The words of a line; `None` when quotes are unbalanced.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let words = larder_resp::split_args(line.as_bytes())?;
    Some(words.into_iter().map(|word| String::from_utf8_lossy(&word).into_owned()).collect())
}
