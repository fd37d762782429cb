//! Makes the rows of commands that serve a purpose: those that passed, and those that the project's documents name.

use std::collections::HashMap;

use yore_core::event::{EventKind, EventState, Purpose};
use yore_core::time::UtcMillis;

use super::view::{Asked, Rows, Subject};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::ViewRow;
use crate::store::EventFilter;

/// Most commands of an answer.
const MOST: usize = 6;
/// Weights beside the logarithm of the number of sessions in which a command passed: for the words of the subject beyond the purpose in
/// it, and for being named by a document.
const SUBJECT: f32 = 8.0;
const DOCUMENTED: f32 = 1.0;
const ONLY_DOCUMENTED: f32 = 0.5;
/// Deduction for a command that is about a part of the project.
const PART: f32 = 1.5;

#[derive(Default)]
struct Known {
    passed: u32,
    failed: u32,
    sessions: u32,
    last: Option<UtcMillis>,
    opens: String,
    /// The document that names it, and what that says of it.
    guide: Option<(String, String)>,
}

impl Engine {
    pub(super) fn command_rows(&self, asked: &Asked<'_>) -> Result<Rows, EngineError> {
        let mut known: HashMap<String, Known> = HashMap::new();
        let mut before: Vec<String> = Vec::new();
        let words =
            asked.wanted.subject.split_whitespace().filter(|word| Purpose::of(&format!("x {}", word.to_lowercase())).is_none());
        let subject = Subject::of(&words.collect::<Vec<_>>().join(" "), &asked.request.question);
        for stored in self.store().events(&EventFilter { kinds: &[EventKind::Command], ..asked.events() })? {
            let event = stored.event;
            let is_other = asked.wanted.purpose.is_some_and(|purpose| Purpose::parse(&event.text) != Some(purpose));
            if is_other && !subject.is_begun_in(&event.name) {
                continue;
            }
            let command = known.entry(event.name).or_default();
            match event.state {
                EventState::Failed => command.failed += event.count,
                _ => {
                    command.passed += event.count;
                    command.sessions += 1;
                    if command.last < event.at {
                        (command.last, command.opens) = (event.at, event.turn.short());
                    }
                }
            }
        }
        for documented in self.guides(asked)?.iter().flat_map(|guide| guide.commands(asked)) {
            if documented.is_before {
                before.push(documented.command.clone());
            }
            let command = known.entry(documented.command).or_default();
            command.guide.get_or_insert((documented.guide, documented.comment));
            if command.last.is_none() {
                (command.last, command.opens) = (documented.at, documented.opens);
            }
        }
        let all = known.len();
        let usable: Vec<(String, Known)> =
            known.into_iter().filter(|(_, known)| known.passed > 0 || known.guide.is_some()).collect();
        let told = |(command, known): &(String, Known)| {
            known.guide.as_ref().map_or_else(|| command.clone(), |(_, comment)| format!("{command} {comment}"))
        };
        let told: Vec<String> = usable.iter().map(told).collect();
        let is_begun: Vec<bool> = usable.iter().map(|(command, _)| subject.is_begun_in(command)).collect();
        // Commands that have only "cli" of "the docker image of the cli" are about something else.
        let are_beside = !is_begun.contains(&true) && subject.share_in(&told.join("\n")) < 0.5;
        let about =
            subject.shares_in(&told).into_iter().zip(is_begun).map(|(share, is_begun)| if is_begun { 1.0 } else { share });
        let mut passed: Vec<(f32, String, Known)> = usable
            .into_iter()
            .zip(about)
            .map(|((command, known), about)| (score(about, &command, &known), command, known))
            .collect();
        passed.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.2.last.cmp(&a.2.last)).then(a.1.cmp(&b.1)));
        if !before.is_empty() {
            // A document says what is to be run, and in which order.
            passed.retain(|(_, command, _)| before.contains(command));
            passed.sort_by_key(|(_, command, _)| before.iter().position(|known| known == command));
        } else if asked.wanted.purpose.is_none() {
            // The best of each purpose.
            let mut told: Vec<Option<Purpose>> = Vec::new();
            passed.retain(|(_, command, _)| {
                let purpose = Purpose::of(command);
                let is_new = !told.contains(&purpose);
                told.push(purpose);
                is_new
            });
        }
        passed.truncate(MOST);
        let rows: Vec<ViewRow> = passed.into_iter().map(|(_, command, known)| row(&command, known)).collect();
        let are_beside = are_beside && !rows.is_empty();
        Ok(Rows { rows, all, are_beside, ..Rows::default() })
    }
}

fn row(command: &str, known: Known) -> ViewRow {
    let run = match (known.passed, known.failed) {
        (0, 0) => None,
        (passed, 0) => Some(format!("passed {passed}×")),
        (passed, failed) => Some(format!("passed {passed}×, failed {failed}×")),
    };
    let guide = known.guide.as_ref().map(|(guide, _)| format!("in {guide}"));
    let comment = known.guide.map(|(_, comment)| comment).filter(|comment| !comment.is_empty() && !comment.contains(command));
    ViewRow {
        text: format!("`{command}`{}", comment.map(|comment| format!(" ({comment})")).unwrap_or_default()),
        state: Some(run.into_iter().chain(guide).collect::<Vec<_>>().join(", ")),
        at: known.last,
        opens: Some(known.opens),
        details: Vec::new(),
    }
}

/// Returns the worth of a command of which this share of the subject's words is.
fn score(about: f32, command: &str, known: &Known) -> f32 {
    let rate = known.passed as f32 / (known.passed + known.failed).max(1) as f32;
    let is_part = command.split_whitespace().skip(1).any(|word| {
        let is_path = word.contains('/') && !word.ends_with("...") && !word.starts_with('-');
        is_path || word.contains(['"', '\'', '$', '*']) || matches!(word, "-run" | "-k" | "-t")
    });
    let documented = match (&known.guide, known.passed) {
        (None, _) => 0.0,
        (Some(_), 0) => ONLY_DOCUMENTED,
        (Some(_), _) => DOCUMENTED,
    };
    (known.sessions as f32).ln_1p() * rate + SUBJECT * about + documented - if is_part { PART } else { 0.0 }
}
