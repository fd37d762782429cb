//! Reports the progress of a tool call to clients that requested it.
//!
//! - [`Progress`]: reports a stage, from any thread
//! - [`Teller`]: sends notifications, whose values only grow

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::watch;

/// Interval of notifications: people cannot read faster.
pub const PACE: Duration = Duration::from_millis(250);
/// Interval of notifications for a call that counts nothing.
const STILL_WORKING: Duration = Duration::from_secs(2);

/// The progress of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stage {
    /// Name of the task.
    pub what: &'static str,
    /// Amount that is done, in any unit, if it can be counted.
    pub done: Option<u64>,
    /// Total amount, once it is known.
    pub total: Option<u64>,
}

/// Reports the progress of a call.
#[derive(Clone, Debug)]
pub struct Progress(Arc<watch::Sender<Option<Stage>>>);

impl Progress {
    /// Creates a reporter, and the receiver for a [`Teller`].
    pub fn new() -> (Self, watch::Receiver<Option<Stage>>) {
        let (sender, receiver) = watch::channel(None);
        (Self(Arc::new(sender)), receiver)
    }

    /// Returns whether nobody waits for the call any more: it was cancelled.
    pub fn is_unheard(&self) -> bool {
        self.0.is_closed()
    }

    /// Reports a stage. It is cheap, so it may be called often.
    pub fn say(&self, stage: Stage) {
        self.0.send_replace(Some(stage));
    }
}

/// Sends a client the progress of its call.
pub struct Teller {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    stages: watch::Receiver<Option<Stage>>,
    began: Instant,
    last: Option<f64>,
    last_told: Instant,
}

impl Teller {
    /// Sends with the token of the call.
    pub fn new(peer: Peer<RoleServer>, token: ProgressToken, stages: watch::Receiver<Option<Stage>>) -> Self {
        let now = Instant::now();
        Self { peer, token, stages, began: now, last: None, last_told: now }
    }

    /// Sends the latest stage. Progress must grow with each notification, so a stage that does not grow is
    /// skipped. If nothing is counted, the value is the number of seconds.
    pub async fn tell(&mut self) {
        let stage = *self.stages.borrow();
        let is_due = self.last_told.elapsed() >= STILL_WORKING;
        let Stage { what, done, total } = match stage {
            Some(stage) if stage.done.is_some() || self.last.is_none() || is_due => stage,
            None if is_due => Stage { what: "working", ..Stage::default() },
            _ => return,
        };
        let progress = done.map_or_else(|| self.began.elapsed().as_secs_f64(), |done| done as f64);
        if self.last.is_some_and(|last| progress <= last) {
            return;
        }
        (self.last, self.last_told) = (Some(progress), Instant::now());
        let mut told = ProgressNotificationParam::new(self.token.clone(), progress).with_message(what);
        told.total = total.map(|total| total.max(1) as f64);
        // A client that no longer listens is ignored.
        let _ = self.peer.notify_progress(told).await;
    }
}
