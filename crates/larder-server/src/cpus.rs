//! The options `server-cpulist`, `bio-cpulist`, `bgsave-cpulist` and `aof-rewrite-cpulist`: where threads run.
//!
//! A list names processors: `0,2`, `0-3`, `0-7:2` for every second one.

use crate::log::Log;
use crate::sys::affinity::Cpus;
use larder_engine::config::Config;
use std::sync::OnceLock;

/// Binds the calling thread as the option `name` says; an empty list leaves it where it is.
pub fn bind(config: &Config, name: &str, log: &Log) {
    if let Some(Err(error)) = configured(config, name, log).map(|cpus| cpus.bind_this_thread()) {
        let list = config.value(name);
        log.warning(&format!("{name}: can't run on {list}: {}", crate::settings::system_text(&error)));
    }
}

/// The processors that an option names, if it names any; what is no list is logged.
fn configured(config: &Config, name: &str, log: &Log) -> Option<Cpus> {
    let list = config.value(name);
    if list.is_empty() {
        return None;
    }
    let cpus = parse(&list).and_then(Cpus::of);
    if cpus.is_none() {
        log.warning(&format!("{name}: '{list}' is not a list of processors"));
    }
    cpus
}

/// Where the threads of the engine that work in the background run, if `bio-cpulist` says so.
static BACKGROUND: OnceLock<Cpus> = OnceLock::new();

/// Reads `bio-cpulist`, for threads that start later.
pub fn keep_for_background(config: &Config, log: &Log) {
    if let Some(cpus) = configured(config, "bio-cpulist", log) {
        // The start reads it once.
        let _ = BACKGROUND.set(cpus);
    }
}

/// Binds the calling thread, one that works in the background, as `bio-cpulist` says.
pub fn bind_background() {
    // It works elsewhere, too.
    let _ = BACKGROUND.get().map(Cpus::bind_this_thread);
}

/// Runs `work` bound as the option `name` says; the thread is free again afterwards.
pub fn bound(config: &Config, name: &str, log: &Log, work: impl FnOnce()) {
    let before = if config.value(name).is_empty() { None } else { Cpus::of_this_thread().ok() };
    bind(config, name, log);
    work();
    // It could be there before.
    let _ = before.map(|cpus| cpus.bind_this_thread());
}

/// The processors of a list.
fn parse(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (range, step) = part.split_once(':').map_or((part, "1"), |(range, step)| (range, step));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&n| n < 1 << 16);
        let (first, last, step) = (number(first)?, number(last)?, number(step)?);
        if step == 0 || last < first {
            return None;
        }
        cpus.extend((first..=last).step_by(step));
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(parse("0,2"), Some(vec![0, 2]));
        assert_eq!(parse("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("1-7:3"), Some(vec![1, 4, 7]));
        for bad in ["", "x", "3-1", "0-3:0", "1,", "99999999999999999999"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
