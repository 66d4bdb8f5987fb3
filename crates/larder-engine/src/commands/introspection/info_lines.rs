//! The form of the sections of INFO.

/// Appends `name:value` lines.
macro_rules! lines {
    ($text:expr, $($name:literal: $value:expr,)*) => {
        $(let _ = write!($text, concat!($name, ":{}\r\n"), $value);)*
    };
}

pub(super) use lines;
