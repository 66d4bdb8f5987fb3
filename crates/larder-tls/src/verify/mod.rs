//! Whether to trust the certificate of a peer.
//!
//! webpki builds the path from a peer's certificate to a trusted authority and verifies it:
//! signatures, validity periods, the authority flag and the path lengths of intermediates, name
//! constraints, extended key usage, unknown critical extensions. This module chooses what webpki
//! may use and checks what webpki does not look at, so that the verdict is that of OpenSSL for a
//! client or a server. It has no path builder of its own. docs/design/tls.md says why, and what
//! differs.
//!
//! Rules:
//! - V1: Only an authority issues. A certificate that issues another one has version 3,
//!   basicConstraints with the authority flag, keyCertSign if it has keyUsage, and no unknown
//!   critical extension, wherever it comes from ([`can_issue`](rules::can_issue)). Otherwise each
//!   holder of a certificate could make certificates for others.
//! - V2: A path ends at a self-signed certificate of the operator's files, or at one that these
//!   files trust explicitly ([`TrustSettings`](crate::pem::TrustSettings)). An intermediate in the
//!   files completes a path and is no end: operators put public intermediates there to complete
//!   their own chain.
//! - V3: The end of a path is held to its own limits: validity, path length, extended key usage
//!   ([`Authorities`]). webpki takes a trust anchor to be a name and a key.
//! - V4: A self-signed certificate of the files, authority or not, speaks for itself: a peer may
//!   show that very certificate. It speaks for no other one unless V1 allows that. Any other
//!   self-signed certificate is refused.
//! - V5: The peer's key may sign, and Netscape's type, if there is one, allows the purpose
//!   ([`check_use`](rules::check_use)).
//! - V6: Name constraints also bind mail addresses of the subject, and common names of the peer
//!   ([`StandIn`](stand_in::StandIn)).
//! - V7: No certificate of the path is one that the operator's files reject for the purpose.
//! - V8: The work is bounded: of the certificates that a peer sends, at most
//!   [`SENT_MAX`](path::SENT_MAX) are used, those that lead upwards from its own. webpki follows at
//!   most 6 intermediates and verifies at most 100 signatures.
//!
//! The files, each of which uses only those before it: `rules` (V1, V5), `stand_in` (V6),
//! `authorities` (V2 to V4, V7), `path` (V8, and all together), `peers` (the verifiers of rustls).
//!
//! Tested by `tests/chains`, beside OpenSSL, and by `larder-server/tests/tls`.

mod authorities;
mod path;
mod peers;
mod rules;
mod stand_in;

pub use authorities::Authorities;
pub use path::verify;
pub use peers::{ClientVerifier, ServerVerifier};
pub use rules::Purpose;
