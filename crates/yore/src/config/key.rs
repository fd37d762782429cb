//! Properties of a configuration key: allowed values, and what a project's file may do to it.

use toml::Value;
use yore_sources::redact::check_pattern;

use super::names::Names;

/// One key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// The key with its section, such as `recall.limit`.
    pub name: &'static str,
    /// The values that the key takes.
    pub shape: Shape,
    /// The permission of a project's file.
    pub project: ProjectMay,
}

/// The values that a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// True or false.
    Switch,
    /// A whole number in a range, both ends included.
    Count {
        /// The smallest value.
        min: i64,
        /// The largest value.
        max: i64,
    },
    /// A number in a range, both ends included.
    Number {
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
    },
    /// A string, which may be empty.
    Text {
        /// Maximum number of characters.
        longest: usize,
    },
    /// One of some words, the narrowest first.
    Choice(&'static [&'static str]),
    /// Strings, none of them empty.
    List {
        /// Maximum number of characters of one string.
        longest: usize,
    },
    /// A string that names something, or is empty.
    Named {
        /// Maximum number of characters.
        longest: usize,
        /// The things that it names.
        names: Names,
    },
    /// Strings that name something.
    NamedList {
        /// Maximum number of characters of one string.
        longest: usize,
        /// The things that each names.
        names: Names,
    },
    /// Regular expressions for redaction.
    Patterns {
        /// Maximum number of characters of one pattern.
        longest: usize,
    },
}

/// The keys that are read. Faults of other keys are not reported.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keys<'a> {
    /// All keys.
    All,
    /// These keys. Patterns are not checked, because a check compiles them.
    Only(&'a [&'a str]),
}

impl Keys<'_> {
    /// Returns whether this key is read.
    pub(super) fn include(self, key: &Key) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(&key.name),
        }
    }

    /// Returns whether a key of this section, or of a part of it, is read.
    pub(super) fn touch(self, section: &str) -> bool {
        let is_above = |name: &str| name.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        let is_former = |name: &str| Key::find(name).and_then(Key::former_name).is_some_and(|former| is_above(&former));
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|name| is_above(name) || is_former(name)),
        }
    }

    /// Returns the values that the key may have.
    pub(super) fn shape(self, key: &Key) -> Shape {
        match (self, key.shape) {
            (Self::Only(_), Shape::Patterns { longest }) => Shape::List { longest },
            (_, shape) => shape,
        }
    }
}

/// The permission of a project's file for a key. Such a file arrives with any cloned repository, so it may
/// never widen what is captured, where it is read from or what is recalled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProjectMay {
    /// It may set the key to anything.
    Set,
    /// It may turn the key to this value, never back.
    Turn(bool),
    /// It may choose the same or an earlier, narrower word of the choice.
    Narrow,
    /// It may add to the list of the layers below.
    Add,
    /// It may not set the key: it belongs to the person or to the store that all projects share.
    Nothing,
}

/// The reason why a value does not fit a [`Shape`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Misfit {
    /// The value has another type.
    Type,
    /// The value has the right type but is not allowed.
    Value,
    /// The value, or an item of it, names nothing, for this reason.
    Name(String),
    /// The pattern at this place, from 1, cannot be used, for this reason. The pattern itself is left out: it
    /// may come from a variable.
    Pattern(usize, String),
}

impl Key {
    pub(super) const fn new(name: &'static str, shape: Shape, project: ProjectMay) -> Self {
        Self { name, shape, project }
    }

    /// Returns the section and the last part of the name: `sources.jsonl` and `enabled`.
    pub fn split(&self) -> (&'static str, &'static str) {
        self.name.rsplit_once('.').unwrap_or(("", self.name))
    }

    /// Describes the values that the key takes.
    pub fn expected(&self) -> String {
        self.shape.expected()
    }

    /// Returns the values that the key takes, if they are few.
    pub fn choices(&self) -> Vec<String> {
        let words: &[&str] = match self.shape {
            Shape::Switch => &["true", "false"],
            Shape::Choice(words) => words,
            _ => &[],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Returns the environment variable that sets this key: `YORE_SOURCES__CLAUDE_CODE__ROOTS`
    /// for `sources.claude-code.roots`.
    pub fn variable(&self) -> String {
        variable_of(self.name)
    }
}

/// Returns the environment variable for a key's name.
pub(super) fn variable_of(name: &str) -> String {
    format!("YORE_{}", name.replace('.', "__").replace('-', "_").to_ascii_uppercase())
}

/// Returns the name among `names` that is most similar to `given`, if one is similar enough.
pub(super) fn nearest(given: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let length = given.chars().count();
    if length > 100 {
        return None;
    }
    names
        .map(|name| {
            let last = name.rsplit('.').next().unwrap_or(&name);
            let bare = if given.contains('.') { &name } else { last };
            let distance = strsim::osa_distance(given, &name).min(strsim::osa_distance(given, bare));
            (distance, name)
        })
        .filter(|(distance, _)| *distance <= (length / 3).max(1))
        .min()
        .map(|(_, name)| name)
}

impl Shape {
    /// Returns `value` if it fits. If a number is expected, a whole number fits and is converted.
    pub(super) fn fit(self, value: Value) -> Result<Value, Misfit> {
        let fits = match (self, &value) {
            (Self::Switch, Value::Boolean(_)) => true,
            (Self::Count { min, max }, Value::Integer(count)) => (min..=max).contains(count),
            (Self::Number { .. }, Value::Integer(count)) => {
                #[expect(clippy::cast_precision_loss, reason = "the bounds are small numbers")]
                return self.fit(Value::Float(*count as f64));
            }
            (Self::Number { min, max }, Value::Float(number)) => (min..=max).contains(number),
            (Self::Text { longest }, Value::String(text)) => text.chars().count() <= longest,
            (Self::Named { longest, names }, Value::String(text)) => {
                names.check(text).map_err(Misfit::Name)?;
                text.chars().count() <= longest
            }
            (Self::Choice(words), Value::String(word)) => words.contains(&word.as_str()),
            (Self::List { longest } | Self::NamedList { longest, .. } | Self::Patterns { longest }, Value::Array(items)) => {
                if !items.iter().all(Value::is_str) {
                    return Err(Misfit::Type);
                }
                let mut words = items.iter().filter_map(Value::as_str);
                let fits = words.clone().all(|word| !word.is_empty() && word.chars().count() <= longest);
                if let (true, Self::NamedList { names, .. }) = (fits, self) {
                    words.clone().try_for_each(|word| names.check(word)).map_err(Misfit::Name)?;
                }
                if fits && matches!(self, Self::Patterns { .. }) {
                    words.try_fold(1, |number, pattern| match check_pattern(pattern) {
                        Ok(()) => Ok(number + 1),
                        Err(error) => Err(Misfit::Pattern(number, error.detail)),
                    })?;
                }
                fits
            }
            _ => return Err(Misfit::Type),
        };
        if fits { Ok(value) } else { Err(Misfit::Value) }
    }

    /// Reads a value from the text of an environment variable or a flag.
    ///
    /// A switch is `true`, `yes`, `on`, `1` or `false`, `no`, `off`, `0`, in any case. A list is
    /// written as in TOML, `["one", "two"]`; text without a bracket and a comma is its only item,
    /// and no text is the empty list.
    pub(super) fn read(self, text: &str) -> Result<Value, Misfit> {
        let trimmed = text.trim();
        let value = match self {
            Self::Switch => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Value::Boolean(true),
                "false" | "no" | "off" | "0" => Value::Boolean(false),
                _ => return Err(Misfit::Type),
            },
            Self::Count { .. } => Value::Integer(trimmed.parse().map_err(|_| Misfit::Type)?),
            Self::Number { .. } => Value::Float(trimmed.parse().map_err(|_| Misfit::Type)?),
            Self::Choice(_) | Self::Text { .. } | Self::Named { .. } => Value::String(trimmed.to_owned()),
            Self::List { .. } | Self::NamedList { .. } | Self::Patterns { .. } if trimmed.starts_with('[') => {
                trimmed.parse().map_err(|_| Misfit::Type)?
            }
            // A comma may belong to a glob or a pattern. A split there could result in a list that excludes
            // nothing.
            Self::List { .. } | Self::NamedList { .. } | Self::Patterns { .. } if trimmed.contains(',') => {
                return Err(Misfit::Type);
            }
            Self::List { .. } | Self::NamedList { .. } | Self::Patterns { .. } if trimmed.is_empty() => Value::Array(Vec::new()),
            Self::List { .. } | Self::NamedList { .. } | Self::Patterns { .. } => Value::Array(vec![trimmed.into()]),
        };
        self.fit(value)
    }

    /// Describes the expected values.
    pub(super) fn expected(self) -> String {
        match self {
            Self::Switch => "true or false".to_owned(),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Text { longest } => format!("a string of at most {longest} characters"),
            Self::Named { names, .. } => names.expected().to_owned(),
            Self::NamedList { names, .. } => format!("a list of {}", names.expected()),
            Self::Choice(words) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::List { longest } => {
                format!("a list, such as [\"one\", \"two\"], of strings of 1 to {longest} characters")
            }
            Self::Patterns { longest } => {
                format!("a list, such as ['EMP-\\d+', 'two'], of regular expressions of 1 to {longest} characters")
            }
        }
    }
}

impl ProjectMay {
    /// Returns the new value of a key after a project's file set it to `wanted` over `below`, or none if the
    /// file may not do that.
    pub(super) fn admit(self, shape: Shape, below: &Value, wanted: Value) -> Option<Value> {
        match self {
            Self::Set => Some(wanted),
            Self::Turn(to) => (wanted == *below || wanted == Value::Boolean(to)).then_some(wanted),
            Self::Narrow => {
                let Shape::Choice(words) = shape else {
                    return None;
                };
                let width = |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
                (width(&wanted)? <= width(below)?).then_some(wanted)
            }
            Self::Add => {
                let mut all = below.as_array()?.clone();
                for item in wanted.as_array()? {
                    if !all.contains(item) {
                        all.push(item.clone());
                    }
                }
                Some(Value::Array(all))
            }
            Self::Nothing => None,
        }
    }

    /// Describes what a project's file may do: the words after "A project's file may".
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Set => "set it",
            Self::Turn(true) => "only turn it on",
            Self::Turn(false) => "only turn it off",
            Self::Narrow => "only narrow it",
            Self::Add => "only add to it",
            Self::Nothing => "not set it",
        }
    }
}
