//! What a command is: one `Command` in the table of its family says all that dispatch, locking, COMMAND INFO,
//! COMMAND DOCS and access control need to know.

use crate::command::key_finders::KeyFinder;
use std::ops::Deref;

/// Bits of [`Command::flags`], named as COMMAND INFO prints them.
#[expect(
    missing_docs,
    reason = "each constant is the field's own name for the flag that COMMAND INFO prints"
)]
pub mod flags {
    pub const NONE: u32 = 0;
    pub const WRITE: u32 = 1;
    pub const READONLY: u32 = 1 << 1;
    pub const DENYOOM: u32 = 1 << 2;
    pub const ADMIN: u32 = 1 << 3;
    pub const PUBSUB: u32 = 1 << 4;
    pub const NOSCRIPT: u32 = 1 << 5;
    pub const BLOCKING: u32 = 1 << 6;
    pub const LOADING: u32 = 1 << 7;
    pub const STALE: u32 = 1 << 8;
    pub const SKIP_MONITOR: u32 = 1 << 9;
    pub const SKIP_COMMANDLOG: u32 = 1 << 10;
    pub const ASKING: u32 = 1 << 11;
    pub const FAST: u32 = 1 << 12;
    pub const NO_AUTH: u32 = 1 << 13;
    pub const MAY_REPLICATE: u32 = 1 << 14;
    pub const NO_MANDATORY_KEYS: u32 = 1 << 15;
    pub const PROTECTED: u32 = 1 << 16;
    pub const NO_ASYNC_LOADING: u32 = 1 << 17;
    pub const NO_MULTI: u32 = 1 << 18;
    pub const ALLOW_BUSY: u32 = 1 << 19;
    pub const ALL_DBS: u32 = 1 << 20;
    pub const TOUCHES_ARBITRARY_KEYS: u32 = 1 << 21;

    /// The names that COMMAND INFO prints, in its order. It does not tell of the others.
    pub const NAMES: &[(u32, &str)] = &[
        (WRITE, "write"),
        (READONLY, "readonly"),
        (DENYOOM, "denyoom"),
        (ADMIN, "admin"),
        (PUBSUB, "pubsub"),
        (NOSCRIPT, "noscript"),
        (BLOCKING, "blocking"),
        (LOADING, "loading"),
        (STALE, "stale"),
        (SKIP_MONITOR, "skip_monitor"),
        (SKIP_COMMANDLOG, "skip_commandlog"),
        (ASKING, "asking"),
        (FAST, "fast"),
        (NO_AUTH, "no_auth"),
        (NO_MANDATORY_KEYS, "no_mandatory_keys"),
        (NO_ASYNC_LOADING, "no_async_loading"),
        (NO_MULTI, "no_multi"),
        (ALLOW_BUSY, "allow_busy"),
    ];
}

/// The group that documentation lists a command under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the field's own group names")]
pub enum Group {
    Bitmap,
    Cluster,
    Connection,
    Generic,
    Geo,
    Hash,
    HyperLogLog,
    List,
    PubSub,
    Scripting,
    Server,
    Set,
    SortedSet,
    Stream,
    String,
    Transactions,
}

impl Group {
    /// The name that COMMAND DOCS prints.
    pub fn name(self) -> &'static str {
        match self {
            Group::Bitmap => "bitmap",
            Group::Cluster => "cluster",
            Group::Connection => "connection",
            Group::Generic => "generic",
            Group::Geo => "geo",
            Group::Hash => "hash",
            Group::HyperLogLog => "hyperloglog",
            Group::List => "list",
            Group::PubSub => "pubsub",
            Group::Scripting => "scripting",
            Group::Server => "server",
            Group::Set => "set",
            Group::SortedSet => "sorted-set",
            Group::Stream => "stream",
            Group::String => "string",
            Group::Transactions => "transactions",
        }
    }
}

/// Which shards must be locked while the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// None: no data is touched, or the command locks the shards itself, as MIGRATE does.
    None,
    /// The shards of the command's keys.
    Keys,
    /// Any shard, one after the other: each is locked for itself, unless a transaction holds them all.
    Walk,
    /// All shards together.
    All,
    /// The shards of the queued commands and of the watched keys.
    Exec,
    /// Those of the declared keys, and any other when the script asks for it.
    Script,
    /// Those of the key to sort and of the destination; all shards together when patterns name other keys.
    Sort,
}

/// Where the keys begin among the arguments.
#[derive(Clone, Copy, Debug)]
pub enum Begin {
    /// At this argument.
    Index(i32),
    /// After the word, looked for from this argument on (from the end when negative).
    Keyword {
        /// The word.
        word: &'static str,
        /// Where to start looking.
        from: i32,
    },
    /// Only the handler knows.
    Unknown,
}

/// How the keys go on from where they begin.
#[derive(Clone, Copy, Debug)]
pub enum Find {
    /// Every `step`-th argument up to `last`, relative to the first key; a negative `last` counts from the end, and
    /// `limit` above 1 divides the remaining arguments by it.
    Range {
        /// Offset of the last key.
        last: i32,
        /// Distance between keys.
        step: i32,
        /// Divisor of the remaining arguments, when `last` is -1.
        limit: i32,
    },
    /// A number of keys is given as an argument.
    KeyNum {
        /// Offset of the number.
        at: i32,
        /// Offset of the first key.
        first: i32,
        /// Distance between keys.
        step: i32,
    },
    /// Only the handler knows.
    Unknown,
}

/// One run of keys among the arguments.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Where they begin.
    pub begin: Begin,
    /// How they go on.
    pub find: Find,
    /// What is done with them, in the words of COMMAND INFO, upper case.
    pub flags: &'static str,
    /// A sentence about that; empty where the flags say all.
    pub notes: &'static str,
}

impl KeySpec {
    /// Whether the keys are removed.
    pub(crate) fn removes(&self) -> bool {
        self.flags.starts_with("RM")
    }

    /// Whether the keys are new ones.
    pub(crate) fn inserts(&self) -> bool {
        self.flags.ends_with("INSERT")
    }

    /// The same keys, with a sentence about what is done with them.
    pub const fn noting(self, notes: &'static str) -> KeySpec {
        KeySpec { notes, ..self }
    }

    /// Keys that only the handler knows.
    pub const fn unknown(flags: &'static str) -> KeySpec {
        KeySpec { begin: Begin::Unknown, find: Find::Unknown, flags, notes: "" }
    }

    /// One key, at this argument.
    pub const fn one(at: i32, flags: &'static str) -> KeySpec {
        KeySpec {
            begin: Begin::Index(at),
            find: Find::Range { last: 0, step: 1, limit: 0 },
            flags,
            notes: "",
        }
    }

    /// All arguments from this one on.
    pub const fn rest(at: i32, flags: &'static str) -> KeySpec {
        KeySpec {
            begin: Begin::Index(at),
            find: Find::Range { last: -1, step: 1, limit: 0 },
            flags,
            notes: "",
        }
    }

    /// All arguments from this one on but the last.
    pub const fn all_but_last(at: i32, flags: &'static str) -> KeySpec {
        KeySpec {
            begin: Begin::Index(at),
            find: Find::Range { last: -2, step: 1, limit: 0 },
            flags,
            notes: "",
        }
    }

    /// Keys and values in turn, from this argument on.
    pub const fn pairs(at: i32, flags: &'static str) -> KeySpec {
        KeySpec {
            begin: Begin::Index(at),
            find: Find::Range { last: -1, step: 2, limit: 0 },
            flags,
            notes: "",
        }
    }

    /// This argument is the number of the keys that follow it.
    pub const fn numkeys(at: i32, flags: &'static str) -> KeySpec {
        KeySpec { begin: Begin::Index(at), find: Find::KeyNum { at: 0, first: 1, step: 1 }, flags, notes: "" }
    }

    /// One key after a word, which is looked for from the argument `from` on.
    pub const fn after(word: &'static str, from: i32, flags: &'static str) -> KeySpec {
        let begin = Begin::Keyword { word, from };
        KeySpec { begin, find: Find::Range { last: 0, step: 1, limit: 0 }, flags, notes: "" }
    }

    /// The first half of the arguments after a word, which is looked for from the argument `from` on.
    pub const fn half_after(word: &'static str, from: i32, flags: &'static str) -> KeySpec {
        let begin = Begin::Keyword { word, from };
        KeySpec { begin, find: Find::Range { last: -1, step: 1, limit: 2 }, flags, notes: "" }
    }
}

/// Which arguments of a command are secrets. Nothing shows them but the command itself: see `redaction`.
#[derive(Clone, Copy, Debug)]
pub enum Secrets {
    /// None.
    None,
    /// All from this one on.
    From(usize),
    /// Those that follow a word, up to another word.
    After {
        /// Words, each with the number of arguments after it that are secrets.
        words: &'static [(&'static str, usize)],
        /// Where the search begins.
        from: usize,
        /// The word that ends it, if there is one.
        until: &'static str,
    },
    /// Pairs of an option and its value from this argument on: the values of those that the table of options says are secrets.
    Options(usize),
}

/// That a command is not to be used any more.
#[derive(Clone, Copy, Debug)]
pub struct Deprecated {
    /// The version that said so first.
    pub since: &'static str,
    /// The command to be used.
    pub replaced_by: &'static str,
}

/// A command as declared in the table of its family.
#[derive(Clone, Copy)]
pub struct Command {
    /// Lower-case name; a subcommand's own part only.
    pub name: &'static str,
    /// Number of arguments with the name(s); negative: at least that many.
    pub arity: i32,
    /// See [`flags`].
    pub flags: u32,
    /// Access-control categories beyond those that follow from the flags, lower case, blank separated.
    pub acl: &'static str,
    /// What is locked.
    pub scope: Scope,
    /// Where the keys are.
    pub keys: &'static [KeySpec],
    /// Finds the keys where the specifications cannot.
    pub find_keys: Option<KeyFinder>,
    /// Group in the documentation.
    pub group: Group,
    /// First version of Redis or Valkey with this command.
    pub since: &'static str,
    /// Versions that have changed it, with a sentence on each change.
    pub history: &'static [(&'static str, &'static str)],
    /// Set for commands with a successor.
    pub deprecated: Option<Deprecated>,
    /// Whether servers and test suites call it, rather than applications.
    pub is_internal: bool,
    /// One sentence.
    pub summary: &'static str,
    /// Big-O; empty where Valkey states none.
    pub complexity: &'static str,
    /// The arguments in the notation of `commands::introspection::arguments`.
    pub args: &'static str,
    /// The arguments that are secrets.
    pub secrets: Secrets,
    /// Hints for clients and proxies.
    pub tips: &'static [&'static str],
    /// Subcommands of a container.
    pub subcommands: &'static [Command],
}

impl Command {
    /// The fields that most commands leave empty.
    pub const DEFAULT: Command = Command {
        name: "",
        arity: 0,
        flags: flags::NONE,
        acl: "",
        scope: Scope::None,
        keys: &[],
        find_keys: None,
        group: Group::Generic,
        since: "1.0.0",
        history: &[],
        deprecated: None,
        is_internal: false,
        summary: "",
        complexity: "",
        args: "",
        secrets: Secrets::None,
        tips: &[],
        subcommands: &[],
    };

    /// Whether all bits of `flag` are set.
    #[inline]
    pub fn has(&self, flag: u32) -> bool {
        self.flags & flag == flag
    }

    /// Whether some bits of `some` are set.
    #[inline]
    pub fn has_any(&self, some: u32) -> bool {
        self.flags & some != 0
    }

    /// Whether `count` arguments, names included, are a number that the command takes.
    #[inline]
    pub fn accepts(&self, count: usize) -> bool {
        let wanted = self.arity.unsigned_abs() as usize;
        count == wanted || count > wanted && self.arity < 0
    }

    /// All access-control categories: those declared and those that follow from the flags.
    pub fn acl_categories(&self) -> Vec<&'static str> {
        let implied = [
            (flags::WRITE, "write"),
            (flags::READONLY, "read"),
            (flags::ADMIN, "admin"),
            (flags::ADMIN, "dangerous"),
            (flags::PUBSUB, "pubsub"),
            (flags::BLOCKING, "blocking"),
        ];
        let mut all: Vec<_> = self.acl.split_whitespace().collect();
        let has = |&&(flag, _): &&(u32, &str)| {
            // What a script that only reads may read, its own commands say.
            self.has(flag) && !(flag == flags::READONLY && self.group == Group::Scripting)
        };
        all.extend(implied.iter().filter(has).map(|(_, name)| *name));
        all.push(if self.has(flags::FAST) { "fast" } else { "slow" });
        all.sort_by_key(|name| {
            crate::command::categories::CATEGORIES.iter().position(|category| category == name)
        });
        all
    }
}

/// A command of the table, with its place in the statistics and what dispatch wants to know at once.
pub struct Entry {
    /// Index into the statistics of a thread.
    pub id: u16,
    /// The declaration.
    pub command: &'static Command,
    /// The container, if this is a subcommand.
    pub parent: Option<&'static Command>,
    /// The position of the key of a command that has exactly one.
    single_key: Option<u8>,
    /// The position of the first key of a command whose keys go on to the end, and the distance between them.
    key_run: Option<(u8, u8)>,
}

/// A command found in the table, where it stays as long as the process.
#[derive(Clone, Copy)]
pub struct Found(&'static Entry);

impl Deref for Found {
    type Target = Entry;

    #[inline]
    fn deref(&self) -> &Entry {
        self.0
    }
}

impl Found {
    /// Makes room for a command of the table. It is never given back: to be called once for each.
    pub(crate) fn enter(id: u16, command: &'static Command, parent: Option<&'static Command>) -> Found {
        let single_key = match command.keys {
            [KeySpec { begin: Begin::Index(at), find: Find::Range { last: 0, .. }, .. }] => {
                u8::try_from(*at).ok()
            }
            _ => None,
        };
        let key_run = match command.keys {
            [
                KeySpec {
                    begin: Begin::Index(at), find: Find::Range { last: -1, step, limit: 0 | 1 }, ..
                },
            ] => u8::try_from(*at).ok().zip(u8::try_from(*step).ok()),
            _ => None,
        };
        Found(Box::leak(Box::new(Entry { id, command, parent, single_key, key_run })))
    }

    /// The position of the key of a command of so many arguments if it has exactly one: always, or this time.
    #[inline]
    pub(crate) fn only_key(self, args_len: usize) -> Option<usize> {
        match (self.single_key, self.key_run) {
            (Some(at), _) => Some(usize::from(at)),
            (None, Some((at, step))) => {
                (args_len == usize::from(at) + usize::from(step)).then_some(usize::from(at))
            }
            (None, None) => None,
        }
    }

    /// `name` or `container|name`, as statistics, logs and error texts write it.
    pub fn full_name(&self) -> String {
        match self.parent {
            Some(parent) => format!("{}|{}", parent.name, self.command.name),
            None => self.command.name.to_owned(),
        }
    }
}
