//! The Larder server: event loops, configuration files, signals, log. The data lives in `larder-engine`.

#![deny(unsafe_code)]

mod banner;
mod check_config;
mod cluster;
mod connection;
mod cpus;
mod crash;
mod door;
mod files;
mod health;
mod host;
mod listen;
mod log;
mod long;
mod memory;
mod memory_test;
mod peer;
mod process;
mod replication;
mod sentinel;
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

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if sentinel::is_asked_for(&words) {
        return sentinel::run(&words);
    }
    let args: Vec<String> = words.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    match args.split_first() {
        Some((first, rest)) if first == "--health" => health::main(rest),
        _ => start::main(&args),
    }
}
