//! Searches a snapshot of the full-text index, together with the turns that are still queued. All that a query reads stays as it
//! was when the query began, however the index is merged meanwhile, so that addresses go on naming the same turns.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema};
use tantivy::{DocSet as _, Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyError, Term};
use yore_core::text::Question;

use super::best::BestTurns;
use super::error::{IndexError, failure};
use super::schema::Fields;
use crate::index::filter::CompiledFilter;
use crate::index::hit::{Address, ItemHit};
use crate::index::names::NameGraph;
use crate::index::tantivy_tokenizer::{NAME, YoreTokenizer};
use crate::store::{ItemKey, MemoryKey, Queue, QueuePlace, Queued, Store};

/// Queued turns that a query searches in memory; further ones must wait for the index.
const MAX_PENDING: usize = 2_000;
/// Maximum number of terms of a long query that are searched for, rarest first.
const MAX_QUERY_TERMS: usize = 48;

/// The name graph of an index, with the generation of the index that it was read from.
pub(super) type KnownGraph = Mutex<Option<(u64, Arc<NameGraph>)>>;

/// Counts of a collection of which a store holds a sample. Scores of spoken words are computed with them, so that they are those that the
/// whole collection would give.
#[derive(Clone, Debug, Default)]
pub struct CollectionCounts {
    /// Turns.
    pub turns: u64,
    /// Words of all turns, as the tokenizer counts them.
    pub words: u64,
    /// Turns that have a word; of a word that is not named, those of the sample count.
    pub holding: HashMap<String, u64>,
}

/// A state of the full-text index.
#[derive(Clone)]
pub(crate) struct LexicalState<'i> {
    pub(super) directory: &'i Path,
    pub(super) schema: Schema,
    pub(super) fields: Fields,
    pub(super) searcher: Searcher,
    /// Numbers of turns with spoken text and with tool text.
    pub(super) filled: [u64; 2],
    /// True if the index is in memory, and so complete.
    pub(super) is_in_memory: bool,
    pub(super) graph: &'i KnownGraph,
    /// Counts of the collection, if the store holds a sample of it only.
    pub(super) counts: Option<&'i CollectionCounts>,
}

/// Options of a search.
#[derive(Clone, Debug)]
pub(crate) struct SearchOptions {
    pub limit: usize,
    /// Weight of tool inputs and outputs relative to spoken text.
    pub tool_weight: f32,
}

impl LexicalState<'_> {
    /// Returns the best turns for a query, best first, including queued ones. Equal scores are ordered newest
    /// first.
    pub(crate) fn search(
        &self,
        store: &Store,
        question: &Question,
        filter: &CompiledFilter,
        options: &SearchOptions,
    ) -> Result<Vec<ItemHit>, IndexError> {
        if question.is_empty() || options.limit == 0 {
            return Ok(Vec::new());
        }
        let mut hits = self.search_index(&self.searcher, self.filled, question, filter, options)?;
        // The index in memory is complete.
        let pending =
            if self.is_in_memory { Vec::new() } else { store.queued(Queue::Text, QueuePlace::default(), MAX_PENDING)? };
        if !pending.is_empty() {
            let queued: HashSet<ItemKey> = pending.iter().map(|queued| queued.key).collect();
            hits.retain(|hit| !queued.contains(&hit.key));
            hits.extend(
                self.search_pending(pending, question, filter, options)?.into_iter().map(|hit| ItemHit { address: None, ..hit }),
            );
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then((b.at, b.key).cmp(&(a.at, a.key))));
        hits.truncate(options.limit);
        Ok(hits)
    }

    /// Returns the best memories for a query, of those in the index.
    pub(super) fn nearest_memories(
        &self,
        question: &Question,
        filter: &CompiledFilter,
        limit: usize,
    ) -> Result<Vec<MemoryKey>, IndexError> {
        let options = SearchOptions { limit, tool_weight: 0.0 };
        let hits = self.search_index(&self.searcher, self.filled, question, filter, &options)?;
        Ok(hits.into_iter().filter_map(|hit| hit.key.memory()).collect())
    }

    /// Returns the rarity of each term: BM25's inverse document frequency over the turns in the index. A term
    /// that is not in the index gets the highest value.
    pub(crate) fn rarity(&self, terms: &[String]) -> Result<Vec<f32>, IndexError> {
        let turns = self.len() as f32;
        terms
            .iter()
            .map(|term| {
                let term = Term::from_field_text(self.fields.text, term);
                let holding = self.holding(&self.searcher, &term).map_err(|error| failure(self.directory, error))? as f32;
                Ok((1.0 + (turns - holding + 0.5).max(0.5) / (holding + 0.5)).ln())
            })
            .collect()
    }

    /// Returns for each term whether no turn in the index has it.
    pub(crate) fn unmet(&self, terms: &[String]) -> Result<Vec<bool>, IndexError> {
        let holding = |field, term: &String| self.holding(&self.searcher, &Term::from_field_text(field, term));
        terms
            .iter()
            .map(|term| Ok(holding(self.fields.text, term)? == 0 && holding(self.fields.tool, term)? == 0))
            .collect::<Result<_, _>>()
            .map_err(|error: tantivy::TantivyError| failure(self.directory, error))
    }

    /// Returns the number of turns in the index, or in the collection of which it has a sample.
    pub(crate) fn len(&self) -> u64 {
        self.counts.map_or_else(|| self.searcher.num_docs(), |counts| counts.turns)
    }

    /// Returns the number of turns that have a term, in the collection if it is counted.
    fn holding(&self, searcher: &Searcher, term: &Term) -> Result<u64, TantivyError> {
        match self.counts.and_then(|counts| counted(counts, self.fields, term)) {
            Some(count) => Ok(count),
            None => searcher.doc_freq(term),
        }
    }

    /// Returns the maximum number of queued turns that a query searches.
    pub(crate) fn most_pending(&self) -> usize {
        // The index in memory is complete.
        if self.is_in_memory { usize::MAX } else { MAX_PENDING }
    }

    /// Searches queued turns with an index in memory that has only their statistics: the scores are of the
    /// same kind as others, but not on the same scale, which matters only for a few turns and a few seconds.
    fn search_pending(
        &self,
        pending: Vec<Queued>,
        question: &Question,
        filter: &CompiledFilter,
        options: &SearchOptions,
    ) -> Result<Vec<ItemHit>, IndexError> {
        let fail = |error: TantivyError| failure(self.directory, error);
        let index = Index::create_in_ram(self.schema.clone());
        index.tokenizers().register(NAME, YoreTokenizer::default());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).map_err(fail)?;
        let mut seen = HashSet::new();
        for Queued { key, item, .. } in pending {
            if let (true, Some(item)) = (seen.insert(key), item) {
                writer.add_document(self.fields.document(&item)).map_err(fail)?;
            }
        }
        writer.commit().map_err(fail)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(fail)?;
        let searcher = IndexReader::searcher(&reader);
        let filled = count_filled(&searcher, self.fields).map_err(fail)?;
        self.search_index(&searcher, filled, question, filter, options)
    }

    fn search_index(
        &self,
        searcher: &Searcher,
        filled: [u64; 2],
        question: &Question,
        filter: &CompiledFilter,
        options: &SearchOptions,
    ) -> Result<Vec<ItemHit>, IndexError> {
        let fail = |error: TantivyError| failure(self.directory, error);
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
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then((b.at, b.key).cmp(&(a.at, a.key))));
        found.truncate(options.limit);
        Ok(found
            .into_iter()
            .map(|found| ItemHit {
                key: found.key,
                episode: found.episode,
                score: found.score,
                at: found.at,
                position: found.position,
                is_document: found.is_document,
                address: Some(Address { segment: found.segment, doc: found.doc }),
            })
            .collect())
    }

    fn statistics<'s>(&'s self, searcher: &'s Searcher, filled: [u64; 2]) -> FieldStatistics<'s> {
        let filled = [(self.fields.text, filled[0]), (self.fields.tool, filled[1])];
        FieldStatistics { searcher, filled, fields: self.fields, counts: self.counts }
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
            let holding = |known: &KnownTerm<'_>| {
                let counted = self.counts.and_then(|counts| counts.holding.get(known.term).copied());
                counted.unwrap_or(known.text).max(known.tool)
            };
            known.sort_by_key(holding);
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
        let fail = |error: TantivyError| failure(self.directory, error);
        let mut scores = vec![0.0; places.len()];
        let mut order: Vec<(Address, usize)> = places.iter().copied().zip(0..).collect();
        order.sort_unstable();
        if tool_weight <= 0.0 || order.is_empty() {
            return Ok(scores);
        }
        let searcher = &self.searcher;
        let statistics = self.statistics(searcher, self.filled);
        for known in self.rarest_terms(searcher, question).map_err(fail)?.iter().filter(|known| known.tool > 0) {
            let query = TermQuery::new(Term::from_field_text(self.fields.tool, known.term), IndexRecordOption::WithFreqs);
            let weight = query.weight(EnableScoring::enabled_from_statistics_provider(&statistics, searcher)).map_err(fail)?;
            let mut current = None;
            for (Address { segment, doc }, at) in &order {
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
        let generation = self.searcher.generation().generation_id();
        let mut known = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, graph)) = known.as_ref().filter(|(known, _)| *known == generation) {
            return Ok(Arc::clone(graph));
        }
        let graph = Arc::new(NameGraph::read(&self.searcher).map_err(|error| failure(self.directory, error))?);
        *known = Some((generation, Arc::clone(&graph)));
        Ok(graph)
    }

    /// Returns for each turn which of the terms it has, in spoken text or tool text; a bit for each of the first
    /// 128 terms.
    pub(crate) fn terms_of(&self, terms: &[String], places: &[Address]) -> Result<Vec<u128>, IndexError> {
        let fail = |error: TantivyError| failure(self.directory, error);
        let mut found = vec![0u128; places.len()];
        let mut order: Vec<(Address, usize)> = places.iter().copied().zip(0..).collect();
        order.sort_unstable();
        for in_segment in order.chunk_by(|a, b| a.0.segment == b.0.segment) {
            let Some(reader) = self.searcher.segment_readers().get(in_segment[0].0.segment as usize) else { continue };
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
}

/// Counts turns with spoken text, and turns with tool text.
pub(super) fn count_filled(searcher: &Searcher, fields: Fields) -> Result<[u64; 2], TantivyError> {
    let mut filled = [0; 2];
    for segment in searcher.segment_readers() {
        for (field, count) in [fields.text, fields.tool].into_iter().zip(&mut filled) {
            let norms = segment.get_fieldnorms_reader(field)?;
            *count += (0..segment.max_doc()).filter(|doc| norms.fieldnorm_id(*doc) > 0).count() as u64;
        }
    }
    Ok(filled)
}

/// Compares lengths with the mean over the turns that have the field at all: most turns have either spoken
/// text or tool output, and with a mean over all turns every turn would seem long.
struct FieldStatistics<'s> {
    searcher: &'s Searcher,
    filled: [(Field, u64); 2],
    fields: Fields,
    counts: Option<&'s CollectionCounts>,
}

impl Bm25StatisticsProvider for FieldStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        if let Some(counts) = self.counts.filter(|_| field == self.fields.text) {
            return Ok(counts.words);
        }
        let tokens = Bm25StatisticsProvider::total_num_tokens(self.searcher, field)?;
        let filled = self.filled.iter().find(|(known, _)| *known == field).map_or(0, |(_, count)| *count);
        if filled == 0 {
            return Ok(tokens);
        }
        // The caller divides this number by all turns to get the mean.
        let all = self.total_num_docs()?;
        Ok((tokens as f64 * all as f64 / filled as f64) as u64)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        match self.counts {
            Some(counts) => Ok(counts.turns),
            None => Bm25StatisticsProvider::total_num_docs(self.searcher),
        }
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        match self.counts.and_then(|counts| counted(counts, self.fields, term)) {
            Some(count) => Ok(count),
            None => self.searcher.doc_freq(term),
        }
    }
}

/// Returns how many turns of a collection have a term in their spoken text, if that is known.
fn counted(counts: &CollectionCounts, fields: Fields, term: &Term) -> Option<u64> {
    let value = term.value();
    let word = value.as_str().filter(|_| term.field() == fields.text)?;
    counts.holding.get(word).copied()
}

/// A term of a query that is in the index.
#[derive(Clone, Copy, Debug)]
struct KnownTerm<'q> {
    term: &'q str,
    text: u64,
    tool: u64,
}
