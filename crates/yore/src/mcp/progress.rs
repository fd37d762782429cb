//! How far a call is, for whoever waits and asked to be told.
//!
//! - [`Progress`]: what a tool says, from any thread
//! - [`Teller`]: what is told of it, in steps that only grow

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::watch;

/// Nobody reads faster.
pub const PACE: Duration = Duration::from_millis(250);
/// A call that counts nothing says this often that it goes on.
const STILL_WORKING: Duration = Duration::from_secs(2);

/// How far something is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stage {
    /// What is being done.
    pub what: &'static str,
    /// How much of it, in whatever unit, where it can be counted.
    pub done: Option<u64>,
    /// Of how much, once it is known.
    pub total: Option<u64>,
}

/// Says how far a call is.
#[derive(Clone, Debug)]
pub struct Progress(Arc<watch::Sender<Option<Stage>>>);

impl Progress {
    /// One that is told by a [`Teller`].
    pub fn new() -> (Self, watch::Receiver<Option<Stage>>) {
        let (sender, receiver) = watch::channel(None);
        (Self(Arc::new(sender)), receiver)
    }

    /// Says it. Costs next to nothing, so it may be said often.
    pub fn say(&self, stage: Stage) {
        self.0.send_replace(Some(stage));
    }
}

/// Tells a client how far its call is.
pub struct Teller {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    stages: watch::Receiver<Option<Stage>>,
    began: Instant,
    last: Option<f64>,
    last_told: Instant,
}

impl Teller {
    /// Tells by the token that came with the call.
    pub fn new(peer: Peer<RoleServer>, token: ProgressToken, stages: watch::Receiver<Option<Stage>>) -> Self {
        let now = Instant::now();
        Self { peer, token, stages, began: now, last: None, last_told: now }
    }

    /// Tells what is new. Progress must grow with each notification, so what does not is not told;
    /// where nothing is counted, seconds are.
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
        // Whoever does not listen any more is not waited for.
        let _ = self.peer.notify_progress(told).await;
    }
}
