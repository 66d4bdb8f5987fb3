//! Random members: looked at, or taken out.

use super::{fork_rng, write_members};
use crate::commands::draw::draw_repeatedly;
use crate::context::Context;
use crate::context::replies::{element_bytes, write_element};
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::keyspace::key::Key;
use crate::text::number;
use larder_collections::set::Set;
use larder_packed::block::Element;
use larder_resp::{Args, Reply};

/// Members in one command of the log.
const MEMBERS_PER_COMMAND: usize = 1024;

pub(super) fn spop(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    match args.len() {
        2 => pop_one(context, &key),
        3 => {
            let count = number::positive(&args[2])? as u64;
            pop_many(context, &key, count)
        }
        _ => Err(CommandError::SYNTAX),
    }
}

fn pop_one(context: &mut Context<'_>, key: &Key<'_>) -> CommandResult {
    let mut rng = fork_rng(context);
    let mut taken = Taken::new(context);
    let popped = context.with_value(key, |set: &mut Set, reply| {
        set.pop(&mut rng, |member| {
            taken.note(&member);
            write_element(reply, member);
        });
        Ok(())
    })?;
    match popped {
        Some(()) => {
            context.modified(key);
            context.notify(class::SET, "spop", key);
            context.notify_emptied(key);
        }
        None => context.reply.null(),
    }
    taken.log(context, key);
    Ok(())
}

/// The members that were taken out, for the log: which ones is chance.
struct Taken {
    wanted: bool,
    members: Vec<Vec<u8>>,
}

impl Taken {
    fn new(context: &Context<'_>) -> Self {
        Taken { wanted: context.logs(), members: Vec::new() }
    }

    fn note(&mut self, member: &Element<'_>) {
        if self.wanted {
            self.members.push(element_bytes(member, &mut itoa::Buffer::new()).to_vec());
        }
    }

    fn log(&self, context: &mut Context<'_>, key: &Key<'_>) {
        for some in self.members.chunks(MEMBERS_PER_COMMAND) {
            let head: [&[u8]; 2] = [b"SREM", key.bytes];
            let words: Vec<&[u8]> = head.into_iter().chain(some.iter().map(Vec::as_slice)).collect();
            context.propagate_instead(&words);
        }
    }
}

fn pop_many(context: &mut Context<'_>, key: &Key<'_>, count: u64) -> CommandResult {
    let mut rng = fork_rng(context);
    let mut taken = Taken::new(context);
    let plan = move |set: &Set| (count.min(set.len()), ());
    let popped =
        context.change_long(key, Args::new(&[], &[]), plan, move |set: &mut Set, (), _, reply| {
            let len = set.len();
            if count < len {
                reply.set(count as usize);
                for _ in 0..count {
                    set.pop(&mut rng, |member| {
                        taken.note(&member);
                        write_element(reply, member);
                    });
                }
            } else {
                write_members(reply, set);
            }
            (len, taken)
        })?;
    let Some((len, taken)) = popped else {
        context.reply.set(0);
        return Ok(());
    };
    if count >= len {
        // All are taken: the set goes as a whole, in the background if it is large.
        context.notify(class::SET, "spop", key);
        context.delete(key);
        // Deleting counts as one change.
        context.worker.stats.dirty.add(len.saturating_sub(1));
        context.propagate_instead(&[b"DEL", key.bytes]);
    } else if count > 0 {
        context.modified_by(key, count as usize);
        context.notify(class::SET, "spop", key);
    }
    taken.log(context, key);
    Ok(())
}

pub(super) fn srandmember(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let key = context.key(args.at(1));
    match args.len() {
        2 => sample_one(context, &key),
        3 => match number::negatable(&args[2])? {
            count if count < 0 => sample_repeating(context, &key, count.unsigned_abs()),
            count => sample_distinct(context, &key, count as u64),
        },
        _ => Err(CommandError::SYNTAX),
    }
}

fn sample_one(context: &mut Context<'_>, key: &Key<'_>) -> CommandResult {
    let mut rng = fork_rng(context);
    context.read_value(key, |set: Option<&Set>, reply| {
        match set.and_then(|set| set.sample(&mut rng)) {
            Some(member) => write_element(reply, member),
            None => reply.null(),
        }
        Ok(())
    })
}

fn sample_repeating(context: &mut Context<'_>, key: &Key<'_>, count: u64) -> CommandResult {
    let mut rng = fork_rng(context);
    let set: Option<Set> = context.value_clone(key)?;
    let Some(set) = set else {
        context.reply.array(0);
        return Ok(());
    };
    let open = |reply: &mut Reply<'_>| reply.array(count as usize);
    draw_repeatedly(context, count, open, |reply| {
        write_element(reply, set.sample(&mut rng).expect("a key's set is not empty"));
    })
}

fn sample_distinct(context: &mut Context<'_>, key: &Key<'_>, count: u64) -> CommandResult {
    let mut rng = fork_rng(context);
    context.read_long(
        key,
        |set: &Set| count.min(set.len()),
        |set, reply| {
            let members = set.map_or_else(Vec::new, |set| set.sample_distinct(count, &mut rng));
            reply.array(members.len());
            members.into_iter().for_each(|member| write_element(reply, member));
            Ok(())
        },
    )
}
