//! Makes the rows of an overview: the summary of the subject's category, else what holds about it, sessions, pull requests, files.

use yore_core::event::{EventKind, EventState, Purpose};
use yore_core::memory::{Memory, MemoryKind, Status};
use yore_core::query::AnswerKind;
use yore_core::text::{WantedAnswer, fragments};

use super::guides::{Guide, definition_in};
use super::lists::row_of_memory;
use super::view::{Asked, Rows};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{RecallRequest, ViewRow};
use crate::rules::{cut, plain};
use crate::store::EventFilter;

/// Most statements, sessions and other things of an overview.
const MOST_STATEMENTS: usize = 3;
const MOST_SESSIONS: usize = 1;
const MOST_OTHERS: usize = 3;
/// Longest row, in characters.
const ROW_CHARS: usize = 140;
/// Hits of a search for what the subject is.
const SEARCHED: usize = 20;
/// Kinds of statements that an overview tells.
const KINDS: [MemoryKind; 8] = [
    MemoryKind::Decision,
    MemoryKind::Standard,
    MemoryKind::Preference,
    MemoryKind::Fact,
    MemoryKind::Documentation,
    MemoryKind::Conclusion,
    MemoryKind::Solution,
    MemoryKind::Problem,
];

impl Engine {
    pub(super) fn overview_rows(&self, asked: &Asked<'_>) -> Result<Rows, EngineError> {
        let (mut rows, mut all, mut category) = (Vec::new(), 0, None);
        if asked.subject.is_empty() {
            rows.extend(self.guides(asked)?.iter().find_map(Guide::introduction));
            let list = self.statement_rows(&as_kind(asked, AnswerKind::Decisions))?;
            rows.extend(list.rows.into_iter().take(MOST_OTHERS));
            let commands = [Purpose::Build, Purpose::Test, Purpose::Lint].into_iter().map(|purpose| {
                let wanted = WantedAnswer { purpose: Some(purpose), ..asked.wanted.clone() };
                let found = self.command_rows(&Asked { wanted, ..as_kind(asked, AnswerKind::Commands) })?;
                Ok(found.rows.into_iter().next().map(|row| ViewRow { state: Some(purpose.said().to_owned()), ..row }))
            });
            rows.extend(commands.collect::<Result<Vec<_>, EngineError>>()?.into_iter().flatten());
            let files = self.file_rows(&as_kind(asked, AnswerKind::Files))?;
            rows.extend(files.rows.into_iter().take(MOST_OTHERS));
        } else {
            let mut defined = self.guides(asked)?.iter().find_map(|guide| guide.definition(asked));
            if let Some(summary) = self.summary_rows(asked)? {
                if summary.category.as_ref().is_some_and(|(_, sufficed)| *sufficed) {
                    rows.extend(defined.into_iter().chain(summary.rows));
                    return Ok(Rows { all: rows.len(), rows, category: summary.category, ..Rows::default() });
                }
                category = summary.category;
            }
            if defined.is_none() {
                defined = self.definition_said(asked)?;
            }
            rows.extend(defined);
            let near = self.statements_about(asked, &KINDS)?;
            for id in near.iter().take(MOST_STATEMENTS) {
                let Some(memory) = self.store().memory(*id)?.filter(|memory| memory.status == Status::Holds) else { continue };
                let row = row_of_memory(&memory, at(&memory));
                rows.push(ViewRow { text: cut(&row.text, ROW_CHARS), ..row });
            }
            let kinds = [EventKind::PullRequest, EventKind::Issue, EventKind::Plan, EventKind::Release];
            let events = self.store().events(&EventFilter { kinds: &kinds, ..asked.events() })?;
            let is_about = |text: &str| asked.subject.share_in(text) >= 1.0;
            let mut names: Vec<String> = Vec::new();
            for event in
                events.iter().map(|known| &known.event).filter(|event| is_about(&format!("{} {}", event.name, event.text)))
            {
                if names.len() < MOST_OTHERS && !names.contains(&event.name) {
                    names.push(event.name.clone());
                    let state = (event.state != EventState::Seen).then(|| event.state.of_thing().as_str().to_owned());
                    let text = format!("{} {} {}", event.kind.as_str().replace('_', " "), event.name, event.text);
                    let text = cut(&text, ROW_CHARS);
                    rows.push(ViewRow { text, state, at: event.at, opens: Some(event.turn.short()), details: Vec::new() });
                }
            }
        }
        all += rows.len();
        let work = self.work_rows(&as_kind(asked, AnswerKind::Work))?;
        let brief = |row: ViewRow| ViewRow { details: Vec::new(), text: cut(&row.text, ROW_CHARS), ..row };
        rows.extend(work.rows.into_iter().take(MOST_SESSIONS).map(brief));
        Ok(Rows { rows, all: all.max(work.all), category, ..Rows::default() })
    }
}

impl Engine {
    /// Returns the lines of the summary of the category that the subject means; `None` if there is none, or a period is asked about.
    pub(super) fn summary_rows(&self, asked: &Asked<'_>) -> Result<Option<Rows>, EngineError> {
        if asked.since.is_some() || asked.until.is_some() {
            return Ok(None);
        }
        let found = self.summary_of_subject(asked.projects.as_deref(), &asked.wanted.subject)?;
        Ok(found.map(|found| {
            let rows = found.summary.lines.into_iter().map(|line| ViewRow {
                text: line.text,
                state: line.section.label().map(str::to_owned),
                at: line.at,
                opens: Some(line.source.short()),
                details: line.before.into_iter().collect(),
            });
            let rows: Vec<ViewRow> = rows.collect();
            Rows { all: rows.len(), rows, category: Some((found.name, found.is_sufficient)), ..Rows::default() }
        }))
    }

    /// Returns a sentence of an agent or a person that says what the subject is.
    fn definition_said(&self, asked: &Asked<'_>) -> Result<Option<ViewRow>, EngineError> {
        let request = RecallRequest { question: format!("what is {}", asked.wanted.subject), ..asked.searching(SEARCHED) };
        for hit in self.recall(&request)?.hits {
            let Some(turn) = hit.as_turn() else { continue };
            let parts = fragments(&turn.text);
            if let Some(text) = definition_in(parts.iter().map(|range| &turn.text[range.clone()]), asked) {
                let opens = Some(hit.id().short());
                return Ok(Some(ViewRow {
                    text: cut(&plain(&text), 2 * ROW_CHARS),
                    at: hit.time.utc,
                    opens,
                    ..ViewRow::default()
                }));
            }
        }
        Ok(None)
    }
}

/// Returns what is asked, as if for another kind.
fn as_kind<'r>(asked: &Asked<'r>, kind: AnswerKind) -> Asked<'r> {
    Asked { wanted: WantedAnswer { kind, ..asked.wanted.clone() }, ..asked.again() }
}

fn at(memory: &Memory) -> yore_core::time::UtcMillis {
    memory.valid_from.unwrap_or(memory.recorded)
}
