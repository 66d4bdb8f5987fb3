//! A stand-in for the engine: enough of its interface to run the event loop. To be dropped.
#![allow(missing_docs)]

use crate::config::Config;
use larder_resp::{Args, Protocol, Reply};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    Verbose,
    Notice,
    Warning,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct HostMemory {
    pub used: u64,
    pub rss: u64,
    pub allocated: u64,
    pub active: u64,
    pub resident: u64,
    pub system_total: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTimes {
    pub sys: f64,
    pub user: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownFlags {
    pub save: bool,
    pub nosave: bool,
    pub now: bool,
    pub force: bool,
}

pub trait Host: Send + Sync {
    fn rewrite_config(&self) -> Result<(), String>;
    fn apply_config(&self, name: &str, value: &str) -> Result<(), String>;
    fn shutdown(&self, flags: ShutdownFlags);
    fn memory(&self) -> HostMemory;
    fn purge(&self);
    fn malloc_stats(&self) -> String;
    fn cpu(&self) -> CpuTimes;
    fn executable(&self) -> String;
    fn config_file(&self) -> String;
    fn log(&self, level: LogLevel, text: &str);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnKind {
    Tcp,
    Unix,
}

#[derive(Clone, Debug)]
pub struct ConnInfo {
    pub id: u64,
    pub addr: String,
    pub laddr: String,
    pub fd: i32,
    pub kind: ConnKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientClass {
    Normal,
    Replica,
    PubSub,
}

pub struct ClientShared {
    pub id: u64,
    pub worker: usize,
    pub addr: Box<str>,
    pub laddr: Box<str>,
    pub fd: i32,
    pub last_active_ms: AtomicU64,
    pub query_len: AtomicU64,
    pub output_bytes: AtomicU64,
    pub kill: AtomicBool,
}

impl ClientShared {
    pub fn set_query_buffer(&self, len: usize, _cap: usize) {
        self.query_len.store(len as u64, Relaxed);
    }
    pub fn set_output(&self, bytes: usize, _chain: usize) {
        self.output_bytes.store(bytes as u64, Relaxed);
    }
    pub fn add_net_in(&self, _bytes: usize) {}
    pub fn add_net_out(&self, _bytes: usize) {}
}

pub struct Session {
    shared: Arc<ClientShared>,
    blocked: bool,
}

impl Session {
    pub fn id(&self) -> u64 {
        self.shared.id
    }
    pub fn shared(&self) -> &ClientShared {
        &self.shared
    }
    pub fn authenticated(&self) -> bool {
        true
    }
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }
    pub fn class(&self) -> ClientClass {
        ClientClass::Normal
    }
    pub fn exempt_from_timeout(&self) -> bool {
        self.blocked
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    CloseAfterFlush,
    CloseNow,
    Blocked { deadline_ms: Option<u64> },
    Retry,
}

#[derive(Debug)]
pub enum Mail {
    Output { client: u64, bytes: Arc<[u8]> },
    Unblocked { client: u64, reply: Vec<u8> },
    Kill { client: u64, after_flush: bool },
    Retry,
}

pub type Wake = Box<dyn Fn() + Send + Sync>;

#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed) + n, Relaxed);
    }
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[derive(Debug, Default)]
pub struct ThreadStats {
    pub net_in: Counter,
    pub net_out: Counter,
    pub reads: Counter,
    pub writes: Counter,
    pub rejected_connections: Counter,
    pub query_limit_closes: Counter,
    pub output_limit_closes: Counter,
}

pub struct EngineOptions {
    pub config: Arc<Config>,
    pub host: Arc<dyn Host>,
    pub threads: usize,
}

struct Post {
    mail: Mutex<Vec<Mail>>,
    woken: AtomicBool,
    wake: Wake,
}

impl Post {
    fn send(&self, mail: Mail) {
        self.mail.lock().push(mail);
        if !self.woken.swap(true, Relaxed) {
            (self.wake)();
        }
    }
}

pub struct Engine {
    config: Arc<Config>,
    host: Arc<dyn Host>,
    next: AtomicU64,
    map: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    clients: Mutex<BTreeMap<u64, Arc<ClientShared>>>,
    posts: Mutex<Vec<Arc<Post>>>,
    waiting: Mutex<Vec<(Vec<u8>, u64, usize)>>,
    count: AtomicUsize,
    started: Instant,
    paused_until_ms: AtomicU64,
}

impl Engine {
    pub fn new(options: EngineOptions) -> Arc<Engine> {
        Arc::new(Engine {
            config: options.config,
            host: options.host,
            next: AtomicU64::new(1),
            map: Mutex::default(),
            clients: Mutex::default(),
            posts: Mutex::default(),
            waiting: Mutex::default(),
            count: AtomicUsize::new(0),
            started: Instant::now(),
            paused_until_ms: AtomicU64::new(0),
        })
    }
    pub fn config(&self) -> &Config {
        &self.config
    }
    pub fn run_id(&self) -> &str {
        "0"
    }
    pub fn next_client_id(&self) -> u64 {
        self.next.fetch_add(1, Relaxed)
    }
    pub fn client_count(&self) -> usize {
        self.count.load(Relaxed)
    }
    pub fn worker(self: &Arc<Self>, index: usize, wake: Wake) -> Worker {
        let post = Arc::new(Post { mail: Mutex::default(), woken: AtomicBool::new(false), wake });
        self.posts.lock().push(Arc::clone(&post));
        Worker { engine: Arc::clone(self), index, post, stats: ThreadStats::default(), now: Instant::now() }
    }
    pub fn cron(&self) {}
}

pub struct Worker {
    engine: Arc<Engine>,
    index: usize,
    post: Arc<Post>,
    stats: ThreadStats,
    now: Instant,
}

impl Worker {
    pub fn tick(&mut self) {
        self.now = Instant::now();
    }
    pub fn now_ms(&self) -> u64 {
        self.now.duration_since(self.engine.started).as_millis() as u64
    }
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
    pub fn stats(&self) -> &ThreadStats {
        &self.stats
    }
    pub fn connect(&mut self, info: ConnInfo) -> Session {
        let shared = Arc::new(ClientShared {
            id: info.id,
            worker: self.index,
            addr: info.addr.into(),
            laddr: info.laddr.into(),
            fd: info.fd,
            last_active_ms: AtomicU64::new(wall_ms()),
            query_len: AtomicU64::new(0),
            output_bytes: AtomicU64::new(0),
            kill: AtomicBool::new(false),
        });
        self.engine.clients.lock().insert(info.id, Arc::clone(&shared));
        self.engine.count.fetch_add(1, Relaxed);
        Session { shared, blocked: false }
    }
    pub fn execute(&mut self, session: &mut Session, args: Args<'_>, out: &mut Vec<u8>) -> Flow {
        session.shared.last_active_ms.store(wall_ms(), Relaxed);
        let mut reply = Reply::new(out, Protocol::Resp2);
        if self.engine.paused_until_ms.load(Relaxed) > self.now_ms() {
            return Flow::Retry;
        }
        match (args[0].to_ascii_lowercase().as_slice(), args.len()) {
            (b"ping", 1) => reply.simple("PONG"),
            (b"echo", 2) => reply.bulk(&args[1]),
            (b"quit", _) => {
                reply.ok();
                return Flow::CloseAfterFlush;
            }
            (b"set", 3) => {
                self.engine.map.lock().insert(args[1].to_vec(), args[2].to_vec());
                reply.ok();
            }
            (b"get", 2) => match self.engine.map.lock().get(&args[1]) {
                Some(v) => reply.bulk(v),
                None => reply.null(),
            },
            (b"push", 3) => {
                let mut waiting = self.engine.waiting.lock();
                if let Some(i) = waiting.iter().position(|w| w.0 == args[1]) {
                    let (_, client, worker) = waiting.remove(i);
                    let mut text = Vec::new();
                    Reply::new(&mut text, Protocol::Resp2).bulk(&args[2]);
                    self.engine.posts.lock()[worker].send(Mail::Unblocked { client, reply: text });
                }
                reply.ok();
            }
            (b"wait_for", 3) => {
                session.blocked = true;
                self.engine.waiting.lock().push((args[1].to_vec(), session.id(), self.index));
                let ms: u64 = std::str::from_utf8(&args[2]).unwrap_or("0").parse().unwrap_or(0);
                return Flow::Blocked { deadline_ms: (ms > 0).then(|| self.now_ms() + ms) };
            }
            (b"shout", 2) => {
                let bytes: Arc<[u8]> = args[1].into();
                for client in self.engine.clients.lock().values() {
                    let mail = Mail::Output { client: client.id, bytes: Arc::clone(&bytes) };
                    self.engine.posts.lock()[client.worker].send(mail);
                }
                reply.ok();
            }
            (b"pause", 2) => {
                let ms: u64 = std::str::from_utf8(&args[1]).unwrap_or("0").parse().unwrap_or(0);
                self.engine.paused_until_ms.store(self.now_ms() + ms, Relaxed);
                reply.ok();
            }
            (b"shutdown", _) => {
                self.engine.host.shutdown(ShutdownFlags::default());
                return Flow::CloseNow;
            }
            (b"config", _) => self.config(args, &mut reply),
            _ => reply.error(b"ERR unknown command"),
        }
        Flow::Next
    }
    fn config(&mut self, args: Args<'_>, reply: &mut Reply) {
        if args.len() == 2 {
            match self.engine.host.rewrite_config() {
                Ok(()) => reply.ok(),
                Err(e) => reply.error(format!("ERR {e}").as_bytes()),
            }
        } else if args.len() == 3 {
            let found = self.engine.config.get_matching(&[&args[2]]);
            reply.map(found.len());
            for (name, value) in found {
                reply.bulk(name.as_bytes());
                reply.bulk(value.as_bytes());
            }
        } else {
            let host = Arc::clone(&self.engine.host);
            let set = self.engine.config.set(&[(&args[2], &args[3])], |n, v| host.apply_config(n, v));
            match set {
                Ok(()) => reply.ok(),
                Err(e) => reply.error(format!("ERR {e}").as_bytes()),
            }
        }
    }
    pub fn drain(&mut self, into: &mut Vec<Mail>) {
        if self.post.woken.swap(false, Relaxed) {
            into.append(&mut self.post.mail.lock());
        }
    }
    pub fn resume(&mut self, session: &mut Session) {
        session.blocked = false;
    }
    pub fn block_timeout(&mut self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        self.engine.waiting.lock().retain(|w| w.1 != session.id());
        session.blocked = false;
        out.extend_from_slice(b"*-1\r\n");
        true
    }
    pub fn protocol_error(&mut self, _session: &mut Session, _text: &str) {}
    pub fn disconnect(&mut self, session: Session) {
        self.engine.waiting.lock().retain(|w| w.1 != session.id());
        self.engine.clients.lock().remove(&session.id());
        self.engine.count.fetch_sub(1, Relaxed);
    }
}

fn wall_ms() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_millis() as u64
}
