//! MCP resources: everything with an id can be read by its address.
//!
//! - [`Address`]: `yore://memory/{id}`, `yore://session/{id}`, `yore://context/{topic}`, `yore://category/{name}`, `yore://categories`
//! - [`templates`], [`list`], [`read`]
//!
//! The list contains the notes that apply here and the sessions, latest first, in pages.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;
use yore_engine::NotesRequest;

use super::access::{Access, Chosen};
use super::answer::{Form, error_text};
use super::designs::categories;
use super::tools::show::{Level, Wanted, page};
use super::tools::{notes, sessions};
use crate::cursor::{self, Cursor};
use crate::error::{CliError, Exit};
use crate::fence::{fenced, name};

const SCHEME: &str = "yore://";
const CATEGORIES: &str = "categories";
/// Number of resources on a page.
const PAGE: usize = 50;
/// Maximum tokens of a resource.
const BUDGET: usize = 20_000;
/// Letters of cursors for the list of notes and that of sessions.
const NOTES: char = 'n';
const SESSIONS: char = 's';

/// The address of an item in the memory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Address {
    /// A turn.
    Memory(String),
    /// A session.
    Session(String),
    /// A note, by its title.
    Context(String),
    /// The summary of a category of memories, by its name.
    Category(String),
    /// The list of categories.
    Categories,
}

impl Address {
    /// Parses an address; `None` if it is not one of yore's.
    pub fn parse(uri: &str) -> Option<Self> {
        if uri.strip_prefix(SCHEME)? == CATEGORIES {
            return Some(Self::Categories);
        }
        let (kind, id) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        let id = decoded(id).filter(|id| !id.trim().is_empty())?;
        match kind {
            "memory" => Some(Self::Memory(id)),
            "session" => Some(Self::Session(id)),
            "context" => Some(Self::Context(id)),
            "category" => Some(Self::Category(id)),
            _ => None,
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, id) = match self {
            Self::Memory(id) => ("memory", id),
            Self::Session(id) => ("session", id),
            Self::Context(id) => ("context", id),
            Self::Category(id) => ("category", id),
            Self::Categories => return write!(f, "{SCHEME}{CATEGORIES}"),
        };
        write!(f, "{SCHEME}{kind}/{}", encoded(id))
    }
}

/// Returns the templates of addresses.
pub fn templates() -> Vec<ResourceTemplate> {
    [
        ("yore://memory/{id}", "memory", "A turn of an earlier session, by its id"),
        ("yore://session/{id}", "session", "An earlier session, divided into questions and what was done about them"),
        ("yore://context/{topic}", "context", "A note, by its title"),
        ("yore://category/{name}", "category", "What is known about a category of memories; yore://categories lists their names"),
    ]
    .map(|(template, name, description)| {
        ResourceTemplate::new(template, name).with_description(description).with_mime_type("text/plain")
    })
    .to_vec()
}

/// Returns a page of the list of resources.
pub async fn list(access: &Arc<Access>, place: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let place = place
        .map(|words| {
            Cursor::decode(&words)
                .filter(|cursor| matches!(cursor.list, NOTES | SESSIONS))
                .ok_or_else(|| ErrorData::invalid_params("this cursor is not of this list", None))
        })
        .transpose()?;
    let access = Arc::clone(access);
    let handle = access.handle.clone();
    let listed = handle
        .with(move |memory| {
            let of = |list: char| place.clone().filter(|place| place.list == list);
            let (mut resources, mut next) = (Vec::new(), None);
            if of(SESSIONS).is_none() {
                let notes = memory.notes(notes::everything_here(&access))?;
                let mut notes = cursor::after(notes, of(NOTES).as_ref(), notes::key);
                let has_more = notes.len() > PAGE;
                notes.truncate(PAGE);
                next = notes.last().filter(|_| has_more).map(|note| {
                    let (at, id) = notes::key(note);
                    Cursor { list: NOTES, at, id }
                });
                resources.extend(notes.iter().map(|note| {
                    let address = Address::Memory(note.turn.to_string()).to_string();
                    let title = note.facts.title.as_deref().map_or_else(|| name(&note.text), name);
                    Resource::new(address, format!("note {}", note.episode.short()))
                        .with_title(title)
                        .with_mime_type("text/plain")
                }));
            }
            if next.is_none() && resources.len() < PAGE {
                let projects = match access.projects(memory, None)? {
                    Chosen::All => Some(Vec::new()),
                    Chosen::Only(project) => Some(vec![project]),
                    Chosen::Nothing => None,
                };
                if let Some(projects) = projects {
                    let wanted = sessions::Wanted {
                        projects,
                        cursor: of(SESSIONS),
                        limit: PAGE - resources.len(),
                        ..sessions::Wanted::default()
                    };
                    let (found, after) = sessions::page(memory, &wanted)?;
                    resources.extend(found.iter().map(|session| {
                        let address = Address::Session(session.id.to_string()).to_string();
                        let mut resource =
                            Resource::new(address, format!("session {}", name(&session.native_id))).with_mime_type("text/plain");
                        resource.title = session.title.as_deref().map(name);
                        resource
                    }));
                    next = after;
                }
            } else if next.is_none() {
                // The page is full of notes. The sessions begin on the next one.
                next = Some(Cursor { list: SESSIONS, at: Some(i64::MAX), id: "begin".to_owned() });
            }
            Ok((resources, next))
        })
        .await;
    match listed {
        Ok((resources, next)) => {
            let mut result = ListResourcesResult::with_all_items(resources);
            result.next_cursor = next.map(|next| next.encode());
            Ok(result)
        }
        // Without a memory the list is empty.
        Err(error) if error.code == "store/missing" => Ok(ListResourcesResult::default()),
        Err(error) => Err(failed(&error)),
    }
}

/// Reads the item at an address, between marks.
pub async fn read(access: &Arc<Access>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let not_found = |why: &str| ErrorData::resource_not_found(format!("{uri}: {why}"), Some(json!({"uri": uri})));
    let Some(address) = Address::parse(uri) else {
        return Err(not_found(
            "expected yore://memory/{id}, yore://session/{id}, yore://context/{topic}, yore://category/{name} or yore://categories",
        ));
    };
    let access = Arc::clone(access);
    let handle = access.handle.clone();
    let read = handle
        .with(move |memory| match address {
            Address::Memory(id) => {
                let wanted = Wanted {
                    id,
                    level: Some(Level::Turns),
                    around: Some(0),
                    from: None,
                    budget: Some(BUDGET),
                    version: None,
                    form: Form::Text,
                };
                page(memory, &wanted).map(|answer| Some(answer.text))
            }
            Address::Session(id) => {
                let wanted = Wanted {
                    id,
                    level: Some(Level::Exchanges),
                    around: Some(0),
                    from: None,
                    budget: Some(BUDGET),
                    version: None,
                    form: Form::Text,
                };
                page(memory, &wanted).map(|answer| Some(answer.text))
            }
            Address::Context(topic) => {
                let request = NotesRequest { title: Some(topic), limit: 1, ..notes::everything_here(&access) };
                let found = memory.notes(request)?;
                Ok(found.first().map(|note| notes::block(note, BUDGET * 4)))
            }
            Address::Category(name) => categories::known(memory, &access, &name).map(|found| Some(categories::told(&found))),
            Address::Categories => {
                let found = match categories::request(memory, &access)? {
                    Some(request) => memory.categories(request)?,
                    None => Vec::new(),
                };
                let lines = found.iter().flat_map(|category| std::iter::once(category).chain(&category.children));
                let lines: Vec<String> =
                    lines.map(|category| format!("{} ({})", name(&category.name), category.item_count)).collect();
                Ok(Some(fenced(&[lines.join("\n")])))
            }
        })
        .await;
    match read {
        Ok(Some(text)) => Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)])),
        Ok(None) => Err(not_found("no note has this title")),
        Err(error) if matches!(error.code.as_str(), "unknown-id" | "unknown-session" | "unknown-category" | "ambiguous-id") => {
            Err(not_found(&error_text(&error)))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Converts an error for the protocol: a fault of the request, or an internal one.
pub fn failed(error: &CliError) -> ErrorData {
    match error.exit {
        Exit::Usage | Exit::Nothing => ErrorData::invalid_params(error_text(error), None),
        _ => ErrorData::internal_error(error_text(error), None),
    }
}

/// Percent-encodes everything that an address cannot contain.
fn encoded(text: &str) -> String {
    let mut address = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

/// Decodes the text of an address; `None` if it is malformed.
fn decoded(address: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, others) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = others;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn addresses_come_back_as_they_went(id in "\\PC{0,30}[a-z]") {
            let category = Address::Category(id.clone());
            for address in [Address::Memory(id.clone()), Address::Session(id.clone()), Address::Context(id.clone()), category] {
                prop_assert_eq!(Address::parse(&address.to_string()), Some(address));
            }
        }

        #[test]
        fn nothing_that_is_read_as_an_address_panics(words in "\\PC{0,40}") {
            let _ = Address::parse(&format!("yore://memory/{words}"));
        }
    }

    #[test]
    fn what_is_no_address_is_none() {
        for uri in [
            "yore://memory/",
            "yore://memory",
            "yore://topic/x",
            "yore://categories/x",
            "file:///etc/passwd",
            "yore://memory/%",
            "yore://session/%zz",
            "yore://context/%20",
        ] {
            assert_eq!(Address::parse(uri), None, "{uri}");
        }
        assert_eq!(Address::parse("yore://session/tide%2Fs1"), Some(Address::Session("tide/s1".to_owned())));
        assert_eq!(Address::parse("yore://session/tide/s1"), Some(Address::Session("tide/s1".to_owned())));
    }
}
