//! The server that all sites share: connections over HTTP on one thread.
//!
//! Requests come from strangers and may be slow, huge or meant for somebody else: a site has at most [`CONNECTIONS_MAX`] connections, each of
//! which ends after [`CONNECTION_AT_MOST`] and has one request under way; a head has [`HEAD_BYTES_MAX`] and [`HEAD_AT_MOST`], a body
//! that is read [`BODY_BYTES_MAX`] and [`BODY_AT_MOST`].

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Connections of a site at once; others are closed at once.
const CONNECTIONS_MAX: usize = 64;
/// How long a connection lasts.
const CONNECTION_AT_MOST: Duration = Duration::from_secs(60);
/// How long the head of a request may take to come, and its body.
const HEAD_AT_MOST: Duration = Duration::from_secs(5);
const BODY_AT_MOST: Duration = Duration::from_secs(5);
/// Bytes of them.
const HEAD_BYTES_MAX: usize = 16 << 10;
const BODY_BYTES_MAX: usize = 1 << 20;
/// How long accepting rests after an error: when there are no descriptors, there will be none at once.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// An answer.
pub type Page = Response<Full<Bytes>>;

/// What is served on a port.
pub trait Site: 'static {
    /// Answers a request that came from `from` to `to`.
    async fn answer(&self, request: Request<Incoming>, from: SocketAddr, to: SocketAddr) -> Page;
}

/// Serves a site for ever.
pub fn serve(listeners: Vec<StdListener>, site: impl Site) {
    let (site, places) = (Rc::new(site), Rc::new(Semaphore::new(CONNECTIONS_MAX)));
    for listener in listeners {
        let listener = TcpListener::from_std(listener).expect("a listener that does not block");
        tokio::task::spawn_local(accept(listener, Rc::clone(&places), Rc::clone(&site)));
    }
}

async fn accept(listener: TcpListener, places: Rc<Semaphore>, site: Rc<impl Site>) {
    loop {
        let Ok((socket, from)) = listener.accept().await else {
            tokio::time::sleep(AFTER_ERROR).await;
            continue;
        };
        let (places, site) = (Rc::clone(&places), Rc::clone(&site));
        tokio::task::spawn_local(async move {
            let Ok(_place) = places.try_acquire() else { return };
            // One that is cut off by the time is closed.
            let _ = tokio::time::timeout(CONNECTION_AT_MOST, converse(socket, from, &*site)).await;
        });
    }
}

async fn converse(socket: TcpStream, from: SocketAddr, site: &impl Site) {
    // An answer that is not sent at once is late, and nothing more.
    let _ = socket.set_nodelay(true);
    let to = socket.local_addr().unwrap_or(from);
    let answer =
        service_fn(move |request| async move { Ok::<_, Infallible>(site.answer(request, from, to).await) });
    // Errors are the client's: it has sent no HTTP, or has gone.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_AT_MOST)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), answer)
        .await;
}

/// The body of a request, if it is not too large and comes in time.
pub async fn body(request: Request<Incoming>) -> Result<Bytes, StatusCode> {
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
    match tokio::time::timeout(BODY_AT_MOST, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

/// A text for those who read the answer themselves.
pub fn plain(status: StatusCode, text: &'static str) -> Page {
    respond(status, "text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()))
}

/// An answer of a type.
pub fn respond(status: StatusCode, kind: &'static str, body: Bytes) -> Page {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    set(&mut response, header::CONTENT_TYPE, kind);
    set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(&mut response, header::CACHE_CONTROL, "no-store");
    response
}

/// Sets a header.
pub fn set(page: &mut Page, name: HeaderName, value: &'static str) {
    page.headers_mut().insert(name, HeaderValue::from_static(value));
}
