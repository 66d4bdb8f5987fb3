//! Calls of the crate `parquet`, which meets some damage with a panic: here it becomes an error.

use ::parquet::errors::{ParquetError, Result};
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is caught here, and is nothing to print.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What a call returns; the error says what is wrong with the data. After a panic nothing that the call had in hand is used again.
pub fn guarded<T>(call: impl FnOnce() -> Result<T>) -> std::result::Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                before(info);
            }
        }));
    });
    IS_GUARDED.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(call));
    IS_GUARDED.set(false);
    match done {
        Ok(result) => result.map_err(reason),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown reason");
            Err(format!("damaged data: {}", text.lines().next().unwrap_or_default()))
        }
    }
}

/// The text of an error without the name of its kind.
fn reason(error: ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::EOF(text) | ParquetError::NYI(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors() {
        assert_eq!(guarded(|| Ok(1)), Ok(1));
        let error: Result<()> = Err(ParquetError::General("why".to_owned()));
        assert_eq!(guarded(|| error), Err("why".to_owned()));
        let odd = |at: usize| guarded(|| Ok([1, 2][at]));
        assert_eq!(odd(1), Ok(2));
        assert!(odd(2).unwrap_err().starts_with("damaged data: index out of bounds"));
    }
}
