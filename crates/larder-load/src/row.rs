//! Rows, whatever they were read from.

/// Values by the names of columns.
pub trait Row {
    /// The value of a column; None if the row has none.
    fn get(&self, name: &str) -> Option<&[u8]>;
    /// Calls `f` with all columns that have a value, in order.
    fn each(&self, f: &mut dyn FnMut(&str, &[u8]));

    /// The time in a column, in microseconds since 1970, if the file says that it is one.
    fn micros(&self, _name: &str) -> Option<i64> {
        None
    }

    /// The row for the file of rejects.
    fn as_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.each(&mut |name, value| {
            if !text.is_empty() {
                text.push(b',');
            }
            text.extend_from_slice(name.as_bytes());
            text.push(b'=');
            text.extend_from_slice(value);
        });
        text
    }
}

impl Row for &[(String, Vec<u8>)] {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(column, _)| column == name).map(|(_, value)| value.as_slice())
    }

    fn each(&self, f: &mut dyn FnMut(&str, &[u8])) {
        self.iter().for_each(|(name, value)| f(name, value));
    }
}
