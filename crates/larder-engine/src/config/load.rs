//! Reads redis.conf text. Files are opened by the caller, through a callback.

use super::table::{OPTIONS, find};
use super::{Config, special};
use std::fmt;

/// `include` within `include`, at most.
const INCLUDE_DEPTH_MAX: usize = 16;

/// Why the server cannot start. Its `Display` is the whole text for stderr or the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FatalConfig {
    /// A line that cannot be understood.
    Line {
        /// Counted from 1 in the text given.
        number: usize,
        /// The line, trimmed.
        line: String,
        /// What is wrong with it.
        message: String,
    },
    /// Options that contradict each other.
    Conflict(String),
    /// An included file that cannot be read.
    Unreadable {
        /// As written in the file.
        path: String,
        /// The system's text.
        reason: String,
    },
}

impl fmt::Display for FatalConfig {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let FatalConfig::Unreadable { path, reason } = self {
            return write!(f, "Fatal error, can't open config file '{path}': {reason}");
        }
        writeln!(f, "\n*** FATAL CONFIG FILE ERROR (Larder {}) ***", env!("CARGO_PKG_VERSION"))?;
        match self {
            FatalConfig::Line { number, line, message } => {
                writeln!(f, "Reading the configuration file, at line {number}\n>>> '{line}'\n{message}")
            }
            FatalConfig::Conflict(message) => writeln!(f, "{message}"),
            FatalConfig::Unreadable { .. } => Ok(()),
        }
    }
}

impl std::error::Error for FatalConfig {}

/// Reads an included file: its text, or the system's error text.
pub type Include<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// Takes a line that sets no option: its first word in lower case, and the others. The error is the text for the user.
pub(crate) type Others<'a> = &'a mut dyn FnMut(&str, &[String]) -> Result<(), String>;

impl Config {
    /// Applies every line of `text`, in order. `include` reads included files; lines that set no option go to `others`.
    pub(crate) fn load(&self, text: &str, include: Include, others: Others) -> Result<(), FatalConfig> {
        let mut save_seen = false;
        self.load_into(text, include, others, &mut save_seen, 0)?;
        if self.is_yes("cluster-enabled") && !self.value("replicaof").is_empty() {
            let message = "replicaof directive not allowed in cluster mode";
            return Err(FatalConfig::Conflict(message.to_string()));
        }
        Ok(())
    }

    /// `save_seen`: whether there was a `save` line. The first one replaces the default, the others add.
    fn load_into(
        &self,
        text: &str,
        include: Include,
        others: Others,
        save_seen: &mut bool,
        depth: usize,
    ) -> Result<(), FatalConfig> {
        for (i, raw) in text.split('\n').enumerate() {
            let line = raw.trim_matches([' ', '\t', '\r', '\n']);
            let at_line =
                |message: String| FatalConfig::Line { number: i + 1, line: line.to_string(), message };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words = words(line).ok_or_else(|| at_line(UNBALANCED.to_string()))?;
            match words.as_slice() {
                [] => {}
                [name, path] if name.eq_ignore_ascii_case("include") => {
                    if depth == INCLUDE_DEPTH_MAX {
                        return Err(at_line("Too many nested includes".to_string()));
                    }
                    let unreadable = |reason| FatalConfig::Unreadable { path: path.clone(), reason };
                    let text = include(path).map_err(unreadable)?;
                    self.load_into(&text, include, others, save_seen, depth + 1)?;
                }
                [name, args @ ..] => match find(name) {
                    Some((index, _)) => self.option_line(index, args, save_seen).map_err(at_line)?,
                    None => others(&name.to_ascii_lowercase(), args).map_err(at_line)?,
                },
            }
        }
        Ok(())
    }

    fn option_line(&self, index: usize, args: &[String], save_seen: &mut bool) -> Result<(), String> {
        let kind = OPTIONS[index].kind;
        let args = match args {
            [single] if kind.is_multi_arg() && !single.is_empty() => {
                words(single).ok_or_else(|| UNBALANCED.to_string())?
            }
            _ => args.to_vec(),
        };
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        if !kind.is_multi_arg() && args.len() != 1 {
            return Err("wrong number of arguments".to_string());
        }
        if OPTIONS[index].name != "save" {
            return self.store_args(index, &args);
        }
        // Checked on its own first: a bad line must not pass as part of a longer one.
        special::canonical(special::Special::Save, &args, "")?;
        let present = self.text(index);
        if std::mem::replace(save_seen, true) && args != [""] && !present.is_empty() {
            args.splice(0..0, present.split(' '));
        }
        self.store_args(index, &args)
    }
}

const UNBALANCED: &str = "Unbalanced quotes in configuration line";

/// The words of a line; `None` when quotes are unbalanced.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let words = larder_resp::split_args(line.as_bytes())?;
    Some(words.into_iter().map(|word| String::from_utf8_lossy(&word).into_owned()).collect())
}
