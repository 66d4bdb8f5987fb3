//! Servers that are loaded, and read, by TLS. Certificates are made when the tests run.

use crate::support::{DEBUG, complete, digests, fill, options_for, target};
use fastrand::Rng;
use larder_load::load::load;
use larder_load::options::{Options, Report, Source};
use larder_load::security::Security;
use larder_load::target::Target;
use larder_testkit::tls::{Authority, COMMON, Identity, server_options};
use larder_testkit::{Kind, Port, Server, seed, wait_until};
use std::fs;
use std::path::Path;

/// A server that speaks TLS on the port as well; clients must show a certificate.
fn secure(kind: Kind, authority: &Authority, identity: &Identity, args: &[&str]) -> (Server, Port) {
    let port = Port::reserve();
    let options = server_options(&port, authority, identity, "yes");
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    (Server::of(kind, &[DEBUG, &options, args].concat()), port)
}

fn by_tls(port: &Port, security: &Security) -> Target {
    Target { security: security.clone(), ..target(port.number()) }
}

fn copied(from: Target, to: Target) -> Report {
    let source = Source::Server(from, None);
    load(&Options { input: None, target: to, ..options_for(Path::new("/tmp/none"), source, 0) }).unwrap()
}

#[test]
fn keys_come_and_go_by_tls() {
    let authority = Authority::new("authority");
    let [identity, client] = ["server", "client"].map(|name| authority.issue(name));
    let path = authority.certificate();
    let shown = (Path::new(&client.certificate), Path::new(&client.key));
    let security = Security::of(Path::new(&path), Some(shown), "").unwrap();
    // The redis-server of the tests speaks no TLS.
    for kind in [Kind::Larder, Kind::Valkey, Kind::Redis8] {
        let (server, port) = secure(kind, &authority, &identity, &[]);
        let mut asked = server.client();
        fill(&mut asked, &mut Rng::with_seed(seed(41)));
        asked.cmd(&["SET", "large", &"large".repeat(200_000)]);
        let (other, other_port) = secure(Kind::Larder, &authority, &identity, &[]);
        let report = copied(by_tls(&port, &security), by_tls(&other_port, &security));
        complete(&report);
        let expected = digests(&mut asked, 0);
        assert_eq!(digests(&mut other.client(), 0), expected, "{} into Larder", kind.name());
        asked.ask("FLUSHALL");
        complete(&copied(by_tls(&other_port, &security), by_tls(&port, &security)));
        assert_eq!(digests(&mut asked, 0), expected, "Larder into {}", kind.name());
    }
}

#[test]
fn a_cluster_is_loaded_by_tls() {
    let authority = Authority::new("authority");
    let identity = authority.issue("server");
    let bus = Port::reserve();
    let args = ["--cluster-enabled", "yes", "--cluster-port", &bus.number().to_string()];
    let (server, port) = secure(Kind::Larder, &authority, &identity, &args);
    let mut client = server.client();
    client.ask("CLUSTER ADDSLOTSRANGE 0 16383");
    wait_until("the node serves all slots", || {
        client.ask("CLUSTER INFO").text().contains("cluster_state:ok")
    });
    let path = authority.certificate();
    let shown = (Path::new(&identity.certificate), Path::new(&identity.key));
    let security = Security::of(Path::new(&path), Some(shown), "").unwrap();
    let commands = Path::new(&authority.path("commands")).to_owned();
    fs::write(&commands, (0..500).map(|n| format!("SET key:{n} {n}\r\n")).collect::<String>()).unwrap();
    let options = Options { target: by_tls(&port, &security), ..options_for(&commands, Source::Resp, 0) };
    let report = load(&options).unwrap();
    complete(&report);
    assert_eq!((report.keys, client.ask("DBSIZE").int()), (500, 500));
}

#[test]
fn who_is_not_trusted_and_what_is_no_tls() {
    let [ours, theirs] = ["ours", "theirs"].map(Authority::new);
    let elsewhere = "basicConstraints=CA:FALSE\nsubjectAltName=DNS:elsewhere.example";
    let of_another = theirs.issue("server");
    let with_another_name = ours.issue_with("named", Some(elsewhere), "20");
    let [ours_path, theirs_path] = [ours.certificate(), theirs.certificate()];
    let trusting = |path: &str| Security::of(Path::new(path), None, "").unwrap();
    let failure = |port: u16, security: &Security| {
        let target = Target { security: security.clone(), ..target(port) };
        target.facts().expect_err("it is not trusted").to_string()
    };
    for (identity, text) in [(&of_another, "UnknownIssuer"), (&with_another_name, "not valid for name")] {
        let (_server, port) = secure(Kind::Larder, &ours, identity, &[]);
        let failure = failure(port.number(), &trusting(&ours_path));
        assert!(failure.contains(text), "{failure}");
    }
    let (server, port) = secure(Kind::Larder, &ours, &ours.issue("server"), &[]);
    // Who must show a certificate and has none; and who speaks TLS where nobody else does, or the reverse.
    let without = failure(port.number(), &trusting(&ours_path));
    assert!(without.contains(&format!("127.0.0.1:{}", port.number())), "{without}");
    failure(port.number(), &Security::default());
    let plain = failure(server.port(), &trusting(&ours_path));
    assert!(plain.contains(&format!("127.0.0.1:{}", server.port())), "{plain}");
    // Files that are not what they should be are named.
    let missing = ours.path("missing");
    let error = |path: &str, shown| Security::of(Path::new(path), shown, "").unwrap_err().to_string();
    assert!(error(&missing, None).starts_with(&missing));
    assert!(error(&of_another.key, None).starts_with(&of_another.key));
    let shown = (Path::new(&theirs_path), Path::new(&theirs_path));
    let wrong = error(&ours_path, Some(shown));
    assert!(wrong.starts_with(&theirs_path), "{wrong}");
}

/// A certificate in the file of authorities is trusted itself. Only an authority vouches for others.
#[test]
fn trusted_certificates_that_issue_others() {
    let ours = Authority::new("ours");
    let app = ours.issue("app");
    let pinned = ours.self_signed_with("pinned", &["-addext", "subjectAltName=IP:127.0.0.1"]);
    let elsewhere = ours.self_signed_with("elsewhere", &["-addext", "subjectAltName=IP:127.0.0.2"]);
    let trusted = ours.bundle("trusted.pem", &["app", "pinned", "elsewhere", "ca"]);
    let shown = (Path::new(&app.certificate), Path::new(&app.key));
    let security = Security::of(Path::new(&trusted), Some(shown), "").unwrap();
    let forged = ours.issue_by("app", "forged", Some(COMMON));
    let cases = [(&app, ""), (&pinned, ""), (&elsewhere, "not valid for name"), (&forged, "UnknownIssuer")];
    for (identity, fault) in cases {
        let (_server, port) = secure(Kind::Larder, &ours, identity, &[]);
        let target = by_tls(&port, &security);
        let said = target.facts().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains(fault) && said.is_empty() == fault.is_empty(), "{fault}: {said}");
    }
}
