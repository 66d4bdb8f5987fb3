//! The table of commands against what Valkey says of its own: every fact that COMMAND INFO and COMMAND DOCS tell, but for the
//! sentences, which are ours.

use larder_testkit::{Client, Kind, Server, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Commands that only Larder has.
const OURS: &[&str] = &["lscan", "memory|anatomy"];

/// Parts of a command's information whose order means nothing.
const SETS: &[(usize, &str)] = &[(2, "flags"), (6, "categories"), (7, "tips"), (8, "key specifications")];

/// Sentences, of which only that they are there is compared.
const SENTENCES: &[&str] = &["notes", "summary"];

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

/// The elements of a set; one that is there twice counts twice.
fn set(value: &Value) -> BTreeSet<String> {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let counted = value.items().iter().map(|item| {
        let text = unordered(item).to_lowercase();
        let times = count.entry(text.clone()).or_default();
        *times += 1;
        if *times > 1 { format!("{text} {times}") } else { text }
    });
    counted.collect()
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
            let text = |field: &[Value]| match field[0].text() {
                name if SENTENCES.contains(&&*name) => name,
                name => format!("{name}={}", unordered(&field[1])),
            };
            format!("{:?}", items.chunks_exact(2).map(text).collect::<Vec<_>>())
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
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        for field in names {
            let (ours, theirs) = (fact(field, ours), fact(field, theirs));
            if ours != theirs {
                let (ours, theirs) = (ours.replace('\\', ""), theirs.replace('\\', ""));
                differences.push(format!("{name}: {field}\n  {ours}\n  {theirs}"));
            }
        }
    }
    Kind::Valkey.judge(&mut valkey, &differences.join("\n"));
}

/// What a field says, without sentences: those of summaries and complexities, and of the history all but the versions.
fn fact(name: &str, fields: &BTreeMap<String, Value>) -> String {
    match (name, fields.get(name)) {
        (_, None) => "nothing".to_owned(),
        ("summary" | "complexity" | "subcommands", Some(_)) => "something".to_owned(),
        ("history", Some(value)) => {
            let mut versions: Vec<String> =
                value.items().iter().map(|change| change.items()[0].text()).collect();
            versions.sort();
            versions.join(" ")
        }
        (_, Some(value)) => unordered(value),
    }
}

/// Fields that depend on nothing but the table come in the same order, which clients of RESP2 may index by.
fn order(docs: &Value) -> Vec<String> {
    docs.items().iter().step_by(2).map(Value::text).collect()
}

#[test]
fn fields_come_in_the_order_of_valkey() {
    let (larder, valkey) = (Server::larder(&[]), Server::of(Kind::Valkey, &[]));
    for name in ["get", "set", "slaveof", "debug", "restore-asking", "config", "monitor"] {
        let [ours, theirs] = [&larder, &valkey].map(|server| {
            let docs = server.client().cmd(&["COMMAND", "DOCS", name]);
            let info = server.client().cmd(&["COMMAND", "INFO", name]);
            let spec = info.items()[0].items()[8].items().first().map(order);
            (order(&docs.items()[1]), spec)
        });
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn every_command_is_documented() {
    let server = Server::larder(&[]);
    let mut docs = Docs::new();
    add_docs(&mut docs, &server.client().ask("COMMAND DOCS"));
    for (name, fields) in &docs {
        for field in ["summary", "since", "group"] {
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
