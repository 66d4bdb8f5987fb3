//! Private keys in PEM: PKCS#8, PKCS#1 and SEC1. A password may encrypt them, as PKCS#8 describes
//! (PBES2) or in the older way of PEM headers.

mod error;
mod pem_encryption;

pub use error::KeyError;

use crate::certificate::{NotACertificate, elements, only};
use crate::pem::{self, PemError, Section};
use pkcs8::der::Decode;
use pkcs8::{EncryptedPrivateKeyInfo, ObjectIdentifier, pkcs5};
use rustls::pki_types::PrivateKeyDer;

const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";

/// Reads the first private key of a file. `password` is empty if there is none.
///
/// # Errors
/// The file has no key, or it cannot be decrypted.
pub fn read(file: &[u8], password: &str) -> Result<PrivateKeyDer<'static>, KeyError> {
    let sections = pem::sections(file, is_key).map_err(|error| match error {
        PemError::NoSection => KeyError::None,
        PemError::Damaged | PemError::NotACertificate => KeyError::Damaged,
    })?;
    let Section { label, headers, content } = sections.into_iter().next().ok_or(KeyError::None)?;
    if label == ENCRYPTED {
        return decrypt_pkcs8(&content, password);
    }
    let key = match pem_encryption::method(&headers) {
        None => content,
        Some(_) if password.is_empty() => return Err(KeyError::NoPassword),
        Some(method) => pem_encryption::decrypt(method, &content, password)?,
    };
    Ok(match label.as_str() {
        "RSA PRIVATE KEY" => PrivateKeyDer::Pkcs1(key.into()),
        "EC PRIVATE KEY" => PrivateKeyDer::Sec1(key.into()),
        _ => PrivateKeyDer::Pkcs8(key.into()),
    })
}

fn is_key(label: &str) -> bool {
    matches!(label, "PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY" | ENCRYPTED)
}

fn decrypt_pkcs8(document: &[u8], password: &str) -> Result<PrivateKeyDer<'static>, KeyError> {
    if password.is_empty() {
        return Err(KeyError::NoPassword);
    }
    let method = method_of(document).map_err(|NotACertificate| KeyError::Damaged)?;
    let unknown = |name: String| KeyError::UnknownEncryption(name);
    let encrypted = EncryptedPrivateKeyInfo::try_from(document).map_err(|_| match method {
        pkcs5::pbes2::PBES2_OID => unknown("PBES2 with an unknown cipher or hash".to_owned()),
        other => unknown(format!("the identifier {other}")),
    })?;
    let key = encrypted.decrypt(password).map_err(|error| match error {
        pkcs8::Error::EncryptedPrivateKey(
            pkcs5::Error::NoPbes1CryptSupport | pkcs5::Error::UnsupportedAlgorithm { .. },
        ) => unknown(format!("the identifier {method}")),
        _ => KeyError::WrongPassword,
    })?;
    Ok(PrivateKeyDer::Pkcs8(key.as_bytes().to_vec().into()))
}

/// Returns the identifier of the method by which a key is encrypted.
fn method_of(document: &[u8]) -> Result<ObjectIdentifier, NotACertificate> {
    let fields = elements(only(document)?.value)?;
    let method = fields.first().ok_or(NotACertificate)?;
    let method = elements(method.value)?;
    Ok(ObjectIdentifier::from_der(method.first().ok_or(NotACertificate)?.whole)?)
}
