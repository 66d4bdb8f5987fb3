//! Why a client was not let in, in the words of OpenSSL for what is common: operators look for them in logs.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};
use std::fmt;
use std::io;

/// An error of a handshake, for the log.
pub struct Fault<'a>(pub &'a io::Error);

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = self.0.get_ref().and_then(|error| error.downcast_ref::<Error>());
        match tls {
            None => f.write_str(&crate::settings::system_text(self.0)),
            Some(error) => match known(error) {
                Some((code, reason)) => write!(f, "error:{code:08X}:SSL routines::{reason}"),
                None => error.fmt(f),
            },
        }
    }
}

/// OpenSSL's number and text.
fn known(error: &Error) -> Option<(u32, &'static str)> {
    const LIBRARY: u32 = 0x0A00_0000;
    let (reason, text) = match error {
        Error::NoCertificatesPresented => (199, "peer did not return a certificate"),
        Error::InvalidCertificate(CertificateError::BadEncoding) => (394, "ASN1 lib"),
        Error::InvalidCertificate(_) => (134, "certificate verify failed"),
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) => (267, "wrong version number"),
        Error::InvalidMessage(InvalidMessage::MessageTooLarge) => (198, "packet length too long"),
        Error::PeerIncompatible(
            PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled
            | PeerIncompatible::Tls13RequiredForQuic
            | PeerIncompatible::SupportedVersionsExtensionRequired,
        ) => (258, "unsupported protocol"),
        Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon) => (193, "no shared cipher"),
        Error::AlertReceived(alert) => {
            return alert_text(*alert).map(|text| (LIBRARY + 1000 + u32::from(u8::from(*alert)), text));
        }
        _ => return None,
    };
    Some((LIBRARY + reason, text))
}

fn alert_text(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::BadCertificate => "ssl/tls alert bad certificate",
        AlertDescription::CertificateExpired => "ssl/tls alert certificate expired",
        AlertDescription::CertificateUnknown => "ssl/tls alert certificate unknown",
        AlertDescription::DecryptError => "tlsv1 alert decrypt error",
        AlertDescription::HandshakeFailure => "ssl/tls alert handshake failure",
        AlertDescription::InternalError => "tlsv1 alert internal error",
        AlertDescription::ProtocolVersion => "tlsv1 alert protocol version",
        AlertDescription::UnknownCA => "tlsv1 alert unknown ca",
        AlertDescription::UnsupportedCertificate => "ssl/tls alert unsupported certificate",
        _ => return None,
    })
}
