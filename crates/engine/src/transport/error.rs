//! Errors of fetching a page.

use std::io;
use std::net::IpAddr;

/// At most this many redirections are followed.
pub(super) const MAX_REDIRECTS: usize = 5;

/// The reason why a page was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The text is not a valid address.
    #[error("invalid address {address:?}: {detail}")]
    Address {
        /// The text, cut.
        address: String,
        /// Description of the problem.
        detail: String,
    },
    /// The address uses another protocol.
    #[error("{0}: addresses are not supported, only http: and https:")]
    Scheme(String),
    /// The address holds a name or password.
    #[error("the address of {0} contains a user name or password")]
    Credentials(String),
    /// The address leads into a private network or to a machine's own services.
    #[error("{host} resolves to {address}, which is not a public address")]
    PrivateAddress {
        /// The requested host.
        host: String,
        /// One of its addresses.
        address: IpAddr,
    },
    /// The host name does not exist.
    #[error("unknown host {0}")]
    UnknownHost(String),
    /// The connection failed or broke.
    #[error("{host}: {error}")]
    Connection {
        /// The host.
        host: String,
        /// The system's error.
        error: io::Error,
    },
    /// The secure connection failed.
    #[error("{host}: no secure connection: {detail}")]
    Tls {
        /// The host.
        host: String,
        /// Message of the library.
        detail: String,
    },
    /// The server took too long.
    #[error("{host} did not answer in time")]
    Timeout {
        /// The host.
        host: String,
    },
    /// The page is too large.
    #[error("the page has more than {limit} bytes")]
    TooLarge {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// The server redirects too many times.
    #[error("{host} redirects more than {limit} times", limit = MAX_REDIRECTS)]
    TooManyRedirects {
        /// The last host.
        host: String,
    },
    /// The server answers with an error status.
    #[error("{address}: the server answered {status}")]
    Status {
        /// The requested address.
        address: String,
        /// The HTTP status.
        status: u16,
    },
    /// The content is neither text nor a PDF.
    #[error("{address} is {content_type:?}, which is not supported")]
    ContentType {
        /// The address.
        address: String,
        /// Content type according to the server.
        content_type: String,
    },
    /// The page has no text.
    #[error("{address} has no text")]
    NoText {
        /// The address of the page.
        address: String,
    },
    /// The server's answer is not valid.
    #[error("{host}: {detail}")]
    Protocol {
        /// The host.
        host: String,
        /// Description of the problem.
        detail: String,
    },
    /// The proxy's address is not valid.
    #[error("invalid proxy address {0:?}")]
    Proxy(String),
}

impl FetchError {
    /// A stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "fetch/address",
            Self::Scheme(_) => "fetch/scheme",
            Self::Credentials(_) => "fetch/credentials",
            Self::PrivateAddress { .. } => "fetch/private-address",
            Self::UnknownHost(_) => "fetch/unknown-host",
            Self::Connection { .. } => "fetch/connection",
            Self::Tls { .. } => "fetch/tls",
            Self::Timeout { .. } => "fetch/timeout",
            Self::TooLarge { .. } => "fetch/too-large",
            Self::TooManyRedirects { .. } => "fetch/redirects",
            Self::Status { .. } => "fetch/status",
            Self::ContentType { .. } => "fetch/content-type",
            Self::NoText { .. } => "fetch/no-text",
            Self::Protocol { .. } => "fetch/protocol",
            Self::Proxy(_) => "fetch/proxy",
        }
    }

    /// Returns advice for the person.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Address { .. } => "give the whole address, beginning with https://",
            Self::Scheme(_) => "give a file's path in place of its address; other protocols are not supported",
            Self::Credentials(_) => "pages behind a login are not fetched: save the page and ingest the file",
            Self::PrivateAddress { .. } => "if the page is on your own network, save it and ingest the file",
            Self::UnknownHost(_) => "check the spelling and the network connection",
            Self::Connection { .. } | Self::Timeout { .. } => "try again later",
            Self::Tls { .. } => "check the computer's clock, and whether a proxy intercepts the connection",
            Self::TooLarge { .. } => "save the page and ingest the part that matters as a file",
            Self::TooManyRedirects { .. } => "open the page in a browser and give the address that it ends at",
            Self::Status { status: 401 | 403 | 407, .. } => {
                "pages behind a login are not fetched: save the page and ingest the file"
            }
            Self::Status { status: 404 | 410, .. } => "check the address; text read from the page before is kept",
            Self::Status { .. } => "try again later",
            Self::ContentType { .. } => "supported are text, Markdown, HTML, JSON and PDF",
            Self::NoText { .. } => "if scripts build the page, save it from the browser and ingest the file",
            Self::Protocol { .. } => "open the page in a browser; if that works, please report the address",
            Self::Proxy(_) => "give the proxy as http://host:port",
        }
    }
}
