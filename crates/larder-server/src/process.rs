//! The process: pidfile, limits, scores, signals.

use crate::log::Log;
use crate::settings::system_text;
use crate::sys;
use larder_engine::config::Config;
use std::path::PathBuf;

/// Descriptors that are no clients: listeners, log, files, what libraries open.
const RESERVED_FILES: u64 = 32;

/// Where the pidfile is to be, if there is to be one.
pub fn pidfile(config: &Config) -> Option<PathBuf> {
    let path = config.value("pidfile");
    match path.as_str() {
        "" if config.is_yes("daemonize") => Some(PathBuf::from("/var/run/larder.pid")),
        "" => None,
        path => Some(PathBuf::from(path)),
    }
}

/// Writes the process's id; a failure does not matter enough to stop.
pub fn write_pidfile(path: &PathBuf, log: &Log) {
    if let Err(error) = std::fs::write(path, format!("{}\n", std::process::id())) {
        log.warning(&format!("Failed to write PID file: {}", system_text(&error)));
    }
}

/// Makes room for `maxclients` descriptors, or lowers `maxclients` to what there is room for.
pub fn fit_open_files(config: &Config, log: &Log) {
    let clients = config.number("maxclients") as u64;
    let Err(limit) = sys::raise_open_files(clients + RESERVED_FILES) else { return };
    let fits = limit.saturating_sub(RESERVED_FILES).max(1);
    log.warning(&format!(
        "You requested maxclients of {clients} requiring at least {} max file descriptors.",
        clients + RESERVED_FILES
    ));
    log.warning(&format!(
        "Server can't set maximum open files to {} because of OS error: Operation not permitted.",
        clients + RESERVED_FILES
    ));
    log.warning(&format!(
        "Current maximum open files is {limit}. maxclients has been reduced to {fits} to compensate for low ulimit. \
         If you need higher maxclients increase 'ulimit -n'."
    ));
    // A number within the option's range cannot be refused.
    let _ = config.store_own("maxclients", &fits.to_string());
}

/// Whether that many clients fit now; the error is Redis's text.
pub fn raise_clients(clients: u64) -> Result<(), String> {
    sys::raise_open_files(clients + RESERVED_FILES).map_err(|limit| {
        let fits = limit.saturating_sub(RESERVED_FILES);
        format!("The operating system is not able to handle the specified number of clients, try with {fits}")
    })
}

/// Puts `oom-score-adj` into effect as far as the process may.
pub fn apply_oom_score(config: &Config) -> Result<(), String> {
    let mode = config.value("oom-score-adj");
    if mode == "no" {
        return Ok(());
    }
    let values = config.value("oom-score-adj-values");
    let score = values.split(' ').next().unwrap_or("0");
    std::fs::write("/proc/self/oom_score_adj", score)
        .map_err(|_| "Failed to apply new oom_score_adj configuration, check server logs.".to_string())
}
