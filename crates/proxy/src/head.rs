//! Heads of requests and answers: which headers pass on, who may ask, and facts for the memory.

use hyper::{
    HeaderMap, Method, Request, StatusCode, Version,
    header::{self, HeaderName, HeaderValue},
    http::uri::Authority,
};
use url::{Host, Url};

use crate::{Asked, Protocol, Route, SESSION_HEADERS, connect::is_loopback};

/// Headers whose value depends on the body's bytes: a body that goes with them cannot be changed.
const SIGNATURES: &[&str] =
    &["content-md5", "digest", "content-digest", "repr-digest", "signature", "x-amz-content-sha256", "x-amz-date"];

/// A request that is not passed on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    pub message: String,
}

impl Refusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

/// Refuses requests that are meant for another server or that a web page sends, as after DNS rebinding.
pub(crate) fn check<B>(request: &Request<B>, port: u16) -> Result<(), Refusal> {
    if request.method() == Method::CONNECT {
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this proxy is reached by its address and opens no tunnels"));
    }
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next();
    let authority = request.uri().authority().map(Authority::as_str);
    let is_named = host.is_some() || authority.is_some() || request.version() == Version::HTTP_10;
    let is_ours = |name: &str| is_our_name(name, port);
    if !is_named
        || hosts.next().is_some()
        || !host.is_none_or(|host| host.to_str().is_ok_and(is_ours))
        || !authority.is_none_or(is_ours)
    {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "this server answers only to 127.0.0.1, localhost and [::1] with its port",
        ));
    }
    let is_local = |origin: &HeaderValue| {
        let url = origin.to_str().ok().and_then(|origin| Url::parse(origin).ok());
        url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && is_loopback(url.host()))
    };
    if !request.headers().get_all(header::ORIGIN).iter().all(is_local) {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "requests of web pages are refused, but for those of this machine"));
    }
    Ok(())
}

/// Returns whether `HOST:PORT` names this server.
fn is_our_name(authority: &str, port: u16) -> bool {
    let Ok(url) = Url::parse(&format!("http://{authority}/")) else { return false };
    let is_bare = url.username().is_empty() && url.password().is_none() && url.path() == "/";
    let is_host = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address == std::net::Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address == std::net::Ipv6Addr::LOCALHOST,
        None => false,
    };
    is_bare && is_host && url.port_or_known_default() == Some(port)
}

/// Headers of a request or an answer that pass on: all but those that concern one connection.
pub(crate) struct Passed<'a> {
    pub headers: &'a HeaderMap,
    /// The value for `Host`, if it goes on at all.
    pub host: Option<HeaderValue>,
    /// True if `Connection` and `Upgrade` go on, as for a tunnel.
    pub is_upgrade: bool,
    /// True if `Transfer-Encoding` goes on, which the encoder follows.
    pub keeps_transfer: bool,
}

impl Passed<'_> {
    /// Returns the headers in their order.
    pub fn collect(&self) -> HeaderMap {
        let named = self.named_by_connection();
        let mut passed = HeaderMap::with_capacity(self.headers.len());
        // Built anew, since removal from a map changes the order of the rest.
        for (name, value) in self.headers {
            let passes = match *name {
                header::HOST => {
                    if let Some(host) = &self.host {
                        passed.insert(header::HOST, host.clone());
                    }
                    false
                }
                header::CONNECTION | header::UPGRADE => self.is_upgrade,
                header::TRANSFER_ENCODING => self.keeps_transfer,
                header::TE => has_token(value, "trailers"),
                header::CONTENT_LENGTH => true,
                _ => {
                    let text = name.as_str();
                    text != "keep-alive" && !text.starts_with("proxy-") && !named.contains(name)
                }
            };
            if passes {
                let value = if *name == header::TE { HeaderValue::from_static("trailers") } else { value.clone() };
                passed.append(name.clone(), value);
            }
        }
        passed
    }

    fn named_by_connection(&self) -> Vec<HeaderName> {
        let values = self.headers.get_all(header::CONNECTION).iter();
        let tokens = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        tokens.filter_map(|token| HeaderName::try_from(token.trim()).ok()).collect()
    }
}

fn has_token(value: &HeaderValue, token: &str) -> bool {
    value.to_str().is_ok_and(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(token)))
}

/// Returns whether a request asks for a tunnel of a web socket.
pub(crate) fn is_websocket<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    request.version() == Version::HTTP_11
        && headers.get_all(header::CONNECTION).iter().any(|value| has_token(value, "upgrade"))
        && headers.get_all(header::UPGRADE).iter().any(|value| has_token(value, "websocket"))
}

/// Returns whether the body's type is JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let content_type = text(headers, header::CONTENT_TYPE);
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// Returns whether a header vouches for the body's bytes, so that they must not be changed.
pub(crate) fn is_signed(headers: &HeaderMap) -> bool {
    SIGNATURES.iter().any(|name| headers.contains_key(*name))
        || headers.get(header::AUTHORIZATION).is_some_and(|value| value.as_bytes().starts_with(b"AWS4-"))
}

/// Returns the length that a head tells of its body; `None` for none and for nonsense.
pub(crate) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns all values of a header, joined by commas.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> String {
    let values: Vec<_> = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    values.join(", ")
}

/// Returns the facts of a request that the memory learns.
pub(crate) fn asked<B>(request: &Request<B>, route: Route, protocol: Protocol) -> Asked {
    let value = |name: &str| request.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    Asked {
        route,
        protocol,
        method: request.method().as_str().to_owned(),
        user_agent: value("user-agent"),
        session_headers: SESSION_HEADERS.iter().filter_map(|name| Some((*name, value(name)?))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request<()> {
        let mut builder = Request::builder().uri("/x");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap()
    }

    fn status(headers: &[(&str, &str)]) -> Option<u16> {
        check(&request(headers), 4242).err().map(|refusal| refusal.status.as_u16())
    }

    #[test]
    fn only_the_names_of_this_machine_are_served() {
        for host in ["127.0.0.1:4242", "localhost:4242", "LOCALHOST:4242", "[::1]:4242"] {
            assert_eq!(status(&[("host", host)]), None, "{host}");
        }
        let others = [
            "",
            "127.0.0.1",
            "127.0.0.1:4243",
            "evil.example:4242",
            "localhost.evil.example:4242",
            "a@localhost:4242",
            "localhost:4242/x",
            "10.0.0.1:4242",
            "127.0.0.1:4242, evil.example",
        ];
        for host in others {
            assert_eq!(status(&[("host", host)]), Some(403), "{host}");
        }
        assert_eq!(status(&[]), Some(403));
        assert_eq!(status(&[("host", "localhost:4242"), ("host", "localhost:4242")]), Some(403));
    }

    #[test]
    fn only_web_pages_of_this_machine_are_served() {
        let with = |origin| status(&[("host", "localhost:4242"), ("origin", origin)]);
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8080"] {
            assert_eq!(with(origin), None, "{origin}");
        }
        for origin in ["null", "https://evil.example", "http://localhost.evil.example", "file://", "x"] {
            assert_eq!(with(origin), Some(403), "{origin}");
        }
    }

    #[test]
    fn tunnels_and_addresses_of_other_servers_are_refused() {
        let connect = Request::builder().method("CONNECT").uri("localhost:4242").body(()).unwrap();
        assert_eq!(check(&connect, 4242).unwrap_err().status, 405);
        let of = |uri: &str| Request::builder().uri(uri).header("host", "localhost:4242").body(()).unwrap();
        assert_eq!(check(&of("http://evil.example/x"), 4242).unwrap_err().status, 403);
        assert_eq!(check(&of("http://localhost:4242/x"), 4242), Ok(()));
    }

    #[test]
    fn headers_of_one_connection_stay_behind_and_the_rest_keeps_its_order() {
        let request = request(&[
            ("host", "localhost"),
            ("b", "1"),
            ("connection", "keep-alive, x-hop"),
            ("x-hop", "1"),
            ("keep-alive", "5"),
            ("a", "2"),
            ("proxy-authorization", "x"),
            ("te", "gzip, trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("b", "3"),
        ]);
        let host = Some(HeaderValue::from_static("up"));
        let passed = Passed { headers: request.headers(), host, is_upgrade: false, keeps_transfer: false }.collect();
        let passed: Vec<_> = passed.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(passed, [("host", "up"), ("b", "1"), ("b", "3"), ("a", "2"), ("te", "trailers")]);
    }

    #[test]
    fn credentials_are_not_among_the_facts() {
        let request = request(&[("authorization", "Bearer key"), ("x-api-key", "key"), ("session-id", "s"), ("user-agent", "u")]);
        let route = Route { upstream: "a".into(), directory: None, agent: None, memory: None, rest: "/v1".into() };
        let asked = asked(&request, route, Protocol::OpenAiChat);
        assert_eq!((asked.user_agent.as_deref(), &asked.session_headers[..]), (Some("u"), &[("session-id", "s".to_owned())][..]));
        assert!(!format!("{asked:?}").contains("key"));
    }
}
