//! Loads compared with the same data by commands, in Larder and in the servers that it is compared with; links that break,
//! rights and memory that are missing, keys that exist, lines that are broken.

use crate::support::{ALL, DEBUG, complete, digests, options_for, proxy};
use fastrand::Rng;
use larder_load::load::load;
use larder_load::mapping::Draft;
use larder_load::options::{Options, Source};
use larder_load::reader::{Format, Layout};
use larder_testkit::{Client, Kind, Server, Value, seed, temp_dir};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The mappings of all types, over the columns id, a, b, n.
const MAPPINGS: [&str; 7] = [
    "key = 'hash:{id}'\ntype = 'hash'",
    "key = 'some:{id}'\ntype = 'hash'\nfields = ['a', 'n']",
    "key = 'list:{id}'\ntype = 'list'\nvalue = '{a}-{b}'",
    "key = 'ints:{id}'\ntype = 'list'\nvalue = '{n}'",
    "key = 'set:{id}'\ntype = 'set'\nvalue = '{n}'",
    "key = 'zset:{id}'\ntype = 'zset'\nvalue = '{a}'\nscore = 'n'",
    "key = 'string:{id}'\ntype = 'string'\nvalue = '{b}'",
];

type Cells = [String; 4];

fn cells(rng: &mut Rng) -> Cells {
    // Few keys have many rows, and most have few.
    let id = if rng.bool() { rng.u32(..3) } else { rng.u32(3..200) };
    let text = |rng: &mut Rng| match rng.u8(..6) {
        0 => String::new(),
        1 => "\"quoted\", \u{e9}".to_owned(),
        2 => rng.i64(..).to_string(),
        3 => "x".repeat(rng.usize(60..200)),
        _ => format!("{:x}", rng.u32(..500)),
    };
    [id.to_string(), text(rng), text(rng), rng.i32(-1000..1000).to_string()]
}

fn write_rows(path: &Path, format: Format, rows: &[Cells]) {
    let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
    let json = |cell: &String| format!("\"{}\"", cell.replace('"', "\\\""));
    let names = ["id", "a", "b", "n"];
    let mut lines: Vec<String> = match format {
        Format::Csv => vec![names.join(",")],
        Format::Tsv => vec![names.join("\t")],
        Format::Ndjson => vec![],
    };
    lines.extend(rows.iter().map(|row| match format {
        Format::Csv => row.iter().map(quoted).collect::<Vec<_>>().join(","),
        Format::Tsv => row.join("\t"),
        Format::Ndjson => {
            let pairs = names.iter().zip(row).map(|(name, cell)| format!("\"{name}\": {}", json(cell)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }));
    fs::write(path, lines.join("\n")).unwrap();
}

fn options(path: &Path, format: Format, mapping: &str, port: u16) -> Options {
    let mapping = Draft::parse(mapping).unwrap().finish().unwrap();
    options_for(path, Source::Table(Layout::of(format), mapping), port)
}

/// What a row does by commands.
fn by_command(client: &mut Client, mapping: &str, row: &Cells) {
    let [id, a, b, n] = row;
    let kind = mapping.split(['\'', ':']).nth(1).unwrap();
    let key = format!("{kind}:{id}");
    let both = format!("{a}-{b}");
    let words: Vec<&str> = match kind {
        "hash" => vec!["HSET", &key, "id", id, "a", a, "b", b, "n", n],
        "some" => vec!["HSET", &key, "a", a, "n", n],
        "list" => vec!["RPUSH", &key, &both],
        "ints" => vec!["RPUSH", &key, n],
        "set" => vec!["SADD", &key, n],
        "zset" => vec!["ZADD", &key, n, a],
        _ => vec!["SET", &key, b],
    };
    assert!(!client.cmd(&words).is_error());
}

#[test]
fn every_type_is_as_by_commands() {
    let folder = temp_dir();
    let mut rng = Rng::with_seed(seed(1));
    let rows: Vec<Cells> = (0..2000).map(|_| cells(&mut rng)).collect();
    for format in [Format::Csv, Format::Tsv, Format::Ndjson] {
        write_rows(&folder.join(format!("{format:?}")), format, &rows);
    }
    for kind in ALL {
        let server = Server::of(kind, DEBUG);
        let mut client = server.client();
        client.ask("SELECT 9");
        for mapping in MAPPINGS {
            rows.iter().for_each(|row| by_command(&mut client, mapping, row));
        }
        let expected = digests(&mut client, 9);
        assert!(expected.len() > 1000);
        for (format, budget_bytes) in
            [(Format::Csv, 64 << 20), (Format::Tsv, 10_000), (Format::Ndjson, 15_000)]
        {
            for mapping in MAPPINGS {
                let path = folder.join(format!("{format:?}"));
                let options = Options { budget_bytes, ..options(&path, format, mapping, server.port()) };
                let report = load(&options).unwrap();
                complete(&report);
                assert_eq!((report.rows, report.spilled), (2000, budget_bytes < 1 << 20));
            }
            let found = digests(&mut client, 0);
            assert_eq!(found, expected, "{} {format:?}", kind.name());
            client.ask("FLUSHDB");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn streams_and_times() {
    let folder = temp_dir();
    let path = folder.join("rows");
    fs::write(&path, "k,t,v,e\nx,5-1,1,4102444800\ny,1,2,\nx,6,3,4102444800\nx,6,4,\n").unwrap();
    for kind in ALL {
        let server = Server::of(kind, DEBUG);
        let mut client = server.client();
        let stream = "key = '{k}'\ntype = 'stream'\nid = 't'\nfields = ['v']\nexpire-at = 'e'";
        let report = load(&options(&path, Format::Csv, stream, server.port())).unwrap();
        // The entry that is not greater than the previous one spoils its key, which is named.
        assert_eq!((report.keys, report.rejected, report.failure), (1, 1, None));
        assert!(report.first_rejects[0].starts_with("line 2: the entry 6-0"), "{:?}", report.first_rejects);
        assert_eq!(client.ask("XRANGE y - +").to_string(), "*[*[\"1-0\" *[\"v\" \"2\"]]]", "{}", kind.name());
        let list = "key = 'list:{k}'\ntype = 'list'\nvalue = '{v}'\nexpire-at = 'e'";
        complete(&load(&options(&path, Format::Csv, list, server.port())).unwrap());
        let string = "key = 's:{k}'\ntype = 'string'\nvalue = '{v}'\nexpire = 1000";
        complete(&load(&options(&path, Format::Csv, string, server.port())).unwrap());
        assert_eq!(client.ask("EXPIRETIME list:x"), Value::Int(4_102_444_800));
        assert_eq!(client.ask("EXPIRETIME list:y"), Value::Int(-1));
        assert!((990..=1000).contains(&client.ask("TTL s:x").int()));
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_not_loaded_is_named() {
    let folder = temp_dir();
    let (path, rejects) = (folder.join("rows"), folder.join("rejects"));
    fs::write(
        &path,
        "{\"k\":\"a\",\"v\":1}\nnonsense\n\n{\"v\":2}\n{\"k\":\"b\",\"v\":\"x\"}\n{\"k\":\"c\",\"v\":3}\n",
    )
    .unwrap();
    for kind in ALL {
        let server = Server::of(kind, DEBUG);
        let mut client = server.client();
        client.ask("SET c kept");
        let zset = "key = '{k}'\ntype = 'zset'\nvalue = 'm'\nscore = 'v'";
        let mut options = options(&path, Format::Ndjson, zset, server.port());
        options.rejects = Some(rejects.clone());
        let dry = load(&Options { dry_run: true, ..options.clone() }).unwrap();
        assert_eq!((dry.keys, dry.rejected, client.ask("DBSIZE")), (2, 3, Value::Int(1)));
        let report = load(&options).unwrap();
        assert_eq!((report.keys, report.rejected, report.failure), (1, 4, None));
        let text = fs::read_to_string(&rejects).unwrap();
        let mut lines: Vec<&str> = text.lines().map(|line| line.split('\t').next().unwrap()).collect();
        lines.sort_unstable();
        assert_eq!(lines, ["2", "4", "5", "6"], "{text}");
        assert_eq!(client.ask("GET c").text(), "kept");
        options.replace = true;
        assert_eq!(load(&options).unwrap().rejected, 3);
        assert_eq!(client.ask("TYPE c").text(), "zset");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_of_rejects_that_cannot_be_written_leaves_the_report() {
    let folder = temp_dir();
    let path = folder.join("rows");
    fs::write(&path, "{\"k\":\"a\",\"v\":1}\nnonsense\n{\"k\":\"b\",\"v\":2}\n").unwrap();
    let server = Server::larder(DEBUG);
    let string = "key = '{k}'\ntype = 'string'\nvalue = '{v}'";
    let options = Options {
        rejects: Some("/dev/full".into()),
        ..options(&path, Format::Ndjson, string, server.port())
    };
    let report = load(&options).unwrap();
    assert_eq!((report.keys, report.rows, report.rejected), (2, 2, 1));
    let failure = report.failure.unwrap();
    assert!(failure.starts_with("/dev/full: "), "{failure}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_target_without_rights_or_memory_ends_the_load() {
    let folder = temp_dir();
    let path = folder.join("rows");
    let mut rng = Rng::with_seed(seed(2));
    write_rows(&path, Format::Csv, &(0..20_000).map(|_| cells(&mut rng)).collect::<Vec<_>>());
    for kind in ALL {
        let server = Server::of(kind, &["--maxmemory", "200kb"]);
        let mut client = server.client();
        let list = "key = 'list:{id}'\ntype = 'list'\nvalue = '{a}{b}'";
        let mut options = options(&path, Format::Csv, list, server.port());
        let failure = load(&options).unwrap().failure.unwrap();
        assert!(failure.contains("OOM") && failure.contains("(line "), "{failure}");
        client.ask("CONFIG SET maxmemory 0");
        client.ask("ACL SETUSER reader on >secret ~* +@all -restore");
        (options.target.user, options.target.password) =
            (Some("reader".to_owned()), Some("secret".to_owned()));
        let failure = load(&options).unwrap().failure.unwrap();
        assert!(failure.contains("NOPERM") && failure.contains("key 'list:"), "{failure}");
        options.target.password = Some("wrong".to_owned());
        assert!(load(&options).unwrap_err().to_string().contains("WRONGPASS"));
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_link_that_breaks_anywhere_is_gone_on_after() {
    let folder = temp_dir();
    let path = folder.join("rows");
    let mut rng = Rng::with_seed(seed(3));
    let mut rows: Vec<Cells> = (0..12_000).map(|_| cells(&mut rng)).collect();
    rows.iter_mut().enumerate().for_each(|(n, row)| row[0] = (n / 2).to_string());
    write_rows(&path, Format::Csv, &rows);
    let list = "key = 'list:{id}'\ntype = 'list'\nvalue = '{a}-{b}'";
    let (server, left) = (Server::larder(DEBUG), Arc::new(AtomicI64::new(i64::MAX)));
    let port = proxy(server.port(), Arc::clone(&left));
    let mut client = server.client();
    client.ask("SELECT 9");
    rows.iter().for_each(|row| by_command(&mut client, MAPPINGS[2], row));
    let expected = digests(&mut client, 9);
    let mut broken = 0;
    for round in 0..30 {
        digests(&mut client, 0);
        client.ask("FLUSHDB");
        let mut options = options(&path, Format::Csv, list, port);
        options.state = Some(folder.join(format!("state{round}")));
        left.store(rng.i64(1..800_000), Ordering::Relaxed);
        let first = load(&options);
        left.store(i64::MAX, Ordering::Relaxed);
        if first.as_ref().is_ok_and(|report| report.failure.is_none()) {
            continue;
        }
        broken += 1;
        let again = load(&options).unwrap();
        complete(&again);
        assert_eq!(digests(&mut client, 0), expected, "round {round}: {first:?}");
        // A third time there is nothing left.
        let third = load(&options).unwrap();
        complete(&third);
        assert_eq!((third.keys, third.skipped_batches > 1), (0, true));
    }
    assert!(broken > 10, "{broken} links broke");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn clusters_get_each_key_where_it_belongs() {
    let folder = temp_dir();
    let path = folder.join("rows");
    let mut rng = Rng::with_seed(seed(4));
    let rows: Vec<Cells> = (0..1000).map(|_| cells(&mut rng)).collect();
    write_rows(&path, Format::Csv, &rows);
    let nodes = [Kind::Larder, Kind::Valkey].map(|kind| Server::of(kind, &["--cluster-enabled", "yes"]));
    let [mut a, mut b] = [nodes[0].client(), nodes[1].client()];
    assert!(!a.ask("CLUSTER ADDSLOTSRANGE 0 8000").is_error());
    assert!(!b.ask("CLUSTER ADDSLOTSRANGE 8001 16383").is_error());
    a.ask(&format!("CLUSTER MEET 127.0.0.1 {}", nodes[1].port()));
    for client in [&mut a, &mut b] {
        while client.ask("CLUSTER SLOTS").items().len() < 2
            || !client.ask("CLUSTER INFO").text().contains("cluster_state:ok")
        {
            std::thread::yield_now();
        }
    }
    let state = folder.join("state");
    let mut options = options(&path, Format::Csv, MAPPINGS[0], nodes[1].port());
    options.state = Some(state.clone());
    let report = load(&options).unwrap();
    complete(&report);
    // Gone on with, keys are compared where they are.
    let text = fs::read_to_string(&state).unwrap();
    fs::write(&state, text.replace("done 0\n", "")).unwrap();
    let again = load(&options).unwrap();
    complete(&again);
    assert_eq!((again.keys, again.skipped_batches), (report.keys, 0));
    let sizes = [a.ask("DBSIZE").int() as u64, b.ask("DBSIZE").int() as u64];
    assert!(sizes.iter().all(|&size| size > 0) && sizes.iter().sum::<u64>() == report.keys, "{sizes:?}");
    fs::remove_dir_all(&folder).unwrap();
}

/// Compressed files, recognized by their first bytes, give the keys of the plain ones; of one that breaks off nothing is loaded.
#[test]
fn compressed_files() {
    let folder = temp_dir();
    let text: String = std::iter::once("id,a,b,n\n".to_owned())
        .chain((0..5000).map(|id| format!("{id},x,y,{id}\n")))
        .collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut zstd = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
    zstd_safe::compress(&mut zstd, text.as_bytes(), 3).unwrap();
    let server = Server::larder(DEBUG);
    let mut client = server.client();
    let path = folder.join("rows");
    let mut found = Vec::new();
    for bytes in [text.as_bytes(), &gzip, &zstd] {
        fs::write(&path, bytes).unwrap();
        let report = load(&options(&path, Format::Csv, MAPPINGS[0], server.port())).unwrap();
        complete(&report);
        assert!(report.rows == 5000 && report.seconds > 0.0);
        found.push(digests(&mut client, 0));
        client.ask("FLUSHALL");
    }
    assert!(found[0].len() == 5000 && found.windows(2).all(|pair| pair[0] == pair[1]));
    for bytes in [&gzip[..gzip.len() / 2], &zstd[..zstd.len() - 5]] {
        fs::write(&path, bytes).unwrap();
        assert!(load(&options(&path, Format::Csv, MAPPINGS[0], server.port())).is_err());
    }
    assert_eq!(client.ask("DBSIZE"), Value::Int(0));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn keys_of_one_row_need_no_memory() {
    let folder = temp_dir();
    let path = folder.join("rows");
    // Every hundredth row is one more of the first key.
    let key = |id: u32| if id.is_multiple_of(100) { 0 } else { id };
    let rows = (0..5000).map(|id| format!("{},x,y,{id}\n", key(id)));
    let text: String = std::iter::once("id,a,b,n\n".to_owned()).chain(rows).collect();
    fs::write(&path, text).unwrap();
    let server = Server::larder(DEBUG);
    let budget_bytes = 400_000;
    let all = options(&path, Format::Csv, MAPPINGS[0], server.port());
    let report = load(&Options { budget_bytes, ..all.clone() }).unwrap();
    complete(&report);
    assert_eq!((report.rows, report.keys, report.spilled), (5000, 4951, false));
    // What is read as it comes is gathered, and does not fit.
    let report = load(&Options { budget_bytes: 20_000, replace: true, ..all }).unwrap();
    assert_eq!((report.rows, report.keys, report.spilled), (5000, 4951, true));
    fs::remove_dir_all(&folder).unwrap();
}
