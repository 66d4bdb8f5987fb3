//! Certificates that are replaced while the server runs.

use super::TlsServer;
use super::{info, set, wait_until};
use larder_testkit::Client;
use larder_testkit::tls::Authority;
use larder_testkit::tls::{config, connect};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// A server whose certificate, key and authority are copies in the authority's folder, to be replaced.
fn start(authority: &Authority, args: &[&str]) -> TlsServer {
    let identity = authority.issue("current");
    authority.issue("next");
    TlsServer::larder(authority, &identity, &[&["--tls-auth-clients", "no"], args].concat())
}

fn replace(authority: &Authority, from: &str) {
    for end in ["crt", "key"] {
        fs::copy(authority.path(&format!("{from}.{end}")), authority.path(&format!("current.{end}")))
            .unwrap();
    }
}

fn serial(client: &mut Client) -> String {
    info(client, "tls", "tls_server_cert_serial")
}

/// Setting the same path again reads the file again, under load; connections keep what they began with.
#[test]
fn the_same_path_again() {
    let authority = Authority::new("authority");
    let larder = start(&authority, &[]);
    let config = config(&authority, None, rustls::ALL_VERSIONS);
    let mut plain = larder.plain();
    let (port, stop) = (larder.port(), AtomicBool::new(false));
    let mut old = connect(port, &config).unwrap();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut count = 0;
                    while !stop.load(Relaxed) {
                        let mut client = connect(port, &config).unwrap();
                        assert_eq!(client.ask("SET k v").text(), "OK");
                        assert_eq!(client.ask("GET k").text(), "v");
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        let first = serial(&mut plain);
        fs::copy(authority.path("current.crt"), authority.path("first.crt")).unwrap();
        fs::copy(authority.path("current.key"), authority.path("first.key")).unwrap();
        for round in 0..20 {
            replace(&authority, if round % 2 == 0 { "next" } else { "first" });
            // Both files were replaced: they are put into effect at once.
            let paths = [authority.path("current.crt"), authority.path("current.key")];
            assert_eq!(set(&mut plain, &["tls-cert-file", &paths[0], "tls-key-file", &paths[1]]), "OK");
            assert_eq!(serial(&mut plain) == first, round % 2 == 1);
            // A file that does not fit changes nothing.
            fs::write(authority.path("current.key"), "nothing").unwrap();
            assert!(
                set(&mut plain, &["tls-key-file", &paths[1]]).contains("Unable to update TLS configuration")
            );
            assert_eq!(serial(&mut plain) == first, round % 2 == 1);
            assert_eq!(old.ask("PING").text(), "PONG");
        }
        stop.store(true, Relaxed);
        assert!(workers.into_iter().all(|worker| worker.join().unwrap() > 0));
    });
}

/// With `tls-auto-reload-interval` files are looked at by themselves.
#[test]
fn by_the_clock() {
    let authority = Authority::new("authority");
    let larder = start(&authority, &["--tls-auto-reload-interval", "1"]);
    let config = config(&authority, None, rustls::ALL_VERSIONS);
    let mut plain = larder.plain();
    let first = serial(&mut plain);
    replace(&authority, "next");
    larder.server.wait_for_log("TLS materials reloaded successfully");
    assert!(larder.server.log().contains("TLS materials changed, reloading in background"));
    let second = serial(&mut plain);
    assert_ne!(first, second);
    fs::write(authority.path("current.key"), "nothing").unwrap();
    larder.server.wait_for_log("Background TLS reload failed");
    assert_eq!(serial(&mut plain), second);
    assert_eq!(connect(larder.port(), &config).unwrap().ask("PING").text(), "PONG");
    // As it was: there is nothing to be done.
    replace(&authority, "next");
    let reloads = larder.server.log().matches("reloaded successfully").count();
    wait_until("failures end", || {
        let before = larder.server.log().matches("reload failed").count();
        thread::sleep(std::time::Duration::from_millis(1500));
        larder.server.log().matches("reload failed").count() == before
    });
    assert_eq!(larder.server.log().matches("reloaded successfully").count(), reloads);
}

/// INFO tells nothing of certificates that are not in use.
#[test]
fn without_tls_there_are_no_certificates() {
    let authority = Authority::new("authority");
    let larder = start(&authority, &[]);
    let mut plain = larder.plain();
    assert_ne!(serial(&mut plain), "none");
    assert_eq!(set(&mut plain, &["tls-port", "0"]), "OK");
    assert_eq!(serial(&mut plain), "none");
    assert_eq!(info(&mut plain, "tls", "tls_server_cert_expires_in_seconds"), "0");
}
