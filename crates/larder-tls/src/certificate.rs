//! Facts about a certificate, read from its DER (RFC 5280, section 4.1).
//!
//! Reading decides nothing about trust; `verify` does.

use der::asn1::{AnyRef, GeneralizedTime, ObjectIdentifier, UtcTime};
use der::{Decode, Reader, SliceReader, Tag, Tagged};
use std::collections::HashSet;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const MAIL_ADDRESS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.1");
const SUBJECT_KEY_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.14");
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
pub(crate) const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
pub(crate) const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");
const AUTHORITY_KEY_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.35");
const EXTENDED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37");
const NETSCAPE_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.113730.1.1");

/// Tag numbers of alternative names.
pub(crate) const MAIL_NAME: u8 = 1;
pub(crate) const DNS_NAME: u8 = 2;
const URI: u8 = 6;
/// Tag numbers of the optional fields of a certificate.
const VERSION: u8 = 0;
pub(crate) const EXTENSIONS: u8 = 3;
/// Fields between the version and the optional fields at the end: serial number, signature
/// algorithm, issuer, validity, subject, public key.
const CORE_FIELDS: usize = 6;

/// Bits of the first byte of the extension keyUsage.
pub(crate) mod usage {
    pub const DIGITAL_SIGNATURE: u8 = 0x80;
    pub const KEY_ENCIPHERMENT: u8 = 0x20;
    pub const KEY_AGREEMENT: u8 = 0x08;
    pub const SIGNS_CERTIFICATES: u8 = 0x04;
}

/// A certificate. Borrows from its DER.
#[derive(Debug)]
pub struct Certificate<'a> {
    /// The whole certificate, as DER.
    pub whole: &'a [u8],
    /// Whether it has version 3. Earlier versions have no extensions, so they cannot name an
    /// authority.
    pub has_extensions: bool,
    /// Bytes of the serial number, most significant first.
    serial: &'a [u8],
    /// The issuer's name, as DER without its tag.
    pub issuer: &'a [u8],
    /// The subject's name, as DER without its tag.
    pub subject: &'a [u8],
    /// First second of the validity period, since 1970.
    pub begins_s: i64,
    /// Last second of the validity period, since 1970.
    pub expires_s: i64,
    /// Common names of the subject.
    pub common_names: Vec<Text<'a>>,
    /// Mail addresses of the subject.
    pub mail_addresses: Vec<&'a [u8]>,
    /// URIs among the subject's alternative names.
    pub uris: Vec<&'a [u8]>,
    /// Whether a DNS name is among the alternative names.
    pub has_dns_name: bool,
    /// The public key with its algorithm, as DER.
    pub public_key: &'a [u8],
    /// The same without its tag.
    pub(crate) key_content: &'a [u8],
    /// Whether basicConstraints names an authority.
    pub is_authority: bool,
    /// The path length constraint: the number of authorities allowed below this one.
    pub path_length: Option<u64>,
    /// First byte of keyUsage, see [`usage`]; `None` allows every use.
    pub key_usage: Option<u8>,
    /// Purposes of extendedKeyUsage; `None` allows every purpose.
    pub purposes: Option<Vec<ObjectIdentifier>>,
    /// The byte of Netscape's certificate type; `None` allows every purpose.
    pub netscape_type: Option<u8>,
    /// The identifier of the certificate's key.
    subject_key_id: Option<&'a [u8]>,
    /// The identifier of the issuer's key.
    authority_key_id: Option<&'a [u8]>,
    /// All extensions, in their order.
    pub extensions: Vec<Extension<'a>>,
    /// The fields from the serial number to the public key, as DER.
    pub(crate) core: &'a [u8],
    /// The part that the issuer has signed, as DER.
    pub(crate) signed: &'a [u8],
    /// The algorithm of the signature, as DER without its tag.
    pub(crate) signature_algorithm: &'a [u8],
    /// The signature's algorithm and the signature, as DER.
    pub(crate) seal: &'a [u8],
    /// The signature.
    pub(crate) signature: &'a [u8],
}

/// A string of a name.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// The bytes in the encoding of the certificate.
    pub bytes: &'a [u8],
    is_wide: bool,
}

impl Text<'_> {
    /// Returns the text in UTF-8; `None` if its characters have 16 bits and one is not ASCII.
    pub fn utf8(&self) -> Option<Vec<u8>> {
        if !self.is_wide {
            return Some(self.bytes.to_vec());
        }
        let ascii = |unit: &[u8]| match unit {
            [0, byte] if byte.is_ascii() => Some(*byte),
            _ => None,
        };
        self.bytes.chunks(2).map(ascii).collect()
    }
}

/// An extension of a certificate.
#[derive(Debug)]
pub struct Extension<'a> {
    /// The object identifier.
    pub id: ObjectIdentifier,
    /// Whether a reader that does not know the extension must refuse the certificate.
    pub is_critical: bool,
    /// The content.
    pub value: &'a [u8],
    /// The whole extension, as DER.
    pub whole: &'a [u8],
}

/// The bytes are not a certificate.
#[derive(Debug, PartialEq, Eq)]
pub struct NotACertificate;

impl From<der::Error> for NotACertificate {
    fn from(_: der::Error) -> Self {
        NotACertificate
    }
}

/// A DER element.
pub(crate) struct Element<'a> {
    tag: Tag,
    /// The content.
    pub value: &'a [u8],
    /// The content with tag and length.
    pub whole: &'a [u8],
}

impl Element<'_> {
    fn is_field(&self, field: u8) -> bool {
        matches!(self.tag, Tag::ContextSpecific { number, .. } if number.value() == field)
    }
}

impl<'a> Certificate<'a> {
    /// Reads a certificate in O(its length).
    ///
    /// # Errors
    /// The bytes are not a certificate, or one of the extensions read here is malformed or occurs
    /// twice.
    pub fn read(bytes: &'a [u8]) -> Result<Certificate<'a>, NotACertificate> {
        let outer = only(bytes)?;
        let parts = elements(outer.value)?;
        let [signed, algorithm, signature] = &parts[..] else { return Err(NotACertificate) };
        if [outer.tag, signed.tag, algorithm.tag] != [Tag::Sequence; 3] || signature.tag != Tag::BitString {
            return Err(NotACertificate);
        }
        let fields = elements(signed.value)?;
        let version = fields.first().filter(|field| field.is_field(VERSION));
        let start = usize::from(version.is_some());
        let core = fields.get(start..start + CORE_FIELDS).ok_or(NotACertificate)?;
        let [serial, _algorithm, issuer, validity, subject, public_key] = core else {
            return Err(NotACertificate);
        };
        let [begins, expires] = &elements(validity.value)?[..] else { return Err(NotACertificate) };
        let core_start = version.map_or(0, |version| version.whole.len());
        let core_length: usize = core.iter().map(|field| field.whole.len()).sum();
        let mut certificate = Certificate {
            whole: outer.whole,
            has_extensions: version.is_some_and(|version| version.value == [2, 1, 2]),
            serial: serial.value,
            issuer: issuer.value,
            subject: subject.value,
            begins_s: seconds(begins)?,
            expires_s: seconds(expires)?,
            common_names: Vec::new(),
            mail_addresses: Vec::new(),
            uris: Vec::new(),
            has_dns_name: false,
            public_key: public_key.whole,
            key_content: public_key.value,
            is_authority: false,
            path_length: None,
            key_usage: None,
            purposes: None,
            netscape_type: None,
            subject_key_id: None,
            authority_key_id: None,
            extensions: Vec::new(),
            core: &signed.value[core_start..core_start + core_length],
            signed: signed.whole,
            signature_algorithm: algorithm.value,
            seal: &outer.value[signed.whole.len()..],
            signature: bits(signature.value)?,
        };
        certificate.read_subject()?;
        if let Some(extensions) =
            fields[start + CORE_FIELDS..].iter().find(|field| field.is_field(EXTENSIONS))
        {
            certificate.read_extensions(extensions.value)?;
        }
        Ok(certificate)
    }

    fn read_subject(&mut self) -> Result<(), NotACertificate> {
        for set in elements(self.subject)? {
            for attribute in elements(set.value)? {
                let [id, value] = &elements(attribute.value)?[..] else { return Err(NotACertificate) };
                match ObjectIdentifier::from_der(id.whole)? {
                    COMMON_NAME => {
                        let is_wide = value.tag == Tag::BmpString;
                        self.common_names.push(Text { bytes: value.value, is_wide });
                    }
                    MAIL_ADDRESS => self.mail_addresses.push(value.value),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn read_extensions(&mut self, wrapped: &'a [u8]) -> Result<(), NotACertificate> {
        let mut seen = HashSet::new();
        for extension in elements(only(wrapped)?.value)? {
            let parts = elements(extension.value)?;
            let (id, is_critical, value) = match &parts[..] {
                [id, value] => (id, false, value),
                [id, critical, value] if critical.tag == Tag::Boolean => (id, critical.value != [0], value),
                _ => return Err(NotACertificate),
            };
            let (id, value) = (ObjectIdentifier::from_der(id.whole)?, value.value);
            // Readers would disagree about which of two extensions counts.
            if !seen.insert(id) {
                return Err(NotACertificate);
            }
            self.read_extension(id, value)?;
            self.extensions.push(Extension { id, is_critical, value, whole: extension.whole });
        }
        Ok(())
    }

    fn read_extension(&mut self, id: ObjectIdentifier, value: &'a [u8]) -> Result<(), NotACertificate> {
        match id {
            BASIC_CONSTRAINTS => {
                for field in elements(only(value)?.value)? {
                    match field.tag {
                        Tag::Boolean => self.is_authority = field.value != [0],
                        Tag::Integer => self.path_length = Some(u64::from_der(field.whole)?),
                        _ => return Err(NotACertificate),
                    }
                }
            }
            KEY_USAGE => self.key_usage = Some(named_bits(value)?),
            NETSCAPE_TYPE => self.netscape_type = Some(named_bits(value)?),
            ALTERNATIVE_NAMES => {
                let names = elements(only(value)?.value)?;
                self.has_dns_name = names.iter().any(|name| name.is_field(DNS_NAME));
                let uris = names.iter().filter(|name| name.is_field(URI));
                self.uris.extend(uris.map(|name| name.value));
            }
            EXTENDED_KEY_USAGE => {
                let purposes = elements(only(value)?.value)?;
                let purposes = purposes.iter().map(|purpose| ObjectIdentifier::from_der(purpose.whole));
                self.purposes = Some(purposes.collect::<Result<_, _>>()?);
            }
            SUBJECT_KEY_ID => self.subject_key_id = Some(only(value)?.value),
            AUTHORITY_KEY_ID => {
                let fields = elements(only(value)?.value)?;
                self.authority_key_id =
                    fields.iter().find(|field| field.is_field(0)).map(|field| field.value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the certificate names itself as its issuer. Does not verify the signature.
    pub fn is_self_signed(&self) -> bool {
        let ids = self.authority_key_id.zip(self.subject_key_id);
        self.issuer == self.subject && ids.is_none_or(|(issuer, subject)| issuer == subject)
    }

    /// Whether an instant, in seconds since 1970, is in the validity period.
    pub fn is_valid_at(&self, now_s: i64) -> bool {
        (self.begins_s..=self.expires_s).contains(&now_s)
    }

    /// Returns the algorithm of the public key, as DER without its tag, and the key itself.
    ///
    /// # Errors
    /// The public key is malformed.
    pub fn key_parts(&self) -> Result<(&'a [u8], &'a [u8]), NotACertificate> {
        key_parts(self.public_key)
    }

    /// Returns the serial number in hexadecimal digits, two for each byte.
    pub fn serial_text(&self) -> String {
        let start = self.serial.iter().position(|&byte| byte != 0);
        let digits =
            start.map(|start| self.serial[start..].iter().map(|byte| format!("{byte:02X}")).collect());
        digits.unwrap_or_else(|| "0".to_owned())
    }
}

/// Returns the algorithm of a public key, as DER without its tag, and the key itself.
///
/// # Errors
/// The public key is malformed.
pub fn key_parts(public_key: &[u8]) -> Result<(&[u8], &[u8]), NotACertificate> {
    let parts = elements(only(public_key)?.value)?;
    let [algorithm, key] = &parts[..] else { return Err(NotACertificate) };
    Ok((algorithm.value, bits(key.value)?))
}

/// Returns the elements that bytes consist of.
pub(crate) fn elements(bytes: &[u8]) -> Result<Vec<Element<'_>>, NotACertificate> {
    let mut rest = bytes;
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (element, after) = first(rest)?;
        all.push(element);
        rest = after;
    }
    Ok(all)
}

/// Returns the first element, and the bytes after it.
pub(crate) fn first(bytes: &[u8]) -> Result<(Element<'_>, &[u8]), NotACertificate> {
    let mut reader = SliceReader::new(bytes)?;
    let element = AnyRef::decode(&mut reader)?;
    let (whole, rest) = bytes.split_at(usize::try_from(reader.position())?);
    Ok((Element { tag: element.tag(), value: element.value(), whole }, rest))
}

/// Returns the element that is all of the bytes.
pub(crate) fn only(bytes: &[u8]) -> Result<Element<'_>, NotACertificate> {
    match first(bytes)? {
        (element, []) => Ok(element),
        _ => Err(NotACertificate),
    }
}

/// Returns the bytes of a string of bits that has whole bytes.
fn bits(value: &[u8]) -> Result<&[u8], NotACertificate> {
    value.strip_prefix(&[0]).ok_or(NotACertificate)
}

/// Returns the first eight of the bits of an extension that is a string of bits.
fn named_bits(value: &[u8]) -> Result<u8, NotACertificate> {
    let element = only(value)?;
    match element.value {
        [_unused, bits @ ..] if element.tag == Tag::BitString => Ok(bits.first().copied().unwrap_or(0)),
        _ => Err(NotACertificate),
    }
}

fn seconds(time: &Element<'_>) -> Result<i64, NotACertificate> {
    let since_1970 = match time.tag {
        Tag::UtcTime => UtcTime::from_der(time.whole)?.to_unix_duration(),
        _ => GeneralizedTime::from_der(time.whole)?.to_unix_duration(),
    };
    Ok(since_1970.as_secs() as i64)
}
