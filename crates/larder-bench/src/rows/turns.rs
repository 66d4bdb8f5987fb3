//! Measuring rows: every server runs all the time, and they take turns.
//!
//! A turn of a server is: what the command will take away is put there; a tenth of the commands warm caches up; the commands are timed;
//! what they made is removed. One turn of each server follows the other, in the opposite order every second time. Data is loaded into a
//! server when the first row needs it and stays there. A server that fails in a row is started again for the next one.

use super::data::DataSet;
use super::reply::encoded_bytes;
use super::row::Row;
use super::template::Commands;
use crate::cli::Options;
use crate::figure::Cost;
use crate::peer::{FLOOR, Peer};
use crate::pool::ConnectionPool;
use crate::session::Session;
use std::io;

/// Connections of a busy server; a few are enough when the figures are not meant.
const CONNECTIONS: usize = 50;
const CONNECTIONS_SMALL: usize = 4;
/// Turns of a row on each server; one when the figures are not meant.
const TURNS: usize = 5;
/// Commands whose replies are looked at before the row is measured.
const CHECKED: usize = 8;

/// One turn, or why there was none.
pub struct Turn {
    /// The server's name.
    pub server: String,
    /// What a command cost it.
    pub result: io::Result<Cost>,
}

/// The servers that rows are measured on.
pub struct Servers<'a> {
    options: &'a Options,
    peers: &'a [Peer],
    /// Without it nothing answers constants.
    floor: Option<&'a Peer>,
    /// One for each peer; `None` before the first row and after a failure.
    running: Vec<Option<Running>>,
}

/// A server that is up, with what has been loaded into it.
struct Running {
    session: Session,
    pool: ConnectionPool,
    loaded: Vec<&'static str>,
}

/// A row's commands on their way to one server. Every server gets the same ones.
#[derive(Clone)]
struct Work {
    command: Commands,
    refill: Option<Commands>,
    after: Option<(Commands, u64)>,
    nulls: u64,
    pipeline: usize,
    warm_up_rounds: usize,
    rounds: usize,
}

impl<'a> Servers<'a> {
    /// No server is started before a row needs it.
    pub fn new(options: &'a Options, peers: &'a [Peer], floor: Option<&'a Peer>) -> Self {
        Servers { options, peers, floor, running: peers.iter().map(|_| None).collect() }
    }

    /// Measures a row on all servers: several turns of each, and an error for each that failed. `stage` is told what goes on.
    pub fn measure(&mut self, row: &Row, stage: &dyn Fn(&str)) -> Vec<Turn> {
        let mut turns = Vec::new();
        let work = match self.work(row) {
            Ok(work) => work,
            Err(error) => {
                let server = self.peers.first().map_or_else(String::new, |peer| peer.name.clone());
                return vec![Turn { server, result: Err(error) }];
            }
        };
        let mut lanes = Vec::new();
        let mut reply_bytes = None;
        for at in 0..self.peers.len() {
            let name = &self.peers[at].name;
            stage(&format!("preparing {name}"));
            match self.prepare(at, row, &work) {
                Ok(bytes) => {
                    reply_bytes.get_or_insert(bytes);
                    lanes.push((at, work.clone()));
                }
                Err(error) => {
                    self.running[at] = None;
                    turns.push(Turn { server: name.clone(), result: Err(error) });
                }
            }
        }
        let mut floor = reply_bytes.and_then(|bytes| self.start_floor(&work, bytes, &mut turns));
        for turn in 0..self.turns() {
            lanes.retain_mut(|(at, work)| {
                let server = self.peers[*at].name.clone();
                stage(&server);
                let Some(running) = &mut self.running[*at] else { return false };
                let result = running.turn(work);
                let goes_on = result.is_ok();
                if !goes_on {
                    self.running[*at] = None;
                }
                turns.push(Turn { server, result });
                goes_on
            });
            lanes.reverse();
            if let Some((running, work)) = &mut floor {
                stage(FLOOR);
                let result = running.turn(work);
                let goes_on = result.is_ok();
                turns.push(Turn { server: FLOOR.to_owned(), result });
                if !goes_on {
                    floor = None;
                }
            }
            stage(&format!("turn {}", turn + 1));
        }
        turns
    }

    /// What a row counts for beside workloads that are measured on one server after the other.
    pub fn steps(&self) -> u64 {
        (self.peers.len() * self.options.repeat) as u64
    }

    fn turns(&self) -> usize {
        if self.options.scale < 0.1 { self.options.repeat } else { TURNS * self.options.repeat }
    }

    fn connections(&self) -> usize {
        if self.options.scale < 0.02 { CONNECTIONS_SMALL } else { CONNECTIONS }
    }

    fn work(&self, row: &Row) -> io::Result<Work> {
        let scale = self.options.scale;
        let commands = |template| Commands::new(template, scale).map_err(io::Error::other);
        let count = (row.commands() as f64 * scale) as usize;
        let rounds = count.div_ceil(self.connections() * row.pipeline).max(1);
        let after = match row.after {
            Some((template, times)) => Some((commands(template)?, times)),
            None => None,
        };
        Ok(Work {
            command: commands(row.command)?,
            refill: row.refill.map(commands).transpose()?,
            after,
            nulls: row.expected.nulls(),
            pipeline: row.pipeline,
            warm_up_rounds: rounds.div_ceil(10),
            rounds,
        })
    }

    /// Makes a server ready for a row and looks at the replies to its first commands; the bytes of one, on average.
    fn prepare(&mut self, at: usize, row: &Row, work: &Work) -> io::Result<usize> {
        let connections = self.connections();
        let running = match &mut self.running[at] {
            Some(running) => running,
            none => none.insert(Running::new(Session::of(self.peers[at].start()?)?, connections)?),
        };
        for data in row.data {
            running.load(data, self.options.scale)?;
        }
        running.check(row, work.clone())
    }

    /// A server that answers constants of this size.
    fn start_floor(&self, work: &Work, reply_bytes: usize, turns: &mut Vec<Turn>) -> Option<(Running, Work)> {
        let peer = self.floor?;
        let mut request = Vec::new();
        work.command.clone().write(&mut request);
        let asterisks = request.iter().filter(|&&byte| byte == b'*').count();
        let args = ["--reply-bytes", &reply_bytes.to_string(), "--asterisks", &asterisks.to_string()];
        let start = || Running::new(Session::of(peer.start_with(&args)?)?, self.connections());
        match start() {
            // A constant takes nothing away, leaves nothing and is not null.
            Ok(running) => Some((running, Work { refill: None, after: None, nulls: 0, ..work.clone() })),
            Err(error) => {
                turns.push(Turn { server: FLOOR.to_owned(), result: Err(error) });
                None
            }
        }
    }
}

impl Running {
    fn new(session: Session, connections: usize) -> io::Result<Self> {
        let pool = session.pool(connections)?;
        Ok(Running { session, pool, loaded: Vec::new() })
    }

    fn load(&mut self, data: &DataSet, scale: f64) -> io::Result<()> {
        if !self.loaded.contains(&data.name) {
            data.load(&self.session, scale)?;
            self.loaded.push(data.name);
        }
        Ok(())
    }

    /// Sends a few commands one after the other; an error if a reply is not what the row expects.
    fn check(&mut self, row: &Row, mut work: Work) -> io::Result<usize> {
        if let Some(refill) = &mut work.refill {
            self.send(refill, CHECKED)?;
        }
        let mut bytes = 0;
        for _ in 0..CHECKED {
            let mut request = Vec::new();
            work.command.write(&mut request);
            let reply = self.session.exchange(&request)?;
            if !row.expected.is_met_by(&reply) {
                let text: String = reply.to_string().chars().take(200).collect();
                return Err(io::Error::other(format!("{:?} was expected, not {text}", row.expected)));
            }
            bytes += encoded_bytes(&reply);
        }
        self.remove(&work)?;
        Ok(bytes / CHECKED)
    }

    fn turn(&mut self, work: &mut Work) -> io::Result<Cost> {
        let (pipeline, rounds) = (work.pipeline, work.rounds);
        if let Some(refill) = &mut work.refill {
            self.pool.run(work.warm_up_rounds + rounds, pipeline, |out| refill.write(out))?;
        }
        let command = &mut work.command;
        let mut nulls = self.pool.run(work.warm_up_rounds, pipeline, |out| command.write(out))?;
        let operations = (rounds * pipeline * self.pool.len()) as u64;
        let pool = &mut self.pool;
        let cost = self.session.cost_of_threads(operations, || {
            nulls += pool.run(rounds, pipeline, |out| command.write(out))?;
            Ok(())
        })?;
        let sent = operations + (work.warm_up_rounds * pipeline * self.pool.len()) as u64;
        if nulls != sent * work.nulls {
            let expected = sent * work.nulls;
            return Err(io::Error::other(format!("{nulls} null replies, and not {expected}")));
        }
        self.remove(work)?;
        Ok(cost)
    }

    /// Takes away what commands have made.
    fn remove(&mut self, work: &Work) -> io::Result<()> {
        let Some((after, times)) = &work.after else { return Ok(()) };
        self.send(&mut after.clone(), *times as usize)
    }

    fn send(&mut self, commands: &mut Commands, times: usize) -> io::Result<()> {
        for _ in 0..times {
            let mut request = Vec::new();
            commands.write(&mut request);
            self.session.exchange(&request)?;
        }
        Ok(())
    }
}
