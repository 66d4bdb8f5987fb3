//! TLS, and RDMA, which does not exist here.

use super::row::*;
use crate::config::choices::{Choice, TlsAuthClients, TlsUserField};

/// Why options of RDMA have no effect.
const NO_RDMA: &str = "no RDMA";

pub(super) static OPTIONS: &[Opt] = &[
    int("tls-port", 0, 65535, "0").does("TLS port for clients; 0 disables it.", "tls/main.rs"),
    yes_no("tls-cluster", "no").does("Uses TLS for the cluster bus and `MIGRATE`.", "cluster/tls.rs"),
    yes_no("tls-replication", "no").does("Uses TLS for the link to the primary.", "tls/replication.rs"),
    one_of("tls-auth-clients", TlsAuthClients::NAMES, "yes").hot_int(|h| h.tls_auth_clients.number()).does(
        "Whether clients must send a certificate (`yes`), may send one (`optional`), or are not asked for one (`no`).",
        "tls/certificates.rs",
    ),
    one_of("tls-auth-clients-user", TlsUserField::NAMES, "off")
        .hot_int(|h| h.tls_auth_clients_user.number())
        .does("Part of a client's certificate that names its user: the common name (`CN`), the URI (`URI`) or none (`off`).", "tls/users.rs"),
    int("tls-auto-reload-interval", 0, INT_MAX, "0").does(
        "Seconds between checks whether certificate and key files have changed; 0 disables the checks.",
        "tls/reload.rs",
    ),
    yes_no("tls-prefer-server-ciphers", "no")
        .does("Prefers the server's order of ciphers to the client's.", "tls/ciphers.rs"),
    yes_no("tls-session-caching", "yes").does("Lets clients resume TLS sessions.", "tls/ciphers.rs"),
    int("tls-session-cache-size", 0, INT_MAX, "20480")
        .does("Maximum number of cached TLS sessions; 0 is no limit.", "tls/ciphers.rs"),
    int("tls-session-cache-timeout", 0, INT_MAX, "300")
        .does("Seconds for which a TLS session is cached.", "tls/ciphers.rs"),
    int("max-new-tls-connections-per-cycle", 1, 1000, "1")
        .hot_int(|h| &h.max_new_tls_connections_per_cycle)
        .does("Maximum number of TLS connections that a thread accepts in one iteration of its event loop.", "tls/hostile.rs"),
    text("tls-cert-file", "")
        .volatile()
        .does("File with the server's certificate and its intermediate certificates (PEM).", "tls/main.rs"),
    text("tls-key-file", "").volatile().does("File with the private key of `tls-cert-file` (PEM).", "tls/main.rs"),
    text("tls-key-file-pass", "")
        .sensitive()
        .does("Password of `tls-key-file`, if it is encrypted.", "tls/certificates.rs"),
    text("tls-client-cert-file", "").volatile().does(
        "File with the certificate for connections to other servers (PEM); empty is `tls-cert-file`.",
        "tls/replication.rs",
    ),
    text("tls-client-key-file", "")
        .volatile()
        .does("File with the private key of `tls-client-cert-file` (PEM).", "tls/replication.rs"),
    text("tls-client-key-file-pass", "")
        .sensitive()
        .does("Password of `tls-client-key-file`, if it is encrypted.", "tls/replication.rs"),
    text("tls-dh-params-file", "").ignored("key exchange with elliptic curves only"),
    text("tls-ca-cert-file", "").volatile().does("File with the certificates of trusted authorities (PEM).", "tls/main.rs"),
    text("tls-ca-cert-dir", "")
        .volatile()
        .does("Directory with certificates of trusted authorities (PEM).", "tls/certificates.rs"),
    text("tls-protocols", "").does("TLS versions: `TLSv1.2`, `TLSv1.3` or both, separated by spaces; empty is both.", "tls/ciphers.rs"),
    text("tls-ciphers", "").does("Ciphers for TLS 1.2, in OpenSSL's notation; empty is all supported ones.", "tls/ciphers.rs"),
    text("tls-ciphersuites", "").does("Ciphers for TLS 1.3, separated by colons; empty is all supported ones.", "tls/ciphers.rs"),
    text("rdma-bind", "").ignored(NO_RDMA),
    int("rdma-port", 0, 65535, "0").absent("RDMA"),
    int("rdma-rx-size", 64 << 10, 16 << 20, "1048576").immutable().ignored(NO_RDMA),
    int("rdma-completion-vector", -1, 1024, "-1").immutable().ignored(NO_RDMA),
];
