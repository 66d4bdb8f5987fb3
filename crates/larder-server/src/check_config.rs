//! `--check-config`: reports every problem of a configuration, and starts nothing.
//!
//! It changes no file: the folder for the data is not entered, and the log is not created.

use crate::settings;
use crate::tls;
use larder_engine::SystemError;
use larder_engine::config::{CommandLine, Config, FatalConfig, LineError, OptionError};
use larder_engine::config_file::{DirectiveError, Loaded};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

/// A problem and what to do about it, as texts for the user.
struct Problem {
    what: String,
    advice: String,
}

/// Prints the problems of the configuration that `line` names. Returns whether there is none.
pub fn run(line: &CommandLine) -> bool {
    if line.config_file.is_none() && !line.from_stdin && line.options.is_empty() {
        eprintln!("No file to check. Usage: larder-server --check-config FILE [--OPTION VALUE ...]");
        return false;
    }
    let config = Config::new(thread::available_parallelism().map_or(1, usize::from));
    let problems = problems(line, &config);
    for Problem { what, advice } in &problems {
        println!("{what}\n    {advice}");
    }
    config.ignored().iter().for_each(|warning| println!("warning: {warning}"));
    match problems.len() {
        0 => println!("The configuration is valid."),
        1 => println!("1 problem found."),
        count => println!("{count} problems found."),
    }
    problems.is_empty()
}

fn problems(line: &CommandLine, config: &Config) -> Vec<Problem> {
    let texts = match settings::read_texts(line) {
        Ok(texts) => texts,
        Err(error) => return vec![of_fatal(&error)],
    };
    let (loaded, errors) = Loaded::check(config, &texts, &mut settings::include);
    for name in &loaded.ignored {
        println!("warning: {}", settings::ignored_warning(name));
    }
    let mut problems: Vec<Problem> = errors.iter().map(of_fatal).collect();
    problems.extend(loaded.modules.iter().map(|words| Problem {
        what: format!("loadmodule {}: modules are not supported", words.join(" ")),
        advice: "Remove the line.".to_owned(),
    }));
    problems.extend(
        [folder(config), log_file(config), acl_file(config, &loaded), tls(config)].into_iter().flatten(),
    );
    problems
}

fn of_fatal(error: &FatalConfig<DirectiveError>) -> Problem {
    match error {
        FatalConfig::Line { place, line, error } => {
            Problem { what: format!("{place}: {error}\n    >>> {line}"), advice: advice(error) }
        }
        FatalConfig::ReplicaInCluster => Problem {
            what: "replicaof is not allowed with cluster-enabled yes".to_owned(),
            advice: "Remove one of the two; in a cluster, CLUSTER REPLICATE makes a node a replica."
                .to_owned(),
        },
        FatalConfig::Unreadable { path, error } => Problem {
            what: format!("{path}: cannot be read: {error}"),
            advice: "Correct the path, or let the user of the server read the file.".to_owned(),
        },
    }
}

fn advice(error: &LineError<DirectiveError>) -> String {
    match error {
        LineError::Option { error: OptionError::Absent(_), .. } => "Remove the line.".to_owned(),
        LineError::Option { name, .. } => {
            let default = Config::new(1).value(name);
            let default = if default.is_empty() { "none".to_owned() } else { default };
            let summary = Config::summary(name).unwrap_or_default();
            format!("Correct the value. {name}: {summary} Default: {default}.")
        }
        LineError::Directive(error) => match error {
            DirectiveError::ModuleValue => "Remove the line: modules are not supported.",
            DirectiveError::Rename(_) => "Name a command of Larder, and a new name that no command has.",
            DirectiveError::Sentinel | DirectiveError::SentinelMode => {
                "Remove the line; run valkey-sentinel or redis-sentinel, which can watch this server."
            }
            DirectiveError::Unknown { nearest: Some(_), .. } => "Correct the name, or remove the line.",
            DirectiveError::Unknown { nearest: None, .. } => {
                "Remove the line; docs/options.md lists all options."
            }
            DirectiveError::User(_) => "Correct the rule; ACL CAT lists the categories of commands.",
            DirectiveError::WrongCount(_) => "Correct the number of words after the name.",
        }
        .to_owned(),
        LineError::Include => {
            "Remove the include line: a file includes itself, or files are nested too deeply.".to_owned()
        }
        LineError::Quotes => "Close the quote, and write a quote within it as \\\".".to_owned(),
    }
}

fn folder(config: &Config) -> Option<Problem> {
    let dir = config.value("dir");
    let error = fs::read_dir(&dir).err()?;
    Some(Problem {
        what: format!("dir {dir}: {}", SystemError::text_of(&error)),
        advice: "Create the directory, and let the user of the server read and write it.".to_owned(),
    })
}

/// A path as the server finds it after it has entered its folder.
fn below_dir(config: &Config, path: &str) -> PathBuf {
    Path::new(&config.value("dir")).join(path)
}

fn log_file(config: &Config) -> Option<Problem> {
    let name = config.value("logfile");
    let path = below_dir(config, &name);
    if name.is_empty() {
        return None;
    }
    // A log that does not exist is created in its folder.
    let looked_at = if path.exists() { path.as_path() } else { path.parent()? };
    let error: std::io::Error = rustix::fs::access(looked_at, rustix::fs::Access::WRITE_OK).err()?.into();
    Some(Problem {
        what: format!("logfile {name}: {}", SystemError::text_of(&error)),
        advice: "Create its directory, and let the user of the server write to it.".to_owned(),
    })
}

fn acl_file(config: &Config, loaded: &Loaded) -> Option<Problem> {
    let name = config.value("aclfile");
    if name.is_empty() {
        return None;
    }
    if !loaded.users.is_empty() {
        let advice = "Move the user lines into the ACL file, or remove aclfile.".to_owned();
        return Some(Problem { what: "aclfile and user lines cannot be used together".to_owned(), advice });
    }
    match fs::read(below_dir(config, &name)) {
        Ok(text) => Loaded::acl_file_problem(config, &name, &text)
            .map(|what| Problem { what, advice: "Correct these lines of the ACL file.".to_owned() }),
        Err(error) => Some(Problem {
            what: format!("aclfile {name}: {}", SystemError::text_of(&error)),
            advice: "Create the file (it may be empty), and let the user of the server read it.".to_owned(),
        }),
    }
}

fn tls(config: &Config) -> Option<Problem> {
    let what = tls::problem(config)?;
    Some(Problem { what, advice: "Correct the tls-* options; docs/security.md has an example.".to_owned() })
}
