//! The files of the page.

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Paths, types and texts.
const FILES: &[(&str, &str, &str)] = &[
    ("/", HTML, include_str!("files/index.html")),
    ("/anatomy.js", SCRIPT, include_str!("files/anatomy.js")),
    ("/api.js", SCRIPT, include_str!("files/api.js")),
    ("/browser.js", SCRIPT, include_str!("files/browser.js")),
    ("/charts.js", SCRIPT, include_str!("files/charts.js")),
    ("/servers.js", SCRIPT, include_str!("files/servers.js")),
    ("/console.css", STYLE, include_str!("files/console.css")),
    ("/console.js", SCRIPT, include_str!("files/console.js")),
    ("/dom.js", SCRIPT, include_str!("files/dom.js")),
    ("/live.js", SCRIPT, include_str!("files/live.js")),
    ("/prompt.js", SCRIPT, include_str!("files/prompt.js")),
    ("/treemap.js", SCRIPT, include_str!("files/treemap.js")),
];

/// The type and the text of a file.
pub fn find(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(name, ..)| *name == path).map(|&(_, kind, text)| (kind, text))
}
