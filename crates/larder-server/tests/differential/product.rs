//! The name of the product in replies and errors, which `extended-redis-compatibility` selects.

use larder_testkit::{Client, Kind, Server, wait_until};

/// What a server says of itself while a snapshot cannot be written, a script runs for too long, and data is loaded.
fn names(kind: Kind) -> Vec<String> {
    let server =
        Server::of(kind, &["--busy-reply-threshold", "1", "--loading-process-events-interval-bytes", "1024"]);
    let (mut client, mut other) = (server.client(), server.client());
    let mut said = Vec::new();
    for product in ["yes", "no"] {
        client.ask(&format!("CONFIG SET extended-redis-compatibility {product}"));
        let info = client.ask("INFO server").text();
        let names = ["server_name:", "server_mode:", "redis_mode:"];
        let is_shown = |line: &&str| names.iter().any(|name| line.starts_with(name));
        said.extend(info.lines().filter(is_shown).map(str::to_owned));
        said.push(client.ask("HELLO").items()[..4].iter().map(|item| format!("{item} ")).collect());
        said.extend(without_snapshots(&server, &mut client));
        said.extend(beside_a_script(&mut client, &mut other));
        said.push(while_loading(&mut client, &mut other));
    }
    said
}

fn without_snapshots(server: &Server, client: &mut Client) -> Vec<String> {
    let _ = std::fs::remove_file(server.dir().join("dump.rdb"));
    std::fs::create_dir_all(server.dir().join("dump.rdb/in-the-way")).expect("the folder is writable");
    client.cmd(&["CONFIG", "SET", "save", "3600 1"]);
    client.ask("BGSAVE");
    wait_until("the snapshot fails", || {
        client.ask("INFO persistence").text().contains("rdb_last_bgsave_status:err")
    });
    let said = ["SET k v", "PING"].map(|line| client.ask(line).to_string()).to_vec();
    std::fs::remove_dir_all(server.dir().join("dump.rdb")).expect("the folder is writable");
    assert_eq!(client.ask("SAVE").text(), "OK");
    client.cmd(&["CONFIG", "SET", "save", ""]);
    said
}

fn beside_a_script(client: &mut Client, other: &mut Client) -> Vec<String> {
    let library = "#!lua name=l\nredis.register_function{function_name='f', callback=function() while true do end end, flags={'no-writes'}}";
    client.cmd(&["FUNCTION", "LOAD", "REPLACE", library]);
    let mut said = Vec::new();
    for (command, wrong, kill) in [
        (&["EVAL", "while true do end", "0"][..], "FUNCTION KILL", "SCRIPT KILL"),
        (&["FCALL", "f", "0"][..], "SCRIPT KILL", "FUNCTION KILL"),
    ] {
        other.send(command);
        wait_until("the script takes too long", || client.ask("GET k").text().starts_with("BUSY"));
        said.extend(["GET k", wrong, "FUNCTION STATS", "SHUTDOWN"].map(|line| match client.ask(line) {
            error if error.is_error() => error.to_string(),
            _ => "answered".to_owned(),
        }));
        assert_eq!(client.ask(kill).text(), "OK");
        said.push(other.read().expect("the script ends").to_string());
    }
    said
}

fn while_loading(client: &mut Client, other: &mut Client) -> String {
    client.ask("DEBUG POPULATE 200");
    client.ask("CONFIG SET key-load-delay 5000");
    other.send(&["DEBUG", "RELOAD"]);
    wait_until("data is loaded", || client.ask("INFO persistence").text().contains("\nloading:1"));
    let said = client.ask("GET k").to_string();
    client.ask("CONFIG SET key-load-delay 0");
    assert_eq!(other.read().expect("the data is loaded").text(), "OK");
    said
}

#[test]
fn errors_name_the_product_that_is_selected() {
    let [ours, theirs] = [Kind::Larder, Kind::Valkey].map(names);
    assert_eq!(ours, theirs);
    for word in [
        "Redis is busy",
        "Valkey is busy",
        "Redis is loading",
        "Valkey is loading",
        "Redis is conf",
        "Valkey is conf",
    ] {
        assert!(ours.iter().any(|said| said.contains(word)), "{word}: {ours:?}");
    }
}
