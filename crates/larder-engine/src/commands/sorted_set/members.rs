//! Ranges of members, for BYLEX and its kin.
//!
//! Members are in order only among equal scores, and the documents leave open what a range means otherwise. Clients get the
//! answer of Valkey then, where it has one: of a set that is called listpack, it is a run from the first member that is not
//! too small, or to the last that is not too great. (Of a larger set Valkey's answer is a matter of chance: any run will do.)

use larder_collections::sorted_set::{Bound, Order, SortedSet, SortedSetEncoding};
use std::ops::{ControlFlow, Range};

/// The ranks of the members of a range. O(log n) for n entries of equal scores, and O(n) of different ones if the set is called
/// listpack.
pub(super) fn member_ranks(set: &SortedSet, from: &Bound<'_>, to: &Bound<'_>, order: Order) -> Range<u64> {
    if set.encoding() != SortedSetEncoding::Listpack || has_one_score(set) {
        return set.ranks(from, to);
    }
    let mut fits: Vec<(bool, bool)> = Vec::new();
    let _ = set.visit(0..set.len(), Order::Ascending, |_, member| {
        fits.push((is_behind(member, from), is_before(member, to)));
        ControlFlow::<()>::Continue(())
    });
    let possible =
        !is_empty(from, to) && fits.first().is_some_and(|f| f.1) && fits.last().is_some_and(|f| f.0);
    if !possible {
        return 0..0;
    }
    let run = match order {
        Order::Ascending => {
            let start = fits.iter().position(|fit| fit.0).unwrap_or(fits.len());
            start..start + fits[start..].iter().take_while(|fit| fit.1).count()
        }
        Order::Descending => {
            let end = fits.iter().rposition(|fit| fit.1).map_or(0, |at| at + 1);
            end - fits[..end].iter().rev().take_while(|fit| fit.0).count()..end
        }
    };
    run.start as u64..run.end as u64
}

/// Whether all entries have the same score. If not, what a range of members selects depends on how a server keeps the set.
pub(super) fn has_one_score(set: &SortedSet) -> bool {
    let score = |rank| {
        set.visit(rank..rank + 1, Order::Ascending, |score, _| ControlFlow::Break(score)).break_value()
    };
    set.is_empty() || score(0) == score(set.len() - 1)
}

fn is_behind(member: &[u8], from: &Bound<'_>) -> bool {
    match from {
        Bound::BeforeMember(first) => member >= *first,
        Bound::AfterMember(first) => member > *first,
        Bound::Start => true,
        _ => false,
    }
}

fn is_before(member: &[u8], to: &Bound<'_>) -> bool {
    match to {
        Bound::BeforeMember(last) => member < *last,
        Bound::AfterMember(last) => member <= *last,
        Bound::End => true,
        _ => false,
    }
}

/// Whether no member at all can lie in the range.
fn is_empty(from: &Bound<'_>, to: &Bound<'_>) -> bool {
    match (from, to) {
        (Bound::End, _) | (_, Bound::Start) => true,
        (Bound::BeforeMember(first), Bound::AfterMember(last)) => first > last,
        (
            Bound::BeforeMember(first) | Bound::AfterMember(first),
            Bound::BeforeMember(last) | Bound::AfterMember(last),
        ) => first >= last,
        _ => false,
    }
}
