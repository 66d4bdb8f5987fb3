//! Values out of columns and levels: each column of values goes on by itself, and the levels say which of them belong together.

use crate::mapping::VALUE_BYTES_MAX;
use crate::parquet::column::{Leaf, Levels};
use crate::parquet::kind::{Json, Kind};
use crate::parquet::shape::{Node, Repeated, Shape};

/// The columns of values.
pub type Leaves = [Box<dyn Leaf>];

/// The value of a column in a row.
#[derive(Debug, Default)]
pub struct Cell {
    /// Its text, if it has a value.
    pub text: Vec<u8>,
    /// Whether it has one.
    pub is_there: bool,
    /// Microseconds since 1970, if it is a date or a timestamp.
    pub micros: Option<i64>,
}

/// Reads the value of a column in the next row. The inner error says why the value has no text: the row is passed all the same.
///
/// # Errors
/// The data is damaged.
pub fn read(node: &Node, leaves: &mut Leaves, cell: &mut Cell) -> Result<Result<(), String>, String> {
    cell.text.clear();
    (cell.is_there, cell.micros) = (false, None);
    let leaves = leaves.get_mut(node.leaves.clone()).ok_or(NO_LEAF)?;
    for leaf in leaves.iter_mut() {
        match leaf.levels()? {
            None => return Err("it has fewer values than the row group has rows".to_owned()),
            Some(Levels { repetition: 0, .. }) => {}
            Some(_) => return Err("a row begins within a list".to_owned()),
        }
    }
    let mut text = Text { to: &mut cell.text, fault: None };
    match (&node.shape, &mut *leaves) {
        (Shape::Value(kind), [leaf]) => {
            if let Some(value) = leaf.value() {
                (cell.is_there, cell.micros) = (true, kind.micros(value));
                text.put(|to| kind.write(value, to).map(drop));
            }
            leaf.advance();
        }
        _ => cell.is_there = Walk { first: node.leaves.start, leaves }.json(node, &mut text)?,
    }
    Ok(text.fault.map_or(Ok(()), Err))
}

const NO_LEAF: &str = "a column is missing";

/// What is written of a value until there is a reason not to.
struct Text<'a> {
    to: &'a mut Vec<u8>,
    fault: Option<String>,
}

impl Text<'_> {
    fn put(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), String>) {
        if self.fault.is_some() {
            return;
        }
        self.fault = write(self.to).err();
        if self.to.len() > VALUE_BYTES_MAX {
            (self.fault, *self.to) = (Some("a value larger than 512 MB".to_owned()), Vec::new());
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.put(|to| {
            to.extend_from_slice(bytes);
            Ok(())
        });
    }

    /// A string of JSON.
    fn string(&mut self, bytes: &[u8]) {
        self.put(|to| {
            let text =
                std::str::from_utf8(bytes).map_err(|_| "bytes that are not UTF-8 in a list or a struct")?;
            serde_json::to_writer(to, text).map_err(|error| error.to_string())
        });
    }
}

/// The leaves of a column, of which the first has a number.
struct Walk<'a> {
    first: usize,
    leaves: &'a mut Leaves,
}

impl Walk<'_> {
    fn of(&mut self, node: &Node) -> Result<&mut Leaves, String> {
        let range = node.leaves.start.checked_sub(self.first).zip(node.leaves.end.checked_sub(self.first));
        let leaves = range.and_then(|(from, to)| self.leaves.get_mut(from..to));
        leaves.ok_or_else(|| NO_LEAF.to_owned())
    }

    /// Whether something is said by the levels of all leaves of a node, or of none.
    fn all(&mut self, node: &Node, says: impl Fn(Option<Levels>) -> bool) -> Result<bool, String> {
        let mut said = None;
        for leaf in self.of(node)? {
            let this = says(leaf.levels()?);
            if said.is_some_and(|other| other != this) {
                return Err("the levels of its columns do not match".to_owned());
            }
            said = Some(this);
        }
        Ok(said.unwrap_or(false))
    }

    fn is_defined(&mut self, node: &Node, level: i16) -> Result<bool, String> {
        self.all(node, |levels| levels.is_some_and(|levels| levels.definition >= level))
    }

    fn advance(&mut self, node: &Node) -> Result<(), String> {
        self.of(node)?.iter_mut().for_each(|leaf| leaf.advance());
        Ok(())
    }

    /// Appends a node as JSON; returns whether it is there. What is not there is `null`.
    fn json(&mut self, node: &Node, text: &mut Text<'_>) -> Result<bool, String> {
        if !self.is_defined(node, node.definition)? {
            self.advance(node)?;
            text.bytes(b"null");
            return Ok(false);
        }
        match &node.shape {
            Shape::Value(kind) => self.value(node, *kind, text)?,
            Shape::Struct(fields) => {
                text.bytes(b"{");
                for (number, field) in fields.iter().enumerate() {
                    text.bytes(if number > 0 { b"," } else { b"" });
                    text.string(field.name.as_bytes());
                    text.bytes(b":");
                    self.json(field, text)?;
                }
                text.bytes(b"}");
            }
            Shape::List(repeated, element) => {
                text.bytes(b"[");
                self.each(node, *repeated, text, &mut |walk, text| walk.json(element, text).map(drop))?;
                text.bytes(b"]");
            }
            Shape::Map(repeated, entry) => {
                let [key, value] = &**entry;
                text.bytes(b"{");
                self.each(node, *repeated, text, &mut |walk, text| {
                    walk.key(key, text)?;
                    text.bytes(b":");
                    walk.json(value, text).map(drop)
                })?;
                text.bytes(b"}");
            }
        }
        Ok(true)
    }

    fn value(&mut self, node: &Node, kind: Kind, text: &mut Text<'_>) -> Result<(), String> {
        let [leaf] = self.of(node)? else { return Err(NO_LEAF.to_owned()) };
        let value = leaf.value().ok_or("a value does not match its levels")?;
        let mut plain = Vec::new();
        match kind.write(value, &mut plain) {
            Ok(Json::Bare) => text.bytes(&plain),
            Ok(Json::Quoted) => text.string(&plain),
            Err(reason) => text.put(|_| Err(reason)),
        }
        leaf.advance();
        Ok(())
    }

    /// Calls `one` at each element, with commas between.
    fn each(
        &mut self,
        node: &Node,
        repeated: Repeated,
        text: &mut Text<'_>,
        one: &mut dyn FnMut(&mut Self, &mut Text<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        if !self.is_defined(node, repeated.definition)? {
            return self.advance(node);
        }
        loop {
            one(self, text)?;
            // What is repeated further inside has been passed by then.
            if !self.all(node, |levels| levels.is_some_and(|l| l.repetition >= repeated.repetition))? {
                return Ok(());
            }
            if self.all(node, |levels| levels.is_some_and(|l| l.repetition > repeated.repetition))? {
                return Err("a list continues after its end".to_owned());
            }
            text.bytes(b",");
        }
    }

    /// A key of a map: names in JSON are strings.
    fn key(&mut self, node: &Node, text: &mut Text<'_>) -> Result<(), String> {
        let mut json = Vec::new();
        let mut inside = Text { to: &mut json, fault: text.fault.take() };
        self.json(node, &mut inside)?;
        text.fault = inside.fault;
        if json.starts_with(b"\"") {
            text.bytes(&json);
        } else {
            text.string(&json);
        }
        Ok(())
    }
}
