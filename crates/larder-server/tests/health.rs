//! `--health`, asked by a program with no shell around it, and `/healthz` of the metrics' port.

use larder_testkit::{Kind, Port, Server, temp_dir};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Asks, with variables of the environment; `Err` is what an unhealthy server's check prints.
fn ask(words: &[&str], variables: &[(&str, &str)]) -> Result<String, String> {
    let mut command = Command::new(Kind::Larder.program());
    command.arg("--health").args(words);
    for name in ["LARDERCLI_AUTH", "VALKEYCLI_AUTH", "REDISCLI_AUTH"] {
        command.env_remove(name);
    }
    let Output { status, stdout, stderr } = command.envs(variables.iter().copied()).output().unwrap();
    let [printed, error] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap().trim().to_owned());
    match status.code() {
        Some(0) if error.is_empty() => Ok(printed),
        Some(1) if printed.is_empty() => Err(error),
        code => panic!("{code:?}: {printed} {error}"),
    }
}

/// Asks the server by its port, with more words.
fn ask_at(server: &Server, words: &[&str], variables: &[(&str, &str)]) -> Result<String, String> {
    let port = server.port().to_string();
    ask(&[&["-p", &port], words].concat(), variables)
}

#[test]
fn a_server_is_alive_until_it_ends() {
    let mut server = Server::larder(&["--unixsocket", "l.sock"]);
    assert_eq!(ask_at(&server, &[], &[]), Ok("PONG".to_owned()));
    assert_eq!(ask_at(&server, &["-h", "localhost", "--ready"], &[]), Ok("PONG".to_owned()));
    let socket = server.dir().join("l.sock").display().to_string();
    assert_eq!(ask(&["-s", &socket], &[]), Ok("PONG".to_owned()));
    server.stop();
    let address = format!("larder-server --health: could not connect to 127.0.0.1:{}", server.port());
    assert_eq!(ask_at(&server, &[], &[]), Err(address));
    assert_eq!(
        ask(&["-s", &socket], &[]),
        Err(format!("larder-server --health: could not connect to {socket}"))
    );
}

#[test]
fn a_configuration_file_says_where_and_how() {
    let dir = temp_dir();
    let file = dir.join("l.conf");
    fs::write(&file, "requirepass secret\nunixsocket l.sock\n").unwrap();
    let server = Server::larder_with_file(&file);
    let path = file.display().to_string();
    assert_eq!(ask(&[&path, "-p", &server.port().to_string(), "--ready"], &[]), Ok("PONG".to_owned()));
    fs::write(&file, "port 0\ntimeout x\n").unwrap();
    let error = ask(&[&path], &[]).unwrap_err();
    assert!(error.contains("timeout x") && error.contains("line 2"), "{error}");
    assert!(ask(&["/nowhere.conf"], &[]).unwrap_err().contains("No such file"));
    fs::remove_dir_all(dir).unwrap();
}

/// Without the password the server is alive, and not known to be ready.
#[test]
fn passwords_come_from_the_environment() {
    let server = Server::larder(&[]);
    let mut client = server.client();
    client.ask("ACL SETUSER probe on >pingpass -@all +ping");
    assert_eq!(client.ask("CONFIG SET requirepass secret").text(), "OK");
    assert!(ask_at(&server, &[], &[]).unwrap().starts_with("alive: -NOAUTH"));
    assert!(ask_at(&server, &["--ready"], &[]).unwrap_err().contains("not ready: -NOAUTH"));
    for name in ["LARDERCLI_AUTH", "VALKEYCLI_AUTH", "REDISCLI_AUTH"] {
        assert_eq!(ask_at(&server, &["--ready"], &[(name, "secret\n")]), Ok("PONG".to_owned()), "{name}");
    }
    let wrong = [("VALKEYCLI_AUTH", "other")];
    assert!(ask_at(&server, &["--ready"], &wrong).unwrap_err().contains("-WRONGPASS"));
    let probe = [("VALKEYCLI_AUTH", "pingpass")];
    assert_eq!(ask_at(&server, &["--ready", "--user", "probe"], &probe), Ok("PONG".to_owned()));
    // A password that is not needed does no harm.
    assert_eq!(client.cmd(&["CONFIG", "SET", "requirepass", ""]).text(), "OK");
    assert_eq!(ask_at(&server, &["--ready"], &wrong), Ok("PONG".to_owned()));
}

#[test]
fn a_replica_without_its_primary_is_alive_and_not_ready() {
    let nowhere = Port::reserve();
    let port = nowhere.number().to_string();
    let server = Server::larder(&["--replicaof", "127.0.0.1", &port, "--replica-serve-stale-data", "no"]);
    assert!(ask_at(&server, &[], &[]).unwrap().starts_with("alive: -MASTERDOWN"));
    assert!(ask_at(&server, &["--ready"], &[]).unwrap_err().contains("not ready: -MASTERDOWN"));
}

/// A listener, and its port as an argument.
fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    (listener, port)
}

/// What listens and answers nothing, or in another protocol, is not alive.
#[test]
fn others_are_not_alive() {
    let (_silent, port) = listener();
    let error = "larder-server --health: no reply in time".to_owned();
    assert_eq!(ask(&["-p", &port, "--timeout", "0.1"], &[]), Err(error));
    for (reply, error) in [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "the server does not speak the Redis protocol"),
        ("", "no reply: "),
    ] {
        let (listener, port) = listener();
        let stranger = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            assert!(socket.read(&mut [0; 64]).unwrap() > 0);
            socket.write_all(reply.as_bytes()).unwrap();
        });
        let outcome = ask(&["-p", &port], &[]).unwrap_err();
        stranger.join().unwrap();
        assert!(outcome.contains(error), "{outcome}");
    }
    for words in [&["-p", "x"][..], &["-x"], &["--timeout", "0"]] {
        assert!(ask(words, &[]).unwrap_err().contains("see larder-server --health --help"), "{words:?}");
    }
    assert!(ask(&["--help"], &[]).unwrap().contains("LARDERCLI_AUTH"));
}

/// Certificates of the server's own file are those that the check shows and trusts.
#[test]
fn a_server_that_speaks_tls_alone() {
    let dir = temp_dir();
    let subject = [
        "-subj",
        "/CN=larder",
        "-days",
        "2",
        "-nodes",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
    ];
    let mut made = Command::new("openssl");
    made.args(["req", "-x509", "-keyout", "key.pem", "-out", "cert.pem"]).args(subject);
    assert!(made_in(&mut made, &dir), "openssl makes a certificate");
    let (file, tls, port) = (dir.join("l.conf"), Port::reserve(), Port::reserve());
    let lines = "tls-cert-file DIR/cert.pem\ntls-key-file DIR/key.pem\ntls-ca-cert-file DIR/cert.pem\n";
    let lines = lines.replace("DIR", &dir.display().to_string());
    fs::write(&file, format!("tls-port {}\nport {}\n{lines}", tls.number(), port.number())).unwrap();
    let server = Server::larder_with_file(&file);
    let path = file.display().to_string();
    assert_eq!(ask(&[&path, "-p", &tls.number().to_string()], &[]), Ok("PONG".to_owned()));
    drop(server);
    fs::remove_dir_all(dir).unwrap();
}

fn made_in(command: &mut Command, dir: &Path) -> bool {
    command.current_dir(dir).output().is_ok_and(|output| output.status.success())
}

fn healthz(port: &Port) -> Option<(String, String)> {
    let mut socket = TcpStream::connect(("127.0.0.1", port.number())).ok()?;
    socket.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: 10.0.0.1\r\nConnection: close\r\n\r\n").ok()?;
    let mut reply = String::new();
    socket.read_to_string(&mut reply).ok()?;
    let (head, body) = reply.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.to_owned(), body.to_owned()))
}

#[test]
fn the_page_for_probes_says_whether_clients_are_served() {
    let port = Port::reserve();
    let number = port.number().to_string();
    let metrics = ["--metrics-port", &number];
    let mut server = Server::larder(&metrics);
    assert_eq!(healthz(&port), Some(("200".to_owned(), "ok\n".to_owned())));
    assert_eq!(server.client().ask("DEBUG POPULATE 100").text(), "OK");
    assert_eq!(server.client().ask("SAVE").text(), "OK");
    server.kill();
    server.spawn_again(&[&metrics[..], &["--key-load-delay", "20000"]].concat());
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut seen = Vec::new();
    while seen.last().is_none_or(|(status, _)| status != "200") {
        assert!(Instant::now() < deadline, "{seen:?}");
        seen.extend(healthz(&port));
        seen.dedup();
    }
    let loading = ("503".to_owned(), "loading\n".to_owned());
    assert_eq!(seen, [loading, ("200".to_owned(), "ok\n".to_owned())]);
    // The same for the program: alive while it loads, ready afterwards.
    assert_eq!(ask_at(&server, &["--ready"], &[]), Ok("PONG".to_owned()));
    let nowhere = Port::reserve();
    let client = &mut server.client();
    assert_eq!(client.ask("CONFIG SET replica-serve-stale-data no").text(), "OK");
    assert_eq!(client.ask(&format!("REPLICAOF 127.0.0.1 {}", nowhere.number())).text(), "OK");
    assert_eq!(healthz(&port), Some(("503".to_owned(), "waiting for the primary\n".to_owned())));
    assert_eq!(client.ask("REPLICAOF NO ONE").text(), "OK");
    assert_eq!(healthz(&port), Some(("200".to_owned(), "ok\n".to_owned())));
}
