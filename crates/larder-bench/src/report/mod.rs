//! What was measured, as tables and as JSON.

mod json;
mod parts;
mod table;

use crate::cli::Options;
use crate::machine::Machine;
use crate::peer::Peer;
use parts::Described;
pub use parts::{Group, Report};

impl Report {
    /// A report without figures.
    pub fn new(machine: Machine, options: &Options, peers: &[Peer]) -> Self {
        let parameters = vec![
            ("scale", options.scale.to_string()),
            ("repeat", options.repeat.to_string()),
            ("threads", options.threads.to_string()),
        ];
        Report::beside(machine, parameters, peers)
    }

    /// The same with other parameters.
    pub fn beside<'a>(
        machine: Machine,
        parameters: Vec<(&'static str, String)>,
        peers: impl IntoIterator<Item = &'a Peer>,
    ) -> Self {
        let describe = |peer: &Peer| Described {
            name: peer.name.clone(),
            version: peer.version.clone(),
            command: peer.shown_command(),
        };
        Report { machine, parameters, servers: peers.into_iter().map(describe).collect(), groups: Vec::new() }
    }

    /// A report without figures, of columns by name and version that are no servers which could be started.
    pub fn of(
        machine: Machine,
        parameters: Vec<(&'static str, String)>,
        columns: &[(&'static str, &'static str)],
    ) -> Self {
        let describe = |&(name, version): &(&str, &str)| Described {
            name: name.to_owned(),
            version: version.to_owned(),
            command: String::new(),
        };
        Report { machine, parameters, servers: columns.iter().map(describe).collect(), groups: Vec::new() }
    }

    /// The machine and the servers, to print first.
    pub fn heading(&self) -> String {
        let facts = self.machine.facts.iter().chain(&self.parameters);
        let mut text: String = facts.map(|(name, value)| format!("{name}: {value}\n")).collect();
        for server in self.servers.iter().filter(|server| !server.command.is_empty()) {
            text += &format!("{}: version {}, {}\n", server.name, server.version, server.command);
        }
        text
    }

    /// Adds a group and returns its table.
    pub fn add(&mut self, group: Group) -> String {
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        let text = table::render(&group, &names);
        self.groups.push(group);
        text
    }

    /// What became of the rows whose targets are parts of the best peer's figures, in a few lines; empty without such rows.
    pub fn summary(&self) -> String {
        table::summary(&self.groups)
    }

    /// Everything as JSON.
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// Whether a workload could not be measured.
    pub fn failed(&self) -> bool {
        self.groups.iter().any(|group| !group.failures.is_empty())
    }
}
