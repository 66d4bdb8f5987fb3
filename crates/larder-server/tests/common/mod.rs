//! Starts the server under test and talks RESP to it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server in a directory of its own; killed when dropped.
pub struct Server {
    pub child: Child,
    pub port: u16,
    pub dir: PathBuf,
    lines: Receiver<String>,
    pub log: Vec<String>,
}

impl Server {
    /// Starts on a free port with further `args`, and waits until it accepts connections.
    pub fn start(args: &[&str]) -> Server {
        let port = free_port().to_string();
        let fixed = ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--threads", "2"];
        let mut server = Server::spawn(&[&fixed[..], args].concat());
        server.port = port.parse().unwrap();
        server.expect_line("Ready to accept connections");
        server
    }

    /// The same, with a configuration file.
    pub fn start_with_file(file: &str) -> Server {
        let port = free_port().to_string();
        let mut server = Server::spawn(&[file, "--port", &port, "--bind", "127.0.0.1"]);
        server.port = port.parse().unwrap();
        server.expect_line("Ready to accept connections");
        server
    }

    /// Starts with exactly `args`.
    pub fn spawn(args: &[&str]) -> Server {
        let dir = temp_dir();
        let mut child = program(&dir).args(args).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Server { child, port: 0, dir, lines, log: Vec::new() }
    }

    /// Waits for a line of the log that contains `text`.
    pub fn expect_line(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("no line with {text:?} in:\n{}", self.log.join("\n"));
            };
            self.log.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    pub fn connect(&self) -> Client<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    pub fn signal(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).unwrap();
        // SAFETY: takes no pointers; the child is ours and has not been waited for.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Resident memory in bytes.
    pub fn rss(&self) -> usize {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// What a start that must fail said: exit code, standard output, standard error.
pub fn failed_start(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = program(dir).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn program(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder-server"));
    command.current_dir(dir).stdin(Stdio::null());
    command
}

pub fn temp_dir() -> PathBuf {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("larder-server-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// A port that no other test has until this process ends.
pub fn free_port() -> u16 {
    let port = larder_testkit::Port::reserve();
    let number = port.number();
    std::mem::forget(port);
    number
}

/// A client that keeps replies as their raw bytes.
pub struct Client<S> {
    pub stream: BufReader<S>,
}

impl<S: Read + Write> Client<S> {
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Sends a command without waiting for its reply.
    pub fn tell(&mut self, args: &[&[u8]]) {
        self.send(&command(args));
    }

    /// Sends a command and reads its reply.
    pub fn ask(&mut self, args: &[&str]) -> String {
        let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        self.tell(&args);
        self.reply()
    }

    /// One reply, nested ones included.
    pub fn reply(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let count: i64 = line[1.min(line.len())..].trim_end().parse().unwrap_or(-1);
        match line.as_bytes().first() {
            Some(b'$') if count >= 0 => {
                let mut bytes = vec![0; count as usize + 2];
                self.stream.read_exact(&mut bytes).unwrap();
                line + &String::from_utf8_lossy(&bytes)
            }
            Some(b'*') => (0..count).fold(line, |text, _| text + &self.reply()),
            _ => line,
        }
    }

    /// Everything until the server closes the connection.
    pub fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        // A reset is an end as well.
        let _ = self.stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

pub fn command(args: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        bytes.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        bytes.extend_from_slice(arg);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
