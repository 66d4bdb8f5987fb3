//! Whether the certificate of a peer is to be trusted: its chain must end at one of the configured authorities. Names of hosts are not
//! compared, as servers of this protocol do not among themselves; the certificates of a deployment come from its own authority.
//!
//! webpki does that, but for two kinds of certificates that OpenSSL takes and that are common:
//! - one that is self-signed is that of a peer and of an authority: it is taken if it is itself among the trusted ones;
//! - one of version 1, which `openssl x509 -req` makes: it is taken if one of the trusted authorities has signed it, without others
//!   between them.

use super::certificate::Certificate;
use der::asn1::ObjectIdentifier;
use rustls::client::danger::{ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
    client::danger::HandshakeSignatureValid,
};
use std::sync::Arc;

const SERVER_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const CLIENT_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");
const ANY_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

/// Authorities.
#[derive(Debug)]
pub struct Authorities {
    roots: Arc<RootCertStore>,
    /// The same as they are in the files.
    certificates: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
    /// Verifies clients; `None` without authorities, by which nobody is vouched for.
    clients: Option<Arc<dyn ClientCertVerifier>>,
}

impl Authorities {
    /// Of these certificates. An error if one of them is none.
    pub fn new(
        certificates: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Authorities, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone())?;
        }
        let roots = Arc::new(roots);
        let clients = (!certificates.is_empty())
            .then(|| {
                WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider)).build()
            })
            .transpose()
            .map_err(|error| Error::General(error.to_string()))?;
        Ok(Authorities { roots, certificates, provider, clients })
    }

    /// Takes a certificate after all that webpki refuses for what it is, and not for who it is from.
    fn reconsider(
        &self,
        error: Error,
        certificate: &CertificateDer<'_>,
        purpose: ObjectIdentifier,
        now: UnixTime,
    ) -> Result<(), Error> {
        let Some(reason) = reason(&error) else { return Err(error) };
        let Ok(facts) = Certificate::read(certificate) else { return Err(error) };
        let is_trusted = match reason {
            webpki::Error::CaUsedAsEndEntity => {
                self.certificates.iter().any(|trusted| trusted == certificate)
            }
            webpki::Error::UnsupportedCertVersion => facts.is_old && self.has_signed(&facts),
            _ => return Err(error),
        };
        if !is_trusted {
            return Err(CertificateError::UnknownIssuer.into());
        }
        let now_s = now.as_secs() as i64;
        if now_s < facts.begins_s {
            return Err(CertificateError::NotValidYet.into());
        }
        if now_s > facts.expires_s {
            return Err(CertificateError::Expired.into());
        }
        let suits = |purposes: Vec<_>| purposes.contains(&purpose) || purposes.contains(&ANY_PURPOSE);
        if facts.purposes.is_none_or(suits) { Ok(()) } else { Err(CertificateError::InvalidPurpose.into()) }
    }

    /// Whether one of the authorities has signed a certificate.
    fn has_signed(&self, certificate: &Certificate<'_>) -> bool {
        let (bytes, algorithm, signature) = certificate.signed;
        self.certificates.iter().filter_map(|issuer| Certificate::read(issuer).ok()).any(|issuer| {
            let Ok((kind, key)) = issuer.key_parts() else { return false };
            let mut algorithms = self.provider.signature_verification_algorithms.all.iter().filter(|known| {
                *known.signature_alg_id() == *algorithm && *known.public_key_alg_id() == *kind
            });
            issuer.subject == certificate.issuer
                && algorithms.any(|known| known.verify_signature(key, bytes, signature).is_ok())
        })
    }

    fn check_tls12(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let Some(key) = key_of_old(certificate) else {
            let algorithms = &self.provider.signature_verification_algorithms;
            return verify_tls12_signature(message, certificate, signed, algorithms);
        };
        let bad = || Error::from(CertificateError::BadSignature);
        let key = webpki::RawPublicKeyEntity::try_from(&key).map_err(|_| CertificateError::BadEncoding)?;
        let schemes = self.provider.signature_verification_algorithms.mapping.iter();
        let (_, algorithms) = schemes.clone().find(|(scheme, _)| *scheme == signed.scheme).ok_or_else(bad)?;
        let is_valid =
            algorithms.iter().any(|known| key.verify_signature(*known, message, signed.signature()).is_ok());
        if is_valid { Ok(HandshakeSignatureValid::assertion()) } else { Err(bad()) }
    }

    fn check_tls13(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match key_of_old(certificate) {
            Some(key) => verify_tls13_signature_with_raw_key(message, &key, signed, algorithms),
            None => verify_tls13_signature(message, certificate, signed, algorithms),
        }
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Why webpki refuses a certificate, if rustls has no word for it.
fn reason(error: &Error) -> Option<&webpki::Error> {
    match error {
        Error::InvalidCertificate(CertificateError::Other(reason)) => reason.0.downcast_ref(),
        _ => None,
    }
}

/// The public key of a certificate of version 1.
fn key_of_old<'c>(certificate: &'c CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'c>> {
    let facts = Certificate::read(certificate).ok().filter(|facts| facts.is_old)?;
    Some(SubjectPublicKeyInfoDer::from(facts.public_key))
}

/// Asks clients for a certificate.
#[derive(Debug)]
pub struct ClientVerifier {
    authorities: Arc<Authorities>,
    is_mandatory: bool,
}

impl ClientVerifier {
    /// `is_mandatory`: those who send none are refused.
    pub fn new(authorities: Arc<Authorities>, is_mandatory: bool) -> ClientVerifier {
        ClientVerifier { authorities, is_mandatory }
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.is_mandatory
    }

    /// Clients are not told which authorities count, as by Valkey.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let Some(verifier) = &self.authorities.clients else {
            return Err(CertificateError::UnknownIssuer.into());
        };
        verifier.verify_client_cert(certificate, intermediates, now).or_else(|error| {
            self.authorities.reconsider(error, certificate, CLIENT_PURPOSE, now)?;
            Ok(ClientCertVerified::assertion())
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.check_tls12(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.check_tls13(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.schemes()
    }
}

/// Verifies servers that this one connects to.
#[derive(Debug)]
pub struct ServerVerifier(pub Arc<Authorities>);

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let algorithms = self.0.provider.signature_verification_algorithms.all;
        ParsedCertificate::try_from(certificate)
            .and_then(|parsed| {
                let roots = &self.0.roots;
                verify_server_cert_signed_by_trust_anchor(&parsed, roots, intermediates, now, algorithms)
            })
            .or_else(|error| self.0.reconsider(error, certificate, SERVER_PURPOSE, now))?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.check_tls12(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.check_tls13(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.schemes()
    }
}
