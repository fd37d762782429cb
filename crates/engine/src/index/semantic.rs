//! The vector indexes of a store: syncs and searches one for the static table and one for the local model.
//!
//! Both are caches beside the database and process the store's vector queue as the full-text index processes
//! its own: the queue is emptied only after the indexes have written. An index that does not match the store
//! (missing, damaged, of another store or model, behind or ahead of the queue) starts empty, and every turn
//! is queued for it again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use yore_core::query::SearchMode;
use yore_core::text::{CHUNK_TOKENS, chunks};
use yore_core::vector::dot;

use super::IndexError;
use super::filter::{CompiledFilter, Evaluator, NO_TIME, class_number};
use super::hit::ItemHit;
use super::lexical::io_failure;
use super::vector::{TurnMetadata, VectorBatch, VectorChunk, VectorError, VectorHit, VectorIndex, VectorOptions, VectorSearch};
use crate::embed::StaticTable;
use crate::store::{
    Again, ChosenEmbedder, EmbedderKey, EpisodeKey, IndexedItem, ItemHead, ItemKey, LabelKey, MODEL_LIST, MemoryKey, ProjectKey,
    Queue, QueuePlace, Queued, RowKey, STATIC_LIST, Store, StoreError, VectorKey,
};

/// Fact of the store: vectors were deleted of which the indexes must not keep a byte.
const PURGE: &str = "purge-vectors";
/// Turns read from the store at once.
const READ_TURNS: usize = 500;
/// Vectors written at once, which an update holds in memory.
const WRITE_ROWS: usize = 32_768;
/// Queued items that a query searches in memory; further ones must wait for the index.
pub(crate) const MOST_PENDING_VECTORS: usize = 500;
/// Discount on every chunk of a turn but the first: a long turn has many chances to be near anything.
const LATER_DISCOUNT: f32 = 0.03;
/// Number and length of the pauses in which a purge waits for another process that writes.
const PURGE_TRIES: u32 = 1_200;
const PURGE_PAUSE: Duration = Duration::from_millis(50);

/// The vector indexes of one store.
#[derive(Debug)]
pub(crate) struct SemanticIndex {
    directory: PathBuf,
    token: String,
    table: &'static StaticTable,
    statics: VectorIndex,
    model: RwLock<Option<Arc<ModelList>>>,
}

/// The index of one embedder's vectors.
#[derive(Debug)]
struct ModelList {
    embedder: EmbedderKey,
    index: VectorIndex,
}

impl SemanticIndex {
    /// Opens the indexes that belong to the store, or empty ones that the next [`SemanticIndex::sync`] fills.
    /// `parent` is the data directory.
    pub(crate) fn open(parent: &Path, store: &Store) -> Result<Self, IndexError> {
        let directory = parent.join("vectors");
        let table =
            StaticTable::builtin().map_err(|error| IndexError::Failed { path: directory.clone(), detail: error.to_string() })?;
        if store.is_passive() && (store.index_state("vectors")?.is_none() || !directory.is_dir()) {
            return Err(IndexError::Missing(directory));
        }
        crate::platform::create_private_directory(&directory).map_err(|error| io_failure(&directory, &error))?;
        let token = store.index_token("vectors")?;
        let statics =
            open_list(store, &directory.join("static"), StaticTable::identity(), &token, StaticTable::DIMENSIONS, STATIC_LIST)?;
        let opened = Self { directory, token, table, statics, model: RwLock::default() };
        opened.model_list(store)?;
        Ok(opened)
    }

    /// Returns the index for the store's current embedder.
    fn model_list(&self, store: &Store) -> Result<Option<Arc<ModelList>>, IndexError> {
        let Some(ChosenEmbedder { key: embedder, identity, dimensions }) = store.chosen_embedder()? else { return Ok(None) };
        let held = self.model.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(list) = held.filter(|list| list.embedder == embedder) {
            return Ok(Some(list));
        }
        let index = open_list(store, &self.directory.join("model"), identity, &self.token, dimensions, MODEL_LIST)?;
        let list = Arc::new(ModelList { embedder, index });
        *self.model.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&list));
        Ok(Some(list))
    }

    /// Processes the store's vector queue; returns whether another process is doing so.
    pub(crate) fn sync(&self, store: &Store) -> Result<bool, IndexError> {
        let owes_purge = store.index_state(PURGE)?.is_some();
        if !owes_purge && store.waiting(Queue::Vectors, 1)? == 0 {
            return Ok(false);
        }
        let model = self.model_list(store)?;
        let Some(mut statics) = self.statics.writer()? else { return Ok(true) };
        let mut models = match &model {
            Some(list) => match list.index.writer()? {
                Some(writer) => Some((list, writer)),
                None => return Ok(true),
            },
            None => None,
        };
        if owes_purge {
            statics.purge()?;
            if let Some((_, writer)) = &mut models {
                writer.purge()?;
            }
            store.queue_again(Again::Vectors(STATIC_LIST | MODEL_LIST))?;
            store.clear_index_state(PURGE)?;
        }
        let mut after = QueuePlace::default();
        loop {
            let mut static_batch = VectorBatch::new(StaticTable::DIMENSIONS);
            let mut model_batch = models.as_ref().map(|(list, _)| VectorBatch::new(list.index.dimensions()));
            let mut is_last = false;
            while !is_last && static_batch.rows().max(model_batch.as_ref().map_or(0, VectorBatch::rows)) < WRITE_ROWS {
                let queued = store.queued(Queue::Vectors, after, READ_TURNS)?;
                is_last = queued.len() < READ_TURNS;
                for Queued { place, key, lists, item } in queued {
                    after = place;
                    if lists & STATIC_LIST != 0 {
                        self.take_static(&mut static_batch, key, item.as_ref())?;
                    }
                    if let (Some((list, _)), Some(batch)) = (&models, &mut model_batch)
                        && lists & MODEL_LIST != 0
                    {
                        take_model(store, list.embedder, batch, key, item.as_ref())?;
                    }
                }
            }
            if after == QueuePlace::default() {
                break;
            }
            statics.apply(&static_batch, after.get() as u64)?;
            if let (Some((_, writer)), Some(batch)) = (&mut models, &model_batch) {
                writer.apply(batch, after.get() as u64)?;
            }
            store.drop_queued(Queue::Vectors, after)?;
            if is_last {
                break;
            }
        }
        // Merges only once after all batches, because each merge rewrites rows.
        statics.merge()?;
        if let Some((_, writer)) = &mut models {
            writer.merge()?;
        }
        Ok(false)
    }

    fn take_static(&self, batch: &mut VectorBatch, key: ItemKey, item: Option<&IndexedItem>) -> Result<(), IndexError> {
        let Some(item) = item else {
            batch.remove(key.get());
            return Ok(());
        };
        let vectors = self.static_vectors(item);
        let chunks = vectors.iter().map(|(ordinal, vector)| VectorChunk { ordinal: *ordinal, vector_id: 0, vector });
        Ok(batch.replace(key.get(), metadata(&item.head), chunks)?)
    }

    fn static_vectors(&self, item: &IndexedItem) -> Vec<(u16, [f32; StaticTable::DIMENSIONS])> {
        let text = item.spoken();
        let mut vectors = Vec::new();
        for (ordinal, chunk) in chunks(&text, CHUNK_TOKENS).into_iter().enumerate() {
            let mut vector = [0.0; StaticTable::DIMENSIONS];
            if self.table.embed(&text[chunk.start..chunk.end], &mut vector) {
                vectors.push((ordinal as u16, vector));
            }
        }
        vectors
    }

    /// Returns the turns nearest to the query by the static table, best first, including queued ones.
    pub(crate) fn search_static(
        &self,
        store: &Store,
        question: &str,
        filter: &CompiledFilter,
        limit: usize,
    ) -> Result<Vec<ItemHit>, IndexError> {
        let mut query = [0.0; StaticTable::DIMENSIONS];
        if !self.table.embed(question, &mut query) {
            return Ok(Vec::new());
        }
        self.statics.refresh()?;
        let search = VectorSearch { query: &query, limit, filter, later_discount: LATER_DISCOUNT };
        let hits = self.statics.search(&search)?.into_iter().map(semantic_hit).collect();
        self.with_pending(store, hits, STATIC_LIST, filter, limit, |item| {
            Ok(self
                .static_vectors(item)
                .iter()
                .map(|(ordinal, vector)| dot(&query, vector) - discount(*ordinal))
                .fold(None, best))
        })
    }

    /// Returns the memories of a project (`None`: of none), of any status, that are nearest to a text by the static table, best first. What
    /// waits for the index is left out, so that every memory that is recorded can ask.
    pub(crate) fn nearest_memories(
        &self,
        text: &str,
        project: Option<ProjectKey>,
        limit: usize,
    ) -> Result<Vec<MemoryKey>, IndexError> {
        let mut query = [0.0; StaticTable::DIMENSIONS];
        if !self.table.embed(text, &mut query) {
            return Ok(Vec::new());
        }
        self.statics.refresh()?;
        let filter = CompiledFilter::of_memories(project);
        let search = VectorSearch { query: &query, limit, filter: &filter, later_discount: LATER_DISCOUNT };
        Ok(self.statics.search(&search)?.into_iter().filter_map(|hit| semantic_hit(hit).key.memory()).collect())
    }

    /// Returns the turns nearest to the query by the local model's vectors; the best are scored with the
    /// vectors in the store.
    pub(crate) fn search_model(
        &self,
        store: &Store,
        query: &[f32],
        filter: &CompiledFilter,
        limit: usize,
    ) -> Result<Vec<ItemHit>, IndexError> {
        let Some(list) = self.model_list(store)? else { return Ok(Vec::new()) };
        list.index.refresh()?;
        let search = VectorSearch { query, limit, filter, later_discount: LATER_DISCOUNT };
        let hits = list.index.search_rescored(&search, &mut |numbers| {
            let keys: Vec<VectorKey> = numbers.iter().copied().map(VectorKey::new).collect();
            store.vectors(&keys).map_err(IndexError::from)
        })?;
        let hits = hits.into_iter().map(semantic_hit).collect();
        self.with_pending(store, hits, MODEL_LIST, filter, limit, |item| {
            let vectors = store.item_vectors(list.embedder, item.head.key)?;
            Ok(vectors.iter().map(|(ordinal, _, vector)| dot(query, vector) - discount(*ordinal)).fold(None, best))
        })
    }

    /// Returns whether some turns wait for the local model.
    pub(crate) fn lacks_model_vectors(&self, store: &Store) -> Result<bool, IndexError> {
        Ok(store.waiting(Queue::Embedding, 1)? > 0)
    }

    /// Returns whether a turn is in the index of the local model's vectors.
    pub(crate) fn has_model_vector(&self, key: ItemKey) -> bool {
        let held = self.model.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().is_some_and(|list| list.index.contains(key.get()))
    }

    /// Returns the direction of all vectors of a turn, by the local model in the full mode, else by the static
    /// table; `None` if it is not in the index.
    pub(crate) fn mean_vector(&self, key: ItemKey, mode: SearchMode) -> Option<Vec<f32>> {
        let vectors = if mode == SearchMode::Full {
            let held = self.model.read().unwrap_or_else(PoisonError::into_inner);
            held.as_ref()?.index.vectors_of_turn(key.get())?
        } else {
            self.statics.vectors_of_turn(key.get())?
        };
        let mut mean = vec![0.0; vectors.first()?.len()];
        for vector in &vectors {
            mean.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
        }
        let length = dot(&mean, &mean).sqrt();
        (length > 0.0).then(|| mean.iter().map(|value| value / length).collect())
    }

    /// Scores queued turns in memory and updates the hits with them.
    fn with_pending(
        &self,
        store: &Store,
        mut hits: Vec<ItemHit>,
        list: u8,
        filter: &CompiledFilter,
        limit: usize,
        score: impl Fn(&IndexedItem) -> Result<Option<f32>, IndexError>,
    ) -> Result<Vec<ItemHit>, IndexError> {
        let queued: HashMap<ItemKey, Option<IndexedItem>> = store
            .queued(Queue::Vectors, QueuePlace::default(), MOST_PENDING_VECTORS)?
            .into_iter()
            .filter(|queued| queued.lists & list != 0)
            .map(|queued| (queued.key, queued.item))
            .collect();
        if queued.is_empty() {
            return Ok(hits);
        }
        hits.retain(|hit| !queued.contains_key(&hit.key));
        let mut evaluator = Evaluator::new(filter);
        for item in queued.values().flatten().filter(|item| evaluator.passes(&item.head)) {
            if let Some(score) = score(item)? {
                hits.push(ItemHit::of(&item.head, score));
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.key.cmp(&a.key)));
        hits.truncate(limit);
        Ok(hits)
    }

    /// Erases every byte of deleted vectors: removes everything; the next [`SemanticIndex::sync`] rebuilds
    /// it.
    pub(crate) fn purge(&self, store: &Store) -> Result<(), IndexError> {
        for _ in 0..PURGE_TRIES {
            if store.index_state(PURGE)?.is_none() {
                return Ok(());
            }
            if self.sync(store)? {
                std::thread::sleep(PURGE_PAUSE);
            }
        }
        Err(StoreError::Busy(self.directory.clone()).into())
    }

    /// Returns the number of turns in the static table's index, and in the local model's.
    pub(crate) fn turns(&self) -> (u64, u64) {
        let held = self.model.read().unwrap_or_else(PoisonError::into_inner);
        (self.statics.turns(), held.as_ref().map_or(0, |list| list.index.turns()))
    }

    /// Reads every byte of the indexes and describes the damage.
    pub(crate) fn damage(&self) -> Vec<String> {
        let held = self.model.read().unwrap_or_else(PoisonError::into_inner);
        let model = held.as_ref().map(|list| &list.index);
        [Some(&self.statics), model]
            .into_iter()
            .flatten()
            .filter_map(|index| index.verify().err())
            .map(|error| error.to_string())
            .collect()
    }

    /// Returns the directory of the indexes.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Opens one index, and queues the turns that it lacks.
fn open_list(
    store: &Store,
    directory: &Path,
    identity: String,
    token: &str,
    dimensions: usize,
    list: u8,
) -> Result<VectorIndex, IndexError> {
    let options = VectorOptions { directory: directory.to_path_buf(), identity, token: token.to_owned(), dimensions };
    let index = VectorIndex::open(&options)?;
    let (taken, newest) = store.vector_queue_bounds()?;
    let fits = (taken.get() as u64..=newest.get() as u64).contains(&index.position());
    if index.was_reset() || !fits {
        if !fits && let Some(mut writer) = index.writer()? {
            writer.purge()?;
        }
        store.queue_again(Again::Vectors(list))?;
    }
    Ok(index)
}

fn take_model(
    store: &Store,
    embedder: EmbedderKey,
    batch: &mut VectorBatch,
    key: ItemKey,
    item: Option<&IndexedItem>,
) -> Result<(), IndexError> {
    let Some(item) = item else {
        batch.remove(key.get());
        return Ok(());
    };
    let vectors = store.item_vectors(embedder, key)?;
    let chunks =
        vectors.iter().map(|(ordinal, vector_id, vector)| VectorChunk { ordinal: *ordinal, vector_id: vector_id.get(), vector });
    Ok(batch.replace(key.get(), metadata(&item.head), chunks)?)
}

fn metadata(item: &ItemHead) -> TurnMetadata {
    TurnMetadata {
        project: item.project.map_or(0, ProjectKey::get) as u32,
        branch: item.branch.map_or(0, LabelKey::get) as u32,
        role: class_number(item.class),
        episode: item.episode.get(),
        at: item.at.unwrap_or(NO_TIME),
        position: item.position,
        is_document: item.is_document,
    }
}

fn semantic_hit(hit: VectorHit) -> ItemHit {
    let TurnMetadata { episode, at, position, is_document, .. } = hit.metadata;
    let (key, episode) = (ItemKey::new(hit.turn), EpisodeKey::new(episode));
    ItemHit { key, episode, at, position, is_document, score: hit.score, address: None }
}

fn discount(ordinal: u16) -> f32 {
    if ordinal > 0 { LATER_DISCOUNT } else { 0.0 }
}

fn best(so_far: Option<f32>, score: f32) -> Option<f32> {
    Some(so_far.map_or(score, |so_far| so_far.max(score)))
}

impl From<VectorError> for IndexError {
    fn from(error: VectorError) -> Self {
        match error {
            VectorError::DiskFull(path) => Self::DiskFull(path),
            other => Self::Vectors(Box::new(other)),
        }
    }
}
