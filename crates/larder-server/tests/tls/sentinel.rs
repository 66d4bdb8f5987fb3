//! A group of three servers whose Sentinels, and whose links, speak nothing but TLS.

use super::{TlsServer, info, set, wait_until};
use larder_testkit::tls::{Authority, Identity};
use larder_testkit::{Client, Kind, Port, Server, temp_dir};

/// Starts a Sentinel that watches a primary. It tries again soon: one that gets no processor for two seconds does nothing for half a minute, and
/// then knows of no replica that it has heard of lately.
fn watch(kind: Kind, authority: &Authority, identity: &Identity, primary: u16) -> (Server, Port) {
    let dir = temp_dir();
    let (file, tls) = (dir.join("sentinel.conf"), Port::reserve());
    let text = format!(
        "tls-port {}\ntls-cert-file {}\ntls-key-file {}\ntls-ca-cert-file {}\ntls-replication yes\n\
         sentinel monitor mymaster 127.0.0.1 {primary} 2\nsentinel down-after-milliseconds mymaster 1000\n\
         sentinel failover-timeout mymaster 3000\n",
        tls.number(),
        identity.certificate,
        identity.key,
        authority.certificate(),
    );
    std::fs::write(&file, text).expect("the file is written");
    let program = kind.program();
    (Server::start(&[&program.to_string_lossy(), &file.to_string_lossy()], &["--sentinel"]), tls)
}

/// A field of what a Sentinel knows of the primary.
fn knows(sentinel: &mut Client, name: &str) -> Option<String> {
    let fields = sentinel.ask("SENTINEL MASTER mymaster");
    let at = fields.items().iter().position(|item| item.text() == name)?;
    Some(fields.items()[at + 1].text())
}

fn a_primary_that_dies_is_replaced(kind: Kind) {
    let authority = Authority::new("authority");
    let identity = authority.issue("everybody");
    let args = ["--tls-replication", "yes", "--repl-diskless-sync-delay", "0"];
    let mut servers: Vec<_> = (0..3).map(|_| TlsServer::larder(&authority, &identity, &args)).collect();
    let first = servers[0].port();
    for replica in &servers[1..] {
        replica.plain().ask(&format!("REPLICAOF 127.0.0.1 {first}"));
        // Nobody can come by another way than TLS.
        assert_eq!(set(&mut replica.plain(), &["tls-auth-clients", "yes"]), "OK");
    }
    let sentinels: Vec<_> = (0..3).map(|_| watch(kind, &authority, &identity, first)).collect();
    for (sentinel, _tls) in &sentinels {
        let mut client = sentinel.client();
        wait_until("the Sentinels know all", || {
            knows(&mut client, "num-slaves").as_deref() == Some("2")
                && knows(&mut client, "num-other-sentinels").as_deref() == Some("2")
                && knows(&mut client, "flags").as_deref() == Some("master")
        });
    }
    let mut client = servers[0].plain();
    assert_eq!(client.ask("SET key value").text(), "OK");
    assert_eq!(client.ask("WAIT 2 20000").int(), 2);
    servers[0].server.kill();
    let mut sentinel = sentinels[0].0.client();
    wait_until("another primary", || knows(&mut sentinel, "port") != Some(first.to_string()));
    let port = knows(&mut sentinel, "port").expect("a port");
    let new = servers.iter().position(|server| server.port().to_string() == port).expect("one of the group");
    wait_until("it leads", || info(&mut servers[new].plain(), "replication", "role") == "master");
    let other = 3 - new;
    wait_until("the other one follows", || {
        let mut client = servers[other].plain();
        info(&mut client, "replication", "master_port") == port
            && info(&mut client, "replication", "master_link_status") == "up"
    });
    assert_eq!(servers[new].plain().ask("GET key").text(), "value");
}

#[test]
fn sentinels_of_valkey() {
    a_primary_that_dies_is_replaced(Kind::Valkey);
}
