//! A server with a console, and requests to it.

use larder_testkit::{Port, Server};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub const AT_MOST: Duration = Duration::from_secs(60);

/// A server with a console.
pub struct Stage {
    pub server: Server,
    pub port: Port,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The cookie that is set, as a request sends it back.
    pub fn cookie(&self) -> Option<String> {
        let line = self.head.lines().find_map(|line| line.strip_prefix("set-cookie: "))?;
        Some(line.split(';').next()?.to_owned())
    }
}

impl Stage {
    pub fn new(args: &[&str]) -> Stage {
        let port = Port::reserve();
        let server = Server::larder(&[args, &["--console-port", &port.number().to_string()]].concat());
        Stage { server, port }
    }

    pub fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(("127.0.0.1", self.port.number())).expect("the console is served");
        socket.set_read_timeout(Some(AT_MOST)).expect("a time limit");
        socket
    }

    /// Sends a request as it is, and reads until the server closes. An error is the end as well.
    pub fn send(&self, request: &[u8]) -> Answer {
        let mut socket = self.connect();
        let _ = socket.write_all(request);
        read(&mut socket)
    }

    /// Asks a question, with more lines in its head.
    pub fn post(&self, path: &str, head: &str, body: &str) -> Answer {
        let len = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len}\r\n\
             Connection: close\r\n{head}\r\n{body}"
        );
        self.send(request.as_bytes())
    }

    pub fn try_log_in(&self, user: &str, password: &str) -> Answer {
        self.post("/api/login", "", &json!({ "user": user, "password": password }).to_string())
    }

    pub fn log_in(&self, user: &str, password: &str) -> Login<'_> {
        let answer = self.try_log_in(user, password);
        assert_eq!(answer.status, 200, "{answer:?}");
        Login { stage: self, cookie: answer.cookie().expect("a cookie") }
    }
}

pub fn read(socket: &mut TcpStream) -> Answer {
    let mut reply = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(n @ 1..) = socket.read(&mut piece) {
        reply.extend_from_slice(&piece[..n]);
    }
    let reply = String::from_utf8(reply).expect("text");
    let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// A user who has logged in.
pub struct Login<'s> {
    pub stage: &'s Stage,
    pub cookie: String,
}

impl Login<'_> {
    pub fn ask(&self, path: &str, body: &Value) -> Answer {
        self.stage.post(path, &format!("Cookie: other=1; {}\r\n", self.cookie), &body.to_string())
    }

    pub fn run(&self, command: &Value) -> Value {
        let answer = self.ask("/api/run", &json!({ "commands": [command] }));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["replies"][0].clone()
    }

    pub fn line(&self, line: &str) -> Value {
        self.run(&json!(line.split_whitespace().collect::<Vec<_>>()))
    }
}
