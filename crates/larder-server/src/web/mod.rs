//! What is served over HTTP, on a thread of its own: metrics (`metrics-port`) and the console (`console-port`).

mod console;
mod http;
mod metrics;
mod request;

use crate::listen;
use crate::shared::Shared;
use console::Console;
use larder_engine::config::Config;
use larder_engine::{Census, spawn_background};
use larder_persist::Persist;
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

/// The sites that are configured; connections to them wait until they are served.
pub struct Sites {
    metrics: Option<Place>,
    console: Option<Place>,
}

impl Sites {
    /// Listens where the options say. To be called before clients are served: those that the server answers
    /// find the sites.
    ///
    /// # Errors
    /// What the system says when it cannot listen there.
    pub fn listen(config: &Config) -> Result<Sites, NotServed> {
        Ok(Sites { metrics: place(config, &METRICS)?, console: place(config, &CONSOLE)? })
    }

    /// Starts the threads that serve them, if there are any. After the workers.
    ///
    /// # Errors
    /// What the system says when it starts no further thread.
    pub fn serve(self, shared: &Shared, persist: &Arc<Persist>) -> Result<(), NotServed> {
        let engine = persist.engine();
        let metrics = site(shared, &METRICS, self.metrics, |Place { listeners, hosts }| {
            let (engine, census) = (Arc::clone(engine), Census::start(engine)?);
            Ok((listeners, Metrics { engine, census, hosts, made: RefCell::new(None) }))
        })?;
        let console = site(shared, &CONSOLE, self.console, |Place { listeners, hosts }| {
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
}

fn port(config: &Config, options: &Options) -> u16 {
    config.number(options.port) as u16
}

/// Listens for a site, if it has a port.
fn place(config: &Config, options: &Options) -> Result<Option<Place>, NotServed> {
    let port = port(config, options);
    if port == 0 {
        return Ok(None);
    }
    let listeners = listen::plain(&config.value(options.bind), port).map_err(|error| NotServed {
        what: options.what,
        port,
        error,
    })?;
    Ok(Some(Place { listeners, hosts: Hosts::new(&config.value(options.hosts)) }))
}

/// What serves a site.
fn site<T>(
    shared: &Shared,
    options: &Options,
    place: Option<Place>,
    make: impl FnOnce(Place) -> io::Result<T>,
) -> Result<Option<T>, NotServed> {
    let Some(place) = place else { return Ok(None) };
    let port = port(&shared.config, options);
    let made = make(place).map_err(|error| NotServed { what: options.what, port, error })?;
    shared.log.notice(&format!("{} on port {port}", options.served));
    Ok(Some(made))
}
