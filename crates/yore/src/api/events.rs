//! The daemon's events, as server-sent events: what was read, what upkeep did, what was changed.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{self, KeepAlive, Sse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;

/// Most events that wait for a slow client; older ones are left out, and it is told so.
const MOST_WAITING: usize = 256;
/// Silence after which a comment keeps the connection open.
const ALIVE: Duration = Duration::from_secs(15);

/// Something that happened.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// New turns were read.
    Captured {
        /// Number of turns.
        turns: u64,
    },
    /// A job of upkeep ended.
    Upkeep {
        /// Name of the job.
        job: String,
        /// True if it did what it should.
        is_done: bool,
    },
    /// Records were changed.
    Changed {
        /// The verb that changed them.
        verb: String,
    },
    /// Events were left out, because they were not taken in time.
    Missed {
        /// Number of events.
        count: u64,
    },
}

impl Event {
    /// The name of the event on the wire.
    fn name(&self) -> &'static str {
        match self {
            Self::Captured { .. } => "captured",
            Self::Upkeep { .. } => "upkeep",
            Self::Changed { .. } => "changed",
            Self::Missed { .. } => "missed",
        }
    }
}

/// Passes events on to those who listen; without any, they are dropped.
#[derive(Clone, Debug)]
pub struct Feed(broadcast::Sender<Event>);

impl Default for Feed {
    fn default() -> Self {
        Self(broadcast::Sender::new(MOST_WAITING))
    }
}

/// The body of a response that tells events as they happen.
pub type EventStream = Sse<sse::KeepAliveStream<ReceiverStream<Result<sse::Event, Infallible>>>>;

impl Feed {
    /// Tells an event.
    pub fn send(&self, event: Event) {
        // An error says that nobody listens.
        let _ = self.0.send(event);
    }

    /// Returns a response with all events from now on.
    pub fn listen(&self) -> EventStream {
        let mut events = self.0.subscribe();
        let (send, receive) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    biased;
                    () = send.closed() => return,
                    event = events.recv() => event,
                };
                let event = match event {
                    Ok(event) => event,
                    Err(RecvError::Lagged(count)) => Event::Missed { count },
                    Err(RecvError::Closed) => return,
                };
                if send.send(Ok(told(event.name(), &event))).await.is_err() {
                    return;
                }
            }
        });
        stream(receive)
    }
}

/// Returns an event of a stream with data as JSON.
pub fn told(name: &str, data: &impl Serialize) -> sse::Event {
    sse::Event::default().event(name).data(serde_json::to_string(data).unwrap_or_default())
}

/// Makes a response of a stream of events.
pub fn stream(receive: mpsc::Receiver<Result<sse::Event, Infallible>>) -> EventStream {
    Sse::new(ReceiverStream::new(receive)).keep_alive(KeepAlive::new().interval(ALIVE))
}
