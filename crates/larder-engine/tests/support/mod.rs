//! An engine without sockets: commands go in as words, replies come out as text.

#![allow(dead_code, reason = "each test file uses a part of it")]

use larder_engine::config::{Config, ConfigText, Source};
use larder_engine::config_file::Loaded;
use larder_engine::{
    ApplyError, ConfigHost, ConnInfo, ConnKind, CpuTimes, Engine, EngineOptions, Flow, HostMemory, LogHost,
    LogLevel, Logged, Mail, MemoryHost, Names, NoShards, PeerHost, ProcessHost, SavingHost, Session,
    ShutdownFlags, Worker,
};
use larder_resp::OwnedArgs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Is shown a line of the log.
pub type OnLog = Box<dyn FnMut(&str) + Send>;

/// A process that has no files and no sockets.
#[derive(Default)]
pub struct TestHost {
    /// Bytes of memory that are said to be in use.
    pub used: AtomicU64,
    /// Is called with each line of the log.
    pub on_log: Mutex<Option<OnLog>>,
}

impl ConfigHost for TestHost {
    fn apply_config(&self, _name: &str, _value: &str) -> Result<(), ApplyError> {
        Ok(())
    }
}

impl LogHost for TestHost {
    fn log(&self, _level: LogLevel, text: &str) {
        if let Some(on_log) = &mut *self.on_log.lock().unwrap() {
            on_log(text);
        }
    }
}

impl MemoryHost for TestHost {
    fn memory(&self) -> HostMemory {
        HostMemory { used: self.used.load(Relaxed), ..HostMemory::default() }
    }
    fn purge(&self) {}
    fn malloc_stats(&self) -> String {
        String::new()
    }
}

impl PeerHost for TestHost {}

impl ProcessHost for TestHost {
    fn cpu(&self) -> CpuTimes {
        CpuTimes::default()
    }
    fn os(&self) -> String {
        "none".to_owned()
    }
    fn executable(&self) -> String {
        String::new()
    }
}

impl SavingHost for TestHost {
    fn shutdown(&self, _flags: ShutdownFlags, _no_shards: NoShards<'_>) -> Result<(), Logged> {
        Ok(())
    }
}

/// An engine with debugging commands allowed.
pub fn engine() -> Arc<Engine> {
    engine_on(Arc::default(), 1)
}

/// The same on a host that the test knows, with this many threads.
pub fn engine_on(host: Arc<TestHost>, threads: usize) -> Arc<Engine> {
    let config = Config::new(2);
    let text = "enable-debug-command yes\n".to_owned();
    Loaded::load(&config, &[ConfigText { source: Source::CommandLine, text }], &mut |_| Ok(Vec::new()))
        .expect("the configuration is valid");
    Engine::new(EngineOptions { config: Arc::new(config), host, threads, names: Names::default() })
}

/// One thread with one connection.
pub struct Client {
    pub worker: Worker,
    pub session: Session,
    pub flow: Flow,
}

impl Client {
    /// A connection on a worker of its own; workers are made in order.
    pub fn new(engine: &Arc<Engine>, index: usize) -> Self {
        let mut worker = engine.worker(index, Box::new(|| {}));
        worker.tick();
        let session = connect(&mut worker);
        Client { worker, session, flow: Flow::Next }
    }

    /// Runs a command given as words.
    pub fn run(&mut self, words: &[&[u8]]) -> Vec<u8> {
        let args: OwnedArgs = words.iter().copied().collect();
        let mut out = Vec::new();
        self.worker.tick();
        self.flow = self.worker.execute(&mut self.session, &args.as_args(), &mut out);
        out
    }

    /// Runs a command given as a line split at blanks; CRLF in the reply becomes a blank.
    pub fn ask(&mut self, line: &str) -> String {
        let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
        text(&self.run(&words))
    }

    /// The messages that have arrived; replies to blocked commands end the wait.
    pub fn mail(&mut self) -> Vec<String> {
        let mut mail = Vec::new();
        self.worker.drain(&mut mail);
        let mut texts = Vec::new();
        for item in mail {
            match item {
                Mail::Unblocked { reply, ends, .. } => {
                    self.worker.resume(&mut self.session, &reply, ends);
                    texts.push(text(&reply));
                }
                Mail::Message { message, .. } => texts.push(text(message.body())),
                Mail::Output { bytes, .. } => texts.push(text(&bytes)),
                Mail::Invalidate { .. } | Mail::InvalidateForOther { .. } => {
                    texts.push("invalidate".to_owned());
                }
                Mail::Kill { .. } => texts.push("kill".to_owned()),
                Mail::Recheck { .. } => texts.push("recheck".to_owned()),
                Mail::LeaveShardChannel { .. } => texts.push("leave".to_owned()),
                Mail::Retry => texts.push("retry".to_owned()),
            }
        }
        texts
    }
}

/// One more connection of a thread.
pub fn connect(worker: &mut Worker) -> Session {
    let id = worker.engine().next_client_id();
    let addr = format!("127.0.0.1:{}", 1000 + id);
    worker.connect(ConnInfo { id, addr, laddr: "127.0.0.1:6379".to_owned(), fd: 5, kind: ConnKind::Tcp })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", " ").trim_end().to_owned()
}
