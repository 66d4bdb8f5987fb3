//! One server of the two, and the connections to it.

use super::connection::Connection;
use larder_testkit::{Kind, Server, Value, encode, quote, words};
use std::time::Duration;

/// Time that a server may take for an answer that needs no waiting.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How long a read from a control connection waits.
const READ: Duration = Duration::from_millis(10);

/// What the server refuses whatever state it is in: an unknown command.
const BARRIER: &[u8] = b"*1\r\n$7\r\nBARRIER\r\n";
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

/// Returns the type, deadline and name of every key that is not expired.
const KEYSPACE: &str = "
    local all = {}
    for db = 0, 15 do
        redis.call('SELECT', db)
        local keys = redis.call('KEYS', '*')
        table.sort(keys)
        for _, key in ipairs(keys) do
            all[#all + 1] = db .. ' ' .. key .. ' ' .. redis.call('TYPE', key).ok .. ' ' .. redis.call('PEXPIRETIME', key)
        end
    end
    return all";

/// One server and the connections to it.
pub struct Side {
    pub kind: Kind,
    pub server: Server,
    controls: Vec<Connection>,
    /// Answers that the server owes to each of them.
    owed: Vec<usize>,
    /// Asks whether the server executes commands.
    probe: Connection,
    /// The probe's answer to its last question; `None` while the server owes it, as it does in a pause of all commands.
    pub mood: Option<Value>,
    /// Kills scripts, and the replies that the server owes to it.
    killer: (Connection, usize),
    pub clients: Vec<Connection>,
    pub ids: Vec<i64>,
}

impl Side {
    /// Connects to a server, with so many control connections that each of its threads has one.
    pub fn new(kind: Kind, server: Server, controls: usize) -> Side {
        let port = server.port();
        let controls: Vec<Connection> = (0..controls).map(|_| Connection::open_waiting(port, READ)).collect();
        let probe = Connection::open(port);
        let mood = Some(Value::Null);
        let owed = vec![0; controls.len()];
        let killer = (Connection::open(port), 0);
        Side { kind, server, controls, owed, probe, mood, killer, clients: Vec::new(), ids: Vec::new() }
    }

    /// Sends a command on the first control connection and returns the reply.
    pub fn ask(&mut self, line: &str) -> Result<Value, String> {
        self.cmd(&words(line))
    }

    /// The same for arguments.
    pub fn cmd<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Result<Value, String> {
        self.send_on_control(args);
        self.control_reply()
    }

    /// Sends a command on the first control connection.
    pub fn send_on_control<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        let mut request = Vec::new();
        encode(&mut request, args);
        self.controls[0].send(&request);
    }

    /// The next reply of the first control connection.
    pub fn control_reply(&mut self) -> Result<Value, String> {
        self.controls[0].wait(PATIENCE).ok_or_else(|| self.silence())
    }

    /// Says that the server does not answer, with the end of its log.
    pub fn silence(&mut self) -> String {
        let log = self.server.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(4)..].join("\n");
        format!("{:?} does not answer (ended: {:?})\n{tail}", self.kind, self.server.has_ended())
    }

    /// Whether a control connection is closed, which `CLIENT KILL` does.
    pub fn has_lost_controls(&mut self) -> bool {
        self.probe.poll();
        self.killer.0.poll();
        self.probe.is_closed
            || self.killer.0.is_closed
            || self.controls.iter().any(|control| control.is_closed)
    }

    /// Whether all of the control connections are closed.
    pub fn has_lost_all_controls(&mut self) -> bool {
        self.probe.poll();
        self.killer.0.poll();
        self.controls.iter_mut().filter(|control| !control.is_closed).for_each(Connection::read);
        self.probe.is_closed
            && self.killer.0.is_closed
            && self.controls.iter().all(|control| control.is_closed)
    }

    /// Opens the closed ones among the control connections again.
    pub fn reopen_controls(&mut self) {
        for control in self.controls.iter_mut().filter(|control| control.is_closed) {
            *control = Connection::open_waiting(self.server.port(), READ);
        }
        if self.killer.0.is_closed {
            self.killer = (Connection::open(self.server.port()), 0);
        }
        if self.probe.is_closed {
            self.probe = Connection::open(self.server.port());
            self.mood = Some(Value::Null);
        }
    }

    /// Sends a command that every server answers at once on each thread, and maybe a question to the probe.
    pub fn begin_round(&mut self, asks_probe: bool) {
        if asks_probe && self.mood.take().is_some() {
            self.probe.send(PING);
        }
        self.controls.iter_mut().for_each(|control| control.send(BARRIER));
        self.owed.iter_mut().for_each(|owed| *owed += 1);
    }

    /// Waits for the answers to [`begin_round`](Self::begin_round); returns whether all came within a read's time, but for that
    /// of the probe.
    pub fn end_round(&mut self) -> bool {
        for (control, owed) in self.controls.iter_mut().zip(&mut self.owed) {
            while *owed > 0 && !control.is_closed {
                if control.take_read().is_some() {
                    *owed -= 1;
                    continue;
                }
                let before = control.received.len();
                control.read();
                if control.received.len() == before && !control.is_closed {
                    return false;
                }
            }
            *owed = 0;
        }
        if let Some(mood) = self.probe.take() {
            self.mood = Some(mood);
        }
        true
    }

    /// Whether the server executes commands: no script hangs and there is no pause.
    pub fn executes(&self) -> bool {
        self.mood.as_ref().is_some_and(|mood| !mood.is_error())
    }

    /// Whether a script hangs.
    pub fn is_busy(&self) -> bool {
        self.mood.as_ref().is_some_and(Value::is_error)
    }

    /// Kills the script that runs, on a connection of its own: others may have commands that wait. Its replies come unless
    /// there is a pause of all commands.
    pub fn kill_script(&mut self) {
        if self.has_killed() {
            self.killer.0.send(b"SCRIPT KILL\r\nFUNCTION KILL\r\n");
            self.killer.1 = 2;
        }
    }

    /// Whether the server has replied to [`kill_script`](Self::kill_script).
    pub fn has_killed(&mut self) -> bool {
        while self.killer.0.take().is_some() {
            self.killer.1 -= 1;
        }
        self.killer.1 == 0 || self.killer.0.is_closed
    }

    /// Reads what has arrived on every connection.
    pub fn poll(&mut self) {
        if let Some(mood) = self.probe.take() {
            self.mood = Some(mood);
        }
        self.clients.iter_mut().for_each(Connection::poll);
    }

    /// Reads what has arrived on every connection; returns whether there is anything for one of them.
    pub fn has_heard(&mut self, number: usize) -> bool {
        self.poll();
        !self.clients[number].received.is_empty()
    }

    /// Opens a connection, in the place of one that is closed or as the last; returns its id.
    pub fn open(&mut self, number: usize) -> Result<i64, String> {
        let mut connection = Connection::open_waiting(self.server.port(), PATIENCE);
        connection.send(b"*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n");
        let id = match connection.wait(PATIENCE) {
            Some(Value::Int(id)) => id,
            Some(other) => return Err(format!("{:?}: CLIENT ID answers {other}", self.kind)),
            None => return Err(self.silence()),
        };
        connection.set_polled();
        if number < self.clients.len() {
            (self.clients[number], self.ids[number]) = (connection, id);
        } else {
            self.clients.push(connection);
            self.ids.push(id);
        }
        Ok(id)
    }

    /// How many commands a connection has had executed, as a field of `CLIENT LIST`.
    pub fn commands_of(&mut self, connection: usize) -> Result<Option<String>, String> {
        let line = self.ask(&format!("CLIENT LIST ID {}", self.ids[connection]))?.text();
        Ok(line.split(' ').find(|field| field.starts_with("tot-cmds=")).map(str::to_owned))
    }

    /// Every key with its type, deadline and digest.
    pub fn contents(&mut self) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        for line in self.cmd(&["EVAL", KEYSPACE, "0"])?.items().iter().map(Value::text) {
            let mut parts = line.split(' ');
            let (db, key) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            self.ask(&format!("SELECT {db}"))?;
            let digest = self.cmd(&["DEBUG", "DIGEST-VALUE", key])?;
            let value = match parts.next() {
                Some("string") => self.cmd(&["GET", key])?,
                Some("list") => self.cmd(&["LRANGE", key, "0", "-1"])?,
                Some("stream") => self.cmd(&["XINFO", "STREAM", key, "FULL"])?,
                _ => Value::Null,
            };
            all.push(format!("db {} {digest} {value}", quote(line.as_bytes())));
        }
        self.ask("SELECT 0")?;
        Ok(all)
    }

    /// How many connections there are when no sequence runs.
    pub fn own_connections(&self) -> usize {
        self.controls.len() + 2
    }
}
