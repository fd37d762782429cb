//! Fields that only some kinds of memories have, such as the error of a solution or the reason of a decision.

use serde::{Deserialize, Serialize};

use super::MemoryKind;

/// What a memory has besides its statement, by its kind.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(tag = "of", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fields {
    /// Nothing.
    #[default]
    None,
    /// Of a solution.
    Solution {
        /// The problem.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        problem: String,
        /// The error message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Why it happened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
        /// What was tried before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tried: Vec<String>,
        /// Changes of code.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<CodeChange>,
        /// Files that it concerns.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
    },
    /// Of a pattern.
    Pattern {
        /// When it is of use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        use_case: Option<String>,
        /// An example.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        example: Option<String>,
        /// Names of related patterns.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        related: Vec<String>,
    },
    /// Of a decision.
    Decision {
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What was considered and rejected.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        alternatives: Vec<String>,
        /// What it costs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tradeoffs: Vec<String>,
    },
    /// Of a standard.
    Standard {
        /// What it is about, such as naming or errors.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        category: Option<String>,
        /// Examples that follow it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        examples: Vec<String>,
        /// Examples that break it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        counter_examples: Vec<String>,
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Of a preference.
    Preference {
        /// What it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        aspect: Option<String>,
        /// What the person corrected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corrected: Option<String>,
    },
    /// Of a question, a problem or a todo.
    Open {
        /// True if it was answered, solved or done.
        #[serde(default)]
        is_closed: bool,
    },
}

/// A change of code.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CodeChange {
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The code before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The code after.
    pub after: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// The names of fields that a writer may give one at a time; see [`Fields::from_named`].
pub const FIELD_NAMES: [&str; 14] = [
    "problem",
    "error",
    "cause",
    "tried",
    "change",
    "file",
    "reason",
    "alternative",
    "tradeoff",
    "use_case",
    "example",
    "counter_example",
    "category",
    "corrected",
];

impl Fields {
    /// Makes the fields of a kind of named texts (name of [`FIELD_NAMES`], text). A name that stands for a list may be given several
    /// times; of another the first text counts. A name that the kind has no field for adds nothing, and without any field the
    /// result is [`Fields::None`].
    ///
    /// ```
    /// use yore_core::memory::{Fields, MemoryKind};
    /// let given = [("reason", "no server"), ("alternative", "Redis"), ("error", "E1")];
    /// let fields = Fields::from_named(MemoryKind::Decision, given.into_iter());
    /// let alternatives = vec!["Redis".to_owned()];
    /// assert_eq!(fields, Fields::Decision { reason: Some("no server".to_owned()), alternatives, tradeoffs: Vec::new() });
    /// assert_eq!(Fields::from_named(MemoryKind::Fact, given.into_iter()), Fields::None);
    /// ```
    pub fn from_named<'t>(kind: MemoryKind, given: impl Iterator<Item = (&'t str, &'t str)>) -> Self {
        let given: Vec<(&str, &str)> =
            given.map(|(name, text)| (name, text.trim())).filter(|(_, text)| !text.is_empty()).collect();
        let all = |wanted: &str| -> Vec<String> {
            given.iter().filter(|(name, _)| *name == wanted).map(|(_, text)| (*text).to_owned()).collect()
        };
        let first = |wanted: &str| all(wanted).into_iter().next();
        let change = |after: String| CodeChange { after, ..CodeChange::default() };
        let fields = match Self::name_of(kind) {
            "solution" => Self::Solution {
                problem: first("problem").unwrap_or_default(),
                error: first("error"),
                cause: first("cause"),
                tried: all("tried"),
                changes: all("change").into_iter().map(change).collect(),
                files: all("file"),
            },
            "pattern" => Self::Pattern { use_case: first("use_case"), example: first("example"), related: Vec::new() },
            "decision" => {
                Self::Decision { reason: first("reason"), alternatives: all("alternative"), tradeoffs: all("tradeoff") }
            }
            "standard" => Self::Standard {
                category: first("category"),
                examples: all("example"),
                counter_examples: all("counter_example"),
                reason: first("reason"),
            },
            "preference" => Self::Preference { aspect: first("category"), corrected: first("corrected") },
            _ => Self::None,
        };
        if fields.texts().is_empty() { Self::None } else { fields }
    }

    /// Returns all words of the fields, in their order.
    pub fn texts(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = Vec::new();
        match self {
            Self::None | Self::Open { .. } => {}
            Self::Solution { problem, error, cause, tried, changes, files } => {
                texts.push(problem);
                texts.extend(error.iter().chain(cause).chain(tried).map(String::as_str));
                for CodeChange { file, language: _, before, after, explanation } in changes {
                    texts.extend(file.iter().chain(before).map(String::as_str));
                    texts.push(after);
                    texts.extend(explanation.as_deref());
                }
                texts.extend(files.iter().map(String::as_str));
            }
            Self::Pattern { use_case, example, related } => {
                texts.extend(use_case.iter().chain(example).chain(related).map(String::as_str));
            }
            Self::Decision { reason, alternatives, tradeoffs } => {
                texts.extend(reason.iter().chain(alternatives).chain(tradeoffs).map(String::as_str));
            }
            Self::Standard { category, examples, counter_examples, reason } => {
                texts.extend(category.iter().chain(reason).chain(examples).chain(counter_examples).map(String::as_str));
            }
            Self::Preference { aspect, corrected } => texts.extend(aspect.iter().chain(corrected).map(String::as_str)),
        }
        texts.retain(|text| !text.trim().is_empty());
        texts
    }

    /// Returns the stored name of the fields that a memory of a kind may have; `none` if it has no fields.
    pub const fn name_of(kind: MemoryKind) -> &'static str {
        match kind {
            MemoryKind::Solution | MemoryKind::Attempt => "solution",
            MemoryKind::Pattern => "pattern",
            MemoryKind::Decision => "decision",
            MemoryKind::Standard => "standard",
            MemoryKind::Preference | MemoryKind::UserInput => "preference",
            MemoryKind::Question | MemoryKind::Problem | MemoryKind::Todo => "open",
            MemoryKind::Documentation
            | MemoryKind::Code
            | MemoryKind::Conclusion
            | MemoryKind::Context
            | MemoryKind::Research
            | MemoryKind::Insight
            | MemoryKind::Resource
            | MemoryKind::Fact
            | MemoryKind::Event
            | MemoryKind::Observation
            | MemoryKind::Reflection
            | MemoryKind::CategorySummary => "none",
        }
    }

    /// Returns the stored name of these fields.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Solution { .. } => "solution",
            Self::Pattern { .. } => "pattern",
            Self::Decision { .. } => "decision",
            Self::Standard { .. } => "standard",
            Self::Preference { .. } => "preference",
            Self::Open { .. } => "open",
        }
    }

    /// Returns whether a memory of this kind may have these fields.
    pub fn fit(&self, kind: MemoryKind) -> bool {
        *self == Self::None || self.name() == Self::name_of(kind)
    }
}
