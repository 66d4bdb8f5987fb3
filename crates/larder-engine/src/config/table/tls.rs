//! TLS, and RDMA, which does not exist here.

use super::row::*;
use crate::config::choices::{Choice, TlsAuthClients, TlsUserField};

/// Why options of RDMA have no effect.
const NO_RDMA: &str = "Larder does not listen by RDMA";

pub(super) static OPTIONS: &[Opt] = &[
    int("tls-port", 0, 65535, "0").does("Port for TLS; 0 is none.", "tls/main.rs"),
    yes_no("tls-cluster", "no")
        .does("Nodes of a cluster, and `MIGRATE`, talk TLS to other servers.", "cluster/tls.rs"),
    yes_no("tls-replication", "no").does("The link to the primary is TLS.", "tls/replication.rs"),
    one_of("tls-auth-clients", TlsAuthClients::NAMES, "yes")
        .hot_int(|h| h.tls_auth_clients.number())
        .does("Whether clients must, or may, send a certificate.", "tls/certificates.rs"),
    one_of("tls-auth-clients-user", TlsUserField::NAMES, "off")
        .hot_int(|h| h.tls_auth_clients_user.number())
        .does("The part of a client's certificate that names its user: common name or URI.", "tls/users.rs"),
    int("tls-auto-reload-interval", 0, INT_MAX, "0").does(
        "Seconds after which files of keys and certificates are looked at again; 0 is never.",
        "tls/reload.rs",
    ),
    yes_no("tls-prefer-server-ciphers", "no")
        .does("The server's order of ciphers counts, not the client's.", "tls/ciphers.rs"),
    yes_no("tls-session-caching", "yes")
        .does("Clients that come again may resume a session.", "tls/ciphers.rs"),
    int("tls-session-cache-size", 0, INT_MAX, "20480")
        .does("Sessions kept for that; 0 is no limit.", "tls/ciphers.rs"),
    int("tls-session-cache-timeout", 0, INT_MAX, "300")
        .does("Seconds for which they are kept.", "tls/ciphers.rs"),
    int("max-new-tls-connections-per-cycle", 1, 1000, "1")
        .hot_int(|h| &h.max_new_tls_connections_per_cycle)
        .does("TLS connections accepted in one turn of the event loop.", "tls/hostile.rs"),
    text("tls-cert-file", "").volatile().does(
        "File of the server's certificate, with those that vouch for it after it (PEM).",
        "tls/main.rs",
    ),
    text("tls-key-file", "").volatile().does("File of its private key (PEM).", "tls/main.rs"),
    text("tls-key-file-pass", "")
        .sensitive()
        .does("Password of that file, if it is encrypted.", "tls/certificates.rs"),
    text("tls-client-cert-file", "")
        .volatile()
        .does("The certificate for connections to other servers, if not the same.", "tls/replication.rs"),
    text("tls-client-key-file", "").volatile().does("File of its private key.", "tls/replication.rs"),
    text("tls-client-key-file-pass", "")
        .sensitive()
        .does("Password of that file, if it is encrypted.", "tls/replication.rs"),
    text("tls-dh-params-file", "").ignored("Larder agrees on keys with elliptic curves only"),
    text("tls-ca-cert-file", "")
        .volatile()
        .does("File of the authorities that are trusted (PEM).", "tls/main.rs"),
    text("tls-ca-cert-dir", "")
        .volatile()
        .does("Folder of files of authorities that are trusted.", "tls/certificates.rs"),
    text("tls-protocols", "").does("`TLSv1.2`, `TLSv1.3` or both, which is the default.", "tls/ciphers.rs"),
    text("tls-ciphers", "").does("Ciphers of TLS 1.2.", "tls/ciphers.rs"),
    text("tls-ciphersuites", "").does("Ciphers of TLS 1.3.", "tls/ciphers.rs"),
    text("rdma-bind", "").ignored(NO_RDMA),
    int("rdma-port", 0, 65535, "0").absent("RDMA"),
    int("rdma-rx-size", 64 << 10, 16 << 20, "1048576").immutable().ignored(NO_RDMA),
    int("rdma-completion-vector", -1, 1024, "-1").immutable().ignored(NO_RDMA),
];
