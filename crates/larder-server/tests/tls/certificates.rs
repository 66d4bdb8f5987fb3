//! Whose certificates are taken, for each `tls-auth-clients`, beside Redis and Valkey; and keys of all kinds.

use super::{TlsServer, cli, info, set};
use larder_testkit::tls::{Authority, COMMON, Identity, openssl};
use larder_testkit::tls::{config, connect};
use larder_testkit::{Client, Kind, Server};

/// What redis-cli says when it is told to ask for a key.
fn ask(port: u16, args: &[&str]) -> String {
    let port = port.to_string();
    cli("redis-cli", &[&["-p", &port], args, &["GET", "k"]].concat())
}

fn identity_args(identity: &Identity) -> [&str; 4] {
    ["--cert", &identity.certificate, "--key", &identity.key]
}

/// Certificates that clients show, by what is special about them.
fn shown(authority: &Authority) -> Vec<(&'static str, Identity)> {
    let purpose = |purpose: &str| format!("{COMMON}\nextendedKeyUsage={purpose}");
    vec![
        ("good", authority.issue("good")),
        ("version 1", authority.issue_with("old", None, "20")),
        ("for clients", authority.issue_with("for-clients", Some(&purpose("clientAuth")), "20")),
        ("for servers", authority.issue_with("for-servers", Some(&purpose("serverAuth")), "20")),
        ("expired", authority.issue_expired("expired")),
        ("self-signed", authority.self_signed("self")),
    ]
}

/// The table of what clients see, for each setting: the same on all servers.
#[test]
fn every_kind_of_client() {
    let (authority, other) = (Authority::new("authority"), Authority::new("other"));
    let server = authority.issue("server");
    let mut shown = shown(&authority);
    shown.push(("of another authority", other.issue("stranger")));
    let ca = authority.certificate();
    let tls = ["--tls", "--cacert", &ca];
    let tables = [Kind::Larder, Kind::Redis, Kind::Valkey].map(|kind| {
        let server = TlsServer::start(kind, &authority, &server, &[]);
        let mut plain = server.plain();
        plain.ask("SET k v");
        let mut table = Vec::new();
        for auth in ["yes", "optional", "no"] {
            assert_eq!(set(&mut plain, &["tls-auth-clients", auth]), "OK");
            let mut row = |who: &str, args: &[&str]| {
                let said = ask(server.port(), args).replace(&server.port().to_string(), "PORT");
                // It is reset if the server has not read everything.
                let said = said.replace("Connection reset by peer", "Server closed the connection");
                table.push(format!("{auth}, {who}: {said}"));
            };
            row("nobody", &tls);
            row("not by TLS", &[]);
            row("whom the server is no server for", &["--tls", "--cacert", &other.certificate()]);
            for (who, identity) in &shown {
                row(who, &[&tls[..], &identity_args(identity)].concat());
            }
        }
        table
    });
    assert_eq!(tables[0], tables[2], "larder, valkey");
    assert_eq!(tables[0], tables[1], "larder, redis");
    assert!(tables[0].contains(&"yes, version 1: v".to_owned()), "{:?}", tables[0]);
    assert!(!tables[0].contains(&"optional, expired: v".to_owned()));
}

/// Lines of the log that name why clients were refused, in OpenSSL's words.
#[test]
fn reasons_in_the_log() {
    let (authority, other) = (Authority::new("authority"), Authority::new("other"));
    let larder = TlsServer::larder(&authority, &authority.issue("server"), &[]);
    let ca = authority.certificate();
    let expired = authority.issue_expired("expired");
    let cases: [(&[&str], &str); 4] = [
        (
            &["--tls", "--cacert", &ca],
            "error:0A0000C7:SSL routines::peer did not return a certificate (addr=127.0.0.1:",
        ),
        (&[], "error:0A00010B:SSL routines::wrong version number"),
        (&["--tls", "--cacert", &other.certificate()], "error:0A000418:SSL routines::tlsv1 alert unknown ca"),
        (
            &[&["--tls", "--cacert", &ca][..], &identity_args(&expired)].concat(),
            "error:0A000086:SSL routines::certificate verify failed",
        ),
    ];
    for (args, reason) in cases {
        ask(larder.port(), args);
        larder.server.wait_for_log(&format!("Error accepting a client connection: {reason}"));
    }
}

fn starts_with(authority: &Authority, identity: &Identity, args: &[&str]) -> bool {
    let larder = TlsServer::larder(authority, identity, args);
    let config = config(authority, None, rustls::ALL_VERSIONS);
    let mut client = connect(larder.port(), &config).unwrap();
    client.ask("PING").text() == "PONG"
}

#[test]
fn keys_of_every_kind() {
    let authority = Authority::new("authority");
    let dir = authority.dir();
    let plain = authority.issue("plain");
    let no_clients = ["--tls-auth-clients", "no"];
    assert!(starts_with(&authority, &plain, &no_clients), "SEC1");
    for (file, args) in [
        ("p8.key", &["pkcs8", "-topk8", "-nocrypt"][..]),
        ("cbc.key", &["pkcs8", "-topk8", "-v2", "aes-256-cbc", "-passout", "pass:secret word"]),
        (
            "sha512.key",
            &[
                "pkcs8",
                "-topk8",
                "-v2",
                "aes-128-cbc",
                "-v2prf",
                "hmacWithSHA512",
                "-passout",
                "pass:secret word",
            ],
        ),
        ("scrypt.key", &["pkcs8", "-topk8", "-scrypt", "-passout", "pass:secret word"]),
        ("3des.key", &["pkcs8", "-topk8", "-v2", "des3", "-passout", "pass:secret word"]),
        (
            "sha1.key",
            &[
                "pkcs8",
                "-topk8",
                "-v2",
                "aes-128-cbc",
                "-v2prf",
                "hmacWithSHA1",
                "-passout",
                "pass:secret word",
            ],
        ),
        ("old-aes.key", &["ec", "-aes256", "-passout", "pass:secret word"]),
        ("old-3des.key", &["ec", "-des3", "-passout", "pass:secret word"]),
    ] {
        openssl(dir, &[args, &["-in", "plain.key", "-out", file]].concat());
        let identity = Identity { key: authority.path(file), ..plain.clone() };
        let password = ["--tls-key-file-pass", "secret word"];
        assert!(starts_with(&authority, &identity, &[&no_clients[..], &password].concat()), "{file}");
    }
    // RSA, by PKCS#1 and PKCS#8.
    openssl(dir, &["genrsa", "-traditional", "-out", "rsa.key", "2048"]);
    openssl(dir, &["req", "-new", "-key", "rsa.key", "-subj", "/CN=rsa", "-out", "rsa.csr"]);
    let args = ["x509", "-req", "-in", "rsa.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
    openssl(dir, &[&args[..], &["-days", "9", "-extfile", "plain.ext", "-out", "rsa.crt"]].concat());
    openssl(dir, &["pkcs8", "-topk8", "-nocrypt", "-in", "rsa.key", "-out", "rsa8.key"]);
    openssl(
        dir,
        &["rsa", "-traditional", "-aes128", "-passout", "pass:a", "-in", "rsa.key", "-out", "rsa-old.key"],
    );
    for file in ["rsa.key", "rsa8.key", "rsa-old.key"] {
        let identity = Identity { certificate: authority.path("rsa.crt"), key: authority.path(file) };
        let args = [&no_clients[..], &["--tls-key-file-pass", "a"]].concat();
        assert!(starts_with(&authority, &identity, &args), "{file}");
    }
}

/// A key that is for RSA-PSS only: OpenSSL's clients take it.
#[test]
fn keys_for_rsa_pss_only() {
    let authority = Authority::new("authority");
    let identity = authority.issue_of_kind("ca", "pss", "RSA-PSS", &[]);
    let larder = TlsServer::larder(&authority, &identity, &["--tls-auth-clients", "no"]);
    assert_eq!(ask(larder.port(), &["--tls", "--cacert", &authority.certificate()]), "");
    // The key of another certificate is noticed.
    let mut client = larder.plain();
    refused(
        &mut client,
        &larder.server,
        &["tls-cert-file", &authority.issue("other").certificate],
        "error:05800074:x509 certificate routines::key values mismatch",
    );
}

/// Changes the text of a file, and not what it says.
type Form = fn(&str) -> String;

/// Certificates and authorities in each form that OpenSSL reads.
#[test]
fn files_in_every_form() {
    let authority = Authority::new("authority");
    let dir = authority.dir();
    let (server, client) = (authority.issue("server"), authority.issue("client"));
    let trusted = |file: &str, purpose: &str, out: &str| {
        openssl(dir, &["x509", "-in", file, "-trustout", "-addtrust", purpose, "-out", out]);
    };
    trusted("server.crt", "serverAuth", "server-trusted.crt");
    trusted("ca.crt", "clientAuth", "ca-trusted.crt");
    trusted("ca.crt", "serverAuth", "ca-for-servers.crt");
    openssl(
        dir,
        &["x509", "-in", "ca.crt", "-trustout", "-addreject", "clientAuth", "-out", "ca-rejected.crt"],
    );
    let text = |file: &str| std::fs::read_to_string(dir.join(file)).unwrap();
    let forms: [(&str, Form); 5] = [
        ("mark", |text| format!("\u{feff}{text}")),
        ("tabs", |text| text.replace('\n', "\t\r\n")),
        ("label", |text| text.replace("CERTIFICATE", "X509 CERTIFICATE")),
        ("prose", |text| format!("Bag Attributes: none\n{text}the end")),
        ("one-line", |text| {
            let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
            format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
        }),
    ];
    let mut files = vec![("server-trusted.crt".to_owned(), "ca-trusted.crt".to_owned())];
    for (name, form) in forms {
        let names = ["server", "ca"].map(|file| format!("{file}-{name}.crt"));
        for (file, out) in ["server.crt", "ca.crt"].into_iter().zip(&names) {
            std::fs::write(dir.join(out), form(&text(file))).unwrap();
        }
        files.push(names.into());
    }
    files.push(("server.crt".to_owned(), "ca-for-servers.crt".to_owned()));
    files.push(("server.crt".to_owned(), "ca-rejected.crt".to_owned()));
    let known = config(&authority, Some(&client), rustls::ALL_VERSIONS);
    let tables = [Kind::Larder, Kind::Valkey].map(|kind| {
        let pings = files.iter().map(|(certificate, trusted)| {
            let identity = Identity { certificate: authority.path(certificate), ..server.clone() };
            let args = ["--tls-ca-cert-file", &authority.path(trusted)];
            let server = TlsServer::start(kind, &authority, &identity, &args);
            let is_let_in = connect(server.port(), &known).is_ok_and(|mut client| {
                client.send_raw(b"PING\r\n").is_ok()
                    && client.read().is_ok_and(|reply| reply.text() == "PONG")
            });
            format!("{certificate}, {trusted}: {is_let_in}")
        });
        pings.collect::<Vec<_>>()
    });
    assert_eq!(tables[0], tables[1], "larder, valkey");
    assert_eq!(tables[0].iter().filter(|row| row.ends_with("true")).count(), 6, "{:?}", tables[0]);
}

fn refused(client: &mut Client, server: &Server, pairs: &[&str], reason: &str) {
    let answer = set(client, pairs);
    assert_eq!(
        answer,
        format!(
            "ERR CONFIG SET failed (possibly related to argument '{}') - Unable to update TLS configuration. Check server logs.",
            pairs[0]
        )
    );
    server.wait_for_log(reason);
}

/// Files that cannot be used change nothing, and the log says what is wrong with them.
#[test]
fn files_that_are_refused() {
    let authority = Authority::new("authority");
    let dir = authority.dir();
    let (identity, other) = (authority.issue("server"), authority.issue("other"));
    std::fs::write(dir.join("text"), "no certificate").unwrap();
    std::fs::write(dir.join("bad.crt"), "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n")
        .unwrap();
    std::fs::write(dir.join("short.crt"), "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
        .unwrap();
    std::fs::create_dir(dir.join("empty")).unwrap();
    openssl(dir, &["pkcs8", "-topk8", "-passout", "pass:a", "-in", "server.key", "-out", "locked.key"]);
    openssl(dir, &["ec", "-aes128", "-passout", "pass:a", "-in", "server.key", "-out", "old.key"]);
    openssl(
        dir,
        &["ec", "-camellia128", "-passout", "pass:a", "-in", "server.key", "-out", "old-camellia.key"],
    );
    let pkcs8 = ["pkcs8", "-topk8", "-passout", "pass:a", "-in", "server.key", "-out"];
    openssl(dir, &[&pkcs8[..], &["pbes1.key", "-v1", "PBE-SHA1-3DES"]].concat());
    openssl(dir, &[&pkcs8[..], &["camellia.key", "-v2", "camellia-128-cbc"]].concat());
    let locked = std::fs::read_to_string(dir.join("locked.key")).unwrap();
    let cut = locked.lines().filter(|line| line.starts_with('-')).collect::<Vec<_>>().join("\nMIIB!\n");
    std::fs::write(dir.join("cut.key"), cut).unwrap();
    let larder = TlsServer::larder(&authority, &identity, &[]);
    let mut client = larder.plain();
    let path = |file: &str| authority.path(file);
    let cases = [
        (
            "tls-cert-file",
            "/nope".to_owned(),
            "Failed to load certificate: /nope: error:80000002:system library::No such file or directory",
        ),
        ("tls-cert-file", path("text"), "error:0480006C:PEM routines::no start line"),
        ("tls-cert-file", path("bad.crt"), "bad.crt: error:"),
        ("tls-cert-file", path("short.crt"), "short.crt: error:"),
        (
            "tls-cert-file",
            other.certificate.clone(),
            "error:05800074:x509 certificate routines::key values mismatch",
        ),
        ("tls-cert-file", String::new(), "No tls-cert-file configured!"),
        ("tls-key-file", "/nope".to_owned(), "Failed to load private key: /nope: error:80000002"),
        ("tls-key-file", other.key.clone(), "Failed to load private key: "),
        ("tls-key-file", path("text"), "text: error:0480006C:PEM routines::no start line"),
        ("tls-key-file", path("locked.key"), "the key is encrypted, but no password is configured"),
        ("tls-key-file", path("old.key"), "the key is encrypted, but no password is configured"),
        ("tls-ca-cert-file", path("text"), "Failed to configure CA certificate(s) file/directory: "),
        ("tls-ca-cert-file", String::new(), "Either tls-ca-cert-file or tls-ca-cert-dir must be specified"),
        (
            "tls-ca-cert-dir",
            "/nope".to_owned(),
            "Failed to configure CA certificate(s) file/directory: error:80000002",
        ),
    ];
    for (option, value, reason) in &cases {
        let before = client.ask(&format!("CONFIG GET {option}"));
        refused(&mut client, &larder.server, &[option, value], reason);
        assert_eq!(client.ask(&format!("CONFIG GET {option}")), before);
    }
    for (file, password, reason) in [
        (
            "locked.key",
            "wrong",
            "locked.key: error:1C800064:Provider routines::bad decrypt (the password is wrong)",
        ),
        (
            "old.key",
            "wrong",
            "old.key: error:1C800064:Provider routines::bad decrypt (the password is wrong)",
        ),
        (
            "pbes1.key",
            "a",
            "pbes1.key: the key is encrypted by a method that is not supported (the identifier 1.2.840.113549.1.12.1.3",
        ),
        (
            "camellia.key",
            "a",
            "camellia.key: the key is encrypted by a method that is not supported (PBES2 with",
        ),
        ("old-camellia.key", "a", "not supported (CAMELLIA-128-CBC"),
        ("cut.key", "a", "cut.key: error:04800064:PEM routines::bad base64 decode"),
    ] {
        let pairs = ["tls-key-file", &path(file), "tls-key-file-pass", password];
        refused(&mut client, &larder.server, &pairs, reason);
    }
    assert_eq!(set(&mut client, &["tls-key-file", &path("locked.key"), "tls-key-file-pass", "a"]), "OK");
    assert_eq!(client.ask("CONFIG GET tls-key-file-pass").items()[1].text(), "a");
    // Who trusts nobody asks for nothing.
    assert_eq!(set(&mut client, &["tls-auth-clients", "no", "tls-ca-cert-file", ""]), "OK");
    let config = config(&authority, Some(&identity), rustls::ALL_VERSIONS);
    assert_eq!(connect(larder.port(), &config).unwrap().ask("PING").text(), "PONG");
    assert_eq!(set(&mut client, &["tls-auth-clients", "yes"]), "OK");
    assert!(
        connect(larder.port(), &config)
            .map_or(true, |mut client| { client.send_raw(b"PING\r\n").is_err() || client.read().is_err() })
    );
}

/// Authorities in a folder, with names that mean nothing and names that OpenSSL gives them.
#[test]
fn folders_of_authorities() {
    let authority = Authority::new("authority");
    let (identity, client) = (authority.issue("server"), authority.issue("client"));
    let folder = authority.dir().join("trusted");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(authority.certificate(), folder.join("a.crt")).unwrap();
    std::fs::write(folder.join("README"), "Authorities are here.").unwrap();
    openssl(authority.dir(), &["rehash", "trusted"]);
    let tables = [Kind::Larder, Kind::Valkey].map(|kind| {
        let args = ["--tls-ca-cert-dir", &folder.to_string_lossy(), "--tls-ca-cert-file", ""];
        let server = TlsServer::start(kind, &authority, &identity, &args);
        let known = config(&authority, Some(&client), rustls::ALL_VERSIONS);
        let unknown = config(&authority, None, rustls::ALL_VERSIONS);
        let pings = [known, unknown].map(|config| {
            connect(server.port(), &config).is_ok_and(|mut client| {
                client.send_raw(b"PING\r\n").is_ok()
                    && client.read().is_ok_and(|reply| reply.text() == "PONG")
            })
        });
        let mut plain = server.plain();
        let fields = ["server", "client", "ca"]
            .map(|whose| info(&mut plain, "tls", &format!("tls_{whose}_cert_serial")));
        let left = ["server", "client", "ca"].map(|whose| {
            info(&mut plain, "tls", &format!("tls_{whose}_cert_expires_in_seconds")).parse::<i64>().unwrap()
        });
        (pings, fields, left)
    });
    let [ours, theirs] = tables;
    assert_eq!((ours.0, &ours.1), (theirs.0, &theirs.1));
    assert_eq!(ours.0, [true, false]);
    // The second server is asked later than the first.
    let later = ours.2.iter().zip(theirs.2).map(|(first, second)| first - second);
    assert!(later.clone().all(|seconds| (0..600).contains(&seconds)), "{:?} and {:?}", ours.2, theirs.2);
}
