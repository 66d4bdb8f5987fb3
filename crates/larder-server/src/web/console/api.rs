//! The requests of the page, and who may send them.
//!
//! ```text
//! POST /api/login           {"user", "password"}                     {"user", "databases", "writable", "version"}, and the cookie
//! POST /api/logout          {}                                       {}
//! POST /api/me              {}                                       as for login
//! POST /api/run             {"db", "commands": [[argument, ...]]}    {"replies": [...]}
//! POST /api/anatomy/start   {"db", "pattern", "depth", "sample"}     {"state": "running", "looked", "total"}
//! POST /api/anatomy/look    {}                                       the same, or {"state": "done", "result"}
//! POST /api/anatomy/end     {}                                       {}
//! POST /api/keys/search     {"db", "pattern", "type", "order", ...}  as `keys` says
//! POST /api/keys/branches   {"db", "prefix", "delimiter", ...}       as `keys` says
//! POST /api/history         {"seconds", "after"}                     {"step", "points", "latencies"}
//! POST /api/feed/start      {"feed", "db", "channels", "patterns"}   as for read
//! POST /api/feed/read       {"feed", "from"}                         {"state": "off"}, or {"state": "on", "lines", ...}
//! POST /api/feed/end        {"feed"}                                 {}
//! ```
//! Arguments and replies are those of `json`. Errors are a status, and `{"error": text}`.

use super::executor::{Answer, Ask, Executor};
use super::feed::Kind;
use super::json::{argument, unhex};
use super::keys::{Branches, Search};
use super::logins::{LIFE_MAX, Token};
use super::page;
use crate::web::http::{self, Page, Site, plain, respond, set};
use crate::web::request::{Hosts, Refusal};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use larder_persist::Persist;
use larder_resp::OwnedArgs;
use serde_json::Value;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Commands of one request.
const COMMANDS_MAX: usize = 64;

/// Channels and patterns of one feed.
const NAMES_MAX: usize = 64;

/// What the browser may do with the pages.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The site.
pub struct Console {
    hosts: Hosts,
    executor: Executor,
}

/// Why a request is not answered.
struct Fault(StatusCode, &'static str);

impl Console {
    /// Starts the thread that executes commands.
    ///
    /// # Errors
    /// What the system says when it starts no further thread.
    pub fn start(hosts: Hosts, persist: &Arc<Persist>) -> io::Result<Console> {
        let is_writable = persist.engine().config().is_yes("console-writable");
        Ok(Console { hosts, executor: Executor::start(persist, is_writable)? })
    }
}

impl Site for Console {
    async fn answer(&self, request: Request<Incoming>, from: SocketAddr, to: SocketAddr) -> Page {
        let is_question = request.uri().path().starts_with("/api/");
        let mut answer = match (is_question, self.check(&request, is_question)) {
            (_, Err(Refusal(reason))) => plain(StatusCode::FORBIDDEN, reason),
            (true, Ok(())) => match self.question(request, from, to).await {
                Ok(answer) => answer,
                Err(Fault(status, text)) => error(status, text),
            },
            (false, Ok(())) => file(&request),
        };
        for (name, value) in [
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_FRAME_OPTIONS, "DENY"),
        ] {
            set(&mut answer, name, value);
        }
        answer
    }
}

fn error(status: StatusCode, text: &str) -> Page {
    json(status, serde_json::json!({ "error": text }).to_string())
}

fn json(status: StatusCode, text: String) -> Page {
    respond(status, "application/json", Bytes::from(text))
}

fn file(request: &Request<Incoming>) -> Page {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are supported.\n");
    }
    let Some((file, packed)) = page::find(request.uri().path()) else {
        return plain(StatusCode::NOT_FOUND, "There is no such page.\n");
    };
    let takes_gzip = takes_gzip(request.headers());
    let body = if takes_gzip { packed } else { Bytes::from_static(file.text.as_bytes()) };
    let mut page = respond(StatusCode::OK, file.kind, body);
    set(&mut page, header::VARY, "accept-encoding");
    if takes_gzip {
        set(&mut page, header::CONTENT_ENCODING, "gzip");
    }
    page
}

/// Whether a browser takes what gzip has compressed.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut encodings = lines.flat_map(|line| line.split(','));
    encodings.any(|encoding| {
        let (name, weight) = encoding.split_once(";q=").unwrap_or((encoding, "1"));
        name.trim() == "gzip" && weight.trim().parse::<f32>().is_ok_and(|weight| weight > 0.0)
    })
}

impl Console {
    fn check(&self, request: &Request<Incoming>, is_question: bool) -> Result<(), Refusal> {
        match is_question {
            true => self.hosts.check_own(request.headers()),
            false => self.hosts.check_host(request.headers()),
        }
    }

    async fn question(
        &self,
        request: Request<Incoming>,
        from: SocketAddr,
        to: SocketAddr,
    ) -> Result<Page, Fault> {
        if *request.method() != Method::POST {
            return Err(Fault(StatusCode::METHOD_NOT_ALLOWED, "Only POST is answered here."));
        }
        // A form of another site cannot send this type.
        if request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes) != Some(b"application/json")
        {
            return Err(Fault(StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must be application/json."));
        }
        let path = request.uri().path().to_owned();
        let cookie = cookie_name(to);
        let token = token_of(request.headers(), &cookie);
        let body = http::body(request)
            .await
            .map_err(|status| Fault(status, "The body is too large or too slow."))?;
        let body: Value = serde_json::from_slice(&body)
            .map_err(|_| Fault(StatusCode::BAD_REQUEST, "The body is no JSON that can be read."))?;
        let ask = ask(&path, &body, from, to)?;
        let ends = matches!(ask, Ask::LogOut);
        let answer = self.executor.ask(token, ask).await;
        let mut page = write_answer(answer, &cookie);
        if ends {
            set_cookie(&mut page, &format!("{cookie}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"));
        }
        Ok(page)
    }
}

fn ask(path: &str, body: &Value, from: SocketAddr, to: SocketAddr) -> Result<Ask, Fault> {
    const WRONG: Fault =
        Fault(StatusCode::BAD_REQUEST, "Something in the body is missing or of the wrong type.");
    let asked = match path {
        "/api/login" => {
            let text = |name| body.get(name).and_then(Value::as_str).map(|text| text.as_bytes().to_vec());
            text("user").zip(text("password")).map(|(user, password)| Ask::LogIn {
                user,
                password,
                from: (from.ip().to_canonical(), from.to_string()),
                to: to.to_string(),
            })
        }
        "/api/logout" => Some(Ask::LogOut),
        "/api/me" => Some(Ask::Me),
        "/api/run" => database(body).zip(commands(body)).map(|(db, commands)| Ask::Run { db, commands }),
        "/api/anatomy/start" => {
            database(body).zip(anatomy(body)).map(|(db, args)| Ask::StartAnatomy { db, args })
        }
        "/api/keys/search" => {
            database(body).and_then(|db| Search::read(db, body)).map(|search| Ask::Search(Box::new(search)))
        }
        "/api/keys/branches" => {
            database(body).and_then(|db| Branches::read(db, body)).map(|asked| Ask::Branches(Box::new(asked)))
        }
        "/api/history" => number(body, "seconds")
            .zip(number(body, "after"))
            .map(|(seconds, after_ms)| Ask::History { seconds, after_ms }),
        "/api/feed/start" => start_of_feed(body),
        "/api/feed/read" => {
            feed(body).zip(number(body, "from")).map(|(kind, from)| Ask::ReadFeed { kind, from })
        }
        "/api/feed/end" => feed(body).map(Ask::EndFeed),
        "/api/anatomy/look" => Some(Ask::LookAtAnatomy),
        "/api/anatomy/end" => Some(Ask::EndAnatomy),
        _ => return Err(Fault(StatusCode::NOT_FOUND, "There is no such question.")),
    };
    asked.ok_or(WRONG)
}

/// The database of a request; 0 if it names none.
fn database(body: &Value) -> Option<usize> {
    match body.get("db") {
        None => Some(0),
        Some(db) => usize::try_from(db.as_u64()?).ok(),
    }
}

/// A number of a request; 0 if it has none.
fn number(body: &Value, name: &str) -> Option<u64> {
    body.get(name).map_or(Some(0), Value::as_u64)
}

fn feed(body: &Value) -> Option<Kind> {
    match body.get("feed")?.as_str()? {
        "commands" => Some(Kind::Commands),
        "channels" => Some(Kind::Channels),
        _ => None,
    }
}

fn start_of_feed(body: &Value) -> Option<Ask> {
    let (kind, db) = (feed(body)?, database(body)?);
    let names = |name: &str| match body.get(name) {
        None => Some(Vec::new()),
        Some(names) => names.as_array()?.iter().map(argument).collect::<Option<Vec<Vec<u8>>>>(),
    };
    let commands: Vec<Vec<Vec<u8>>> = match kind {
        Kind::Commands => vec![vec![b"MONITOR".to_vec()]],
        Kind::Channels => [("SUBSCRIBE", names("channels")?), ("PSUBSCRIBE", names("patterns")?)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(command, names)| std::iter::once(command.as_bytes().to_vec()).chain(names).collect())
            .collect(),
    };
    let count: usize = commands.iter().map(Vec::len).sum();
    let args = commands.iter().map(|words| words.iter().map(Vec::as_slice).collect()).collect();
    (!commands.is_empty() && count <= NAMES_MAX).then_some(Ask::StartFeed { kind, db, args })
}

fn commands(body: &Value) -> Option<Vec<OwnedArgs>> {
    let commands = body.get("commands")?.as_array()?;
    let command = |command: &Value| {
        let words = command.as_array()?.iter().map(argument).collect::<Option<Vec<Vec<u8>>>>()?;
        (!words.is_empty()).then(|| words.iter().map(Vec::as_slice).collect())
    };
    (commands.len() <= COMMANDS_MAX).then(|| commands.iter().map(command).collect())?
}

/// The arguments of MEMORY ANATOMY: `args`, or those of a form.
fn anatomy(body: &Value) -> Option<OwnedArgs> {
    let mut words = vec![b"MEMORY".to_vec(), b"ANATOMY".to_vec()];
    if let Some(args) = body.get("args") {
        let args = args.as_array()?.iter().map(argument).collect::<Option<Vec<Vec<u8>>>>()?;
        words.extend(args);
        return Some(words.iter().map(Vec::as_slice).collect());
    }
    for (name, word) in [("pattern", "PATTERN"), ("depth", "DEPTH"), ("sample", "SAMPLE")] {
        let value = match body.get(name) {
            None | Some(Value::Null) => continue,
            Some(Value::Number(number)) => number.to_string().into_bytes(),
            Some(value) => argument(value)?,
        };
        words.extend([word.as_bytes().to_vec(), value]);
    }
    Some(words.iter().map(Vec::as_slice).collect())
}

/// Cookies are the same for all ports of a machine.
fn cookie_name(to: SocketAddr) -> String {
    format!("larder-console-{}", to.port())
}

fn token_of(headers: &HeaderMap, cookie: &str) -> Option<Token> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == cookie)?;
    Token::try_from(unhex(value)?).ok()
}

fn write_answer(answer: Option<Answer>, cookie: &str) -> Page {
    match answer {
        Some(Answer::Json(text)) => json(StatusCode::OK, text),
        Some(Answer::Welcome(token, text)) => {
            let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
            let mut page = json(StatusCode::OK, text);
            let life_s = LIFE_MAX.as_secs();
            set_cookie(
                &mut page,
                &format!("{cookie}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={life_s}"),
            );
            page
        }
        Some(Answer::Stranger) => error(StatusCode::UNAUTHORIZED, "Nobody is logged in."),
        Some(Answer::WrongPassword) => error(StatusCode::FORBIDDEN, "The name or the password is wrong."),
        Some(Answer::Wait(wait)) => {
            let mut page =
                error(StatusCode::TOO_MANY_REQUESTS, "A login has failed; try again in some seconds.");
            let seconds = wait.as_secs() + 1;
            page.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            page
        }
        None => error(StatusCode::SERVICE_UNAVAILABLE, "The server is ending."),
    }
}

fn set_cookie(page: &mut Page, text: &str) {
    let value = HeaderValue::from_str(text).expect("letters and digits");
    page.headers_mut().insert(header::SET_COOKIE, value);
}
