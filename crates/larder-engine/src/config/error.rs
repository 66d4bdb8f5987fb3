//! Why options are not set. The texts are those that clients and the log see.

use crate::host::ApplyError;
use std::fmt;

/// Why an option does not take a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// The value asks for something that does not exist here, which is named.
    Absent(&'static str),
    /// A character that addresses do not have.
    AddressCharacter,
    /// An address of a node that is longer than packets can say.
    AddressTooLong,
    /// A text that must not be empty; the option is named.
    Empty(&'static str),
    /// A letter that is no class of events.
    EventClass,
    /// A character that names of hosts do not have.
    HostNameCharacter,
    /// A host's name of 256 characters or more.
    HostNameTooLong,
    /// A locale that does not order strings by their bytes.
    Locale,
    /// A character that names of nodes do not have.
    NodeNameCharacter,
    /// No integer.
    NotInteger,
    /// No address of IPv4.
    NotIpv4,
    /// No address of IPv6.
    NotIpv6,
    /// No amount of memory.
    NotMemory,
    /// Neither an amount of memory nor a percentage.
    NotMemoryOrPercent,
    /// No octal number.
    NotOctal,
    /// None of these names.
    NotOneOf(&'static [(&'static str, i64)]),
    /// Neither `yes` nor `no`.
    NotYesNo,
    /// Scores that the kernel does not know.
    OomScores,
    /// No class of clients.
    OutputLimitClass,
    /// Groups of other than four words.
    OutputLimitCount,
    /// A limit that is no number.
    OutputLimitNumber,
    /// A number beyond these bounds, both of which are allowed.
    OutOfRange {
        /// The least.
        min: i128,
        /// The greatest.
        max: i128,
    },
    /// The same, of an octal number.
    OutOfOctalRange {
        /// The least.
        min: i128,
        /// The greatest.
        max: i128,
    },
    /// A path where a plain name belongs: the option, and what it names.
    Path(&'static str, &'static str),
    /// A percentage above this.
    PercentTooLarge(i128),
    /// A percentile that is no number.
    PercentileNumber,
    /// A percentile beyond 0 to 100.
    PercentileRange,
    /// No port.
    PrimaryPort,
    /// How the server ends both saves and does not.
    SaveAndNosave,
    /// No pairs of seconds and changes.
    SavePoints,
    /// A title with a variable that there is not.
    TitleTemplate,
    /// More addresses than the server can listen on.
    TooManyAddresses,
    /// Too few or too many words.
    WrongCount,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            OptionError::Absent(what) => return write!(f, "{what} is not supported"),
            OptionError::Empty(option) => return write!(f, "{option} can't be empty"),
            OptionError::NotOneOf(names) => return f.write_str(&not_one_of(names)),
            OptionError::OutOfRange { min, max } => {
                return write!(f, "argument must be between {min} and {max} inclusive");
            }
            OptionError::OutOfOctalRange { min, max } => {
                return write!(f, "argument must be between {min:o} and {max:o} inclusive");
            }
            OptionError::Path(option, what) => return write!(f, "{option} can't be a path, just a {what}"),
            OptionError::PercentTooLarge(max) => {
                return write!(f, "percentage argument must be less or equal to {max}");
            }
            OptionError::AddressCharacter => "cluster-announce-ip contains invalid character",
            OptionError::AddressTooLong => "cluster-announce-ip is too long",
            OptionError::EventClass => "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.",
            OptionError::HostNameCharacter => {
                "Hostnames may only contain alphanumeric characters, hyphens or dots"
            }
            OptionError::HostNameTooLong => "Hostnames must be less than 256 characters",
            OptionError::Locale => "Invalid locale name",
            OptionError::NodeNameCharacter => "Announced human node name contained invalid character",
            OptionError::NotInteger => "argument couldn't be parsed into an integer",
            OptionError::NotIpv4 => "Invalid IPv4 address",
            OptionError::NotIpv6 => "Invalid IPv6 address",
            OptionError::NotMemory => "argument must be a memory value",
            OptionError::NotMemoryOrPercent => "argument must be a memory or percent value",
            OptionError::NotOctal => "argument couldn't be parsed as an octal number",
            OptionError::NotYesNo => "argument must be 'yes' or 'no'",
            OptionError::OomScores => {
                "Invalid oom-score-adj-values, elements must be between -2000 and 2000."
            }
            OptionError::OutputLimitClass => "Invalid client class specified in buffer limit configuration.",
            OptionError::OutputLimitCount => "Wrong number of arguments in buffer limit configuration.",
            OptionError::OutputLimitNumber => {
                "Error in hard, soft or soft_seconds setting in buffer limit configuration."
            }
            OptionError::PercentileNumber => "Invalid latency-tracking-info-percentiles parameters",
            OptionError::PercentileRange => {
                "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
            }
            OptionError::PrimaryPort => "Invalid master port",
            OptionError::SaveAndNosave => "shutdown options SAVE and NOSAVE can't be used simultaneously",
            OptionError::SavePoints => "Invalid save parameters",
            OptionError::TitleTemplate => "template format is invalid or contains unknown variables",
            OptionError::TooManyAddresses => "Too many bind addresses specified.",
            OptionError::WrongCount => "wrong number of arguments",
        };
        f.write_str(text)
    }
}

impl std::error::Error for OptionError {}

/// Redis builds this text in 256 bytes, its NUL included.
fn not_one_of(names: &[(&str, i64)]) -> String {
    let all: Vec<&str> = names.iter().map(|name| name.0).collect();
    let mut text = format!("argument(s) must be one of the following: {}", all.join(", "));
    text.truncate(255);
    text
}

/// Why CONFIG SET changed nothing. Shown is the reply's text, without its code.
#[derive(Debug)]
pub enum ConfigError {
    /// An option that there is not, as it was spelled.
    Unknown(String),
    /// An option, as it was spelled, and why this client cannot set it now.
    Refused(String, Refusal),
    /// An option that does not take the value.
    Invalid(&'static str, OptionError),
    /// An option whose value the process could not put into effect.
    NotApplied(&'static str, ApplyError),
}

/// Why a client cannot set an option, whatever the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is named twice.
    Duplicate,
    /// It is read at the start only.
    Immutable,
    /// `enable-protected-configs` does not allow it.
    Protected,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, reason): (&str, &dyn fmt::Display) = match self {
            ConfigError::Unknown(name) => {
                return write!(f, "Unknown option or number of arguments for CONFIG SET - '{name}'");
            }
            ConfigError::Refused(name, refusal) => (name, refusal),
            ConfigError::Invalid(name, error) => (name, error),
            ConfigError::NotApplied(name, error) => (name, error),
        };
        write!(f, "CONFIG SET failed (possibly related to argument '{name}') - {reason}")
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Duplicate => "duplicate parameter",
            Refusal::Immutable => "can't set immutable config",
            Refusal::Protected => "can't set protected config",
        })
    }
}
