//! `tls-auth-clients-user`: connections that are their certificate's user from the start.

use super::TlsServer;
use super::{info, set};
use larder_testkit::tls::{Authority, COMMON};
use larder_testkit::tls::{config, connect};
use larder_testkit::{Kind, Value};

const USERS: [&str; 4] = [
    "ACL SETUSER alice on ~* +@all nopass",
    "ACL SETUSER bob off ~* +@all nopass",
    "ACL SETUSER urn:carol on ~* +get +acl|whoami +client|list >secret",
    "ACL SETUSER urn:off off +@all",
];

/// A text with what differs from run to run taken out.
fn masked(entry: &Value) -> Vec<String> {
    let items = entry.items();
    let fields = items.chunks(2).filter(|pair| {
        !["client-info", "age-seconds", "timestamp-created", "timestamp-last-updated"]
            .contains(&&*pair[0].text())
    });
    fields.map(|pair| format!("{}={}", pair[0].text(), pair[1])).collect()
}

/// Who each client is, what ACL LOG and INFO say of it, the same as on Valkey.
#[test]
fn certificates_name_users() {
    let authority = Authority::new("authority");
    let server = authority.issue("server");
    let uris = |uris: &[&str]| {
        let names: String = uris.iter().map(|uri| format!(",URI:{uri}")).collect();
        format!("{COMMON}{names}")
    };
    let clients = [
        authority.issue_with("alice", Some(&uris(&[])), "20"),
        authority.issue_with("bob", Some(&uris(&["urn:none", "urn:off"])), "20"),
        authority.issue_with("dave", Some(&uris(&["urn:off", "urn:carol", "urn:none"])), "20"),
        authority.issue_with("default", Some(&uris(&["alice"])), "20"),
        authority.issue_with("old", None, "20"),
    ];
    let told = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = TlsServer::start(kind, &authority, &server, &["--tls-auth-clients", "optional"]);
        let mut plain = server.plain();
        USERS.iter().for_each(|line| assert_eq!(plain.ask(line).text(), "OK"));
        let mut told = Vec::new();
        for password in ["", "secret"] {
            set(&mut plain, &["requirepass", password]);
            plain.cmd(&["AUTH", "default", password]);
            for field in ["off", "CN", "uri"] {
                assert_eq!(set(&mut plain, &["tls-auth-clients-user", field]), "OK");
                for (at, identity) in clients.iter().map(Some).chain([None]).enumerate() {
                    let mut client =
                        connect(server.port(), &config(&authority, identity, rustls::ALL_VERSIONS)).unwrap();
                    let who = client.ask("ACL WHOAMI").to_string();
                    let may = client.ask("GET k").to_string();
                    let again = client.ask("AUTH alice x").to_string();
                    told.push(format!(
                        "{password} {field} {at}: {who} {may} {again} {}",
                        client.ask("ACL WHOAMI")
                    ));
                }
            }
        }
        told.push(info(&mut plain, "stats", "acl_access_denied_tls_cert"));
        told.push(format!("{:?}", plain.ask("ACL LOG").items().iter().map(masked).collect::<Vec<_>>()));
        told
    });
    for (ours, theirs) in told[0].iter().zip(&told[1]) {
        assert_eq!(ours, theirs, "larder, valkey");
    }
    assert!(told[0].iter().any(|line| line.contains("CN 0: \"alice\"")), "{:?}", told[0]);
}

/// The user is that of the certificate for those who look on, and rights that change reach the connection.
#[test]
fn users_of_certificates_are_users() {
    let authority = Authority::new("authority");
    let larder = TlsServer::larder(
        &authority,
        &authority.issue("server"),
        &["--tls-auth-clients-user", "CN", "--user", "alice", "on", "~*", "+@all", "nopass"],
    );
    let mut plain = larder.plain();
    let mut client =
        connect(larder.port(), &config(&authority, Some(&authority.issue("alice")), rustls::ALL_VERSIONS))
            .unwrap();
    let id = client.ask("CLIENT ID").int();
    assert!(plain.ask(&format!("CLIENT LIST ID {id}")).text().contains(" user=alice "));
    plain.ask("ACL SETUSER alice -get");
    assert!(client.ask("GET k").text().starts_with("NOPERM"));
    plain.ask("ACL DELUSER alice");
    client.send_raw(b"PING\r\n").ok();
    assert!(client.read().is_err(), "the connection ends with its user");
}
