//! Access control: who may use which commands with which keys and channels.
//!
//! A user is a name and [`Rights`], an immutable value behind an `Arc`. A change makes new rights, puts them in the place
//! of the old ones, and moves the epoch of [`Acl`] on. Every connection holds the rights of its user and the epoch at
//! which it took them (`clients::access`); before each command it compares epochs, and takes the rights again if they differ. So
//! a change is in force for all threads with the first command that begins after it, commands take no lock, and a user
//! who may do everything costs one load and one comparison a command.
//!
//! Cost: a check of a restricted user is O(keys * patterns) for a command, times the selectors that do not fit. A user
//! takes 56 bytes for the commands, and the patterns; each selector as much again.
//!
//! Invariants:
//! - I1: the epoch moves on after rights are replaced, and a connection reads it before the rights: it may take new
//!   rights with an old epoch and so take them twice, never old rights with the new epoch.
//! - I2: there is always a user `default`, and it is always the same one.
//! - I3: a user who was deleted is marked `gone` before its connections are looked for, and a connection that becomes a
//!   user looks at the mark after saying so: either it is found, or it finds out.
//! - I4: changes are made one at a time (`changing`), and rules that fail change nothing.
//!
//! Locks: `changing`, then `users`, then a user's rights; no shard is locked meanwhile, but by a transaction.
//!
//! Tested below each file, in `tests/acl.rs` with two threads, and side by side with Valkey.

mod check;
mod commands;
mod databases;
mod file;
mod log;
mod needs;
mod password;
mod rights;
mod rule_error;
mod selector;
mod words;

pub(crate) use check::{Denial, FAILURE_IN_SCRIPT, Origin, allow_to_read_all_keys, decide, may_see_key};
pub(crate) use commands::{categories, category};
pub(crate) use file::{parse_file, to_file};
pub(crate) use log::{AclLog, Entry as LogEntry, Reason};
pub(crate) use rights::{Rights, join_selectors};
pub use rule_error::{UserLineError, UsersError};
pub(crate) use words::has_blanks;

use crate::config::{AclPubsubDefault, Config};
use parking_lot::{Mutex, RwLock};
use rule_error::RuleError;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Name of the user that connections are at first.
pub(crate) const DEFAULT: &[u8] = b"default";

/// A user. Connections hold on to it; its rights change beneath them.
pub(crate) struct User {
    name: Box<[u8]>,
    rights: RwLock<Arc<Rights>>,
    /// Deleted: its connections are nobody's any more.
    gone: AtomicBool,
}

impl User {
    pub(crate) fn new(name: &[u8], rights: Rights) -> Arc<Self> {
        Arc::new(User {
            name: name.into(),
            rights: RwLock::new(Arc::new(rights)),
            gone: AtomicBool::new(false),
        })
    }

    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// The rights at this moment.
    pub(crate) fn rights(&self) -> Arc<Rights> {
        Arc::clone(&self.rights.read())
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.name))
    }
}

/// Users by name.
type Users = BTreeMap<Box<[u8]>, Arc<User>>;

/// How often users have changed. On a cache line of its own: all threads read it with every command.
#[repr(align(64))]
struct Epoch(AtomicU64);

/// All users, and the log of what they were refused.
pub(crate) struct Acl {
    users: RwLock<Users>,
    default: Arc<User>,
    epoch: Epoch,
    changing: Mutex<()>,
    pub(crate) log: AclLog,
}

/// What a change of users asks for: connections to close, and connections whose subscriptions to look at.
#[derive(Default)]
pub(crate) struct AclChange {
    /// Users whose connections must be closed.
    pub(crate) gone: Vec<Arc<User>>,
    /// Users who may have lost channels.
    pub(crate) narrowed: Vec<Arc<User>>,
}

impl Acl {
    /// One user, who may do everything, with the password that the configuration asks for.
    pub(crate) fn new(config: &Config) -> Self {
        let default = User::new(DEFAULT, Rights::all());
        let acl = Acl {
            users: RwLock::new(Users::from([(DEFAULT.into(), Arc::clone(&default))])),
            default,
            epoch: Epoch(AtomicU64::new(1)),
            changing: Mutex::new(()),
            log: AclLog::default(),
        };
        acl.set_default_password(config.value("requirepass").as_bytes());
        acl
    }

    /// The user that connections are at first.
    pub(crate) fn default_user(&self) -> &Arc<User> {
        &self.default
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.0.load(Ordering::Acquire)
    }

    fn move_on(&self) {
        self.epoch.0.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<User>> {
        self.users.read().get(name).cloned()
    }

    /// All users in the order of their names.
    pub(crate) fn all(&self) -> Vec<Arc<User>> {
        self.users.read().values().cloned().collect()
    }

    /// What `requirepass` means: the only password of the default user, or none at all when empty.
    pub(crate) fn set_default_password(&self, password: &[u8]) {
        let _changing = self.changing.lock();
        let mut rights = (*self.default.rights()).clone();
        let set = if password.is_empty() { b"nopass".to_vec() } else { [b">", password].concat() };
        for rule in [b"resetpass".to_vec(), set] {
            rights.apply(&rule, false).expect("rules about passwords without a hash are valid");
        }
        *self.default.rights.write() = Arc::new(rights);
        self.move_on();
    }

    /// Applies rules to a user, who is made if there is none. The error comes with the position of the rule.
    pub(crate) fn change(
        &self,
        name: &[u8],
        rules: &[Vec<u8>],
        all_channels: bool,
    ) -> Result<AclChange, (usize, RuleError)> {
        let _changing = self.changing.lock();
        let known = self.find(name);
        let before =
            known.as_ref().map_or_else(|| Arc::new(Rights::none(all_channels)), |user| user.rights());
        let mut rights = (*before).clone();
        rights.apply_all(rules, all_channels)?;
        let mut aftermath = AclChange::default();
        match known {
            Some(user) => {
                let may_lose_channels = may_lose_channels(&before, &rights);
                *user.rights.write() = Arc::new(rights);
                if may_lose_channels {
                    aftermath.narrowed.push(user);
                }
            }
            None => {
                self.users.write().insert(name.into(), User::new(name, rights));
            }
        }
        self.move_on();
        Ok(aftermath)
    }

    /// Removes users; the default user cannot be removed.
    pub(crate) fn delete(&self, names: &[&[u8]]) -> AclChange {
        let _changing = self.changing.lock();
        let mut users = self.users.write();
        let kept = |name: &&&[u8]| **name != DEFAULT;
        let gone = names.iter().filter(kept).filter_map(|name| users.remove(*name)).collect();
        drop(users);
        self.mark_deleted(gone, Vec::new())
    }

    /// Replaces all users. The default user gets its first rights back if it is missing. Connections of users that are still
    /// there go on with the new rights.
    pub(crate) fn replace(&self, mut new: BTreeMap<Vec<u8>, Rights>) -> AclChange {
        let _changing = self.changing.lock();
        new.entry(DEFAULT.to_vec()).or_insert_with(Rights::all);
        let mut users = self.users.write();
        let gone: Vec<_> =
            users.values().filter(|user| !new.contains_key(user.name())).map(Arc::clone).collect();
        users.retain(|name, _| new.contains_key(&name[..]));
        let mut narrowed = Vec::new();
        for (name, rights) in new {
            match users.get(&name[..]) {
                Some(user) if user.rights().describe() == rights.describe() => {}
                Some(user) => {
                    if may_lose_channels(&user.rights(), &rights) {
                        narrowed.push(Arc::clone(user));
                    }
                    *user.rights.write() = Arc::new(rights);
                }
                None => drop(users.insert(name.as_slice().into(), User::new(&name, rights))),
            }
        }
        drop(users);
        self.mark_deleted(gone, narrowed)
    }

    fn mark_deleted(&self, gone: Vec<Arc<User>>, narrowed: Vec<Arc<User>>) -> AclChange {
        gone.iter().for_each(|user| user.gone.store(true, Ordering::Release));
        self.move_on();
        AclChange { gone, narrowed }
    }

    /// Every user as a line of a configuration file.
    pub(crate) fn lines(&self) -> Vec<Vec<u8>> {
        let line = |user: &Arc<User>| [b"user ", user.name(), b" ", &user.rights().describe()].concat();
        self.all().iter().map(line).collect()
    }
}

/// Whether connections may have subscribed to something by these rights that a change takes away. Those that had no channel keep
/// what they have subscribed to as other users.
fn may_lose_channels(before: &Rights, after: &Rights) -> bool {
    before.allows_a_channel() && !after.allows_all_channels()
}

/// Whether users and selectors start with all channels.
pub(crate) fn starts_with_all_channels(config: &Config) -> bool {
    config.choice::<AclPubsubDefault>("acl-pubsub-default") == AclPubsubDefault::AllChannels
}

/// Looks a `user` line of the configuration through, before there are users. `seen` are the users named so far.
pub(crate) fn check_line(
    words: &[String],
    seen: &[Vec<String>],
    config: &Config,
) -> Result<(), UserLineError> {
    let Some((name, rules)) = words.split_first() else { return Ok(()) };
    let wrong = |word: &str, error: RuleError| Err(UserLineError::Word(word.to_owned(), error));
    if has_blanks(name.as_bytes()) {
        return Err(UserLineError::Blank);
    }
    if seen.iter().any(|line| line.first() == Some(name)) {
        return wrong(name, RuleError::DuplicateUser);
    }
    let joined = match join_selectors(rules.iter().map(|rule| rule.as_bytes())) {
        Ok(joined) => joined,
        Err(at) => return wrong(&rules[at], RuleError::Syntax),
    };
    let all_channels = starts_with_all_channels(config);
    let result = Rights::none(all_channels).apply_all(&joined, all_channels);
    result.or_else(|(at, error)| wrong(&String::from_utf8_lossy(&joined[at]), error))
}

impl Acl {
    /// Makes the users of the configuration's `user` lines, which have been looked through. Returns those who are off.
    pub(crate) fn load_lines(
        &self,
        lines: &[Vec<String>],
        config: &Config,
    ) -> Result<Vec<String>, UserLineError> {
        let all_channels = starts_with_all_channels(config);
        let mut off = Vec::new();
        for (name, rules) in lines.iter().filter_map(|line| line.split_first()) {
            let mut joined = join_selectors(rules.iter().map(|rule| rule.as_bytes()))
                .map_err(|_| UserLineError::Parenthesis(name.clone()))?;
            if name.as_bytes() == DEFAULT {
                joined.insert(0, b"reset".to_vec());
            }
            self.change(name.as_bytes(), &joined, all_channels)
                .map_err(|(_, error)| UserLineError::Rule(name.clone(), error))?;
            if self.find(name.as_bytes()).is_some_and(|user| !user.rights().is_enabled()) {
                off.push(name.clone());
            }
        }
        Ok(off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<Vec<u8>> {
        text.split(' ').map(|rule| rule.as_bytes().to_vec()).collect()
    }

    #[test]
    fn a_failed_change_changes_nothing() {
        let acl = Acl::new(&Config::new(1));
        acl.change(b"a", &rules("on +get ~x"), false).expect("valid");
        let (before, epoch) = (acl.lines(), acl.epoch());
        assert_eq!(acl.change(b"a", &rules("off ~y +nosuch"), false).err(), Some((2, RuleError::Unknown)));
        assert_eq!(acl.change(b"b", &rules("foo"), false).err(), Some((0, RuleError::Syntax)));
        assert_eq!((acl.lines(), acl.epoch()), (before, epoch));
    }

    #[test]
    fn the_default_user_stays_the_same_one() {
        let acl = Acl::new(&Config::new(1));
        let default = acl.find(DEFAULT).expect("I2");
        assert!(acl.delete(&[DEFAULT]).gone.is_empty());
        acl.change(DEFAULT, &rules("off"), false).expect("valid");
        acl.change(b"a", &rules("on"), false).expect("valid");
        let aftermath = acl.replace(BTreeMap::from([(b"b".to_vec(), Rights::none(false))]));
        assert_eq!(aftermath.gone.iter().map(|user| user.name()).collect::<Vec<_>>(), [b"a"]);
        assert!(aftermath.gone[0].is_gone());
        assert!(Arc::ptr_eq(&default, &acl.find(DEFAULT).expect("I2")) && default.rights().is_open());
        assert_eq!(acl.all().len(), 2);
    }

    #[test]
    fn lines_of_the_configuration() {
        let config = Config::new(1);
        let line = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let check = |text: &str| check_line(&line(text), &[line("known on")], &config);
        assert_eq!(check("a on +get (~x +set)"), Ok(()));
        let error = check("a on +nosuch").unwrap_err();
        assert_eq!(error, UserLineError::Word("+nosuch".to_owned(), RuleError::Unknown));
        let text = "Error in user declaration '+nosuch': Unknown command or category name in ACL";
        assert_eq!(error.to_string(), text);
        assert!(check("known on").is_err() && check("a (+get").is_err());
    }
}
