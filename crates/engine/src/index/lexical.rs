//! Full-text search by BM25 (Robertson and Zaragoza 2009; k1 1.2, b 0.75), on tantivy: block-max WAND finds
//! the best turns without scoring every turn that has a common word.
//!
//! The index is a cache beside the database. The store queues every turn whose text changed;
//! [`LexicalIndex::sync`] processes the queue in order and empties it only after the index has committed, so
//! a crash in between only makes some turns be indexed twice, with the same result. A query searches turns
//! that are still queued in memory. A token ties index and database together: an index is rebuilt if it is
//! damaged, or belongs to another database or tokenizer.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tantivy::DocSet as _;
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::Column;
use tantivy::directory::error::LockError;
use tantivy::indexer::IndexWriterOptions;
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery, Weight,
};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{
    DocId, Index, IndexReader, IndexWriter, ReloadPolicy, Score, Searcher, SegmentOrdinal, SegmentReader, TantivyDocument,
    TantivyError, Term,
};
use yore_core::text::{Question, TOKENIZER_VERSION};
use yore_core::time::UtcMillis;

use super::filter::{CompiledFilter, Evaluator, FilterValues, NO_TIME, role_number};
use super::hit::{Address, TurnHit};
use super::names::{self, NameGraph};
use super::tantivy_tokenizer::{NAME, YoreTokenizer};
use crate::store::{EpisodeKey, IndexedTurn, LabelKey, ProjectKey, RowKey, Store, StoreError, TurnKey};

/// Fact of the store: text was deleted of which the index must not keep a byte.
const PURGE: &str = "purge";
/// Raised whenever the fields change.
const SCHEMA_NUMBER: u32 = 3;
/// Memory that indexing may use before it writes a segment.
const WRITER_BYTES: usize = 48 * 1024 * 1024;
/// Turns between two commits; after a crash, at most these are indexed again.
const COMMIT_TURNS: usize = 50_000;
/// Turns read from the store at once.
const READ_TURNS: usize = 500;
/// Queued turns that a query searches in memory; further ones must wait for the index.
const MAX_PENDING: usize = 2_000;
/// Maximum number of retries when checking the files.
const CHECK_TRIES: u32 = 3;
/// Maximum number of terms of a long query that are searched for, rarest first.
const MAX_QUERY_TERMS: usize = 48;

/// An error of the full-text index. The index can always be deleted and rebuilt.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no usable index, and none may be created now.
    #[error("no index {0} yet")]
    Missing(PathBuf),
    /// No space is left for the index.
    #[error("no space left for the index {0}")]
    DiskFull(PathBuf),
    /// A vector index failed.
    #[error(transparent)]
    Vectors(Box<super::vector::VectorError>),
    /// The index directory failed.
    #[error("the index {path}: {detail}")]
    Failed {
        /// The index directory.
        path: PathBuf,
        /// Message of the library.
        detail: String,
    },
}

/// Result of an index update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Turns indexed.
    pub indexed: u64,
    /// Turns removed.
    pub removed: u64,
    /// True if the index was built from nothing.
    pub is_rebuilt: bool,
    /// True if another process is writing the index; that process will process the queue.
    pub is_busy: bool,
}

/// Options of a search.
#[derive(Clone, Debug)]
pub(crate) struct SearchOptions {
    pub limit: usize,
    /// Weight of tool inputs and outputs relative to spoken text.
    pub tool_weight: f32,
}

#[derive(Clone, Copy)]
struct Fields {
    row: Field,
    episode: Field,
    project: Field,
    branch: Field,
    role: Field,
    at: Field,
    position: Field,
    document: Field,
    text: Field,
    tool: Field,
    name: Field,
    title: Field,
}

/// A commit of the index, identified by time and size of its file, with its counts.
#[derive(Clone, Copy)]
struct SeenCommit {
    stamp: (SystemTime, u64),
    filled: [u64; 2],
}

/// The full-text index of one store.
pub(crate) struct LexicalIndex {
    directory: PathBuf,
    index: Index,
    reader: IndexReader,
    fields: Fields,
    is_new: bool,
    /// True if no part of it is on disk.
    is_in_memory: bool,
    /// The commit that was read last.
    seen: Mutex<Option<SeenCommit>>,
    /// The graph of titled passages, with the generation of the index that it was read from.
    graph: Mutex<Option<(u64, Arc<NameGraph>)>>,
}

impl LexicalIndex {
    /// Opens the index that belongs to the store's token, or creates an empty one. `parent` is the data
    /// directory.
    pub(crate) fn open(parent: &Path, store: &Store) -> Result<Self, IndexError> {
        let directory = parent.join("index").join(format!("lexical-{SCHEMA_NUMBER}-{TOKENIZER_VERSION}"));
        let (schema, fields) = schema();
        let token = store.index_state("lexical")?;
        let fail = |error: TantivyError| failure(&directory, error);
        let existing = match &token {
            Some(token) => Index::open_in_dir(&directory).ok().filter(|index| {
                index.schema() == schema && index.load_metas().is_ok_and(|metas| metas.payload.as_deref() == Some(token))
            }),
            None => None,
        };
        if let Some(index) = existing
            && let Ok(opened) = Self::with_index(directory.clone(), index, fields, false)
        {
            return Ok(opened);
        }
        if store.is_passive() {
            return Err(IndexError::Missing(directory));
        }
        let io = |error: std::io::Error| io_failure(&directory, &error);
        // No usable index: delete it, older formats included, and create a new one, one process at a time; a
        // second process finds the index of the first.
        let turnstile = parent.join("index.lock");
        crate::platform::create_private_file(&turnstile).map_err(io)?;
        let turnstile = std::fs::OpenOptions::new().write(true).open(&turnstile).map_err(io)?;
        turnstile.lock().map_err(io)?;
        if store.index_state("lexical")? != token {
            drop(turnstile);
            return Self::open(parent, store);
        }
        let parent = parent.join("index");
        match std::fs::remove_dir_all(&parent) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        crate::platform::create_private_directory(&directory).map_err(io)?;
        let index = Index::create_in_dir(&directory, schema).map_err(fail)?;
        let token = uuid::Uuid::now_v7().simple().to_string();
        {
            let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).map_err(fail)?;
            let mut commit = writer.prepare_commit().map_err(fail)?;
            commit.set_payload(&token);
            commit.commit().map_err(fail)?;
        }
        store.queue_all()?;
        store.set_index_state("lexical", &token)?;
        Self::with_index(directory, index, fields, true)
    }

    /// Makes an index in memory of everything in the store, for places without write access: a full disk, a
    /// read-only medium. It is lost when the process ends.
    pub(crate) fn in_memory(parent: &Path, store: &Store) -> Result<Self, IndexError> {
        let directory = parent.join("index");
        let fail = |error: TantivyError| failure(&directory, error);
        let (schema, fields) = schema();
        let mut made = Self::with_index(directory.clone(), Index::create_in_ram(schema), fields, false)?;
        made.is_in_memory = true;
        let mut writer: IndexWriter = made.index.writer_with_num_threads(1, WRITER_BYTES).map_err(fail)?;
        let mut after = TurnKey::new(0);
        loop {
            let turns = store.indexable_after(after, READ_TURNS)?;
            let Some((last, _)) = turns.last() else { break };
            after = *last;
            for turn in turns.iter().filter_map(|(_, turn)| turn.as_ref()) {
                writer.add_document(made.document(turn)).map_err(fail)?;
            }
        }
        writer.commit().map_err(fail)?;
        writer.wait_merging_threads().map_err(fail)?;
        made.reader.reload().map_err(fail)?;
        Ok(made)
    }

    fn with_index(directory: PathBuf, index: Index, fields: Fields, is_new: bool) -> Result<Self, IndexError> {
        index.tokenizers().register(NAME, YoreTokenizer::default());
        let reader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(|error| failure(&directory, error))?;
        Ok(Self {
            directory,
            index,
            reader,
            fields,
            is_new,
            is_in_memory: false,
            seen: Mutex::default(),
            graph: Mutex::default(),
        })
    }

    /// Processes the store's queue. With `purge`, no byte of removed text stays in the index.
    pub(crate) fn sync(&self, store: &Store, purge: bool, advanced: &mut dyn FnMut(u64)) -> Result<SyncReport, IndexError> {
        let mut report = SyncReport { is_rebuilt: self.is_new, ..SyncReport::default() };
        if self.is_in_memory {
            return Ok(report);
        }
        // A killed process may not have finished its purge.
        let purge = purge || store.index_state(PURGE)?.is_some();
        if !purge && store.queue_length(1)? == 0 {
            return Ok(report);
        }
        let fail = |error: TantivyError| failure(&self.directory, error);
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .num_merge_threads(1)
            .build();
        let mut writer: IndexWriter = match self.index.writer_with_options(options) {
            Ok(writer) => writer,
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => return Ok(SyncReport { is_busy: true, ..report }),
            Err(error) => return Err(fail(error)),
        };
        // Files left by a killed process would conflict with new files of the same name.
        writer.garbage_collect_files().wait().map_err(fail)?;
        let token = store.index_state("lexical")?.unwrap_or_default();
        let mut is_empty = self.reader.searcher().num_docs() == 0;
        let mut seen: HashSet<TurnKey> = HashSet::new();
        let (mut after, mut uncommitted) = (0, 0);
        loop {
            let queued = store.queued_turns(after, READ_TURNS)?;
            let count = queued.len();
            for (seq, row, turn) in queued {
                after = seq;
                // An empty index has nothing to replace when a turn occurs for the first time.
                if !is_empty || !seen.insert(row) {
                    writer.delete_term(Term::from_field_u64(self.fields.row, row.get() as u64));
                }
                match turn {
                    Some(turn) => {
                        writer.add_document(self.document(&turn)).map_err(fail)?;
                        report.indexed += 1;
                    }
                    None => report.removed += 1,
                }
            }
            uncommitted += count;
            advanced(count as u64);
            if count < READ_TURNS || uncommitted >= COMMIT_TURNS {
                let mut commit = writer.prepare_commit().map_err(fail)?;
                commit.set_payload(&token);
                commit.commit().map_err(fail)?;
                store.drop_queued(after)?;
                uncommitted = 0;
            }
            if count < READ_TURNS {
                break;
            }
            if seen.len() > 2_000_000 {
                is_empty = false;
                seen = HashSet::new();
            }
        }
        if purge {
            self.purge(&mut writer)?;
            store.clear_index_state(PURGE)?;
        }
        writer.wait_merging_threads().map_err(fail)?;
        self.reader.reload().map_err(fail)?;
        Ok(report)
    }

    /// Rewrites every segment that still holds removed turns, and deletes the old files.
    fn purge(&self, writer: &mut IndexWriter) -> Result<(), IndexError> {
        let fail = |error: TantivyError| failure(&self.directory, error);
        for meta in self.index.searchable_segment_metas().map_err(fail)? {
            if meta.has_deletes() {
                writer.merge(&[meta.id()]).wait().map_err(fail)?;
            }
        }
        self.reader.reload().map_err(fail)?;
        writer.garbage_collect_files().wait().map_err(fail)?;
        Ok(())
    }

    /// Returns the best turns for a query, best first, including queued ones. Equal scores are ordered newest
    /// first.
    pub(crate) fn search(
        &self,
        store: &Store,
        question: &Question,
        filter: &CompiledFilter,
        options: &SearchOptions,
    ) -> Result<Vec<TurnHit>, IndexError> {
        if question.is_empty() || options.limit == 0 {
            return Ok(Vec::new());
        }
        let filled = self.refresh()?;
        let mut hits = self.search_index(&self.reader.searcher(), filled, question, filter, options)?;
        // The index in memory is complete.
        let pending = if self.is_in_memory { Vec::new() } else { store.queued_turns(0, MAX_PENDING)? };
        if !pending.is_empty() {
            let queued: HashSet<TurnKey> = pending.iter().map(|(_, row, _)| *row).collect();
            hits.retain(|hit| !queued.contains(&hit.row));
            hits.extend(
                self.search_pending(pending, question, filter, options)?.into_iter().map(|hit| TurnHit { address: None, ..hit }),
            );
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then((b.at, b.row).cmp(&(a.at, a.row))));
        hits.truncate(options.limit);
        Ok(hits)
    }

    /// Returns the rarity of each term: BM25's inverse document frequency over the turns in the index. A term
    /// that is not in the index gets the highest value.
    pub(crate) fn rarity(&self, terms: &[String]) -> Result<Vec<f32>, IndexError> {
        let searcher = self.reader.searcher();
        let turns = searcher.num_docs() as f32;
        terms
            .iter()
            .map(|term| {
                let holding = searcher
                    .doc_freq(&Term::from_field_text(self.fields.text, term))
                    .map_err(|error| failure(&self.directory, error))? as f32;
                Ok((1.0 + (turns - holding + 0.5).max(0.5) / (holding + 0.5)).ln())
            })
            .collect()
    }

    /// Returns for each term whether no turn in the index has it.
    pub(crate) fn unmet(&self, terms: &[String]) -> Result<Vec<bool>, IndexError> {
        let searcher = self.reader.searcher();
        let holding = |field, term: &String| searcher.doc_freq(&Term::from_field_text(field, term));
        terms
            .iter()
            .map(|term| Ok(holding(self.fields.text, term)? == 0 && holding(self.fields.tool, term)? == 0))
            .collect::<Result<_, _>>()
            .map_err(|error: tantivy::TantivyError| failure(&self.directory, error))
    }

    /// Returns the number of turns in the index.
    pub(crate) fn len(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Returns the maximum number of queued turns that a query searches.
    pub(crate) fn most_pending(&self) -> usize {
        // The index in memory is complete.
        if self.is_in_memory { usize::MAX } else { MAX_PENDING }
    }

    /// Returns the directory of the index.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the files whose checksums do not match.
    pub(crate) fn damaged_files(&self) -> Result<Vec<PathBuf>, IndexError> {
        let mut tries = 0;
        loop {
            match self.index.validate_checksum() {
                Ok(damaged) => return Ok(damaged.into_iter().collect()),
                // Another process merged segments meanwhile, and deleted their files.
                Err(_) if tries < CHECK_TRIES => tries += 1,
                Err(error) => return Err(failure(&self.directory, error)),
            }
        }
    }

    /// Searches queued turns with an index in memory that has only their statistics: the scores are of the
    /// same kind as others, but not on the same scale, which matters only for a few turns and a few seconds.
    fn search_pending(
        &self,
        pending: Vec<(i64, TurnKey, Option<IndexedTurn>)>,
        question: &Question,
        filter: &CompiledFilter,
        options: &SearchOptions,
    ) -> Result<Vec<TurnHit>, IndexError> {
        let fail = |error: TantivyError| failure(&self.directory, error);
        let index = Index::create_in_ram(self.index.schema());
        index.tokenizers().register(NAME, YoreTokenizer::default());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).map_err(fail)?;
        let mut seen = HashSet::new();
        for (_, row, turn) in pending {
            if let (true, Some(turn)) = (seen.insert(row), turn) {
                writer.add_document(self.document(&turn)).map_err(fail)?;
            }
        }
        writer.commit().map_err(fail)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(fail)?;
        let searcher = IndexReader::searcher(&reader);
        let filled = self.count_filled(&searcher).map_err(fail)?;
        self.search_index(&searcher, filled, question, filter, options)
    }

    fn search_index(
        &self,
        searcher: &Searcher,
        filled: [u64; 2],
        question: &Question,
        filter: &CompiledFilter,
        options: &SearchOptions,
    ) -> Result<Vec<TurnHit>, IndexError> {
        let fail = |error: TantivyError| failure(&self.directory, error);
        let terms = self.rarest_terms(searcher, question).map_err(fail)?;
        if terms.is_empty() && question.phrases.is_empty() {
            return Ok(Vec::new());
        }
        let query = self.query(&terms, question, options.tool_weight);
        let statistics = self.statistics(searcher, filled);
        let mut found = searcher
            .search_with_statistics_provider(
                &query,
                &BestTurns { filter, limit: options.limit, kept: Mutex::default() },
                &statistics,
            )
            .map_err(fail)?;
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then((b.at, b.row).cmp(&(a.at, a.row))));
        found.truncate(options.limit);
        Ok(found
            .into_iter()
            .map(|found| TurnHit {
                row: found.row,
                episode: found.episode,
                score: found.score,
                at: found.at,
                position: found.position,
                is_document: found.is_document,
                address: Some(Address { segment: found.segment, doc: found.doc }),
            })
            .collect())
    }

    /// Loads commits of other processes, and returns the numbers of turns with spoken text and with tool
    /// text.
    fn refresh(&self) -> Result<[u64; 2], IndexError> {
        if self.is_in_memory {
            return self.count_filled(&self.reader.searcher()).map_err(|error| failure(&self.directory, error));
        }
        let stamp = std::fs::metadata(self.directory.join("meta.json"))
            .and_then(|meta| Ok((meta.modified()?, meta.len())))
            .map_err(|error| io_failure(&self.directory, &error))?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match *seen {
            Some(SeenCommit { stamp: known, filled }) if known == stamp => Ok(filled),
            _ => {
                let fail = |error: TantivyError| failure(&self.directory, error);
                self.reader.reload().map_err(fail)?;
                let filled = self.count_filled(&self.reader.searcher()).map_err(fail)?;
                *seen = Some(SeenCommit { stamp, filled });
                Ok(filled)
            }
        }
    }

    /// Counts turns with spoken text, and turns with tool text.
    fn count_filled(&self, searcher: &Searcher) -> Result<[u64; 2], TantivyError> {
        let mut filled = [0; 2];
        for segment in searcher.segment_readers() {
            for (field, count) in [self.fields.text, self.fields.tool].into_iter().zip(&mut filled) {
                let norms = segment.get_fieldnorms_reader(field)?;
                *count += (0..segment.max_doc()).filter(|doc| norms.fieldnorm_id(*doc) > 0).count() as u64;
            }
        }
        Ok(filled)
    }

    fn statistics<'s>(&self, searcher: &'s Searcher, filled: [u64; 2]) -> FieldStatistics<'s> {
        FieldStatistics { searcher, filled: [(self.fields.text, filled[0]), (self.fields.tool, filled[1])] }
    }

    /// Returns the query's terms that are in the index, each with the number of turns that have it in spoken
    /// text and in tool text; of a pasted log only the rarest terms.
    fn rarest_terms<'q>(&self, searcher: &Searcher, question: &'q Question) -> Result<Vec<KnownTerm<'q>>, TantivyError> {
        let mut known = Vec::new();
        for term in &question.terms {
            let text = searcher.doc_freq(&Term::from_field_text(self.fields.text, term))?;
            let tool = searcher.doc_freq(&Term::from_field_text(self.fields.tool, term))?;
            if text + tool > 0 {
                known.push(KnownTerm { term, text, tool });
            }
        }
        if known.len() > MAX_QUERY_TERMS {
            known.sort_by_key(|known| known.text.max(known.tool));
            known.truncate(MAX_QUERY_TERMS);
        }
        Ok(known)
    }

    fn query(&self, terms: &[KnownTerm<'_>], question: &Question, tool_weight: f32) -> Box<dyn Query> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for known in terms {
            if known.text > 0 {
                clauses.push((Occur::Should, self.term_query(self.fields.text, known.term, 1.0)));
            }
            if known.tool > 0 && tool_weight > 0.0 {
                clauses.push((Occur::Should, self.term_query(self.fields.tool, known.term, tool_weight)));
            }
        }
        for phrase in &question.phrases {
            let either = [(self.fields.text, 1.0), (self.fields.tool, tool_weight)]
                .into_iter()
                .filter(|(_, weight)| *weight > 0.0)
                .map(|(field, weight)| -> (Occur, Box<dyn Query>) {
                    let query: Box<dyn Query> = match phrase.as_slice() {
                        [(_, only)] => self.term_query(field, only, 1.0),
                        words => Box::new(PhraseQuery::new_with_offset(
                            words.iter().map(|(at, word)| (*at, Term::from_field_text(field, word))).collect(),
                        )),
                    };
                    (Occur::Should, Box::new(BoostQuery::new(query, weight)))
                })
                .collect();
            let occur = if question.are_phrases_required { Occur::Must } else { Occur::Should };
            clauses.push((occur, Box::new(BooleanQuery::new(either))));
        }
        Box::new(BooleanQuery::new(clauses))
    }

    fn term_query(&self, field: Field, term: &str, weight: f32) -> Box<dyn Query> {
        let query: Box<dyn Query> = Box::new(TermQuery::new(Term::from_field_text(field, term), IndexRecordOption::WithFreqs));
        if (weight - 1.0).abs() < f32::EPSILON { query } else { Box::new(BoostQuery::new(query, weight)) }
    }

    /// Returns the part of each turn's score that comes from tool inputs and outputs.
    pub(crate) fn tool_scores(&self, question: &Question, tool_weight: f32, places: &[Address]) -> Result<Vec<f32>, IndexError> {
        let fail = |error: TantivyError| failure(&self.directory, error);
        let mut scores = vec![0.0; places.len()];
        let mut order: Vec<(Address, usize)> = places.iter().copied().zip(0..).collect();
        order.sort_unstable();
        if tool_weight <= 0.0 || order.is_empty() {
            return Ok(scores);
        }
        let filled = self.refresh()?;
        let searcher = self.reader.searcher();
        let statistics = self.statistics(&searcher, filled);
        for known in self.rarest_terms(&searcher, question).map_err(fail)?.iter().filter(|known| known.tool > 0) {
            let query = TermQuery::new(Term::from_field_text(self.fields.tool, known.term), IndexRecordOption::WithFreqs);
            let weight = query.weight(EnableScoring::enabled_from_statistics_provider(&statistics, &searcher)).map_err(fail)?;
            let mut current = None;
            for (Address { segment, doc }, at) in &order {
                // The index may have been merged since the turns were found.
                let Some(reader) = searcher.segment_readers().get(*segment as usize) else { continue };
                if !matches!(&current, Some((open, _)) if open == segment) {
                    current = Some((*segment, weight.scorer(reader, tool_weight).map_err(fail)?));
                }
                if let Some((_, scorer)) = &mut current {
                    if scorer.doc() < *doc {
                        scorer.seek(*doc);
                    }
                    if scorer.doc() == *doc {
                        scores[*at] += scorer.score();
                    }
                }
            }
        }
        Ok(scores)
    }

    /// Returns the graph of titled passages. It is read once for each state of the index.
    pub(crate) fn name_graph(&self) -> Result<Arc<NameGraph>, IndexError> {
        self.refresh()?;
        let searcher = self.reader.searcher();
        let generation = searcher.generation().generation_id();
        let mut known = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, graph)) = known.as_ref().filter(|(known, _)| *known == generation) {
            return Ok(Arc::clone(graph));
        }
        let graph = Arc::new(NameGraph::read(&searcher).map_err(|error| failure(&self.directory, error))?);
        *known = Some((generation, Arc::clone(&graph)));
        Ok(graph)
    }

    /// Returns for each turn which of the terms it has, in spoken text or tool text; a bit for each of the first
    /// 128 terms.
    pub(crate) fn terms_of(&self, terms: &[String], places: &[Address]) -> Result<Vec<u128>, IndexError> {
        let fail = |error: TantivyError| failure(&self.directory, error);
        let mut found = vec![0u128; places.len()];
        let mut order: Vec<(Address, usize)> = places.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let searcher = self.reader.searcher();
        for in_segment in order.chunk_by(|a, b| a.0.segment == b.0.segment) {
            // The index may have been merged since the turns were found.
            let Some(reader) = searcher.segment_readers().get(in_segment[0].0.segment as usize) else { continue };
            for field in [self.fields.text, self.fields.tool] {
                let inverted = reader.inverted_index(field).map_err(fail)?;
                for (bit, term) in terms.iter().take(128).enumerate() {
                    let term = Term::from_field_text(field, term);
                    let postings = inverted.read_postings(&term, IndexRecordOption::Basic);
                    let Some(mut postings) = postings.map_err(|error| fail(error.into()))? else { continue };
                    for (Address { doc, .. }, at) in in_segment {
                        if postings.doc() < *doc {
                            postings.seek(*doc);
                        }
                        found[*at] |= u128::from(postings.doc() == *doc) << bit;
                    }
                }
            }
        }
        Ok(found)
    }

    fn document(&self, turn: &IndexedTurn) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_u64(self.fields.row, turn.row.get() as u64);
        document.add_u64(self.fields.episode, turn.episode.get() as u64);
        document.add_u64(self.fields.project, turn.project.map_or(0, ProjectKey::get) as u64);
        document.add_u64(self.fields.branch, turn.branch.map_or(0, LabelKey::get) as u64);
        document.add_u64(self.fields.role, u64::from(role_number(turn.role)));
        document.add_i64(self.fields.at, turn.at.unwrap_or(NO_TIME));
        document.add_i64(self.fields.position, turn.position);
        document.add_bool(self.fields.document, turn.is_document);
        if let Some(speaker) = &turn.speaker {
            document.add_text(self.fields.text, speaker);
        }
        if !turn.text.is_empty() {
            document.add_text(self.fields.text, &turn.text);
        }
        if !turn.tool_text.is_empty() {
            document.add_text(self.fields.tool, &turn.tool_text);
        }
        let (names, title) = names::names_of(turn);
        names.iter().for_each(|name| document.add_text(self.fields.name, name));
        if let Some(title) = title {
            document.add_text(self.fields.title, &title);
        }
        document
    }
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(NAME)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions)
            .set_fieldnorms(true),
    );
    let fields = Fields {
        row: builder.add_u64_field("row", INDEXED | FAST),
        episode: builder.add_u64_field("episode", FAST),
        project: builder.add_u64_field("project", FAST),
        branch: builder.add_u64_field("branch", FAST),
        role: builder.add_u64_field("role", FAST),
        at: builder.add_i64_field("at", FAST),
        position: builder.add_i64_field("position", FAST),
        document: builder.add_bool_field("document", FAST),
        text: builder.add_text_field("text", words.clone()),
        tool: builder.add_text_field("tool", words),
        name: builder.add_text_field(names::NAME, FAST),
        title: builder.add_text_field(names::TITLE, FAST),
    };
    (builder.build(), fields)
}

fn failure(directory: &Path, error: TantivyError) -> IndexError {
    if let TantivyError::IoError(error) = &error {
        return io_failure(directory, error);
    }
    let text = error.to_string();
    // Write errors arrive wrapped in several layers.
    if text.contains("StorageFull") || text.contains("os error 28") {
        return IndexError::DiskFull(directory.to_path_buf());
    }
    // The library does not report the original error.
    let is_lost = matches!(error, TantivyError::ErrorInThread(_));
    let detail = if is_lost { "it could not be written: the disk failed, or is full".to_owned() } else { text };
    IndexError::Failed { path: directory.to_path_buf(), detail }
}

pub(super) fn io_failure(directory: &Path, error: &std::io::Error) -> IndexError {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => IndexError::DiskFull(directory.to_path_buf()),
        _ => IndexError::Failed { path: directory.to_path_buf(), detail: error.to_string() },
    }
}

/// Compares lengths with the mean over the turns that have the field at all: most turns have either spoken
/// text or tool output, and with a mean over all turns every turn would seem long.
struct FieldStatistics<'s> {
    searcher: &'s Searcher,
    filled: [(Field, u64); 2],
}

impl Bm25StatisticsProvider for FieldStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let tokens = Bm25StatisticsProvider::total_num_tokens(self.searcher, field)?;
        let filled = self.filled.iter().find(|(known, _)| *known == field).map_or(0, |(_, count)| *count);
        if filled == 0 {
            return Ok(tokens);
        }
        // The caller divides this number by all turns to get the mean.
        let all = Bm25StatisticsProvider::total_num_docs(self.searcher)?;
        Ok((tokens as f64 * all as f64 / filled as f64) as u64)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Bm25StatisticsProvider::total_num_docs(self.searcher)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        self.searcher.doc_freq(term)
    }
}

/// A term of a query that is in the index.
#[derive(Clone, Copy, Debug)]
struct KnownTerm<'q> {
    term: &'q str,
    text: u64,
    tool: u64,
}

#[derive(Clone, Copy)]
struct Found {
    segment: SegmentOrdinal,
    doc: DocId,
    row: TurnKey,
    episode: EpisodeKey,
    at: UtcMillis,
    position: i64,
    is_document: bool,
    score: Score,
}

/// Collects the best turns that pass the filter. The filter runs inside the pruned enumeration, before a turn
/// is kept, so the result is exactly the best of the allowed turns.
struct BestTurns<'f> {
    filter: &'f CompiledFilter,
    limit: usize,
    /// Scores of the best turns of the segments collected so far, best first.
    kept: Mutex<Vec<Score>>,
}

/// The columns of one segment that filters read.
struct Columns {
    row: Column<u64>,
    episode: Column<u64>,
    project: Column<u64>,
    branch: Column<u64>,
    role: Column<u64>,
    at: Column<i64>,
    position: Column<i64>,
    document: Column<bool>,
}

impl Columns {
    fn open(reader: &SegmentReader) -> tantivy::Result<Self> {
        let fast = reader.fast_fields();
        Ok(Self {
            row: fast.u64("row")?,
            episode: fast.u64("episode")?,
            project: fast.u64("project")?,
            branch: fast.u64("branch")?,
            role: fast.u64("role")?,
            at: fast.i64("at")?,
            position: fast.i64("position")?,
            document: fast.bool("document")?,
        })
    }
}

/// The values of one document.
struct DocumentValues<'c>(&'c Columns, DocId);

impl DocumentValues<'_> {
    fn row(&self, column: &Column<u64>) -> i64 {
        column.first(self.1).unwrap_or(0) as i64
    }
}

impl FilterValues for DocumentValues<'_> {
    fn turn(&self) -> i64 {
        self.row(&self.0.row)
    }

    fn episode(&self) -> i64 {
        self.row(&self.0.episode)
    }

    fn project(&self) -> i64 {
        self.row(&self.0.project)
    }

    fn branch(&self) -> i64 {
        self.row(&self.0.branch)
    }

    fn role(&self) -> u8 {
        self.row(&self.0.role) as u8
    }

    fn at(&self) -> UtcMillis {
        self.0.at.first(self.1).unwrap_or(NO_TIME)
    }
}

impl Collector for BestTurns<'_> {
    type Fruit = Vec<Found>;
    type Child = NoChild;

    fn for_segment(&self, _segment: SegmentOrdinal, _reader: &SegmentReader) -> tantivy::Result<NoChild> {
        Ok(NoChild)
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Vec<Found>>) -> tantivy::Result<Vec<Found>> {
        Ok(fruits.into_iter().flatten().collect())
    }

    fn collect_segment(
        &self,
        weight: &dyn Weight,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<Vec<Found>> {
        let columns = Columns::open(reader)?;
        let alive = reader.alive_bitset();
        let mut evaluator = Evaluator::new(self.filter);
        // A turn must reach the worst score kept from earlier segments; the threshold is just below it,
        // because among equals the newest wins.
        let begin = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.get(self.limit.wrapping_sub(1)).map_or(Score::MIN, |worst| worst.next_down())
        };
        // A min-heap over score, then age: the worst is removed first.
        let mut best: BinaryHeap<Reverse<Ranked>> = BinaryHeap::with_capacity(self.limit + 1);
        weight.for_each_pruning(begin, reader, &mut |doc, score| {
            if alive.is_none_or(|alive| alive.is_alive(doc)) && evaluator.passes(&DocumentValues(&columns, doc)) {
                best.push(Reverse(Ranked(score, doc)));
                if best.len() > self.limit {
                    best.pop();
                }
            }
            match best.peek() {
                Some(Reverse(worst)) if best.len() >= self.limit => worst.0.next_down().max(begin),
                _ => begin,
            }
        })?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(best.iter().map(|Reverse(ranked)| ranked.0));
        kept.sort_by(|a, b| b.total_cmp(a));
        kept.truncate(self.limit);
        Ok(best
            .into_iter()
            .map(|Reverse(Ranked(score, doc))| Found {
                segment,
                doc,
                row: TurnKey::new(columns.row.first(doc).unwrap_or(0) as i64),
                episode: EpisodeKey::new(columns.episode.first(doc).unwrap_or(0) as i64),
                at: columns.at.first(doc).unwrap_or(NO_TIME),
                position: columns.position.first(doc).unwrap_or(0),
                is_document: columns.document.first(doc).unwrap_or(false),
                score,
            })
            .collect())
    }
}

#[derive(Clone, Copy, PartialEq)]
struct Ranked(Score, DocId);

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// [`BestTurns`] collects a whole segment at once and needs no child.
struct NoChild;

impl SegmentCollector for NoChild {
    type Fruit = Vec<Found>;

    fn collect(&mut self, _doc: DocId, _score: Score) {}

    fn harvest(self) -> Vec<Found> {
        Vec::new()
    }
}
