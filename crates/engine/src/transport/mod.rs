//! Fetches one page over HTTP. The only place of the engine that opens connections, and only when
//! somebody names an address.
//!
//! - [`Fetcher`], [`FetchSettings`]: one request and its redirections, each hop checked
//! - [`Conditional`], [`Fetched`]: what is known of a page, and what came of asking again
//! - [`FetchError`]: why not
//! - `Guard` (`page`): looks names up, and gives only addresses that may be connected to
//! - `address`, `content`: what an address and a content type mean
//!
//! A page is somebody else's text, and its address may lead anywhere: a name that resolves into the
//! private network, a redirection to the machine's own services, a body without end. The addresses
//! that are checked are the very ones that are connected to, so that a name cannot mean one thing
//! when it is checked and another when it is used.

mod address;
mod content;
mod error;
mod page;

pub use self::content::Content;
pub use self::error::FetchError;
pub use self::page::{Conditional, FetchSettings, Fetched, Fetcher, Page, shown_address};
