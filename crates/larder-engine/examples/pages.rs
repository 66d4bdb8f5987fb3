//! Writes the documents that are made from the table of options: `docs/options.md` and `docs/larder.conf`.

use larder_engine::config::{options_page, sample_file};

fn main() -> std::io::Result<()> {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    std::fs::write(format!("{docs}/options.md"), options_page())?;
    std::fs::write(format!("{docs}/larder.conf"), sample_file())
}
