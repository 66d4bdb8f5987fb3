//! A command that takes long holds up those who want its keys, and no others: who waits for a shard is put aside, and the other
//! connections of its thread are served meanwhile. Each command that was put aside is executed once, in its place.

use larder_testkit::{Client, Server, Value, wait_until};

/// A server whose one thread runs a script on the key `kept` until that is killed, and connections of the other thread. The script does not
/// count as busy as long as a test lasts, so nobody is told of it.
struct Kept {
    _server: Server,
    script: Client,
    served: Vec<Client>,
}

impl Kept {
    fn start(connections: usize) -> Kept {
        let server = Server::larder(&["--threads", "2", "--busy-reply-threshold", "600000"]);
        let mut script = server.client();
        script.ask("SET kept 0");
        let mut asked: Vec<Client> = (0..2 * connections + 2).map(|_| server.client()).collect();
        script.send(&["EVAL", "while true do end", "1", "kept"]);
        let ask = |client: &mut Client| client.send(&["FUNCTION", "STATS"]);
        asked.iter_mut().for_each(ask);
        let mut served = Vec::new();
        wait_until("the script runs, and the other thread answers", || {
            for mut client in std::mem::take(&mut asked) {
                if !client.has_reply() {
                    asked.push(client);
                } else if !read(&mut client).items()[1].items().is_empty() {
                    served.push(client);
                } else {
                    ask(&mut client);
                    asked.push(client);
                }
            }
            served.len() >= connections
        });
        Kept { _server: server, script, served }
    }

    fn end(&mut self, killer: &mut Client) {
        assert_eq!(killer.ask("SCRIPT KILL").text(), "OK");
        let end = self.script.read().expect("the script is answered");
        assert!(end.text().contains("Script killed by user"), "{end}");
    }
}

fn read(client: &mut Client) -> Value {
    client.read().expect("it is answered")
}

#[test]
fn who_waits_for_a_key_holds_up_nobody_else() {
    let mut kept = Kept::start(8);
    let [free, one, several, queued, silent, sorts, evaluates, takes_all] =
        &mut kept.served.drain(..8).collect::<Vec<_>>()[..]
    else {
        panic!("there are eight");
    };
    let asks = [
        (&mut *one, "INCR kept|INCR own"),
        (several, "EXISTS kept none|INCR several"),
        (queued, "MULTI|INCR queued|INCR kept|EXEC"),
        (silent, "CLIENT REPLY SKIP|INCR kept|PING"),
        (sorts, "SORT list BY w_* GET kept"),
        (evaluates, "EVAL return{redis.call('incr',KEYS[1])} 1 evaluated"),
        (takes_all, "SWAPDB 7 8"),
    ];
    let waiting: Vec<&mut Client> = asks
        .into_iter()
        .map(|(client, lines)| {
            lines.split('|').for_each(|line| client.send(&line.split(' ').collect::<Vec<_>>()));
            for _ in 0..20 {
                assert_eq!(free.ask("PING").text(), "PONG", "beside {lines}");
            }
            client
        })
        .collect();
    let [one, several, queued, silent, sorts, evaluates, takes_all] = waiting.try_into().ok().expect("seven");
    // What comes before is answered.
    assert_eq!(read(queued).text(), "OK");
    assert_eq!(read(queued).text(), "QUEUED");
    assert_eq!(read(queued).text(), "QUEUED");
    for client in [&mut *one, several, queued, silent, sorts, evaluates, takes_all] {
        assert!(!client.has_reply());
    }
    kept.end(free);
    assert!((1..=3).contains(&read(one).int()));
    assert_eq!(read(one).int(), 1);
    assert_eq!(read(several).int(), 1);
    assert_eq!(read(several).int(), 1);
    let replies = read(queued);
    assert_eq!(replies.items()[0].int(), 1);
    assert!((1..=3).contains(&replies.items()[1].int()));
    assert_eq!(read(silent).text(), "PONG", "the command before it was silenced, and only that");
    assert!(read(sorts).items().is_empty());
    assert_eq!(read(evaluates).items()[0].int(), 1);
    assert_eq!(read(takes_all).text(), "OK");
    assert_eq!(free.ask("GET kept").text(), "3");
}

#[test]
fn each_command_that_was_put_aside_is_executed_once() {
    let mut kept = Kept::start(31);
    let mut clients: Vec<Client> = kept.served.drain(..31).collect();
    let mut free = clients.pop().expect("there are 31");
    for client in &mut clients {
        client.send_all(&[&["INCR", "kept"], &["INCR", "kept"], &["PING", "end"]]);
    }
    assert_eq!(free.ask("PING").text(), "PONG");
    kept.end(&mut free);
    for client in &mut clients {
        let (first, second) = (read(client).int(), read(client).int());
        assert!(first < second);
        assert_eq!(read(client).text(), "end");
    }
    assert_eq!(free.ask("GET kept").text(), "60");
}

/// A large reply goes out in turns. What is left of it when its client's next command is a script that takes long, beside which others are
/// served, goes out afterwards.
#[test]
fn the_rest_of_a_large_reply_is_sent_after_a_script() {
    let server = Server::larder(&["--threads", "1", "--busy-reply-threshold", "1"]);
    let mut client = server.client();
    let value = "v".repeat(400_000);
    assert_eq!(client.cmd(&["SET", "key", &value]).text(), "OK");
    for round in 0..5 {
        // Another script each time: one that is known to take long is executed elsewhere.
        let script = format!("local n = {round} for i = 1, 5000000 do n = n + 1 end return n");
        client.send_all(&[&["GET", "key"][..], &["EVAL", &script, "0"], &["GET", "key"]]);
        assert!(read(&mut client).text() == value);
        assert_eq!(read(&mut client).int(), 5_000_000 + round);
        assert!(read(&mut client).text() == value);
    }
}
