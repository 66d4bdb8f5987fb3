//! The configuration file: options, and directives that concern other parts of the server.

use crate::acl::{self, UserLineError};
use crate::command::names::{Names, RenameError};
use crate::config::{Config, ConfigText, FatalConfig, Include, nearest_name};
use std::fmt;
use std::ops::ControlFlow;

/// Options that Valkey no longer has and still accepts in files.
const FORGOTTEN: [&str; 7] = [
    "dynamic-hz",
    "events-per-io-thread",
    "io-threads-do-reads",
    "list-max-ziplist-entries",
    "list-max-ziplist-value",
    "lua-replicate-commands",
    "sanitize-dump-payload",
];

/// Options that Redis 8 has and Valkey has not. They tune how it works, and change no reply.
const OF_REDIS: [&str; 3] =
    ["cluster-compatibility-sample-ratio", "repl-rdb-channel", "replica-full-sync-buffer-limit"];

/// How the options of the modules begin that come with Redis 8. Without the modules, and their commands, they change nothing.
const OF_REDIS_MODULES: [&str; 5] = ["bf-", "cf-", "search-", "ts-", "vset-"];

/// Lines that set no option and are followed.
const DIRECTIVES: [&str; 5] = ["include", "loadmodule", "rename-command", "sentinel", "user"];

/// Directives that are no options: for the parts of the server they concern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// What `rename-command` makes of the names of commands.
    pub names: Names,
    /// `user name rule...`, in order.
    pub users: Vec<Vec<String>>,
    /// `loadmodule path arg...`, in order.
    pub modules: Vec<Vec<String>>,
    /// Options of Redis that have no effect.
    pub ignored: Vec<String>,
}

/// Valkey's words for an unknown option, by which tools recognise the error.
const BAD_DIRECTIVE: &str = "Bad directive or wrong number of arguments";

/// What is wrong with a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectiveError {
    /// An option of a module has no value.
    ModuleValue,
    /// A command cannot be renamed.
    Rename(RenameError),
    /// It configures a sentinel, which this server is not.
    Sentinel,
    /// The server should be a sentinel.
    SentinelMode,
    /// An unknown name.
    Unknown {
        /// The name in lower case.
        name: String,
        /// The known name that is nearest to it, if one is near.
        nearest: Option<&'static str>,
    },
    /// A user cannot be made so.
    User(UserLineError),
    /// A directive, named in lower case, that does not take this many arguments.
    WrongCount(String),
}

impl fmt::Display for DirectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DirectiveError::ModuleValue => "Module config specified without value",
            DirectiveError::Rename(error) => return error.fmt(f),
            DirectiveError::Sentinel => "sentinel directive while not in sentinel mode",
            DirectiveError::SentinelMode => "Sentinel mode is not supported",
            DirectiveError::Unknown { name, nearest: None } => {
                return write!(f, "unknown option \"{name}\" ({BAD_DIRECTIVE})");
            }
            DirectiveError::Unknown { name, nearest: Some(nearest) } => {
                return write!(f, "unknown option \"{name}\"; did you mean \"{nearest}\"? ({BAD_DIRECTIVE})");
            }
            DirectiveError::User(error) => return error.fmt(f),
            DirectiveError::WrongCount(name) => {
                return write!(f, "wrong number of arguments for \"{name}\" ({BAD_DIRECTIVE})");
            }
        })
    }
}

impl std::error::Error for DirectiveError {}

impl From<RenameError> for DirectiveError {
    fn from(error: RenameError) -> Self {
        DirectiveError::Rename(error)
    }
}

impl From<UserLineError> for DirectiveError {
    fn from(error: UserLineError) -> Self {
        DirectiveError::User(error)
    }
}

impl Loaded {
    /// Applies every line of `texts` to `config`, in order. `include` reads included files.
    ///
    /// # Errors
    /// Returns the first line that cannot be followed, and why. Options before it are set then.
    pub fn load(
        config: &Config,
        texts: &[ConfigText],
        include: Include,
    ) -> Result<Loaded, FatalConfig<DirectiveError>> {
        let (mut loaded, mut first) = (Loaded::default(), Ok(()));
        let mut others = |name: &str, args: &[String]| loaded.directive(config, name, args);
        config.load(texts, include, &mut others, &mut |problem| {
            first = Err(problem);
            ControlFlow::Break(())
        });
        first.map(|()| loaded)
    }

    /// Like [`Loaded::load`], but continues after a line that cannot be followed, and returns all such lines.
    pub fn check(
        config: &Config,
        texts: &[ConfigText],
        include: Include,
    ) -> (Loaded, Vec<FatalConfig<DirectiveError>>) {
        let (mut loaded, mut problems) = (Loaded::default(), Vec::new());
        let mut others = |name: &str, args: &[String]| loaded.directive(config, name, args);
        config.load(texts, include, &mut others, &mut |problem| {
            problems.push(problem);
            ControlFlow::Continue(())
        });
        (loaded, problems)
    }

    /// What is wrong with the text of an ACL file; `None` if nothing is.
    pub fn acl_file_problem(config: &Config, path: &str, text: &[u8]) -> Option<String> {
        let errors = acl::parse_file(path, text, acl::starts_with_all_channels(config)).err()?;
        Some(String::from_utf8_lossy(&errors).into_owned())
    }

    fn directive(&mut self, config: &Config, name: &str, args: &[String]) -> Result<(), DirectiveError> {
        match (name, args) {
            (name, [_]) if FORGOTTEN.contains(&name) => {}
            (name, [_, ..]) if is_of_redis(name) => self.ignored.push(name.to_owned()),
            ("rename-command", [old, new]) => self.names.rename(old, new)?,
            ("user", [_, ..]) => {
                acl::check_line(args, &self.users, config)?;
                self.users.push(args.to_vec());
            }
            ("loadmodule", [_, ..]) => self.modules.push(args.to_vec()),
            ("sentinel", []) => return Err(DirectiveError::SentinelMode),
            ("sentinel", [_, ..]) => return Err(DirectiveError::Sentinel),
            (name, []) if name.contains('.') => return Err(DirectiveError::ModuleValue),
            (name, _) if DIRECTIVES.contains(&name) || FORGOTTEN.contains(&name) || is_of_redis(name) => {
                return Err(DirectiveError::WrongCount(name.to_owned()));
            }
            (name, _) => {
                let nearest = nearest_name(name, &DIRECTIVES);
                return Err(DirectiveError::Unknown { name: name.to_owned(), nearest });
            }
        }
        Ok(())
    }
}

fn is_of_redis(name: &str) -> bool {
    OF_REDIS.contains(&name) || OF_REDIS_MODULES.iter().any(|module| name.starts_with(module))
}
