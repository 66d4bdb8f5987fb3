//! `--check-system`: what of the machine's settings is known to slow a server down or to end it.

use std::fs;

/// How a check has ended.
enum Verdict {
    Fine,
    /// The system does not tell.
    Skipped,
    /// What is wrong, and what to do.
    Warning(String),
}

type Check = fn() -> Verdict;

/// Names of checks, which are Valkey's, and what does them.
const CHECKS: [(&str, Check); 4] = [
    ("slow-clocksource", slow_clock),
    ("xen-clocksource", xen_clock),
    ("overcommit", overcommit),
    ("THP", huge_pages),
];

/// Runs all checks and prints what they find. Returns whether nothing is wrong.
pub fn run() -> bool {
    let mut is_fine = true;
    for (name, check) in CHECKS {
        let text = match check() {
            Verdict::Fine => "OK".to_owned(),
            Verdict::Skipped => "skipped".to_owned(),
            Verdict::Warning(text) => {
                is_fine = false;
                format!("WARNING:\n{text}")
            }
        };
        println!("[{name}]...{text}");
    }
    is_fine
}

/// The first line of a file.
fn setting(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn slow_clock() -> Verdict {
    judge_clock(setting(CLOCK).as_deref())
}

fn judge_clock(name: Option<&str>) -> Verdict {
    /// Those that are read by a call to the kernel.
    const SLOW: [&str; 4] = ["acpi_pm", "hpet", "jiffies", "refined-jiffies"];
    match name {
        None => Verdict::Skipped,
        Some(name) if SLOW.contains(&name) => Verdict::Warning(format!(
            "The kernel reads the time from '{name}', which is slow. If the machine has another clock, such as 'tsc', write its name to \
             {CLOCK}."
        )),
        Some(_) => Verdict::Fine,
    }
}

fn xen_clock() -> Verdict {
    match setting(CLOCK).as_deref() {
        Some("xen") => Verdict::Warning(format!(
            "The kernel reads the time from 'xen', which is slow. Write 'tsc' to {CLOCK}."
        )),
        _ => Verdict::Fine,
    }
}

fn overcommit() -> Verdict {
    judge_overcommit(setting("/proc/sys/vm/overcommit_memory").as_deref())
}

fn judge_overcommit(mode: Option<&str>) -> Verdict {
    match mode {
        None => Verdict::Skipped,
        // Snapshots do not fork, so the other modes do no harm.
        Some("2") => Verdict::Warning(
            "The kernel does not overcommit memory (vm.overcommit_memory = 2). The allocator reserves more memory than it uses, so \
             allocations can fail long before the memory is full. Run 'sysctl vm.overcommit_memory=1', and add the line \
             'vm.overcommit_memory = 1' to /etc/sysctl.conf."
                .to_owned(),
        ),
        Some(_) => Verdict::Fine,
    }
}

/// The server switches them off for itself, unless `disable-thp no` is set.
fn huge_pages() -> Verdict {
    match setting("/sys/kernel/mm/transparent_hugepage/enabled") {
        None => Verdict::Skipped,
        Some(_) => Verdict::Fine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        assert!(matches!(judge_clock(None), Verdict::Skipped));
        assert!(matches!(judge_clock(Some("tsc")), Verdict::Fine));
        assert!(matches!(judge_clock(Some("hpet")), Verdict::Warning(text) if text.contains("'hpet'")));
        assert!(matches!(judge_overcommit(None), Verdict::Skipped));
        assert!(matches!(judge_overcommit(Some("0")), Verdict::Fine));
        assert!(matches!(judge_overcommit(Some("1")), Verdict::Fine));
        assert!(matches!(judge_overcommit(Some("2")), Verdict::Warning(text) if text.contains("sysctl")));
    }
}
