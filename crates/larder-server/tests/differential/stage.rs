//! Scripts with several connections: what each of them receives after each line, unasked messages included, must be the
//! same from both servers.

use super::words;
use larder_testkit::{Client, Server, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The text that tells that all there was has been read.
const END: &str = "end-of-step";

/// One server and the connections of a script to it.
struct Side {
    server: Server,
    clients: BTreeMap<String, Actor>,
}

/// A connection; one in a transaction cannot be asked for the end.
struct Actor {
    client: Client,
    in_multi: bool,
}

impl Side {
    fn actor(&mut self, name: &str) -> &mut Actor {
        let Side { server, clients } = self;
        clients.entry(name.to_owned()).or_insert_with(|| {
            let mut client = server.client();
            if name.ends_with('3') {
                client.ask("HELLO 3");
            }
            Actor { client, in_multi: false }
        })
    }

    /// Sends a command, and returns what every connection gets by then.
    fn step(&mut self, name: &str, args: &[Vec<u8>]) -> BTreeMap<String, Vec<Value>> {
        let actor = self.actor(name);
        actor.client.send(args);
        let mut first = Vec::new();
        match args[0].to_ascii_uppercase().as_slice() {
            b"MULTI" => actor.in_multi = true,
            b"EXEC" | b"DISCARD" | b"RESET" => actor.in_multi = false,
            _ => {}
        }
        if actor.in_multi {
            first.push(actor.client.read().expect("a queued command is answered"));
        }
        // The one that acts first: what it causes is under way when it is answered.
        let mut got = BTreeMap::from([(name.to_owned(), [first, actor.gather()].concat())]);
        for (other, actor) in &mut self.clients {
            if other != name {
                got.insert(other.clone(), actor.gather());
            }
        }
        got
    }
}

impl Actor {
    fn gather(&mut self) -> Vec<Value> {
        let mut got = Vec::new();
        if self.in_multi {
            return got;
        }
        self.client.send(&["PING", END]);
        loop {
            let value = self.client.read().expect("the server answers");
            if value.text() == END || value.items().len() == 2 && value.items()[1].text() == END {
                return got;
            }
            got.push(value);
        }
    }
}

/// Plays a script: lines `connection> command`. The name of a connection that ends in 3 speaks RESP3. A line that starts
/// with `~` has what is received compared without regard to its order.
pub fn play(script: &str, args: &[&str]) {
    let mut sides = [Server::larder(&[&["--threads", "1"], args].concat()), Server::redis(args)]
        .map(|server| Side { server, clients: BTreeMap::new() });
    let mut differences = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let sorts = line.starts_with('~');
        let (name, command) =
            line.trim_start_matches('~').split_once("> ").expect("a line names its connection");
        let args = words(command);
        let [ours, theirs] = sides.each_mut().map(|side| texts(side.step(name, &args), sorts));
        // Versions and ids differ.
        if ours != theirs && !command.starts_with("HELLO") {
            let _ = writeln!(differences, "{line}\n  larder: {ours:?}\n  redis:  {theirs:?}");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// What each connection got, as text; connections that got nothing are left out.
fn texts(got: BTreeMap<String, Vec<Value>>, sorts: bool) -> Vec<String> {
    let text = |(name, values): (String, Vec<Value>)| {
        let mut values: Vec<String> = match &values[..] {
            // The names are in no order, but the array is whole.
            [Value::Array(items)] if sorts => items.iter().map(Value::to_string).collect(),
            values => values.iter().map(Value::to_string).collect(),
        };
        if sorts {
            values.sort();
        }
        (!values.is_empty()).then(|| format!("{name}: {}", values.join(" ")))
    };
    got.into_iter().filter_map(text).collect()
}
