//! Findings of readers in pieces, checked against their words, and put together: counted, listed, or handed on to be written.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yore_core::time::{UtcMillis, format_day, format_utc};

use super::pieces::Piece;
use super::plan::Operation;
use crate::llm::{Form, structured};

/// Longest quote and label that are kept, in characters.
const QUOTE_CHARS: usize = 300;
const LABEL_CHARS: usize = 200;
/// Most pairs that are listed.
const MOST_PAIRS: usize = 5_000;

/// A piece that counts, as a reader tells it.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(super) struct Match {
    /// Number of the piece.
    pub piece: usize,
    /// Its label.
    #[serde(default)]
    pub label: String,
    /// Its words that show it.
    #[serde(default)]
    pub quote: String,
}

/// The answer of a reader.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(super) struct Matches {
    /// The pieces that count.
    #[serde(default)]
    pub matches: Vec<Match>,
}

/// The form of a reader's answer.
pub(super) fn form() -> Form {
    let text = json!({"type": "string"});
    let one = structured::object(json!({"piece": {"type": "integer"}, "label": text, "quote": text}));
    let schema = structured::object(json!({"matches": {"type": "array", "items": one}}));
    Form { name: "matches", description: "The pieces that count, each with its label and the words that show it.", schema }
}

/// A place that an answer rests on.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Cited {
    /// Id of the turn or memory.
    pub opens: String,
    /// Id of the session; empty for a memory.
    pub session: String,
    /// Beginning of the agent's own id of the session.
    pub session_name: String,
    /// Who said it, or the kind of memory.
    pub by: String,
    /// When it was said.
    pub at: Option<UtcMillis>,
    /// Words of the turn, word for word.
    pub quote: String,
    /// The label that the reader gave it.
    pub label: String,
}

/// Checks what a reader says of a batch: the piece is in the batch, and has the words. Each piece counts once for each label. Returns what
/// stands, and the number of those that do not.
pub(super) fn checked(matches: &Matches, batch: &[usize], pieces: &[Piece]) -> (Vec<(usize, Cited)>, usize) {
    let mut kept: Vec<(usize, Cited)> = Vec::new();
    let mut refused = 0;
    for found in &matches.matches {
        let quote = squashed(&found.quote);
        let piece = batch.contains(&found.piece).then(|| &pieces[found.piece]);
        let has_words =
            piece.is_some_and(|piece| !quote.is_empty() && squashed(&piece.text).to_lowercase().contains(&quote.to_lowercase()));
        let (Some(piece), true) = (piece, has_words) else {
            refused += 1;
            continue;
        };
        let label: String = squashed(&found.label).chars().take(LABEL_CHARS).collect();
        if kept.iter().any(|(known, cited)| *known == found.piece && cited.label == label) {
            continue;
        }
        let cited = Cited {
            opens: piece.opens.to_string(),
            session: piece.session.to_string(),
            session_name: piece.session_name.to_string(),
            by: piece.by.to_owned(),
            at: piece.at,
            quote: quote.chars().take(QUOTE_CHARS).collect(),
            label,
        };
        kept.push((found.piece, cited));
    }
    (kept, refused)
}

fn squashed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Puts what was found together by session, the session that began first first: those that are listed with their labels, those that are
/// counted with the number of each kind, and the sums of all. `None`: as [`reduced`].
pub(super) fn reduced_by_session(operation: Operation, found: &[Cited]) -> Option<String> {
    let mut sessions: Vec<&str> = Vec::new();
    for cited in found {
        if !sessions.contains(&cited.session_name.as_str()) {
            sessions.push(&cited.session_name);
        }
    }
    let of = |session: &str| found.iter().filter(|cited| cited.session_name == session).cloned().collect::<Vec<Cited>>();
    let labels = |cited: &[Cited]| {
        let labels: Vec<String> =
            by_label(cited).into_values().filter(|group| !group.is_quote).map(|group| group.label).collect();
        if labels.is_empty() { String::new() } else { format!(": {}", labels.join("; ")) }
    };
    let day = |cited: &[Cited]| {
        let first = cited.iter().filter_map(|cited| cited.at).min();
        first.map_or_else(String::new, |at| format!(" ({})", format_day(at)))
    };
    let mut lines: Vec<String> = Vec::new();
    match operation {
        Operation::Count | Operation::List => {
            lines.push(sessions.len().to_string());
            for session in &sessions {
                let cited = of(session);
                let labels = if operation == Operation::List { labels(&cited) } else { String::new() };
                lines.push(format!("{session}{}{labels}", day(&cited)));
            }
        }
        Operation::CountBy => {
            let mut sums: BTreeMap<String, (String, usize)> = BTreeMap::new();
            let has_things = found.iter().any(|cited| cited.label.contains('|'));
            for session in &sessions {
                // Without things, the session is what is counted of each kind.
                let mut kinds = counted(&of(session));
                for (_, things) in kinds.values_mut() {
                    if !has_things {
                        *things = BTreeSet::from([(*session).to_owned()]);
                    }
                }
                for (key, (kind, things)) in &kinds {
                    sums.entry(key.clone()).or_insert_with(|| (kind.clone(), 0)).1 += things.len();
                }
                let told = kinds.values().map(|(kind, things)| match has_things {
                    true => format!("{kind} {}", things.len()),
                    false => kind.clone(),
                });
                let told: Vec<String> = told.collect();
                lines.push(format!("{session}{}: {}", day(&of(session)), told.join(", ")));
            }
            let told: Vec<String> = sums.values().map(|(kind, count)| format!("{kind} {count}")).collect();
            lines.insert(0, format!("together: {}", told.join(", ")));
        }
        Operation::Pairs | Operation::Answer => return reduced(operation, found),
    }
    Some(lines.join("\n"))
}

/// Puts what was found together as a plan says; `None` if sentences are wanted, which only a model writes.
pub(super) fn reduced(operation: Operation, found: &[Cited]) -> Option<String> {
    let mut turns: Vec<&String> = found.iter().map(|cited| &cited.opens).collect();
    turns.sort_unstable();
    turns.dedup();
    match operation {
        // Pieces of one turn are one.
        Operation::Count => Some(turns.len().to_string()),
        Operation::CountBy => {
            let counted = counted(found);
            let mut lines: Vec<(usize, &str)> = counted.values().map(|(kind, things)| (things.len(), kind.as_str())).collect();
            lines.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
            Some(lines.iter().map(|(count, label)| format!("{label}: {count}")).collect::<Vec<_>>().join("\n"))
        }
        Operation::List => {
            let mut groups: Vec<Group> = by_label(found).into_values().collect();
            groups.sort_by(|a, b| (a.first, &a.label).cmp(&(b.first, &b.label)));
            Some(groups.iter().map(Group::line).collect::<Vec<_>>().join("\n"))
        }
        Operation::Pairs => {
            let mut labels: Vec<String> = by_label(found).into_values().map(|group| group.label).collect();
            labels.sort();
            let pairs = (0..labels.len()).flat_map(|first| (first + 1..labels.len()).map(move |second| (first, second)));
            let lines = pairs.take(MOST_PAIRS).map(|(first, second)| format!("{}, {}", labels[first], labels[second]));
            Some(lines.collect::<Vec<_>>().join("\n"))
        }
        Operation::Answer => None,
    }
}

/// Returns the kinds of labels, ignoring case, each with what is counted of it: the things that labels name after a `|`, or else turns.
fn counted(found: &[Cited]) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut kinds: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    for cited in found {
        let label = if cited.label.is_empty() { &cited.quote } else { &cited.label };
        let (kind, thing) = match label.split_once('|') {
            Some((kind, thing)) => (kind.trim(), thing.trim().to_lowercase()),
            None => (label.as_str(), cited.opens.clone()),
        };
        kinds.entry(kind.to_lowercase()).or_insert_with(|| (kind.to_owned(), BTreeSet::new())).1.insert(thing);
    }
    kinds
}

/// The findings with one label.
struct Group {
    label: String,
    /// True if it has no label, and stands with its words.
    is_quote: bool,
    first: Option<UtcMillis>,
    last: Option<UtcMillis>,
    turns: Vec<String>,
}

impl Group {
    fn turns(&self) -> usize {
        self.turns.len()
    }

    fn line(&self) -> String {
        let day = |at: Option<UtcMillis>| at.map(format_day);
        match (day(self.first), day(self.last)) {
            (Some(first), Some(last)) if first != last => format!("{} ({first} to {last}, {} times)", self.label, self.turns()),
            (Some(first), _) => format!("{} ({first})", self.label),
            _ => self.label.clone(),
        }
    }
}

/// Groups what was found by its label, ignoring case; without labels by its words.
fn by_label(found: &[Cited]) -> BTreeMap<String, Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for cited in found {
        let label = if cited.label.is_empty() { &cited.quote } else { &cited.label };
        let group = groups.entry(label.to_lowercase()).or_insert_with(|| Group {
            label: label.clone(),
            is_quote: cited.label.is_empty(),
            first: cited.at,
            last: cited.at,
            turns: Vec::new(),
        });
        if let Some(at) = cited.at {
            group.first = Some(group.first.map_or(at, |first| first.min(at)));
            group.last = Some(group.last.map_or(at, |last| last.max(at)));
        }
        if !group.turns.contains(&cited.opens) {
            group.turns.push(cited.opens.clone());
        }
    }
    groups
}

/// Returns what was found as numbered evidence for whoever writes the answer.
pub(super) fn as_evidence(found: &[Cited]) -> Vec<Value> {
    let told = |(number, cited): (usize, &Cited)| {
        let session = (!cited.session_name.is_empty()).then_some(&cited.session_name);
        json!({
            "number": number, "label": cited.label, "session": session, "by": cited.by, "at": cited.at.map(format_utc),
            "words": cited.quote,
        })
    };
    (1..).zip(found).map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> Vec<Piece> {
        let texts = ["The crane  was repaired\nin May.", "The ferry was late.", "The crane was repaired again."];
        let piece = |(at, text): (usize, &&str)| Piece {
            opens: format!("turn {at}").into(),
            part: 0,
            session: "s".into(),
            session_name: "s".into(),
            project: None,
            by: "you",
            at: Some(at as i64 * 86_400_000),
            text: (*text).to_owned(),
        };
        texts.iter().enumerate().map(piece).collect()
    }

    fn found(piece: usize, label: &str, quote: &str) -> Match {
        Match { piece, label: label.to_owned(), quote: quote.to_owned() }
    }

    #[test]
    fn what_a_piece_does_not_say_does_not_count() {
        let matches = Matches {
            matches: vec![
                found(0, "crane", "the crane was repaired in may"),
                found(0, "again", "The crane"),
                found(1, "crane", "The crane was repaired"),
                found(2, "", ""),
                found(2, "", "   "),
                found(7, "", "The ferry"),
                found(2, "crane", "repaired again"),
            ],
        };
        let (kept, refused) = checked(&matches, &[0, 1], &pieces());
        assert_eq!(kept.iter().map(|(piece, _)| *piece).collect::<Vec<_>>(), [0, 0], "once for each label");
        assert_eq!(refused, 5, "other words, none, no such piece, a piece of another batch");
        let (kept, _) = checked(&matches, &[0, 1, 2], &pieces());
        assert_eq!(kept.len(), 3);
        assert_eq!(kept[2].1.quote, "repaired again");
    }

    #[test]
    fn what_was_found_is_counted_and_listed_by_its_label() {
        let matches =
            Matches { matches: vec![found(0, "Crane", "crane"), found(1, "ferry", "ferry"), found(2, "crane", "crane")] };
        let cited: Vec<Cited> = checked(&matches, &[0, 1, 2], &pieces()).0.into_iter().map(|(_, cited)| cited).collect();
        assert_eq!(reduced(Operation::Count, &cited).unwrap(), "3");
        assert_eq!(reduced(Operation::CountBy, &cited).unwrap(), "Crane: 2\nferry: 1");
        let of_kinds: Vec<Cited> = ["late | ferry", "late | Ferry", "late | bus", "early | ferry"]
            .into_iter()
            .map(|label| Cited { label: label.to_owned(), ..cited[0].clone() })
            .collect();
        assert_eq!(reduced(Operation::CountBy, &of_kinds).unwrap(), "late: 2\nearly: 1", "a thing counts once in its kind");
        let listed = reduced(Operation::List, &cited).unwrap();
        assert_eq!(listed, "Crane (1970-01-01 to 1970-01-03, 2 times)\nferry (1970-01-02)");
        assert_eq!(reduced(Operation::Pairs, &cited).unwrap(), "Crane, ferry");
        let mut of_sessions = of_kinds.clone();
        of_sessions[0].session_name = "r".to_owned();
        let by_session = |operation| reduced_by_session(operation, &of_sessions).unwrap();
        assert_eq!(by_session(Operation::Count), "2\nr (1970-01-01)\ns (1970-01-01)");
        assert_eq!(
            by_session(Operation::CountBy),
            "together: early 1, late 3\nr (1970-01-01): late 1\ns (1970-01-01): early 1, late 2"
        );
        assert_eq!(by_session(Operation::List).lines().nth(1), Some("r (1970-01-01): late | ferry"));
        assert_eq!(reduced(Operation::Answer, &cited), None);
        assert_eq!(reduced(Operation::Count, &[]).unwrap(), "0");
    }
}
