//! Signature algorithms of certificates that rustls does not verify: RSA-PSS with keys that allow
//! nothing else, RSA-PSS with the salts that OpenSSL chooses, and SHA-224.
//!
//! aws-lc does the arithmetic, except for RSA with SHA-224, which it does not offer: there, the
//! signature is raised to the public exponent and compared with the only valid padding.

use super::pss::{SCHEMES, UNRESTRICTED};
use aws_lc_rs::digest::{Digest, SHA224, SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P521_SHA256_ASN1, EcdsaVerificationAlgorithm,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters,
    RsaPssSaltLength, UnparsedPublicKey,
};
use der::Decode;
use der::asn1::UintRef;
use num_bigint::BigUint;
use rustls::SignatureScheme;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use std::fmt;
use std::sync::OnceLock;

type Algorithm = &'static dyn SignatureVerificationAlgorithm;
/// A name in TLS, and the algorithms that it may mean.
type Scheme = (SignatureScheme, &'static [Algorithm]);

/// The names of ECDSA and of RSA with SHA-224, as DER without their tags.
const ECDSA_SHA224: AlgorithmIdentifier =
    AlgorithmIdentifier::from_slice(&[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x01]);
const RSA_SHA224: AlgorithmIdentifier = AlgorithmIdentifier::from_slice(&[
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0e, 0x05, 0x00,
]);

/// Bytes before the hash in a signature of RSA with SHA-224 (RFC 8017, section 9.2).
const SHA224_PREFIX: [u8; 19] = [
    0x30, 0x2d, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x04, 0x05, 0x00,
    0x04, 0x1c,
];

/// Number of bytes by which SHA-224 is shorter than SHA-256.
const SHA224_SHORTFALL: usize = 4;

/// Bits of an RSA modulus, and of its public exponent, as aws-lc limits them.
const MODULUS_BITS: std::ops::RangeInclusive<u64> = 2048..=8192;
const EXPONENT_BITS_MAX: u64 = 33;

/// Lengths of keys for which RSA-PSS with the longest salt is accepted. OpenSSL signs certificates
/// with that salt by default.
const LONG_SALT_KEY_BITS: [u16; 3] = [2048, 3072, 4096];

/// Adds the algorithms of this module to those of rustls.
pub fn extended(own: WebPkiSupportedAlgorithms) -> WebPkiSupportedAlgorithms {
    static MORE: OnceLock<(Vec<Algorithm>, Vec<Scheme>)> = OnceLock::new();
    let (all, mapping) = MORE.get_or_init(|| {
        let (certificates, schemes) = pss_algorithms();
        let sha224: [Algorithm; 4] = [
            &EcdsaSha224 { key: alg_id::ECDSA_P256, algorithm: &ECDSA_P256_SHA256_ASN1 },
            &EcdsaSha224 { key: alg_id::ECDSA_P384, algorithm: &ECDSA_P384_SHA256_ASN1 },
            &EcdsaSha224 { key: alg_id::ECDSA_P521, algorithm: &ECDSA_P521_SHA256_ASN1 },
            &RsaSha224,
        ];
        ([own.all, &certificates, &sha224].concat(), [own.mapping, &schemes].concat())
    });
    WebPkiSupportedAlgorithms { all, mapping }
}

/// RSA-PSS with one hash and one length of the salt.
struct Pss {
    key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
    parameters: &'static RsaParameters,
}

/// Returns the algorithms of certificates, and those of handshakes by their names. They live as
/// long as the process.
fn pss_algorithms() -> (Vec<Algorithm>, Vec<Scheme>) {
    let hashes = [
        (alg_id::RSA_PSS_SHA256, &RSA_PSS_2048_8192_SHA256, 32),
        (alg_id::RSA_PSS_SHA384, &RSA_PSS_2048_8192_SHA384, 48),
        (alg_id::RSA_PSS_SHA512, &RSA_PSS_2048_8192_SHA512, 64),
    ];
    let (mut certificates, mut schemes) = (Vec::new(), Vec::new());
    for ((signature, parameters, hash_bytes), scheme) in hashes.into_iter().zip(SCHEMES) {
        let usual: Algorithm = Box::leak(Box::new(Pss { key: UNRESTRICTED, signature, parameters }));
        certificates.push(usual);
        let alone: &'static [Algorithm] = Box::leak(Box::new([usual]));
        schemes.push((scheme, alone));
        for key_bits in LONG_SALT_KEY_BITS {
            let salt = key_bits / 8 - hash_bytes - 2;
            let parameters = with_salt(parameters, salt);
            let signature = identifier_with_salt(signature, salt);
            for key in [UNRESTRICTED, alg_id::RSA_ENCRYPTION] {
                certificates.push(Box::leak(Box::new(Pss { key, signature, parameters })));
            }
        }
    }
    (certificates, schemes)
}

/// Returns parameters with another length of the salt, which live as long as the process.
fn with_salt(parameters: &'static RsaParameters, salt_bytes: u16) -> &'static RsaParameters {
    let known = [&RSA_PSS_2048_8192_SHA256, &RSA_PSS_2048_8192_SHA384, &RSA_PSS_2048_8192_SHA512];
    let fresh = match known.iter().position(|known| *known == parameters) {
        Some(0) => RSA_PSS_2048_8192_SHA256,
        Some(1) => RSA_PSS_2048_8192_SHA384,
        _ => RSA_PSS_2048_8192_SHA512,
    };
    Box::leak(Box::new(fresh.with_pss_salt_length(RsaPssSaltLength::Custom(salt_bytes))))
}

/// Returns the name of a signature with another length of the salt, which is the last number in the
/// name.
fn identifier_with_salt(signature: AlgorithmIdentifier, salt_bytes: u16) -> AlgorithmIdentifier {
    /// The tagged length of the salt, of one byte in `signature`.
    const LENGTH_FIELD: usize = 5;
    /// Where the length of the parameters is, behind the object identifier and the tag of the
    /// parameters.
    const PARAMETERS_LENGTH: usize = 12;
    let [high, low] = salt_bytes.to_be_bytes();
    let mut bytes = signature.as_ref()[..signature.as_ref().len() - LENGTH_FIELD].to_vec();
    bytes.extend([0xa2, 4, 2, 2, high, low]);
    bytes[PARAMETERS_LENGTH] += 1;
    AlgorithmIdentifier::from_slice(Box::leak(bytes.into_boxed_slice()))
}

impl SignatureVerificationAlgorithm for Pss {
    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = UnparsedPublicKey::new(self.parameters, key);
        key.verify(message, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

impl fmt::Debug for Pss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pss({:?})", self.signature)
    }
}

/// ECDSA with SHA-224. aws-lc verifies it as SHA-256: both take the hash as a number, and four zero
/// bytes before it do not change that.
struct EcdsaSha224 {
    key: AlgorithmIdentifier,
    algorithm: &'static EcdsaVerificationAlgorithm,
}

impl SignatureVerificationAlgorithm for EcdsaSha224 {
    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let hash = [&[0; SHA224_SHORTFALL], digest(&SHA224, message).as_ref()].concat();
        let hash = Digest::import_less_safe(&hash, &SHA256).map_err(|_| InvalidSignature)?;
        let key = UnparsedPublicKey::new(self.algorithm, key);
        key.verify_digest(&hash, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        ECDSA_SHA224
    }
}

impl fmt::Debug for EcdsaSha224 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EcdsaSha224")
    }
}

/// RSA with SHA-224 and the padding of PKCS #1, version 1.5.
#[derive(Debug)]
struct RsaSha224;

impl SignatureVerificationAlgorithm for RsaSha224 {
    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let numbers = <[UintRef<'_>; 2]>::from_der(key).map_err(|_| InvalidSignature)?;
        let [modulus, exponent] = numbers.map(|number| BigUint::from_bytes_be(number.as_bytes()));
        let length = (modulus.bits() as usize).div_ceil(8);
        let number = BigUint::from_bytes_be(signature);
        let is_usable = MODULUS_BITS.contains(&modulus.bits())
            && (2..=EXPONENT_BITS_MAX).contains(&exponent.bits())
            && exponent.bit(0)
            && signature.len() == length
            && number < modulus;
        if !is_usable {
            return Err(InvalidSignature);
        }
        let hash = digest(&SHA224, message);
        let filled = length - 3 - SHA224_PREFIX.len() - hash.as_ref().len();
        let padded = [&[0, 1], &vec![0xff; filled][..], &[0], &SHA224_PREFIX, hash.as_ref()].concat();
        if number.modpow(&exponent, &modulus) == BigUint::from_bytes_be(&padded) {
            Ok(())
        } else {
            Err(InvalidSignature)
        }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::RSA_ENCRYPTION
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        RSA_SHA224
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::key_parts;
    use larder_testkit::temp_dir;
    use larder_testkit::tls::openssl;
    use std::fs;

    const MESSAGE: &[u8] = b"what is signed";

    /// The public key, its algorithm, and a signature with SHA-224 that openssl has made.
    fn signed(kind: &[&str]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let dir = temp_dir();
        fs::write(dir.join("message"), MESSAGE).unwrap();
        openssl(&dir, &[&["genpkey", "-out", "key"], kind].concat());
        openssl(&dir, &["pkey", "-in", "key", "-pubout", "-outform", "DER", "-out", "public"]);
        openssl(&dir, &["dgst", "-sha224", "-sign", "key", "-out", "signature", "message"]);
        let public = fs::read(dir.join("public")).unwrap();
        let (algorithm, key) = key_parts(&public).unwrap();
        let signature = fs::read(dir.join("signature")).unwrap();
        fs::remove_dir_all(dir).unwrap();
        (key.to_vec(), algorithm.to_vec(), signature)
    }

    fn all() -> &'static [Algorithm] {
        extended(rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms).all
    }

    #[test]
    fn signatures_with_sha224() {
        for kind in [
            &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
            &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
            &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
            &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"],
        ] {
            let (key, id, signature) = signed(kind);
            let names = [ECDSA_SHA224, RSA_SHA224];
            let mut fitting = all()
                .iter()
                .filter(|one| names.contains(&one.signature_alg_id()) && *one.public_key_alg_id() == *id);
            let algorithm = fitting.next().expect("there is one");
            assert!(fitting.next().is_none());
            assert!(algorithm.verify_signature(&key, MESSAGE, &signature).is_ok(), "{kind:?}");
            assert!(algorithm.verify_signature(&key, b"another", &signature).is_err());
            for at in [0, signature.len() / 2, signature.len() - 1] {
                let mut damaged = signature.clone();
                damaged[at] ^= 1;
                assert!(algorithm.verify_signature(&key, MESSAGE, &damaged).is_err(), "{kind:?} {at}");
                assert!(algorithm.verify_signature(&key, MESSAGE, &signature[..at]).is_err());
                assert!(
                    algorithm.verify_signature(&key[..at.min(key.len() - 1)], MESSAGE, &signature).is_err()
                );
            }
            let longer = [&[0], &signature[..]].concat();
            assert!(algorithm.verify_signature(&key, MESSAGE, &longer).is_err());
        }
    }

    /// RSA keys with which a signature is worth nothing.
    #[test]
    fn weak_rsa_keys() {
        let (key, _, signature) = signed(&["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"]);
        assert!(RsaSha224.verify_signature(&key, MESSAGE, &signature).is_err());
        let (key, ..) = signed(&["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]);
        // With the exponents 0, 1 and 2, and an even one.
        let head = &key[..key.len() - 5];
        assert_eq!(key[key.len() - 5..], [2, 3, 1, 0, 1]);
        let hash = digest(&SHA224, MESSAGE);
        let filled = vec![0xff; 256 - 3 - SHA224_PREFIX.len() - hash.as_ref().len()];
        let padded = [&[0, 1], &filled[..], &[0], &SHA224_PREFIX, hash.as_ref()].concat();
        for exponent in [0, 1, 2, 4] {
            let mut weak = [head, &[2, 1, exponent]].concat();
            // The length of the sequence, which takes two bytes.
            let length = weak.len() - 4;
            weak[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            assert!(RsaSha224.verify_signature(&weak, MESSAGE, &padded).is_err(), "{exponent}");
            assert!(RsaSha224.verify_signature(&weak, MESSAGE, &[0; 256]).is_err(), "{exponent}");
        }
    }

    #[test]
    fn names_of_long_salts() {
        // As openssl writes it for a key of 2,048 bits: the same as with the salt 32, with two
        // bytes for 222.
        let name = identifier_with_salt(alg_id::RSA_PSS_SHA256, 222);
        assert_eq!(name.as_ref().len(), alg_id::RSA_PSS_SHA256.as_ref().len() + 1);
        assert!(name.as_ref().ends_with(&[0xa2, 4, 2, 2, 0, 222]));
        let parts = crate::certificate::elements(name.as_ref()).expect("it is DER");
        assert_eq!(parts.len(), 2);
    }
}
