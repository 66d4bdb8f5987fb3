//! The state machine as a member of clusters of real servers: two of Valkey 9.1 and one of Redis 7.0.

mod commands;
mod driver;
mod views;

use driver::Driver;
use larder_cluster::packet::NodeFlags;
use larder_testkit::{Client, Kind, Port, Server};

const NODE_TIMEOUT_MS: u64 = 2000;

/// A server that is a node.
struct Member {
    server: Server,
    bus_port: u16,
    id: String,
    _port: Port,
}

impl Member {
    fn start(kind: Kind) -> Self {
        let port = Port::reserve();
        let bus_port = port.number();
        let timeout = NODE_TIMEOUT_MS.to_string();
        let server = Server::of(
            kind,
            &[
                "--cluster-enabled",
                "yes",
                "--cluster-port",
                &bus_port.to_string(),
                "--cluster-node-timeout",
                &timeout,
                "--repl-diskless-sync-delay",
                "0",
            ],
        );
        let id = server.client().ask("CLUSTER MYID").text();
        Member { server, bus_port, id, _port: port }
    }

    fn ask(&self, line: &str) -> String {
        self.server.client().ask(line).text()
    }

    /// The words of the line about a node, if there is one.
    fn line_about(&self, id: &str) -> Vec<String> {
        let text = self.ask("CLUSTER NODES");
        let line = text.lines().find(|line| line.starts_with(id)).unwrap_or_default();
        line.split(' ').map(str::to_owned).collect()
    }

    fn sees(&self, id: &str, flags: &str, link: &str) -> bool {
        let line = self.line_about(id);
        line.get(2).is_some_and(|seen| seen == flags) && line.get(7).is_some_and(|seen| seen == link)
    }

    fn meet_command(&self) -> String {
        format!("MEET 127.0.0.1 {} {}", self.server.port(), self.bus_port)
    }
}

/// What the driver thinks of a node.
fn flags(driver: &Driver, id: &str) -> NodeFlags {
    let id = larder_cluster::NodeId::parse(id.as_bytes()).expect("it is a name");
    let table = driver.cluster.table();
    table.find(&id).map_or(NodeFlags::default(), |key| table[key].flags())
}

/// Two of Valkey and one of Redis, the first with slots 0-5000, the second nobody's, the third with 5001-10000; and this node with
/// the rest, which has met the first alone.
fn mixed_cluster() -> ([Member; 3], Driver) {
    let members = [Member::start(Kind::Valkey), Member::start(Kind::Valkey), Member::start(Kind::Redis)];
    let [a, b, r] = &members;
    assert_eq!(a.ask("CLUSTER ADDSLOTSRANGE 0 5000"), "OK");
    assert_eq!(r.ask("CLUSTER ADDSLOTSRANGE 5001 10000"), "OK");
    for other in [b, r] {
        assert_eq!(a.ask(&format!("CLUSTER {}", other.meet_command())), "OK");
    }
    let mut driver = Driver::start(NODE_TIMEOUT_MS);
    driver.until("the servers know each other", |_| {
        members.iter().all(|one| members.iter().all(|other| !one.line_about(&other.id).is_empty()))
    });
    driver.command("ADDSLOTSRANGE 10001 16383");
    driver.command(&a.meet_command());
    let me = driver.id();
    driver.until("all servers see this node connected", |_| {
        members.iter().all(|member| member.sees(&me, "master", "connected"))
    });
    driver.until("this node knows all servers and finds the cluster well", |driver| {
        let knows = |member: &Member| flags(driver, &member.id).has(NodeFlags::ROLE);
        !driver.cluster.is_down() && members.iter().all(knows)
    });
    driver.until("all servers find the cluster well", |_| {
        members.iter().all(|member| member.ask("CLUSTER INFO").contains("cluster_state:ok"))
    });
    (members, driver)
}

#[test]
fn it_joins_votes_and_sees_failures() {
    let ([mut a, b, r], mut driver) = mixed_cluster();
    // Epochs are unique by now, or will be soon.
    assert_eq!(b.ask(&format!("CLUSTER REPLICATE {}", a.id)), "OK");
    driver.until("it has data", |_| b.ask("INFO replication").contains("master_link_status:up"));
    driver.until("this node knows it", |driver| flags(driver, &b.id).has(NodeFlags::REPLICA));
    let me = driver.id();
    // All see the slots of this node.
    for member in [&a, &b, &r] {
        assert_eq!(member.line_about(&me).last().map(String::as_str), Some("10001-16383"));
    }
    driver.journal.clear();
    a.server.kill();
    driver.until("the primary has failed", |driver| flags(driver, &a.id).has(NodeFlags::FAIL));
    driver.until("its replica is elected", |driver| flags(driver, &b.id).has(NodeFlags::PRIMARY));
    // Of three voters one is dead: without this node's vote nobody is elected. It was saved before it was said.
    let vote = driver.journal.iter().position(|entry| entry == "send 6").expect("it has voted");
    assert_eq!(driver.journal[vote - 1], "save", "{:?}", driver.journal);
    assert!(driver.cluster.last_vote_epoch() > 0);
    driver.until("the cluster is well again", |driver| {
        !driver.cluster.is_down() && r.ask("CLUSTER INFO").contains("cluster_state:ok")
    });
    assert!(b.line_about(&b.id).last().is_some_and(|slots| slots == "0-5000"));
    assert!(driver.saved().contains(&format!("vars currentEpoch {}", driver.cluster.current_epoch())));
    let bus_port = a.bus_port.to_string();
    assert!(a.server.start_again(&["--cluster-enabled", "yes", "--cluster-port", &bus_port]));
    driver.until("the old primary is a replica", |driver| {
        flags(driver, &a.id).has(NodeFlags::REPLICA) && !flags(driver, &a.id).has(NodeFlags::FAILURE)
    });
    assert_eq!(driver.cluster.stats().malformed, 0);
}

#[test]
fn it_takes_a_primarys_place_and_gives_messages_on() {
    let ([a, b, r], mut driver) = mixed_cluster();
    // A channel.
    let mut subscribers: Vec<Client> = [&a, &r].map(|member| member.server.client()).into();
    for subscriber in &mut subscribers {
        assert_eq!(subscriber.ask("SUBSCRIBE news").items()[0].text(), "subscribe");
    }
    driver.publish(b"news", b"from larder");
    for mut subscriber in subscribers {
        let message = subscriber.read().expect("a message comes");
        assert_eq!(message.items()[2].text(), "from larder");
    }
    for (member, text) in [(&a, "from-valkey"), (&r, "from-redis")] {
        member.ask(&format!("PUBLISH news {text}"));
        driver.until("the message comes", |driver| {
            driver.delivered.contains(&(b"news".to_vec(), text.as_bytes().to_vec()))
        });
    }
    // A second node becomes a replica of Valkey, and takes its place.
    let mut replica = Driver::start(NODE_TIMEOUT_MS);
    replica.command(&a.meet_command());
    let (id, old) = (replica.id(), a.id.clone());
    let mut both = |what: &str, replica: &mut Driver, holds: &mut dyn FnMut(&mut Driver) -> bool| {
        replica.until(what, |replica| {
            // Both nodes of this test need time.
            let mut rounds = 0;
            driver.until("a moment passes", |_| {
                rounds += 1;
                rounds > 2
            });
            holds(replica)
        });
    };
    both("it is known to all", &mut replica, &mut |_| {
        [&a, &b, &r].iter().all(|member| member.sees(&id, "master", "connected"))
    });
    both("it knows the slots", &mut replica, &mut |replica| !replica.cluster.is_down());
    replica.command(&format!("REPLICATE {old}"));
    both("it is a replica to all", &mut replica, &mut |_| {
        [&a, &b, &r].iter().all(|member| member.sees(&id, "slave", "connected"))
    });
    replica.command("FAILOVER");
    both("it has its primary's place", &mut replica, &mut |_| {
        [&a, &b, &r].iter().all(|member| {
            let line = member.line_about(&id);
            line.get(2).is_some_and(|flags| flags == "master")
                && line.last().is_some_and(|slots| slots == "0-5000")
        })
    });
    assert!(a.line_about(&old)[2].ends_with("slave"));
    assert!(replica.cluster.me().is_primary());
    // The primary had paused, said where, and was the one who voted.
    let asked = replica.journal.iter().position(|entry| entry == "send 8").expect("it has asked the primary");
    let began = replica.journal.iter().position(|entry| entry == "send 5").expect("it has asked for votes");
    assert!(asked < began && replica.journal.iter().any(|entry| entry == "Promote"));
    assert_eq!(driver.cluster.stats().malformed + replica.cluster.stats().malformed, 0);
}

#[test]
fn valkey_reads_what_this_node_saves() {
    let (members, driver) = mixed_cluster();
    let folder = larder_testkit::temp_dir();
    let file = folder.join("nodes.conf");
    std::fs::write(&file, driver.saved()).expect("the folder is writable");
    let port = Port::reserve();
    let number = port.number().to_string();
    let path = file.to_string_lossy();
    let args = ["--cluster-enabled", "yes", "--cluster-port", &number, "--cluster-config-file", &path];
    let server = Server::valkey(&args);
    let mut client = server.client();
    assert_eq!(client.ask("CLUSTER MYID").text(), driver.id());
    let text = client.ask("CLUSTER NODES").text();
    assert!(members.iter().all(|member| text.contains(&member.id)), "{text}");
    assert!(text.contains("myself,master - 0 0") && text.contains("connected 10001-16383"), "{text}");
    drop(server);
    std::fs::remove_dir_all(&folder).expect("the folder is there");
}
