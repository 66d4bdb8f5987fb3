//! TLS and RDMA: accepted and answered, so that existing files load.

use super::*;

pub(super) static OPTIONS: &[Opt] = &[
    int("tls-port", 0, 65535, "0"),
    yes_no("tls-cluster", "no"),
    yes_no("tls-replication", "no"),
    one_of("tls-auth-clients", &[("no", 0), ("yes", 1), ("optional", 2)], "yes"),
    text("tls-auth-clients-user", "off"),
    int("tls-auto-reload-interval", 0, INT_MAX, "0"),
    yes_no("tls-prefer-server-ciphers", "no"),
    yes_no("tls-session-caching", "yes"),
    int("tls-session-cache-size", 0, INT_MAX, "20480"),
    int("tls-session-cache-timeout", 0, INT_MAX, "300"),
    int("max-new-tls-connections-per-cycle", 1, 1000, "1"),
    text("tls-cert-file", ""),
    text("tls-key-file", ""),
    text("tls-key-file-pass", "").sensitive(),
    text("tls-client-cert-file", ""),
    text("tls-client-key-file", ""),
    text("tls-client-key-file-pass", "").sensitive(),
    text("tls-dh-params-file", ""),
    text("tls-ca-cert-file", ""),
    text("tls-ca-cert-dir", ""),
    text("tls-protocols", ""),
    text("tls-ciphers", ""),
    text("tls-ciphersuites", ""),
    text("rdma-bind", ""),
    int("rdma-port", 0, 65535, "0"),
    int("rdma-rx-size", 64 << 10, 16 << 20, "1048576").immutable(),
    int("rdma-completion-vector", -1, 1024, "-1").immutable(),
];
