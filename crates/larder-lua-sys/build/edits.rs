//! What is changed of Lua 5.1.5.
//!
//! Not in this list, since no script can reach it here: bytecode in `load` (texts are compiled as texts by the sandbox too),
//! and the libraries `io`, `os`, `package` and `debug`.
//! CVE-2014-5461 (stack of functions with optional arguments) is corrected in 5.1.5 as `lua-src` has it. The metatable of
//! strings (CVE-2025-46818) is protected by the sandbox, and `cjson`, `cmsgpack`, `struct` and `bit` (CVE-2024-31449 and
//! older ones) are not in C.

/// One replacement.
pub struct Edit {
    /// The source file.
    pub file: &'static str,
    /// The fault.
    pub why: &'static str,
    /// Words of the file.
    pub find: &'static str,
    /// What stands there instead.
    pub put: &'static str,
    /// How often the words occur.
    pub times: usize,
}

const fn edit(file: &'static str, why: &'static str, find: &'static str, put: &'static str) -> Edit {
    Edit { file, why, find, put, times: 1 }
}

const UNPACK: &str =
    "CVE-2025-46817: the number of results of `unpack` overflows, and the stack is written past its end";
const CHUNK_NAME: &str = "CVE-2025-49844: nothing keeps the name of a chunk alive while it is compiled";
const LONG_BRACKET: &str =
    "CVE-2025-46819: a long bracket of more than 2^31 equal signs is read past its end";
const BYTECODE: &str = "bytecode is not checked: crafted code reads and writes any address";
const GETNUM: &str = "the index -2^31 overflows (undefined behaviour)";
const FINALIZER: &str =
    "CVE-2024-46981: finalizers that scripts set run while the state is in the middle of something";
const DEPTH: &str = "a pattern of many items overflows the C stack";
const PATIENCE: &str =
    "matching a pattern may take for ever, and hooks do not run meanwhile: such a script cannot be killed";
const HELD: &str = "what Rust holds, every compiled script and function among it, lies on the stack of a thread that runs nothing; 8,000 \
    values, the most for a call of a C function, are too few for that";
const TAIL_CALL: &str = "a function that the environment has in Lua takes the place of the script that calls it as its last act, and \
    its errors name no line: its calls (chunks whose name begins with =) are ordinary ones";

/// The edits.
pub const EDITS: &[Edit] = &[
    edit(
        "lvm.c",
        TAIL_CALL,
        "/* tail call: put new frame in place of previous one */",
        "if (*getstr(clvalue(L->ci->func)->l.p->source) == '=') { nexeccalls++; goto reentry; }",
    ),
    // No script gets there: the function that a coroutine begins with is one of Lua, and the stack of the main thread is no such.
    edit(
        "lapi.c",
        HELD,
        "  if (size > LUAI_MAXCSTACK || (L->top - L->base + size) > LUAI_MAXCSTACK)",
        "  int runs_nothing = L != G(L)->mainthread\n\
         \x20   && (L->ci == L->base_ci || (L->ci == L->base_ci + 1 && !isLua(L->ci)));\n\
         \x20 int max = runs_nothing ? 1000000 : LUAI_MAXCSTACK;\n\
         \x20 if (size > max || (L->top - L->base + size) > max)",
    ),
    edit("lbaselib.c", UNPACK, "int i, e, n;", "int i, e; unsigned int n;"),
    edit(
        "lbaselib.c",
        UNPACK,
        "n = e - i + 1;  /* number of elements */",
        "n = (unsigned int)e - (unsigned int)i;  /* one less than there are: it always fits */",
    ),
    edit(
        "lbaselib.c",
        UNPACK,
        "n <= 0 || !lua_checkstack(L, n)",
        "n >= INT_MAX || !lua_checkstack(L, (int)++n)",
    ),
    edit("lbaselib.c", UNPACK, "#include <ctype.h>", "#include <ctype.h>\n#include <limits.h>"),
    edit(
        "lparser.c",
        CHUNK_NAME,
        "luaX_setinput(L, &lexstate, z, luaS_new(L, name));",
        "setsvalue2s(L, L->top, luaS_new(L, name)); incr_top(L); luaX_setinput(L, &lexstate, z, rawtsvalue(L->top - 1));",
    ),
    edit(
        "lparser.c",
        CHUNK_NAME,
        "lua_assert(lexstate.fs == NULL);",
        "lua_assert(lexstate.fs == NULL); L->top--;",
    ),
    // The level of a bracket as its number of signs plus two; 1 is a bracket of its own, 0 one that lacks its partner.
    edit(
        "llex.c",
        LONG_BRACKET,
        "static int skip_sep (LexState *ls) {\n  int count = 0;",
        "static size_t skip_sep (LexState *ls) {\n  size_t count = 0;",
    ),
    edit(
        "llex.c",
        LONG_BRACKET,
        "(ls->current == s) ? count : (-count) - 1",
        "(ls->current == s) ? count + 2 : (count == 0) ? 1 : 0",
    ),
    edit("llex.c", LONG_BRACKET, "SemInfo *seminfo, int sep)", "SemInfo *seminfo, size_t sep)"),
    edit("llex.c", LONG_BRACKET, "if (sep == 0)", "if (sep == 2)"),
    edit("llex.c", LONG_BRACKET, "luaZ_buffer(ls->buff) + (2 + sep)", "luaZ_buffer(ls->buff) + sep"),
    edit("llex.c", LONG_BRACKET, "luaZ_bufflen(ls->buff) - 2*(2 + sep)", "luaZ_bufflen(ls->buff) - 2*sep"),
    Edit {
        file: "llex.c",
        why: LONG_BRACKET,
        find: "int sep = skip_sep(ls);",
        put: "size_t sep = skip_sep(ls);",
        times: 2,
    },
    Edit { file: "llex.c", why: LONG_BRACKET, find: "if (sep >= 0) {", put: "if (sep >= 2) {", times: 2 },
    edit("llex.c", LONG_BRACKET, "else if (sep == -1) return '[';", "else if (sep == 1) return '[';"),
    edit(
        "ldo.c",
        BYTECODE,
        "((c == LUA_SIGNATURE[0]) ? luaU_undump : luaY_parser)",
        "((void)c, luaY_parser)",
    ),
    // Only what `newproxy` makes has no size; what Rust makes is dropped by its finalizer.
    edit("lgc.c", FINALIZER, "if (tm != NULL) {", "if (tm != NULL && udata->uv.len > 0) {"),
    edit("ltable.c", GETNUM, "cast(unsigned int, key-1)", "cast(unsigned int, key) - 1u"),
    edit(
        "lstrlib.c",
        DEPTH,
        "  lua_State *L;\n  int level;",
        "  lua_State *L;\n  int depth;  /* calls of match within each other */\n  size_t work;  /* since the last look at the hook */\n  int level;",
    ),
    Edit {
        file: "lstrlib.c",
        why: DEPTH,
        find: "ms.L = L;",
        put: "ms.L = L; ms.depth = 0; ms.work = 0;",
        times: 3,
    },
    // What takes part in the recursion is renamed; `match` counts its calls.
    edit(
        "lstrlib.c",
        DEPTH,
        "static const char *match (MatchState *ms, const char *s, const char *p);",
        "static const char *match_from (MatchState *ms, const char *s, const char *p);\n\
         #define MATCH_DEPTH_MAX 200000\n\
         #define MATCH_WORK_MAX 1000000\n\
         static void match_work (MatchState *ms, size_t work) {\n\
           ms->work += work;\n\
           if (ms->work >= MATCH_WORK_MAX) {\n\
             ms->work = 0;\n\
             if (lua_gethookmask(ms->L) & LUA_MASKCOUNT) luaD_callhook(ms->L, LUA_HOOKCOUNT, -1);\n\
           }\n\
         }\n\
         static const char *match (MatchState *ms, const char *s, const char *p) {\n\
           const char *res;\n\
           if (++ms->depth > MATCH_DEPTH_MAX) luaL_error(ms->L, \"pattern too complex\");\n\
           match_work(ms, 10);\n\
           res = match_from(ms, s, p);\n\
           ms->depth--;\n\
           return res;\n\
         }",
    ),
    edit(
        "lstrlib.c",
        DEPTH,
        "static const char *match (MatchState *ms, const char *s, const char *p) {\n  init:",
        "static const char *match_from (MatchState *ms, const char *s, const char *p) {\n  init:",
    ),
    edit("lstrlib.c", PATIENCE, "#include \"lualib.h\"", "#include \"lualib.h\"\n#include \"ldo.h\""),
    edit(
        "lstrlib.c",
        PATIENCE,
        "  /* keeps trying to match with",
        "  match_work(ms, (size_t)i);\n  /* keeps trying to match with",
    ),
    // The same for loops that are as long as a number says.
    edit(
        "lstrlib.c",
        "repeating an empty string takes as long as the count says",
        "while (n-- > 0)\n",
        "while (l > 0 && n-- > 0)\n",
    ),
];
