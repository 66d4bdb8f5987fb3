//! The Larder server: event loops, configuration files, signals, log. The data lives in `larder-engine`.

#![deny(unsafe_code)]

mod banner;
mod cluster;
mod connection;
mod cpus;
mod crash;
mod door;
mod files;
mod host;
mod listen;
mod log;
mod long;
mod memory;
mod memory_test;
mod peer;
mod process;
mod replication;
mod server;
mod settings;
mod shared;
mod shutdown;
mod signals;
mod start;
mod supervise;
mod sys;
mod system_check;
mod tls;
mod web;
mod worker;

fn main() -> std::process::ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    start::main(&args)
}
