//! Requests and answers between a member's computer and the server of a team, as JSON over HTTP.
//!
//! | Request | Body | Answer |
//! | --- | --- | --- |
//! | `POST /v1/join` | [`Join`] | [`Joined`] |
//! | `GET /v1/me` | | [`Me`] |
//! | `GET /v1/members` | | `Vec<`[`Member`]`>` |
//! | `POST /v1/invites` | [`NewInvite`] | [`Invite`] |
//! | `POST /v1/members/{id}/remove` | | [`Member`] |
//! | `POST /v1/members/{id}/withdraw`, `.../restore` | | [`Member`] |
//! | `POST /v1/leave` | | nothing: the token of the request is revoked |
//! | `GET /v1/projects` | | `Vec<`[`Project`]`>` |
//! | `POST /v1/projects/{name}/push` | [`Push`] | [`Pushed`] |
//! | `GET /v1/projects/{name}/pull?after=&limit=` | | [`Pulled`] |
//! | `GET /v1/projects/{name}/sessions` | | [`OwnSessions`] |
//! | `POST /v1/projects/{name}/sessions` | [`ShareSessions`] | nothing |
//! | `POST /v1/projects/{name}/sessions/remove` | [`RemoveSessions`] | nothing |
//! | `POST /v1/projects/{name}/sessions/read` | [`ReadSession`] | [`SessionPart`] |
//! | `POST /v1/projects/{name}/search` | [`Search`] | [`FoundTurns`] |
//! | `GET /v1/audit?before=&limit=` | | `Vec<`[`Audited`]`>` |
//!
//! All but the first need `Authorization: Bearer TOKEN`. A refusal is a [`Problem`] with status 400 (a wrong request), 401 (no valid
//! token or invitation), 403 (the role does not allow it), 404, 413 (too long), 429 (a quota is used up) or 503.
//!
//! The name of a project in a path is percent-encoded.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use yore_core::time::UtcMillis;

/// Most bytes of a text.
pub const MOST_TEXT: usize = 256 * 1024;
/// Most operations of a push.
pub const MOST_OPERATIONS: usize = 500;
/// Most bytes of a request's body.
pub const MOST_BODY: usize = 16 * 1024 * 1024;
/// Most records of a page that is pulled.
pub const MOST_RECORDS: usize = 1_000;
/// Most bytes of the texts of a page, beyond which it ends early.
pub const MOST_PAGE: usize = 8 * 1024 * 1024;
/// Most characters of the name of a project, a team, a member, a computer and of an address.
pub const MOST_NAME: usize = 200;
/// Most turns, and sessions, that a request shares.
pub const MOST_TURNS: usize = 1_000;
/// Most turns of a session.
pub const MOST_SESSION_TURNS: u32 = 100_000;
/// Most characters of a session's title.
pub const MOST_TITLE: usize = 500;
/// Most vectors of a turn, and numbers of a vector.
pub const MOST_VECTORS: usize = 16;
/// Length of a vector.
pub const VECTOR: usize = 256;
/// Most words of a search, and most bytes of each.
pub const MOST_WORDS: usize = 256;
/// Most bytes of a word.
pub const MOST_WORD: usize = 64;
/// Most turns that a search finds by words, and as many by meaning.
pub const MOST_FOUND: usize = 300;
/// Fewest digits by which a session is named.
pub const LEAST_DIGITS: usize = 8;
/// Most characters of a turn that was found; the rest can be read.
pub const MOST_FOUND_CHARS: usize = 16 * 1024;
/// Digits of the name of a text: 128 bits of its hash.
const NAME_DIGITS: usize = 32;

/// The rights of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads what others share, and may take back and forget what they shared themselves before.
    Reader,
    /// Shares as well.
    Member,
    /// Invites and removes members, withdraws and forgets what they share, reads the audit.
    Owner,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Reader, Self::Member, Self::Owner];

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Member => "member",
            Self::Owner => "owner",
        }
    }

    /// Returns the role with a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// Asks to become a member, or to add a computer to one: an invitation for a member's own address does that.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Join {
    /// The secret of the invitation.
    pub invite: String,
    /// Name of the person.
    pub name: String,
    /// Address, by which members are told apart; in lower case.
    pub email: String,
    /// Name of the computer.
    pub computer: String,
}

/// A member's access to a team from one computer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Joined {
    /// The secret, which is told only here.
    pub token: String,
    /// Who that is.
    pub me: Me,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Me {
    /// The team.
    pub team: Uuid,
    /// Its name.
    pub team_name: String,
    /// Identity of the database's content: another one after a restored backup.
    pub epoch: Uuid,
    /// The member.
    pub member: Uuid,
    /// Address.
    pub email: String,
    /// Role.
    pub role: Role,
    /// Name of the computer.
    pub computer: String,
}

/// A member of a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Id.
    pub id: Uuid,
    /// Name of the person.
    pub name: String,
    /// Address, in lower case.
    pub email: String,
    /// Role.
    pub role: Role,
    /// When they joined, by the server's clock.
    pub joined: UtcMillis,
    /// True if they have no access any more. What they shared stays.
    pub is_removed: bool,
    /// True if what they shared counts for nobody.
    pub is_withdrawn: bool,
    /// Computers with access.
    pub computers: Vec<String>,
}

/// Asks for an invitation, which lets one computer in, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewInvite {
    /// Role of the new member. An invitation of a member for themselves ignores it.
    pub role: Role,
    /// Only somebody with this address; a member who is no owner may name only their own, for a further computer.
    pub email: Option<String>,
    /// Hours that it is valid: 1 to 720.
    pub hours: u32,
}

/// An invitation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Invite {
    /// The secret, which is told only here.
    pub invite: String,
    /// When it ends.
    pub expires: UtcMillis,
}

/// A project of a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Project {
    /// Name.
    pub name: String,
    /// Texts that are shared.
    pub texts: u64,
    /// Number of the last change.
    pub last: u64,
}

/// A change that a member makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// Shares a text.
    Add {
        /// Its name, by [`name_of`].
        name: String,
        /// The text.
        text: String,
    },
    /// Takes the member's own text back.
    TakeBack {
        /// Its name.
        name: String,
        /// True if the member wants none of their computers to share it again by itself; false if nothing here says it any more.
        #[serde(default)]
        is_withheld: bool,
    },
    /// Deletes a text for good, everywhere, and lets nobody share it again: one that the member shares or shared, and
    /// nobody else shares, or, by an owner, anybody's.
    Forget {
        /// Its name.
        name: String,
    },
}

/// A change with the id by which it is known: sent again, it is not made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// A random id that the member's computer gave it.
    pub id: Uuid,
    /// The change.
    pub change: Change,
}

/// Changes of one computer, in the order in which they are made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Push {
    /// At most [`MOST_OPERATIONS`].
    pub operations: Vec<Operation>,
}

/// The outcomes of changes, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    /// One for each operation.
    pub outcomes: Vec<Outcome>,
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Outcome {
    /// It is made, now or by an earlier request with its id, or there was nothing to do.
    Done,
    /// It was not made, and never will be under this id.
    Refused {
        /// Why, in one line.
        why: String,
    },
}

/// A text that a member shares, or shared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Number of the change that made it what it is. Numbers of a project increase.
    pub seq: u64,
    /// Name of the text.
    pub name: String,
    /// The member.
    pub member: Uuid,
    /// When the member shared it first, by the server's clock.
    pub at: UtcMillis,
    /// The text; `None`: the member took it back, or it is forgotten.
    pub text: Option<String>,
    /// True if it is to be deleted for good from every copy.
    pub is_forgotten: bool,
    /// True if the member took it back so that none of their computers shares it again by itself.
    #[serde(default)]
    pub is_withheld: bool,
}

/// Changes of a project after a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pulled {
    /// Identity of the database's content. If it is not the known one, everything is to be pulled again.
    pub epoch: Uuid,
    /// Records that changed, each once as it is now, by number.
    pub records: Vec<Record>,
    /// Number after which the next pull begins.
    pub last: u64,
    /// False if there is more.
    pub is_complete: bool,
    /// All members who are or were.
    pub members: Vec<Member>,
}

/// Who said something in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// A person.
    User,
    /// An agent.
    Assistant,
}

impl Said {
    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    /// Returns the speaker with a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::User, Self::Assistant].into_iter().find(|said| said.as_str() == name)
    }
}

/// A session of a member, without its turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHead {
    /// Its id: 32 hexadecimal digits, unique for a member.
    pub id: String,
    /// Subject of its work.
    pub title: String,
    /// The agent, such as `claude-code`.
    pub agent: String,
    /// When it began.
    pub began: Option<UtcMillis>,
    /// Number of its turns.
    pub turns: u32,
    /// Digest by which the member's computer knows the state of its content: 32 hexadecimal digits.
    pub digest: String,
}

/// The words of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedTurn {
    /// Who said it.
    pub said: Said,
    /// Their name, if the session has names.
    #[serde(default)]
    pub speaker: Option<String>,
    /// When.
    pub at: Option<UtcMillis>,
    /// The words.
    pub text: String,
    /// Vectors of its parts, each number times 127. The server compares them with others, and knows nothing of what they mean.
    #[serde(default)]
    pub vectors: Vec<Vec<i8>>,
}

/// A session that is shared, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedSession {
    /// The session.
    pub head: SessionHead,
    /// Number of the first turn of `turns`, from 0: they take the place of all turns from there on.
    pub from: u32,
    /// The turns, at least one.
    pub turns: Vec<SharedTurn>,
}

/// Place of a request in those of a computer: one that comes after a later one is made no more, so that what was sent in vain, or is sent
/// again by what stands between, undoes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOrder {
    /// A random id that the computer gave itself.
    pub sender: Uuid,
    /// Number of its request: each is larger than those before.
    pub number: u64,
}

/// Shares sessions, or parts of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShareSessions {
    /// Its place.
    pub order: RequestOrder,
    /// The sessions, with at most [`MOST_TURNS`] turns together.
    pub sessions: Vec<SharedSession>,
}

/// Removes sessions of the member.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemoveSessions {
    /// Its place.
    pub order: RequestOrder,
    /// Their ids; `None`: all of the project.
    pub ids: Option<Vec<String>>,
}

/// The sessions that a member shares in a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSessions {
    /// Identity of the database's content.
    pub epoch: Uuid,
    /// The sessions, by id; of those that did not arrive as a whole, `digest` is empty.
    pub sessions: Vec<SessionHead>,
}

/// Asks for a part of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadSession {
    /// Its id, or the first digits of it, at least [`LEAST_DIGITS`]. Of several that begin so, the first by id is meant.
    pub id: String,
    /// Number of the first turn, from 0.
    pub from: u32,
}

/// A part of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPart {
    /// The session.
    pub session: FoundSession,
    /// Turns from the asked one on, without vectors: as many as fit into a page.
    pub turns: Vec<SharedTurn>,
}

/// Searches the sessions of a project: for turns that have words of a question, and for those near to it in meaning.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Search {
    /// Words of the question, as the tokenizer gives them: at most [`MOST_WORDS`].
    pub words: Vec<String>,
    /// Vector of the question, as those of turns.
    #[serde(default)]
    pub vector: Option<Vec<i8>>,
    /// Only what was said at or after this time.
    #[serde(default)]
    pub since: Option<UtcMillis>,
    /// Only what was said before this time.
    #[serde(default)]
    pub until: Option<UtcMillis>,
    /// Most turns by words, and as many by meaning: at most [`MOST_FOUND`].
    pub limit: u32,
}

/// A turn that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundTurn {
    /// Place of its session in [`FoundTurns::sessions`].
    pub session: usize,
    /// Its number in the session, from 0.
    pub index: u32,
    /// The turn, at most [`MOST_FOUND_CHARS`] of it, without vectors.
    pub turn: SharedTurn,
}

/// A session in which something was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundSession {
    /// The member who shares it.
    pub member: Uuid,
    /// Name of that person.
    pub name: String,
    /// The session.
    pub head: SessionHead,
}

/// Result of a search. Members' computers rank it: the counts are those of all sessions of the project, whoever's, whenever.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundTurns {
    /// Number of turns that were searched.
    pub turns: u64,
    /// Number of their words.
    pub words: u64,
    /// Number of turns that have each word of the question.
    pub holding: Vec<u64>,
    /// The sessions.
    pub sessions: Vec<FoundSession>,
    /// The turns, by session and number.
    pub found: Vec<FoundTurn>,
}

/// An entry of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// Number, increasing.
    pub seq: u64,
    /// When, by the server's clock.
    pub at: UtcMillis,
    /// Who; `None`: the operator of the server.
    pub member: Option<Uuid>,
    /// Such as `invite`, `join`, `push`, `remove`.
    pub action: String,
    /// The thing that it was done to: an address, a project, counts; never the text of a memory.
    pub subject: String,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Such as `team/role`.
    pub code: String,
    /// The fault, in one line.
    pub message: String,
}

/// Returns the name of a text: 32 hexadecimal digits of its hash. Line ends of Windows change nothing.
pub fn name_of(text: &str) -> String {
    blake3::hash(text.replace("\r\n", "\n").as_bytes()).to_hex()[..NAME_DIGITS].to_owned()
}

/// Returns whether a text has the form of the first digits of a session's id.
pub fn is_beginning(text: &str) -> bool {
    (LEAST_DIGITS..=NAME_DIGITS).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns whether a text has the form of a name.
pub fn is_name(text: &str) -> bool {
    text.len() == NAME_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
