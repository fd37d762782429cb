//! Reads the copies of requests and answers on a thread of its own, and tells the memory of them.

use std::{
    io, iter,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;

use crate::{
    Addition, Answer, Asked, Conversation, Exchange, Memory,
    counts::{Counts, count},
    decode::decode,
    kept::{Kept, Share},
    wire,
};

/// Most exchanges that the memory is told of at once.
pub const MOST_TOLD: usize = 64;
/// Most exchanges that wait for the memory.
const LONGEST_QUEUE: usize = 256;
/// Most bytes of them. One exchange alone may be larger.
const LARGEST_QUEUE: usize = 64 << 20;
/// Longest body after its coding is undone.
pub(crate) const LONGEST_DECODED: usize = 64 << 20;

/// The request of an exchange, as far as it is known when the answer begins.
#[derive(Debug)]
pub(crate) enum Copied {
    /// It was read to ask for additions.
    Read { conversation: Box<Conversation>, length: usize, _share: Share },
    /// Its body was held to ask for additions.
    Held { bytes: Bytes, coding: String, _share: Share },
    /// Its body was copied as it passed.
    Teed { copy: Arc<Mutex<Kept>>, coding: String },
}

impl Copied {
    fn length(&self) -> usize {
        match self {
            Self::Read { length, .. } => *length,
            Self::Held { bytes, .. } => bytes.len(),
            Self::Teed { copy, .. } => copy.lock().unwrap_or_else(PoisonError::into_inner).bytes().map_or(0, <[u8]>::len),
        }
    }
}

/// An exchange whose answer is passing.
#[derive(Debug)]
pub(crate) struct Watch {
    pub observer: Arc<Observer>,
    pub asked: Asked,
    pub request: Copied,
    pub added: Vec<Addition>,
    pub answer: Kept,
    pub status: u16,
    pub content_type: String,
    pub coding: String,
    pub began: SystemTime,
    pub clock: Instant,
    pub answered_after: Duration,
}

impl Watch {
    /// Hands the exchange over to the thread. Never waits.
    pub fn end(self, is_whole: bool) {
        let ended_after = self.clock.elapsed();
        let observer = self.observer.clone();
        let weight = self.request.length().saturating_add(self.answer.bytes().map_or(0, <[u8]>::len));
        observer.hand_over(Seen { watch: self, is_whole, ended_after, weight });
    }
}

#[derive(Debug)]
struct Seen {
    watch: Watch,
    is_whole: bool,
    ended_after: Duration,
    weight: usize,
}

/// The way to the thread that tells the memory.
#[derive(Debug)]
pub(crate) struct Observer {
    queue: SyncSender<Seen>,
    waiting: Arc<AtomicUsize>,
    counts: Arc<Counts>,
}

/// Tells when the thread has ended.
#[derive(Debug)]
pub(crate) struct Ended(Receiver<()>);

impl Ended {
    /// Waits for the thread to end, which it does once every [`Observer`] is gone and its queue is empty.
    pub fn wait(&self, longest: Duration) -> bool {
        matches!(self.0.recv_timeout(longest), Err(RecvTimeoutError::Disconnected))
    }
}

impl Observer {
    /// Starts the thread.
    pub fn start(memory: Arc<dyn Memory>, counts: Arc<Counts>) -> io::Result<(Arc<Self>, Ended)> {
        let (queue, seen) = sync_channel::<Seen>(LONGEST_QUEUE);
        let (alive, ended) = sync_channel::<()>(1);
        let waiting = Arc::<AtomicUsize>::default();
        let observer = Self { queue, waiting: waiting.clone(), counts: counts.clone() };
        thread::Builder::new().name("proxy-observer".into()).spawn(move || {
            let _alive = alive;
            while let Ok(first) = seen.recv() {
                let waited: Vec<Seen> = iter::once(first).chain(seen.try_iter()).take(MOST_TOLD).collect();
                let weight = waited.iter().map(|seen| seen.weight).sum();
                tell(&*memory, &counts, waited);
                waiting.fetch_sub(weight, Relaxed);
            }
        })?;
        Ok((Arc::new(observer), Ended(ended)))
    }

    fn hand_over(&self, seen: Seen) {
        let weight = seen.weight;
        let before = self.waiting.fetch_add(weight, Relaxed);
        let has_room = before == 0 || before.saturating_add(weight) <= LARGEST_QUEUE;
        if !has_room || self.queue.try_send(seen).is_err() {
            self.waiting.fetch_sub(weight, Relaxed);
            count(&self.counts.dropped);
        }
    }
}

fn tell(memory: &dyn Memory, counts: &Counts, waited: Vec<Seen>) {
    let unpanicked = |result: thread::Result<Option<Exchange>>| {
        result.unwrap_or_else(|_| {
            count(&counts.failed);
            None
        })
    };
    let exchanges: Vec<Exchange> =
        waited.into_iter().filter_map(|seen| unpanicked(catch_unwind(AssertUnwindSafe(|| read(counts, seen))))).collect();
    if !exchanges.is_empty() && catch_unwind(AssertUnwindSafe(|| memory.exchanged(exchanges))).is_err() {
        count(&counts.failed);
    }
}

fn read(counts: &Counts, Seen { watch, is_whole, ended_after, weight: _ }: Seen) -> Option<Exchange> {
    let Watch { observer: _, asked, request, added, answer, status, content_type, coding, began, clock: _, answered_after } =
        watch;
    let conversation = match request {
        Copied::Read { conversation, .. } => Some(*conversation),
        Copied::Held { bytes, coding, _share: _ } => read_request(&asked, &coding, &bytes),
        Copied::Teed { copy, coding } => {
            let copy = copy.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(bytes) = copy.bytes() else {
                count(&counts.dropped);
                return None;
            };
            read_request(&asked, &coding, bytes).filter(|_| copy.is_whole)
        }
    };
    let Some(conversation) = conversation else {
        count(&counts.unreadable);
        return None;
    };
    let (is_kept, is_empty) = (answer.bytes().is_some(), answer.bytes().is_some_and(<[u8]>::is_empty));
    let answer = if status < 400 { read_answer(&asked, &content_type, &coding, &answer, is_whole) } else { None };
    // `204 No Content` has nothing to read.
    if answer.is_none() && status < 400 && !is_empty {
        count(if is_kept { &counts.unreadable } else { &counts.dropped });
    }
    Some(Exchange { asked, conversation, added, answer, status, began, answered_after, ended_after })
}

/// Reads a request whose body may be coded.
pub(crate) fn read_request(asked: &Asked, coding: &str, bytes: &[u8]) -> Option<Conversation> {
    if is_plain(coding) {
        return wire::read_request(asked.protocol, &asked.route.rest, bytes);
    }
    let decoded = decode(coding, bytes, LONGEST_DECODED).filter(|decoded| decoded.is_whole)?;
    wire::read_request(asked.protocol, &asked.route.rest, &decoded.bytes)
}

fn read_answer(asked: &Asked, content_type: &str, coding: &str, kept: &Kept, is_whole: bool) -> Option<Answer> {
    let bytes = kept.bytes()?;
    let (mut answer, is_whole) = if is_plain(coding) {
        (wire::read_answer(asked.protocol, content_type, bytes)?, is_whole)
    } else {
        let decoded = decode(coding, bytes, LONGEST_DECODED)?;
        (wire::read_answer(asked.protocol, content_type, &decoded.bytes)?, is_whole && decoded.is_whole)
    };
    answer.is_whole &= is_whole;
    Some(answer)
}

/// Returns whether a `Content-Encoding` header means that the body is not coded.
pub(crate) fn is_plain(coding: &str) -> bool {
    coding.split(',').all(|coding| matches!(coding.trim(), "" | "identity"))
}
