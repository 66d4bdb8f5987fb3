//! What the server wants to know of a certificate: serial number, dates, names, purposes, key. It is read from the DER of RFC 5280
//! (section 4.1); whether the certificate is to be trusted is not decided here.

use der::asn1::{AnyRef, GeneralizedTime, ObjectIdentifier, UtcTime};
use der::{Decode, Reader, SliceReader, Tag, Tagged};

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const EXTENDED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37");
/// The number of a URI among the kinds of alternative names.
const URI: u8 = 6;
/// Where the version and the extensions are among the fields of a certificate.
const VERSION: u8 = 0;
const EXTENSIONS: u8 = 3;

/// A certificate, as far as it is looked at. Borrows from its DER.
#[derive(Debug)]
pub struct Certificate<'a> {
    /// Whether it is of version 1, which knows no extensions.
    pub is_old: bool,
    /// Bytes of the serial number, the highest first.
    serial: &'a [u8],
    /// Whom it says that it comes from, as DER.
    pub issuer: &'a [u8],
    /// Whose it is, as DER.
    pub subject: &'a [u8],
    /// The first second in which it is valid, since 1970.
    pub begins_s: i64,
    /// The last one.
    pub expires_s: i64,
    /// The first common name of the subject, as it is encoded.
    pub common_name: Option<&'a [u8]>,
    /// The URIs among the subject's alternative names.
    pub uris: Vec<&'a [u8]>,
    /// What it may be used for; `None` is everything.
    pub purposes: Option<Vec<ObjectIdentifier>>,
    /// The public key with its algorithm, as DER.
    pub public_key: &'a [u8],
    /// What the issuer has signed, with which algorithm (the inside of its DER), and the signature.
    pub signed: (&'a [u8], &'a [u8], &'a [u8]),
}

/// The bytes are no certificate.
#[derive(Debug, PartialEq, Eq)]
pub struct NoCertificate;

impl From<der::Error> for NoCertificate {
    fn from(_: der::Error) -> Self {
        NoCertificate
    }
}

/// A value with its tag.
struct Element<'a> {
    tag: Tag,
    /// What the tag and the length announce.
    value: &'a [u8],
    /// The same with tag and length.
    whole: &'a [u8],
}

impl Element<'_> {
    fn is_field(&self, field: u8) -> bool {
        matches!(self.tag, Tag::ContextSpecific { number, .. } if number.value() == field)
    }
}

impl<'a> Certificate<'a> {
    /// Reads a certificate. O(its bytes).
    pub fn read(bytes: &'a [u8]) -> Result<Certificate<'a>, NoCertificate> {
        let parts = elements(only(bytes)?.value)?;
        let [signed, algorithm, signature] = &parts[..] else { return Err(NoCertificate) };
        let mut fields = elements(signed.value)?.into_iter().peekable();
        let is_old = fields.next_if(|field| field.is_field(VERSION)).is_none();
        let mut next = || fields.next().ok_or(NoCertificate);
        let serial = next()?.value;
        // The algorithm of the signature, again.
        next()?;
        let (issuer, validity, subject, public_key) =
            (next()?.value, next()?.value, next()?.value, next()?.whole);
        let [begins, expires] = &elements(validity)?[..] else { return Err(NoCertificate) };
        let mut certificate = Certificate {
            is_old,
            serial,
            issuer,
            subject,
            begins_s: seconds(begins)?,
            expires_s: seconds(expires)?,
            common_name: common_name(subject)?,
            uris: Vec::new(),
            purposes: None,
            public_key,
            signed: (signed.whole, algorithm.value, bits(signature.value)?),
        };
        if let Some(extensions) = fields.find(|field| field.is_field(EXTENSIONS)) {
            certificate.read_extensions(extensions.value)?;
        }
        Ok(certificate)
    }

    fn read_extensions(&mut self, wrapped: &'a [u8]) -> Result<(), NoCertificate> {
        for extension in elements(only(wrapped)?.value)? {
            let parts = elements(extension.value)?;
            let [id, .., value] = &parts[..] else { return Err(NoCertificate) };
            match ObjectIdentifier::from_der(id.whole)? {
                ALTERNATIVE_NAMES => {
                    let names = elements(only(value.value)?.value)?;
                    let uris = names.into_iter().filter(|name| name.is_field(URI));
                    self.uris.extend(uris.map(|name| name.value));
                }
                EXTENDED_KEY_USAGE => {
                    let purposes = elements(only(value.value)?.value)?;
                    let purposes = purposes.iter().map(|purpose| ObjectIdentifier::from_der(purpose.whole));
                    self.purposes = Some(purposes.collect::<Result<_, _>>()?);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The algorithm of the public key (the inside of its DER), and the key itself.
    pub fn key_parts(&self) -> Result<(&'a [u8], &'a [u8]), NoCertificate> {
        let parts = elements(only(self.public_key)?.value)?;
        let [algorithm, key] = &parts[..] else { return Err(NoCertificate) };
        Ok((algorithm.value, bits(key.value)?))
    }

    /// The serial number in hexadecimal digits, two a byte.
    pub fn serial_text(&self) -> String {
        let start = self.serial.iter().position(|&byte| byte != 0);
        let digits =
            start.map(|start| self.serial[start..].iter().map(|byte| format!("{byte:02X}")).collect());
        digits.unwrap_or_else(|| "0".to_owned())
    }
}

fn elements(bytes: &[u8]) -> Result<Vec<Element<'_>>, NoCertificate> {
    let mut reader = SliceReader::new(bytes)?;
    let mut all = Vec::new();
    while !reader.is_finished() {
        let start = usize::try_from(reader.position())?;
        let element = AnyRef::decode(&mut reader)?;
        let end = usize::try_from(reader.position())?;
        all.push(Element { tag: element.tag(), value: element.value(), whole: &bytes[start..end] });
    }
    Ok(all)
}

fn only(bytes: &[u8]) -> Result<Element<'_>, NoCertificate> {
    let mut all = elements(bytes)?;
    if all.len() == 1 { all.pop().ok_or(NoCertificate) } else { Err(NoCertificate) }
}

/// The bytes of a string of bits that has whole bytes.
fn bits(value: &[u8]) -> Result<&[u8], NoCertificate> {
    value.strip_prefix(&[0]).ok_or(NoCertificate)
}

fn seconds(time: &Element<'_>) -> Result<i64, NoCertificate> {
    let since_1970 = match time.tag {
        Tag::UtcTime => UtcTime::from_der(time.whole)?.to_unix_duration(),
        _ => GeneralizedTime::from_der(time.whole)?.to_unix_duration(),
    };
    Ok(since_1970.as_secs() as i64)
}

fn common_name(subject: &[u8]) -> Result<Option<&[u8]>, NoCertificate> {
    for set in elements(subject)? {
        for attribute in elements(set.value)? {
            let [id, value] = &elements(attribute.value)?[..] else { return Err(NoCertificate) };
            if ObjectIdentifier::from_der(id.whole)? == COMMON_NAME {
                return Ok(Some(value.value).filter(|name| !name.is_empty()));
            }
        }
    }
    Ok(None)
}
