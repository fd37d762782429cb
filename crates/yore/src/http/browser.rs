//! Sessions of browsers on the HTTP port: links that work once, the cookies that they set, and the token that every change needs.
//!
//! A browser sends a cookie to every port of this computer, so a page of another program could receive it. The cookie's path is
//! therefore a secret of its own ([`Browsers::base`]): without it, a browser sends nothing. Sessions end with the daemon.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use yore_engine::platform;

use super::token::is_same;

/// Time in which a link must be opened.
const LINK_LIFE: Duration = Duration::from_secs(60);
/// Most links that wait to be opened; the oldest gives way.
const MOST_LINKS: usize = 16;
/// Silence after which a session ends.
const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// Most sessions at once; the one that was silent for longest gives way.
const MOST_SESSIONS: usize = 32;
/// Digits of the secret in the path.
const BASE_DIGITS: usize = 16;
/// Name of the cookie.
const COOKIE: &str = "yore";

/// Path that a link opens.
pub const ENTER: &str = "/enter";
/// Header that carries the token of a change.
pub const CSRF: &str = "yore-csrf";

/// The sessions of browsers.
pub struct Browsers {
    base: String,
    links: Mutex<VecDeque<(String, Instant)>>,
    sessions: Mutex<Vec<Session>>,
}

struct Session {
    cookie: String,
    known: Known,
    heard: Instant,
}

/// A browser that sent a valid cookie.
#[derive(Clone)]
pub struct Known {
    /// The token that its changes must send.
    pub csrf: Arc<str>,
}

impl Browsers {
    /// Begins without sessions.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new() -> io::Result<Self> {
        let secret = platform::random_token()?;
        let base = format!("/page/{}", &secret[..BASE_DIGITS]);
        Ok(Self { base, links: Mutex::default(), sessions: Mutex::default() })
    }

    /// The path below which the page is served.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Makes a link that works once, for a minute: its path and query.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn link(&self) -> io::Result<String> {
        let code = platform::random_token()?;
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() >= MOST_LINKS {
            links.pop_front();
        }
        links.push_back((code.clone(), Instant::now()));
        Ok(format!("{ENTER}?code={code}"))
    }

    /// Uses up a link; returns the value of `Set-Cookie`, or `None` if the link is unknown, used or too old.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn enter(&self, code: &str, now: Instant) -> io::Result<Option<String>> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|(_, made)| now.saturating_duration_since(*made) < LINK_LIFE);
        let Some(at) = links.iter().position(|(known, _)| is_same(code.as_bytes(), known.as_bytes())) else {
            return Ok(None);
        };
        links.remove(at);
        drop(links);
        let (cookie, csrf) = (platform::random_token()?, platform::random_token()?);
        let value = format!("{COOKIE}={cookie}; Path={}; HttpOnly; SameSite=Strict", self.base);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= MOST_SESSIONS
            && let Some(quietest) = (0..sessions.len()).min_by_key(|at| sessions[*at].heard)
        {
            sessions.swap_remove(quietest);
        }
        sessions.push(Session { cookie, known: Known { csrf: csrf.into() }, heard: now });
        Ok(Some(value))
    }

    /// Returns whether a browser was heard within this time.
    pub fn was_heard(&self, within: Duration, now: Instant) -> bool {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().any(|session| now.saturating_duration_since(session.heard) < within)
    }

    /// Returns the browser that sent these values of the header `Cookie`.
    pub fn know<'a>(&self, cookies: impl Iterator<Item = &'a [u8]>, now: Instant) -> Option<Known> {
        let said: Vec<&[u8]> = cookies
            .flat_map(|header| header.split(|byte| *byte == b';'))
            .filter_map(|pair| pair.trim_ascii().strip_prefix(COOKIE.as_bytes())?.strip_prefix(b"="))
            .collect();
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| now.saturating_duration_since(session.heard) < SESSION_LIFE);
        let session = sessions.iter_mut().find(|session| said.iter().any(|said| is_same(said, session.cookie.as_bytes())))?;
        session.heard = now;
        Some(session.known.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie_of(value: &str) -> String {
        value.split(';').next().unwrap().to_owned()
    }

    fn code(link: &str) -> &str {
        link.split_once("code=").unwrap().1
    }

    #[test]
    fn a_link_works_once_and_for_a_minute() {
        let (browsers, now) = (Browsers::new().unwrap(), Instant::now());
        let link = browsers.link().unwrap();
        assert_eq!(browsers.enter("", now).unwrap(), None);
        let value = browsers.enter(code(&link), now).unwrap().unwrap();
        assert!(value.contains("HttpOnly") && value.contains("SameSite=Strict"));
        assert!(value.contains(&format!("Path={};", browsers.base())));
        assert_eq!(browsers.enter(code(&link), now).unwrap(), None, "a link works once");
        let late = browsers.link().unwrap();
        assert_eq!(browsers.enter(code(&late), Instant::now() + LINK_LIFE).unwrap(), None);
    }

    #[test]
    fn a_browser_is_known_by_its_cookie_until_it_is_silent_for_long() {
        let (browsers, now) = (Browsers::new().unwrap(), Instant::now());
        let value = browsers.enter(code(&browsers.link().unwrap()), now).unwrap().unwrap();
        assert!(browsers.was_heard(SESSION_LIFE, now) && !browsers.was_heard(SESSION_LIFE, now + SESSION_LIFE));
        let cookie = cookie_of(&value);
        let know = |header: &str, at| browsers.know(std::iter::once(header.as_bytes()), at).map(|known| known.csrf);
        assert!(know(&cookie, now).is_some());
        assert!(know(&format!("a=b; {cookie}"), now).is_some());
        for wrong in ["", "yore=", "yore", "other=1", &cookie[..cookie.len() - 1], &format!("x{cookie}")] {
            assert!(know(wrong, now).is_none(), "{wrong}");
        }
        let later = now + SESSION_LIFE - Duration::from_secs(1);
        assert!(know(&cookie, later).is_some(), "a use extends it");
        assert!(know(&cookie, later + SESSION_LIFE - Duration::from_secs(1)).is_some());
        assert!(know(&cookie, later + 2 * SESSION_LIFE).is_none());
    }

    #[test]
    fn the_quietest_session_gives_way() {
        let (browsers, now) = (Browsers::new().unwrap(), Instant::now());
        let second = Duration::from_secs(1);
        let cookies: Vec<String> = (0..=MOST_SESSIONS as u32)
            .map(|at| cookie_of(&browsers.enter(code(&browsers.link().unwrap()), now + at * second).unwrap().unwrap()))
            .collect();
        let is_known = |at: usize| browsers.know(std::iter::once(cookies[at].as_bytes()), now + 60 * second).is_some();
        assert!(!is_known(0));
        assert!((1..=MOST_SESSIONS).all(is_known));
    }
}
