//! GEODIST, GEOHASH and GEOPOS: what is known of single members.

use super::position::Position;
use super::{parse_unit, write_distance, write_position};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use larder_collections::sorted_set::SortedSet;
use larder_resp::{Args, Reply};

pub(super) fn geodist(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let unit = match args.len() {
        4 => 1.0,
        5 => parse_unit(&args[4])?,
        _ => return Err(CommandError::SYNTAX),
    };
    let key = context.key(args.at(1));
    context.read_value(&key, |set: Option<&SortedSet>, reply| {
        let position = |member| position_of(set, member);
        match position(args.at(2)).zip(position(args.at(3))) {
            Some((from, to)) => write_distance(reply, from.distance(&to) / unit),
            None => reply.null(),
        }
        Ok(())
    })
}

pub(super) fn geohash(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    for_each_member(context, args, |position, reply| match position {
        Some(position) => reply.bulk(&position.geohash()),
        None => reply.null(),
    })
}

pub(super) fn geopos(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    for_each_member(context, args, |position, reply| match position {
        Some(position) => write_position(reply, &position),
        None => reply.null_array(),
    })
}

fn for_each_member(
    context: &mut Context<'_>,
    args: Args<'_>,
    write: impl Fn(Option<Position>, &mut Reply<'_>),
) -> CommandResult {
    let key = context.key(args.at(1));
    context.read_value(&key, |set: Option<&SortedSet>, reply| {
        reply.array(args.len() - 2);
        args.from(2).iter().for_each(|member| write(position_of(set, member), reply));
        Ok(())
    })
}

/// The position of a member, if there is one.
pub(super) fn position_of(set: Option<&SortedSet>, member: &[u8]) -> Option<Position> {
    set?.score(member).map(Position::of_score)
}
