//! Clients that wait: how they are served, what their replies show, and what becomes of them when they are closed.

mod closing;
mod effects;
mod forbidden;
mod half_closed;
mod hammered;
mod log_order;
mod rights;
mod silence;
mod told;
mod transactions;

use larder_testkit::{Client, Server, Value, wait_until, words};

/// A client that waits in a command.
struct Waiting {
    client: Client,
    id: i64,
}

/// Has a client wait in a command. Returns when the server shows that it does.
fn wait_in(server: &Server, admin: &mut Client, before: &[&str], command: &str) -> Waiting {
    let mut client = server.client();
    for line in before {
        let reply = client.ask(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
    let id = client.ask("CLIENT ID").int();
    client.send(&words(command));
    wait_until(&format!("the client waits in {command}"), || is_blocked(admin, id));
    Waiting { client, id }
}

/// Whether a client is shown as one that waits.
fn is_blocked(admin: &mut Client, id: i64) -> bool {
    let list = admin.ask(&format!("CLIENT LIST ID {id}")).text();
    list.split(' ').any(|word| word.strip_prefix("flags=").is_some_and(|flags| flags.contains('b')))
}

/// The replies to commands that are sent in one piece.
fn pipeline(client: &mut Client, lines: &[&str]) -> Vec<Value> {
    let commands: Vec<Vec<Vec<u8>>> = lines.iter().map(|line| words(line)).collect();
    let commands: Vec<&[Vec<u8>]> = commands.iter().map(Vec::as_slice).collect();
    client.send_all(&commands);
    lines.iter().map(|line| client.read().unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}
