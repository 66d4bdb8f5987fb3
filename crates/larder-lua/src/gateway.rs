//! The way from scripts to the server and back: `redis.call`, by Lua's own interface in C.
//!
//! A script may call commands a thousand times. Through handles to Lua values each call would cost more than
//! the command does. So arguments are copied from Lua's stack into one buffer, the server leaves its reply as
//! it would send it (RESP) in another, and that is pushed as Lua values:
//!
//! | RESP | in Lua |
//! |---|---|
//! | integer | number |
//! | bulk string | string; `false` for null |
//! | simple string, error | `{ok = ...}`, `{err = ..., ignore_error_stats_update = true}` |
//! | array | table; `false` for null |
//! | RESP3: null, boolean | `nil`, boolean |
//! | RESP3: double, big number | `{double = ...}`, `{big_number = ...}` |
//! | RESP3: map, set | `{map = {...}}`, `{set = {member = true, ...}}` |
//! | RESP3: verbatim string | `{verbatim_string = {format = ..., string = ...}}` |
//!
//! # Safety
//!
//! Lua raises errors by `longjmp`, also out of functions that only make a string, when memory is short. It must not pass
//! over Rust values that have to be dropped. Hence:
//! - G1: a function here that may raise an error, or calls one that may, holds only numbers, pointers and slices.
//! - G2: what has to be dropped lives in the thread's [`Exchange`], or in functions that call nothing of Lua but what only
//!   reads its stack.
//! - G3: the reply is not changed while it is read: nothing that Lua does on the way (collecting garbage) calls the server.
//! - G4: no panic crosses a frame of C: it is kept, and goes on when the script has ended ([`resume_panic`]).

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Why the arguments of a call are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// One is neither a string nor a number.
    Type,
    /// They are longer than [`BYTES_MAX`] together.
    TooLong,
}

/// Bytes of the arguments of a call: as many as may wait of a client's request.
pub const BYTES_MAX: usize = if cfg!(test) { 1 << 20 } else { 1 << 30 };

/// What goes to the server and comes back.
#[derive(Default)]
pub struct Exchange {
    /// The arguments, one after the other.
    pub bytes: Vec<u8>,
    /// Where each ends in `bytes`.
    pub ends: Vec<usize>,
    /// Why not all of them are there, if so.
    pub refusal: Option<Refusal>,
    /// The reply, for the server to write: one or several values in RESP.
    pub reply: Vec<u8>,
}

/// What serves the calls of scripts.
#[derive(Clone, Copy)]
pub struct Service {
    /// Executes the command in an exchange. False when it failed: then the reply is an error.
    pub call: fn(&mut Exchange) -> bool,
    /// Writes the keys and the arguments of the script: two arrays.
    pub arguments: fn(&mut Exchange),
    /// Writes a number as an argument.
    pub number: fn(f64, &mut Vec<u8>),
}

/// The functions for Lua.
pub struct Gateway {
    /// Executes a command; raises its error.
    pub call: Function,
    /// Executes a command; returns its error.
    pub pcall: Function,
    /// Returns the keys and the arguments of the script.
    pub arguments: Function,
    /// Given a handler of errors, a function and its arguments: whether the function worked, and its first result or what
    /// the handler made of the error.
    pub invoke: Function,
}

#[derive(Default)]
struct Thread {
    exchange: RefCell<Exchange>,
    service: RefCell<Option<Service>>,
    panic: RefCell<Option<Box<dyn Any + Send>>>,
}

thread_local! {
    static THREAD: Thread = Thread::default();
}

/// A buffer that has become larger than this is not kept.
const KEEP_BYTES_MAX: usize = 64 * 1024;

/// The functions by which the scripts of this thread reach `service`, which is the same for all interpreters of a thread.
///
/// # Errors
/// Only when memory runs out.
pub fn gateway(lua: &Lua, service: Service) -> mlua::Result<Gateway> {
    THREAD.with(|thread| thread.service.replace(Some(service)));
    // SAFETY: these functions keep to the rules of C functions in Lua: they take what is on their stack, leave what they
    // return, and hold nothing to be dropped when they raise errors (G1).
    unsafe {
        Ok(Gateway {
            call: lua.create_c_function(call)?,
            pcall: lua.create_c_function(pcall)?,
            arguments: lua.create_c_function(arguments)?,
            invoke: lua.create_c_function(invoke)?,
        })
    }
}

/// Goes on with a panic of the service, if one was kept. To be called when a script has ended.
pub fn resume_panic() {
    if let Some(panic) = THREAD.with(|thread| thread.panic.take()) {
        resume_unwind(panic);
    }
}

/// A reply that is being read, as plain data.
#[derive(Clone, Copy)]
struct Cursor {
    at: *const u8,
    end: *const u8,
}

/// What became of an exchange, as plain data.
#[derive(Clone, Copy)]
struct Answer {
    reply: Cursor,
    worked: bool,
}

const NO_SERVICE: &[u8] = b"-ERR there is no server behind this script\r\n";

/// Lets the service work, and keeps its panic.
fn serve(work: impl FnOnce(&Service, &mut Exchange) -> bool) -> Answer {
    THREAD.with(|thread| {
        let Ok(mut exchange) = thread.exchange.try_borrow_mut() else { return refused() };
        let Some(service) = *thread.service.borrow() else { return refused() };
        exchange.reply.clear();
        match catch_unwind(AssertUnwindSafe(|| work(&service, &mut exchange))) {
            Ok(worked) => {
                let reply = exchange.reply.as_ptr_range();
                Answer { reply: Cursor { at: reply.start, end: reply.end }, worked }
            }
            Err(panic) => {
                thread.panic.replace(Some(panic));
                refused()
            }
        }
    })
}

fn refused() -> Answer {
    let reply = NO_SERVICE.as_ptr_range();
    Answer { reply: Cursor { at: reply.start, end: reply.end }, worked: false }
}

/// Copies the arguments from the stack.
///
/// # Safety
/// `state` is the state of a C function that runs.
unsafe fn gather(state: *mut lua_State, number: fn(f64, &mut Vec<u8>), exchange: &mut Exchange) {
    exchange.bytes.clear();
    exchange.bytes.shrink_to(KEEP_BYTES_MAX);
    exchange.reply.shrink_to(KEEP_BYTES_MAX);
    exchange.ends.clear();
    exchange.refusal = None;
    // SAFETY: these read the stack within its top. A string is read as one only where it is one, so that nothing is
    // converted and nothing raised; its bytes are valid as long as it stands on the stack.
    unsafe {
        for at in 1..=ffi::lua_gettop(state) {
            match ffi::lua_type(state, at) {
                ffi::LUA_TSTRING => {
                    let mut len = 0;
                    let text = ffi::lua_tolstring(state, at, &raw mut len);
                    if len > BYTES_MAX - exchange.bytes.len().min(BYTES_MAX) {
                        exchange.refusal = Some(Refusal::TooLong);
                        return;
                    }
                    exchange.bytes.extend_from_slice(std::slice::from_raw_parts(text.cast(), len));
                }
                ffi::LUA_TNUMBER => number(ffi::lua_tonumber(state, at), &mut exchange.bytes),
                _ => {
                    exchange.refusal = Some(Refusal::Type);
                    return;
                }
            }
            exchange.ends.push(exchange.bytes.len());
        }
    }
}

unsafe extern "C-unwind" fn call(state: *mut lua_State) -> c_int {
    // SAFETY: `state` is that of this function; an error is raised over plain data only (G1).
    unsafe {
        let answer = execute(state);
        push(state, answer.reply);
        if answer.worked { 1 } else { ffi::lua_error(state) }
    }
}

unsafe extern "C-unwind" fn pcall(state: *mut lua_State) -> c_int {
    // SAFETY: as in `call`.
    unsafe {
        let answer = execute(state);
        push(state, answer.reply);
    }
    1
}

unsafe extern "C-unwind" fn arguments(state: *mut lua_State) -> c_int {
    let answer = serve(|service, exchange| {
        (service.arguments)(exchange);
        true
    });
    // SAFETY: as in `call`.
    unsafe {
        let rest = push(state, answer.reply);
        push(state, rest);
    }
    2
}

unsafe extern "C-unwind" fn invoke(state: *mut lua_State) -> c_int {
    // SAFETY: the handler is at the bottom of the stack, the function above it, its arguments at the top; a protected call
    // takes function and arguments and leaves one value. Nothing here has to be dropped (G1).
    unsafe {
        let top = ffi::lua_gettop(state);
        if top < 2 {
            return 0;
        }
        let status = ffi::lua_pcall(state, top - 2, 1, 1);
        ffi::lua_pushboolean(state, c_int::from(status == ffi::LUA_OK));
        ffi::lua_replace(state, 1);
    }
    2
}

/// # Safety
/// `state` is the state of a C function that runs.
unsafe fn execute(state: *mut lua_State) -> Answer {
    let answer = serve(|service, exchange| {
        // SAFETY: passed on.
        unsafe { gather(state, service.number, exchange) };
        (service.call)(exchange)
    });
    // SAFETY: the arguments have been copied. As many as the stack holds would leave no room for the reply.
    unsafe { ffi::lua_settop(state, 0) };
    answer
}

/// Pushes the next value of a reply; returns where the one after it begins. Whatever the reply holds, one value is pushed.
///
/// # Safety
/// `state` is the state of a C function that runs; the bytes of `reply` are readable. May raise an error.
unsafe fn push(state: *mut lua_State, reply: Cursor) -> Cursor {
    // SAFETY: the cursor never passes its end (`line`, `take`); each branch leaves one value more on the stack, for which
    // there is room; what it holds is plain data (G1).
    unsafe {
        if ffi::lua_checkstack(state, 6) == 0 {
            ffi::lua_pushnil(state);
            return Cursor { at: reply.end, end: reply.end };
        }
        let (kind, line, rest) = reply.line();
        match kind {
            b':' => ffi::lua_pushnumber(state, number(line) as f64),
            b'$' => return push_bulk(state, line, rest),
            b'+' => push_tagged(state, c"ok", line),
            b'-' => {
                push_tagged(state, c"err", line);
                ffi::lua_pushboolean(state, 1);
                ffi::lua_setfield(state, -2, c"ignore_error_stats_update".as_ptr());
            }
            b'*' => return push_array(state, line, rest),
            // Nothing that scripts have a value for.
            b'>' => {
                let rest = push_array(state, line, rest);
                ffi::lua_settop(state, -2);
                ffi::lua_pushnil(state);
                return rest;
            }
            b'%' => return push_pairs(state, c"map", line, rest, true),
            b'~' => return push_pairs(state, c"set", line, rest, false),
            b'#' => ffi::lua_pushboolean(state, c_int::from(line.first() == Some(&b't'))),
            b',' => {
                ffi::lua_createtable(state, 0, 1);
                ffi::lua_pushnumber(state, double(line));
                ffi::lua_setfield(state, -2, c"double".as_ptr());
            }
            b'(' => push_tagged(state, c"big_number", line),
            b'=' => return push_verbatim(state, line, rest),
            b'|' => return push(state, skip_attribute(state, line, rest)),
            _ => ffi::lua_pushnil(state),
        }
        rest
    }
}

/// # Safety
/// As [`push`].
unsafe fn push_bytes(state: *mut lua_State, bytes: &[u8]) {
    // SAFETY: the bytes are copied.
    unsafe { ffi::lua_pushlstring_(state, bytes.as_ptr().cast(), bytes.len()) }
}

/// A table with one field.
///
/// # Safety
/// As [`push`].
unsafe fn push_tagged(state: *mut lua_State, field: &std::ffi::CStr, value: &[u8]) {
    // SAFETY: passed on; the table is one below the top when the field is set.
    unsafe {
        ffi::lua_createtable(state, 0, 2);
        push_bytes(state, value);
        ffi::lua_setfield(state, -2, field.as_ptr());
    }
}

/// # Safety
/// As [`push`].
unsafe fn push_bulk(state: *mut lua_State, line: &[u8], rest: Cursor) -> Cursor {
    // SAFETY: passed on.
    unsafe {
        match length(line) {
            Some(len) => {
                let (bytes, rest) = rest.take(len);
                push_bytes(state, bytes);
                rest
            }
            None => {
                ffi::lua_pushboolean(state, 0);
                rest
            }
        }
    }
}

/// # Safety
/// As [`push`].
unsafe fn push_array(state: *mut lua_State, line: &[u8], mut rest: Cursor) -> Cursor {
    // SAFETY: passed on; the table is one below each value that is set in it.
    unsafe {
        let Some(len) = elements(line, rest) else {
            ffi::lua_pushboolean(state, 0);
            return rest;
        };
        ffi::lua_createtable(state, c_int::try_from(len).unwrap_or(0), 0);
        for at in 1..=len {
            rest = push(state, rest);
            ffi::lua_rawseti_(state, -2, c_int::try_from(at).unwrap_or(c_int::MAX));
        }
        rest
    }
}

/// Passes over an attribute: scripts see the value that it describes.
///
/// # Safety
/// As [`push`].
unsafe fn skip_attribute(state: *mut lua_State, line: &[u8], mut rest: Cursor) -> Cursor {
    // SAFETY: passed on; what is pushed is taken away again.
    unsafe {
        for _ in 0..elements(line, rest).unwrap_or(0).saturating_mul(2) {
            if rest.at == rest.end {
                break;
            }
            rest = push(state, rest);
            ffi::lua_settop(state, -2);
        }
        rest
    }
}

/// How many elements a line promises, if any: not more than there are bytes left for them.
///
/// # Safety
/// As [`Cursor::bytes`].
unsafe fn elements(line: &[u8], rest: Cursor) -> Option<usize> {
    // SAFETY: passed on.
    let left = unsafe { rest.bytes() }.len();
    length(line).map(|len| len.min(left))
}

/// A map, or a set, in a table of its own within another.
///
/// # Safety
/// As [`push`].
unsafe fn push_pairs(
    state: *mut lua_State,
    field: &std::ffi::CStr,
    line: &[u8],
    mut rest: Cursor,
    has_values: bool,
) -> Cursor {
    // SAFETY: passed on; the inner table is two below the top when a pair is set in it, and the key is not nil (a null
    // is never a key of a reply; if it were, Lua would raise an error).
    unsafe {
        ffi::lua_createtable(state, 0, 1);
        let len = elements(line, rest).unwrap_or(0);
        ffi::lua_createtable(state, 0, c_int::try_from(len).unwrap_or(0));
        for _ in 0..len {
            rest = push(state, rest);
            if has_values {
                rest = push(state, rest);
            } else {
                ffi::lua_pushboolean(state, 1);
            }
            ffi::lua_rawset(state, -3);
        }
        ffi::lua_setfield(state, -2, field.as_ptr());
        rest
    }
}

/// # Safety
/// As [`push`].
unsafe fn push_verbatim(state: *mut lua_State, line: &[u8], rest: Cursor) -> Cursor {
    // SAFETY: passed on.
    unsafe {
        let (text, rest) = rest.take(length(line).unwrap_or(0));
        let (format, string) = text.split_at(text.len().min(3));
        ffi::lua_createtable(state, 0, 1);
        ffi::lua_createtable(state, 0, 2);
        push_bytes(state, format);
        ffi::lua_setfield(state, -2, c"format".as_ptr());
        push_bytes(state, string.get(1..).unwrap_or(b""));
        ffi::lua_setfield(state, -2, c"string".as_ptr());
        ffi::lua_setfield(state, -2, c"verbatim_string".as_ptr());
        rest
    }
}

impl Cursor {
    /// What is left.
    ///
    /// # Safety
    /// The bytes between the two pointers are readable for as long as the slice is used.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: `at` never passes `end`, which is of the same allocation.
        unsafe { std::slice::from_raw_parts(self.at, self.end.offset_from_unsigned(self.at)) }
    }

    /// Without its first `count` bytes, or as many as there are.
    ///
    /// # Safety
    /// As [`Cursor::bytes`].
    unsafe fn skip(self, count: usize) -> Cursor {
        // SAFETY: it stays within the bytes.
        unsafe {
            let left = self.end.offset_from_unsigned(self.at);
            Cursor { at: self.at.add(count.min(left)), ..self }
        }
    }

    /// The kind of the next value, the rest of its first line, and what is after that.
    ///
    /// # Safety
    /// As [`Cursor::bytes`].
    unsafe fn line<'a>(self) -> (u8, &'a [u8], Cursor) {
        // SAFETY: passed on.
        unsafe {
            let bytes = self.bytes();
            let len = bytes.iter().position(|&b| b == b'\r').unwrap_or(bytes.len());
            let (kind, line) =
                bytes[..len].split_first().map_or((b'_', &b""[..]), |(kind, rest)| (*kind, rest));
            (kind, line, self.skip(len + 2))
        }
    }

    /// The next `len` bytes, and what is after them and their line break.
    ///
    /// # Safety
    /// As [`Cursor::bytes`].
    unsafe fn take<'a>(self, len: usize) -> (&'a [u8], Cursor) {
        // SAFETY: passed on.
        unsafe {
            let bytes = self.bytes();
            (&bytes[..len.min(bytes.len())], self.skip(len.saturating_add(2)))
        }
    }
}

/// A length; `None` when it is negative.
fn length(line: &[u8]) -> Option<usize> {
    usize::try_from(number(line)).ok()
}

/// An integer that the server has written.
fn number(line: &[u8]) -> i64 {
    let (negative, digits) = match line.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, line),
    };
    let size = digits.iter().fold(0_i64, |n, digit| n.wrapping_mul(10).wrapping_add(i64::from(digit & 15)));
    if negative { size.wrapping_neg() } else { size }
}

fn double(line: &[u8]) -> f64 {
    std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlua::Value;

    fn echo(exchange: &mut Exchange) -> bool {
        if exchange.refusal.is_some() {
            exchange.reply.extend_from_slice(b"-ERR invalid\r\n");
            return false;
        }
        let first = exchange.ends.first().copied().unwrap_or(0);
        assert_ne!(&exchange.bytes[..first], b"panic", "asked for");
        let reply = exchange.bytes[..first].to_vec();
        exchange.reply.extend_from_slice(&reply);
        exchange.reply.first() != Some(&b'-')
    }

    fn no_arguments(exchange: &mut Exchange) {
        exchange.reply.extend_from_slice(b"*1\r\n$1\r\nk\r\n*0\r\n");
    }

    fn shortest(n: f64, to: &mut Vec<u8>) {
        to.extend_from_slice(n.to_string().as_bytes());
    }

    fn lua() -> Lua {
        let lua = crate::interpreter(false, &crate::Generator::default()).unwrap();
        let service = Service { call: echo, arguments: no_arguments, number: shortest };
        let gateway = gateway(&lua, service).unwrap();
        lua.globals().set("call", gateway.call).unwrap();
        lua.globals().set("pcall_", gateway.pcall).unwrap();
        lua.globals().set("arguments", gateway.arguments).unwrap();
        lua.globals().set("invoke", gateway.invoke).unwrap();
        lua
    }

    fn show(lua: &Lua, code: &str) -> String {
        match lua.load(code).eval::<Value>().unwrap() {
            Value::String(text) => text.to_string_lossy(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn what_is_built_outside_of_the_interpreter_is_bounded() {
        let lua = lua();
        let tree = "local t = {} for i = 1, 45 do t = {t, t} end ";
        for (code, error) in [
            (format!("{tree} return select(2, pcall(cjson.encode, t))"), "Cannot serialise, the text is too long"),
            ("local t = {} for i = 1, 12 do t = {t, t, t, t} end return select(2, pcall(cmsgpack.pack, t))".to_owned(),
             "MessagePack: the text is too long"),
            ("local s = string.rep('x', 70000) return select(2, pcall(struct.pack, string.rep('s', 20), s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s))".to_owned(),
             "the text is too long"),
            ("local s = string.rep('x', 70000) return pcall_(s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s).err".to_owned(),
             "invalid"),
        ] {
            let said = show(&lua, &code);
            assert!(said.contains(error), "{code}: {said}");
        }
    }

    #[test]
    fn every_kind_of_reply() {
        let lua = lua();
        for (reply, test) in [
            (":-42\r\n", "v == -42"),
            (":9223372036854775807\r\n", "v == 9223372036854775807"),
            ("$3\r\na\\0b\r\n", "v == 'a\\0b'"),
            ("$-1\r\n", "v == false"),
            ("*-1\r\n", "v == false"),
            ("_\r\n", "v == nil"),
            ("#t\r\n", "v == true"),
            ("#f\r\n", "v == false"),
            (",1.5\r\n", "v.double == 1.5"),
            (",-inf\r\n", "v.double == -1/0"),
            ("(123\r\n", "v.big_number == '123'"),
            ("+OK\r\n", "v.ok == 'OK'"),
            ("=7\r\ntxt:abc\r\n", "v.verbatim_string.format == 'txt' and v.verbatim_string.string == 'abc'"),
            ("*3\r\n:1\r\n*1\r\n$0\r\n\r\n$-1\r\n", "v[1] == 1 and v[2][1] == '' and v[3] == false"),
            ("%1\r\n$1\r\na\r\n:2\r\n", "v.map.a == 2"),
            ("~2\r\n$1\r\na\r\n:2\r\n", "v.set.a == true and v.set[2] == true"),
            ("|1\r\n$1\r\na\r\n*1\r\n:2\r\n$1\r\nb\r\n", "v == 'b'"),
            (">1\r\n:1\r\n", "v == nil"),
            // What no server writes must do no harm.
            ("|9\r\n", "v == nil"),
            ("$9\r\nshort\r\n", "v == 'short\\r\\n'"),
            ("*4\r\n:1\r\n", "v[1] == 1 and v[2] == nil"),
            ("", "v == nil"),
            ("$", "v == ''"),
        ] {
            let reply =
                reply.replace("\\0", "\0").replace('\r', "\\r").replace('\n', "\\n").replace('\0', "\\0");
            assert_eq!(
                show(&lua, &format!("local v = call('{reply}') return tostring({test})")),
                "true",
                "{reply}"
            );
        }
    }

    #[test]
    fn errors_are_raised_or_returned() {
        let lua = lua();
        assert_eq!(show(&lua, "return pcall_('-ERR no\\r\\n').err"), "ERR no");
        assert_eq!(
            show(&lua, "local ok, e = pcall(call, '-ERR no\\r\\n') return tostring(ok)..e"),
            "falseERR no"
        );
        assert_eq!(show(&lua, "return pcall_({}).err"), "ERR invalid");
        // As many arguments as the stack holds.
        assert_eq!(
            show(&lua, "local t = {} for i = 1, 7990 do t[i] = i end return call(':7\\r\\n', unpack(t))"),
            "Integer(7)"
        );
        assert_eq!(show(&lua, "return #arguments()"), "Integer(1)");
        assert_eq!(show(&lua, "local k, a = arguments() return k[1]..#a"), "k0");
    }

    #[test]
    fn functions_are_invoked() {
        let lua = lua();
        let handler = "local h = function(e) return 'handled '..tostring(e) end ";
        for (code, want) in [
            (
                "local ok, v = invoke(h, function(a, b) return a..b, 3 end, 'x', 'y') return tostring(ok)..v",
                "truexy",
            ),
            ("local ok, v = invoke(h, function() end) return tostring(ok)..tostring(v)", "truenil"),
            (
                "local ok, v = invoke(h, function() error('no', 0) end) return tostring(ok)..v",
                "falsehandled no",
            ),
            ("local ok, v = invoke(h, 1) return tostring(ok)..v:sub(1, 7)", "falsehandled"),
            ("return tostring(select('#', invoke(h)))", "0"),
        ] {
            assert_eq!(show(&lua, &format!("{handler}{code}")), want, "{code}");
        }
    }

    #[test]
    fn a_panic_goes_on_afterwards() {
        let lua = lua();
        assert_eq!(show(&lua, "return type(pcall_('panic'))"), "table");
        assert!(catch_unwind(resume_panic).is_err());
        resume_panic();
        assert_eq!(show(&lua, "return call(':1\\r\\n')"), "Integer(1)");
    }

    /// Errors that Lua raises while a reply is pushed leave nothing behind.
    #[test]
    fn memory_that_runs_out() {
        let lua = lua();
        let used = lua.used_memory();
        lua.set_memory_limit(used + (1 << 20)).unwrap();
        let code =
            "local kept = {} for i = 1, 1e6 do kept[i] = call('*2\\r\\n$3\\r\\nabc\\r\\n:1\\r\\n') end";
        assert!(lua.load(code).exec().is_err());
        lua.gc_collect().unwrap();
        assert_eq!(show(&lua, "return call(':1\\r\\n')"), "Integer(1)");
    }
}
