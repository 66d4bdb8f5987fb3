//! The same bytes to valkey-server and to a responder that knows ECHO and nothing else: the same replies, the same
//! protocol errors, the connection closed at the same point.

mod common;

use fastrand::Rng;
use larder_resp::{Args, Limits, Parsed, Parser, Protocol, Reply};
use larder_testkit::Server;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A Valkey that is asked over a unix socket.
struct Peer {
    server: Server,
}

impl Peer {
    fn start() -> Peer {
        Peer { server: Server::valkey(&["--unixsocket", "s"]) }
    }

    fn connect(&self) -> std::io::Result<UnixStream> {
        let stream = UnixStream::connect(self.server.dir().join("s"))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(stream)
    }

    /// Sends `bytes` in slices, then the end of the stream; returns everything the server said.
    fn ask(&self, bytes: &[u8], slice: usize) -> Vec<u8> {
        let mut stream = self.connect().unwrap();
        for part in bytes.chunks(slice) {
            if stream.write_all(part).is_err() {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Write);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        reply
    }
}

/// What a server that knows only ECHO says to `bytes`.
fn respond(bytes: &[u8]) -> Vec<u8> {
    let limits = Limits { bulk_bytes_max: 512 << 20, authenticated: true };
    let (mut parser, mut out, mut rest) = (Parser::new(), Vec::new(), bytes);
    loop {
        match parser.next(rest, &limits) {
            Ok(Parsed::Incomplete) => return out,
            Ok(Parsed::Command { args, consumed }) => {
                execute(&args, &mut out);
                rest = &rest[consumed..];
            }
            Err(e) => {
                e.write(&mut out);
                return out;
            }
        }
    }
}

fn execute(args: &Args, out: &mut Vec<u8>) {
    let mut reply = Reply::new(out, Protocol::Resp2);
    match (args.get(0), args.len()) {
        (None, _) => {}
        (Some(name), 2) if name.eq_ignore_ascii_case(b"echo") => reply.bulk(&args[1]),
        (Some(name), _) if name.eq_ignore_ascii_case(b"echo") => {
            reply.error(b"ERR wrong number of arguments for 'echo' command");
        }
        (Some(name), _) => reply.error(&unknown(name, args)),
    }
}

fn unknown(name: &[u8], args: &Args) -> Vec<u8> {
    let mut quoted = Vec::new();
    for arg in args.iter().skip(1) {
        if quoted.len() < 128 {
            let shown = c_str(arg, 128 - quoted.len());
            quoted = [&quoted[..], b"'", shown, b"' "].concat();
        }
    }
    [b"ERR unknown command '", c_str(name, 128), b"', with args beginning with: ", &quoted].concat()
}

/// What C's `%.*s` prints of `bytes`.
fn c_str(bytes: &[u8], len_max: usize) -> &[u8] {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    &bytes[..end.min(len_max)]
}

fn compare(peer: &Peer, bytes: &[u8], slice: usize, hint: &str) {
    // Valkey 9.1.2 loses this byte in inline commands.
    let bytes: Vec<u8> = bytes.iter().map(|&byte| if byte == 0xff { 0xfe } else { byte }).collect();
    let bytes = bytes.as_slice();
    let (theirs, ours) = (peer.ask(bytes, slice), respond(bytes));
    if theirs != ours {
        let show = |b: &[u8]| b.escape_ascii().to_string();
        panic!("{hint}: sent {}\nvalkey {}\nours  {}", show(bytes), show(&theirs), show(&ours));
    }
}

#[test]
fn chosen_requests() {
    let peer = Peer::start();
    let cases: [&[u8]; 30] = [
        b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n",
        b"*2\r\n$4\r\nECHO\r\n$2\r\nhixx*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n",
        b"ECHO hi\r\nECHO \"a\\x00b\"\n",
        b"*0\r\n*-5\r\n\r\nECHO 1\r\n",
        b"*abc\r\n",
        b"*\r\n",
        b"*01\r\n",
        b"*2147483647\r\n",
        b"*2147483648\r\n",
        b"*1048577\r\n$4\r\nECHO\r\n",
        b"*-99999999999999999999\r\n",
        b"*1\r\nfoo\r\n",
        b"*1\r\n\r\n",
        b"*1\r\n\r\r",
        b"*1\r\n\n\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$\r\n",
        b"*1\r\n$536870912\r\n",
        b"*1\r\n$536870913\r\n",
        b"*1\r\n$10000000000\r\n",
        b"*1\r\n\xff1\r\n",
        b"*1\r\n$5\r\nxyzzy",
        b"*1\rX$5\rYxyzzyZZECHO 1\n",
        b"ECHO \"a\r\n",
        b"ECHO 'a'b\r\n",
        b"ECHO a\rb\r\n",
        b"ECHO a\r\r\n",
        b" \t ECHO x \r\n",
        b"$5\r\n*1\r\n",
        b"*1\r\n$1\r\n\0\r\n*2\r\n$1\r\n\r\r\n$1\r\n\n\r\n",
    ];
    for bytes in cases {
        compare(&peer, bytes, usize::MAX, "whole");
        compare(&peer, bytes, 1, "a byte at a time");
    }
}

/// Lines that are a little longer than what is kept of a line without its end.
#[test]
fn long_lines_that_end() {
    let peer = Peer::start();
    for len in [60_000, 65_530, 65_536, 66_000] {
        let line = [&b"ECHO "[..], &b"x".repeat(len), b"\r\nECHO 1\r\n"].concat();
        compare(&peer, &line, usize::MAX, &format!("{len} bytes"));
    }
}

#[test]
fn long_lines() {
    let peer = Peer::start();
    for head in [&b"*"[..], b"*1\r\n$", b"*1\r\n", b"x"] {
        for fill in [b'1', 0, b' '] {
            for len in [60_000, 70_000] {
                let mut bytes = head.to_vec();
                bytes.resize(head.len() + len, fill);
                compare(&peer, &bytes, usize::MAX, "long line");
            }
        }
    }
}

#[test]
fn damaged_requests() {
    let seed = larder_testkit::seed(11);
    let peer = Peer::start();
    for case in 0..3_000 {
        let mut rng = Rng::with_seed(seed + case);
        let mut bytes = common::commands(&mut rng);
        if case % 4 > 0 {
            common::damage(&mut rng, &mut bytes);
        }
        let slice = if bytes.len() < 300 && case % 8 == 0 { 1 } else { usize::MAX };
        compare(&peer, &bytes, slice, &format!("SEED={}", seed + case));
    }
}
