//! Certificates in a form that webpki reads.
//!
//! webpki refuses some certificates for their form before it looks at who issued them: those of
//! version 1, those of an authority that is a peer itself, and critical extensions for policies. It
//! gets a stand-in for such a certificate, and verifies the issuer's signature over the original.
//!
//! Invariants:
//! - S1: Serial number, issuer, validity, subject, public key, signature algorithm and signature
//!   are those of the original, byte for byte.
//! - S2: A stand-in grants nothing that the original does not: that of a peer is never an
//!   authority; that of an issuer has all extensions of the original except those for policies.
//! - S3: A signature over a stand-in is valid if, and only if, it is valid over the original
//!   ([`OverOriginals`]).
//!
//! Stand-ins also have the subject's names among their alternative names, so that name constraints
//! bind them: mail addresses and, of a peer without DNS names, common names that look like DNS
//! names. OpenSSL does the same when it checks name constraints. The names of a stand-in are used
//! for nothing else.

use super::rules::POLICIES;
use crate::certificate::{
    ALTERNATIVE_NAMES, BASIC_CONSTRAINTS, Certificate, DNS_NAME, EXTENSIONS, MAIL_NAME, only,
};
use der::asn1::ObjectIdentifier;
use rustls::pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm,
};

/// The field of the version, as DER.
const VERSION_3: &[u8] = &[0xa0, 3, 2, 1, 2];
const OCTETS: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// A field that is numbered in its context, and one that has elements inside.
const CONTEXT: u8 = 0x80;
const CONTEXT_CONSTRUCTED: u8 = 0xa0;

/// A certificate that takes the place of another one for webpki.
#[derive(Debug)]
pub struct StandIn {
    certificate: Vec<u8>,
    /// Its signed part, as DER.
    signed: Vec<u8>,
    /// The signed part of the original, as DER.
    original: Vec<u8>,
}

impl StandIn {
    /// Returns the stand-in of a peer's certificate, if it needs one.
    pub fn of_peer(facts: &Certificate<'_>) -> Option<StandIn> {
        let names = [host_names(facts), mail_names(facts)].concat();
        let is_readable = facts.has_extensions && !facts.is_authority && !has_critical_policy(facts);
        let is_kept = |id| id != BASIC_CONSTRAINTS && !POLICIES.contains(&id);
        (!is_readable || !names.is_empty()).then(|| StandIn::new(facts, is_kept, &names))
    }

    /// Returns the stand-in of an issuer's certificate, if it needs one.
    pub fn of_issuer(facts: &Certificate<'_>) -> Option<StandIn> {
        let names = mail_names(facts);
        let is_kept = |id| !POLICIES.contains(&id);
        (has_critical_policy(facts) || !names.is_empty()).then(|| StandIn::new(facts, is_kept, &names))
    }

    /// Returns the stand-in of a peer's certificate with the alternative names of the original
    /// alone.
    pub fn with_own_names(facts: &Certificate<'_>) -> StandIn {
        StandIn::new(facts, |id| id != BASIC_CONSTRAINTS && !POLICIES.contains(&id), &[])
    }

    /// Makes a stand-in with some of the extensions of the original, and with more alternative
    /// names.
    fn new(facts: &Certificate<'_>, is_kept: impl Fn(ObjectIdentifier) -> bool, names: &[u8]) -> StandIn {
        let kept = facts.extensions.iter().filter(|extension| is_kept(extension.id));
        let (own, others): (Vec<_>, Vec<_>) =
            kept.partition(|extension| extension.id == ALTERNATIVE_NAMES && !names.is_empty());
        let mut extensions: Vec<u8> = others.iter().flat_map(|extension| extension.whole).copied().collect();
        if !names.is_empty() {
            let own = own.first().and_then(|extension| only(extension.value).ok());
            let all = tlv(SEQUENCE, &[own.map_or(&[], |own| own.value), names]);
            let id = tlv(OBJECT_IDENTIFIER, &[ALTERNATIVE_NAMES.as_bytes()]);
            extensions.extend(tlv(SEQUENCE, &[&id, &tlv(OCTETS, &[&all])]));
        }
        let extensions = tlv(CONTEXT_CONSTRUCTED | EXTENSIONS, &[&tlv(SEQUENCE, &[&extensions])]);
        let signed = tlv(SEQUENCE, &[VERSION_3, facts.core, &extensions]);
        let certificate = tlv(SEQUENCE, &[&signed, facts.seal]);
        StandIn { certificate, signed, original: facts.signed.to_vec() }
    }

    /// Returns the certificate.
    pub fn certificate(&self) -> CertificateDer<'_> {
        CertificateDer::from(&self.certificate[..])
    }

    /// Whether it stands for this certificate.
    pub fn replaces(&self, facts: &Certificate<'_>) -> bool {
        self.original == facts.signed
    }
}

fn has_critical_policy(facts: &Certificate<'_>) -> bool {
    facts.extensions.iter().any(|extension| extension.is_critical && POLICIES.contains(&extension.id))
}

/// Returns the common names that name constraints bind as DNS names, as alternative names in DER.
fn host_names(facts: &Certificate<'_>) -> Vec<u8> {
    let common = facts.common_names.iter().filter(|_| !facts.has_dns_name).filter_map(|name| name.utf8());
    let hosts = common.filter(|name| looks_like_dns(name));
    hosts.flat_map(|name| tlv(CONTEXT | DNS_NAME, &[&name])).collect()
}

/// Returns the mail addresses of the subject, as alternative names in DER.
fn mail_names(facts: &Certificate<'_>) -> Vec<u8> {
    facts.mail_addresses.iter().flat_map(|name| tlv(CONTEXT | MAIL_NAME, &[name])).collect()
}

/// Whether a common name has at least two labels of the characters that DNS names have.
fn looks_like_dns(name: &[u8]) -> bool {
    let is_label = |label: &[u8]| {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        !label.is_empty() && label.iter().all(is_part) && !label.starts_with(b"-") && !label.ends_with(b"-")
    };
    let labels = name.split(|&byte| byte == b'.');
    labels.clone().count() >= 2 && labels.into_iter().all(is_label)
}

/// Returns an element with a tag of one byte, in DER.
fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let bytes = length.to_be_bytes();
    let digits = &bytes[bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len() - 1)..];
    let mut out = vec![tag];
    if length >= 0x80 {
        out.push(0x80 | digits.len() as u8);
    }
    out.extend_from_slice(digits);
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// A signature algorithm that takes the originals of stand-ins for what is signed (S3).
#[derive(Debug)]
pub struct OverOriginals<'s> {
    algorithm: &'static dyn SignatureVerificationAlgorithm,
    stand_ins: &'s [&'s StandIn],
}

impl<'s> OverOriginals<'s> {
    /// Wraps each of the algorithms.
    pub fn all(
        algorithms: &[&'static dyn SignatureVerificationAlgorithm],
        stand_ins: &'s [&'s StandIn],
    ) -> Vec<OverOriginals<'s>> {
        algorithms.iter().map(|&algorithm| OverOriginals { algorithm, stand_ins }).collect()
    }
}

impl SignatureVerificationAlgorithm for OverOriginals<'_> {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let replaced = self.stand_ins.iter().find(|one| one.signed == message);
        let message = replaced.map_or(message, |one| &one.original);
        self.algorithm.verify_signature(public_key, message, signature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }
}
