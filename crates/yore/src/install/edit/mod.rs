//! Changes of files that belong to other programs, as functions of text: nothing here reads or
//! writes a file.
//!
//! - [`Content`]: what yore wants in a file, and the two directions: [`Content::put`] and its inverse,
//!   [`Content::take`]
//! - [`Original`]: what is known of the file as it was before yore
//! - `json`: JSON and JSONC as text, one change each
//! - `entries`: servers, hooks and a status line in JSON
//! - `toml`: a server in TOML
//! - `markdown`: a block between marks
//! - `yaml`: a path in a list of Aider's settings
//! - `yaml_server`: a server in Continue's settings
//! - `whole`: files that are yore's own
//!
//! Both directions are checked before anybody sees the outcome: it is read again, and whatever is not
//! yore's must say what it said.

mod content;
pub mod entries;
mod error;
pub mod json;
pub mod markdown;
mod original;
pub mod toml;
pub mod whole;
pub mod yaml;
pub mod yaml_server;

pub use self::content::Content;
pub use self::error::EditError;
pub use self::original::{Original, SERVER};
