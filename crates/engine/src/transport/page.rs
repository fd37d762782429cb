//! One page and its redirections, each hop checked.

use std::fmt;
use std::io::{self, Read};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ureq::http::{HeaderMap, Uri, header};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use url::Url;

use super::content::Content;
use super::error::{FetchError, MAX_REDIRECTS};
use super::{address, content};

/// Bytes of a page, decompressed.
const MAX_BYTES: u64 = 10 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer validators are no use.
const MAX_VALIDATOR_BYTES: usize = 1024;
const USER_AGENT: &str = concat!("yore/", env!("CARGO_PKG_VERSION"));
const ACCEPT: &str =
    "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/pdf;q=0.8, application/json;q=0.8";

/// Limits and permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchSettings {
    /// Bytes of a page, decompressed: more is an error.
    pub max_bytes: u64,
    /// For one connection, name look-up not included.
    pub connect_timeout: Duration,
    /// For everything together.
    pub total_timeout: Duration,
    /// Whether pages of private networks and of this computer may be fetched.
    pub allow_private: bool,
    /// Private addresses that may be connected to nevertheless.
    pub allowed_addresses: Vec<IpAddr>,
    /// A proxy (`http://host:port`). It connects in our place, so which addresses a name leads to
    /// is checked by it; those written as numbers are checked here as ever.
    pub proxy: Option<String>,
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            max_bytes: MAX_BYTES,
            connect_timeout: CONNECT_TIMEOUT,
            total_timeout: TOTAL_TIMEOUT,
            allow_private: false,
            allowed_addresses: Vec::new(),
            proxy: None,
        }
    }
}

/// What is known of a page that was fetched before: a server that still has the same says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditional {
    /// The address that gave the page at last, as [`Page::address`] shows it. Validators are told
    /// to no other one.
    pub address: String,
    /// Its `ETag`.
    pub etag: Option<String>,
    /// Its `Last-Modified`.
    pub last_modified: Option<String>,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The page is as it was.
    NotModified,
    /// The page.
    Page(Page),
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The address that gave it, after all redirections, without values that open something.
    pub address: String,
    /// Its words or bytes.
    pub content: Content,
    /// The server's name for this version of it.
    pub etag: Option<String>,
    /// When it was last changed, in the server's words.
    pub last_modified: Option<String>,
}

/// An address as it is stored and shown: normalised, without fragment, and without the values of
/// parameters that open something.
///
/// # Errors
/// When it is no address that may be fetched.
pub fn shown_address(address: &str) -> Result<String, FetchError> {
    address::parse(address).map(|url| address::shown(&url))
}

/// Fetches pages. Keeps nothing between them: no cookies, no open connections.
pub struct Fetcher {
    settings: FetchSettings,
    agent: ureq::Agent,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Fetcher {
    /// Prepares to fetch.
    ///
    /// # Errors
    /// [`FetchError::Proxy`].
    pub fn new(settings: FetchSettings) -> Result<Self, FetchError> {
        Self::with_names(settings, Names::System)
    }

    fn with_names(settings: FetchSettings, names: Names) -> Result<Self, FetchError> {
        let proxy =
            settings.proxy.as_deref().map(|proxy| ureq::Proxy::new(proxy).map_err(|_| FetchError::Proxy(proxy.to_owned())));
        let proxy = proxy.transpose()?;
        let guard = Guard {
            allow_private: settings.allow_private,
            allowed: settings.allowed_addresses.clone(),
            proxy: proxy.as_ref().map(|proxy| (proxy.host().to_ascii_lowercase(), proxy.port())),
            names,
        };
        let config = ureq::Agent::config_builder()
            // Left alone, the client takes the environment's proxy.
            .proxy(proxy)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(USER_AGENT)
            .accept(ACCEPT)
            .timeout_resolve(Some(settings.connect_timeout))
            .timeout_connect(Some(settings.connect_timeout))
            .max_idle_connections(0)
            .build();
        let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), guard);
        Ok(Self { settings, agent })
    }

    /// Fetches a page, or learns that it is as it was.
    ///
    /// # Errors
    /// Everything that [`FetchError`] names.
    pub fn fetch(&self, address: &str, known: &Conditional) -> Result<Fetched, FetchError> {
        let until = Instant::now() + self.settings.total_timeout;
        let mut url = address::parse(address)?;
        for _ in 0..=MAX_REDIRECTS {
            self.check_literal(&url)?;
            let shown = address::shown(&url);
            let known = Some(known).filter(|known| known.address == shown);
            let response = self.request(&url, known, until)?;
            let status = response.status().as_u16();
            match (status, location(response.headers())) {
                (200..=299, _) => return self.page(&url, shown, response).map(Fetched::Page),
                (304, _) if known.is_some() => return Ok(Fetched::NotModified),
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    let next = url.join(location).map_err(|error| FetchError::Protocol {
                        host: host_of(&url),
                        detail: format!("it redirects to no address: {error}"),
                    })?;
                    url = address::check(next)?;
                }
                _ => return Err(FetchError::Status { address: shown, status }),
            }
        }
        Err(FetchError::TooManyRedirects { host: host_of(&url) })
    }

    /// Refuses a private address before anything happens, a proxy's own included.
    fn check_literal(&self, url: &Url) -> Result<(), FetchError> {
        match address::literal(url) {
            Some(address)
                if !self.settings.allow_private
                    && !address::is_public(address)
                    && !self.settings.allowed_addresses.contains(&address) =>
            {
                Err(FetchError::PrivateAddress { host: host_of(url), address })
            }
            _ => Ok(()),
        }
    }

    fn request(
        &self,
        url: &Url,
        known: Option<&Conditional>,
        until: Instant,
    ) -> Result<ureq::http::Response<ureq::Body>, FetchError> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(FetchError::Timeout { host: host_of(url) });
        }
        let mut request = self.agent.get(url.as_str()).config().timeout_global(Some(left)).build();
        if let Some(known) = known {
            for (name, value) in [(header::IF_NONE_MATCH, &known.etag), (header::IF_MODIFIED_SINCE, &known.last_modified)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
        }
        request.call().map_err(|error| self.explain(url, error))
    }

    fn page(&self, url: &Url, shown: String, response: ureq::http::Response<ureq::Body>) -> Result<Page, FetchError> {
        let (head, body) = response.into_parts();
        let text = |name: header::HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
        let validator = |name| text(name).filter(|value| value.len() <= MAX_VALIDATOR_BYTES).map(str::to_owned);
        let content_type = text(header::CONTENT_TYPE);
        let refused = |content_type: &str| FetchError::ContentType {
            address: shown.clone(),
            content_type: content_type.chars().take(80).collect(),
        };
        // Before a byte is read: a film is not fetched to find out what it is.
        if content_type.is_some_and(|named| content::kind_of(Some(named), b"").is_none() && !named.trim().is_empty()) {
            return Err(refused(content_type.unwrap_or_default()));
        }
        if text(header::CONTENT_ENCODING).is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            let detail = "it compresses in a way that was not asked for".to_owned();
            return Err(FetchError::Protocol { host: host_of(url), detail });
        }
        let limit = self.settings.max_bytes;
        if body.content_length().is_some_and(|length| length > limit) {
            return Err(FetchError::TooLarge { limit });
        }
        let mut bytes = Vec::new();
        let read = body.into_reader().take(limit.saturating_add(1)).read_to_end(&mut bytes);
        // What was read before the limit is known, whatever a compressed rest would say.
        if bytes.len() as u64 > limit {
            return Err(FetchError::TooLarge { limit });
        }
        read.map_err(|error| self.explain(url, error.into()))?;
        let kind = content::kind_of(content_type, &bytes).ok_or_else(|| refused(content_type.unwrap_or("of no type")))?;
        // Text of a named character set was decoded by the client on its way here.
        let charset = content_type.and_then(content::charset_of);
        let is_decoded = charset.is_some() && content_type.is_some_and(|named| named.trim_start().starts_with("text/"));
        let is_text = is_decoded && std::str::from_utf8(&bytes).is_ok();
        let content = content::content(kind, if is_text { Some("utf-8") } else { charset.as_deref() }, bytes);
        Ok(Page { address: shown, content, etag: validator(header::ETAG), last_modified: validator(header::LAST_MODIFIED) })
    }

    fn explain(&self, url: &Url, error: ureq::Error) -> FetchError {
        let host = host_of(url);
        match error {
            ureq::Error::Timeout(_) => FetchError::Timeout { host },
            ureq::Error::HostNotFound => FetchError::UnknownHost(host),
            ureq::Error::BodyExceedsLimit(_) => FetchError::TooLarge { limit: self.settings.max_bytes },
            ureq::Error::Other(error) => match error.downcast::<Refused>() {
                Ok(refused) => FetchError::PrivateAddress { host, address: refused.0 },
                Err(error) => FetchError::Protocol { host, detail: error.to_string() },
            },
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => FetchError::Timeout { host },
            ureq::Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<Unresolved>()) {
                Some(Unresolved) => FetchError::UnknownHost(host),
                None => FetchError::Connection { host, error },
            },
            ureq::Error::ConnectionFailed | ureq::Error::ConnectProxyFailed(_) => {
                FetchError::Connection { host, error: io::Error::other(error.to_string()) }
            }
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) | ureq::Error::TlsRequired => {
                FetchError::Tls { host, detail: error.to_string() }
            }
            other => FetchError::Protocol { host, detail: other.to_string() },
        }
    }
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

fn location(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty())
}

/// What a test says of names.
#[cfg(test)]
type GivenNames = Box<dyn Fn(&str) -> Vec<IpAddr> + Send + Sync>;

/// How names become addresses.
enum Names {
    /// As the system says.
    System,
    /// As a test says.
    #[cfg(test)]
    Given(GivenNames),
}

/// Looks names up and gives out only addresses that may be connected to: what the client connects
/// to is what was checked, there is no second look-up.
struct Guard {
    allow_private: bool,
    allowed: Vec<IpAddr>,
    /// Host and port of the proxy, which lies in the private network as a rule.
    proxy: Option<(String, u16)>,
    names: Names,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("allow_private", &self.allow_private).finish_non_exhaustive()
    }
}

impl Guard {
    fn may(&self, address: IpAddr) -> bool {
        self.allow_private || address::is_public(address) || self.allowed.contains(&address)
    }

    fn look_up(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        match &self.names {
            Names::System => DefaultResolver::default().resolve(uri, config, timeout).map_err(|error| match error {
                // A name that nobody knows is the system's plain error.
                ureq::Error::Io(_) => ureq::Error::Io(io::Error::new(io::ErrorKind::NotFound, Unresolved)),
                other => other,
            }),
            #[cfg(test)]
            Names::Given(names) => {
                let mut found = self.empty();
                let port = uri.port_u16().unwrap_or(80);
                names(uri.host().unwrap_or_default()).into_iter().for_each(|ip| found.push((ip, port).into()));
                if found.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(found) }
            }
        }
    }
}

impl Resolver for Guard {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.look_up(uri, config, timeout)?;
        let is_proxy = self.proxy.as_ref().is_some_and(|(host, port)| {
            uri.host().is_some_and(|asked| asked.eq_ignore_ascii_case(host)) && uri.port_u16().is_none_or(|asked| asked == *port)
        });
        if is_proxy {
            return Ok(found);
        }
        let mut checked = self.empty();
        let mut refused = None;
        for socket in found.iter().copied() {
            if self.may(socket.ip()) {
                checked.push(socket);
            } else {
                refused = Some(socket.ip());
            }
        }
        match refused {
            Some(address) if checked.is_empty() => Err(ureq::Error::Other(Box::new(Refused(address)))),
            _ => Ok(checked),
        }
    }
}

/// Every address of a name is a private one.
#[derive(Debug, thiserror::Error)]
#[error("{0} is no public address")]
struct Refused(IpAddr);

/// Nobody knows a name.
#[derive(Debug, thiserror::Error)]
#[error("the name is not known")]
struct Unresolved;

#[cfg(test)]
mod tests;
