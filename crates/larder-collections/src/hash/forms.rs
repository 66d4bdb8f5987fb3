//! The two forms of a hash: made of fields, and made of one another.
//!
//! A small hash whose names others have as well keeps only its values ([`crate::shapes`]).

use super::{Field, Form, Hash, HashLimits, Shaped};
use crate::shapes::{self, Fingerprint, SHAPE_FIELDS_MAX};
use crate::table::{FIELD_INLINE_MAX, FieldValue, FieldValueNew, Row, Table};

impl Hash {
    /// A hash of these fields; None if one is there twice. `field_of` gives each again by the number that comes with it. O(n log n), and
    /// a fraction of what as many calls of [`set`](Self::set) take.
    ///
    /// Panics if there are 2^32 fields or more.
    pub fn of_fields<'a>(
        fields: impl Iterator<Item = (u32, Field<'a>)>,
        field_of: impl Fn(u32) -> Field<'a>,
        limits: HashLimits,
    ) -> Option<Self> {
        if fields.size_hint().1.is_none_or(|most| most > SHAPE_FIELDS_MAX) {
            return Hash::of_names_and_values(fields, field_of, limits);
        }
        let fields: Vec<(u32, Field<'a>)> = fields.collect();
        if fields.iter().all(|(_, field)| field.expire_at_ms.is_none()) {
            let pairs = fields.iter().map(|(_, field)| (field.name, field.value));
            if let Some(hash) = Hash::of_shape(pairs, limits) {
                return Some(hash);
            }
        }
        Hash::of_names_and_values(fields.into_iter(), field_of, limits)
    }

    /// The same for a hash that gets no shape.
    fn of_names_and_values<'a>(
        fields: impl Iterator<Item = (u32, Field<'a>)>,
        field_of: impl Fn(u32) -> Field<'a>,
        limits: HashLimits,
    ) -> Option<Self> {
        let (mut longest, mut expires) = (0, false);
        let entry = |(id, field): (u32, Field<'a>)| {
            longest = longest.max(field.name.len()).max(field.value.len());
            expires |= field.expire_at_ms.is_some();
            (id, field.into_entry())
        };
        let table = Table::of_entries(fields.map(entry), |id| field_of(id).into_entry())?;
        let mut hash = Hash { form: Form::Table(table) };
        hash.note_size(longest, expires, limits);
        Some(hash)
    }

    /// A hash of these fields, if there is a shape of their names in this order: then no field is there twice. O(n), and less
    /// than any other way to make a hash.
    pub fn of_shape<'a>(
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
        limits: HashLimits,
    ) -> Option<Self> {
        if !shapes::is_enabled() || !shapes::expects_some() {
            return None;
        }
        if fields.clone().nth(SHAPE_FIELDS_MAX).is_some() {
            return None;
        }
        let names = fields.clone().map(|(name, _)| name);
        let values = fields.clone().map(|(_, value)| value);
        let shape = shapes::find(Fingerprint::of(names.clone()), names)?;
        if !Shaped::takes(values.clone()) {
            return None;
        }
        shapes::note_outcome(true);
        let longest = fields.map(|(name, value)| name.len().max(value.len())).max();
        let mut hash = Hash { form: Form::Shaped { shaped: Shaped::of(shape, values), mark: false } };
        hash.note_size(longest.unwrap_or(0), false, limits);
        Some(hash)
    }

    /// Makes the hash as small as it can be, before it is stored: gives it a shape if others have the same names in the
    /// same order. O(fields) of a hash with up to [`SHAPE_FIELDS_MAX`] of them, else O(1).
    pub fn settle(&mut self) {
        if !shapes::is_enabled() {
            return;
        }
        let (shaped, mark) = match &mut self.form {
            Form::Table(table) if shapes::may_try() => (shaped_of(table), table.mark()),
            Form::Table(_) => return,
            Form::Shaped { shaped, .. } => return shaped.tidy(),
        };
        if let Some(shaped) = shaped {
            self.form = Form::Shaped { shaped, mark };
        }
    }

    /// Whether there is a shape with the names of the hash, which [`settle`](Self::settle) then gives it.
    pub fn may_take_shape(&self) -> bool {
        let Form::Table(table) = &self.form else { return false };
        if !is_candidate(table) || !shapes::is_enabled() {
            return false;
        }
        let names = table.iter().map(|row| row.key());
        let is_found = shapes::find(Fingerprint::of(names.clone()), names).is_some();
        if is_found {
            // A thread that has found none for a long time looks for only some. This one must look when it settles the hash.
            shapes::note_outcome(true);
        }
        is_found
    }

    /// Bytes of the field names that the hash shares with others, if it does.
    pub fn shared_names_bytes(&self) -> Option<usize> {
        match &self.form {
            Form::Table(_) => None,
            Form::Shaped { shaped, .. } => Some(shaped.shape().names_bytes() + shaped.shape().len()),
        }
    }
}

/// The fields of a table as the values of a shape, if enough hashes have the same names in the same order.
fn shaped_of(table: &Table<FieldValue>) -> Option<Shaped> {
    if !is_candidate(table) {
        return None;
    }
    match table.as_run() {
        Some(run) => shaped_of_rows(run.rows()),
        None => shaped_of_rows(table.iter()),
    }
}

fn shaped_of_rows<'a>(rows: impl Iterator<Item = Row<'a, FieldValue>> + Clone) -> Option<Shaped> {
    let names = rows.clone().map(Row::key);
    let values = rows.map(Row::value);
    let fingerprint = Fingerprint::of(names.clone());
    let found = shapes::find(fingerprint, names.clone());
    shapes::note_outcome(found.is_some());
    // Most hashes have no shape where names differ, so what is read of them until then is only their names.
    let is_new = found.is_none();
    if is_new && !shapes::note(fingerprint) || !Shaped::takes(values.clone()) {
        return None;
    }
    if is_new && names.clone().any(|name| name.len() > FIELD_INLINE_MAX) {
        return None;
    }
    let shape = found.or_else(|| shapes::create(fingerprint, names))?;
    Some(Shaped::of(shape, values))
}

/// Whether the fields of a table may be those of a shape.
#[inline]
fn is_candidate(table: &Table<FieldValue>) -> bool {
    table.is_in_order() && !table.is_empty() && table.len() <= SHAPE_FIELDS_MAX
}

impl Shaped {
    /// A table of the same fields.
    #[inline(never)]
    pub(super) fn to_table(&self, mark: bool) -> Table<FieldValue> {
        let bytes = self.iter().map(|(name, value)| 1 + name.len() + value.len()).sum();
        let mut table = Table::with_room(self.len(), bytes);
        for (field, value) in self.iter() {
            table.insert(FieldValueNew { field, value, expire_at_ms: None });
        }
        if mark {
            table.set_mark();
        }
        table
    }
}
