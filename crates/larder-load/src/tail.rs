//! Commands that are sent as they are: by one connection, in the order of the file, many before their replies are waited for.

use crate::commands::{Command, Commands, Transaction};
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::files::open_commands;
use crate::shared::Shared;
use larder_resp::Value;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

/// Commands, and bytes of them, that are sent before their replies are read.
const COMMANDS_MAX: usize = 1000;
const BYTES_MAX: usize = 64 << 10;
/// Commands whose replies are not one each, or after which the connection is another.
const NEVER_SENT: [&str; 15] = [
    "AUTH",
    "CLIENT",
    "HELLO",
    "MONITOR",
    "PSUBSCRIBE",
    "PSYNC",
    "PUNSUBSCRIBE",
    "QUIT",
    "REPLCONF",
    "RESET",
    "SHUTDOWN",
    "SSUBSCRIBE",
    "SUBSCRIBE",
    "SYNC",
    "UNSUBSCRIBE",
];
/// First words of errors after which no other command would fare better.
const FINAL: [&str; 14] = [
    "ASK",
    "BUSY",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "MOVED",
    "NOAUTH",
    "NOPERM",
    "NOREPLICAS",
    "OOM",
    "READONLY",
    "TRYAGAIN",
    "UNKILLABLE",
];

/// What is left of the files when no more is gathered.
pub struct Tail {
    /// The file that is being read.
    pub current: Commands,
    /// Those that come after it.
    pub files: VecDeque<PathBuf>,
    /// The database in which it goes on.
    pub db: u32,
    /// Whether the files are append-only files, each of which begins in the database 0.
    pub is_aof: bool,
}

/// Sends what is left.
///
/// # Errors
/// Those of reading and of the link; the target refuses everything; a cluster, whose nodes keep no order among each other.
pub fn send(mut tail: Tail, shared: &Shared<'_>) -> Result<()> {
    if shared.facts.slots.is_some() {
        return refuse_any(&mut tail);
    }
    let address = shared.target.address();
    let connection = if shared.dry_run { None } else { Some(shared.target.connect(&address, tail.db)?) };
    let mut sender = Sender { shared, address, connection, bytes: Vec::new(), waiting: Vec::new() };
    loop {
        sender.file(&mut tail.current)?;
        let Some(next) = tail.files.pop_front() else { return Ok(()) };
        tail.current = open_commands(&next, tail.is_aof)?;
        sender.select(0)?;
    }
}

/// Fails at the next command, if there is one in any of the files.
fn refuse_any(tail: &mut Tail) -> Result<()> {
    loop {
        let name = tail.current.name().to_owned();
        let _ = tail.current.each(&mut |command| {
            let which = command.args.at(0).escape_ascii();
            let what = format!("{which} cannot be sent to a cluster, because it cannot be collected by key");
            Err(Error::File(format!("{name}: offset {}: {what}", command.offset)))
        })?;
        let Some(next) = tail.files.pop_front() else { return Ok(()) };
        tail.current = open_commands(&next, tail.is_aof)?;
    }
}

struct Sender<'a> {
    shared: &'a Shared<'a>,
    address: String,
    /// None in a dry run.
    connection: Option<Connection>,
    bytes: Vec<u8>,
    /// Offset and name of the commands whose replies have not been read.
    waiting: Vec<(u64, Vec<u8>)>,
}

impl Sender<'_> {
    /// Sends all commands of a file.
    fn file(&mut self, commands: &mut Commands) -> Result<()> {
        let name = commands.name().to_owned();
        let mut transaction = Transaction::default();
        let read = commands.each(&mut |command| {
            transaction.note(command);
            self.command(command, &name)?;
            Ok(ControlFlow::Continue(()))
        });
        // What was whole is sent before the error of what is not; a transaction that is not whole has no effect.
        self.settle(&name)?;
        let _ = read?;
        transaction.finish(&name)
    }

    fn command(&mut self, command: &Command<'_>, file: &str) -> Result<()> {
        let name = command.args.at(0).to_ascii_uppercase();
        if NEVER_SENT.iter().any(|never| never.as_bytes() == name) {
            return self.shared.reject(
                command.offset,
                &format!("{file}: larder-load never sends this command"),
                &name,
            );
        }
        self.shared.counts.commands.fetch_add(1, Relaxed);
        self.shared.counts.rows.fetch_add(1, Relaxed);
        if self.connection.is_none() {
            return Ok(());
        }
        self.bytes.extend_from_slice(command.raw);
        self.waiting.push((command.offset, name));
        let is_full = self.waiting.len() >= COMMANDS_MAX || self.bytes.len() >= BYTES_MAX;
        if is_full { self.settle(file) } else { Ok(()) }
    }

    /// Sends what is there, and reads the replies.
    fn settle(&mut self, file: &str) -> Result<()> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let waiting = std::mem::take(&mut self.waiting);
        let (Some((first, _)), Some((last, _))) = (waiting.first(), waiting.last()) else { return Ok(()) };
        let in_doubt = |what: &str| {
            let which = format!("the commands at the offsets {first} to {last} of {file}");
            Error::Target(format!("{what}; some of {which} may have been executed"))
        };
        let failed = |error: Error| in_doubt(&error.to_string());
        connection.send(&std::mem::take(&mut self.bytes)).map_err(failed)?;
        for (offset, name) in &waiting {
            let Some(error) = error_of(&connection.reply().map_err(failed)?) else { continue };
            self.shared.counts.rows.fetch_sub(1, Relaxed);
            if FINAL.contains(&error.split(' ').next().unwrap_or_default()) {
                return Err(in_doubt(&format!("{}: {error} (offset {offset})", self.address)));
            }
            self.shared.reject(*offset, &format!("{file}: {error}"), name)?;
        }
        Ok(())
    }

    fn select(&mut self, db: u32) -> Result<()> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        self.shared.target.ask(connection, &[b"SELECT", db.to_string().as_bytes()]).map(drop)
    }
}

/// The error that a reply is, or that is among the replies of a transaction.
fn error_of(reply: &Value) -> Option<String> {
    match reply {
        Value::Error(error) => Some(error.clone()),
        Value::Array(all) => all.iter().find_map(error_of),
        _ => None,
    }
}
