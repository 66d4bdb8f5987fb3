//! Writes the files that are made from the table of options.

use std::path::Path;

fn main() -> std::io::Result<()> {
    for (name, text) in larder_load::documents::documents() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name), text)?;
    }
    Ok(())
}
