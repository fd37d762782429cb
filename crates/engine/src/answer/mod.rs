//! Composes an answer: a view over what is recorded, turns and memories, their topics, and the state of the code.

mod cause;
mod command_rows;
mod guides;
mod lists;
mod overview;
mod touched;
mod view;
mod withheld;
mod work;

use yore_core::event::Purpose;
use yore_core::id::MemoryId;
use yore_core::memory::Use;
use yore_core::query::{AnswerKind, Filter};
use yore_core::scope::ScopeChoice;

use self::view::{Subject, Viewed};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{Hit, RecallAnswer, RecallRequest, View, ViewRow};

/// Most hits beside a view with rows, and the share of the token budget that is theirs.
const BESIDE_VIEW: usize = 3;
const SHARE_BESIDE_VIEW: usize = 3;
/// Most hits beside the overview of a subject, which have the whole budget: its rows tell less than they do (`docs/measurements.md`).
const BESIDE_OVERVIEW: usize = 8;

impl Engine {
    /// Answers a question with all that a front end shows, and counts the memories that the answer shows. With `is_synced`, turns that
    /// wait for the index are indexed first.
    ///
    /// A request with a deadline waits neither for the index nor for topics or the working tree. What cannot be found beside the answer is
    /// no reason to withhold it.
    ///
    /// # Errors
    /// See [`Engine::recall`].
    pub fn answer(&self, request: &RecallRequest, is_synced: bool) -> Result<RecallAnswer, EngineError> {
        let mut answer = self.answered(request, is_synced)?;
        keep_what_rows_lack(request, &mut answer);
        if answer.view.as_ref().is_some_and(|view| view.sufficed == Some(true)) {
            answer.hits.clear();
        }
        self.count_shown(&answer, request);
        Ok(answer)
    }

    /// Counts the memories that an answer shows.
    pub(crate) fn count_shown(&self, answer: &RecallAnswer, request: &RecallRequest) {
        let shown: Vec<MemoryId> = answer.hits.iter().filter_map(|hit| hit.id().memory()).collect();
        if !shown.is_empty() {
            let _ = self.record_memory_uses(&shown, Use::Shown, request.asking.as_deref(), Some(&request.question));
        }
    }

    /// Answers as [`Engine::answer`], and counts nothing.
    pub(crate) fn answered(&self, request: &RecallRequest, is_synced: bool) -> Result<RecallAnswer, EngineError> {
        let has_time = request.deadline.is_none();
        if is_synced && has_time && self.is_behind(request.mode).unwrap_or(false) {
            // Turns that the index cannot take now are searched in memory.
            let _ = self.sync_index(0, &mut |_| {});
        }
        let Viewed { kind, view, is_project_unknown } = match has_time && !request.is_bare {
            true => self.view(request).unwrap_or_else(|_| Viewed::passages()),
            false => Viewed::passages(),
        };
        if is_project_unknown {
            // Other projects' statements answer nothing.
            let nowhere = Filter { scope: ScopeChoice::CurrentOnly, ..request.filter.clone() };
            let answer = self.recall(&RecallRequest { filter: nowhere, ..request.clone() })?;
            return Ok(RecallAnswer { answer_kind: kind, ..answer });
        }
        let has_rows = view.as_ref().is_some_and(|view| !view.rows.is_empty());
        let mut answer = match view.as_ref().filter(|_| has_rows) {
            Some(view) => self.recall(&beside_view(view, request))?,
            None => self.recall(request)?,
        };
        // Words of other times do not answer what was done then.
        let is_idle = view.as_ref().is_some_and(|view| view.kind == AnswerKind::Work && view.period.is_some() && !has_rows);
        if is_idle {
            answer.hits.clear();
        } else if !has_rows && has_time && !request.is_bare && answer.hits.is_empty() {
            if answer.is_refused {
                answer = self.unrefused(request)?.unwrap_or(answer);
            }
            if answer.hits.is_empty() {
                answer.withheld = self.withheld(request)?;
            }
        }
        let view = view.map(|view| without_what_is_quoted(view, &answer.hits));
        (answer.answer_kind, answer.view) = (kind, view);
        if request.with_titles && has_time {
            for session in &mut answer.sessions {
                session.title = self.session_of(&session.native_id).ok().and_then(|session| session.title);
            }
        }
        if request.with_topics && has_time {
            let _ = self.tell_topics(request, &mut answer);
        }
        if let Some(here) = request.here.as_ref().filter(|_| has_time && !request.is_bare) {
            let _ = self.check_found(here, &mut answer.hits);
        }
        Ok(answer)
    }
}

/// Leaves out the passages beside rows that add no word of the question to them: they share words with it, and say less. Rows of something
/// else than the subject answer nothing; those of an overview or a cause are only a part of what is known.
pub(crate) fn keep_what_rows_lack(request: &RecallRequest, answer: &mut RecallAnswer) {
    let is_sure = |view: &&View| {
        !view.is_widened && !view.rows.is_empty() && !matches!(view.kind, AnswerKind::Overview | AnswerKind::Cause)
    };
    let Some(view) = answer.view.as_ref().filter(is_sure) else { return };
    let words =
        |row: &ViewRow| [std::slice::from_ref(&row.text), row.state.as_slice(), row.details.as_slice()].concat().join(" ");
    let purpose = view.purpose.map_or("", Purpose::said).to_owned();
    let told = view.rows.iter().map(words).chain([purpose]).collect::<Vec<_>>().join("\n");
    let lacking = Subject::of(&request.question, &request.question).lacking_in(&told);
    answer.hits.retain(|hit| {
        let beside = hit.beside.iter().map(|said| said.text.as_str());
        !lacking.is_empty() && std::iter::once(hit.quote.as_str()).chain(beside).any(|text| lacking.share_in(text) > 0.0)
    });
}

/// Leaves out the rows of an overview of which a passage beside it is the whole text.
fn without_what_is_quoted(mut view: View, hits: &[Hit]) -> View {
    if is_of_subject(&view) && view.sufficed != Some(true) {
        let quoted: Vec<String> = hits.iter().filter(|hit| !hit.quote.is_empty()).map(|hit| hit.id().short()).collect();
        view.rows.retain(|row| row.opens.as_ref().is_none_or(|id| !quoted.contains(id)));
        view.total = view.rows.len();
    }
    view
}

/// Returns the request for the passages that stand beside a view: a few, but for the overview of a subject.
fn beside_view(view: &View, request: &RecallRequest) -> RecallRequest {
    if is_of_subject(view) && view.sufficed != Some(true) {
        return RecallRequest { limit: request.limit.min(BESIDE_OVERVIEW), ..request.clone() };
    }
    let mut request = RecallRequest { limit: request.limit.min(BESIDE_VIEW), ..request.clone() };
    if let Some(packing) = &mut request.packing {
        packing.budget /= SHARE_BESIDE_VIEW;
    }
    request
}

fn is_of_subject(view: &View) -> bool {
    view.kind == AnswerKind::Overview && !view.subject.is_empty()
}
