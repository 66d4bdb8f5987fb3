//! Talking to another server as its client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

/// No reply that is expected is longer.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Sends commands and reads the replies, each of which is one line.
pub fn exchange(
    address: &str,
    timeout: Duration,
    request: &[u8],
    replies: usize,
) -> Result<Vec<String>, &'static str> {
    let connecting = "connecting to the client";
    let mut addresses = address.to_socket_addrs().map_err(|_| connecting)?;
    let stream = addresses.find_map(|address| TcpStream::connect_timeout(&address, timeout).ok());
    // Redis finds out that nobody is there when it writes, and says so.
    let stream = stream.ok_or("writing to target instance")?;
    let prepared = stream
        .set_nodelay(true)
        .and_then(|()| stream.set_read_timeout(Some(timeout)))
        .and_then(|()| stream.set_write_timeout(Some(timeout)));
    prepared.map_err(|_| connecting)?;
    // Replies are read meanwhile: a target that cannot get rid of them would stop reading.
    thread::scope(|scope| {
        let reader = scope.spawn(|| read_lines(&stream, replies));
        let written = (&stream).write_all(request).map_err(|_| "writing to target instance");
        if written.is_err() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        let lines = reader.join().unwrap_or(Err("reading from target instance"));
        written.and(lines)
    })
}

fn read_lines(stream: &TcpStream, count: usize) -> Result<Vec<String>, &'static str> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    while lines.len() < count {
        let mut line = Vec::new();
        let read = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if read.is_err() || line.last() != Some(&b'\n') {
            return Err("reading from target instance");
        }
        lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
    }
    Ok(lines)
}
