//! What is written to files comes back: after a restart, after a crash, in another server of this protocol.

mod aof;
mod crash;
mod damage;
mod deadlines;
mod disk;
mod failing;
mod faults;
mod functions;
mod hostile;
mod log_lines;
mod migrate;
mod rdb;
mod replay;
#[path = "../common/samples.rs"]
mod samples;
mod states;
mod switching;

use larder_rdb::Crc64;
use larder_testkit::{Client, Server, Value};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// The digest of all data.
fn digest(server: &Server) -> String {
    server.client().ask("DEBUG DIGEST").text()
}

/// Copies a file or a directory of one server to another's.
fn carry(name: &str, from: &Path, to: &Path) {
    let (from, to) = (from.join(name), to.join(name));
    if from.is_dir() {
        fs::create_dir_all(&to).expect("the directory is writable");
        for entry in fs::read_dir(&from).expect("it is a directory") {
            carry(&entry.expect("it can be listed").file_name().to_string_lossy(), &from, &to);
        }
    } else {
        fs::copy(&from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
}

/// Runs one of Redis's tools.
fn tool(name: &str, file: &Path) -> Output {
    Command::new(name).arg(file).output().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Asks until the reply contains `wanted`.
fn wait_for(client: &mut Client, question: &str, wanted: &str) {
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let reply = client.ask(question).text();
        if reply.contains(wanted) {
            return;
        }
        assert!(Instant::now() < deadline, "{question} never says {wanted}: {reply}");
        // Without a pause the question takes the processor from what is waited for.
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Puts the right checksum after the bytes.
fn checked(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend_from_slice(&Crc64::of(&bytes).to_le_bytes());
    bytes
}

fn ok() -> Value {
    Value::Simple("OK".to_owned())
}
