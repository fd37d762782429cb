//! Requests to the server of a team.

use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;
use yore_engine::transport::{Client, ClientSettings, Request, TransportError, is_here};
use yore_team::wire::{
    Audited, FoundTurns, Invite, Join, Joined, MOST_RECORDS, Member, NewInvite, OwnSessions, Problem, Pulled, Push, Pushed,
    ReadSession, RemoveSessions, RequestOrder, Search, SessionPart, ShareSessions, SharedSession,
};

use crate::error::{CliError, Exit};
use crate::render::plain::harmless;
use crate::shared::mirror::Membership;

/// Time for a request and its answer.
const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Most bytes of an answer: a page of records, whose texts may be escaped.
const MOST_BYTES: u64 = 64 << 20;

/// Most characters of a server's code and message.
const MOST_CODE: usize = 40;
const MOST_MESSAGE: usize = 500;

/// Reason why a server did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The address is none that a token may be sent to.
    #[error("{0} is not the address of a server: it begins with https://, or with http:// on this computer")]
    Address(String),
    /// There was no answer; the same may be asked later.
    #[error("{server} does not answer: {why}")]
    Unreachable {
        /// The server's address.
        server: String,
        /// Why.
        why: String,
    },
    /// The server refused.
    #[error("{message}")]
    Refused {
        /// Status of HTTP.
        status: u16,
        /// The server's code.
        code: String,
        /// Its words.
        message: String,
    },
    /// The answer is none of such a server.
    #[error("{server} answers with something else: is it a server of yore?")]
    Foreign {
        /// The server's address.
        server: String,
    },
}

impl RemoteError {
    /// Returns the error as a person sees it.
    pub fn told(&self) -> CliError {
        let (exit, code, hint) = match self {
            Self::Address(_) => (Exit::Usage, "team/address", Some("ask the team's owner for the address")),
            Self::Unreachable { .. } => {
                (Exit::Busy, "team/unreachable", Some("what is shared here stays usable; it is tried again"))
            }
            Self::Refused { status: 401, .. } => {
                (Exit::Usage, "team/token", Some("ask for an invitation, and join again: `yore team join --help`"))
            }
            Self::Refused { status, code, .. } => (if *status >= 500 { Exit::Busy } else { Exit::Usage }, code.as_str(), None),
            Self::Foreign { .. } => (Exit::Usage, "team/foreign", Some("check the address")),
        };
        CliError { exit, code: code.to_owned(), message: harmless(&self.to_string()), hint: hint.map(str::to_owned) }
    }
}

/// Requests of synchronization to a server.
pub trait Remote {
    /// Sends changes of a project.
    ///
    /// # Errors
    /// There was no answer, so that they may have been made, or the server refused them all.
    fn push(&self, project: &str, push: &Push) -> Result<Pushed, RemoteError>;

    /// Returns the changes of a project after a number.
    ///
    /// # Errors
    /// There was no answer, or the server refused.
    fn pull(&self, project: &str, after: u64) -> Result<Pulled, RemoteError>;

    /// Returns the error of an answer that is none of a working server.
    fn foreign(&self) -> RemoteError;
}

/// Requests about sessions to a server.
pub trait SessionRemote {
    /// Stores sessions, or parts of them.
    ///
    /// # Errors
    /// There was no answer, or the server refused.
    fn share_sessions(&self, project: &str, order: RequestOrder, sessions: Vec<SharedSession>) -> Result<(), RemoteError>;

    /// Removes sessions; `None`: all of the project.
    ///
    /// # Errors
    /// As [`Self::share_sessions`].
    fn remove_sessions(&self, project: &str, order: RequestOrder, ids: Option<Vec<String>>) -> Result<(), RemoteError>;

    /// Returns the sessions of the person that the server has.
    ///
    /// # Errors
    /// As [`Self::share_sessions`].
    fn own_sessions(&self, project: &str) -> Result<OwnSessions, RemoteError>;
}

/// A server, as a computer with a token sees it.
#[derive(Debug)]
pub struct Server {
    client: Client,
    address: String,
    token: Option<String>,
}

impl Server {
    /// Creates it for an address, without access to a team.
    ///
    /// # Errors
    /// [`RemoteError::Address`]: a token would pass in the clear, or it is no address.
    pub fn new(address: &str) -> Result<Self, RemoteError> {
        let address = address.trim().trim_end_matches('/').to_owned();
        let is_safe = address.starts_with("https://") || (address.starts_with("http://") && is_here(&address));
        if !is_safe {
            return Err(RemoteError::Address(address));
        }
        let settings = ClientSettings { max_bytes: MOST_BYTES, connect_timeout: CONNECT_TIMEOUT, proxy: None };
        let client = Client::new(&settings).map_err(|error| unreachable(&address, &error))?;
        Ok(Self { client, address, token: None })
    }

    /// Creates it for a member.
    ///
    /// # Errors
    /// [`RemoteError::Address`].
    pub fn of(membership: &Membership) -> Result<Self, RemoteError> {
        Ok(Self { token: Some(membership.token.clone()), ..Self::new(&membership.server)? })
    }

    /// The server's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Joins a team.
    ///
    /// # Errors
    /// The invitation is not valid, or there was no answer.
    pub fn join(&self, join: &Join) -> Result<Joined, RemoteError> {
        self.post("/v1/join", join)
    }

    /// Returns all members.
    ///
    /// # Errors
    /// The token is not valid any more, or there was no answer.
    pub fn members(&self) -> Result<Vec<Member>, RemoteError> {
        self.get("/v1/members")
    }

    /// Makes an invitation.
    ///
    /// # Errors
    /// The token is not valid any more, the role does not allow it, or there was no answer.
    pub fn invite(&self, invite: &NewInvite) -> Result<Invite, RemoteError> {
        self.post("/v1/invites", invite)
    }

    /// Changes a member: `remove`, `withdraw` or `restore`.
    ///
    /// # Errors
    /// As [`Self::invite`].
    pub fn change_member(&self, member: Uuid, action: &str) -> Result<Member, RemoteError> {
        self.post(&format!("/v1/members/{member}/{action}"), &())
    }

    /// Revokes the token.
    ///
    /// # Errors
    /// The token is not valid any more, or there was no answer.
    pub fn leave(&self) -> Result<(), RemoteError> {
        self.post("/v1/leave", &())
    }

    /// Searches the sessions of a project, and answers within a time.
    ///
    /// # Errors
    /// There was no answer in that time, or the server refused.
    pub fn search(&self, project: &str, search: &Search, within: Duration) -> Result<FoundTurns, RemoteError> {
        self.post_within(&format!("/v1/projects/{}/search", encoded(project)), search, within)
    }

    /// Reads a part of a session.
    ///
    /// # Errors
    /// Nobody shares such a session, there was no answer, or the server refused.
    pub fn read_session(&self, project: &str, which: &ReadSession) -> Result<SessionPart, RemoteError> {
        self.post(&format!("/v1/projects/{}/sessions/read", encoded(project)), which)
    }

    /// Returns the last entries of the audit.
    ///
    /// # Errors
    /// As [`Self::invite`].
    pub fn audit(&self, limit: usize) -> Result<Vec<Audited>, RemoteError> {
        self.get(&format!("/v1/audit?limit={limit}"))
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        self.ask(Request::new("GET", format!("{}{path}", self.address), TIMEOUT))
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, RemoteError> {
        self.post_within(path, body, TIMEOUT)
    }

    fn post_within<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize, within: Duration) -> Result<T, RemoteError> {
        // Types of `wire` have no content that JSON cannot say.
        let body = serde_json::to_vec(body).unwrap_or_default();
        self.ask(Request::new("POST", format!("{}{path}", self.address), within).with_body("application/json", body))
    }

    fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, RemoteError> {
        let request = match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        };
        let answer = self.client.ask(&request).map_err(|error| unreachable(&self.address, &error))?;
        if (200..300).contains(&answer.status) {
            // An answer that tells nothing has no body.
            let body = if answer.body.is_empty() { b"null" } else { answer.body.as_slice() };
            return serde_json::from_slice(body).map_err(|_| self.foreign());
        }
        let status = answer.status;
        match serde_json::from_slice::<Problem>(&answer.body) {
            Ok(Problem { code, message }) => {
                let is_plain = code.len() <= MOST_CODE && code.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'-' | b'/'));
                let code = if is_plain { code } else { "team/refused".to_owned() };
                Err(RemoteError::Refused { status, code, message: message.chars().take(MOST_MESSAGE).collect() })
            }
            // What stands before the server may answer for it.
            Err(_) if status >= 500 => {
                let why = format!("status {status}");
                Err(RemoteError::Unreachable { server: self.address.clone(), why })
            }
            Err(_) => Err(self.foreign()),
        }
    }
}

impl SessionRemote for Server {
    fn share_sessions(&self, project: &str, order: RequestOrder, sessions: Vec<SharedSession>) -> Result<(), RemoteError> {
        self.post(&format!("/v1/projects/{}/sessions", encoded(project)), &ShareSessions { order, sessions })
    }

    fn remove_sessions(&self, project: &str, order: RequestOrder, ids: Option<Vec<String>>) -> Result<(), RemoteError> {
        self.post(&format!("/v1/projects/{}/sessions/remove", encoded(project)), &RemoveSessions { order, ids })
    }

    fn own_sessions(&self, project: &str) -> Result<OwnSessions, RemoteError> {
        self.get(&format!("/v1/projects/{}/sessions", encoded(project)))
    }
}

impl Remote for Server {
    fn push(&self, project: &str, push: &Push) -> Result<Pushed, RemoteError> {
        self.post(&format!("/v1/projects/{}/push", encoded(project)), push)
    }

    fn pull(&self, project: &str, after: u64) -> Result<Pulled, RemoteError> {
        self.get(&format!("/v1/projects/{}/pull?after={after}&limit={MOST_RECORDS}", encoded(project)))
    }

    fn foreign(&self) -> RemoteError {
        RemoteError::Foreign { server: self.address.clone() }
    }
}

fn encoded(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

fn unreachable(server: &str, error: &TransportError) -> RemoteError {
    RemoteError::Unreachable { server: server.to_owned(), why: error.to_string() }
}
