//! From the command line and the configuration file to a loaded [`Config`]: all the files that takes.

use larder_engine::Names;
use larder_engine::SystemError;
use larder_engine::config::{CommandLine, Config, ConfigText, FatalConfig, FatalHeading, Source};
use larder_engine::config_file::{DirectiveError, Loaded};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
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
    /// Options of Redis that have no effect.
    pub ignored: Vec<String>,
    /// Whether any configuration was given at all.
    pub configured: bool,
}

/// Why the server does not start with its settings. Shown is the whole text for standard error or the log.
#[derive(Debug)]
pub enum SettingsError {
    /// The configuration cannot be followed.
    Config(FatalConfig<DirectiveError>),
    /// The directory for the data, which cannot be entered.
    Dir(String, SystemError),
    /// The log cannot be opened.
    LogFile(SystemError),
    /// There are modules to load, which this server does not.
    Modules,
    /// The value of [`PROTECTED_MODE`] is neither yes nor no.
    ProtectedMode(String),
}

/// The variable with the default of `protected-mode`. Images that take the place of Valkey's or Redis's set it to no,
/// as those servers are built for their images: a line of a configuration file still takes precedence.
const PROTECTED_MODE: &str = "LARDER_PROTECTED_MODE";

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingsError::Config(error) => error.fmt(f),
            SettingsError::Dir(dir, error) => {
                writeln!(f, "{FatalHeading}Can't change directory to '{dir}': {error}")
            }
            SettingsError::LogFile(error) => writeln!(f, "{FatalHeading}Can't open the log file: {error}"),
            SettingsError::Modules => {
                writeln!(f, "{FatalHeading}Modules are not supported: remove the 'loadmodule' lines")
            }
            SettingsError::ProtectedMode(value) => {
                writeln!(f, "{FatalHeading}{PROTECTED_MODE} is '{value}': set it to yes or no, or remove it")
            }
        }
    }
}

impl std::error::Error for SettingsError {}

impl From<FatalConfig<DirectiveError>> for SettingsError {
    fn from(error: FatalConfig<DirectiveError>) -> Self {
        SettingsError::Config(error)
    }
}

impl Settings {
    /// Reads everything that `line` names.
    pub fn load(line: &CommandLine, cores: usize) -> Result<Settings, SettingsError> {
        let config = defaults(cores)?;
        let file =
            line.config_file.as_deref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.into()));
        let texts = read_texts(line)?;
        let loaded = Loaded::load(&config, &texts, &mut include)?;
        check_supported(&loaded)?;
        let dir = config.value("dir");
        enter_dir(&config).map_err(|error| SettingsError::Dir(dir, error))?;
        check_log_file(&config.value("logfile")).map_err(|error| SettingsError::LogFile(error.into()))?;
        let configured = !texts.is_empty();
        let Loaded { names, users, ignored, .. } = loaded;
        Ok(Settings { config, file, names, users, ignored, configured })
    }
}

/// The options of a configuration file, or the defaults, for programs that are not the server.
pub fn options(file: Option<&str>) -> Result<Config, SettingsError> {
    let config = Config::new(1);
    if let Some(path) = file {
        let text = ConfigText { source: Source::File(path.to_owned()), text: read_text(path)? };
        Loaded::load(&config, &[text], &mut include)?;
    }
    Ok(config)
}

fn defaults(cores: usize) -> Result<Config, SettingsError> {
    let config = Config::new(cores);
    match std::env::var(PROTECTED_MODE).as_deref() {
        Err(_) | Ok("" | "yes") => Ok(config),
        Ok("no") => Ok(config.with_protected_mode(false)),
        Ok(other) => Err(SettingsError::ProtectedMode(other.to_owned())),
    }
}

/// Refuses what would be useless to leave out: modules.
fn check_supported(loaded: &Loaded) -> Result<(), SettingsError> {
    if loaded.modules.is_empty() {
        return Ok(());
    }
    Err(SettingsError::Modules)
}

/// The warning about an option of Redis that has no effect.
pub fn ignored_warning(name: &str) -> String {
    format!("The option '{name}' has no effect: only Redis has it.")
}

/// The system's own words for an error, without Rust's number after them.
pub fn system_text(error: &io::Error) -> String {
    SystemError::text_of(error)
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

/// Writes a file again: next to the old one first, then in its place. It stays readable for those who could read it before; a new one is
/// as files are that others may read, but for the umask.
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
    let old_mode = match fs::metadata(path) {
        Ok(meta) => Some(meta.permissions().mode() & 0o777),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // There may be passwords in it: nobody can read it before it has its mode.
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(old_mode.map_or(0o644, |_| 0o600))
        .open(temporary)?;
    file.write_all(bytes)?;
    if let Some(mode) = old_mode {
        crate::sys::set_permissions(temporary, mode)?;
    }
    file.sync_all()?;
    fs::rename(temporary, path)?;
    larder_persist::sync_dir(path)
}

/// Reads the file and standard input, as far as `line` names them, and adds the options of `line`.
///
/// # Errors
/// The file cannot be read.
pub fn read_texts(line: &CommandLine) -> Result<Vec<ConfigText>, FatalConfig<DirectiveError>> {
    let file = line.config_file.as_deref().map(read_text).transpose()?;
    Ok(line.texts(file, line.from_stdin.then(read_stdin)))
}

fn read_text(path: &str) -> Result<String, FatalConfig<DirectiveError>> {
    let unreadable = |error: io::Error| FatalConfig::Unreadable { path: path.into(), error: error.into() };
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
pub fn include(path: &str) -> Result<Vec<ConfigText>, SystemError> {
    let read = |path: &Path| match fs::read(path) {
        Ok(bytes) => Ok(ConfigText {
            source: Source::File(path.to_string_lossy().into_owned()),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }),
        Err(error) => Err(SystemError(error)),
    };
    if !path.contains(['*', '?', '[']) {
        return Ok(vec![read(Path::new(path))?]);
    }
    crate::sys::glob(path).iter().map(|path| read(path)).collect()
}

/// Changes into `dir` and stores its full path.
pub fn enter_dir(config: &Config) -> Result<(), SystemError> {
    let entered = std::env::set_current_dir(config.value("dir")).and_then(|()| std::env::current_dir());
    // Any text is a directory's name.
    let _ = config.store_own("dir", &entered?.to_string_lossy());
    Ok(())
}

fn check_log_file(path: &str) -> io::Result<()> {
    if path.is_empty() {
        return Ok(());
    }
    fs::OpenOptions::new().append(true).create(true).open(path).map(drop)
}
