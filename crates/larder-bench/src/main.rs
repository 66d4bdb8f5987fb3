//! Larder measured beside other servers: memory, server CPU and times, the same bytes to each, one server at
//! a time.
//!
//! The loader and the server are pinned to cores of their own where there are two, but for workloads that say
//! otherwise. Of processor time only what the server spends counts, so a slow loader does not spoil a figure;
//! and ratios within one run cancel the machine's noise.

#![forbid(unsafe_code)]

mod charts;
mod cli;
mod connect;
mod context;
mod data;
mod figure;
mod links;
mod loader;
mod machine;
mod peer;
mod pool;
mod report;
mod resp;
mod session;
mod wire;
mod workloads;

use cli::{Options, Parsed};
use context::Context;
use indicatif::{ProgressBar, ProgressStyle};
use machine::{Machine, Pinning};
use peer::Peer;
use report::{Group, Report};
use std::process::ExitCode;
use workloads::Workload;

fn main() -> ExitCode {
    match cli::parse(std::env::args_os().skip(1)) {
        Ok(Parsed::Help) => print!("{}", cli::HELP),
        Ok(Parsed::List) => workloads::all().iter().for_each(|w| println!("{:<28} {}", w.name, w.about)),
        Ok(Parsed::Charts(folder)) => return draw(&folder),
        Ok(Parsed::Run(options)) => return run(&options),
        Err(complaint) => {
            eprintln!("larder-bench: {complaint}\n\n{}", cli::HELP);
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Draws the charts of a folder of reports.
fn draw(folder: &std::path::Path) -> ExitCode {
    match charts::draw_all(folder) {
        Ok(names) => {
            names.iter().for_each(|name| println!("{name}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("larder-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what is asked for; failure when a workload could not be measured.
fn run(options: &Options) -> ExitCode {
    let chosen: Vec<Workload> =
        workloads::all().into_iter().filter(|workload| options.wants(workload.name)).collect();
    let pinning = Pinning::of_this_machine(options.threads);
    pinning.pin_loader();
    let peers = peer::find(options, &pinning);
    if peers.is_empty() || chosen.is_empty() {
        eprintln!("larder-bench: no {} to measure", if peers.is_empty() { "server" } else { "workload" });
        return ExitCode::FAILURE;
    }
    let mut report = Report::new(Machine::describe(&pinning), options, &peers);
    print!("{}", report.heading());
    measure(options, &chosen, &peers, &mut report);
    if let Some(path) = &options.json
        && let Err(error) = std::fs::write(path, report.json())
    {
        eprintln!("larder-bench: {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs the workloads, printing each group's table when the last of the group is done.
fn measure(options: &Options, chosen: &[Workload], peers: &[Peer], report: &mut Report) {
    let bar = progress_bar(chosen.len() * peers.len() * options.repeat);
    for group in chosen.chunk_by(|a, b| a.group() == b.group()) {
        let mut rows = Group::new(group[0].group());
        for workload in group {
            for _ in 0..options.repeat {
                peers.iter().for_each(|peer| one(options, workload, peer, &bar, &mut rows));
            }
        }
        let table = report.add(rows);
        bar.suspend(|| print!("{table}"));
    }
    bar.finish_and_clear();
}

fn one(options: &Options, workload: &Workload, peer: &Peer, bar: &ProgressBar, rows: &mut Group) {
    let mut context = Context::new(options, peer, bar, workload.name);
    let result = (workload.run)(&mut context);
    rows.add(&peer.name, context.figures());
    if let Err(error) = result {
        bar.suspend(|| eprintln!("larder-bench: {} on {}: {error}", workload.name, peer.name));
        rows.fail(workload.name, &peer.name, &error.to_string());
    }
    bar.inc(1);
}

/// Drawn on stderr, and only on a terminal.
fn progress_bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{elapsed_precise} {bar:30} {pos}/{len} {msg}");
    ProgressBar::new(steps as u64).with_style(style.expect("the template is constant and valid"))
}
