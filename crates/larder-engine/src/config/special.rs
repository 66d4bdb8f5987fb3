//! Options with a grammar of their own.

use super::error::OptionError;
use super::number;

/// Which grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// Up to 16 addresses.
    Bind,
    /// A directory; whether it exists is the server's business.
    Dir,
    /// `class hard soft seconds`, any number of times; classes that are not named keep what they have.
    OutputLimits,
    /// Letters, see [`notify`](super::notify).
    Notify,
    /// Three numbers.
    OomScores,
    /// Numbers from 0 to 100.
    Percentiles,
    /// `host port`, or `no one`.
    ReplicaOf,
    /// Pairs of seconds and changes.
    Save,
}

/// Names of the classes of `client-output-buffer-limit`, in the order shown.
pub(super) const CLASSES: [&str; 3] = ["normal", "slave", "pubsub"];

const BIND_ADDRESSES_MAX: usize = 16;

impl Special {
    pub(super) fn is_multi_arg(self) -> bool {
        !matches!(self, Special::Dir | Special::Notify)
    }
}

/// The canonical text of `args`.
pub(super) fn canonical(special: Special, args: &[&str], present: &str) -> Result<String, OptionError> {
    match special {
        Special::Bind => bind(args),
        Special::Dir => match args {
            [""] => Err(OptionError::Empty("dir")),
            [dir] => Ok((*dir).to_owned()),
            _ => Err(OptionError::WrongCount),
        },
        Special::OutputLimits => output_limits(args, present),
        Special::Notify => notify(args),
        Special::OomScores => oom_scores(args),
        Special::Percentiles => percentiles(args),
        Special::ReplicaOf => replica_of(args),
        Special::Save => save(args),
    }
}

/// The twelve words of a canonical `client-output-buffer-limit`, as `[hard, soft, seconds]` per class.
pub(super) fn limits_of(canonical: &str) -> [[u64; 3]; 3] {
    let mut limits = [[0; 3]; 3];
    let numbers = canonical.split(' ').filter_map(|word| word.parse().ok());
    for (slot, number) in limits.iter_mut().flatten().zip(numbers) {
        *slot = number;
    }
    limits
}

fn bind(args: &[&str]) -> Result<String, OptionError> {
    if args.len() > BIND_ADDRESSES_MAX {
        return Err(OptionError::TooManyAddresses);
    }
    Ok(args.join(" "))
}

fn save(args: &[&str]) -> Result<String, OptionError> {
    let args = if args == [""] { &[] } else { args };
    let valid = |(i, arg): (usize, &&str)| number::parse_lenient(arg).is_some_and(|n| n >= [1, 0][i & 1]);
    if !args.len().is_multiple_of(2) || !args.iter().enumerate().all(valid) {
        return Err(OptionError::SavePoints);
    }
    Ok(args.join(" "))
}

fn output_limits(args: &[&str], present: &str) -> Result<String, OptionError> {
    if !args.len().is_multiple_of(4) {
        return Err(OptionError::OutputLimitCount);
    }
    let mut limits = limits_of(present);
    for group in args.chunks(4) {
        let class = class_index(group[0]).ok_or(OptionError::OutputLimitClass)?;
        limits[class] = one_limit(&group[1..]).ok_or(OptionError::OutputLimitNumber)?;
    }
    let shown = CLASSES.iter().zip(limits).map(|(class, [h, s, t])| format!("{class} {h} {s} {t}"));
    Ok(shown.collect::<Vec<_>>().join(" "))
}

fn class_index(name: &str) -> Option<usize> {
    match name.to_ascii_lowercase().as_str() {
        "normal" => Some(0),
        "slave" | "replica" => Some(1),
        "pubsub" => Some(2),
        _ => None,
    }
}

fn one_limit(args: &[&str]) -> Option<[u64; 3]> {
    let seconds = number::parse_lenient(args.get(2)?)?;
    Some([
        number::parse_memory(args.first()?)?,
        number::parse_memory(args.get(1)?)?,
        u64::try_from(seconds).ok().filter(|&seconds| seconds <= i32::MAX as u64)?,
    ])
}

fn notify(args: &[&str]) -> Result<String, OptionError> {
    let [letters] = args else { return Err(OptionError::WrongCount) };
    super::notify::parse(letters).map(super::notify::show).ok_or(OptionError::EventClass)
}

fn oom_scores(args: &[&str]) -> Result<String, OptionError> {
    if args.len() != 3 {
        return Err(OptionError::WrongCount);
    }
    let scores: Option<Vec<i64>> = args.iter().map(|arg| number::parse_lenient(arg)).collect();
    match scores {
        Some(scores) if scores.iter().all(|n| (-2000..=2000).contains(n)) => {
            Ok(scores.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        }
        _ => Err(OptionError::OomScores),
    }
}

fn percentiles(args: &[&str]) -> Result<String, OptionError> {
    let args = if args == [""] { &[] } else { args };
    let numbers: Result<Vec<f64>, _> = args.iter().map(|arg| arg.parse::<f64>()).collect();
    let numbers = numbers.map_err(|_| OptionError::PercentileNumber)?;
    if !numbers.iter().all(|n| (0.0..=100.0).contains(n)) {
        return Err(OptionError::PercentileRange);
    }
    Ok(numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
}

fn replica_of(args: &[&str]) -> Result<String, OptionError> {
    let [host, port] = args else { return Err(OptionError::WrongCount) };
    if host.eq_ignore_ascii_case("no") && port.eq_ignore_ascii_case("one") {
        return Ok(String::new());
    }
    match port.parse::<u16>() {
        Ok(port) => Ok(format!("{host} {port}")),
        Err(_) => Err(OptionError::PrimaryPort),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_limits_change_in_part() {
        let present = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60";
        let args = ["replica", "1kb", "2", "3", "pubsub", "0", "0", "0"];
        let changed = canonical(Special::OutputLimits, &args, present).unwrap();
        assert_eq!(changed, "normal 0 0 0 slave 1024 2 3 pubsub 0 0 0");
        assert_eq!(limits_of(&changed)[1], [1024, 2, 3]);
    }

    #[test]
    fn save_and_replica_of() {
        assert_eq!(canonical(Special::Save, &[""], ""), Ok(String::new()));
        assert_eq!(canonical(Special::Save, &["10", "1"], ""), Ok("10 1".into()));
        assert!(canonical(Special::Save, &["0", "1"], "").is_err());
        assert_eq!(canonical(Special::ReplicaOf, &["NO", "one"], "a 1"), Ok(String::new()));
    }
}
