//! The `redis` crate as a client.

use larder_testkit::Server;
use redis::{Commands, Connection, ConnectionLike, RedisResult};

fn connect(server: &Server, suffix: &str) -> Connection {
    let url = format!("redis://127.0.0.1:{}/{suffix}", server.port());
    redis::Client::open(url)
        .and_then(|client| client.get_connection())
        .expect("the server accepts the client")
}

#[test]
fn everyday_use() -> RedisResult<()> {
    let server = Server::larder(&["--threads", "2"]);
    for protocol in ["", "?protocol=resp3"] {
        let mut c = connect(&server, protocol);
        assert!(c.check_connection());
        let _: () = c.flushall()?;
        let _: () = c.set_ex("k", "v", 100)?;
        assert_eq!(c.get::<_, Option<String>>("k")?, Some("v".to_owned()));
        assert!((95..=100).contains(&c.ttl::<_, i64>("k")?));
        assert_eq!(c.incr::<_, _, i64>("n", 41)?, 41);
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let _: () = c.set("bytes", &bytes)?;
        assert_eq!(c.get::<_, Vec<u8>>("bytes")?, bytes);
        assert_eq!(c.rpush::<_, _, usize>("l", &["a", "b", "c"])?, 3);
        assert_eq!(c.lrange::<_, Vec<String>>("l", 0, -1)?, ["a", "b", "c"]);
        assert_eq!(c.blpop::<_, (String, String)>("l", 1.0)?, ("l".to_owned(), "a".to_owned()));
        let (n, list): (i64, Vec<String>) =
            redis::pipe().atomic().incr("n", 1).lrange("l", 0, -1).query(&mut c)?;
        assert_eq!((n, list.len()), (42, 2));
        let keys: Vec<String> = c.scan::<String>()?.collect::<RedisResult<_>>()?;
        assert_eq!(keys.len(), 4);
        let error = c.lpush::<_, _, i64>("k", "x").expect_err("a string is no list");
        assert_eq!(error.code(), Some("WRONGTYPE"));
    }
    Ok(())
}

#[test]
fn a_transaction_retries_until_it_is_alone() -> RedisResult<()> {
    let server = Server::larder(&["--threads", "2"]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut c = connect(&server, "");
                for _ in 0..50 {
                    let _: (i64,) = redis::transaction(&mut c, &["n"], |c, pipe| {
                        let n: i64 = c.get("n").unwrap_or(0);
                        pipe.set("n", n + 1).ignore().get("n").query(c)
                    })
                    .expect("the transaction ends");
                }
            });
        }
    });
    assert_eq!(connect(&server, "").get::<_, i64>("n")?, 200);
    Ok(())
}
