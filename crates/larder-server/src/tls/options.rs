//! The options of TLS as they are at one moment, and the files that they name, as bytes.

use larder_engine::config::Config;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A certificate and its key: paths, and the password of the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// File of the certificate, and of those that vouch for it.
    pub certificate: String,
    /// File of the private key.
    pub key: String,
    /// Its password; empty if there is none.
    pub password: String,
}

/// The options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who the server is.
    pub server: Identity,
    /// Who it is for other servers, if somebody else.
    pub client: Option<Identity>,
    /// File of authorities; empty if there is none.
    pub authority_file: String,
    /// Folder of authorities; empty if there is none.
    pub authority_folder: String,
    /// Whether there must be authorities.
    pub needs_authorities: bool,
    /// `tls-protocols`
    pub protocols: String,
    /// `tls-ciphers`
    pub ciphers: String,
    /// `tls-ciphersuites`
    pub ciphersuites: String,
    /// Whether the server's order of ciphers counts.
    pub prefers_own_ciphers: bool,
    /// How many sessions are kept, and for how long; `None`: none are.
    pub sessions: Option<(usize, Duration)>,
}

/// Why files are not read.
#[derive(Debug)]
pub enum FileError {
    /// A certificate's: the path, and the system's reason.
    Certificate(String, io::Error),
    /// A key's.
    Key(String, io::Error),
    /// Of authorities.
    Authorities(io::Error),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Certificate(path, error) => {
                write!(f, "Failed to load certificate: {path}: {}", OpenSslText(error))
            }
            FileError::Key(path, error) => {
                write!(f, "Failed to load private key: {path}: {}", OpenSslText(error))
            }
            FileError::Authorities(error) => {
                write!(f, "Failed to configure CA certificate(s) file/directory: {}", OpenSslText(error))
            }
        }
    }
}

/// A system's error as OpenSSL writes it.
struct OpenSslText<'a>(&'a io::Error);

impl fmt::Display for OpenSslText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        match self.0.raw_os_error() {
            Some(number) => write!(f, "error:8{number:07X}:system library::{text}"),
            None => f.write_str(text),
        }
    }
}

/// The bytes of a certificate's and a key's file.
#[derive(Clone, PartialEq, Eq)]
pub struct IdentityFiles {
    /// Of the certificate.
    pub certificate: Vec<u8>,
    /// Of the key.
    pub key: Vec<u8>,
}

/// The bytes of all files. Two of them are equal if nothing has changed.
#[derive(Clone, PartialEq, Eq)]
pub struct Files {
    /// Of the server.
    pub server: IdentityFiles,
    /// For connections to other servers.
    pub client: Option<IdentityFiles>,
    /// Of the authorities: the file, and all files of the folder in the order of their names.
    pub authorities: Vec<Vec<u8>>,
}

impl Options {
    /// As configured.
    pub fn of(config: &Config) -> Options {
        let text = |name: &str| config.value(name);
        let client = Identity {
            certificate: text("tls-client-cert-file"),
            key: text("tls-client-key-file"),
            password: text("tls-client-key-file-pass"),
        };
        let has_client = !client.certificate.is_empty() && !client.key.is_empty();
        let needs_authorities = text("tls-auth-clients") != "no"
            || config.is_yes("tls-cluster")
            || config.is_yes("tls-replication");
        let count = config.number("tls-session-cache-size") as usize;
        let count = if count == 0 { usize::MAX } else { count };
        let age = Duration::from_secs(config.number("tls-session-cache-timeout") as u64);
        Options {
            server: Identity {
                certificate: text("tls-cert-file"),
                key: text("tls-key-file"),
                password: text("tls-key-file-pass"),
            },
            client: has_client.then_some(client),
            authority_file: text("tls-ca-cert-file"),
            authority_folder: text("tls-ca-cert-dir"),
            needs_authorities,
            protocols: text("tls-protocols"),
            ciphers: text("tls-ciphers"),
            ciphersuites: text("tls-ciphersuites"),
            prefers_own_ciphers: config.is_yes("tls-prefer-server-ciphers"),
            sessions: config.is_yes("tls-session-caching").then_some((count, age)),
        }
    }

    /// Whether anything is done by TLS.
    pub fn is_in_use(config: &Config) -> bool {
        config.number("tls-port") != 0 || config.is_yes("tls-replication") || config.is_yes("tls-cluster")
    }

    /// Reads the files.
    pub fn read_files(&self) -> Result<Files, FileError> {
        let server = self.server.read()?;
        let client = self.client.as_ref().map(Identity::read).transpose()?;
        let authorities = self.read_authorities().map_err(FileError::Authorities)?;
        Ok(Files { server, client, authorities })
    }

    fn read_authorities(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        if !self.authority_file.is_empty() {
            all.push(fs::read(&self.authority_file)?);
        }
        if !self.authority_folder.is_empty() {
            for path in files_of(&self.authority_folder)? {
                all.push(fs::read(path)?);
            }
        }
        Ok(all)
    }
}

impl Identity {
    fn read(&self) -> Result<IdentityFiles, FileError> {
        let certificate = fs::read(&self.certificate)
            .map_err(|error| FileError::Certificate(self.certificate.clone(), error))?;
        let key = fs::read(&self.key).map_err(|error| FileError::Key(self.key.clone(), error))?;
        Ok(IdentityFiles { certificate, key })
    }
}

/// The files of a folder, links to files included, hidden ones not, in the order of their names.
fn files_of(folder: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden && fs::metadata(entry.path()).is_ok_and(|meta| meta.is_file()) {
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    Ok(paths)
}
