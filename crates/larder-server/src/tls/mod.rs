//! TLS: for clients ([`TlsStream`]), for connections to other servers ([`PeerLink`]) and between nodes ([`NodeStream`]), as the options
//! say ([`Context`]).
//!
//! rustls does the protocol and aws-lc the cryptography; docs/design/tls.md says why. Files below, each of which uses only those above it:
//! `certificate` and `key` read files, `suites` the words of protocols and ciphers, `options` what is configured; `verifier` decides whom
//! to trust, `resumption` keeps sessions; `active` makes configurations of all that, `context` holds the one in force; `session` is a
//! connection on bytes, `socket`, `link` and `node_stream` are connections on sockets; `fault` says why one failed.

mod active;
mod certificate;
mod context;
mod fault;
mod key;
mod link;
mod node_stream;
mod options;
mod resumption;
mod session;
mod socket;
mod suites;
mod verifier;

pub use certificate::Certificate;
pub use context::{Context, NotChanged};
pub use fault::Fault;
pub use link::PeerLink;
pub use node_stream::NodeStream;
pub use socket::TlsStream;
