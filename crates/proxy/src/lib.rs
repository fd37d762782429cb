//! A transparent proxy for the protocols of language models: bytes pass on untouched, and a memory sees them.
//!
//! - [`serve`], [`Settings`], [`Proxy`]: starts the proxy, and stops it
//! - [`Memory`]: what its caller gives it, to add text to requests and to be told what went through
//! - [`Route`]: where a request goes, as its path says
//! - [`wire`]: reads requests and answers of each protocol, and adds text to a request without touching its other bytes
//! - [`Conversation`], [`Answer`]: what is read of them
//!
//! Inside: `server` accepts connections (`client_io` limits their silence), `forward` passes each request on to its upstream
//! (`head` says which headers, `connect` how it is reached, `tunnel` carries web sockets), `held` asks the memory, `tee` copies what
//! passes into `kept`, and `observer` reads the copies on a thread of its own (`decode` undoes their compression).
//!
//! The proxy knows nothing of yore's memory, never retries a request by itself, follows no redirects, and writes no log.

mod client_io;
mod connect;
mod conversation;
mod counts;
mod decode;
mod forward;
mod head;
mod held;
mod kept;
mod memory;
mod observer;
mod route;
mod server;
mod settings;
mod tee;
mod tunnel;
pub mod wire;

pub use conversation::{Addition, Answer, Conversation, Digest, Message, Part, Place, Protocol, Role, Usage};
pub use counts::Snapshot;
pub use memory::{Asked, Exchange, Memory, NoMemory, SESSION_HEADERS, Wants};
pub use observer::MOST_TOLD;
pub use route::Route;
pub use server::{Proxy, serve};
pub use settings::{Settings, SettingsError, Upstream};
