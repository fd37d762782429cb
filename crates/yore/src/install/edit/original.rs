//! The text of a file before yore edited it, as far as it is known.

/// The name of yore's server in every agent's settings.
pub const SERVER: &str = "yore";

/// The text of a file before yore, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub enum Original<'t> {
    /// The earlier text is unknown.
    Unknown,
    /// The file did not exist.
    Missing,
    /// The file's text.
    Text(&'t str),
}
