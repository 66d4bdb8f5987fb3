//! Configurations for programs that connect as clients do: certificates are those of given
//! authorities, and name the host. (Servers among themselves do not compare names, and have
//! configurations of their own.)

use crate::certificate::{Certificate, key_parts};
use crate::key::{self, KeyError};
use crate::pem;
use crate::provider::provider;
use crate::verify::{Authorities, ServerVerifier};
use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use rustls::{ClientConfig, Error, InconsistentKeys};
use std::fmt;
use std::sync::Arc;

/// Why files make no configuration.
#[derive(Debug)]
pub enum TrustError {
    /// In the file of authorities is no certificate of one.
    Authorities,
    /// In the file of the certificate is none.
    Certificate,
    /// The file of the key has none that can be used.
    Key(KeyError),
    /// The certificate and the key do not belong together, or something about them is not
    /// supported.
    Rejected(rustls::Error),
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrustError::Authorities => f.write_str("the file contains no certificate of an authority"),
            TrustError::Certificate => f.write_str("the file contains no certificate"),
            TrustError::Key(error) => error.fmt(f),
            TrustError::Rejected(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TrustError {}

/// Who a client is: files in PEM, as bytes.
#[derive(Clone, Copy)]
pub struct Identity<'f> {
    /// Its certificate, and those that vouch for it.
    pub certificate: &'f [u8],
    /// Its private key.
    pub key: &'f [u8],
    /// The password of the key; empty if it is not encrypted.
    pub password: &'f str,
}

/// Returns the configuration of a client that trusts the authorities of a file in PEM. Certificates
/// of servers must be for the host.
///
/// # Errors
/// The bytes are not what they should be.
pub fn client_config(
    authorities: &[u8],
    identity: Option<Identity<'_>>,
) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(provider());
    let stored = pem::stored_certificates(authorities).map_err(|_| TrustError::Authorities)?;
    let trusted = Arc::new(Authorities::new(stored, provider.signature_verification_algorithms));
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Rejected)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ServerVerifier::new(trusted, true)));
    let config = match identity {
        None => config.with_no_client_auth(),
        Some(identity) => {
            let chain = pem::certificates(identity.certificate).map_err(|_| TrustError::Certificate)?;
            let key = key::read(identity.key, identity.password).map_err(TrustError::Key)?;
            let key = provider.key_provider.load_private_key(key).map_err(TrustError::Rejected)?;
            if !is_key_of(&*key, &chain[0]) {
                return Err(TrustError::Rejected(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)));
            }
            let certified = CertifiedKey::new(chain, key);
            config.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
        }
    };
    Ok(Arc::new(config))
}

/// Whether a private key is that of a certificate.
///
/// The keys themselves are compared: the names of the algorithm may differ for one key.
pub fn is_key_of(key: &dyn SigningKey, certificate: &CertificateDer<'_>) -> bool {
    let Some(public) = key.public_key() else { return true };
    let Ok(facts) = Certificate::read(certificate) else { return false };
    match (key_parts(public.as_ref()), facts.key_parts()) {
        (Ok((_, own)), Ok((_, shown))) => own == shown,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_testkit::tls::Authority;
    use std::fs::read;

    #[test]
    fn files_that_are_not_what_they_are_said_to_be() {
        let authority = Authority::new("authority");
        let [ours, theirs] = ["ours", "theirs"].map(|name| authority.issue(name));
        let authorities = read(authority.certificate()).unwrap();
        let [certificate, key, other] =
            [&ours.certificate, &ours.key, &theirs.key].map(|path| read(path).unwrap());
        let config = |authorities: &[u8], certificate: &[u8], key: &[u8]| {
            client_config(authorities, Some(Identity { certificate, key, password: "" }))
        };
        assert!(config(&authorities, &certificate, &key).is_ok());
        assert!(client_config(&authorities, None).is_ok());
        assert!(matches!(config(b"", &certificate, &key), Err(TrustError::Authorities)));
        assert!(matches!(config(&key, &certificate, &key), Err(TrustError::Authorities)));
        assert!(matches!(config(&authorities, b"text", &key), Err(TrustError::Certificate)));
        assert!(matches!(config(&authorities, &certificate, b""), Err(TrustError::Key(KeyError::None))));
        assert!(matches!(config(&authorities, &certificate, &other), Err(TrustError::Rejected(_))));
    }
}
