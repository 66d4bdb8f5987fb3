//! Random calls of commands, made from the syntax that a server gives in COMMAND DOCS.
//!
//! [`commands`] asks a server for the argument trees of its commands. [`Generator`] turns a tree into words, with values from a
//! [`Vocabulary`] and decisions from a [`Source`]: a random number generator in tests, the bytes of the input in a fuzzer.
//!
//! A call is *valid* if the syntax allows it: what the server makes of its values is another matter. A *nearly valid* call is
//! one with a few words dropped, doubled, exchanged or replaced.

mod generate;
mod source;
mod vocabulary;

pub use generate::Generator;
pub use source::{Bytes, Source};
pub use vocabulary::Vocabulary;

use crate::{Client, Value};

/// A command or subcommand, and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its name in upper case: one word, or two of a subcommand.
    pub name: Vec<String>,
    /// The group that the documentation lists it under.
    pub group: String,
    /// Its arguments in order.
    pub arguments: Vec<Argument>,
}

/// An argument, with its parts if it has any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// What the documentation calls it.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The word that comes before it, or that it is.
    pub token: Option<String>,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether it may be repeated.
    pub multiple: bool,
    /// Whether its token is repeated with it.
    pub repeats_token: bool,
    /// The alternatives of a `OneOf`, the parts of a `Block`.
    pub children: Vec<Argument>,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Several arguments in a row.
    Block,
    /// A number with a fraction.
    Double,
    /// A whole number.
    Integer,
    /// The name of a key.
    Key,
    /// One of several arguments.
    OneOf,
    /// A pattern in the manner of a shell.
    Pattern,
    /// A word of the syntax.
    PureToken,
    /// Any bytes.
    String,
    /// A point in time.
    UnixTime,
}

/// The commands of a server, subcommands in place of their containers, in the order of their names.
pub fn commands(client: &mut Client) -> Vec<Command> {
    let mut all = Vec::new();
    add(&mut all, &client.ask("COMMAND DOCS"));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn add(all: &mut Vec<Command>, docs: &Value) {
    for pair in docs.items().chunks_exact(2) {
        let fields = Fields(&pair[1]);
        match fields.find("subcommands") {
            Some(subcommands) => add(all, subcommands),
            None => all.push(Command {
                name: pair[0].text().to_uppercase().split('|').map(str::to_owned).collect(),
                group: fields.text("group").unwrap_or_default(),
                arguments: fields.arguments(),
            }),
        }
    }
}

/// A map as both protocols write it: name, value, name, value.
struct Fields<'a>(&'a Value);

impl<'a> Fields<'a> {
    fn find(&self, name: &str) -> Option<&'a Value> {
        self.0.items().chunks_exact(2).find(|pair| pair[0].text() == name).map(|pair| &pair[1])
    }

    fn text(&self, name: &str) -> Option<String> {
        self.find(name).map(Value::text)
    }

    fn arguments(&self) -> Vec<Argument> {
        let all = self.find("arguments").map_or(&[][..], Value::items);
        all.iter().map(|argument| Fields(argument).argument()).collect()
    }

    fn argument(&self) -> Argument {
        let flags = self.find("flags").map_or(&[][..], Value::items);
        let has = |flag: &str| flags.iter().any(|item| item.text() == flag);
        let kind = self.text("type").unwrap_or_default();
        Argument {
            name: self.text("name").unwrap_or_default(),
            kind: Kind::named(&kind).unwrap_or_else(|| panic!("an argument is of the unknown type '{kind}'")),
            token: self.text("token"),
            optional: has("optional"),
            multiple: has("multiple"),
            repeats_token: has("multiple_token"),
            children: self.arguments(),
        }
    }
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "block" => Kind::Block,
            "double" => Kind::Double,
            "integer" => Kind::Integer,
            "key" => Kind::Key,
            "oneof" => Kind::OneOf,
            "pattern" => Kind::Pattern,
            "pure-token" => Kind::PureToken,
            "string" => Kind::String,
            "unix-time" => Kind::UnixTime,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind as ServerKind, Server};
    use fastrand::Rng;

    /// Of the valid calls of commands for data, hardly any is refused for its syntax.
    #[test]
    fn valid_calls_are_valid() {
        let server = Server::of(ServerKind::Valkey, &[]);
        let mut client = server.client();
        let (mut rng, words) = (Rng::with_seed(1), Vocabulary::default());
        let mut refused = Vec::new();
        let mut calls = 0;
        for command in commands(&mut client).iter().filter(|command| is_about_data(command)) {
            for _ in 0..20 {
                let call = Generator::new(&words, &mut rng).valid(command);
                client.ask("MULTI");
                client.cmd(&call);
                let reply = client.ask("EXEC");
                let error = reply.items().first().unwrap_or(&reply).text();
                calls += 1;
                if error.contains("syntax error") || error.contains("EXECABORT") {
                    let call: Vec<_> = call.iter().map(|word| word.escape_ascii().to_string()).collect();
                    refused.push(call.join(" "));
                }
            }
        }
        assert!(calls > 2000, "only {calls} calls");
        assert!(refused.len() * 20 < calls, "{} of {calls}:\n{}", refused.len(), refused.join("\n"));
    }

    fn is_about_data(command: &Command) -> bool {
        let groups = ["bitmap", "hash", "list", "set", "sorted-set", "stream", "string"];
        groups.contains(&&*command.group)
    }

    #[test]
    fn bytes_are_a_source_that_ends() {
        let server = Server::of(ServerKind::Valkey, &[]);
        let all = commands(&mut server.client());
        let words = Vocabulary::default();
        let set = all.iter().find(|command| command.name == ["SET"]).expect("there is SET");
        let shortest = Generator::new(&words, &mut Bytes::new(&[])).valid(set);
        assert_eq!(shortest.len(), 3);
        let call = |input: &[u8]| Generator::new(&words, &mut Bytes::new(input)).nearly_valid(set);
        assert_eq!(call(b"the same bytes"), call(b"the same bytes"));
        assert_ne!(call(b"the same bytes"), call(b"so are others"));
    }
}
