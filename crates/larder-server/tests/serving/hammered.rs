//! Elements that are pushed while clients that wait for them are unblocked and closed, give up, or go away: at the end each
//! element was delivered once or is still there, and the log says the same.

use crate::{is_blocked, wait_in};
use larder_testkit::{Client, Server, Value, full_run, seed, wait_until, words};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

/// Clients that wait for each kind of key.
const CONSUMERS: usize = 3;
const PUSHERS: usize = 3;
const DISTURBERS: usize = 2;

/// Keys that clients wait for, and what they hold.
struct Kind {
    /// Ways to wait, with `{t}` for a timeout in seconds and `{ms}` for one in milliseconds.
    waits: &'static [&'static str],
    /// Ways to add the element `{e}`.
    pushes: &'static [&'static str],
    /// Commands whose replies have the elements that are left.
    left: &'static [&'static str],
    /// Whether waiting clients move elements to where `left` finds them.
    moves: bool,
}

const KINDS: &[Kind] = &[
    Kind {
        waits: &["BLPOP q1 q2 {t}", "BRPOP q2 {t}", "BLMPOP {t} 2 q2 q1 LEFT COUNT 3", "BLPOP q1 {t}"],
        pushes: &[
            "RPUSH q1 {e}",
            "LPUSH q2 {e}",
            "EVAL \"return redis.call('RPUSH', KEYS[1], ARGV[1])\" 1 q1 {e}",
            "EVAL \"return redis.call('LPUSH', 'q2', ARGV[1])\" 0 {e}",
            // Its key is reserved while it runs.
            "EVAL \"for i = 1, 300000 do end return redis.call('RPUSH', KEYS[1], ARGV[1])\" 1 q1 {e}",
        ],
        left: &["LRANGE q1 0 -1", "LRANGE q2 0 -1", "LRANGE q3 0 -1"],
        moves: false,
    },
    Kind {
        waits: &["BLMOVE m1 m2 LEFT RIGHT {t}", "BLMOVE m2 m3 LEFT LEFT {t}", "BRPOPLPUSH m1 m3 {t}"],
        pushes: &["RPUSH m1 {e}", "LPUSH m1 {e}", "RPUSH m2 {e}"],
        left: &["LRANGE m1 0 -1", "LRANGE m2 0 -1", "LRANGE m3 0 -1"],
        moves: true,
    },
    Kind {
        waits: &["BZPOPMIN z1 z2 {t}", "BZPOPMAX z2 {t}", "BZMPOP {t} 2 z2 z1 MIN COUNT 2"],
        pushes: &["ZADD z1 1 {e}", "ZADD z2 2 {e}", "ZINCRBY z1 1 {e}"],
        left: &["ZRANGE z1 0 -1", "ZRANGE z2 0 -1"],
        moves: false,
    },
    Kind {
        waits: &[
            "XREADGROUP GROUP g c1 COUNT 2 BLOCK {ms} STREAMS s1 s2 > >",
            "XREADGROUP GROUP g c2 BLOCK {ms} NOACK STREAMS s2 >",
            "XREADGROUP GROUP g c3 BLOCK {ms} STREAMS s1 >",
        ],
        pushes: &["XADD s1 * f {e}", "XADD s2 * f {e}"],
        left: &["XREADGROUP GROUP g last STREAMS s1 s2 > >"],
        moves: false,
    },
];

/// Commands that take elements away from clients that wait, or bring some.
const MOVES: &[&str] = &[
    "SWAPDB 0 1",
    "RENAMENX q2 q3",
    "RENAMENX q3 q2",
    "RENAMENX m3 m1",
    "MOVE m3 1",
    "LMOVE q3 q1 LEFT LEFT",
];

/// What the threads of a run share.
struct Run<'s> {
    server: &'s Server,
    /// The ids of the clients that wait.
    ids: Vec<AtomicI64>,
    /// How often each element was delivered.
    taken: Mutex<BTreeMap<String, usize>>,
    /// How often `CLIENT UNBLOCK ... ERROR` said that a client was unblocked, less the errors that clients got.
    unblocked: AtomicI64,
    /// Clients that went away without reading.
    gone: AtomicI64,
    /// Every element, named by its number, the command that pushes it, and the kind of key.
    pushed: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

impl Run<'_> {
    /// The next push of a kind.
    fn push(&self, rng: &mut fastrand::Rng) -> String {
        let kind = rng.usize(..KINDS.len());
        let push = KINDS[kind].pushes[rng.usize(..KINDS[kind].pushes.len())];
        let mut pushed = self.pushed.lock().expect("no thread panicked");
        let element = format!("e:{}:{}:{kind}", pushed.len(), push.split(' ').next().unwrap_or_default());
        pushed.push(element);
        push.replace("{e}", &pushed[pushed.len() - 1])
    }

    /// Waits again and again, opens a connection after each that was closed, and goes away now and then.
    fn consume(&self, at: usize, mut rng: fastrand::Rng) {
        let kind = &KINDS[at / CONSUMERS];
        while !self.is_over.load(Relaxed) {
            let mut client = self.server.client();
            let Ok(Value::Int(id)) = client.try_cmd(&["CLIENT", "ID"]) else { continue };
            self.ids[at].store(id, Relaxed);
            while !self.is_over.load(Relaxed) {
                // What such a client takes stays on the server.
                let goes_away = kind.moves && rng.u8(..20) == 0;
                if self.wait(&mut client, kind, &mut rng, goes_away).is_err() || goes_away {
                    break;
                }
            }
        }
    }

    /// Waits once or twice in one piece, and notes what came.
    fn wait(
        &self,
        client: &mut Client,
        kind: &Kind,
        rng: &mut fastrand::Rng,
        goes_away: bool,
    ) -> io::Result<()> {
        let commands = 1 + usize::from(rng.bool());
        let mut request = Vec::new();
        for _ in 0..commands {
            let ms = rng.u32(1..6);
            let line = kind.waits[rng.usize(..kind.waits.len())];
            let line = line.replace("{t}", &format!("0.00{ms}")).replace("{ms}", &ms.to_string());
            larder_testkit::encode(&mut request, &words(&line));
        }
        client.send_raw(&request)?;
        if goes_away {
            self.gone.fetch_add(1, Relaxed);
            return Ok(());
        }
        for _ in 0..commands {
            let reply = client.read()?;
            if reply.text().starts_with("UNBLOCKED") {
                self.unblocked.fetch_sub(1, Relaxed);
            } else if !kind.moves {
                self.note(&reply);
            }
        }
        Ok(())
    }

    /// Notes the elements of a reply.
    fn note(&self, reply: &Value) {
        match reply {
            Value::Bulk(bytes) if bytes.starts_with(b"e:") => {
                let mut taken = self.taken.lock().expect("no thread panicked");
                *taken.entry(reply.text()).or_default() += 1;
            }
            reply => reply.items().iter().for_each(|item| self.note(item)),
        }
    }

    /// Pushes elements.
    fn produce(&self, count: usize, mut rng: fastrand::Rng) {
        let mut client = self.server.client();
        for _ in 0..count {
            let mut lines = vec![self.push(&mut rng)];
            if rng.u8(..4) == 0 {
                lines = vec!["MULTI".to_owned(), lines.remove(0), self.push(&mut rng), "EXEC".to_owned()];
            }
            for reply in replies(&mut client, &lines) {
                assert!(!reply.is_error(), "{lines:?}: {reply}");
            }
        }
    }

    /// Unblocks and closes clients, with a push before or after it, in a transaction, or in one piece.
    fn disturb(&self, mut rng: fastrand::Rng) {
        let mut client = self.server.client();
        while !self.is_over.load(Relaxed) {
            let id = self.ids[rng.usize(..self.ids.len())].load(Relaxed);
            let way = match rng.u8(..12) {
                0 => format!("CLIENT KILL ID {id}"),
                1..5 => format!("CLIENT UNBLOCK {id}"),
                _ => format!("CLIENT UNBLOCK {id} ERROR"),
            };
            let counts = way.ends_with("ERROR");
            let mut lines = vec![way];
            if rng.bool() {
                lines.insert(rng.usize(..=1), self.push(&mut rng));
            }
            if rng.u8(..4) == 0 {
                let moves = MOVES[rng.usize(..MOVES.len())];
                lines.insert(rng.usize(..=lines.len()), moves.to_owned());
            }
            let multi = rng.u8(..3) == 0;
            if multi {
                lines = [vec!["MULTI".to_owned()], lines, vec!["EXEC".to_owned()]].concat();
            }
            let answers = replies(&mut client, &lines);
            let answers = if multi { answers[answers.len() - 1].items().to_vec() } else { answers };
            let lines = if multi { &lines[1..lines.len() - 1] } else { &lines[..] };
            for (line, answer) in lines.iter().zip(answers) {
                if counts && line.starts_with("CLIENT UNBLOCK") {
                    self.unblocked.fetch_add(answer.int(), Relaxed);
                }
            }
        }
    }
}

/// The replies to commands that are sent in one piece.
fn replies(client: &mut Client, lines: &[String]) -> Vec<Value> {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    crate::pipeline(client, &lines)
}

#[test]
fn no_element_is_lost_to_clients_that_stop_waiting() {
    let mut rng = fastrand::Rng::with_seed(seed(1));
    let options = ["--appendonly", "yes", "--enable-debug-command", "yes"];
    for threads in ["1", "4"] {
        let server = Server::larder(&[&options[..], &["--threads", threads]].concat());
        let mut admin = server.client();
        for db in ["1", "0"] {
            assert_eq!(admin.cmd(&["SELECT", db]).text(), "OK");
            for key in ["s1", "s2"] {
                assert_eq!(admin.ask(&format!("XGROUP CREATE {key} g $ MKSTREAM")).text(), "OK");
            }
        }
        let run = Run {
            server: &server,
            ids: (0..KINDS.len() * CONSUMERS).map(|_| AtomicI64::new(0)).collect(),
            taken: Mutex::default(),
            unblocked: AtomicI64::new(0),
            gone: AtomicI64::new(0),
            pushed: Mutex::default(),
            is_over: AtomicBool::new(false),
        };
        let count = if full_run() { 50_000 } else { 1_500 };
        std::thread::scope(|scope| {
            let run = &run;
            for at in 0..run.ids.len() {
                let rng = rng.fork();
                scope.spawn(move || run.consume(at, rng));
            }
            for _ in 0..DISTURBERS {
                let rng = rng.fork();
                scope.spawn(move || run.disturb(rng));
            }
            let pushers: Vec<_> = (0..PUSHERS)
                .map(|_| {
                    let rng = rng.fork();
                    scope.spawn(move || run.produce(count, rng))
                })
                .collect();
            let ended: Vec<_> = pushers.into_iter().map(|pusher| pusher.join()).collect();
            run.is_over.store(true, Relaxed);
            ended.into_iter().for_each(|ended| ended.expect("a pusher finishes"));
        });
        let digest = admin.ask("DEBUG DIGEST");
        assert_eq!(admin.ask("DEBUG LOADAOF").text(), "OK");
        assert_eq!(admin.ask("DEBUG DIGEST"), digest, "the log says what is in memory");
        for db in ["0", "1"] {
            assert_eq!(admin.cmd(&["SELECT", db]).text(), "OK");
            KINDS.iter().flat_map(|kind| kind.left).for_each(|line| run.note(&admin.ask(line)));
        }
        let taken = run.taken.into_inner().expect("no thread panicked");
        let pushed = run.pushed.into_inner().expect("no thread panicked");
        let times = |element: &String| taken.get(element).copied().unwrap_or(0);
        let wrong: Vec<_> =
            pushed.iter().map(|element| (element, times(element))).filter(|(_, times)| *times != 1).collect();
        let all = pushed.len();
        assert!(wrong.is_empty(), "with {threads} threads {} of {all} came not once: {wrong:?}", wrong.len());
        let (untold, gone) = (run.unblocked.into_inner(), run.gone.into_inner());
        assert!(
            (0..=gone).contains(&untold),
            "{untold} errors of CLIENT UNBLOCK are missing, {gone} clients went away"
        );
    }
}

/// The user of waiting clients is deleted while elements arrive: all are closed, and no element is lost.
#[test]
fn clients_of_a_deleted_user_are_closed_while_elements_arrive() {
    const WAITING: usize = 100;
    const PUSHES: usize = 30;
    let server = Server::larder(&["--threads", "4"]);
    let (mut admin, mut pusher) = (server.client(), server.client());
    for (command, push, left) in [
        ("BLPOP q 0", "RPUSH q e", "LLEN q"),
        ("BZPOPMAX z 0", "ZINCRBY z 1 e", "ZCARD z"),
        ("XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "XADD s * f e", "XLEN s"),
    ] {
        for _ in 0..10 {
            for line in ["FLUSHALL", "XGROUP CREATE s g $ MKSTREAM", "ACL SETUSER u on nopass ~* &* +@all"] {
                assert_eq!(admin.ask(line).text(), "OK");
            }
            let mut waiting: Vec<Client> = (0..WAITING)
                .map(|_| {
                    let mut client = server.client();
                    assert_eq!(client.ask("AUTH u p").text(), "OK");
                    client.send(&words(command));
                    client
                })
                .collect();
            let blocked = format!("blocked_clients:{WAITING}\r\n");
            wait_until("all clients wait", || admin.ask("INFO clients").text().contains(&blocked));
            let begin = Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    begin.wait();
                    (0..PUSHES).for_each(|_| assert!(!pusher.ask(push).is_error()));
                });
                begin.wait();
                assert_eq!(admin.ask("ACL DELUSER u").int(), 1);
            });
            let mut served = 0;
            for client in &mut waiting {
                client.set_timeout(Duration::from_secs(10));
                let bytes = client.read_to_end().expect("the server closes the connection");
                served += usize::from(!bytes.is_empty());
            }
            let left = admin.ask(left).int() as usize;
            match push {
                "RPUSH q e" => assert_eq!(served + left, PUSHES, "{command}"),
                "XADD s * f e" => assert_eq!(left, PUSHES, "{command}"),
                _ => assert!(left <= 1, "{command}"),
            }
        }
    }
}

/// A client that gets no replies has taken an element, and is closed before its worker knows: the connection is closed all
/// the same.
#[test]
fn a_silent_client_that_was_served_is_closed() {
    const ELEMENTS: usize = 100_000;
    let mut rng = fastrand::Rng::with_seed(seed(1));
    let server = Server::larder(&["--threads", "4"]);
    let mut admin = server.client();
    let fill = "redis.call('RPUSH', KEYS[1], 'first')
        for i = 1, 100 do redis.call('RPUSH', KEYS[1], unpack(ARGV)) end";
    let ones = vec!["1"; ELEMENTS / 100];
    for _ in 0..40 {
        let mut silent = server.client();
        let id = silent.ask("CLIENT ID").int();
        silent.send_all(&[&["CLIENT", "REPLY", "OFF"][..], &["BLPOP", "q", "0"]]);
        wait_until("the silent client waits", || is_blocked(&mut admin, id));
        // What serves this one takes some milliseconds, in which the first one has its element.
        let mut many =
            wait_in(&server, &mut admin, &[], &format!("BLMPOP 0 1 q LEFT COUNT {ELEMENTS}")).client;
        let mut pusher = server.client();
        let delay = Duration::from_micros(rng.u64(..30_000));
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(!pusher.cmd(&[&["EVAL", fill, "1", "q"][..], &ones].concat()).is_error()));
            std::thread::sleep(delay);
            assert_eq!(admin.ask(&format!("CLIENT KILL ID {id}")).int(), 1);
        });
        silent.set_timeout(Duration::from_secs(10));
        assert!(silent.read_to_end().expect("the server closes the connection").is_empty());
        let came = many.read().expect("the other client is served").items()[1].items().len();
        let left = admin.ask("LLEN q").int() as usize;
        assert!(came == ELEMENTS && left <= 1, "{came} elements came, {left} are left");
        admin.ask("DEL q");
    }
}
