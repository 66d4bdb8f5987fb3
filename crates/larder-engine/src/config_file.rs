//! The configuration file: options, and directives that concern other parts of the server.

use crate::acl;
use crate::command::names::Names;
use crate::config::{Config, FatalConfig, Include};

/// Options that Valkey no longer has and still accepts in files.
const FORGOTTEN: [&str; 6] = [
    "dynamic-hz",
    "io-threads-do-reads",
    "list-max-ziplist-entries",
    "list-max-ziplist-value",
    "lua-replicate-commands",
    "sanitize-dump-payload",
];

/// Directives that are no options: for the parts of the server they concern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// What `rename-command` makes of the names of commands.
    pub names: Names,
    /// `user name rule...`, in order.
    pub users: Vec<Vec<String>>,
    /// `loadmodule path arg...`, in order.
    pub modules: Vec<Vec<String>>,
}

impl Loaded {
    /// Applies every line of `text` to `config`, in order. `include` reads included files.
    ///
    /// # Errors
    /// What the first line is that cannot be followed, and why. Options before it are set then.
    pub fn load(config: &Config, text: &str, include: Include) -> Result<Loaded, FatalConfig> {
        let mut loaded = Loaded::default();
        config.load(text, include, &mut |name, args| loaded.directive(config, name, args))?;
        Ok(loaded)
    }

    fn directive(&mut self, config: &Config, name: &str, args: &[String]) -> Result<(), String> {
        match (name, args) {
            (name, [_]) if FORGOTTEN.contains(&name) => {}
            ("rename-command", [old, new]) => self.names.rename(old, new)?,
            ("user", [_, ..]) => {
                acl::check_line(args, &self.users, config)?;
                self.users.push(args.to_vec());
            }
            ("loadmodule", [_, ..]) => self.modules.push(args.to_vec()),
            ("sentinel", []) => return Err("Sentinel mode is not supported".to_string()),
            ("sentinel", [_, ..]) => return Err("sentinel directive while not in sentinel mode".to_string()),
            (name, []) if name.contains('.') => {
                return Err("Module config specified without value".to_string());
            }
            _ => return Err("Bad directive or wrong number of arguments".to_string()),
        }
        Ok(())
    }
}
