//! GEOSEARCH and GEOSEARCHSTORE, GEORADIUS and its relatives: the members in an area.

use super::cover::cover;
use super::position::Position;
use super::request::{Request, Target, Verb, With};
use super::shape::Shape;
use super::{write_distance, write_position};
use crate::commands::sorted_set::Stored;
use crate::context::{Context, MOMENT};
use crate::error::CommandResult;
use larder_collections::sorted_set::{Bound, Order, SortedSet};
use larder_resp::{Args, Reply};
use std::ops::{ControlFlow, Range};

macro_rules! commands {
    ($($name:ident: $verb:expr, source $source:expr, may_store $may_store:expr;)*) => {
        $(pub(super) fn $name(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
            search(context, args, $verb, $source, $may_store)
        })*
    };
}

commands! {
    georadius: Verb::Radius, source 1, may_store true;
    georadius_ro: Verb::Radius, source 1, may_store false;
    georadiusbymember: Verb::RadiusByMember, source 1, may_store true;
    georadiusbymember_ro: Verb::RadiusByMember, source 1, may_store false;
    geosearch: Verb::Search, source 1, may_store false;
    geosearchstore: Verb::SearchStore, source 2, may_store false;
}

/// A member found.
#[derive(Clone)]
struct Hit {
    /// Meters from the center.
    distance: f64,
    score: f64,
    position: Position,
    /// Where its name is among the names.
    name: Range<usize>,
}

/// The members found, their names one after the other.
#[derive(Default)]
struct Hits {
    hits: Vec<Hit>,
    names: Vec<u8>,
}

fn search(
    context: &mut Context<'_>,
    args: Args<'_>,
    verb: Verb,
    source: usize,
    may_store: bool,
) -> CommandResult {
    let source = context.key(args.at(source));
    // A clone costs nothing, and the result may well replace the set that it is taken from.
    let set: Option<SortedSet> = context.value_clone(&source)?;
    let request = Request::parse(args, verb, may_store, set.as_ref())?;
    let mut found = Hits::default();
    if let (Some(set), Some(shape)) = (&set, &request.shape) {
        let enough = if request.any { request.count } else { None };
        let enough = enough.unwrap_or(usize::MAX);
        let areas = cover(shape);
        if set.len() > MOMENT {
            let work = candidates(set, &areas).min(enough as u64);
            if request.target.is_some() { context.takes(work)? } else { context.reads(work)? }
        }
        found.collect(set, shape, &areas, enough);
    }
    found.arrange(&request);
    match request.target {
        Some(target) => store(context, &found, target, &request, verb),
        None => write(&mut context.reply, &found, request.with, request.unit),
    }
    Ok(())
}

/// How many members are in areas that cover a shape. O(log n).
fn candidates(set: &SortedSet, areas: &[(f64, f64)]) -> u64 {
    areas.iter().map(|&area| ranks(set, area)).map(|ranks| ranks.end - ranks.start).sum()
}

/// Those of the members of an area: with scores from one on and below another.
fn ranks(set: &SortedSet, (from, to): (f64, f64)) -> Range<u64> {
    set.ranks(&Bound::BeforeScore(from), &Bound::BeforeScore(to))
}

impl Hits {
    /// Adds the members of a set inside a shape, which the areas cover, until there are enough.
    fn collect(&mut self, set: &SortedSet, shape: &Shape, areas: &[(f64, f64)], enough: usize) {
        let limits = shape.limits();
        for &area in areas {
            let _ = set.visit(ranks(set, area), Order::Ascending, |score, member| {
                let position = Position::of_score(score);
                if limits.exclude(&position) {
                    return ControlFlow::Continue(());
                }
                if let Some(distance) = shape.distance_inside(&position) {
                    let start = self.names.len();
                    self.names.extend_from_slice(member);
                    self.hits.push(Hit { distance, score, position, name: start..self.names.len() });
                }
                if self.hits.len() >= enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if self.hits.len() >= enough {
                break;
            }
        }
    }

    /// Puts the hits in the order asked for, and drops those after the count.
    fn arrange(&mut self, request: &Request<'_>) {
        // Some of all hits only make sense as the nearest of them, unless any will do.
        let nearest = (request.count.is_some() && !request.any).then_some(Order::Ascending);
        match request.order.or(nearest) {
            Some(Order::Ascending) => self.hits.sort_by(|a, b| a.distance.total_cmp(&b.distance)),
            Some(Order::Descending) => self.hits.sort_by(|a, b| b.distance.total_cmp(&a.distance)),
            None => {}
        }
        self.hits.truncate(request.count.unwrap_or(usize::MAX));
    }

    fn name(&self, hit: &Hit) -> &[u8] {
        &self.names[hit.name.clone()]
    }
}

fn store(context: &mut Context<'_>, found: &Hits, target: Target<'_>, request: &Request<'_>, verb: Verb) {
    let mut result = Stored::new(context);
    for hit in &found.hits {
        let score = if target.distances { hit.distance / request.unit } else { hit.score };
        result.push(score, found.name(hit));
    }
    let key = context.key(target.key);
    let event = if verb == Verb::SearchStore { "geosearchstore" } else { "georadiusstore" };
    // Which of several at the same distance are among the first, each server decides for itself.
    match request.count {
        None => result.store(context, &key, event),
        Some(_) => result.store_for_all(context, &key, event),
    }
    // Each member counts, and storing them has counted as one change.
    context.worker.stats.dirty.add(found.hits.len().saturating_sub(1) as u64);
}

fn write(reply: &mut Reply<'_>, found: &Hits, with: With, unit: f64) {
    let parts = [with.distance, with.score, with.position].iter().filter(|&&wanted| wanted).count();
    reply.array(found.hits.len());
    for hit in &found.hits {
        if parts > 0 {
            reply.array(1 + parts);
        }
        reply.bulk(found.name(hit));
        if with.distance {
            write_distance(reply, hit.distance / unit);
        }
        if with.score {
            reply.int(hit.score as i64);
        }
        if with.position {
            write_position(reply, &hit.position);
        }
    }
}
