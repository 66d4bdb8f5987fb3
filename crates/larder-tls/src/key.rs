//! Private keys in PEM: PKCS#8, also encrypted with a password (PBES2), PKCS#1 and SEC1.

use pkcs8::EncryptedPrivateKeyInfo;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::{self, PemObject};
use std::fmt;

const BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";

/// Why a file holds no key that can be used. The texts of the errors that OpenSSL knows are OpenSSL's.
#[derive(Debug)]
pub enum KeyError {
    /// It is encrypted, and no password is set.
    NoPassword,
    /// It is encrypted in another way than PKCS#8 describes.
    OldEncryption,
    /// No key is in the file.
    None,
    /// The password is wrong, or the encryption is none that is known.
    Undecipherable,
    /// The file is damaged.
    Damaged,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyError::NoPassword => "the key is encrypted, and there is no password for it",
            KeyError::OldEncryption => {
                "the key is encrypted as PKCS#1 is; only PKCS#8 ('BEGIN ENCRYPTED PRIVATE KEY') is supported"
            }
            KeyError::None => "error:0480006C:PEM routines::no start line",
            KeyError::Undecipherable => {
                "the password is wrong, or the key is encrypted in a way that is not supported"
            }
            KeyError::Damaged => "error:04800064:PEM routines::bad base64 decode",
        })
    }
}

/// The first private key of a file.
pub fn read(file: &[u8], password: &str) -> Result<PrivateKeyDer<'static>, KeyError> {
    let text = String::from_utf8_lossy(file);
    if let Some(encrypted) = encrypted_part(&text) {
        return decrypt(encrypted, password);
    }
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(KeyError::OldEncryption);
    }
    PrivateKeyDer::from_pem_slice(file).map_err(|error| match error {
        pem::Error::NoItemsFound => KeyError::None,
        _ => KeyError::Damaged,
    })
}

fn encrypted_part(text: &str) -> Option<&str> {
    let start = text.find(BEGIN)?;
    let end = text[start..].find(END)? + END.len();
    Some(&text[start..start + end])
}

fn decrypt(text: &str, password: &str) -> Result<PrivateKeyDer<'static>, KeyError> {
    if password.is_empty() {
        return Err(KeyError::NoPassword);
    }
    let (_, document) = pkcs8::SecretDocument::from_pem(text).map_err(|_| KeyError::Damaged)?;
    let encrypted = EncryptedPrivateKeyInfo::try_from(document.as_bytes()).map_err(|_| KeyError::Damaged)?;
    let key = encrypted.decrypt(password).map_err(|_| KeyError::Undecipherable)?;
    Ok(PrivateKeyDer::Pkcs8(key.as_bytes().to_vec().into()))
}
