//! Packs an answer into a token budget: cuts ranked texts into passages and chooses the most informative ones.
//!
//! A word is worth what the passages that hold it promise: how well they match the question, and how well the
//! text that they stand in is ranked (the relevance model of Lavrenko and Croft, 2001, without its division by
//! frequency). The worth of a choice is the worth of its distinct words, so what was said already counts for
//! nothing. Passages are chosen greedily by worth for cost, which is near the best choice for such a sum (Lin
//! and Bilmes, "A Class of Submodular Functions for Document Summarization", 2011). The choice ends when the best that is left
//! adds little for its length, beside what the best passage adds.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use crate::query::AskedFor;
use crate::text::{Tokenizer, Tokens, fragments, is_item, is_stop_word};

/// Bytes of a text that are considered, by its weight relative to the greatest; the rest of a long text would
/// slow recall down.
const CONSIDERED_BYTES: [(f32, usize); 3] = [(0.45, 8 * 1024), (0.25, 4 * 1024), (0.0, 2 * 1024)];
/// Distance from a passage with a word of the question within which passages are compared by meaning.
const NEARBY: usize = 1;
/// Share of a match that each further passage of the text gets: an answer stands beside the words of its
/// question.
const BESIDE: f32 = 0.5;
/// Match of a passage far from any word of the question.
const LEAST_MATCH: f32 = 0.02;
/// Weight of similarity of meaning beside words in common.
const MEANING_WEIGHT: f32 = 0.6;
/// Cosine that unrelated passages have.
const UNRELATED: f32 = 0.2;
/// Factor for passages that have the form of what is asked for.
const FITTING: f32 = 2.0;
/// Match of a passage that a caller marks.
const MARKED: f32 = 1.0;
/// Cost of the mark between two passages of a text, and of the indentation.
const MARK: usize = 4;
/// Cost at which the reader's effort is put for a passage that adjoins none of its text that is chosen: a list with gaps is hard to read.
const APART: usize = 40;
/// Longest statement, in bytes, that is told whole or not at all.
const LONGEST_ONE: usize = 200;
/// Least gain of a passage, relative to the best one, where the budget is a ceiling ([`Wanted::least_gain`]).
pub const LEAST_GAIN: f32 = 0.02;
/// Longest heading or introduction, in bytes, that is told only with what follows it.
const LONGEST_LEAD: usize = 200;
/// Longest passage, in bytes, that a sentence that leans on it joins, with that sentence.
const LONGEST_LEANT: usize = 400;
/// First words of a sentence that is understood only after the one before it.
const LEANING: [&str; 14] =
    ["Why", "Reason", "Because", "This", "That", "It", "So", "Therefore", "Hence", "These", "Those", "They", "Otherwise", "Then"];
/// Words of a passage that gives a reason.
const REASONS: [&str; 16] = [
    "because",
    "since",
    "due",
    "reason",
    "therefore",
    "instead",
    "otherwise",
    "rather",
    "avoid",
    "cause",
    "caused",
    "causes",
    "problem",
    "prevent",
    "why",
    "would",
];
/// Words of a passage that mends an error.
const MENDINGS: [&str; 12] =
    ["fix", "fixed", "fixes", "solution", "resolved", "cause", "caused", "works", "instead", "because", "missing", "wrong"];

/// A ranked text.
#[derive(Clone, Copy, Debug)]
pub struct Source<'t> {
    /// The text.
    pub text: &'t str,
    /// How much it is expected to say about the question, greater than 0.
    pub weight: f32,
    /// Texts of one group stand under one heading.
    pub group: usize,
    /// Cost of its own line under the heading, if the group has other texts.
    pub cost: usize,
    /// Cost of the group's heading.
    pub group_cost: usize,
    /// Position of a byte whose passage matters most.
    pub marked: Option<usize>,
    /// True for a statement, of which a short one is told whole or not at all.
    pub is_one: bool,
}

/// A question, as far as passages are chosen for it.
pub struct Wanted<'w> {
    /// The question's terms with their rarity, each once.
    pub terms: &'w [(String, f32)],
    /// Terms of each part of a question with several parts: each part gets a passage.
    pub parts: &'w [Vec<String>],
    /// Number of texts, the first ones, of which each gets a passage before any gets more; the first gets up to half of the budget.
    pub broad: usize,
    /// Kind of thing that is asked for.
    pub asked_for: AskedFor,
    /// Least gain of a passage, that is the worth of its new words for its cost, relative to the best one: the choice ends with
    /// less. 0: it ends with the budget.
    pub least_gain: f32,
    /// Similarity in meaning of a passage to the question, as a cosine; 0 where it is unknown.
    pub nearness: &'w dyn Fn(&str) -> f32,
}

/// Returns the cost of a text in quarters of a token: an ASCII character costs one, another four.
pub fn cost(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii + 4 * (text.chars().count() - ascii)
}

/// Returns, for each text, the byte ranges of the passages to show, in order. Together they cost at most
/// `budget` quarters of a token, headings included. The first text has a passage, if one fits at all.
pub fn pack(sources: &[Source<'_>], wanted: &Wanted<'_>, budget: usize, tokenizer: &mut Tokenizer) -> Vec<Vec<Range<usize>>> {
    let mut passages = read(sources, wanted, tokenizer);
    weigh(sources, wanted.asked_for, &mut passages);
    choose(sources, passages, wanted, budget)
}

/// A passage that may be chosen.
struct Passage<'t> {
    source: usize,
    text: &'t str,
    range: Range<usize>,
    /// Its distinct words, as numbers.
    words: Vec<u32>,
    /// How well it matches the question: the share of the question, by rarity, that it holds, and its nearness.
    matched: f32,
    /// The share of each part of the question that it holds.
    parts: Vec<f32>,
    cost: usize,
    is_chosen: bool,
}

struct Passages<'t> {
    all: Vec<Passage<'t>>,
    /// Worth of each word.
    worth: Vec<f32>,
}

/// Weight of a term of the question: in the whole, and in each of its parts.
struct Term {
    rarity: f32,
    parts: Vec<usize>,
}

/// A word of the texts, looked up once for each of its occurrences.
#[derive(Clone, Copy)]
struct Word<'w> {
    /// Its number; `None` for a stop word.
    number: Option<u32>,
    /// The term of the question that it is.
    term: Option<&'w Term>,
}

fn read<'t>(sources: &[Source<'t>], wanted: &Wanted<'_>, tokenizer: &mut Tokenizer) -> Passages<'t> {
    let in_parts = |term: &String| (0..wanted.parts.len()).filter(|at| wanted.parts[*at].contains(term)).collect::<Vec<_>>();
    let asked: HashMap<&str, Term> =
        wanted.terms.iter().map(|(term, rarity)| (term.as_str(), Term { rarity: *rarity, parts: in_parts(term) })).collect();
    let share_of = |is_in: &dyn Fn(&String) -> bool| {
        wanted.terms.iter().filter(|(term, _)| is_in(term)).map(|(_, rarity)| rarity).sum::<f32>().max(f32::MIN_POSITIVE)
    };
    let whole = share_of(&|_| true);
    let wholes: Vec<f32> = wanted.parts.iter().map(|part| share_of(&|term| part.contains(term))).collect();
    let mut known: HashMap<Box<str>, Word<'_>> = HashMap::new();
    let mut count = 0;
    let mut tokens = Tokens::default();
    let mut all = Vec::new();
    let greatest = sources.iter().map(|source| source.weight).fold(f32::MIN_POSITIVE, f32::max);
    for (source, Source { text, marked, weight, is_one, .. }) in sources.iter().enumerate() {
        let bytes = CONSIDERED_BYTES.iter().find(|(least, _)| weight / greatest >= *least).map_or(0, |(_, bytes)| *bytes);
        let considered = &text[..text.floor_char_boundary(bytes)];
        let first = all.len();
        tokenizer.tokenize(considered, &mut tokens);
        let mut token = 0;
        let bare = considered.len() - considered.trim_start().len()..considered.trim_end().len();
        let ranges = if *is_one && bare.len() <= LONGEST_ONE && !bare.is_empty() { vec![bare] } else { units(considered) };
        for range in ranges {
            let (mut words, mut found, mut parts) = (Vec::new(), 0.0, vec![0.0; wholes.len()]);
            while let Some(next) = tokens.get(token).filter(|next| next.start < range.end) {
                token += 1;
                if next.start < range.start {
                    continue;
                }
                let word = known.get(next.text).copied().unwrap_or_else(|| {
                    let number = (!is_stop_word(next.text)).then_some(count);
                    count += u32::from(number.is_some());
                    let word = Word { number, term: asked.get(next.text) };
                    known.insert(next.text.into(), word);
                    word
                });
                let Some(number) = word.number.filter(|number| !words.contains(number)) else { continue };
                words.push(number);
                if let Some(term) = word.term {
                    found += term.rarity;
                    term.parts.iter().for_each(|part| parts[*part] += term.rarity / wholes[*part]);
                }
            }
            let text = &considered[range.clone()];
            let is_marked = marked.is_some_and(|marked| range.contains(&marked));
            let matched = found / whole + if is_marked { MARKED } else { 0.0 };
            all.push(Passage { source, text, cost: cost(text) + MARK, range, words, matched, parts, is_chosen: false });
        }
        add_meaning(&mut all[first..], wanted.nearness);
    }
    Passages { all, worth: vec![0.0; count as usize] }
}

/// Returns the ranges of a text that may be chosen: its fragments, with a heading or an introduction ("The files:") before what it
/// introduces, and with a sentence after them that leans on them ("This replaces ..."). At the end of a text an introduction introduces
/// nothing, and is left out.
fn units(text: &str) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    let mut lead: Option<Range<usize>> = None;
    for range in fragments(text) {
        // Code is told without its fence.
        if let Some(lead) = lead.take_if(|lead| text[lead.end..range.start].contains(['`', '~'])) {
            units.push(lead);
        }
        let start = lead.take().map_or(range.start, |lead| lead.start);
        if start == range.start
            && leans(&text[range.clone()])
            && let Some(before) = units.last_mut().filter(|before| range.end - before.start <= LONGEST_LEANT)
            && !text[before.end..range.start].contains("\n\n")
        {
            before.end = range.end;
            continue;
        }
        if introduces(&text[range.clone()]) && range.end - start <= LONGEST_LEAD {
            lead = Some(start..range.end);
        } else {
            units.push(start..range.end);
        }
    }
    units.extend(lead.filter(|_| units.is_empty()));
    units
}

/// Returns whether a fragment is understood only after the one before it.
fn leans(fragment: &str) -> bool {
    let first = fragment.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    LEANING.contains(&first)
}

/// Returns whether a fragment only introduces what follows it.
fn introduces(fragment: &str) -> bool {
    let bare = fragment.trim_end_matches(['*', '_', ' ']);
    fragment.starts_with('#') || bare.ends_with(':') || fragment.starts_with("**") && fragment.ends_with("**")
}

/// Gives each word its worth.
fn weigh(sources: &[Source<'_>], asked_for: AskedFor, passages: &mut Passages<'_>) {
    let Passages { all, worth } = passages;
    let before = beside(all.iter());
    let mut after = beside(all.iter().rev());
    after.reverse();
    for ((passage, before), after) in all.iter().zip(before).zip(after) {
        let fitting = if fits(passage.text, asked_for) { FITTING } else { 1.0 };
        let promise = fitting * sources[passage.source].weight * (LEAST_MATCH + passage.matched + before.max(after));
        for word in &passage.words {
            worth[*word as usize] += promise;
        }
    }
}

/// Adds the nearness in meaning to the passages of a text that begin it, or have or adjoin a word of the question.
fn add_meaning(passages: &mut [Passage<'_>], nearness: &dyn Fn(&str) -> f32) {
    let has_word: Vec<bool> = passages.iter().map(|passage| passage.matched > 0.0).collect();
    for (at, passage) in passages.iter_mut().enumerate() {
        let around = &has_word[at.saturating_sub(NEARBY)..has_word.len().min(at + NEARBY + 1)];
        if at == 0 || around.contains(&true) {
            passage.matched += MEANING_WEIGHT * (nearness(passage.text) - UNRELATED).max(0.0);
        }
    }
}

/// Returns whether a text has a word by which a reason is given.
pub fn gives_reason(text: &str) -> bool {
    has_word_of(text, &REASONS)
}

fn has_word_of(text: &str, cues: &[&str]) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric()).any(|word| cues.iter().any(|cue| cue.eq_ignore_ascii_case(word)))
}

/// Returns whether a passage has the form of what is asked for: a cause, an item, what mended an error.
fn fits(passage: &str, asked_for: AskedFor) -> bool {
    match asked_for {
        AskedFor::Reason => gives_reason(passage),
        AskedFor::Error => has_word_of(passage, &MENDINGS),
        AskedFor::List => passage.starts_with('|') || is_item(passage),
        _ => false,
    }
}

/// Returns for each passage the best match of those that come before it in its text, less for each step.
fn beside<'p, 't: 'p>(passages: impl Iterator<Item = &'p Passage<'t>>) -> Vec<f32> {
    let (mut source, mut carried) = (usize::MAX, 0.0f32);
    passages
        .map(|passage| {
            if passage.source != source {
                (source, carried) = (passage.source, 0.0);
            }
            let found = carried;
            carried = BESIDE * carried.max(passage.matched);
            found
        })
        .collect()
}

/// A passage with its worth for cost when it was last looked at.
struct Offer {
    ratio: f32,
    passage: usize,
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Offer {}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ratio.total_cmp(&other.ratio).then(other.passage.cmp(&self.passage))
    }
}

/// The choice so far.
struct Choice<'s> {
    sources: &'s [Source<'s>],
    has_group: Vec<bool>,
    has_source: Vec<bool>,
    is_said: Vec<bool>,
    left: usize,
}

impl Choice<'_> {
    fn cost(&self, passage: &Passage<'_>) -> usize {
        let source = &self.sources[passage.source];
        let heading = if self.has_group[source.group] { 0 } else { source.group_cost };
        let own = if self.has_source[passage.source] { 0 } else { source.cost };
        passage.cost + heading + own
    }

    /// Returns the worth of the new words of a passage for its cost; one that stands apart from those chosen is harder to read.
    fn gain(&self, all: &[Passage<'_>], at: usize, worth: &[f32]) -> f32 {
        let passage = &all[at];
        let new = passage.words.iter().filter(|word| !self.is_said[**word as usize]);
        let is_chosen =
            |other: Option<&Passage<'_>>| other.is_some_and(|other| other.is_chosen && other.source == passage.source);
        let is_apart = !is_chosen(all.get(at + 1)) && !is_chosen(at.checked_sub(1).map(|before| &all[before]));
        let effort = if is_apart && self.has_source[passage.source] { APART } else { 0 };
        new.map(|word| worth[*word as usize]).sum::<f32>() / (self.cost(passage) + effort) as f32
    }

    fn take(&mut self, passage: &mut Passage<'_>) {
        self.left -= self.cost(passage);
        passage.is_chosen = true;
        self.has_group[self.sources[passage.source].group] = true;
        self.has_source[passage.source] = true;
        for word in &passage.words {
            self.is_said[*word as usize] = true;
        }
    }
}

fn choose(sources: &[Source<'_>], passages: Passages<'_>, wanted: &Wanted<'_>, budget: usize) -> Vec<Vec<Range<usize>>> {
    let Passages { mut all, worth } = passages;
    let groups = sources.iter().map(|source| source.group + 1).max().unwrap_or(0);
    let mut choice = Choice {
        sources,
        has_group: vec![false; groups],
        has_source: vec![false; sources.len()],
        is_said: vec![false; worth.len()],
        left: budget,
    };
    let mut best = 0.0f32;
    // An answer shows at least the best text.
    let first = wanted.broad.max(1).min(sources.len());
    for source in 0..first {
        // The best text is worth more than a pointer to each of the others.
        let share = if source == 0 && first > 1 { choice.left / 2 } else { choice.left / (first - source) };
        let own = |(at, passage): (usize, &Passage<'_>)| (passage.source == source).then(|| (at, choice.cost(passage)));
        let own: Vec<(usize, usize)> = all.iter().enumerate().filter_map(own).collect();
        let offer = |at: usize| Offer { ratio: choice.gain(&all, at, &worth), passage: at };
        if let Some(Offer { passage, ratio }) = own.iter().filter(|(_, cost)| *cost <= share).map(|(at, _)| offer(*at)).max() {
            best = best.max(ratio);
            choice.take(&mut all[passage]);
        } else if let Some((at, cost)) = own.into_iter().min_by_key(|(_, cost)| *cost) {
            // The shortest is cut.
            let passage = &mut all[at];
            let kept = cut(passage.text, (share + passage.cost).saturating_sub(cost + MARK));
            if !kept.is_empty() {
                passage.range.end = passage.range.start + kept.len();
                passage.cost = self::cost(kept) + MARK;
                choice.take(passage);
            }
        }
    }
    for part in 0..wanted.parts.len() {
        let promise = |passage: &Passage<'_>| sources[passage.source].weight * passage.parts[part];
        let held = all.iter().filter(|passage| passage.is_chosen).map(promise).fold(0.0, f32::max);
        let fitting = all.iter().enumerate().filter(|(_, passage)| !passage.is_chosen && choice.cost(passage) <= choice.left);
        let best = fitting.map(|(at, passage)| Offer { ratio: promise(passage), passage: at }).max();
        if let Some(Offer { passage, .. }) = best.filter(|best| best.ratio > held) {
            choice.take(&mut all[passage]);
        }
    }
    let mut offers: BinaryHeap<Offer> =
        (0..all.len()).map(|at| Offer { ratio: choice.gain(&all, at, &worth), passage: at }).collect();
    while let Some(Offer { ratio, passage: at }) = offers.pop() {
        let passage = &all[at];
        if passage.is_chosen || choice.cost(passage) > choice.left {
            continue;
        }
        let now = choice.gain(&all, at, &worth);
        if now <= 0.0 {
            continue;
        }
        // Something chosen meanwhile says a part of it.
        if now < ratio && offers.peek().is_some_and(|next| next.ratio > now) {
            offers.push(Offer { ratio: now, passage: at });
            continue;
        }
        if now < wanted.least_gain * best {
            break;
        }
        best = best.max(now);
        let source = passage.source;
        let is_opened = !choice.has_source[source];
        choice.take(&mut all[at]);
        // The others under a heading cost less now, and so do the neighbours.
        let group = sources[source].group;
        let is_eased = |other: usize| match is_opened {
            true => sources[all[other].source].group == group,
            false => other.abs_diff(at) == 1,
        };
        let eased = (0..all.len()).filter(|other| !all[*other].is_chosen && is_eased(*other));
        offers.extend(eased.map(|other| Offer { ratio: choice.gain(&all, other, &worth), passage: other }));
    }
    let mut chosen = vec![Vec::new(); sources.len()];
    for passage in all.into_iter().filter(|passage| passage.is_chosen) {
        chosen[passage.source].push(passage.range);
    }
    chosen
}

/// Returns the beginning of a text that costs at most `most` quarters of a token, up to the end of a word.
fn cut(text: &str, most: usize) -> &str {
    let mut spent = 0;
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        spent += if letter.is_ascii() { 1 } else { 4 };
        if letter.is_whitespace() {
            end = at;
        }
        if spent > most {
            return &text[..end];
        }
    }
    text
}

/// Returns passages as one text: an ellipsis marks each cut.
///
/// ```
/// use yore_core::pack::join;
/// assert_eq!(join("One. Two. Three.\nFour.", &[5..9, 17..22]), "… Two. …\nFour.");
/// ```
pub fn join(text: &str, passages: &[Range<usize>]) -> String {
    let mut joined = String::new();
    let mut end = 0;
    for range in passages {
        let between = &text[end..range.start];
        let is_fence = |line: &&str| ["```", "~~~"].iter().any(|mark| line.trim_start().starts_with(mark));
        let has_cut = between.lines().filter(|line| !is_fence(line)).any(|line| line.chars().any(char::is_alphanumeric));
        match (joined.is_empty(), has_cut) {
            (true, true) => joined.push_str("… "),
            (true, false) => {}
            (false, true) => joined.push_str(if between.contains('\n') { " …\n" } else { " … " }),
            (false, false) if between.contains('\n') => joined.push('\n'),
            (false, false) if !between.is_empty() => joined.push(' '),
            // Parts of one word, or of one line of code.
            (false, false) => {}
        }
        joined.push_str(&text[range.clone()]);
        end = range.end;
    }
    if !joined.is_empty() && text[end..].chars().any(char::is_alphanumeric) {
        joined.push_str(" …");
    }
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Question;

    fn packed(texts: &[&str], question: &str, budget: usize) -> Vec<String> {
        let mut tokenizer = Tokenizer::default();
        let question = Question::parse(question, &mut tokenizer);
        let sources: Vec<Source<'_>> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| Source {
                text,
                weight: 1.0 / (at as f32 + 2.0),
                group: at,
                cost: 0,
                group_cost: 40,
                marked: None,
                is_one: false,
            })
            .collect();
        let terms: Vec<(String, f32)> = question.terms.into_iter().map(|term| (term, 1.0)).collect();
        let passages = pack(&sources, &wanted(&terms, &[]), budget, &mut tokenizer);
        texts.iter().zip(passages).map(|(text, passages)| join(text, &passages)).collect()
    }

    fn wanted<'w>(terms: &'w [(String, f32)], parts: &'w [Vec<String>]) -> Wanted<'w> {
        Wanted { terms, parts, broad: 0, asked_for: AskedFor::State, least_gain: 0.0, nearness: &|_| 0.0 }
    }

    const LEASE: &str = "Good morning. The lease moved to SQLite because Redis lost heartbeats. Lunch was fine. See you.";

    #[test]
    fn the_passage_that_matches_is_chosen() {
        assert_eq!(
            packed(&[LEASE], "why did the lease move to sqlite?", 105),
            ["… The lease moved to SQLite because Redis lost heartbeats. …"]
        );
    }

    #[test]
    fn what_was_said_already_is_not_said_again() {
        let again = "We know: the lease moved to SQLite because Redis lost heartbeats.";
        let other = "The SQLite lease is renewed every nine seconds.";
        let found = packed(&[LEASE, again, other], "sqlite lease", 260);
        assert_eq!(found[1], "");
        assert_eq!(found[2], other);
    }

    #[test]
    fn the_first_text_is_shown_whatever_the_others_promise() {
        let found = packed(&["Nothing of it here at all.", LEASE], "sqlite lease redis", 70);
        assert_eq!(found, ["Nothing of it here at all.", ""]);
    }

    #[test]
    fn each_part_of_a_question_has_a_passage() {
        let texts =
            ["The lease moved to SQLite. The lease is nine seconds. SQLite keeps the lease.", "Logs are kept for a week."];
        let sources = [0, 1].map(|at| Source {
            text: texts[at],
            weight: 1.0 - 0.9 * at as f32,
            group: at,
            cost: 0,
            group_cost: 40,
            marked: None,
            is_one: false,
        });
        let terms: Vec<(String, f32)> = ["leas", "sqlite", "log", "kept"].map(|term| (term.to_owned(), 1.0)).to_vec();
        let parts = [vec!["leas".to_owned(), "sqlite".to_owned()], vec!["log".to_owned(), "kept".to_owned()]];
        let count = |parts: &[Vec<String>]| {
            let chosen = pack(&sources, &wanted(&terms, parts), 150, &mut Tokenizer::default());
            chosen.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(count(&[])[1], 0);
        assert_eq!(count(&parts)[1], 1);
    }

    #[test]
    fn sentence_that_leans_on_the_one_before_it_is_told_with_it_and_never_across_paragraphs() {
        let told = |text: &str| units(text).into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>();
        assert_eq!(
            told("Decision: the cache moves. Why: Redis was full. This replaces April. The build is green."),
            ["Decision: the cache moves. Why: Redis was full. This replaces April.", "The build is green."]
        );
        assert_eq!(told("The cache moves.\n\nThis paragraph is another."), ["The cache moves.", "This paragraph is another."]);
        let long = format!("The cache moves {}. This is too far.", "on and on ".repeat(50));
        assert_eq!(told(&long).len(), 2);
    }

    #[test]
    fn each_text_has_a_short_passage_where_the_answer_is_broad() {
        let texts =
            ["The lease moved to SQLite. The lease is nine seconds. SQLite keeps the lease for all of us.", "One more word."];
        let sources = [0, 1].map(|at| Source {
            text: texts[at],
            weight: 1.0 - 0.9 * at as f32,
            group: at,
            cost: 0,
            group_cost: 30,
            marked: None,
            is_one: false,
        });
        let terms = [("leas".to_owned(), 1.0), ("sqlite".to_owned(), 1.0)];
        let packed = |broad, budget| {
            let chosen = pack(&sources, &Wanted { broad, ..wanted(&terms, &[]) }, budget, &mut Tokenizer::default());
            [0, 1].map(|at| join(texts[at], &chosen[at]))
        };
        assert_eq!(packed(0, 120)[1], "");
        assert_eq!(packed(2, 120), ["The lease moved to SQLite. …", "One more word."]);
        assert_eq!(packed(2, 90), ["The lease …", "One more …"], "cut to its share");
    }

    #[test]
    fn passages_of_the_asked_form_are_preferred() {
        let text = "The cache of the lease is old. The cache is old because the lease was lost.";
        let source = Source { text, weight: 1.0, group: 0, cost: 0, group_cost: 0, marked: None, is_one: false };
        let terms = [("cach".to_owned(), 1.0), ("leas".to_owned(), 1.0)];
        let chosen = |asked_for| pack(&[source], &Wanted { asked_for, ..wanted(&terms, &[]) }, 60, &mut Tokenizer::default());
        assert_eq!(join(text, &chosen(AskedFor::Reason)[0]), "… The cache is old because the lease was lost.");
    }

    #[test]
    fn the_choice_ends_when_what_is_left_adds_little_whatever_the_budget() {
        let far = "Lunch was fine, and the weather was warm and dry for most of the day, as the paper had said before.";
        let text = format!("The lease moved to SQLite because Redis lost heartbeats. {far}");
        let source = Source { text: &text, weight: 1.0, group: 0, cost: 0, group_cost: 0, marked: None, is_one: false };
        let terms = [("leas".to_owned(), 1.0), ("sqlite".to_owned(), 1.0)];
        let chosen = |least_gain| pack(&[source], &Wanted { least_gain, ..wanted(&terms, &[]) }, 900, &mut Tokenizer::default());
        assert_eq!(join(&text, &chosen(0.0)[0]), text);
        assert_eq!(join(&text, &chosen(0.8)[0]), "The lease moved to SQLite because Redis lost heartbeats. …");
    }

    #[test]
    fn a_heading_is_told_with_what_follows_it_and_an_introduction_of_nothing_is_not() {
        let parts = |text: &str| units(text).into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>();
        assert_eq!(parts("# Lease\n\nIt moved to SQLite. Now run the tests:"), ["# Lease\n\nIt moved to SQLite."]);
        assert_eq!(parts("The files of it:\n- a.rs\n- b.rs"), ["The files of it:\n- a.rs", "- b.rs"]);
        assert_eq!(parts("Run this now:\n```sh\nmake\n```"), ["Run this now:", "make"], "without the fence");
        assert_eq!(parts("Now run the tests:"), ["Now run the tests:"], "there is nothing else");
    }

    #[test]
    fn a_short_statement_is_whole() {
        let text = "Plan: moor the lease. It has four parts. The lease is in SQLite.";
        let source = Source { text, weight: 1.0, group: 0, cost: 0, group_cost: 0, marked: None, is_one: true };
        let chosen = pack(&[source], &wanted(&[("sqlite".to_owned(), 1.0)], &[]), 900, &mut Tokenizer::default());
        assert_eq!(join(text, &chosen[0]), text);
    }

    #[test]
    fn a_marked_passage_is_chosen() {
        let text = "first line of it\n\nerror: no such table\n\nlast line of all";
        let source = Source { text, weight: 1.0, group: 0, cost: 0, group_cost: 0, marked: text.find("error"), is_one: false };
        let chosen = pack(&[source], &wanted(&[], &[]), 30, &mut Tokenizer::default());
        assert_eq!(join(text, &chosen[0]), "… error: no such table …");
    }

    proptest! {
        #[test]
        fn passages_keep_to_the_budget_and_to_their_texts(
            texts in proptest::collection::vec("([a-e .\n|-]|\\PC){0,200}", 0..6), asked in "[a-e ]{0,20}", budget in 0usize..400, broad in 0usize..7
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut tokenizer = Tokenizer::default();
            let question = Question::parse(&asked, &mut tokenizer);
            let sources: Vec<Source<'_>> = texts
                .iter()
                .enumerate()
                .map(|(at, text)| Source { text, weight: 0.5, group: at / 2, cost: 10, group_cost: 30, marked: text.find('a'), is_one: at % 2 == 1 })
                .collect();
            let parts = [question.terms.clone(), question.terms.iter().skip(1).cloned().collect()];
            let terms: Vec<(String, f32)> = question.terms.into_iter().map(|term| (term, 1.0)).collect();
            let passages = pack(&sources, &Wanted { broad, ..wanted(&terms, &parts) }, budget, &mut tokenizer);
            let mut spent = 0;
            let mut groups = std::collections::HashSet::new();
            for ((source, passages), text) in sources.iter().zip(&passages).zip(&texts) {
                prop_assert!(passages.windows(2).all(|pair| pair[0].end <= pair[1].start));
                if !passages.is_empty() {
                    spent += source.cost;
                    if groups.insert(source.group) {
                        spent += source.group_cost;
                    }
                }
                spent += passages.iter().map(|range| cost(&text[range.clone()])).sum::<usize>();
            }
            prop_assert!(spent <= budget);
        }
    }
}
