//! Which file of a crate imports which: for tests of the order of layers.
//!
//! An import is a path to another file of the crate, in a `use` or anywhere else, outside of tests. It is an import of the file that
//! defines the item: a re-export (`pub use`) is looked through, and is none itself. A method called on a value imports nothing.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemMod, ItemUse, Macro, Path, UseTree, VisRestricted, Visibility};

/// Re-exports of re-exports, at most.
const FACES_DEPTH_MAX: usize = 8;

/// The files of a crate by their modules (`keyspace::shard`; empty for the root), and what each imports.
#[derive(Debug, Default)]
pub struct Imports {
    files: BTreeMap<String, BTreeSet<Import>>,
}

/// One path in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// The module whose file defines what is imported.
    pub module: String,
    /// The path as it is written, from the crate's root on.
    pub path: String,
}

impl Imports {
    /// Reads the sources of a crate below `src`. Modules of tests (`#[cfg(test)]`) are left out.
    pub fn of_crate(src: &std::path::Path) -> Self {
        let mut sources = BTreeMap::new();
        read(src, &mut Vec::new(), &mut sources);
        let tests: BTreeSet<String> = sources.values().flat_map(|source| source.tests.clone()).collect();
        sources.retain(|module, _| !tests.contains(module));
        let faces: BTreeMap<(String, String), Vec<String>> = sources
            .iter()
            .flat_map(|(module, source)| {
                source.faces.iter().map(|(name, path)| ((module.clone(), name.clone()), path.clone()))
            })
            .collect();
        let files = sources
            .iter()
            .map(|(module, source)| {
                let imports = source.paths.iter().filter_map(|path| {
                    let home = home(&sources, &faces, path, 0)?;
                    (home != *module).then(|| Import { module: home, path: path.join("::") })
                });
                (module.clone(), imports.collect())
            })
            .collect();
        Imports { files }
    }

    /// The modules that have files, and what each imports.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BTreeSet<Import>)> {
        self.files.iter().map(|(module, imports)| (module.as_str(), imports))
    }

    /// Groups of files each of which imports, by way of others, all others of its group. O(files * imports).
    pub fn circles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.files.keys().map(|module| (module.as_str(), self.reached_from(module))).collect();
        let mut circles: Vec<Vec<&str>> = Vec::new();
        for (&module, from_here) in &reached {
            if circles.iter().flatten().any(|&other| other == module) || !from_here.contains(module) {
                continue;
            }
            circles.push(from_here.iter().copied().filter(|other| reached[other].contains(module)).collect());
        }
        circles
    }

    /// All files that a file imports, and those that these import, and so on.
    fn reached_from(&self, module: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![module];
        while let Some(next) = open.pop() {
            for import in &self.files[next] {
                let (other, _) = self.files.get_key_value(&import.module).expect("imports are of files");
                if reached.insert(other.as_str()) {
                    open.push(other);
                }
            }
        }
        reached
    }
}

/// What a file says.
#[derive(Default)]
struct Source {
    /// Paths of imports, from the root on.
    paths: BTreeSet<Vec<String>>,
    /// Names that are re-exported, and what they stand for.
    faces: Vec<(String, Vec<String>)>,
    /// Modules of tests that are declared.
    tests: Vec<String>,
    module: Vec<String>,
    /// The modules around what is visited that have no file of their own.
    inline: Vec<String>,
}

/// Reads the files of a folder.
fn read(folder: &std::path::Path, module: &mut Vec<String>, sources: &mut BTreeMap<String, Source>) {
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            module.push(name);
            read(&path, module, sources);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let own = match name.as_str() {
                "lib" | "main" | "mod" => module.clone(),
                _ => [module.as_slice(), &[name]].concat(),
            };
            let text = fs::read_to_string(&path).expect("it is readable");
            let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut source = Source { module: own.clone(), ..Source::default() };
            source.visit_file(&file);
            sources.insert(own.join("::"), source);
        }
    }
}

impl Source {
    /// A path from the root on. What begins with another name is taken to begin with that of a module below this one; if there is none,
    /// [`home`] finds that the path leads nowhere else.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut base = [self.module.as_slice(), &self.inline].concat();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "self" => rest = &path[1..],
            "super" => {
                while let Some((_, after)) = rest.split_first().filter(|(first, _)| *first == "super") {
                    base.pop();
                    rest = after;
                }
            }
            _ => {}
        }
        Some([base.as_slice(), rest].concat())
    }

    fn add(&mut self, path: &[String]) {
        self.paths.extend(self.absolute(path));
    }

    /// Every path of a `use`, and the name that it gets.
    fn flatten(tree: &UseTree, before: &mut Vec<String>, found: &mut Vec<(String, Vec<String>)>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                Self::flatten(&path.tree, before, found);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| Self::flatten(tree, before, found)),
            UseTree::Glob(_) => found.push(("*".to_owned(), before.clone())),
            UseTree::Name(name) if name.ident == "self" => {
                found.push((before.last().cloned().unwrap_or_default(), before.clone()));
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                found.push((name.clone(), [before.as_slice(), &[name]].concat()));
            }
            UseTree::Rename(rename) => {
                let path = match rename.ident == "self" {
                    true => before.clone(),
                    false => [before.as_slice(), &[rename.ident.to_string()]].concat(),
                };
                found.push((rename.rename.to_string(), path));
            }
        }
    }

    /// Paths among the tokens of a macro's arguments.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let mut path = Vec::new();
            let mut end = at;
            while let Some(TokenTree::Ident(word)) = tokens.get(end) {
                path.push(word.to_string());
                let colons = [end + 1, end + 2].map(|at| tokens.get(at).is_some_and(is_colon));
                if colons != [true, true] {
                    break;
                }
                end += 3;
            }
            if path.len() > 1 {
                self.add(&path);
            }
            if let TokenTree::Group(group) = &tokens[at] {
                self.scan(group.stream());
            }
            at = end.max(at) + 1;
        }
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}

/// Whether something is there for tests only.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Const(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            Item::Type(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            // A module of tests has to be known by its name.
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let name = module.ident.to_string();
        if is_for_tests(&module.attrs) {
            let path = [self.module.as_slice(), &self.inline, &[name]].concat();
            self.tests.push(path.join("::"));
            return;
        }
        self.inline.push(name);
        visit::visit_item_mod(self, module);
        self.inline.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut found = Vec::new();
        Self::flatten(&item.tree, &mut Vec::new(), &mut found);
        for (name, path) in found {
            let Some(absolute) = self.absolute(&path) else { continue };
            if matches!(item.vis, Visibility::Inherited) {
                self.paths.insert(absolute);
            } else {
                self.faces.push((name, absolute));
            }
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if words.len() > 1 {
            self.add(&words);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.scan(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}

/// The module whose file defines what a path stands for; `None` when it is of another crate.
fn home(
    sources: &BTreeMap<String, Source>,
    faces: &BTreeMap<(String, String), Vec<String>>,
    path: &[String],
    depth: usize,
) -> Option<String> {
    let len = (0..=path.len()).rev().find(|&len| sources.contains_key(&path[..len].join("::")))?;
    let module = path[..len].join("::");
    let Some(name) = path.get(len) else { return Some(module) };
    match faces.get(&(module.clone(), name.clone())) {
        Some(face) if depth < FACES_DEPTH_MAX => {
            let whole = [face.as_slice(), &path[len + 1..]].concat();
            home(sources, faces, &whole, depth + 1).or(Some(module))
        }
        _ => Some(module),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate of these files.
    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let root = std::env::temp_dir().join(format!("larder-imports-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("it is in the root")).expect("a folder can be made");
            fs::write(path, text).expect("a file can be written");
        }
        let imports = Imports::of_crate(&root);
        let circles = imports.circles();
        let found =
            circles.iter().map(|circle| circle.iter().map(|&module| module.to_owned()).collect()).collect();
        fs::remove_dir_all(&root).expect("it was made here");
        found
    }

    #[test]
    fn circles_are_found_however_they_are_written() {
        let child = ("a/child.rs", "use super::A; pub fn f(_: A) {}");
        let whole = vec![vec!["a".to_owned(), "a::child".to_owned()]];
        for user in [
            "mod child; pub struct A; fn g() { child::f(A) }",
            "mod child; pub struct A; fn g() { println!(\"{:?}\", child::f(A)) }",
            "mod child; pub struct A; use child::f;",
            "mod child; pub struct A; fn g() { self::child::f(A) }",
            "mod child; pub struct A; fn g() { crate::a::child::f(A) }",
        ] {
            assert_eq!(circles(&[("lib.rs", "mod a;"), ("a/mod.rs", user), child]), whole, "{user}");
        }
        for user in [
            "mod child; pub struct A; pub use child::f;",
            "mod child; pub struct A; #[cfg(test)] mod tests { use super::child::f; }",
        ] {
            assert!(circles(&[("lib.rs", "mod a;"), ("a/mod.rs", user), child]).is_empty(), "{user}");
        }
        let round = [
            ("lib.rs", "mod a; mod b; mod c; pub use a::A;"),
            ("a.rs", "pub struct A; use crate::b::B;"),
            ("b.rs", "pub struct B; use crate::c::C;"),
            ("c.rs", "pub struct C; fn f(_: crate::A) {}"),
        ];
        assert_eq!(circles(&round), vec![vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]]);
    }
}
