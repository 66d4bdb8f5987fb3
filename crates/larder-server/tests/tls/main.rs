//! TLS: clients, certificates, links between servers, and what goes wrong. Certificates are made when the tests run.

mod certificates;
mod ciphers;
mod document;
mod hostile;
mod migrate;
mod reload;
mod replication;
mod sentinel;
mod traffic;
mod trust;
mod users;

use larder_testkit::tls::{Authority, Identity};
use larder_testkit::{Client, Kind, Port, Server, failed_start, peer_path, temp_dir, tls, wait_until};
use std::process::{Command, Output, Stdio};

/// A server with a plain port, which is for asking questions, and one for TLS.
struct TlsServer {
    server: Server,
    tls: Port,
}

impl TlsServer {
    /// Starts a server with a certificate of an authority, which is also the one that it trusts.
    fn start(kind: Kind, authority: &Authority, identity: &Identity, args: &[&str]) -> TlsServer {
        let tls = Port::reserve();
        let (port, ca) = (tls.number().to_string(), authority.certificate());
        let own = [
            ["--tls-port", &port],
            ["--tls-cert-file", &identity.certificate],
            ["--tls-key-file", &identity.key],
            ["--tls-ca-cert-file", &ca],
        ];
        let server = Server::of(kind, &[own.as_flattened(), args].concat());
        TlsServer { server, tls }
    }

    fn larder(authority: &Authority, identity: &Identity, args: &[&str]) -> TlsServer {
        TlsServer::start(Kind::Larder, authority, identity, &[&["--threads", "2"], args].concat())
    }

    fn port(&self) -> u16 {
        self.tls.number()
    }

    /// A client that does not need TLS.
    fn plain(&self) -> Client {
        self.server.client()
    }
}

/// What `CONFIG SET` answers.
fn set(client: &mut Client, pairs: &[&str]) -> String {
    client.cmd(&[&["CONFIG", "SET"], pairs].concat()).text()
}

/// A field of INFO.
fn info(client: &mut Client, section: &str, name: &str) -> String {
    let text = client.ask(&format!("INFO {section}")).text();
    let field = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
    field.unwrap_or_default()
}

/// Runs redis-cli, or valkey-cli.
fn cli(program: &str, args: &[&str]) -> String {
    let program = if program == "redis-cli" { program.into() } else { peer_path(program) };
    let Output { stdout, stderr, .. } =
        Command::new(program).args(args).stdin(Stdio::null()).output().expect("there is such a program");
    String::from_utf8_lossy(&[stdout, stderr].concat()).trim().to_owned()
}

#[test]
fn command_line_clients_of_others() {
    let authority = Authority::new("authority");
    let (server, client) = (authority.issue("server"), authority.issue("client"));
    let larder = TlsServer::larder(&authority, &server, &[]);
    let port = larder.port().to_string();
    let ca = authority.certificate();
    for program in ["redis-cli", "valkey-cli"] {
        let own =
            ["-p", &port, "--tls", "--cacert", &ca, "--cert", &client.certificate, "--key", &client.key];
        let ask = |args: &[&str]| cli(program, &[&own, args].concat());
        assert_eq!(ask(&["SET", "k", program]), "OK");
        assert_eq!(ask(&["--sni", "larder.example", "GET", "k"]), program);
        assert_eq!(ask(&["--tls-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256", "GET", "k"]), program);
        assert_eq!(cli(program, &["-p", &larder.server.port().to_string(), "GET", "k"]), program);
    }
}

/// What INFO, the log and the title of the process say of the ports.
#[test]
fn where_it_listens() {
    let authority = Authority::new("authority");
    let identity = authority.issue("server");
    let mut told = Vec::new();
    for kind in [Kind::Larder, Kind::Valkey] {
        let server = TlsServer::start(kind, &authority, &identity, &["--unixsocket", "s"]);
        let log = server.server.wait_for_log("Ready to accept connections tls");
        let ready: Vec<String> = log
            .lines()
            .filter_map(|line| line.split_once("Ready to accept "))
            .map(|(_, rest)| rest.to_owned())
            .collect();
        let mut client = server.plain();
        let text = client.ask("INFO server").text();
        let lines = text.lines().filter(|line| line.starts_with("listener") || line.starts_with("tcp_port"));
        let ports = [(server.server.port(), "PLAIN"), (server.port(), "TLS")];
        let shown = |line: &str| {
            ports.iter().fold(line.to_owned(), |line, (port, name)| line.replace(&port.to_string(), name))
        };
        let lines: Vec<String> = lines.map(shown).collect();
        // Ports close and open while the server runs.
        let new = Port::reserve();
        let config = tls::config(&authority, Some(&identity), rustls::ALL_VERSIONS);
        assert!(tls::connect(server.port(), &config).is_ok());
        assert_eq!(set(&mut client, &["tls-port", &new.number().to_string()]), "OK");
        assert!(tls::connect(server.port(), &config).is_err());
        assert_eq!(tls::connect(new.number(), &config).unwrap().ask("PING").text(), "PONG");
        assert_eq!(set(&mut client, &["port", "0"]), "OK");
        let mut client = tls::connect(new.number(), &config).unwrap();
        assert_eq!(info(&mut client, "server", "tcp_port"), new.number().to_string());
        assert_eq!(set(&mut client, &["bind", "127.0.0.1 -::1"]), "OK");
        assert_eq!(tls::connect(new.number(), &config).unwrap().ask("PING").text(), "PONG");
        let taken = Port::reserve();
        let _other = std::net::TcpListener::bind(("127.0.0.1", taken.number())).unwrap();
        let failed = set(&mut client, &["tls-port", &taken.number().to_string()]);
        let after = client.ask("CONFIG GET tls-port").items()[1].text() == new.number().to_string();
        // The plain port is wanted again by whoever ends the server.
        assert_eq!(set(&mut client, &["port", &server.server.port().to_string()]), "OK");
        told.push((ready, lines, failed, after));
    }
    assert_eq!(told[0], told[1]);
}

/// A port for TLS that opens while the server runs, and starts that fail.
#[test]
fn what_is_missing() {
    let authority = Authority::new("authority");
    let identity = authority.issue("server");
    let ca = authority.certificate();
    let port = Port::reserve().number().to_string();
    let all = [
        ["tls-cert-file", &identity.certificate],
        ["tls-key-file", &identity.key],
        ["tls-ca-cert-file", &ca],
    ];
    let steps: [(&[&str], &str); 6] = [
        (&["tls-port", &port], "No tls-cert-file configured!"),
        (&["tls-port", &port, all[0][0], all[0][1]], "No tls-key-file configured!"),
        (
            &["tls-replication", "yes", all[0][0], all[0][1], all[1][0], all[1][1]],
            "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, tls-replication or \
             tls-auth-clients are enabled!",
        ),
        (&[all[0][0], "/nope"], ""),
        (&[all[0][0], all[0][1], all[1][0], all[1][1], all[2][0], all[2][1]], ""),
        (&["tls-port", &port], ""),
    ];
    let answers = [Kind::Larder, Kind::Valkey].map(|kind| {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        let answers = steps.map(|(pairs, reason)| {
            if !reason.is_empty() {
                let answer = set(&mut client, pairs);
                server.wait_for_log(reason);
                return answer;
            }
            set(&mut client, pairs)
        });
        let config = tls::config(&authority, Some(&identity), rustls::ALL_VERSIONS);
        assert_eq!(tls::connect(port.parse().unwrap(), &config).unwrap().ask("PING").text(), "PONG");
        answers
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0][4..], ["OK", "OK"]);
    let dir = temp_dir();
    let (code, out, err) = failed_start(&dir, &["--port", "0", "--tls-port", &port]);
    let text = out + &err;
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("No tls-cert-file configured!"), "{text}");
    assert!(text.contains("Failed to configure TLS. Check logs for more info."), "{text}");
    std::fs::remove_dir_all(dir).unwrap();
}

/// Those who are too many find the connection closed.
#[test]
fn refusals() {
    let authority = Authority::new("authority");
    let identity = authority.issue("server");
    let config = tls::config(&authority, Some(&identity), rustls::ALL_VERSIONS);
    let larder = TlsServer::larder(&authority, &identity, &[]);
    let mut plain = larder.plain();
    assert_eq!(set(&mut plain, &["maxclients", "2"]), "OK");
    let kept = tls::connect(larder.port(), &config).unwrap();
    assert!(tls::connect(larder.port(), &config).is_err());
    wait_until("it is counted", || info(&mut plain, "stats", "rejected_connections") == "1");
    drop(kept);
    // From outside.
    let outer = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    outer.connect("192.0.2.1:9").expect("the machine has a network");
    let outer = outer.local_addr().unwrap().ip().to_string();
    let port = larder.port().to_string();
    let ca = authority.certificate();
    wait_until("the connection is gone", || info(&mut plain, "clients", "connected_clients") == "1");
    assert_eq!(tls::connect(larder.port(), &config).unwrap().ask("PING").text(), "PONG");
    let tls = ["--tls", "--cacert", &ca, "--cert", &identity.certificate, "--key", &identity.key];
    let refused = cli("redis-cli", &[&["-h", &outer, "-p", &port], &tls[..], &["PING"]].concat());
    assert!(refused.starts_with("DENIED ") || refused.contains("Server closed the connection"), "{refused}");
    wait_until("it is counted", || info(&mut plain, "stats", "rejected_connections") == "2");
}
