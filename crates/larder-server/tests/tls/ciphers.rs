//! Protocols, ciphers and sessions.

use super::TlsServer;
use super::{cli, set};
use larder_testkit::tls::Authority;
use larder_testkit::tls::{config, stream};
use larder_testkit::{Client, Server};
use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

fn ask(port: u16, args: &[&str]) -> bool {
    let port = port.to_string();
    cli("redis-cli", &[&["-p", &port, "--tls", "--insecure"], args, &["PING"]].concat()) == "PONG"
}

fn is_set(client: &mut Client, name: &str, value: &str) -> bool {
    set(client, &[name, value]) == "OK"
}

fn start(authority: &Authority) -> TlsServer {
    TlsServer::larder(authority, &authority.issue("server"), &["--tls-auth-clients", "no"])
}

#[test]
fn protocols_and_ciphers_are_those_that_are_asked_for() {
    let authority = Authority::new("authority");
    let larder = start(&authority);
    let (mut client, port) = (larder.plain(), larder.port());
    let connects = |versions: &[&'static rustls::SupportedProtocolVersion]| {
        stream(port, &config(&authority, None, versions)).is_ok()
    };
    assert!(connects(&[&TLS12]) && connects(&[&TLS13]));
    assert!(is_set(&mut client, "tls-protocols", "tlsv1.3"));
    assert!(!connects(&[&TLS12]) && connects(&[&TLS13]));
    assert!(is_set(&mut client, "tls-protocols", "TLSv1.2"));
    assert!(connects(&[&TLS12]) && !connects(&[&TLS13]));
    // Ciphers of TLS 1.2.
    let gcm = ["--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"];
    let chacha = ["--tls-ciphers", "ECDHE-ECDSA-CHACHA20-POLY1305"];
    assert!(ask(port, &gcm) && ask(port, &chacha));
    assert!(is_set(&mut client, "tls-ciphers", "ECDHE+AESGCM:!aNULL"));
    assert!(ask(port, &gcm) && !ask(port, &chacha));
    assert!(is_set(&mut client, "tls-ciphers", "") && is_set(&mut client, "tls-protocols", ""));
    // Of TLS 1.3.
    let suite = |name| ["--tls-ciphersuites", name];
    assert!(is_set(&mut client, "tls-ciphersuites", "TLS_AES_256_GCM_SHA384"));
    assert!(ask(port, &[&suite("TLS_AES_256_GCM_SHA384")[..], &chacha].concat()));
    assert!(!ask(port, &[&suite("TLS_AES_128_GCM_SHA256")[..], &["--tls-ciphers", "AES128-SHA"]].concat()));
}

/// What cannot be had is refused, and named in the log.
#[test]
fn what_rustls_has_not_is_refused() {
    let authority = Authority::new("authority");
    let larder = start(&authority);
    let mut client = larder.plain();
    let cases = [
        (
            "tls-protocols",
            "BAD",
            "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2' and 'TLSv1.3'.",
        ),
        ("tls-protocols", "TLSv1.1 TLSv1.2", "'TLSv1.1' is not supported"),
        ("tls-ciphers", "bad", "Failed to configure ciphers: bad"),
        ("tls-ciphers", "HIGH:AES128-SHA", "'AES128-SHA' is not supported"),
        (
            "tls-ciphersuites",
            "TLS_AES_128_CCM_SHA256",
            "Failed to configure ciphersuites: TLS_AES_128_CCM_SHA256",
        ),
    ];
    for (name, value, reason) in cases {
        let answer = set(&mut client, &[name, value]);
        assert_eq!(
            answer,
            format!(
                "ERR CONFIG SET failed (possibly related to argument '{name}') - Unable to update TLS configuration. Check server logs."
            )
        );
        larder.server.wait_for_log(reason);
        assert_eq!(client.ask(&format!("CONFIG GET {name}")).items()[1].text(), "");
    }
    // Nothing depends on it: suites that would use the file are not offered.
    assert_eq!(set(&mut client, &["tls-dh-params-file", "/x"]), "OK");
    larder.server.wait_for_log("tls-dh-params-file");
}

/// How the second and the third handshake of a client go.
fn handshakes(port: u16, config: &std::sync::Arc<rustls::ClientConfig>, wait: Duration) -> Vec<bool> {
    let mut resumed = Vec::new();
    for _ in 0..3 {
        let mut stream = stream(port, config).unwrap();
        stream.write_all(b"PING\r\n").unwrap();
        stream.read_exact(&mut [0; 7]).unwrap();
        resumed.push(stream.0.conn.handshake_kind() == Some(HandshakeKind::Resumed));
        let end = Instant::now() + wait;
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    resumed
}

#[test]
fn sessions_are_resumed_as_configured() {
    let authority = Authority::new("authority");
    let larder = start(&authority);
    let (mut client, port) = (larder.plain(), larder.port());
    for version in [&TLS12, &TLS13] {
        let fresh = || config(&authority, None, &[version]);
        assert_eq!(handshakes(port, &fresh(), Duration::ZERO), [false, true, true]);
        let kept = fresh();
        handshakes(port, &kept, Duration::ZERO);
        // Who has come without a certificate does not get in by a session once one is asked for.
        assert!(is_set(&mut client, "tls-auth-clients", "optional"));
        assert!(!handshakes(port, &kept, Duration::ZERO)[0], "{version:?}");
        assert!(is_set(&mut client, "tls-auth-clients", "no"));
        assert!(is_set(&mut client, "tls-session-caching", "no"));
        assert_eq!(handshakes(port, &fresh(), Duration::ZERO), [false; 3]);
        assert!(is_set(&mut client, "tls-session-caching", "yes"));
        assert!(is_set(&mut client, "tls-session-cache-timeout", "1"));
        assert_eq!(handshakes(port, &fresh(), Duration::from_millis(1100)), [false; 3]);
        assert!(is_set(&mut client, "tls-session-cache-timeout", "300"));
        assert!(is_set(&mut client, "tls-session-cache-size", "1"));
        assert!(is_set(&mut client, "tls-session-cache-size", "0"));
        assert_eq!(handshakes(port, &fresh(), Duration::ZERO), [false, true, true]);
    }
}

/// With `tls-prefer-server-ciphers` the server's list decides.
#[test]
fn whose_order_counts() {
    let authority = Authority::new("authority");
    let larder = start(&authority);
    let (mut client, port) = (larder.plain(), larder.port());
    assert!(is_set(
        &mut client,
        "tls-ciphers",
        "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256"
    ));
    let chosen = || {
        let mut config = (*config(&authority, None, &[&TLS12])).clone();
        config.enable_sni = false;
        let stream = stream(port, &std::sync::Arc::new(config)).unwrap();
        format!("{:?}", stream.0.conn.negotiated_cipher_suite().unwrap().suite())
    };
    assert_eq!(chosen(), "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256");
    assert!(is_set(&mut client, "tls-prefer-server-ciphers", "yes"));
    assert_eq!(chosen(), "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256");
}

/// Clients that know one curve only.
#[test]
fn curves_of_the_key_exchange() {
    let authority = Authority::new("authority");
    // By TLS 1.2 a client that does not know the curve of a certificate's key refuses it.
    let rsa = authority.issue_rsa("server");
    let larder = TlsServer::larder(&authority, &rsa, &["--tls-auth-clients", "no"]);
    let connects = |curve: &str, version: &str| {
        let address = format!("127.0.0.1:{}", larder.port());
        let args = ["s_client", "-connect", &address, "-groups", curve, version, "-brief"];
        let output =
            std::process::Command::new("openssl").args(args).stdin(std::process::Stdio::null()).output();
        String::from_utf8_lossy(&output.unwrap().stderr).contains("CONNECTION ESTABLISHED")
    };
    for version in ["-tls1_2", "-tls1_3"] {
        for curve in ["P-256", "P-384", "P-521", "X25519"] {
            assert!(connects(curve, version), "{curve} {version}");
        }
        assert!(!connects("X448", version), "there is no implementation of it");
    }
}

/// By TLS 1.2 clients that take one hash are served by a key on any curve.
#[test]
fn hashes_of_signatures() {
    let authority = Authority::new("authority");
    let larder = start(&authority);
    let address = format!("127.0.0.1:{}", larder.port());
    for hash in ["ECDSA+SHA256", "ECDSA+SHA384", "ECDSA+SHA512"] {
        let args = ["s_client", "-connect", &address, "-tls1_2", "-sigalgs", hash, "-brief"];
        let output =
            std::process::Command::new("openssl").args(args).stdin(std::process::Stdio::null()).output();
        let text = String::from_utf8_lossy(&output.unwrap().stderr).into_owned();
        assert!(text.contains("CONNECTION ESTABLISHED"), "{hash}: {text}");
    }
}

/// What the first handshake of a process needs is ready before: a client with a short timeout is served.
#[test]
fn the_first_handshake_takes_as_long_as_others() {
    let authority = Authority::new("authority");
    let config = config(&authority, None, &[&TLS13]);
    let first = || {
        let larder = start(&authority);
        let begun = Instant::now();
        stream(larder.port(), &config).unwrap();
        begun.elapsed()
    };
    // Other tests run beside this one: the quickest of several starts counts. The entropy that aws-lc gathers once for a
    // process takes it 30 ms and more.
    let quickest = (0..6).map(|_| first()).min().unwrap();
    assert!(quickest < Duration::from_millis(15), "{quickest:?}");
}

/// Nobody can make the server negotiate again within a connection.
#[test]
fn renegotiation_is_not_offered() {
    let authority = Authority::new("authority");
    let larder = start(&authority);
    let mut child = std::process::Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{}", larder.port()), "-tls1_2"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // A line with an R asks for it.
    child.stdin.take().unwrap().write_all(b"R\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(text.contains("no renegotiation") || !text.contains("RENEGOTIATING"), "{text}");
    let server: &Server = &larder.server;
    assert_eq!(server.client().ask("PING").text(), "PONG");
}
