//! [`View`]: an answer in kind, a list of rows over what is recorded. `crate::answer` makes it.

use serde::{Deserialize, Serialize};
use yore_core::event::Purpose;
use yore_core::query::AnswerKind;
use yore_core::time::UtcMillis;

/// An answer in kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Kind of the rows.
    pub kind: AnswerKind,
    /// Purpose of the commands.
    pub purpose: Option<Purpose>,
    /// The subject to which the rows are limited; empty: none.
    pub subject: String,
    /// The first millisecond of the period to which they are limited, and the first one after it.
    pub period: Option<(UtcMillis, UtcMillis)>,
    /// The rows, those that bear on the question most first.
    pub rows: Vec<ViewRow>,
    /// Number of rows that there are, of which `rows` are the first.
    pub total: usize,
    /// Number of things of the kind in the projects, whatever their subject; counted where a subject is named.
    pub all: usize,
    /// True if nothing of the kind is about the subject, and the rows are others of the kind: the latest, or commands for the purpose.
    pub is_widened: bool,
    /// Name of the category whose summary the subject means.
    #[serde(default)]
    pub category: Option<String>,
    /// True if that summary answers the question and is all that the rows are; false if it covers too little of the subject. `None`: no
    /// category is meant.
    #[serde(default)]
    pub sufficed: Option<bool>,
}

/// A row of a view.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ViewRow {
    /// Its words, on one line.
    pub text: String,
    /// Its state in words, such as `merged`.
    pub state: Option<String>,
    /// Its time, of a session that of its first turn.
    pub at: Option<UtcMillis>,
    /// The id by which it is opened.
    pub opens: Option<String>,
    /// Further lines.
    pub details: Vec<String>,
}
