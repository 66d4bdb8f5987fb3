//! The configuration file: options, and directives that concern other parts of the server.

use crate::acl::{self, UserLineError};
use crate::command::names::{Names, RenameError};
use crate::config::{Config, FatalConfig, Include};
use std::fmt;

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
    /// There is none of this name that takes this many arguments.
    Unknown,
    /// A user cannot be made so.
    User(UserLineError),
}

impl fmt::Display for DirectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DirectiveError::ModuleValue => "Module config specified without value",
            DirectiveError::Rename(error) => return error.fmt(f),
            DirectiveError::Sentinel => "sentinel directive while not in sentinel mode",
            DirectiveError::SentinelMode => "Sentinel mode is not supported",
            DirectiveError::Unknown => "Bad directive or wrong number of arguments",
            DirectiveError::User(error) => return error.fmt(f),
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
    /// Applies every line of `text` to `config`, in order. `include` reads included files.
    ///
    /// # Errors
    /// What the first line is that cannot be followed, and why. Options before it are set then.
    pub fn load(
        config: &Config,
        text: &str,
        include: Include,
    ) -> Result<Loaded, FatalConfig<DirectiveError>> {
        let mut loaded = Loaded::default();
        config.load(text, include, &mut |name, args| loaded.directive(config, name, args))?;
        Ok(loaded)
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
            _ => return Err(DirectiveError::Unknown),
        }
        Ok(())
    }
}

fn is_of_redis(name: &str) -> bool {
    OF_REDIS.contains(&name) || OF_REDIS_MODULES.iter().any(|module| name.starts_with(module))
}
