//! The cryptography of TLS: that of rustls on aws-lc, and some algorithms that OpenSSL has and
//! rustls leaves out.

mod algorithms;
mod ecdsa;
mod p521;
mod pss;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use rustls::Error;
use rustls::crypto::{CryptoProvider, KeyProvider, aws_lc_rs as library};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::SigningKey;
use std::sync::Arc;

/// Returns all cryptography that is supported.
///
/// Beside rustls's own: key exchange on P-521, keys for RSA-PSS only, ECDSA keys that sign with any
/// hash by TLS 1.2, and certificates that are signed with SHA-224.
pub fn provider() -> CryptoProvider {
    let mut provider = library::default_provider();
    provider.kx_groups.push(&p521::P521);
    provider.signature_verification_algorithms =
        algorithms::extended(provider.signature_verification_algorithms);
    provider.key_provider = &Keys;
    provider
}

/// Reads private keys.
#[derive(Debug)]
struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        if let Some(key) = pss::signing_key(&key) {
            return key;
        }
        match ecdsa::signing_key(&key) {
            Some(key) => Ok(key),
            None => library::sign::any_supported_type(&key),
        }
    }
}

/// Gathers the entropy that the first random bytes of a process need.
///
/// aws-lc does that when it is first asked for random bytes, which is otherwise in the first
/// handshake. It takes tens of milliseconds.
pub fn gather_entropy() {
    // An error would come again in the first handshake, which reports it.
    let _ = SystemRandom::new().fill(&mut [0]);
}
