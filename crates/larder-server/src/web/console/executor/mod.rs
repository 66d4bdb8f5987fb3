//! The thread that executes commands and searches: one request after the other, with the rights of the login. Between requests it records
//! the figures for the charts.

mod anatomy;
mod feeds;
mod mail;

use super::feed::Kind;
use super::history::{History, PERIOD};
use super::json::{write_replies, write_text};
use super::keys::{self, Branches, Search};
use super::logins::{Anatomy, Login, Logins, Token};
use super::throttle::{Throttle, Try};
use larder_engine::config::AppendFsync;
use larder_engine::{
    CommandError, LocalWorker, Permit, Place, Ran, Session, panic_if_armed, spawn_background,
};
use larder_persist::Persist;
use larder_resp::OwnedArgs;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Bytes of all replies to one request.
const REPLIES_BYTES_MAX: usize = 4 << 20;
/// Bytes of messages and lines of MONITOR that wait for the thread; others are missed.
const HEARD_BYTES_MAX: usize = 1 << 20;
/// Between two looks at whether what was written is on the disk.
const DISK_LOOK: Duration = Duration::from_millis(1);

const TOO_LONG: &[u8] = b"-ERR The replies are too long for the console\r\n";

/// A question.
pub enum Ask {
    /// Name, password, address of the client and of the server.
    LogIn {
        user: Vec<u8>,
        password: Vec<u8>,
        from: (IpAddr, String),
        to: String,
    },
    LogOut,
    /// Who it is.
    Me,
    /// Commands in a database.
    Run {
        db: usize,
        commands: Vec<OwnedArgs>,
    },
    /// MEMORY ANATOMY with these arguments, in a database.
    StartAnatomy {
        db: usize,
        args: OwnedArgs,
    },
    LookAtAnatomy,
    EndAnatomy,
    /// Keys.
    Search(Box<Search>),
    /// A level of the tree of names.
    Branches(Box<Branches>),
    /// What was in the last seconds, after a moment in milliseconds.
    History {
        seconds: u64,
        after_ms: u64,
    },
    /// To listen by a command.
    StartFeed {
        kind: Kind,
        db: usize,
        args: Vec<OwnedArgs>,
    },
    /// The lines of a feed from a number on.
    ReadFeed {
        kind: Kind,
        from: u64,
    },
    EndFeed(Kind),
}

/// An answer.
pub enum Answer {
    /// What was asked for, as JSON.
    Json(String),
    /// The same, for one who has logged in.
    Welcome(Token, String),
    /// Nobody has logged in by this token, or not any more.
    Stranger,
    /// The name or the password is wrong.
    WrongPassword,
    /// To be tried again later.
    Wait(Duration),
}

/// A question, and who gets the answer.
struct Asked {
    token: Option<Token>,
    ask: Ask,
    answer: oneshot::Sender<Answer>,
}

enum Job {
    Asked(Box<Asked>),
    /// There is mail.
    Mail,
}

/// The way to the thread.
#[derive(Clone)]
pub struct Executor(Sender<Job>);

impl Executor {
    /// Starts the thread.
    ///
    /// # Errors
    /// What the system says when it starts no further thread.
    pub fn start(persist: &Arc<Persist>, is_writable: bool) -> io::Result<Executor> {
        let (jobs, todo) = channel();
        let wake = jobs.clone();
        let worker = persist
            .engine()
            .local_worker_that_may_miss(Box::new(move || drop(wake.send(Job::Mail))), HEARD_BYTES_MAX);
        let persist = Arc::clone(persist);
        let permit = if is_writable { Permit::All } else { Permit::Reading };
        spawn_background("larder-console", move |_| {
            let (logins, throttle, history) = (Logins::default(), Throttle::default(), History::new());
            State { worker, persist, permit, logins, throttle, history, written: 0 }.run(&todo);
        })?;
        Ok(Executor(jobs))
    }

    /// The answer to a question; `None` when the server is ending.
    pub async fn ask(&self, token: Option<Token>, ask: Ask) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        self.0.send(Job::Asked(Box::new(Asked { token, ask, answer }))).ok()?;
        answered.await.ok()
    }
}

struct State {
    worker: LocalWorker,
    persist: Arc<Persist>,
    permit: Permit,
    logins: Logins,
    throttle: Throttle,
    history: History,
    /// Up to here the log has been written.
    written: u64,
}

impl State {
    fn run(mut self, jobs: &Receiver<Job>) {
        let mut next_look = larder_engine::instant();
        loop {
            let now = larder_engine::instant();
            if now >= next_look {
                next_look = now + PERIOD;
                self.look(now);
            }
            let job = jobs.recv_timeout(next_look.saturating_duration_since(larder_engine::instant()));
            if matches!(job, Err(RecvTimeoutError::Disconnected)) {
                return;
            }
            panic_if_armed();
            self.worker.begin();
            if let Ok(Job::Asked(asked)) = job {
                let Asked { token, ask, answer } = *asked;
                let found = self.answer(token, ask);
                self.settle();
                // Who asked may have gone.
                let _: Result<(), Answer> = answer.send(found);
            }
            self.take_mail();
        }
    }

    /// Records the figures for the charts, and closes expired logins and feeds.
    fn look(&mut self, now: Instant) {
        self.worker.begin();
        self.history.add(larder_engine::wall_ms(), &self.worker.engine().figures());
        self.logins.take_expired(now).into_iter().for_each(|login| self.close(login));
        self.logins
            .take_feeds_that_are_over(now)
            .into_iter()
            .for_each(|feed| self.worker.close(feed.session));
    }

    /// What commands have done is written before they are answered, and synced if that is wanted.
    fn settle(&mut self) {
        let end = self.worker.end();
        if end <= std::mem::replace(&mut self.written, end) {
            return;
        }
        let engine = self.worker.engine();
        let log = engine.append_log();
        if engine.config().hot.appendfsync.get() == AppendFsync::Always {
            log.wake_writer();
            while log.is_on() && log.synced() < end {
                thread::sleep(DISK_LOOK);
            }
        } else {
            self.persist.write_log_to(end);
        }
        log.wait_for_room();
    }

    fn answer(&mut self, token: Option<Token>, ask: Ask) -> Answer {
        let now = larder_engine::instant();
        if let Ask::LogIn { user, password, from, to } = ask {
            return self.log_in(&user, &password, &from, &to, now);
        }
        let Some(token) = token.filter(|token| self.logins.find(token, now).is_some()) else {
            return Answer::Stranger;
        };
        match ask {
            Ask::LogIn { .. } | Ask::Me => self.me(&token, now),
            Ask::LogOut => {
                self.end(&token);
                Answer::Json("{}".to_owned())
            }
            Ask::Run { db, commands } => self.run_all(&token, db, &commands, now),
            Ask::StartAnatomy { db, args } => self.start_anatomy(&token, db, &args, now),
            Ask::LookAtAnatomy => self.look_at_anatomy(&token, now),
            Ask::EndAnatomy => {
                self.set_anatomy(&token, Anatomy::None, now);
                Answer::Json("{}".to_owned())
            }
            Ask::Search(search) => self.search(&token, &search, now),
            Ask::Branches(branches) => self.branches(&token, &branches, now),
            Ask::History { seconds, after_ms } => self.history(&token, seconds, after_ms, now),
            Ask::StartFeed { kind, db, args } => self.start_feed(&token, (kind, db), &args, now),
            Ask::ReadFeed { kind, from } => self.read_feed(&token, kind, from, now),
            Ask::EndFeed(kind) => {
                self.end_feed(&token, kind, now);
                Answer::Json("{}".to_owned())
            }
        }
    }

    fn log_in(
        &mut self,
        user: &[u8],
        password: &[u8],
        (address, from): &(IpAddr, String),
        to: &str,
        now: Instant,
    ) -> Answer {
        let login = Try { user, exists: self.worker.engine().has_user(user), address: *address };
        if let Some(wait) = self.throttle.wait_of(login, now) {
            return Answer::Wait(wait);
        }
        let mut session = self.worker.open(from, to);
        if !self.worker.log_in(&mut session, user, password) {
            self.worker.close(session);
            self.throttle.failed(login, now);
            return Answer::WrongPassword;
        }
        self.throttle.succeeded(login);
        let json = self.describe(&session);
        let (token, gone) = self.logins.add(session, now);
        gone.into_iter().for_each(|login| self.close(login));
        Answer::Welcome(token, json)
    }

    fn me(&mut self, token: &Token, now: Instant) -> Answer {
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        let user = self.worker.user_of(&login.session);
        Answer::Json(self.describe_user(&user))
    }

    fn describe(&self, session: &Session) -> String {
        self.describe_user(&self.worker.user_of(session))
    }

    fn describe_user(&self, user: &[u8]) -> String {
        let mut json = "{\"user\":".to_owned();
        write_text(user, &mut json);
        let databases = self.worker.engine().database_count();
        let (writable, version) = (self.permit == Permit::All, env!("CARGO_PKG_VERSION"));
        json += &format!(",\"databases\":{databases},\"writable\":{writable},\"version\":\"{version}\"}}");
        json
    }

    fn run_all(&mut self, token: &Token, db: usize, commands: &[OwnedArgs], now: Instant) -> Answer {
        let mut replies = Vec::new();
        for command in commands {
            let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
            let session = &mut login.session;
            let mark = replies.len();
            let ran = self.worker.run(session, (db, self.permit), command.as_args(), false, &mut replies);
            if ran != Ran::Answered {
                self.end(token);
                return Answer::Stranger;
            }
            if replies.len() > REPLIES_BYTES_MAX {
                replies.truncate(mark);
                replies.extend_from_slice(TOO_LONG);
            }
        }
        let mut json = "{\"replies\":".to_owned();
        write_replies(&replies, &mut json);
        json.push('}');
        Answer::Json(json)
    }

    fn search(&mut self, token: &Token, search: &Search, now: Instant) -> Answer {
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        let found = self.worker.search(&mut login.session, &search.filter, search.wanted, search.from);
        Answer::Json(match found {
            Ok(slice) => keys::write_found(&slice, self.total(search.from, search.filter.db)),
            Err(error) => error_of(&error),
        })
    }

    fn branches(&mut self, token: &Token, asked: &Branches, now: Instant) -> Answer {
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        let level = (&asked.prefix[..], &asked.delimiter[..]);
        let found = self.worker.branches(&mut login.session, &asked.filter, level, asked.from);
        Answer::Json(match found {
            Ok(slice) => keys::write_level(&slice, self.total(asked.from, asked.filter.db)),
            Err(error) => error_of(&error),
        })
    }

    /// The number of keys of a database, for the first answer of a search.
    fn total(&self, from: Place, db: usize) -> Option<u64> {
        if from == Place::default() { self.worker.count_keys(db) } else { None }
    }

    /// The history, for users who may call INFO.
    fn history(&mut self, token: &Token, seconds: u64, after_ms: u64, now: Instant) -> Answer {
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        let info: OwnedArgs = std::iter::once(&b"INFO"[..]).collect();
        if !self.worker.may(&mut login.session, info.as_args()) {
            return Answer::Json("{\"error\":\"NOPERM The charts need the right to call INFO\"}".to_owned());
        }
        let mut json = String::new();
        self.history.write(seconds, after_ms, &mut json);
        Answer::Json(json)
    }

    fn end(&mut self, token: &Token) {
        if let Some(login) = self.logins.remove(token) {
            self.close(login);
        }
    }

    fn close(&mut self, Login { session, anatomy, feeds, .. }: Login) {
        feeds.into_iter().for_each(|feed| self.worker.close(feed.session));
        if let Anatomy::UnderWay(session) = anatomy {
            self.worker.close(session);
        }
        self.worker.close(session);
    }
}

fn error_of(error: &CommandError) -> String {
    let mut json = "{\"error\":".to_owned();
    write_text(&error.wire(), &mut json);
    json.push('}');
    json
}
