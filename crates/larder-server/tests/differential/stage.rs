//! Scripts with several connections: what each of them receives after each line, unasked messages included, must be the
//! same from both servers.

use super::{ORACLE, words};
use larder_testkit::{Client, Kind, Server, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The text that tells that all there was has been read.
const END: &str = "end-of-step";

/// One server and the connections of a script to it.
struct Side {
    server: Server,
    clients: BTreeMap<String, Actor>,
}

/// A connection; one in a transaction, in a blocking command or closed by the server cannot be asked for the end.
struct Actor {
    client: Client,
    in_multi: bool,
    waits: bool,
    closed: bool,
    id: String,
}

impl Side {
    fn actor(&mut self, name: &str) -> &mut Actor {
        let Side { server, clients } = self;
        clients.entry(name.to_owned()).or_insert_with(|| {
            let mut client = server.client();
            if name.ends_with('3') {
                client.ask("HELLO 3");
            }
            let id = client.ask("CLIENT ID").int().to_string();
            Actor { client, in_multi: false, waits: false, closed: false, id }
        })
    }

    /// Sends a command, and returns what every connection gets by then.
    fn step(&mut self, name: &str, args: &[Vec<u8>], waits: bool) -> BTreeMap<String, Vec<Value>> {
        let id_of = |arg: &Vec<u8>| {
            let name = arg.strip_prefix(b"@").and_then(|name| std::str::from_utf8(name).ok());
            name.map_or(arg.clone(), |name| self.actor(name).id.clone().into_bytes())
        };
        let args: Vec<_> = args.iter().map(id_of).collect();
        let actor = self.actor(name);
        actor.client.send(&args);
        actor.waits = waits;
        let mut first = Vec::new();
        match args[0].to_ascii_uppercase().as_slice() {
            b"MULTI" => actor.in_multi = true,
            b"EXEC" | b"DISCARD" | b"RESET" => actor.in_multi = false,
            _ => {}
        }
        if !waits {
            first.push(actor.client.read().expect("a command is answered"));
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
        if self.in_multi || self.waits || self.closed {
            return got;
        }
        self.client.send(&["PING", END]);
        loop {
            let Ok(value) = self.client.read() else {
                self.closed = true;
                got.push(Value::Simple("closed".to_owned()));
                return got;
            };
            if value.text() == END || value.items().len() == 2 && value.items()[1].text() == END {
                return got;
            }
            got.push(value);
        }
    }
}

/// Plays a script: lines `connection> command`. A connection whose name ends in 3 speaks RESP3. Before the name may stand
/// - `~`: what is received is compared without regard to its order;
/// - `!`: the command waits, and nothing more is asked of the connection until its next line;
/// - `?`: the reply, which is random or the server's own, is not compared.
///
/// An argument `@name` stands for the id of that connection.
pub fn play(script: &str, args: &[&str]) {
    play_with(ORACLE, script, args);
}

/// The same with a peer of this kind.
pub fn play_with(kind: Kind, script: &str, args: &[&str]) {
    let mut sides = [Server::larder(&[&["--threads", "1"], args].concat()), Server::of(kind, args)]
        .map(|server| Side { server, clients: BTreeMap::new() });
    align(&sides);
    let mut differences = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mark = line.chars().next().filter(|mark| "~!?".contains(*mark));
        let (name, command) = line[mark.map_or(0, char::len_utf8)..].split_once("> ").expect("a name");
        let args = words(command);
        let [ours, theirs] = sides.each_mut().map(|side| {
            let mut got = side.step(name, &args, mark == Some('!'));
            if mark == Some('?') {
                got.remove(name);
            }
            texts(got, mark == Some('~'))
        });
        if ours != theirs {
            let _ = writeln!(differences, "{line}\n  larder: {ours:?}\n  peer:   {theirs:?}");
        }
    }
    kind.judge(&mut sides[1].server.client(), &differences);
}

/// Connects until both servers give the next connection the same id, so that replies with ids can be compared.
fn align(sides: &[Side; 2]) {
    let id = |side: &Side| side.server.client().ask("CLIENT ID").int();
    let (mut ours, mut theirs) = (id(&sides[0]), id(&sides[1]));
    while ours != theirs {
        if ours < theirs {
            ours = id(&sides[0]);
        } else {
            theirs = id(&sides[1]);
        }
    }
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
