//! Reads conversations on request of a tool.

use std::sync::Arc;

use yore_engine::ingest::Observer;

use super::access::{ChatReader, ChatsToRead};
use super::progress::{Progress, Stage};
use crate::engine_handle::ingest_by_daemon;
use crate::histories::read_waiting;
use crate::render::ingest;
use crate::results::Ingestion;
use crate::settings::Settings;

/// Returns a reader of waiting conversations that works like `yore ingest`: a running daemon reads all
/// of them; a selection is read here.
pub fn chat_reader(settings: &Settings) -> ChatReader {
    let settings = settings.clone();
    Arc::new(move |chats, progress| {
        let is_all = chats == ChatsToRead::default();
        if let Some(ingested) = is_all.then(|| ingest_by_daemon(&settings.directory, settings.config())).flatten() {
            let ingested = ingested?;
            return Ok((ingested.json, ingested.lines));
        }
        let (report, sync) = read_waiting(chats.since, chats.has_code, &settings, &mut Told::new(progress))?;
        Ok((Ingestion::of(&report, &sync, false), ingest::summary(&report, false)))
    })
}

/// Forwards the progress of reading.
struct Told<'p> {
    progress: &'p Progress,
    stage: Stage,
}

impl<'p> Told<'p> {
    fn new(progress: &'p Progress) -> Self {
        Self { progress, stage: Stage { what: "reading conversations (bytes)", done: Some(0), total: None } }
    }
}

impl Observer for Told<'_> {
    fn found(&mut self, _files: usize, bytes: u64) {
        self.stage.total = Some(bytes);
        self.progress.say(self.stage);
    }

    fn advanced(&mut self, bytes: u64) {
        self.stage.done = self.stage.done.map(|done| done + bytes);
        self.progress.say(self.stage);
    }
}
