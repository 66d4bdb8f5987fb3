//! `larder-bench isolation`: what clients feel while the command of another one takes long, on keys that are not theirs.
//!
//! The heavy commands are data (`table`): more than 60, in groups that share what they work on. For each of them, on each server, the probes
//! (`probes`) run: first beside nothing, then while the command is sent, executed and answered, which is repeated for a while (`cell`). The
//! reply is read by a thread of its own. What they wait then may be 5 ms more than before, for 999 of 1,000 of them.
//!
//! Nothing is pinned, as the background threads of servers may use what there is. A server whose threads take all cores shares them with this
//! program, and the kernel has somebody wait whatever the server does: the table says where that is so.

mod answer;
mod cell;
mod heavy;
mod lane;
mod options;
mod print;
mod probes;
mod request;
mod server;
mod spread;
mod table;

use crate::cli;
use crate::machine::{Machine, Pinning};
use crate::peer::{self, LARDER, Peer};
use crate::report::{Group, Report};
use heavy::Heavy;
use lane::Lane;
use options::{HELP, Options};
use std::ffi::OsString;
use std::process::ExitCode;

/// The peer that Larder is compared with unless others are named.
const VALKEY: &str = "valkey";

/// Measures and prints; failure when a command could not be measured.
///
/// # Errors
/// The options are wrong, there is nothing to measure, or the report cannot be written.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let options = Options::parse(args)?;
    if options.help {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    if options.list {
        table::all().iter().for_each(|heavy| println!("{:<44} {}", heavy.name(), heavy.command));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<Heavy> = table::all().into_iter().filter(|heavy| options.wants(&heavy.name())).collect();
    let servers = servers(&options);
    if servers.is_empty() || chosen.is_empty() {
        return Err(format!("no {} to measure", if servers.is_empty() { "server" } else { "command" }).into());
    }
    let machine = Machine::describe(&Pinning::none());
    let mut report = Report::beside(machine, parameters(&options), &servers);
    print!("{}", report.heading());
    let summary = measure(&options, &chosen, &servers, &mut report);
    print!("\n{summary}");
    if let Some(path) = &options.json {
        std::fs::write(path, report.json()).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Larder and the peers, as far as they are there.
fn servers(options: &Options) -> Vec<Peer> {
    let is_default = options.peers.is_empty() && !options.without_peers;
    let peers = if is_default { peer::by_name(VALKEY).into_iter().collect() } else { options.peers.clone() };
    let (larder, without_peers) = (options.larder.clone(), true);
    peer::find(&cli::Options { larder, peers, without_peers, ..cli::Options::default() }, &Pinning::none())
}

/// What the report says of the run.
fn parameters(options: &Options) -> Vec<(&'static str, String)> {
    let cores = cores();
    let free = |threads: &usize| {
        format!("{threads} threads: {}", if print::has_core(*threads, cores) { "yes" } else { "no" })
    };
    let free: Vec<String> = options.threads.iter().map(free).collect();
    vec![
        ("scale", options.scale.to_string()),
        ("seconds", options.seconds.to_string()),
        ("probes", format!("{} kinds, {} requests a second each", probes::KINDS.len(), probes::RATE)),
        ("free_core", free.join(", ")),
    ]
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Measures all commands, each on one server after the other; how many cells keep the target.
fn measure(options: &Options, chosen: &[Heavy], servers: &[Peer], report: &mut Report) -> String {
    let (larder, peers): (Vec<&Peer>, Vec<&Peer>) = servers.iter().partition(|peer| peer.name == LARDER);
    let mut peers = lanes(&peers, None, chosen.len());
    let mut summary = String::new();
    for &threads in &options.threads {
        print!("{}", print::head(threads, cores()));
        let mut group = Group::new(&format!("isolation, {threads} threads"));
        let mut kept = Vec::new();
        // Its server ends with this number of threads.
        let mut larder = lanes(&larder, Some(threads), chosen.len());
        for (at, heavy) in chosen.iter().enumerate() {
            for lane in larder.iter_mut().chain(&mut peers) {
                let server = &lane.peer.name;
                match lane.cell(at, heavy, options) {
                    Ok(cell) => {
                        print!("{}", print::line(heavy, server, &cell));
                        group.add(server, print::figures(heavy, &cell));
                        kept.push((server.as_str(), cell.is_kept()));
                    }
                    Err(error) => {
                        eprintln!("larder-bench: {} on {server}: {error}", heavy.name());
                        group.fail(&heavy.name(), server, &error);
                    }
                }
            }
        }
        summary += &print::summary(threads, cores(), &kept);
        report.add(group);
    }
    summary
}

fn lanes<'a>(peers: &[&'a Peer], threads: Option<usize>, commands: usize) -> Vec<Lane<'a>> {
    peers.iter().map(|peer| Lane::new(peer, threads, commands)).collect()
}
