//! Waiting for one socket.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::time::Duration;

/// Waits until a socket can be read from, or also written to, at most this long; says whether it can.
pub fn wait_for_socket(socket: &impl AsFd, writes: bool, patience: Duration) -> bool {
    let events = if writes { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    // What is too long for the kernel is without an end.
    let timeout = Timespec::try_from(patience).ok();
    // After an error the caller finds out what is wrong when it tries the socket.
    poll(&mut [PollFd::new(socket, events)], timeout.as_ref()).is_ok_and(|ready| ready > 0)
}
