//! The machine: what it is, and who runs on which core.
//!
//! Pinning goes through `taskset`, so that this program needs no system calls of its own; where the command is
//! missing or there is one core only, nothing is pinned and the report says so.

use std::fs;
use std::process::{Command, Stdio};

/// Who runs where; `None` when nothing is pinned.
pub struct Pinning {
    cores: Option<(String, String)>,
}

impl Pinning {
    /// The last core this process may use is the loader's; the first ones, one a thread, are the server's.
    pub fn of_this_machine(threads: usize) -> Self {
        let cores = cores(&field("/proc/self/status", "Cpus_allowed_list"));
        let Some((loader, others)) = cores.split_last().filter(|(_, others)| !others.is_empty()) else {
            return Pinning { cores: None };
        };
        let server: Vec<String> = others.iter().take(threads).map(ToString::to_string).collect();
        let pinned = quietly(Command::new("taskset").arg("--version"));
        Pinning { cores: pinned.then(|| (server.join(","), loader.to_string())) }
    }

    /// Nobody is pinned.
    pub fn none() -> Self {
        Pinning { cores: None }
    }

    /// Moves this process to its core.
    pub fn pin_loader(&self) {
        if let Some((_, core)) = &self.cores {
            quietly(Command::new("taskset").args(["-acp", core, &std::process::id().to_string()]));
        }
    }

    /// What to put in front of a server's command.
    pub fn prefix(&self) -> Vec<String> {
        let pin =
            |(server, _): &(String, String)| vec!["taskset".to_owned(), "-c".to_owned(), server.clone()];
        self.cores.as_ref().map_or_else(Vec::new, pin)
    }

    fn describe(&self) -> String {
        match &self.cores {
            Some((server, loader)) => format!("server on core {server}, loader on core {loader}"),
            None => "nothing pinned".to_owned(),
        }
    }
}

/// What the report says of the machine: name and value.
pub struct Machine {
    /// In the order of printing.
    pub facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// Asks the kernel.
    pub fn describe(pinning: &Pinning) -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let model = field("/proc/cpuinfo", "model name");
        let cores = read("/proc/cpuinfo").lines().filter(|line| line.starts_with("processor")).count();
        let facts = vec![
            ("cpu", if model.is_empty() { std::env::consts::ARCH.to_owned() } else { model }),
            ("cores", cores.to_string()),
            ("memory", field("/proc/meminfo", "MemTotal")),
            ("kernel", read("/proc/sys/kernel/osrelease")),
            ("huge_pages", read("/sys/kernel/mm/transparent_hugepage/enabled")),
            ("pinning", pinning.describe()),
            ("load", read("/proc/loadavg")),
        ];
        Machine { facts }
    }
}

/// Raises this process's limit of open files, which servers inherit, as far as allowed; returns it.
pub fn raise_open_files() -> usize {
    let limits = || field("/proc/self/limits", "Max open files");
    if let Some(hard) = limits().split_whitespace().nth(1) {
        let limit = format!("--nofile={hard}:{hard}");
        quietly(Command::new("prlimit").args(["--pid", &std::process::id().to_string(), &limit]));
    }
    limits().split_whitespace().next().and_then(|soft| soft.parse().ok()).unwrap_or(1024)
}

/// Runs a command without its output; whether it succeeded.
fn quietly(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The first line of a file that starts with a name, without the name.
fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or_else(String::new, |rest| rest.trim_start_matches([' ', '\t', ':']).trim_end().to_owned())
}

/// The numbers in a list such as `0-2,5`.
fn cores(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_lists_are_read() {
        assert_eq!(cores("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(cores("3"), [3]);
        assert!(cores("").is_empty());
    }

    #[test]
    fn the_kernel_tells_something() {
        assert!(raise_open_files() > 0);
        assert!(!cores(&field("/proc/self/status", "Cpus_allowed_list")).is_empty());
    }
}
