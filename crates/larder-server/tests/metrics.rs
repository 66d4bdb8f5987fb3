//! Metrics over HTTP: a page that scrapers read, figures that are so, and requests that are refused.

use larder_testkit::{Port, Server, failed_start, temp_dir, wait_until};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long what is in the making may take.
const AT_MOST: Duration = Duration::from_secs(60);

/// A server that serves metrics, and the port of these.
fn start(args: &[&str]) -> (Server, Port) {
    let port = Port::reserve();
    let server = Server::larder(&[args, &["--metrics-port", &port.number().to_string()]].concat());
    (server, port)
}

fn connect(port: &Port) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", port.number())).expect("metrics are served");
    socket.set_read_timeout(Some(AT_MOST)).expect("a time limit");
    socket
}

/// Sends a request as it is, and reads until the server closes. An error is the end as well.
fn send(port: &Port, request: &[u8]) -> String {
    let mut socket = connect(port);
    let _ = socket.write_all(request);
    let mut reply = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(n @ 1..) = socket.read(&mut piece) {
        reply.extend_from_slice(&piece[..n]);
    }
    String::from_utf8(reply).expect("text")
}

fn get(port: &Port, head: &str) -> String {
    send(port, format!("{head}\r\nConnection: close\r\n\r\n").as_bytes())
}

/// The samples of a page, by name and labels, after its form has been checked.
fn scrape(port: &Port) -> BTreeMap<String, f64> {
    let reply = get(port, "GET /metrics HTTP/1.1\r\nHost: localhost");
    let (head, body) = reply.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let mut samples = BTreeMap::new();
    let mut family = "";
    let mut families = Vec::new();
    for line in body.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            family = declared.split(' ').next().unwrap_or_default();
            assert!(family.starts_with("larder_"), "{line}");
            assert!(!families.contains(&family), "{family} comes twice");
            families.push(family);
        } else if !line.starts_with("# HELP larder_") {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            let bare = name.split('{').next().unwrap_or_default();
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| bare.strip_suffix(end));
            assert!(bare == family || base == Some(family), "{line} stands under {family}");
            assert!(
                samples.insert(name.to_owned(), value.parse().expect(line)).is_none(),
                "{line} comes twice"
            );
        }
    }
    samples
}

/// Scrapes until a condition holds.
fn scrape_until(
    port: &Port,
    what: &str,
    holds: impl Fn(&BTreeMap<String, f64>) -> bool,
) -> BTreeMap<String, f64> {
    let begun = Instant::now();
    loop {
        let samples = scrape(port);
        if holds(&samples) {
            return samples;
        }
        assert!(begun.elapsed() < AT_MOST, "{what}: {samples:#?}");
    }
}

const LIST_BYTES: &str = "larder_type_bytes{type=\"list\",encoding=\"quicklist\"}";

#[test]
fn figures_are_those_of_the_server() {
    let (server, port) = start(&["--list-compress-depth", "1", "--threads", "2"]);
    let mut client = server.client();
    for n in 0..50 {
        client.cmd(&["SET", &format!("s{n}"), "value"]);
        client.cmd(&["GET", &format!("s{n}")]);
    }
    client.ask("GET nothing");
    client.ask("HSET h a 1 b 2 c 3");
    client.ask("EXPIRE h 1000");
    client.ask("LPUSH s0 x");
    client.ask("SELECT 3");
    let text = "a text that is easy to compress, since it comes again and again. ".repeat(20);
    for _ in 0..200 {
        client.cmd(&["RPUSH", "list", &text]);
    }
    let samples = scrape_until(&port, "a census with compressed blocks", |samples| {
        samples["larder_census_time_seconds"] > 0.0
            && samples.get("larder_type_elements{type=\"list\",encoding=\"quicklist\"}") == Some(&200.0)
            && samples.get("larder_type_keys{type=\"string\",encoding=\"embstr\"}") == Some(&50.0)
            && samples[LIST_BYTES] * 4.0 < samples["larder_list_plain_bytes"]
    });
    assert!(samples["larder_list_blocks{form=\"compressed\"}"] > 1.0, "{samples:#?}");
    let is = |name: &str, value: f64| assert_eq!(samples.get(name), Some(&value), "{name}");
    is("larder_keys{db=\"0\"}", 51.0);
    is("larder_keys{db=\"3\"}", 1.0);
    is("larder_keys_with_expiry{db=\"0\"}", 1.0);
    is("larder_commands_total{command=\"set\"}", 50.0);
    is("larder_commands_total{command=\"get\"}", 51.0);
    is("larder_commands_failed_total{command=\"lpush\"}", 1.0);
    is("larder_errors_total{error=\"WRONGTYPE\"}", 1.0);
    is("larder_lookups_total{result=\"hit\"}", 50.0);
    is("larder_lookups_total{result=\"miss\"}", 1.0);
    is("larder_type_keys{type=\"hash\",encoding=\"listpack\"}", 1.0);
    is("larder_type_elements{type=\"hash\",encoding=\"listpack\"}", 3.0);
    is("larder_threads", 2.0);
    is("larder_clients", 1.0);
    is("larder_role{role=\"primary\"}", 1.0);
    is("larder_command_duration_seconds_count{command=\"get\"}", 51.0);
    // Estimated from some of the blocks, whose elements are like the others, with the directory of the blocks and the key.
    let plain = samples["larder_list_plain_bytes"] / (200.0 * text.len() as f64);
    assert!((1.0..1.03).contains(&plain), "{plain} of what the texts take");
    assert!(samples["larder_memory_bytes{of=\"used\"}"] > samples[LIST_BYTES], "{samples:#?}");
    buckets_add_up(&samples, "get");
}

fn buckets_add_up(samples: &BTreeMap<String, f64>, command: &str) {
    let prefix = format!("larder_command_duration_seconds_bucket{{command=\"{command}\",le=\"");
    let mut buckets: Vec<(f64, f64)> = samples
        .iter()
        .filter_map(|(name, count)| Some((name.strip_prefix(&prefix)?.strip_suffix("\"}")?, *count)))
        .map(|(limit, count)| (limit.replace("+Inf", "inf").parse().expect("a limit"), count))
        .collect();
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(buckets.len(), 26);
    assert!(buckets.is_sorted_by(|a, b| a.1 <= b.1), "{buckets:?}");
    let count = samples[&format!("larder_command_duration_seconds_count{{command=\"{command}\"}}")];
    assert_eq!(buckets.last().map(|bucket| bucket.1), Some(count));
}

#[test]
fn a_script_that_does_not_end_holds_up_no_scrape() {
    let (server, port) = start(&["--busy-reply-threshold", "50"]);
    let mut client = server.client();
    client.ask("SET k v");
    // One that lends its shards leaves the page as it is.
    client.send(&["EVAL", "redis.call('GET', KEYS[1]) while true do end", "1", "k"]);
    wait_until("it is busy", || server.client().ask("GET k").text().starts_with("BUSY "));
    assert_eq!(scrape(&port).get("larder_keys{db=\"0\"}"), Some(&1.0));
    assert_eq!(server.client().ask("SCRIPT KILL").text(), "OK");
    assert!(client.read().expect("it ends").is_error());
    client.send(&["EVAL", "redis.call('DBSIZE') while true do end", "1", "k"]);
    let samples = scrape_until(&port, "a page without the keys", |samples| {
        !samples.contains_key("larder_keys{db=\"0\"}")
    });
    assert!(samples["larder_clients"] >= 1.0);
    assert_eq!(server.client().ask("SCRIPT KILL").text(), "OK");
    scrape_until(&port, "a page with the keys", |samples| samples.get("larder_keys{db=\"0\"}") == Some(&1.0));
}

#[test]
fn what_is_not_for_it_is_refused() {
    let (_server, port) = start(&["--metrics-hosts", "metrics.example"]);
    for (head, status) in [
        ("GET /metrics HTTP/1.1\r\nHost: metrics.example:9121", 200),
        ("HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1", 200),
        ("GET /metrics HTTP/1.0", 200),
        ("GET /metrics HTTP/1.1\r\nHost: evil.example", 403),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example", 403),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example", 403),
        ("GET / HTTP/1.1\r\nHost: localhost", 404),
        ("GET /metrics/../metrics HTTP/1.1\r\nHost: localhost", 404),
        ("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0", 405),
        ("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000", 405),
        ("SET a b", 400),
        ("GET /metrics HTTP/9.9", 400),
    ] {
        let reply = get(&port, head);
        let first = reply.lines().next().unwrap_or_default();
        assert!(first.contains(&format!(" {status} ")), "{head}: {first}");
    }
    let huge = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(1 << 20));
    let reply = get(&port, &huge);
    assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 431 "), "{reply}");
}

/// Connections that say nothing, or do not end what they say, are closed; while there are too many of them others are closed at once, and
/// afterwards others are served.
#[test]
fn slow_requests_end() {
    let (server, port) = start(&[]);
    let slow: Vec<TcpStream> = (0..200)
        .map(|n| {
            let mut socket = connect(&port);
            if n % 2 == 0 {
                // It may be closed already.
                let _ = socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: local");
            }
            socket
        })
        .collect();
    assert_eq!(server.client().ask("PING").text(), "PONG");
    for mut socket in slow {
        let mut rest = Vec::new();
        // Reset, closed, or told that it took too long.
        match socket.read_to_end(&mut rest) {
            Ok(_) => assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408 "), "{rest:?}"),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
        }
    }
    assert!(scrape(&port)["larder_clients"] >= 0.0);
}

#[test]
fn metrics_are_served_on_the_addresses_of_metrics_bind() {
    // 192.0.2.0/24 is nobody's.
    let (_server, port) = start(&["--metrics-bind", "127.0.0.2 -192.0.2.1"]);
    let reach = |address: &str| TcpStream::connect((address, port.number()));
    let mut socket = reach("127.0.0.2").expect("metrics are served there");
    socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("a request is sent");
    let mut head = [0; 15];
    socket.read_exact(&mut head).expect("it is answered");
    assert_eq!(&head, b"HTTP/1.0 200 OK");
    assert_eq!(
        reach("127.0.0.1").map_err(|error| error.kind()).err(),
        Some(std::io::ErrorKind::ConnectionRefused)
    );
}

#[test]
fn a_port_that_is_taken_stops_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its number").port().to_string();
    let (status, output, _) = failed_start(&temp_dir(), &["--metrics-port", &port]);
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains(&format!("Could not serve metrics on port {port}: ")), "{output}");
}

/// What lists would take without compression is what they take, when nothing is compressed: names of keys and all else count
/// on both sides.
#[test]
fn what_compression_saves_is_never_negative() {
    let (server, port) = start(&[]);
    let mut client = server.client();
    for n in 0..300 {
        client.cmd(&["RPUSH", &format!("a-name-that-is-much-longer-than-the-list:{n}"), "x"]);
    }
    for n in 0..3000 {
        client.cmd(&["RPUSH", "long", &format!("element {n} of a list with many blocks")]);
    }
    let samples = scrape_until(&port, "a census of all lists", |samples| {
        samples.get("larder_type_elements{type=\"list\",encoding=\"quicklist\"}") == Some(&3000.0)
            && samples.get("larder_type_keys{type=\"list\",encoding=\"listpack\"}") == Some(&300.0)
    });
    let taken: f64 = samples
        .iter()
        .filter(|(name, _)| name.starts_with("larder_type_bytes{type=\"list\""))
        .map(|(_, n)| n)
        .sum();
    assert_eq!(samples["larder_list_plain_bytes"], taken, "{samples:#?}");
}

/// The dashboard and the alerts ask for metrics that there are.
#[test]
fn the_dashboard_and_the_alerts_know_the_metrics() {
    let dashboard = include_str!("../../../packaging/grafana-dashboard.json");
    let alerts = include_str!("../../../packaging/alerts.yml");
    let (server, port) = start(&["--appendonly", "yes", "--replicaof", "127.0.0.1", "1"]);
    server.client().ask("GET k");
    let page = get(&port, "GET /metrics HTTP/1.1\r\nHost: localhost");
    let mut seen = 0;
    for rest in [dashboard, alerts].iter().flat_map(|text| text.split("larder_").skip(1)) {
        let name = rest.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap_or_default();
        let family = name.strip_suffix("_bucket").unwrap_or(name);
        assert!(page.contains(&format!("# TYPE larder_{family} ")), "{name}");
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

/// Every alert has a test, and a section of the page that it refers to.
#[test]
fn alerts_are_documented_and_tested() {
    let rules = include_str!("../../../packaging/alerts.yml");
    let tests = include_str!("../../../packaging/alerts-test.yml");
    let page = include_str!("../../../docs/alerts.md");
    let sections: Vec<String> =
        page.lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_lowercase).collect();
    let mut alerts = 0;
    for rule in rules.split("- alert: ").skip(1) {
        let name = rule.lines().next().unwrap_or_default();
        let section = name.to_lowercase();
        assert!(rule.contains(&format!("runbook: \"docs/alerts.md#{section}\"")), "{name}");
        assert!(sections.contains(&section), "docs/alerts.md has no section {name}");
        assert!(tests.contains(&format!("alertname: {name}\n")), "{name} is not tested");
        alerts += 1;
    }
    assert_eq!(alerts, sections.len(), "each section is about an alert");
}
