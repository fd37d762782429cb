//! The plan of a run: what is looked for, which pieces are read, and in which batches.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::pieces::Piece;
use crate::llm::{Form, structured};

/// Least pieces with a keyword that a filter must leave, and the largest share of all that is worth filtering for (S1-121, C-109).
const LEAST_LEFT: usize = 3;
const LARGEST_SHARE: f64 = 0.3;
/// Most tokens of a reader's answer for a piece, and for a batch.
const ANSWER_PER_PIECE: u32 = 90;
const ANSWER: (u32, u32) = (600, 6_000);
/// Most pieces of a batch: a reader that is asked about more at once misses some.
const MOST_PIECES: usize = 100;

/// The way in which what readers found is put together.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Operation {
    /// The number of pieces that count.
    Count,
    /// Their number for each label.
    CountBy,
    /// Each label once.
    List,
    /// Each two different labels together.
    Pairs,
    /// Sentences.
    Answer,
}

/// A plan, as a model makes it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Plan {
    /// How what is found is put together.
    pub operation: Operation,
    /// When a piece counts.
    pub condition: String,
    /// The words that a reader writes down of a piece that counts; may be empty.
    #[serde(default)]
    pub label: String,
    /// True if findings are counted or listed by session.
    #[serde(default)]
    pub by_session: bool,
    /// Words of which every piece that counts has at least one; may be empty.
    #[serde(default)]
    pub keywords: Vec<String>,
}

impl Plan {
    /// Returns the plan for a question of which no model made one.
    pub(super) fn plain(question: &str) -> Self {
        let condition = format!("it says something that helps to answer: {question}");
        Self { operation: Operation::Answer, condition, label: String::new(), by_session: false, keywords: Vec::new() }
    }
}

impl Operation {
    /// Returns what is done with the pieces, in a word.
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::Count | Self::CountBy => "count",
            Self::List => "list",
            Self::Pairs => "pair",
            Self::Answer => "read",
        }
    }
}

/// The form of a plan.
pub(super) fn form() -> Form {
    let words = json!({"type": "array", "items": {"type": "string"}});
    let operations = json!({"type": "string", "enum": ["count", "count_by", "list", "pairs", "answer"]});
    let text = json!({"type": "string"});
    let schema = structured::object(json!({
        "operation": operations, "condition": text, "label": text, "by_session": {"type": "boolean"}, "keywords": words,
    }));
    Form { name: "plan", description: "How the archive is read for the question.", schema }
}

/// The pieces that are read, and what reading them takes at most.
#[derive(Debug, PartialEq)]
pub(super) struct Reading {
    /// Numbers of the pieces of each batch.
    pub batches: Vec<Vec<usize>>,
    /// Number of pieces that have none of the keywords, and are not read.
    pub filtered: usize,
}

/// Divides pieces into batches of at most so many bytes, after leaving out those without any of the keywords, if that is worth it.
pub(super) fn reading(keywords: &[String], pieces: &[Piece], bytes: usize) -> Reading {
    let keywords: Vec<String> = keywords.iter().map(|word| word.trim().to_lowercase()).filter(|word| !word.is_empty()).collect();
    let all: Vec<usize> = (0..pieces.len()).collect();
    let has_one = |number: &usize| {
        let words = pieces[*number].text.to_lowercase();
        keywords.iter().any(|keyword| words.contains(keyword.as_str()))
    };
    let kept: Vec<usize> = if keywords.is_empty() { Vec::new() } else { all.iter().copied().filter(has_one).collect() };
    let is_worth_it =
        kept.len() >= LEAST_LEFT.min(pieces.len()).max(1) && (kept.len() as f64) < LARGEST_SHARE * pieces.len() as f64;
    let read = if is_worth_it { kept } else { all };
    Reading { filtered: pieces.len() - read.len(), batches: batches(&read, pieces, bytes) }
}

/// Divides the pieces of these numbers into batches of at most so many bytes and about equal size; a longer piece is one.
pub(super) fn batches(numbers: &[usize], pieces: &[Piece], bytes: usize) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let total: usize = numbers.iter().map(|number| pieces[*number].text.len()).sum();
    // A last batch with little costs as much as a full one.
    let equal = total.div_ceil(total.div_ceil(bytes.max(1)).max(1));
    let mut room = 0;
    for number in numbers {
        let length = pieces[*number].text.len();
        let is_full = bytes.saturating_sub(room) >= equal;
        match batches.last_mut().filter(|batch| length <= room && !is_full && batch.len() < MOST_PIECES) {
            Some(batch) => batch.push(*number),
            None => {
                batches.push(vec![*number]);
                room = bytes;
            }
        }
        room = room.saturating_sub(length);
    }
    batches
}

/// Most tokens of a reader's answer about so many pieces.
pub(super) fn most_answer(pieces: usize) -> u32 {
    (ANSWER_PER_PIECE.saturating_mul(pieces as u32)).clamp(ANSWER.0, ANSWER.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(texts: &[&str]) -> Vec<Piece> {
        let piece = |text: &&str| Piece {
            opens: "t".into(),
            part: 0,
            session: "s".into(),
            session_name: "s".into(),
            project: None,
            by: "you",
            at: None,
            text: (*text).to_owned(),
        };
        texts.iter().map(piece).collect()
    }

    #[test]
    fn batches_hold_every_piece_once_in_order_and_fit() {
        let texts: Vec<String> = (1..340).map(|length| "x".repeat(length * 7 % 31 + 1)).collect();
        let pieces = pieces(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        for bytes in [50, 100_000] {
            let found = reading(&[], &pieces, bytes);
            let all: Vec<usize> = found.batches.iter().flatten().copied().collect();
            assert_eq!(all, (0..pieces.len()).collect::<Vec<_>>());
            for batch in &found.batches {
                assert!(
                    batch.len() <= MOST_PIECES && batch.iter().map(|number| pieces[*number].text.len()).sum::<usize>() <= bytes
                );
            }
            assert_eq!(found.filtered, 0);
        }
        let long = reading(&[], &self::pieces(&["y".repeat(200).as_str(), "z"]), 50);
        assert_eq!(long.batches, [vec![0], vec![1]], "a piece that is longer than a batch is one");
    }

    #[test]
    fn a_filter_that_leaves_too_little_or_too_much_is_not_used() {
        let mut texts = vec!["the harbour"; 3];
        texts.extend(vec!["the pier"; 9]);
        let pieces = pieces(&texts);
        let filtered = |keywords: &[&str]| {
            let keywords: Vec<String> = keywords.iter().map(|word| (*word).to_owned()).collect();
            reading(&keywords, &pieces, 1_000).filtered
        };
        assert_eq!(filtered(&["Harbour "]), 9);
        assert_eq!(filtered(&["gull"]), 0, "nothing has it: the word was a wrong guess");
        assert_eq!(filtered(&["pier"]), 0, "most have it");
        assert_eq!(filtered(&["", " "]), 0);
        assert_eq!(filtered(&["harb.*r"]), 0, "a keyword is no pattern");
    }
}
