//! The cryptography of TLS: that of rustls on aws-lc.

use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// Returns the cryptography with all that there is.
pub fn provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}
