//! Copying a long list: element by element, in ranges, and by COPY.

use crate::context::Context;
use crate::data;
use crate::figure::{Target, median};
use crate::resp;
use crate::session::Session;
use crate::wire::Wire;
use std::io;
use std::time::{Duration, Instant};

/// Elements of the list that the field's measurements use.
const LENGTH: usize = 10_030_000;
/// Operations in a pipeline.
const PIPELINE: usize = 1000;
/// Elements of a range.
const RANGE: usize = 10_000;

/// Measures wall time and server CPU of each way.
pub fn run(context: &mut Context) -> io::Result<()> {
    let mut session = context.start()?;
    let length = context.scaled(LENGTH, 5000);
    context.stage("loading");
    let mut loader = session.loader()?;
    loader.push_all("from", data::random_words(length), 500)?;
    loader.finish()?;
    let mut wire = Wire::connect(session.port())?;
    one(context, &mut session, "RPOPLPUSH and LPUSH", length, |context| {
        by_element(context, &mut wire, length)
    })?;
    one(context, &mut session, "LRANGE and RPUSH", length, |context| by_range(context, &mut wire, length))?;
    by_copy(context, &mut session, length)
}

fn one(
    context: &mut Context,
    session: &mut Session,
    way: &str,
    length: usize,
    copy: impl FnOnce(&Context) -> io::Result<()>,
) -> io::Result<()> {
    let mut wall = Duration::ZERO;
    let cost = session.cost(length as u64, || {
        let start = Instant::now();
        copy(context)?;
        wall = start.elapsed();
        Ok(())
    })?;
    check_and_drop(session, length)?;
    context.figure(format!("{way}, wall time"), "ms", wall.as_secs_f64() * 1e3, Target::None);
    context.cost(format!("{way}, CPU per element"), cost, Target::OfRedis(1.0));
    Ok(())
}

/// The copies of COPY: wall time and CPU of one.
fn by_copy(context: &mut Context, session: &mut Session, length: usize) -> io::Result<()> {
    let (mut walls, mut whole, mut worker) = (Vec::new(), Vec::new(), Vec::new());
    let mut wire = Wire::connect(session.port())?;
    let mut request = Vec::new();
    resp::command(&mut request, &[b"COPY", b"from", b"to"]);
    for turn in 0..context.rounds(5) {
        context.progress("COPY", turn, 5);
        let cost = session.cost(1, || {
            let start = Instant::now();
            wire.exchange(&request, 1)?;
            walls.push(start.elapsed().as_secs_f64() * 1e3);
            Ok(())
        })?;
        whole.push(cost.whole / 1e6);
        worker.push(cost.worker / 1e6);
        check_and_drop(session, length)?;
    }
    context.figure("COPY, wall time", "ms", median(walls), Target::Most(1.0));
    context.figure("COPY, CPU", "ms", median(whole), Target::None);
    context.figure("COPY, CPU of the worker", "ms", median(worker), Target::None);
    Ok(())
}

/// Both ends, the middle and the length agree with the source's.
fn check_and_drop(session: &mut Session, length: usize) -> io::Result<()> {
    for key in ["from", "to"] {
        if session.ask(&format!("LLEN {key}"))?.int() != length as i64 {
            return Err(io::Error::other(format!("{key} has a wrong length")));
        }
    }
    for at in [0, length / 2, length - 1] {
        if session.ask(&format!("LINDEX from {at}"))? != session.ask(&format!("LINDEX to {at}"))? {
            return Err(io::Error::other(format!("the copy differs at {at}")));
        }
    }
    session.ask("DEL to").map(drop)
}

/// Rotates the source and pushes what comes by; the next rotations travel with the pushes.
fn by_element(context: &Context, wire: &mut Wire, length: usize) -> io::Result<()> {
    let (mut moved, mut pushes, mut pushed) = (0, Vec::new(), 0);
    while moved < length || pushed > 0 {
        context.progress("RPOPLPUSH and LPUSH", moved, length);
        let rotations = PIPELINE.min(length - moved);
        let mut request = std::mem::take(&mut pushes);
        (0..rotations).for_each(|_| resp::command(&mut request, &[b"RPOPLPUSH", b"from", b"from"]));
        let replies = wire.exchange(&request, pushed + rotations)?;
        pushed = 0;
        for element in elements(replies) {
            resp::command(&mut pushes, &[b"LPUSH", b"to", element]);
            pushed += 1;
        }
        moved += rotations;
    }
    Ok(())
}

/// Reads ranges and pushes them; the items of a reply are framed as those of a request are.
fn by_range(context: &Context, wire: &mut Wire, length: usize) -> io::Result<()> {
    let mut request = Vec::new();
    for first in (0..length).step_by(RANGE) {
        context.progress("LRANGE and RPUSH", first, length);
        let count = RANGE.min(length - first);
        request.clear();
        let (from, to) = (first.to_string(), (first + count - 1).to_string());
        resp::command(&mut request, &[b"LRANGE", b"from", from.as_bytes(), to.as_bytes()]);
        let items = wire.exchange(&request, 1)?;
        let start = items.iter().position(|&byte| byte == b'\n').map_or(items.len(), |at| at + 1);
        request.clear();
        resp::array(&mut request, count + 2);
        resp::bulk(&mut request, b"RPUSH");
        resp::bulk(&mut request, b"to");
        request.extend_from_slice(&items[start..]);
        wire.exchange(&request, 1)?;
    }
    Ok(())
}

/// The bulk strings in a row of replies.
fn elements(mut replies: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        loop {
            let end = replies.iter().position(|&byte| byte == b'\n')?;
            let (line, rest) = (replies[..end].strip_suffix(b"\r")?, &replies[end + 1..]);
            replies = rest;
            if let Some(digits) = line.strip_prefix(b"$") {
                let len: usize = str::from_utf8(digits).ok()?.parse().ok()?;
                let element = rest.get(..len)?;
                replies = rest.get(len + 2..)?;
                return Some(element);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_among_replies() {
        let replies = b":3\r\n$3\r\na\r\n\r\n:4\r\n$0\r\n\r\n$1\r\nz\r\n";
        assert_eq!(elements(replies).collect::<Vec<_>>(), [&b"a\r\n"[..], b"", b"z"]);
    }
}
