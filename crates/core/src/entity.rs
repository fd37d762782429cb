//! Entities: people, projects, tools and ideas that memories are about, with names, aliases and their normal form.

use serde::{Deserialize, Serialize};

use crate::id::EntityId;
use crate::time::UtcMillis;

/// Longest name, alias and description, in characters.
const MAX_NAME_CHARS: usize = 200;
const MAX_DESCRIPTION_CHARS: usize = 4_000;
/// Most aliases.
const MOST_ALIASES: usize = 100;

named_enum! {
    /// The kind of an entity: the union of the kinds of the designs that yore unites.
    #[derive(Default)]
    EntityKind {
        /// A human being.
        Person = "person",
        /// A company, a team.
        Organization = "organization",
        /// A project.
        Project = "project",
        /// A program that is used.
        Tool = "tool",
        /// A programming language.
        Language = "language",
        /// A framework or library.
        Framework = "framework",
        /// Any other technology.
        Technology = "technology",
        /// An idea; also every kind that yore does not know.
        #[default]
        Concept = "concept",
        /// A file.
        SourceFile = "file",
        /// A part of a program.
        Component = "component",
        /// A place.
        Location = "location",
        /// Something that happened.
        Event = "event",
    }
}

impl EntityKind {
    /// Reads a kind of any design. An unknown one is a concept; its name is returned as well, to be kept.
    ///
    /// ```
    /// use yore_core::entity::EntityKind;
    /// assert_eq!(EntityKind::read("ORGANIZATION"), (EntityKind::Organization, None));
    /// assert_eq!(EntityKind::read("spaceship"), (EntityKind::Concept, Some("spaceship".to_owned())));
    /// ```
    pub fn read(name: &str) -> (Self, Option<String>) {
        match Self::parse(&name.trim().to_lowercase()) {
            Some(kind) => (kind, None),
            None => (Self::Concept, Some(name.trim().to_owned()).filter(|name| !name.is_empty())),
        }
    }
}

/// An entity.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Entity {
    /// Its id.
    pub id: EntityId,
    /// Its kind.
    pub kind: EntityKind,
    /// The kind as it was given, if yore does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_kind: Option<String>,
    /// Canonical name.
    pub name: String,
    /// Other names, each once, in the order of [`key_of`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it was recorded.
    pub recorded: UtcMillis,
}

impl Entity {
    /// Makes an entity without aliases.
    pub fn new(id: EntityId, kind: EntityKind, name: impl Into<String>, now: UtcMillis) -> Self {
        Self { id, kind, given_kind: None, name: name.into(), aliases: Vec::new(), description: None, recorded: now }
    }

    /// Sorts the aliases and drops those that are repeated, empty or the name itself.
    pub fn normalised(mut self) -> Self {
        self.name = self.name.trim().to_owned();
        let key = key_of(&self.name);
        self.aliases = std::mem::take(&mut self.aliases).into_iter().map(|alias| alias.trim().to_owned()).collect();
        self.aliases.retain(|alias| !alias.is_empty() && key_of(alias) != key);
        self.aliases.sort_by(|a, b| (key_of(a), a).cmp(&(key_of(b), b)));
        self.aliases.dedup_by_key(|alias| key_of(alias));
        self
    }
}

/// Returns the form of a name in which names are compared: lower case, words separated by one blank.
///
/// ```
/// assert_eq!(yore_core::entity::key_of(" Tide   Table "), "tide table");
/// ```
pub fn key_of(name: &str) -> String {
    name.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// A reason why an entity cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEntity {
    /// It has no name.
    #[error("an entity needs a name")]
    NoName,
    /// A name is too long.
    #[error("a name of an entity is longer than {MAX_NAME_CHARS} characters")]
    NameTooLong,
    /// The description is too long.
    #[error("the description is longer than {MAX_DESCRIPTION_CHARS} characters")]
    DescriptionTooLong,
    /// There are too many aliases.
    #[error("an entity has more than {MOST_ALIASES} aliases")]
    TooMany,
}

/// Checks an entity for storing.
///
/// # Errors
/// The first [`InvalidEntity`] that applies.
pub fn check_entity(entity: &Entity) -> Result<(), InvalidEntity> {
    let is_long = |text: &String, most: usize| text.chars().nth(most).is_some();
    match () {
        () if entity.name.trim().is_empty() => Err(InvalidEntity::NoName),
        () if is_long(&entity.name, MAX_NAME_CHARS) || entity.aliases.iter().any(|alias| is_long(alias, MAX_NAME_CHARS)) => {
            Err(InvalidEntity::NameTooLong)
        }
        () if entity.description.as_ref().is_some_and(|text| is_long(text, MAX_DESCRIPTION_CHARS)) => {
            Err(InvalidEntity::DescriptionTooLong)
        }
        () if entity.aliases.len() > MOST_ALIASES => Err(InvalidEntity::TooMany),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_every_design_are_known() {
        for name in [
            "tool",
            "language",
            "framework",
            "concept",
            "project",
            "person",
            "file",
            "component",
            "technology",
            "PERSON",
            "ORGANIZATION",
        ] {
            assert_eq!(EntityKind::read(name).1, None, "{name}");
        }
    }

    #[test]
    fn aliases_are_other_names_each_once() {
        let names = ["Redis Cache", "redis", " RC ", "rc", ""].map(str::to_owned).to_vec();
        let entity = Entity { aliases: names, ..Entity::new(EntityId::USER, EntityKind::Tool, "Redis ", 1) }.normalised();
        assert_eq!(
            (entity.name.as_str(), entity.aliases.as_slice()),
            ("Redis", ["RC", "Redis Cache"].map(str::to_owned).as_slice())
        );
        assert_eq!(check_entity(&entity), Ok(()));
        assert_eq!(check_entity(&Entity { name: " ".to_owned(), ..entity }), Err(InvalidEntity::NoName));
    }
}
