//! The verifiers of rustls's configurations.

use super::authorities::Authorities;
use super::path::{fault, verify};
use super::rules::Purpose;
use super::stand_in::StandIn;
use crate::certificate::Certificate;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::verify_tls13_signature_with_raw_key;
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::sync::Arc;

/// Asks clients for a certificate.
#[derive(Debug)]
pub struct ClientVerifier {
    authorities: Arc<Authorities>,
    is_mandatory: bool,
}

impl ClientVerifier {
    /// With `is_mandatory` a client that shows no certificate is refused.
    pub fn new(authorities: Arc<Authorities>, is_mandatory: bool) -> ClientVerifier {
        ClientVerifier { authorities, is_mandatory }
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.is_mandatory
    }

    /// Names no authorities to clients, as Valkey does not.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        verify(&self.authorities, certificate, intermediates, Purpose::Client, now)?;
        Ok(ClientCertVerified::assertion())
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
        self.authorities.schemes().supported_schemes()
    }
}

/// Verifies servers that this process connects to.
#[derive(Debug)]
pub struct ServerVerifier {
    authorities: Arc<Authorities>,
    compares_names: bool,
}

impl ServerVerifier {
    /// With `compares_names` the certificate must be for the host that is connected to. Servers of
    /// this protocol do not ask that of each other.
    pub fn new(authorities: Arc<Authorities>, compares_names: bool) -> ServerVerifier {
        ServerVerifier { authorities, compares_names }
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        verify(&self.authorities, certificate, intermediates, Purpose::Server, now)?;
        if self.compares_names {
            compare_name(certificate, name)?;
        }
        Ok(ServerCertVerified::assertion())
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
        self.authorities.schemes().supported_schemes()
    }
}

/// Compares the host with the alternative names of a certificate.
fn compare_name(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), Error> {
    let facts = Certificate::read(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let readable = StandIn::with_own_names(&facts);
    let readable = readable.certificate();
    verify_server_name(&ParsedCertificate::try_from(&readable)?, name)
}

impl Authorities {
    fn check_tls12(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = public_key(certificate)?;
        let key = webpki::RawPublicKeyEntity::try_from(&key).map_err(fault)?;
        // TLS 1.2 does not say the curve: each algorithm of the scheme may be meant.
        let scheme = self.schemes().mapping.iter().find(|(scheme, _)| *scheme == signed.scheme);
        let mut algorithms = scheme.into_iter().flat_map(|(_, algorithms)| algorithms.iter());
        let is_valid =
            algorithms.any(|known| key.verify_signature(*known, message, signed.signature()).is_ok());
        if is_valid {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(CertificateError::BadSignature.into())
        }
    }

    fn check_tls13(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature_with_raw_key(message, &public_key(certificate)?, signed, self.schemes())
    }
}

/// Returns the public key of a certificate. webpki reads keys of every certificate, and only some
/// certificates.
fn public_key<'c>(certificate: &'c CertificateDer<'_>) -> Result<SubjectPublicKeyInfoDer<'c>, Error> {
    let facts = Certificate::read(certificate).map_err(|_| CertificateError::BadEncoding)?;
    Ok(SubjectPublicKeyInfoDer::from(facts.public_key))
}
