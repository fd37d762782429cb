//! HTTP requests: the only module that opens connections to other computers. It does so only to addresses given by the user or
//! the configuration.
//!
//! - [`Exchange`], [`Request`], [`Response`]: one request and its answer, sent over the network (`network`),
//!   or answered in tests by a script or a recording
//! - [`Client`]: sends requests to servers from the configuration
//! - [`Fetcher`], [`FetchSettings`]: fetches one page with its redirections, and checks each hop
//! - [`Conditional`], [`Fetched`]: validators of a known page, and the result of a conditional request
//! - [`TransportError`], [`FetchError`]: the reasons why there is no answer, or no page
//! - `address`, `content`: checks addresses, and interprets content types
//!
//! A page is foreign text, and its address may lead anywhere: a name that resolves into the private network,
//! a redirection to the machine's own services, a body without end. The checked addresses are the very ones
//! that are connected to, so that a name cannot resolve to one address during the check and to another during
//! the connection. An address from the configuration is trusted, and is connected to without a check.

mod address;
mod client;
mod content;
mod error;
mod exchange;
mod network;
mod page;

pub use self::address::is_here;
pub use self::client::{Answer, Client, ClientSettings};
pub use self::content::Content;
pub use self::error::FetchError;
pub use self::exchange::{Exchange, Request, Response, TransportError};
pub use self::page::{Conditional, FetchSettings, Fetched, Fetcher, Page, shown_address};
