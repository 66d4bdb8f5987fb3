//! How servers are talked to: on sockets as they are, or by TLS.

use crate::error::{Error, Result};
use larder_tls::{Identity, PeerLink, client_config};
use rustls::ClientConfig;
use std::fmt;
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A handshake that takes longer has failed.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Whom to trust, and who this is. By default there is no TLS.
#[derive(Clone, Default)]
pub struct Security(Option<Arc<ClientConfig>>);

impl Security {
    /// TLS with servers whose certificates are of these authorities and name the host. `identity` is the certificate that is shown to servers
    /// that ask for one, and its key, with the password of it if it is encrypted. All are files in PEM, and are read here.
    ///
    /// # Errors
    /// A file cannot be read, or is not what it should be.
    pub fn of(authorities: &Path, identity: Option<(&Path, &Path)>, password: &str) -> Result<Security> {
        let read = |path: &Path| std::fs::read(path).map_err(|error| Error::file(path.display(), &error));
        let trusted = read(authorities)?;
        let files = identity.map(|(certificate, key)| Ok::<_, Error>((read(certificate)?, read(key)?)));
        let files = files.transpose()?;
        let shown = files.as_ref().map(|(certificate, key)| Identity { certificate, key, password });
        let config = client_config(&trusted, shown).map_err(|error| {
            let path = match (&error, identity) {
                (larder_tls::TrustError::Key(_), Some((_, key))) => key,
                (
                    larder_tls::TrustError::Certificate | larder_tls::TrustError::Rejected(_),
                    Some((path, _)),
                ) => path,
                _ => authorities,
            };
            Error::File(format!("{}: {error}", path.display()))
        })?;
        Ok(Security(Some(config)))
    }

    /// Whether it is TLS.
    pub fn is_tls(&self) -> bool {
        self.0.is_some()
    }

    /// Makes a socket that is connected to `host` what is read and written, neither of which waits for longer than `timeout` then.
    ///
    /// # Errors
    /// The handshake fails.
    pub fn link(&self, socket: TcpStream, host: &str, timeout: Duration) -> io::Result<PeerLink> {
        let link = match &self.0 {
            None => PeerLink::plain(socket),
            Some(config) => {
                socket.set_read_timeout(Some(HANDSHAKE))?;
                PeerLink::secure(socket, Arc::clone(config), host, HANDSHAKE, || true)?
            }
        };
        link.set_read_timeout(Some(timeout))?;
        link.set_write_timeout(Some(timeout))?;
        Ok(link)
    }
}

/// Keys are not shown.
impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_tls() { "TLS" } else { "plain" })
    }
}
