//! Fetches a web page with its redirections, and checks each hop.

use std::io::Read;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use super::client::of_reading;
use super::content::Content;
use super::error::{FetchError, MAX_REDIRECTS};
use super::exchange::{Exchange, Request, Response, TransportError};
use super::network::{Guard, Names, Network};
use super::{address, content};

/// Default limit of a page in bytes, decompressed.
const MAX_BYTES: u64 = 10 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer validators are ignored.
const MAX_VALIDATOR_BYTES: usize = 1024;
const ACCEPT: &str =
    "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/pdf;q=0.8, application/json;q=0.8";

/// Limits and permissions of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchSettings {
    /// Bytes of a page, decompressed: more is an error.
    pub max_bytes: u64,
    /// Maximum time for one connection, without the name look-up.
    pub connect_timeout: Duration,
    /// Maximum time for everything together.
    pub total_timeout: Duration,
    /// True if pages of private networks and of this computer may be fetched.
    pub allow_private: bool,
    /// Private addresses to which connections are allowed nevertheless.
    pub allowed_addresses: Vec<IpAddr>,
    /// A proxy (`http://host:port`). The proxy resolves host names and so must check the addresses; addresses
    /// written as numbers are still checked here.
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

/// Validators of a page that was fetched before, with which a server can report that it is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditional {
    /// The final address of the page, as [`Page::address`] shows it. The validators are sent to no other
    /// address.
    pub address: String,
    /// Its `ETag`.
    pub etag: Option<String>,
    /// Its `Last-Modified`.
    pub last_modified: Option<String>,
}

/// Result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The page is unchanged.
    NotModified,
    /// The page was fetched.
    Page(Page),
}

/// A fetched page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The final address, after all redirections, without secret values.
    pub address: String,
    /// Its text or bytes.
    pub content: Content,
    /// The server's tag for this version of the page.
    pub etag: Option<String>,
    /// Date of its last change, as the server writes it.
    pub last_modified: Option<String>,
}

/// Returns an address as it is stored and shown: normalised, without fragment, and without the values of
/// secret parameters.
///
/// # Errors
/// When the address may not be fetched.
pub fn shown_address(address: &str) -> Result<String, FetchError> {
    address::parse(address).map(|url| address::shown(&url))
}

/// Fetches pages. Keeps no cookies and no open connections between them.
#[derive(Debug)]
pub struct Fetcher {
    settings: FetchSettings,
    exchange: Arc<dyn Exchange>,
}

impl Fetcher {
    /// Prepares a fetcher that uses the network.
    ///
    /// # Errors
    /// [`FetchError::Proxy`].
    pub fn new(settings: FetchSettings) -> Result<Self, FetchError> {
        let guard = Guard {
            allow_private: settings.allow_private,
            allowed: settings.allowed_addresses.clone(),
            #[cfg(test)]
            given: None,
        };
        Self::guarded(settings, guard)
    }

    fn guarded(settings: FetchSettings, guard: Guard) -> Result<Self, FetchError> {
        let network = Network::new(Names::Guarded(guard), settings.connect_timeout, settings.proxy.as_deref());
        let network = network.map_err(|_| FetchError::Proxy(settings.proxy.clone().unwrap_or_default()))?;
        Ok(Self::over(settings, Arc::new(network)))
    }

    /// Prepares a fetcher that sends its requests over `exchange`. Addresses that are written as numbers are
    /// still checked.
    pub fn over(settings: FetchSettings, exchange: Arc<dyn Exchange>) -> Self {
        Self { settings, exchange }
    }

    /// Fetches a page, or finds that it is unchanged.
    ///
    /// # Errors
    /// Every [`FetchError`].
    pub fn fetch(&self, address: &str, known: &Conditional) -> Result<Fetched, FetchError> {
        let until = Instant::now() + self.settings.total_timeout;
        let mut url = address::parse(address)?;
        for _ in 0..=MAX_REDIRECTS {
            self.check_literal(&url)?;
            let shown = address::shown(&url);
            let known = Some(known).filter(|known| known.address == shown);
            let response = self.request(&url, known, until)?;
            let status = response.status;
            match (status, location(&response)) {
                (200..=299, _) => return self.page(&url, shown, response).map(Fetched::Page),
                (304, _) if known.is_some() => return Ok(Fetched::NotModified),
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    let next = url.join(location).map_err(|error| FetchError::Protocol {
                        host: host_of(&url),
                        detail: format!("it redirects to an invalid address: {error}"),
                    })?;
                    url = address::check(next)?;
                }
                _ => return Err(FetchError::Status { address: shown, status }),
            }
        }
        Err(FetchError::TooManyRedirects { host: host_of(&url) })
    }

    /// Refuses a private IP address before any request, even one that a proxy would connect to.
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

    fn request(&self, url: &Url, known: Option<&Conditional>, until: Instant) -> Result<Response, FetchError> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(FetchError::Timeout { host: host_of(url) });
        }
        let mut request = Request::new("GET", url.as_str(), left).header("accept", ACCEPT);
        if let Some(known) = known {
            for (name, value) in [("if-none-match", &known.etag), ("if-modified-since", &known.last_modified)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
        }
        self.exchange.send(&request).map_err(|error| explain(url, error))
    }

    fn page(&self, url: &Url, shown: String, mut response: Response) -> Result<Page, FetchError> {
        let validator = |name| {
            let value = response.header(name).filter(|value| value.len() <= MAX_VALIDATOR_BYTES && value.is_ascii());
            value.map(str::to_owned)
        };
        let (etag, last_modified) = (validator("etag"), validator("last-modified"));
        let content_type = response.header("content-type").map(str::to_owned);
        let content_type = content_type.as_deref();
        let refused = |content_type: &str| FetchError::ContentType {
            address: shown.clone(),
            content_type: content_type.chars().take(80).collect(),
        };
        // The check comes before the body, so that a film is not downloaded to learn its type.
        if content_type.is_some_and(|named| content::kind_of(Some(named), b"").is_none() && !named.trim().is_empty()) {
            return Err(refused(content_type.unwrap_or_default()));
        }
        if response.header("content-encoding").is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            let detail = "it uses a compression that was not requested".to_owned();
            return Err(FetchError::Protocol { host: host_of(url), detail });
        }
        let limit = self.settings.max_bytes;
        if response.length.is_some_and(|length| length > limit) {
            return Err(FetchError::TooLarge { limit });
        }
        let mut bytes = Vec::new();
        let read = response.body.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes);
        // Bytes over the limit decide, whatever error the rest of a compressed body would give.
        if bytes.len() as u64 > limit {
            return Err(FetchError::TooLarge { limit });
        }
        read.map_err(|error| explain(url, of_reading(error)))?;
        let kind = content::kind_of(content_type, &bytes).ok_or_else(|| refused(content_type.unwrap_or("of no type")))?;
        // The HTTP client has already decoded text of a named character set.
        let charset = content_type.and_then(content::charset_of);
        let is_decoded = charset.is_some() && content_type.is_some_and(|named| named.trim_start().starts_with("text/"));
        let is_text = is_decoded && std::str::from_utf8(&bytes).is_ok();
        let content = content::content(kind, if is_text { Some("utf-8") } else { charset.as_deref() }, bytes);
        Ok(Page { address: shown, content, etag, last_modified })
    }
}

/// Converts a transport error of a page.
fn explain(url: &Url, error: TransportError) -> FetchError {
    let host = host_of(url);
    match error {
        TransportError::Request(detail) | TransportError::Protocol(detail) => FetchError::Protocol { host, detail },
        TransportError::UnknownHost => FetchError::UnknownHost(host),
        TransportError::PrivateAddress(address) => FetchError::PrivateAddress { host, address },
        TransportError::Connection(error) => FetchError::Connection { host, error },
        TransportError::Tls(detail) => FetchError::Tls { host, detail },
        TransportError::Timeout => FetchError::Timeout { host },
        TransportError::TooLarge(limit) => FetchError::TooLarge { limit },
        TransportError::Proxy(proxy) => FetchError::Proxy(proxy),
    }
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

fn location(response: &Response) -> Option<&str> {
    response.header("location").filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests;
