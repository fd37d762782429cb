//! The socket of a client: limits how long it may take for the head of a request, between requests, and to take an answer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

use super::Times;
use crate::wire::MOST_BODY;

/// State of a connection, which its socket, its requests and the listener share.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Requests that are being answered.
    answered: AtomicUsize,
    /// True once a valid token was sent.
    is_known: Arc<AtomicBool>,
    /// True once an answer ended the connection before its request was read.
    lingers: AtomicBool,
    end: Notify,
}

impl Activity {
    /// Returns a number for a new connection, larger than those before.
    pub fn number(&self) -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Relaxed)
    }

    /// Marks the connection as busy until the mark is dropped.
    pub fn begin(activity: &Arc<Self>) -> Busy {
        activity.answered.fetch_add(1, Relaxed);
        Busy(Arc::clone(activity))
    }

    /// Returns the flag that tells whether a valid token was sent.
    pub fn is_known(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_known)
    }

    /// Returns whether the connection may be ended for another one: no request of a member is being answered.
    pub fn may_give_way(&self) -> bool {
        !self.is_busy() || !self.is_known.load(Relaxed)
    }

    /// Returns whether a request is being answered.
    fn is_busy(&self) -> bool {
        self.answered.load(Relaxed) > 0
    }

    /// Has the connection end.
    pub fn end(&self) {
        self.end.notify_one();
    }

    /// Waits until the connection is to end.
    pub async fn ended(&self) {
        self.end.notified().await;
    }
}

/// Mark of a request that is being answered.
#[derive(Debug)]
pub(super) struct Busy(Arc<Activity>);

impl Busy {
    /// Notes that the client may still be sending when the connection ends.
    pub fn linger(&self) {
        self.0.lingers.store(true, Relaxed);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.answered.fetch_sub(1, Relaxed);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Between two requests.
    Idle,
    /// A head is expected or has begun.
    Head,
    /// A request is being answered: the router limits its time.
    Busy,
    /// The answer is sent; what the client still sends is thrown away. Bytes until now.
    Lingering(usize),
}

/// A stream that fails once the client has taken too long.
pub(super) struct Socket<S> {
    inner: S,
    activity: Arc<Activity>,
    times: Times,
    phase: Phase,
    reading: Pin<Box<Sleep>>,
    is_stalled: bool,
    writing: Pin<Box<Sleep>>,
}

impl<S> Socket<S> {
    pub fn new(inner: S, activity: Arc<Activity>, times: Times) -> Self {
        let (reading, writing) = (Box::pin(sleep(times.head)), Box::pin(sleep(times.stall)));
        Self { inner, activity, times, phase: Phase::Head, reading, is_stalled: false, writing }
    }

    fn wait(&mut self, phase: Phase, time: Duration) {
        self.phase = phase;
        self.reading.as_mut().reset(Instant::now() + time);
    }

    /// Fails if nothing could be written for too long.
    fn wrote<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.is_stalled = false;
            return polled;
        }
        if !self.is_stalled {
            self.is_stalled = true;
            self.writing.as_mut().reset(Instant::now() + self.times.stall);
        }
        self.writing.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> Socket<S> {
    /// Throws away what arrives. Without it, the operating system would tell the client that the connection broke, not the answer.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; 4096];
        while let Phase::Lingering(thrown) = self.phase {
            let mut buffer = ReadBuf::new(&mut bytes);
            if thrown > MOST_BODY || self.reading.as_mut().poll(cx).is_ready() {
                break;
            }
            let read = ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
            self.phase = Phase::Lingering(thrown + buffer.filled().len());
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        let is_busy = self.activity.is_busy();
        let Times { idle, head, .. } = self.times;
        if is_busy {
            self.phase = Phase::Busy;
        } else if self.phase == Phase::Busy {
            self.wait(Phase::Idle, idle);
        }
        if polled.is_ready() {
            if self.phase == Phase::Idle && buffer.filled().len() > before {
                self.wait(Phase::Head, head);
            }
            return polled;
        }
        if is_busy {
            return Poll::Pending;
        }
        self.reading.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.wrote(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        self.wrote(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !matches!(self.phase, Phase::Lingering(_)) {
            let polled = Pin::new(&mut self.inner).poll_shutdown(cx);
            ready!(self.wrote(cx, polled))?;
            if !self.activity.lingers.load(Relaxed) {
                return Poll::Ready(Ok(()));
            }
            let linger = self.times.linger;
            self.wait(Phase::Lingering(0), linger);
        }
        self.linger(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.wrote(cx, polled)
    }
}
