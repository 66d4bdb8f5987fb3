//! What can be wrong with a rule.

use std::fmt;

/// Why a rule was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleError {
    /// The hash of a password is no hash.
    BadHash,
    /// A channel pattern after `allchannels`.
    ChannelAfterAll,
    /// An argument of a subcommand was named.
    FirstArgOfSubcommand,
    /// A key pattern after `allkeys`.
    KeyAfterAll,
    /// The password to take away is not there.
    NoSuchPassword,
    /// Not a rule at all.
    Syntax,
    /// No such command or category.
    Unknown,
    /// A number that is no database.
    NoSuchDatabase,
    /// Two users of one name.
    DuplicateUser,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RuleError::BadHash => {
                "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
            }
            RuleError::ChannelAfterAll => {
                "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any \
                 effect. Try 'resetchannels' to start with an empty list of channels"
            }
            RuleError::DuplicateUser => {
                "Duplicate user found. A user can only be defined once in config files"
            }
            RuleError::FirstArgOfSubcommand => "Allowing first-arg of a subcommand is not supported",
            RuleError::KeyAfterAll => {
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any \
                 effect. Try 'resetkeys' to start with an empty list of patterns"
            }
            RuleError::NoSuchDatabase => "The provided database ID is out of range",
            RuleError::NoSuchPassword => "The password you are trying to remove from the user does not exist",
            RuleError::Syntax => "Syntax error",
            RuleError::Unknown => "Unknown command or category name in ACL",
        })
    }
}
