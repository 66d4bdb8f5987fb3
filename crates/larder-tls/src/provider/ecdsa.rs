//! ECDSA keys that sign with the hash that a client asks for.
//!
//! By TLS 1.2 a client says which hashes it takes; the curve is that of the certificate. rustls
//! signs with one hash for each curve.

use aws_lc_rs::digest::{Algorithm, Digest, SHA256, SHA384, SHA512, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm,
};
use rustls::crypto::aws_lc_rs::sign::any_ecdsa_type;
use rustls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use std::sync::Arc;

/// The curves with the hashes that they sign with.
const CURVES: [(&EcdsaSigningAlgorithm, &Algorithm); 3] = [
    (&ECDSA_P256_SHA256_ASN1_SIGNING, &SHA256),
    (&ECDSA_P384_SHA384_ASN1_SIGNING, &SHA384),
    (&ECDSA_P521_SHA512_ASN1_SIGNING, &SHA512),
];

/// TLS's names of signatures with their hashes. By TLS 1.2 they leave the curve open.
const SCHEMES: [(SignatureScheme, &Algorithm); 3] = [
    (SignatureScheme::ECDSA_NISTP256_SHA256, &SHA256),
    (SignatureScheme::ECDSA_NISTP384_SHA384, &SHA384),
    (SignatureScheme::ECDSA_NISTP521_SHA512, &SHA512),
];

/// Returns the key, if it is one for ECDSA.
pub fn signing_key(key: &PrivateKeyDer<'_>) -> Option<Arc<dyn SigningKey>> {
    let usual = any_ecdsa_type(key).ok()?;
    let read = |(curve, hash): (&'static EcdsaSigningAlgorithm, &'static Algorithm)| {
        let pair = EcdsaKeyPair::from_private_key_der(curve, key.secret_der()).ok()?;
        Some((Arc::new(pair), hash))
    };
    let (pair, hash) = CURVES.into_iter().find_map(read)?;
    Some(Arc::new(EcdsaKey { usual, pair, hash }))
}

#[derive(Debug)]
struct EcdsaKey {
    usual: Arc<dyn SigningKey>,
    pair: Arc<EcdsaKeyPair>,
    /// The hash of the curve.
    hash: &'static Algorithm,
}

impl SigningKey for EcdsaKey {
    /// Chooses the curve's own hash if the client takes it, and else another one. By TLS 1.3, where
    /// the name says the curve, a client that does not take the own hash refuses the signature as
    /// well.
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        self.usual.choose_scheme(offered).or_else(|| {
            let (scheme, hash) = SCHEMES.into_iter().find(|(scheme, _)| offered.contains(scheme))?;
            Some(Box::new(EcdsaSigner { pair: Arc::clone(&self.pair), own: self.hash, scheme, hash }))
        })
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        self.usual.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.usual.algorithm()
    }
}

#[derive(Debug)]
struct EcdsaSigner {
    pair: Arc<EcdsaKeyPair>,
    own: &'static Algorithm,
    scheme: SignatureScheme,
    hash: &'static Algorithm,
}

impl Signer for EcdsaSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let failed = |_| Error::General("signing failed".to_owned());
        let hash = fitted(digest(self.hash, message).as_ref(), self.own.output_len());
        let hash = Digest::import_less_safe(&hash, self.own).map_err(failed)?;
        Ok(self.pair.sign_digest(&hash).map_err(failed)?.as_ref().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

/// Returns a hash with a length that is at most that of the curve's order. ECDSA takes as many bits
/// from the left of a hash as the order has, as a number.
fn fitted(hash: &[u8], length: usize) -> Vec<u8> {
    let missing = length.saturating_sub(hash.len());
    [&vec![0; missing][..], &hash[..hash.len().min(length)]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_testkit::temp_dir;
    use larder_testkit::tls::openssl;
    use rustls::pki_types::PrivateSec1KeyDer;
    use std::fs;

    /// OpenSSL verifies what keys of each curve sign with each hash.
    #[test]
    fn every_hash_with_every_curve() {
        let dir = temp_dir();
        fs::write(dir.join("message"), "what is signed").unwrap();
        for curve in ["P-256", "P-384", "P-521"] {
            let kind = format!("ec_paramgen_curve:{curve}");
            let make = ["genpkey", "-algorithm", "EC", "-pkeyopt", &kind, "-outform", "DER", "-out", "key"];
            openssl(&dir, &make);
            openssl(&dir, &["pkey", "-inform", "DER", "-in", "key", "-pubout", "-out", "public"]);
            let key = PrivateSec1KeyDer::from(fs::read(dir.join("key")).unwrap());
            let key = signing_key(&key.into()).expect("it is one");
            for ((scheme, _), name) in SCHEMES.into_iter().zip(["-sha256", "-sha384", "-sha512"]) {
                let signer = key.choose_scheme(&[scheme]).expect("it signs");
                assert_eq!(signer.scheme(), scheme);
                fs::write(dir.join("signature"), signer.sign(b"what is signed").unwrap()).unwrap();
                openssl(&dir, &["dgst", name, "-verify", "public", "-signature", "signature", "message"]);
            }
            // The own hash comes first.
            let own = key.choose_scheme(&SCHEMES.map(|(scheme, _)| scheme)).unwrap().scheme();
            let position = ["P-256", "P-384", "P-521"].iter().position(|known| *known == curve).unwrap();
            assert_eq!(own, SCHEMES[position].0);
            assert!(key.choose_scheme(&[SignatureScheme::ED25519]).is_none());
        }
        fs::remove_dir_all(dir).unwrap();
    }
}
