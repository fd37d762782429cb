//! Language models: servers over HTTP, programs, or a folder of requests and answers.
//!
//! - [`Prompt`], [`Reply`], [`Usage`]: what a model is asked and answers, whatever the protocol
//! - [`wire`]: requests and answers of each protocol, encoded and decoded without a connection
//! - [`Server`], [`SERVERS`]: servers by name, as data
//! - [`Model`]: a configured model; `command` and `folder` are those without a server
//! - [`Connection`]: a configured server
//! - [`ServerEmbedder`], [`ServerReranker`]: models that give vectors, and the relevance of passages
//! - [`structured`]: typed answers in four tiers, with the errors of one try told to the next
//! - [`LlmError`]: the reasons why there is no answer, by what may be done about them
//!
//! Nothing here decides whether a model may be called: each call is announced to [`Accounts`], which reserves its tokens
//! beforehand and books them afterwards.

mod ask;
mod batch;
mod caller;
mod command;
mod error;
mod folder;
mod http;
mod journal;
mod model;
mod printed;
mod relevance;
mod run;
mod servers;
pub mod structured;
mod vectors;
pub mod wire;

pub use self::ask::{Accounts, Asked, Exchange, Form, Prompt, Reply, Tier, Usage, estimated_tokens};
pub use self::batch::{Batches, Collected};
pub use self::caller::{Backoff, FAILURES, REST};
pub use self::command::{CommandSettings, PROGRAMS, Program, SILENT};
pub use self::error::{Class, Denial, LlmError, RunLimit, dollars};
pub use self::http::{Connection, KeyOf};
pub use self::journal::{Failure, Journal, RecordedCall};
pub use self::model::{Model, Way};
pub use self::relevance::ServerReranker;
pub use self::run::{Run, RunLimits, RunSpent};
pub use self::servers::{RELEVANCE_SERVERS, RelevanceServer, SERVERS, Server, VECTOR_SERVERS, VectorServer};
pub use self::vectors::{ServerEmbedder, Vectors};
pub(crate) use batch::disown;
pub use folder::{BATCHES, FOLDER, RUNS};
pub(crate) use folder::{RUN_ENDING, empty};
