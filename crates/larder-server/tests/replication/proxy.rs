//! A proxy on the link that cuts it after a number of bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

/// Passes bytes on to a port. Connections end with the test's process.
pub struct Proxy {
    port: u16,
    /// Bytes from the primary until the connection is cut; negative: it is not.
    left: Arc<AtomicI64>,
    stopped: Arc<AtomicBool>,
}

impl Proxy {
    /// In front of a port.
    pub fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let (left, stopped) = (Arc::new(AtomicI64::new(-1)), Arc::new(AtomicBool::new(false)));
        let (to_cut, stop) = (Arc::clone(&left), Arc::clone(&stopped));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || pass(from, to, None));
                let left = Arc::clone(&to_cut);
                thread::spawn(move || pass(server, client, Some(&left)));
            }
        });
        Proxy { port: own, left, stopped }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts the link when the primary has sent this many bytes more.
    pub fn cut_after(&self, bytes: i64) {
        self.left.store(bytes, Ordering::Relaxed);
    }

    /// Whether the link was cut since it was last asked for.
    pub fn has_cut(&self) -> bool {
        self.left.load(Ordering::Relaxed) < 0
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: Option<&AtomicI64>) {
    let mut bytes = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        let mut n = n;
        let mut cuts = false;
        if let Some(left) = left {
            let before = left.load(Ordering::Relaxed);
            if before >= 0 {
                let after = before - n as i64;
                cuts = after < 0;
                left.store(if cuts { -1 } else { after }, Ordering::Relaxed);
                n = if cuts { before as usize } else { n };
            }
        }
        if to.write_all(&bytes[..n]).is_err() || cuts {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
