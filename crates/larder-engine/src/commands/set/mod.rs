//! The set commands.

mod algebra;
mod handlers;
mod members;
mod random;
mod scan;

pub(crate) use handlers::HANDLERS;

use crate::context::Context;
use crate::context::replies::write_element;
use larder_collections::set::Set;
use larder_resp::Reply;

/// Writes all members as a set.
fn write_members(reply: &mut Reply<'_>, set: &Set) {
    reply.set(set.len() as usize);
    set.for_each(|member| write_element(reply, member));
}

/// A generator for one command, which draws while the context is lent out.
fn fork_rng(context: &mut Context<'_>) -> fastrand::Rng {
    context.worker.rng.fork()
}
