//! PLAN: makes all decisions before a list is searched. Later phases only read the plan.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use yore_core::query::{Filter, List, SearchMode};
use yore_core::rank;
use yore_core::scope::ScopeChoice;
use yore_core::text::{Question, Tokenizer, WordPiece, is_error_message, is_stop_word};

use super::scope::{episodes_named, project_here, projects_named};
use super::{Asked, RecallRequest};
use crate::error::EngineError;
use crate::index::CompiledFilter;
use crate::ingest::source::{Notes, Source, Web};
use crate::store::{EpisodeKey, LabelKey, ProjectKey, RowKey, Store, TurnKey};

/// Least weight of tool output for a pasted error message.
const ERROR_TOOL_WEIGHT: f32 = 0.5;
/// Factor for the weight of meaning if the query is a pasted error message: such a message is found by its
/// words.
const ERROR_MEANING: f32 = 0.5;

/// The lists to search, and the query to search them with.
pub(super) struct Plan<'r> {
    /// The request.
    pub request: &'r RecallRequest,
    /// The query and its wordings, as one text.
    pub text: Cow<'r, str>,
    /// The same text, as terms and phrases.
    pub question: Question,
    /// The compiled filter.
    pub filter: CompiledFilter,
    /// Names of the projects to search; empty for all.
    pub projects: Vec<String>,
    /// True if nothing can match, because the search is limited to a project that is not known.
    pub is_project_unknown: bool,
    /// Mode, that is the name for the set of lists.
    pub mode: SearchMode,
    /// The lists to search, in this order.
    pub lists: Vec<PlannedList>,
    /// Maximum number of proposals of each list.
    pub depth: usize,
    /// Weight of tool inputs and outputs relative to the spoken text, 0 to 1.
    pub tool_weight: f32,
}

/// A list to search, with its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlannedList {
    pub list: List,
    pub weights: Weights,
}

/// Weights of a list's heights, by the kind of item that it proposes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weights {
    /// A turn of a conversation.
    pub conversation: f32,
    /// A passage of a document.
    pub document: f32,
}

impl Weights {
    fn both(weight: f32) -> Self {
        Self { conversation: weight, document: weight }
    }

    /// Weights tuned on all development sets together (`docs/measurements.md`).
    fn tuned(list: List, mode: SearchMode) -> Self {
        match (list, mode) {
            (List::Words, SearchMode::Full) => Self { conversation: 1.0, document: 0.5 },
            (List::Words, _) => Self::both(1.0),
            (List::Static, _) => Self::both(0.45),
            (List::Model, _) => Self { conversation: 1.2, document: 1.75 },
            (List::Other, _) => Self::both(0.0),
        }
    }

    fn times(self, factor: f32) -> Self {
        Self { conversation: self.conversation * factor, document: self.document * factor }
    }
}

/// Makes the plan for a request.
pub(super) fn plan<'r>(
    asked: &Asked<'_>,
    tokenizer: &mut Tokenizer,
    request: &'r RecallRequest,
) -> Result<Plan<'r>, EngineError> {
    let text = request.text();
    let mut question = Question::parse(&text, tokenizer);
    question.is_error_message = is_error_message(&request.question);
    let Scope { filter, projects, is_project_unknown } = compile(asked.store, request)?;
    let mode = match (asked.semantic, &asked.model_vector) {
        (None, _) => SearchMode::Lexical,
        (Some(_), None) => SearchMode::Static,
        (Some(_), Some(_)) => SearchMode::Full,
    };
    let mut lists = vec![List::Words];
    if let Some(semantic) = asked.semantic.filter(|_| has_meaning(&text)) {
        if asked.model_vector.is_some() {
            lists.push(List::Model);
        }
        // The static table finds turns that the local model has not embedded yet.
        if asked.model_vector.is_none() || semantic.lacks_model_vectors(asked.store)? {
            lists.push(List::Static);
        }
    }
    let weigh = |list| PlannedList { list, weights: weights(list, mode, &question, request) };
    Ok(Plan {
        lists: lists.into_iter().map(weigh).collect(),
        depth: request.limit.max(rank::DEPTH),
        tool_weight: tool_weight(&question, request),
        request,
        text,
        question,
        filter,
        projects,
        is_project_unknown,
        mode,
    })
}

fn weights(list: List, mode: SearchMode, question: &Question, request: &RecallRequest) -> Weights {
    let tuned = Weights::tuned(list, mode);
    match list {
        List::Words if !request.is_worded => Weights::both(0.0),
        List::Static | List::Model => match request.meaning_weight {
            Some(weight) => Weights::both(weight),
            None if question.is_error_message => tuned.times(ERROR_MEANING),
            None => tuned,
        },
        List::Words | List::Other => tuned,
    }
}

/// Returns the weight of tool output. Errors occur in tool output, so it is higher if the query is a pasted
/// error, or asks for errors only.
fn tool_weight(question: &Question, request: &RecallRequest) -> f32 {
    if (question.is_error_message || request.filter.only_errors) && request.tool_weight > 0.0 {
        request.tool_weight.max(ERROR_TOOL_WEIGHT)
    } else {
        request.tool_weight
    }
}

/// Returns whether a query has a word that the models know as a whole. A word that they can only spell (an
/// unknown name, a typing error) is near to other spellings, not to a meaning.
fn has_meaning(question: &str) -> bool {
    let (mut word, mut pieces) = (0..0, 0);
    let mut is_known = false;
    let judge = |word: &Range<usize>, pieces: usize| {
        let text = question[word.clone()].to_lowercase();
        pieces == 1 && !is_stop_word(&text) && text.chars().any(char::is_alphabetic) && (text.len() > 1)
    };
    let _ = WordPiece::bert().for_each_token(question, |piece| {
        if piece.begins_word {
            is_known |= judge(&word, pieces);
            (word, pieces) = (piece.start..piece.end, 0);
        }
        word.end = word.end.max(piece.end);
        pieces += 1;
        if is_known { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    is_known || judge(&word, pieces)
}

/// A request's filter, compiled to rows.
struct Scope {
    filter: CompiledFilter,
    projects: Vec<String>,
    is_project_unknown: bool,
}

/// Converts names of projects, branches, sessions and files to rows. A branch that was never recorded matches
/// nothing, and neither does an unknown current project if the search is limited to it.
fn compile(store: &Store, request: &RecallRequest) -> Result<Scope, EngineError> {
    let Filter { scope, branches, sessions, agents, roles, kinds, since, until, as_of, .. } = &request.filter;
    let mut filter = CompiledFilter { since: *since, ..CompiledFilter::default() };
    filter.until = [*until, *as_of].into_iter().flatten().min();
    let mut names = Vec::new();
    let chosen = match scope {
        ScopeChoice::All => Vec::new(),
        ScopeChoice::Projects(wanted) => projects_named(store, wanted)?,
        ScopeChoice::Current | ScopeChoice::CurrentOnly => match &request.here {
            Some(here) => project_here(store, here)?.into_iter().collect(),
            None => Vec::new(),
        },
    };
    let is_project_unknown = *scope == ScopeChoice::CurrentOnly && chosen.is_empty();
    if is_project_unknown {
        filter.projects = Some(HashSet::new());
    }
    if !chosen.is_empty() {
        names.extend(store.project_names()?.into_iter().filter(|(row, ..)| chosen.contains(row)).map(|(_, _, name)| name));
        filter.projects = Some(chosen.into_iter().map(ProjectKey::get).collect());
        if matches!(scope, ScopeChoice::Current | ScopeChoice::CurrentOnly) {
            filter.everywhere = everywhere(store)?;
        }
    }
    if !branches.is_empty() {
        filter.branches = Some(store.label_rows(branches)?.into_iter().map(LabelKey::get).collect());
    }
    if !roles.is_empty() {
        filter.roles = Some(roles.clone());
    }
    if !sessions.is_empty() {
        let mut rows = HashSet::new();
        for session in sessions {
            for row in episodes_named(store, session)? {
                rows.insert(row.get());
                rows.extend(store.descendants(row)?.into_iter().map(|(below, _)| below.get()));
            }
        }
        filter.episodes = Some(rows);
    }
    if !agents.is_empty() || !kinds.is_empty() {
        let allowed: HashSet<i64> = store.episode_rows(agents, kinds)?.into_iter().map(EpisodeKey::get).collect();
        filter.episodes = Some(match filter.episodes.take() {
            Some(rows) => rows.intersection(&allowed).copied().collect(),
            None => allowed,
        });
    }
    let superseded = store.superseded_turns(*as_of)?;
    if !superseded.is_empty() {
        filter.superseded = Some(Arc::new(superseded.into_iter().map(TurnKey::get).collect()));
    }
    if request.filter.asks_for_content() {
        filter.turns = Some(Arc::new(store.turns_holding(&request.filter)?.into_iter().map(TurnKey::get).collect()));
    }
    Ok(Scope { filter, projects: names, is_project_unknown })
}

/// Returns the global scope: documents that a person gave for no project. Sessions of unknown directories are
/// not in it, because they were never meant for other projects.
fn everywhere(store: &Store) -> Result<HashSet<i64>, EngineError> {
    let mut rows = HashSet::new();
    for kind in [Notes.kind(), Web.kind()] {
        rows.extend(store.episodes_without_project(kind)?.into_iter().map(EpisodeKey::get));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_of_known_words_has_meaning_and_one_of_made_up_words_has_none() {
        for known in ["car wheels", "why did we drop redis?", "会话历史", "zzyzx crash"] {
            assert!(has_meaning(known), "{known}");
        }
        for unknown in ["zzyzx quuxfrobnicate", "zanzquux", "", "the of and", "?! 17 .."] {
            assert!(!has_meaning(unknown), "{unknown}");
        }
    }
}
