//! From the command line and the configuration file to a loaded [`Config`]: all the files that takes.

use larder_engine::Names;
use larder_engine::config::{CommandLine, Config, FatalConfig};
use larder_engine::config_file::Loaded;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What the start needs to know.
pub struct Settings {
    /// The options.
    pub config: Config,
    /// Full path of the configuration file.
    pub file: Option<PathBuf>,
    /// What commands are called.
    pub names: Names,
    /// `user` lines: name and rules.
    pub users: Vec<Vec<String>>,
    /// Whether any configuration was given at all.
    pub configured: bool,
}

impl Settings {
    /// Reads everything that `line` names.
    pub fn load(line: &CommandLine, cores: usize) -> Result<Settings, FatalConfig> {
        let config = Config::new(cores);
        let file =
            line.config_file.as_deref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.into()));
        let text = line.config_file.as_deref().map(read_text).transpose()?;
        let stdin = line.from_stdin.then(read_stdin);
        let whole = line.whole_text(text.as_deref(), stdin.as_deref());
        let loaded = Loaded::load(&config, &whole, &mut include)?;
        check_supported(&loaded)?;
        enter_dir(&config)?;
        check_log_file(&config.value("logfile"))?;
        let configured = file.is_some() || !whole.is_empty();
        Ok(Settings { config, file, names: loaded.names, users: loaded.users, configured })
    }
}

/// Refuses what would be useless to leave out: modules.
fn check_supported(loaded: &Loaded) -> Result<(), FatalConfig> {
    if loaded.modules.is_empty() {
        return Ok(());
    }
    Err(FatalConfig::Conflict("This server has no support for 'loadmodule' lines".to_string()))
}

/// The system's own words for an error, without Rust's number after them.
pub fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// Writes the configuration file again, with these lines for the users, and with `all` options or those that need it.
pub fn rewrite(config: &Config, path: &Path, users: &[String], all: bool) -> io::Result<()> {
    let old = match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    replace(path, config.rewrite_with(&old, users, all).as_bytes())
}

/// Writes a file again: next to the old one first, then in its place.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(name);
    let written = put_in_place(path, &temporary, bytes);
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn put_in_place(path: &Path, temporary: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(temporary, bytes)?;
    crate::sys::set_permissions(temporary, 0o644)?;
    fs::File::open(temporary)?.sync_all()?;
    fs::rename(temporary, path)
}

fn read_text(path: &str) -> Result<String, FatalConfig> {
    let unreadable =
        |error: io::Error| FatalConfig::Unreadable { path: path.into(), reason: system_text(&error) };
    // Opened first: a directory can be opened and not read, which Redis takes for an empty file.
    let mut bytes = Vec::new();
    let mut file = fs::File::open(path).map_err(unreadable)?;
    match file.read_to_end(&mut bytes) {
        Err(error) if error.kind() != io::ErrorKind::IsADirectory => Err(unreadable(error)),
        _ => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn read_stdin() -> String {
    let mut bytes = Vec::new();
    // What cannot be read is not there.
    let _ = io::stdin().lock().read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text of an included file, or of all files that a pattern names.
fn include(path: &str) -> Result<String, String> {
    let read = |path: &Path| match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(system_text(&error)),
    };
    if !path.contains(['*', '?', '[']) {
        return read(Path::new(path));
    }
    let texts: Result<Vec<String>, String> = crate::sys::glob(path).iter().map(|path| read(path)).collect();
    Ok(texts?.join("\n"))
}

/// Changes into `dir` and stores its full path.
pub fn enter_dir(config: &Config) -> Result<(), FatalConfig> {
    let dir = config.value("dir");
    let entered = std::env::set_current_dir(&dir).and_then(|()| std::env::current_dir());
    let full = entered.map_err(|error| {
        FatalConfig::Conflict(format!("Can't change directory to '{dir}': {}", system_text(&error)))
    })?;
    config.store_own("dir", &full.to_string_lossy()).map_err(FatalConfig::Conflict)
}

fn check_log_file(path: &str) -> Result<(), FatalConfig> {
    if path.is_empty() {
        return Ok(());
    }
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    opened
        .map(drop)
        .map_err(|error| FatalConfig::Conflict(format!("Can't open the log file: {}", system_text(&error))))
}
