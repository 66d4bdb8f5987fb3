//! The thread that has commands executed: one request after the other, for those who have logged in.

use super::json::{write_replies, write_text};
use super::logins::{Anatomy, Login, Logins, Token};
use super::throttle::{Throttle, Try};
use larder_engine::config::AppendFsync;
use larder_engine::{Ends, LocalWorker, Mail, Permit, Ran, Session, panic_if_armed, spawn_background};
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
/// How often it is looked for logins that have ended.
const SWEEP: Duration = Duration::from_secs(30);
/// Between two looks at whether what was written is on the disk.
const DISK_LOOK: Duration = Duration::from_millis(1);

const TOO_LONG: &[u8] = b"-ERR The replies are too long for the console\r\n";
const LOST: &str = "{\"error\":\"ERR The walk was ended\"}";

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
        let worker = persist.engine().local_worker(Box::new(move || drop(wake.send(Job::Mail))));
        let persist = Arc::clone(persist);
        let permit = if is_writable { Permit::All } else { Permit::Reading };
        spawn_background("larder-console", move |_| {
            let (logins, throttle) = (Logins::default(), Throttle::default());
            State { worker, persist, permit, logins, throttle, written: 0 }.run(&todo);
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
    /// Up to here the log has been written.
    written: u64,
}

impl State {
    fn run(mut self, jobs: &Receiver<Job>) {
        let mut swept = larder_engine::instant();
        loop {
            let job = jobs.recv_timeout(SWEEP);
            if matches!(job, Err(RecvTimeoutError::Disconnected)) {
                return;
            }
            panic_if_armed();
            self.worker.begin();
            if swept.elapsed() >= SWEEP {
                swept = larder_engine::instant();
                self.logins.take_expired(swept).into_iter().for_each(|login| self.close(login));
            }
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
        json += &format!(",\"databases\":{databases},\"writable\":{}}}", self.permit == Permit::All);
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

    fn start_anatomy(&mut self, token: &Token, db: usize, args: &OwnedArgs, now: Instant) -> Answer {
        self.set_anatomy(token, Anatomy::None, now);
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        let mut session = self.worker.open_as(&login.session);
        let mut reply = Vec::new();
        match self.worker.run(&mut session, (db, self.permit), args.as_args(), true, &mut reply) {
            Ran::Waits => login.anatomy = Anatomy::UnderWay(session),
            Ran::Answered | Ran::Closed => {
                login.anatomy = Anatomy::Done(json_of(&reply));
                self.worker.close(session);
            }
        }
        self.look_at_anatomy(token, now)
    }

    fn look_at_anatomy(&mut self, token: &Token, now: Instant) -> Answer {
        let Some(login) = self.logins.find(token, now) else { return Answer::Stranger };
        Answer::Json(match &login.anatomy {
            Anatomy::None => "{\"state\":\"none\"}".to_owned(),
            Anatomy::Done(json) => format!("{{\"state\":\"done\",\"result\":{json}}}"),
            Anatomy::UnderWay(_) => {
                let (looked, total) = self.worker.engine().anatomy_progress().unwrap_or_default();
                format!("{{\"state\":\"running\",\"looked\":{looked},\"total\":{total}}}")
            }
        })
    }

    fn set_anatomy(&mut self, token: &Token, anatomy: Anatomy, now: Instant) {
        let Some(login) = self.logins.find(token, now) else { return };
        if let Anatomy::UnderWay(session) = std::mem::replace(&mut login.anatomy, anatomy) {
            self.worker.close(session);
        }
    }

    fn end(&mut self, token: &Token) {
        if let Some(login) = self.logins.remove(token) {
            self.close(login);
        }
    }

    fn close(&mut self, Login { session, anatomy, .. }: Login) {
        if let Anatomy::UnderWay(session) = anatomy {
            self.worker.close(session);
        }
        self.worker.close(session);
    }

    fn take_mail(&mut self) {
        for mail in self.worker.mail() {
            match mail {
                Mail::Unblocked { client, reply, ends } => self.unblocked(client, &reply, ends),
                Mail::Kill { client, .. } => self.kill(client),
                Mail::Recheck { client } => self.recheck(client),
                // These clients subscribe to nothing and wait for nothing else.
                Mail::Invalidate { .. }
                | Mail::InvalidateForOther { .. }
                | Mail::LeaveShardChannel { .. }
                | Mail::Message { .. }
                | Mail::Output { .. }
                | Mail::Retry => {}
            }
        }
    }

    fn unblocked(&mut self, client: u64, reply: &[u8], ends: Ends) {
        let Some((_, login)) = self.logins.of_client(client) else { return };
        if let Anatomy::UnderWay(mut session) = std::mem::replace(&mut login.anatomy, Anatomy::None) {
            self.worker.resume(&mut session, reply, ends);
            login.anatomy = Anatomy::Done(json_of(reply));
            self.worker.close(session);
        }
    }

    fn kill(&mut self, client: u64) {
        let Some((token, login)) = self.logins.of_client(client) else { return };
        if login.session.id() == client {
            self.end(&token);
        } else {
            self.set_anatomy(&token, Anatomy::Done(LOST.to_owned()), larder_engine::instant());
        }
    }

    fn recheck(&mut self, client: u64) {
        let Some((token, login)) = self.logins.of_client(client) else { return };
        if login.session.id() == client && !self.worker.may_stay(&mut login.session) {
            self.end(&token);
        }
    }
}

/// One reply as JSON.
fn json_of(reply: &[u8]) -> String {
    let mut json = String::new();
    write_replies(reply, &mut json);
    let inner = json.strip_prefix('[').and_then(|json| json.strip_suffix(']')).unwrap_or_default();
    if inner.is_empty() { "null".to_owned() } else { inner.to_owned() }
}
