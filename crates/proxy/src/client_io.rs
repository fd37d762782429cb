//! The socket of a client: limits how long it may take for the head of a request, and how long it may idle.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// Times that a client may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// From the connection, or from the first byte of a request, to the end of its head.
    pub head: Duration,
    /// From the end of an answer to the next request. Long: a client that sends on a connection which closes at that very moment
    /// sees an error.
    pub idle: Duration,
}

impl Patience {
    pub const DEFAULT: Self = Self { head: Duration::from_secs(20), idle: Duration::from_secs(600) };
}

/// Counts of a connection.
#[derive(Debug, Default)]
struct State {
    /// Requests that are being answered.
    answered: AtomicUsize,
    /// Bytes that the socket took.
    written: AtomicU64,
    /// Times that the socket had taken everything that was to be written.
    flushed: AtomicU64,
}

/// Activity of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity(Arc<State>);

impl Activity {
    /// Marks the connection as busy until the mark is dropped.
    pub fn begin(&self) -> Busy {
        self.0.answered.fetch_add(1, Relaxed);
        Busy(self.clone())
    }
}

/// Mark of a request that is being answered.
#[derive(Debug)]
pub(crate) struct Busy(Activity);

impl Busy {
    /// Returns the bytes that the socket took so far, and how often it had taken everything.
    pub fn progress(&self) -> (u64, u64) {
        let State { written, flushed, .. } = &*self.0.0;
        (written.load(Relaxed), flushed.load(Relaxed))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.answered.fetch_sub(1, Relaxed);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Head,
    Busy,
}

/// The socket of a client. Reading fails once the client has taken too long.
pub(crate) struct ClientIo<S> {
    inner: S,
    activity: Activity,
    patience: Patience,
    phase: Phase,
    /// The first byte told that the client speaks HTTP/2, whose heads end out of sight.
    is_http2: bool,
    has_read: bool,
    timer: Pin<Box<Sleep>>,
}

impl<S> ClientIo<S> {
    pub fn new(inner: S, activity: Activity, patience: Patience) -> Self {
        let timer = Box::pin(sleep(patience.head));
        Self { inner, activity, patience, phase: Phase::Head, is_http2: false, has_read: false, timer }
    }

    fn wrote(&self, written: io::Result<usize>) -> Poll<io::Result<usize>> {
        if let Ok(written) = &written {
            self.activity.0.written.fetch_add(*written as u64, Relaxed);
        }
        Poll::Ready(written)
    }

    fn wait(&mut self, phase: Phase, time: Duration) {
        self.phase = phase;
        self.timer.as_mut().reset(Instant::now() + time);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientIo<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        let is_busy = self.activity.0.answered.load(Relaxed) > 0;
        if is_busy {
            self.phase = Phase::Busy;
        } else if self.phase == Phase::Busy {
            let idle = self.patience.idle;
            self.wait(Phase::Idle, idle);
        }
        if let Poll::Ready(result) = polled {
            let read = buffer.filled().get(before..).unwrap_or_default();
            if !self.has_read && !read.is_empty() {
                self.has_read = true;
                self.is_http2 = read.starts_with(b"PRI");
            }
            if self.phase == Phase::Idle && !read.is_empty() {
                let Patience { head, idle } = self.patience;
                if self.is_http2 { self.wait(Phase::Idle, idle) } else { self.wait(Phase::Head, head) }
            }
            return Poll::Ready(result);
        }
        if !is_busy && self.timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClientIo<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(cx, bytes));
        self.wrote(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
        // The server flushes its socket once its own buffer is empty.
        self.activity.0.flushed.fetch_add(1, Relaxed);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write_vectored(cx, slices));
        self.wrote(written)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const FOREVER: Duration = Duration::from_secs(3600);
    const SOON: Duration = Duration::from_millis(5);

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    #[test]
    fn a_client_that_sends_no_whole_head_is_given_up() {
        block_on(async {
            let (mut client, server) = duplex(64);
            let mut io = ClientIo::new(server, Activity::default(), Patience { head: SOON, idle: FOREVER });
            client.write_all(b"GET").await.unwrap();
            let mut bytes = [0; 8];
            assert_eq!(io.read(&mut bytes).await.unwrap(), 3);
            assert_eq!(io.read(&mut bytes).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn a_client_that_idles_after_an_answer_is_given_up() {
        block_on(async {
            let (mut client, server) = duplex(64);
            let activity = Activity::default();
            let mut io = ClientIo::new(server, activity.clone(), Patience { head: FOREVER, idle: SOON });
            let busy = activity.begin();
            client.write_all(b"body").await.unwrap();
            let mut bytes = [0; 8];
            assert_eq!(io.read(&mut bytes).await.unwrap(), 4);
            drop(busy);
            assert_eq!(io.read(&mut bytes).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn a_client_that_waits_for_its_answer_is_not_given_up() {
        block_on(async {
            let (_client, server) = duplex(64);
            let activity = Activity::default();
            let mut io = ClientIo::new(server, activity.clone(), Patience { head: SOON, idle: SOON });
            let _busy = activity.begin();
            let mut bytes = [0; 8];
            let waited = tokio::time::timeout(SOON * 10, io.read(&mut bytes)).await;
            assert!(waited.is_err(), "the read must still be waiting");
        });
    }
}
