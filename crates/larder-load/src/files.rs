//! Files of commands: RESP files, and append-only files, which are several and may begin with an RDB file.
//!
//! Before anything is sent, files are read to their ends: one that is not what it says, or breaks off, is an error with its offset then, and
//! nothing is loaded. Only the standard input and pipes, which cannot be read twice, are loaded as they come.

use crate::commands::Commands;
use crate::error::{Error, Result};
use crate::gather::not_gone_on_after;
use crate::mapping::Mapping;
use crate::options::{Options, Source};
use crate::packed;
use crate::parquet;
use crate::rdb;
use crate::reader::{self, Each, Layout};
use crate::survey::{self, Survey, survey};
use larder_resp::split_args;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A manifest has a handful of lines.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// The longest line, with its end, that servers read.
const MANIFEST_LINE_BYTES_MAX: usize = 1024;
/// How RDB files begin.
const MARKS: [&[u8]; 2] = [b"REDIS", b"VALKE"];

/// Opens the file of the options, or the standard input, and decompresses it if it is compressed. `tap` sees the bytes as they are in the file.
pub fn open(
    options: &Options,
    tap: impl FnOnce(Box<dyn Read + Send>) -> Box<dyn Read + Send>,
) -> Result<Box<dyn Read + Send>> {
    let Some(path) = &options.input else {
        let unpacked = packed::unpacked(tap(Box::new(io::stdin())));
        return unpacked.map_err(|error| Error::file("standard input", &error));
    };
    let file = File::open(path).map_err(|error| Error::file(path.display(), &error))?;
    packed::unpacked(tap(Box::new(file))).map_err(|error| Error::file(path.display(), &error))
}

fn open_file(path: &Path) -> Result<Box<dyn Read + Send>> {
    let failed = |error: io::Error| Error::file(path.display(), &error);
    packed::unpacked(Box::new(File::open(path).map_err(failed)?)).map_err(failed)
}

/// The size of a file; None of a pipe, which is not opened: it can be read once.
fn size_of(path: &Path) -> Result<Option<u64>> {
    let facts = fs::metadata(path).map_err(|error| Error::file(path.display(), &error))?;
    if facts.is_dir() {
        return Err(Error::File(format!("{}: this is a directory, not a file", path.display())));
    }
    Ok(facts.is_file().then_some(facts.len()))
}

/// The files of the options in the order in which they are read, and their size together, if it is known.
pub fn parts(options: &Options) -> Result<(VecDeque<PathBuf>, Option<u64>)> {
    let Some(path) = &options.input else { return Ok((VecDeque::new(), None)) };
    let files = if matches!(options.source, Source::Aof) { append_only(path)? } else { vec![path.clone()] };
    let sizes = files.iter().map(|file| size_of(file)).collect::<Result<Vec<_>>>()?;
    Ok((files.into(), sizes.into_iter().sum()))
}

/// Checks that what is written is none of the files that are read.
///
/// # Errors
/// [`Error::Usage`] names one that is.
pub fn check_outputs(options: &Options, inputs: &VecDeque<PathBuf>) -> Result<()> {
    let outputs = [("--rejects", &options.rejects), ("--state", &options.state)];
    for (option, path) in outputs {
        // What is not there yet is none of them.
        let Some(output) = path.as_ref().and_then(|path| path.canonicalize().ok()) else { continue };
        if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == output)) {
            return Err(Error::Usage(format!("{option} {}: this file is also an input", output.display())));
        }
    }
    Ok(())
}

/// The files of an append-only file: of the manifest in a folder, of a manifest, or the file itself.
fn append_only(path: &Path) -> Result<Vec<PathBuf>> {
    let is_manifest = |path: &Path| path.extension().is_some_and(|ending| ending == "manifest");
    if !path.is_dir() {
        return if is_manifest(path) { listed(path) } else { Ok(vec![path.to_owned()]) };
    }
    let failed = |error: io::Error| Error::file(path.display(), &error);
    let entries: io::Result<Vec<PathBuf>> =
        fs::read_dir(path).map_err(failed)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut manifests = entries.map_err(failed)?;
    // A server that was killed may have left a temporary one.
    let is_temporary =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"temp-"));
    manifests.retain(|path| is_manifest(path) && !is_temporary(path));
    match &manifests[..] {
        [manifest] => listed(manifest),
        [] => Err(Error::File(format!("{}: the directory contains no manifest", path.display()))),
        _ => Err(Error::File(format!(
            "{}: the directory contains more than one manifest: name the one to load",
            path.display()
        ))),
    }
}

/// The base and the increments of a manifest: lines of `file NAME seq N type b` (`i`, or `h` for what is not read any more).
fn listed(manifest: &Path) -> Result<Vec<PathBuf>> {
    let mut text = String::new();
    let read =
        File::open(manifest).and_then(|file| file.take(MANIFEST_BYTES_MAX + 1).read_to_string(&mut text));
    let bytes = read.map_err(|error| Error::file(manifest.display(), &error))?;
    if bytes as u64 > MANIFEST_BYTES_MAX {
        let name = manifest.display();
        return Err(Error::File(format!(
            "{name}: a file of more than {MANIFEST_BYTES_MAX} bytes is not a manifest"
        )));
    }
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let (mut base, mut increments) = (None, Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let odd = |what: &str| Error::File(format!("{}: line {}: {what}", manifest.display(), number + 1));
        if line.len() >= MANIFEST_LINE_BYTES_MAX {
            return Err(odd("longer than a line of a manifest can be"));
        }
        let words = split_args(line.as_bytes()).ok_or_else(|| odd("the quote is not closed"))?;
        let word = |name: &[u8]| {
            words.chunks(2).rfind(|pair| pair[0].eq_ignore_ascii_case(name)).and_then(|pair| pair.get(1))
        };
        let (Some(name), Some(kind)) = (word(b"file"), word(b"type")) else {
            return Err(odd("not a line of a manifest"));
        };
        let name = String::from_utf8(name.clone()).map_err(|_| odd("the name of the file is not UTF-8"))?;
        if name.is_empty() || name.contains('/') {
            return Err(odd("the name of the file contains a path"));
        }
        let path = folder.join(name);
        // Servers look at the first letter.
        match kind.first() {
            Some(b'b') if base.is_none() => base = Some(path),
            Some(b'b') => return Err(odd("this is a second base file")),
            Some(b'i') => increments.push(path),
            Some(b'h') => {}
            _ => return Err(odd("unknown type of file")),
        }
    }
    if base.is_none() && increments.is_empty() {
        return Err(Error::File(format!("{}: the manifest lists no file", manifest.display())));
    }
    Ok(base.into_iter().chain(increments).collect())
}

/// Whether a source begins as RDB files do; the source comes back whole.
pub fn is_rdb(mut source: Box<dyn Read + Send>) -> io::Result<(bool, Box<dyn Read + Send>)> {
    let mut mark = Vec::new();
    (&mut source).take(5).read_to_end(&mut mark)?;
    let is_rdb = MARKS.contains(&mark.as_slice());
    Ok((is_rdb, Box::new(io::Cursor::new(mark).chain(source))))
}

/// Opens a file of commands.
pub fn open_commands(path: &Path, has_notes: bool) -> Result<Commands> {
    let source = open_file(path)?;
    Ok(Commands::new(source, path.display().to_string(), has_notes, (0, Vec::new())))
}

/// Reads all files to their ends, but for pipes. A line of a table that is broken is a reject. Of Parquet the footer is enough
/// unless keys are sent before all is read.
/// Returns how often keys come in the commands of the first one or in the table, if that is of use.
///
/// # Errors
/// One cannot be read, or is not what it says; a command that is not gathered, with a state file.
pub fn verify(options: &Options, files: &VecDeque<PathBuf>) -> Result<Option<Survey>> {
    if let (Source::Parquet(mapping), Some(path)) = (&options.source, files.front()) {
        return parquet::verify(path, mapping, options.adjacent).map(|()| None);
    }
    if let (Source::Table(layout, mapping), Some(path)) = (&options.source, files.front()) {
        return table_survey(path, (layout, mapping), options);
    }
    let mut counted = None;
    for (number, path) in files.iter().enumerate() {
        if size_of(path)?.is_none() {
            continue;
        }
        let source = open_file(path)?;
        let name = path.display().to_string();
        let (is_rdb, source) = match options.source {
            Source::Resp => (false, source),
            Source::Rdb => (true, source),
            _ => is_rdb(source).map_err(|error| Error::file(&name, &error))?,
        };
        let mut rest = (source, (0, Vec::new()));
        if is_rdb && number > 0 {
            let what = "this is an RDB file, which only the first file of a manifest can be";
            return Err(Error::File(format!("{name}: offset 0: {what}")));
        }
        if is_rdb {
            let after = rdb::verify(rest.0, &name)?;
            if matches!(options.source, Source::Rdb) {
                continue;
            }
            rest = (after.source, (after.offset, after.read));
        }
        let is_gathered = number == 0 && !is_rdb;
        let mut commands = Commands::new(rest.0, name, matches!(options.source, Source::Aof), rest.1);
        let room_bytes = if is_gathered && !options.adjacent { room_bytes(options) } else { 0 };
        let found = survey(&mut commands, options.db.unwrap_or(0), room_bytes)?;
        if let (Some((offset, name)), true) = (found.stop, options.state.is_some()) {
            return Err(not_gone_on_after(commands.name(), offset, &name));
        }
        counted = counted.or(found.survey.filter(|_| is_gathered));
    }
    Ok(counted)
}

/// How often the keys of a table come, if it can be read twice and its keys are to be gathered.
fn table_survey(
    path: &Path,
    (layout, mapping): (&Layout, &Mapping),
    options: &Options,
) -> Result<Option<Survey>> {
    if options.adjacent || size_of(path)?.is_none() {
        return Ok(None);
    }
    let source = open_file(path)?;
    let rows = |each: Each<'_>| reader::read((&options.name(), source), layout, mapping, each);
    survey::of_rows(rows, &mapping.key, options.db.unwrap_or(0), room_bytes(options))
}

/// What counts of keys may take of what there is for groups.
fn room_bytes(options: &Options) -> usize {
    options.budget_bytes / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_name_files_in_order() {
        let folder = larder_testkit::temp_dir();
        let path = folder.join("a.manifest");
        let names = |text: &str| {
            fs::write(&path, text).unwrap();
            let files = append_only(&folder).map_err(|error| error.to_string())?;
            Ok::<_, String>(
                files.iter().map(|f| f.file_name().unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>(),
            )
        };
        fs::write(folder.join("temp-a.manifest"), "").unwrap();
        let text = "# note\nfile \"x y\" seq 2 type i\nfile b seq 1 type b\nfile o seq 1 type h\nfile z seq 3 type i new 5\n";
        assert_eq!(names(text).unwrap(), ["b", "x y", "z"]);
        assert_eq!(names("FILE a Seq 1 TYPE incr\n").unwrap(), ["a"]);
        for (text, reason) in [
            ("", "lists no file"),
            ("file a seq 1 type h\n", "lists no file"),
            ("file a/b seq 1 type i\n", "line 1: the name of the file contains a path"),
            ("file a seq 1 type b\nfile b seq 2 type b\n", "line 2: this is a second base file"),
            ("file a seq 1 type x\n", "line 1: unknown type of file"),
            ("file a seq\n", "line 1: not a line of a manifest"),
            ("file \"a\n", "line 1: the quote is not closed"),
            (
                &format!("file a seq 1 type i x {}\n", "y".repeat(1024)),
                "line 1: longer than a line of a manifest can be",
            ),
            (&"#\n".repeat(1 << 20), "is not a manifest"),
        ] {
            assert!(names(text).unwrap_err().ends_with(reason), "{text}");
        }
        fs::write(folder.join("b.manifest"), "").unwrap();
        assert!(append_only(&folder).unwrap_err().to_string().contains("more than one"));
        fs::remove_file(&path).unwrap();
        fs::remove_file(folder.join("b.manifest")).unwrap();
        assert!(append_only(&folder).unwrap_err().to_string().ends_with("no manifest"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
