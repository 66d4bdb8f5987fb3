//! LATENCY: spikes and distributions.

use crate::command::table::table;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::stats::histogram::Summary;
use crate::stats::latency::Spikes;
use larder_resp::Args;
use std::fmt::Write;

pub(super) fn latest(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let events = context.engine.latency.snapshot();
    context.reply.array(events.len());
    for (event, spikes) in events {
        let (time, ms) = spikes.history.back().copied().unwrap_or_default();
        context.reply.array(6);
        context.reply.bulk(event.as_bytes());
        for number in [time, ms, spikes.worst_ms, spikes.sum_ms, spikes.count] {
            context.reply.int(number as i64);
        }
    }
    Ok(())
}

pub(super) fn history(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let spikes = context.engine.latency.find(&args[2]).unwrap_or_default();
    context.reply.array(spikes.history.len());
    for (time, ms) in spikes.history {
        context.reply.array(2);
        for number in [time, ms] {
            context.reply.int(number as i64);
        }
    }
    Ok(())
}

pub(super) fn reset(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let events: Vec<&[u8]> = args.from(2).iter().collect();
    let forgotten = context.engine.latency.reset(&events);
    context.reply.count(forgotten);
    Ok(())
}

pub(super) fn graph(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let spikes = context.engine.latency.find(&args[2]).filter(|spikes| !spikes.history.is_empty());
    let Some(spikes) = spikes else {
        let event = String::from_utf8_lossy(&args[2]);
        return Err(CommandError::text(format!("ERR No samples available for event '{event}'")));
    };
    let name = String::from_utf8_lossy(&args[2]).to_lowercase();
    let text = draw(&name, &spikes, context.now_ms() / 1000);
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

/// One column a spike, four rows high, with the age of each below, written downwards.
fn draw(name: &str, spikes: &Spikes, now_s: u64) -> String {
    const LEVELS: [char; 4] = ['_', 'o', '#', '|'];
    let values: Vec<u64> = spikes.history.iter().map(|(_, ms)| *ms).collect();
    let (low, high) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    let mut text = format!("{name} - high {high} ms, low {low} ms (all time high {} ms)\n", spikes.worst_ms);
    let _ = writeln!(text, "{}", "-".repeat(80));
    let level = |ms: u64| ((ms - low) * 3).checked_div(high - low).unwrap_or(0) as usize;
    for row in (0..LEVELS.len()).rev() {
        text.extend(values.iter().map(|&ms| if level(ms) == row { LEVELS[row] } else { ' ' }));
        text.push('\n');
    }
    text.push('\n');
    let ages: Vec<String> = spikes.history.iter().map(|(time, _)| age(now_s.saturating_sub(*time))).collect();
    for row in 0..ages.iter().map(String::len).max().unwrap_or(0) {
        text.extend(ages.iter().map(|age| age.chars().nth(row).unwrap_or(' ')));
        text.push('\n');
    }
    text
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}

pub(super) fn doctor(context: &mut Context<'_>, _args: Args<'_>) -> CommandResult {
    let events = context.engine.latency.snapshot();
    let threshold = context.engine.config.get("latency-monitor-threshold").unwrap_or_default();
    let text = match (threshold.as_str(), events.is_empty()) {
        ("0", true) => {
            "Latency monitoring is off. CONFIG SET latency-monitor-threshold <milliseconds> turns it on.\n"
                .to_owned()
        }
        (_, true) => "No latency spike was seen since the monitoring began or was reset.\n".to_owned(),
        _ => report(&events),
    };
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn report(events: &[(&str, Spikes)]) -> String {
    let mut text = String::from("Latency spikes by event:\n\n");
    for (event, spikes) in events {
        let count = spikes.history.len() as u64;
        let sum: u64 = spikes.history.iter().map(|(_, ms)| ms).sum();
        let average = sum / count.max(1);
        let _ = writeln!(
            text,
            "- {event}: {count} spikes, {average} ms on average, {} ms at worst.",
            spikes.worst_ms
        );
        let _ = writeln!(text, "  {}", advice(event));
    }
    text
}

fn advice(event: &str) -> &'static str {
    match event {
        "command" => {
            "SLOWLOG GET names the slow commands; those that walk whole collections are the usual cause."
        }
        "fast-command" => "Commands that never take long did: the machine was busy, paused or swapping.",
        "expire-cycle" => {
            "Many keys expire at once; spread their times to live, or lower active-expire-effort."
        }
        _ => "See the documentation of the latency monitor for this event.",
    }
}

pub(super) fn histogram(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let wanted: Vec<&[u8]> = args.from(2).iter().collect();
    let mut rows = Vec::new();
    for found in table().all() {
        let name = found.full_name();
        let asked = |w: &&[u8]| {
            w.eq_ignore_ascii_case(name.as_bytes())
                || found.parent.is_some_and(|p| w.eq_ignore_ascii_case(p.name.as_bytes()))
        };
        if !wanted.is_empty() && !wanted.iter().any(asked) {
            continue;
        }
        let summary = summary(context, found.id);
        if summary.total() > 0 {
            rows.push((name, summary));
        }
    }
    write_histograms(context, &rows);
    Ok(())
}

/// The latencies of a command over all threads.
pub(super) fn summary(context: &Context<'_>, id: u16) -> Summary {
    let mut summary = Summary::default();
    context.engine.each_stats(|stats| {
        if let Some(histogram) = stats.commands[usize::from(id)].latencies() {
            summary.add(histogram);
        }
    });
    summary
}

fn write_histograms(context: &mut Context<'_>, rows: &[(String, Summary)]) {
    let reply = &mut context.reply;
    reply.map(rows.len());
    for (name, summary) in rows {
        reply.bulk(name.as_bytes());
        reply.map(2);
        reply.bulk(b"calls");
        reply.int(summary.total() as i64);
        reply.bulk(b"histogram_usec");
        let steps = summary.cumulative_us();
        reply.map(steps.len());
        for (limit, count) in steps {
            reply.int(limit as i64);
            reply.int(count as i64);
        }
    }
}

pub(super) fn help(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    context.reply.help(
        &args[0],
        &[
            "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            "DOCTOR",
            "    Explain the latency spikes seen, in words.",
            "GRAPH <event>",
            "    Draw the latency spikes of an event.",
            "HISTORY <event>",
            "    Return the times and latencies of the spikes of an event.",
            "LATEST",
            "    Return the latest spike of every event.",
            "RESET [<event> ...]",
            "    Forget the spikes of the events named, or of all.",
            "HISTOGRAM [COMMAND ...]",
            "    Return the distribution of latencies of the commands named, or of all.",
            "HELP",
            "    Print this help.",
        ],
    );
    Ok(())
}
