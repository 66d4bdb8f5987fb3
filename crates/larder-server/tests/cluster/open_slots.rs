//! Slots that SETSLOT has opened, while nodes of both sides fail over: the same steps in a cluster
//! of Valkey and in one of Larder lead to the same states.

use crate::node::{Node, join, meet, replicate, settle, tag, until, until_equal};
use larder_testkit::Kind;

/// Three primaries `a`, `b`, `c`, replicas of the first two (`A`, `B`), and a node that joins later
/// (`d`).
struct Six {
    nodes: Vec<Node>,
    ids: Vec<String>,
}

const NAMES: [char; 6] = ['a', 'b', 'c', 'A', 'B', 'd'];
/// A slot of the first primary.
const SLOT: u16 = 609;

impl Six {
    fn start(kind: Kind) -> Six {
        let nodes: Vec<Node> = (0..6).map(|_| Node::start(kind, &[])).collect();
        let all: Vec<&Node> = nodes.iter().collect();
        join(&all[..3]);
        meet(&[all[0], all[3], all[4], all[5]]);
        settle(&all);
        replicate(all[3], all[0], &all);
        replicate(all[4], all[1], &all);
        let ids = all.iter().map(|node| node.id()).collect();
        Six { nodes, ids }
    }

    fn at(&self, name: char) -> usize {
        NAMES.iter().position(|&known| known == name).expect("a name")
    }

    fn node(&self, name: char) -> &Node {
        &self.nodes[self.at(name)]
    }

    fn set_slot(&self, on: char, slot: u16, state: &str, other: char) {
        let id = &self.ids[self.at(other)];
        self.node(on).must(&format!("CLUSTER SETSLOT {slot} {state} {id}"));
    }

    /// The same with names in the place of ids.
    fn named(&self, text: &str) -> String {
        self.ids
            .iter()
            .zip(NAMES)
            .fold(text.to_owned(), |text, (id, name)| text.replace(id, &name.to_string()))
    }

    /// What each node says is open, and who has a slot: `a:[609->-b] 609=a`.
    fn states(&self, slot: u16) -> Vec<String> {
        let state = |(node, name): (&Node, char)| {
            let lines = self.named(&node.ask("CLUSTER NODES"));
            let own = lines.lines().find(|line| line.contains("myself")).unwrap_or_default();
            let open: Vec<&str> = own.split(' ').filter(|word| word.starts_with('[')).collect();
            let has_slot = |word: &str| {
                let (start, end) = word.split_once('-').unwrap_or((word, word));
                let range = start.parse::<u16>().ok().zip(end.parse::<u16>().ok());
                range.is_some_and(|(start, end)| (start..=end).contains(&slot))
            };
            let owner = lines.lines().find(|line| line.split(' ').skip(8).any(has_slot)).unwrap_or("-");
            format!("{name}:{} {slot}={}", open.join(""), &owner[..1])
        };
        self.nodes.iter().zip(NAMES).map(state).collect()
    }

    /// Waits until the states are these. `open`: those of nodes with open slots, by name; all
    /// others have none.
    fn expect(&self, what: &str, slot: u16, owner: char, open: &[(&str, &str)]) {
        let of =
            |name: char| open.iter().find(|(names, _)| names.contains(name)).map_or("", |(_, open)| open);
        let wanted: Vec<String> =
            NAMES.iter().map(|&name| format!("{name}:{} {slot}={owner}", of(name))).collect();
        until_equal(what, &wanted, || self.states(slot));
    }

    /// A replica takes its primary's place.
    fn fail_over(&self, name: char) {
        let id = &self.ids[self.at(name)];
        self.node(name).must("CLUSTER FAILOVER");
        until("it is a primary", || self.nodes.iter().all(|node| node.knows(id, "master")));
        until("replicas follow", || self.nodes.iter().all(Node::is_settled));
    }
}

#[test]
fn open_slots_follow_the_failovers_of_both_sides() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let six = Six::start(kind);
        six.set_slot('b', SLOT, "IMPORTING", 'a');
        six.set_slot('a', SLOT, "MIGRATING", 'b');
        six.expect("it is open", SLOT, 'a', &[("aA", "[609->-b]"), ("bB", "[609-<-a]")]);
        six.fail_over('B');
        six.expect("the target has failed over", SLOT, 'a', &[("aA", "[609->-B]"), ("bB", "[609-<-a]")]);
        six.fail_over('A');
        six.expect("the source has failed over", SLOT, 'A', &[("aA", "[609->-B]"), ("bB", "[609-<-A]")]);
        // A client is sent to the node that has taken the target's place.
        let key = tag("k", |slot| slot == SLOT);
        assert_eq!(
            six.node('A').ask(&format!("GET {key}")),
            format!("ASK {SLOT} {}", six.node('B').address())
        );
        six.fail_over('b');
        six.expect("and back", SLOT, 'A', &[("aA", "[609->-b]"), ("bB", "[609-<-A]")]);
        // A new replica hears of it with its snapshot.
        let all: Vec<&Node> = six.nodes.iter().collect();
        replicate(six.node('d'), six.node('A'), &all);
        six.expect("a replica has come", SLOT, 'A', &[("aAd", "[609->-b]"), ("bB", "[609-<-A]")]);
        // To be told the same primary again is nothing new.
        six.node('d').must(&format!("CLUSTER REPLICATE {}", six.ids[six.at('A')]));
        six.expect("nothing is new", SLOT, 'A', &[("aAd", "[609->-b]"), ("bB", "[609-<-A]")]);
        // Only the source is told who has the slot: the target takes it.
        six.set_slot('A', SLOT, "NODE", 'b');
        six.expect("it has moved", SLOT, 'b', &[]);
        assert_eq!(six.node('b').ask(&format!("EXISTS {key}")), "0");
        // Only the target is told: the replicas of the source close it as well.
        six.set_slot('c', 7, "IMPORTING", 'A');
        six.set_slot('A', 7, "MIGRATING", 'c');
        six.expect("another is open", 7, 'A', &[("aAd", "[7->-c]"), ("c", "[7-<-A]")]);
        six.set_slot('c', 7, "NODE", 'c');
        six.expect("it has moved", 7, 'c', &[]);
        // A replica that leaves the shard leaves what is open there.
        six.set_slot('A', 8, "MIGRATING", 'c');
        six.expect("a third is open", 8, 'A', &[("aAd", "[8->-c]")]);
        six.node('d').must(&format!("CLUSTER REPLICATE {}", six.ids[six.at('b')]));
        six.expect("one has left", 8, 'A', &[("aA", "[8->-c]")]);
    }
}

/// The target of a migration dies when the source has given the slot away, and before it has heard
/// of it. Its replica takes it.
#[test]
fn a_slot_that_the_source_has_given_away_is_taken_by_whoever_takes_the_targets_place() {
    for kind in [Kind::Valkey, Kind::Larder] {
        let mut six = Six::start(kind);
        six.set_slot('b', SLOT, "IMPORTING", 'a');
        six.set_slot('a', SLOT, "MIGRATING", 'b');
        six.expect("it is open", SLOT, 'a', &[("aA", "[609->-b]"), ("bB", "[609-<-a]")]);
        six.node('b').server.signal("STOP");
        six.set_slot('a', SLOT, "NODE", 'b');
        let b = six.at('b');
        six.nodes[b].server.kill();
        let key = tag("k", |slot| slot == SLOT);
        let to = format!("MOVED {SLOT} {}", six.node('B').address());
        for name in ['a', 'A', 'c'] {
            until_equal("clients are sent to its heir", &to, || six.node(name).ask(&format!("GET {key}")));
        }
        assert_eq!(six.node('B').ask(&format!("EXISTS {key}")), "0", "{kind:?}");
    }
}

/// An import that names the wrong source takes nothing from the owner, whatever that source says of
/// its slots. Valkey's target takes the slot.
#[test]
fn an_import_from_a_node_that_never_had_the_slot_takes_it_from_nobody() {
    let six = Six::start(Kind::Larder);
    six.set_slot('b', SLOT, "IMPORTING", 'c');
    six.expect("it is open", SLOT, 'a', &[("bB", "[609-<-c]")]);
    // News of its slots, and with them that of an epoch.
    six.node('c').must("CLUSTER DELSLOTS 16000");
    let bumped = six.node('c').ask("CLUSTER BUMPEPOCH");
    let epoch = bumped.rsplit(' ').next().expect("a number").to_owned();
    let id = &six.ids[six.at('c')];
    until_equal("the target has heard", &epoch, || six.node('b').line_about(id)[6].clone());
    six.expect("it is the owner's", SLOT, 'a', &[("bB", "[609-<-c]")]);
}
