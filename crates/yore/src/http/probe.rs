//! A request at the daemon's own port, as an agent makes it, for whoever wants to know whether that
//! would be answered. Nothing else is reached from here: the port is on this computer, and the token
//! is for its owner.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// An answer is shorter.
const LONGEST: u64 = 4 << 20;

/// What came back.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The session that began with it.
    pub session: Option<String>,
    /// What it says, without the way in which it was sent.
    pub body: String,
}

/// Says something at an address as a card has it (`http://127.0.0.1:PORT/PATH`).
///
/// # Errors
/// What the system says; [`io::ErrorKind::InvalidInput`] for an address that is not this computer's,
/// [`io::ErrorKind::InvalidData`] for what is no answer.
pub fn post(url: &str, token: &str, session: Option<&str>, body: &str, patience: Duration) -> io::Result<Answer> {
    ask("POST", url, token, session, body, patience)
}

/// Ends a session, so that it takes no place any more.
///
/// # Errors
/// As [`post`].
pub fn leave(url: &str, token: &str, session: &str, patience: Duration) -> io::Result<Answer> {
    ask("DELETE", url, token, Some(session), "", patience)
}

fn ask(method: &str, url: &str, token: &str, session: Option<&str>, body: &str, patience: Duration) -> io::Result<Answer> {
    let until = Instant::now() + patience;
    let place = format!("http://{}:", Ipv4Addr::LOCALHOST);
    let (port, path) = url.strip_prefix(&place).and_then(|rest| rest.split_once('/')).ok_or(io::ErrorKind::InvalidInput)?;
    let port: u16 = port.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), patience)?;
    stream.set_write_timeout(Some(patience))?;
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {}:{port}\r\nAuthorization: Bearer {token}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{session}\r\n",
        Ipv4Addr::LOCALHOST,
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut said = Vec::new();
    let mut chunk = [0u8; 16 * 1024];
    while (said.len() as u64) < LONGEST {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => said.extend(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
    }
    understood(&said).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// An answer of HTTP/1.1.
fn understood(said: &[u8]) -> Option<Answer> {
    let end = said.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&said[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let header = |wanted: &str| headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim());
    let body = &said[end + 4..];
    let body = match header("transfer-encoding") {
        Some("chunked") => unchunked(body)?,
        _ => body.to_vec(),
    };
    let body = String::from_utf8(body).ok()?;
    Some(Answer { status, session: header("mcp-session-id").map(str::to_owned), body })
}

/// The chunks' contents.
fn unchunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&body[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        body = &body[end + 2..];
        if size == 0 {
            return Some(whole);
        }
        whole.extend(body.get(..size)?);
        body = body.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood_in_both_ways_of_sending() {
        let answer = understood(b"HTTP/1.1 200 OK\r\nMcp-Session-Id: s1\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        assert_eq!(answer, Answer { status: 200, session: Some("s1".into()), body: "{}".into() });
        let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        assert_eq!(understood(chunks).unwrap().body, "abcde");
        for broken in [
            &b"HTTP/1.1 200 OK\r\n"[..],
            b"",
            b"SSH-2.0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc",
        ] {
            assert_eq!(understood(broken), None);
        }
    }

    #[test]
    fn no_other_computer_is_asked() {
        for url in ["http://example.org:80/mcp", "https://127.0.0.1:1/mcp", "http://127.0.0.1:x/mcp", ""] {
            let error = post(url, "", None, "", Duration::from_secs(1)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{url}");
        }
    }
}
