//! The commands, by family: what `command::tables` declares is implemented here. Each family has its handlers
//! by name; [`handlers`] has them in the order of the ids, by which a worker finds them.

pub(crate) mod acl;
pub(crate) mod bitmap;
pub(crate) mod cluster;
pub(crate) mod connection;
mod cursor;
pub(crate) mod draw;
pub(crate) mod generic;
pub(crate) mod geo;
pub(crate) mod hash;
pub(crate) mod hyperloglog;
pub mod introspection;
pub(crate) mod list;
pub(crate) mod persistence;
pub(crate) mod pubsub;
pub(crate) mod replication;
pub(crate) mod scan;
pub(crate) mod scripting;
pub(crate) mod server;
pub(crate) mod set;
pub(crate) mod sorted_set;
pub(crate) mod stream;
pub(crate) mod string;
pub(crate) mod transaction;

use crate::command::spec::Found;
use crate::command::table::table;
use crate::context::{Context, Handler};
use crate::error::{CommandError, CommandResult};
use larder_resp::Args;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The handlers of all families.
const FAMILIES: &[&[(&str, Handler)]] = &[
    acl::HANDLERS,
    bitmap::HANDLERS,
    cluster::HANDLERS,
    connection::HANDLERS,
    generic::HANDLERS,
    geo::HANDLERS,
    hash::HANDLERS,
    hyperloglog::HANDLERS,
    introspection::HANDLERS,
    list::HANDLERS,
    persistence::HANDLERS,
    pubsub::HANDLERS,
    replication::HANDLERS,
    scripting::HANDLERS,
    server::HANDLERS,
    set::HANDLERS,
    sorted_set::HANDLERS,
    stream::HANDLERS,
    string::HANDLERS,
    transaction::HANDLERS,
];

/// The handlers of all commands, by their ids.
pub(crate) fn handlers() -> &'static [Handler] {
    static HANDLERS: LazyLock<Vec<Handler>> = LazyLock::new(|| {
        let by_name: HashMap<&str, Handler> = FAMILIES.iter().copied().flatten().copied().collect();
        let handler = |found: &Found| match by_name.get(&*found.full_name()) {
            Some(handler) => *handler,
            None if is_container(found) => container,
            None => panic!("'{}' has a handler", found.full_name()),
        };
        table().all().iter().map(handler).collect()
    });
    &HANDLERS
}

fn is_container(found: &Found) -> bool {
    !found.command.subcommands.is_empty()
}

/// The handler of a command that only contains others. The dispatcher finds the subcommand, so this runs only when
/// there is none.
pub(crate) fn container(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match args.get(1) {
        Some(name) => Err(crate::execution::lookup::unknown_subcommand(name, args.at(0))),
        None => Err(CommandError::arity(context.found.command.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_handler_is_that_of_one_command() {
        let (mut missing, mut handled) = (Vec::new(), HashSet::new());
        let known: HashSet<&str> = FAMILIES.iter().copied().flatten().map(|(name, _)| *name).collect();
        for found in table().all() {
            let name = found.full_name();
            match known.get(&*name) {
                Some(name) => drop(handled.insert(*name)),
                None if is_container(found) => {}
                None => missing.push(name),
            }
        }
        assert_eq!(missing, Vec::<String>::new(), "commands without a handler");
        assert_eq!(handled, known, "handlers and the commands that have one");
        assert_eq!(FAMILIES.iter().map(|family| family.len()).sum::<usize>(), known.len(), "one each");
    }
}
