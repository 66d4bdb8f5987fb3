//! Replication over TLS, with Larder, Redis and Valkey on either end.

use super::{TlsServer, info, set, wait_until};
use larder_testkit::tls::{Authority, Identity};
use larder_testkit::{Client, Kind, seed};
use std::io::{Read, Write};

fn start(kind: Kind, authority: &Authority, identity: &Identity, args: &[&str]) -> TlsServer {
    let own = ["--repl-diskless-sync-delay", "0", "--repl-timeout", "20", "--tls-replication", "yes"];
    TlsServer::start(kind, authority, identity, &[&own, args].concat())
}

fn write_some(client: &mut Client, rng: &mut fastrand::Rng, count: usize) {
    for n in 0..count {
        let key = rng.u16(..500);
        match rng.u8(..5) {
            0 => client.cmd(&["SET", &format!("s:{key}"), &"x".repeat(rng.usize(..3000))]),
            1 => client.cmd(&["RPUSH", &format!("l:{key}"), &n.to_string()]),
            2 => client.cmd(&["ZADD", &format!("z:{key}"), &n.to_string(), &format!("member{n}")]),
            3 => client.cmd(&["HSET", &format!("h:{key}"), &format!("f{n}"), "v"]),
            _ => client.cmd(&["DEL", &format!("s:{}", key / 2)]),
        };
    }
}

fn wait_for_same_data(what: &str, primary: &TlsServer, replica: &TlsServer) {
    let (mut ours, mut theirs) = (primary.plain(), replica.plain());
    wait_until(&format!("{what}: the link comes up\n{}", replica.server.log()), || {
        info(&mut theirs, "replication", "master_link_status") == "up"
    });
    wait_until(&format!("{what}: the offsets meet"), || {
        info(&mut ours, "replication", "master_repl_offset")
            == info(&mut theirs, "replication", "master_repl_offset")
    });
    assert_eq!(ours.ask("DEBUG DIGEST").text(), theirs.ask("DEBUG DIGEST").text(), "{what}");
}

/// One end that is Larder, and any other.
fn follows(primary: (Kind, &[&str]), replica: (Kind, &[&str])) {
    let what = format!("{} {:?} -> {} {:?}", primary.0.name(), primary.1, replica.0.name(), replica.1);
    let seed = seed(51);
    let mut rng = fastrand::Rng::with_seed(seed);
    let authority = Authority::new("authority");
    let (first, second) = (authority.issue("first"), authority.issue("second"));
    let primary = start(primary.0, &authority, &first, primary.1);
    let replica = start(replica.0, &authority, &second, replica.1);
    let mut writer = primary.plain();
    write_some(&mut writer, &mut rng, 3000);
    replica.plain().ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    write_some(&mut writer, &mut rng, 1000);
    wait_for_same_data(&what, &primary, &replica);
    // A larger burst than the sockets hold.
    for n in 0..40 {
        writer.cmd(&["SET", &format!("large{n}"), &format!("{n}").repeat(300_000)]);
    }
    wait_for_same_data(&what, &primary, &replica);
    // The primary knows where the replica can be reached: by TLS.
    let known = info(&mut writer, "replication", "slave0");
    assert!(known.contains(&format!("port={}", replica.port())), "{what}: {known}");
    // The link breaks and goes on where it was.
    writer.ask("CLIENT KILL TYPE replica");
    write_some(&mut writer, &mut rng, 300);
    wait_for_same_data(&what, &primary, &replica);
}

const LARDER: (Kind, &[&str]) = (Kind::Larder, &["--threads", "2"]);

#[test]
fn two_larders() {
    follows(LARDER, LARDER);
    follows(LARDER, (Kind::Larder, &["--repl-compression", "zstd"]));
    follows(
        (Kind::Larder, &["--repl-diskless-sync", "no"]),
        (Kind::Larder, &["--repl-diskless-load", "swapdb"]),
    );
}

#[test]
fn larder_follows_others() {
    for kind in [Kind::Redis, Kind::Valkey] {
        follows((kind, &[]), LARDER);
        follows(
            (kind, &["--repl-diskless-sync", "no"]),
            (Kind::Larder, &["--repl-diskless-load", "on-empty-db"]),
        );
    }
}

#[test]
fn others_follow_larder() {
    for kind in [Kind::Redis, Kind::Valkey] {
        follows(LARDER, (kind, &[]));
        follows(
            (Kind::Larder, &["--repl-diskless-sync", "no"]),
            (kind, &["--repl-diskless-load", "on-empty-db"]),
        );
    }
}

/// The certificate for other servers, if it is another; and an authority that the primary does not trust.
#[test]
fn certificates_of_links() {
    let (authority, other) = (Authority::new("authority"), Authority::new("other"));
    let primary = start(Kind::Valkey, &authority, &authority.issue("first"), &[]);
    let stranger = other.issue("stranger");
    let own = authority.issue("own");
    larder_testkit::tls::openssl(
        authority.dir(),
        &["pkcs8", "-topk8", "-passout", "pass:secret", "-in", "own.key", "-out", "locked.key"],
    );
    let replica = start(
        Kind::Larder,
        &authority,
        &authority.issue("second"),
        &["--tls-client-cert-file", &stranger.certificate, "--tls-client-key-file", &stranger.key],
    );
    let mut client = replica.plain();
    assert_ne!(info(&mut client, "tls", "tls_client_cert_serial"), "none");
    client.ask(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    replica.server.wait_for_log("The link to the primary ended");
    assert_eq!(info(&mut client, "replication", "master_link_status"), "down");
    let answer = set(
        &mut client,
        &[
            "tls-client-cert-file",
            &own.certificate,
            "tls-client-key-file",
            &authority.path("locked.key"),
            "tls-client-key-file-pass",
            "secret",
        ],
    );
    assert_eq!(answer, "OK");
    wait_for_same_data("with the right certificate", &primary, &replica);
}

/// A primary that this server does not trust, and one that talks no TLS, or nothing at all.
#[test]
fn primaries_that_are_none() {
    let (authority, other) = (Authority::new("authority"), Authority::new("other"));
    let stranger = start(Kind::Larder, &other, &other.issue("stranger"), &[]);
    let replica = start(Kind::Larder, &authority, &authority.issue("second"), &[]);
    let mut client = replica.plain();
    client.ask(&format!("REPLICAOF 127.0.0.1 {}", stranger.port()));
    replica.server.wait_for_log("certificate verify failed");
    let plain = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    client.ask(&format!("REPLICAOF 127.0.0.1 {}", plain.local_addr().unwrap().port()));
    let (mut socket, _) = plain.accept().unwrap();
    assert!(socket.read(&mut [0; 4096]).unwrap() > 0);
    socket.write_all(b"-ERR what is that?\r\n").unwrap();
    replica.server.wait_for_log("wrong version number");
    // One that says nothing holds nobody up.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    client.ask(&format!("REPLICAOF 127.0.0.1 {}", silent.local_addr().unwrap().port()));
    let _held = silent.accept().unwrap();
    assert_eq!(client.ask("REPLICAOF NO ONE").text(), "OK");
    assert_eq!(client.ask("SET k v").text(), "OK");
    // Without TLS for replication the port for TLS is none.
    assert_eq!(set(&mut client, &["tls-replication", "no"]), "OK");
    client.ask(&format!("REPLICAOF 127.0.0.1 {}", stranger.port()));
    wait_until("it is tried", || replica.server.log().matches("The link to the primary ended").count() > 3);
    assert_eq!(info(&mut client, "replication", "master_link_status"), "down");
}
