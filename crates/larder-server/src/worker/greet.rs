//! The end of a client's handshake: who it is by its certificate, or why it is not let in.

use super::{EventLoop, Hangup};
use crate::connection::{Connection, Stream};
use crate::tls::Fault;
use larder_engine::LogLevel;
use larder_engine::config::TlsUserField;
use larder_tls::Certificate;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

impl EventLoop {
    /// After a read of a connection that was in its handshake before.
    pub(super) fn greet(
        &mut self,
        connection: &mut Connection,
        read: &io::Result<usize>,
    ) -> Result<(), Hangup> {
        let Stream::Tls(stream) = &connection.stream else { return Ok(()) };
        if stream.is_handshaking() {
            return self.check_greeting(connection, read);
        }
        connection.flags.greets = false;
        // What was for the client meanwhile could not be sent.
        connection.flags.writable = true;
        if let Some(refusal) = connection.refusal {
            self.worker.stats().rejected_connections.add(1);
            connection.output.tail.extend_from_slice(refusal);
            connection.flags.closing = true;
            return Ok(());
        }
        self.take_user(connection);
        Ok(())
    }

    fn check_greeting(&self, connection: &Connection, read: &io::Result<usize>) -> Result<(), Hangup> {
        let reason = match read {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(());
            }
            Err(error) => Fault(error).to_string(),
            // As OpenSSL says it.
            Ok(_) => "error:0A000126:SSL routines::unexpected eof while reading".to_owned(),
        };
        let shared = connection.session.shared();
        self.shared.log.warning(&format!(
            "Error accepting a client connection: {reason} (addr={} laddr={})",
            shared.addr, shared.laddr
        ));
        Err(Hangup)
    }

    /// Makes the connection that of the user whom its certificate names, if that is wanted.
    fn take_user(&mut self, connection: &mut Connection) {
        let field = self.shared.config.hot.tls_auth_clients_user.get();
        let Stream::Tls(stream) = &connection.stream else { return };
        let Some(certificate) = stream.certificate().filter(|_| field != TlsUserField::Off) else { return };
        let Ok(certificate) = Certificate::read(&certificate) else { return };
        let names: Vec<Vec<u8>> = match field {
            TlsUserField::CommonName => {
                let first = certificate.common_names.first().filter(|name| !name.bytes.is_empty());
                first.map(|name| name.bytes.to_vec()).into_iter().collect()
            }
            TlsUserField::Uri => {
                let whole = |uri: &&&[u8]| !uri.is_empty() && !uri.contains(&0);
                certificate.uris.iter().filter(whole).map(|uri| uri.to_vec()).collect()
            }
            TlsUserField::Off => Vec::new(),
        };
        let is_known = self.worker.log_in_by_certificate(&mut connection.session, &names);
        if self.shared.log.wants(LogLevel::Verbose) {
            let shown = |name: &[u8]| match self.shared.config.hot.hide_user_data_from_log.load(Relaxed) {
                true => "*redacted*".to_owned(),
                false => String::from_utf8_lossy(name).into_owned(),
            };
            let user = names.last().map(|name| shown(name)).unwrap_or_default();
            self.shared.log.verbose(&match (is_known, field) {
                (true, _) => format!("TLS: Auto-authenticated client as {user}"),
                (false, TlsUserField::Uri) => {
                    "TLS: No matching user found in certificate SAN URI fields".to_owned()
                }
                (false, _) => format!("TLS: No matching user found for certificate CN {user}"),
            });
        }
    }
}
