//! The latency monitor and the histograms of commands.

use larder_testkit::{Client, Kind, Server, Value};

/// The kinds of replies, in the order in which they are compared.
const KINDS: [Kind; 2] = [Kind::Larder, Kind::Valkey];

/// The rows of LATENCY LATEST. Times are those of the machine: here they are compared with one another.
fn rows(client: &mut Client) -> Vec<String> {
    let row = |row: &Value| {
        let [event, time, latest, worst, sum, count] = row.items() else { panic!("{row}") };
        let (latest, worst, sum, count) = (latest.int(), worst.int(), sum.int(), count.int());
        assert!(time.int() > 0 && latest <= worst && worst <= sum && sum <= worst * count, "{row}");
        format!("{event} {count} {}", if count == 1 { sum == worst } else { sum > worst })
    };
    client.ask("LATENCY LATEST").items().iter().map(row).collect()
}

#[test]
fn spikes_have_a_sum_and_a_count() {
    let [ours, theirs] = KINDS.map(|kind| {
        let server = Server::of(kind, &["--latency-monitor-threshold", "20"]);
        let mut client = server.client();
        let mut seen = Vec::new();
        // Within a second, and in another one.
        for line in
            ["DEBUG SLEEP 0.03", "DEBUG SLEEP 0.05", "DEBUG SLEEP 1.1", "LATENCY RESET", "DEBUG SLEEP 0.04"]
        {
            client.ask(line);
            seen.push(rows(&mut client));
        }
        seen
    });
    assert_eq!(ours, theirs);
    assert_eq!((ours[2][0].as_str(), ours[4][0].as_str()), ("\"command\" 3 true", "\"command\" 1 true"));
}

/// The limits that a server shows for commands that take from a microsecond to a second.
fn limits(kind: Kind) -> Vec<i64> {
    let server = Server::of(kind, &[]);
    let mut client = server.client();
    let mut limits = Vec::new();
    for power in 0..20 {
        client.ask(&format!("DEBUG SLEEP {:.6}", f64::from(1 << power) / 1e6));
    }
    client.ask("DEBUG SLEEP 1.1");
    for _ in 0..50 {
        client.ask("DEBUG JMAP");
    }
    let all = client.ask("LATENCY HISTOGRAM");
    for histogram in all.items().chunks(2) {
        let [_, calls, _, rows] = histogram[1].items() else { panic!("{all}") };
        let rows: Vec<i64> = rows.items().iter().map(Value::int).collect();
        assert_eq!(rows.last(), Some(&calls.int()), "the last row counts all");
        limits.extend(rows.chunks(2).map(|row| row[0]));
    }
    limits.sort_unstable();
    limits.dedup();
    limits
}

#[test]
fn histograms_have_the_limits_of_valkey() {
    // Some of these rows are empty on a quiet machine, others on a busy one; no other row may be there.
    const LIMITS: [i64; 21] = [
        1, 2, 4, 8, 16, 33, 66, 132, 264, 528, 1_056, 2_113, 4_227, 8_454, 16_908, 33_816, 67_633, 135_266,
        270_532, 541_065, 1_073_741,
    ];
    for kind in KINDS {
        let shown = limits(kind);
        assert!(shown.iter().all(|limit| LIMITS.contains(limit)), "{}: {shown:?}", kind.name());
        assert!(shown.contains(&1_073_741), "{}: {shown:?}", kind.name());
    }
}

/// `HELLO` names the zone if there is one.
#[test]
fn hello_names_the_availability_zone() {
    let [ours, theirs] = KINDS.map(|kind| {
        let server = Server::of(kind, &[]);
        let mut client = server.client();
        let mut said = Vec::new();
        for zone in ["eu-1a", ""] {
            client.cmd(&["CONFIG", "SET", "availability-zone", zone]);
            for version in ["2", "3"] {
                let reply = client.cmd(&["HELLO", version]);
                said.push(format!(
                    "{} {}",
                    reply.items().len(),
                    reply.items()[14..].iter().map(|v| format!("{v}")).collect::<String>()
                ));
            }
        }
        said
    });
    assert_eq!(ours, theirs);
    assert!(ours[0].contains("availability_zone"), "{ours:?}");
}
