//! Migrations beside what makes them hard: a slot with so many keys that it is read in pieces, commands on several keys of it, pauses of clients,
//! one migration right after another.

use crate::migration::{Stop, migrate, newest};
use crate::node::{Node, join, routed, tag, text, until};
use fastrand::Rng;
use larder_testkit::{Client, Kind, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A client of one slot: where that is, it goes.
struct Follower<'n> {
    nodes: [&'n Node; 2],
    client: Client,
}

impl<'n> Follower<'n> {
    fn new(nodes: [&'n Node; 2]) -> Self {
        Follower { nodes, client: nodes[0].client() }
    }

    fn ask(&mut self, words: &[&str]) -> Value {
        loop {
            let reply = self.client.cmd(words);
            let said = reply.text();
            let Some(port) = said.strip_prefix("MOVED ").and_then(|rest| rest.rsplit(':').next()) else {
                return reply;
            };
            let node = self.nodes.iter().find(|node| node.port().to_string() == port).expect("one of both");
            self.client = node.client();
        }
    }
}

/// What a writer knows of its own keys.
#[derive(Default)]
struct Model {
    numbers: HashMap<String, i64>,
    lists: HashMap<String, Vec<String>>,
}

impl Model {
    /// A random command on keys of `names`, and what it has to reply.
    fn step(&mut self, rng: &mut Rng, names: &[String], client: &mut Follower<'_>) {
        let [one, other] = [rng.usize(..names.len()), rng.usize(..names.len())].map(|at| &names[at]);
        let [x, y] = [format!("{one}n"), format!("{other}n")];
        let [l, m] = [format!("{one}l"), format!("{other}l")];
        match rng.u8(..7) {
            0 | 1 => {
                let number = self.numbers.entry(x.clone()).or_default();
                *number += 1;
                assert_eq!(text(&client.ask(&["INCR", &x])), number.to_string());
            }
            2 if self.numbers.contains_key(&x) => {
                let number = self.numbers.remove(&x).expect("it is there");
                self.numbers.insert(y.clone(), number);
                assert_eq!(text(&client.ask(&["RENAME", &x, &y])), "OK");
            }
            3 if self.numbers.contains_key(&x) && x != y => {
                self.numbers.insert(y.clone(), self.numbers[&x]);
                assert_eq!(text(&client.ask(&["COPY", &x, &y, "REPLACE"])), "1");
            }
            4 => {
                let was = self.numbers.remove(&x).is_some();
                assert_eq!(text(&client.ask(&["DEL", &x])), i32::from(was).to_string());
            }
            5 => {
                let element = rng.u32(..).to_string();
                let list = self.lists.entry(l.clone()).or_default();
                list.push(element.clone());
                assert_eq!(text(&client.ask(&["RPUSH", &l, &element])), list.len().to_string());
            }
            _ => {
                let Some(list) = self.lists.get_mut(&l).filter(|list| !list.is_empty()) else { return };
                let element = list.remove(0);
                self.lists.entry(m.clone()).or_default().push(element.clone());
                assert_eq!(text(&client.ask(&["LMOVE", &l, &m, "LEFT", "RIGHT"])), element);
            }
        }
    }

    fn check(&self, names: &[String], client: &mut Follower<'_>) {
        for name in names {
            let (number, list) = (format!("{name}n"), format!("{name}l"));
            let expected = self.numbers.get(&number).map(i64::to_string).unwrap_or_default();
            assert_eq!(text(&client.ask(&["GET", &number])), expected, "{number}");
            let found = client.ask(&["LRANGE", &list, "0", "-1"]);
            let found: Vec<String> = found.items().iter().map(Value::text).collect();
            assert_eq!(found, self.lists.get(&list).cloned().unwrap_or_default(), "{list}");
        }
    }
}

#[test]
fn a_slot_is_read_in_pieces_while_commands_are_about_several_of_its_keys() {
    for kinds in [[Kind::Larder, Kind::Larder], [Kind::Larder, Kind::Valkey]] {
        let [a, b] = kinds.map(|kind| Node::start(kind, &[]));
        join(&[&a, &b]);
        let tag = tag("t", |slot| slot < 4000);
        let slot = larder_cluster::key_slot(tag.as_bytes());
        let mut filler = a.client();
        const FILL: usize = 20_000;
        for from in (0..FILL).step_by(500) {
            let pairs = (from..from + 500).flat_map(|at| [format!("{{{tag}}}f{at}"), at.to_string()]);
            let words: Vec<String> = std::iter::once("MSET".to_owned()).chain(pairs).collect();
            assert_eq!(text(&filler.cmd(&words)), "OK");
        }
        let stops = AtomicBool::new(false);
        let seed = larder_testkit::seeds(1, 1).next().expect("one");
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (nodes, tag, stops) = ([&a, &b], &tag, &stops);
                scope.spawn(move || {
                    let mut rng = Rng::with_seed(seed + writer);
                    let names: Vec<String> = (0..30).map(|at| format!("{{{tag}}}{writer}-{at}")).collect();
                    let (mut model, mut client) = (Model::default(), Follower::new(nodes));
                    while !stops.load(Relaxed) {
                        model.step(&mut rng, &names, &mut client);
                    }
                    model.check(&names, &mut client);
                });
            }
            let _stop = Stop(&stops);
            for round in 0..4 {
                let (from, to) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
                migrate(from, to, slot, slot);
                until("the source has deleted them", || from.ask("DBSIZE") == "0");
            }
        });
        for at in (0..FILL).step_by(97) {
            assert_eq!(text(&routed(&b, &["GET", &format!("{{{tag}}}f{at}")])), at.to_string());
        }
    }
}

/// Whoever waits for the thread of the bus does not wait for a pause: keys that it could not delete stay until that is over.
#[test]
fn a_pause_of_clients_does_not_stop_the_bus() {
    let [a, b] = [Kind::Larder, Kind::Larder].map(|kind| Node::start(kind, &[]));
    join(&[&a, &b]);
    let tags: Vec<String> = (0..50).map(|number| tag(&format!("k{number}-"), |slot| slot < 4000)).collect();
    tags.iter().for_each(|tag| a.must(&format!("SET {tag} 1")));
    a.must("CLIENT PAUSE 60000 WRITE");
    migrate(&a, &b, 0, 4000);
    // The bus answers this one, and the state of the other migrations does not depend on the keys that are left.
    assert!(a.ask("CLUSTER NODES").contains(&b.id()));
    assert_eq!(a.ask("DBSIZE"), "50");
    a.must("CLIENT UNPAUSE");
    until("the source has deleted them", || a.ask("DBSIZE") == "0");
    assert_eq!(b.ask("DBSIZE"), "50");
}

/// The second one pauses writes while the keys of the first are still being deleted.
#[test]
fn a_migration_does_not_wait_for_the_deletion_after_another() {
    let [a, b] = [Kind::Larder, Kind::Larder].map(|kind| Node::start(kind, &[]));
    join(&[&a, &b]);
    let mut filler = a.client();
    for number in 0..200 {
        let tag = tag(&format!("k{number}-"), |slot| slot < 8000);
        let pairs = (0..100).flat_map(|at| [format!("{{{tag}}}{at}"), at.to_string()]);
        let words: Vec<String> = std::iter::once("MSET".to_owned()).chain(pairs).collect();
        assert_eq!(text(&filler.cmd(&words)), "OK");
    }
    // So long that a migration that waits for it is noticed.
    a.must("CONFIG SET cluster-manual-failover-timeout 60000");
    for start in (0..8000).step_by(2000) {
        migrate(&a, &b, start, start + 1999);
    }
    until("the source has deleted them", || a.ask("DBSIZE") == "0");
    assert_eq!(b.ask("DBSIZE"), "20000");
    assert_eq!(newest(&a, "state"), "success");
}
