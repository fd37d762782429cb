//! Bodies that pass on frame by frame as they are pulled, and leave a copy for the memory.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    HeaderMap,
    body::{Body, Frame, Incoming, SizeHint},
};
use thiserror::Error;
use tokio::time::{Instant, Sleep, sleep};

use crate::{
    client_io::Busy,
    connect::BoxError,
    counts::{Counts, Open, count},
    kept::Kept,
    observer::Watch,
};

/// How the body of a request ended, if not well. Shared with the task that waits for the answer.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    /// It was longer than allowed.
    pub too_long: AtomicBool,
    /// The client broke it off.
    pub broken: AtomicBool,
}

#[derive(Debug, Error)]
#[error("the request is too long")]
struct TooLong;

/// The body of a request, on its way to the upstream: bytes that were read already, then what still arrives.
#[derive(Debug)]
pub(crate) struct Outgoing {
    held: Option<Bytes>,
    trailers: Option<HeaderMap>,
    rest: Option<Incoming>,
    /// Bytes that may still come.
    room: usize,
    trouble: Arc<Trouble>,
    copy: Option<Arc<Mutex<Kept>>>,
    /// Ends a body of which nothing comes any more, as long as the upstream waits for it.
    stalled: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, Error)]
#[error("the rest of the request does not come")]
struct Stalled;

impl Outgoing {
    /// Returns a body that passes on what arrives, at most `longest` bytes of it.
    pub fn passing(rest: Incoming, longest: usize, trouble: Arc<Trouble>, copy: Option<Arc<Mutex<Kept>>>) -> Self {
        Self { held: None, trailers: None, rest: Some(rest), room: longest, trouble, copy, stalled: None }
    }

    /// Returns a body of bytes and trailers, followed by what still arrives.
    pub fn held(held: Bytes, trailers: Option<HeaderMap>, rest: Option<Incoming>, room: usize, trouble: Arc<Trouble>) -> Self {
        Self { held: Some(held).filter(|held| !held.is_empty()), trailers, rest, room, trouble, copy: None, stalled: None }
    }

    fn copied(&self, change: impl FnOnce(&mut Kept)) {
        if let Some(copy) = &self.copy {
            change(&mut copy.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(held) = self.held.take() {
            return Poll::Ready(Some(Ok(Frame::data(held))));
        }
        if let Some(rest) = &mut self.rest {
            let Poll::Ready(polled) = Pin::new(rest).poll_frame(cx) else {
                ready!(self.stalled.get_or_insert_with(|| Box::pin(sleep(STALLED))).as_mut().poll(cx));
                self.trouble.broken.store(true, Relaxed);
                self.rest = None;
                return Poll::Ready(Some(Err(Stalled.into())));
            };
            self.stalled = None;
            match polled {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        let Some(room) = self.room.checked_sub(data.len()) else {
                            self.trouble.too_long.store(true, Relaxed);
                            self.rest = None;
                            return Poll::Ready(Some(Err(TooLong.into())));
                        };
                        self.room = room;
                        self.copied(|copy| copy.push(data));
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Some(Err(error)) => {
                    self.trouble.broken.store(true, Relaxed);
                    self.rest = None;
                    return Poll::Ready(Some(Err(error.into())));
                }
                None => {
                    self.rest = None;
                    self.copied(|copy| copy.is_whole = true);
                }
            }
        }
        Poll::Ready(self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_none() && self.trailers.is_none() && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let held = self.held.as_ref().map_or(0, |held| held.len() as u64);
        let rest = self.rest.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint);
        let mut hint = SizeHint::new();
        hint.set_lower(held.saturating_add(rest.lower()));
        if let Some(upper) = rest.upper() {
            hint.set_upper(held.saturating_add(upper));
        }
        hint
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        // A body of known length may be dropped right after its last byte.
        if self.rest.as_ref().is_some_and(Body::is_end_stream) {
            self.copied(|copy| copy.is_whole = true);
        }
    }
}

/// Pace at which an answer that broke off looks whether the client has everything, and the longest time in which a client takes nothing.
/// The server throws away what it has not sent yet when a body fails, and the client would lose bytes that the upstream had sent.
const FLUSH: Duration = Duration::from_millis(20);
const LONGEST_FLUSH: Duration = Duration::from_secs(60);
/// Longest time in which a client sends nothing of a body that it has begun.
pub(crate) const STALLED: Duration = Duration::from_secs(120);

/// The body of an answer, on its way to the client.
#[derive(Debug)]
pub(crate) struct Passing {
    inner: Incoming,
    counts: Arc<Counts>,
    watch: Option<Watch>,
    failure: Option<Failure>,
    /// Held as long as the answer passes.
    _open: Open,
    busy: Busy,
}

/// The error that broke an answer off, as long as the client is not told.
#[derive(Debug)]
struct Failure {
    error: BoxError,
    timer: Pin<Box<Sleep>>,
    /// Bytes that the client's socket had taken, when it last took some, and how often it had taken everything when the answer broke off.
    written: u64,
    at: Instant,
    flushed: u64,
}

impl Failure {
    /// Waits until the client's socket has taken everything.
    fn poll_flushed(&mut self, busy: &Busy, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let (written, flushed) = busy.progress();
            if flushed > self.flushed || self.at.elapsed() > LONGEST_FLUSH {
                return Poll::Ready(());
            }
            if written > self.written {
                (self.written, self.at) = (written, Instant::now());
            }
            self.timer.as_mut().reset(Instant::now() + FLUSH);
        }
    }
}

impl Passing {
    pub fn new(inner: Incoming, counts: Arc<Counts>, watch: Option<Watch>, busy: Busy) -> Self {
        let open = Open::new(counts.clone(), |counts| &counts.open_streams);
        Self { inner, counts, watch, failure: None, _open: open, busy }
    }

    fn end(&mut self, is_whole: bool) {
        if let Some(watch) = self.watch.take() {
            watch.end(is_whole);
        }
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.failure.is_none() {
            let polled = ready!(Pin::new(&mut self.inner).poll_frame(cx));
            match polled {
                Some(Err(error)) => {
                    count(&self.counts.upstream_errors);
                    self.end(false);
                    let (written, flushed) = self.busy.progress();
                    let (timer, at) = (Box::pin(sleep(FLUSH)), Instant::now());
                    self.failure = Some(Failure { error: error.into(), timer, written, at, flushed });
                }
                Some(Ok(frame)) => {
                    if let (Some(data), Some(watch)) = (frame.data_ref(), &mut self.watch) {
                        watch.answer.push(data);
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                None => {
                    self.end(true);
                    return Poll::Ready(None);
                }
            }
        }
        let Self { failure, busy, .. } = &mut *self;
        if let Some(failure) = failure {
            ready!(failure.poll_flushed(busy, cx));
        }
        Poll::Ready(self.failure.take().map(|Failure { error, .. }| Err(error)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // Otherwise the client is gone.
        let is_whole = self.inner.is_end_stream();
        self.end(is_whole);
    }
}
