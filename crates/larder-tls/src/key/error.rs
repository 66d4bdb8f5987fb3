//! Why a key cannot be used.

use std::fmt;

/// Why a file holds no key that can be used. Errors that OpenSSL has too use its words.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The file is damaged.
    Damaged,
    /// The key is encrypted, and no password is set.
    NoPassword,
    /// The file has no key.
    None,
    /// The encryption is not supported; the text names it.
    UnknownEncryption(String),
    /// The password does not decrypt the key.
    WrongPassword,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::Damaged => f.write_str("error:04800064:PEM routines::bad base64 decode"),
            KeyError::NoPassword => f.write_str("the key is encrypted, but no password is configured"),
            KeyError::None => f.write_str("error:0480006C:PEM routines::no start line"),
            KeyError::UnknownEncryption(name) => write!(
                f,
                "the key is encrypted by a method that is not supported ({name}); \
                 convert it with 'openssl pkcs8 -topk8 -v2 aes-256-cbc'"
            ),
            KeyError::WrongPassword => {
                f.write_str("error:1C800064:Provider routines::bad decrypt (the password is wrong)")
            }
        }
    }
}
