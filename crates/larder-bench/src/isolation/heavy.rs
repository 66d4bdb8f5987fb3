//! A heavy command: what is sent, what must come back, and what is done so that it can be sent again.

use super::answer::Wanted;
use crate::rows::data::DataSet;
use crate::rows::row;

/// A command that takes long, and what is needed to execute it again and again.
#[derive(Clone, Debug)]
pub struct Heavy {
    /// The part of the table that it stands in. Data is kept for all commands of a group.
    pub group: &'static str,
    /// What the table calls it.
    pub title: &'static str,
    /// What must be there, and is there afterwards.
    pub data: &'static [&'static DataSet],
    /// The command as a template (`rows::template`); several, with ` | ` between them, are sent at once, and the last one's reply counts.
    pub command: &'static str,
    /// What its reply must be.
    pub wanted: Wanted,
    /// Which keys it touches.
    pub scope: Scope,
    /// Done before each execution and not measured: what the command takes away or makes. Without any it is executed again at once.
    pub before: &'static [Step],
    /// Sent after each execution, when the probes have ended.
    pub after: &'static [&'static str],
    /// When it is over.
    pub until: Until,
    /// Whether it takes away what the probes read.
    pub empties: bool,
}

/// Which keys a command touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those that it names.
    Keys,
    /// Any.
    Keyspace,
}

/// What is done before an execution.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Loads data.
    Load(&'static DataSet),
    /// Sends commands, as a template, whose replies are no errors.
    Ask(&'static str),
}

/// When a command is over: some answer at once, and the work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// With its reply.
    Answered,
    /// When nothing is saved any more.
    Saved,
    /// When the append-only file is rewritten.
    Rewritten,
    /// When this many keys, by the scale, have expired since CONFIG RESETSTAT.
    Expired(u64),
    /// The same of fields of hashes.
    FieldsExpired(u64),
    /// When no more memory is in use than `maxmemory` allows.
    Fits,
}

/// The key that destructive commands are sent to, and the one that others store into, are gone.
pub const CLEAN: Step = Step::Ask("UNLINK victim dest");

impl Heavy {
    /// A command on the keys that it names, which changes nothing that a second execution would feel.
    pub const fn new(
        title: &'static str,
        data: &'static [&'static DataSet],
        command: &'static str,
        wanted: Wanted,
    ) -> Self {
        Heavy {
            group: "",
            title,
            data,
            command,
            wanted,
            scope: Scope::Keys,
            before: &[],
            after: &[],
            until: Until::Answered,
            empties: false,
        }
    }

    /// The same with these steps before each execution.
    pub const fn before(mut self, steps: &'static [Step]) -> Self {
        self.before = steps;
        self
    }

    /// The same with these commands after each execution.
    pub const fn after(mut self, commands: &'static [&'static str]) -> Self {
        self.after = commands;
        self
    }

    /// The same, over at another moment.
    pub const fn until(mut self, until: Until) -> Self {
        self.until = until;
        self
    }

    /// The same, on the whole keyspace.
    pub const fn everywhere(mut self) -> Self {
        self.scope = Scope::Keyspace;
        self
    }

    /// The same, which takes away keys of the probes.
    pub const fn empties(mut self) -> Self {
        self.empties = true;
        self
    }

    /// The same in a group.
    pub const fn group(mut self, group: &'static str) -> Self {
        self.group = group;
        self
    }

    /// The name that `--only` chooses by: the group, the title in small letters.
    pub fn name(&self) -> String {
        row::name(self.group, self.title)
    }

    /// Whether it is executed again at once.
    pub fn is_repeatable(&self) -> bool {
        self.before.is_empty()
    }
}
