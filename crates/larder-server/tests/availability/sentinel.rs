//! docs/high-availability.md: groups of three servers under three Sentinels, with the configurations of the document.

use crate::{blocks, document, info_field, replication_info, wait_until};
use larder_testkit::{Client, Kind, Server, Value, full_run, temp_dir};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const PASSWORD: &str = "secret";

/// Three servers, the first of which is the primary, and three Sentinels.
struct Group {
    servers: Vec<Server>,
    sentinels: Vec<Server>,
    dir: PathBuf,
}

impl Group {
    /// Starts a group, and waits until the Sentinels know all of it. Lines of `extra` are added to the files of the servers.
    fn start(kinds: [Kind; 3], watcher: Kind, extra: &str) -> Group {
        let files = blocks(&document("high-availability.md"), "conf");
        let [primary, replica, sentinel, users] = &files[..] else { panic!("the document has other files") };
        let dir = temp_dir();
        let mut servers = Vec::<Server>::new();
        for (at, kind) in kinds.into_iter().enumerate() {
            let file = dir.join(format!("server{at}.conf"));
            let text = if at == 0 { primary } else { replica };
            let text = servers.first().map_or_else(|| text.clone(), |first| addressed(text, first));
            std::fs::write(&file, format!("{text}{users}{extra}\nrepl-diskless-sync-delay 0\n")).unwrap();
            servers.push(Server::start(
                &[&kind.program().to_string_lossy(), &file.to_string_lossy()],
                &["--enable-debug-command", "yes"],
            ));
        }
        let text = addressed(sentinel, &servers[0]);
        let sentinels = (0..3).map(|at| {
            let file = dir.join(format!("sentinel{at}.conf"));
            std::fs::write(&file, &text).unwrap();
            let program = watcher.program();
            Server::start(&[&program.to_string_lossy(), &file.to_string_lossy()], &["--sentinel"])
        });
        let group = Group { sentinels: sentinels.collect(), servers, dir };
        group.wait_until_watched();
        group
    }

    fn wait_until_watched(&self) {
        for sentinel in &self.sentinels {
            let mut client = sentinel.client();
            wait_until("the Sentinels know all servers", || {
                let fields = client.ask("SENTINEL MASTER mymaster");
                let field = |name: &str| {
                    let at = fields.items().iter().position(|item| item.text() == name)?;
                    Some(fields.items()[at + 1].text())
                };
                field("num-slaves").as_deref() == Some("2")
                    && field("num-other-sentinels").as_deref() == Some("2")
                    && field("flags").as_deref() == Some("master")
            });
        }
    }

    fn client(&self, at: usize) -> Client {
        let mut client = self.servers[at].client();
        assert_eq!(client.ask(&format!("AUTH {PASSWORD}")).text(), "OK");
        client
    }

    /// Asks a server by a connection of its own, or nothing if it ends before: Sentinels end those of clients along with
    /// each change of a role.
    fn try_ask(&self, at: usize, line: &str) -> Option<Value> {
        let mut client = self.servers[at].client();
        for line in [format!("AUTH {PASSWORD}").as_str(), line] {
            client.send_raw(format!("{line}\r\n").as_bytes()).ok()?;
        }
        client.read().ok()?;
        client.read().ok()
    }

    /// Which server all Sentinels call the primary, if they agree.
    fn primary(&self) -> Option<usize> {
        let mut ports = self.sentinels.iter().map(|sentinel| {
            let address = sentinel.client().ask("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
            address.items().get(1).map(|port| port.text())
        });
        let port = ports.next()??;
        if !ports.all(|other| other.as_ref() == Some(&port)) {
            return None;
        }
        self.servers.iter().position(|server| server.port().to_string() == port)
    }

    /// Waits until another server than `old` is the primary, for all; returns which.
    fn wait_for_another(&self, old: usize) -> usize {
        wait_until("another primary", || self.primary().is_some_and(|at| at != old));
        let at = self.primary().expect("it has just been there");
        wait_until("it leads", || {
            self.try_ask(at, "ROLE").is_some_and(|role| role.items()[0].text() == "master")
        });
        at
    }

    /// Waits until a server follows another.
    fn wait_for_replica(&self, at: usize, primary: usize) {
        let port = self.servers[primary].port().to_string();
        wait_until("a server becomes a replica", || {
            let info = self.try_ask(at, "INFO replication").map_or_else(String::new, |info| info.text());
            info_field(&info, "master_port") == port && info_field(&info, "master_link_status") == "up"
        });
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A file with the address of the primary in the place of the document's. The port is given by the command line.
fn addressed(text: &str, primary: &Server) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("port "));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    text.replace("10.0.0.1 6379", &format!("127.0.0.1 {}", primary.port()))
}

/// What a Sentinel says of an instance under a name.
fn field(instance: &Value, name: &str) -> Option<String> {
    let at = instance.items().iter().position(|item| item.text() == name)?;
    instance.items().get(at + 1).map(Value::text)
}

/// Whether the server has closed a connection that was idle.
fn is_closed(client: &mut Client) -> bool {
    client.set_timeout(Duration::from_secs(20));
    client.read().is_err_and(|error| !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

fn a_primary_that_dies_is_replaced(kinds: [Kind; 3], watcher: Kind) {
    eprintln!("{kinds:?} under {watcher:?}");
    let mut group = Group::start(kinds, watcher, "");
    let mut client = group.client(0);
    wait_until("enough replicas follow", || !client.ask("SET first 1").is_error());
    for i in 0..300 {
        client.ask(&format!("SET key:{i} {i}"));
    }
    wait_until("both replicas have it", || client.ask("WAIT 2 1000").int() == 2);
    let mut idle = [group.client(1), group.client(2)];
    let died = Instant::now();
    group.servers[0].kill();
    let new = group.wait_for_another(0);
    eprintln!("another primary {} ms after the first one died", died.elapsed().as_millis());
    let other = 3 - new;
    group.wait_for_replica(other, new);
    for client in &mut idle {
        assert!(is_closed(client), "clients are to ask for the primary again");
    }
    let mut client = group.client(new);
    for i in 0..300 {
        assert_eq!(client.ask(&format!("GET key:{i}")).text(), i.to_string());
    }
    let text = client.ask("INFO stats").text();
    assert!(text.contains("sync_partial_ok:1\r\n"), "the replica needs no snapshot\n{text}");
    wait_until("writes are accepted", || client.ask("SET after 1").text() == "OK");
    // The old one comes back, and follows.
    assert!(group.servers[0].start_again(&["--enable-debug-command", "yes"]));
    group.wait_for_replica(0, new);
    let file = std::fs::read_to_string(group.dir.join("server0.conf")).unwrap();
    let line = format!("replicaof 127.0.0.1 {}", group.servers[new].port());
    wait_until("the role is kept", || {
        let file = std::fs::read_to_string(group.dir.join("server0.conf")).unwrap();
        file.lines().any(|other| other.trim() == line)
    });
    assert!(file.contains("requirepass"), "{file}");
    wait_until("it has what was written", || {
        group.try_ask(0, "GET after").is_some_and(|value| value.text() == "1")
    });
    if full_run() {
        a_planned_failover(&group, new);
    }
}

/// SENTINEL FAILOVER; nobody is lost. A Sentinel that has not yet seen that the old primary follows would have it follow again, also when it has
/// just been promoted.
fn a_planned_failover(group: &Group, old: usize) {
    wait_until("all Sentinels see two replicas that follow", || {
        group.sentinels.iter().all(|sentinel| {
            let replicas = sentinel.client().ask("SENTINEL REPLICAS mymaster");
            let follows = |replica: &&Value| {
                field(replica, "role-reported").as_deref() == Some("slave")
                    && field(replica, "master-link-status").as_deref() == Some("ok")
            };
            replicas.items().iter().filter(follows).count() == 2
        })
    });
    let mut sentinel = group.sentinels[0].client();
    wait_until("a failover can begin", || sentinel.ask("SENTINEL FAILOVER mymaster").text() == "OK");
    let new = group.wait_for_another(old);
    (0..3).filter(|&at| at != new).for_each(|at| group.wait_for_replica(at, new));
}

#[test]
fn larder_under_sentinels_of_valkey() {
    a_primary_that_dies_is_replaced([Kind::Larder; 3], Kind::Valkey);
}

#[test]
fn larder_under_sentinels_of_redis_7() {
    a_primary_that_dies_is_replaced([Kind::Larder; 3], Kind::Redis);
}

#[test]
#[ignore = "takes minutes: a part of make test-full"]
fn mixed_groups() {
    use Kind::{Larder, Redis, Redis8, Valkey};
    a_primary_that_dies_is_replaced([Valkey, Larder, Larder], Valkey);
    a_primary_that_dies_is_replaced([Redis, Larder, Larder], Redis);
    a_primary_that_dies_is_replaced([Larder, Larder, Valkey], Redis8);
    a_primary_that_dies_is_replaced([Larder, Valkey, Larder], Valkey);
}

/// A primary that stands still for a moment stays; one that does so for long is replaced, and follows when it goes on.
#[test]
#[ignore = "takes minutes: a part of make test-full"]
fn primaries_that_stand_still() {
    let group = Group::start([Kind::Larder; 3], Kind::Valkey, "");
    group.servers[0].signal("STOP");
    // Not a wait for something: it stands still for less than down-after-milliseconds.
    std::thread::sleep(Duration::from_millis(1500));
    group.servers[0].signal("CONT");
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(group.primary(), Some(0));
    group.servers[0].signal("STOP");
    let new = group.wait_for_another(0);
    group.servers[0].signal("CONT");
    group.wait_for_replica(0, new);
}

/// A replica of priority 0 is not promoted, whatever it has.
#[test]
#[ignore = "takes minutes: a part of make test-full"]
fn a_replica_of_priority_0_is_not_promoted() {
    let mut group = Group::start([Kind::Larder; 3], Kind::Valkey, "");
    assert_eq!(group.client(1).ask("CONFIG SET replica-priority 0").text(), "OK");
    let port = group.servers[1].port();
    let mut sentinel = group.sentinels.iter().map(Server::client).collect::<Vec<_>>();
    wait_until("the Sentinels know", || {
        sentinel.iter_mut().all(|sentinel| {
            let replicas = sentinel.ask("SENTINEL REPLICAS mymaster");
            replicas.items().iter().any(|replica| {
                field(replica, "port") == Some(port.to_string())
                    && field(replica, "slave-priority").as_deref() == Some("0")
            })
        })
    });
    group.servers[0].kill();
    assert_eq!(group.wait_for_another(0), 2);
}

/// A script that does not end is killed by the Sentinels.
#[test]
#[ignore = "takes minutes: a part of make test-full"]
fn sentinels_kill_a_script_that_does_not_end() {
    let group = Group::start([Kind::Larder; 3], Kind::Valkey, "busy-reply-threshold 100\n");
    let mut client = group.client(0);
    client.set_timeout(Duration::from_secs(60));
    let reply = client.cmd(&["EVAL", "while true do end", "0"]);
    assert!(reply.text().contains("killed by user with SCRIPT KILL"), "{reply}");
}

/// Sentinels and replicas with users of their own, with the rights of the document.
#[test]
fn rights_of_the_document_are_enough() {
    let users = blocks(&document("high-availability.md"), "conf").pop().unwrap();
    let primary = Server::larder(&[]);
    let mut client = primary.client();
    for line in users.lines().filter(|line| line.starts_with("user ")) {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        let reply = client.cmd(&[&["ACL", "SETUSER"], &words[..]].concat());
        assert_eq!(reply.text(), "OK", "{line}");
    }
    let mut sentinel = primary.client();
    assert_eq!(sentinel.ask("AUTH sentinel sentinel-secret").text(), "OK");
    for line in [
        "CLIENT SETNAME sentinel-12345678-cmd",
        "PING",
        "INFO",
        "PUBLISH __sentinel__:hello x",
        "ROLE",
        "MULTI",
        "SLAVEOF NO ONE",
        "CONFIG REWRITE",
        "CLIENT KILL TYPE normal",
        "EXEC",
        "SUBSCRIBE __sentinel__:hello",
    ] {
        let reply = sentinel.ask(line);
        assert!(!reply.text().starts_with("NOPERM"), "{line}: {reply}");
        for item in reply.items() {
            assert!(!item.text().starts_with("NOPERM"), "{line}: {reply}");
        }
    }
    assert!(primary.client().ask("ACL LOG").items().is_empty());
    // A replica with the rights of the document comes up.
    let args = ["--masteruser", "replica", "--masterauth", "replica-secret"];
    let replica =
        Server::larder(&[&args[..], &["--replicaof", &format!("127.0.0.1 {}", primary.port())]].concat());
    wait_until("the link comes up", || replication_info(&mut replica.client(), "master_link_status") == "up");
}
