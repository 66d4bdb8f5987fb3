//! `rename-command` and the directives that are refused.

use larder_testkit::{Kind, Server};
use std::process::Command;

#[test]
fn renamed_commands_have_only_their_new_name() {
    let server =
        Server::larder(&["--rename-command", "CONFIG", "secret", "--rename-command", "FLUSHALL", ""]);
    let mut client = server.client();
    assert!(client.ask("CONFIG GET port").text().starts_with("ERR unknown command 'CONFIG'"));
    assert_eq!(client.ask("SECRET GET port").items()[1].int(), i64::from(server.port()));
    assert!(client.ask("flushall").is_error() && client.ask("FLUSHALL").is_error());
    assert_eq!(client.ask("SET k v").text(), "OK");
}

#[test]
fn modules_are_refused_rather_than_forgotten() {
    let output = Command::new(Kind::Larder.program())
        .args(["--port", "0", "--loadmodule", "some.so"])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("no support for 'loadmodule' lines"), "{text}");
}
