//! What the link of a replica needs of the program around it.

use super::security::Security;
use larder_engine::{Engine, LogLevel, MayWait, Overdue, Patterns};
use larder_link::load::{self, Rules};
use larder_link::{LinkError, Process, Synchronized, TakeSnapshot, Transfer, Wire};
use parking_lot::{Condvar, Mutex};
use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The program around a link.
#[derive(Default)]
pub struct Around {
    stop: AtomicBool,
    security: Security,
    pub patterns: Option<Arc<Patterns>>,
    /// How many threads wait for something to come.
    waiters: AtomicUsize,
    pub facts: Mutex<Facts>,
    changed: Condvar,
}

/// What has become of the links so far.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub full_syncs: u64,
    pub partial_syncs: u64,
    pub last_error: Option<String>,
}

impl Around {
    /// For a replica that holds the keys of patterns, or all.
    pub fn new(patterns: Option<Arc<Patterns>>, security: Security) -> Around {
        Around { patterns, security, ..Around::default() }
    }

    /// The link is to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Waits until something is so; false if it is not within this time.
    pub fn wait(&self, patience: Duration, mut is_so: impl FnMut(&Facts) -> bool) -> bool {
        let deadline = Instant::now().checked_add(patience);
        // Who changes something looks at the number afterwards; who waits looks at what has changed afterwards.
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let mut facts = self.facts.lock();
        let came_true = loop {
            if is_so(&facts) {
                break true;
            }
            match deadline {
                None => self.changed.wait(&mut facts),
                Some(deadline) if self.changed.wait_until(&mut facts, deadline).timed_out() => {
                    break is_so(&facts);
                }
                Some(_) => {}
            }
        };
        self.waiters.fetch_sub(1, Ordering::SeqCst);
        came_true
    }

    fn wake(&self) {
        if self.waiters.load(Ordering::SeqCst) > 0 {
            let _facts = self.facts.lock();
            self.changed.notify_all();
        }
    }
}

impl Process for Around {
    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn log(&self, _level: LogLevel, _text: &str) {}

    fn secure(
        &self,
        socket: TcpStream,
        host: &str,
        timeout: Duration,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Arc<dyn Wire>, LinkError> {
        let channel = self.security.channel(socket, host, timeout, goes_on).map_err(|error| {
            LinkError::Refused(format!("the TLS handshake with the primary failed: {error}"))
        })?;
        Ok(Arc::new(channel))
    }

    fn patterns(&self) -> Option<Arc<Patterns>> {
        self.patterns.clone()
    }

    fn synchronized(&self, how: Synchronized) {
        let mut facts = self.facts.lock();
        match how {
            Synchronized::Fully => facts.full_syncs += 1,
            Synchronized::Partially => facts.partial_syncs += 1,
        }
        self.changed.notify_all();
    }

    fn applied(&self) {
        self.wake();
    }

    fn ended(&self, error: &LinkError) {
        if !matches!(error, LinkError::Over) {
            self.facts.lock().last_error = Some(error.to_string());
        }
    }
}

impl TakeSnapshot for Around {
    /// The snapshot is loaded beside the data, of which it takes the place when it is whole: reads never see a part of it.
    fn take_snapshot(
        &self,
        transfer: &mut Transfer<'_>,
        may_wait: &MayWait,
        on_loaded: &mut dyn FnMut(usize),
    ) -> Result<(), LinkError> {
        let engine = Arc::clone(transfer.link().engine());
        let loaded = transfer.load(None, |source| {
            self.replace(&engine, source, may_wait, on_loaded).map_err(|error| error.to_string())
        });
        loaded.map(drop)
    }
}

impl Around {
    /// Returns what was read beyond the snapshot.
    fn replace(
        &self,
        engine: &Arc<Engine>,
        source: &mut dyn Read,
        may_wait: &MayWait,
        on_loaded: &mut dyn FnMut(usize),
    ) -> larder_rdb::Result<Vec<u8>> {
        let checks = load::checks(engine);
        let file = load::open(engine, source, checks)?;
        let beside = engine.without_data();
        let patterns = self.patterns.as_deref();
        let rules = Rules { checks, overdue: Overdue::Keep, merge: false, patterns };
        let loaded = load::load_opened(&beside, &engine.persistence().load, file, rules)?;
        let turn = engine.take_turn(may_wait);
        engine.take_data(&beside, &turn);
        on_loaded(loaded.history.map_or(0, |history| history.db));
        Ok(loaded.rest.1)
    }
}
