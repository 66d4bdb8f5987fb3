//! Loading, setting and looking up, with fixed expectations.

use super::*;
use crate::command::names::RenameError;
use crate::config_file::{DirectiveError, Loaded};
use crate::host::SystemError;
use std::io;

fn file(path: &str, text: &str) -> ConfigText {
    ConfigText { source: Source::File(path.to_owned()), text: text.to_owned() }
}

fn include(path: &str) -> Result<Vec<ConfigText>, SystemError> {
    match path {
        "b.conf" => Ok(vec![file(path, "hz 20\n")]),
        "bad.conf" => Ok(vec![file(path, "\nhz x\n")]),
        "loop.conf" => Ok(vec![file(path, "include loop.conf\n")]),
        _ => Err(io::Error::from_raw_os_error(2).into()),
    }
}

fn load(text: &str) -> Result<(Config, Loaded), FatalConfig<DirectiveError>> {
    let config = Config::new(2);
    let loaded = Loaded::load(&config, &[file("a.conf", text)], &mut include)?;
    config.check_invariants();
    Ok((config, loaded))
}

#[test]
fn a_file() {
    let text = "# c\n\nport 7000\nSLAVE-priority 7\nsave 900 1\nsave 300 10\ninclude b.conf\n\
                requirepass \"a\\x20b\"\nbind 127.0.0.1 -::1\nclient-output-buffer-limit pubsub 1mb 0 5\n\
                maxmemory 2gb\nuser default on\nrename-command FLUSHALL ''\nlua-replicate-commands yes\nio-threads 4\n";
    let (config, loaded) = load(text).unwrap();
    for (name, value) in [
        ("port", "7000"),
        ("replica-priority", "7"),
        ("save", "900 1 300 10"),
        ("requirepass", "a b"),
        ("bind", "127.0.0.1 -::1"),
        ("maxmemory", "2147483648"),
        ("threads", "4"),
    ] {
        assert_eq!(config.value(name), value, "{name}");
    }
    assert_eq!(config.hot.hz.load(Relaxed), 20);
    assert_eq!(config.hot.output_limits[2].hard_bytes.load(Relaxed), 1 << 20);
    assert_eq!(loaded.users, [["default", "on"]]);
    assert!(loaded.names.find(b"flushall").is_none() && loaded.names.find(b"get").is_some());
}

#[test]
fn fatal_lines() {
    let unknown = |name: &str, nearest| {
        LineError::Directive(DirectiveError::Unknown { name: name.to_owned(), nearest })
    };
    let option = |name, error| LineError::Option { name, error };
    let cases = [
        ("foo bar", unknown("foo", None)),
        ("MaxMemroy 1gb", unknown("maxmemroy", Some("maxmemory"))),
        ("port", option("port", OptionError::WrongCount)),
        ("port 1 2", option("port", OptionError::WrongCount)),
        ("port x", option("port", OptionError::NotInteger)),
        ("slave-priority x", option("slave-priority", OptionError::NotInteger)),
        ("timeout \"a", LineError::Quotes),
        ("save 1", option("save", OptionError::SavePoints)),
        ("user", LineError::Directive(DirectiveError::WrongCount("user".to_owned()))),
        ("rename-command nosuch a", LineError::Directive(RenameError::NoSuchCommand.into())),
        ("rename-command config|get a", LineError::Directive(RenameError::NoSuchCommand.into())),
        ("rename-command get set", LineError::Directive(RenameError::NameTaken.into())),
        ("x.y", LineError::Directive(DirectiveError::ModuleValue)),
        ("sentinel a b", LineError::Directive(DirectiveError::Sentinel)),
        ("replicaof a b", option("replicaof", OptionError::PrimaryPort)),
        ("unixsocketperm 999", option("unixsocketperm", OptionError::NotOctal)),
    ];
    for (text, expected) in cases {
        let error = load(&format!("\n  {text} \n")).err().unwrap();
        let FatalConfig::Line { place, line, error } = error else { panic!("{error}") };
        assert_eq!((place.to_string().as_str(), line.as_str(), error), ("a.conf, line 2", text, expected));
    }
}

#[test]
fn errors_say_where_the_line_comes_from() {
    let shown = |source, text: &str| {
        let text = ConfigText { source, text: text.to_owned() };
        Loaded::load(&Config::new(2), &[text], &mut include).err().unwrap().to_string()
    };
    let version = env!("CARGO_PKG_VERSION");
    for (source, text, expected) in [
        (
            Source::File("a.conf".to_owned()),
            "\nhz x",
            "the configuration file 'a.conf', at line 2\n>>> 'hz x'\na.conf, line 2: option \"hz\": argument couldn't be \
             parsed into an integer",
        ),
        (
            Source::File("a.conf".to_owned()),
            "include bad.conf",
            "the configuration file 'bad.conf', at line 2\n>>> 'hz x'\nbad.conf, line 2: option \"hz\": argument couldn't \
             be parsed into an integer",
        ),
        (
            Source::CommandLine,
            "maxmemroy \"1gb\"",
            "the command line\n>>> 'maxmemroy \"1gb\"'\ncommand line: unknown option \"maxmemroy\"; did you mean \
             \"maxmemory\"? (Bad directive or wrong number of arguments)",
        ),
        (
            Source::StandardInput,
            "foo bar",
            "standard input, at line 1\n>>> 'foo bar'\nstandard input, line 1: unknown option \"foo\" (Bad directive or \
             wrong number of arguments)",
        ),
    ] {
        let heading = format!("\n*** FATAL CONFIG FILE ERROR (Larder {version}) ***\nReading ");
        assert_eq!(shown(source, text), format!("{heading}{expected}\n"));
    }
}

#[test]
fn a_check_finds_all_problems() {
    let config = Config::new(2);
    let text = file("a.conf", "hz x\nport 7000\ninclude nope.conf\ninclude bad.conf\ntimeout \"a\nprot 1");
    let (_, problems) = Loaded::check(&config, &[text], &mut include);
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 5, "{shown:?}");
    for (problem, place) in shown.iter().zip([
        "a.conf, line 1",
        "nope.conf",
        "bad.conf, line 2",
        "a.conf, line 5",
        "a.conf, line 6",
    ]) {
        assert!(problem.contains(place), "{problem}");
    }
    assert_eq!(config.value("port"), "7000", "lines after a problem are read");
}

#[test]
fn includes() {
    let missing = load("include nope.conf").err().unwrap();
    assert_eq!(
        missing.to_string(),
        "Fatal error, can't open config file 'nope.conf': No such file or directory"
    );
    let endless = load("include loop.conf");
    assert!(matches!(endless, Err(FatalConfig::Line { error: LineError::Include, .. })));
}

#[test]
fn setting_is_all_or_nothing() {
    let config = Config::new(2);
    let mut applied = Vec::new();
    let result = config.set(&[(b"timeout", b"7"), (b"hz", b"x")], |name, new| {
        applied.push(format!("{name}={new}"));
        Ok(())
    });
    let text =
        "CONFIG SET failed (possibly related to argument 'hz') - argument couldn't be parsed into an integer";
    let error = result.unwrap_err();
    assert!(matches!(error, ConfigError::Invalid("hz", OptionError::NotInteger)));
    assert_eq!(error.to_string(), text);
    assert_eq!((config.value("timeout").as_str(), applied.len()), ("0", 0));

    let result =
        config.set(&[(b"timeout", b"7"), (b"lua-time-limit", b"1"), (b"port", b"1")], |name, new| {
            applied.push(format!("{name}={new}"));
            if name == "port" && new == "1" { Err(ApplyError::Port) } else { Ok(()) }
        });
    assert!(matches!(result, Err(ConfigError::NotApplied("port", ApplyError::Port))));
    assert_eq!(
        applied,
        ["timeout=7", "busy-reply-threshold=1", "port=1", "timeout=0", "busy-reply-threshold=5000"]
    );
    assert_eq!(config.hot.timeout_s.load(Relaxed), 0);
}

#[test]
fn refusals() {
    let config = Config::new(2);
    let error = |pairs: &[(&[u8], &[u8])]| config.set(pairs, |_, _| Ok(())).unwrap_err().to_string();
    assert_eq!(error(&[(b"foo", b"1")]), "Unknown option or number of arguments for CONFIG SET - 'foo'");
    assert!(error(&[(b"Databases", b"1")]).contains("'Databases') - can't set immutable config"));
    assert!(error(&[(b"dir", b"/")]).contains("can't set protected config"));
    assert!(error(&[(b"timeout", b"1"), (b"TIMEOUT", b"2")]).contains("'TIMEOUT') - duplicate parameter"));
    assert!(config.set_for(&[(b"dir", b"/")], true, |_, _| Ok(())).is_ok());
}

#[test]
fn getting() {
    let config = Config::new(3);
    let pairs = config.get_matching(&[b"TimeOut", b"time*", b"nope", b"io-thread?"]);
    let expected = [("TimeOut", "0"), ("io-threads", "3")];
    assert_eq!(pairs, expected.map(|(n, v)| (n.to_string(), v.to_string())));
    assert!(config.get_matching(&[b"watchdog*"]).is_empty());
    assert_eq!(config.get_matching(&[b"watchdog-period"]).len(), 1);
}
