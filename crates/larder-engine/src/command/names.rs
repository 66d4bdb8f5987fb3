//! The names by which commands are called: those of the table, changed by `rename-command`.

use crate::command::spec::Found;
use crate::command::table::table;
use std::collections::HashMap;
use std::fmt;

/// What names mean that do not mean what the table says: another command, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Ids by the name in lower case.
    changed: HashMap<Vec<u8>, Option<u16>>,
}

/// Why a command is not renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameError {
    /// Another command has the new name.
    NameTaken,
    /// No command has the old name.
    NoSuchCommand,
}

impl fmt::Display for RenameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RenameError::NameTaken => "Target command name already exists",
            RenameError::NoSuchCommand => "No such command in rename-command",
        })
    }
}

impl std::error::Error for RenameError {}

impl Names {
    /// Gives the command that is called `old` by now the name `new`; an empty one takes it away.
    pub fn rename(&mut self, old: &str, new: &str) -> Result<(), RenameError> {
        let found = self.find(old.as_bytes()).ok_or(RenameError::NoSuchCommand)?;
        self.changed.insert(old.to_ascii_lowercase().into_bytes(), None);
        if new.is_empty() {
            return Ok(());
        }
        if self.find(new.as_bytes()).is_some() {
            return Err(RenameError::NameTaken);
        }
        self.changed.insert(new.to_ascii_lowercase().into_bytes(), Some(found.id));
        Ok(())
    }

    /// Whether every command has the name that the table gives it.
    #[inline]
    pub(crate) fn are_original(&self) -> bool {
        self.changed.is_empty()
    }

    /// The command that is called so, in any case.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Found> {
        match self.changed.get(&name.to_ascii_lowercase()) {
            Some(id) => id.map(|id| table().by_id(id)),
            None => table().find(name),
        }
    }

    /// The command or subcommand of `name` or `container|name`, in any case.
    pub(crate) fn find_full(&self, name: &[u8]) -> Option<Found> {
        match memchr::memchr(b'|', name) {
            None => self.find(name),
            Some(bar) => {
                self.find(name).or_else(|| table().find_sub(self.find(&name[..bar])?, &name[bar + 1..]))
            }
        }
    }

    /// Whether clients can call the command, or the container of the subcommand, by any name.
    pub(crate) fn has(&self, found: &Found) -> bool {
        let name = found.parent.unwrap_or(found.command).name;
        let id = table().find(name.as_bytes()).map(|container| container.id);
        let means = self.changed.get(name.as_bytes());
        means.is_none_or(|&means| means == id) || self.changed.values().any(|&means| means == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(names: &Names, name: &str) -> Option<String> {
        names.find_full(name.as_bytes()).map(|found| found.full_name())
    }

    #[test]
    fn names_move_along_a_chain() {
        let mut names = Names::default();
        assert!(names.are_original());
        for (old, new) in [("GET", "G1"), ("g1", "G2"), ("set", "get"), ("config", "cfg"), ("DEL", "")] {
            names.rename(old, new).unwrap();
        }
        for (name, means) in [
            ("g2", Some("get")),
            ("G1", None),
            ("Get", Some("set")),
            ("set", None),
            ("cfg|get", Some("config|get")),
            ("config|get", None),
            ("del", None),
            ("incr", Some("incr")),
        ] {
            assert_eq!(called(&names, name).as_deref(), means, "{name}");
        }
        let has = |name: &str| names.has(&table().find_full(name.as_bytes()).unwrap());
        assert!(["get", "set", "config", "config|get", "incr"].into_iter().all(has));
        assert!(!has("del"));
    }

    #[test]
    fn what_cannot_be_renamed() {
        let mut names = Names::default();
        assert_eq!(names.rename("nosuch", "a"), Err(RenameError::NoSuchCommand));
        assert_eq!(names.rename("config|get", "a"), Err(RenameError::NoSuchCommand));
        assert_eq!(names.rename("get", "set"), Err(RenameError::NameTaken));
        names.rename("incr", "INCR").unwrap();
        assert_eq!(called(&names, "incr").as_deref(), Some("incr"));
    }
}
