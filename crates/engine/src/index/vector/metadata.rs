//! What is known of a turn besides its words.

/// What is known of a turn besides its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnMetadata {
    /// Row of the project; 0 if there is none.
    pub project: u32,
    /// Row of the branch; 0 if there is none.
    pub branch: u32,
    /// Number of the role.
    pub role: u8,
    /// Row of the episode.
    pub episode: i64,
    /// When it was said; the least value when nothing is known.
    pub at: i64,
    /// Place in its episode.
    pub position: i64,
    /// Whether it is a passage of a document.
    pub is_document: bool,
}

impl Default for TurnMetadata {
    fn default() -> Self {
        Self { project: 0, branch: 0, role: 0, episode: 0, at: i64::MIN, position: 0, is_document: false }
    }
}
