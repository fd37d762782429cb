//! The graph of titled passages and the names in them, read from columns of the full-text index.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::{DocId, Searcher, SegmentReader};
use yore_core::graph::WeightedGraph;
use yore_core::text::{names, plain_title, title_of};
use yore_core::time::UtcMillis;

use super::filter::{FilterValues, NO_TIME};
use super::hit::Address;
use crate::store::{EpisodeKey, IndexedItem, ItemKey, RowKey, TurnKey};

/// Names of the columns.
pub(super) const NAME: &str = "name";
pub(super) const TITLE: &str = "title";
/// Weight of a passage's own title among its names.
const TITLE_WEIGHT: f32 = 2.0;
/// Number of passages that hold a rare name at most.
const RARE: usize = 20;
/// Longest name, in bytes, and the maximum number of names of a passage.
const LONGEST_NAME: usize = 120;
const MOST_NAMES: usize = 500;
/// Share of the lines of a text that look like code, from which it is none.
const CODE_LINES: f32 = 0.3;
/// Least number of lines of code.
const LEAST_CODE: usize = 3;

/// Returns the names of a passage of prose in a document, and its title; nothing for other turns.
pub(super) fn names_of(turn: &IndexedItem) -> (Vec<String>, Option<String>) {
    if !turn.head.is_document || is_code(&turn.text) {
        return (Vec::new(), None);
    }
    let title = title_of(turn.speaker.as_deref(), &turn.text).map(plain_title).filter(|title| !title.is_empty());
    let names = names(&turn.text).into_iter().filter(|name| name.len() <= LONGEST_NAME);
    (names.take(MOST_NAMES).collect(), title)
}

fn is_code(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let is_code = |line: &&&str| line.ends_with([';', '{', '}']) || line.starts_with("    ") || line.starts_with('\t');
    lines.len() >= LEAST_CODE && lines.iter().filter(is_code).count() as f32 >= CODE_LINES * lines.len() as f32
}

/// A passage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub row: TurnKey,
    pub episode: EpisodeKey,
    pub project: i64,
    pub branch: i64,
    pub role: u8,
    pub at: UtcMillis,
    pub position: i64,
    pub address: Address,
    /// Number of its title among the names.
    pub title: Option<u32>,
}

impl FilterValues for Passage {
    fn key(&self) -> i64 {
        self.row.get()
    }
    fn episode(&self) -> i64 {
        self.episode.get()
    }
    fn project(&self) -> i64 {
        self.project
    }
    fn branch(&self) -> i64 {
        self.branch
    }
    fn class(&self) -> u8 {
        self.role
    }
    fn at(&self) -> UtcMillis {
        self.at
    }
}

/// Passages and the names in them. Passages are the first nodes of the graph, names the others.
#[derive(Debug, Default)]
pub(crate) struct NameGraph {
    pub passages: Vec<Passage>,
    places: HashMap<TurnKey, u32>,
    names: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
    /// Number of passages that hold each name.
    holders: Vec<u32>,
    graph: WeightedGraph,
    /// Passages by the name that is their title.
    titled: HashMap<u32, Vec<u32>>,
}

impl NameGraph {
    /// Reads the columns of an index.
    pub(super) fn read(searcher: &Searcher) -> tantivy::Result<Self> {
        let mut made = Self::default();
        let mut held: Vec<(u32, u32)> = Vec::new();
        for (segment, reader) in searcher.segment_readers().iter().enumerate() {
            made.read_segment(segment as u32, reader, &mut held)?;
        }
        let count = made.passages.len() as u32;
        made.holders = vec![0; made.names.len()];
        for (_, name) in &held {
            made.holders[*name as usize] += 1;
        }
        let edges: Vec<(u32, u32, f32)> = held
            .iter()
            .map(|(passage, name)| {
                let is_title = made.passages[*passage as usize].title == Some(*name);
                (*passage, count + name, made.rarity(*name) * if is_title { TITLE_WEIGHT } else { 1.0 })
            })
            .collect();
        made.graph = WeightedGraph::undirected(made.passages.len() + made.names.len(), &edges);
        for (at, passage) in (0..).zip(&made.passages) {
            made.places.insert(passage.row, at);
            if let Some(title) = passage.title {
                made.titled.entry(title).or_default().push(at);
            }
        }
        Ok(made)
    }

    fn read_segment(&mut self, segment: u32, reader: &SegmentReader, held: &mut Vec<(u32, u32)>) -> tantivy::Result<()> {
        let fast = reader.fast_fields();
        let (Some(names), Some(titles)) = (fast.str(NAME)?, fast.str(TITLE)?) else { return Ok(()) };
        let (row, episode, project) = (fast.u64("row")?, fast.u64("episode")?, fast.u64("project")?);
        let (branch, role, at) = (fast.u64("branch")?, fast.u64("role")?, fast.i64("at")?);
        let (position, document) = (fast.i64("position")?, fast.bool("document")?);
        let mut numbers: [HashMap<u64, u32>; 2] = Default::default();
        let alive = reader.alive_bitset();
        let mut word = String::new();
        for doc in 0..reader.max_doc() {
            if !document.first(doc).unwrap_or(false) || alive.is_some_and(|alive| !alive.is_alive(doc)) {
                continue;
            }
            let passage = self.passages.len() as u32;
            let mut title = None;
            let mut own: Vec<u32> = Vec::new();
            for (column, known, is_title) in [(&titles, 1, true), (&names, 0, false)] {
                for ord in column.ords().values_for_doc(doc) {
                    let number = match numbers[known].get(&ord) {
                        Some(number) => *number,
                        None => {
                            word.clear();
                            column.ord_to_str(ord, &mut word)?;
                            let number = self.number_of(&word);
                            numbers[known].insert(ord, number);
                            number
                        }
                    };
                    if is_title {
                        title = Some(number);
                    }
                    if !own.contains(&number) {
                        own.push(number);
                    }
                }
            }
            held.extend(own.into_iter().map(|name| (passage, name)));
            let value = |column: &tantivy::columnar::Column<u64>, doc: DocId| column.first(doc).unwrap_or(0) as i64;
            self.passages.push(Passage {
                row: TurnKey::new(value(&row, doc)),
                episode: EpisodeKey::new(value(&episode, doc)),
                project: value(&project, doc),
                branch: value(&branch, doc),
                role: role.first(doc).unwrap_or(0) as u8,
                at: at.first(doc).unwrap_or(NO_TIME),
                position: position.first(doc).unwrap_or(0),
                address: Address { segment, doc },
                title,
            });
        }
        Ok(())
    }

    fn number_of(&mut self, name: &str) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let (number, name) = (self.texts.len() as u32, Arc::<str>::from(name));
        self.texts.push(Arc::clone(&name));
        self.names.insert(name, number);
        number
    }

    /// Returns the index of a passage.
    pub fn passage_of(&self, key: ItemKey) -> Option<u32> {
        self.places.get(&key.turn()?).copied()
    }

    /// Returns the number of a name.
    pub fn name(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    /// Returns the text of a name.
    pub fn text_of(&self, name: u32) -> &str {
        &self.texts[name as usize]
    }

    /// Returns how rare a name is: the logarithm of the share of passages that hold it, inverted.
    pub fn rarity(&self, name: u32) -> f32 {
        (1.0 + self.passages.len() as f32 / self.holders[name as usize].max(1) as f32).ln()
    }

    /// Returns the names in a passage.
    pub fn names_in(&self, passage: u32) -> impl Iterator<Item = u32> + '_ {
        let count = self.passages.len() as u32;
        self.graph.edges_of(passage).iter().map(move |(node, _)| node - count)
    }

    /// Returns the passages that hold a name.
    pub fn holders_of(&self, name: u32) -> impl Iterator<Item = u32> + '_ {
        self.graph.edges_of(self.passages.len() as u32 + name).iter().map(|(passage, _)| *passage)
    }

    /// Returns the passages whose title a name is.
    pub fn titled(&self, name: u32) -> &[u32] {
        self.titled.get(&name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns how much of the rare names of a passage each other passage shares, 0 to 1.
    pub fn sharing_rare_names(&self, passage: u32) -> HashMap<u32, f32> {
        let weight = |passage: u32, name: u32| {
            let is_title = self.passages[passage as usize].title == Some(name);
            self.rarity(name) * if is_title { TITLE_WEIGHT } else { 1.0 }
        };
        let mut shared: HashMap<u32, f32> = HashMap::new();
        for name in self.names_in(passage).filter(|name| self.holders[*name as usize] as usize <= RARE) {
            let own = weight(passage, name);
            for other in self.holders_of(name) {
                *shared.entry(other).or_default() += own * weight(other, name);
            }
        }
        let own = shared.remove(&passage).unwrap_or(0.0).max(f32::MIN_POSITIVE);
        shared.values_mut().for_each(|value| *value = (*value / own).sqrt());
        shared
    }

    /// Returns the passages that a random walk from passages and names reaches, with their probabilities.
    pub fn walk(&self, passages: &[(u32, f32)], names: &[(u32, f32)], damping: f32, least: f32) -> Vec<(u32, f32)> {
        let count = self.passages.len() as u32;
        let seeds: Vec<(u32, f32)> =
            passages.iter().copied().chain(names.iter().map(|(name, share)| (count + name, *share))).collect();
        let mut reached = self.graph.walk(&seeds, damping, least);
        reached.retain(|(node, _)| *node < count);
        reached
    }
}
