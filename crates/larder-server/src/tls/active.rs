//! What the options and files of TLS make: the configurations of rustls for accepting and for connecting. Immutable; a change of
//! the options makes another one.

use super::options::{FileError, Files, Identity, IdentityFiles, Options};
use super::resumption::SessionCache;
use super::suites::{self, SuiteError};
use larder_engine::config::TlsAuthClients;
use larder_engine::{CertificateFacts, TlsCertificates};
use larder_tls::key::{self, KeyError};
use larder_tls::pem::{self, PemError, StoredCertificate};
use larder_tls::verify::{Authorities, ClientVerifier, ServerVerifier};
use larder_tls::{Certificate, is_key_of};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, NoServerSessionStorage, StoresServerSessions};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ServerConfig, SupportedProtocolVersion};
use std::fmt;
use std::sync::Arc;

/// Why the options do not make a whole. Shown is the line for the log.
#[derive(Debug)]
pub enum TlsError {
    /// There is no certificate.
    NoCertificate,
    /// There is no key.
    NoKey,
    /// There are no authorities, and somebody is to be verified.
    NoAuthorities,
    /// A file cannot be read.
    File(FileError),
    /// The file of a certificate, at this path, has none, or a damaged one.
    Certificate(String, PemError),
    /// The file of a key, at this path, has none that can be used.
    Key(String, KeyError),
    /// The key, at this path, is of a kind that is not known, or not that of the certificate.
    OtherKey(String, &'static str),
    /// A file of authorities has none, or a damaged one.
    Authorities(String),
    /// Protocols or ciphers.
    Suites(SuiteError),
    /// rustls does not take the combination.
    Rejected(rustls::Error),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsError::NoCertificate => f.write_str("No tls-cert-file configured!"),
            TlsError::NoKey => f.write_str("No tls-key-file configured!"),
            TlsError::NoAuthorities => f.write_str(
                "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, tls-replication or \
                 tls-auth-clients are enabled!",
            ),
            TlsError::File(error) => error.fmt(f),
            TlsError::Certificate(path, error) => write!(f, "Failed to load certificate: {path}: {error}"),
            TlsError::Key(path, error) => write!(f, "Failed to load private key: {path}: {error}"),
            TlsError::OtherKey(path, error) => write!(f, "Failed to load private key: {path}: {error}"),
            TlsError::Authorities(error) => {
                write!(f, "Failed to configure CA certificate(s) file/directory: {error}")
            }
            TlsError::Suites(error) => error.fmt(f),
            TlsError::Rejected(error) => write!(f, "Failed to configure TLS: {error}"),
        }
    }
}

impl From<FileError> for TlsError {
    fn from(error: FileError) -> Self {
        TlsError::File(error)
    }
}

impl From<SuiteError> for TlsError {
    fn from(error: SuiteError) -> Self {
        TlsError::Suites(error)
    }
}

const OTHER_KEY: &str = "error:05800074:x509 certificate routines::key values mismatch";
const UNKNOWN_KEY: &str = "error:1E08010C:DECODER routines::unsupported";

/// TLS as configured.
pub struct Active {
    /// For accepting, by the number of a [`TlsAuthClients`].
    servers: [Arc<ServerConfig>; 3],
    client: Arc<ClientConfig>,
    certificates: TlsCertificates,
    /// Lines for the log about files that are not what they seem.
    pub notices: Vec<String>,
    /// What it was made of.
    pub files: Files,
}

impl Active {
    /// Reads the files and makes all of it. Changes nothing.
    pub fn build(options: &Options) -> Result<Active, TlsError> {
        if options.server.certificate.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        if options.server.key.is_empty() {
            return Err(TlsError::NoKey);
        }
        let has_authorities = !options.authority_file.is_empty() || !options.authority_folder.is_empty();
        if options.needs_authorities && !has_authorities {
            return Err(TlsError::NoAuthorities);
        }
        Active::of_files(options, options.read_files()?)
    }

    /// Makes all of it from files that have been read.
    pub fn of_files(options: &Options, files: Files) -> Result<Active, TlsError> {
        let protocols = suites::protocols(&options.protocols)?;
        let provider = Arc::new(suites::provider(&options.ciphers, &options.ciphersuites)?);
        let stored = authorities(&files.authorities)?;
        let authority = stored
            .iter()
            .filter_map(|certificate| facts_of(Some(&certificate.der)))
            .min_by_key(|facts| facts.expires_s);
        let authorities = Authorities::new(stored, provider.signature_verification_algorithms);
        let certified = |paths, files| certified_key(paths, files, &provider, &authorities);
        let server = certified(&options.server, &files.server)?;
        let client = options.client.as_ref().zip(files.client.as_ref());
        let client = client.map(|(paths, files)| certified(paths, files)).transpose()?;
        let facts = TlsCertificates {
            server: facts_of(server.cert.first()),
            client: client.as_ref().and_then(|client| facts_of(client.cert.first())),
            authority,
        };
        let notices = authorities.notices();
        let maker = Maker { options, protocols, provider, authorities: Arc::new(authorities) };
        Ok(Active {
            servers: [
                maker.server(&server, TlsAuthClients::No)?,
                maker.server(&server, TlsAuthClients::Yes)?,
                maker.server(&server, TlsAuthClients::Optional)?,
            ],
            client: maker.client(client.as_ref().unwrap_or(&server))?,
            certificates: facts,
            notices,
            files,
        })
    }

    /// For accepting.
    pub fn server(&self, clients: TlsAuthClients) -> &Arc<ServerConfig> {
        &self.servers[clients as usize]
    }

    /// For connecting.
    pub fn client(&self) -> &Arc<ClientConfig> {
        &self.client
    }

    /// What INFO tells.
    pub fn certificates(&self) -> &TlsCertificates {
        &self.certificates
    }
}

/// What all configurations share.
struct Maker<'o> {
    options: &'o Options,
    protocols: Vec<&'static SupportedProtocolVersion>,
    provider: Arc<CryptoProvider>,
    authorities: Arc<Authorities>,
}

impl Maker<'_> {
    fn server(
        &self,
        key: &Arc<CertifiedKey>,
        clients: TlsAuthClients,
    ) -> Result<Arc<ServerConfig>, TlsError> {
        let verifier = |is_mandatory| -> Arc<dyn ClientCertVerifier> {
            Arc::new(ClientVerifier::new(Arc::clone(&self.authorities), is_mandatory))
        };
        let verifier = match clients {
            TlsAuthClients::No => Arc::new(NoClientAuth),
            TlsAuthClients::Optional => verifier(false),
            TlsAuthClients::Yes => verifier(true),
        };
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&self.protocols)
            .map_err(TlsError::Rejected)?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(key))));
        config.ignore_client_order = self.options.prefers_own_ciphers;
        config.session_storage = match self.options.sessions {
            Some((count, age)) => Arc::new(SessionCache::new(count, age)) as Arc<dyn StoresServerSessions>,
            None => Arc::new(NoServerSessionStorage {}),
        };
        if self.options.sessions.is_none() {
            config.send_tls13_tickets = 0;
        }
        Ok(Arc::new(config))
    }

    fn client(&self, key: &Arc<CertifiedKey>) -> Result<Arc<ClientConfig>, TlsError> {
        let config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&self.protocols)
            .map_err(TlsError::Rejected)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(ServerVerifier::new(
                Arc::clone(&self.authorities),
                false,
            )))
            .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(key))));
        Ok(Arc::new(config))
    }
}

/// Reads a certificate and its key.
///
/// A certificate that stands alone in its file is sent with those of the authorities that lead to its root, as OpenSSL
/// does it. Peers that know only the root need the intermediates.
fn certified_key(
    paths: &Identity,
    files: &IdentityFiles,
    provider: &CryptoProvider,
    authorities: &Authorities,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let mut chain = pem::certificates(&files.certificate)
        .map_err(|error| TlsError::Certificate(paths.certificate.clone(), error))?;
    let key =
        key::read(&files.key, &paths.password).map_err(|error| TlsError::Key(paths.key.clone(), error))?;
    let other = |reason| TlsError::OtherKey(paths.key.clone(), reason);
    let key = provider.key_provider.load_private_key(key).map_err(|_| other(UNKNOWN_KEY))?;
    if !is_key_of(&*key, &chain[0]) {
        return Err(other(OTHER_KEY));
    }
    if chain.len() == 1 {
        chain = authorities.complete(&chain[0], UnixTime::now());
    }
    Ok(Arc::new(CertifiedKey::new(chain, key)))
}

/// Returns the certificates of all files of authorities. A file without certificates is skipped unless none has any.
fn authorities(files: &[Vec<u8>]) -> Result<Vec<StoredCertificate>, TlsError> {
    let mut all = Vec::new();
    for file in files {
        match pem::stored_certificates(file) {
            Ok(some) => all.extend(some),
            Err(PemError::NoSection) => {}
            Err(error) => return Err(TlsError::Authorities(error.to_string())),
        }
    }
    if all.is_empty() && !files.is_empty() {
        return Err(TlsError::Authorities(
            "error:05800088:x509 certificate routines::no certificate or crl found".to_owned(),
        ));
    }
    Ok(all)
}

fn facts_of(certificate: Option<&CertificateDer<'_>>) -> Option<CertificateFacts> {
    let certificate = Certificate::read(certificate?).ok()?;
    Some(CertificateFacts { serial: certificate.serial_text(), expires_s: certificate.expires_s })
}
