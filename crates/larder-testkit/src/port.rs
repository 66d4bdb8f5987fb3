//! TCP ports that only one test has.
//!
//! A port that is merely free at the moment may be taken before its server listens: then a second server fails to start, while
//! the test that started it talks to the first. So a port is reserved, by a socket in Linux's abstract namespace, for as long as its
//! server may be started again; and it lies below the range from which the system takes ports for outgoing connections.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

/// Below the ports of outgoing connections (`net.ipv4.ip_local_port_range`) and above the well-known ones.
const RANGE: std::ops::Range<u16> = 10_000..32_000;

/// A port of the loopback that no other test on this machine has, until this is dropped.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _reservation: UnixListener,
}

impl Port {
    /// Reserves a port on which nobody listens.
    pub fn reserve() -> Port {
        for _ in 0..1000 {
            let number = fastrand::u16(RANGE);
            let Some(reservation) = reserve(number) else { continue };
            let port = Port { number, _reservation: reservation };
            if port.is_free() {
                return port;
            }
        }
        panic!("no port from {RANGE:?} is free");
    }

    /// Whether nobody listens.
    fn is_free(&self) -> bool {
        TcpListener::bind(("127.0.0.1", self.number)).is_ok()
    }

    /// Waits until nobody listens, for at most `patience`; whether that is so.
    pub fn wait_until_free(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while !self.is_free() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// The port's number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

fn reserve(number: u16) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("larder-test-port-{number}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_free_when_nobody_listens_any_more() {
        let port = Port::reserve();
        let listener = TcpListener::bind(("127.0.0.1", port.number())).expect("it is free");
        assert!(!port.wait_until_free(Duration::from_millis(1)));
        drop(listener);
        assert!(port.wait_until_free(Duration::from_secs(10)));
    }

    #[test]
    fn a_port_is_reserved_once() {
        let port = Port::reserve();
        assert!(reserve(port.number()).is_none());
        let number = port.number();
        drop(port);
        assert!(reserve(number).is_some());
    }
}
