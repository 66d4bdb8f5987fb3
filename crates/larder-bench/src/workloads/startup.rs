//! How long a server without data takes to accept connections, and how big it is.

use crate::context::Context;
use crate::figure::{Target, median};
use crate::folder::Folder;
use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The line of the log that ends the wait.
const READY: &str = "Ready to accept connections";
/// The longest wait for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts the server several times.
pub fn run(context: &mut Context) -> io::Result<()> {
    let times = (0..context.rounds(11)).map(|_| start(context)).collect::<io::Result<Vec<f64>>>()?;
    context.figure("from spawn to ready", "ms", median(times), Target::Most(50.0));
    let size = std::fs::metadata(&context.peer.binary)?.len() as f64 / 1e6;
    context.figure("binary", "MB", size, Target::Most(15.0));
    Ok(())
}

fn start(context: &Context) -> io::Result<f64> {
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port().to_string();
    let (command, extra) = context.peer.command();
    // A directory of its own: a file that a server left elsewhere would be loaded.
    let folder = Folder::new();
    let start = Instant::now();
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .args(["--port", &port, "--save", ""])
        .args(extra)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let elapsed = wait_ready(&mut child, start);
    child.kill()?;
    child.wait()?;
    elapsed.ok_or_else(|| io::Error::other(format!("the log never says {READY:?}")))
}

/// Milliseconds until the line came. A thread reads, as a server may say nothing at all.
fn wait_ready(child: &mut Child, start: Instant) -> Option<f64> {
    let mut log = BufReader::new(child.stdout.take()?);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        if log.by_ref().lines().map_while(Result::ok).any(|line| line.contains(READY)) {
            let _ = sender.send(start.elapsed().as_secs_f64() * 1e3);
        }
    });
    receiver.recv_timeout(PATIENCE).ok()
}
