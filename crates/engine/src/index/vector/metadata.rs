//! Metadata of a turn in a vector index, for the filter: project, branch, role, episode, time, position.

/// Metadata of a turn, without its text.
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
    /// Time when it was said; the least value if not known.
    pub at: i64,
    /// Position in its episode.
    pub position: i64,
    /// True if it is a passage of a document.
    pub is_document: bool,
}

impl Default for TurnMetadata {
    fn default() -> Self {
        Self { project: 0, branch: 0, role: 0, episode: 0, at: i64::MIN, position: 0, is_document: false }
    }
}
