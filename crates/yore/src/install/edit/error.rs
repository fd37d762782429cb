//! Errors of editing an agent's file.

/// Reasons why a text was left unchanged.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EditError {
    /// The text is not in the format that its file name promises.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// Something else has yore's name.
    #[error("{0}")]
    Foreign(String),
    /// The text is too unusual to be changed safely; the message says what to do by hand.
    #[error("{0}")]
    Unusual(String),
    /// The result of the edit was wrong.
    #[error("the change would have altered other parts of the file")]
    Unsafe,
}
