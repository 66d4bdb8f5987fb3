//! TLS: for clients ([`TlsStream`]), for connections to other servers (`larder-tls`) and between nodes ([`NodeStream`]), as the options
//! say ([`Context`]).
//!
//! rustls does the protocol and aws-lc the cryptography; docs/design/tls.md says why. `larder-tls` reads the files and decides
//! which certificates to trust. The files below, each of which uses only those above it: `suites` knows the names of
//! protocols and ciphers, `options` what is configured, `resumption` keeps sessions; `active` makes configurations of all
//! that, `context` holds the one in force; `socket` and `node_stream` are connections on sockets (over `session` of
//! `larder-tls`); `fault` says why one failed.

mod active;
mod context;
mod fault;
mod node_stream;
mod options;
mod resumption;
mod socket;
mod suites;

pub use active::{Active, TlsError};
pub use context::{Context, NotChanged};
pub use fault::Fault;
pub use node_stream::NodeStream;
pub use options::Options;
pub use socket::TlsStream;

/// Why the TLS options in use, or the files that they name, do not work; `None` if they do or if TLS is not in use.
pub fn problem(config: &larder_engine::config::Config) -> Option<String> {
    let options = options::Options::is_in_use(config).then(|| options::Options::of(config))?;
    active::Active::build(&options).err().map(|error| error.to_string())
}
