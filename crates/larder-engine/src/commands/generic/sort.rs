//! SORT and SORT_RO.
//!
//! With BY or GET patterns the elements name further keys, which no table can declare. Such a command runs with all
//! shards locked (`Scope::Sort`): the usual ascending order, so there is no deadlock, and no other command runs
//! meanwhile. If it is long it reserves these keys one by one instead, and holds the shard of one only (`keyspace/locks/lending.rs`). Without them only the shards of its key and of the destination are locked.

use crate::context::{Context, Typed};
use crate::engine::notify::class;
use crate::error::{CommandError, CommandResult};
use crate::execution::authorization;
use crate::keyspace::key::Key;
use crate::keyspace::kind::Kind;
use crate::text::number;
use crate::text::word::is_word;
use larder_collections::key_table::ValueRef;
use larder_collections::list::{List, ListOptions};
use larder_collections::set::Set;
use larder_collections::sorted_set::{Order, SortedSet};
use larder_collections::value::Value;
use larder_packed::block::End;
use larder_resp::Args;
use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

const DENIED_BY: CommandError =
    CommandError::Fixed("ERR BY option of SORT denied due to insufficient ACL permissions.");
const DENIED_GET: CommandError =
    CommandError::Fixed("ERR GET option of SORT denied due to insufficient ACL permissions.");
const OTHER_SLOT_BY: CommandError = CommandError::Fixed(
    "ERR BY option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots.",
);
const OTHER_SLOT_GET: CommandError = CommandError::Fixed(
    "ERR GET option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots.",
);
/// Integers up to here are exact as doubles.
const EXACT_MAX: u64 = 1 << 53;

const NOT_DOUBLE: CommandError = CommandError::Fixed("ERR One or more scores can't be converted into double");

pub(super) fn sort(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    run(context, args, true)
}

pub(super) fn sort_ro(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    run(context, args, false)
}

fn run(context: &mut Context<'_>, args: Args<'_>, may_store: bool) -> CommandResult {
    let reads_all = args.len() == 2
        || authorization::may_read_all_keys(context.engine, context.session, context.found, args);
    // On a node of a cluster patterns keep to the slot of the key.
    let slot = context.engine.cluster.is_on().then(|| larder_cluster::key_slot(args.at(1)));
    let mut request = Request::parse(args.from(2), may_store, reads_all, slot)?;
    let key = context.key(args.at(1));
    let source = Source::fetch(context, &key)?;
    let is_kept = request.store.is_some() || context.in_script;
    if matches!(source, Source::Set(_)) && is_kept && request.by == Some(By::Nothing) {
        // What is stored, or what a script makes of it, must not depend on the order of a hash table.
        request.by = None;
        request.is_alpha = true;
    }
    if let (Some(target), Source::List(list)) = (request.store, &source)
        && request.keeps_order()
    {
        let Range { start, end } = request.limit(list.len() as usize);
        let part = list.slice(start as u64..end as u64, &context.worker.list_options);
        put(context, target, part);
        return Ok(());
    }
    // Sorting takes longer than reading.
    let (work, plain) = (4 * source.len(), request.without_keys());
    match (plain, request.store) {
        (Some(plain), Some(target)) => {
            let options = context.worker.list_options;
            let list =
                context.make(work, [key.bytes].into_iter(), move || plain.list(&source, &options))??;
            put(context, target, list);
            return Ok(());
        }
        (Some(_), None) => context.reads(work)?,
        (None, _) => context.takes(work)?,
    }
    if request.sorts_numbers()
        && let Some(integers) = source.integers()
    {
        let integers = request.sorted_integers(integers);
        context.reply.array(integers.len());
        integers.iter().for_each(|&integer| context.reply.bulk_int(integer));
        return Ok(());
    }
    let elements = request.elements(&source, &mut |pattern, element| pattern.look_up(context, element))?;
    match request.store {
        Some(target) => store(context, &request, &elements, target),
        None => reply(context, &request, &elements),
    }
    Ok(())
}

/// What is sorted.
enum Source {
    Nothing,
    List(List),
    Set(Set),
    SortedSet(SortedSet),
}

impl Source {
    fn fetch(context: &mut Context<'_>, key: &Key<'_>) -> CommandResult<Source> {
        Ok(match context.kind(key) {
            Some(Kind::List) => context.value_clone(key)?.map_or(Source::Nothing, Source::List),
            Some(Kind::Set) => context.value_clone(key)?.map_or(Source::Nothing, Source::Set),
            Some(Kind::SortedSet) => context.value_clone(key)?.map_or(Source::Nothing, Source::SortedSet),
            // Which counts as a hit.
            Some(_) => context.value_clone::<List>(key).map(|_| Source::Nothing)?,
            None => context.read(key, |_, _| Source::Nothing),
        })
    }

    /// All elements, if they are packed as integers and each is exact as a double, by which elements are compared.
    fn integers(&self) -> Option<Vec<i64>> {
        let mut integers = Vec::new();
        match self {
            Source::List(list) => {
                list.try_for_each_block(|block| {
                    if block.to_plain().integers_into(&mut integers) { Ok(()) } else { Err(()) }
                })
                .ok()?;
            }
            Source::Set(set) if !set.is_empty() && set.strings_only().next().is_none() => {
                integers.extend(set.iter().filter_map(|member| member.as_int()));
            }
            _ => return None,
        }
        integers.iter().all(|integer| integer.unsigned_abs() <= EXACT_MAX).then_some(integers)
    }

    fn len(&self) -> u64 {
        match self {
            Source::Nothing => 0,
            Source::List(list) => list.len(),
            Source::Set(set) => set.len(),
            Source::SortedSet(set) => set.len(),
        }
    }

    /// All elements in their own order.
    fn elements(&self) -> Vec<Vec<u8>> {
        match self {
            Source::Nothing => Vec::new(),
            Source::List(list) => list_range(list, 0, list.len()),
            Source::Set(set) => {
                let mut all = Vec::with_capacity(set.len() as usize);
                set.for_each(|member| all.push(member.to_vec()));
                all
            }
            Source::SortedSet(set) => ranks(set, 0..set.len(), Order::Ascending),
        }
    }
}

fn list_range(list: &List, from: u64, count: u64) -> Vec<Vec<u8>> {
    let mut elements = Vec::new();
    let _ = list.for_each_range::<()>(from, count, |element| {
        elements.push(element.to_vec());
        ControlFlow::Continue(())
    });
    elements
}

fn ranks(set: &SortedSet, range: Range<u64>, order: Order) -> Vec<Vec<u8>> {
    let mut members = Vec::new();
    let _ = set.visit::<()>(range, order, |_, member| {
        members.push(member.to_vec());
        ControlFlow::Continue(())
    });
    members
}

/// Says what the key of a pattern and an element holds.
type LookUp<'f> = &'f mut dyn FnMut(Pattern<'_>, &[u8]) -> Option<Vec<u8>>;

/// What the elements are compared by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By<'a> {
    /// Not at all.
    Nothing,
    /// By the values of keys.
    Pattern(Pattern<'a>),
}

/// The arguments.
struct Request<'a> {
    by: Option<By<'a>>,
    get: Vec<Pattern<'a>>,
    offset: i64,
    count: i64,
    is_descending: bool,
    is_alpha: bool,
    store: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// `reads_all`: the client may read whatever keys the patterns name. `slot`: the one that these keys must have.
    fn parse(
        args: Args<'a>,
        may_store: bool,
        reads_all: bool,
        slot: Option<u16>,
    ) -> CommandResult<Request<'a>> {
        let leaves = |pattern: &[u8]| slot.is_some() && larder_cluster::pattern_slot(pattern) != slot;
        let (mut by, mut get, mut store) = (None, Vec::new(), None);
        let (mut offset, mut count) = (0, -1);
        let (mut is_descending, mut is_alpha) = (false, false);
        let mut words = args.iter();
        while let Some(word) = words.next() {
            if is_word(word, "asc") {
                is_descending = false;
            } else if is_word(word, "desc") {
                is_descending = true;
            } else if is_word(word, "alpha") {
                is_alpha = true;
            } else {
                let value = words.next().ok_or(CommandError::SYNTAX)?;
                if is_word(word, "limit") {
                    let second = words.next().ok_or(CommandError::SYNTAX)?;
                    (offset, count) = (number::integer(value)?, number::integer(second)?);
                } else if is_word(word, "store") && may_store {
                    store = Some(value);
                } else if is_word(word, "by") {
                    let sorts = value.contains(&b'*');
                    if sorts && leaves(value) {
                        return Err(OTHER_SLOT_BY);
                    }
                    if sorts && !reads_all {
                        return Err(DENIED_BY);
                    }
                    by = Some(if sorts { By::Pattern(Pattern::parse(value)) } else { By::Nothing });
                } else if is_word(word, "get") {
                    if value != b"#" && leaves(value) {
                        return Err(OTHER_SLOT_GET);
                    }
                    if !reads_all {
                        return Err(DENIED_GET);
                    }
                    get.push(Pattern::parse(value));
                } else {
                    return Err(CommandError::SYNTAX);
                }
            }
        }
        Ok(Request { by, get, offset, count, is_descending, is_alpha, store })
    }

    /// Whether what is asked for are the elements of a list, in their own order.
    fn keeps_order(&self) -> bool {
        self.by == Some(By::Nothing) && self.get.is_empty() && !self.is_descending
    }

    /// Whether elements with equal weights may be in any order: each server has its own, and so has each copy of a set.
    fn leaves_order_open(&self) -> bool {
        self.is_alpha && matches!(self.by, Some(By::Pattern(_)))
    }

    /// The same request for another thread, if it asks for no keys but the one that is sorted.
    fn without_keys(&self) -> Option<Request<'static>> {
        let by = match self.by {
            None => None,
            Some(By::Nothing) => Some(By::Nothing),
            Some(By::Pattern(_)) => return None,
        };
        let Request { offset, count, is_descending, is_alpha, .. } = *self;
        let get = Vec::new();
        self.get.is_empty().then_some(Request {
            by,
            get,
            offset,
            count,
            is_descending,
            is_alpha,
            store: None,
        })
    }

    /// The elements that are asked for, as a list.
    fn list(&self, source: &Source, options: &ListOptions) -> CommandResult<List> {
        if self.sorts_numbers()
            && let Some(integers) = source.integers()
        {
            return Ok(List::of_integers(&self.sorted_integers(integers), options));
        }
        let mut list = List::new();
        let elements = self.elements(source, &mut |_, _| None)?;
        elements.iter().for_each(|element| list.push(End::Back, element, options));
        Ok(list)
    }

    /// The elements that are asked for. `look_up` is asked what the keys of patterns hold.
    fn elements(&self, source: &Source, look_up: LookUp<'_>) -> CommandResult<Vec<Vec<u8>>> {
        match self.by {
            Some(By::Nothing) => Ok(self.unsorted(source)),
            _ => self.sorted(look_up, source.elements()),
        }
    }

    /// Whether what is asked for are the elements themselves, in the order of the numbers that they are.
    fn sorts_numbers(&self) -> bool {
        self.by.is_none() && self.get.is_empty() && !self.is_alpha
    }

    /// Those of these elements that LIMIT asks for, sorted.
    fn sorted_integers(&self, mut integers: Vec<i64>) -> Vec<i64> {
        let range = self.limit(integers.len());
        integers.sort_unstable();
        if self.is_descending {
            integers.reverse();
        }
        integers.truncate(range.end);
        integers.drain(..range.start);
        integers
    }

    /// The positions that LIMIT asks for, among `len` elements.
    fn limit(&self, len: usize) -> Range<usize> {
        let from = usize::try_from(self.offset.max(0)).unwrap_or(usize::MAX).min(len);
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        from..from.saturating_add(count).min(len)
    }

    /// The elements asked for in their own order; a list or a sorted set backwards when descending.
    fn unsorted(&self, source: &Source) -> Vec<Vec<u8>> {
        if let Source::SortedSet(set) = source {
            let Range { start, end } = self.limit(set.len() as usize);
            let (start, end) = (start as u64, end as u64);
            return match self.is_descending {
                false => ranks(set, start..end, Order::Ascending),
                true => ranks(set, set.len() - end..set.len() - start, Order::Descending),
            };
        }
        if let Source::List(list) = source {
            let range = self.limit(list.len() as usize);
            let count = range.len() as u64;
            if !self.is_descending {
                return list_range(list, range.start as u64, count);
            }
            let mut elements = list_range(list, list.len() - range.end as u64, count);
            elements.reverse();
            return elements;
        }
        let mut elements = source.elements();
        let range = self.limit(elements.len());
        elements.drain(range).collect()
    }

    fn sorted(&self, look_up: LookUp<'_>, elements: Vec<Vec<u8>>) -> CommandResult<Vec<Vec<u8>>> {
        let range = self.limit(elements.len());
        let directed = |order: Ordering| if self.is_descending { order.reverse() } else { order };
        if !self.is_alpha {
            let mut scored = self.score(look_up, elements)?;
            scored.sort_by(|a, b| {
                let by_score = a.0.partial_cmp(&b.0).expect("scores are numbers");
                directed(by_score.then_with(|| a.1.cmp(&b.1)))
            });
            return Ok(scored.drain(range).map(|(_, element)| element).collect());
        }
        let Some(By::Pattern(pattern)) = self.by else {
            let mut elements = elements;
            elements.sort_by(|a, b| directed(a.cmp(b)));
            return Ok(elements.drain(range).collect());
        };
        let weigh = |element: Vec<u8>| (look_up(pattern, &element), element);
        let mut weighed: Vec<_> = elements.into_iter().map(weigh).collect();
        weighed.sort_by(|a, b| directed(a.0.cmp(&b.0)));
        Ok(weighed.drain(range).map(|(_, element)| element).collect())
    }

    /// The elements with the numbers that they are sorted by.
    fn score(&self, look_up: LookUp<'_>, elements: Vec<Vec<u8>>) -> CommandResult<Vec<(f64, Vec<u8>)>> {
        let mut score_of = |element: &Vec<u8>| match self.by {
            Some(By::Pattern(pattern)) => match look_up(pattern, element) {
                Some(weight) => score(&weight),
                None => Some(0.0),
            },
            _ => score(element),
        };
        // All keys are looked at before an error is, as each lookup counts as a hit or a miss.
        let scored: Vec<_> = elements.into_iter().map(|element| (score_of(&element), element)).collect();
        scored.into_iter().map(|(score, element)| Ok((score.ok_or(NOT_DOUBLE)?, element))).collect()
    }
}

/// A number as `strtod` reads it, where nothing may follow; the empty string is zero.
fn score(text: &[u8]) -> Option<f64> {
    let text = match number::c_string(text) {
        [b'+', rest @ ..] if !matches!(rest, [b'+' | b'-', ..]) => rest,
        text => text,
    };
    number::parse_f64_in_range(text)
}

/// A key made from an element: `#` is the element itself, and the first `*` stands for it in a name, which may go on
/// with `->field` of a hash. A name without `*` is no key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern<'a> {
    Element,
    Key { prefix: &'a [u8], postfix: &'a [u8], field: Option<&'a [u8]> },
    Nothing,
}

impl<'a> Pattern<'a> {
    fn parse(text: &'a [u8]) -> Pattern<'a> {
        if text == b"#" {
            return Pattern::Element;
        }
        let Some(star) = text.iter().position(|&byte| byte == b'*') else { return Pattern::Nothing };
        let (prefix, rest) = (&text[..star], &text[star + 1..]);
        let arrow = rest.windows(2).position(|pair| pair == b"->").filter(|&at| at + 2 < rest.len());
        match arrow {
            Some(at) => Pattern::Key { prefix, postfix: &rest[..at], field: Some(&rest[at + 2..]) },
            None => Pattern::Key { prefix, postfix: rest, field: None },
        }
    }

    /// What the key of an element holds: a string, or a field of a hash. All shards are held, or the command goes by parts.
    fn look_up(&self, context: &mut Context<'_>, element: &[u8]) -> Option<Vec<u8>> {
        let (name, field) = match *self {
            Pattern::Element => return Some(element.to_vec()),
            Pattern::Nothing => return None,
            Pattern::Key { prefix, postfix, field } => ([prefix, element, postfix].concat(), field),
        };
        let (key, due_ms) = (context.key(&name), context.due_ms());
        context.lock_found(&key);
        context.read(&key, |entry, _| match (entry?.value(), field) {
            (ValueRef::Inline { bytes, .. }, None) => Some(bytes.to_vec()),
            (ValueRef::Out(value), None) => match &*value {
                Value::String(bytes) => Some(bytes.to_vec()),
                _ => None,
            },
            (ValueRef::Out(value), Some(field)) => hash_field(&value, field, due_ms),
            (ValueRef::Inline { .. }, Some(_)) => None,
        })
    }
}

/// The value of a field, if the value is a hash that has it.
fn hash_field(value: &Value, field: &[u8], due_ms: u64) -> Option<Vec<u8>> {
    match value {
        Value::Hash(hash) => hash.get(field, due_ms).map(<[u8]>::to_vec),
        _ => None,
    }
}

fn reply(context: &mut Context<'_>, request: &Request<'_>, elements: &[Vec<u8>]) {
    if request.get.is_empty() {
        context.reply.array(elements.len());
        return elements.iter().for_each(|element| context.reply.bulk(element));
    }
    context.reply.array(elements.len() * request.get.len());
    for element in elements {
        for pattern in &request.get {
            let found = pattern.look_up(context, element);
            context.reply.bulk_or_null(found.as_deref());
        }
    }
}

fn store(context: &mut Context<'_>, request: &Request<'_>, elements: &[Vec<u8>], target: &[u8]) {
    let options = context.worker.list_options;
    let mut stored: Vec<Vec<u8>> = Vec::with_capacity(elements.len() * request.get.len().max(1));
    for element in elements {
        for pattern in &request.get {
            stored.push(pattern.look_up(context, element).unwrap_or_default());
        }
        if request.get.is_empty() {
            stored.push(element.clone());
        }
    }
    let mut list = List::new();
    stored.iter().for_each(|element| list.push(End::Back, element, &options));
    put(context, target, list);
    if request.leaves_order_open() && !stored.is_empty() {
        context.propagate_elements(&context.key(target), b"RPUSH", &stored, 1);
    }
}

/// Puts what is stored in the place of whatever the target is, and replies with how much it is.
fn put(context: &mut Context<'_>, target: &[u8], list: List) {
    let target = context.key(target);
    context.lock_found(&target);
    context.reply.int(list.len() as i64);
    if Typed::is_empty(&list) {
        context.delete_target(&target);
    } else {
        let len = list.len() as usize;
        context.put_value(&target, list);
        context.modified_by(&target, len);
        context.notify(class::LIST, "sortstore", &target);
        context.signal_ready(&target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_read_as_numbers() {
        let good: [(&str, f64); 6] = [
            ("1", 1.0),
            ("-2.5", -2.5),
            ("+3", 3.0),
            ("1e3", 1000.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ];
        for (text, value) in good {
            assert_eq!(score(text.as_bytes()), Some(value), "{text:?}");
        }
        for bad in ["a", "", "1a", " 4", "4 ", " ", "0x10", "nan", "+-1", "1e999"] {
            assert_eq!(score(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn patterns() {
        assert!(Pattern::parse(b"#") == Pattern::Element);
        assert!(Pattern::parse(b"abc") == Pattern::Nothing);
        let key = |prefix, postfix, field| Pattern::Key { prefix, postfix, field };
        assert!(Pattern::parse(b"w_*") == key(b"w_", b"", None));
        assert!(Pattern::parse(b"w_*_x->f->g") == key(b"w_", b"_x", Some(b"f->g")));
        assert!(Pattern::parse(b"w_*->") == key(b"w_", b"->", None));
        assert!(Pattern::parse(b"a->b*") == key(b"a->b", b"", None));
    }
}
