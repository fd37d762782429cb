//! Holds the body of a request for as long as the memory is asked what to add to it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{
    HeaderMap,
    body::{Body, Incoming},
};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use crate::{
    Addition, Asked, Conversation, Memory,
    counts::{Counts, count},
    decode::decode,
    kept::{Budget, Share},
    observer::{LONGEST_DECODED, is_plain},
    tee::{STALLED, Trouble},
    wire,
};

/// Longest body of unknown length that is held.
const LONGEST_UNKNOWN: usize = 8 << 20;
/// Microseconds for each kilobyte of a body in which it is read and added to, beside the time that the memory has: measured 6.
const READING: u64 = 10;

/// The body of a request, as far as it was read.
#[derive(Debug)]
pub(crate) struct Held {
    pub bytes: Bytes,
    pub trailers: Option<HeaderMap>,
    /// The rest, if the body was too long to hold.
    pub rest: Option<Incoming>,
    pub share: Share,
}

/// Reads a body up to `longest` bytes and the budget. `None` if the client broke it off.
pub(crate) async fn hold(mut body: Incoming, budget: &Budget, longest: usize, trouble: &Trouble) -> Option<Held> {
    let known = body.size_hint().exact().and_then(|length| usize::try_from(length).ok());
    let longest = if known.is_some() { longest } else { longest.min(LONGEST_UNKNOWN) };
    let mut share = budget.share();
    let mut trailers = None;
    let mut bytes = Vec::new();
    if known.is_some_and(|length| length > longest || !share.cover(length)) {
        return Some(Held { bytes: Bytes::new(), trailers, rest: Some(body), share });
    }
    loop {
        let frame = match timeout(STALLED, body.frame()).await {
            Ok(None) => break,
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) | Err(_) => {
                trouble.broken.store(true, Relaxed);
                return None;
            }
        };
        match frame.into_data() {
            Ok(data) => {
                // A body of known length reserves it at its first byte, not at its head.
                if bytes.is_empty() {
                    bytes.reserve(known.unwrap_or_default());
                }
                bytes.extend_from_slice(&data);
                if bytes.len() > longest || !share.cover(bytes.len()) {
                    return Some(Held { bytes: bytes.into(), trailers, rest: Some(body), share });
                }
            }
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    Some(Held { bytes: bytes.into(), trailers, rest: None, share })
}

/// A request after the memory was asked; by default nothing came of it.
#[derive(Debug, Default)]
pub(crate) struct Considered {
    /// The body holds no conversation, so that there is no exchange to tell of.
    pub is_unreadable: bool,
    /// The conversation as the client sent it, if it was read in time.
    pub conversation: Option<Box<Conversation>>,
    /// The body with the additions and without coding, if there are any.
    pub body: Option<Vec<u8>>,
    pub added: Vec<Addition>,
}

/// Who is asked, and for how long.
pub(crate) struct Asking<'a> {
    pub memory: &'a Arc<dyn Memory>,
    /// Bounds the threads that read and ask: one that never returns keeps its permit.
    pub permits: &'a Arc<Semaphore>,
    /// Without the time that the reading of a long body takes.
    pub deadline: Duration,
    pub counts: &'a Counts,
}

impl Asking<'_> {
    /// Reads the request and asks the memory, until the deadline.
    pub async fn ask(&self, asked: &Asked, coding: &str, bytes: &Bytes) -> Considered {
        let (memory, permits) = (self.memory.clone(), self.permits.clone());
        let reading = Duration::from_micros(READING.saturating_mul(bytes.len() as u64 >> 10));
        let (asked, coding, bytes) = (asked.clone(), coding.to_owned(), bytes.clone());
        let work = async move {
            let permit = permits.acquire_owned().await.ok()?;
            let work = move || {
                let _permit = permit;
                catch_unwind(AssertUnwindSafe(|| consider(&*memory, &asked, &coding, &bytes))).unwrap_or(Err(Failure::Memory))
            };
            spawn_blocking(work).await.ok()
        };
        match timeout(self.deadline + reading, work).await {
            Ok(Some(Ok(considered))) => {
                if considered.body.is_some() {
                    count(&self.counts.added);
                }
                considered
            }
            Ok(Some(Err(Failure::Unreadable))) => {
                count(&self.counts.unreadable);
                Considered { is_unreadable: true, ..Considered::default() }
            }
            Ok(Some(Err(Failure::Memory)) | None) => {
                count(&self.counts.failed);
                Considered::default()
            }
            Err(_) => {
                count(&self.counts.late);
                Considered::default()
            }
        }
    }
}

enum Failure {
    Unreadable,
    Memory,
}

fn consider(memory: &dyn Memory, asked: &Asked, coding: &str, bytes: &[u8]) -> Result<Considered, Failure> {
    let decoded = if is_plain(coding) {
        None
    } else {
        let decoded = decode(coding, bytes, LONGEST_DECODED).filter(|decoded| decoded.is_whole);
        Some(decoded.ok_or(Failure::Unreadable)?.bytes)
    };
    let plain = decoded.as_deref().unwrap_or(bytes);
    let conversation = wire::read_request(asked.protocol, &asked.route.rest, plain).ok_or(Failure::Unreadable)?;
    let additions = memory.additions(asked, &conversation);
    let conversation = Some(Box::new(conversation));
    if additions.is_empty() {
        return Ok(Considered { conversation, ..Considered::default() });
    }
    let body = wire::add(asked.protocol, plain, &additions).ok_or(Failure::Memory)?;
    if body == plain {
        return Ok(Considered { conversation, ..Considered::default() });
    }
    Ok(Considered { conversation, body: Some(body), added: additions, is_unreadable: false })
}
