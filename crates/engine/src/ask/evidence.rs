//! Gathers what the sentences of an answer may rest on: rows of what is recorded, passages, what the person said to them.

use std::collections::HashSet;

use yore_core::episode::{EpisodeKind, Role};
use yore_core::memory::Status;
use yore_core::query::{AnswerKind, AskDepth, ItemId, SearchMode};
use yore_core::strength::SMALL_MEMORY;
use yore_core::text::{Tokenizer, content_words, is_error_message, is_german, may_be_german};
use yore_core::time::UtcMillis;

use super::answer::AskSource;
use crate::answer::keep_what_rows_lack;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{Found, FoundMemory, Hit, Packing, PastStatement, RecallAnswer, RecallRequest, View, reply_to};
use crate::rules::cut;
use crate::store::{RowKey, ShownTurn};

/// Results and tokens of passages, by depth.
const LIMITS: [usize; 3] = [5, 10, 12];
const TOKENS: [usize; 3] = [300, 600, 1_000];
/// Most rows of what is recorded, and most characters of one.
const MOST_ROWS: usize = 6;
const ROW_CHARS: usize = 400;
/// Number of the best results whose reply is read, and most characters of one.
const WITH_REPLY: usize = 3;
const REPLY_CHARS: usize = 240;
/// Most characters of a statement that is told beside another.
const AGAINST_CHARS: usize = 160;
/// Most names of the best evidence that a deep search adds to the question.
const MOST_NAMES: usize = 4;

/// Least confidence of a result that is told, relative to the surest.
const LEAST_SHARE: f32 = 0.3;
/// Most turns that have a rare word of a question.
const RARE_TURNS: f32 = 5.0;
/// Rarity of a rare word of an answer, relative to that of a word that one turn has.
const RARE: f32 = 0.7;
/// Shortest name without a digit, in bytes.
const SHORTEST_NAME: usize = 4;
/// Longest word such as "couldnt", and shortest that may be a typing error.
const LONGEST_CONTRACTION: usize = 8;
const SHORTEST_MISTYPED: usize = 5;

/// Name of a source that sums up a session for the agent that goes on with it.
const SUMMARY: &str = "summary";

/// A piece of evidence.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub source: AskSource,
    pub text: String,
    /// Sentences that say what stands against it.
    pub against: Vec<String>,
    /// True if it is a statement that no longer holds.
    pub is_past: bool,
    /// True if it is a row of what is recorded.
    pub is_row: bool,
    /// True if a person said it.
    pub is_person: bool,
}

/// The evidence for a question at a depth.
pub(super) struct Gathered {
    /// The words that were searched for.
    pub searched: String,
    /// In the order in which they are to be read.
    pub pieces: Vec<Piece>,
    /// True if the answer is a list of what is recorded.
    pub is_recorded: bool,
    /// The words that such a list must have, with their rarity; `None`: it was found by a search, which says how well it fits.
    pub subject: Option<Vec<(String, f32)>>,
    /// Names in the question that nothing in the projects has.
    pub unknown: Vec<String>,
    /// Words of what was said that few turns have; `None` in a small memory, where that says nothing.
    pub rare: Option<HashSet<String>>,
    pub answer: RecallAnswer,
}

impl Piece {
    /// Returns whether it is of a text, and not recorded as a statement.
    pub(super) fn is_of_text(&self) -> bool {
        !self.is_row && matches!(self.source.what.as_str(), "you" | "assistant" | "tool" | "document" | SUMMARY)
    }
}

impl Engine {
    /// Finds the evidence for a question. From the depth `full` on, the person's replies to the best results belong to it; a deep search
    /// also searches for the names that the first evidence has.
    pub(super) fn gather(&self, request: &RecallRequest, depth: AskDepth) -> Result<Gathered, EngineError> {
        let at = depth as usize;
        let packing = Packing { budget: TOKENS[at], group_cost: 0, hit_cost: 0, broad: 0, least_gain: 0.0 };
        let mut request = RecallRequest { limit: LIMITS[at], packing: Some(packing), ..request.clone() };
        let mut answer = self.answered(&request, true)?;
        if depth == AskDepth::Deep {
            let names = names_in(&answer, &request.question);
            if !names.is_empty() {
                request.wordings.push(names.join(" "));
                let first = std::mem::replace(&mut answer, self.answered(&request, false)?);
                // How well the question is met does not depend on the names that were added.
                (answer.confidence, answer.unmet) = (first.confidence, first.unmet);
            }
        }
        keep_what_rows_lack(&request, &mut answer);
        let mut pieces: Vec<Piece> = Vec::new();
        let view = answer.view.as_ref().filter(|view| !view.is_widened && !view.rows.is_empty());
        pieces.extend(view.into_iter().flat_map(rows));
        let is_recorded = !pieces.is_empty();
        let mut known: HashSet<String> = HashSet::new();
        // The same question asked before meets it best, and answers nothing.
        let is_person = |hit: &Hit| hit.as_turn().is_some_and(|turn| turn.role == Role::Human);
        let surest = answer.hits.iter().filter(|hit| !is_person(hit)).map(|hit| hit.confidence).fold(0.0, f32::max);
        let least = LEAST_SHARE * surest;
        // It is told with the later statement that likely changed it.
        let memories = answer.hits.iter().filter(|hit| hit.confidence >= least).filter_map(Hit::as_memory);
        let likely = memories.flat_map(|found| &found.history).filter(|past| past.is_likely);
        let changed: HashSet<ItemId> = likely.map(|past| ItemId::Memory(past.id)).collect();
        let is_told = |hit: &Hit| hit.confidence >= least && !changed.contains(&hit.id());
        for (place, hit) in answer.hits.iter().enumerate().filter(|(_, hit)| is_told(hit)) {
            let own = pieces_of(hit);
            pieces.extend(own.into_iter().filter(|piece| !piece.text.is_empty() && known.insert(piece.source.opens.clone())));
            if depth != AskDepth::Preview && place < WITH_REPLY {
                let reply = self.reply_about(hit, &answer.terms, &request)?;
                pieces.extend(reply.filter(|piece| known.insert(piece.source.opens.clone())));
            }
        }
        // Distilled statements come before words that were said, and those before summaries of them.
        let rank = |piece: &Piece| match (piece.is_row, piece.source.what.as_str()) {
            (true, _) => 0,
            (_, SUMMARY) => 3,
            (_, "you" | "assistant" | "tool" | "document") => 2,
            _ => 1,
        };
        pieces.sort_by_key(rank);
        let subject = match view {
            Some(view) if view.kind == AnswerKind::Work && view.period.is_some() => Some(Vec::new()),
            Some(view) if view.kind == AnswerKind::Cause || view.kind == AnswerKind::Work && !view.subject.is_empty() => None,
            Some(view) if !is_german(&request.question) => Some(self.with_rarity(&view.subject)?),
            _ => Some(Vec::new()),
        };
        let searched = [vec![request.question.clone()], request.wordings.clone()].concat().join(" | ");
        let unknown = if is_recorded { Vec::new() } else { self.unknown_names(&request, &answer)? };
        let rare = self.rare_words(&pieces, answer.indexed)?;
        Ok(Gathered { searched, pieces, is_recorded, subject, unknown, rare, answer })
    }

    /// Returns the rare words of a question, of a German one the names, that no turn in the projects has: what is asked about them is not known, however
    /// near the rest is. A typing error of a word that was found is none.
    fn unknown_names(&self, request: &RecallRequest, answer: &RecallAnswer) -> Result<Vec<String>, EngineError> {
        let is_german = is_german(&request.question);
        if answer.indexed < SMALL_MEMORY || is_error_message(&request.question) || answer.answer_kind == AnswerKind::Cause {
            return Ok(Vec::new());
        }
        let mut tokenizer = Tokenizer::default();
        let texts: Vec<String> = answer.hits.iter().map(words_of).collect();
        let has: HashSet<String> = texts.iter().flat_map(|text| content_words(text, &mut tokenizer)).collect();
        let least = (answer.indexed as f32 / RARE_TURNS).ln_1p();
        let mut unknown = Vec::new();
        for word in request.question.split(|letter: char| !(letter.is_alphanumeric() || "_-./".contains(letter))) {
            let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
            let terms = content_words(word, &mut tokenizer);
            let is_contraction = word.to_lowercase().ends_with("nt") && word.len() <= LONGEST_CONTRACTION;
            if terms.is_empty()
                || word.len() < SHORTEST_NAME && !word.contains(|letter: char| letter.is_ascii_digit())
                || terms.iter().any(|term| has.contains(term))
                || is_contraction
                || !word.contains(char::is_alphabetic)
                || is_german && may_be_german(word)
            {
                continue;
            }
            let is_rare = self.index()?.state()?.rarity(&terms)?.into_iter().all(|rarity| rarity >= least);
            if is_rare && !is_mistyped(word, &texts) && !self.is_met(request, word, &terms)? {
                unknown.push(word.to_owned());
            }
        }
        Ok(unknown)
    }

    /// Returns whether a turn or memory in the scope of a request has one of these terms.
    fn is_met(&self, request: &RecallRequest, word: &str, terms: &[String]) -> Result<bool, EngineError> {
        let request = RecallRequest {
            question: word.to_owned(),
            wordings: Vec::new(),
            mode: SearchMode::Lexical,
            limit: 1,
            packing: None,
            is_bare: true,
            is_period_searched: false,
            ..request.clone()
        };
        let found = self.recall(&request)?.hits;
        Ok(found.first().is_some_and(|hit| has_one_of(&words_of(hit), terms)))
    }

    /// Returns the words of texts that few turns have; `None` in a small memory.
    fn rare_words(&self, pieces: &[Piece], indexed: u64) -> Result<Option<HashSet<String>>, EngineError> {
        if indexed < SMALL_MEMORY {
            return Ok(None);
        }
        let mut tokenizer = Tokenizer::default();
        let texts = pieces.iter().filter(|piece| piece.is_of_text());
        let words: HashSet<String> = texts.flat_map(|piece| content_words(&piece.text, &mut tokenizer)).collect();
        let words: Vec<String> = words.into_iter().collect();
        let least = RARE * (indexed as f32).ln_1p();
        let rarity = self.index()?.state()?.rarity(&words)?;
        Ok(Some(words.into_iter().zip(rarity).filter(|(_, rarity)| *rarity >= least).map(|(word, _)| word).collect()))
    }

    /// Returns the words of a subject with their rarity in the index.
    fn with_rarity(&self, subject: &str) -> Result<Vec<(String, f32)>, EngineError> {
        let terms = content_words(subject, &mut Tokenizer::default());
        let rarity = self.index()?.state()?.rarity(&terms)?;
        Ok(terms.into_iter().zip(rarity).collect())
    }

    /// Returns what the person said to a message of the agent, if it has a word of the question.
    fn reply_about(&self, hit: &Hit, terms: &[String], request: &RecallRequest) -> Result<Option<Piece>, EngineError> {
        let Some(turn) = hit.as_turn() else { return Ok(None) };
        let is_among = |reply: &ShownTurn| request.tuning.among.as_ref().is_none_or(|among| among.contains(&reply.row.get()));
        Ok(reply_to(self.store(), turn, &request.filter)?.filter(is_among).and_then(|reply| {
            let text = cut(&reply.text, REPLY_CHARS);
            let source = source("you", reply.id.short(), reply.time.utc, reply.project);
            has_one_of(&text, terms).then_some(Piece {
                source,
                text,
                against: Vec::new(),
                is_past: false,
                is_row: false,
                is_person: true,
            })
        }))
    }
}

/// Returns whether a text has one of these words.
fn has_one_of(text: &str, terms: &[String]) -> bool {
    let words = content_words(text, &mut Tokenizer::default());
    terms.iter().any(|term| words.binary_search(term).is_ok())
}

fn words_of(hit: &Hit) -> String {
    match &hit.found {
        Found::Turn(turn) => turn.words(),
        Found::Memory(found) => found.memory.words(),
    }
}

/// Returns whether one of the texts has nearly this word.
fn is_mistyped(word: &str, texts: &[String]) -> bool {
    let word = word.to_lowercase();
    let is_near = |other: &str| other.len().abs_diff(word.len()) <= 1 && strsim::osa_distance(&other.to_lowercase(), &word) <= 1;
    let words = |text: &str| text.split(|letter: char| !letter.is_alphanumeric()).any(is_near);
    word.len() >= SHORTEST_MISTYPED && texts.iter().any(|text| words(text))
}

fn source(what: &str, opens: String, at: Option<UtcMillis>, project: Option<String>) -> AskSource {
    AskSource { opens, what: what.to_owned(), at, project }
}

fn rows(view: &View) -> impl Iterator<Item = Piece> {
    let what = view.kind.as_str().replace('_', " ");
    view.rows.iter().take(MOST_ROWS).map(move |row| {
        let state = row.state.as_deref().filter(|state| !state.is_empty()).map(|state| format!(" ({state})")).unwrap_or_default();
        let text = cut(&[vec![format!("{}{state}", row.text)], row.details.clone()].concat().join("; "), ROW_CHARS);
        let source = source(&what, row.opens.clone().unwrap_or_default(), row.at, None);
        Piece { source, text, against: Vec::new(), is_past: false, is_row: true, is_person: false }
    })
}

/// Returns sentences that say what a statement contradicts, and which one it likely changed.
fn against(found: &FoundMemory) -> Vec<String> {
    let told = |before: &str, other: &PastStatement| {
        format!("({before} [{}]: “{}”)", other.id.short(), cut(&other.statement, AGAINST_CHARS))
    };
    let likely = found.history.iter().filter(|past| past.is_likely).map(|past| told("before, likely", past));
    likely.chain(found.contradicts.iter().map(|other| told("contradicts", other))).collect()
}

/// Returns the passages of a result: its own, and those of its exchange.
fn pieces_of(hit: &Hit) -> Vec<Piece> {
    let project = hit.project.clone();
    let speaker = |role: Role| match role {
        Role::Human => "you",
        Role::Assistant => "assistant",
        Role::Summary => SUMMARY,
        _ => "tool",
    };
    // A statement that no longer holds says so.
    let statement = hit.as_memory().map_or_else(String::new, |found| match found.memory.status {
        Status::Holds => found.memory.kind.as_str().to_owned(),
        status => format!("{}, {}", found.memory.kind.as_str(), status.as_str()),
    });
    let (what, is_person, text) = match &hit.found {
        Found::Memory(found) => (statement.as_str(), false, found.memory.statement.clone()),
        Found::Turn(turn) if turn.kind == EpisodeKind::Document => ("document", false, hit.quote.clone()),
        Found::Turn(turn) => (speaker(turn.role), turn.role == Role::Human, hit.quote.clone()),
    };
    let against = hit.as_memory().map_or_else(Vec::new, against);
    let is_past = hit.as_memory().is_some_and(|found| !found.memory.is_in_effect());
    let own = Piece {
        source: source(what, hit.id().short(), hit.time.utc, project.clone()),
        text,
        against,
        is_past,
        is_row: false,
        is_person,
    };
    let beside = hit.beside.iter().map(|said| Piece {
        source: source(speaker(said.role), said.turn.short(), said.at, project.clone()),
        text: said.text.clone(),
        against: Vec::new(),
        is_past: false,
        is_row: false,
        is_person: said.role == Role::Human,
    });
    std::iter::once(own).chain(beside).collect()
}

/// Returns names in the best passages that the question does not have: words with a digit, an underscore, a dot or a capital inside.
fn names_in(answer: &RecallAnswer, question: &str) -> Vec<String> {
    let question = question.to_lowercase();
    let mut names: Vec<String> = Vec::new();
    for hit in answer.hits.iter().take(WITH_REPLY) {
        for word in hit.quote.split(|letter: char| letter.is_whitespace() || "()[]{}\"'`,;:".contains(letter)) {
            let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
            let is_name = word.chars().skip(1).any(|letter| letter.is_uppercase() || matches!(letter, '_' | '.' | '-' | '/'))
                && word.chars().any(char::is_alphabetic)
                && (4..40).contains(&word.len());
            let is_new = !question.contains(&word.to_lowercase()) && !names.iter().any(|name| name == word);
            if is_name && is_new && names.len() < MOST_NAMES {
                names.push(word.to_owned());
            }
        }
    }
    names
}
