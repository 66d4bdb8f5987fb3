//! Configuration: every option, its value, and the ways to read and change it. Pure: no files, no sockets; what
//! changes in the world when an option changes is the caller's business (`apply`).
//!
//! A value is kept as one canonical text, what CONFIG GET shows (230 short strings under a lock). Options that
//! commands read all the time are also published as atomics in [`Hot`], so that no command takes the lock.
//!
//! Invariants:
//! - I1: every stored text is what `Kind::canonical` makes of itself.
//! - I2: every hot value is `Kind::value` of its stored text, except between the two stores of one change.
//!
//! Tested below each file and side by side with Valkey in `crates/larder-server/tests/config_differential.rs`.

mod choices;
mod cli;
#[cfg(test)]
mod documented;
mod error;
mod hot;
mod kind;
mod load;
mod nearest;
pub mod notify;
mod number;
mod pages;
mod rewrite;
mod special;
mod table;
#[cfg(test)]
mod tests;

pub use choices::{
    AclPubsubDefault, AppendFsync, Choice, DisklessLoad, LinkCompression, ListCompressCodec, LogFormat,
    LogThreshold, LogTimestampFormat, MaxmemoryPolicy, OomScoreAdj, Permission, PropagationErrorBehavior,
    RdbVersionCheck, Supervised, TlsAuthClients, TlsUserField,
};
pub use cli::CommandLine;
pub use error::{ConfigError, OptionError, Refusal};
pub use hot::{Hot, HotChoice, OutputLimit};
pub use load::{ConfigText, FatalConfig, FatalHeading, Include, LineError, Place, Source};
pub use nearest::nearest_name;
pub(crate) use number::parse_memory;
pub use pages::{
    bash_completion, common_options, file_manual, fish_completion, options_page, packaged_file, sample_file,
    server_manual, zsh_completion,
};
pub use rewrite::quoted;

use crate::host::{ApplyError, ShutdownFlags};
use crate::version::Product;
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::Ordering::Relaxed;
use table::{Effect, OPTIONS, Opt, find};

/// The smallest replication backlog.
const REPL_BACKLOG_BYTES_MIN: i128 = 16 << 10;

/// The server's configuration. Shared by reference; every method takes `&self`.
pub struct Config {
    /// What is read all the time.
    pub hot: Hot,
    /// Canonical texts, by index in the table.
    values: RwLock<Vec<String>>,
    /// Held over a whole CONFIG SET, so that two of them cannot mix.
    changing: Mutex<()>,
    /// The default of `threads`.
    cores: usize,
    /// The default of `protected-mode`.
    is_protected: bool,
}

/// One pair of a CONFIG SET that passed the first checks.
struct Change<'a> {
    index: usize,
    /// The option's name or alias, as the table spells it.
    name: &'static str,
    value: &'a str,
}

impl Config {
    /// The defaults on a machine with `cores` cores.
    pub fn new(cores: usize) -> Config {
        let config = Config {
            hot: Hot::default(),
            values: RwLock::new(Vec::new()),
            changing: Mutex::new(()),
            cores: cores.clamp(1, 1024),
            is_protected: true,
        };
        *config.values.write() = (0..OPTIONS.len()).map(|i| config.default_of(i)).collect();
        (0..OPTIONS.len()).for_each(|i| config.publish(i));
        config.hot.active_expire_enabled.store(true, Relaxed);
        config
    }

    /// Sets the default of `protected-mode`, before any option is read: CONFIG REWRITE writes no line for it.
    #[must_use]
    pub fn with_protected_mode(mut self, is_on: bool) -> Config {
        self.is_protected = is_on;
        let (index, _) = find("protected-mode").expect("an option of the table");
        self.store(index, self.default_of(index));
        self
    }

    /// The text of option `name` (or alias, in any letter case) as CONFIG GET shows it.
    pub fn get(&self, name: &str) -> Option<String> {
        find(name).map(|(index, _)| self.text(index))
    }

    /// Like [`Config::get`] for an option that is known to exist; panics when it does not.
    pub fn value(&self, name: &str) -> String {
        self.get(name).unwrap_or_else(|| panic!("no option {name}"))
    }

    /// The number of an option that has one: an integer, bytes, 0 or 1, an enumeration's number. Panics on others.
    pub fn number(&self, name: &str) -> i64 {
        let (index, _) = find(name).unwrap_or_else(|| panic!("no option {name}"));
        let value = OPTIONS[index].kind.value(&self.text(index));
        value.unwrap_or_else(|| panic!("{name} has no number")) as i64
    }

    /// The port for plain connections, or else the one for TLS; 0 if there is none.
    pub fn first_port(&self) -> i64 {
        let ports = ["port", "tls-port"].map(|name| self.number(name));
        ports.into_iter().find(|port| *port != 0).unwrap_or(0)
    }

    /// The choice of an option that is one of several names. Panics on others.
    pub fn choice<T: Choice>(&self, name: &str) -> T {
        T::of(self.number(name))
    }

    /// What `shutdown-on-sigint` or `shutdown-on-sigterm` asks for.
    pub fn shutdown_flags(&self, name: &str) -> ShutdownFlags {
        choices::shutdown_flags(self.number(name))
    }

    /// The product that clients are told the server is.
    pub fn product(&self) -> Product {
        match self.hot.extended_redis_compatibility.load(Relaxed) {
            true => Product::Redis,
            false => Product::Valkey,
        }
    }

    /// Whether a yes/no option is yes.
    pub fn is_yes(&self, name: &str) -> bool {
        self.number(name) != 0
    }

    /// Names and texts of the options that CONFIG GET finds for `patterns`, each at most once per name, sorted. A name
    /// without glob characters is answered as it was spelled.
    pub fn get_matching(&self, patterns: &[&[u8]]) -> Vec<(String, String)> {
        let mut found: Vec<(String, usize)> = Vec::new();
        for pattern in patterns {
            if pattern.iter().any(|b| b"[*?".contains(b)) {
                for (index, name) in visible_names()
                    .filter(|(_, name)| crate::text::glob::matches_with(pattern, name.as_bytes(), true))
                {
                    push_new(&mut found, name.to_string(), index);
                }
            } else if let Some((spelled, (index, _))) =
                std::str::from_utf8(pattern).ok().and_then(|p| Some((p, find(p)?)))
            {
                push_new(&mut found, spelled.to_string(), index);
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(name, index)| (name, self.text(index))).collect()
    }

    /// Names and texts of the options that are not what they are by default.
    pub(crate) fn changed(&self) -> Vec<(&'static str, String)> {
        let texts = OPTIONS.iter().enumerate().map(|(index, opt)| (index, opt.name, self.text(index)));
        texts
            .filter(|(index, _, text)| *text != self.default_of(*index))
            .map(|(_, name, text)| (name, text))
            .collect()
    }

    /// Returns the summary of option `name`: empty for an option without effect, `None` for an unknown name.
    pub fn summary(name: &str) -> Option<&'static str> {
        find(name).map(|(index, _)| OPTIONS[index].summary)
    }

    /// Warnings for the log on options that are set to a value and have no effect.
    pub fn ignored(&self) -> Vec<String> {
        self.changed().iter().filter_map(|(name, _)| self.why_ignored(name)).collect()
    }

    /// The warning for an option that is set to a value and has no effect.
    pub fn why_ignored(&self, name: &str) -> Option<String> {
        let (index, name) = find(name)?;
        let (Effect::Ignored(why), value) = (OPTIONS[index].effect, self.text(index)) else { return None };
        (value != OPTIONS[index].default)
            .then(|| format!("The option '{name} {value}' has no effect: {why}."))
    }

    /// Whether CONFIG SET's arguments for `name` must be kept out of logs.
    pub fn is_sensitive(name: &[u8]) -> bool {
        std::str::from_utf8(name).ok().and_then(find).is_some_and(|(index, _)| OPTIONS[index].sensitive)
    }

    /// CONFIG SET: all of `pairs`, or none. `apply` is called for each option that changed or is volatile, with its primary name and
    /// new text, after all of them are stored; when it refuses, everything is put back (and applied back).
    /// `protected_allowed` says whether this client may change protected options.
    pub fn set_for(
        &self,
        pairs: &[(&[u8], &[u8])],
        protected_allowed: bool,
        mut apply: impl FnMut(&str, &str) -> Result<(), ApplyError>,
    ) -> Result<(), ConfigError> {
        let spelled: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| (lossy(name), lossy(value))).collect();
        let changes = check_names(&spelled, protected_allowed)?;
        let _changing = self.changing.lock();
        let before: Vec<String> = changes.iter().map(|change| self.text(change.index)).collect();
        let restore = |count: usize| {
            let olds = changes.iter().zip(&before).take(count);
            olds.rev().for_each(|(change, old)| self.store(change.index, old.clone()));
        };
        for (i, change) in changes.iter().enumerate() {
            if let Err(reason) = self.change(change) {
                restore(i);
                return Err(ConfigError::Invalid(change.name, reason));
            }
        }
        for (i, change) in changes.iter().enumerate() {
            let (name, new) = (OPTIONS[change.index].name, self.text(change.index));
            if new == before[i] && !OPTIONS[change.index].volatile {
                continue;
            }
            if let Err(reason) = apply(name, &new) {
                restore(changes.len());
                for (done, old) in changes.iter().zip(&before).take(i) {
                    // It accepted this very text before.
                    let _ = apply(OPTIONS[done.index].name, old);
                }
                return Err(ConfigError::NotApplied(change.name, reason));
            }
        }
        Ok(())
    }

    /// Runs `read` while no CONFIG SET is under way, for what depends on several options. It must not change any.
    pub fn between_changes<R>(&self, read: impl FnOnce() -> R) -> R {
        let _unchanged = self.changing.lock();
        read()
    }

    /// [`Config::set_for`] with protected options allowed only by `enable-protected-configs yes`.
    pub fn set(
        &self,
        pairs: &[(&[u8], &[u8])],
        apply: impl FnMut(&str, &str) -> Result<(), ApplyError>,
    ) -> Result<(), ConfigError> {
        let open = self.choice::<Permission>("enable-protected-configs") == Permission::Yes;
        self.set_for(pairs, open, apply)
    }

    /// Stores what the server itself found out (the directory's full path, a lowered `maxclients`, the bound port),
    /// with no regard to mutability. Panics on an unknown name.
    pub fn store_own(&self, name: &str, value: &str) -> Result<(), OptionError> {
        let (index, name) = find(name).unwrap_or_else(|| panic!("no option {name}"));
        self.change(&Change { index, name, value })
    }

    fn change(&self, change: &Change) -> Result<(), OptionError> {
        let opt = &OPTIONS[change.index];
        let args: Vec<&str> = match opt.kind.is_multi_arg() {
            true if change.value.is_empty() => Vec::new(),
            true => change.value.split(' ').collect(),
            // Names and paths end where C ends a string.
            false => match opt.kind {
                kind::Kind::Text(_) if !opt.any_byte => {
                    vec![change.value.split('\0').next().unwrap_or_default()]
                }
                _ => vec![change.value],
            },
        };
        self.store_args(change.index, &args)
    }

    fn store_args(&self, index: usize, args: &[&str]) -> Result<(), OptionError> {
        let opt = &OPTIONS[index];
        let text = opt.kind.canonical(args, &self.text(index))?;
        let text = rounded(opt, text);
        if let Effect::Absent(what) = opt.effect
            && text != opt.default
        {
            return Err(OptionError::Absent(what));
        }
        self.store(index, text);
        Ok(())
    }

    fn store(&self, index: usize, text: String) {
        self.values.write()[index] = text;
        self.publish(index);
    }

    /// Brings the hot value up to date with the stored text (I2).
    fn publish(&self, index: usize) {
        let (opt, text) = (&OPTIONS[index], self.text(index));
        if let (Some(slot), Some(value)) = (opt.slot, opt.kind.value(&text)) {
            slot.store(&self.hot, value);
        }
        if opt.name == "client-output-buffer-limit" {
            let limits = special::limits_of(&text);
            self.hot.output_limits.iter().zip(limits).for_each(|(cell, limit)| cell.store(limit));
        }
    }

    fn text(&self, index: usize) -> String {
        self.values.read()[index].clone()
    }

    fn default_of(&self, index: usize) -> String {
        match OPTIONS[index].name {
            "threads" => self.cores.to_string(),
            "protected-mode" if !self.is_protected => "no".to_owned(),
            _ => OPTIONS[index].default.to_string(),
        }
    }

    /// Panics when an invariant does not hold.
    pub fn check_invariants(&self) {
        for (index, opt) in OPTIONS.iter().enumerate() {
            let text = self.text(index);
            let args: Vec<&str> =
                if opt.kind.is_multi_arg() { text.split(' ').collect() } else { vec![&text] };
            if opt.name != "replicaof" || !text.is_empty() {
                assert_eq!(
                    opt.kind.canonical(&args, &text).as_deref(),
                    Ok(text.as_str()),
                    "I1: {}",
                    opt.name
                );
            }
        }
    }
}

/// Values that are accepted and moved into a narrower range.
fn rounded(opt: &Opt, text: String) -> String {
    let (min, max) = match opt.name {
        "hz" => (1, 500),
        "repl-backlog-size" => (REPL_BACKLOG_BYTES_MIN, i128::MAX),
        _ => return text,
    };
    opt.kind.value(&text).map_or(text, |n| n.clamp(min, max).to_string())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn visible_names() -> impl Iterator<Item = (usize, &'static str)> {
    let visible = OPTIONS.iter().enumerate().filter(|(_, opt)| !opt.hidden);
    visible.flat_map(|(index, opt)| opt.names().map(move |name| (index, name)))
}

fn push_new(found: &mut Vec<(String, usize)>, name: String, index: usize) {
    if !found.iter().any(|(n, _)| n.eq_ignore_ascii_case(&name)) {
        found.push((name, index));
    }
}

/// The checks that come before any value is looked at. The error is of the first name, in the order given,
/// that is unknown, may not be set, or occurs a second time.
fn check_names(pairs: &[(String, String)], protected_allowed: bool) -> Result<Vec<Change<'_>>, ConfigError> {
    let mut changes: Vec<Change> = Vec::with_capacity(pairs.len());
    for (spelled, value) in pairs {
        let Some((index, name)) = find(spelled) else {
            return Err(ConfigError::Unknown(spelled.clone()));
        };
        let is_repeated = changes.iter().any(|change| change.name == name);
        if let Some(refusal) = refusal(&OPTIONS[index], protected_allowed, is_repeated) {
            return Err(ConfigError::Refused(spelled.clone(), refusal));
        }
        changes.push(Change { index, name, value });
    }
    Ok(changes)
}

fn refusal(opt: &Opt, protected_allowed: bool, is_repeated: bool) -> Option<Refusal> {
    if opt.immutable {
        Some(Refusal::Immutable)
    } else if opt.protected && !protected_allowed {
        Some(Refusal::Protected)
    } else {
        is_repeated.then_some(Refusal::Duplicate)
    }
}
