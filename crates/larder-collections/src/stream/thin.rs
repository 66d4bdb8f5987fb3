//! A stream as one pointer, for a keyspace that stores nothing else.
//!
//! Safe twin: `Stream` itself. Tested at the foot of this file.

use super::{Data, Stream};
use std::ptr::NonNull;
use std::sync::Arc;

impl Stream {
    /// Gives the stream away as a pointer. [`Stream::from_thin`] takes it back; until then the pointer owns the stream.
    pub fn into_thin(self) -> NonNull<u8> {
        let ptr = Arc::into_raw(self.0).cast_mut().cast();
        NonNull::new(ptr).expect("an Arc is not at address zero")
    }

    /// Takes back what [`Stream::into_thin`] gave.
    ///
    /// # Safety
    /// The pointer came from `into_thin`, which was not undone since. To look at the stream and leave it where it is, wrap
    /// the result in `ManuallyDrop`.
    pub unsafe fn from_thin(ptr: NonNull<u8>) -> Stream {
        // SAFETY: the caller promises that `ptr` came from `Arc::into_raw` of an `Arc<Data>` in `into_thin`.
        Stream(unsafe { Arc::from_raw(ptr.cast::<Data>().as_ptr()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Limits, StreamId};

    #[test]
    fn streams_survive_the_round_trip() {
        let mut stream = Stream::new();
        for i in 1..300 {
            let pairs = [(&b"field"[..], &b"value"[..])];
            stream.append(StreamId::new(i, 0), pairs.into_iter(), &Limits::default());
            // SAFETY: the pointer comes from the `into_thin` just inside, once.
            let back = unsafe { Stream::from_thin(stream.clone().into_thin()) };
            assert_eq!((back.len(), back.last_id()), (i, StreamId::new(i, 0)));
        }
    }
}
