//! What certificates may be used for.

use crate::certificate::{Certificate, Extension, usage};
use der::asn1::ObjectIdentifier;
use rustls::{CertificateError, Error};
use webpki::KeyUsage;

const SERVER_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const CLIENT_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");

/// Extensions that say something about certificate policies. They are ignored, as by OpenSSL unless
/// it is asked for policies, also if they are critical.
pub const POLICIES: [ObjectIdentifier; 4] = [
    ObjectIdentifier::new_unwrap("2.5.29.32"),
    ObjectIdentifier::new_unwrap("2.5.29.33"),
    ObjectIdentifier::new_unwrap("2.5.29.36"),
    ObjectIdentifier::new_unwrap("2.5.29.54"),
];

/// Extensions that may be critical: key usage, alternative names, basic constraints, name
/// constraints, revocation lists, extended key usage, and [`POLICIES`].
const KNOWN: [ObjectIdentifier; 10] = [
    ObjectIdentifier::new_unwrap("2.5.29.15"),
    ObjectIdentifier::new_unwrap("2.5.29.17"),
    ObjectIdentifier::new_unwrap("2.5.29.19"),
    ObjectIdentifier::new_unwrap("2.5.29.30"),
    ObjectIdentifier::new_unwrap("2.5.29.31"),
    ObjectIdentifier::new_unwrap("2.5.29.37"),
    POLICIES[0],
    POLICIES[1],
    POLICIES[2],
    POLICIES[3],
];

/// What a peer shows its certificate for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It is a client.
    Client,
    /// It is a server.
    Server,
}

impl Purpose {
    /// Its name in extendedKeyUsage.
    pub fn id(self) -> ObjectIdentifier {
        match self {
            Purpose::Client => CLIENT_PURPOSE,
            Purpose::Server => SERVER_PURPOSE,
        }
    }

    /// The uses, any of which the key of the certificate must allow.
    fn key_usages(self) -> u8 {
        match self {
            Purpose::Client => usage::DIGITAL_SIGNATURE | usage::KEY_AGREEMENT,
            Purpose::Server => usage::DIGITAL_SIGNATURE | usage::KEY_ENCIPHERMENT | usage::KEY_AGREEMENT,
        }
    }

    /// Its name for webpki.
    pub fn key_usage(self) -> KeyUsage {
        match self {
            Purpose::Client => KeyUsage::client_auth(),
            Purpose::Server => KeyUsage::server_auth(),
        }
    }

    /// Its bit in Netscape's certificate type.
    fn netscape_type(self) -> u8 {
        match self {
            Purpose::Client => 0x80,
            Purpose::Server => 0x40,
        }
    }
}

/// Whether a certificate may issue others (V1).
pub fn can_issue(facts: &Certificate<'_>) -> bool {
    let signs = facts.key_usage.is_none_or(|bits| bits & usage::SIGNS_CERTIFICATES != 0);
    let is_known = |extension: &Extension<'_>| !extension.is_critical || KNOWN.contains(&extension.id);
    facts.has_extensions && facts.is_authority && signs && facts.extensions.iter().all(is_known)
}

/// Checks what the key of a peer may be used for (V5).
///
/// # Errors
/// It is not for the purpose.
pub fn check_use(facts: &Certificate<'_>, purpose: Purpose) -> Result<(), Error> {
    let allows = |bits: Option<u8>, any_of: u8| bits.is_none_or(|bits| bits & any_of != 0);
    let is_suitable =
        allows(facts.key_usage, purpose.key_usages()) && allows(facts.netscape_type, purpose.netscape_type());
    if is_suitable { Ok(()) } else { Err(CertificateError::InvalidPurpose.into()) }
}
