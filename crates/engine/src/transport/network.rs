//! Sends HTTP requests, and resolves names to addresses that were checked.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::address;
use super::exchange::{Exchange, Request, Response, TransportError};

const USER_AGENT: &str = concat!("yore/", env!("CARGO_PKG_VERSION"));

/// Sends requests over the network. Keeps no cookies, and keeps connections open only if names need no check.
pub(super) struct Network(ureq::Agent);

/// The way in which host names are resolved.
pub(super) enum Names {
    /// By the system.
    System,
    /// By the system, but only to addresses to which connections are allowed.
    Guarded(Guard),
}

impl Network {
    /// Prepares a client.
    pub(super) fn new(names: Names, connect_timeout: Duration, proxy: Option<&str>) -> Result<Self, TransportError> {
        let parsed = proxy.map(|proxy| ureq::Proxy::new(proxy).map_err(|_| TransportError::Proxy(proxy.to_owned())));
        let parsed = parsed.transpose()?;
        let is_guarded = matches!(names, Names::Guarded(_));
        let way = parsed.as_ref().map(|proxy| (proxy.host().to_ascii_lowercase(), proxy.port()));
        let mut config = ureq::Agent::config_builder()
            // Without this, the client takes the proxy from the environment.
            .proxy(parsed)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(USER_AGENT)
            .timeout_resolve(Some(connect_timeout))
            .timeout_connect(Some(connect_timeout));
        if is_guarded {
            config = config.max_idle_connections(0);
        }
        let lookup = LookUp { names, way };
        Ok(Self(ureq::Agent::with_parts(config.build(), DefaultConnector::default(), lookup)))
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

impl Exchange for Network {
    fn send(&self, request: &Request) -> Result<Response, TransportError> {
        let mut built = ureq::http::Request::builder().method(request.method).uri(&request.address);
        for (name, value) in &request.headers {
            built = built.header(name, value);
        }
        let wrong = |error: ureq::http::Error| TransportError::Request(error.to_string());
        let response = if request.body.is_empty() {
            let built = self.0.configure_request(built.body(()).map_err(wrong)?);
            self.0.run(built.timeout_global(Some(request.timeout)).build())
        } else {
            let built = self.0.configure_request(built.body(request.body.as_slice()).map_err(wrong)?);
            self.0.run(built.timeout_global(Some(request.timeout)).build())
        };
        let (head, body) = response.map_err(understood)?.into_parts();
        let text = |value: &ureq::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
        let length = body.content_length();
        Ok(Response { status: head.status.as_u16(), headers, length, body: Box::new(body.into_reader()) })
    }
}

/// Converts an error of the HTTP client.
pub(super) fn understood(error: ureq::Error) -> TransportError {
    match error {
        ureq::Error::Timeout(_) => TransportError::Timeout,
        ureq::Error::HostNotFound => TransportError::UnknownHost,
        ureq::Error::BodyExceedsLimit(limit) => TransportError::TooLarge(limit),
        ureq::Error::Other(error) => match error.downcast::<Refused>() {
            Ok(refused) => TransportError::PrivateAddress(refused.0),
            Err(error) => TransportError::Protocol(error.to_string()),
        },
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => TransportError::Timeout,
        ureq::Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<Unresolved>()) {
            Some(Unresolved) => TransportError::UnknownHost,
            None => TransportError::Connection(error),
        },
        ureq::Error::ConnectionFailed | ureq::Error::ConnectProxyFailed(_) => {
            TransportError::Connection(io::Error::other(error.to_string()))
        }
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) | ureq::Error::TlsRequired => {
            TransportError::Tls(error.to_string())
        }
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => TransportError::Request(error.to_string()),
        other => TransportError::Protocol(other.to_string()),
    }
}

/// Returns only addresses to which connections are allowed. The client connects to the checked addresses,
/// without a second look-up.
pub(super) struct Guard {
    /// True if every address is allowed.
    pub allow_private: bool,
    /// Private addresses that are allowed.
    pub allowed: Vec<IpAddr>,
    /// Resolves names in a test.
    #[cfg(test)]
    pub given: Option<GivenNames>,
}

/// Resolves names in a test.
#[cfg(test)]
pub(super) type GivenNames = Box<dyn Fn(&str) -> Vec<IpAddr> + Send + Sync>;

impl Guard {
    fn may(&self, address: IpAddr) -> bool {
        self.allow_private || address::is_public(address) || self.allowed.contains(&address)
    }
}

/// Resolves host names.
struct LookUp {
    names: Names,
    /// Host and port of the proxy, which is usually in the private network.
    way: Option<(String, u16)>,
}

impl fmt::Debug for LookUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LookUp")
    }
}

impl LookUp {
    fn look_up(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        #[cfg(test)]
        if let Names::Guarded(Guard { given: Some(names), .. }) = &self.names {
            let mut found = self.empty();
            let port = uri.port_u16().unwrap_or(80);
            names(uri.host().unwrap_or_default()).into_iter().for_each(|ip| found.push((ip, port).into()));
            return if found.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(found) };
        }
        DefaultResolver::default().resolve(uri, config, timeout).map_err(|error| match error {
            // The system reports an unknown name as a plain I/O error.
            ureq::Error::Io(_) => ureq::Error::Io(io::Error::new(io::ErrorKind::NotFound, Unresolved)),
            other => other,
        })
    }
}

impl Resolver for LookUp {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.look_up(uri, config, timeout)?;
        let is_proxy = self.way.as_ref().is_some_and(|(host, port)| {
            uri.host().is_some_and(|asked| asked.eq_ignore_ascii_case(host)) && uri.port_u16().is_none_or(|asked| asked == *port)
        });
        let guard = match &self.names {
            Names::Guarded(guard) if !is_proxy => guard,
            _ => return Ok(found),
        };
        let mut checked = self.empty();
        let mut refused = None;
        for socket in found.iter().copied() {
            if guard.may(socket.ip()) {
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

/// All addresses of a name are private.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a public address")]
struct Refused(IpAddr);

/// A name does not exist.
#[derive(Debug, thiserror::Error)]
#[error("unknown host name")]
struct Unresolved;
