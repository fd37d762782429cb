//! Answers a question: PLAN, LAND, DISTILL, TRACE. (ANCHOR and EXPAND come with the graph.)
//!
//! [`recall`] calls the phases in order; every number that led to a rank is in the answer.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use yore_core::id::ProjectId;
use yore_core::query::{Filter, Place, ScorePart};
use yore_core::scope::{ProjectAlias, ScopeChoice, normalize_directory};
use yore_core::text::{Question, Tokenizer, quote};

use crate::EngineError;
use crate::index::{IndexFilter, LexicalHit, LexicalIndex, SearchOptions};
use crate::ingest::ProjectNames;
use crate::store::{ShownTurn, Store};

/// Candidates that the later phases choose from.
const LANDED: usize = 100;
/// Least weight of tool output for a pasted error message.
const ERROR_TOOL_WEIGHT: f32 = 0.5;
/// A session counts by its best turns, each next one for less.
const SESSION_TURNS: usize = 3;

/// A question.
#[derive(Clone, Debug)]
pub struct RecallRequest {
    /// Any text.
    pub question: String,
    /// What may answer.
    pub filter: Filter,
    /// The project of the directory that is asked from, where one is known.
    pub here: Option<ProjectNames>,
    /// How many turns to give.
    pub limit: usize,
    /// Length of a quote in characters.
    pub quote_chars: usize,
    /// Weight of tool inputs and outputs beside what was said, 0 to 1.
    pub tool_weight: f32,
    /// Weight of the session's best turns beside the turn's own score, 0 to 1.
    pub session_weight: f32,
}

impl RecallRequest {
    /// Asks everything with the usual settings.
    pub fn new(question: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            filter: Filter::default(),
            here: None,
            limit: 10,
            quote_chars: 240,
            tool_weight: 0.15,
            session_weight: 0.3,
        }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct RecallAnswer {
    /// Turns, best first.
    pub hits: Vec<Hit>,
    /// The sessions they stand in, best first.
    pub sessions: Vec<SessionHit>,
    /// Names of the projects that were asked, empty when all were.
    pub projects: Vec<String>,
    /// Nothing was asked: only the current project should have been, and the directory belongs
    /// to none that is known.
    pub is_project_unknown: bool,
    /// The terms that were looked up.
    pub terms: Vec<String>,
    /// Turns that are known but not in the full-text index yet and were searched in memory.
    pub pending: usize,
    /// Turns that match at all are at least this many.
    pub landed: usize,
    /// Wall time in microseconds: planning, full text, reading the words.
    pub micros: [u64; 3],
}

/// A turn that answers.
#[derive(Clone, Debug)]
pub struct Hit {
    /// From 1.
    pub rank: usize,
    /// Sum of the parts.
    pub score: f32,
    /// Which list contributed what.
    pub parts: Vec<ScorePart>,
    /// The passage that matches best, in the turn's own words.
    pub quote: String,
    /// The whole turn.
    pub turn: ShownTurn,
    /// Where the words stand.
    pub place: Place,
}

/// A session that answers.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionHit {
    /// Yore's id of the episode.
    pub episode: yore_core::id::EpisodeId,
    /// The agent's own id.
    pub native_id: String,
    /// Sum over its best turns.
    pub score: f32,
}

/// Answers a question.
pub(crate) fn recall(
    store: &Store,
    index: &LexicalIndex,
    tokenizer: &mut Tokenizer,
    request: &RecallRequest,
) -> Result<RecallAnswer, EngineError> {
    let began = Instant::now();
    let question = Question::parse(&request.question, tokenizer);
    let (filter, projects, is_project_unknown) = plan(store, request)?;
    let planned = began.elapsed();
    let landed = land(store, index, &question, &filter, request)?;
    let found = began.elapsed();
    let ranked = distill(&landed, request);
    let mut answer = trace(store, index, &question, &ranked, request, tokenizer)?;
    answer.projects = projects;
    answer.is_project_unknown = is_project_unknown;
    answer.landed = landed.len();
    answer.pending = store.queue_length(10_000)?;
    let micros = |time: std::time::Duration| time.as_micros() as u64;
    answer.micros = [micros(planned), micros(found - planned), micros(began.elapsed() - found)];
    Ok(answer)
}

/// PLAN: the filter in the index's terms, the names of the projects that are asked, and whether
/// the only one that may be asked is unknown.
fn plan(store: &Store, request: &RecallRequest) -> Result<(IndexFilter, Vec<String>, bool), EngineError> {
    let Filter { scope, branches, sessions, agents, roles, kinds, since, until, as_of } = &request.filter;
    let mut filter = IndexFilter { roles: roles.clone(), since: *since, ..IndexFilter::default() };
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
        // A project that nobody knows has no turns.
        filter.projects = vec![u64::MAX];
    }
    if !chosen.is_empty() {
        names.extend(store.project_names()?.into_iter().filter(|(row, ..)| chosen.contains(row)).map(|(_, _, name)| name));
        filter.projects = chosen.into_iter().map(|row| row as u64).collect();
    }
    if !branches.is_empty() {
        // A branch that nobody recorded matches nothing.
        filter.branches = store.label_rows(branches)?.into_iter().map(|row| row as u64).chain([u64::MAX]).collect();
    }
    if !sessions.is_empty() {
        let mut rows = HashSet::new();
        for session in sessions {
            for row in episodes_named(store, session)? {
                rows.insert(row as u64);
                rows.extend(store.descendants(row)?.into_iter().map(|row| row as u64));
            }
        }
        filter.episodes = Some(rows);
    }
    if !agents.is_empty() || !kinds.is_empty() {
        let allowed: HashSet<u64> = store.episode_rows(agents, kinds)?.into_iter().map(|row| row as u64).collect();
        filter.episodes = Some(match filter.episodes.take() {
            Some(rows) => rows.intersection(&allowed).copied().collect(),
            None => allowed,
        });
    }
    Ok((filter, names, is_project_unknown))
}

/// The projects with these names, ids (or unambiguous beginnings of them) or directories.
pub(crate) fn projects_named(store: &Store, wanted: &[String]) -> Result<Vec<i64>, EngineError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let known = store.project_names()?;
    let mut rows = Vec::new();
    for name in wanted {
        let matching = |test: &dyn Fn(&ProjectId, &str) -> bool| -> Vec<i64> {
            known.iter().filter(|(_, id, known)| test(id, known)).map(|(row, ..)| *row).collect()
        };
        let mut found = matching(&|_, known| known == name);
        if found.is_empty() {
            found = store.projects_by_alias(name, &normalize_directory(name))?;
        }
        if found.is_empty() {
            let prefix = name.to_lowercase();
            found =
                matching(&|id, known| name.len() >= 4 && id.to_string().starts_with(&prefix) || known.eq_ignore_ascii_case(name));
        }
        if found.is_empty() {
            return Err(EngineError::UnknownProject {
                name: name.clone(),
                known: known.into_iter().map(|(_, _, name)| name).collect(),
            });
        }
        rows.extend(found);
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

/// The known project of a directory: by its repository, else by the nearest directory above it
/// that is one.
pub(crate) fn project_here(store: &Store, here: &ProjectNames) -> Result<Option<i64>, EngineError> {
    for (alias, _) in &here.aliases {
        if let Some(row) = store.project_by_alias(alias.kind(), alias.value())? {
            return Ok(Some(row));
        }
    }
    if let Some((ProjectAlias::Directory(directory), _)) = here.aliases.last() {
        let mut directory = directory.as_str();
        while let Some((above, _)) = directory.rsplit_once('/').filter(|(above, _)| above.len() > 1) {
            if let Some(row) = store.project_by_alias("directory", above)? {
                return Ok(Some(row));
            }
            directory = above;
        }
    }
    Ok(None)
}

fn episodes_named(store: &Store, name: &str) -> Result<Vec<i64>, EngineError> {
    let found = store.episodes_by_prefix(name, false, 8)?;
    let sessions: HashSet<&str> = found.iter().map(|(_, _, native)| native.split('/').next().unwrap_or(native)).collect();
    if found.is_empty() {
        return Err(EngineError::UnknownSession(name.to_owned()));
    }
    if sessions.len() > 1 && found.len() > 1 && found.iter().all(|(_, agent, _)| agent != "jsonl") {
        return Err(EngineError::AmbiguousId {
            id: name.to_owned(),
            candidates: found.into_iter().map(|(_, _, native)| native).collect(),
        });
    }
    Ok(found.into_iter().map(|(row, ..)| row).collect())
}

/// Tool output is where errors stand: a question that is a pasted error looks there in earnest.
fn tool_weight(question: &Question, request: &RecallRequest) -> f32 {
    if question.is_error_message && request.tool_weight > 0.0 {
        request.tool_weight.max(ERROR_TOOL_WEIGHT)
    } else {
        request.tool_weight
    }
}

/// LAND: the lists of candidates. One so far.
fn land(
    store: &Store,
    index: &LexicalIndex,
    question: &Question,
    filter: &IndexFilter,
    request: &RecallRequest,
) -> Result<Vec<LexicalHit>, EngineError> {
    let options = SearchOptions { limit: request.limit.max(LANDED), tool_weight: tool_weight(question, request) };
    Ok(index.search(store, question, filter, &options)?)
}

/// A candidate with its final score.
struct Ranked {
    hit: LexicalHit,
    session: f32,
    score: f32,
}

/// DISTILL: a turn counts for more in a session that answers with several turns.
fn distill(landed: &[LexicalHit], request: &RecallRequest) -> Vec<Ranked> {
    let sessions = session_scores(landed);
    let mut ranked: Vec<Ranked> = landed
        .iter()
        .map(|hit| {
            let session = request.session_weight * sessions.get(&hit.episode).copied().unwrap_or(0.0);
            Ranked { hit: *hit, session, score: hit.score + session }
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then((b.hit.at, b.hit.row).cmp(&(a.hit.at, a.hit.row))));
    ranked
}

/// The mean of each session's best turns, missing ones counting as nothing: a session with one
/// good turn has a third of it.
fn session_scores(landed: &[LexicalHit]) -> HashMap<i64, f32> {
    let mut best: HashMap<i64, Vec<f32>> = HashMap::new();
    for hit in landed {
        // Landed turns come best first.
        let scores = best.entry(hit.episode).or_default();
        if scores.len() < SESSION_TURNS {
            scores.push(hit.score);
        }
    }
    best.into_iter().map(|(episode, scores)| (episode, scores.iter().sum::<f32>() / SESSION_TURNS as f32)).collect()
}

/// TRACE: the words, the place, the parts of the score.
fn trace(
    store: &Store,
    index: &LexicalIndex,
    question: &Question,
    ranked: &[Ranked],
    request: &RecallRequest,
    tokenizer: &mut Tokenizer,
) -> Result<RecallAnswer, EngineError> {
    let chosen: Vec<LexicalHit> = ranked.iter().take(request.limit).map(|ranked| ranked.hit).collect();
    let tool_scores = index.tool_scores(question, tool_weight(question, request), &chosen)?;
    let rows: Vec<i64> = chosen.iter().map(|hit| hit.row).collect();
    let mut turns: HashMap<i64, ShownTurn> = store.shown_turns(&rows)?.into_iter().map(|turn| (turn.row, turn)).collect();
    let mut hits = Vec::with_capacity(rows.len());
    let mut sessions: Vec<SessionHit> = Vec::new();
    for (ranked, tool_score) in ranked.iter().zip(tool_scores) {
        let Some(turn) = turns.remove(&ranked.hit.row) else { continue };
        let text_score = ranked.hit.score - tool_score;
        let parts = [("text", text_score), ("tool", tool_score), ("session", ranked.session)]
            .into_iter()
            .filter(|(_, value)| value.abs() > 1e-4)
            .map(|(name, value)| ScorePart { name, value })
            .collect();
        let words = if turn.text.is_empty() || tool_score > text_score && !turn.tool_text.is_empty() {
            &turn.tool_text
        } else {
            &turn.text
        };
        let quote = if request.quote_chars == 0 { String::new() } else { quote(words, question, request.quote_chars, tokenizer) };
        let place = Place {
            episode: turn.episode,
            turn: turn.id,
            native_session: turn.native_session.clone(),
            native_message: turn.native_message.clone(),
            path: turn.path.clone(),
            line: turn.line,
        };
        match sessions.iter_mut().find(|session| session.episode == turn.episode) {
            Some(_) => {}
            None => {
                sessions.push(SessionHit { episode: turn.episode, native_id: turn.native_session.clone(), score: ranked.score });
            }
        }
        hits.push(Hit { rank: hits.len() + 1, score: ranked.score, parts, quote, turn, place });
    }
    Ok(RecallAnswer {
        hits,
        sessions,
        projects: Vec::new(),
        is_project_unknown: false,
        terms: question.terms.clone(),
        pending: 0,
        landed: 0,
        micros: [0; 3],
    })
}
