//! The status of a memory, and its cause as a value.
//!
//! Code decides by the variant. People read the sentence ([`std::fmt::Display`]), which records of before schema 21 and older exports hold
//! in place of the value ([`StatusCause::of_sentence`]).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

named_enum! {
    /// Whether a memory holds.
    #[derive(Default)]
    Status {
        /// It holds.
        #[default]
        Holds = "holds",
        /// A newer one took its place, or refines it.
        Superseded = "superseded",
        /// It was wrong.
        Invalidated = "invalidated",
        /// Another memory contradicts it, and nobody settled that.
        Contested = "contested",
        /// Out of use, and kept.
        Archived = "archived",
        /// It may not be what a person said: it waits for a person's review, and until then it is told to nobody and changes nothing.
        Proposed = "proposed",
    }
}

impl Status {
    /// Returns whether an answer has memories of this status only if it is asked for the status.
    pub fn is_unlisted(self) -> bool {
        matches!(self, Self::Archived | Self::Proposed)
    }
}

/// The cause of a status.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StatusCause {
    /// Somebody gave it.
    Stated {
        /// In these words.
        words: String,
    },
    /// Superseded automatically: another memory gives another value of the same.
    OtherValue {
        /// The value that this memory gives.
        value: String,
    },
    /// Superseded automatically: another memory denies it.
    NoLongerSo {
        /// True if a language model found that.
        by_model: bool,
    },
    /// Superseded automatically: a model found that it was changed.
    ChangedByModel,
    /// Superseded automatically: the branch of the other memory was merged.
    BranchMerged,
    /// Contested by another memory.
    Contradicts {
        /// Its short id.
        other: String,
    },
    /// Put away: another memory has the same content.
    SameAs {
        /// Its short id.
        other: String,
    },
    /// Put away: its extractor no longer proposes it.
    NotProposedBy {
        /// The extractor.
        extractor: String,
    },
    /// Put away: its file no longer has it.
    GoneFrom {
        /// The file.
        file: String,
    },
    /// Put away: the person took back all that it rests on.
    TakenBack,
    /// Forgotten softly.
    Forgotten {
        /// Its status before.
        status: Status,
        /// The cause of that status.
        cause: Option<Box<StatusCause>>,
    },
}

impl StatusCause {
    /// Returns the cause that a sentence of before schema 21 states; [`Self::Stated`] if it has none of yore's own forms.
    pub fn of_sentence(sentence: &str) -> Self {
        let denied = |rest: &str| match rest {
            "it is no longer so" => Some(Self::NoLongerSo { by_model: false }),
            "a model found that it is no longer so" => Some(Self::NoLongerSo { by_model: true }),
            "a model found that it was changed" => Some(Self::ChangedByModel),
            "its branch was merged" => Some(Self::BranchMerged),
            _ => rest.strip_suffix(" has another value since").map(|value| Self::OtherValue { value: value.to_owned() }),
        };
        let forgotten = |rest: &str| {
            let (status, cause) = rest.split_once(": ").map_or((rest, None), |(status, cause)| (status, Some(cause)));
            let cause = cause.map(|cause| Box::new(Self::of_sentence(cause)));
            let status = Status::parse(status)?;
            Some(Self::Forgotten { status, cause })
        };
        let of = |prefix: &str| sentence.strip_prefix(prefix);
        let read = of("newer: ").and_then(denied).or_else(|| of("forgotten, ").and_then(forgotten));
        let read = read.or_else(|| of("says the same as ").map(|other| Self::SameAs { other: other.to_owned() }));
        let read = read.or_else(|| of("contradicts ").map(|other| Self::Contradicts { other: other.to_owned() }));
        let read = read
            .or_else(|| of("no longer proposed by ").map(|extractor| Self::NotProposedBy { extractor: extractor.to_owned() }));
        let read = read.or_else(|| of("no longer in ").map(|file| Self::GoneFrom { file: file.to_owned() }));
        match sentence {
            "the person took back what it rests on" => Self::TakenBack,
            _ => read.unwrap_or_else(|| Self::Stated { words: sentence.to_owned() }),
        }
    }

    /// Reads a cause in either form.
    pub(super) fn read<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Self>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Sentence(String),
            Value(StatusCause),
        }
        Ok(Option::<Form>::deserialize(input)?.map(|form| match form {
            Form::Sentence(sentence) => Self::of_sentence(&sentence),
            Form::Value(cause) => cause,
        }))
    }

    /// Returns the text in it that somebody wrote.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Stated { words: text }
            | Self::OtherValue { value: text }
            | Self::Contradicts { other: text }
            | Self::SameAs { other: text }
            | Self::NotProposedBy { extractor: text }
            | Self::GoneFrom { file: text } => Some(text),
            Self::Forgotten { cause, .. } => cause.as_ref().and_then(|cause| cause.text()),
            Self::NoLongerSo { .. } | Self::ChangedByModel | Self::BranchMerged | Self::TakenBack => None,
        }
    }

    /// Returns the text in it that somebody wrote, to be redacted.
    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Stated { words: text }
            | Self::OtherValue { value: text }
            | Self::Contradicts { other: text }
            | Self::SameAs { other: text }
            | Self::NotProposedBy { extractor: text }
            | Self::GoneFrom { file: text } => Some(text),
            Self::Forgotten { cause, .. } => cause.as_mut().and_then(|cause| cause.text_mut()),
            Self::NoLongerSo { .. } | Self::ChangedByModel | Self::BranchMerged | Self::TakenBack => None,
        }
    }

    /// Returns whether another memory superseded it automatically: then the same may become true again.
    pub(super) fn is_automatic_replacement(&self) -> bool {
        matches!(self, Self::OtherValue { .. } | Self::NoLongerSo { .. } | Self::ChangedByModel | Self::BranchMerged)
    }
}

impl fmt::Display for StatusCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated { words } => f.write_str(words),
            Self::OtherValue { value } => write!(f, "newer: {value} has another value since"),
            Self::NoLongerSo { by_model: false } => f.write_str("newer: it is no longer so"),
            Self::NoLongerSo { by_model: true } => f.write_str("newer: a model found that it is no longer so"),
            Self::ChangedByModel => f.write_str("newer: a model found that it was changed"),
            Self::BranchMerged => f.write_str("newer: its branch was merged"),
            Self::Contradicts { other } => write!(f, "contradicts {other}"),
            Self::SameAs { other } => write!(f, "says the same as {other}"),
            Self::NotProposedBy { extractor } => write!(f, "no longer proposed by {extractor}"),
            Self::GoneFrom { file } => write!(f, "no longer in {file}"),
            Self::TakenBack => f.write_str("the person took back what it rests on"),
            Self::Forgotten { status, cause: None } => write!(f, "forgotten, {}", status.as_str()),
            Self::Forgotten { status, cause: Some(cause) } => write!(f, "forgotten, {}: {cause}", status.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_read_from_its_value_and_from_the_sentence_of_an_older_record() {
        let words = |text: &str| text.to_owned();
        let contradicts = StatusCause::Contradicts { other: words("0123456789") };
        let causes = [
            StatusCause::Stated { words: words("newer: the port") },
            StatusCause::OtherValue { value: words("8080") },
            StatusCause::NoLongerSo { by_model: false },
            StatusCause::NoLongerSo { by_model: true },
            StatusCause::ChangedByModel,
            StatusCause::BranchMerged,
            contradicts.clone(),
            StatusCause::SameAs { other: words("0123456789") },
            StatusCause::NotProposedBy { extractor: words("rules-4") },
            StatusCause::GoneFrom { file: words("CLAUDE.md") },
            StatusCause::TakenBack,
            StatusCause::Forgotten { status: Status::Holds, cause: None },
            StatusCause::Forgotten { status: Status::Contested, cause: Some(Box::new(contradicts)) },
        ];
        #[derive(Debug, Deserialize, PartialEq)]
        struct Record {
            #[serde(default, deserialize_with = "StatusCause::read")]
            cause: Option<StatusCause>,
        }
        for cause in causes {
            assert_eq!(StatusCause::of_sentence(&cause.to_string()), cause);
            for form in [serde_json::to_value(&cause).unwrap(), serde_json::Value::from(cause.to_string())] {
                let read: Record = serde_json::from_value(serde_json::json!({"cause": form})).unwrap();
                assert_eq!(read, Record { cause: Some(cause.clone()) });
            }
        }
        assert_eq!(serde_json::from_str::<Record>("{}").unwrap(), Record { cause: None });
    }
}
