//! What the kernel knows of a process.

use std::fs;

/// Ticks a second of the times in /proc; 100 on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Resident memory of a process in bytes.
pub fn rss_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Processor time of a process, in seconds, to 10 ms.
pub fn cpu_seconds(pid: u32) -> f64 {
    ticks(&format!("/proc/{pid}/stat"))
}

/// Processor time of each thread of a process, with its name, in seconds, to 1 ns where the kernel tells.
pub fn thread_cpu_seconds(pid: u32) -> Vec<(String, f64)> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let one = |task: fs::DirEntry| {
        let path = task.path();
        let name = fs::read_to_string(path.join("comm")).unwrap_or_default().trim().to_owned();
        let exact = fs::read_to_string(path.join("schedstat")).ok();
        let nanos = exact.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
        (name, nanos.map_or_else(|| ticks(&path.join("stat").to_string_lossy()), |nanos| nanos / 1e9))
    };
    tasks.flatten().map(one).collect()
}

/// Whether a signal has stopped all threads of a process.
pub fn is_stopped(pid: u32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    tasks.flatten().all(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        fields_after_name(&stat).first() == Some(&"T")
    })
}

/// The fields of a stat file after the name. It is in brackets and may contain blanks; they do not.
fn fields_after_name(stat: &str) -> Vec<&str> {
    stat.rsplit(')').next().unwrap_or("").split_whitespace().collect()
}

/// User and system time from a stat file.
fn ticks(path: &str) -> f64 {
    let stat = fs::read_to_string(path).unwrap_or_default();
    let fields = fields_after_name(&stat);
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (field(11) + field(12)) / TICKS_PER_SECOND
}
