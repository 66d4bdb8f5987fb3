//! The files of the page, as they are and compressed.

use hyper::body::Bytes;
use std::io::Write;
use std::sync::LazyLock;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// A file.
pub struct File {
    /// The path that it is asked by.
    path: &'static str,
    /// The media type.
    pub kind: &'static str,
    /// The text.
    pub text: &'static str,
}

macro_rules! files {
    ($($path:literal $kind:ident $name:literal,)*) => {
        &[$(File { path: $path, kind: $kind, text: include_str!(concat!("files/", $name)) },)*]
    };
}

const FILES: &[File] = files! {
    "/" HTML "index.html",
    "/anatomy.js" SCRIPT "anatomy.js",
    "/api.js" SCRIPT "api.js",
    "/browser.js" SCRIPT "browser.js",
    "/channels.js" SCRIPT "channels.js",
    "/charts.js" SCRIPT "charts.js",
    "/console.css" STYLE "console.css",
    "/console.js" SCRIPT "console.js",
    "/decode.js" SCRIPT "decode.js",
    "/dom.js" SCRIPT "dom.js",
    "/favicon.svg" IMAGE "favicon.svg",
    "/live.js" SCRIPT "live.js",
    "/prompt.js" SCRIPT "prompt.js",
    "/search.js" SCRIPT "search.js",
    "/servers.js" SCRIPT "servers.js",
    "/treemap.js" SCRIPT "treemap.js",
    "/value.js" SCRIPT "value.js",
};

/// The files compressed by gzip, in the order of [`FILES`]. The first request compresses them.
static PACKED: LazyLock<Vec<Bytes>> =
    LazyLock::new(|| FILES.iter().map(|file| Bytes::from(gzip(file.text))).collect());

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    written.expect("writing to memory does not fail")
}

/// Returns the file of a path, and the same compressed.
pub fn find(path: &str) -> Option<(&'static File, Bytes)> {
    let at = FILES.iter().position(|file| file.path == path)?;
    Some((&FILES[at], PACKED[at].clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let bytes: usize = PACKED.iter().map(Bytes::len).sum();
        assert!(bytes < 120_000, "{bytes}");
    }

    /// What the scripts import is served, and everything that is served is used.
    #[test]
    fn every_file_is_served_and_used() {
        let all: String = FILES.iter().map(|file| file.text).collect();
        for file in FILES.iter().filter(|file| file.path != "/") {
            assert!(all.contains(&format!("\"{}\"", file.path)), "{}", file.path);
        }
        let imports = all.split("from \"/").skip(1).filter_map(|rest| rest.split('"').next());
        for import in imports {
            assert!(FILES.iter().any(|file| file.path.strip_prefix('/') == Some(import)), "{import}");
        }
    }
}
