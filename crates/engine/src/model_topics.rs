//! A model summarises sessions, and names and summarises their topics, in the place of the sentences that are chosen without one.

use serde::Deserialize;
use serde_json::json;
use yore_core::episode::Role;

use crate::accounts::{Ledger, ends_run};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::extract::{ExtractRequest, FailedSession};
use crate::llm::{Form, LlmError, Model, Prompt, structured};
use crate::spending::{ByModel, MOST_FAILURES};
use crate::store::{EpisodeSummary, RowKey, ShownTurn, StoredSpan, StoredSummary};

/// Instructions, and their version; a change of the words is another file.
const INSTRUCTIONS: &str = include_str!("../prompts/summarise-2.md");
const NAME: &str = "summarise/2";
/// Characters of a session's lines, and of one line, that are given.
const CHARS: usize = 24_000;
const LINE_CHARS: usize = 600;
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
    pub stopped: Option<String>,
}

impl Engine {
    /// Lets a model summarise sessions and their topics, the newest first; topics that have a summary are left alone, and sessions
    /// that did not go on since. Of the request, only the choice of sessions counts.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`], [`EngineError::UnknownSession`]. Failures of the model are in the report.
    pub fn name_topics_by_model(&self, mut by: ByModel<'_>, request: &ExtractRequest) -> Result<NamedTopics, EngineError> {
        let sessions = self.sessions_to_extract(request)?;
        let mut failures = 0;
        let mut report = NamedTopics::default();
        let Some(_lock) = self.lock_for_models()? else {
            report.stopped = Some("another process lets a model read".to_owned());
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
                    report.stopped = Some(reason);
                    break;
                }
            };
            match self.name_topics(session, &model, &ledger)? {
                Ok(None) => report.unchanged += 1,
                Ok(Some(topics)) => {
                    failures = 0;
                    report.sessions += 1;
                    report.topics += topics;
                }
                Err(LlmError::Unanswered(_)) => report.waiting += 1,
                Err(error) if ends_run(&error) => {
                    report.stopped = Some(error.to_string());
                    break;
                }
                Err(error) => {
                    failures += 1;
                    report.failed.push(FailedSession { session: session.native_id.clone(), reason: error.to_string() });
                    if failures == MOST_FAILURES {
                        report.stopped = Some(format!("{failures} conversations failed one after the other"));
                        break;
                    }
                }
            }
        }
        Ok(report)
    }

    /// Summarises a session that has no summary of its present state, and names those of its topics that have none. Returns the number
    /// of topics that were named; `None`: nothing was left to do.
    fn name_topics(
        &self,
        session: &EpisodeSummary,
        model: &Model,
        ledger: &Ledger<'_>,
    ) -> Result<Result<Option<u64>, LlmError>, EngineError> {
        self.divide_changed(&[session.row], &mut || true)?;
        let mut spans = self.store().spans_of(&[session.row])?.remove(&session.row).unwrap_or_default();
        spans.retain(|span| span.depth == 0);
        let known = self.store().summaries_of(&[session.row])?.remove(&session.row);
        let turns = self.store().episode_turns(session.row)?;
        let Some(last) = turns.last().map(|turn| turn.row) else { return Ok(Ok(None)) };
        let is_known = known.as_ref().is_some_and(|known| known.last == last);
        if spans.is_empty() || (is_known && spans.iter().all(|span| span.summary.is_some())) {
            return Ok(Ok(None));
        }
        let prompt = self.prompt(session, known.as_ref(), &spans, &turns)?;
        let answered = match structured::ask::<Named>(model, &prompt, &form(), ledger) {
            Ok(answered) => answered.value,
            Err(error) => return Ok(Err(error)),
        };
        let mut count = 0;
        for topic in answered.topics {
            let asked = (topic.number as usize).checked_sub(1).and_then(|at| spans.get(at));
            let Some(span) = asked.filter(|span| span.summary.is_none()) else { continue };
            let (mut name, mut summary) = (short(&topic.name, NAME_CHARS), sentences_of(&topic.summary, SUMMARY_CHARS));
            self.redact([&mut name, &mut summary].into_iter())?;
            if !name.is_empty() && !summary.is_empty() {
                count += u64::from(self.store().name_topic(session.row, span.first, Some(&name), Some(&summary))?);
            }
        }
        let Summarised { title, summary } = answered.session;
        let (mut title, mut summary) = (short(&title, TITLE_CHARS), sentences_of(&summary, SUMMARY_CHARS));
        if title.is_empty() || summary.is_empty() {
            return Ok(Err(LlmError::Form("the session has no title or no summary".to_owned())));
        }
        self.redact([&mut title, &mut summary].into_iter())?;
        self.store().put_summary(session.row, &StoredSummary { title, summary, last }, NAME, self.now())?;
        Ok(Ok(Some(count)))
    }

    fn prompt(
        &self,
        session: &EpisodeSummary,
        known: Option<&StoredSummary>,
        spans: &[StoredSpan],
        turns: &[ShownTurn],
    ) -> Result<Prompt, EngineError> {
        // Each topic without a summary gets its share.
        let unnamed = spans.iter().filter(|span| span.summary.is_none());
        let share = CHARS / unnamed.clone().count().max(1);
        let (mut title, mut summary) = (session.title.clone(), known.map(|known| known.summary.clone()));
        self.redact_again(title.iter_mut().chain(&mut summary))?;
        let mut topics = Vec::with_capacity(spans.len());
        for (number, span) in (1..).zip(spans) {
            if let Some(summary) = &span.summary {
                let mut told = [span.name.clone().unwrap_or_default(), summary.clone()];
                self.redact_again(told.iter_mut())?;
                let [name, summary] = told;
                topics.push(json!({"name": name, "summary": summary}));
                continue;
            }
            let within = turns.iter().skip_while(|turn| turn.row != span.first);
            let end = within.clone().position(|turn| turn.row == span.last).map_or(usize::MAX, |at| at + 1);
            let spoken = within.take(end).filter(|turn| matches!(turn.role, Role::Human | Role::Assistant));
            let mut lines = Vec::new();
            for line in ends_of(spoken.map(|turn| (turn.role, short(&turn.text, LINE_CHARS))).collect(), share) {
                let Some((role, mut text)) = line else {
                    lines.push(json!({"left_out": true}));
                    continue;
                };
                self.redact_again([&mut text].into_iter())?;
                lines.push(json!({"role": role.as_str(), "content": text}));
            }
            topics.push(json!({"number": number, "lines": lines}));
        }
        let document = json!({"session": {"title": title, "project": session.project, "summary": summary}, "topics": topics});
        let last = turns.last().map_or(0, |turn| turn.row.get());
        // Answers are numbered by the topics of the session.
        let asked: Vec<String> = unnamed.map(|span| span.first.get().to_string()).collect();
        let key = format!("{NAME} {} {last} {}", session.native_id, asked.join(","));
        Ok(Prompt { system: INSTRUCTIONS.to_owned(), user: document.to_string(), max_tokens: MOST_ANSWER, key })
    }
}

/// Summary of a session and names of its topics, as a model gives them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    session: Summarised,
    topics: Vec<NamedTopic>,
}

/// Title and summary of a session.
#[derive(Deserialize)]
struct Summarised {
    title: String,
    summary: String,
}

/// The name of a topic.
#[derive(Deserialize)]
struct NamedTopic {
    number: u32,
    name: String,
    summary: String,
}

fn form() -> Form {
    let properties = json!({"number": {"type": "integer"}, "name": {"type": "string"}, "summary": {"type": "string"}});
    let topic = json!({"type": "object", "additionalProperties": false, "required": ["number", "name", "summary"], "properties": properties});
    let text = json!({"type": "string"});
    let session = json!({"type": "object", "additionalProperties": false, "required": ["title", "summary"], "properties": {"title": text, "summary": text}});
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["session", "topics"],
        "properties": {"session": session, "topics": {"type": "array", "items": topic}},
    });
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

/// Returns a text in one line, cut after the last sentence that fits, if one does.
fn sentences_of(text: &str, chars: usize) -> String {
    let whole = short(text, usize::MAX);
    let cut = short(&whole, chars);
    if cut.len() == whole.len() {
        return whole;
    }
    let end = cut.rfind(". ").map_or(cut.len(), |at| at + 1);
    cut[..end].to_owned()
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
        assert_eq!(sentences_of("äöü äöü", 5), "äöü ä");
    }
}
