//! A client that speaks TLS.

use super::authority::{Authority, Identity};
use crate::{Client, ClientStream};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Its connection.
pub struct TlsClientStream(pub StreamOwned<ClientConnection, TcpStream>);

impl Read for TlsClientStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for TlsClientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl ClientStream for TlsClientStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.0.sock.set_read_timeout(Some(timeout))
    }

    fn end_writing(&self) -> io::Result<()> {
        self.0.sock.shutdown(Shutdown::Write)
    }
}

/// What a client needs, of these protocols; it may resume sessions if the same one is used again.
pub fn config(
    authority: &Authority,
    identity: Option<&Identity>,
    protocols: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(authority.certificate()).expect("openssl made it");
    roots.add(certificate).expect("it is an authority's");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(protocols);
    let builder = builder.expect("the provider has ciphers for them");
    let builder = builder.with_root_certificates(roots);
    Arc::new(match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let chain = CertificateDer::from_pem_file(&identity.certificate).expect("openssl made it");
            let key = PrivateKeyDer::from_pem_file(&identity.key).expect("openssl made it");
            let key = aws_lc_rs::sign::any_supported_type(&key).expect("the key is known");
            // Whether they fit is not looked at: rustls does not read certificates of version 1.
            let certified = CertifiedKey::new(vec![chain], key);
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
        }
    })
}

/// A connection whose handshake is over, as far as the client knows: by TLS 1.3 the server may still refuse it.
pub fn stream(port: u16, config: &Arc<ClientConfig>) -> io::Result<TlsClientStream> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    let name = ServerName::try_from("localhost").expect("it is a name");
    let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(TlsClientStream(stream))
}

/// A client.
pub fn connect(port: u16, config: &Arc<ClientConfig>) -> io::Result<Client> {
    Client::over(stream(port, config)?)
}
