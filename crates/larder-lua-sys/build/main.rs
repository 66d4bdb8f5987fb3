//! Copies the sources of Lua 5.1.5, edits the copies, and compiles them into a static library.

mod edits;

use edits::{EDITS, Edit};
use std::panic::{catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build");
    let from = sources();
    let to = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("lua");
    fs::create_dir_all(&to).expect("a folder for the sources");
    let mut build = cc::Build::new();
    for name in names(&from) {
        let text = fs::read(from.join(&name)).expect("a source file");
        fs::write(to.join(&name), edited(&name, text)).expect("a file in the build folder");
        if name.ends_with(".c") {
            build.file(to.join(&name));
        }
    }
    if env::var("CARGO_CFG_UNIX").is_ok() {
        // Errors are raised by _longjmp, which saves no signal mask.
        build.define("LUA_USE_POSIX", None);
    }
    build.include(&to).warnings(false).flag_if_supported("-fno-common").opt_level(3);
    // `mlua-sys`, which needs the symbols, may come later on the linker's command line.
    build.link_lib_modifier("+whole-archive").compile("larder_lua5.1");
}

/// The folder with the sources. The crate does not tell where it is, but it panics when it is asked to build for an unknown
/// platform, and a panic says in which file it is.
fn sources() -> PathBuf {
    let (tell, told) = mpsc::channel();
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        let _ = tell.send(panic.location().map(|place| PathBuf::from(place.file())));
    }));
    let refused = catch_unwind(|| {
        lua_src::Build::new().target("none").build(lua_src::Lua51);
    });
    set_hook(hook);
    assert!(refused.is_err(), "lua-src builds for any platform");
    let file = told.recv().ok().flatten().expect("a panic has a place");
    let folder =
        file.ancestors().map(|folder| folder.join("lua-5.1.5")).find(|folder| folder.join("lua.h").is_file());
    folder.unwrap_or_else(|| panic!("no sources of Lua 5.1.5 beside {}", file.display()))
}

/// The C files and headers, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder of the sources");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(".c") || name.ends_with(".h"));
    names.sort_unstable();
    names
}

/// A source file with all edits made that are meant for it.
fn edited(name: &str, text: Vec<u8>) -> String {
    let mut text = String::from_utf8(text).expect("text");
    for Edit { why, find, put, times, .. } in EDITS.iter().filter(|edit| edit.file == name) {
        let found = text.matches(find).count();
        assert_eq!(found, *times, "{name}: `{find}` is there {found} times ({why})");
        text = text.replace(find, put);
    }
    text
}
