//! What can be wrong with a rule.

use std::fmt;

/// Why a rule was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleError {
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

impl std::error::Error for RuleError {}

/// Why a `user` line of the configuration makes no user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserLineError {
    /// A blank in a user's name.
    Blank,
    /// A parenthesis that nothing ends, among the rules of this user.
    Parenthesis(String),
    /// A user, and what is wrong with a rule.
    Rule(String, RuleError),
    /// A word of the line, and why it is wrong.
    Word(String, RuleError),
}

impl fmt::Display for UserLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UserLineError::Blank => f.write_str("Spaces not allowed in ACL usernames"),
            UserLineError::Parenthesis(user) => {
                write!(f, "Error loading ACLs: unmatched parenthesis in user '{user}'")
            }
            UserLineError::Rule(user, error) => write!(f, "Error loading ACLs: {error} in user '{user}'"),
            UserLineError::Word(word, error) => write!(f, "Error in user declaration '{word}': {error}"),
        }
    }
}

impl std::error::Error for UserLineError {}

/// Why the server must not start with its users.
#[derive(Debug)]
pub enum UsersError {
    /// What is wrong with the ACL file.
    File(String),
    /// A user of the configuration cannot be made.
    Line(UserLineError),
    /// There are users in the configuration and an ACL file.
    TwoSources,
}

impl fmt::Display for UsersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UsersError::File(errors) => write!(f, "Aborting Larder startup because of ACL errors: {errors}"),
            UsersError::Line(error) => error.fmt(f),
            UsersError::TwoSources => f.write_str(
                "Configuring Larder with users defined in the configuration file and at the same time setting an ACL file \
                 path is invalid. This setup is very likely to lead to configuration errors and security holes, please \
                 define either an ACL file or declare users directly in the configuration file, but not both.",
            ),
        }
    }
}

impl std::error::Error for UsersError {}
