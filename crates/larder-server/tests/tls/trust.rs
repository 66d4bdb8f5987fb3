//! Which certificates are trusted, beside Valkey: who may issue them, for clients and for servers,
//! and which forms they may have. `larder-tls/tests/chains` has every field of a certificate.

use super::{TlsServer, cli, info, wait_until};
use larder_testkit::tls::{Authority, COMMON, Identity, openssl};
use larder_testkit::{Client, Kind};

const NO_AUTHORITY: &str = "basicConstraints=critical,CA:FALSE";
const AUTHORITY: &str = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign";

/// What a client is told by a server when it shows this certificate.
fn answer(server: &TlsServer, ca: &str, identity: &Identity, command: &[&str]) -> String {
    let port = server.port().to_string();
    let own = ["-p", &port, "--tls", "--cacert", ca, "--cert", &identity.certificate, "--key", &identity.key];
    let said = cli("redis-cli", &[&own[..], command].concat());
    // Which of the two it is depends on what the server has read.
    let is_refused =
        said.contains("Server closed the connection") || said.contains("Connection reset by peer");
    if is_refused { "refused".to_owned() } else { said }
}

/// The authority's folder with a client, a pinned certificate and a broken authority, and the file
/// that trusts all.
fn mixed_bundle(authority: &Authority) -> String {
    authority.issue("app");
    authority.self_signed_with("pinned", &["-addext", "basicConstraints=critical,CA:FALSE"]);
    authority.self_signed_with("no-signer", &["-addext", "keyUsage=digitalSignature"]);
    authority.bundle("bundle.pem", &["app", "pinned", "no-signer", "ca"])
}

/// A certificate that is trusted for itself makes no others, whoever holds its key: else its holder
/// is any user.
#[test]
fn trusted_certificates_that_are_no_authorities() {
    let authority = Authority::new("authority");
    let server = authority.issue("server");
    let bundle = mixed_bundle(&authority);
    let ca = authority.certificate();
    let own = |name: &str| Identity {
        certificate: authority.path(&format!("{name}.crt")),
        key: authority.path(&format!("{name}.key")),
    };
    let mut clients = vec![("app", own("app")), ("pinned", own("pinned"))];
    let mut number = 0;
    for holder in ["app", "pinned", "no-signer"] {
        for extensions in [Some(NO_AUTHORITY), None] {
            // The name of the user that the forger wants to be.
            number += 1;
            let file = format!("forged{number}");
            authority.issue("admin");
            std::fs::rename(authority.path("admin.csr"), authority.path(&format!("{file}.csr"))).unwrap();
            std::fs::rename(authority.path("admin.key"), authority.path(&format!("{file}.key"))).unwrap();
            clients.push((holder, authority.sign_request(holder, &file, extensions, &[])));
        }
    }
    let tables = [Kind::Larder, Kind::Valkey].map(|kind| {
        let args = ["--tls-ca-cert-file", &bundle, "--tls-auth-clients-user", "CN"];
        let server = TlsServer::start(kind, &authority, &server, &args);
        let mut plain = server.plain();
        for user in ["app", "pinned", "admin"] {
            assert_eq!(plain.ask(&format!("ACL SETUSER {user} on >x ~* +@all")).text(), "OK");
        }
        let table = clients
            .iter()
            .map(|(holder, shown)| format!("{holder}: {}", answer(&server, &ca, shown, &["ACL", "WHOAMI"])));
        table.collect::<Vec<_>>()
    });
    assert_eq!(tables[0], tables[1], "larder, valkey");
    assert_eq!(tables[0][..2], ["app: app", "pinned: pinned"]);
    assert!(tables[0][2..].iter().all(|row| row.ends_with(": refused")), "{:?}", tables[0]);
}

/// A replica does not follow a primary whose certificate was made by one that is no authority.
#[test]
fn primaries_with_forged_certificates() {
    let authority = Authority::new("authority");
    let bundle = mixed_bundle(&authority);
    let replication = ["--tls-replication", "yes", "--tls-ca-cert-file", &bundle];
    let own = authority.issue("replica");
    for holder in ["app", "pinned", "no-signer"] {
        let forged = authority.issue_by(holder, "primary", Some(NO_AUTHORITY));
        let primary = TlsServer::larder(&authority, &forged, &["--tls-auth-clients", "no"]);
        let replica = TlsServer::larder(&authority, &own, &replication);
        replica.plain().ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
        replica.server.wait_for_log("certificate verify failed");
        assert_eq!(info(&mut replica.plain(), "replication", "master_link_status"), "down", "{holder}");
    }
    let primary = TlsServer::larder(&authority, &authority.issue("primary"), &["--tls-auth-clients", "no"]);
    let replica = TlsServer::larder(&authority, &own, &replication);
    let mut client: Client = replica.plain();
    client.ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    wait_until("the link comes up", || info(&mut client, "replication", "master_link_status") == "up");
}

/// Certificates of clients whose form is unusual, directly below the authority and below another
/// one.
#[test]
fn unusual_forms_of_certificates() {
    let authority = Authority::new("authority");
    let server = authority.issue("server");
    let ca = authority.certificate();
    authority.issue_by("ca", "middle", Some(&format!("{AUTHORITY}\ncertificatePolicies=critical,1.2.3.4")));
    let mut clients = Vec::new();
    for issuer in ["ca", "middle"] {
        let name = |what: &str| format!("{what}-by-{issuer}");
        for (what, extensions) in [
            ("old", None),
            ("authority", Some("basicConstraints=critical,CA:TRUE")),
            ("policy", Some("certificatePolicies=critical,1.2.3.4")),
            ("unknown", Some("1.2.3.4=critical,ASN1:NULL")),
            ("encipher", Some("keyUsage=critical,keyEncipherment")),
        ] {
            clients.push((name(what), authority.issue_by(issuer, &name(what), extensions)));
        }
        for (what, algorithm) in [("pss", "RSA-PSS"), ("rsa", "RSA")] {
            let shown = authority.issue_of_kind(issuer, &name(what), algorithm, &["-sha224"]);
            clients.push((name(what), shown));
        }
    }
    // Each client sends the intermediate as well.
    for (name, shown) in &mut clients {
        if name.ends_with("by-middle") {
            shown.certificate = authority.bundle(&format!("{name}.pem"), &[name.as_str(), "middle"]);
        }
    }
    let tables = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = TlsServer::start(kind, &authority, &server, &[]);
        let table =
            clients.iter().map(|(name, shown)| format!("{name}: {}", answer(&server, &ca, shown, &["PING"])));
        table.collect::<Vec<_>>()
    });
    assert_eq!(tables[0], tables[1], "larder, valkey");
    assert_eq!(tables[0].iter().filter(|row| row.ends_with(": PONG")).count(), 10, "{:?}", tables[0]);
}

/// Authorities with RSA keys whose signatures are those of RSA-PSS, or have SHA-224.
#[test]
fn signatures_of_authorities() {
    let ours = Authority::new("authority");
    let dir = ours.dir();
    for (name, algorithm, options) in [
        ("pss", "RSA-PSS", &[][..]),
        ("rsa-with-pss", "RSA", &["-sigopt", "rsa_padding_mode:pss"]),
        ("rsa-with-sha224", "RSA", &["-sha224"]),
    ] {
        let [key, certificate] = ["key", "crt"].map(|end| format!("{name}.{end}"));
        openssl(dir, &["genpkey", "-algorithm", algorithm, "-pkeyopt", "rsa_keygen_bits:2048", "-out", &key]);
        let subject = format!("/CN={name}");
        openssl(
            dir,
            &["req", "-x509", "-new", "-key", &key, "-days", "9", "-subj", &subject, "-out", &certificate],
        );
        ours.issue("server");
        let server = ours.sign_request(name, "server", Some(COMMON), options);
        ours.issue("client");
        let client = ours.sign_request(name, "client", Some(COMMON), options);
        let trusted = ours.path(&certificate);
        let told = [Kind::Larder, Kind::Valkey].map(|kind| {
            let server = TlsServer::start(kind, &ours, &server, &["--tls-ca-cert-file", &trusted]);
            answer(&server, &trusted, &client, &["PING"])
        });
        assert_eq!(told, ["PONG", "PONG"], "{name}");
    }
}

/// The certificates that a server sends, by their subjects.
fn sent(server: &TlsServer) -> Vec<String> {
    let address = format!("127.0.0.1:{}", server.port());
    let output = std::process::Command::new("openssl")
        .args(["s_client", "-connect", &address, "-showcerts"])
        .stdin(std::process::Stdio::null())
        .output()
        .expect("there is an openssl command");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let subjects = text.lines().filter(|line| line.trim_start().split_once(" s:").is_some());
    subjects.map(|line| line.trim().to_owned()).collect()
}

/// A certificate that stands alone in its file is sent with those of the authorities that lead to
/// the root.
#[test]
fn chains_are_completed() {
    let authority = Authority::new("authority");
    authority.issue_by("ca", "middle", Some(AUTHORITY));
    authority.issue_by("middle", "lower", Some(AUTHORITY));
    let own = authority.issue_by("lower", "server", Some(COMMON));
    let alone = authority.self_signed("alone");
    // The same name as an authority of the chain, with another key.
    let mimic = Authority::new("mimic");
    mimic.issue_by("ca", "lower", Some(AUTHORITY));
    std::fs::copy(mimic.path("lower.crt"), authority.path("mimic.crt")).unwrap();
    let whole = authority.bundle("whole.pem", &["server", "lower"]);
    let all = authority.bundle("all.pem", &["mimic", "alone", "middle", "ca", "lower"]);
    let rest = authority.bundle("rest.pem", &["middle", "ca"]);
    let no_root = authority.bundle("no-root.pem", &["lower"]);
    let cases = [
        (own.certificate.as_str(), &own.key, &all, 4),
        (&own.certificate, &own.key, &rest, 1),
        (&own.certificate, &own.key, &no_root, 2),
        (&whole, &own.key, &all, 2),
        (&alone.certificate, &alone.key, &all, 1),
    ];
    for (certificate, key, trusted, count) in cases {
        let identity = Identity { certificate: certificate.to_owned(), key: key.clone() };
        let args = ["--tls-ca-cert-file", trusted.as_str(), "--tls-auth-clients", "no"];
        let chains = [Kind::Larder, Kind::Valkey]
            .map(|kind| sent(&TlsServer::start(kind, &authority, &identity, &args)));
        assert_eq!(chains[0], chains[1], "larder, valkey: {certificate} with {trusted}");
        assert_eq!(chains[0].len(), count, "{:?}", chains[0]);
    }
}

/// A replica shows a primary that knows the root alone what leads there.
#[test]
fn replicas_complete_their_chain() {
    let authority = Authority::new("authority");
    authority.issue_by("ca", "middle", Some(AUTHORITY));
    let bundle = authority.bundle("bundle.pem", &["middle", "ca"]);
    let primary = TlsServer::start(Kind::Valkey, &authority, &authority.issue("primary"), &[]);
    let own = authority.issue_by("middle", "replica", Some(COMMON));
    let replica =
        TlsServer::larder(&authority, &own, &["--tls-replication", "yes", "--tls-ca-cert-file", &bundle]);
    let mut client = replica.plain();
    client.ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    wait_until("the link comes up", || info(&mut client, "replication", "master_link_status") == "up");
}
