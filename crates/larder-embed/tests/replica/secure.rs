//! Primaries that are followed by TLS. Certificates are made when the tests run.

use super::{KINDS, OWN, PATIENCE, compare, start, wait_until};
use larder_embed::{Error, LinkStatus, Replica, ReplicaOptions, Reply};
use larder_testkit::tls::{Authority, Identity, server_options};
use larder_testkit::{Kind, Port, Server};
use std::time::Duration;

/// A primary with a certificate of an authority, whom clients must show one if `asks`; and its port for TLS.
fn secure(kind: Kind, authority: &Authority, identity: &Identity, asks: &str) -> (Server, Port) {
    let port = Port::reserve();
    let options = server_options(&port, authority, identity, asks);
    let args: Vec<&str> = options.iter().map(String::as_str).collect();
    (start(kind, &args), port)
}

/// Why a replica does not come about.
fn refused(url: &str, options: &ReplicaOptions) -> String {
    let options = options.clone().patience(Duration::from_secs(2));
    match Replica::connect_with(url, &options).err() {
        Some(Error::Connection(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn everything_comes_by_tls() {
    let authority = Authority::new("authority");
    let identity = authority.issue("server");
    // The redis-server of the tests speaks no TLS.
    for kind in [KINDS[0], KINDS[1]] {
        let (server, port) = secure(kind, &authority, &identity, "no");
        super::fill(&mut server.client());
        let large = "large".repeat(200_000);
        server.client().cmd(&["SET", "in:large", &large]);
        let options = ReplicaOptions::new().authorities(authority.certificate());
        for host in ["127.0.0.1", "localhost"] {
            let url = format!("rediss://{host}:{}", port.number());
            let replica = Replica::connect_with(&url, &options).expect("it connects");
            compare(kind.name(), &server, &replica);
            assert_eq!(replica.data().strlen("in:large").unwrap(), 1_000_000);
            for size in [1, 20_000, 300_000] {
                let value = "v".repeat(size);
                let reply = replica.write(&["SET", "in:key", &value], OWN).expect("it is written");
                assert_eq!(reply, Reply::Status("OK".to_owned()));
                assert_eq!(replica.data().strlen("in:key").unwrap(), size as u64);
            }
            assert_eq!(replica.write(&["GET", "in:large"], OWN).unwrap().as_bytes(), Some(large.as_bytes()));
            // A link that is cut comes again.
            server.client().ask("CLIENT KILL TYPE replica");
            compare("after the cut", &server, &replica);
            wait_until("the link is up", || replica.status().link == LinkStatus::Up);
        }
    }
}

#[test]
fn a_primary_asks_for_a_certificate() {
    let authority = Authority::new("authority");
    let [server, client] = ["server", "client"].map(|name| authority.issue(name));
    let (primary, port) = secure(Kind::Larder, &authority, &server, "yes");
    let url = format!("rediss://localhost:{}", port.number());
    let options = ReplicaOptions::new().authorities(authority.certificate());
    let reason = refused(&url, &options);
    assert!(!reason.is_empty(), "{reason}");
    let options = options.identity(&client.certificate, &client.key);
    let replica = Replica::connect_with(&url, &options).expect("it connects");
    primary.client().ask("SET in:k v");
    compare("with a certificate", &primary, &replica);
}

#[test]
fn who_is_not_trusted() {
    let [ours, theirs] = ["ours", "theirs"].map(Authority::new);
    let elsewhere = "basicConstraints=CA:FALSE\nsubjectAltName=DNS:elsewhere.example";
    let trusted = ReplicaOptions::new().authorities(ours.certificate());
    let of_another = theirs.issue("server");
    let with_another_name = ours.issue_with("named", Some(elsewhere), "20");
    for (what, identity, text) in [
        ("another authority", &of_another, "UnknownIssuer"),
        ("another name", &with_another_name, "not valid for name"),
    ] {
        let (_server, port) = secure(Kind::Larder, &ours, identity, "no");
        let reason = refused(&format!("rediss://localhost:{}", port.number()), &trusted);
        assert!(reason.contains(text), "{what}: {reason}");
    }
    // A port that does not speak TLS waits for more.
    let plain = start(Kind::Larder, &[]);
    let reason = refused(&format!("rediss://localhost:{}", plain.port()), &trusted.timeout_s(1));
    assert!(reason.contains("TLS handshake"), "{reason}");
}

#[test]
fn options_that_do_not_fit() {
    let authority = Authority::new("authority");
    let client = authority.issue("client");
    let (ca, missing) = (authority.certificate(), authority.path("missing"));
    let options = || ReplicaOptions::new().patience(PATIENCE);
    for (url, options, wanted, text) in [
        ("rediss://localhost:1", options(), "authorities", "needs a file"),
        ("rediss://localhost:1", options().authorities(&missing), "authorities", "missing: No such file"),
        ("rediss://localhost:1", options().authorities(&client.key), "authorities", "no certificate"),
        (
            "rediss://localhost:1",
            options().authorities(&ca).identity(&client.certificate, &ca),
            "identity",
            "no start line",
        ),
        ("redis://localhost:1", options().authorities(&ca), "authorities", "does not use TLS"),
        (
            "redis://localhost:1",
            options().identity(&client.certificate, &client.key),
            "identity",
            "does not use TLS",
        ),
    ] {
        match Replica::connect_with(url, &options).err() {
            Some(Error::Option { name, reason }) => {
                assert_eq!(name, wanted, "{reason}");
                assert!(reason.contains(text), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}
