//! A server that heavy commands are sent to, and what has been loaded into it.

use super::answer::{Answer, Caller, Request};
use super::heavy::{Heavy, Step, Until};
use super::probes::{self, Probes};
use super::request::request;
use crate::peer::Peer;
use crate::rows::data::DataSet;
use crate::rows::template::scaled;
use crate::session::Session;
use std::io;
use std::time::{Duration, Instant};

/// What every server is started with: DEBUG for keys that expire at one moment; scripts that take long are not to be answered with BUSY.
const ARGUMENTS: [&str; 4] = ["--enable-debug-command", "yes", "--busy-reply-threshold", "600000"];
/// Between two questions whether something is over: each delays the probes a little, and is for one section of INFO only.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest wait for what goes on after the reply.
const PATIENCE: Duration = Duration::from_secs(120);
/// What may be in use above `maxmemory`, in parts of that: memory is in use for what is asked meanwhile.
const FITS: f64 = 1.02;

/// A running server.
pub struct Running {
    /// The connection for questions.
    session: Session,
    /// The connection of the heavy commands.
    pub caller: Caller,
    /// The connections of the others.
    pub probes: Probes,
    scale: f64,
    group: &'static str,
    loaded: Vec<&'static str>,
}

impl Running {
    /// Starts a server; one that has threads as Larder has is told their number.
    pub fn start(peer: &Peer, threads: Option<usize>, scale: f64) -> io::Result<Self> {
        let count = threads.unwrap_or(1).to_string();
        let mut arguments = ARGUMENTS.to_vec();
        if threads.is_some() {
            arguments.extend(["--threads", count.as_str()]);
        }
        let session = Session::start_free(peer, &arguments)?;
        let probes = Probes::connect(session.port(), threads.unwrap_or(1))?;
        let caller = Caller::connect(session.port())?;
        Ok(Running { session, caller, probes, scale, group: "", loaded: Vec::new() })
    }

    /// Sees to it that the data of a command and of the probes is there, and nothing of another group's.
    pub fn provide(&mut self, heavy: &Heavy) -> io::Result<()> {
        if self.group != heavy.group {
            self.ask("FLUSHALL SYNC")?;
            self.loaded.clear();
            self.group = heavy.group;
            probes::DATA.iter().try_for_each(|data| data.load(&self.session, self.scale))?;
        }
        for data in heavy.data {
            if !self.loaded.contains(&data.name) {
                data.load(&self.session, self.scale)?;
                self.loaded.push(data.name);
            }
        }
        Ok(())
    }

    /// Does what is done before an execution.
    pub fn prepare(&mut self, heavy: &Heavy) -> io::Result<()> {
        for step in heavy.before {
            match step {
                Step::Load(data) => self.load(data)?,
                Step::Ask(template) => self.ask(template)?,
            }
        }
        // What was there before is freed.
        self.wait(|session| is(session, "memory", "lazyfree_pending_objects", 0))
    }

    fn load(&mut self, data: &DataSet) -> io::Result<()> {
        data.load(&self.session, self.scale)
    }

    /// Sends what is sent after an execution.
    pub fn clean(&mut self, heavy: &Heavy) -> io::Result<()> {
        heavy.after.iter().try_for_each(|template| self.ask(template))
    }

    /// The request of a command.
    pub fn request(&mut self, template: &str) -> io::Result<Request> {
        request(template, self.scale, &mut self.session)
    }

    fn ask(&mut self, template: &str) -> io::Result<()> {
        let request = self.request(template)?;
        let fault = |error: io::Error| io::Error::new(error.kind(), format!("{template}: {error}"));
        self.caller.call(&request).map(drop).map_err(fault)
    }

    fn wait(&mut self, is_over: impl Fn(&mut Session) -> io::Result<bool>) -> io::Result<()> {
        wait(&mut self.session, is_over)
    }

    /// The parts that execute a command while the probes run.
    pub fn split(&mut self) -> (Execution<'_>, &mut Probes) {
        (
            Execution { session: &mut self.session, caller: &mut self.caller, scale: self.scale },
            &mut self.probes,
        )
    }
}

/// What executes heavy commands.
pub struct Execution<'a> {
    session: &'a mut Session,
    caller: &'a mut Caller,
    scale: f64,
}

impl Execution<'_> {
    /// Executes a command and waits until it is over; the time from its sending. An error if its reply is not what is wanted.
    pub fn execute(&mut self, heavy: &Heavy, request: &Request) -> io::Result<Duration> {
        let begin = Instant::now();
        let answer = self.caller.call(request)?;
        let scale = self.scale;
        match heavy.until {
            Until::Answered => {}
            Until::Saved => self.wait(|session| is(session, "persistence", "rdb_bgsave_in_progress", 0))?,
            Until::Rewritten => self.wait(|session| {
                let is_not = |session: &mut Session, field| is(session, "persistence", field, 0);
                // In this order: what is scheduled becomes what is in progress.
                Ok(is_not(session, "aof_rewrite_scheduled")? && is_not(session, "aof_rewrite_in_progress")?)
            })?,
            Until::Expired(keys) => {
                self.wait(|session| reached(session, "expired_keys", scaled(keys, scale)))?;
            }
            Until::FieldsExpired(fields) => {
                self.wait(|session| reached(session, "expired_fields", scaled(fields, scale)))?;
            }
            Until::Fits => self.wait(fits)?,
        }
        let took = begin.elapsed();
        self.check(heavy, &answer)?;
        Ok(took)
    }

    fn check(&self, heavy: &Heavy, answer: &Answer) -> io::Result<()> {
        if answer.is(heavy.wanted, self.scale) {
            return Ok(());
        }
        Err(io::Error::other(format!("{:?} was wanted, not {}", heavy.wanted, answer.first_line())))
    }

    fn wait(&mut self, is_over: impl Fn(&mut Session) -> io::Result<bool>) -> io::Result<()> {
        wait(self.session, is_over)
    }
}

fn wait(session: &mut Session, is_over: impl Fn(&mut Session) -> io::Result<bool>) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !is_over(session)? {
        if Instant::now() > deadline {
            return Err(io::Error::other("what went on after the reply has not ended"));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// A number of INFO that the server must have.
fn info(session: &mut Session, section: &str, field: &str) -> io::Result<u64> {
    session.info_of(section, field)?.ok_or_else(|| io::Error::other(format!("INFO has no {field}")))
}

fn is(session: &mut Session, section: &str, field: &str, number: u64) -> io::Result<bool> {
    Ok(info(session, section, field)? == number)
}

fn reached(session: &mut Session, field: &str, number: u64) -> io::Result<bool> {
    Ok(info(session, "stats", field)? >= number)
}

/// Whether memory is within `maxmemory`, to which some keys had to go.
fn fits(session: &mut Session) -> io::Result<bool> {
    let most = info(session, "memory", "maxmemory")? as f64 * FITS;
    Ok(info(session, "stats", "evicted_keys")? > 0 && info(session, "memory", "used_memory")? as f64 <= most)
}
