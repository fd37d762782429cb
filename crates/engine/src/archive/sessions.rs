//! Lists sessions, and divides one into exchanges.

use yore_core::exchange::{Exchanges, TurnShape, exchanges};
use yore_core::id::EpisodeId;
use yore_core::time::UtcMillis;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve;
use crate::rules::{is_title, title_among};
use crate::store::{
    ConversationSummary, EpisodeKey, EpisodeSummary, Episodes, ForgottenSessions, RecordedShape, SessionFilter, SessionOrder,
    ShownTurn, Store, StoreResult, Titles, Turns,
};
use yore_sources::project_names::ProjectNames;

/// Name of the extractor that an agent is, and version of what it is asked for.
pub(crate) const AGENT: &str = "agent";
pub(crate) const AGENT_VERSION: u32 = 1;
/// A session waits to be distilled if it has so many turns that were not, and was used within this time.
const WAITING_TURNS: i64 = 8;
const WAITING_MS: i64 = 14 * 24 * 3_600_000;
/// Titles for a person, or an agent, that looks at sessions.
pub(crate) const TITLES: Titles = Titles { is_one: is_title, of: title_among };

/// Returns the name under which a conversation is noted as distilled by an agent.
pub(crate) fn agent_extractor() -> String {
    format!("{AGENT}/{AGENT_VERSION}")
}

/// Filter, order and length of a list of sessions; an empty list lets everything through.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SessionsRequest {
    /// Names, ids or directories of projects.
    pub projects: Vec<String>,
    /// Source kinds, such as `claude-code`.
    pub agents: Vec<String>,
    /// Only conversations last used at or after this time.
    pub since: Option<UtcMillis>,
    /// Only conversations begun before this time.
    pub until: Option<UtcMillis>,
    /// Only sessions with a code block.
    pub has_code: bool,
    /// Only sessions whose title or messages contain this; case is ignored.
    pub text: Option<String>,
    /// List sub-agents' sessions too.
    pub with_subagents: bool,
    /// List sessions of which programs sent all prompts too.
    pub with_programs: bool,
    /// Listing of forgotten sessions.
    pub forgotten: ForgottenSessions,
    /// Leave documents and notes out.
    pub without_documents: bool,
    /// Order of the list.
    pub order: SessionOrder,
    /// Only sessions after this place in the list: the time by which it is ordered, and the id, of the last session of the page before.
    pub after: Option<(Option<UtcMillis>, EpisodeId)>,
    /// Most sessions to list; 20 by default.
    pub limit: usize,
}

impl Default for SessionsRequest {
    fn default() -> Self {
        Self {
            projects: Vec::new(),
            agents: Vec::new(),
            since: None,
            until: None,
            has_code: false,
            text: None,
            with_subagents: false,
            with_programs: false,
            forgotten: ForgottenSessions::default(),
            without_documents: false,
            order: SessionOrder::default(),
            after: None,
            limit: 20,
        }
    }
}

impl Engine {
    /// Lists sessions.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`] if the request names a project that does not exist.
    pub fn sessions(&self, request: &SessionsRequest) -> Result<Vec<EpisodeSummary>, EngineError> {
        let projects = retrieve::projects_named(self.store(), &request.projects)?;
        let text = request.text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_lowercase);
        let filter = SessionFilter {
            projects: &projects,
            agents: &request.agents,
            native_id: None,
            since: request.since,
            until: request.until,
            has_code: request.has_code,
            text: text.as_deref(),
            with_subagents: request.with_subagents,
            with_programs: request.with_programs,
            forgotten: request.forgotten,
            without_documents: request.without_documents,
            has_more: None,
            after: request.after,
            title: Some(TITLES),
        };
        Ok(self.store().sessions(&filter, request.order, request.limit)?)
    }

    /// Adds a summary of its messages to a session: their number, code, files and the first words.
    pub fn summary(&self, session: EpisodeSummary) -> Result<ConversationSummary, EngineError> {
        Ok(self.store().summary(session)?)
    }

    /// The exchanges of the session with this id, short id, native id or unambiguous beginning of one.
    ///
    /// # Errors
    /// [`EngineError::UnknownSession`] if no session matches, [`EngineError::AmbiguousId`] if several do.
    pub fn exchanges(&self, id: &str) -> Result<Exchanges, EngineError> {
        let (row, native_id) = self.session_named(id)?;
        Ok(exchanges_of(self.store(), row, &native_id)?)
    }

    /// Returns the rows and native ids of the sessions of a project that wait to be distilled by an agent, the latest first:
    /// those of late with turns that were not distilled. One query, since each session that begins asks for their number.
    pub(crate) fn sessions_to_distil(&self, here: Option<&ProjectNames>) -> Result<Vec<(EpisodeKey, String)>, EngineError> {
        let project = match here {
            Some(here) => match retrieve::project_here(self.store(), here)? {
                Some(project) => Some(project),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        let since = self.now().saturating_sub(WAITING_MS);
        let extractor = agent_extractor();
        let filter = SessionFilter {
            projects: project.as_slice(),
            since: Some(since),
            without_documents: true,
            has_more: Some((&extractor, WAITING_TURNS)),
            ..SessionFilter::default()
        };
        let found = self.store().sessions(&filter, SessionOrder::Recent, usize::MAX >> 1)?;
        Ok(found.into_iter().map(|session| (session.row, session.native_id)).collect())
    }

    /// Returns the session that an id, or an unambiguous beginning of one, names.
    ///
    /// # Errors
    /// [`EngineError::UnknownSession`], [`EngineError::AmbiguousId`].
    pub(crate) fn session_of(&self, id: &str) -> Result<EpisodeSummary, EngineError> {
        let (row, native_id) = self.session_named(id)?;
        let filter = SessionFilter {
            native_id: Some(&native_id),
            with_subagents: true,
            with_programs: true,
            without_documents: true,
            title: Some(TITLES),
            ..SessionFilter::default()
        };
        let found = self.store().sessions(&filter, SessionOrder::Recent, usize::MAX >> 1)?;
        found.into_iter().find(|session| session.row == row).ok_or(EngineError::UnknownSession(native_id))
    }

    /// Returns the row and the native id of the session that an id, or an unambiguous beginning of one, names.
    pub(crate) fn session_named(&self, id: &str) -> Result<(EpisodeKey, String), EngineError> {
        // Every id begins with nothing.
        let named = if id.trim().is_empty() { Vec::new() } else { self.store().episodes(&Episodes::Named(id.trim(), 9))? };
        match named.as_slice() {
            [] => Err(EngineError::UnknownSession(id.to_owned())),
            [only] => Ok((only.key, only.native_id.clone())),
            several => Err(EngineError::AmbiguousId {
                id: id.to_owned(),
                candidates: several.iter().map(|known| format!("session {} ({})", known.native_id, known.agent)).collect(),
            }),
        }
    }
}

/// The exchanges of a session.
fn exchanges_of(store: &Store, episode: EpisodeKey, native_id: &str) -> StoreResult<Exchanges> {
    Ok(exchanges(native_id, &ConversationTurns::read(store, episode)?.shapes()))
}

/// The turns of a conversation in order, each with its recorded tools and files.
pub(crate) struct ConversationTurns {
    pub turns: Vec<ShownTurn>,
    recorded: Vec<RecordedShape>,
}

impl ConversationTurns {
    pub fn read(store: &Store, episode: EpisodeKey) -> StoreResult<Self> {
        let turns = store.turns(Turns::OfEpisode(episode))?;
        let recorded = store.recorded_shapes(&turns.iter().map(|turn| turn.row).collect::<Vec<_>>())?;
        Ok(Self { turns, recorded })
    }

    /// Returns the turns as exchanges and rules read them.
    pub fn shapes(&self) -> Vec<TurnShape<'_>> {
        turn_shapes(&self.turns, &self.recorded)
    }
}

fn turn_shapes<'t>(turns: &'t [ShownTurn], shapes: &'t [RecordedShape]) -> Vec<TurnShape<'t>> {
    let shape = |(turn, shape): (&'t ShownTurn, &'t RecordedShape)| TurnShape {
        id: turn.id,
        native_id: &turn.native_message,
        role: turn.role,
        text: &turn.text,
        tool_text: &turn.tool_text,
        caveat: turn.caveat,
        is_error: turn.is_error,
        at: turn.time.utc,
        tools: &shape.tools,
        files: &shape.files,
    };
    turns.iter().zip(shapes).map(shape).collect()
}
