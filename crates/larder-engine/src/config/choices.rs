//! Options that are one of several names, as enumerations. Each has its names here; the table of options takes them.

use super::kind::Names;
use crate::host::{LogLevel, ShutdownFlags};

/// An option that is one of several names.
pub trait Choice: Copy + PartialEq {
    /// The names with their numbers; the first name of a number is the one shown.
    const NAMES: &'static [(&'static str, i64)];

    /// The choice of a number that [`Choice::NAMES`] has. Panics on others.
    fn of(number: i64) -> Self;
}

macro_rules! choices {
    ($($(#[$doc:meta])* $choice:ident {
        $($(#[$about:meta])* $variant:ident = $number:literal: $($name:literal)|+,)+
    })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $choice {
            $($(#[$about])* $variant = $number,)+
        }

        impl Choice for $choice {
            const NAMES: Names = &[$($(($name, $number),)+)+];

            #[inline]
            fn of(number: i64) -> Self {
                match number {
                    $($number => $choice::$variant,)+
                    other => unreachable!("no choice has the number {other}"),
                }
            }
        }
    )+};
}

choices! {
    /// `acl-pubsub-default`: the channels of new users.
    AclPubsubDefault {
        /// All.
        AllChannels = 1: "allchannels",
        /// None.
        ResetChannels = 0: "resetchannels",
    }

    /// `appendfsync`: when the append-only file is synced.
    AppendFsync {
        /// Once a second.
        EverySecond = 2: "everysec",
        /// Before every reply.
        Always = 1: "always",
        /// When the kernel sees fit.
        Never = 0: "no",
    }

    /// `tls-auth-clients`: whether clients are asked for a certificate.
    TlsAuthClients {
        /// They are not.
        No = 0: "no",
        /// They must send one that the authorities vouch for.
        Yes = 1: "yes",
        /// They may send none; one that is sent is verified.
        Optional = 2: "optional",
    }

    /// `tls-auth-clients-user`: what part of a certificate names the user of its connection.
    TlsUserField {
        /// The common name of the subject.
        CommonName = 0: "CN",
        /// The URIs among the alternative names of the subject.
        Uri = 1: "URI",
        /// None: clients say who they are by commands.
        Off = 2: "off",
    }

    /// `list-compress-codec`: how blocks within a list are compressed.
    ListCompressCodec {
        /// LZF.
        Lzf = 0: "lzf",
        /// LZ4.
        Lz4 = 1: "lz4",
        /// Zstandard.
        Zstd = 2: "zstd",
    }

    /// `log-format`: the form of lines in the log.
    LogFormat {
        /// `pid:role date mark message`.
        Legacy = 0: "legacy",
        /// `pid=1 role=primary ...`.
        Logfmt = 1: "logfmt",
        /// An object a line.
        Json = 2: "json",
    }

    /// `log-timestamp-format`: the form of times in the log.
    LogTimestampFormat {
        /// `21 Nov 2026 08:00:00.123`.
        Legacy = 0: "legacy",
        /// `2026-11-21T08:00:00.123+01:00`.
        Iso8601 = 1: "iso8601",
        /// Milliseconds since 1970.
        Milliseconds = 2: "milliseconds",
    }

    /// `loglevel`: which lines the log has.
    LogThreshold {
        /// All.
        Debug = 0: "debug",
        /// Those of this level and above.
        Verbose = 1: "verbose",
        /// Those of this level and above.
        Notice = 2: "notice",
        /// Those of this level.
        Warning = 3: "warning",
        /// None.
        Nothing = 4: "nothing",
    }

    /// `maxmemory-policy`: what is evicted, and in which order.
    MaxmemoryPolicy {
        /// Of the keys that expire, those that were not used for longest.
        VolatileLru = 0: "volatile-lru",
        /// Of the keys that expire, those that are used least often.
        VolatileLfu = 1: "volatile-lfu",
        /// Any keys that expire.
        VolatileRandom = 2: "volatile-random",
        /// Of the keys that expire, those that do so soonest.
        VolatileTtl = 3: "volatile-ttl",
        /// Keys that were not used for longest.
        AllkeysLru = 4: "allkeys-lru",
        /// Keys that are used least often.
        AllkeysLfu = 5: "allkeys-lfu",
        /// Any keys.
        AllkeysRandom = 6: "allkeys-random",
        /// None.
        NoEviction = 7: "noeviction",
    }

    /// `oom-score-adj`: what score the process gives itself.
    OomScoreAdj {
        /// The one that it was started with.
        No = 0: "no",
        /// One on top of that.
        Relative = 1: "yes" | "relative",
        /// One by itself.
        Absolute = 2: "absolute",
    }

    /// `enable-debug-command` and its like: who may do something.
    Permission {
        /// Nobody.
        No = 0: "no",
        /// Everybody.
        Yes = 1: "yes",
        /// Clients of this machine.
        Local = 2: "local",
    }

    /// `propagation-error-behavior`: what happens when a command of a file or of the primary fails.
    PropagationErrorBehavior {
        /// It is noted in the log.
        Ignore = 0: "ignore",
        /// It ends the server.
        Panic = 1: "panic",
        /// It ends replicas.
        PanicOnReplicas = 2: "panic-on-replicas",
    }

    /// `repl-diskless-load`: how a snapshot of the primary is loaded.
    DisklessLoad {
        /// From a file.
        Disabled = 0: "disabled",
        /// As it comes, if there is no data that would be lost; else from a file.
        OnEmptyDb = 1: "on-empty-db",
        /// As it comes, aside; the data there is stays until then.
        SwapDb = 2: "swapdb",
        /// As it comes, in the place of the data there is.
        FlushBeforeLoad = 3: "flush-before-load",
    }

    /// `repl-compression`: how a primary is to compress what it sends.
    #[derive(Default)]
    LinkCompression {
        /// Not at all.
        #[default]
        No = 0: "no",
        /// By LZ4: little work.
        Lz4 = 1: "lz4",
        /// By Zstandard: fewer bytes.
        Zstd = 2: "zstd",
    }

    /// `rdb-version-check`: which versions of files and payloads are read.
    RdbVersionCheck {
        /// Those that are known whole.
        Strict = 0: "strict",
        /// Others as well.
        Relaxed = 1: "relaxed",
    }

    /// `supervised`: who supervises the process.
    Supervised {
        /// upstart.
        Upstart = 3: "upstart",
        /// systemd.
        Systemd = 2: "systemd",
        /// Whoever shows in the environment.
        Auto = 1: "auto",
        /// Nobody.
        No = 0: "no",
    }
}

impl LogThreshold {
    /// Whether lines of a level are in the log.
    pub fn admits(self, level: LogLevel) -> bool {
        level as i64 >= self as i64
    }
}

impl MaxmemoryPolicy {
    /// Whether it asks how often keys are used.
    #[inline]
    pub fn is_lfu(self) -> bool {
        matches!(self, MaxmemoryPolicy::VolatileLfu | MaxmemoryPolicy::AllkeysLfu)
    }

    /// Whether it asks when keys were used.
    #[inline]
    pub fn is_lru(self) -> bool {
        matches!(self, MaxmemoryPolicy::VolatileLru | MaxmemoryPolicy::AllkeysLru)
    }
}

const NOSAVE: i64 = 1;
const SAVE: i64 = 2;
const NOW: i64 = 4;
const FORCE: i64 = 8;
const SAFE: i64 = 16;
const FAILOVER: i64 = 32;

/// The names of `shutdown-on-sigint` and `shutdown-on-sigterm`, any number of which may be given.
pub(super) const SHUTDOWN: Names = &[
    ("default", 0),
    ("save", SAVE),
    ("nosave", NOSAVE),
    ("now", NOW),
    ("force", FORCE),
    ("safe", SAFE),
    ("failover", FAILOVER),
];

/// What those names ask for, by their bits.
pub(super) fn shutdown_flags(bits: i64) -> ShutdownFlags {
    let has = |bit: i64| bits & bit != 0;
    ShutdownFlags {
        save: has(SAVE),
        nosave: has(NOSAVE),
        now: has(NOW),
        force: has(FORCE),
        safe: has(SAFE),
        failover: has(FAILOVER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_choose() {
        for (name, number) in AppendFsync::NAMES {
            let by_name = match *name {
                "everysec" => AppendFsync::EverySecond,
                "always" => AppendFsync::Always,
                _ => AppendFsync::Never,
            };
            assert_eq!(AppendFsync::of(*number), by_name);
        }
        assert_eq!(OomScoreAdj::NAMES, [("no", 0), ("yes", 1), ("relative", 1), ("absolute", 2)]);
    }

    #[test]
    fn a_threshold_admits_levels_from_its_own_on() {
        let admitted = |threshold: LogThreshold| {
            let levels = [LogLevel::Debug, LogLevel::Verbose, LogLevel::Notice, LogLevel::Warning];
            levels.into_iter().filter(|&level| threshold.admits(level)).count()
        };
        assert_eq!(admitted(LogThreshold::Debug), 4);
        assert_eq!(admitted(LogThreshold::Warning), 1);
        assert_eq!(admitted(LogThreshold::Nothing), 0);
    }
}
