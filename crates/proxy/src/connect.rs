//! Connects to upstreams: TCP and TLS, directly or through an HTTP proxy of the company, within 10 s.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::{
    Uri,
    header::HeaderValue,
    rt::{Read, ReadBufCursor, Write},
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{Connected, Connection, HttpConnector, proxy::Tunnel},
    },
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use percent_encoding::percent_decode_str;
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};
use tokio::net::TcpStream;
use tower_service::Service;
use url::{Host, Url};

use crate::{Settings, SettingsError, tee::Outgoing};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Longest time until a connection is there, with TLS.
const CONNECT: Duration = Duration::from_secs(10);
/// Time after which an unused connection is closed. Short, since servers close theirs without notice.
const IDLE: Duration = Duration::from_secs(30);
/// Time after which a silent HTTP/2 connection is asked for a sign of life, and the time to give one.
const PING: Duration = Duration::from_secs(20);

/// The clients for upstreams.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    /// HTTP/2 where an `https` upstream offers it, otherwise HTTP/1.1.
    pub any: Client<Connector, Outgoing>,
    /// HTTP/1.1 only, which upgrades need.
    pub http1: Client<Connector, Outgoing>,
    /// `Proxy-Authorization` for requests that a proxy reads, which are those to `http` upstreams.
    pub proxy_authorization: Option<HeaderValue>,
    has_proxy: bool,
}

impl Clients {
    /// Sets up the clients. Nothing is connected yet.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let tls = tls(&settings.authorities)?;
        let mut plain = HttpConnector::new();
        plain.enforce_http(false);
        plain.set_nodelay(true);
        plain.set_connect_timeout(Some(CONNECT));
        plain.set_keepalive(Some(Duration::from_secs(60)));
        let authorization = settings.via.as_ref().and_then(basic);
        let via = match &settings.via {
            Some(url) => {
                let address = address_of(url).ok_or(SettingsError::Via)?;
                let builder = HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http().enable_http1();
                let connector = builder.wrap_connector(plain.clone());
                Some(Via { address, authorization: authorization.clone(), connector })
            }
            None => None,
        };
        let reach = Reach { plain, via };
        let has_proxy = reach.via.is_some();
        let schemes = || HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http();
        let any = client(Connector(schemes().enable_all_versions().wrap_connector(reach.clone())));
        let http1 = client(Connector(schemes().enable_http1().wrap_connector(reach)));
        Ok(Self { any, http1, proxy_authorization: authorization, has_proxy })
    }

    /// Returns the credentials that a request to `base` carries for the proxy itself.
    pub fn authorization_for(&self, base: &Url) -> Option<&HeaderValue> {
        let is_read = self.has_proxy && base.scheme() == "http" && !is_loopback(base.host());
        self.proxy_authorization.as_ref().filter(|_| is_read)
    }
}

fn client(connector: Connector) -> Client<Connector, Outgoing> {
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(64)
        .http1_preserve_header_case(true)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PING)
        .http2_adaptive_window(true)
        .http2_max_header_list_size(256 << 10)
        .build(connector)
}

fn tls(authorities: &[Vec<u8>]) -> Result<ClientConfig, SettingsError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for (number, authority) in authorities.iter().enumerate() {
        let added = roots.add(CertificateDer::from(authority.as_slice()));
        added.map_err(|_| SettingsError::Authority { number })?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| SettingsError::Tls(error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Returns the address of a server without credentials, path and query.
fn address_of(url: &Url) -> Option<Uri> {
    Uri::builder().scheme(url.scheme()).authority(authority(url)?.as_str()).path_and_query("/").build().ok()
}

/// Returns host and port of an address; no port if it is the scheme's own.
pub(crate) fn authority(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// Returns the credentials of an address as a value of `Proxy-Authorization`.
fn basic(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut pair: Vec<u8> = percent_decode_str(url.username()).collect();
    pair.push(b':');
    pair.extend(percent_decode_str(url.password().unwrap_or_default()));
    let mut value = HeaderValue::try_from(format!("Basic {}", base64(&pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |bits: u32| char::from(LETTERS.get((bits & 63) as usize).copied().unwrap_or(b'='));
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().enumerate().fold(0_u32, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        out.push(letter(bits >> 18));
        out.push(letter(bits >> 12));
        out.push(if chunk.len() > 1 { letter(bits >> 6) } else { '=' });
        out.push(if chunk.len() > 2 { letter(bits) } else { '=' });
    }
    out
}

/// Returns whether a host is this machine by its name or address.
pub(crate) fn is_loopback<S: AsRef<str>>(host: Option<Host<S>>) -> bool {
    match host {
        Some(Host::Domain(name)) => {
            let name = name.as_ref().trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

/// Makes connections with TLS where the scheme is `https`, within [`CONNECT`].
#[derive(Clone, Debug)]
pub(crate) struct Connector(HttpsConnector<Reach>);

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<Reached>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let connecting = self.0.call(address);
        Box::pin(async move {
            let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no connection after {} s", CONNECT.as_secs()));
            tokio::time::timeout(CONNECT, connecting).await.map_err(|_| late())?
        })
    }
}

type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Makes connections that TLS is not spoken on yet: directly, or through a proxy.
#[derive(Clone, Debug)]
struct Reach {
    plain: HttpConnector,
    via: Option<Via>,
}

#[derive(Clone, Debug)]
struct Via {
    address: Uri,
    authorization: Option<HeaderValue>,
    connector: HttpsConnector<HttpConnector>,
}

impl Service<Uri> for Reach {
    type Response = Reached;
    type Error = BoxError;
    type Future = Connecting<Reached>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let host = address.host().and_then(|host| Host::parse(host).ok());
        let via = self.via.clone().filter(|_| !is_loopback(host));
        let mut plain = self.plain.clone();
        Box::pin(async move {
            let Some(Via { address: proxy, authorization, mut connector }) = via else {
                let stream = MaybeHttpsStream::Http(plain.call(address).await?);
                return Ok(Reached { stream, is_proxied: false });
            };
            if address.scheme_str() == Some("https") {
                let mut tunnel = Tunnel::new(proxy, connector);
                if let Some(authorization) = authorization {
                    tunnel = tunnel.with_auth(authorization);
                }
                return Ok(Reached { stream: tunnel.call(address).await?, is_proxied: false });
            }
            Ok(Reached { stream: connector.call(proxy).await?, is_proxied: true })
        })
    }
}

/// A connection to an upstream, or to a proxy that reads the requests.
#[derive(Debug)]
pub(crate) struct Reached {
    stream: MaybeHttpsStream<TokioIo<TcpStream>>,
    is_proxied: bool,
}

impl Connection for Reached {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_proxied)
    }
}

impl Read for Reached {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for Reached {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_a_proxy_are_encoded_as_basic() {
        let value = |url: &str| basic(&Url::parse(url).unwrap()).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(value("http://Aladdin:open%20sesame@proxy:3128"), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".into()));
        assert_eq!(value("http://ab:c@proxy"), Some("Basic YWI6Yw==".into()));
        assert_eq!(value("http://a:bc@proxy"), Some("Basic YTpiYw==".into()));
        assert_eq!(value("http://proxy:3128"), None);
    }

    #[test]
    fn this_machine_is_known_by_name_and_address() {
        let is_here = |url: &str| is_loopback(Url::parse(url).unwrap().host());
        for url in ["http://localhost:1", "http://a.localhost", "http://127.9.9.9", "http://[::1]:2", "http://[::ffff:127.0.0.1]"]
        {
            assert!(is_here(url), "{url}");
        }
        for url in ["http://localhost.example.com", "http://10.0.0.1", "http://[2001:db8::1]", "http://128.0.0.1"] {
            assert!(!is_here(url), "{url}");
        }
    }
}
