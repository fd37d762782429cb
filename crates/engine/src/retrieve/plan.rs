//! Plans a query: scope, filter, terms, periods, lists and weights, before any search (phase PLAN). Later phases only read the
//! plan.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use yore_core::memory::Status;
use yore_core::query::{AskedFor, Filter, List, SearchMode, Wanted};
use yore_core::rank;
use yore_core::scope::ScopeChoice;
use yore_core::text::{
    Period, Question, Tokenizer, WordPiece, asked_for, english_of, is_error_message, is_german, is_german_function_word,
    is_stop_word,
};

use super::pack::terms_of_parts;
use super::project::{project_here, projects_named};
use super::weights::{PlannedList, planned_lists};
use super::{QueryContext, RecallRequest};
use crate::error::{EngineError, MemoryError};
use crate::index::{CompiledFilter, numbers};
use crate::store::{EpisodeKey, Episodes, ItemKey, Store, TurnChoice};
use yore_sources::source::{Notes, Source, Web};

/// Maximum number of named periods that are searched.
const MOST_PERIODS: usize = 3;
/// Maximum number of entities of one name.
const MOST_NAMESAKES: usize = 20;
/// Least weight of tool output for a pasted error message.
const ERROR_TOOL_WEIGHT: f32 = 0.5;

/// The lists to search, and the query to search them with.
pub(super) struct Plan<'r> {
    /// The request.
    pub request: &'r RecallRequest,
    /// The query and its wordings, as one text.
    pub text: Cow<'r, str>,
    /// The same text, as terms and phrases.
    pub question: Question,
    /// Kind of thing that is asked for.
    pub asked_for: AskedFor,
    /// The terms of each part of the question, if there are several.
    pub parts: Vec<Vec<String>>,
    /// Periods that the question names, on the asker's calendar.
    pub periods: Vec<Period>,
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

/// Makes the plan for a request.
pub(super) fn plan<'r>(
    context: &QueryContext<'_>,
    tokenizer: &mut Tokenizer,
    request: &'r RecallRequest,
) -> Result<Plan<'r>, EngineError> {
    let mut text = request.text(&context.periods);
    if is_german(&request.question) {
        text = Cow::Owned(as_met(context, tokenizer, &text)?);
    }
    let mut question = Question::parse(&text, tokenizer);
    question.is_error_message = is_error_message(&request.question);
    let Scope { filter, projects, is_project_unknown } = compile(context.store, request)?;
    let mode = match (context.semantic, &context.model_vector) {
        (None, _) => SearchMode::Lexical,
        (Some(_), None) => SearchMode::Static,
        (Some(_), Some(_)) => SearchMode::Full,
    };
    let lists = planned_lists(context, mode, has_meaning(&text), &question, request)?;
    let mut plan = Plan {
        lists,
        depth: request.limit.max(rank::DEPTH),
        tool_weight: tool_weight(&question, request),
        request,
        text,
        asked_for: asked_for(&request.question),
        periods: Vec::new(),
        parts: terms_of_parts(&request.without_periods(&context.periods), tokenizer),
        question,
        filter,
        projects,
        is_project_unknown,
        mode,
    };
    for named in &context.periods {
        plan.add_period(named.period);
    }
    Ok(plan)
}

/// Puts the English words, if there are any, in the place of those words of a German question that nothing in the memory has: they
/// would find nothing, and make the question look as if nothing were known about it. Words that only hold it together are left out.
fn as_met(context: &QueryContext<'_>, tokenizer: &mut Tokenizer, question: &str) -> Result<String, EngineError> {
    let mut met = String::with_capacity(question.len());
    for word in question.split_inclusive(char::is_whitespace) {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        if is_german_function_word(bare) {
            continue;
        }
        let terms = Question::parse(word, tokenizer).terms;
        let is_met = terms.is_empty() || !context.lexical.unmet(&terms)?.iter().all(|unmet| *unmet);
        match is_met || word.contains(|letter: char| letter.is_ascii_digit()) {
            true => met.push_str(word),
            false => english_of(bare).iter().for_each(|word| {
                met.push_str(word);
                met.push(' ');
            }),
        }
    }
    // Nothing of it is known: its own words say so.
    Ok(if met.trim().is_empty() { question.to_owned() } else { met })
}

impl Plan<'_> {
    /// Adds a period, and the list that searches it, unless there are enough.
    pub(super) fn add_period(&mut self, period: Period) {
        if period.start >= period.end || self.periods.contains(&period) || self.periods.len() == MOST_PERIODS {
            return;
        }
        if self.periods.is_empty() {
            self.lists.push(PlannedList::unweighted(List::Period));
        }
        self.periods.push(period);
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
    if let Some(among) = &request.tuning.among {
        let filter = CompiledFilter { turns: Some(Arc::clone(among)), statuses: Some(Vec::new()), ..CompiledFilter::default() };
        return Ok(Scope { filter, projects: Vec::new(), is_project_unknown: false });
    }
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
        names.extend(store.projects()?.into_iter().filter(|known| chosen.contains(&known.key)).map(|known| known.name));
        filter.projects = Some(numbers(chosen));
        if matches!(scope, ScopeChoice::Current | ScopeChoice::CurrentOnly) {
            filter.everywhere = everywhere(store)?;
            // Memories that hold everywhere.
            filter.everywhere.insert(0);
        }
    }
    if !branches.is_empty() {
        filter.branches = Some(numbers(store.label_rows(branches)?));
    }
    if !roles.is_empty() {
        filter.roles = Some(roles.clone());
    }
    if !sessions.is_empty() {
        let mut rows = HashSet::new();
        for session in sessions {
            for row in episodes_named(store, session)? {
                rows.insert(row);
                rows.extend(store.episodes(&Episodes::Below(row))?.into_iter().map(|below| below.key));
            }
        }
        filter.episodes = Some(numbers(rows));
    }
    if !agents.is_empty() || !kinds.is_empty() {
        let allowed = numbers(store.episodes(&Episodes::Of(agents, kinds))?.into_iter().map(|known| known.key));
        filter.episodes = Some(match filter.episodes.take() {
            Some(rows) => rows.intersection(&allowed).copied().collect(),
            None => allowed,
        });
    }
    let superseded = store.turn_keys(TurnChoice::Superseded(*as_of))?;
    if !superseded.is_empty() {
        filter.superseded = Some(Arc::new(numbers(superseded)));
    }
    narrow_to_memories(store, &request.filter, &mut filter)?;
    if request.filter.asks_for_content() {
        filter.turns = Some(Arc::new(numbers(store.turn_keys(TurnChoice::Holding(&request.filter))?)));
    }
    Ok(Scope { filter, projects: names, is_project_unknown })
}

/// Compiles the conditions on memories, and whether turns or memories are wanted at all.
fn narrow_to_memories(store: &Store, asked: &Filter, filter: &mut CompiledFilter) -> Result<(), EngineError> {
    let conditions = &asked.memories;
    filter.statuses = match asked.wanted {
        Wanted::Turns => Some(Vec::new()),
        // A memory has no role.
        _ if !asked.roles.is_empty() => Some(Vec::new()),
        // The record says which status it had then.
        _ if asked.as_of.is_some() => None,
        _ if !conditions.statuses.is_empty() => Some(conditions.statuses.clone()),
        _ if store.statement_facts(0)?.has_unlisted => {
            Some(Status::ALL.iter().copied().filter(|status| !status.is_unlisted()).collect())
        }
        _ => None,
    };
    if asked.wanted == Wanted::Memories {
        filter.roles = Some(Vec::new());
    }
    // With `as_of`, the records of that time say what was true, once they are read.
    let valid_at = conditions.valid_at.filter(|_| asked.as_of.is_none());
    if conditions.asks_for_content() || valid_at.is_some() {
        let mut entities = Vec::new();
        for name in &conditions.entities {
            let known = store.entities(Some(name), MOST_NAMESAKES)?;
            if known.is_empty() {
                return Err(MemoryError::UnknownEntity(name.clone()).into());
            }
            entities.extend(known.into_iter().map(|entity| entity.id));
        }
        let keys = store.memories_meeting(conditions, &entities, valid_at)?;
        filter.memories = Some(Arc::new(numbers(keys.into_iter().map(ItemKey::Memory))));
    }
    Ok(())
}

/// Returns the global scope: documents that a person gave for no project. Sessions of unknown directories are
/// not in it, because they were never meant for other projects.
fn everywhere(store: &Store) -> Result<HashSet<i64>, EngineError> {
    let mut rows = HashSet::new();
    for kind in [Notes.kind(), Web.kind()] {
        rows.extend(numbers(store.episodes(&Episodes::WithoutProject(kind))?.into_iter().map(|known| known.key)));
    }
    Ok(rows)
}

/// Returns the episodes of the session with this id, or beginning of one.
fn episodes_named(store: &Store, name: &str) -> Result<Vec<EpisodeKey>, EngineError> {
    let found = store.episodes(&Episodes::Named(name, 8))?;
    let sessions: HashSet<&str> =
        found.iter().map(|known| known.native_id.split('/').next().unwrap_or(&known.native_id)).collect();
    if found.is_empty() {
        return Err(EngineError::UnknownSession(name.to_owned()));
    }
    if sessions.len() > 1 && found.len() > 1 && found.iter().all(|known| known.agent != "jsonl") {
        return Err(EngineError::AmbiguousId {
            id: name.to_owned(),
            candidates: found.into_iter().map(|known| known.native_id).collect(),
        });
    }
    Ok(found.into_iter().map(|known| known.key).collect())
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
