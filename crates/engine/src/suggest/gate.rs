//! Finds what is known against a command that is about to run: a failure before that is likely to come again, or a rule.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use yore_core::command::{self, CauseKind, LEAST_CHANCE, Record, Step, bans, chance, is_acting, keys, normal, run_key, steps};
use yore_core::id::{MemoryId, TurnId};
use yore_core::memory::Memory;
use yore_core::text::steady;
use yore_core::time::UtcMillis;

use crate::Engine;
use crate::error::EngineError;
use crate::retrieve::project_here;
use crate::rules::directories;
use crate::store::{Attempts, Exceptions, Memories, ProjectKey, SessionFilter, SessionOrder, Store, StoredAttempt};
use yore_sources::project_names::ProjectNames;

/// An extracted rule counts from this certainty on, as in the brief.
const CERTAIN: f32 = 0.7;
/// Most rules that are read for one command.
const MOST_RULES: usize = 40;
/// Milliseconds of a day.
const DAY_MS: f32 = 86_400_000.0;

/// A command that an agent is about to run.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct CommandRequest {
    /// The command.
    pub command: String,
    /// The directory in which it is run.
    pub directory: Option<String>,
    /// The project that is worked in.
    pub here: Option<ProjectNames>,
    /// The session that asks, by its native id.
    pub session: Option<String>,
    /// Only what was known before this time; `None`: now.
    pub as_of: Option<UtcMillis>,
}

/// A fact that speaks against a command.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Warning {
    /// The same for all commands with this cause, so that a session is told of it once.
    pub cause: String,
    /// The fact.
    pub against: Against,
}

/// A reason not to run a command as it is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Against {
    /// It failed before.
    Failed {
        /// The turn that ran it last.
        turn: TurnId,
        /// Time of that turn.
        at: Option<UtcMillis>,
        /// Times that it failed in this way.
        count: u32,
        /// The line of the output that tells the cause.
        error: String,
        /// The form that passed next.
        next: Option<String>,
        /// The chance that it fails again, 0 to 1.
        chance: f32,
    },
    /// A rule forbids it.
    Forbidden {
        /// The rule.
        memory: MemoryId,
        /// Its statement.
        statement: String,
        /// Time since when it holds.
        at: UtcMillis,
    },
}

impl Engine {
    /// Returns what is known against a command that is about to run, rules first; mostly nothing. Only what was learned in the project,
    /// and rules that hold everywhere, are told.
    ///
    /// # Errors
    /// [`EngineError::Store`]: the store cannot be read.
    pub fn warnings(&self, request: &CommandRequest) -> Result<Vec<Warning>, EngineError> {
        let steps = steps(&request.command);
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let project = request.here.as_ref().map(|here| project_here(self.store(), here)).transpose()?.flatten();
        let mut warnings: Vec<Warning> = self.forbidding(&steps, project, request)?.into_iter().collect();
        if let Some(project) = project {
            warnings.extend(failed_before(self.store(), &steps, project, request, self.now())?);
        }
        let texts = warnings.iter_mut().flat_map(|warning| match &mut warning.against {
            Against::Failed { error, next, .. } => std::iter::once(error).chain(next.as_mut()).collect::<Vec<_>>(),
            Against::Forbidden { statement, .. } => vec![statement],
        });
        self.redact_again(texts)?;
        Ok(warnings)
    }

    /// Returns the rule in effect that forbids one of these commands.
    fn forbidding(
        &self,
        steps: &[Step],
        project: Option<ProjectKey>,
        request: &CommandRequest,
    ) -> Result<Option<Warning>, EngineError> {
        let now = request.as_of.unwrap_or_else(|| self.now());
        // A rule about Git may name only what is done: "never push to main".
        let words: HashSet<String> = steps
            .iter()
            .flat_map(|step| {
                let second = step.called().get(1).filter(|_| step.program() == "git").map(|word| word.text.as_str());
                std::iter::once(step.program()).chain(second)
            })
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let words = Vec::from_iter(words);
        let rules = Memories::Rules { project, words: &words, least_certainty: CERTAIN, now, limit: MOST_RULES };
        let mut rules = self.store().memories(rules)?;
        rules.retain(|(_, memory)| bans(&memory.statement).iter().any(|ban| steps.iter().any(|step| ban.forbids(step))));
        if rules.is_empty() {
            return Ok(None);
        }
        if let Some(project) = project {
            let excepted = self.store().exceptions(Exceptions::In(project, CERTAIN), now)?;
            rules.retain(|(key, _)| excepted.iter().all(|(_, general)| general != key));
        }
        let rules: Vec<Memory> = rules.into_iter().map(|(_, memory)| memory).collect();
        let changed = self.likely_changed(&rules)?;
        let rule = rules.into_iter().find(|rule| changed.iter().all(|(old, _)| old.id != rule.id));
        Ok(rule.map(|rule| Warning {
            cause: format!("rule {}", rule.id),
            against: Against::Forbidden {
                memory: rule.id,
                at: rule.valid_from.unwrap_or(rule.recorded),
                statement: rule.statement,
            },
        }))
    }
}

/// Returns the failure before that is most likely to come again.
fn failed_before(
    store: &Store,
    steps: &[Step],
    project: ProjectKey,
    request: &CommandRequest,
    now: UtcMillis,
) -> Result<Option<Warning>, EngineError> {
    let now = request.as_of.unwrap_or(now);
    // The step that has a key; a key of the whole command has none.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        for key in keys(step) {
            places.entry(key).or_insert(at);
        }
        if is_acting(step) {
            places.entry(format!("run {}", normal(step))).or_insert(at);
        }
    }
    if let Some(key) = run_key(steps) {
        places.entry(key).or_insert(0);
    }
    let causes: Vec<String> = places.keys().cloned().collect();
    let failures = store.attempts(project, Attempts::Failed(&causes), request.as_of)?;
    if failures.is_empty() {
        return Ok(None);
    }
    let session = |native_id| {
        let filter = SessionFilter { native_id: Some(native_id), ..SessionFilter::default() };
        store.sessions(&filter, SessionOrder::Recent, 1)
    };
    let session = request.session.as_deref().map(session).transpose()?.and_then(|mut found| found.pop());
    let root = session.and_then(|session| session.cwd);
    let here = request.directory.as_deref().or_else(|| request.here.as_ref()?.directory()).unwrap_or_default();
    let directories = directories(steps, root.as_deref().filter(|root| here.starts_with(root)).unwrap_or(here), here);
    let mut groups: BTreeMap<(&str, String), Vec<&StoredAttempt>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for failure in &failures {
        let Some(failed) = &failure.attempt.failed else { continue };
        let Some(place) = places.get(&failed.cause) else { continue };
        // A fork of a session has its turns again.
        if !seen.insert((failure.id, &failed.cause)) {
            continue;
        }
        let is_named = failed.kind == CauseKind::Named;
        if !is_named && failure.attempt.directory != directories[*place] {
            continue;
        }
        let shape = if is_named { String::new() } else { steady(&failed.error) };
        groups.entry((&failed.cause, shape)).or_default().push(failure);
    }
    let mut best: Option<(f32, Warning)> = None;
    let mut known: HashMap<&str, (Option<String>, Vec<StoredAttempt>)> = HashMap::new();
    for ((cause, _), mut group) in groups {
        let step = &steps[places[cause]];
        let (version, passes) = match known.entry(cause) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let last = store.attempts(project, Attempts::Versioned(step.program()), request.as_of)?.pop();
                let version = last.and_then(|last| last.attempt.version);
                unknown.insert((version, passes(store, project, cause, group[0], step, request.as_of)?))
            }
        };
        let is_of_version =
            |known: &&StoredAttempt| known.attempt.version.as_ref().zip(version.as_ref()).is_none_or(|(then, now)| then == now);
        group.retain(is_of_version);
        let Some(last) = group.first() else { continue };
        let Some(failed) = &last.attempt.failed else { continue };
        let is_here = |pass: &&StoredAttempt| failed.kind == CauseKind::Named || pass.attempt.directory == last.attempt.directory;
        let is_later = |pass: &StoredAttempt| (pass.at, pass.attempt.turn) > (last.at, last.attempt.turn);
        let (since, before): (Vec<_>, Vec<_>) = passes.iter().filter(is_here).partition(|pass| is_later(pass));
        let next = group.iter().find_map(|known| known.attempt.failed.as_ref()?.next.clone());
        let sessions: HashSet<_> = group.iter().map(|known| known.episode).collect();
        let record = Record {
            kind: failed.kind,
            failures: group.len() as u32,
            sessions: sessions.len() as u32,
            passes_before: before.len() as u32,
            has_passed_since: !since.is_empty(),
            is_mended_by_form: next.is_some(),
            age_days: last.at.map_or(0.0, |at| now.saturating_sub(at) as f32 / DAY_MS),
        };
        let chance = chance(&record);
        let is_next = next.as_deref().is_some_and(|next| is_same_form(next, steps));
        if chance < LEAST_CHANCE || is_next || best.as_ref().is_some_and(|(known, _)| *known >= chance) {
            continue;
        }
        let against =
            Against::Failed { turn: last.id, at: last.at, count: record.failures, error: failed.error.clone(), next, chance };
        best = Some((chance, Warning { cause: cause.to_owned(), against }));
    }
    Ok(best.map(|(_, warning)| warning))
}

/// Returns the commands that passed although they have what a cause names, each once.
fn passes(
    store: &Store,
    project: ProjectKey,
    cause: &str,
    failure: &StoredAttempt,
    step: &Step,
    as_of: Option<UtcMillis>,
) -> Result<Vec<StoredAttempt>, EngineError> {
    let form = cause.strip_prefix("run ");
    // The program of a whole command is that of its first step.
    let program = form.map_or(step.program(), |_| failure.attempt.program.as_str());
    // The last word of another key is the program, the option or the task.
    let words = form.or_else(|| cause.rsplit(' ').next()).unwrap_or_default();
    let mut passes = store.attempts(project, Attempts::Passed(program, words), as_of)?;
    let mut seen = HashSet::new();
    passes.retain(|pass| {
        let is_same = match form {
            Some(form) => pass.attempt.command == form,
            None if cause.starts_with("program ") => true,
            None => command::steps(&pass.attempt.command).iter().any(|step| keys(step).iter().any(|key| key == cause)),
        };
        is_same && seen.insert(pass.id)
    });
    Ok(passes)
}

/// Returns whether a form is what is about to run.
fn is_same_form(form: &str, steps: &[Step]) -> bool {
    let form = command::steps(form);
    let forms: HashSet<String> = form.iter().filter(|step| is_acting(step)).map(normal).collect();
    !forms.is_empty() && forms.iter().all(|form| steps.iter().any(|step| normal(step) == *form))
}
