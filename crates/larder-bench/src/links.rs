//! The other ends of replication, so that only the server measured spends its time: a replica that throws away what it is sent,
//! and a primary that sends what it is told to.

use crate::connect::{TIMEOUT, connect};
use crate::resp;
use crate::session::Session;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a replica acknowledges.
const ACK_PERIOD: Duration = Duration::from_secs(1);
/// A file without keys, of a version that all servers read, and without a checksum.
const EMPTY_FILE: &[u8] = b"REDIS0009\xff\0\0\0\0\0\0\0\0";

/// A replica that throws away what it is sent.
pub struct Drain {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Drain {
    /// Follows a server; returns when the stream begins.
    pub fn attach(session: &mut Session) -> io::Result<Drain> {
        let mut stream = BufReader::with_capacity(256 << 10, connect(session.port())?);
        for words in [&["REPLCONF", "listening-port", "1"][..], &["REPLCONF", "capa", "psync2"]] {
            send(stream.get_mut(), words)?;
            line(&mut stream)?;
        }
        send(stream.get_mut(), &["PSYNC", "?", "-1"])?;
        let answer = line(&mut stream)?;
        let offset = answer.split(' ').nth(2).and_then(|offset| offset.parse().ok());
        let mut offset: u64 = offset.ok_or_else(|| io::Error::other(format!("PSYNC: {answer}")))?;
        let size = line(&mut stream)?;
        let size = size.strip_prefix('$').and_then(|size| size.parse().ok());
        let size: u64 = size.ok_or_else(|| io::Error::other("a snapshot without a length"))?;
        io::copy(&mut (&mut stream).take(size), &mut io::sink())?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            stream.get_ref().set_read_timeout(Some(Duration::from_millis(100)))?;
            let mut acked: Option<Instant> = None;
            while !told.load(Ordering::Relaxed) {
                if acked.is_none_or(|at| at.elapsed() >= ACK_PERIOD) {
                    send(stream.get_mut(), &["REPLCONF", "ACK", &offset.to_string()])?;
                    acked = Some(Instant::now());
                }
                match stream.fill_buf() {
                    Ok([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(bytes) => {
                        let len = bytes.len();
                        offset += len as u64;
                        stream.consume(len);
                    }
                    Err(error) if is_timeout(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        });
        let drain = Drain { stop, thread: Some(thread) };
        let before = session.info_of("replication", "connected_slaves")?.unwrap_or(0);
        let deadline = Instant::now() + TIMEOUT;
        while (session.ask("INFO replication")?.text().matches("state=online").count() as u64) < before {
            if Instant::now() > deadline {
                return Err(io::Error::other("the replica does not come online"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(drain)
    }

    /// Goes away; an error if the link broke before.
    pub fn end(mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it ends once");
        thread.join().map_err(|_| io::Error::other("the replica panicked"))?
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A primary that sends what it is told to.
pub struct Feed {
    stream: BufReader<TcpStream>,
    sent: u64,
}

impl Feed {
    /// Has a server follow; returns when the stream begins.
    pub fn attach(session: &mut Session) -> io::Result<Feed> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        session.ask(&format!("REPLICAOF 127.0.0.1 {}", listener.local_addr()?.port()))?;
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let mut stream = BufReader::new(stream);
        loop {
            let command = read_command(&mut stream)?;
            let word = command.first().map(|word| word.to_ascii_uppercase()).unwrap_or_default();
            match word.as_str() {
                "PING" => stream.get_mut().write_all(b"+PONG\r\n")?,
                "PSYNC" => break,
                _ => stream.get_mut().write_all(b"+OK\r\n")?,
            }
        }
        let head = format!("+FULLRESYNC {} 0\r\n${}\r\n", "0".repeat(40), EMPTY_FILE.len());
        stream.get_mut().write_all(head.as_bytes())?;
        stream.get_mut().write_all(EMPTY_FILE)?;
        Ok(Feed { stream, sent: 0 })
    }

    /// Sends a part of the stream, and waits until it is applied.
    pub fn apply(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut question = Vec::new();
        resp::command(&mut question, &[b"REPLCONF", b"GETACK", b"*"]);
        self.stream.get_mut().write_all(bytes)?;
        self.sent += bytes.len() as u64;
        let wanted = self.sent;
        self.stream.get_mut().write_all(&question)?;
        self.sent += question.len() as u64;
        loop {
            let command = read_command(&mut self.stream)?;
            if command.len() >= 3 && command[1].eq_ignore_ascii_case("ack") {
                let acked: u64 = command[2].parse().map_err(io::Error::other)?;
                if acked >= wanted {
                    return Ok(());
                }
            }
        }
    }
}

/// Sends a command.
fn send(stream: &mut TcpStream, words: &[&str]) -> io::Result<()> {
    let mut bytes = Vec::new();
    resp::command(&mut bytes, &words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>());
    stream.write_all(&bytes)
}

/// The next line that is not empty, without its end.
fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        if line.starts_with('-') {
            return Err(io::Error::other(line.to_owned()));
        }
        if !line.is_empty() {
            return Ok(line.to_owned());
        }
    }
}

/// The next command.
fn read_command(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<String>> {
    let number = |line: &str, sign: char| -> io::Result<usize> {
        let number = line.strip_prefix(sign).and_then(|number| number.parse().ok());
        number.ok_or_else(|| io::Error::other(format!("no command: {line}")))
    };
    let count = number(&line(stream)?, '*')?;
    (0..count)
        .map(|_| {
            let len = number(&line(stream)?, '$')?;
            let mut word = vec![0; len + 2];
            stream.read_exact(&mut word)?;
            word.truncate(len);
            String::from_utf8(word).map_err(io::Error::other)
        })
        .collect()
}
