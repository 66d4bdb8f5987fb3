//! Certificates with any fields, right or wrong, signed with keys on P-256.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use std::sync::LazyLock;

/// The instant of all verifications, in seconds since 1970: 2023-11-14.
pub const NOW_S: u64 = 1_700_000_000;

const KEYS: usize = 12;

/// The keys are reused: what they are does not change a verdict.
static POOL: LazyLock<Vec<EcdsaKeyPair>> = LazyLock::new(|| {
    let fresh = |_| EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
    (0..KEYS).map(fresh).collect()
});

pub mod usage {
    pub const DIGITAL_SIGNATURE: u8 = 0x80;
    pub const KEY_ENCIPHERMENT: u8 = 0x20;
    pub const KEY_AGREEMENT: u8 = 0x08;
    pub const SIGNS_CERTIFICATES: u8 = 0x04;
}

pub mod purpose {
    pub const SERVER: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
    pub const CLIENT: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
    pub const CODE: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];
    pub const ANY: &[u8] = &[0x55, 0x1d, 0x25, 0];
}

/// A validity period beside [`NOW_S`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    Expired,
    Future,
    Now,
}

/// The fields of a certificate.
#[derive(Clone, Debug)]
pub struct Fields {
    pub subject: String,
    /// Attributes of the subject beside the common name, each in DER.
    pub more_of_subject: Vec<u8>,
    pub issuer: String,
    /// The same of the issuer's name.
    pub more_of_issuer: Vec<u8>,
    pub key: usize,
    pub signer: usize,
    pub version: u8,
    pub validity: Validity,
    /// The authority flag, and the path length.
    pub basic_constraints: Option<(bool, Option<u8>)>,
    pub key_usage: Option<u8>,
    pub purposes: Option<Vec<&'static [u8]>>,
    /// Alternative names, in DER.
    pub names: Vec<u8>,
    /// The permitted and the excluded subtrees, in DER.
    pub name_constraints: Option<(Vec<u8>, Vec<u8>)>,
    pub netscape_type: Option<u8>,
    /// Identifiers of the key and of the issuer's key.
    pub key_ids: Option<(u8, u8)>,
    /// Object identifiers of extensions with meaningless content, and whether they are critical.
    pub others: Vec<(&'static [u8], bool)>,
    pub is_damaged: bool,
}

impl Fields {
    fn new(subject: &str, key: usize, issuer: &str, signer: usize) -> Fields {
        Fields {
            subject: subject.to_owned(),
            more_of_subject: Vec::new(),
            issuer: issuer.to_owned(),
            more_of_issuer: Vec::new(),
            key,
            signer,
            version: 3,
            validity: Validity::Now,
            basic_constraints: None,
            key_usage: None,
            purposes: None,
            names: Vec::new(),
            name_constraints: None,
            netscape_type: None,
            key_ids: None,
            others: Vec::new(),
            is_damaged: false,
        }
    }

    /// An authority with a key, issued by another name and key.
    pub fn authority(subject: &str, key: usize, issuer: &str, signer: usize) -> Fields {
        let basic_constraints = Some((true, None));
        let key_usage = Some(usage::SIGNS_CERTIFICATES);
        Fields { basic_constraints, key_usage, ..Fields::new(subject, key, issuer, signer) }
    }

    /// A client or a server.
    pub fn peer(subject: &str, key: usize, issuer: &str, signer: usize) -> Fields {
        Fields { basic_constraints: Some((false, None)), ..Fields::new(subject, key, issuer, signer) }
    }

    /// The certificate, as DER.
    pub fn der(&self) -> Vec<u8> {
        const ECDSA_SHA256: &[u8] = &[0x30, 0x0a, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
        const P256: &[u8] = &[
            0x30, 0x13, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7,
        ];
        let (begins, expires) = match self.validity {
            Validity::Expired => ("200101000000Z", "210101000000Z"),
            Validity::Future => ("240101000000Z", "400101000000Z"),
            Validity::Now => ("200101000000Z", "400101000000Z"),
        };
        let validity = tlv(0x30, &[&tlv(0x17, &[begins.as_bytes()]), &tlv(0x17, &[expires.as_bytes()])]);
        let public = POOL[self.key].public_key().as_ref();
        let public = tlv(0x30, &[P256, &tlv(3, &[&[0], public])]);
        let version = if self.version == 1 { Vec::new() } else { vec![0xa0, 3, 2, 1, self.version - 1] };
        let extensions = match self.version {
            1 => Vec::new(),
            _ => tlv(0xa3, &[&tlv(0x30, &[&self.extensions()])]),
        };
        let subject = [name(&self.subject), self.more_of_subject.clone()].concat();
        let signed = tlv(
            0x30,
            &[
                &version,
                &[2, 1, 1 + self.key as u8],
                ECDSA_SHA256,
                &tlv(0x30, &[&name(&self.issuer), &self.more_of_issuer]),
                &validity,
                &tlv(0x30, &[&subject]),
                &public,
                &extensions,
            ],
        );
        let signature = POOL[self.signer].sign(&SystemRandom::new(), &signed).unwrap();
        let mut signature = signature.as_ref().to_vec();
        if self.is_damaged {
            *signature.last_mut().unwrap() ^= 1;
        }
        tlv(0x30, &[&signed, ECDSA_SHA256, &tlv(3, &[&[0], &signature])])
    }

    fn extensions(&self) -> Vec<u8> {
        let mut all = Vec::new();
        if let Some((is_authority, length)) = self.basic_constraints {
            let flag = if is_authority { vec![1, 1, 0xff] } else { Vec::new() };
            let length = length.map(|length| vec![2, 1, length]).unwrap_or_default();
            all.extend(extension(&[0x55, 0x1d, 19], true, &tlv(0x30, &[&flag, &length])));
        }
        if let Some(bits) = self.key_usage {
            all.extend(extension(
                &[0x55, 0x1d, 15],
                true,
                &tlv(3, &[&[bits.trailing_zeros() as u8 & 7, bits]]),
            ));
        }
        if let Some(purposes) = &self.purposes {
            let purposes: Vec<u8> = purposes.iter().flat_map(|purpose| tlv(6, &[purpose])).collect();
            all.extend(extension(&[0x55, 0x1d, 37], false, &tlv(0x30, &[&purposes])));
        }
        if !self.names.is_empty() {
            all.extend(extension(&[0x55, 0x1d, 17], false, &tlv(0x30, &[&self.names])));
        }
        if let Some((permitted, excluded)) = &self.name_constraints {
            let part = |tag, part: &[u8]| if part.is_empty() { Vec::new() } else { tlv(tag, &[part]) };
            let content = tlv(0x30, &[&part(0xa0, permitted), &part(0xa1, excluded)]);
            all.extend(extension(&[0x55, 0x1d, 30], true, &content));
        }
        if let Some(bits) = self.netscape_type {
            let id = [0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 1, 1];
            all.extend(extension(&id, false, &tlv(3, &[&[bits.trailing_zeros() as u8 & 7, bits]])));
        }
        if let Some((own, issuer)) = self.key_ids {
            all.extend(extension(&[0x55, 0x1d, 14], false, &tlv(4, &[&[own; 20]])));
            all.extend(extension(&[0x55, 0x1d, 35], false, &tlv(0x30, &[&tlv(0x80, &[&[issuer; 20]])])));
        }
        for (id, is_critical) in &self.others {
            // Policies have to be what they are: OpenSSL reads them.
            let content: &[u8] = if *id == POLICIES { &[0x30, 6, 0x30, 4, 6, 2, 0x2a, 3] } else { &[5, 0] };
            all.extend(extension(id, *is_critical, content));
        }
        all
    }
}

/// The object identifier of certificate policies.
pub const POLICIES: &[u8] = &[0x55, 0x1d, 32];
/// An object identifier that no program knows.
pub const UNKNOWN: &[u8] = &[0x2a, 3, 4, 5];

fn extension(id: &[u8], is_critical: bool, content: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if is_critical { &[1, 1, 0xff] } else { &[] };
    tlv(0x30, &[&tlv(6, &[id]), critical, &tlv(4, &[content])])
}

/// The common name of a name, in DER.
fn name(common: &str) -> Vec<u8> {
    attribute(&[0x55, 4, 3], 0x0c, common)
}

/// An attribute of a name, in DER.
pub fn attribute(id: &[u8], tag: u8, text: &str) -> Vec<u8> {
    tlv(0x31, &[&tlv(0x30, &[&tlv(6, &[id]), &tlv(tag, &[text.as_bytes()])])])
}

/// The mail address of a subject, in DER.
pub fn mail_attribute(address: &str) -> Vec<u8> {
    attribute(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1], 0x16, address)
}

/// A whole name as an alternative name or a constraint, in DER.
pub fn directory_name(common: &str) -> Vec<u8> {
    tlv(0xa4, &[&tlv(0x30, &[&name(common)])])
}

/// A subtree of name constraints, in DER.
pub fn subtree(name: &[u8]) -> Vec<u8> {
    tlv(0x30, &[name])
}

/// An element, in DER.
pub fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len();
    let head = match length {
        0..0x80 => vec![tag, length as u8],
        0x80..0x100 => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [head, content].concat()
}
