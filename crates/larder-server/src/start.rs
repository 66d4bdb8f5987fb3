//! From the command line to running threads, and back to an exit code.

use crate::banner;
use crate::cluster::{Bus, CannotStart};
use crate::crash;
use crate::door::Door;
use crate::files;
use crate::host::ServerHost;
use crate::listen::{self, CannotListen, Place, Security};
use crate::log::{Log, Role};
use crate::long;
use crate::replication::syncs::Syncs;
use crate::server::Server;
use crate::settings::{Settings, SettingsError, ignored_warning, system_text};
use crate::shared::{Post, Shared};
use crate::supervise::{self, Supervisor};
use crate::worker::{EventLoop, WAKE};
use crate::{
    check_config, cpus, memory, memory_test, process, replication, shutdown, signals, sys, system_check, tls,
    web,
};
use larder_engine::config::{CommandLine, FatalConfig, LogThreshold};
use larder_engine::{Cron, Engine, EngineOptions, Host, Names, NoShards};
use larder_persist::{Persist, Process};
use mio::{Poll, Waker};
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The server could not start; the reason has been logged.
struct Aborted;

/// Runs the program.
pub fn main(args: &[String]) -> ExitCode {
    let line = CommandLine::parse(args);
    if line.version || line.help {
        println!("{}", if line.version { banner::version_line() } else { banner::usage() });
        return ExitCode::SUCCESS;
    }
    if line.check_system {
        return if system_check::run() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if line.check_config {
        return if check_config::run(&line) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let Some(megabytes) = &line.test_memory {
        return test_memory(megabytes);
    }
    supervise::note_name();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    match Settings::load(&line, cores) {
        Ok(settings) => serve(settings),
        Err(error @ SettingsError::Config(FatalConfig::Unreadable { .. })) => {
            Log::new("", LogThreshold::Notice).warning(&error.to_string());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprint!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn test_memory(megabytes: &str) -> ExitCode {
    let Ok(count) = megabytes.parse() else {
        eprintln!("'{megabytes}' is not a number of megabytes.\nExample: larder-server --test-memory 4096");
        return ExitCode::FAILURE;
    };
    match memory_test::run(count) {
        Ok(true) => {
            println!("Your memory passed this test.");
            ExitCode::SUCCESS
        }
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("Unable to allocate {count} megabytes: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(settings: Settings) -> ExitCode {
    let config = &settings.config;
    let log = Log::new(&config.value("logfile"), config.choice("loglevel"));
    log.set_form(config.choice("log-format"), config.choice("log-timestamp-format"));
    if config.is_yes("syslog-enabled") {
        log.use_syslog(&config.value("syslog-ident"), config.number("syslog-facility"));
    }
    let supervisor = Supervisor::of(config, &log);
    if config.is_yes("daemonize") && supervisor == Supervisor::None && sys::daemonize().is_err() {
        log.warning("Can't run in the background: fork failed");
        return ExitCode::FAILURE;
    }
    greet(&log, &settings);
    if config.is_yes("set-proc-title") {
        sys::title::prepare();
    }
    if config.is_yes("disable-thp") {
        sys::disable_huge_pages();
    }
    memory::set_background_thread(config.is_yes("jemalloc-bg-thread"));
    process::fit_open_files(config, &log);
    if let Err(error) = process::apply_oom_score(config) {
        log.warning(&error.to_string());
    }
    let pidfile = process::pidfile(config);
    let shared = Arc::new(Shared::new(Arc::new(settings.config), log, settings.file));
    shared.supervisor.get_or_init(|| supervisor);
    let config_file = shared.config_file.as_ref().map(|path| path.to_string_lossy().into_owned());
    supervise::show_title(&shared.config, &config_file.unwrap_or_default());
    if let Err(error) = crash::install(&shared) {
        abort(&shared, &error);
        return ExitCode::FAILURE;
    }
    match run(&shared, pidfile.as_ref(), settings.names, &settings.users) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Aborted) => ExitCode::FAILURE,
    }
}

fn greet(log: &Log, settings: &Settings) {
    log.notice("oO0OoO0OoO0Oo Larder is starting oO0OoO0OoO0Oo");
    let (version, commit) = (banner::VERSION, banner::COMMIT);
    let (bits, pid) = (usize::BITS, std::process::id());
    log.notice(&format!("Larder version={version}, bits={bits}, commit={commit}, pid={pid}, just started"));
    if settings.configured {
        log.notice("Configuration loaded");
    } else {
        log.notice(
            "No configuration given, using the defaults. To use a configuration file, start larder-server \
             /path/to/larder.conf",
        );
    }
    for name in &settings.ignored {
        log.warning(&ignored_warning(name));
    }
    settings.config.ignored().iter().for_each(|warning| log.warning(warning));
    log.set_role(Role::Primary);
}

/// Everything between a loaded configuration and the end.
fn run(
    shared: &Arc<Shared>,
    pidfile: Option<&PathBuf>,
    names: Names,
    users: &[Vec<String>],
) -> Result<(), Aborted> {
    let seed = shared.config.value("hash-seed");
    if !seed.is_empty() && !larder_engine::set_hash_seed(seed.as_bytes()) {
        shared.log.warning("hash-seed has no effect: keys were hashed before the configuration was read");
    }
    if shared.config.is_yes("cluster-enabled") && !larder_engine::hash_by_slot() {
        shared.log.warning("Failed to start: keys were hashed before cluster mode was enabled");
        return Err(Aborted);
    }
    files::use_dir(shared, Path::new("."), || Ok(())).map_err(|error: io::Error| {
        let dir = shared.config.value("dir");
        shared.log.warning(&format!("Can't use the directory '{dir}': {error}"));
        Aborted
    })?;
    // Before anybody can know of the server.
    let server = Arc::new(Server::new(Arc::clone(shared)));
    signals::watch(Arc::clone(&server)).map_err(|error| abort(shared, &error))?;
    listen(shared)?;
    if let Some(path) = pidfile {
        process::write_pidfile(path, &shared.log);
    }
    let result = run_threads(&server, names, users);
    shutdown::clean_up(&server);
    result
}

fn listen(shared: &Shared) -> Result<(), Aborted> {
    let (config, log) = (&shared.config, &shared.log);
    shared.tls.follow(config, log).map_err(|tls::NotChanged| {
        log.warning("Failed to configure TLS. Check logs for more info.");
        Aborted
    })?;
    let places = [Security::Plain, Security::Tls].map(|security| Place::of(config, security));
    let plain = listen::tcp(&places[0], log).map_err(|CannotListen| Aborted)?;
    let tls = listen::tcp(&places[1], log).map_err(|CannotListen| Aborted)?;
    let unix = listen::unix(config, log).map_err(|CannotListen| Aborted)?;
    let mut listeners = shared.listeners.lock();
    let [plain_place, tls_place] = places;
    let added = listeners
        .add_tcp(plain_place, plain)
        .and_then(|()| unix.into_iter().try_for_each(|l| listeners.add(l)))
        .and_then(|()| listeners.add_tcp(tls_place, tls));
    added.map_err(|error| abort(shared, &error))?;
    if listeners.is_empty() {
        log.warning("Configured to not listen anywhere, exiting.");
        return Err(Aborted);
    }
    Ok(())
}

fn run_threads(server: &Arc<Server>, names: Names, users: &[Vec<String>]) -> Result<(), Aborted> {
    let shared = &server.shared;
    let host: Arc<dyn Host> = Arc::new(ServerHost::new(Arc::clone(server)));
    let threads = shared.config.number("threads") as usize;
    let engine = Engine::new(EngineOptions { config: Arc::clone(&shared.config), host, threads, names });
    #[cfg(debug_assertions)]
    if std::env::var_os("LARDER_CHECK_UNITS").is_some() {
        engine.check_units();
    }
    engine.load_users(users).map_err(|error| {
        shared.log.warning(&error.to_string());
        Aborted
    })?;
    let persist = Persist::start(Arc::clone(shared) as Arc<dyn Process>, Arc::clone(&engine), PathBuf::new())
        .map_err(|error| abort(shared, &error))?;
    server.complete(Arc::clone(&persist));
    // Nobody is served before the data is there, and the log. From here on clients may change what is to be kept.
    let keeps_log = shared.config.is_yes("appendonly");
    let is_to_load = persist.is_to_load(keeps_log);
    if is_to_load {
        engine.gate().begin_loading(false);
    } else {
        persist.start_empty();
    }
    persist.sweep_temporaries();
    introduce(shared, threads);
    // A node knows its role, and its clients which slots it has, before any is served.
    let bus = Bus::prepare(shared, &engine).map_err(|CannotStart| Aborted)?;
    if let Ok(turn) = engine.try_take_turn(NoShards::outside_commands()) {
        engine.follow_configured(&turn);
    }
    let sites = web::Sites::listen(&shared.config).map_err(|error| no_pages(shared, &error))?;
    let (workers, door) = start_workers(shared, &persist, threads).map_err(|error| abort(shared, &error))?;
    bus.map_or(Ok(()), |bus| bus.start(&persist)).map_err(|error| abort(shared, &error))?;
    sites.serve(shared, &persist).map_err(|error| no_pages(shared, &error))?;
    cpus::bind(&shared.config, "server-cpulist", &shared.log);
    shared.log.notice("Server initialized");
    if is_to_load {
        door.open_when_it_takes_long(shared, &engine, || load(shared, &persist, keeps_log))?;
    }
    door.open(shared).map_err(|error| abort(shared, &error))?;
    replication::link::start(shared, &persist).map_err(|error| abort(shared, &error))?;
    announce(shared);
    cron(shared, &engine, &persist);
    // One that has panicked has ended the process.
    workers.into_iter().for_each(|worker| drop(worker.join()));
    shared.long.end();
    Ok(())
}

/// Loads the data, begins to log, and lets clients in.
fn load(shared: &Shared, persist: &Arc<Persist>, keeps_log: bool) -> Result<(), Aborted> {
    persist.load(keeps_log).map_err(|_| Aborted)?;
    if keeps_log {
        persist.append_file().open(persist).map_err(|error| cannot_log(shared, &error))?;
    }
    persist.end_load().map_err(|error| cannot_log(shared, &error))
}

fn no_pages(shared: &Shared, web::NotServed { what, port, error }: &web::NotServed) -> Aborted {
    shared.log.warning(&format!("Could not serve {what} on port {port}: {}", system_text(error)));
    Aborted
}

fn cannot_log(shared: &Shared, error: &dyn std::error::Error) -> Aborted {
    shared.log.warning(&format!("Can't open or create the append-only file: {error}"));
    Aborted
}

/// Says what runs here: with a picture for those who look at a terminal, or want it.
fn introduce(shared: &Shared, threads: usize) {
    let (config, log) = (&shared.config, &shared.log);
    let port = config.first_port().to_string();
    if config.is_yes("always-show-logo") || log.is_terminal() {
        log.raw(&banner::banner(&port, threads));
    } else {
        let mode = if config.is_yes("cluster-enabled") { "cluster" } else { "standalone" };
        log.notice(&format!("Running mode={mode}, port={port}."));
    }
}

/// The data is loaded: says that clients are served.
fn announce(shared: &Shared) {
    let (config, log) = (&shared.config, &shared.log);
    let open = [
        ("tcp", config.number("port") != 0),
        ("unix", !config.value("unixsocket").is_empty()),
        ("tls", config.number("tls-port") != 0),
    ];
    for (name, _) in open.into_iter().filter(|(_, is_open)| *is_open) {
        log.notice(&format!("Ready to accept connections {name}"));
    }
    shared.supervisor().ready(log);
}

/// Makes all event loops before any of them runs, so that each can reach the others.
fn start_workers(
    shared: &Arc<Shared>,
    persist: &Arc<Persist>,
    threads: usize,
) -> io::Result<(Vec<JoinHandle<()>>, Door)> {
    let (mut loops, mut door) = (Vec::new(), Door::default());
    let mut posts = Vec::new();
    let syncs = Syncs::new(Arc::clone(persist));
    for index in 0..threads {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        posts.push(Post {
            waker: Arc::clone(&waker),
            arrivals: Mutex::default(),
            returns: Mutex::default(),
            holds: AtomicBool::new(false),
            thread: AtomicI32::new(0),
            busy_since_ms: AtomicU64::new(0),
        });
        // A failed wake leaves the mail to the next event.
        let worker = persist.engine().worker(index, Box::new(move || drop(waker.wake())));
        if index == 0 {
            door = Door::of(poll.registry().try_clone()?);
        }
        let (shared, persist, syncs) = (Arc::clone(shared), Arc::clone(persist), Arc::clone(&syncs));
        loops.push(EventLoop::new(index, shared, persist, syncs, poll, worker));
    }
    shared.set_posts(posts);
    long::start(shared, persist.engine())?;
    let started = loops.into_iter().enumerate().map(|(index, event_loop)| start_worker(index, event_loop));
    Ok((started.collect::<io::Result<_>>()?, door))
}

fn start_worker(index: usize, event_loop: EventLoop) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(format!("worker-{index}")).stack_size(larder_engine::STACK_BYTES_MIN).spawn(
        move || {
            crash::fault::use_signal_stack();
            memory::own_arena();
            cpus::bind(&event_loop.shared().config, "server-cpulist", &event_loop.shared().log);
            sys::take_short_turns();
            event_loop.run();
        },
    )
}

/// Does what is due `hz` times a second, until the server stops.
fn cron(shared: &Arc<Shared>, engine: &Arc<Engine>, persist: &Persist) {
    let mut cron = Cron::new(engine);
    loop {
        let hz = shared.config.hot.hz.load(Relaxed).max(1) as u64;
        if shared.wait_for_stop(Duration::from_micros(1_000_000 / hz)) {
            return;
        }
        larder_engine::panic_if_armed();
        engine.sleep_along();
        long::add_threads(shared, engine);
        cron.tick();
        persist.cron();
        shared.peers.close_idle();
        shared.tls.reload_if_due(&shared.config, &shared.log);
    }
}

fn abort(shared: &Shared, error: &io::Error) -> Aborted {
    shared.log.warning(&format!("Failed to start: {error}"));
    Aborted
}
