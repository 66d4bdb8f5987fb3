//! Sets of commands, and the categories that rules name them by.
//!
//! A set is a bitmap over the ids of the command table: 8 bytes for 64 commands, 56 bytes for all of them. A
//! category is such a set, made once from the table.

use crate::command::categories::CATEGORIES;
use crate::command::spec::Found;
use crate::command::table::table;
use std::sync::LazyLock;

/// A set of commands and subcommands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandSet {
    words: Box<[u64]>,
    /// Whether commands that do not exist yet belong to it: what tells "all but some" from "some".
    future: bool,
}

impl CommandSet {
    /// No command.
    pub(crate) fn none() -> Self {
        CommandSet { words: vec![0; table().len().div_ceil(64)].into(), future: false }
    }

    /// Every command.
    pub(crate) fn all() -> Self {
        let mut set = CommandSet { future: true, ..CommandSet::none() };
        (0..table().len()).for_each(|id| set.put(id, true));
        set
    }

    /// Whether commands of later versions belong to it.
    pub(crate) fn has_future(&self) -> bool {
        self.future
    }

    #[inline]
    pub(crate) fn has(&self, id: u16) -> bool {
        self.words[usize::from(id) / 64] >> (id % 64) & 1 == 1
    }

    fn put(&mut self, id: usize, on: bool) {
        let bit = 1 << (id % 64);
        if on {
            self.words[id / 64] |= bit;
        } else {
            self.words[id / 64] &= !bit;
        }
    }

    /// Adds or removes a command, and its subcommands with it.
    pub(crate) fn set(&mut self, found: Found, on: bool) {
        let id = usize::from(found.id);
        (id..=id + found.command.subcommands.len()).for_each(|id| self.put(id, on));
    }

    /// Adds or removes the commands of a category.
    pub(crate) fn set_category(&mut self, category: &Category, on: bool) {
        for (word, change) in self.words.iter_mut().zip(&category.affected.words) {
            if on {
                *word |= change;
            } else {
                *word &= !change;
            }
        }
    }

    /// Whether every command belongs to it.
    pub(crate) fn is_all(&self) -> bool {
        (0..table().len()).all(|id| self.has(id as u16))
    }
}

/// A category.
pub(crate) struct Category {
    pub(crate) name: &'static str,
    /// The commands that are in it.
    members: CommandSet,
    /// The commands that a rule about it changes: those in it, and all subcommands of containers in it.
    affected: CommandSet,
}

impl Category {
    /// Whether a command is in it.
    pub(crate) fn contains(&self, id: u16) -> bool {
        self.members.has(id)
    }
}

static ALL: LazyLock<Vec<Category>> = LazyLock::new(|| CATEGORIES.iter().map(|name| build(name)).collect());

fn build(name: &'static str) -> Category {
    let (mut members, mut affected) = (CommandSet::none(), CommandSet::none());
    for found in table().all() {
        if found.command.acl_categories().contains(&name) {
            members.put(usize::from(found.id), true);
            affected.set(*found, true);
        }
    }
    Category { name, members, affected }
}

/// All categories, in their order.
pub(crate) fn categories() -> &'static [Category] {
    &ALL
}

/// The category of this name, in any case.
pub(crate) fn category(name: &[u8]) -> Option<&'static Category> {
    ALL.iter().find(|category| category.name.as_bytes().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_take_their_subcommands_along() {
        let config = table().find(b"config").expect("a command");
        let get = table().find_sub(config, b"get").expect("a subcommand");
        let mut set = CommandSet::none();
        set.set(config, true);
        assert!(set.has(config.id) && set.has(get.id));
        set.set(get, false);
        assert!(set.has(config.id) && !set.has(get.id));
        set.set_category(category(b"SLOW").expect("a category"), true);
        assert!(set.has(get.id), "a slow container brings all of it");
    }

    #[test]
    fn every_declared_category_is_listed() {
        for found in table().all() {
            for name in found.command.acl_categories() {
                assert!(CATEGORIES.contains(&name), "{}: {name}", found.full_name());
            }
        }
    }

    #[test]
    fn all_and_none() {
        assert!(CommandSet::all().is_all() && CommandSet::all().has_future());
        assert!(!CommandSet::none().is_all());
    }
}
