//! Writes the files that are made from the tables of options and commands.

use std::path::Path;

fn main() -> std::io::Result<()> {
    for (name, text) in larder_engine::documents() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder"))?;
        std::fs::write(path, text)?;
    }
    Ok(())
}
