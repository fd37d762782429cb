//! Summarises sessions with a language model, and names and summarises their topics.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use yore_core::episode::Role;

use crate::budget::{Ledger, ends_run};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extraction::model_access::{MOST_FAILURES, ModelAccess, StopReason};
use crate::extraction::run::{ExtractRequest, FailedSession};
use crate::llm::structured::{self, Answered};
use crate::llm::{Class, Form, LlmError, Model, Prompt};
use crate::store::{EpisodeSummary, ShownTurn, Spans, StoredSpan, StoredSummary, TopicName, TurnKey, Turns};

/// Instructions, and their version; a change of the words is another file.
const INSTRUCTIONS: &str = include_str!("../../prompts/summarise-2.md");
const NAME: &str = "summarise/2";
/// Name under which sessions are noted whose answers had not the form.
const MISFORMED: &str = "summary misformed";
/// Characters of a session's lines, and of one line, that are given, at most; and of one line at least.
const CHARS: usize = 24_000;
const LINE_CHARS: usize = 600;
const LEAST_CHARS: usize = 80;
/// Most tokens of an answer, and longest title, name and summary in characters.
const MOST_ANSWER: u32 = 4_000;
const TITLE_CHARS: usize = 100;
const NAME_CHARS: usize = 80;
const SUMMARY_CHARS: usize = 900;

/// The result of summarising sessions and naming their topics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedTopics {
    /// Sessions that were summarised.
    pub sessions: u64,
    /// Topics that were named.
    pub topics: u64,
    /// Sessions that have a summary and named topics already.
    pub unchanged: u64,
    /// Sessions of projects that nobody may read.
    pub left_out: u64,
    /// Sessions whose requests wait for an answer in a folder.
    pub waiting: u64,
    /// Sessions that failed.
    pub failed: Vec<FailedSession>,
    /// Why the run ended before all sessions were read.
    pub stopped: Option<StopReason>,
}

impl Engine {
    /// Lets a model summarise sessions and their topics, the newest first; topics that have a summary are left alone, and sessions
    /// that did not go on since. Of the request, only the choice of sessions counts.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`], [`EngineError::UnknownSession`]. Failures of the model are in the report.
    pub fn name_topics_by_model(&self, mut by: ModelAccess<'_>, request: &ExtractRequest) -> Result<NamedTopics, EngineError> {
        let sessions = self.sessions_to_extract(request, false)?;
        let (shapes, misformed) = (self.store().shapes(None)?, self.store().shapes(Some(MISFORMED))?);
        let mut failures = 0;
        let mut report = NamedTopics::default();
        let Some(_lock) = self.lock_for_models()? else {
            report.stopped = Some(StopReason::OtherProcess);
            return Ok(report);
        };
        for session in &sessions {
            let (model, ledger) = match by.reader(self, session.project.as_deref()) {
                Ok(Some(reader)) => reader,
                Ok(None) => {
                    report.left_out += 1;
                    continue;
                }
                Err(reason) => {
                    report.stopped = Some(StopReason::NoModel(reason));
                    break;
                }
            };
            let shape = shapes.get(&session.row).copied().unwrap_or_default();
            // It would be asked in vain each time, until it goes on.
            if misformed.get(&session.row) == Some(&shape) {
                report.unchanged += 1;
                continue;
            }
            match self.name_topics(session, &model, &ledger) {
                Ok(None) => report.unchanged += 1,
                Ok(Some(topics)) => {
                    failures = 0;
                    report.sessions += 1;
                    report.topics += topics;
                }
                Err(EngineError::Llm(LlmError::Unanswered(_))) => report.waiting += 1,
                Err(EngineError::Llm(error)) if ends_run(&error) => {
                    report.stopped = Some(StopReason::Failed((&error).into()));
                    break;
                }
                Err(EngineError::Llm(error)) => {
                    if error.class() == Class::Validation {
                        self.store().note_extraction(session.row, MISFORMED, Some(shape), self.now())?;
                    }
                    failures += 1;
                    report.failed.push(FailedSession { session: session.native_id.clone(), reason: (&error).into() });
                    if failures == MOST_FAILURES {
                        report.stopped = Some(StopReason::Conversations(failures));
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    /// Summarises a session that has no summary of its present state, and names those of its topics that have none. Returns the number
    /// of topics that were named; `None`: nothing was left to do.
    fn name_topics(&self, session: &EpisodeSummary, model: &Model, ledger: &Ledger<'_>) -> Result<Option<u64>, EngineError> {
        self.divide_changed(&[session.row], &mut || true)?;
        let mut spans = self.store().spans(Spans::Of(&[session.row]))?;
        spans.retain(|span| span.depth == 0);
        let known = self.store().summaries_of(&[session.row])?.remove(&session.row);
        let turns = self.store().turns(Turns::OfEpisode(session.row))?;
        let Some(last) = turns.last().map(|turn| turn.row) else { return Ok(None) };
        if spans.is_empty() || known.as_ref().is_some_and(|known| known.last == last) {
            return Ok(None);
        }
        let mut topics = topics_of(spans, known.as_ref(), &turns);
        let mut halvings = 0;
        let Answered { value, is_partial, .. } = loop {
            let prompt = self.prompt(session, known.as_ref(), &topics, &turns)?;
            let ask = if halvings == 0 { structured::ask::<Named> } else { structured::ask_for_part::<Named> };
            match ask(model, &prompt, &form(), ledger) {
                Ok(answered) => break answered,
                Err(LlmError::CutOff(_)) if halvings < structured::HALVINGS && halve(&mut topics) => halvings += 1,
                Err(error) => return Err(error.into()),
            }
        };
        let mut named: Vec<TopicName> = Vec::new();
        for NamedTopic { number, name, summary } in value.topics {
            let asked = (number as usize).checked_sub(1).and_then(|at| topics.get(at));
            let Some(topic) = asked.filter(|topic| topic.is_asked) else { continue };
            let (mut name, mut summary) = (short(&name, NAME_CHARS), sentences_of(&summary, SUMMARY_CHARS));
            self.redact([&mut name, &mut summary].into_iter())?;
            if !name.is_empty() && !summary.is_empty() {
                named.push(TopicName { first: topic.span.first, name: Some(name), summary: Some(summary) });
            }
        }
        let summary = match value.session {
            // Of a half, it is no summary of the session.
            Some(Summarised { title, summary }) if halvings == 0 => {
                let (mut title, mut summary) = (short(&title, TITLE_CHARS), sentences_of(&summary, SUMMARY_CHARS));
                self.redact([&mut title, &mut summary].into_iter())?;
                Some(StoredSummary { title, summary, last })
            }
            // The complete part is kept, and the rest is asked for with the next run.
            _ if (is_partial || halvings > 0) && !named.is_empty() => None,
            _ => return Err(LlmError::Form("the session has no title and summary".to_owned()).into()),
        };
        let given: Vec<TurnKey> = turns.iter().map(|turn| turn.row).collect();
        let is_stored = self.store().put_summary(session.row, &given, &named, summary.as_ref(), NAME, self.now())?;
        Ok(is_stored.map(|_| named.len() as u64))
    }

    fn prompt(
        &self,
        session: &EpisodeSummary,
        known: Option<&StoredSummary>,
        topics: &[TopicToTell],
        turns: &[ShownTurn],
    ) -> Result<Prompt, EngineError> {
        // Each topic whose lines are given gets its share.
        let share = CHARS / topics.iter().filter(|topic| topic.has_lines).count().max(1);
        let most = LINE_CHARS.min((share / 2).max(LEAST_CHARS));
        let (mut title, mut summary) = (session.title.clone(), known.map(|known| known.summary.clone()));
        self.redact_again(title.iter_mut().chain(&mut summary))?;
        let mut told = Vec::with_capacity(topics.len());
        for (number, topic) in (1..).zip(topics) {
            let span = &topic.span;
            let (mut name, mut summary) = (span.name.clone(), span.summary.clone());
            self.redact_again(name.iter_mut().chain(&mut summary))?;
            let mut lines = Vec::new();
            let within = turns.iter().skip_while(|turn| turn.row != span.first);
            let end = within.clone().position(|turn| turn.row == span.last).map_or(usize::MAX, |at| at + 1);
            let spoken = within.take(if topic.has_lines { end } else { 0 });
            let spoken = spoken.filter(|turn| turn.caveat.is_none() && matches!(turn.role, Role::Human | Role::Assistant));
            for line in ends_of(spoken.map(|turn| (turn.role, short(&turn.text, most))).collect(), share) {
                let Some((role, mut text)) = line else {
                    lines.push(json!({"left_out": true}));
                    continue;
                };
                self.redact_again([&mut text].into_iter())?;
                lines.push(json!({"role": role.as_str(), "content": text}));
            }
            let number = topic.is_asked.then_some(number);
            let parts = [("number", json!(number)), ("name", json!(name)), ("summary", json!(summary)), ("lines", json!(lines))];
            let is_there = |value: &Value| !value.is_null() && value.as_array().is_none_or(|lines| !lines.is_empty());
            let parts = parts.into_iter().filter(|(_, value)| is_there(value)).map(|(name, value)| (name.to_owned(), value));
            told.push(parts.collect::<Map<String, Value>>());
        }
        let document = json!({"session": {"title": title, "project": session.project, "summary": summary}, "topics": told});
        let last = turns.last().map(|turn| turn.row).unwrap_or_default();
        // Answers are numbered by the topics of the session.
        let asked = topics.iter().filter(|topic| topic.is_asked);
        let asked: Vec<String> = asked.map(|topic| topic.span.first.to_string()).collect();
        let key = format!("{NAME} {} {last} {}", session.native_id, asked.join(","));
        Ok(Prompt {
            system: INSTRUCTIONS.to_owned(),
            user: document.to_string(),
            max_tokens: MOST_ANSWER,
            key,
            ..Prompt::default()
        })
    }
}

/// A topic that a model is told of.
struct TopicToTell {
    span: StoredSpan,
    /// True if it has no name and summary, or went on since.
    is_asked: bool,
    /// True if the summary of the session does not know its lines.
    has_lines: bool,
}

/// Leaves the second half of the topics that are asked about to the next run; returns whether there were several.
fn halve(topics: &mut [TopicToTell]) -> bool {
    let asked = topics.iter().filter(|topic| topic.is_asked).count();
    if asked < 2 {
        return false;
    }
    for topic in topics.iter_mut().filter(|topic| topic.is_asked).skip(asked.div_ceil(2)) {
        (topic.is_asked, topic.has_lines) = (false, false);
    }
    true
}

/// Returns what is told of the topics of a session: lines of those that its summary does not know, or not as they are now.
fn topics_of(spans: Vec<StoredSpan>, known: Option<&StoredSummary>, turns: &[ShownTurn]) -> Vec<TopicToTell> {
    let place = |turn: TurnKey| turns.iter().position(|of| of.row == turn);
    let known = known.and_then(|known| place(known.last));
    let topic = |span: StoredSpan| {
        let goes_on = known.is_none_or(|known| place(span.last).is_none_or(|last| last > known));
        let is_asked = span.summary.is_none() || known.is_some() && goes_on;
        TopicToTell { span, is_asked, has_lines: is_asked || goes_on }
    };
    spans.into_iter().map(topic).collect()
}

/// Summary of a session and names of its topics, as a model gives them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    /// None where the answer was cut off before it.
    #[serde(default)]
    session: Option<Summarised>,
    #[serde(default)]
    topics: Vec<NamedTopic>,
}

/// Title and summary of a session.
#[derive(Deserialize)]
#[serde(try_from = "GivenSummary")]
struct Summarised {
    title: String,
    summary: String,
}

/// The same as a model gives it.
#[derive(Deserialize)]
struct GivenSummary {
    title: String,
    summary: String,
}

impl TryFrom<GivenSummary> for Summarised {
    type Error = &'static str;

    fn try_from(given: GivenSummary) -> Result<Self, Self::Error> {
        let GivenSummary { title, summary } = given;
        if title.trim().is_empty() || summary.trim().is_empty() {
            return Err("session.title or session.summary is empty");
        }
        Ok(Self { title, summary })
    }
}

/// The name of a topic.
#[derive(Deserialize)]
struct NamedTopic {
    number: u32,
    name: String,
    summary: String,
}

fn form() -> Form {
    let text = json!({"type": "string"});
    let topic = structured::object(json!({"number": {"type": "integer"}, "name": text, "summary": text}));
    let session = structured::object(json!({"title": text, "summary": text}));
    let schema = structured::object(json!({"session": session, "topics": {"type": "array", "items": topic}}));
    Form { name: "topics", description: "Title and summary of the session, name and summary of each topic.", schema }
}

/// Returns the lines of a topic that fit into so many characters: the first ones, and the last ones, which say what came of it. None
/// stands for those that are left out.
fn ends_of(lines: Vec<(Role, String)>, room: usize) -> Vec<Option<(Role, String)>> {
    let lines: Vec<(Role, String)> = lines.into_iter().filter(|(_, text)| !text.is_empty()).collect();
    let lengths: Vec<usize> = lines.iter().map(|(_, text)| text.chars().count()).collect();
    if lengths.iter().sum::<usize>() <= room {
        return lines.into_iter().map(Some).collect();
    }
    // Each end has one line at least.
    let fitting = |lengths: &mut dyn Iterator<Item = &usize>| {
        let mut left = room / 2;
        let fits = |length: &&usize| left.checked_sub(**length).inspect(|rest| left = *rest).is_some();
        lengths.take_while(fits).count().max(1)
    };
    let (first, last) = (fitting(&mut lengths.iter()), fitting(&mut lengths.iter().rev()));
    let from = lines.len().saturating_sub(last).max(first);
    let mut kept: Vec<Option<(Role, String)>> = Vec::new();
    for (at, line) in lines.into_iter().enumerate() {
        if at < first || at >= from {
            kept.push(Some(line));
        } else if at == first {
            kept.push(None);
        }
    }
    kept
}

/// Returns a text in one line, cut after the last sentence that fits, if half of it or more is kept so.
fn sentences_of(text: &str, chars: usize) -> String {
    let whole = short(text, usize::MAX);
    let cut = short(&whole, chars);
    let ends = |(at, letter): (usize, char)| {
        let next = whole[at + 1..].chars().next();
        let is_end = ".?!".contains(letter) && next.is_none_or(|next| next == ' ');
        is_end.then_some(at + 1)
    };
    let end = cut.char_indices().rev().filter(|(_, letter)| letter.is_ascii()).find_map(ends).filter(|end| 2 * end >= cut.len());
    if cut.len() == whole.len() { whole } else { cut[..end.unwrap_or(cut.len())].to_owned() }
}

/// Returns a text in one line, cut.
fn short(text: &str, chars: usize) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(chars).collect()
}

#[cfg(test)]
mod tests {
    use yore_core::episode::Role;

    use super::{ends_of, sentences_of};

    #[test]
    fn a_long_topic_is_given_by_its_first_and_its_last_lines() {
        let kept = |room: usize| {
            let lines = ["aaaa", "", "bbbb", "cccc", "dddd", "eeee"].map(|text| (Role::Human, text.to_owned()));
            let kept = ends_of(lines.to_vec(), room).into_iter();
            kept.map(|line| line.map_or("-".to_owned(), |(_, text)| text[..1].to_owned())).collect::<String>()
        };
        assert_eq!([20, 19, 16, 8, 1].map(kept), ["abcde", "ab-de", "ab-de", "a-e", "a-e"]);
        assert_eq!(ends_of(vec![(Role::Human, "abc".to_owned())], 1).len(), 1);
        assert_eq!(ends_of(Vec::new(), 1).len(), 0);
    }

    #[test]
    fn a_summary_that_is_too_long_ends_with_a_sentence() {
        assert_eq!(sentences_of("One  is here. Two is\nthere.", 100), "One is here. Two is there.");
        assert_eq!(sentences_of("One is here. Two is there.", 20), "One is here.");
        assert_eq!(sentences_of("Is it? Yes, it is there.", 6), "Is it?");
        assert_eq!(sentences_of("Done. And now a long one that goes on", 29), "Done. And now a long one that");
        assert_eq!(sentences_of("äöü äöü", 5), "äöü ä");
    }
}
