//! The encryption of keys by PEM headers (RFC 1421), which `openssl rsa -aes256` and `openssl ec
//! -aes256` write:
//!
//! ```text
//! Proc-Type: 4,ENCRYPTED
//! DEK-Info: AES-256-CBC,90F67DE3CF8BA2C25A3A2AF1B1D3A1F4
//! ```
//!
//! The cipher's key is MD5 over the password and the first 8 bytes of the initialization vector,
//! repeated until it is long enough. That is weak against guessing; the method is read because such
//! files exist, and nothing writes it.

use super::error::KeyError;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipher, BlockDecryptMut, BlockSizeUser, KeyInit, KeyIvInit, KeySizeUser};
use md5::{Digest, Md5};

/// Bytes of the initialization vector that are mixed with the password.
const SALT_BYTES: usize = 8;

/// Returns the name of the cipher and the initialization vector in hexadecimal digits, if the
/// headers say that the key is encrypted.
pub fn method(headers: &[String]) -> Option<&str> {
    let is_encrypted = headers.iter().any(|line| line.replace(' ', "") == "Proc-Type:4,ENCRYPTED");
    let info = headers.iter().find_map(|line| line.strip_prefix("DEK-Info:")).map(str::trim);
    if is_encrypted { Some(info.unwrap_or("no DEK-Info")) } else { None }
}

/// Decrypts the content of a section.
///
/// # Errors
/// The method is not supported, or the password is wrong.
pub fn decrypt(method: &str, content: &[u8], password: &str) -> Result<Vec<u8>, KeyError> {
    let unknown = || KeyError::UnknownEncryption(method.to_owned());
    let (cipher, vector) = method.split_once(',').ok_or_else(unknown)?;
    let vector = bytes_of(vector.trim()).filter(|vector| vector.len() >= SALT_BYTES).ok_or_else(unknown)?;
    let plain = match cipher.trim() {
        "AES-128-CBC" => decrypt_with::<aes::Aes128>(&vector, content, password),
        "AES-192-CBC" => decrypt_with::<aes::Aes192>(&vector, content, password),
        "AES-256-CBC" => decrypt_with::<aes::Aes256>(&vector, content, password),
        "DES-EDE3-CBC" => decrypt_with::<des::TdesEde3>(&vector, content, password),
        _ => return Err(unknown()),
    };
    plain.ok_or(KeyError::WrongPassword)
}

fn decrypt_with<C>(vector: &[u8], content: &[u8], password: &str) -> Option<Vec<u8>>
where
    C: BlockCipher + BlockDecryptMut + KeyInit + KeySizeUser + BlockSizeUser,
{
    let key = derived_key(password, vector.get(..SALT_BYTES)?, C::key_size());
    let cipher = cbc::Decryptor::<C>::new_from_slices(&key, vector).ok()?;
    cipher.decrypt_padded_vec_mut::<Pkcs7>(content).ok()
}

/// OpenSSL's derivation of keys from passwords, with MD5 and one round.
fn derived_key(password: &str, salt: &[u8], length: usize) -> Vec<u8> {
    let mut key: Vec<u8> = Vec::new();
    let mut last = Vec::new();
    while key.len() < length {
        last = Md5::new().chain_update(&last).chain_update(password).chain_update(salt).finalize().to_vec();
        key.extend_from_slice(&last);
    }
    key.truncate(length);
    key
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if digits.len().is_multiple_of(2) { digits.chunks(2).map(pair).collect() } else { None }
}
