//! Bodies that pass on frame by frame as they are pulled, and leave a copy for the memory.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    HeaderMap,
    body::{Body, Frame, Incoming, SizeHint},
};
use thiserror::Error;
use tokio::time::{Sleep, sleep};

use crate::{
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
}

impl Outgoing {
    /// Returns a body that passes on what arrives, at most `longest` bytes of it.
    pub fn passing(rest: Incoming, longest: usize, trouble: Arc<Trouble>, copy: Option<Arc<Mutex<Kept>>>) -> Self {
        Self { held: None, trailers: None, rest: Some(rest), room: longest, trouble, copy }
    }

    /// Returns a body of bytes and trailers, followed by what still arrives.
    pub fn held(held: Bytes, trailers: Option<HeaderMap>, rest: Option<Incoming>, room: usize, trouble: Arc<Trouble>) -> Self {
        Self { held: Some(held).filter(|held| !held.is_empty()), trailers, rest, room, trouble, copy: None }
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
            let polled = std::task::ready!(Pin::new(rest).poll_frame(cx));
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

/// Time between the end of an answer that broke off and the error for the client. The server throws away what it has not sent yet
/// when a body fails, and the client would lose bytes that the upstream had sent.
const FLUSH: Duration = Duration::from_millis(20);

/// The body of an answer, on its way to the client.
#[derive(Debug)]
pub(crate) struct Passing {
    inner: Incoming,
    counts: Arc<Counts>,
    watch: Option<Watch>,
    /// The error that broke the answer off, and the time until the client is told.
    failure: Option<(BoxError, Pin<Box<Sleep>>)>,
    /// Held as long as the answer passes.
    _open: Open,
    _busy: crate::client_io::Busy,
}

impl Passing {
    pub fn new(inner: Incoming, counts: Arc<Counts>, watch: Option<Watch>, busy: crate::client_io::Busy) -> Self {
        let open = Open::new(counts.clone(), |counts| &counts.open_streams);
        Self { inner, counts, watch, failure: None, _open: open, _busy: busy }
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
            let polled = std::task::ready!(Pin::new(&mut self.inner).poll_frame(cx));
            match polled {
                Some(Err(error)) => {
                    count(&self.counts.upstream_errors);
                    self.end(false);
                    self.failure = Some((error.into(), Box::pin(sleep(FLUSH))));
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
        if let Some((_, flushed)) = &mut self.failure {
            std::task::ready!(flushed.as_mut().poll(cx));
        }
        Poll::Ready(self.failure.take().map(|(error, _)| Err(error)))
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
