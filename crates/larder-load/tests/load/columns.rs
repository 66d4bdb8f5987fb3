//! Loads of Parquet into servers, compared with loads of the same rows as text; links that break, the program killed, files that are damaged.

use crate::support::{ALL, DEBUG, complete, digests, options_for, proxy};
use fastrand::Rng;
use larder_load::load::load;
use larder_load::mapping::Draft;
use larder_load::options::{Options, Source};
use larder_load::reader::{Format, Layout};
use larder_testkit::{Client, Kind, Server, Value, seed, temp_dir};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Number, text that may be null, and a time in milliseconds.
type Row = (i64, Option<String>, i64);

/// 2100-01-01 and later.
const LATER_MS: i64 = 4_102_444_800_000;

fn rows(rng: &mut Rng, count: usize) -> Vec<Row> {
    let text = |rng: &mut Rng| match rng.u8(..4) {
        0 => None,
        1 => Some("x".repeat(rng.usize(60..200))),
        _ => Some(format!("{:x}", rng.u32(..500))),
    };
    (0..count).map(|at| (rng.i64(..200), text(rng), LATER_MS + at as i64 * 1000)).collect()
}

fn write(path: &Path, rows: &[Row]) {
    let schema = "message m { required int64 id; optional binary a (UTF8); required int64 t (TIMESTAMP(MILLIS,true)); }";
    let properties = WriterProperties::builder().set_data_page_row_count_limit(500).build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties)).unwrap();
    for rows in rows.chunks(3000) {
        let mut group = writer.next_row_group().unwrap();
        let ids: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let texts: Vec<ByteArray> =
            rows.iter().filter_map(|row| row.1.as_deref()).map(ByteArray::from).collect();
        let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.1.is_some())).collect();
        let times: Vec<i64> = rows.iter().map(|row| row.2).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&times, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// The same rows as NDJSON, with the time as a number in `unit` milliseconds.
fn write_text(path: &Path, rows: &[Row], unit: i64) {
    let line = |(id, text, time): &Row| {
        let text = serde_json::to_string(text).unwrap();
        format!("{{\"id\":{id},\"a\":{text},\"t\":{}}}\n", time / unit)
    };
    fs::write(path, rows.iter().map(line).collect::<String>()).unwrap();
}

fn options(path: &Path, is_text: bool, mapping: &str, port: u16) -> Options {
    let mapping = Draft::parse(mapping).unwrap().finish().unwrap();
    let source =
        if is_text { Source::Table(Layout::of(Format::Ndjson), mapping) } else { Source::Parquet(mapping) };
    options_for(path, source, port)
}

#[test]
fn every_type_is_as_of_text() {
    let folder = temp_dir();
    let (path, text) = (folder.join("rows.parquet"), folder.join("rows"));
    let rows = rows(&mut Rng::with_seed(seed(31)), 7000);
    write(&path, &rows);
    for kind in ALL {
        let server = Server::of(kind, DEBUG);
        let mut client = server.client();
        // What a time is depends on what it is for.
        for (mapping, unit) in [
            ("key = 'hash:{id}'\ntype = 'hash'\nfields = ['id', 'a']", 1),
            ("key = 'list:{id}'\ntype = 'list'\nvalue = '{a}'", 1),
            ("key = 'set:{id}'\ntype = 'set'\nvalue = '{id}-{a}'", 1),
            ("key = 'zset:{id}'\ntype = 'zset'\nvalue = '{a}'\nscore = 't'", 1000),
            ("key = 'stream:{id}'\ntype = 'stream'\nid = 't'", 1),
            ("key = 'string:{id}'\ntype = 'string'\nvalue = '{id}'\nexpire-at = 't'", 1000),
        ] {
            write_text(&text, &rows, unit);
            let expected = load(&options(&text, true, mapping, server.port())).unwrap();
            let values = digests(&mut client, 0);
            let expiry = |client: &mut Client| client.ask("PEXPIRETIME string:7");
            let expires = expiry(&mut client);
            assert!(values.len() > 150 && expected.failure.is_none());
            for (budget_bytes, workers) in [(64 << 20, 2), (20_000, 3)] {
                client.ask("FLUSHDB");
                let all = options(&path, false, mapping, server.port());
                let report = load(&Options { budget_bytes, workers, ..all }).unwrap();
                assert_eq!((&report.failure, report.rejected), (&None, expected.rejected));
                assert_eq!(
                    (report.rows, report.keys, report.elements),
                    (expected.rows, expected.keys, expected.elements)
                );
                assert!(digests(&mut client, 0) == values, "{} {mapping}", kind.name());
                assert_eq!(expiry(&mut client), expires);
            }
            client.ask("FLUSHDB");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_not_loaded_is_named_by_its_row() {
    let folder = temp_dir();
    let (path, rejects) = (folder.join("rows.parquet"), folder.join("rejects"));
    write(&path, &[(1, Some("a".to_owned()), 1), (2, None, 2), (3, Some("c".to_owned()), 3)]);
    let server = Server::larder(DEBUG);
    let mut client = server.client();
    client.ask("SET 3 kept");
    let mut options = options(&path, false, "key = '{id}'\ntype = 'string'\nvalue = '{a}'", server.port());
    options.rejects = Some(rejects.clone());
    let report = load(&options).unwrap();
    assert_eq!((report.keys, report.rejected, report.failure), (1, 2, None));
    assert_eq!(report.first_rejects, ["row 2: no value for the column 'a'", "row 3: the key exists"]);
    let text = fs::read_to_string(&rejects).unwrap();
    assert_eq!(text, "2\tno value for the column 'a'\tid=2\n3\tthe key exists\t3\n");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn nothing_of_a_damaged_file_is_loaded() {
    let folder = temp_dir();
    let path = folder.join("rows.parquet");
    let rows: Vec<Row> = (0..9000).map(|n| (n, Some(format!("text {n}")), n)).collect();
    write(&path, &rows);
    let mut bytes = fs::read(&path).unwrap();
    // A text of the last group of rows, whose length is changed.
    let at = bytes.windows(9).rposition(|window| window == b"text 8900").unwrap();
    bytes[at - 2] = 0xFF;
    fs::write(&path, bytes).unwrap();
    let server = Server::larder(DEBUG);
    for adjacent in [false, true] {
        let mapping = "key = '{id}'\ntype = 'list'\nvalue = '{a}'";
        let options = Options { adjacent, ..options(&path, false, mapping, server.port()) };
        let failure = match load(&options) {
            Ok(report) => report.failure.unwrap(),
            Err(error) => error.to_string(),
        };
        assert!(failure.contains("rows.parquet: row group 3, row "), "{failure}");
        assert!(failure.contains(": column 'a': "), "{failure}");
        assert_eq!(server.client().ask("DBSIZE"), Value::Int(0));
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_link_that_breaks_anywhere_is_gone_on_after() {
    let folder = temp_dir();
    let path = folder.join("rows.parquet");
    let mut rng = Rng::with_seed(seed(32));
    let mut rows = rows(&mut rng, 12_000);
    rows.iter_mut().enumerate().for_each(|(at, row)| row.0 = at as i64 / 2);
    write(&path, &rows);
    let list = "key = 'list:{id}'\ntype = 'list'\nvalue = '{id}-{t}'";
    let (server, left) = (Server::larder(DEBUG), Arc::new(AtomicI64::new(i64::MAX)));
    let port = proxy(server.port(), Arc::clone(&left));
    let mut client = server.client();
    complete(&load(&options(&path, false, list, port)).unwrap());
    let expected = digests(&mut client, 0);
    assert_eq!(expected.len(), 6000);
    let mut broken = 0;
    for round in 0..20 {
        client.ask("FLUSHDB");
        let mut options = options(&path, false, list, port);
        options.state = Some(folder.join(format!("state{round}")));
        options.adjacent = round % 2 == 0;
        left.store(rng.i64(1..600_000), Ordering::Relaxed);
        let first = load(&options);
        left.store(i64::MAX, Ordering::Relaxed);
        if first.as_ref().is_ok_and(|report| report.failure.is_none()) {
            continue;
        }
        broken += 1;
        complete(&load(&options).unwrap());
        assert!(digests(&mut client, 0) == expected, "round {round}: {first:?}");
        let third = load(&options).unwrap();
        complete(&third);
        assert_eq!((third.keys, third.skipped_batches > 1), (0, true));
    }
    assert!(broken > 5, "{broken} links broke");
    fs::remove_dir_all(&folder).unwrap();
}

/// The program with these words.
fn program(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder-load"));
    command.args(words.split_whitespace()).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn the_program_that_is_killed_goes_on() {
    let folder = temp_dir();
    let mut rng = Rng::with_seed(seed(33));
    let rows: Vec<Row> =
        (0..6000).map(|n| (n, (n % 7 > 0).then(|| "x".repeat(rng.usize(500..1500))), n)).collect();
    write(&folder.join("rows.parquet"), &rows);
    let server = Server::of(Kind::Valkey, &[]);
    let mut client = server.client();
    let words = format!(
        "--parquet rows.parquet --key {{id}} --list {{a}} --adjacent --state state --rejects rejects --quiet --port {}",
        server.port()
    );
    let mut killed = 0;
    for size in [30, 60, 90] {
        let mut child = program(&folder, &words).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            if fs::metadata(folder.join("state")).is_ok_and(|state| state.len() >= size) {
                child.kill().unwrap();
                killed += u64::from(child.wait().unwrap().code().is_none());
                break;
            }
            std::thread::yield_now();
        }
    }
    let output = program(&folder, &words).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(killed > 0 && text.contains("858 rows or keys not loaded:"), "{killed} killed: {text}");
    assert_eq!(fs::read_to_string(folder.join("rejects")).unwrap().lines().count(), 858);
    for (id, text, _) in &rows {
        let expected: Vec<&str> = text.as_deref().into_iter().collect();
        let found = client.cmd(&["LRANGE", &id.to_string(), "0", "-1"]);
        assert!(found.items().iter().map(Value::text).eq(expected), "key {id}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_cannot_be_read_from_its_end_is_refused() {
    let folder = temp_dir();
    for (words, code, reason) in [
        ("--parquet -", 2, "does not allow"),
        ("--parquet . ", 1, "is a directory"),
        ("--parquet /dev/null", 1, "not a regular file"),
        ("--parquet missing", 1, "No such file"),
    ] {
        let output = program(&folder, &format!("{words} --key k --hash --dry-run")).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && text.contains(reason), "{words}: {text}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
