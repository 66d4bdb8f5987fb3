//! What a debugger sees of a script that has stopped: the calls on the stack of a Lua thread, and their local variables.
//!
//! Lua's own library for this (`debug`) is not loaded, so that no script can reach it. The functions here are C functions
//! that only [`Inspector`] holds.
//!
//! # Safety
//! The rules of [`gateway`](crate::gateway) hold: a function that may raise an error holds nothing to be dropped (G1).

use mlua::ffi::{self, lua_Debug, lua_State};
use mlua::{Function, Lua, LuaString, Result, Thread, Value};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

/// A call on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The chunk that it runs, as error messages name it.
    pub source: Vec<u8>,
    /// The line that it is at; `None` for functions that are not written in Lua.
    pub line: Option<usize>,
    /// What the caller calls the function.
    pub name: Option<Vec<u8>>,
}

/// The functions that look.
pub struct Inspector {
    frame: Function,
    local: Function,
    address: Function,
}

impl Inspector {
    /// For the threads of one interpreter.
    ///
    /// # Errors
    /// Only when memory runs out.
    pub fn new(lua: &Lua) -> Result<Inspector> {
        // SAFETY: C functions that take what is on their stack, leave what they return, and hold nothing to be dropped.
        unsafe {
            Ok(Inspector {
                frame: lua.create_c_function(frame)?,
                local: lua.create_c_function(local)?,
                address: lua.create_c_function(address)?,
            })
        }
    }

    /// The call `level` calls up, 0 being the one that runs.
    ///
    /// # Errors
    /// Only when memory runs out.
    pub fn frame(&self, thread: &Thread, level: usize) -> Result<Option<Frame>> {
        let (source, line, name): (Option<LuaString>, i64, Option<LuaString>) =
            self.frame.call((thread, level))?;
        let text = |text: LuaString| text.as_bytes().to_vec();
        Ok(source.map(|source| Frame {
            source: text(source),
            line: usize::try_from(line).ok().filter(|line| *line > 0),
            name: name.map(text),
        }))
    }

    /// Name and value of the local variable `number` of a call, counted from 1.
    ///
    /// # Errors
    /// Only when memory runs out.
    pub fn local(&self, thread: &Thread, level: usize, number: usize) -> Result<Option<(Vec<u8>, Value)>> {
        let (name, value): (Option<LuaString>, Value) = self.local.call((thread, level, number))?;
        Ok(name.map(|name| (name.as_bytes().to_vec(), value)))
    }

    /// Where a table, function, thread or userdata lies in memory, as a number; 0 for other values.
    ///
    /// # Errors
    /// Only when memory runs out.
    pub fn address(&self, value: &Value) -> Result<usize> {
        Ok(self.address.call::<f64>(value)? as usize)
    }
}

/// The thread that is the first argument, and the level that is the second; `None` when there is no such call.
///
/// # Safety
/// `state` is the state of a C function that runs, and `call` is written to.
unsafe fn find(state: *mut lua_State, call: *mut lua_Debug) -> Option<*mut lua_State> {
    // SAFETY: reads the stack of this function and that of a thread which is on it.
    unsafe {
        let thread = ffi::lua_tothread(state, 1);
        if thread.is_null() {
            return None;
        }
        // On the thread that runs, the call of this function is above the others.
        let own = c_int::from(thread == state);
        let level = c_int::try_from(ffi::lua_tointeger(state, 2)).ok()?.checked_add(own)?;
        (ffi::lua_getstack(thread, level, call) == 1).then_some(thread)
    }
}

/// `thread, level` to `source, line, name`.
unsafe extern "C-unwind" fn frame(state: *mut lua_State) -> c_int {
    let mut call = MaybeUninit::<lua_Debug>::zeroed();
    // SAFETY: a zeroed `lua_Debug` is valid; `lua_getinfo` fills what the letters ask for, with texts that end in a zero.
    unsafe {
        let Some(thread) = find(state, call.as_mut_ptr()) else {
            ffi::lua_pushnil(state);
            ffi::lua_pushinteger(state, 0);
            ffi::lua_pushnil(state);
            return 3;
        };
        ffi::lua_getinfo(thread, c"Snl".as_ptr(), call.as_mut_ptr());
        let call = call.assume_init_ref();
        ffi::lua_pushstring(state, call.short_src.as_ptr());
        ffi::lua_pushinteger(state, ffi::lua_Integer::from(call.currentline));
        if call.name.is_null() {
            ffi::lua_pushnil(state);
        } else {
            ffi::lua_pushstring(state, call.name);
        }
    }
    3
}

/// `thread, level, number` to `name, value`.
unsafe extern "C-unwind" fn local(state: *mut lua_State) -> c_int {
    let mut call = MaybeUninit::<lua_Debug>::zeroed();
    // SAFETY: as above; the value is moved from the thread's stack to this one, for which there is room.
    unsafe {
        let number = c_int::try_from(ffi::lua_tointeger(state, 3)).unwrap_or(0);
        let found = find(state, call.as_mut_ptr()).and_then(|thread| {
            if ffi::lua_checkstack(thread, 1) == 0 {
                return None;
            }
            let name = ffi::lua_getlocal(thread, call.as_ptr(), number);
            (!name.is_null()).then_some((thread, name))
        });
        let Some((thread, name)) = found else {
            ffi::lua_pushnil(state);
            ffi::lua_pushnil(state);
            return 2;
        };
        if thread != state {
            ffi::lua_xmove(thread, state, 1);
        }
        ffi::lua_pushstring(state, name);
        ffi::lua_insert(state, -2);
    }
    2
}

/// A value to its address.
unsafe extern "C-unwind" fn address(state: *mut lua_State) -> c_int {
    // SAFETY: only looks at the argument.
    unsafe {
        let address: *const c_void = ffi::lua_topointer(state, 1);
        ffi::lua_pushnumber(state, address as usize as f64);
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Everything that can be seen from within a function, by a level and a number.
    #[test]
    fn calls_and_variables() {
        let lua = Lua::new();
        let inspector = Rc::new(Inspector::new(&lua).unwrap());
        let seen = Rc::new(RefCell::new(Vec::new()));
        let (to, by) = (Rc::clone(&seen), Rc::clone(&inspector));
        let look = lua
            .create_function(move |lua, ()| {
                let thread = lua.current_thread();
                for level in 0..9 {
                    let Some(frame) = by.frame(&thread, level)? else { break };
                    let locals: Vec<_> = (1..9)
                        .map_while(|number| by.local(&thread, level, number).unwrap())
                        .map(|(name, value)| format!("{}={value:?}", String::from_utf8_lossy(&name)))
                        .collect();
                    to.borrow_mut().push((frame, locals));
                }
                assert_eq!(by.frame(&thread, 99)?, None);
                assert_eq!(by.local(&thread, 99, 1)?, None);
                Ok(())
            })
            .unwrap();
        lua.globals().set("look", look).unwrap();
        lua.load("local a = 1\nlocal function f(x)\n  look()\n  return x\nend\nlocal b = f(2)\nreturn b")
            .set_name("@here")
            .exec()
            .unwrap();
        let seen = seen.borrow();
        let here = |at: usize| (seen[at].0.line, seen[at].0.name.clone(), seen[at].1.join(" "));
        assert_eq!(seen[0].0.source, b"[C]");
        let (line, name, locals) = here(1);
        assert_eq!((line, name), (Some(3), Some(b"f".to_vec())));
        assert!(locals.starts_with("x=Integer(2)"), "{locals}");
        let (line, name, locals) = here(2);
        assert_eq!((line, name), (Some(6), None));
        assert!(locals.starts_with("a=Integer(1) f=Function"), "{locals}");
        assert_eq!(inspector.address(&Value::Nil).unwrap(), 0);
        assert_ne!(inspector.address(&Value::Table(lua.create_table().unwrap())).unwrap(), 0);
    }
}
