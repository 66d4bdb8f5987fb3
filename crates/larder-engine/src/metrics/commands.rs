//! What commands have cost, and which errors there were.

use super::page::{Page, Type};
use crate::command::table::table;
use crate::engine::Engine;
use crate::stats::histogram::Summary;

/// Upper limits of the buckets, in microseconds: powers of two from one to 2^24 (16.8 s). The buckets of the
/// histogram that each thread records into end elsewhere: a value counts as the end of its bucket there,
/// which is at most a sixteenth more.
pub(super) const BUCKETS_US: [u64; 25] = {
    let mut limits = [1; 25];
    let mut at = 1;
    while at < limits.len() {
        limits[at] = limits[at - 1] * 2;
        at += 1;
    }
    limits
};

/// The sums of one command over all threads.
struct Sums {
    name: String,
    calls: u64,
    nanos: u64,
    rejected: u64,
    failed: u64,
    latencies: Summary,
}

pub(super) fn commands(engine: &Engine, page: &mut Page<'_>) {
    let all = sums(engine);
    let each = |pick: fn(&Sums) -> u64| all.iter().map(move |sums| (&sums.name, pick(sums)));
    page.by("commands_total", (Type::Counter, "Commands executed."), "command", each(|sums| sums.calls));
    page.by(
        "commands_rejected_total",
        (Type::Counter, "Commands refused before they were executed."),
        "command",
        each(|sums| sums.rejected),
    );
    page.by(
        "commands_failed_total",
        (Type::Counter, "Commands answered with an error."),
        "command",
        each(|sums| sums.failed),
    );
    const DURATION: &str = "command_duration_seconds";
    page.family(DURATION, Type::Histogram, "Execution time of commands.");
    for sums in all.iter().filter(|sums| sums.latencies.total() > 0) {
        durations(sums, page);
    }
}

fn durations(sums: &Sums, page: &mut Page<'_>) {
    let name = ("command", sums.name.as_str());
    for limit_us in BUCKETS_US {
        let limit = (limit_us as f64 / 1e6).to_string();
        let count = sums.latencies.up_to(limit_us * 1000);
        page.sample("command_duration_seconds_bucket", &[name, ("le", &limit)], count);
    }
    let total = sums.latencies.total();
    page.sample("command_duration_seconds_bucket", &[name, ("le", "+Inf")], total);
    page.sample("command_duration_seconds_sum", &[name], sums.nanos as f64 / 1e9);
    page.sample("command_duration_seconds_count", &[name], total);
}

/// The number of executions by their time: those that took up to each of [`BUCKETS_US`], the last with all that took longer.
pub(super) fn times(engine: &Engine) -> [u64; BUCKETS_US.len()] {
    let mut all = Summary::default();
    engine.each_stats(|stats| {
        stats.commands.iter().filter_map(|stats| stats.latencies()).for_each(|histogram| all.add(histogram));
    });
    let mut below = 0;
    let mut rows = BUCKETS_US.map(|limit_us| {
        let up_to = all.up_to(limit_us * 1000);
        up_to - std::mem::replace(&mut below, up_to)
    });
    rows[rows.len() - 1] += all.total() - below;
    rows
}

/// Of all commands that were ever called or refused.
fn sums(engine: &Engine) -> Vec<Sums> {
    let sum = |id: u16, name: String| {
        let (calls, nanos, rejected, failed, latencies) = (0, 0, 0, 0, Summary::default());
        let mut sums = Sums { name, calls, nanos, rejected, failed, latencies };
        engine.each_stats(|stats| {
            let stats = &stats.commands[usize::from(id)];
            sums.calls += stats.calls.get();
            sums.nanos += stats.nanos.get();
            sums.rejected += stats.rejected.get();
            sums.failed += stats.failed.get();
            if let Some(histogram) = stats.latencies() {
                sums.latencies.add(histogram);
            }
        });
        sums
    };
    let all = table().all().iter().map(|found| sum(found.id, found.full_name().to_string()));
    all.filter(|sums| sums.calls + sums.rejected + sums.failed > 0).collect()
}

pub(super) fn errors(engine: &Engine, page: &mut Page<'_>) {
    page.by(
        "errors_total",
        (Type::Counter, "Error replies, by their first word."),
        "error",
        engine.errors.snapshot(),
    );
}
