//! A reader of a feature store: a model asks for the features of users, thousands of times a second, and gets them from its own memory.
//!
//! `cargo run -p larder-embed --example feature_store -- redis://127.0.0.1:6379`
//!
//! The features of a user are a hash `features:<user>`. The reader follows the server that has them, holds these keys only, and keeps
//! what it has decoded until it hears that the hash has changed.

use larder_embed::{Event, Events, Replica, ReplicaOptions, Result};
use std::collections::HashMap;

/// What a model is asked about.
pub struct FeatureStore {
    replica: Replica,
    changes: Events,
    /// Features that are decoded: names and numbers.
    decoded: HashMap<Vec<u8>, Vec<(String, f64)>>,
}

impl FeatureStore {
    /// Follows the server of an address.
    pub fn connect(url: &str) -> Result<FeatureStore> {
        let options = ReplicaOptions::new().pattern("features:*");
        let replica = Replica::connect_with(url, &options)?;
        // Changes that wait while the model does something else; beyond that everything is decoded again.
        let changes = replica.events(&["features:*"], 10_000)?;
        Ok(FeatureStore { replica, changes, decoded: HashMap::new() })
    }

    /// The features of a user, sorted by their names; none if the user is not known.
    pub fn features(&mut self, user: &str) -> Result<&[(String, f64)]> {
        while let Some(change) = self.changes.try_next() {
            match change {
                Event::Changed(key) => drop(self.decoded.remove(&key)),
                Event::Everything => self.decoded.clear(),
            }
        }
        let key = format!("features:{user}").into_bytes();
        if !self.decoded.contains_key(&key) {
            let fields = self.replica.data().hgetall(&key)?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let number = |bytes: &[u8]| text(bytes).parse().unwrap_or(f64::NAN);
            let mut features: Vec<_> =
                fields.iter().map(|(name, value)| (text(name), number(value))).collect();
            features.sort_by(|a, b| a.0.cmp(&b.0));
            self.decoded.insert(key.clone(), features);
        }
        Ok(&self.decoded[&key])
    }

    /// How the replica is doing.
    pub fn replica(&self) -> &Replica {
        &self.replica
    }
}

#[allow(dead_code, reason = "the test that includes this file asks for features itself")]
fn main() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let mut store = FeatureStore::connect(&url)?;
    println!("{:?}", store.replica().status());
    for user in std::env::args().skip(2) {
        println!("{user}: {:?}", store.features(&user)?);
    }
    Ok(())
}
