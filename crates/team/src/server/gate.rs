//! Limits of what is in work: requests at once, their time, the memory of long bodies, and failures per address.

use std::collections::{HashMap, HashSet};
use std::future::{Future, poll_fn};
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode, Uri};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::App;
use super::refusal::Refusal;
use crate::store::StoreResult;

/// Longest head of a request, in bytes.
pub const LONGEST_HEAD: usize = 32 << 10;
/// Bodies and answers up to this length are not counted: connections bound their number.
pub(super) const SHORT: usize = 64 << 10;
/// Most bytes of long bodies and answers at once, while they arrive and leave.
const MOST_HELD: usize = 512 << 20;
/// Unit in which these are counted.
const BLOCK: usize = 1 << 10;
/// Slowest arrival of a body on average, in bytes a second.
const SLOWEST: usize = 64 << 10;
/// Time over which failures are counted.
const WINDOW: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);
/// Most addresses of which failures are counted; the longest known gives way.
const MOST_ADDRESSES: usize = 10_000;
/// Most tokens that are remembered as valid; beyond these, all are forgotten.
const MOST_VALID: usize = 100_000;
/// Most unknown secrets of one address that the store is asked about in a second, after too many failures.
const MOST_TRIED: u32 = 20;

/// Limits of the requests of a router.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most requests that the store works on at once.
    pub at_once: usize,
    /// Longest wait for a place among these.
    pub waiting: Duration,
    /// Longest work of the store on a request.
    pub deadline: Duration,
    /// Longest pause of a body that arrives.
    pub stall: Duration,
    /// Most failures of one address in a minute. For the rest of it, the store is asked about few of its unknown secrets.
    pub failures: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { at_once: 64, waiting: seconds(5), deadline: seconds(30), stall: seconds(30), failures: 30 }
    }
}

/// Places of requests and memory of bodies.
pub(super) struct Gate {
    limits: Limits,
    places: Semaphore,
    held: Arc<Semaphore>,
}

/// A body's share of the memory, if it is long.
pub(super) type Held = Option<OwnedSemaphorePermit>;

impl Gate {
    pub fn new(limits: Limits) -> Self {
        Self { limits, places: Semaphore::new(limits.at_once), held: Arc::new(Semaphore::new(MOST_HELD / BLOCK)) }
    }

    /// Reserves memory for a body of a length.
    pub async fn hold(&self, length: usize) -> Result<Held, Refusal> {
        if length <= SHORT {
            return Ok(None);
        }
        let blocks = u32::try_from(length.min(MOST_HELD).div_ceil(BLOCK)).unwrap_or(u32::MAX);
        match timeout(self.limits.waiting, Arc::clone(&self.held).acquire_many_owned(blocks)).await {
            Ok(Ok(held)) => Ok(Some(held)),
            _ => Err(is_full()),
        }
    }

    /// Reads a body of at most `most` bytes, and returns it with its share of the memory.
    pub async fn read(&self, headers: &HeaderMap, body: Body, most: usize) -> Result<(Vec<u8>, Held), Refusal> {
        let too_long = || Refusal::too_long(format!("the body is longer than {most} bytes"));
        let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if declared.is_some_and(|length| length > most) {
            return Err(too_long());
        }
        let held = self.hold(declared.unwrap_or(most)).await?;
        let Limits { stall, .. } = self.limits;
        let total = stall + Duration::from_secs((most / SLOWEST) as u64);
        let mut bytes = Vec::with_capacity(declared.unwrap_or_default().min(SHORT));
        let read = async {
            let mut body = body;
            while let Ok(frame) = timeout(stall, poll_fn(|cx| Pin::new(&mut body).poll_frame(cx))).await {
                let Some(frame) = frame else { return Ok(()) };
                let ended_early = |_| Refusal::wrong("team/body", "the body ended too early, or is not well-formed");
                let Ok(data) = frame.map_err(ended_early)?.into_data() else { continue };
                if bytes.len() + data.len() > most {
                    return Err(too_long());
                }
                bytes.extend_from_slice(&data);
            }
            Err(is_slow())
        };
        timeout(total, read).await.map_err(|_| is_slow())??;
        Ok((bytes, held))
    }
}

fn is_slow() -> Refusal {
    Refusal::new(StatusCode::REQUEST_TIMEOUT, "team/slow", "the body took too long")
}

fn is_full() -> Refusal {
    Refusal::later("team/busy", "the server has too many requests in work")
}

impl<S> App<S> {
    /// Has the store do something for a request, within the limits of number and of `left`, the request's time.
    pub(super) async fn work<T>(&self, left: Duration, call: impl Future<Output = StoreResult<T>>) -> Result<T, Refusal> {
        let Ok(Ok(_place)) = timeout(self.gate.limits.waiting, self.gate.places.acquire()).await else {
            return Err(is_full());
        };
        match timeout(left, call).await {
            Ok(result) => result.map_err(|error| self.refuse(error)),
            Err(_) => {
                self.log("a request took the store too long");
                Err(Refusal::later("team/deadline", "the database takes too long"))
            }
        }
    }
}

/// Returns whether the head of a request is longer than [`LONGEST_HEAD`].
pub(super) fn is_long_head(uri: &Uri, headers: &HeaderMap) -> bool {
    let lines: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum();
    lines + uri.path().len() + uri.query().map_or(0, str::len) > LONGEST_HEAD
}

/// Failures to authenticate, by address. Members share an address with whoever sends wrong tokens from there: a token that was
/// valid here before always passes, and others of a slowed address at a bounded rate.
pub(super) struct Failures {
    most: u32,
    counted: Mutex<HashMap<IpAddr, (Instant, u32)>>,
    /// Secrets of slowed addresses that the store was asked about, by address: since when, and how many.
    tried: Mutex<HashMap<IpAddr, (Instant, u32)>>,
    /// Hashes of tokens that were valid when they were last sent.
    valid: Mutex<HashSet<[u8; 32]>>,
}

impl Failures {
    pub fn new(most: u32) -> Self {
        Self { most, counted: Mutex::default(), tried: Mutex::default(), valid: Mutex::default() }
    }

    /// Returns how long an address is slowed, if it has failed too often.
    pub fn slowed(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = counted.get(&network(address))?;
        let left = WINDOW.saturating_sub(now.saturating_duration_since(*since));
        (*count >= self.most && !left.is_zero()).then_some(left)
    }

    /// Returns whether the store may be asked about a secret of a slowed address.
    pub fn may_try(&self, address: IpAddr, hash: &[u8; 32], now: Instant) -> bool {
        let is_valid = self.valid.lock().unwrap_or_else(PoisonError::into_inner).contains(hash);
        is_valid || count(&self.tried, SECOND, address, now) <= MOST_TRIED
    }

    /// Notes whether a token is valid.
    pub fn note(&self, hash: [u8; 32], is_valid: bool) {
        let mut valid = self.valid.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_valid {
            valid.remove(&hash);
            return;
        }
        if valid.len() >= MOST_VALID {
            valid.clear();
        }
        valid.insert(hash);
    }

    /// Counts a failure of an address.
    pub fn add(&self, address: IpAddr, now: Instant) {
        count(&self.counted, WINDOW, address, now);
    }
}

/// Returns the refusal of an address that is slowed for a time.
pub(super) fn slow_down(left: Duration) -> Refusal {
    let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "team/slow-down", "too many wrong tokens came from this address");
    refusal.after(u32::try_from(left.as_secs()).unwrap_or_default() + 1)
}

/// Counts something of an address, and returns how often that was within a time that began with the first.
fn count(counted: &Mutex<HashMap<IpAddr, (Instant, u32)>>, window: Duration, address: IpAddr, now: Instant) -> u32 {
    let address = network(address);
    let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
    let is_old = |since: Instant| now.saturating_duration_since(since) >= window;
    if counted.len() >= MOST_ADDRESSES && !counted.contains_key(&address) {
        counted.retain(|_, (since, _)| !is_old(*since));
        let oldest = counted.iter().min_by_key(|(_, (since, _))| *since).map(|(address, _)| *address);
        if let Some(oldest) = oldest.filter(|_| counted.len() >= MOST_ADDRESSES) {
            counted.remove(&oldest);
        }
    }
    let (since, count) = counted.entry(address).or_insert((now, 0));
    if is_old(*since) {
        (*since, *count) = (now, 0);
    }
    *count = count.saturating_add(1);
    *count
}

/// Returns the part of an address that one customer of a network has alone: of IPv6, the first 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

/// A body that keeps something, such as its share of the memory, until it has been sent or given up.
pub(crate) struct Holding<T> {
    body: Body,
    _held: T,
}

impl<T> Holding<T> {
    /// Makes one of a body.
    pub fn new(body: Body, held: T) -> Self {
        Self { body, _held: held }
    }
}

impl<T: Unpin> HttpBody for Holding<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_slowed_for_the_rest_of_a_minute_and_the_map_is_bounded() {
        let (failures, now) = (Failures::new(3), Instant::now());
        let address = |last: u128| IpAddr::V6(Ipv6Addr::from_bits((7 << 64) + last));
        for last in 0..3 {
            assert_eq!(failures.slowed(address(9), now), None);
            failures.add(address(last), now);
        }
        assert_eq!(failures.slowed(address(9), now), Some(WINDOW), "all addresses of a network count as one");
        assert_eq!(failures.slowed(IpAddr::V6(Ipv6Addr::from_bits(8 << 64)), now), None);
        assert_eq!(failures.slowed(address(9), now + WINDOW), None);
        for other in 0..2 * MOST_ADDRESSES as u32 {
            failures.add(IpAddr::V4(other.into()), now + Duration::from_millis(u64::from(other / 1_000)));
        }
        assert_eq!(failures.counted.lock().unwrap().len(), MOST_ADDRESSES);
    }

    #[test]
    fn unknown_secrets_of_a_slowed_address_are_tried_at_a_bounded_rate_and_valid_tokens_always() {
        let (failures, now, address) = (Failures::new(3), Instant::now(), IpAddr::from([1, 1, 1, 1]));
        failures.note([1; 32], true);
        for _ in 0..MOST_TRIED {
            assert!(failures.may_try(address, &[2; 32], now));
        }
        assert!(!failures.may_try(address, &[2; 32], now));
        assert!(failures.may_try(address, &[1; 32], now) && failures.may_try(IpAddr::from([2, 2, 2, 2]), &[2; 32], now));
        failures.note([1; 32], false);
        assert!(!failures.may_try(address, &[1; 32], now), "it is not valid any more");
        assert!(failures.may_try(address, &[2; 32], now + SECOND));
    }
}
