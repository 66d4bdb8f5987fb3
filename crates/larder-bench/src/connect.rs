//! Connections that do not wait for ever.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

/// How long a server may keep a connection waiting.
pub const TIMEOUT: Duration = Duration::from_secs(300);

/// Connects; neither a read nor a write will hang for ever.
pub fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}
