//! Results about teams: what this computer shares over servers, members, and what servers log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A team that this computer has access to, and its projects here.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamState {
    /// Its name.
    pub team: String,
    /// Address of its server.
    pub server: String,
    /// The person's address there.
    pub email: String,
    /// owner, member or reader, as the server told it last.
    pub role: String,
    /// Its projects that are shared here.
    pub projects: Vec<TeamProjectState>,
}

/// A project that is shared with a team.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamProjectState {
    /// Its name on the server.
    pub project: String,
    /// The checkout from which it is shared.
    pub directory: String,
    /// `sessions`: memories and what was said in sessions; `memories`: all memories that hold for everybody who works on it; `named`:
    /// those that the person names.
    pub level: String,
    /// True if it is shared no more: what went out from here is taken back when the server answers.
    #[serde(default)]
    pub is_stopped: bool,
    /// Memories that are shared from here.
    pub sent: u64,
    /// Sessions that are shared from here.
    #[serde(default)]
    pub sessions: u64,
    /// Turns of these.
    #[serde(default)]
    pub turns: u64,
    /// Turns that are held back, because they name the directory of a person.
    #[serde(default)]
    pub turns_held_back: u64,
    /// Texts of others.
    pub received: u64,
    /// Changes that wait to be sent.
    pub waiting: u64,
    /// Texts that the server refused, and why.
    pub refused: Vec<ShareRefused>,
    /// Who shared the received texts, by address; the person's other computers are among them.
    pub authors: Vec<TeamAuthor>,
}

/// Somebody who shares texts with this computer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamAuthor {
    /// Address.
    pub email: String,
    /// Name.
    pub name: String,
    /// Number of texts.
    pub texts: u64,
}

/// A text that was not shared.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ShareRefused {
    /// Short id of the memory, or the name of its text.
    pub memory: String,
    /// Why, in one line.
    pub reason: String,
}

/// Texts that sharing a project sends now.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SharePreview {
    /// The team.
    pub team: String,
    /// The project's name on the server.
    pub project: String,
    /// The texts, exactly as they are sent.
    pub texts: Vec<String>,
    /// Texts that would be taken back or forgotten.
    pub taken_back: u64,
    /// Memories that are held back, and why.
    pub held_back: Vec<ShareRefused>,
    /// Sessions that would be taken back, because of the level.
    #[serde(default)]
    pub sessions_taken_back: u64,
    /// Sessions that are shared at the level `sessions`, those that went already among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionPreview>,
}

/// A session that would be shared.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SessionPreview {
    /// Its id.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// Subject of its work.
    pub title: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// Turns that go: what you and the agent said. What tools were given and printed stays.
    pub turns: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Turns that are held back, because they name the directory of a person.
    pub held_back: u64,
}

/// The answer of a team's sessions to a question.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamFound {
    /// The team.
    pub team: String,
    /// The project's name on the server.
    pub project: String,
    /// Turns that were searched.
    pub searched: u64,
    /// strong, fair or weak: whether the answer bears on the question.
    pub strength: String,
    /// Probability of that, 0 to 1.
    pub confidence: f32,
    /// Words of the question that no turn has.
    pub unmet: Vec<String>,
    /// Turns, best first; turns of one exchange follow each other.
    pub results: Vec<TeamSaid>,
}

/// A turn of a session that a member shares.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamSaid {
    /// Session and number of the turn, from 1: `yore team read` takes it.
    pub id: String,
    /// The member who shares the session.
    pub member: String,
    /// The agent.
    pub agent: String,
    /// Subject of the session.
    pub title: String,
    /// `user` for the member, `assistant` for the agent.
    pub role: String,
    /// When it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// strong, fair or weak; absent for a turn beside a result, such as the answer to a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<String>,
    /// The passages that bear on the question.
    pub text: String,
}

/// A part of a session that a member shares.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamSession {
    /// Its id.
    pub session: String,
    /// The member who shares it.
    pub member: String,
    /// The agent.
    pub agent: String,
    /// Subject of its work.
    pub title: String,
    /// Number of its turns.
    pub turns: u64,
    /// The turns that are shown.
    pub said: Vec<TeamTurn>,
}

/// A turn of such a session.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamTurn {
    /// Its number, from 1.
    pub number: u64,
    /// `user` for the member, `assistant` for the agent.
    pub role: String,
    /// When it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The words.
    pub text: String,
}

/// The outcome of a synchronization.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamSynced {
    /// The project's name on the server.
    pub project: String,
    /// Changes that were sent.
    pub sent: u64,
    /// Changes that were received.
    pub received: u64,
    /// Turns of sessions that were sent.
    #[serde(default)]
    pub turns: u64,
    /// Sessions that were taken back.
    #[serde(default)]
    pub sessions_taken_back: u64,
    /// True if there are more turns of sessions to send.
    #[serde(default)]
    pub has_more_turns: bool,
    /// Changes that wait still.
    pub waiting: u64,
    /// Texts that the server refused now.
    pub refused: Vec<ShareRefused>,
    /// Why it ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A member of a team.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamMember {
    /// Address.
    pub email: String,
    /// Name.
    pub name: String,
    /// owner, member or reader.
    pub role: String,
    /// When they joined.
    pub joined: String,
    /// True if they have no access any more.
    pub is_removed: bool,
    /// True if what they share counts for nobody.
    pub is_withdrawn: bool,
    /// Computers with access.
    pub computers: Vec<String>,
}

/// An invitation.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamInvite {
    /// The secret, which is told only here.
    pub invite: String,
    /// When it ends.
    pub expires: String,
}

/// An entry of a team's audit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct TeamAudited {
    /// When.
    pub at: String,
    /// Address of the member; absent for the server's operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// The action.
    pub action: String,
    /// The thing that it was done to.
    pub subject: String,
}
