//! The page of metrics (`metrics-port`), and `/healthz` for probes. The page is made by the thread that serves it, at most once in [`PAGE_KEPT`], however many ask.

use super::http::{Page, Site, plain, respond};
use super::request::{Hosts, Refusal};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, StatusCode};
use larder_engine::{Census, Engine, panic_if_armed};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For how long a page serves all who ask.
const PAGE_KEPT: Duration = Duration::from_millis(250);
/// The type of the page.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The site with the one page.
pub struct Metrics {
    pub engine: Arc<Engine>,
    pub census: Census,
    pub hosts: Hosts,
    /// The page that was made last.
    pub made: RefCell<Option<(Instant, Bytes)>>,
}

impl Site for Metrics {
    async fn answer(&self, request: Request<Incoming>, _from: SocketAddr, _to: SocketAddr) -> Page {
        if let Err(Refusal(reason)) = self.hosts.check(request.headers()) {
            return plain(StatusCode::FORBIDDEN, reason);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are supported.\n");
        }
        panic_if_armed();
        match request.uri().path() {
            "/metrics" => respond(StatusCode::OK, TEXT_FORMAT, self.page()),
            "/healthz" => self.health(),
            _ => plain(StatusCode::NOT_FOUND, "This port serves only /metrics and /healthz.\n"),
        }
    }
}

impl Metrics {
    /// Whether clients are served: what probes of orchestrators ask for.
    fn health(&self) -> Page {
        let gate = self.engine.gate();
        if gate.is_loading() && !gate.serves_while_loading() {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "loading\n");
        }
        if gate.is_stale() {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "waiting for the primary\n");
        }
        plain(StatusCode::OK, "ok\n")
    }

    /// The page: the one that was made last, if it is not old.
    fn page(&self) -> Bytes {
        let now = larder_engine::instant();
        let mut made = self.made.borrow_mut();
        if let Some((at, page)) = &*made
            && now.duration_since(*at) < PAGE_KEPT
        {
            return page.clone();
        }
        let mut text = String::new();
        self.engine.write_metrics(&self.census, &mut text);
        let page = Bytes::from(text);
        *made = Some((larder_engine::instant(), page.clone()));
        page
    }
}
