//! Gives turns the vectors that they lack, newest first, one text at a time.
//!
//! The queue is in the store, vectors and queue change in one transaction, and a text that was embedded
//! before is not embedded again. A killed process loses only the texts since the last commit, a second's work
//! at most.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use yore_core::text::{CHUNK_TOKENS, CHUNKER_VERSION, chunks};

use crate::embed::{EmbedCache, EmbedError, TextEmbedder, TextHash as CacheHash};
use crate::error::EngineError;
use crate::platform::{self, FileLock};
use crate::store::{EmbeddedItem, EmbedderKey, IndexedItem, ItemClass, ItemKey, Store, StoreError, TextHash};

/// Turns read from the queue at once.
const READ_TURNS: usize = 32;
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

/// Returns the identity of everything that decides the vectors of a turn. When it changes, all vectors are
/// made again.
pub(crate) fn identity(embedder: &TextEmbedder) -> String {
    format!("{} chunker {CHUNKER_VERSION} tokens {CHUNK_TOKENS} text {TEXT_VERSION}", embedder.identity())
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

/// Embeds the queued turns and those on which the model failed before; with `is_asked` also those on which it
/// failed [`MOST_FAILURES`] times. Calls `go_on` after each commit, and stops if that returns `false`.
pub(crate) fn run(
    store: &Store,
    directory: &Path,
    key: &[u8; 32],
    embedder: &TextEmbedder,
    cache: Option<&EmbedCache>,
    is_asked: bool,
    go_on: &mut dyn FnMut(&EmbedReport) -> bool,
) -> Result<EmbedReport, EngineError> {
    let mut report = EmbedReport::default();
    let path = directory.join("locks").join("embed");
    let io = |error: std::io::Error| StoreError::Io { path: path.clone(), error };
    platform::create_private_directory(&directory.join("locks")).map_err(io)?;
    let lock = FileLock::open(&path).map_err(io)?;
    if !matches!(lock.try_lock(), Ok(true)) {
        return Ok(EmbedReport { is_busy: true, waiting: store.unembedded_count(10_000_000)?, ..report });
    }
    let row = store.embedder(&identity(embedder), embedder.dimensions())?;
    if store.chosen_embedder()? != Some(row) {
        store.choose_embedder(row)?;
    }
    store.queue_failed(if is_asked { u32::MAX } else { MOST_FAILURES })?;
    report.waiting = store.unembedded_count(10_000_000)?;
    let mut batch = Batch { store, key, embedder, cache, row, fresh: HashMap::new(), items: Vec::new(), since: Instant::now() };
    loop {
        let queued = store.unembedded_items(READ_TURNS)?;
        if queued.is_empty() {
            break;
        }
        for (seq, key, item) in queued {
            batch.take(seq, key, item.as_ref(), &mut report)?;
            if batch.fresh.len() >= COMMIT_TEXTS || batch.since.elapsed() >= COMMIT_AFTER {
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
    report.waiting = store.unembedded_count(10_000_000)?;
    if report.waiting == 0 {
        // No query needs vectors of another model any more.
        store.drop_other_vectors(row)?;
    }
    Ok(report)
}

/// Turns and memories between two commits.
struct Batch<'a> {
    store: &'a Store,
    key: &'a [u8; 32],
    embedder: &'a TextEmbedder,
    cache: Option<&'a EmbedCache>,
    row: EmbedderKey,
    /// Vectors that are not in the store yet.
    fresh: HashMap<TextHash, Vec<f32>>,
    items: Vec<(i64, ItemKey, Vec<TextHash>, Option<String>)>,
    since: Instant,
}

impl Batch<'_> {
    fn take(&mut self, seq: i64, key: ItemKey, item: Option<&IndexedItem>, report: &mut EmbedReport) -> Result<(), EngineError> {
        let (mut hashes, mut failure) = (Vec::new(), None);
        let text = match item {
            Some(item) => self.text(item)?,
            None => String::new(),
        };
        for chunk in chunks(&text, CHUNK_TOKENS) {
            let piece = &text[chunk.start..chunk.end];
            let mut hash: TextHash = [0; 16];
            hash.copy_from_slice(&blake3::keyed_hash(self.key, piece.as_bytes()).as_bytes()[..16]);
            if self.fresh.contains_key(&hash) || self.store.has_vector(self.row, &hash)? {
                report.reused += 1;
            } else {
                match self.vector(piece, report) {
                    Ok(vector) => drop(self.fresh.insert(hash, vector)),
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
        self.items.push((seq, key, hashes, failure));
        Ok(())
    }

    /// Returns the text that is embedded for an item.
    fn text(&self, item: &IndexedItem) -> Result<String, EngineError> {
        let own = item.spoken();
        let stands_alone = item.is_document || matches!(item.class, ItemClass::Memory(_));
        if own.trim().is_empty() || stands_alone || own.chars().nth(SHORT_CHARS).is_some() {
            return Ok(own);
        }
        Ok(match self.store.said_before(item.episode, item.position)? {
            Some(before) => {
                let before = before.trim();
                let from = before.char_indices().rev().nth(BEFORE_CHARS - 1).map_or(0, |(at, _)| at);
                format!("{}\n{}", &before[from..], own.trim())
            }
            None => own,
        })
    }

    fn vector(&self, text: &str, report: &mut EmbedReport) -> Result<Vec<f32>, EmbedError> {
        // The cache only speeds up measurements: if it fails, the text is embedded as if there were no cache.
        if let Some(vector) = self.cache.and_then(|cache| cache.get(CacheHash::of(text)).ok().flatten()) {
            report.reused += 1;
            return Ok(vector);
        }
        let vector = self.embedder.embed(text)?;
        report.embedded += 1;
        if let Some(cache) = self.cache {
            let _ = cache.put(CacheHash::of(text), &vector);
        }
        Ok(vector)
    }

    fn commit(&mut self, report: &mut EmbedReport) -> Result<(), EngineError> {
        self.since = Instant::now();
        if self.items.is_empty() {
            return Ok(());
        }
        let items: Vec<EmbeddedItem> = std::mem::take(&mut self.items)
            .into_iter()
            .map(|(seq, key, hashes, failure)| EmbeddedItem {
                seq,
                key,
                chunks: hashes.into_iter().map(|hash| (hash, self.fresh.remove(&hash))).collect(),
                failure,
            })
            .collect();
        self.fresh.clear();
        self.store.store_vectors(self.row, &items)?;
        report.turns += items.iter().filter(|item| !item.chunks.is_empty()).count() as u64;
        report.waiting = report.waiting.saturating_sub(items.len() as u64);
        Ok(())
    }
}
