//! Suggestions that agents get unasked: the brief, and memories for a prompt, a file or an error.
//!
//! - [`Engine::brief`]: the state of a project, for a session that begins or was compacted (`brief`)
//! - [`Engine::suggestions`]: memories related to a prompt, a file that is about to be changed, or an error;
//!   none if the confidence is too low (`prompt`, `edit`, `failure`, which `choose` from what they find)
//! - [`Engine::warnings`]: what is known against a command that is about to run (`gate`): it failed before, or a rule forbids it
//!
//! Only the current project and notes for all projects are searched: text of another project is given on
//! request, never unasked.

mod brief;
mod choose;
mod conclusion;
mod edit;
mod failure;
mod gate;
mod prompt;
mod subject;
mod suggestion;

use yore_core::query::Filter;
use yore_core::relevance::SkipReason;
use yore_core::scope::ScopeChoice;

pub use self::brief::{Brief, BriefRequest, Worked};
use self::edit::of_edit;
use self::failure::of_failure;
pub use self::gate::{Against, CommandRequest, Warning};
use self::prompt::of_prompt;
pub use self::suggestion::{SuggestRequest, Suggestion, Suggestions, TakenBack, Trigger};

use crate::archive::notes::NotesRequest;
use crate::error::EngineError;
use crate::insights::FoundInsight;
use crate::retrieve::project_here;
use crate::store::Queue;
use crate::{Engine, Found};
use yore_sources::source::note;

/// Maximum number of turns that wait for the index; with more, nothing is suggested, because reading them one
/// by one takes too long.
const MOST_PENDING: usize = 1_000;

impl Engine {
    /// Returns the state of the requested project. Empty if the project is not known and no note applies to
    /// all projects.
    pub fn brief(&self, request: &BriefRequest) -> Result<Brief, EngineError> {
        let mut brief = brief::brief(self, request)?;
        if brief.project.is_some() {
            let waiting = self.sessions_to_distil(request.here.as_ref())?;
            brief.waiting = waiting.iter().filter(|(_, native_id)| Some(native_id) != request.session.as_ref()).count() as u64;
        }
        let notes = brief.standing.iter_mut().chain(&mut brief.notes);
        let notes = notes.flat_map(|note| std::iter::once(&mut note.text).chain(&mut note.facts.title));
        let worked = brief.own.iter_mut().chain(&mut brief.sessions).flat_map(|worked| {
            let said = worked.asked.iter_mut().chain(&mut worked.stopped).map(|said| &mut said.text);
            said.chain(&mut worked.session.title).chain(&mut worked.files)
        });
        let insights = brief.insights.iter_mut().flat_map(FoundInsight::texts);
        self.redact_again(notes.chain(worked).chain(insights))?;
        Ok(brief)
    }

    /// Returns the memories worth suggesting; usually none.
    pub fn suggest(&self, request: &SuggestRequest) -> Result<Suggestions, EngineError> {
        let mut suggestions = find(self, request)?;
        let is_note = |memory: &Suggestion| memory.hit.as_turn().is_some_and(|turn| turn.agent == note::KIND);
        if suggestions.memories.iter().any(is_note) {
            let notes = NotesRequest {
                here: None,
                scope: ScopeChoice::All,
                tags: Vec::new(),
                kind: None,
                is_confirmed: Some(false),
                title: None,
                after: None,
                limit: 10_000,
            };
            let unconfirmed = self.notes(&notes)?;
            suggestions.memories.retain(|memory| {
                let turn = memory.hit.as_turn();
                !unconfirmed.iter().any(|note| turn.is_some_and(|turn| note.episode == turn.episode))
            });
        }
        let texts = suggestions.memories.iter_mut().flat_map(|memory| {
            let outcome = memory.outcome.as_mut().map(|said| &mut said.text);
            let texts: Vec<&mut String> = match &mut memory.hit.found {
                Found::Turn(turn) => turn.title.iter_mut().collect(),
                Found::Memory(found) => {
                    let history = found.history.iter_mut().map(|past| &mut past.statement);
                    found.memory.title.iter_mut().chain([&mut found.memory.statement]).chain(history).collect()
                }
            };
            let beside = memory.hit.beside.iter_mut().map(|said| &mut said.text);
            std::iter::once(&mut memory.hit.quote).chain(texts).chain(beside).chain(outcome)
        });
        let texts = texts.chain(suggestions.taken_back.as_mut().map(|edits| &mut edits.by));
        let texts = texts.chain(suggestions.recollected.iter_mut().map(|known| &mut known.text));
        self.redact_again(texts)?;
        Ok(suggestions)
    }
}

/// Finds the memories related to the trigger, if anything may be suggested at all.
fn find(engine: &Engine, request: &SuggestRequest) -> Result<Suggestions, EngineError> {
    let scope = if let ScopeChoice::Projects(_) = request.filter.scope {
        request.filter.scope.clone()
    } else {
        let here = request.here.as_ref().map(|here| project_here(engine.store(), here)).transpose()?.flatten();
        if here.is_none() && engine.store().is_passive() {
            // The brief already has the notes for all projects.
            return Ok(Suggestions::silent(SkipReason::ProjectUnknown, 0.0));
        }
        ScopeChoice::CurrentOnly
    };
    if engine.store().waiting(Queue::Text, MOST_PENDING + 1)? > MOST_PENDING {
        return Ok(Suggestions::silent(SkipReason::IndexBehind, 0.0));
    }
    let filter = Filter { scope, ..request.filter.clone() };
    match &request.trigger {
        Trigger::Prompt(prompt) => of_prompt(engine, request, filter, prompt),
        Trigger::Edit(path) => of_edit(engine, request, filter, path),
        Trigger::Failure(output) => of_failure(engine, request, filter, output),
    }
}
