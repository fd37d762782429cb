//! Edits of other programs' files as functions of text, with inverses. Nothing here reads or writes a file.
//!
//! - [`Content`]: the content that yore wants in a file: [`Content::put`] and its inverse, [`Content::take`]
//! - [`Original`]: the file's text before yore, as far as it is known
//! - `json`: JSON and JSONC as text, one change each
//! - `entries`: servers, hooks and a status line in JSON
//! - `toml`: a server in TOML
//! - `markdown`: a block between marks
//! - `yaml_server`: a server in Continue's settings
//! - `whole`: files that are yore's own
//!
//! Both directions are checked before the result is used: it is parsed again, and everything that is not
//! yore's must be unchanged.

mod content;
pub mod entries;
mod error;
pub mod json;
pub mod markdown;
mod original;
pub mod toml;
pub mod whole;
pub mod yaml_server;

pub use self::content::Content;
pub use self::error::EditError;
pub use self::original::{Original, SERVER};
