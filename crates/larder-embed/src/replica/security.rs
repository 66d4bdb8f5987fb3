//! How the primary is talked to: on sockets as they are, or by TLS. Without the feature `tls` there is only the first.

#[cfg(not(feature = "tls"))]
mod plain;
#[cfg(feature = "tls")]
mod tls;

#[cfg(not(feature = "tls"))]
pub use plain::{Channel, Security};
#[cfg(feature = "tls")]
pub use tls::{Channel, Security};
