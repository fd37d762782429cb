//! A file as it was.

/// The name of yore's server in every agent's settings.
pub const SERVER: &str = "yore";

/// What is known of a file as it was before yore.
#[derive(Clone, Copy, Debug)]
pub enum Original<'t> {
    /// Nothing.
    Unknown,
    /// There was none.
    Missing,
    /// Its text.
    Text(&'t str),
}
