//! TLS, where the address asks for it.

use crate::error::{Error, Result};
use crate::replica::options::ReplicaOptions;
use crate::replica::url::Address;
pub use larder_tls::PeerLink as Channel;
use larder_tls::{Identity, client_config};
use rustls::ClientConfig;
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Whom to trust, and who this is; `None`: no TLS.
#[derive(Clone, Default)]
pub struct Security(Option<Arc<ClientConfig>>);

impl Security {
    /// What an address and the options ask for. The files are read once.
    ///
    /// # Errors
    /// The address is by TLS, and nobody is trusted; the options are about TLS, and the address is not; a file cannot be read, or is not what it
    /// should be.
    pub fn of(address: &Address, options: &ReplicaOptions) -> Result<Security> {
        let ReplicaOptions { authorities, identity, key_password, .. } = options;
        let wrong = |name: &str, reason: String| Error::Option { name: name.to_owned(), reason };
        if !address.is_secure {
            // Who has said whom to trust believes that it is asked for.
            return match (authorities, identity) {
                (None, None) => Ok(Security(None)),
                (Some(_), _) => Err(wrong("authorities", "the address does not use TLS".to_owned())),
                (None, Some(_)) => Err(wrong("identity", "the address does not use TLS".to_owned())),
            };
        }
        let path = authorities.as_deref().ok_or_else(|| {
            wrong("authorities", "an address with TLS needs a file of authorities".to_owned())
        })?;
        let read = |name: &str, path: &Path| {
            std::fs::read(path).map_err(|error| wrong(name, format!("{}: {error}", path.display())))
        };
        let authorities = read("authorities", path)?;
        let files = identity.as_ref().map(|(certificate, key)| {
            Ok::<_, Error>((read("identity", certificate)?, read("identity", key)?))
        });
        let files = files.transpose()?;
        let identity =
            files.as_ref().map(|(certificate, key)| Identity { certificate, key, password: key_password });
        let config = client_config(&authorities, identity).map_err(|error| {
            let name = match error {
                larder_tls::TrustError::Authorities => "authorities",
                _ => "identity",
            };
            wrong(name, error.to_string())
        })?;
        Ok(Security(Some(config)))
    }

    /// Makes a socket that is connected to a host what is read and written. Timeouts of the socket are set. That is over within `timeout`, or when
    /// `goes_on` says that it is not to go on.
    ///
    /// # Errors
    /// The handshake fails.
    pub fn channel(
        &self,
        socket: TcpStream,
        host: &str,
        timeout: Duration,
        goes_on: &dyn Fn() -> bool,
    ) -> io::Result<Channel> {
        match &self.0 {
            None => Ok(Channel::plain(socket)),
            Some(config) => Channel::secure(socket, Arc::clone(config), host, timeout, goes_on),
        }
    }
}
