//! A hash: fields and their values, packed at every size.
//!
//! Why one structure for all sizes: Redis keeps small hashes packed and gives every field of a larger one two allocations
//! and a slot of a table. Here a hash is a [`Table`] whose entries are field and value in one piece; it grows by
//! splitting segments, and what OBJECT ENCODING answers is a bit that remembers the thresholds, nothing more.
//!
//! Cost: 3.1 bytes per field beside field and value (10 with an expiry), and the slack of the segments; fields above 127
//! bytes and values above 128 live out of line (32 bytes more). Every operation on one field is O(1), clone O(1).
//!
//! ```text
//!  entry   | klen | field | value |            see `larder_packed::segment`, rows/field.rs
//! ```
//!
//! Times are given, never read. A field whose time has come is not there for any reader, whether it has been taken out
//! or not; [`Hash::take_due`] takes such fields out, guided by the earliest expiry of each segment.
//!
//! Invariants: those of the table; and a hash with an expiry is marked as large.
//!
//! Tested by `tests.rs` against a model with a clock, and by the table's tests.

mod cold;
mod forms;
mod peek;
mod random;
mod shaped;
#[cfg(test)]
mod tests;

use crate::table::{FieldValue, FieldValueNew, Row, Table};

use larder_packed::heap::Mover;

pub use peek::Peek;
pub(crate) use shaped::Shaped;

/// Due fields that a change takes out on its way, at most.
const TAKEN_BY_CHANGE: usize = 16;

/// Fields and values. Clones are O(1) and independent.
#[derive(Clone, Default)]
pub struct Hash {
    pub(crate) form: Form,
}

/// The representation of a hash.
#[derive(Clone)]
pub(crate) enum Form {
    /// Names and values.
    Table(Table<FieldValue>),
    /// The values of a shape; `mark` as that of a table.
    Shaped { shaped: Shaped, mark: bool },
}

impl Hash {
    /// Moves the hash's blocks, those that lie in sparse slabs and are not shared.
    pub(crate) fn move_blocks(&mut self, mover: &mut Mover) {
        match &mut self.form {
            Form::Table(table) => table.move_blocks(mover),
            Form::Shaped { shaped, .. } => shaped.move_block(mover),
        }
    }
}

impl Default for Form {
    fn default() -> Self {
        Form::Table(Table::new())
    }
}

/// Up to where a hash counts as small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashLimits {
    /// Number of fields.
    pub count_max: u64,
    /// Bytes of the longest field or value.
    pub bytes_max: usize,
}

impl HashLimits {
    /// Whether a hash with this number of fields, or a field or value of this many bytes, exceeds the limits.
    #[inline]
    fn are_exceeded(self, bytes: usize, fields: usize) -> bool {
        bytes > self.bytes_max || fields as u64 > self.count_max
    }
}

impl Default for HashLimits {
    /// What Redis and Valkey have by default.
    fn default() -> Self {
        HashLimits { count_max: 128, bytes_max: 64 }
    }
}

/// How Redis would store the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashEncoding {
    /// It has always been within the limits, and no field has expired or may.
    Listpack,
    /// It was once beyond them.
    Hashtable,
}

/// What becomes of a field's expiry when its value is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldExpiry {
    /// It has none afterwards.
    Clear,
    /// It stays.
    Keep,
    /// It expires at this time, in milliseconds.
    At(u64),
}

/// What a field can be changed to.
pub trait ToText {
    /// Calls `f` with the value that the field gets. (Not returned: a text that is moved around shortly after it was written waits for that.)
    fn with_text<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;
}

impl ToText for i64 {
    #[inline]
    fn with_text<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(itoa::Buffer::new().format(*self).as_bytes())
    }
}

impl ToText for String {
    fn with_text<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

/// A field as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// When it expires, in milliseconds.
    pub expire_at_ms: Option<u64>,
}

impl<'a> Field<'a> {
    #[inline]
    fn of(row: Row<'a, FieldValue>) -> Self {
        let (name, value, expire_at_ms) = row.parts();
        Field { name, value, expire_at_ms }
    }

    #[inline]
    fn into_entry(self) -> FieldValueNew<'a> {
        FieldValueNew { field: self.name, value: self.value, expire_at_ms: self.expire_at_ms }
    }

    #[inline]
    fn is_live(&self, now_ms: u64) -> bool {
        self.expire_at_ms.is_none_or(|at| at > now_ms)
    }
}

impl Hash {
    /// An empty hash.
    pub fn new() -> Self {
        Hash::default()
    }

    /// An empty hash with room for this many short fields and values of this many bytes together.
    pub fn with_room(fields: usize, bytes: usize) -> Self {
        Hash { form: Form::Table(Table::with_room(fields, bytes + fields)) }
    }

    /// The shape of its names, counted, if it has one.
    pub(crate) fn shape(&self) -> Option<crate::shapes::ShapeRef> {
        if let Form::Shaped { shaped, .. } = &self.form { Some(shaped.counted_shape()) } else { None }
    }

    /// Number of fields, those included whose time has come but which are not taken out yet. O(1).
    #[inline]
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Table(table) => table.len(),
            Form::Shaped { shaped, .. } => shaped.len(),
        }
    }

    /// Whether nothing is left, not even fields whose time has come.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of fields that readers see. O(1) unless fields are due.
    pub fn live(&self, now_ms: u64) -> usize {
        match &self.form {
            Form::Table(table) => table.len() - table.due(now_ms),
            Form::Shaped { shaped, .. } => shaped.len(),
        }
    }

    /// The value of a field.
    #[inline]
    pub fn get(&self, name: &[u8], now_ms: u64) -> Option<&[u8]> {
        let table = match &self.form {
            Form::Table(table) => table,
            Form::Shaped { shaped, .. } => return shaped.get(name),
        };
        let row = table.get(name)?;
        match row.expire_at_ms() {
            Some(at) if at <= now_ms => None,
            _ => Some(row.value()),
        }
    }

    /// A field with its value and expiry.
    pub fn field(&self, name: &[u8], now_ms: u64) -> Option<Field<'_>> {
        match &self.form {
            Form::Table(table) => table.get(name).map(Field::of).filter(|field| field.is_live(now_ms)),
            Form::Shaped { shaped, .. } => {
                let at = shaped.shape().position(name)?;
                Some(Field { name: shaped.shape().name(at), value: shaped.value(at)?, expire_at_ms: None })
            }
        }
    }

    /// Sets the value of a field; true if the field was not there.
    #[inline]
    pub fn set(
        &mut self,
        name: &[u8],
        value: &[u8],
        expiry: FieldExpiry,
        limits: HashLimits,
        now_ms: u64,
    ) -> bool {
        match &mut self.form {
            Form::Table(table) if table.expiring() == 0 && !matches!(expiry, FieldExpiry::At(_)) => {
                let added = table.put(FieldValueNew { field: name, value, expire_at_ms: None });
                if limits.are_exceeded(name.len().max(value.len()), table.len()) {
                    table.set_mark();
                }
                added
            }
            _ => self.set_otherwise(name, value, expiry, limits, now_ms),
        }
    }

    /// The same for a hash that has a shape or fields that expire, or gets one.
    #[inline(never)]
    fn set_otherwise(
        &mut self,
        name: &[u8],
        value: &[u8],
        expiry: FieldExpiry,
        limits: HashLimits,
        now_ms: u64,
    ) -> bool {
        if !matches!(expiry, FieldExpiry::At(_)) && self.set_shaped(name, value, limits) {
            return false;
        }
        let mut is_new = None;
        if self.expiring() > 0 {
            let field = self.peek(name, now_ms);
            is_new = Some(field.is_none());
            if expiry == FieldExpiry::Keep
                && let Some(at) = field.and_then(|field| field.expire_at_ms())
            {
                return self.set(name, value, FieldExpiry::At(at), limits, now_ms);
            }
        }
        let expire_at_ms = if let FieldExpiry::At(at) = expiry { Some(at) } else { None };
        let added = self.table_mut().put(FieldValueNew { field: name, value, expire_at_ms });
        self.note_size(name.len().max(value.len()), expire_at_ms.is_some(), limits);
        is_new.unwrap_or(added)
    }

    /// Sets a field to what `compute` makes of its value, None if it has none; its expiry stays. An error changes nothing. The field is sought
    /// once.
    pub fn change<V: ToText, E>(
        &mut self,
        name: &[u8],
        limits: HashLimits,
        now_ms: u64,
        compute: impl FnOnce(Option<&[u8]>) -> Result<V, E>,
    ) -> Result<V, E> {
        let table = match &self.form {
            Form::Table(table) => table,
            Form::Shaped { shaped, .. } => {
                let value = compute(shaped.get(name))?;
                value.with_text(|text| self.set(name, text, FieldExpiry::Clear, limits, now_ms));
                return Ok(value);
            }
        };
        let hash = Table::<FieldValue>::hash_of(name);
        let row = table.get_hashed(hash, name);
        let field = row.map(Field::of).filter(|field| field.is_live(now_ms));
        let (slot, expire_at_ms) =
            (row.map(|row| row.slot().index()), field.and_then(|field| field.expire_at_ms));
        let value = compute(field.map(|field| field.value))?;
        value.with_text(|text| {
            self.table_mut().put_found(hash, slot, FieldValueNew { field: name, value: text, expire_at_ms });
            self.note_size(name.len().max(text.len()), expire_at_ms.is_some(), limits);
        });
        Ok(value)
    }

    /// Sets the value of a field unless it is there; true if it was not.
    pub fn set_new(&mut self, name: &[u8], value: &[u8], limits: HashLimits, now_ms: u64) -> bool {
        if self.expiring() > 0 && self.peek(name, now_ms).is_none() {
            self.table_mut().remove(name);
        }
        if let Form::Shaped { shaped, .. } = &self.form
            && shaped.get(name).is_some()
        {
            return false;
        }
        let added = self.table_mut().insert(FieldValueNew { field: name, value, expire_at_ms: None });
        if added {
            self.note_size(name.len().max(value.len()), false, limits);
        }
        added
    }

    /// Removes a field; true if readers saw it.
    pub fn remove(&mut self, name: &[u8], now_ms: u64) -> bool {
        self.take(name, now_ms, |_| ()).is_some()
    }

    /// Removes a field after showing it to `visit`.
    pub fn take<R>(&mut self, name: &[u8], now_ms: u64, visit: impl FnOnce(Peek<'_>) -> R) -> Option<R> {
        if let Form::Shaped { shaped, .. } = &mut self.form {
            let at = shaped.shape().position(name)?;
            let result = visit(Peek::shaped(name, shaped.value(at)?));
            shaped.remove(at);
            if shaped.is_sparse() {
                self.table_mut();
            }
            return Some(result);
        }
        let taken = self.table_mut().take(name, |row| {
            let field = Peek::of(row);
            field.is_live(now_ms).then(|| visit(field))
        });
        taken.flatten()
    }

    /// Gives a field an expiry, in milliseconds, or takes it away; false if there is no such field.
    pub fn set_expiry(&mut self, name: &[u8], expire_at_ms: Option<u64>, now_ms: u64) -> bool {
        if self.field(name, now_ms).is_none() {
            return false;
        }
        if expire_at_ms.is_none() && matches!(self.form, Form::Shaped { .. }) {
            return true;
        }
        let found = self.table_mut().set_expiry(name, expire_at_ms);
        if found && expire_at_ms.is_some() {
            self.set_mark();
        }
        found
    }

    /// Looks at a field.
    pub fn peek(&self, name: &[u8], now_ms: u64) -> Option<Peek<'_>> {
        let field = match &self.form {
            Form::Table(table) => Peek::of(table.get(name)?),
            Form::Shaped { .. } => {
                let Field { name, value, .. } = self.field(name, now_ms)?;
                Peek::shaped(name, value)
            }
        };
        Some(field).filter(|field| field.is_live(now_ms))
    }

    /// Looks at all fields that readers see, in the order of [`iter`](Self::iter).
    pub fn peeks(&self, now_ms: u64) -> impl Iterator<Item = Peek<'_>> + Clone {
        match &self.form {
            Form::Table(table) => {
                Iter::Table(table.looks().map(Peek::look).filter(move |field| field.is_live(now_ms)))
            }
            Form::Shaped { shaped, .. } => {
                Iter::Shaped(shaped.iter().map(|(name, value)| Peek::shaped(name, value)))
            }
        }
    }

    /// Reads all fields that readers see, in the order of [`iter`](Self::iter): a use of each, but compressed segments leave no copies.
    pub fn for_each(&self, now_ms: u64, mut f: impl FnMut(Field<'_>)) {
        let Form::Table(table) = &self.form else { return self.iter(now_ms).for_each(f) };
        table.read_all(|row| {
            let field = Field::of(row);
            if field.is_live(now_ms) {
                f(field);
            }
        });
    }

    /// All fields that readers see: of a small hash in the order in which they came.
    pub fn iter(&self, now_ms: u64) -> impl Iterator<Item = Field<'_>> + Clone {
        match &self.form {
            Form::Table(table) => {
                Iter::Table(table.iter().map(Field::of).filter(move |field| field.is_live(now_ms)))
            }
            Form::Shaped { shaped, .. } => {
                Iter::Shaped(shaped.iter().map(|(name, value)| Field { name, value, expire_at_ms: None }))
            }
        }
    }

    /// Visits about `count` fields from a cursor on and returns the next one, as [`Table::scan`] does. A hash that is called
    /// listpack is seen at once.
    pub fn scan(&self, cursor: u64, count: usize, now_ms: u64, mut visit: impl FnMut(Peek<'_>)) -> u64 {
        if self.encoding() == HashEncoding::Listpack {
            self.peeks(now_ms).for_each(visit);
            return 0;
        }
        let table = match &self.form {
            Form::Table(table) => table,
            Form::Shaped { shaped, .. } => &shaped.to_table(true),
        };
        table.scan(cursor, count, |row| {
            let field = Peek::of(row);
            if field.is_live(now_ms) {
                visit(field);
            }
        })
    }

    /// Whether all fields are in one segment: a scan visits them all at once.
    pub fn is_one_block(&self) -> bool {
        match &self.form {
            Form::Table(table) => table.is_in_order(),
            Form::Shaped { .. } => true,
        }
    }

    /// How Redis would store the hash.
    pub fn encoding(&self) -> HashEncoding {
        let mark = match &self.form {
            Form::Table(table) => table.mark(),
            Form::Shaped { mark, .. } => *mark,
        };
        if mark { HashEncoding::Hashtable } else { HashEncoding::Listpack }
    }

    /// Number of fields with an expiry. O(1).
    #[inline]
    pub fn expiring(&self) -> usize {
        self.table().map_or(0, Table::expiring)
    }

    /// A time, in milliseconds, before which no field expires; `u64::MAX` if none ever does. O(1).
    #[inline]
    pub fn soonest(&self) -> u64 {
        self.table().map_or(u64::MAX, Table::soonest)
    }

    /// Takes out up to `max` fields whose time has come, after showing them to `visit`; returns how many. Fewer than
    /// `max`: there are no more.
    pub fn take_due(&mut self, now_ms: u64, max: usize, mut visit: impl FnMut(Peek<'_>)) -> usize {
        match &mut self.form {
            Form::Table(table) => table.take_due(now_ms, max, |row| visit(Peek::of(row))),
            Form::Shaped { .. } => 0,
        }
    }

    /// Takes out a few fields whose time has come, so that changes of a hash clean it up; returns how many.
    #[inline]
    pub fn clean(&mut self, now_ms: u64, visit: impl FnMut(Peek<'_>)) -> usize {
        if self.soonest() <= now_ms { self.take_due(now_ms, TAKEN_BY_CHANGE, visit) } else { 0 }
    }

    /// Takes a field out if its time has come; whether it has.
    pub fn take_if_due(&mut self, name: &[u8], now_ms: u64) -> bool {
        let Form::Table(table) = &mut self.form else { return false };
        let is_due =
            table.soonest() <= now_ms && table.get(name).is_some_and(|row| !Peek::of(row).is_live(now_ms));
        is_due && table.remove(name)
    }

    /// Calls `f` with the value of each of several fields, in their order. In a large hash this is faster than one [`get`](Self::get) after the
    /// other: the memory of all lookups is on its way before the first one waits for it.
    pub fn get_each<'m>(
        &self,
        names: impl Iterator<Item = &'m [u8]>,
        now_ms: u64,
        mut f: impl FnMut(Option<&[u8]>),
    ) {
        /// Lookups that are under way together.
        const LOOKUPS: usize = 16;
        let Form::Table(table) = &self.form else {
            return names.for_each(|name| f(self.get(name, now_ms)));
        };
        if self.is_one_block() {
            return names.for_each(|name| f(self.get(name, now_ms)));
        }
        let (mut names, mut batch) = (names, Vec::with_capacity(LOOKUPS));
        loop {
            batch.extend(names.by_ref().take(LOOKUPS).map(|name| (Table::<FieldValue>::hash_of(name), name)));
            if batch.is_empty() {
                return;
            }
            table.prefetch_each(batch.iter().map(|&(hash, _)| hash));
            for (hash, name) in batch.drain(..) {
                let field = table.get_hashed(hash, name).map(Field::of);
                f(field.filter(|field| field.is_live(now_ms)).map(|field| field.value));
            }
        }
    }

    /// Asks the processor to load what a walk over a small hash reads.
    pub fn prefetch_walk(&self) {
        match &self.form {
            Form::Table(table) => table.prefetch_walk(),
            Form::Shaped { shaped, .. } => shaped.prefetch(),
        }
    }

    /// Asks the processor to load what lookups of fields with these hashes read in a large hash.
    pub fn prefetch_all(&self, hashes: &[u64]) {
        if let Form::Table(table) = &self.form {
            table.prefetch_each(hashes.iter().copied());
        }
    }

    /// Bytes of heap, without those of a shape, which other hashes have too.
    pub fn memory_bytes(&self) -> usize {
        match &self.form {
            Form::Table(table) => table.memory_bytes(),
            Form::Shaped { shaped, .. } => shaped.heap_bytes(),
        }
    }

    /// Allocations beside those of out-of-line strings. O(1).
    pub fn node_count(&self) -> usize {
        self.table().map_or(1, Table::node_count)
    }

    /// Panics unless the invariants hold.
    pub fn check_invariants(&self) {
        match &self.form {
            Form::Table(table) => table.check_invariants(),
            Form::Shaped { shaped, .. } => shaped.check_invariants(),
        }
        let is_marked = self.encoding() == HashEncoding::Hashtable;
        assert!(self.expiring() == 0 || is_marked, "a hash with expiries is marked");
    }

    /// Whether the hash has a shape.
    #[inline]
    pub fn is_shaped(&self) -> bool {
        matches!(self.form, Form::Shaped { .. })
    }

    #[inline]
    fn table(&self) -> Option<&Table<FieldValue>> {
        match &self.form {
            Form::Table(table) => Some(table),
            Form::Shaped { .. } => None,
        }
    }

    /// The table of a hash, which gets names of its own if it has none.
    #[inline]
    fn table_mut(&mut self) -> &mut Table<FieldValue> {
        if let Form::Shaped { shaped, mark } = &self.form {
            self.form = Form::Table(shaped.to_table(*mark));
        }
        match &mut self.form {
            Form::Table(table) => table,
            Form::Shaped { .. } => unreachable!("it was just given names"),
        }
    }

    fn set_mark(&mut self) {
        match &mut self.form {
            Form::Table(table) => table.set_mark(),
            Form::Shaped { mark, .. } => *mark = true,
        }
    }

    /// Sets a field that the shape of the hash has; false, and nothing is done, if that is not possible.
    #[inline(never)]
    fn set_shaped(&mut self, name: &[u8], value: &[u8], limits: HashLimits) -> bool {
        let Form::Shaped { shaped, .. } = &mut self.form else { return false };
        let is_set = shaped.shape().position(name).is_some_and(|at| shaped.set(at, value));
        if is_set {
            self.note_size(name.len().max(value.len()), false, limits);
        }
        is_set
    }

    fn note_size(&mut self, bytes: usize, expires: bool, limits: HashLimits) {
        if expires || limits.are_exceeded(bytes, self.len()) {
            self.set_mark();
        }
    }
}

/// The fields of either form.
#[derive(Clone)]
enum Iter<T, S> {
    Table(T),
    Shaped(S),
}

impl<F, T: Iterator<Item = F>, S: Iterator<Item = F>> Iterator for Iter<T, S> {
    type Item = F;

    #[inline]
    fn next(&mut self) -> Option<F> {
        match self {
            Iter::Table(fields) => fields.next(),
            Iter::Shaped(fields) => fields.next(),
        }
    }

    #[inline]
    fn fold<B, G: FnMut(B, F) -> B>(self, init: B, f: G) -> B {
        match self {
            Iter::Table(fields) => fields.fold(init, f),
            Iter::Shaped(fields) => fields.fold(init, f),
        }
    }
}
