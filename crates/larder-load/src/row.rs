//! Rows, whatever they were read from.

/// Values by the names of columns.
pub trait Row {
    /// The value of a column; None if the row has none.
    fn get(&self, name: &str) -> Option<&[u8]>;
    /// Calls `f` with all columns that have a value, in order.
    fn each(&self, f: &mut dyn FnMut(&str, &[u8]));
}

impl Row for &[(String, Vec<u8>)] {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(column, _)| column == name).map(|(_, value)| value.as_slice())
    }

    fn each(&self, f: &mut dyn FnMut(&str, &[u8])) {
        self.iter().for_each(|(name, value)| f(name, value));
    }
}
