//! Embeds queued turns with the local model, newest first, one text at a time.
//!
//! The queue is in the store, vectors and queue change in one transaction, and a text that was embedded
//! before is not embedded again. A killed process loses only the texts since the last commit, a second's work
//! at most.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use yore_core::text::{CHUNK_TOKENS, CHUNKER_VERSION, chunks};

use crate::embed::{EmbedCache, EmbedError, TextEmbedder, TextHash as CacheHash};
use crate::error::EngineError;
use crate::llm::{Accounts, ServerEmbedder};
use crate::platform::{self, FileLock};
use crate::store::{
    Again, EmbeddedItem, EmbedderKey, IndexedItem, ItemClass, ItemKey, Queue, QueuePlace, Queued, Store, StoreError, TextHash,
    Unused,
};

/// Turns read from the queue at once: for a model on this computer, and for one on a server, which takes many texts in a call.
const READ_TURNS: [usize; 2] = [32, 200];
/// Texts, or time, between two commits.
const COMMIT_TEXTS: usize = 32;
const COMMIT_AFTER: Duration = Duration::from_secs(1);
/// Failures on a turn after which it is tried again only on request.
const MOST_FAILURES: u32 = 5;

/// Turns shorter than this, in characters, are embedded together with the end of the previous message: "yes,
/// do that" alone has no meaning to find.
const SHORT_CHARS: usize = 300;
/// Characters taken from the end of the previous message.
const BEFORE_CHARS: usize = 300;
/// Version of the text that is embedded for a turn; raised whenever that text changes.
const TEXT_VERSION: u32 = 1;

/// The model that gives turns their vectors.
#[derive(Clone, Debug)]
pub(crate) enum TextModel {
    /// One on this computer.
    Local(Arc<TextEmbedder>),
    /// One on a server.
    Server(Arc<ServerEmbedder>),
}

impl TextModel {
    /// Returns the identity of everything that decides the vectors of a turn. When it changes, all vectors are
    /// made again.
    pub(crate) fn identity(&self) -> String {
        let own = match self {
            Self::Local(model) => model.identity(),
            Self::Server(model) => model.identity(),
        };
        format!("{own} chunker {CHUNKER_VERSION} tokens {CHUNK_TOKENS} text {TEXT_VERSION}")
    }

    /// Returns the number of dimensions; a server is asked for a vector if `store` does not know it.
    pub(crate) fn dimensions(&self, store: &Store, accounts: &dyn Accounts) -> Result<usize, EngineError> {
        let model = match self {
            Self::Local(model) => return Ok(model.dimensions()),
            Self::Server(model) => model,
        };
        let known = store.chosen_embedder()?.filter(|known| known.identity == self.identity());
        Ok(match known {
            Some(known) => known.dimensions,
            None => model.embed_question("a", None, accounts)?.len(),
        })
    }

    /// Returns the vector of a question. `left`: how long the caller waits for a server; `None`: as long as usual.
    pub(crate) fn embed_question(
        &self,
        question: &str,
        left: Option<Duration>,
        accounts: &dyn Accounts,
    ) -> Result<Vec<f32>, EngineError> {
        Ok(match self {
            Self::Local(model) => model.embed_question(question)?,
            Self::Server(model) => model.embed_question(question, left, accounts)?,
        })
    }
}

/// How a run is done.
pub(crate) struct Running<'a> {
    /// The model.
    pub model: &'a TextModel,
    /// Vectors kept across measurements.
    pub cache: Option<&'a EmbedCache>,
    /// True to try also what failed [`MOST_FAILURES`] times.
    pub is_asked: bool,
    /// The accounts of a model on a server.
    pub accounts: &'a dyn Accounts,
}

/// Result of an embedding run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbedReport {
    /// Turns that have their vectors now.
    pub turns: u64,
    /// Texts that the model was run on.
    pub embedded: u64,
    /// Texts whose vector was already known.
    pub reused: u64,
    /// Texts that the model failed on; search finds them by their words and the static table.
    pub failed: u64,
    /// Turns that still wait.
    pub waiting: u64,
    /// True if another process is embedding; that process will do the rest.
    pub is_busy: bool,
    /// True if the caller stopped the run.
    pub is_stopped: bool,
}

/// Embeds the queued turns and those on which the model failed before. Calls `go_on` after each commit, and stops if that
/// returns `false`.
pub(crate) fn run(
    store: &Store,
    directory: &Path,
    key: &[u8; 32],
    running: &Running<'_>,
    go_on: &mut dyn FnMut(&EmbedReport) -> bool,
) -> Result<EmbedReport, EngineError> {
    let mut report = EmbedReport::default();
    let path = directory.join("locks").join("embed");
    let io = |error: std::io::Error| StoreError::Io { path: path.clone(), error };
    platform::create_private_directory(&directory.join("locks")).map_err(io)?;
    let lock = FileLock::open(&path).map_err(io)?;
    if !matches!(lock.try_lock(), Ok(true)) {
        return Ok(EmbedReport { is_busy: true, waiting: store.waiting(Queue::Embedding, 10_000_000)? as u64, ..report });
    }
    let Running { model, cache, is_asked, accounts } = *running;
    let dimensions = model.dimensions(store, accounts)?;
    let row = store.choose_embedder(&model.identity(), dimensions)?;
    store.queue_again(Again::Failed(if is_asked { u32::MAX } else { MOST_FAILURES }))?;
    report.waiting = store.waiting(Queue::Embedding, 10_000_000)? as u64;
    let mut batch = Batch {
        store,
        key,
        model,
        accounts,
        cache,
        row,
        dimensions,
        fresh: HashMap::new(),
        asked: Vec::new(),
        failed: HashMap::new(),
        items: Vec::new(),
        since: Instant::now(),
    };
    let (read, texts, time) = match model {
        TextModel::Local(_) => (READ_TURNS[0], COMMIT_TEXTS, COMMIT_AFTER),
        TextModel::Server(model) => (READ_TURNS[1], model.most_texts(), Duration::MAX),
    };
    loop {
        let queued = store.queued(Queue::Embedding, QueuePlace::default(), read)?;
        if queued.is_empty() {
            break;
        }
        for queued in queued {
            batch.take(&queued, &mut report)?;
            if batch.fresh.len() + batch.asked.len() >= texts || batch.since.elapsed() >= time {
                batch.commit(&mut report)?;
                if !go_on(&report) {
                    report.is_stopped = true;
                    return Ok(report);
                }
            }
        }
        batch.commit(&mut report)?;
        if !go_on(&report) {
            report.is_stopped = true;
            return Ok(report);
        }
    }
    report.waiting = store.waiting(Queue::Embedding, 10_000_000)? as u64;
    if report.waiting == 0 {
        // No query needs vectors of another model any more.
        store.release(Unused::VectorsBeside(row))?;
    }
    Ok(report)
}

/// Turns and memories between two commits.
struct Batch<'a> {
    store: &'a Store,
    key: &'a [u8; 32],
    model: &'a TextModel,
    accounts: &'a dyn Accounts,
    cache: Option<&'a EmbedCache>,
    row: EmbedderKey,
    dimensions: usize,
    /// Vectors that are not in the store yet.
    fresh: HashMap<TextHash, Vec<f32>>,
    /// Texts that a server will be asked for, all at once.
    asked: Vec<(TextHash, String)>,
    /// Texts that the model failed on, and why.
    failed: HashMap<TextHash, String>,
    items: Vec<(QueuePlace, ItemKey, Vec<TextHash>, Option<String>)>,
    since: Instant,
}

impl Batch<'_> {
    fn take(&mut self, queued: &Queued, report: &mut EmbedReport) -> Result<(), EngineError> {
        let (mut hashes, mut failure) = (Vec::new(), None);
        let text = match &queued.item {
            Some(item) => self.text(item)?,
            None => String::new(),
        };
        for chunk in chunks(&text, CHUNK_TOKENS) {
            let piece = &text[chunk.start..chunk.end];
            let mut hash: TextHash = [0; 16];
            hash.copy_from_slice(&blake3::keyed_hash(self.key, piece.as_bytes()).as_bytes()[..16]);
            let is_asked = self.asked.iter().any(|(asked, _)| *asked == hash);
            if is_asked || self.fresh.contains_key(&hash) || self.store.has_vector(self.row, &hash)? {
                report.reused += 1;
            } else {
                match self.vector(piece, report) {
                    Ok(Some(vector)) => drop(self.fresh.insert(hash, vector)),
                    Ok(None) => self.asked.push((hash, piece.to_owned())),
                    // One bad text never blocks another.
                    Err(error @ (EmbedError::Run { .. } | EmbedError::NotFinite(_))) => {
                        report.failed += 1;
                        failure = Some(error.to_string());
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            hashes.push(hash);
        }
        self.items.push((queued.place, queued.key, hashes, failure));
        Ok(())
    }

    /// Returns the text that is embedded for an item.
    fn text(&self, item: &IndexedItem) -> Result<String, EngineError> {
        let own = item.spoken();
        let stands_alone = item.head.is_document || matches!(item.head.class, ItemClass::Memory(_));
        if own.trim().is_empty() || stands_alone || own.chars().nth(SHORT_CHARS).is_some() {
            return Ok(own);
        }
        Ok(match self.store.said_before(item.head.episode, item.head.position)? {
            Some(before) => {
                let before = before.trim();
                let from = before.char_indices().rev().nth(BEFORE_CHARS - 1).map_or(0, |(at, _)| at);
                format!("{}\n{}", &before[from..], own.trim())
            }
            None => own,
        })
    }

    /// Returns the vector of a text; `None` if a server will be asked for it.
    fn vector(&self, text: &str, report: &mut EmbedReport) -> Result<Option<Vec<f32>>, EmbedError> {
        // The cache only speeds up measurements: if it fails, the text is embedded as if there were no cache.
        if let Some(vector) = self.cache.and_then(|cache| cache.get(CacheHash::of(text)).ok().flatten()) {
            report.reused += 1;
            return Ok(Some(vector));
        }
        let TextModel::Local(model) = self.model else { return Ok(None) };
        let vector = model.embed(text)?;
        report.embedded += 1;
        self.keep(text, &vector);
        Ok(Some(vector))
    }

    fn keep(&self, text: &str, vector: &[f32]) {
        if let Some(cache) = self.cache {
            let _ = cache.put(CacheHash::of(text), vector);
        }
    }

    /// Asks the server for the texts that were left for it.
    fn ask(&mut self, report: &mut EmbedReport) -> Result<(), EngineError> {
        let TextModel::Server(model) = self.model else { return Ok(()) };
        let asked = std::mem::take(&mut self.asked);
        let texts: Vec<&str> = asked.iter().map(|(_, text)| text.as_str()).collect();
        for ((hash, text), vector) in asked.iter().zip(model.embed(&texts, self.accounts)?) {
            let vector = vector.and_then(|vector| match vector.len() {
                length if length == self.dimensions => Ok(vector),
                length => Err(format!("its vector has {length} dimensions, expected {}", self.dimensions)),
            });
            match vector {
                Ok(vector) => {
                    report.embedded += 1;
                    self.keep(text, &vector);
                    self.fresh.insert(*hash, vector);
                }
                Err(reason) => {
                    report.failed += 1;
                    self.failed.insert(*hash, format!("{}: {reason}", model.name()));
                }
            }
        }
        Ok(())
    }

    fn commit(&mut self, report: &mut EmbedReport) -> Result<(), EngineError> {
        self.ask(report)?;
        self.since = Instant::now();
        if self.items.is_empty() {
            return Ok(());
        }
        let items: Vec<EmbeddedItem> = std::mem::take(&mut self.items)
            .into_iter()
            .map(|(place, key, mut hashes, failure)| {
                let failure = failure.or_else(|| hashes.iter().find_map(|hash| self.failed.get(hash)).cloned());
                hashes.retain(|hash| !self.failed.contains_key(hash));
                let chunks = hashes.into_iter().map(|hash| (hash, self.fresh.remove(&hash))).collect();
                EmbeddedItem { place, key, chunks, failure }
            })
            .collect();
        self.fresh.clear();
        self.failed.clear();
        self.store.store_vectors(self.row, &items)?;
        report.turns += items.iter().filter(|item| !item.chunks.is_empty()).count() as u64;
        report.waiting = report.waiting.saturating_sub(items.len() as u64);
        Ok(())
    }
}
