//! The table of all commands, built once from the tables of the families.

use crate::command::spec::{Command, Found};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Longest name of a command or subcommand, in bytes; longer words are not looked up.
const NAME_MAX: usize = 32;

static TABLE: LazyLock<Table> = LazyLock::new(Table::build);

/// Every command and subcommand, by name and in the order declared.
pub struct Table {
    by_name: HashMap<&'static [u8], u16, foldhash::fast::FixedState>,
    all: Vec<Found>,
}

/// The table.
pub fn table() -> &'static Table {
    &TABLE
}

impl Table {
    fn build() -> Table {
        let mut table = Table { by_name: HashMap::default(), all: Vec::new() };
        for command in crate::command::tables::ALL.iter().copied().flatten() {
            table.add(command);
        }
        table
    }

    fn add(&mut self, command: &'static Command) {
        let id = self.push(command, None);
        let twin = self.by_name.insert(command.name.as_bytes(), id);
        assert!(twin.is_none(), "command '{}' is declared twice", command.name);
        for sub in command.subcommands {
            self.push(sub, Some(command));
        }
    }

    fn push(&mut self, command: &'static Command, parent: Option<&'static Command>) -> u16 {
        let id = u16::try_from(self.all.len()).expect("there are fewer than 65,536 commands");
        self.all.push(Found::enter(id, command, parent));
        id
    }

    /// Number of commands and subcommands: one more than the largest id.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Always false; for the sake of convention.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Commands and subcommands in the order of their ids.
    pub fn all(&self) -> &[Found] {
        &self.all
    }

    /// The commands, without subcommands.
    pub fn commands(&self) -> impl Iterator<Item = &Found> {
        self.all.iter().filter(|f| f.parent.is_none())
    }

    /// The command with this id.
    pub fn by_id(&self, id: u16) -> Found {
        self.all[usize::from(id)]
    }

    /// The command of this name, in any case.
    pub fn find(&self, name: &[u8]) -> Option<Found> {
        let mut lower = [0; NAME_MAX];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        self.by_name.get(&*lower).map(|&id| self.by_id(id))
    }

    /// The subcommand `name` of `container`, in any case. Its id follows that of the container.
    pub fn find_sub(&self, container: Found, name: &[u8]) -> Option<Found> {
        let subcommands = container.command.subcommands;
        let at = subcommands.iter().position(|sub| sub.name.as_bytes().eq_ignore_ascii_case(name))?;
        Some(self.all[usize::from(container.id) + 1 + at])
    }

    /// `name` or `container|name`, in any case.
    pub fn find_full(&self, name: &[u8]) -> Option<Found> {
        match memchr::memchr(b'|', name) {
            None => self.find(name),
            Some(bar) => self.find_sub(self.find(&name[..bar])?, &name[bar + 1..]),
        }
    }
}
