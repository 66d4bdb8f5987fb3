//! RSA keys whose certificates allow RSA-PSS only (`openssl genpkey -algorithm RSA-PSS`).
//!
//! rustls has no constants for the names that TLS gives to their signatures.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    KeyPair, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use pkcs8::{ObjectIdentifier, PrivateKeyInfo};
use rustls::pki_types::{AlgorithmIdentifier, PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls::sign::{Signer, SigningKey, public_key_to_spki};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use std::sync::Arc;

const RSASSA_PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");

/// The algorithm of a key without restrictions on hashes, as in certificates.
pub const UNRESTRICTED: AlgorithmIdentifier =
    AlgorithmIdentifier::from_slice(&[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a]);

/// TLS's names of signatures by such keys: `rsa_pss_pss_sha256`, `_sha384` and `_sha512`.
pub const SCHEMES: [SignatureScheme; 3] =
    [SignatureScheme::Unknown(0x0809), SignatureScheme::Unknown(0x080a), SignatureScheme::Unknown(0x080b)];

/// Returns the key, if it is one for RSA-PSS.
pub fn signing_key(key: &PrivateKeyDer<'_>) -> Option<Result<Arc<dyn SigningKey>, Error>> {
    let PrivateKeyDer::Pkcs8(document) = key else { return None };
    let info = PrivateKeyInfo::try_from(document.secret_pkcs8_der()).ok()?;
    if info.algorithm.oid != RSASSA_PSS {
        return None;
    }
    if info.algorithm.parameters.is_some() {
        return Some(Err(Error::General("RSA-PSS keys with restrictions are not supported".to_owned())));
    }
    let pair = RsaKeyPair::from_der(info.private_key);
    let key = pair.map(|pair| Arc::new(PssKey(Arc::new(pair))) as Arc<dyn SigningKey>);
    Some(key.map_err(|rejected| Error::General(format!("RSA-PSS key: {rejected}"))))
}

#[derive(Debug)]
struct PssKey(Arc<RsaKeyPair>);

impl SigningKey for PssKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let encodings: [&'static dyn RsaEncoding; 3] = [&RSA_PSS_SHA256, &RSA_PSS_SHA384, &RSA_PSS_SHA512];
        let mut known = SCHEMES.into_iter().zip(encodings);
        let (scheme, encoding) = known.find(|(scheme, _)| offered.contains(scheme))?;
        Some(Box::new(PssSigner { key: Arc::clone(&self.0), scheme, encoding }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(public_key_to_spki(&UNRESTRICTED, self.0.public_key()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

#[derive(Debug)]
struct PssSigner {
    key: Arc<RsaKeyPair>,
    scheme: SignatureScheme,
    encoding: &'static dyn RsaEncoding,
}

impl Signer for PssSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut signature = vec![0; self.key.public_modulus_len()];
        let signed = self.key.sign(self.encoding, &SystemRandom::new(), message, &mut signature);
        signed.map_err(|_| Error::General("signing failed".to_owned()))?;
        Ok(signature)
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}
