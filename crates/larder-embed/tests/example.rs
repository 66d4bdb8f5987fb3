//! The example of docs/embed.md, run.

#[path = "../examples/feature_store.rs"]
mod feature_store;

use feature_store::FeatureStore;
use larder_testkit::Server;
use std::time::{Duration, Instant};

#[test]
fn a_model_gets_the_features_that_are_written() {
    let server = Server::larder(&["--repl-diskless-sync-delay", "0"]);
    let mut client = server.client();
    client.ask("HSET features:ada age 36 visits 3");
    client.ask("SET unrelated v");
    let mut store =
        FeatureStore::connect(&format!("redis://127.0.0.1:{}", server.port())).expect("it connects");
    let named = |name: &str, value: f64| (name.to_owned(), value);
    assert_eq!(store.features("ada").expect("it is read"), [named("age", 36.0), named("visits", 3.0)]);
    assert_eq!(store.features("nobody").expect("it is read"), []);
    assert_eq!(store.replica().data().dbsize().expect("it is read"), 1, "only features are held");
    client.ask("HINCRBY features:ada visits 1");
    client.ask("HSET features:nobody age 1");
    let deadline = Instant::now() + Duration::from_secs(30);
    while store.features("ada").expect("it is read")[1].1 < 4.0
        || store.features("nobody").expect("it is read").is_empty()
    {
        assert!(Instant::now() < deadline, "changes come");
        std::thread::sleep(Duration::from_millis(1));
    }
    // After a snapshot everything is decoded again.
    client.ask("DEBUG CHANGE-REPL-ID");
    client.ask("CLIENT KILL TYPE replica");
    client.ask("DEL features:nobody");
    while !store.features("nobody").expect("it is read").is_empty() {
        assert!(Instant::now() < deadline, "changes come");
        std::thread::sleep(Duration::from_millis(1));
    }
}
