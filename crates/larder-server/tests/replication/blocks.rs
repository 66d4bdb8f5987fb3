//! Collections travel between two Larders as the blocks that they lie in; others get what they can read.

use crate::{follow, info, start, wait_for_same_data, wait_until};
use larder_testkit::{Client, Kind, Server};

/// Lists that are compressed, of integers and of text, and sorted sets, one of which has a score of -0.
fn fill(client: &mut Client) {
    for list in 0..4 {
        for part in 0..50 {
            let mut command = vec!["RPUSH".to_owned(), format!("list:{list}")];
            command.extend((0..100).map(|n| match list {
                0 | 1 => (1_000_000 + part * 100 + n).to_string(),
                _ => format!("element {n} of part {part} of a list that says the same again and again"),
            }));
            client.cmd(&command);
        }
    }
    for part in 0..100 {
        let mut command = vec!["ZADD".to_owned(), "scores".to_owned()];
        command.extend((0..100).flat_map(|n| [(part * n).to_string(), format!("member:{part}:{n}")]));
        client.cmd(&command);
    }
    client.ask("ZADD scores -0 zero");
    client.ask("ZADD small 1 one 2 two -0 zero");
    client.ask("RPUSH short a 1");
}

/// Bytes of a snapshot for a replica of this kind.
fn snapshot_bytes(primary: &Server, kind: Kind, args: &[&str]) -> u64 {
    let mut client = primary.client();
    let sent = |client: &mut Client| -> u64 {
        info(client, "stats", "total_net_repl_output_bytes").parse().expect("a number")
    };
    let before = sent(&mut client);
    let replica = start(kind, args);
    follow(&mut replica.client(), primary);
    wait_for_same_data("a snapshot of blocks", primary, &replica);
    let mut client = replica.client();
    if kind == Kind::Larder {
        for key in ["scores", "small", "list:0", "list:3", "short"] {
            let ask = format!("OBJECT ENCODING {key}");
            assert_eq!(client.ask(&ask), primary.client().ask(&ask), "{key}");
        }
        assert_eq!(client.ask("ZSCORE scores zero").text(), "-0");
        assert_eq!(
            client.ask("ZRANK scores member:99:99"),
            primary.client().ask("ZRANK scores member:99:99")
        );
    }
    sent(&mut primary.client()) - before
}

#[test]
fn blocks_travel_as_they_are() {
    for codec in ["lzf", "lz4", "zstd"] {
        let args = ["--list-compress-depth", "1", "--list-compress-codec", codec, "--rdbcompression", "no"];
        let primary = start(Kind::Larder, &args);
        let mut client = primary.client();
        fill(&mut client);
        wait_until("lists are compressed", || {
            info(&mut client, "memory", "lists_waiting_for_compression") == "0"
        });
        let own = snapshot_bytes(&primary, Kind::Larder, &args);
        let plain = snapshot_bytes(&primary, Kind::Larder, &["--repl-diskless-load", "swapdb"]);
        let foreign = snapshot_bytes(&primary, Kind::Valkey, &[]);
        println!("{codec}: {own} and {plain} bytes for Larder, {foreign} for Valkey");
        // Others know LZF as well.
        let most = if codec == "lzf" { foreign * 2 / 3 } else { foreign / 2 };
        assert!(own < most && plain < most, "{codec}: {own}, {plain}, {foreign}");
    }
}
