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
    // HELP speaks of the command by the name that it was called by, as Valkey's does.
    let valkey = Server::valkey(&["--rename-command", "CONFIG", "secret"]);
    let [ours, theirs] = [&mut client, &mut valkey.client()].map(|c| c.ask("seCret HELP").items()[0].text());
    assert_eq!(ours, theirs);
}

#[test]
fn what_cannot_be_renamed_stops_the_start() {
    let cases = [
        ("nosuch", "a", "No such command in rename-command"),
        ("GET", "set", "Target command name already exists"),
    ];
    for kind in [Kind::Larder, Kind::Valkey] {
        for (old, new, message) in cases {
            let mut command = Command::new(kind.program());
            command.args(["--port", "0", "--rename-command", old, new]);
            let output = command.output().expect("it starts");
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(!output.status.success() && text.contains(message), "{old} {new}: {text}");
        }
    }
}

/// What clients have called by new names, and what the server writes itself by names that clients have no more.
#[test]
fn the_append_only_file_is_read_again() {
    let names =
        [["SET", "PUT"], ["DEL", "D1"], ["UNLINK", ""], ["SELECT", "SEL"], ["MULTI", "M"], ["EXEC", "E"]];
    let names = names.iter().flat_map(|[old, new]| ["--rename-command", old, new]);
    let log = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    let args: Vec<&str> = log.into_iter().chain(names).collect();
    let mut server = Server::larder(&args);
    let mut client = server.client();
    for line in ["PUT a 1", "PUT b 2 PX 1", "PUT c 3 EX 1000", "D1 a", "SEL 1", "M", "PUT d 4", "INCR d", "E"]
    {
        assert!(!client.ask(line).is_error(), "{line}");
    }
    client.cmd(&["EVAL", "redis.call('PUT','e','6') redis.call('D1','d')", "0"]);
    for line in ["SEL 0", "DEBUG SLEEP 0.01", "EXISTS b"] {
        assert!(!client.ask(line).is_error(), "{line}");
    }
    for rewritten in [false, true] {
        if rewritten {
            client.ask("BGREWRITEAOF");
            server.wait_for_log("Background AOF rewrite finished successfully");
        }
        server.stop();
        assert!(
            server.start_again(&[&["--enable-debug-command", "yes"], &args[..]].concat()),
            "{}",
            server.log()
        );
        client = server.client();
        assert_eq!((client.ask("DBSIZE").int(), client.ask("GET c").text()), (1, "3".to_owned()));
        client.ask("SEL 1");
        assert_eq!((client.ask("DBSIZE").int(), client.ask("GET e").text()), (1, "6".to_owned()));
    }
}

#[test]
fn modules_are_refused_rather_than_forgotten() {
    let output = Command::new(Kind::Larder.program())
        .args(["--port", "0", "--loadmodule", "some.so"])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("remove the 'loadmodule' lines"), "{text}");
}
