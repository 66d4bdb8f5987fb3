//! Latency of GET beside a client that asks metrics and console as fast as it can.
//!
//! The client that asks takes processor time itself, some of it from the client that is timed. What the
//! server has to do with it is told by a row beside another server that is asked the same.

use super::idle::{latencies, percentile};
use crate::context::Context;
use crate::figure::Target;
use crate::session::Session;
use larder_testkit::Port;
use std::io::{self, BufRead, BufReader, Error, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

const KEYS: usize = 1_000_000;
/// Answers longer than this are none of ours.
const BODY_MAX: usize = 16 << 20;

/// Measures Larder; others have neither port.
pub fn run(context: &mut Context) -> io::Result<()> {
    if context.peer.name != crate::peer::LARDER {
        return Ok(());
    }
    let (mut asked, mut other) = (Site::start(context)?, Site::start(context)?);
    for site in [&mut asked, &mut other] {
        site.session.ask(&format!("DEBUG POPULATE {}", context.scaled(KEYS, 100)))?;
        site.session.ask("SET key value")?;
    }
    let alone = latencies(context, &asked.session)?;
    let beside_other = beside(context, &asked.session, &other)?;
    let beside_own = beside(context, &asked.session, &asked)?;
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let row = format!("GET {name}, alone");
        let target = Target::OfRow(1.1, row.clone());
        context.figure(row, "us", percentile(&alone, share), Target::None);
        let row = format!("GET {name}, another server is asked");
        context.figure(row, "us", percentile(&beside_other.0, share), Target::None);
        context.figure(format!("GET {name}, it is asked"), "us", percentile(&beside_own.0, share), target);
    }
    context.figure("answers while another server is asked", "", beside_other.1 as f64, Target::None);
    context.figure("answers while it is asked", "", beside_own.1 as f64, Target::None);
    Ok(())
}

/// A server with both ports.
struct Site {
    session: Session,
    metrics: Port,
    console: Port,
}

impl Site {
    fn start(context: &Context) -> io::Result<Site> {
        let (metrics, console) = (Port::reserve(), Port::reserve());
        let ports = [metrics.number().to_string(), console.number().to_string()];
        let args =
            ["--metrics-port", &ports[0], "--console-port", &ports[1], "--enable-debug-command", "yes"];
        Ok(Site { session: Session::start_pinned(context.peer, &args)?, metrics, console })
    }
}

/// The latencies of one server while a site is asked, and how often it answered.
fn beside(context: &Context, session: &Session, site: &Site) -> io::Result<(Vec<f64>, u64)> {
    let (ends, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let ports = [site.metrics.number(), site.console.number()];
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask_on(ports, &ends, &answers));
        while answers.load(Relaxed) == 0 && !asking.is_finished() {
            std::thread::yield_now();
        }
        let times = latencies(context, session);
        ends.store(true, Relaxed);
        asking.join().map_err(|_| Error::other("whoever asks has panicked"))??;
        Ok((times?, answers.load(Relaxed)))
    })
}

/// Asks both ports in turn until told to end: for all metrics, and for what the live page of the console asks.
fn ask_on([metrics, console]: [u16; 2], ends: &AtomicBool, answers: &AtomicU64) -> io::Result<()> {
    let (mut metrics, mut console) = (Http::connect(metrics)?, Http::connect(console)?);
    let head = console.ask("POST", "/api/login", "", r#"{"user":"default","password":""}"#)?.head;
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.and_then(|line| line.split(';').next()).ok_or_else(|| Error::other("no login"))?;
    let cookie = format!("Cookie: {cookie}\r\n");
    let question = r#"{"commands":[["INFO","everything"],["SLOWLOG","GET","10"],["CLIENT","LIST"]]}"#;
    while !ends.load(Relaxed) {
        metrics.ask("GET", "/metrics", "", "")?;
        let answer = console.ask("POST", "/api/run", &cookie, question)?;
        if !answer.body.starts_with(b"{\"replies\":") {
            return Err(Error::other("the console does not answer its question"));
        }
        answers.fetch_add(2, Relaxed);
    }
    Ok(())
}

struct Http {
    stream: BufReader<TcpStream>,
}

struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Http {
    fn connect(port: u16) -> io::Result<Http> {
        Ok(Http { stream: BufReader::new(crate::connect::connect(port)?) })
    }

    /// Sends a request and reads its answer, which must be that it was granted.
    fn ask(&mut self, method: &str, path: &str, lines: &str, body: &str) -> io::Result<Answer> {
        let len = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len}\r\n\
             {lines}\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if !head.starts_with("HTTP/1.1 200 ") {
            return Err(Error::other(format!("{path}: {}", head.lines().next().unwrap_or_default())));
        }
        let len = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let len =
            len.filter(|&len| len <= BODY_MAX).ok_or_else(|| Error::other("an answer without a length"))?;
        let mut body = vec![0; len];
        self.stream.read_exact(&mut body)?;
        Ok(Answer { head, body })
    }
}
