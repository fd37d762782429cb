//! Why a text is not changed.

/// Why a text was left as it is.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EditError {
    /// Not what its name says.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// Something else bears our name.
    #[error("{0}")]
    Foreign(String),
    /// Too unusual to be changed safely; says what to do by hand.
    #[error("{0}")]
    Unusual(String),
    /// The outcome was not what it should be.
    #[error("the change could not be made without touching anything else")]
    Unsafe,
}
