//! Packs the hits of an answer into its token budget: joins hits of one exchange, and chooses their passages.

use std::collections::{HashMap, HashSet};

use yore_core::episode::{EpisodeKind, Role};
use yore_core::pack::{self, Source, Wanted};
use yore_core::query::{AskedFor, Filter, ItemId, Part};
use yore_core::relevance::{is_announcement, only_announces};
use yore_core::strength::Strength;
use yore_core::text::{Question, Tokenizer, asked_terms, code_blocks, error_line, language_name, question_parts};
use yore_core::vector::dot;

use super::reply::{decides, reply_to};
use super::request::Packing;
use super::{Found, Hit, Said};
use crate::embed::StaticTable;
use crate::error::EngineError;
use crate::index::LexicalState;
use crate::rules::{FINDING, Words, cut, finding_worth, normal, own_words, sentences};
use crate::store::{RowKey, ShownTurn, Store, TurnKey, Turns};

/// Exponent by which the weight of a hit falls with its rank.
const RANK_DECAY: f32 = 0.7;
/// Weight of an outcome relative to its hit.
const OUTCOME_WEIGHT: f32 = 0.5;
/// Number of hits whose outcome is considered.
const WITH_OUTCOME: usize = 5;
/// Weight of another turn of the exchange relative to its hit.
const EXCHANGE_WEIGHT: f32 = 0.3;
/// Number of hits whose exchange is considered.
const WITH_EXCHANGE: usize = 3;
/// Number of turns of an exchange that are considered: those nearest to the hit.
const NEARBY: usize = 8;
/// The same where a cause or a repair is looked for, and most turns that say one.
const SEARCHED: usize = 60;
const MOST_FINDINGS: usize = 2;
/// Bytes of a turn in which a cause or a repair is looked for: of another turn than a hit no more is quoted.
const FINDING_BYTES: usize = 4 * 1024;
/// Worth that a word in common with the question adds to a finding.
const COMMON_WORD: f32 = 0.5;
/// Weight of a turn that a memory rests on relative to the memory, and the number of those that are considered.
const EVIDENCE_WEIGHT: f32 = 0.5;
const MOST_SOURCES: usize = 2;
/// Number of hits whose reply is read, most characters of one, and cost of what stands around it, in quarters of a token.
const WITH_REPLY: usize = 5;
const REPLY_CHARS: usize = 160;
const REPLY_COST: usize = 28;
/// Maximum number of terms of a question that are weighted by rarity.
pub(super) const MOST_TERMS: usize = 96;

/// A question, as far as it decides which passages answer it.
pub(crate) struct Asking<'a> {
    /// The question as it was asked.
    pub asked: &'a str,
    /// The question with its wordings.
    pub question: &'a Question,
    /// The same as a text, for passages that are near in meaning; `None`: words alone decide.
    pub text: Option<&'a str>,
    /// Kind of thing that is asked for.
    pub asked_for: AskedFor,
    /// The terms of each part, if there are several.
    pub parts: &'a [Vec<String>],
    /// The filter of the hits.
    pub filter: &'a Filter,
    /// Turns that whoever asks was given before; they are not put beside a hit.
    pub given: &'a [ItemId],
    /// Rows of turns, if no others may be put beside a hit.
    pub among: Option<&'a HashSet<i64>>,
    /// True if nobody asked: of a person's message, only their own words are quoted.
    pub is_unasked: bool,
}

/// Leaves a person's message with their own words: what they pasted or quoted is not told unasked, as if they had said it.
pub(crate) fn keep_own_words(turn: &mut ShownTurn) {
    if turn.role == Role::Human && turn.kind != EpisodeKind::Document {
        turn.text = own_words(&turn.text).to_owned();
        turn.tool_text.clear();
    }
}

/// Returns the terms of each part of a question with several parts.
pub(super) fn terms_of_parts(question: &str, tokenizer: &mut Tokenizer) -> Vec<Vec<String>> {
    question_parts(question).into_iter().map(|part| Question::parse(part, tokenizer).terms).collect()
}

/// Gives each hit its passages and its exchange. A hit without room for a passage has an empty quote.
pub(crate) fn pack(
    store: &Store,
    lexical: &LexicalState<'_>,
    hits: &mut [Hit],
    asking: &Asking<'_>,
    packing: &Packing,
    tokenizer: &mut Tokenizer,
) -> Result<(), EngineError> {
    let groups = groups(store, hits)?;
    // A hook has no time to look for one.
    let asks_finding = !asking.is_unasked && asks_finding(asking.asked_for, asking.asked);
    let mut others = others(store, hits, &groups, asks_finding.then_some(asking.question), tokenizer)?;
    let is_among = |row: TurnKey| asking.among.is_none_or(|among| among.contains(&row.get()));
    others.retain(|other| !asking.given.contains(&ItemId::Turn(other.turn.id)) && is_among(other.turn.row));
    if asking.is_unasked {
        others.iter_mut().for_each(|other| keep_own_words(&mut other.turn));
        others.retain(|other| !other.turn.text.is_empty());
    }
    let weight = |at: usize| (at as f32 + 2.0).powf(-RANK_DECAY);
    let replies = if asking.is_unasked { vec![None; hits.len()] } else { replies(store, hits, asking, tokenizer)? };
    let are_said = |hit: &Hit| replies.iter().flatten().any(|reply: &Said| hit.id() == ItemId::Turn(reply.turn));
    others.retain(|other| replies.iter().flatten().all(|reply| reply.turn != other.turn.id));
    let group_cost = packing.group_cost;
    let source = |text, weight, group, cost| Source { text, weight, group, cost, group_cost, marked: None, is_one: false };
    let mut sources: Vec<Source<'_>> = Vec::with_capacity(hits.len() + others.len());
    for (at, hit) in hits.iter().enumerate() {
        let code = hit.as_turn().and_then(|turn| asked_code(&turn.text, asking.question, asking.filter, tokenizer));
        let text = code.unwrap_or_else(|| matching_text(hit));
        // A turn that only announces a step is not quoted beside what came of it.
        let is_bare = hit.as_turn().is_some_and(|turn| turn.role == Role::Assistant) && only_announces(text);
        let text = if is_bare && hits.len() > 1 || are_said(hit) { "" } else { text };
        let reply = replies[at].as_ref().map_or(0, |reply| pack::cost(&reply.text) + REPLY_COST);
        let cost = if groups[at] == at { 0 } else { packing.hit_cost };
        let told = || asks_finding.then(|| found_in(hit, at, text, asking.question, tokenizer)).flatten();
        let (marked, is_one) = (reported(hit, asking.filter, text).or_else(told), hit.as_memory().is_some());
        sources.push(Source { marked, is_one, ..source(text, weight(at), groups[at], cost + reply) });
    }
    sources.extend(others.iter().map(|other| Source {
        marked: other.finding,
        ..source(&other.turn.text, other.weight * weight(other.hit), other.hit, packing.hit_cost)
    }));
    let terms = &asking.question.terms[..asking.question.terms.len().min(MOST_TERMS)];
    let terms: Vec<(String, f32)> = terms.iter().cloned().zip(lexical.rarity(terms)?).collect();
    let nearness = Nearness::of(asking.text);
    let wanted = Wanted {
        terms: &terms,
        parts: asking.parts,
        broad: packing.broad.min(hits.len()),
        asked_for: asking.asked_for,
        least_gain: packing.least_gain,
        nearness: &|passage| nearness.to(passage),
    };
    let passages = pack::pack(&sources, &wanted, 4 * packing.budget, tokenizer);
    let mut texts: Vec<String> =
        sources.iter().zip(&passages).map(|(source, passages)| pack::join(source.text, passages)).collect();
    let of_others = texts.split_off(hits.len());
    for (((hit, quote), group), reply) in hits.iter_mut().zip(texts).zip(&groups).zip(replies) {
        hit.reply = reply.filter(|_| !quote.is_empty());
        hit.quote = quote;
        hit.exchange = group + 1;
        hit.beside.clear();
    }
    for (other, text) in others.into_iter().zip(of_others).filter(|(_, text)| !text.is_empty()) {
        hits[other.hit].beside.push(Said { text, ..Said::of(&other.turn) });
    }
    Ok(())
}

/// Returns, for each of the best hits, what the person decided right after it. A message that is a better hit stands by itself.
fn replies(
    store: &Store,
    hits: &[Hit],
    asking: &Asking<'_>,
    tokenizer: &mut Tokenizer,
) -> Result<Vec<Option<Said>>, EngineError> {
    let mut replies: Vec<Option<Said>> = vec![None; hits.len()];
    for (at, hit) in hits.iter().enumerate().take(WITH_REPLY) {
        let Some(turn) = hit.as_turn() else { continue };
        let Some(reply) = reply_to(store, turn, asking.filter)? else { continue };
        let id = ItemId::Turn(reply.id);
        let is_told = asking.given.contains(&id)
            || asking.among.is_some_and(|among| !among.contains(&reply.row.get()))
            || hits[..at].iter().any(|better| better.id() == id)
            || replies.iter().flatten().any(|known| known.turn == reply.id);
        if !is_told && decides(&reply.text, &turn.text, tokenizer) {
            replies[at] = Some(Said { text: cut(&reply.text, REPLY_CHARS), ..Said::of(&reply) });
        }
    }
    Ok(replies)
}

/// Similarity of passages to the question by the static table.
pub(super) struct Nearness(Option<[f32; StaticTable::DIMENSIONS]>);

impl Nearness {
    pub(super) fn of(text: Option<&str>) -> Self {
        Self(text.and_then(StaticTable::vector_of))
    }

    pub(super) fn to(&self, passage: &str) -> f32 {
        let Some(question) = &self.0 else { return 0.0 };
        StaticTable::vector_of(passage).map_or(0.0, |vector| dot(&vector, question))
    }
}

/// If the query asks for code, returns the code block with most of the query's terms, and the line that
/// introduces it.
pub(super) fn asked_code<'t>(text: &'t str, question: &Question, filter: &Filter, tokenizer: &mut Tokenizer) -> Option<&'t str> {
    if !filter.has_code && filter.languages.is_empty() {
        return None;
    }
    let languages: Vec<String> = filter.languages.iter().map(|language| language_name(language)).collect();
    let is_asked = |language: &Option<String>| {
        languages.is_empty() || language.as_ref().is_some_and(|language| languages.contains(language))
    };
    let blocks = code_blocks(text).into_iter().filter(|block| is_asked(&block.language));
    let passages = blocks.map(|block| &text[block.with_caption(text)]);
    let counted = passages.map(|passage| (asked_terms(passage, question, tokenizer), passage));
    // The first of several with the same count.
    counted.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, passage)| passage)
}

/// Returns the position of the error that a tool reports in this text.
fn reported(hit: &Hit, filter: &Filter, text: &str) -> Option<usize> {
    let turn = hit.as_turn()?;
    let is_report = turn.role == Role::ToolResult && (turn.is_error || filter.only_errors);
    let line = error_line(text).filter(|_| is_report)?;
    text.find(line)
}

/// Returns the text of a hit that matches: its own, or that of its tools; of a memory, its statement.
pub(super) fn matching_text(hit: &Hit) -> &str {
    let turn = match &hit.found {
        Found::Turn(turn) => turn,
        Found::Memory(memory) => return &memory.memory.statement,
    };
    let value = |part: Part| hit.parts.iter().filter(|known| known.part == part).map(|known| known.value).sum::<f32>();
    let is_by_tool = value(Part::Tool) > value(Part::Text) && !turn.tool_text.is_empty();
    if turn.text.is_empty() || is_by_tool { &turn.tool_text } else { &turn.text }
}

/// Returns for each hit the index of the first hit of its exchange.
fn groups(store: &Store, hits: &[Hit]) -> Result<Vec<usize>, EngineError> {
    let rows: Vec<TurnKey> = hits.iter().filter_map(|hit| Some(hit.as_turn()?.row)).collect();
    let places = store.exchange_places(&rows)?;
    let mut first: HashMap<_, usize> = HashMap::new();
    let group_of = |(at, hit): (usize, &Hit)| {
        let said = hit.as_turn().filter(|turn| turn.kind != EpisodeKind::Document);
        // Turns before the first prompt belong to no exchange.
        let start = said.and_then(|turn| Some((turn.episode, places.get(&turn.row)?.start))).filter(|(_, start)| *start >= 0);
        start.map_or(at, |start| *first.entry(start).or_insert(at))
    };
    Ok(hits.iter().enumerate().map(group_of).collect())
}

/// A turn beside a hit that is no hit itself.
struct Other {
    /// Index of the hit.
    hit: usize,
    turn: ShownTurn,
    /// Weight relative to the hit.
    weight: f32,
    /// Position of a sentence that says a cause or a repair, if that is asked for.
    finding: Option<usize>,
}

/// Returns other turns of the exchanges of the best hits: the outcome of a prompt, which is only the beginning
/// of its exchange, what was said nearby, and the cause or the repair that is asked for.
fn others(
    store: &Store,
    hits: &[Hit],
    groups: &[usize],
    finding_for: Option<&Question>,
    tokenizer: &mut Tokenizer,
) -> Result<Vec<Other>, EngineError> {
    let mut known: HashSet<TurnKey> = hits.iter().filter_map(|hit| Some(hit.as_turn()?.row)).collect();
    let mut others = Vec::new();
    for (at, hit) in hits.iter().enumerate().take(WITH_OUTCOME) {
        let turn = match &hit.found {
            Found::Turn(turn) => turn,
            Found::Memory(memory) => {
                let sources: Vec<TurnKey> = memory.sources.iter().take(MOST_SOURCES).map(|source| source.row).collect();
                for turn in store.turns(Turns::Keys(&sources))? {
                    if !turn.text.trim().is_empty() && known.insert(turn.row) {
                        others.push(Other { hit: at, turn, weight: EVIDENCE_WEIGHT, finding: None });
                    }
                }
                continue;
            }
        };
        if groups[at] != at || turn.kind == EpisodeKind::Document {
            continue;
        }
        if let Some(question) = finding_for.filter(|_| at < WITH_EXCHANGE && Strength::of(hit.confidence) != Strength::Weak) {
            let mut around = store.turns(Turns::Around(turn.row, SEARCHED))?;
            around.retain(|turn| !known.contains(&turn.row));
            for (turn, place) in findings(around, question, tokenizer) {
                known.insert(turn.row);
                others.push(Other { hit: at, turn, weight: OUTCOME_WEIGHT, finding: Some(place) });
            }
        }
        let outcome = if turn.role == Role::Human { store.turns(Turns::Conclusion(turn.row))? } else { Vec::new() };
        let nearby = if at < WITH_EXCHANGE { store.turns(Turns::Around(turn.row, NEARBY))? } else { Vec::new() };
        let weighted = outcome.into_iter().map(|turn| (turn, OUTCOME_WEIGHT));
        for (turn, weight) in weighted.chain(nearby.into_iter().map(|turn| (turn, EXCHANGE_WEIGHT))) {
            let says_nothing = turn.text.trim().is_empty() || turn.role == Role::Assistant && is_announcement(&turn.text);
            if !says_nothing && known.insert(turn.row) {
                others.push(Other { hit: at, turn, weight, finding: None });
            }
        }
    }
    Ok(others)
}

/// Returns whether a question asks for a cause, or for what mended something.
pub(super) fn asks_finding(asked_for: AskedFor, question: &str) -> bool {
    match asked_for {
        AskedFor::Error | AskedFor::Reason => true,
        AskedFor::List => false,
        _ => Words::any_has("asks finding", &normal(question)),
    }
}

/// Returns the place of the sentence of a hit that says a cause or a repair, if the hit is one of the best, and likely.
fn found_in(hit: &Hit, at: usize, text: &str, question: &Question, tokenizer: &mut Tokenizer) -> Option<usize> {
    let is_looked_at = at < WITH_OUTCOME && Strength::of(hit.confidence) != Strength::Weak;
    hit.as_turn().filter(|turn| is_looked_at && turn.role == Role::Assistant && turn.text == text)?;
    finding(text, question, tokenizer).map(|(_, place)| place)
}

/// Returns the turns of an agent that say best what the cause of something was or what mended it, each with the place of that sentence.
fn findings(turns: Vec<ShownTurn>, question: &Question, tokenizer: &mut Tokenizer) -> Vec<(ShownTurn, usize)> {
    let mut found: Vec<(f32, usize, ShownTurn)> = Vec::new();
    for turn in turns.into_iter().filter(|turn| turn.role == Role::Assistant) {
        let best = finding(&turn.text, question, tokenizer);
        found.extend(best.map(|(worth, place)| (worth, place, turn)));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.2.time.utc.cmp(&a.2.time.utc)));
    found.truncate(MOST_FINDINGS);
    found.into_iter().map(|(_, place, turn)| (turn, place)).collect()
}

/// Returns the worth and the place of the sentence of a text that best says a cause or a repair.
fn finding(text: &str, question: &Question, tokenizer: &mut Tokenizer) -> Option<(f32, usize)> {
    let text = &text[..text.floor_char_boundary(FINDING_BYTES)];
    let words = Words::of(text);
    let mut best: Option<(f32, usize)> = None;
    for sentence in sentences(text, words) {
        let own = finding_worth(&sentence, words);
        let Some(place) = text.find(sentence.text).filter(|_| own >= FINDING) else { continue };
        let worth = own + COMMON_WORD * asked_terms(sentence.text, question, tokenizer) as f32;
        // The last of several that are worth the same.
        if best.is_none_or(|(known, _)| worth >= known) {
            best = Some((worth, place));
        }
    }
    best
}
