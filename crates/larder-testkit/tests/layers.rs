//! Imports run one way: no crate has a circle of files, and no layer of the engine imports one above it.
//!
//! What the layers are, and why in this order: `docs/design/engine.md`.

use larder_testkit::imports::Imports;
use std::path::{Path, PathBuf};

/// The folders and files at the root of `larder-engine`, each above those before it. A file at the root that stands alone, as
/// `clock.rs`, is a layer like any folder.
const ENGINE: &[&str] = &[
    "clock",
    "error",
    "ledger",
    "host",
    "threads",
    "throttle",
    "version",
    "panic_on_demand",
    "text",
    "config",
    "command",
    "scripts",
    "persistence",
    "keyspace",
    "cluster",
    "stats",
    "acl",
    "config_file",
    "pubsub",
    "tracking",
    "aof",
    "replication",
    "clients",
    "delivery",
    "engine",
    "eviction",
    "context",
    "execution",
    "scripting",
    "commands",
    "worker",
    "local",
    "applier",
    "snapshot",
    "maintenance",
    "metrics",
    "detached",
    "debug_copy",
    "crash",
    "unit_check",
    "documents",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_layers_of_the_engine_import_downwards() {
    let imports = Imports::of_crate(&crates().join("larder-engine/src"));
    let rank = |module: &str| {
        let layer = module.split("::").next().unwrap_or_default();
        let at = ENGINE.iter().position(|&other| other == layer);
        at.unwrap_or_else(|| panic!("'{layer}' has a place in the order of layers"))
    };
    let mut upward = Vec::new();
    let mut seen = 0;
    // The root says what is there; it stands above all.
    for (module, from_here) in imports.iter().filter(|(module, _)| !module.is_empty()) {
        for import in from_here.iter().filter(|import| !import.module.is_empty()) {
            seen += 1;
            if rank(&import.module) > rank(module) {
                upward.push(format!("{module} imports {}", import.path));
            }
        }
    }
    assert!(seen > 1000, "only {seen} imports were found");
    assert!(upward.is_empty(), "{}", upward.join("\n"));
}

#[test]
fn no_crate_has_a_circle_of_files() {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(crates()).expect("the folder is there").flatten() {
        let imports = Imports::of_crate(&entry.path().join("src"));
        let name = entry.file_name().to_string_lossy().into_owned();
        println!("{name}: {} files", imports.iter().count());
        found.extend(imports.circles().iter().map(|circle| format!("{name}: {}", circle.join(", "))));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
