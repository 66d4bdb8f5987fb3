//! The title of the process, as `ps` shows it: the memory where the kernel has put the arguments and the environment.

use std::env;
use std::fs;
use std::sync::OnceLock;

/// Where the title may be written: address and length.
static ROOM: OnceLock<Option<(usize, usize)>> = OnceLock::new();

/// Makes room for titles: moves the environment to the heap. Must be called while there is one thread only, and after
/// the arguments have been read: they are overwritten later.
pub fn prepare() {
    ROOM.get_or_init(|| {
        let room = arguments_and_environment();
        if room.is_some() {
            for (name, value) in env::vars_os() {
                // SAFETY: there is no other thread that could read the environment.
                unsafe { env::set_var(name, value) };
            }
        }
        room
    });
}

/// From the start of the arguments to the end of the environment, which follows them.
fn arguments_and_environment() -> Option<(usize, usize)> {
    const ARG_START: usize = 48;
    const ENV_END: usize = 51;
    /// The first field after the name, which may hold spaces.
    const STATE: usize = 3;
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
    let address = |field: usize| fields.get(field - STATE)?.parse::<usize>().ok();
    let (start, end) = (address(ARG_START)?, address(ENV_END)?);
    let bytes = end.checked_sub(start)?;
    (start != 0 && bytes > 0).then_some((start, bytes))
}

/// Shows `title`, cut to the room there is. Nothing happens without [`prepare`].
pub fn set(title: &str) {
    let Some(&Some((start, bytes))) = ROOM.get() else { return };
    let shown = &title.as_bytes()[..title.len().min(bytes - 1)];
    // SAFETY: the kernel has mapped these bytes, readable and writable, for the life of the process; `prepare` has moved what
    // lay there and is still used, and nobody holds a reference to them.
    unsafe {
        let room = std::slice::from_raw_parts_mut(start as *mut u8, bytes);
        room[..shown.len()].copy_from_slice(shown);
        room[shown.len()..].fill(0);
    }
}
