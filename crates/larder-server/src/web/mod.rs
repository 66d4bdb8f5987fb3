//! What is served over HTTP, on a thread of its own: metrics (`metrics-port`) and the console (`console-port`).

mod console;
mod http;
mod metrics;
mod request;

use crate::listen;
use crate::persist::Persist;
use crate::shared::Shared;
use console::Console;
use larder_engine::{Census, spawn_background};
use metrics::Metrics;
use request::Hosts;
use std::cell::RefCell;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use tokio::task::LocalSet;

/// Why one of the sites is not served.
#[derive(Debug)]
pub struct NotServed {
    /// `metrics` or `the console`.
    pub what: &'static str,
    pub port: u16,
    pub error: io::Error,
}

/// The options of a site, and what the log calls it.
struct Options {
    port: &'static str,
    bind: &'static str,
    hosts: &'static str,
    what: &'static str,
    served: &'static str,
}

const METRICS: Options = Options {
    port: "metrics-port",
    bind: "metrics-bind",
    hosts: "metrics-hosts",
    what: "metrics",
    served: "Metrics are served",
};

const CONSOLE: Options = Options {
    port: "console-port",
    bind: "console-bind",
    hosts: "console-hosts",
    what: "the console",
    served: "The console is served",
};

/// A site that is configured: where it listens, and the names that it is asked by.
struct Place {
    listeners: Vec<TcpListener>,
    hosts: Hosts,
}

/// Listens where the options say, and starts the threads; nothing without a port.
///
/// # Errors
/// What the system says when it cannot listen there, or starts no further thread.
pub fn start(shared: &Shared, persist: &Arc<Persist>) -> Result<(), NotServed> {
    let engine = persist.engine();
    let metrics = site(shared, &METRICS, |Place { listeners, hosts }| {
        let (engine, census) = (Arc::clone(engine), Census::start(engine)?);
        Ok((listeners, Metrics { engine, census, hosts, made: RefCell::new(None) }))
    })?;
    let console = site(shared, &CONSOLE, |Place { listeners, hosts }| {
        Ok((listeners, Console::start(hosts, persist)?))
    })?;
    if metrics.is_none() && console.is_none() {
        return Ok(());
    }
    let served = spawn_background("larder-web", move |_| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("the system has an event queue more");
        LocalSet::new().block_on(&runtime, async {
            if let Some((listeners, metrics)) = metrics {
                http::serve(listeners, metrics);
            }
            if let Some((listeners, console)) = console {
                http::serve(listeners, console);
            }
            std::future::pending::<()>().await;
        });
    });
    served.map(drop).map_err(|error| NotServed { what: "pages", port: 0, error })
}

/// What serves a site, if it has a port.
fn site<T>(
    shared: &Shared,
    options: &Options,
    make: impl FnOnce(Place) -> io::Result<T>,
) -> Result<Option<T>, NotServed> {
    let config = &shared.config;
    let port = config.number(options.port) as u16;
    if port == 0 {
        return Ok(None);
    }
    let place = || -> io::Result<Place> {
        let listeners = listen::plain(&config.value(options.bind), port)?;
        Ok(Place { listeners, hosts: Hosts::new(&config.value(options.hosts)) })
    };
    let made = place().and_then(make).map_err(|error| NotServed { what: options.what, port, error })?;
    shared.log.notice(&format!("{} on port {port}", options.served));
    Ok(Some(made))
}
