//! `nodes.conf`: files of the real servers, files of this crate, damaged ones.

use fastrand::Rng;
use larder_cluster::packet::NodeFlags;
use larder_cluster::{
    Cluster, ConfigError, Moment, NodeId, SavedConfig, Settings, SlotSet, Wrong, parse_nodes_conf,
};
use larder_testkit::mutate::damage;

const NOW: Moment = Moment { mono_ms: 5_000_000, wall_ms: 1_800_000_000_000 };

/// Valkey 9.1.2, with everything that it can say. Its ids are those of the run that wrote it.
const VALKEY: &str = "\
5158f23cfb817a6ac29b8865641579fab4284312 127.0.0.1:21001@31001,h1.example,availability-zone=az1,client-tcp-port=1234,tls-port=0,shard-id=2b66c32d76f16ad7659e504b06b499cd27663dbc master,fail - 1795551825007 1795551824000 1 disconnected 0-5000
21d01924976f3b810599a2c641aff033cd672505 127.0.0.1:21005@31005,r.example,tls-port=0,shard-id=3f7c1ef2ff6ce8ccad9ca3d5ebcd31defa3e3055 master - 0 1795551829063 4 connected 10001-16383
452a13294cd1bc76e11251dad4a74096700441ee 127.0.0.1:21002@31002,,client-tls-port=77,client-ipv6=::5,client-ipv4=1.2.3.4,tls-port=0,nodename=nd2,shard-id=b81eb97e88e29979f326213049db80dc7f51bf8c myself,master - 0 0 3 connected 5001-8999 9001-10000 [5005->-21d01924976f3b810599a2c641aff033cd672505] [10001-<-21d01924976f3b810599a2c641aff033cd672505]
ac7765ee6290d923177258d955b75a96583b0f6b :0@0,,tls-port=0,shard-id=2b66c32d76f16ad7659e504b06b499cd27663dbc slave,fail,noaddr 5158f23cfb817a6ac29b8865641579fab4284312 1795551829665 1795551828967 1 disconnected
vars currentEpoch 5 lastVoteEpoch 2
";

/// Redis 7.0.15.
const REDIS: &str = "\
ac7765ee6290d923177258d955b75a96583b0f6b :0@0 slave,fail,noaddr 5158f23cfb817a6ac29b8865641579fab4284312 1795551829660 1795551829000 1 disconnected
7f39a86f89e64cd836e54fb7f231a127c9a9e857 127.0.0.1:21004@31004 master - 0 1795551829150 2 connected
5158f23cfb817a6ac29b8865641579fab4284312 127.0.0.1:21001@31001,h1.example master,fail - 1795551825091 1795551824076 1 disconnected 0-5000
452a13294cd1bc76e11251dad4a74096700441ee 127.0.0.1:21002@31002 master - 0 1795551829000 3 connected 5001-10000
21d01924976f3b810599a2c641aff033cd672505 127.0.0.1:21005@31005,r.example myself,master - 0 0 4 connected 10001-16383
vars currentEpoch 5 lastVoteEpoch 0
";

fn parse(text: &str) -> Result<SavedConfig, ConfigError> {
    parse_nodes_conf(text.as_bytes())
}

fn restored(text: &str) -> Cluster {
    let saved = parse(text).expect("the file is good");
    let cluster = Cluster::restore(&saved, Settings::new(21_002, 0, 31_002), 1, NOW);
    cluster.check_invariants();
    cluster
}

fn id(text: &str) -> NodeId {
    NodeId::parse(text.as_bytes()).expect("it is a name")
}

#[test]
fn a_file_of_valkey_says_what_it_says() {
    let saved = parse(VALKEY).expect("the file is good");
    assert_eq!((saved.nodes.len(), saved.current_epoch, saved.last_vote_epoch), (4, 5, 2));
    let [a, r, me, gone] = &saved.nodes[..] else { panic!("there are four") };
    assert_eq!((&*a.ip, a.port, a.bus_port, a.other_port), ("127.0.0.1", 21_001, 31_001, 0));
    assert_eq!((&*a.names.hostname, &*a.names.zone, a.names.client_port), ("h1.example", "az1", 1234));
    assert_eq!(a.flags, NodeFlags::PRIMARY | NodeFlags::FAIL);
    assert_eq!(a.shard, Some(id("2b66c32d76f16ad7659e504b06b499cd27663dbc")));
    assert!(a.is_pinged && a.has_answered && a.slots == (0..=5000).collect::<SlotSet>());
    assert_eq!(
        (&*me.names.node_name, &*me.names.client_ipv4, &*me.names.client_ipv6),
        ("nd2", "1.2.3.4", "::5")
    );
    assert_eq!((me.names.client_tls_port, me.config_epoch, me.slots.len()), (77, 3, 4999));
    assert_eq!((&me.migrating[..], &me.importing[..]), (&[(5005, r.id)][..], &[(10_001, r.id)][..]));
    assert_eq!((&*gone.ip, gone.primary, gone.slots.len()), ("", Some(a.id), 0));
    assert!(gone.flags.has(NodeFlags::NOADDR) && gone.flags.has(NodeFlags::REPLICA));
}

#[test]
fn files_are_written_as_they_were_read() {
    for text in [VALKEY, REDIS] {
        let cluster = restored(text);
        let first = cluster.saved_text(NOW);
        let again = restored(&first).saved_text(NOW);
        assert_eq!(sorted(&first), sorted(&again));
        let (before, after) = (parse(text).expect("good"), parse(&first).expect("good"));
        assert_eq!(
            (before.current_epoch, before.last_vote_epoch),
            (after.current_epoch, after.last_vote_epoch)
        );
        for node in &before.nodes {
            let same = after.nodes.iter().find(|other| other.id == node.id).expect("it is there");
            // The state of links and what this node announces are those of now.
            assert_eq!((&node.slots, &node.primary), (&same.slots, &same.primary));
            assert_eq!((&node.migrating, &node.importing), (&same.migrating, &same.importing));
            assert!(node.shard.is_none_or(|shard| Some(shard) == same.shard));
            if !node.flags.has(NodeFlags::MYSELF) {
                assert_eq!((node.port, node.bus_port), (same.port, same.bus_port));
                assert_eq!((node.flags, &node.names), (same.flags, &same.names));
            }
        }
    }
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn lines_are_those_of_valkey() {
    let mut settings = Settings::new(21_002, 0, 31_002);
    settings.names = parse(VALKEY).expect("good").nodes[2].names.clone();
    let saved = parse(VALKEY).expect("good");
    let text = Cluster::restore(&saved, settings, 1, NOW).saved_text(NOW);
    for line in VALKEY.lines() {
        // The times are new, links are closed, and Valkey's order of the named values is that of its hash.
        let words = |line: &str| {
            let fields: Vec<&str> = line.split(' ').collect();
            let mut address: Vec<&str> = fields[1].split(',').collect();
            address[1.min(fields.len() - 1)..].sort_unstable();
            let rest = fields.iter().enumerate().map(|(at, field)| match at {
                1 => address.join(","),
                4 | 5 => (*field != "0").to_string(),
                7 => String::new(),
                _ => (*field).to_owned(),
            });
            rest.collect::<Vec<_>>().join(" ")
        };
        if line.starts_with("vars") {
            assert!(text.ends_with(&format!("{line}\n")), "{text}");
        } else {
            let id = line.split(' ').next().expect("there is one");
            let own = text.lines().find(|own| own.starts_with(id)).expect("it is there");
            assert_eq!(words(own), words(line));
        }
    }
}

#[test]
fn an_empty_file_is_a_new_node() {
    for text in ["", "\n\n", "vars currentEpoch 0 lastVoteEpoch 0\n"] {
        assert!(parse(text).expect("good").nodes.is_empty());
        assert_eq!(restored(text).table().len(), 1);
    }
}

#[test]
fn a_primary_without_a_line_is_there_without_an_address() {
    let text = "\
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 127.0.0.1:1@2 myself,slave bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 0 0 3 connected
";
    let cluster = restored(text);
    let primary = cluster.me().primary().expect("it has one");
    assert!(cluster.table()[primary].flags().has(NodeFlags::NOADDR));
}

/// As in Valkey.
#[test]
fn the_first_line_that_claims_a_slot_has_it() {
    let text = "\
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 127.0.0.1:1@2 myself,master - 0 0 1 connected 0-5460
bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 127.0.0.1:3@4 master - 0 0 2 connected 5000-16383
vars currentEpoch 6 lastVoteEpoch 0
";
    let saved = parse(text).expect("the file is good");
    assert_eq!(saved.contested, (5000..=5460).collect());
    let cluster = restored(text);
    let owners: Vec<usize> =
        cluster.table().iter().map(|(_, node)| usize::from(node.slots().len())).collect();
    assert_eq!((cluster.me().slots().len(), owners.iter().sum()), (5461, 16_384));
}

#[test]
fn the_lineage_of_a_replicas_data_is_kept() {
    let text = |variables: &str| {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        format!(
            "{a} 127.0.0.1:1@2,,tls-port=0 myself,slave {b} 0 0 3 connected\n\
             {b} 127.0.0.1:3@4,,tls-port=0 master - 0 0 3 connected 5-7\n\
             vars currentEpoch 5 lastVoteEpoch 0{variables}\n"
        )
    };
    let (one, other) = ("0123456789".repeat(4), "Abcdefghi0".repeat(4));
    for variables in [
        String::new(),
        " larder-history -".to_owned(),
        format!(" larder-history {one}:3"),
        format!(" larder-history - larder-former {other}:18446744073709551615"),
        format!(" larder-history {one}:0 larder-former {other}:7"),
    ] {
        let saved = restored(&text(&variables)).saved_text(NOW);
        assert!(saved.ends_with(&format!("lastVoteEpoch 0{variables}\n")), "{saved}");
    }
    // What other servers may say there is passed over.
    assert_eq!(parse(&text(" color red")), parse(&text("")));
    // A primary has none.
    let primary = VALKEY.replace("lastVoteEpoch 2", &format!("lastVoteEpoch 2 larder-history {one}:3"));
    assert!(!restored(&primary).saved_text(NOW).contains("larder"));
}

/// A replica stands in the shard of its primary, whatever a file says, or does not say.
#[test]
fn replicas_are_of_the_shard_of_their_primary() {
    let shard = |text: &str| text.repeat(40);
    let line = |id: &str, named: &str, role: &str| {
        format!("{} 127.0.0.1:1@2,{named} {role} 0 0 1 connected\n", id.repeat(40))
    };
    for (mine, its) in [("1", "2"), ("", "2"), ("", "")] {
        let named = |letter: &str| {
            if letter.is_empty() { String::new() } else { format!(",shard-id={}", shard(letter)) }
        };
        let text = line("a", &named(mine), &format!("myself,slave {}", "b".repeat(40)))
            + &line("b", &named(its), "master -");
        let cluster = restored(&text);
        let primary = cluster.me().primary().expect("it has one");
        assert_eq!(cluster.table()[primary].shard, cluster.me().shard);
        assert!(its.is_empty() || cluster.me().shard.as_str() == shard(its));
    }
}

#[test]
fn a_vote_of_an_epoch_that_was_not_known_makes_it_known() {
    let cluster = restored(&VALKEY.replace("lastVoteEpoch 2", "lastVoteEpoch 900"));
    assert_eq!((cluster.current_epoch(), cluster.last_vote_epoch()), (900, 900));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let line = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 127.0.0.1:1@2 myself,master - 0 0 3 connected 5-7";
    let other = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 127.0.0.1:3@4 master - 0 0 4 connected";
    assert!(parse(line).is_ok() && parse(&format!("{line}\n{other} 8")).is_ok());
    let cases: &[(&str, &str, Wrong)] = &[
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaa", Wrong::Id),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Wrong::Id),
        ("127.0.0.1:1@2", "127.0.0.1", Wrong::Address),
        ("127.0.0.1:1@2", "127.0.0.1:1@70000", Wrong::Address),
        ("127.0.0.1:1@2", "127.0.0.1:60000", Wrong::Address),
        ("127.0.0.1:1@2", "127.0.0.1:1@2,host name", Wrong::Flag),
        ("127.0.0.1:1@2", "127.0.0.1:1@2,ho=st", Wrong::Value),
        ("127.0.0.1:1@2", "127.0.0.1:1@2,,color=red", Wrong::Value),
        ("127.0.0.1:1@2", "127.0.0.1:1@2,,shard-id=red", Wrong::Value),
        ("127.0.0.1:1@2", "127.0.0.1:1@2,,tls-port=99999", Wrong::Value),
        ("127.0.0.1:1@2", "127.0.0.1:1@2,,nodename", Wrong::Value),
        ("myself,master", "myself,master,odd", Wrong::Flag),
        ("myself,master", "myself,master,slave", Wrong::Flag),
        ("myself,master", "", Wrong::Flag),
        (" - ", " cccccccccccccccccccccccccccccccccccccccc ", Wrong::Primary),
        (" 0 0 3", " x 0 3", Wrong::Time),
        (" 0 0 3", " 0 -1 3", Wrong::Time),
        (" 0 0 3", " 0 0 x", Wrong::Epoch),
        (" 3 connected 5-7", "", Wrong::Fields),
        ("5-7", "5-16384", Wrong::Slot),
        ("5-7", "7-5", Wrong::Slot),
        ("5-7", "x", Wrong::Slot),
        ("5-7", "5-7 6", Wrong::SlotTwice),
        ("5-7", "[5]", Wrong::OpenSlot),
        ("5-7", "[5->-x]", Wrong::OpenSlot),
        ("5-7", "[5->-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", Wrong::OpenSlot),
        ("5-7", "[16384-<-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb]", Wrong::Slot),
    ];
    for (from, to, wrong) in cases {
        let text = format!("{other}\n{}\n", line.replace(from, to));
        assert_eq!(parse(&text), Err(ConfigError { line: 2, wrong: *wrong }), "{text}");
    }
    let whole: &[(String, ConfigError)] = &[
        (other.to_owned(), ConfigError { line: 0, wrong: Wrong::NoMyself }),
        (format!("{line}\n{line}"), ConfigError { line: 2, wrong: Wrong::Twice }),
        (
            format!("{line}\n{}", other.replace("master", "myself,master")),
            ConfigError { line: 2, wrong: Wrong::TwoMyselves },
        ),
        (format!("{line}\nvars currentEpoch"), ConfigError { line: 2, wrong: Wrong::Fields }),
        (format!("{line}\nvars currentEpoch x"), ConfigError { line: 2, wrong: Wrong::Epoch }),
        (format!("{line}\nvars other"), ConfigError { line: 2, wrong: Wrong::Fields }),
        (format!("{line}\nvars larder-history x:5"), ConfigError { line: 2, wrong: Wrong::History }),
        (format!("{line}\nvars larder-former -"), ConfigError { line: 2, wrong: Wrong::History }),
    ];
    for (text, error) in whole {
        assert_eq!(parse(text).as_ref(), Err(error), "{text}");
    }
    assert_eq!(parse_nodes_conf(&[0xff, b'\n']), Err(ConfigError { line: 0, wrong: Wrong::Utf8 }));
}

#[test]
fn each_line_may_be_damaged() {
    let cases = if larder_testkit::full_run() { 200_000 } else { 3000 };
    let mut good = 0;
    larder_testkit::fuzz::for_seeds(0, cases, |seed| {
        let mut rng = Rng::with_seed(seed);
        let (text, other) = if rng.bool() { (VALKEY, REDIS) } else { (REDIS, VALKEY) };
        let mut lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
        let at = rng.usize(..lines.len());
        damage(&mut rng, &mut lines[at], other.as_bytes());
        if let Ok(saved) = parse_nodes_conf(&lines.join(&b'\n')) {
            good += 1;
            let cluster = Cluster::restore(&saved, Settings::new(1, 0, 2), seed, NOW);
            cluster.check_invariants();
            parse(&cluster.saved_text(NOW)).expect("what was read is written so that it can be read");
        }
    });
    assert!(good > 20 || larder_testkit::given_seed().is_some(), "only {good} could be read");
}
