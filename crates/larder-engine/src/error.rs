//! What can go wrong in a command, and the text that the client sees. Texts that several families use stand here; those of one family
//! stand beside its handlers.

use std::borrow::Cow;

/// What a handler returns: its reply is written, or this error is the reply.
pub type CommandResult<T = ()> = Result<T, CommandError>;

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// A fixed text, code included.
    Fixed(&'static str),
    /// A text with parts of the request in it, code included.
    Text(Vec<u8>),
    /// The same, from a command that a script has called: it is in the statistics already.
    Counted(Vec<u8>),
    /// An error that a script has made up, its code too.
    Custom(Vec<u8>),
    /// Another node of the cluster is to be asked, or none can be.
    Redirected(Vec<u8>),
    /// No error: the command is executed later or elsewhere, as `Context::flow` says. Nobody is told of it.
    Postponed,
}

impl CommandError {
    /// A text made for the occasion; carries its code.
    pub fn text(text: impl Into<String>) -> Self {
        CommandError::Text(text.into().into_bytes())
    }

    /// The line after the `-`.
    pub fn wire(&self) -> Cow<'_, [u8]> {
        match self {
            CommandError::Fixed(text) => Cow::Borrowed(text.as_bytes()),
            CommandError::Text(text)
            | CommandError::Counted(text)
            | CommandError::Custom(text)
            | CommandError::Redirected(text) => Cow::Borrowed(text),
            CommandError::Postponed => Cow::Borrowed(b"ERR The command is executed later"),
        }
    }

    /// The line after the `-` of EXEC, for an error because of which it is refused.
    pub fn aborting(&self) -> Vec<u8> {
        if let CommandError::Redirected(text) = self {
            return text.clone();
        }
        let wire = self.wire();
        let why = wire.strip_prefix(b"ERR ").unwrap_or(&wire);
        [b"EXECABORT Transaction discarded because of: ", why].concat()
    }

    /// The first word, which INFO errorstats counts by; a text of one word has no code.
    pub fn code(&self) -> String {
        let wire = self.wire();
        let end = wire.iter().position(|b| b" \r\n".contains(b));
        end.map_or_else(|| "ERR".to_owned(), |end| String::from_utf8_lossy(&wire[..end]).into_owned())
    }

    /// The command got too few or too many arguments.
    pub fn arity(name: &str) -> Self {
        CommandError::text(format!("ERR wrong number of arguments for '{name}' command"))
    }

    /// An expiry out of range or not positive.
    pub fn invalid_expire(name: &str) -> Self {
        CommandError::text(format!("ERR invalid expire time in '{name}' command"))
    }
}

macro_rules! fixed {
    ($($name:ident = $text:expr;)*) => {
        impl CommandError {
            $(#[doc = concat!("`", $text, "`")] pub const $name: CommandError = CommandError::Fixed($text);)*
        }
    };
}

fixed! {
    WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value";
    SYNTAX = "ERR syntax error";
    UNKNOWN_IN_SCRIPT = "ERR Unknown command called from script";
    NOT_INTEGER = "ERR value is not an integer or out of range";
    NOT_FLOAT = "ERR value is not a valid float";
    NOT_POSITIVE = "ERR value is out of range, must be positive";
    OUT_OF_RANGE = "ERR value is out of range";
    NOT_I32 = "ERR value is out of range, value must between -2147483648 and 2147483647";
    NOT_NEGATABLE = "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807";
    NO_SUCH_KEY = "ERR no such key";
    INDEX_OUT_OF_RANGE = "ERR index out of range";
    OVERFLOW = "ERR increment or decrement would overflow";
    NAN_OR_INFINITY = "ERR increment would produce NaN or Infinity";
    STRING_TOO_LONG = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
    OFFSET_OUT_OF_RANGE = "ERR offset is out of range";
    SAME_OBJECT = "ERR source and destination objects are the same";
    DB_OUT_OF_RANGE = "ERR DB index is out of range";
    INVALID_DB = "ERR invalid DB index";
    INVALID_CURSOR = "ERR invalid cursor";
    TIMEOUT_NOT_FLOAT = "ERR timeout is not a float or out of range";
    TIMEOUT_NEGATIVE = "ERR timeout is negative";
    TIMEOUT_NOT_INTEGER = "ERR timeout is not an integer or out of range";
    TIMEOUT_OUT_OF_RANGE = "ERR timeout is out of range";
    NO_AUTH = "NOAUTH Authentication required.";
    IN_TRANSACTION = "ERR Command not allowed inside a transaction";
    EXEC_ABORT = "EXECABORT Transaction discarded because of previous errors.";
    BUSY_KEY = "BUSYKEY Target key name already exists.";
    BAD_PAYLOAD = "ERR DUMP payload version or checksum are wrong";
    BAD_DATA_FORMAT = "ERR Bad data format";
    INVALID_TTL = "ERR Invalid TTL value, must be >= 0";
    INVALID_IDLETIME = "ERR Invalid IDLETIME value, must be >= 0";
    INVALID_FREQUENCY = "ERR Invalid FREQ value, must be >= 0 and <= 255";
}
