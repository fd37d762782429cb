//! The trait by which a memory takes part in what passes: it may add text to a request, and it is told what went through.

use std::time::{Duration, SystemTime};

use crate::{Addition, Answer, Conversation, Protocol, Route};

/// A memory beside the requests.
///
/// The proxy never waits for it beyond [`Settings::deadline`](crate::Settings::deadline), and a panic in any of its methods is
/// caught and counted. It is asked only about requests whose protocol [`wire::protocol_of`](crate::wire::protocol_of) knows.
pub trait Memory: Send + Sync + 'static {
    /// Returns what the memory needs of this request. Called on a thread of the runtime: it must not block.
    fn wants(&self, asked: &Asked) -> Wants;

    /// Returns the texts to add to the request; none leaves it untouched. May block: it runs on a thread of its own, and an
    /// answer after the deadline is thrown away. Several calls may run at once.
    fn additions(&self, asked: &Asked, conversation: &Conversation) -> Vec<Addition>;

    /// Takes requests with their answers, after the answers have ended, in the order in which they ended: all that wait, at most
    /// [`MOST_TOLD`](crate::MOST_TOLD). May block: one thread calls it, and exchanges that find its queue full are dropped and counted.
    fn exchanged(&self, exchanges: Vec<Exchange>);
}

/// Parts that a memory needs of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// To add texts: the request's body is held until [`Memory::additions`] has answered.
    pub additions: bool,
    /// To see the exchange: request and answer are copied while they pass.
    pub exchange: bool,
}

/// A request, as far as a memory learns of it before its body is read. Holds no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Where the request goes.
    pub route: Route,
    /// The protocol that it speaks.
    pub protocol: Protocol,
    /// The method of the request.
    pub method: String,
    /// Name and version of the client, as it tells them.
    pub user_agent: Option<String>,
    /// Headers that name a session, with their names in lowercase; see [`SESSION_HEADERS`].
    pub session_headers: Vec<(&'static str, String)>,
}

/// Names of the headers that clients put the id of a session into.
pub const SESSION_HEADERS: &[&str] =
    &["session_id", "session-id", "x-session-id", "conversation_id", "x-claude-code-session-id", "x-opencode-session"];

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The request's route and client.
    pub asked: Asked,
    /// The request's conversation, as the client sent it: without the additions.
    pub conversation: Conversation,
    /// The texts that were added to the request.
    pub added: Vec<Addition>,
    /// The answer; `None` if the status is an error, or if the body could not be read or was too long to keep. The answer of a
    /// stream that broke off is not whole.
    pub answer: Option<Answer>,
    /// Status of the answer.
    pub status: u16,
    /// Time at which the request's head had arrived.
    pub began: SystemTime,
    /// Time from then until the head of the answer.
    pub answered_after: Duration,
    /// Time from then until the end of the answer.
    pub ended_after: Duration,
}

/// A memory that wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMemory;

impl Memory for NoMemory {
    fn wants(&self, _: &Asked) -> Wants {
        Wants::default()
    }

    fn additions(&self, _: &Asked, _: &Conversation) -> Vec<Addition> {
        Vec::new()
    }

    fn exchanged(&self, _: Vec<Exchange>) {}
}
