//! Finds and reads contexts: by topic, by a question, along relations. Their columns are compared in one pass; the text of a context is
//! read only if it is returned or judged.
//!
//! - [`Engine::contexts`]: the index, a page at a time; [`Engine::open_context`]: one of them
//! - [`Engine::find_contexts`]: those that bear on a question; [`Engine::context_tree`]: those around one
//! - [`Explorer`]: reads each context at most once in one of these
//!
//! Questions are answered by words and the built-in table of meanings, without a model: an answer is the same with and without one.
//! Every reading is logged with its kind: `shown` is a preview, `opened` the whole, `given` one that was reached along a relation.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use yore_core::context::{
    Class, Hits, Naming, PassageWords, Signs, best_section, changed_lines, classify, naming, passage_shares, passages,
};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::memory::Use;
use yore_core::note::Priority;
use yore_core::query::{List, SearchMode, Wanted};
use yore_core::scope::ScopeChoice;
use yore_core::strength::{Strength, refused_below};
use yore_core::text::{self, Question, Tokenizer, Tokens};
use yore_core::time::UtcMillis;
use yore_sources::project_names::ProjectNames;

use super::notes::{NoteSummary, WhichVersion};
use crate::Engine;
use crate::error::EngineError;
use crate::retrieve::{RecallRequest, Tuning, project_here};
use crate::store::{ContextHead, Contexts, EpisodeKey, ProjectKey, RowKey, TurnKey, Versions};

/// Maximum number of characters of a preview.
const PREVIEW_CHARS: usize = 500;
/// Prefix of the tags by which an older yore named related topics.
pub const RELATED_TAG: &str = "related:";
/// Words of a question that are looked for: the rarest.
const MOST_KEYWORDS: usize = 12;
/// Contexts that recall proposes for a question, and those that their labels propose.
const MOST_RECALLED: usize = 20;
const MOST_LABELLED: usize = 8;
/// Candidates whose texts are judged, beyond those that are wanted.
const JUDGED: usize = 12;
/// Matches that may be given whole, and the relevance above which they are.
const MOST_WHOLE: usize = 3;
const SURE: f32 = 0.7;
/// Strength of a stated relation, and of equal tags.
const STATED: f32 = 0.9;
const SAME_TAGS: f32 = 0.8;
/// Similar contexts of one, and contexts with its tags.
const MOST_SIMILAR: usize = 5;
const MOST_TAGGED: usize = 50;
/// Related topics of a search.
const MOST_RELATED: usize = 5;
/// Words that are no stop words, and say little in a question.
const FILLERS: [&str; 40] = [
    "get", "gets", "got", "getting", "rid", "put", "puts", "want", "wants", "wanted", "see", "sees", "say", "says", "said", "go",
    "goes", "going", "thing", "things", "way", "whats", "isnt", "dont", "cant", "wont", "theres", "supposed", "else", "still",
    "now", "ok", "okay", "please", "let", "lets", "make", "makes", "need", "needs",
];
const DAY_MS: f32 = 86_400_000.0;

/// From where contexts are asked for.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ContextPlace {
    /// The project that the caller is in.
    pub here: Option<ProjectNames>,
    /// The projects whose contexts apply.
    pub scope: ScopeChoice,
    /// The agent's own id of the session that asks.
    pub session: Option<String>,
}

/// A context, in its newest version unless another was asked for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Context {
    /// Yore's id of the note that it is.
    pub id: EpisodeId,
    /// Id of its text.
    pub turn: TurnId,
    /// Its label.
    pub topic: String,
    /// Its priority; one without is a reference.
    pub priority: Priority,
    /// Tags to find it by.
    pub tags: Vec<String>,
    /// Topics that it is related to, each once.
    pub related: Vec<String>,
    /// Number of its version, from 1.
    pub version: u64,
    /// Time when this version was given.
    pub at: Option<UtcMillis>,
    /// Time when it was last loaded whole.
    pub accessed: Option<UtcMillis>,
    /// Number of characters of its text.
    pub size: usize,
    /// Summary of its text.
    pub preview: String,
    /// The most important names and terms.
    pub key_concepts: Vec<String>,
    /// Its text, if that was asked for.
    pub text: String,
}

impl From<NoteSummary> for Context {
    fn from(note: NoteSummary) -> Self {
        let mut related = note.related;
        for topic in note.facts.tags.iter().filter_map(|tag| tag.strip_prefix(RELATED_TAG)) {
            if related.iter().all(|known| folded(known) != folded(topic)) {
                related.push(topic.to_owned());
            }
        }
        let tags: Vec<String> = note.facts.tags.into_iter().filter(|tag| is_own_tag(tag)).collect();
        Self {
            id: note.episode,
            turn: note.turn,
            topic: note.facts.title.unwrap_or_default(),
            priority: note.facts.priority.unwrap_or(Priority::Reference),
            related,
            version: note.version,
            at: note.at,
            accessed: note.accessed,
            size: note.text.chars().count(),
            preview: String::new(),
            key_concepts: Vec::new(),
            tags,
            text: note.text,
        }
    }
}

impl Context {
    /// Adds preview and key concepts, which are made of the text.
    fn with_preview(mut self) -> Self {
        self.preview = text::preview(&self.text, PREVIEW_CHARS);
        self.key_concepts = text::key_concepts(&self.text, &self.tags);
        self
    }
}

/// Returns whether a tag is one that was chosen, and not an attribute that an older yore kept as a tag.
fn is_own_tag(tag: &str) -> bool {
    !tag.starts_with(RELATED_TAG) && !tag.starts_with("priority:") && !matches!(tag, "context" | "unconfirmed")
}

/// A page of the index.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ContextPage {
    /// Contexts without their texts, by priority, then latest first.
    pub contexts: Vec<Context>,
    /// Number of contexts that apply.
    pub total: usize,
    /// Number of those that are always to be checked.
    pub always: usize,
    /// Number of those after the page.
    pub left: usize,
}

/// The parts of a context that a reading takes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct ContextReading {
    /// True for its text; otherwise only the preview is read.
    pub is_whole: bool,
    /// Number of the version; `None`: the newest.
    pub version: Option<u64>,
    /// Number of an earlier version with which it is compared.
    pub since: Option<u64>,
}

/// A context that was opened.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct OpenedContext {
    /// The context.
    pub context: Context,
    /// The lines that changed since the version with which it was compared ([`changed_lines`]).
    pub changes: Option<Vec<String>>,
}

/// How much of the matches is wanted.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum ContextDepth {
    /// As the class of the question says.
    #[default]
    ByQuestion,
    /// Previews alone.
    Previews,
    /// The texts of the best three, if these match well.
    Whole,
}

/// A question to the contexts.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ContextSearch {
    /// The question.
    pub question: String,
    /// How much of the matches is wanted.
    pub depth: ContextDepth,
    /// Maximum number of matches; `None`: as the class of the question says.
    pub limit: Option<usize>,
    /// The lists to search.
    pub mode: SearchMode,
}

/// Answer to a question to the contexts.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FoundContexts {
    /// Class of the question.
    pub class: Class,
    /// The matches, best first.
    pub matches: Vec<ContextMatch>,
    /// The contexts that they are related to and that are no matches.
    pub related: Vec<ReachedContext>,
    /// True if their meaning was searched, too.
    pub is_by_meaning: bool,
}

/// A context that matches.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ContextMatch {
    /// The context. Its text is there if `is_whole`; else its best section, if the question asks for one thing.
    pub context: Context,
    /// Relevance, 0 to 1 ([`Signs::relevance`]).
    pub relevance: f32,
    /// Why it matches.
    pub reasons: Vec<String>,
    /// True if the whole text is given.
    pub is_whole: bool,
}

/// A topic that was reached along relations.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ReachedContext {
    /// The topic.
    pub topic: String,
    /// Topic from which it was reached.
    pub from: String,
    /// Number of steps to it.
    pub depth: usize,
    /// Kind of the relation: `explicit`, `tags`, `co-accessed`, `semantic`.
    pub relation: String,
    /// Product of the strengths of the relations on the way, 0 to 1.
    pub relevance: f32,
    /// The context without its text; `None` if none has the topic.
    pub context: Option<Context>,
}

/// The contexts around one.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ContextTree {
    /// The context in the middle.
    pub start: Context,
    /// True if none has the topic that was asked for, and the one that matches best was taken.
    pub is_searched: bool,
    /// The others, each once, nearest first.
    pub reached: Vec<ReachedContext>,
}

impl Engine {
    /// Returns a page of the index: the contexts after the one with this priority, time and id, perhaps with previews.
    pub fn contexts(
        &self,
        place: &ContextPlace,
        after: Option<(Priority, Option<UtcMillis>, EpisodeId)>,
        limit: usize,
        has_previews: bool,
    ) -> Result<ContextPage, EngineError> {
        let mut explorer = Explorer::new(self, place)?;
        let total = explorer.heads.len();
        let mut places: Vec<usize> = (0..total).collect();
        // Stable: of one priority, the latest stay first.
        places.sort_by_key(|place| explorer.heads[*place].priority);
        if let Some((priority, at, id)) = after {
            let exact = places.iter().position(|place| explorer.heads[*place].episode == id);
            // If it is gone or was changed, the page begins with those that are not before it.
            let is_before = |head: &ContextHead| head.priority < priority || head.priority == priority && Some(head.at) > at;
            let begin = exact.filter(|place| !is_before(&explorer.heads[places[*place]])).map(|place| place + 1);
            let begin = begin.unwrap_or_else(|| places.iter().filter(|place| is_before(&explorer.heads[**place])).count());
            places.drain(..begin);
        }
        let left = places.len().saturating_sub(limit);
        places.truncate(limit);
        let always = explorer.heads.iter().filter(|head| head.priority == Priority::AlwaysCheck).count();
        explorer.has_previews = has_previews;
        let contexts = explorer.load(&places)?.into_iter().map(without_text).collect();
        Ok(ContextPage { contexts, total, always, left })
    }

    /// Opens the context with a topic: one of this project goes before one of all projects, and that before one of another. `None` if
    /// there is none.
    ///
    /// # Errors
    /// [`EngineError::UnknownVersion`] if it has no such version.
    pub fn open_context(
        &self,
        place: &ContextPlace,
        topic: &str,
        reading: ContextReading,
    ) -> Result<Option<OpenedContext>, EngineError> {
        let mut explorer = Explorer::new(self, place)?;
        let Some(found) = explorer.named(topic) else { return Ok(None) };
        let id = explorer.heads[found].episode.to_string();
        if !reading.is_whole {
            let context = explorer.load(&[found])?.into_iter().next().map(without_text);
            explorer.log(&[found], Use::Shown);
            return Ok(context.map(|context| OpenedContext { context, changes: None }));
        }
        let which = reading.version.map_or(WhichVersion::Newest, WhichVersion::Number);
        let before = match reading.since {
            Some(number) => Some(self.note_version(&id, WhichVersion::Number(number))?.1.text),
            None => None,
        };
        let (_, note) = self.note_version(&id, which)?;
        explorer.log(&[found], Use::Opened);
        let changes = before.map(|before| changed_lines(&before, &note.text));
        Ok(Some(OpenedContext { context: Context::from(note).with_preview(), changes }))
    }

    /// Returns the contexts that bear on a question, best first; without words in it, all by priority.
    pub fn find_contexts(&self, place: &ContextPlace, search: &ContextSearch) -> Result<FoundContexts, EngineError> {
        let mut explorer = Explorer::new(self, place)?;
        let class = classify(&search.question, search.depth == ContextDepth::Whole);
        let plan = class.plan();
        let limit = search.limit.unwrap_or(plan.matches);
        let (found, is_by_meaning) = explorer.search(&search.question, limit, search.mode)?;
        let mut matches = Vec::new();
        let mut ways: Vec<(usize, Use)> = Vec::new();
        for (at, found) in found.iter().enumerate() {
            let mut context = explorer.load(&[found.place])?.swap_remove(0);
            let is_sure = at < MOST_WHOLE && found.relevance > SURE;
            let is_whole = is_sure && search.depth == ContextDepth::Whole;
            let opens = is_sure && at == 0 && plan.opens && search.depth == ContextDepth::ByQuestion;
            ways.push((found.place, if is_whole || opens { Use::Opened } else { Use::Shown }));
            match () {
                () if is_whole => {}
                () if opens => context.text = explorer.section(&context.text, &search.question)?,
                () => context.text = String::new(),
            }
            matches.push(ContextMatch { context, relevance: found.relevance, reasons: found.reasons.clone(), is_whole });
        }
        let places: Vec<usize> = found.iter().map(|found| found.place).collect();
        let starts = if search.depth == ContextDepth::Previews { plan.starts.min(1) } else { plan.starts };
        let related = explorer.walk(&places, starts.max(1), plan.hops, MOST_RELATED, false, search.mode)?;
        for way in [Use::Shown, Use::Opened] {
            let places: Vec<usize> = ways.iter().filter(|(_, known)| *known == way).map(|(place, _)| *place).collect();
            explorer.log(&places, way);
        }
        explorer.log_reached(&related);
        Ok(FoundContexts { class, matches, related, is_by_meaning })
    }

    /// Returns the contexts around one, breadth first; `None` if no context has the topic and none matches it. Two are related if that
    /// was stated, if their tags overlap, if they were loaded at about the same time, or if one is found by the preview of the other.
    pub fn context_tree(
        &self,
        place: &ContextPlace,
        topic: &str,
        depth: usize,
        limit: usize,
        mode: SearchMode,
    ) -> Result<Option<ContextTree>, EngineError> {
        let mut explorer = Explorer::new(self, place)?;
        let named = explorer.named(topic);
        let start = match named {
            Some(place) => Some(place),
            None => explorer.search(topic, 1, mode)?.0.first().map(|found| found.place),
        };
        let Some(start) = start else { return Ok(None) };
        let reached = explorer.walk(&[start], 1, depth, limit, true, mode)?;
        explorer.log(&[start], Use::Shown);
        explorer.log_reached(&reached);
        let context = explorer.load(&[start])?.swap_remove(0);
        Ok(Some(ContextTree { start: without_text(context), is_searched: named.is_none(), reached }))
    }
}

fn without_text(context: Context) -> Context {
    Context { text: String::new(), ..context }
}

fn folded(topic: &str) -> String {
    topic.trim().to_lowercase()
}

/// A context that bears on a question, by its place among the heads.
struct Scored {
    place: usize,
    relevance: f32,
    reasons: Vec<String>,
}

/// An exploration: the contexts that apply, without their texts, and those that were read.
struct Explorer<'e> {
    engine: &'e Engine,
    session: Option<&'e str>,
    /// True if previews are made of what is read.
    has_previews: bool,
    /// The contexts that apply, latest first.
    heads: Vec<ContextHead>,
    /// Place of the context of each topic, and of each id.
    by_topic: HashMap<String, usize>,
    by_id: HashMap<EpisodeId, usize>,
    /// The texts that were read, by context and version.
    read: HashMap<(EpisodeKey, UtcMillis), Context>,
    tokenizer: Tokenizer,
    /// The rows in which recall searches.
    among: Arc<HashSet<i64>>,
}

impl<'e> Explorer<'e> {
    fn new(engine: &'e Engine, place: &'e ContextPlace) -> Result<Self, EngineError> {
        let scope = engine.projects_of_notes(&place.scope, place.here.as_ref())?;
        let mut heads = engine.store().context_heads(Contexts::All)?;
        heads.retain(|head| scope.holds(head.project));
        let own = place.here.as_ref().map(|here| project_here(engine.store(), here)).transpose()?.flatten();
        let nearness = |project: Option<ProjectKey>| match project {
            Some(_) if project == own => 0,
            None => 1,
            Some(_) => 2,
        };
        let mut places: Vec<usize> = (0..heads.len()).collect();
        places.sort_by_key(|place| nearness(heads[*place].project));
        let mut by_topic = HashMap::with_capacity(heads.len());
        for place in places {
            by_topic.entry(folded(&heads[place].topic)).or_insert(place);
        }
        let by_id = heads.iter().enumerate().map(|(place, head)| (head.episode, place)).collect();
        let among = Arc::new(heads.iter().map(|head| head.turn.get()).collect());
        let session = place.session.as_deref();
        Ok(Self {
            engine,
            session,
            has_previews: true,
            heads,
            by_topic,
            by_id,
            read: HashMap::new(),
            tokenizer: Tokenizer::default(),
            among,
        })
    }

    /// Returns the place of the context with a topic.
    fn named(&self, topic: &str) -> Option<usize> {
        self.by_topic.get(&folded(topic)).copied()
    }

    /// Returns contexts with their texts; each is read from the store once.
    fn load(&mut self, places: &[usize]) -> Result<Vec<Context>, EngineError> {
        let key = |place: &usize| (self.heads[*place].row, self.heads[*place].at);
        let new: Vec<EpisodeKey> =
            places.iter().map(key).filter(|key| !self.read.contains_key(key)).map(|(row, _)| row).collect();
        if !new.is_empty() {
            let stored = self.engine.store().notes(Versions::NewestOf(&new), usize::MAX, |_| true)?;
            let mut notes: Vec<NoteSummary> = stored.into_iter().map(NoteSummary::from).collect();
            self.engine.fill_related(&mut notes)?;
            for note in notes {
                if let Some(place) = self.by_id.get(&note.episode) {
                    let context = Context::from(note);
                    let context = if self.has_previews { context.with_preview() } else { context };
                    self.read.insert((self.heads[*place].row, self.heads[*place].at), context);
                }
            }
        }
        // One that was forgotten meanwhile is left out.
        Ok(places.iter().filter_map(|place| self.read.get(&key(place)).cloned()).collect())
    }

    /// Logs a reading; what cannot be logged is answered all the same.
    fn log(&self, places: &[usize], way: Use) {
        let rows: Vec<EpisodeKey> = places.iter().map(|place| self.heads[*place].row).collect();
        if !rows.is_empty() && !self.engine.store().is_passive() {
            let _ = self.engine.store().log_reading(&rows, way, self.engine.now(), self.session);
        }
    }

    fn log_reached(&self, reached: &[ReachedContext]) {
        let places: Vec<usize> =
            reached.iter().filter_map(|reached| self.by_id.get(&reached.context.as_ref()?.id).copied()).collect();
        self.log(&places, Use::Given);
    }

    /// Returns the contexts that bear on a question, best first, and whether their meaning was searched.
    fn search(&mut self, question: &str, limit: usize, mode: SearchMode) -> Result<(Vec<Scored>, bool), EngineError> {
        if Question::parse(question, &mut self.tokenizer).is_empty() {
            let mut places: Vec<usize> = (0..self.heads.len()).collect();
            places.sort_by_key(|place| self.heads[*place].priority);
            let scored = |place: usize| {
                let reasons = vec![format!("priority {}", self.heads[place].priority.as_str())];
                Scored { place, relevance: 0.0, reasons }
            };
            return Ok((places.into_iter().take(limit).map(scored).collect(), false));
        }
        let keywords = self.keywords(question)?;
        let (recalled, is_by_meaning) = self.recalled(question, MOST_RECALLED.max(limit), mode)?;
        // Candidates by their labels, and by their texts.
        let mut candidates: HashMap<usize, (Hits, Naming, f32)> = HashMap::new();
        for place in 0..self.heads.len() {
            let head = &self.heads[place];
            let names: Vec<&str> = std::iter::once(head.topic.as_str()).chain(head.tags.iter().map(String::as_str)).collect();
            let (names, topic) = (names.join(" "), head.topic.clone());
            if !may_have(&names, &keywords) {
                continue;
            }
            let hits = self.hits(&names, &keywords);
            if hits.count > 0 {
                candidates.insert(place, (hits, naming(question, &topic), 0.0));
            }
        }
        let mut labelled: Vec<usize> = candidates.keys().copied().collect();
        labelled.sort_by(|one, other| {
            let rank =
                |place: &usize| candidates.get(place).map_or((Naming::Not, 0.0), |(hits, naming, _)| (*naming, hits.weight));
            let ((one_naming, one_hits), (other_naming, other_hits)) = (rank(one), rank(other));
            other_naming.cmp(&one_naming).then(other_hits.total_cmp(&one_hits)).then(one.cmp(other))
        });
        let kept: HashSet<usize> = labelled.into_iter().take(MOST_LABELLED.max(limit)).collect();
        let best: Vec<(usize, f32)> = recalled;
        let is_recalled: HashSet<usize> = best.iter().map(|(place, _)| *place).collect();
        candidates.retain(|place, _| kept.contains(place) || is_recalled.contains(place));
        for (place, confidence) in best {
            candidates.entry(place).or_default().2 = confidence;
        }
        let signs = |place: usize, (label, naming, confidence): (Hits, Naming, f32), head: &ContextHead, now: UtcMillis| {
            let days = head.accessed.map(|at| (now - at) as f32 / DAY_MS);
            let none = Hits::default();
            let (keywords, priority) = (keywords.len(), head.priority);
            (place, Signs { keywords, label, preview: none, concepts: none, naming, passage: 0.0, confidence, days, priority })
        };
        let now = self.engine.now();
        let mut judged: Vec<(usize, Signs)> =
            candidates.into_iter().map(|(place, found)| signs(place, found, &self.heads[place], now)).collect();
        let by_relevance = |one: &(usize, Signs), other: &(usize, Signs)| {
            other.1.relevance().total_cmp(&one.1.relevance()).then(one.0.cmp(&other.0))
        };
        judged.sort_by(by_relevance);
        judged.truncate(limit + JUDGED);
        self.load(&judged.iter().map(|(place, _)| *place).collect::<Vec<_>>())?;
        let (mut texts, mut total) = (Vec::new(), 0);
        for (place, signs) in &mut judged {
            let Some(context) = self.load(&[*place])?.pop() else { continue };
            signs.preview = self.hits(&context.preview, &keywords);
            signs.concepts = self.hits(&context.key_concepts.join("\n"), &keywords);
            let passages = passages(&context.text);
            total += passages.len();
            let passages = passages.into_iter().filter(|passage| may_have(passage, &keywords));
            texts.push(passages.map(|passage| self.words_of(passage, &keywords)).collect());
        }
        for ((_, signs), share) in judged.iter_mut().zip(passage_shares(&texts, total, keywords.len())) {
            signs.passage = share;
        }
        judged.sort_by(by_relevance);
        judged.truncate(limit);
        let scored =
            judged.into_iter().map(|(place, signs)| Scored { place, relevance: signs.relevance(), reasons: signs.reasons() });
        Ok((scored.collect(), is_by_meaning))
    }

    /// Returns the rarest words of a question with their weights, which have the mean 1.
    fn keywords(&mut self, question: &str) -> Result<Vec<Keyword>, EngineError> {
        let words = without_fillers(question).join(" ");
        let mut terms: Vec<Vec<String>> =
            Question::parse(&words, &mut self.tokenizer).terms.into_iter().map(|term| vec![term]).collect();
        for (word, english) in text::in_english(question) {
            let word = Question::parse(word, &mut self.tokenizer).terms;
            let english = english.iter().flat_map(|word| Question::parse(word, &mut self.tokenizer).terms);
            if let Some(terms) = terms.iter_mut().find(|terms| word.contains(&terms[0])) {
                terms.extend(english);
            }
        }
        let mut keywords = Vec::new();
        for terms in terms {
            // A word that has a translation is as rare as the less rare of both.
            let rarity = self.engine.rarity(&terms)?.into_iter().fold(f32::INFINITY, f32::min);
            keywords.push(Keyword { terms, weight: rarity });
        }
        keywords.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        keywords.truncate(MOST_KEYWORDS);
        let mean = keywords.iter().map(|keyword| keyword.weight).sum::<f32>() / keywords.len().max(1) as f32;
        keywords.iter_mut().for_each(|keyword| keyword.weight = if mean > 0.0 { keyword.weight / mean } else { 1.0 });
        Ok(keywords)
    }

    /// Returns how often a text has each keyword, and its length.
    fn words_of(&mut self, text: &str, keywords: &[Keyword]) -> PassageWords {
        let mut tokens = Tokens::default();
        self.tokenizer.tokenize(text, &mut tokens);
        let mut words = PassageWords { counts: vec![0; keywords.len()], length: text.split_whitespace().count() };
        for token in tokens.iter() {
            for (keyword, count) in keywords.iter().zip(&mut words.counts) {
                *count = count.saturating_add(u16::from(keyword.terms.iter().any(|term| term == token.text)));
            }
        }
        words
    }

    /// Returns the keywords that a text has.
    fn hits(&mut self, text: &str, keywords: &[Keyword]) -> Hits {
        let words = self.words_of(text, keywords);
        let met = keywords.iter().zip(words.counts).filter(|(_, count)| *count > 0);
        met.fold(Hits::default(), |hits, (keyword, _)| Hits { count: hits.count + 1, weight: hits.weight + keyword.weight })
    }

    /// Returns the contexts that recall finds for a question, with its confidence, and whether meaning was searched.
    fn recalled(&self, question: &str, limit: usize, mode: SearchMode) -> Result<(Vec<(usize, f32)>, bool), EngineError> {
        let mode = if mode == SearchMode::Lexical { mode } else { SearchMode::Static };
        let mut request = RecallRequest {
            mode,
            limit,
            quote_chars: 0,
            is_folded: false,
            is_period_searched: false,
            min_confidence: Some(0.0),
            tuning: Tuning {
                is_graph_followed: false,
                is_talk_ranked: false,
                are_links_ranked: false,
                among: Some(Arc::clone(&self.among)),
                ..Tuning::default()
            },
            ..RecallRequest::new(question)
        };
        // Contexts are mostly English, even if others have the German word.
        let english: Vec<&str> =
            text::in_english(question).into_iter().flat_map(|(_, english)| english.iter().copied()).collect();
        if !english.is_empty() {
            request.question = format!("{question}\n{}", english.join(" "));
        }
        request.filter.wanted = Wanted::Turns;
        let answer = self.engine.recall(&request)?;
        let by_turn: HashMap<TurnKey, usize> = self.heads.iter().enumerate().map(|(place, head)| (head.turn, place)).collect();
        // A passage without a word of the question must be near in meaning.
        let least = refused_below(answer.mode);
        let is_found = |hit: &crate::Hit| hit.confidence >= least || hit.lists.iter().any(|place| place.list == List::Words);
        let found = answer.hits.iter().filter(|hit| is_found(hit));
        let found = found.filter_map(|hit| Some((*by_turn.get(&hit.as_turn()?.row)?, hit.confidence))).collect();
        Ok((found, answer.mode != SearchMode::Lexical))
    }

    /// Returns the section of a text that has most of a question.
    fn section(&mut self, text: &str, question: &str) -> Result<String, EngineError> {
        let keywords = self.keywords(question)?;
        Ok(best_section(text, |section| self.hits(section, &keywords).weight).to_owned())
    }

    /// Follows relations from the first `starts` of these contexts, breadth first, the strongest of each context first. The others
    /// are not reached.
    fn walk(
        &mut self,
        known: &[usize],
        starts: usize,
        depth: usize,
        most: usize,
        with_similar: bool,
        mode: SearchMode,
    ) -> Result<Vec<ReachedContext>, EngineError> {
        let mut tagged: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, head) in self.heads.iter().enumerate().filter(|_| depth > 0) {
            for tag in head.tags.iter().filter(|tag| is_own_tag(tag)) {
                tagged.entry(tag.to_lowercase()).or_default().push(place);
            }
        }
        let mut seen: HashSet<String> = known.iter().map(|place| folded(&self.heads[*place].topic)).collect();
        let mut reached: Vec<ReachedContext> = Vec::new();
        let mut queue: VecDeque<(usize, usize, f32)> = known.iter().take(starts).map(|place| (*place, 0, 1.0)).collect();
        while let Some((place, at, relevance)) = queue.pop_front() {
            if at >= depth || reached.len() >= most {
                continue;
            }
            let Some(context) = self.load(&[place])?.pop() else { continue };
            let mut near: Vec<(String, &str, f32)> =
                context.related.iter().map(|topic| (topic.clone(), "explicit", STATED)).collect();
            let topic = |place: usize| self.heads[place].topic.clone();
            near.extend(self.with_tags(&context.tags, &tagged).into_iter().map(|(place, share)| (topic(place), "tags", share)));
            for (other, strength) in self.engine.contexts_used_with(&context.id)? {
                near.extend(self.by_id.get(&other).map(|place| (topic(*place), "co-accessed", strength)));
            }
            if with_similar {
                let (similar, _) = self.recalled(&context.preview, MOST_SIMILAR + 1, mode)?;
                let is_near = |(_, confidence): &(usize, f32)| Strength::of(*confidence) != Strength::Weak;
                // A preview matches its own words better than a question could.
                near.extend(
                    similar.into_iter().filter(is_near).map(|(place, sure)| (topic(place), "semantic", sure * SAME_TAGS)),
                );
            }
            // Stable: among equals, what was stated goes first.
            near.sort_by(|a, b| b.2.total_cmp(&a.2));
            // Room is left for what is farther away.
            let full = if at + 1 < depth { reached.len() + most.div_ceil(2) } else { most };
            for (topic, relation, strength) in near {
                if reached.len() >= most.min(full) || !seen.insert(folded(&topic)) {
                    continue;
                }
                let place = self.named(&topic);
                let relevance = relevance * strength;
                let from = context.topic.clone();
                let found = place.map(|place| self.load(&[place])).transpose()?.and_then(|mut found| found.pop());
                let topic = found.as_ref().map_or(topic, |found| found.topic.clone());
                let context = found.map(without_text);
                reached.push(ReachedContext { topic, from, depth: at + 1, relation: relation.to_owned(), relevance, context });
                queue.extend(place.map(|place| (place, at + 1, relevance)));
            }
        }
        Ok(reached)
    }

    /// Returns the contexts with the most tags in common, with the share of these.
    fn with_tags(&self, tags: &[String], tagged: &HashMap<String, Vec<usize>>) -> Vec<(usize, f32)> {
        let own: HashSet<String> = tags.iter().map(|tag| tag.to_lowercase()).collect();
        let mut common: HashMap<usize, usize> = HashMap::new();
        for place in own.iter().filter_map(|tag| tagged.get(tag)).flatten() {
            *common.entry(*place).or_default() += 1;
        }
        let share = |place: usize, common: usize| {
            let others = self.heads[place].tags.iter().filter(|tag| is_own_tag(tag)).count();
            SAME_TAGS * common as f32 / (own.len() + others).saturating_sub(common).max(1) as f32
        };
        let mut found: Vec<(usize, f32)> = common.into_iter().map(|(place, common)| (place, share(place, common))).collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        found.truncate(MOST_TAGGED);
        found
    }
}

/// Returns the words of a question that say something; all, if none does.
fn without_fillers(question: &str) -> Vec<&str> {
    let is_german = text::is_german(question);
    let says_little = |word: &str| {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
        FILLERS.contains(&bare.as_str()) || is_german && text::is_german_function_word(&bare)
    };
    let words: Vec<&str> = question.split_whitespace().filter(|word| !says_little(word)).collect();
    if words.is_empty() { question.split_whitespace().collect() } else { words }
}

/// A word of a question, with its translations, and its weight.
#[derive(Debug)]
struct Keyword {
    terms: Vec<String>,
    weight: f32,
}

/// Returns whether a text may have a keyword: endings differ, beginnings do not.
fn may_have(text: &str, keywords: &[Keyword]) -> bool {
    const BEGINNING: usize = 4;
    let text = text.to_lowercase();
    let terms = keywords.iter().flat_map(|keyword| &keyword.terms);
    terms.into_iter().any(|term| {
        let end = term.len().saturating_sub(1).clamp(1, BEGINNING);
        text.contains(&term[..term.floor_char_boundary(end)])
    })
}
