//! Chooses the sentences of an answer from its evidence, word for word, and rates how much of the question they have.

use yore_core::pack::gives_reason;
use yore_core::query::{AnswerKind, AskDepth};
use yore_core::relevance::{Wording, is_announcement};
use yore_core::text::{Tokenizer, content_words, fragments, is_stop_word};

use super::answer::{AskAnswer, AskSentence, AskSource};
use super::evidence::{Gathered, Piece};
use crate::retrieve::View;
use crate::rules::{Words, is_name, normal, plain};

/// Most characters of an answer, by depth.
const CHARS: [usize; 3] = [900, 1_400, 2_000];
/// Share of the words of a sentence that others have, from which it says nothing new.
const SAID: f32 = 0.8;
/// Fewest words of a sentence without a name or a number.
const LEAST_WORDS: usize = 3;
/// Confidence of a list of what is recorded that has all of its subject.
const RECORDED: f32 = 0.95;
/// Most confidence of an answer to a question with a name that was never met.
const UNKNOWN: f32 = 0.15;
/// Part of the confidence that the sentences' share of the question decides.
const COVER: f32 = 0.5;

/// Makes an answer of the words of its evidence.
pub(super) fn choose(gathered: &Gathered, depth: AskDepth) -> AskAnswer {
    let mut tokenizer = Tokenizer::default();
    let answer = &gathered.answer;
    let mut told = AskAnswer {
        projects: answer.projects.clone(),
        is_project_unknown: answer.is_project_unknown,
        indexed: answer.indexed,
        unmet: if gathered.unknown.is_empty() { answer.unmet.clone() } else { gathered.unknown.clone() },
        ..AskAnswer::default()
    };
    let (mut said, mut left): (Vec<String>, usize) = (Vec::new(), CHARS[depth as usize]);
    let mut rows = 0;
    for piece in &gathered.pieces {
        let told_before = told.sentences.len();
        for text in statements(piece) {
            let words = content_words(&text, &mut tokenizer);
            let known = words.iter().filter(|word| said.contains(word)).count();
            let length = text.chars().count();
            if piece.is_of_text() && says_nothing(&text, &words, gathered) {
                continue;
            }
            if !words.is_empty() && known as f32 >= SAID * words.len() as f32 || length > left {
                continue;
            }
            left -= length;
            said.extend(words);
            let sources = vec![number_of(&mut told.sources, &piece.source)];
            let text = if piece.is_past { format!("(no longer so: “{text}”)") } else { text };
            told.sentences.push(AskSentence { text, sources });
        }
        // Nothing is told without what contradicts it.
        if told.sentences.len() > told_before {
            rows += usize::from(piece.is_row);
            let sources = vec![number_of(&mut told.sources, &piece.source)];
            left = left.saturating_sub(piece.against.iter().map(|text| text.chars().count()).sum());
            told.sentences.extend(piece.against.iter().map(|text| AskSentence { text: text.clone(), sources: sources.clone() }));
        }
    }
    let all = |view: &View| if view.kind == AnswerKind::Work && view.subject.is_empty() { view.all } else { view.total };
    told.unlisted = answer.view.as_ref().filter(|_| gathered.is_recorded).map_or(0, |view| all(view).saturating_sub(rows));
    told.empty = answer.view.clone().filter(|view| view.rows.is_empty());
    told.confidence = confidence(gathered, &said);
    told
}

/// Returns the number of a source, which is added if it is new.
pub(super) fn number_of(sources: &mut Vec<AskSource>, source: &AskSource) -> usize {
    let known = sources.iter().position(|known| known == source);
    known.unwrap_or_else(|| {
        sources.push(source.clone());
        sources.len() - 1
    }) + 1
}

/// Returns the sentences of a piece that state something.
fn statements(piece: &Piece) -> Vec<String> {
    if piece.is_row {
        // "#52" is a number there.
        return vec![piece.text.split_whitespace().collect::<Vec<_>>().join(" ")];
    }
    let stated = fragments(&piece.text).into_iter().filter_map(|range| {
        let fragment = piece.text[range].trim_matches(['…', ' ', '\n']);
        let is_question = fragment.trim_end_matches(['"', '”', ')', '*', '`', ' ']).ends_with('?');
        let is_asking = is_question || piece.is_person && Wording::of(fragment).asks_openly;
        if fragment.starts_with('#') || is_asking || !piece.is_person && (is_announcement(fragment) || narrates(fragment)) {
            return None;
        }
        let text = match fragment.strip_prefix('|') {
            Some(row) => row.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" – "),
            None => plain(fragment),
        };
        let is_empty = text.split_whitespace().count() < LEAST_WORDS
            && !text.contains(|letter: char| letter.is_ascii_digit() || letter == '`');
        (!is_empty).then(|| if piece.is_person { format!("“{text}”") } else { text })
    });
    stated.collect()
}

/// Returns whether a sentence of an agent tells what it is doing, or praises.
fn narrates(sentence: &str) -> bool {
    let sentence = normal(sentence);
    Words::of(&sentence).has("narration", &sentence)
}

/// Returns whether a sentence of a text has no word of the question, no name, number or rare word, and gives no reason.
fn says_nothing(text: &str, words: &[String], gathered: &Gathered) -> bool {
    let Some(rare) = &gathered.rare else { return false };
    let is_told = |word: &String| gathered.answer.terms.contains(word) || rare.contains(word);
    !words.iter().any(is_told)
        && !text.contains(|letter: char| letter.is_ascii_digit() || letter == '`')
        && !text.split_whitespace().any(is_name)
        && !gives_reason(text)
}

/// Returns the probability that the question is answered: that its memory bears on it, lowered by the share of the question that no
/// sentence has.
fn confidence(gathered: &Gathered, said: &[String]) -> f32 {
    if said.is_empty() {
        return 0.0;
    }
    if let (true, Some(subject)) = (gathered.is_recorded, &gathered.subject) {
        let weight = |(_, rarity): &&(String, f32)| *rarity;
        let whole: f32 = subject.iter().map(|word| weight(&word)).sum();
        let found: f32 = subject.iter().filter(|(word, _)| said.contains(word)).map(|word| weight(&word)).sum();
        return if whole > 0.0 { RECORDED * found / whole } else { RECORDED };
    }
    if gathered.is_recorded {
        return gathered.answer.confidence;
    }
    if !gathered.unknown.is_empty() {
        return gathered.answer.confidence.min(UNKNOWN);
    }
    let terms: Vec<&String> = gathered.answer.terms.iter().filter(|term| !is_stop_word(term)).collect();
    let found = terms.iter().filter(|term| said.contains(term)).count() as f32 / terms.len().max(1) as f32;
    gathered.answer.confidence * (1.0 - COVER + COVER * found)
}

#[cfg(test)]
mod tests {
    use super::narrates;

    #[test]
    fn an_agent_that_tells_what_it_does_answers_nothing_and_a_condition_does() {
        for told in ["Let me read the parser.", "I’m checking the final status.", "Good catch!", "Ich schaue mir das an."] {
            assert!(narrates(told), "{told}");
        }
        for said in [
            "If the token is unset, the daemon refuses to start.",
            "Exactly one process may hold the lock.",
            "You're right, the limit is 30 s, not 60.",
            "Now the cache lives in SQLite.",
            "I'm keeping the timeout at 30 s because the relay is slow.",
            "All tests now use PostgreSQL.",
        ] {
            assert!(!narrates(said), "{said}");
        }
    }
}
