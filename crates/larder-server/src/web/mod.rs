//! What is served over HTTP, on a thread of its own: metrics (`metrics-port`).
//!
//! Requests come from strangers and may be slow, huge or meant for somebody else: there are at most [`CONNECTIONS_MAX`] connections, each of
//! which ends after [`CONNECTION_AT_MOST`]; a head has [`HEAD_BYTES_MAX`] and [`HEAD_AT_MOST`], a body is not read. What a browser was made to
//! send is refused ([`request`]). The page is made by this thread, at most once in [`PAGE_KEPT`], however many ask.

mod request;

use crate::listen;
use crate::persist::Persist;
use crate::shared::Shared;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use larder_engine::{Census, Engine, panic_if_armed, spawn_background};
use request::{Hosts, Refusal};
use std::convert::Infallible;
use std::io;
use std::net::TcpListener as StdListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::LocalSet;

/// Connections at once; others are closed at once.
const CONNECTIONS_MAX: usize = 64;
/// How long a connection lasts.
const CONNECTION_AT_MOST: Duration = Duration::from_secs(60);
/// How long the head of a request may take to come.
const HEAD_AT_MOST: Duration = Duration::from_secs(5);
/// Bytes of it.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// For how long a page serves all who ask.
const PAGE_KEPT: Duration = Duration::from_millis(250);
/// How long accepting rests after an error: when there are no descriptors, there will be none at once.
const AFTER_ERROR: Duration = Duration::from_millis(100);
/// The type of the page.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

type Page = Result<Response<Full<Bytes>>, Infallible>;
/// A request for the page of metrics.
type Asked = oneshot::Sender<Bytes>;

/// Listens where `metrics-port` and `metrics-bind` say, and starts the threads; nothing without a port.
///
/// # Errors
/// What the system says when it cannot listen there, or starts no further thread.
pub fn start(shared: &Shared, persist: &Arc<Persist>) -> io::Result<()> {
    let config = &shared.config;
    let port = config.number("metrics-port") as u16;
    if port == 0 {
        return Ok(());
    }
    let listeners = listen::plain(&config.value("metrics-bind"), port)?;
    let hosts = Hosts::new(&config.value("metrics-hosts"));
    let engine = Arc::clone(persist.engine());
    let census = Census::start(&engine)?;
    spawn_background("larder-web", move |_| serve(listeners, hosts, &engine, &census))?;
    shared.log.notice(&format!("Metrics are served on port {port}"));
    Ok(())
}

fn serve(listeners: Vec<StdListener>, hosts: Hosts, engine: &Engine, census: &Census) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system has an event queue more");
    let (asked, mut asks) = mpsc::channel::<Asked>(CONNECTIONS_MAX);
    let places = Rc::new(Semaphore::new(CONNECTIONS_MAX));
    let hosts = Rc::new(hosts);
    LocalSet::new().block_on(&runtime, async {
        for listener in listeners {
            let listener = TcpListener::from_std(listener).expect("a listener that does not block");
            tokio::task::spawn_local(accept(listener, Rc::clone(&places), Rc::clone(&hosts), asked.clone()));
        }
        let mut made = None;
        while let Some(answer) = asks.recv().await {
            panic_if_armed();
            let page = page(&mut made, engine, census);
            let _: Result<(), Bytes> = answer.send(page);
        }
    });
}

/// The page: the one that was made last, if it is not old.
fn page(made: &mut Option<(Instant, Bytes)>, engine: &Engine, census: &Census) -> Bytes {
    let now = larder_engine::instant();
    if let Some((at, page)) = made
        && now.duration_since(*at) < PAGE_KEPT
    {
        return page.clone();
    }
    let mut text = String::new();
    engine.write_metrics(census, &mut text);
    let page = Bytes::from(text);
    *made = Some((larder_engine::instant(), page.clone()));
    page
}

async fn accept(listener: TcpListener, places: Rc<Semaphore>, hosts: Rc<Hosts>, asked: mpsc::Sender<Asked>) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(AFTER_ERROR).await;
            continue;
        };
        let places = Rc::clone(&places);
        let (hosts, asked) = (Rc::clone(&hosts), asked.clone());
        tokio::task::spawn_local(async move {
            let Ok(_place) = places.try_acquire() else { return };
            // One that is cut off by the time is closed.
            let _ = tokio::time::timeout(CONNECTION_AT_MOST, converse(socket, &hosts, &asked)).await;
        });
    }
}

async fn converse(socket: TcpStream, hosts: &Hosts, asked: &mpsc::Sender<Asked>) {
    let answer = service_fn(|request| answer(request, hosts, asked));
    // Errors are the client's: it has sent no HTTP, or has gone.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_AT_MOST)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), answer)
        .await;
}

async fn answer(request: Request<Incoming>, hosts: &Hosts, asked: &mpsc::Sender<Asked>) -> Page {
    if let Err(Refusal(reason)) = hosts.check(request.headers()) {
        return plain(StatusCode::FORBIDDEN, reason);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are answered here.\n");
    }
    if request.uri().path() != "/metrics" {
        return plain(StatusCode::NOT_FOUND, "There is nothing here but /metrics.\n");
    }
    let (answer, answered) = oneshot::channel();
    let page = match asked.send(answer).await {
        Ok(()) => answered.await.ok(),
        Err(_) => None,
    };
    match page {
        Some(page) => respond(StatusCode::OK, TEXT_FORMAT, page),
        None => plain(StatusCode::SERVICE_UNAVAILABLE, "The server is ending.\n"),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Page {
    respond(status, "text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()))
}

fn respond(status: StatusCode, kind: &'static str, body: Bytes) -> Page {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    Ok(response)
}
