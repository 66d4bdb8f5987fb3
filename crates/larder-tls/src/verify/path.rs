//! Verifies the certificate of a peer with webpki.

use super::authorities::Authorities;
use super::rules::{Purpose, can_issue, check_use};
use super::stand_in::{OverOriginals, StandIn};
use crate::certificate::Certificate;
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use rustls::{CertificateError, Error, OtherError};
use std::sync::Arc;
use webpki::{EndEntityCert, VerifiedPath};

/// Maximum number of certificates from the peer that are used as issuers.
pub const SENT_MAX: usize = 6;

/// Verifies the certificate of a peer with others that it has sent.
///
/// # Errors
/// The certificate is not trusted for the purpose.
pub fn verify(
    authorities: &Authorities,
    certificate: &CertificateDer<'_>,
    sent: &[CertificateDer<'_>],
    purpose: Purpose,
    now: UnixTime,
) -> Result<(), Error> {
    let facts = Certificate::read(certificate).map_err(|_| CertificateError::BadEncoding)?;
    check_use(&facts, purpose)?;
    let pinned = authorities.pinned(certificate, purpose);
    if authorities.rejects(certificate, purpose) || facts.is_self_signed() && pinned.is_none() {
        return Err(CertificateError::UnknownIssuer.into());
    }
    let sent = issuers_of(&facts, sent);
    let own = StandIn::of_peer(&facts).into_iter().chain(sent.iter().filter_map(StandIn::of_issuer));
    let own: Vec<StandIn> = own.collect();
    let shown =
        |facts: &Certificate<'_>| own.iter().find(|one| one.replaces(facts)).map(StandIn::certificate);
    let peer = shown(&facts).unwrap_or_else(|| CertificateDer::from(certificate.as_ref()));
    let sent = sent.iter().map(|issuer| shown(issuer).unwrap_or_else(|| CertificateDer::from(issuer.whole)));
    let intermediates: Vec<CertificateDer<'_>> = sent.chain(authorities.intermediates(purpose)).collect();
    let stand_ins: Vec<&StandIn> = own.iter().chain(authorities.stand_ins()).collect();
    let algorithms = OverOriginals::all(authorities.algorithms(), &stand_ins);
    let algorithms: Vec<_> =
        algorithms.iter().map(|one| one as &dyn SignatureVerificationAlgorithm).collect();
    let peer = EndEntityCert::try_from(&peer).map_err(fault)?;
    // A pinned certificate ends its own path, which has nothing above it.
    let (anchors, is_pinned) = match &pinned {
        Some(itself) => (std::slice::from_ref(itself), true),
        None => (authorities.anchors(purpose), false),
    };
    let check = |path: &VerifiedPath<'_>| {
        if is_pinned { Ok(()) } else { authorities.check_path(path, purpose, now) }
    };
    let usage = purpose.key_usage();
    peer.verify_for_usage(&algorithms, anchors, &intermediates, now, usage, None, Some(&check))
        .map_err(fault)?;
    Ok(())
}

/// Selects up to [`SENT_MAX`] of the certificates that a peer sent (V8): those that may issue (V1)
/// and lead upwards from its own by their names. A self-signed one leads nowhere, since paths end
/// at the operator's certificates.
fn issuers_of<'s>(peer: &Certificate<'_>, sent: &'s [CertificateDer<'_>]) -> Vec<Certificate<'s>> {
    let read = sent.iter().filter_map(|der| Certificate::read(der).ok());
    let mut able: Vec<_> = read.filter(|facts| can_issue(facts) && !facts.is_self_signed()).collect();
    let mut chosen: Vec<Certificate<'s>> = Vec::new();
    let mut at = 0;
    let mut wanted = peer.issuer;
    loop {
        let issuers = able.extract_if(.., |facts| facts.subject == wanted);
        chosen.extend(issuers.take(SENT_MAX - chosen.len()));
        let Some(next) = chosen.get(at) else { return chosen };
        wanted = next.issuer;
        at += 1;
    }
}

/// Converts an error of webpki to one of rustls.
pub fn fault(error: webpki::Error) -> Error {
    use webpki::Error as Reason;
    match error {
        Reason::BadDer | Reason::BadDerTime | Reason::TrailingData(_) => CertificateError::BadEncoding,
        Reason::CertExpired { time, not_after } => CertificateError::ExpiredContext { time, not_after },
        Reason::CertNotValidYet { time, not_before } => {
            CertificateError::NotValidYetContext { time, not_before }
        }
        Reason::InvalidCertValidity => CertificateError::Expired,
        Reason::InvalidSignatureForPublicKey => CertificateError::BadSignature,
        Reason::RequiredEkuNotFoundContext(_) => CertificateError::InvalidPurpose,
        Reason::UnknownIssuer => CertificateError::UnknownIssuer,
        other => CertificateError::Other(OtherError(Arc::new(other))),
    }
    .into()
}
