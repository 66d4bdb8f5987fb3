//! MIGRATE, which talks TLS with `tls-cluster`, as on Valkey.

use super::{TlsServer, set};
use larder_testkit::Kind;
use larder_testkit::tls::Authority;

#[test]
fn keys_move_over_tls() {
    let authority = Authority::new("authority");
    let identity = authority.issue("server");
    let args = ["--tls-cluster", "yes"];
    let servers = [Kind::Larder, Kind::Valkey, Kind::Larder, Kind::Redis].map(|kind| {
        TlsServer::start(kind, &authority, &identity, if kind == Kind::Larder { &args } else { &[] })
    });
    let [larder, valkey, other, redis] = &servers;
    let mut client = larder.plain();
    let large = "x".repeat(3_000_000);
    for target in [valkey, other, redis] {
        let port = target.port().to_string();
        for round in 0..3 {
            client.cmd(&["SET", "large", &large]);
            client.ask("RPUSH list a b c");
            let keys = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "REPLACE", "KEYS", "large", "list"];
            assert_eq!(client.cmd(&keys).text(), "OK", "{round}");
            assert_eq!(client.ask("DBSIZE").int(), 0);
        }
        let mut moved = target.plain();
        assert_eq!((moved.ask("STRLEN large").int(), moved.ask("LLEN list").int()), (3_000_000, 3));
    }
    // Back from Valkey, whose option has to be set as well.
    let port = larder.port().to_string();
    let mut theirs = valkey.plain();
    assert_eq!(set(&mut theirs, &["tls-cluster", "yes"]), "OK");
    let back = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS", "large", "list"];
    assert_eq!(theirs.cmd(&back).text(), "OK");
    assert_eq!(client.ask("STRLEN large").int(), 3_000_000);
    // Plain text to a port for TLS, and the reverse, fail and keep the key.
    assert_eq!(set(&mut client, &["tls-cluster", "no"]), "OK");
    let port = other.port().to_string();
    assert!(client.cmd(&["MIGRATE", "127.0.0.1", &port, "list", "0", "500"]).text().starts_with("IOERR"));
    assert_eq!(set(&mut client, &["tls-cluster", "yes"]), "OK");
    let port = other.server.port().to_string();
    assert!(client.cmd(&["MIGRATE", "127.0.0.1", &port, "list", "0", "500"]).text().starts_with("IOERR"));
    assert_eq!(client.ask("LLEN list").int(), 3);
}
