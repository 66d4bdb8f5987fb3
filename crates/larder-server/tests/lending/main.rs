//! Scripts and transactions that run for a while lend their shards: those who want their keys wait for the end, and see all of it or nothing; those who want
//! others are answered meanwhile, wherever these lie.

mod every_command;
mod moments;
mod replicas;
mod rights;
mod scripts;

#[path = "../common/calls.rs"]
mod every_call;

use larder_testkit::{Client, Server, Value};

/// Takes several milliseconds, so the script lends its shards by then.
const SPIN: &str = "for i = 1, 20000 do redis.call('exists', 'mine:1') end ";

/// Says that it has got this far, and goes on when somebody subscribes to `go`.
const WAIT: &str =
    "redis.call('publish', 'started', '1') repeat until redis.call('pubsub', 'numsub', 'go')[2] > 0 ";

/// A script that takes no longer than the test wants.
struct Script {
    client: Client,
}

impl Script {
    /// Runs one until it waits.
    fn start(server: &Server, body: &str, keys: &[&str]) -> Script {
        Script::start_by(server.client(), server, body, keys)
    }

    /// The same by a client that there is already.
    fn start_by(mut client: Client, server: &Server, body: &str, keys: &[&str]) -> Script {
        let mut listener = server.client();
        listener.ask("SUBSCRIBE started");
        let count = keys.len().to_string();
        client.send(&[&["EVAL", body, &count], keys].concat());
        let heard = listener.read().expect("the script says that it has started");
        assert_eq!(heard.items()[1].text(), "started");
        Script { client }
    }

    /// Has it go on, and gives its reply.
    fn end(mut self, server: &Server) -> Value {
        server.client().ask("SUBSCRIBE go");
        // The script may have looked between two subscriptions: this one stays until it has ended.
        let mut go = server.client();
        go.ask("SUBSCRIBE go");
        self.client.read().expect("the script ends")
    }
}

/// The calls of the list that need nothing before them.
fn calls() -> impl Iterator<Item = &'static str> {
    every_call::lines().filter(|line| !line.contains(" | "))
}
