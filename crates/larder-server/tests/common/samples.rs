//! Data of every type and encoding.

use larder_testkit::{Client, Value};

/// Options of a server that make the encodings of one round.
pub const ROUNDS: [&[&str]; 4] = [
    &[],
    &["--list-max-listpack-size", "3", "--list-compress-depth", "1"],
    &["--rdbcompression", "no", "--list-max-listpack-size", "-1"],
    &["--hash-max-listpack-entries", "0", "--zset-max-listpack-value", "4", "--set-max-intset-entries", "10"],
];

/// Fills a server with values of every type in small and large encodings; the names of the keys.
pub fn fill(client: &mut Client) -> Vec<String> {
    let text = |len: usize| (0..len).map(|i| char::from(b'a' + (i * i % 17) as u8)).collect::<String>();
    let mut keys = Vec::new();
    let strings =
        ["", "0", "-129", "65536", "2147483648", "9223372036854775807", "12345678901234567890", "3.0"];
    for (i, value) in
        strings.iter().map(|s| (*s).to_owned()).chain([text(20), text(21), text(100_000)]).enumerate()
    {
        keys.push(format!("string:{i}"));
        client.cmd(&["SET", keys.last().expect("just pushed"), &value]);
    }
    for (count, len) in [(1, 1), (5, 10), (400, 3), (60, 5000), (2, 100_000), (3000, 0)] {
        keys.push(format!("list:{count}:{len}"));
        let key = keys.last().expect("just pushed").clone();
        let elements =
            (0..count).map(|i| if i % 3 == 0 { (i * 31 - 7).to_string() } else { text(len + i % 5) });
        let all: Vec<String> = ["RPUSH".to_owned(), key].into_iter().chain(elements).collect();
        assert_eq!(client.cmd(&all), Value::Int(count as i64));
    }
    for (count, len) in [(1, 1), (5, 10), (5, 100), (500, 3), (3000, 20)] {
        let member = |i: usize| format!("{}{i}", text(len));
        let mut put = |name: &str, args: Vec<String>| {
            let key = format!("{name}:{count}:{len}");
            client.cmd(&[vec![name.to_owned(), key.clone()], args].concat());
            keys.push(key);
        };
        put("SADD", (0..count).map(member).collect());
        put("HSET", (0..count).flat_map(|i| [member(i), (i * 7).to_string()]).collect());
        put("ZADD", (0..count).flat_map(|i| [format!("{}", i as f64 / 3.0 - 50.0), member(i)]).collect());
    }
    for (name, first, step, count) in
        [("small", -5, 3, 20), ("wide", 1, 70_000, 300), ("huge", i64::MIN, 1 << 52, 3000)]
    {
        let numbers = (0..count).map(|i| (first + step * i).to_string()).collect::<Vec<_>>();
        let sadd = [vec!["SADD".to_owned(), name.to_owned()], numbers].concat();
        client.cmd(&sadd);
        keys.push(name.to_owned());
    }
    client.ask("SADD mixed 1 2 three 4 -5");
    client.ask("ZADD scores inf a -inf b 0 c 3.14 d 1e300 e -1e-300 f 9007199254740993 g 17 h 0.1 17");
    client.ask("HSET hash 1 2 3 four five 6");
    keys.extend(["mixed", "scores", "hash"].map(str::to_owned));
    keys
}
