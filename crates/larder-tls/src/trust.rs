//! Configurations for programs that connect as clients do: certificates are those of given authorities, and name the host. (Servers among
//! themselves do not compare names, and have configurations of their own.)

use crate::key::{self, KeyError};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
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
    /// The certificate and the key do not belong together, or something about them is not supported.
    Rejected(rustls::Error),
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrustError::Authorities => f.write_str("there is no certificate of an authority in the file"),
            TrustError::Certificate => f.write_str("there is no certificate in the file"),
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

/// The configuration of a client that trusts the authorities of a file in PEM.
///
/// # Errors
/// The bytes are not what they are said to be.
pub fn client_config(
    authorities: &[u8],
    identity: Option<Identity<'_>>,
) -> Result<Arc<ClientConfig>, TrustError> {
    let mut roots = RootCertStore::empty();
    let certificates = certificates(authorities).ok_or(TrustError::Authorities)?;
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(TrustError::Authorities);
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TrustError::Rejected)?
        .with_root_certificates(roots);
    let config = match identity {
        None => config.with_no_client_auth(),
        Some(identity) => {
            let chain = self::certificates(identity.certificate).ok_or(TrustError::Certificate)?;
            let key = key::read(identity.key, identity.password).map_err(TrustError::Key)?;
            config.with_client_auth_cert(chain, key).map_err(TrustError::Rejected)?
        }
    };
    Ok(Arc::new(config))
}

/// The certificates of a file; `None` if there is none, or something that is none.
fn certificates(file: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let all = CertificateDer::pem_slice_iter(file).collect::<Result<Vec<_>, _>>().ok()?;
    (!all.is_empty()).then_some(all)
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
