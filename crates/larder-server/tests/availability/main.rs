//! What the documents promise to those who run several servers: Sentinels that fail over, moving in from another server and back. The
//! configurations and commands are taken from the documents.

mod migrate;
mod sentinel;

use larder_testkit::{Client, Value, wait_until};
use std::time::Duration;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A document.
fn document(name: &str) -> String {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The blocks of code of a language in a document.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let parts = document.split(fence.as_str()).skip(1);
    parts.filter_map(|part| part.split_once("```")).map(|(block, _)| block.to_owned()).collect()
}

/// A field of `INFO replication`, or nothing while the server does not answer.
fn replication_info(client: &mut Client, name: &str) -> String {
    client.send(&["INFO", "replication"]);
    let text = client.read().map_or_else(|_| String::new(), |reply: Value| reply.text());
    info_field(&text, name)
}

/// A field of what INFO says, or nothing.
fn info_field(info: &str, name: &str) -> String {
    let field = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
    field.unwrap_or_default()
}
