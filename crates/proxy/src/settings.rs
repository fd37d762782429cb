//! Settings of the proxy: its token, the upstreams it knows, and its limits.

use std::{collections::BTreeMap, fmt, time::Duration};

use thiserror::Error;
use url::Url;

/// Settings of the proxy.
#[derive(Clone)]
pub struct Settings {
    /// First segment of every path that is served. Anything that keeps web pages and other users from guessing it: 128 random
    /// bits in hexadecimal will do.
    pub token: String,
    /// Servers that requests may go to, by their names.
    pub upstreams: BTreeMap<String, Upstream>,
    /// Longest time that a request waits for the memory, beside 10 ms for each megabyte that is read. Default: 50 ms.
    pub deadline: Duration,
    /// Longest body of a request, in bytes; longer ones are answered with status 413. Default: 64 MiB.
    pub longest_body: usize,
    /// Longest answer that is kept for the memory, in bytes as they pass; longer ones pass unseen. Default: 16 MiB.
    pub longest_kept: usize,
    /// Address of an HTTP proxy that upstreams are reached through, as `http://user:password@host:port` or with `https`.
    /// Upstreams on this machine are reached directly. Variables of the environment are never read.
    pub via: Option<Url>,
    /// Certificates of authorities to trust besides the public ones, in DER, as companies have that look into their traffic.
    pub authorities: Vec<Vec<u8>>,
}

/// A server that requests may go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Address that the rest of a request's path is appended to: `http` or `https`, with or without a path.
    pub base: Url,
}

/// A mistake in [`Settings`].
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SettingsError {
    /// The token cannot be a segment of a path.
    #[error("the proxy's token must have at least 16 characters, of letters, digits, `-` and `_` only")]
    Token,
    /// An upstream's address cannot be used.
    #[error(
        "invalid address of upstream {name}: it must be http:// or https:// with a host, without user, password, query or fragment"
    )]
    Base {
        /// Name of the upstream.
        name: String,
    },
    /// An upstream's name cannot be a segment of a path.
    #[error("invalid name of upstream {name:?}: letters, digits, `-`, `_` and `.` are allowed")]
    Name {
        /// The name.
        name: String,
    },
    /// The address of the HTTP proxy cannot be used.
    #[error("invalid address of the HTTP proxy: it must be http:// or https:// with a host")]
    Via,
    /// A certificate cannot be read.
    #[error("invalid certificate of an authority, number {number}: it must be X.509 in DER")]
    Authority {
        /// Its number in the list, from 0 on.
        number: usize,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
}

impl Settings {
    /// Returns settings with this token, these upstreams and the limits' defaults.
    pub fn new(token: impl Into<String>, upstreams: BTreeMap<String, Upstream>) -> Self {
        Self {
            token: token.into(),
            upstreams,
            deadline: Duration::from_millis(50),
            longest_body: 64 << 20,
            longest_kept: 16 << 20,
            via: None,
            authorities: Vec::new(),
        }
    }

    /// Checks what can be checked without reaching anything.
    ///
    /// # Errors
    /// The first mistake found.
    pub fn check(&self) -> Result<(), SettingsError> {
        let is_word = |text: &str, extra: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c));
        if self.token.len() < 16 || !is_word(&self.token, "-_") {
            return Err(SettingsError::Token);
        }
        for (name, Upstream { base }) in &self.upstreams {
            if name.is_empty() || !is_word(name, "-_.") {
                return Err(SettingsError::Name { name: name.clone() });
            }
            let is_plain = base.username().is_empty() && base.password().is_none();
            if !is_http(base) || !is_plain || base.query().is_some() || base.fragment().is_some() {
                return Err(SettingsError::Base { name: name.clone() });
            }
        }
        match &self.via {
            Some(via) if !is_http(via) => Err(SettingsError::Via),
            _ => Ok(()),
        }
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty())
}

impl fmt::Debug for Settings {
    /// Leaves out the token and the credentials of `via`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token: _, upstreams, deadline, longest_body, longest_kept, via, authorities } = self;
        f.debug_struct("Settings")
            .field("upstreams", upstreams)
            .field("deadline", deadline)
            .field("longest_body", longest_body)
            .field("longest_kept", longest_kept)
            .field("via", &via.as_ref().and_then(Url::host_str))
            .field("authorities", &authorities.len())
            .finish_non_exhaustive()
    }
}
