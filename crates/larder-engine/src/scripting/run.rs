//! Running a script or a function: what it may do, and what it asks for.

use super::caller::{self, Caller, Heard};
use super::debug::{self, Debugger};
use super::interpreter::Interpreter;
use super::load;
use super::outcome::{add_place, counted_as, finish, internal};
use super::program::{Invocation, Program};
use crate::acl;
use crate::aof::effects::{Savepoint, Targets};
use crate::clients::session::Closing;
use crate::command::spec::{Found, Scope, flags};
use crate::context::Context;
use crate::context::beside::Received;
use crate::context::lending::HOLDS_FOR;
use crate::engine::Engine;
use crate::error::{CommandError, CommandResult};
use crate::execution::command_log::Executed;
use crate::execution::memory::OUT_OF_MEMORY;
use crate::execution::redirection::JudgedBy;
use crate::execution::{admission, authorization, dispatch, locking, lookup, redirection};
use crate::host::LogLevel;
use crate::ledger::aside;
use crate::scripts::Script;
use crate::scripts::header::ScriptFlags;
use larder_lua::gateway::{Exchange, Refusal, resume_panic};
use larder_resp::{Args, Protocol, Reply, Span};
use mlua::{Result, Value};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a debugged script waits for its client before it looks whether it has to end.
const LISTEN_MAX: Duration = Duration::from_millis(100);

/// Compiles a script, so that one with errors is not kept.
pub(crate) fn compile(engine: &Engine, script: &Script) -> CommandResult {
    let compiled = Interpreter::of_thread(engine).and_then(|interpreter| {
        let compiled = interpreter.script(script);
        larder_lua::relieve(&interpreter.lua);
        compiled
    });
    compiled.map(drop).map_err(|error| {
        let message = larder_lua::message(&error);
        CommandError::Text([b"ERR Error compiling script (new function): ", &*message].concat())
    })
}

/// Runs a script as a session of its client, who debugs it.
pub(crate) fn debug_session(
    context: &mut Context<'_>,
    args: Args<'_>,
    run: impl FnOnce(&mut Context<'_>) -> CommandResult,
) -> CommandResult {
    let outcome = debug::session(context, args, run);
    // Its hook is called at every line.
    Interpreter::discard();
    outcome
}

/// Runs a script and writes its reply.
pub(crate) fn run(context: &mut Context<'_>, invocation: &Invocation<'_>) -> CommandResult {
    let (first_times, usual) = (&context.engine.scripts.first_times, invocation.program.usual());
    let is_long = match &invocation.program {
        Program::Script(_) => first_times.is_long(usual),
        // What functions keep in variables is kept by thread: they stay on theirs if they can.
        Program::Function(..) => usual.is_long(),
    };
    context.takes(if is_long { u64::MAX } else { 0 })?;
    let read_only = admit(context, invocation)?;
    let interpreter = Interpreter::of_thread(context.engine).map_err(|error| internal(&error))?;
    let debugger = debug::current();
    if let Some(debugger) = &debugger {
        debugger.attach(&interpreter.lua, &interpreter.evaluate).map_err(|error| internal(&error))?;
    }
    let outer = Outer::leave(context);
    if debugger.is_none() && !outer.in_exec && !context.session.is_bound() {
        context.begin_lending(invocation.args.from(3).iter().take(invocation.key_count));
    }
    let declared = redirection::declared_slot(context.found, invocation.args);
    let mut run = Run {
        interpreter: Rc::clone(&interpreter),
        debugger,
        protocol: Protocol::Resp2,
        read_only,
        begun: context.worker.effects.savepoint(),
        has_written: false,
        slot: declared,
        judged: JudgedBy::declared(context.worker, declared),
        started: crate::clock::instant(),
        is_long: false,
        killed: false,
        ended_at: None,
        invocation,
        context,
    };
    let running = &run.context.engine.scripts.running;
    let is_function = matches!(invocation.program, Program::Function(..));
    running.begin(invocation.program.name(), is_function, invocation.args, run.started);
    let outcome = run.start();
    let killed = run.killed.then(|| run.killed_error());
    run.context.worker.called_slot = run.slot;
    let resp3 = run.protocol == Protocol::Resp3;
    run.settle();
    match &invocation.program {
        Program::Script(_) => first_times.note(usual, run.started.elapsed()),
        Program::Function(..) => usual.note(run.started.elapsed()),
    }
    outer.come_back(context);
    resume_panic();
    let done = match killed {
        Some(error) => Err(error),
        None => finish(context, &interpreter, &invocation.program, outcome, resp3),
    };
    context.take_back();
    done
}

/// Checks what a script says of itself. Whether it may only read.
fn admit(context: &Context<'_>, invocation: &Invocation<'_>) -> CommandResult<bool> {
    let declared = invocation.program.flags();
    let is_stale = context.engine.gate.is_stale() && !context.session.replays;
    if is_stale && !declared.is_some_and(|flags| flags.has(ScriptFlags::ALLOW_STALE)) {
        return Err(admission::STALE_ERROR);
    }
    let Some(flags) = declared else { return Ok(invocation.read_only) };
    let read_only = flags.has(ScriptFlags::NO_WRITES);
    if flags.has(ScriptFlags::NO_CLUSTER) && context.engine.cluster.is_on() && !context.session.replays {
        return Err(CommandError::Fixed("ERR Can not run script on cluster, 'no-cluster' flag is set."));
    }
    if invocation.read_only && !read_only {
        return Err(CommandError::Fixed("ERR Can not execute a script with write flag using *_ro command."));
    }
    let engine = context.engine;
    if !read_only && !flags.has(ScriptFlags::ALLOW_OOM) && context.worker.evictor.is_out_of_memory {
        return Err(OUT_OF_MEMORY);
    }
    if !read_only && engine.gate.is_shut() {
        admission::check_writes(engine, context.session)?;
    }
    Ok(read_only)
}

/// What a script changes of its surroundings, to be put back.
struct Outer {
    found: Found,
    db: usize,
    in_exec: bool,
    in_script: bool,
    keeps_rights: bool,
    protocol: Protocol,
    frozen: bool,
}

impl Outer {
    fn leave(context: &mut Context<'_>) -> Outer {
        let outer = Outer {
            found: context.found,
            db: context.db,
            in_exec: context.in_exec,
            in_script: context.in_script,
            keeps_rights: authorization::keep_rights(context.engine, context.session),
            protocol: context.reply.protocol(),
            frozen: context.worker.clock.set_frozen(true),
        };
        context.in_exec = true;
        context.in_script = true;
        outer
    }

    fn come_back(self, context: &mut Context<'_>) {
        context.found = self.found;
        context.in_exec = self.in_exec;
        context.in_script = self.in_script;
        context.session.keeps_rights = self.keeps_rights;
        context.reply.set_protocol(self.protocol);
        if context.session.db != self.db {
            context.select(self.db);
        }
        context.db = self.db;
        context.worker.clock.set_frozen(self.frozen);
    }
}

/// A script that runs.
struct Run<'r, 'c> {
    interpreter: Rc<Interpreter>,
    context: &'r mut Context<'c>,
    invocation: &'r Invocation<'r>,
    debugger: Option<Rc<Debugger>>,
    /// What replies become Lua values as.
    protocol: Protocol,
    read_only: bool,
    /// What was noted before its first effect.
    begun: Savepoint,
    /// A command that writes has been called.
    has_written: bool,
    /// The slot of its keys, on a node of a cluster.
    slot: Option<u16>,
    judged: JudgedBy,
    started: Instant,
    /// It takes longer than others are made to wait without a word.
    is_long: bool,
    killed: bool,
    ended_at: Option<(String, usize)>,
}

impl Run<'_, '_> {
    /// Runs it: whether it worked, and what it returned or the error.
    fn start(&mut self) -> Result<(bool, Value)> {
        let interpreter = Rc::clone(&self.interpreter);
        match &self.invocation.program {
            Program::Script(script) => {
                let script = interpreter.script(script)?;
                caller::with_caller(self, || interpreter.run.call(script))
            }
            Program::Function(library, at) => {
                let function = load::function(&interpreter, library, &library.functions[*at].name)?;
                caller::with_caller(self, || interpreter.call.call(function))
            }
        }
    }

    /// Ends what a long script has begun, and what one has changed of the log.
    fn settle(&mut self) {
        self.context.worker.effects.set_targets(Targets::ALL);
        let awaited_end = self.context.engine.scripts.running.end();
        if self.is_long {
            self.context.engine.end_long_script();
            let took = self.started.elapsed().as_millis();
            let text = format!("The slow script has ended after {took} milliseconds.");
            self.context.engine.host.log(LogLevel::Notice, &text);
        }
        if let Some(was_killed) = awaited_end {
            self.context.engine.answer_script_killers(was_killed);
        }
        if self.killed {
            // The state has been stopped in the middle of something.
            Interpreter::discard();
            // What has written is killed only when the server ends without saving: half of it must not be logged. Without
            // writes there are effects of keys and fields that have expired, which are kept.
            if self.has_written {
                self.context.worker.effects.roll_back(self.begun);
            }
        } else {
            larder_lua::relieve(&self.interpreter.lua);
        }
    }

    fn killed_error(&self) -> CommandError {
        let is_function = matches!(self.invocation.program, Program::Function(..));
        let by = if is_function { "FUNCTION KILL" } else { "SCRIPT KILL" };
        let mut text = format!("ERR Script killed by user with {by}.").into_bytes();
        if let Some((source, line)) = &self.ended_at {
            add_place(&mut text, source.as_bytes(), line.to_string().as_bytes());
        }
        CommandError::Text(text)
    }

    /// Finds the command, checks what may be done, and does it. Where its reply begins.
    fn execute(&mut self, args: Args<'_>) -> CommandResult<usize> {
        let engine = self.context.engine;
        let found = match lookup::find_for_script(engine, self.context.worker, args) {
            Ok(found) => found,
            Err(error) => {
                dispatch::count_refusal(engine, self.context.worker, None, &error);
                return Err(error);
            }
        };
        if let Err(error) = self.check(found, args) {
            dispatch::count_refusal(engine, self.context.worker, Some(found), &counted_as(&error));
            return Err(error);
        }
        let needs_all = locking::needs_all(found.command, args);
        self.context.lock_for_call(found, args, needs_all);
        let done = self.execute_locked(found, args);
        self.context.end_call();
        done
    }

    /// The same for a command whose shards are held.
    fn execute_locked(&mut self, found: Found, args: Args<'_>) -> CommandResult<usize> {
        let engine = self.context.engine;
        if engine.cluster.is_on()
            && let Err(error) = self.check_slot(found, args)
        {
            dispatch::count_refusal(engine, self.context.worker, Some(found), &error);
            return Err(error);
        }
        let context = &mut *self.context;
        context.found = found;
        context.db = context.session.db;
        context.reply.set_protocol(self.protocol);
        let mark = context.reply.mark();
        dispatch::call(context, &args);
        Executed::of(context, args).consider_reply(context.reply.mark() - mark);
        Ok(mark)
    }

    /// A call that names no command, counted.
    fn misused(&self, text: &'static str) -> CommandError {
        let error = CommandError::Fixed(text);
        dispatch::count_refusal(self.context.engine, self.context.worker, None, &error);
        error
    }

    fn check(&mut self, found: Found, args: Args<'_>) -> CommandResult {
        let (command, engine) = (found.command, self.context.engine);
        if !command.accepts(args.len()) {
            return Err(ARITY);
        }
        let is_lax = engine.allows_denied_in_scripts() && command.scope != Scope::Script;
        if command.has(flags::NOSCRIPT) && !is_lax {
            return Err(NOT_FROM_SCRIPTS);
        }
        if engine.gate.is_stale() && !command.has(flags::STALE) && !self.context.session.replays {
            return Err(CommandError::Fixed("ERR Can not execute the command on a stale replica"));
        }
        authorization::check(engine, self.context.session, found, args, acl::Origin::Lua)
            .map_err(|denial| denial.script_refusal(self.context.session.access.user().name(), found))?;
        // One that has begun to write goes on: half of it would be worse.
        if command.has(flags::DENYOOM) && self.context.worker.evictor.is_out_of_memory && !self.has_written {
            let flags = self.invocation.program.flags().unwrap_or_default();
            if !flags.has(ScriptFlags::ALLOW_OOM) {
                return Err(OUT_OF_MEMORY);
            }
        }
        if self.read_only && command.flags & (flags::WRITE | flags::MAY_REPLICATE) != 0 {
            return Err(CommandError::Fixed("ERR Write commands are not allowed from read-only scripts."));
        }
        // One that has begun to write goes on, whatever has become of replicas and disk meanwhile.
        if engine.gate.is_shut() && !self.has_written {
            admission::check(engine, self.context.session, command, command.flags)?;
        }
        if command.has(flags::WRITE) && !self.has_written {
            if !engine.scripts.running.set_written() {
                return Err(CommandError::Fixed("ERR Script killed by user with SCRIPT KILL."));
            }
            self.has_written = true;
        }
        Ok(())
    }

    /// Checks that the keys of a call are this node's, and those of the script's slot if it has said that it keeps to one.
    fn check_slot(&mut self, found: Found, args: Args<'_>) -> CommandResult {
        let context = &mut *self.context;
        if context.session.replays {
            return Ok(());
        }
        let slot = redirection::check_call(
            context.engine,
            context.worker,
            context.session,
            (found, args),
            &mut context.held,
            &mut self.judged,
        )?;
        let may_cross =
            self.invocation.program.flags().is_none_or(|flags| flags.has(ScriptFlags::CROSS_SLOT));
        let Some(slot) = slot.filter(|_| !may_cross) else { return Ok(()) };
        if *self.slot.get_or_insert(slot) == slot { Ok(()) } else { Err(redirection::CROSS_SLOT_CALL) }
    }

    /// Whether the script may go on. Looks after other clients, if they have waited for too long, and waits for something
    /// to do, at most this long.
    fn look_up(&mut self, patience: Duration) -> bool {
        let engine = self.context.engine;
        if self.context.is_about_to_lend() && self.started.elapsed() > HOLDS_FOR {
            self.context.lend();
        }
        if engine.scripts.running.is_awaited() && self.started.elapsed() >= engine.killable_after() {
            engine.apply_script_kills();
        }
        if !self.is_long && !engine.is_copy {
            let has_time = engine.busy_after().is_none_or(|limit| self.started.elapsed() < limit);
            if has_time && !engine.scripts.running.is_killed() {
                return true;
            }
            if !has_time {
                self.become_long();
            }
        }
        if self.is_long
            && let Some(beside) = &mut self.context.rounds
        {
            let current = &self.context.worker.stats.current;
            let own = current.get();
            aside(|| beside.round(patience));
            if let Some((client, argc)) = own {
                current.begin(client, argc);
            }
        }
        if engine.is_copy && self.has_lost_client() {
            self.killed = true;
        }
        if engine.scripts.running.is_killed() && !std::mem::replace(&mut self.killed, true) {
            engine.host.log(LogLevel::Notice, "Lua script killed by user with SCRIPT KILL.");
        }
        !self.killed
    }

    /// Whether the client that debugs has gone, or sends more than anybody who debugs. What it has sent is kept for when the script stops.
    fn has_lost_client(&mut self) -> bool {
        let (Some(beside), Some(debugger)) = (&mut self.context.rounds, &self.debugger) else { return true };
        if debugger.has_heard_too_much() {
            return true;
        }
        let mut input = Vec::new();
        let received = beside.receive(&mut input, Duration::ZERO);
        debugger.hear(&input);
        received == Received::Gone
    }

    /// How long the client that debugs may be waited for before something else is to be looked at.
    fn listens_for(&self) -> Duration {
        match self.context.engine.busy_after() {
            Some(limit) if !self.context.engine.is_copy => {
                limit.saturating_sub(self.started.elapsed()).clamp(Duration::from_millis(1), LISTEN_MAX)
            }
            _ => LISTEN_MAX,
        }
    }

    /// Shows a call and its outcome to the client that debugs: as a client would get it, and as the script does.
    fn show(&self, debugger: &Debugger, args: Args<'_>, is_valid: bool, done: &CommandResult<usize>) {
        if let Err(error) = done
            && (!is_valid || args.is_empty())
        {
            let text = error.wire();
            return debugger.log(&[b"<error> ", text.strip_prefix(b"ERR ").unwrap_or(&text)].concat());
        }
        debugger.log(&debug::joined(b"<command>", args.iter()));
        let (reply, error) = match done {
            Ok(mark) => {
                let reply = self.context.reply.written_since(*mark).to_vec();
                let error = (reply.first() == Some(&b'-')).then(|| reply.clone());
                (reply, error)
            }
            Err(error) => {
                let (reply, error) = self.refusal(args, error);
                ([b"-", &*reply, b"\r\n"].concat(), Some(error))
            }
        };
        debugger.log_cut(&[b"<reply> ", &*debug::human(&reply)].concat());
        if let Some(error) = error {
            debugger.log(&[b"<error> ", &*error].concat());
        }
    }

    /// What a client would be told in the place of the script, and what the script is told.
    fn refusal(&self, args: Args<'_>, error: &CommandError) -> (Vec<u8>, Vec<u8>) {
        let text = error.wire();
        let found = args.get(0).and_then(|name| self.context.engine.names.find(name));
        let found = found.and_then(|found| lookup::subcommand(found, args).ok());
        let name = found.map(|found| found.full_name()).unwrap_or_default();
        let plain = text.strip_prefix(b"ERR ").unwrap_or(&text).to_vec();
        if *error == CommandError::UNKNOWN_IN_SCRIPT {
            return (lookup::unknown_command(args).wire().into_owned(), plain);
        }
        if *error == ARITY {
            return (CommandError::arity(&name).wire().into_owned(), plain);
        }
        if *error == NOT_FROM_SCRIPTS {
            return (format!("ERR command '{name}' is not allowed on script mode").into_bytes(), plain);
        }
        match plain.strip_prefix(acl::FAILURE_IN_SCRIPT) {
            Some(reason) => ([b"NOPERM ", reason].concat(), [&*plain, b"\r\n"].concat()),
            None => (text.to_vec(), [b"-", &*text, b"\r\n"].concat()),
        }
    }

    fn become_long(&mut self) {
        let (engine, program) = (self.context.engine, &self.invocation.program);
        self.is_long = true;
        let is_function = matches!(program, Program::Function(..));
        engine.begin_long_script();
        let text = format!(
            "Slow script detected: still in execution after {} milliseconds. You can try killing the script using the {} \
             KILL command. Script name is: {}.",
            self.started.elapsed().as_millis(),
            if is_function { "FUNCTION" } else { "SCRIPT" },
            String::from_utf8_lossy(program.name())
        );
        engine.host.log(LogLevel::Warning, &text);
    }
}

/// A command is called with too few or too many arguments.
const ARITY: CommandError = CommandError::Fixed("ERR Wrong number of args calling command from script");
/// A command that scripts may not call.
const NOT_FROM_SCRIPTS: CommandError =
    CommandError::Fixed("ERR This Valkey command is not allowed from script");

/// Arguments that room is kept for.
const SPANS_MAX: usize = 4096;

impl Caller for Run<'_, '_> {
    fn call(&mut self, exchange: &mut Exchange) -> bool {
        let mut spans = self.interpreter.spans.take();
        spans.clear();
        let mut start = 0;
        spans
            .extend(exchange.ends.iter().map(|&end| Span { start: std::mem::replace(&mut start, end), end }));
        let args = Args::new(&exchange.bytes, &spans);
        let done = match (exchange.refusal, spans.is_empty()) {
            (Some(Refusal::Type), _) => {
                Err(self.misused("ERR Command arguments must be strings or integers"))
            }
            (Some(Refusal::TooLong), _) => Err(self.misused("ERR Command arguments are too long")),
            (None, true) => Err(self.misused("ERR Please specify at least one argument for this call")),
            (None, false) => self.execute(args),
        };
        if let Some(debugger) = self.debugger.clone().filter(|debugger| debugger.steps()) {
            self.show(&debugger, args, exchange.refusal.is_none(), &done);
        }
        spans.shrink_to(SPANS_MAX);
        self.interpreter.spans.replace(spans);
        match done {
            Ok(mark) => {
                exchange.reply.extend_from_slice(self.context.reply.written_since(mark));
                self.context.reply.truncate(mark);
            }
            Err(error) => Reply::new(&mut exchange.reply, self.protocol).error(&error.wire()),
        }
        exchange.reply.first() != Some(&b'-')
    }

    fn arguments(&mut self, reply: &mut Vec<u8>) {
        let (args, count) = (self.invocation.args.from(3), self.invocation.key_count);
        let mut reply = Reply::new(reply, Protocol::Resp2);
        reply.array(count);
        args.iter().take(count).for_each(|key| reply.bulk(key));
        reply.array(args.len() - count);
        args.from(count).iter().for_each(|arg| reply.bulk(arg));
    }

    fn set_protocol(&mut self, version: i64) {
        self.protocol = if version == 3 { Protocol::Resp3 } else { Protocol::Resp2 };
    }

    fn set_targets(&mut self, to: Targets) {
        self.context.worker.effects.set_targets(to);
    }

    fn may_execute(&mut self, args: Args<'_>) -> Option<bool> {
        let found = lookup::find_command(self.context.engine, self.context.worker, args)?;
        let session = &mut *self.context.session;
        Some(
            authorization::is_unrestricted(self.context.engine, session)
                || acl::decide(
                    session.access.rights(),
                    found,
                    args,
                    session.db,
                    self.context.engine.database_count(),
                )
                .is_ok(),
        )
    }

    fn log(&mut self, level: LogLevel, text: &str) {
        self.context.engine.host.log(level, text);
    }

    fn tick(&mut self) -> bool {
        self.look_up(Duration::ZERO)
    }

    fn ended_at(&mut self, source: String, line: usize) {
        self.ended_at.get_or_insert((source, line));
    }

    fn send(&mut self, bytes: &[u8]) {
        if let Some(beside) = &mut self.context.rounds {
            beside.send(bytes);
        }
    }

    fn listen(&mut self, input: &mut Vec<u8>) -> Heard {
        loop {
            // In a round the loop wakes up for this client too.
            let patience = if self.is_long { Duration::ZERO } else { self.listens_for() };
            let Some(beside) = &mut self.context.rounds else { return Heard::Gone };
            let is_gone = self.context.session.shared.closing() != Closing::No;
            match beside.receive(input, patience) {
                Received::Bytes if !is_gone => return Heard::Bytes,
                Received::Nothing if !is_gone => {}
                // Nobody will ever see what becomes of a copy.
                _ if self.context.engine.is_copy => {
                    self.killed = true;
                    return Heard::Killed;
                }
                _ => return Heard::Gone,
            }
            if !self.context.engine.is_copy && !self.look_up(LISTEN_MAX) {
                return Heard::Killed;
            }
        }
    }

    fn call_for_client(&mut self, args: &[Vec<u8>]) {
        let mut exchange = Exchange::default();
        for arg in args {
            exchange.bytes.extend_from_slice(arg);
            exchange.ends.push(exchange.bytes.len());
        }
        self.call(&mut exchange);
    }
}
