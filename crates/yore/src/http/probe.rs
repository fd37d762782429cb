//! Sends the doctor's test request to the daemon's HTTP port.

use std::time::Duration;

use yore_engine::transport::{Client, ClientSettings, Request, TransportError};

use super::guard::LOOPBACK;

/// Header that names an MCP session.
const SESSION: &str = "mcp-session-id";

/// Longest answer, in bytes.
const LONGEST: u64 = 4 << 20;

/// The answer to a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Id of the session that the request began.
    pub session: Option<String>,
    /// Body, without the transfer encoding.
    pub body: String,
}

/// Posts a body to an address in the form of the daemon's card (`http://127.0.0.1:PORT/PATH`).
///
/// # Errors
/// Those of the transport; [`TransportError::Request`] for an address that is not on this computer.
pub fn post(url: &str, token: &str, session: Option<&str>, body: &str, patience: Duration) -> Result<Answer, TransportError> {
    ask("POST", url, token, session, body, patience)
}

/// Ends a session, so that it takes up no place.
///
/// # Errors
/// As [`post`].
pub fn leave(url: &str, token: &str, session: &str, patience: Duration) -> Result<Answer, TransportError> {
    ask("DELETE", url, token, Some(session), "", patience)
}

fn ask(
    method: &'static str,
    url: &str,
    token: &str,
    session: Option<&str>,
    body: &str,
    patience: Duration,
) -> Result<Answer, TransportError> {
    let place = format!("http://{}:", LOOPBACK[0]);
    let port = url.strip_prefix(&place).and_then(|rest| rest.split_once('/')).and_then(|(port, _)| port.parse::<u16>().ok());
    if port.is_none() {
        return Err(TransportError::Request("the address is not one of this computer".to_owned()));
    }
    let mut request = Request::new(method, url, patience)
        .header("authorization", format!("Bearer {token}"))
        .header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    if !body.is_empty() {
        request = request.with_body("application/json", body);
    }
    let settings = ClientSettings { max_bytes: LONGEST, connect_timeout: patience, proxy: None };
    let answer = Client::new(&settings)?.ask(&request)?;
    let session = answer.header(SESSION).map(str::to_owned);
    Ok(Answer { status: answer.status, session, body: String::from_utf8_lossy(&answer.body).into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_computer_is_asked() {
        for url in ["http://example.org:80/mcp", "https://127.0.0.1:1/mcp", "http://127.0.0.1:x/mcp", ""] {
            let error = post(url, "", None, "", Duration::from_secs(1)).unwrap_err();
            assert!(matches!(error, TransportError::Request(_)), "{url}");
        }
    }
}
