//! Loading, setting and looking up, with fixed expectations.

use super::*;
use crate::config_file::Loaded;

fn load(text: &str) -> Result<(Config, Loaded), FatalConfig> {
    let config = Config::new(2);
    let mut include = |path: &str| match path {
        "b.conf" => Ok("hz 20\n".to_string()),
        "loop.conf" => Ok("include loop.conf\n".to_string()),
        _ => Err("No such file or directory".to_string()),
    };
    let loaded = Loaded::load(&config, text, &mut include)?;
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
    let cases = [
        ("foo bar", "Bad directive or wrong number of arguments"),
        ("port", "wrong number of arguments"),
        ("port 1 2", "wrong number of arguments"),
        ("port x", "argument couldn't be parsed into an integer"),
        ("timeout \"a", "Unbalanced quotes in configuration line"),
        ("save 1", "Invalid save parameters"),
        ("user", "Bad directive or wrong number of arguments"),
        ("rename-command nosuch a", "No such command in rename-command"),
        ("rename-command config|get a", "No such command in rename-command"),
        ("rename-command get set", "Target command name already exists"),
        ("x.y", "Module config specified without value"),
        ("sentinel a b", "sentinel directive while not in sentinel mode"),
        ("replicaof a b", "Invalid master port"),
        ("unixsocketperm 999", "argument couldn't be parsed as an octal number"),
    ];
    for (line, message) in cases {
        let error = load(&format!("\n  {line} \n")).err().unwrap();
        let expected = FatalConfig::Line { number: 2, line: line.to_string(), message: message.to_string() };
        assert_eq!(error, expected);
    }
    let shown = load("foo bar").err().unwrap().to_string();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        shown,
        format!(
            "\n*** FATAL CONFIG FILE ERROR (Larder {version}) ***\nReading the configuration file, at line 1\n\
             >>> 'foo bar'\nBad directive or wrong number of arguments\n"
        )
    );
}

#[test]
fn includes() {
    let missing = load("include nope.conf").err().unwrap();
    assert_eq!(
        missing.to_string(),
        "Fatal error, can't open config file 'nope.conf': No such file or directory"
    );
    assert!(matches!(load("include loop.conf"), Err(FatalConfig::Line { .. })));
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
    assert_eq!(result, Err(ConfigError { text: text.into() }));
    assert_eq!((config.value("timeout").as_str(), applied.len()), ("0", 0));

    let result =
        config.set(&[(b"timeout", b"7"), (b"lua-time-limit", b"1"), (b"port", b"1")], |name, new| {
            applied.push(format!("{name}={new}"));
            if name == "port" && new == "1" {
                Err("Unable to listen on this port".to_string())
            } else {
                Ok(())
            }
        });
    assert!(result.unwrap_err().text.ends_with("'port') - Unable to listen on this port"));
    assert_eq!(
        applied,
        ["timeout=7", "busy-reply-threshold=1", "port=1", "timeout=0", "busy-reply-threshold=5000"]
    );
    assert_eq!(config.hot.timeout_s.load(Relaxed), 0);
}

#[test]
fn refusals() {
    let config = Config::new(2);
    let error = |pairs: &[(&[u8], &[u8])]| config.set(pairs, |_, _| Ok(())).unwrap_err().text;
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
