//! Server processes that end with the test that started them, or with the process of the test if that is killed.

use crate::process::is_stopped;
use crate::watcher::watched;
use crate::{Client, Kind, Port, RawClient};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a server may take to answer, or to end.
const PATIENCE: Duration = Duration::from_secs(90);

/// A running server, alone in a directory of its own.
pub struct Server {
    command: Vec<String>,
    child: Child,
    port: Port,
    dir: PathBuf,
}

impl Server {
    /// Starts a server of a kind, with DEBUG allowed.
    pub fn of(kind: Kind, args: &[&str]) -> Self {
        let program = kind.program();
        Self::start(&[&program.to_string_lossy()], &[&["--enable-debug-command", "yes"], args].concat())
    }

    /// Starts Larder.
    pub fn larder(args: &[&str]) -> Self {
        Self::of(Kind::Larder, args)
    }

    /// Starts Larder with a configuration file.
    pub fn larder_with_file(file: &Path) -> Self {
        Self::start(&[&Kind::Larder.program().to_string_lossy(), &file.to_string_lossy()], &[])
    }

    /// Starts Redis 7.0, with which files, payloads and replication are exchanged.
    pub fn redis(args: &[&str]) -> Self {
        Self::of(Kind::Redis, args)
    }

    /// Starts Redis 8.
    pub fn redis8(args: &[&str]) -> Self {
        Self::of(Kind::Redis8, args)
    }

    /// Starts Valkey, which is the specification.
    pub fn valkey(args: &[&str]) -> Self {
        Self::of(Kind::Valkey, args)
    }

    /// Starts a server from a command, adding a free port, no save points, a directory of its own, and
    /// `args`; waits until it answers.
    pub fn start(command: &[&str], args: &[&str]) -> Self {
        for _ in 0..5 {
            if let Some(server) = Self::try_start(command, args) {
                return server;
            }
        }
        panic!("{} does not start", command[0]);
    }

    fn try_start(command: &[&str], args: &[&str]) -> Option<Self> {
        let (port, dir) = (Port::reserve(), temp_dir());
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        let child = spawn(&command, port.number(), &dir, args);
        let mut server = Server { command, child, port, dir };
        server.wait_ready().then_some(server)
    }

    /// Starts it again in the same directory, with these arguments in place of those before; it must have ended. False
    /// when it ends instead of answering.
    pub fn start_again(&mut self, args: &[&str]) -> bool {
        self.spawn_again(args);
        self.wait_ready()
    }

    /// The same, but only waits until it accepts connections: it may be loading. True when it does.
    pub fn start_again_without_waiting(&mut self, args: &[&str]) -> bool {
        self.spawn_again(args);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && self.has_ended().is_none() {
            if Client::connect(self.port()).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// The same without waiting for anything, for tests that kill it while it starts. A process that the server had forked just before its
    /// end has the port for a moment longer: that is waited for.
    pub fn spawn_again(&mut self, args: &[&str]) {
        assert!(self.has_ended().is_some(), "it has not ended");
        assert!(self.port.wait_until_free(PATIENCE), "port {} is in use after the server's end", self.port());
        self.child = spawn(&self.command, self.port(), &self.dir, args);
    }

    /// How it has ended, if it has.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the child can be asked")
    }

    /// Ends it at once (SIGKILL): it can do nothing about it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for it to end by itself.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("the child can be asked") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("the server does not end");
    }

    /// Retries until the server answers; false when it has ended, as it does when somebody else took the
    /// port, or when it has not answered in time.
    fn wait_ready(&mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if self.child.try_wait().expect("the child can be asked").is_some() {
                return false;
            }
            if let Ok(mut client) = Client::connect(self.port())
                && client.send_raw(b"PING\r\n").is_ok()
                && client.read().is_ok_and(|reply| !reply.text().starts_with("LOADING"))
            {
                // Tests count connections: this one is gone when they begin.
                client.end();
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The server's own directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the server has printed.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// What the server has printed, as soon as it contains `text`.
    pub fn wait_for_log(&self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = self.log();
            if log.contains(text) {
                return log;
            }
            assert!(Instant::now() < deadline, "no {text:?} in the log:\n{log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The folder under /proc of the thread of a name, as soon as there is one: threads may get their names after the server has
    /// begun to answer.
    pub fn thread(&self, name: &str) -> PathBuf {
        let deadline = Instant::now() + PATIENCE;
        let is_named =
            |task: &PathBuf| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == name);
        loop {
            let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).expect("the process is there");
            if let Some(task) = tasks.flatten().map(|task| task.path()).find(is_named) {
                return task;
            }
            assert!(Instant::now() < deadline, "no thread {name}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A new connection.
    pub fn client(&self) -> Client {
        Client::connect(self.port()).expect("the server accepts")
    }

    /// A new connection that shows the bytes of replies.
    pub fn raw_client(&self) -> RawClient {
        RawClient::connect(self.port()).expect("the server accepts")
    }

    /// Sends it a signal, by its name without SIG. After STOP, none of its threads runs any more when this returns.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
        assert!(sent.expect("there is a command that sends signals").success(), "{name} is sent");
        // One thread takes the signal and stops the others. On a busy machine they go on until it is its turn.
        let deadline = Instant::now() + PATIENCE;
        while name == "STOP" && !is_stopped(pid) {
            assert!(Instant::now() < deadline, "the process {pid} stops");
            std::thread::yield_now();
        }
    }

    /// Asks the server to end (SIGTERM) and returns how it did.
    pub fn stop(&mut self) -> ExitStatus {
        if let Ok(Some(status)) = self.child.try_wait() {
            return status;
        }
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("the child can be asked") {
                return status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                return self.child.wait().expect("the child can be waited for");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if std::thread::panicking() {
            eprintln!("--- log of the server on port {}:\n{}", self.port(), self.log());
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Starts a process that adds to the log in its directory.
fn spawn(command: &[String], port: u16, dir: &Path, args: &[&str]) -> Child {
    let path = dir.join("log");
    let log = File::options().create(true).append(true).open(&path).expect("the directory is writable");
    watched(&command[0], &path)
        .args(&command[1..])
        .args(["--port", &port.to_string(), "--save", "", "--dir", &dir.to_string_lossy()])
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("{} does not start: {error}", command[0]))
}

/// Runs Larder in a folder with arguments that it refuses: exit code, standard output, standard error.
pub fn failed_start(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(Kind::Larder.program());
    command.current_dir(dir).stdin(Stdio::null()).args(args);
    let output = command.output().expect("larder-server is a program");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A new folder for temporary files, which the caller removes.
pub fn temp_dir() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("larder-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let dir = std::env::temp_dir().join(name);
    fs::create_dir_all(&dir).expect("the temporary directory is writable");
    dir
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn a_server_answers_and_ends() {
        let mut server = Server::redis(&[]);
        let mut client = server.client();
        assert_eq!(client.ask("SET k v"), Value::Simple("OK".to_owned()));
        assert_eq!(client.cmd(&[&b"GET"[..], b"k"]), Value::Bulk(b"v".to_vec()));
        client.ask("HELLO 3");
        assert_eq!(client.ask("GET none"), Value::Null);
        assert!(crate::rss_bytes(server.pid()) > 0 && !crate::thread_cpu_seconds(server.pid()).is_empty());
        assert!(server.stop().success());
    }
}
