//! The history of a server's data: the names of the replication stream that the data is made of.
//!
//! A history has a name and offsets, which count the bytes of its stream. A replica that is
//! promoted begins a history of its own and remembers the former one up to the offset where the two
//! part: replicas that follow the former one can continue without a snapshot.

use crate::id::ID_BYTES;
use std::fmt;

/// The name of a history: 40 letters and digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HistoryId([u8; ID_BYTES]);

impl HistoryId {
    /// Returns the name that a text is, if it is one. Servers choose hexadecimal digits, but any
    /// letters are accepted.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let bytes: [u8; ID_BYTES] = text.try_into().ok()?;
        bytes.iter().all(u8::is_ascii_alphanumeric).then_some(HistoryId(bytes))
    }

    /// Returns a random name.
    pub fn random(rng: &mut fastrand::Rng) -> Self {
        HistoryId(std::array::from_fn(|_| b"0123456789abcdef"[rng.usize(..16)]))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a name is ASCII")
    }

    /// Whether a text names this history, in upper or lower case.
    pub fn is_named(&self, text: &[u8]) -> bool {
        self.0.eq_ignore_ascii_case(text)
    }
}

impl fmt::Display for HistoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for HistoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.as_str()[..8])
    }
}

/// The history that a server's data is made of, as a primary or as a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    id: HistoryId,
    former: Option<(HistoryId, u64)>,
    is_intact: bool,
}

/// Where a server's data is in its history. See [`History::place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The history; `None` if the data is that of no history: it was dropped, and a snapshot has
    /// not taken its place yet.
    pub history: Option<HistoryId>,
    /// The history that it continues, and the offset up to which the two are the same.
    pub former: Option<(HistoryId, u64)>,
    /// The end of the stream, in bytes.
    pub offset: u64,
}

impl History {
    /// Returns a history that continues no other.
    pub fn new(id: HistoryId) -> Self {
        History { id, former: None, is_intact: true }
    }

    /// The name of the history.
    pub fn id(&self) -> HistoryId {
        self.id
    }

    /// The history that this one continues, and the offset up to which the two are the same.
    pub fn former(&self) -> Option<(HistoryId, u64)> {
        self.former
    }

    /// Whether the data is what the stream of this history makes of it. A replica whose data is not
    /// intact needs a snapshot.
    pub fn is_intact(&self) -> bool {
        self.is_intact
    }

    /// Begins a history that continues no other: the data was replaced by a snapshot of it, or
    /// nobody followed the old one.
    pub fn begin(&mut self, id: HistoryId) {
        *self = History::new(id);
    }

    /// Continues the history under another name, from an offset on.
    pub fn branch(&mut self, id: HistoryId, offset: u64) {
        let former = std::mem::replace(&mut self.id, id);
        self.former = Some((former, offset));
    }

    /// Notes that the data continues that of another history up to an offset. For a primary that
    /// restarts with the data of a file.
    pub fn continue_former(&mut self, id: HistoryId, offset: u64) {
        self.former = Some((id, offset));
    }

    /// Notes that the data is no longer that of the history: it was dropped, and a snapshot is
    /// about to take its place.
    pub fn lose_data(&mut self) {
        self.is_intact = false;
    }

    /// Begins the history of a replica that is promoted at an offset. Replicas may continue the
    /// former one only if the data is intact.
    pub fn lead(&mut self, id: HistoryId, offset: u64) {
        if self.is_intact { self.branch(id, offset) } else { self.begin(id) }
    }

    /// Returns where the data is, for a stream that ends at `offset`.
    pub fn place(&self, offset: u64) -> Place {
        Place { history: self.is_intact.then_some(self.id), former: self.former, offset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(letter: char) -> HistoryId {
        HistoryId::parse(letter.to_string().repeat(ID_BYTES).as_bytes()).expect("letters are a name")
    }

    #[test]
    fn names_are_letters_and_digits() {
        assert!(id('A').is_named(id('a').as_str().as_bytes()));
        assert!(HistoryId::parse(&[b'a'; 39]).is_none());
        for bad in [0, b' ', b':', b'-', 0xc3] {
            assert!(HistoryId::parse(&[bad; ID_BYTES]).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_promoted_replica_continues_the_history_of_intact_data_only() {
        let mut history = History::new(id('a'));
        history.lead(id('b'), 70);
        assert_eq!(history.place(80).former, Some((id('a'), 70)));
        history.lose_data();
        assert_eq!(history.place(80).history, None);
        history.lead(id('c'), 80);
        assert_eq!(history, History::new(id('c')));
    }
}
