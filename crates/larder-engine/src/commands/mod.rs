//! The commands, by family. Each family declares its commands in a table and implements them beside it.

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

use crate::command::Command;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_resp::Args;

/// The tables of all families.
pub(crate) fn families() -> impl Iterator<Item = &'static [Command]> {
    [
        acl::TABLE,
        bitmap::TABLE,
        cluster::TABLE,
        connection::TABLE,
        generic::TABLE,
        geo::TABLE,
        hash::TABLE,
        hyperloglog::TABLE,
        introspection::TABLE,
        list::TABLE,
        persistence::TABLE,
        pubsub::TABLE,
        replication::TABLE,
        scripting::TABLE,
        server::TABLE,
        set::TABLE,
        sorted_set::TABLE,
        stream::TABLE,
        string::TABLE,
        transaction::TABLE,
    ]
    .into_iter()
}

/// The handler of a command that only contains others. The dispatcher finds the subcommand, so this runs only when
/// there is none.
pub(crate) fn container(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match args.get(1) {
        Some(name) => Err(crate::dispatch::unknown_subcommand(name, args.at(0))),
        None => Err(CommandError::arity(context.found.command.name)),
    }
}

/// Whether an argument is this word, in any case.
pub(crate) fn is_word(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}
