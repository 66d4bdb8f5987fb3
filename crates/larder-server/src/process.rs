//! The process: pidfile, limit of open files, score of the OOM killer, and what is taken away at the end.

use crate::log::Log;
use crate::settings::system_text;
use crate::shared::Shared;
use crate::sys;
use larder_engine::ApplyError;
use larder_engine::config::{Config, OomScoreAdj};
use std::path::PathBuf;
use std::sync::OnceLock;

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

/// Whether that many clients fit now.
pub fn raise_clients(clients: u64) -> Result<(), ApplyError> {
    sys::raise_open_files(clients + RESERVED_FILES)
        .map_err(|limit| ApplyError::Clients(limit.saturating_sub(RESERVED_FILES)))
}

const OOM_SCORE: &str = "/proc/self/oom_score_adj";
/// The scores that the kernel knows.
const OOM_SCORE_MIN: i64 = -1000;
const OOM_SCORE_MAX: i64 = 1000;

/// The score that the process was started with, once it has been changed.
static OOM_SCORE_BEFORE: OnceLock<i64> = OnceLock::new();

/// Puts `oom-score-adj` into effect as far as the process may: the first of `oom-score-adj-values`, by itself or on top of the
/// score that the process was started with; with `no` that score comes back.
pub fn apply_oom_score(config: &Config) -> Result<(), ApplyError> {
    let mode = config.choice("oom-score-adj");
    if mode == OomScoreAdj::No && OOM_SCORE_BEFORE.get().is_none() {
        return Ok(());
    }
    let now = || std::fs::read_to_string(OOM_SCORE).ok()?.trim().parse().ok();
    let before = *OOM_SCORE_BEFORE.get_or_init(|| now().unwrap_or(0));
    let values = config.value("oom-score-adj-values");
    let own: i64 = values.split(' ').next().and_then(|score| score.parse().ok()).unwrap_or(0);
    let score = match mode {
        OomScoreAdj::No => before,
        OomScoreAdj::Absolute => own,
        OomScoreAdj::Relative => before + own,
    };
    std::fs::write(OOM_SCORE, score.clamp(OOM_SCORE_MIN, OOM_SCORE_MAX).to_string())
        .map_err(|_| ApplyError::OomScore)
}

/// Takes away what a running process has in the file system: the pidfile, sockets.
pub fn clean_up(shared: &Shared) {
    if let Some(path) = pidfile(&shared.config) {
        shared.log.notice("Removing the pid file.");
        let _ = std::fs::remove_file(path);
    }
    close_listeners(shared);
    shared.log.warning("Larder is now ready to exit, bye bye...");
}

/// Closes the sockets that accept clients, and removes the files of unix sockets.
pub fn close_listeners(shared: &Shared) {
    for path in shared.listeners.lock().close_all() {
        shared.log.notice("Removing the unix socket file.");
        let _ = std::fs::remove_file(path);
    }
}
