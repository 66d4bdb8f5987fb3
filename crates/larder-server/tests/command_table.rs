//! The table of commands against what Valkey says of its own: every fact that COMMAND INFO and COMMAND DOCS tell, but for the
//! sentences, which are ours.

use larder_testkit::{Client, Kind, Server, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Commands that only Larder has.
const OURS: &[&str] = &["lscan", "memory|anatomy"];

/// Parts of a command's information whose order means nothing.
const SETS: &[(usize, &str)] = &[(2, "flags"), (6, "categories"), (7, "tips"), (8, "key specifications")];

/// What is not compared: sentences, and how arguments are shown.
const UNCOMPARED: &[&str] = &["deprecated_since", "display_text", "notes", "summary"];

/// All commands and subcommands, as COMMAND INFO tells of them.
fn all_info(client: &mut Client) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for info in client.ask("COMMAND INFO").items() {
        for info in std::iter::once(info).chain(info.items().last().map_or(&[][..], Value::items)) {
            all.insert(info.items()[0].text(), info.clone());
        }
    }
    all
}

fn set(value: &Value) -> BTreeSet<String> {
    value.items().iter().map(|item| unordered(item).to_lowercase()).collect()
}

/// A text that is the same for two values that differ in the order of sets.
fn unordered(value: &Value) -> String {
    match value {
        Value::Set(items) => {
            let mut texts: Vec<String> = items.iter().map(unordered).collect();
            texts.sort();
            format!("{texts:?}")
        }
        Value::Array(items) => format!("{:?}", items.iter().map(unordered).collect::<Vec<_>>()),
        Value::Map(items) => {
            let fields = items.chunks_exact(2).filter(|field| !UNCOMPARED.contains(&&*field[0].text()));
            let texts = fields.map(|field| format!("{}={}", field[0].text(), unordered(&field[1])));
            format!("{:?}", texts.collect::<Vec<_>>())
        }
        Value::Int(number) => number.to_string(),
        other => other.text(),
    }
}

fn compare_info(name: &str, ours: &Value, theirs: &Value) -> Vec<String> {
    let (ours, theirs) = (ours.items(), theirs.items());
    let mut differences = Vec::new();
    for (field, what) in [(1, "arity"), (3, "first key"), (4, "last key"), (5, "step")] {
        if ours[field] != theirs[field] {
            differences.push(format!("{name}: {what} {} and not {}", ours[field], theirs[field]));
        }
    }
    for (field, what) in SETS {
        let (ours, theirs) = (set(&ours[*field]), set(&theirs[*field]));
        if ours != theirs {
            let more: Vec<_> = ours.difference(&theirs).collect();
            let less: Vec<_> = theirs.difference(&ours).collect();
            differences.push(format!("{name}: {what} has {more:?} and lacks {less:?}"));
        }
    }
    differences
}

#[test]
fn facts_are_those_of_valkey() {
    let (larder, valkey) = (Server::larder(&[]), Server::of(Kind::Valkey, &[]));
    let (mut larder, mut valkey) = (larder.client(), valkey.client());
    larder.ask("HELLO 3");
    valkey.ask("HELLO 3");
    let (mut ours, theirs) = (all_info(&mut larder), all_info(&mut valkey));
    ours.retain(|name, _| !OURS.contains(&name.as_str()));
    let mut differences = Vec::new();
    for name in ours.keys().filter(|name| !theirs.contains_key(*name)) {
        differences.push(format!("{name} is not a command of Valkey"));
    }
    for (name, theirs) in &theirs {
        match ours.get(name) {
            Some(ours) => differences.extend(compare_info(name, ours, theirs)),
            None => differences.push(format!("{name} is missing")),
        }
    }
    assert!(theirs.len() > 350, "only {} commands were compared", theirs.len());
    Kind::Valkey.judge(&mut valkey, &differences.join("\n"));
}

/// Names of commands and subcommands with what COMMAND DOCS says of each, the fields by name.
type Docs = BTreeMap<String, BTreeMap<String, Value>>;

fn add_docs(all: &mut Docs, docs: &Value) {
    for pair in docs.items().chunks(2) {
        let fields: BTreeMap<String, Value> =
            pair[1].items().chunks(2).map(|field| (field[0].text(), field[1].clone())).collect();
        if let Some(subcommands) = fields.get("subcommands") {
            add_docs(all, subcommands);
        }
        all.insert(pair[0].text(), fields);
    }
}

#[test]
fn documentation_is_that_of_valkey() {
    let (larder, valkey) = (Server::larder(&[]), Server::of(Kind::Valkey, &[]));
    let (mut ours, mut theirs) = (Docs::new(), Docs::new());
    let (mut larder, mut valkey) = (larder.client(), valkey.client());
    larder.ask("HELLO 3");
    valkey.ask("HELLO 3");
    add_docs(&mut ours, &larder.ask("COMMAND DOCS"));
    add_docs(&mut theirs, &valkey.ask("COMMAND DOCS"));
    let mut differences = Vec::new();
    for (name, theirs) in &theirs {
        let Some(ours) = ours.get(name) else { continue };
        for field in ["since", "group", "arguments"] {
            let (ours, theirs) = (ours.get(field), theirs.get(field));
            if ours.map(unordered) != theirs.map(unordered) {
                let show =
                    |value: Option<&Value>| value.map_or("nothing".to_owned(), unordered).replace('\\', "");
                differences.push(format!("{name}: {field}\n  {}\n  {}", show(ours), show(theirs)));
            }
        }
    }
    Kind::Valkey.judge(&mut valkey, &differences.join("\n"));
}

#[test]
fn every_command_is_documented() {
    let server = Server::larder(&[]);
    let mut docs = Docs::new();
    add_docs(&mut docs, &server.client().ask("COMMAND DOCS"));
    for (name, fields) in &docs {
        for field in ["summary", "since", "group", "complexity"] {
            assert!(fields.contains_key(field), "{name} has no {field}");
        }
    }
}

#[test]
fn lists_have_subcommands() {
    let server = Server::larder(&[]);
    let list = server.client().ask("COMMAND LIST");
    assert!(list.items().iter().any(|name| name.text() == "config|get"));
}
