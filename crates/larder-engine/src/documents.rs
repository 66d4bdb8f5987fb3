//! The files that are made from the tables of options and commands. The example `pages` writes them.

use crate::commands::introspection::page::commands_page;
use crate::config;

/// Each file's path from the root of the project, and what it is to say.
pub fn documents() -> Vec<(&'static str, String)> {
    vec![
        ("docs/commands.md", commands_page()),
        ("docs/larder.conf", config::sample_file()),
        ("docs/options.md", config::options_page()),
        ("packaging/larder.conf", config::packaged_file()),
        ("packaging/man/larder-server.1", config::server_manual()),
        ("packaging/man/larder.conf.5", config::file_manual()),
        ("packaging/completions/larder-server.bash", config::bash_completion()),
        ("packaging/completions/larder-server.fish", config::fish_completion()),
        ("packaging/completions/_larder-server", config::zsh_completion()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn documents_are_what_the_tables_say() {
        for (name, made) in documents() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(text == made, "{} is not what the tables say: make pages", path.display());
        }
    }
}
