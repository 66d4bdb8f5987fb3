//! PUBLISH to 50 subscribers by name, to as many by pattern, and to nobody.

use super::operations::CONNECTIONS;
use crate::connect::connect;
use crate::context::Context;
use crate::figure::Target;
use crate::pool::ConnectionPool;
use crate::resp;
use crate::session::Session;
use std::io::{self, Read, Write};
use std::net::TcpStream;

const SUBSCRIBERS: usize = 50;
const CHANNEL: &[u8] = b"channel:one";
const PATTERN: &[u8] = b"channel:*";
const PAYLOAD: &[u8] = b"a message of forty bytes, to be precise.";

/// Who listens, and what each of them is sent for a message.
struct Audience {
    row: &'static str,
    subscribe: Option<[&'static [u8]; 2]>,
    message: &'static [&'static [u8]],
}

const AUDIENCES: [Audience; 3] = [
    Audience { row: "nobody", subscribe: None, message: &[] },
    Audience {
        row: "50 subscribers",
        subscribe: Some([b"SUBSCRIBE", CHANNEL]),
        message: &[b"message", CHANNEL, PAYLOAD],
    },
    Audience {
        row: "50 subscribers by pattern",
        subscribe: Some([b"PSUBSCRIBE", PATTERN]),
        message: &[b"pmessage", PATTERN, CHANNEL, PAYLOAD],
    },
];

/// Measures one depth of pipeline, with one publisher and with many.
pub fn run(context: &mut Context, pipeline: usize) -> io::Result<()> {
    for publishers in [1, CONNECTIONS] {
        for audience in &AUDIENCES {
            measure(context, pipeline, publishers, audience)?;
        }
    }
    Ok(())
}

fn measure(context: &mut Context, pipeline: usize, publishers: usize, audience: &Audience) -> io::Result<()> {
    context.stage(audience.row);
    let full = if audience.subscribe.is_none() { 200_000 } else { 20_000 };
    let round = pipeline * publishers;
    let rounds = context.scaled(full, 160).div_ceil(round);
    let mut session = context.start()?;
    let mut listeners = match audience.subscribe {
        Some(command) => subscribe(&session, command)?,
        None => Vec::new(),
    };
    let mut pool = session.pool(publishers)?;
    let mut heard = vec![0; round * encoded(audience.message).len()];
    let mut turns = |rounds: usize| turns(&mut pool, &mut listeners, rounds, pipeline, &mut heard);
    turns(rounds.div_ceil(20))?;
    let cost = session.cost((rounds * round) as u64, || turns(rounds))?;
    let by = if publishers == 1 { "1 client".to_owned() } else { format!("{publishers} clients") };
    let row = format!("PUBLISH by {by} to {}, pipeline {pipeline}", audience.row);
    context.cost(row, cost, Target::OfRedis(0.9));
    Ok(())
}

/// Publishes and listens in turn, so that nobody's buffers fill.
fn turns(
    publishers: &mut ConnectionPool,
    listeners: &mut [TcpStream],
    rounds: usize,
    pipeline: usize,
    heard: &mut [u8],
) -> io::Result<()> {
    for _ in 0..rounds {
        publishers.run(1, pipeline, |out| resp::command(out, &[b"PUBLISH", CHANNEL, PAYLOAD]))?;
        listeners.iter_mut().try_for_each(|listener| listener.read_exact(heard))?;
    }
    Ok(())
}

/// Connections that have had their subscription confirmed.
fn subscribe(session: &Session, command: [&[u8]; 2]) -> io::Result<Vec<TcpStream>> {
    let name = command[0].to_ascii_lowercase();
    let confirmation = [encoded_as(3, &[&name, command[1]]), b":1\r\n".to_vec()].concat();
    let listener = |_| {
        let mut stream = connect(session.port())?;
        stream.write_all(&encoded(&command))?;
        let mut got = vec![0; confirmation.len()];
        stream.read_exact(&mut got)?;
        if got == confirmation { Ok(stream) } else { Err(io::Error::other("no confirmation")) }
    };
    (0..SUBSCRIBERS).map(listener).collect()
}

fn encoded(items: &[&[u8]]) -> Vec<u8> {
    encoded_as(items.len(), items)
}

/// The first items of an array of `len`.
fn encoded_as(len: usize, items: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{len}\r\n").into_bytes();
    for item in items {
        bytes.extend_from_slice(format!("${}\r\n", item.len()).as_bytes());
        bytes.extend_from_slice(item);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
