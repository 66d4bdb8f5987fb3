//! A server under measurement.

use crate::connect::TIMEOUT;
use crate::figure::Cost;
use crate::loader::Loader;
use crate::peer::Peer;
use crate::pool::ConnectionPool;
use larder_testkit::{Client, Server, Value};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Beginnings of the names of threads that work in the background: freeing, compressing, moving blocks, saving, logging,
/// returning memory. All others count as those that serve clients.
const BACKGROUND: [&str; 8] = [
    "larder-free",
    "larder-pack",
    "larder-cold",
    "larder-defrag",
    "larder-save",
    "larder-log",
    "jemalloc_bg",
    "bio_",
];
/// A thread that waits has its time accounted for; this long after the last reply all of them wait.
const SETTLED_AFTER: Duration = Duration::from_millis(2);
/// The longest wait for memory to settle.
const QUIET_AT_MOST: Duration = Duration::from_secs(30);
/// The longest wait for compression.
const COMPRESSED_AT_MOST: Duration = Duration::from_secs(300);

/// A fresh server and a connection to it.
pub struct Session {
    server: Arc<Server>,
    client: Client,
}

impl Session {
    /// Starts a server.
    pub fn start(peer: &Peer) -> io::Result<Self> {
        Session::of(peer.start()?)
    }

    /// Starts a server with further arguments, which may use every core.
    pub fn start_free(peer: &Peer, args: &[&str]) -> io::Result<Self> {
        Session::of(peer.start_free(args)?)
    }

    /// Starts a server with further arguments.
    pub fn start_pinned(peer: &Peer, args: &[&str]) -> io::Result<Self> {
        Session::of(peer.start_with(args)?)
    }

    /// Takes a server that has been started.
    pub fn of(server: Server) -> io::Result<Self> {
        let mut client = server.client();
        client.set_timeout(TIMEOUT);
        Ok(Session { server: Arc::new(server), client })
    }

    /// Another connection to the same server.
    pub fn again(&self) -> io::Result<Self> {
        let mut client = self.server.client();
        client.set_timeout(TIMEOUT);
        Ok(Session { server: Arc::clone(&self.server), client })
    }

    /// Sends a command; an error reply is an error.
    pub fn ask(&mut self, line: &str) -> io::Result<Value> {
        self.ask_words(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// The same, with words that may hold blanks.
    pub fn ask_words(&mut self, words: &[&str]) -> io::Result<Value> {
        let mut request = Vec::new();
        let args: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        crate::resp::command(&mut request, &args);
        let fault = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", words.join(" ")));
        self.exchange(&request).map_err(fault)
    }

    /// Sends a request as it is and reads one reply; an error reply is an error.
    pub fn exchange(&mut self, request: &[u8]) -> io::Result<Value> {
        self.client.send_raw(request)?;
        match self.client.read()? {
            Value::Error(text) => Err(io::Error::other(text)),
            reply => Ok(reply),
        }
    }

    /// Sets options.
    pub fn configure(&mut self, options: &[(&str, &str)]) -> io::Result<()> {
        options.iter().try_for_each(|(name, value)| self.ask(&format!("CONFIG SET {name} {value}")).map(drop))
    }

    /// A connection to pour data in.
    pub fn loader(&self) -> io::Result<Loader> {
        Loader::connect(self.server.port())
    }

    /// Connections to drive in rounds.
    pub fn pool(&self, connections: usize) -> io::Result<ConnectionPool> {
        ConnectionPool::connect(self.server.port(), connections)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// Resident memory in bytes.
    pub fn rss(&self) -> f64 {
        larder_testkit::rss_bytes(self.server.pid()) as f64
    }

    /// Runs something of this many operations; what each cost the server, the compression it left behind included.
    pub fn cost(&mut self, operations: u64, work: impl FnOnce() -> io::Result<()>) -> io::Result<Cost> {
        let before = self.cpu();
        work()?;
        let worker = self.cpu().worker - before.worker;
        // Asking costs the worker time, which is why its own is read already.
        self.wait_compressed()?;
        let background = self.cpu().background - before.background;
        let each = |seconds: f64| seconds * 1e9 / operations as f64;
        Ok(Cost { whole: each(worker + background), worker: each(worker) })
    }

    /// The same without what the work leaves to be done later; asks the server nothing.
    pub fn cost_of_threads(
        &self,
        operations: u64,
        work: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Cost> {
        let before = self.cpu();
        work()?;
        let after = self.cpu();
        let (worker, background) = (after.worker - before.worker, after.background - before.background);
        let nanos = 1e9;
        Ok(Cost { whole: nanos * (worker + background), worker: nanos * worker }.per(operations))
    }

    /// Processor time of the threads with a name, in seconds.
    pub fn thread_seconds(&self, name: &str) -> f64 {
        let threads = larder_testkit::thread_cpu_seconds(self.server.pid());
        threads.into_iter().filter(|thread| thread.0 == name).map(|thread| thread.1).sum()
    }

    fn cpu(&self) -> Cpu {
        std::thread::sleep(SETTLED_AFTER);
        let mut cpu = Cpu { worker: 0.0, background: 0.0 };
        for (name, seconds) in larder_testkit::thread_cpu_seconds(self.server.pid()) {
            let background = BACKGROUND.iter().any(|prefix| name.starts_with(prefix));
            *(if background { &mut cpu.background } else { &mut cpu.worker }) += seconds;
        }
        cpu
    }

    /// Waits until no list waits for compression, on servers that compress in the background.
    pub fn wait_compressed(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + COMPRESSED_AT_MOST;
        while self.info("lists_waiting_for_compression")?.is_some_and(|lists| lists > 0) {
            if Instant::now() > deadline {
                return Err(io::Error::other("lists wait for compression forever"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Waits until nothing is left to compress and resident memory has not moved by 0.1 % for a while.
    pub fn wait_quiet(&mut self, still: Duration) -> io::Result<()> {
        self.wait_compressed()?;
        let start = Instant::now();
        let (mut since, mut level) = (start, self.rss());
        while since.elapsed() < still && start.elapsed() < QUIET_AT_MOST {
            std::thread::sleep(still / 10);
            let now = self.rss();
            if (now - level).abs() > level / 1000.0 {
                (since, level) = (Instant::now(), now);
            }
        }
        Ok(())
    }

    /// A number from INFO.
    pub fn info(&mut self, field: &str) -> io::Result<Option<u64>> {
        self.info_of("", field)
    }

    /// The same from one section.
    pub fn info_of(&mut self, section: &str, field: &str) -> io::Result<Option<u64>> {
        let text = self.ask(&format!("INFO {section}"))?.text();
        let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        Ok(value.and_then(|value| value.trim().parse().ok()))
    }
}

/// Processor time of a server so far, in seconds.
struct Cpu {
    worker: f64,
    background: f64,
}
