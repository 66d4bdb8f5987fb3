//! News of changes, for those who cache what they have read.
//!
//! A thread is a client of the engine that is told of all changes, and puts them into the queues of those who want to know. An event comes
//! after the change can be read. A queue that is full is emptied, and says that everything may have changed: a slow listener costs
//! memory for as many events as it has asked for, and misses nothing.

use crate::error::{Error, Result};
use crate::reply::{self, Reply};
use larder_engine::{Engine, LocalWorker, Mail, Patterns, Session, spawn_background};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A key, in one of the databases: it is set, changed, deleted or expired.
    Changed(Vec<u8>),
    /// Any key may have: the data was flushed or replaced, or more has changed than was wanted to wait.
    Everything,
}

/// Events that come to one listener. What is dropped hears no more.
pub struct Events {
    queue: Arc<Queue>,
}

struct Queue {
    patterns: Option<Patterns>,
    capacity: usize,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    is_closed: bool,
}

impl Events {
    /// The next event that is there.
    pub fn try_next(&self) -> Option<Event> {
        self.queue.waiting.lock().events.pop_front()
    }

    /// The next event; `None` if none comes within this time, or no more will.
    pub fn next_within(&self, patience: Duration) -> Option<Event> {
        self.wait_for_one(patience).events.pop_front()
    }

    /// Waits for an event without taking it; false if none comes within this time, or no more will.
    pub fn wait(&self, patience: Duration) -> bool {
        !self.wait_for_one(patience).events.is_empty()
    }

    /// Hears no more: threads that wait go on, and what has come and was not taken is forgotten.
    pub fn close(&self) {
        let mut waiting = self.queue.waiting.lock();
        *waiting = Waiting { events: VecDeque::new(), is_closed: true };
        self.queue.changed.notify_all();
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.queue.waiting.lock().is_closed
    }

    fn wait_for_one(&self, patience: Duration) -> MutexGuard<'_, Waiting> {
        let deadline = Instant::now().checked_add(patience);
        let mut waiting = self.queue.waiting.lock();
        while waiting.events.is_empty() && !waiting.is_closed {
            match deadline {
                None => self.queue.changed.wait(&mut waiting),
                Some(deadline) => {
                    if self.queue.changed.wait_until(&mut waiting, deadline).timed_out() {
                        break;
                    }
                }
            }
        }
        waiting
    }
}

impl Queue {
    fn put(&self, event: &Event) {
        let concerns = |patterns: &Patterns| match event {
            Event::Changed(key) => patterns.matches(key),
            Event::Everything => true,
        };
        if !self.patterns.as_ref().is_none_or(concerns) {
            return;
        }
        let mut waiting = self.waiting.lock();
        if waiting.is_closed {
            return;
        }
        if *event == Event::Everything || waiting.events.len() >= self.capacity {
            waiting.events.clear();
            waiting.events.push_back(Event::Everything);
        } else {
            waiting.events.push_back(event.clone());
        }
        self.changed.notify_all();
    }
}

/// Those who listen to a store, and the thread that tells them, which is started with the first.
#[derive(Default)]
pub struct Hub(Mutex<Option<Running>>);

struct Running {
    queues: Arc<Mutex<Vec<Weak<Queue>>>>,
    /// False: the thread is to end.
    wake: Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Hub {
    /// A new listener.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn subscribe<'p>(
        &self,
        engine: &Arc<Engine>,
        patterns: impl ExactSizeIterator<Item = &'p [u8]>,
        capacity: usize,
    ) -> Result<Events> {
        let mut running = self.0.lock();
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(start(engine)?),
        };
        let queue = Arc::new(Queue {
            patterns: (patterns.len() > 0).then(|| Patterns::new(patterns)),
            capacity: capacity.max(1),
            waiting: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut queues = running.queues.lock();
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(&queue));
        drop(queues);
        Ok(Events { queue })
    }
}

fn start(engine: &Arc<Engine>) -> Result<Running> {
    let (wake, woken) = channel();
    let sender = wake.clone();
    let mut worker = engine.local_worker(Box::new(move || {
        // Who has stopped listening needs no news.
        let _ = sender.send(true);
    }));
    worker.begin();
    // Before this returns: what changes afterwards is told.
    let session = worker
        .open_listener()
        .ok_or_else(|| Error::Thread(io::Error::other("the engine does not report changes")))?;
    let queues = Arc::new(Mutex::new(Vec::new()));
    let listening = Arc::clone(&queues);
    let thread = spawn_background("larder-events", move |_| tell(worker, session, &woken, &listening));
    Ok(Running { queues, wake, thread: Some(thread.map_err(Error::Thread)?) })
}

fn tell(
    mut worker: LocalWorker,
    mut session: Session,
    woken: &Receiver<bool>,
    queues: &Mutex<Vec<Weak<Queue>>>,
) {
    let mut bytes = Vec::new();
    while woken.recv() == Ok(true) {
        worker.begin();
        for mail in worker.mail() {
            if let Mail::Invalidate { what, .. } = mail {
                worker.invalidate(&mut session, &what, &mut bytes);
            }
        }
        let mut rest = &bytes[..];
        while let Ok(push) = reply::read(&mut rest) {
            let queues: Vec<Arc<Queue>> = queues.lock().iter().filter_map(Weak::upgrade).collect();
            for event in events_of(push) {
                queues.iter().for_each(|queue| queue.put(&event));
            }
        }
        bytes.clear();
    }
    worker.close(session);
}

/// What a message of invalidation says: the word, and then an array of names, or null for all.
fn events_of(push: Reply) -> Vec<Event> {
    let Reply::Array(mut parts) = push else { return Vec::new() };
    match parts.pop() {
        Some(Reply::Array(keys)) => keys
            .into_iter()
            .filter_map(|key| match key {
                Reply::Bytes(key) => Some(Event::Changed(key)),
                _ => None,
            })
            .collect(),
        Some(Reply::Null) => vec![Event::Everything],
        _ => Vec::new(),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.wake.send(false);
        if let Some(thread) = self.thread.take() {
            let _: std::thread::Result<()> = thread.join();
        }
    }
}
