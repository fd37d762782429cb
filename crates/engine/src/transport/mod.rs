//! Requests over HTTP: the only place of the engine that opens connections, and only to addresses that somebody
//! names.
//!
//! - [`Exchange`], [`Request`], [`Response`]: one request and its answer, carried by the network (`network`), or in
//!   tests by a script or a recording
//! - [`Client`]: asks servers that the configuration names
//! - [`Fetcher`], [`FetchSettings`]: one page and its redirections, each hop checked
//! - [`Conditional`], [`Fetched`]: what is known of a page, and what came of asking again
//! - [`TransportError`], [`FetchError`]: why there is no answer, and no page
//! - `address`, `content`: what an address and a content type mean
//!
//! A page is somebody else's text, and its address may lead anywhere: a name that resolves into the
//! private network, a redirection to the machine's own services, a body without end. The addresses
//! that are checked are the very ones that are connected to, so that a name cannot mean one thing
//! when it is checked and another when it is used. An address of the configuration is the person's own word, and is
//! connected to as it stands.

mod address;
mod client;
mod content;
mod error;
mod exchange;
mod network;
mod page;

pub use self::client::{Answer, Client, ClientSettings};
pub use self::content::Content;
pub use self::error::FetchError;
pub use self::exchange::{Exchange, Request, Response, TransportError};
pub use self::page::{Conditional, FetchSettings, Fetched, Fetcher, Page, shown_address};
