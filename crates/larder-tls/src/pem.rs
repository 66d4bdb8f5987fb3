//! PEM files. Like OpenSSL, the reader accepts a byte order mark, blanks at the ends of lines, text
//! between the sections, and the labels `X509 CERTIFICATE` and `TRUSTED CERTIFICATE`.

use crate::certificate::{Certificate, NotACertificate, elements, first, only};
use base64ct::{Base64, Encoding};
use der::Decode;
use der::asn1::ObjectIdentifier;
use rustls::pki_types::CertificateDer;
use std::fmt;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const TRUSTED: &str = "TRUSTED CERTIFICATE";

/// Why a file has no certificates, in OpenSSL's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PemError {
    /// No section has a label of the kind that is wanted.
    NoSection,
    /// A section does not end, or its content is not base64.
    Damaged,
    /// The content of a section is not a certificate.
    NotACertificate,
}

impl fmt::Display for PemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PemError::NoSection => "error:0480006C:PEM routines::no start line",
            PemError::Damaged => "error:04800064:PEM routines::bad base64 decode",
            PemError::NotACertificate => "error:0688000D:asn1 encoding routines::ASN1 lib",
        })
    }
}

/// A section of a file.
pub(crate) struct Section {
    /// The words after `BEGIN`.
    pub label: String,
    /// Header lines, as `DEK-Info: ...`.
    pub headers: Vec<String>,
    /// The content, decoded.
    pub content: Vec<u8>,
}

/// Returns the sections whose label is accepted, in their order.
///
/// # Errors
/// An accepted section is damaged.
pub(crate) fn sections(file: &[u8], accepts: impl Fn(&str) -> bool) -> Result<Vec<Section>, PemError> {
    let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
    let text = String::from_utf8_lossy(file);
    let mut lines = text.lines().map(str::trim);
    let mut all = Vec::new();
    while let Some(line) = lines.next() {
        let Some(label) = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----")) else {
            continue;
        };
        if !accepts(label) {
            continue;
        }
        let end = format!("-----END {label}-----");
        let mut headers = Vec::new();
        let mut base64 = String::new();
        loop {
            match lines.next().ok_or(PemError::Damaged)? {
                line if line == end => break,
                line if line.contains(':') => headers.push(line.to_owned()),
                line => base64.push_str(line),
            }
        }
        let content = Base64::decode_vec(&base64).map_err(|_| PemError::Damaged)?;
        all.push(Section { label: label.to_owned(), headers, content });
    }
    Ok(all)
}

/// A certificate of a file of authorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCertificate {
    /// The certificate.
    pub der: CertificateDer<'static>,
    /// The trust settings beside it, if its label is `TRUSTED CERTIFICATE`.
    pub settings: TrustSettings,
}

/// Purposes that `openssl x509 -addtrust` and `-addreject` write beside a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustSettings {
    /// The purposes that the certificate is trusted for.
    pub trusted: Vec<ObjectIdentifier>,
    /// The purposes that it is not trusted for.
    pub rejected: Vec<ObjectIdentifier>,
}

/// Returns the certificates of a file, at least one.
///
/// # Errors
/// There is none, or one is damaged.
pub fn certificates(file: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    Ok(stored_certificates(file)?.into_iter().map(|stored| stored.der).collect())
}

/// Returns the certificates of a file, at least one, with their trust settings.
///
/// # Errors
/// There is none, or one is damaged.
pub fn stored_certificates(file: &[u8]) -> Result<Vec<StoredCertificate>, PemError> {
    let is_certificate = |label: &str| matches!(label, "CERTIFICATE" | "X509 CERTIFICATE" | TRUSTED);
    let sections = sections(file, is_certificate)?;
    let all = sections.iter().map(stored_certificate).collect::<Result<Vec<_>, _>>();
    let all = all.map_err(|_| PemError::NotACertificate)?;
    if all.is_empty() { Err(PemError::NoSection) } else { Ok(all) }
}

fn stored_certificate(section: &Section) -> Result<StoredCertificate, NotACertificate> {
    let (certificate, rest) = first(&section.content)?;
    Certificate::read(certificate.whole)?;
    // OpenSSL reads settings with this label only, and ignores bytes after other certificates.
    let settings = match rest {
        [_, ..] if section.label == TRUSTED => trust_settings(rest)?,
        _ => TrustSettings::default(),
    };
    Ok(StoredCertificate { der: CertificateDer::from(certificate.whole.to_vec()), settings })
}

/// Reads OpenSSL's trust settings: a sequence of trusted purposes, rejected ones (tag 0), a name
/// and other fields, all of them optional.
fn trust_settings(bytes: &[u8]) -> Result<TrustSettings, NotACertificate> {
    let mut settings = TrustSettings::default();
    for field in elements(only(bytes)?.value)? {
        let list = match field.whole {
            [0x30, ..] => &mut settings.trusted,
            [0xa0, ..] => &mut settings.rejected,
            _ => continue,
        };
        for purpose in elements(field.value)? {
            list.push(ObjectIdentifier::from_der(purpose.whole)?);
        }
    }
    Ok(settings)
}
