//! The certificates that an operator trusts, prepared for verifying.

use super::rules::{Purpose, can_issue};
use super::stand_in::StandIn;
use crate::certificate::Certificate;
use crate::pem::{StoredCertificate, TrustSettings};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, Der, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{VerifiedPath, anchor_from_trusted_cert};

/// Maximum length of a completed chain. The limit ends circles of names.
const SENT_CHAIN_MAX: usize = 10;

/// The certificates of the operator's files.
#[derive(Debug)]
pub struct Authorities {
    stored: Vec<StoredCertificate>,
    stand_ins: Vec<StandIn>,
    /// By the number of a [`Purpose`].
    by_purpose: [Trusted; 2],
    algorithms: WebPkiSupportedAlgorithms,
}

/// The certificates of the files, sorted for one purpose.
#[derive(Debug, Default)]
struct Trusted {
    /// Ends of paths, and their limits at the same index.
    anchors: Vec<TrustAnchor<'static>>,
    limits: Vec<Limits>,
    /// Certificates that complete a path, as webpki reads them.
    intermediates: Vec<CertificateDer<'static>>,
    /// Certificates that no path may have, as webpki reads them.
    rejected: Vec<CertificateDer<'static>>,
}

/// What the end of a path allows (V3).
#[derive(Debug)]
struct Limits {
    begins_s: i64,
    expires_s: i64,
    path_length: Option<u64>,
}

/// The trust setting of one certificate for one purpose.
///
/// The order is that of precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Setting {
    /// The files do not set anything.
    None,
    Trusted,
    Rejected,
}

impl TrustSettings {
    fn setting(&self, purpose: Purpose) -> Setting {
        if self.rejected.contains(&purpose.id()) {
            Setting::Rejected
        } else if self.trusted.contains(&purpose.id()) {
            Setting::Trusted
        } else if self.trusted.is_empty() {
            Setting::None
        } else {
            // A list that does not name the purpose excludes it.
            Setting::Rejected
        }
    }
}

impl Authorities {
    /// Prepares certificates. [`Authorities::complete`] also uses those that cannot be trusted.
    pub fn new(stored: Vec<StoredCertificate>, algorithms: WebPkiSupportedAlgorithms) -> Authorities {
        let mut authorities =
            Authorities { stored, stand_ins: Vec::new(), by_purpose: Default::default(), algorithms };
        for one in &authorities.stored {
            let Ok(facts) = Certificate::read(&one.der) else { continue };
            let stand_in = StandIn::of_issuer(&facts);
            let shown =
                stand_in.as_ref().map_or_else(|| one.der.clone(), |one| one.certificate().into_owned());
            for purpose in [Purpose::Client, Purpose::Server] {
                let setting = authorities.setting(&one.der, purpose);
                authorities.by_purpose[purpose as usize].add(&facts, &shown, setting, purpose);
            }
            authorities.stand_ins.extend(stand_in);
        }
        authorities
    }

    /// Returns a log line for each certificate that OpenSSL takes for an authority and this
    /// verifier does not: self-signed ones of version 1.
    pub fn notices(&self) -> Vec<String> {
        let read = self.stored.iter().filter_map(|one| Certificate::read(&one.der).ok());
        let old = read.filter(|facts| facts.is_self_signed() && !facts.has_extensions);
        let text = |facts: Certificate<'_>| {
            format!(
                "The trusted certificate with serial number {} has version 1 and cannot be an authority: it is \
                 trusted itself, but certificates that it issued are not. Create authorities with \
                 'openssl req -x509'.",
                facts.serial_text()
            )
        };
        old.map(text).collect()
    }

    /// Returns the signature algorithms.
    pub(super) fn algorithms(&self) -> &[&'static dyn SignatureVerificationAlgorithm] {
        self.algorithms.all
    }

    /// Returns the signature algorithms with their names in TLS.
    pub(super) fn schemes(&self) -> &WebPkiSupportedAlgorithms {
        &self.algorithms
    }

    /// Returns the stand-ins of stored certificates.
    pub(super) fn stand_ins(&self) -> &[StandIn] {
        &self.stand_ins
    }

    /// Returns the ends of paths (V2).
    pub(super) fn anchors(&self, purpose: Purpose) -> &[TrustAnchor<'static>] {
        &self.by_purpose[purpose as usize].anchors
    }

    /// Returns the certificates that complete a path.
    pub(super) fn intermediates(&self, purpose: Purpose) -> impl Iterator<Item = CertificateDer<'_>> {
        let all = &self.by_purpose[purpose as usize].intermediates;
        all.iter().map(|certificate| CertificateDer::from(certificate.as_ref()))
    }

    /// Returns the peer's certificate as the end of its own path, if it is one of the files,
    /// self-signed, and not rejected (V4).
    pub(super) fn pinned(&self, peer: &CertificateDer<'_>, purpose: Purpose) -> Option<TrustAnchor<'_>> {
        let stored = self.stored.iter().find(|one| one.der == *peer)?;
        let facts = Certificate::read(&stored.der).ok().filter(Certificate::is_self_signed)?;
        (!self.rejects(peer, purpose)).then(|| TrustAnchor {
            subject: Der::from_slice(facts.subject),
            subject_public_key_info: Der::from_slice(facts.key_content),
            name_constraints: None,
        })
    }

    /// Whether the files reject a certificate for a purpose (V7).
    pub(super) fn rejects(&self, certificate: &CertificateDer<'_>, purpose: Purpose) -> bool {
        self.setting(certificate, purpose) == Setting::Rejected
    }

    /// Returns the setting of a certificate. One that is in several files is rejected if any of
    /// them rejects it.
    fn setting(&self, certificate: &CertificateDer<'_>, purpose: Purpose) -> Setting {
        let same = self.stored.iter().filter(|one| one.der == *certificate);
        same.map(|one| one.settings.setting(purpose)).max().unwrap_or(Setting::None)
    }

    /// Checks the limits of the end of a path (V3) and that no certificate on it is rejected (V7).
    pub(super) fn check_path(
        &self,
        path: &VerifiedPath<'_>,
        purpose: Purpose,
        now: UnixTime,
    ) -> Result<(), webpki::Error> {
        let trusted = &self.by_purpose[purpose as usize];
        let is_end = |anchor: &TrustAnchor<'_>| std::ptr::eq(anchor, path.anchor());
        let end = trusted.anchors.iter().position(is_end);
        let limits = end.and_then(|end| trusted.limits.get(end)).ok_or(webpki::Error::UnknownIssuer)?;
        if path.intermediate_certificates().any(|one| trusted.rejected.contains(&one.der())) {
            return Err(webpki::Error::UnknownIssuer);
        }
        // As OpenSSL counts: an authority that renews its own key is not a further step.
        let steps = path.intermediate_certificates().filter(|one| one.subject() != one.issuer()).count();
        if limits.path_length.is_some_and(|most| steps as u64 > most) {
            return Err(webpki::Error::PathLenConstraintViolated);
        }
        limits.check_time(now)
    }

    /// Returns a certificate with those that lead from it to its root, as far as they are stored.
    ///
    /// A certificate is taken if its key has signed the one before; of several, one that is valid,
    /// or else the one that is valid longest.
    pub fn complete(&self, leaf: &CertificateDer<'static>, now: UnixTime) -> Vec<CertificateDer<'static>> {
        let now_s = now.as_secs() as i64;
        let mut chain = vec![leaf.clone()];
        while chain.len() < SENT_CHAIN_MAX
            && let Some(last) = chain.last()
            && let Some(issuer) = self.issuer_of(last, now_s)
        {
            chain.push(issuer);
        }
        chain
    }

    fn issuer_of(&self, certificate: &CertificateDer<'_>, now_s: i64) -> Option<CertificateDer<'static>> {
        let facts = Certificate::read(certificate).ok().filter(|facts| !facts.is_self_signed())?;
        let read = self.stored.iter().filter_map(|one| Some((one, Certificate::read(&one.der).ok()?)));
        let issuers =
            read.filter(|(_, issuer)| issuer.subject == facts.issuer && self.has_signed(issuer, &facts));
        let best = issuers.max_by_key(|(_, issuer)| (issuer.is_valid_at(now_s), issuer.expires_s));
        best.map(|(one, _)| one.der.clone())
    }

    /// Whether the key of one certificate has signed another one.
    fn has_signed(&self, issuer: &Certificate<'_>, certificate: &Certificate<'_>) -> bool {
        let Ok((kind, key)) = issuer.key_parts() else { return false };
        let mut algorithms = self.algorithms.all.iter().filter(|known| {
            *known.signature_alg_id() == *certificate.signature_algorithm
                && *known.public_key_alg_id() == *kind
        });
        algorithms.any(|known| known.verify_signature(key, certificate.signed, certificate.signature).is_ok())
    }
}

impl Trusted {
    fn add(
        &mut self,
        facts: &Certificate<'_>,
        shown: &CertificateDer<'static>,
        setting: Setting,
        purpose: Purpose,
    ) {
        if setting == Setting::Rejected {
            self.rejected.push(shown.clone());
            return;
        }
        if !can_issue(facts) {
            return;
        }
        let ends = setting == Setting::Trusted || facts.is_self_signed();
        let suits = facts.purposes.as_ref().is_none_or(|purposes| purposes.contains(&purpose.id()));
        if !ends {
            self.intermediates.push(shown.clone());
        } else if suits && let Ok(anchor) = anchor_from_trusted_cert(shown) {
            self.anchors.push(anchor.to_owned());
            let Certificate { begins_s, expires_s, path_length, .. } = *facts;
            self.limits.push(Limits { begins_s, expires_s, path_length });
        }
    }
}

impl Limits {
    fn check_time(&self, now: UnixTime) -> Result<(), webpki::Error> {
        let now_s = now.as_secs() as i64;
        let at = |seconds: i64| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds as u64));
        if now_s < self.begins_s {
            return Err(webpki::Error::CertNotValidYet { time: now, not_before: at(self.begins_s) });
        }
        if now_s > self.expires_s {
            return Err(webpki::Error::CertExpired { time: now, not_after: at(self.expires_s) });
        }
        Ok(())
    }
}
