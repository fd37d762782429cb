//! Yore's content in a file: puts it in, takes it out, finds it.

use super::entries::{self, Entry};
use super::error::EditError;
use super::markdown::Block;
use super::original::Original;
use super::toml::Server;
use super::whole::Whole;
use super::yaml_server::YamlServer;
use crate::install::machine::Machine;
use crate::install::part::Part;
use crate::install::what::What;

/// The content that yore wants in a file.
#[derive(Clone, Debug)]
pub enum Content {
    /// Entries of a JSON object.
    Json(Vec<Entry>),
    /// A table of a TOML file.
    Toml(Server),
    /// A block of a Markdown file.
    Markdown(Block),
    /// A server in a list of a YAML file.
    YamlServer(YamlServer),
    /// The whole file.
    Whole(Whole),
}

impl Content {
    /// Returns the text with yore's content in it; the same text if everything is there already.
    ///
    /// # Errors
    /// [`EditError`]; nothing may be written then.
    pub fn put(&self, before: Option<&str>) -> Result<String, EditError> {
        // A line break added after it would merge with it, and could not be told apart afterwards.
        if before.is_some_and(|text| text.ends_with('\r')) {
            let words = "it ends with a lone carriage return; add a line feed, or remove it";
            return Err(EditError::Unusual(words.to_owned()));
        }
        match self {
            Self::Json(entries) => entries::put(entries, before),
            Self::Toml(server) => server.put(before.unwrap_or_default()),
            Self::Markdown(block) => block.put(before.unwrap_or_default()),
            Self::YamlServer(server) => server.put(before.unwrap_or_default()),
            Self::Whole(whole) => whole.put(before),
        }
    }

    /// Returns the text without yore's content; `None` if nothing is left that was there before, so that the
    /// file may be deleted.
    ///
    /// # Errors
    /// [`EditError`]; nothing may be written then.
    pub fn take(&self, before: &str, original: Original<'_>) -> Result<Option<String>, EditError> {
        let rest = match self {
            Self::Json(entries) => return entries::take(entries, before, original),
            Self::Whole(whole) => return Ok(whole.take(before)),
            Self::Toml(server) => server.take(before)?,
            Self::Markdown(block) => block.take(before),
            Self::YamlServer(server) => server.take(before)?,
        };
        let is_gone = matches!(original, Original::Missing) && rest.trim().is_empty();
        Ok((!is_gone).then_some(rest))
    }

    /// Returns whether the text has any content of yore's.
    pub fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Json(entries) => entries::are_in(entries, text),
            Self::Toml(server) => server.is_in(text),
            Self::Markdown(block) => block.is_in(text),
            Self::YamlServer(server) => server.is_in(text),
            Self::Whole(whole) => whole.is_in(text),
        }
    }

    /// Returns yore's entries in the text, as an agent finds them.
    ///
    /// # Errors
    /// [`EditError::Unreadable`]: the agent cannot read it either.
    pub fn found(&self, text: &str, machine: &Machine<'_>) -> Result<Vec<What>, EditError> {
        match self {
            Self::Json(entries) => entries::found(entries, text, machine),
            Self::Toml(server) => server.found(text),
            Self::Markdown(block) => Ok(block.is_in(text).then_some(What::Rules).into_iter().collect()),
            Self::YamlServer(server) => Ok(server.found(text)),
            Self::Whole(whole) => Ok(whole.found(text)),
        }
    }

    /// Returns the content limited to the wanted parts; `None` if none is left.
    pub fn only(&self, wanted: &dyn Fn(Part) -> bool) -> Option<Self> {
        match self {
            Self::Json(entries) => {
                let entries: Vec<Entry> = entries.iter().filter(|entry| entry.part().is_none_or(wanted)).cloned().collect();
                entries.iter().any(|entry| entry.part().is_some()).then_some(Self::Json(entries))
            }
            Self::Toml(_) | Self::YamlServer(_) => wanted(Part::Mcp).then(|| self.clone()),
            Self::Markdown(_) => wanted(Part::Rules).then(|| self.clone()),
            Self::Whole(whole) => wanted(whole.part).then(|| self.clone()),
        }
    }

    /// Returns the parts of yore that the content holds.
    pub fn parts(&self) -> Vec<Part> {
        match self {
            Self::Json(entries) => {
                let mut parts: Vec<Part> = entries.iter().filter_map(Entry::part).collect();
                parts.dedup();
                parts
            }
            Self::Toml(_) | Self::YamlServer(_) => vec![Part::Mcp],
            Self::Markdown(_) => vec![Part::Rules],
            Self::Whole(whole) => vec![whole.part],
        }
    }
}
