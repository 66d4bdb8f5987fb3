//! Protocols and ciphers: the words of `tls-protocols`, `tls-ciphers` and `tls-ciphersuites`, and what they choose.
//!
//! Words that name what there is not here (old protocols, ciphers without forward secrecy) are errors, and not left out: a
//! configuration that is accepted is in force. Exclusions (`!MD5`) of what there is not anyway are fulfilled.

use rustls::crypto::CryptoProvider;
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, SupportedCipherSuite, SupportedProtocolVersion};
use std::fmt;

/// What an option names, and there is not.
#[derive(Debug, PartialEq, Eq)]
pub enum SuiteError {
    /// No protocol at all.
    NoProtocol,
    /// A protocol that is too old, as it was spelled.
    OldProtocol(String),
    /// `tls-ciphers` as a whole, and the word that cannot be followed.
    Ciphers(String, String),
    /// The same for `tls-ciphersuites`.
    Ciphersuites(String, String),
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SuiteError::NoProtocol => f.write_str(
                "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2' and 'TLSv1.3'.",
            ),
            SuiteError::OldProtocol(word) => {
                write!(f, "Invalid tls-protocols specified. '{word}' is not supported, only 'TLSv1.2' and 'TLSv1.3' are.")
            }
            SuiteError::Ciphers(all, word) => {
                write!(f, "Failed to configure ciphers: {all} ('{word}' is not supported)")
            }
            SuiteError::Ciphersuites(all, word) => {
                write!(f, "Failed to configure ciphersuites: {all} ('{word}' is not supported)")
            }
        }
    }
}

/// A cipher of TLS 1.2: OpenSSL's name, and the classes of its words that it is in.
struct Cipher {
    name: &'static str,
    suite: CipherSuite,
    classes: [&'static str; 4],
}

/// In the order of preference.
const CIPHERS: [Cipher; 6] = [
    cipher(
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        "AES256",
        "AESGCM",
        "aECDSA",
    ),
    cipher(
        "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        "AES256",
        "AESGCM",
        "aRSA",
    ),
    cipher(
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        "CHACHA20",
        "",
        "aECDSA",
    ),
    cipher(
        "ECDHE-RSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        "CHACHA20",
        "",
        "aRSA",
    ),
    cipher(
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        "AES128",
        "AESGCM",
        "aECDSA",
    ),
    cipher(
        "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        "AES128",
        "AESGCM",
        "aRSA",
    ),
];

const fn cipher(
    name: &'static str,
    suite: CipherSuite,
    algorithm: &'static str,
    mode: &'static str,
    signature: &'static str,
) -> Cipher {
    Cipher { name, suite, classes: [algorithm, mode, signature, if mode.is_empty() { "" } else { "AES" }] }
}

/// Classes that all ciphers here are in.
const ALL: [&str; 8] = ["ALL", "DEFAULT", "HIGH", "ECDHE", "EECDH", "kECDHE", "kEECDH", "TLSv1.2"];

/// Classes that none of them is in: they may be excluded.
const NONE: [&str; 27] = [
    "aNULL", "eNULL", "NULL", "EXPORT", "LOW", "MEDIUM", "MD5", "RC4", "RC2", "DES", "3DES", "IDEA", "SEED",
    "CAMELLIA", "ARIA", "PSK", "SRP", "DSS", "aDSS", "ADH", "AECDH", "DHE", "kRSA", "SHA1", "SHA", "SSLv3",
    "CBC",
];

/// The ciphers of TLS 1.3 by their names.
const CIPHERSUITES: [(&str, CipherSuite); 3] = [
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
];

/// The protocols of a text, by default both.
pub fn protocols(text: &str) -> Result<Vec<&'static SupportedProtocolVersion>, SuiteError> {
    if text.is_empty() {
        return Ok(vec![&TLS13, &TLS12]);
    }
    let mut chosen = Vec::new();
    for word in text.split(' ') {
        match word.to_ascii_lowercase().as_str() {
            "tlsv1" | "tlsv1.1" => return Err(SuiteError::OldProtocol(word.to_owned())),
            "tlsv1.2" => chosen.push(&TLS12),
            "tlsv1.3" => chosen.push(&TLS13),
            _ => return Err(SuiteError::NoProtocol),
        }
    }
    Ok(chosen)
}

/// The cryptography, restricted to the ciphers that two texts choose; an empty one restricts nothing.
pub fn provider(ciphers: &str, ciphersuites: &str) -> Result<CryptoProvider, SuiteError> {
    let mut provider = larder_tls::provider();
    let order = [chosen_ciphersuites(ciphersuites)?, chosen_ciphers(ciphers)?].concat();
    let known = std::mem::take(&mut provider.cipher_suites);
    let find = |suite: &CipherSuite| known.iter().find(|known| known.suite() == *suite).copied();
    provider.cipher_suites = order.iter().filter_map(find).collect::<Vec<SupportedCipherSuite>>();
    Ok(provider)
}

fn chosen_ciphersuites(text: &str) -> Result<Vec<CipherSuite>, SuiteError> {
    if text.is_empty() {
        return Ok(CIPHERSUITES.iter().map(|(_, suite)| *suite).collect());
    }
    let find = |word: &str| {
        let known = CIPHERSUITES.iter().find(|(name, _)| *name == word).map(|(_, suite)| *suite);
        known.ok_or_else(|| SuiteError::Ciphersuites(text.to_owned(), word.to_owned()))
    };
    text.split(':').map(find).collect()
}

/// Follows a list in OpenSSL's language, as far as the ciphers here go: names, classes, classes joined by `+`, and exclusions.
fn chosen_ciphers(text: &str) -> Result<Vec<CipherSuite>, SuiteError> {
    let mut chosen: Vec<CipherSuite> = Vec::new();
    let mut excluded: Vec<CipherSuite> = Vec::new();
    let list = if text.is_empty() { "DEFAULT" } else { text };
    for word in list.split([':', ',', ' ']).filter(|word| !word.is_empty()) {
        let refused = || SuiteError::Ciphers(text.to_owned(), word.to_owned());
        if let Some(class) = word.strip_prefix('!') {
            excluded.extend(members(class, true).ok_or_else(refused)?);
        } else if let Some(class) = word.strip_prefix('-') {
            let taken = members(class, true).ok_or_else(refused)?;
            chosen.retain(|suite| !taken.contains(suite));
        } else {
            let new = members(word, false).ok_or_else(refused)?;
            let new = new.into_iter().filter(|suite| !chosen.contains(suite)).collect::<Vec<_>>();
            chosen.extend(new);
        }
    }
    chosen.retain(|suite| !excluded.contains(suite));
    if chosen.is_empty() { Err(SuiteError::Ciphers(text.to_owned(), text.to_owned())) } else { Ok(chosen) }
}

/// The ciphers that a word means; `None` if it means others, too, which there are not. What is excluded may be what there is not.
fn members(word: &str, is_excluded: bool) -> Option<Vec<CipherSuite>> {
    if is_excluded && NONE.contains(&word) {
        return Some(Vec::new());
    }
    let is_in = |cipher: &Cipher, class: &str| {
        ALL.contains(&class) || cipher.name == class || cipher.classes.contains(&class)
    };
    let is_known = |class: &str| !class.is_empty() && CIPHERS.iter().any(|cipher| is_in(cipher, class));
    if !word.split('+').all(is_known) {
        return None;
    }
    let is_meant = |cipher: &&Cipher| word.split('+').all(|class| is_in(cipher, class));
    Some(CIPHERS.iter().filter(is_meant).map(|cipher| cipher.suite).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(ciphers: &str) -> usize {
        chosen_ciphers(ciphers).map_or(0, |chosen| chosen.len())
    }

    #[test]
    fn lists_of_ciphers() {
        assert_eq!((count(""), count("HIGH:!aNULL:!MD5"), count("ECDHE+AESGCM")), (6, 6, 4));
        assert_eq!(count("ECDHE-RSA-AES128-GCM-SHA256"), 1);
        assert_eq!(count("ECDHE+AESGCM:ECDHE+CHACHA20:!aECDSA"), 3);
        assert_eq!((count("ALL:-CHACHA20"), count("AES128:AES128")), (4, 2));
        for bad in [
            "bad",
            "AES128-SHA",
            "HIGH:AES256-SHA",
            "!HIGH",
            "HIGH:!bad",
            "HIGH:@STRENGTH",
            "DHE",
            "+",
            "aNULL",
        ] {
            assert!(matches!(chosen_ciphers(bad), Err(SuiteError::Ciphers(..))), "{bad}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_list() {
        let provider = provider("AES128:AES256", "TLS_AES_128_GCM_SHA256").unwrap();
        let suites: Vec<_> = provider.cipher_suites.iter().map(SupportedCipherSuite::suite).collect();
        assert_eq!(suites[0], CipherSuite::TLS13_AES_128_GCM_SHA256);
        assert_eq!(suites[1], CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256);
        assert_eq!(suites.len(), 5);
        assert!(chosen_ciphersuites("TLS_AES_128_CCM_SHA256").is_err());
    }

    #[test]
    fn words_of_protocols() {
        assert_eq!(protocols("").unwrap().len(), 2);
        assert_eq!(protocols("tlsV1.2").unwrap(), [&TLS12]);
        assert_eq!(protocols("TLSv1.2 TLSv1.3").unwrap(), [&TLS12, &TLS13]);
        assert_eq!(protocols("TLSv1 TLSv1.2"), Err(SuiteError::OldProtocol("TLSv1".to_owned())));
        assert_eq!(protocols("TLSv1.2  TLSv1.3"), Err(SuiteError::NoProtocol));
        assert_eq!(protocols("BAD"), Err(SuiteError::NoProtocol));
    }
}
