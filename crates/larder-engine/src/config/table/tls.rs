//! TLS and RDMA: only the defaults are accepted, which ask for neither.

use super::row::*;

pub(super) static OPTIONS: &[Opt] = &[
    int("tls-port", 0, 65535, "0").absent("TLS"),
    yes_no("tls-cluster", "no").absent("TLS"),
    yes_no("tls-replication", "no").absent("TLS"),
    one_of("tls-auth-clients", &[("no", 0), ("yes", 1), ("optional", 2)], "yes").absent("TLS"),
    text("tls-auth-clients-user", "off").absent("TLS"),
    int("tls-auto-reload-interval", 0, INT_MAX, "0").absent("TLS"),
    yes_no("tls-prefer-server-ciphers", "no").absent("TLS"),
    yes_no("tls-session-caching", "yes").absent("TLS"),
    int("tls-session-cache-size", 0, INT_MAX, "20480").absent("TLS"),
    int("tls-session-cache-timeout", 0, INT_MAX, "300").absent("TLS"),
    int("max-new-tls-connections-per-cycle", 1, 1000, "1").absent("TLS"),
    text("tls-cert-file", "").absent("TLS"),
    text("tls-key-file", "").absent("TLS"),
    text("tls-key-file-pass", "").sensitive().absent("TLS"),
    text("tls-client-cert-file", "").absent("TLS"),
    text("tls-client-key-file", "").absent("TLS"),
    text("tls-client-key-file-pass", "").sensitive().absent("TLS"),
    text("tls-dh-params-file", "").absent("TLS"),
    text("tls-ca-cert-file", "").absent("TLS"),
    text("tls-ca-cert-dir", "").absent("TLS"),
    text("tls-protocols", "").absent("TLS"),
    text("tls-ciphers", "").absent("TLS"),
    text("tls-ciphersuites", "").absent("TLS"),
    text("rdma-bind", "").absent("RDMA"),
    int("rdma-port", 0, 65535, "0").absent("RDMA"),
    int("rdma-rx-size", 64 << 10, 16 << 20, "1048576").immutable().absent("RDMA"),
    int("rdma-completion-vector", -1, 1024, "-1").immutable().absent("RDMA"),
];
