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
mod floor;
mod folder;
mod isolation;
mod links;
mod loader;
mod machine;
mod peer;
mod pool;
mod report;
mod resp;
mod rows;
mod scaling;
mod session;
mod wire;
mod workloads;

use cli::{Options, Parsed};
use context::Context;
use figure::{Cost, Figure, Target};
use indicatif::{ProgressBar, ProgressStyle};
use machine::{Machine, Pinning};
use peer::{FLOOR, Peer};
use report::{Group, Report};
use rows::{Row, Servers};
use std::io;
use std::process::ExitCode;
use workloads::{Run, Workload};

/// The server's allocator, for the engine that `scaling` runs in this process.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    if args.next_if(|first| first == FLOOR).is_some() {
        return floor::main(args).map_or_else(fail, |()| ExitCode::SUCCESS);
    }
    if args.next_if(|first| first == "scaling").is_some() {
        return scaling::main(args).map_or_else(fail, |()| ExitCode::SUCCESS);
    }
    if args.next_if(|first| first == "isolation").is_some() {
        return isolation::main(args).unwrap_or_else(fail);
    }
    match cli::parse(args) {
        Ok(Parsed::Help) => print!("{}", cli::HELP),
        Ok(Parsed::List) => workloads::all().iter().for_each(|w| println!("{:<46} {}", w.name, w.about)),
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
        Err(error) => fail(error),
    }
}

fn fail(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("larder-bench: {error}");
    ExitCode::FAILURE
}

/// Runs what is asked for; failure when a workload could not be measured.
fn run(options: &Options) -> ExitCode {
    let chosen: Vec<Workload> =
        workloads::all().into_iter().filter(|workload| options.wants(&workload.name)).collect();
    let pinning = Pinning::of_this_machine(options.threads);
    pinning.pin_loader();
    let peers = peer::find(options, &pinning);
    if peers.is_empty() || chosen.is_empty() {
        eprintln!("larder-bench: no {} to measure", if peers.is_empty() { "server" } else { "workload" });
        return ExitCode::FAILURE;
    }
    let mut report = Report::new(Machine::describe(&pinning), options, &peers);
    print!("{}", report.heading());
    let floor = Peer::floor(&pinning).inspect_err(|error| eprintln!("larder-bench: no floor: {error}")).ok();
    measure(options, &chosen, &peers, floor.as_ref(), &mut report);
    print!("{}", report.summary());
    if let Some(path) = &options.json
        && let Err(error) = std::fs::write(path, report.json())
    {
        eprintln!("larder-bench: {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs the workloads, printing each group's table when the last of the group is done.
fn measure(
    options: &Options,
    chosen: &[Workload],
    peers: &[Peer],
    floor: Option<&Peer>,
    report: &mut Report,
) {
    let bar = progress_bar(chosen.len() * peers.len() * options.repeat);
    // Those that take turns go on from one group to the next, with what has been loaded into them.
    let mut servers = Servers::new(options, peers, floor);
    for group in chosen.chunk_by(|a, b| a.group() == b.group()) {
        let mut rows = Group::new(group[0].group());
        for workload in group {
            match &workload.run {
                Run::Alone(run) => {
                    for _ in 0..options.repeat {
                        peers.iter().for_each(|peer| alone(options, workload, *run, peer, &bar, &mut rows));
                    }
                }
                Run::InTurns(row) => in_turns(&mut servers, &workload.name, row, &bar, &mut rows),
            }
        }
        let table = report.add(rows);
        bar.suspend(|| print!("{table}"));
    }
    bar.finish_and_clear();
}

/// Measures a workload on one server.
fn alone(
    options: &Options,
    workload: &Workload,
    run: fn(&mut Context) -> io::Result<()>,
    peer: &Peer,
    bar: &ProgressBar,
    rows: &mut Group,
) {
    let mut context = Context::new(options, peer, bar, &workload.name);
    let result = run(&mut context);
    rows.add(&peer.name, context.figures());
    if let Err(error) = result {
        complain(&workload.name, &peer.name, &error, bar, rows);
    }
    bar.inc(1);
}

/// Measures a row on all servers.
fn in_turns(servers: &mut Servers, name: &str, row: &Row, bar: &ProgressBar, rows: &mut Group) {
    let stage = |what: &str| {
        bar.set_message(format!("{name}: {what}"));
        bar.tick();
    };
    for turn in servers.measure(row, &stage) {
        match turn.result {
            Ok(cost) => rows.add(&turn.server, vec![figure(row, cost)]),
            Err(error) => complain(name, &turn.server, &error, bar, rows),
        }
    }
    bar.inc(servers.steps());
}

fn figure(row: &Row, cost: Cost) -> Figure {
    Figure {
        row: row.full_title(),
        unit: "ns/op",
        value: cost.whole,
        worker: None,
        target: Target::OfBest(row.target),
    }
}

fn complain(workload: &str, server: &str, error: &io::Error, bar: &ProgressBar, rows: &mut Group) {
    bar.suspend(|| eprintln!("larder-bench: {workload} on {server}: {error}"));
    rows.fail(workload, server, &error.to_string());
}

/// Drawn on stderr, and only on a terminal.
fn progress_bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{elapsed_precise} {bar:30} {pos}/{len} {msg}");
    ProgressBar::new(steps as u64).with_style(style.expect("the template is constant and valid"))
}
