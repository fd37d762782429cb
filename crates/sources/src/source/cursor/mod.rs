//! Cursor: conversations in the editor's databases, in the stores of its command line, and in plain
//! transcripts.
//!
//! - [`Cursor`]: finds the databases and files, one unit for each conversation
//! - `place`: the purpose of each folder, and the folder that a window had open
//! - `database`: the conversations in one of the editor's databases, and their stamps; `tables`: its keys and
//!   values; `forms`: the forms in which it holds conversations
//! - `composer`: conversations since November 2024: inline, or heads and bubbles
//! - `chat`: the chat panel before that; `typed`: lists of typed prompts
//! - `bubble`: one message of either; `lexical`: the rich text of the input box
//! - `workspace`: finds the folder that a conversation is about
//! - `store`: `store.db` of the command line, a tree of blobs
//! - `transcript`: `agent-transcripts`, JSON lines or text
//! - `record`: the common form of all of these; `turns`: converts it to turns
//!
//! A conversation has the same native id wherever it is stored. The editor's database is the fullest copy,
//! then the store, then the transcript. A poorer copy is not read while a fuller one is found, below the same
//! root or in the same home directory.

mod bubble;
mod chat;
mod composer;
mod database;
mod forms;
mod lexical;
mod place;
mod record;
mod store;
mod tables;
mod transcript;
mod turns;
mod typed;
mod workspace;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::database::CHAT_PART;
use self::place::Found;
use self::turns::{CursorReader, KIND};
use super::shapes::text_of;
use super::{Computer, EpisodeReader, Known, LineOwner, ReaderOptions, Source, Stamp, Unit};
use crate::foreign::ForeignDatabase;

/// Name of the part that represents a database whose conversations could not be listed.
const UNLISTED_PART: &str = "unlisted";

/// Keys of Cursor in the editor's table, beside those of the chat panel.
const KEYS: [&str; 3] = ["composer.composerData", "aiService.generations", "aiService.prompts"];

/// The source for Cursor; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Cursor;

impl Source for Cursor {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Cursor"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        // The paths are narrow: extensions, caches and the keys of the account are beside them.
        let mut places = match computer.named("CURSOR_DATA_PATH") {
            // Some users name the folder of the windows; the global database is beside it.
            Some(named) if named.ends_with("workspaceStorage") => vec![named.with_file_name("globalStorage"), named],
            Some(named) => vec![named],
            None => {
                let user = computer.configuration().join("Cursor").join("User");
                vec![user.join("globalStorage"), user.join("workspaceStorage")]
            }
        };
        let own = computer.home.join(".cursor");
        places.extend(["chats", "acp-sessions", "projects"].map(|name| own.join(name)));
        places
    }

    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit> {
        let found = place::find(root);
        let mut units = Vec::new();
        for path in &found.databases {
            units.append(&mut database_units(path, known));
        }
        units.append(&mut poorer_copies(root, &found));
        units
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let path = unit.path.as_path();
        match unit.part.as_deref() {
            Some(UNLISTED_PART) => {
                database::list(path)?;
                // The database can be listed now: its conversations are found the next time.
                Err(io::ErrorKind::WouldBlock.into())
            }
            Some(part) => match part.split_once('/') {
                Some((CHAT_PART, id)) => chat::records(path, id, take),
                Some((_, id)) => composer::records(path, id, take),
                None => Err(io::ErrorKind::NotFound.into()),
            },
            None if unit.closes_file => chat::typed_records(path, take),
            None if place::is_store(path) => store::records(path, take),
            None => transcript::records(path, take),
        }
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(CursorReader::new(options.clone()))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "session").map(Into::into),
            message: text_of(value, "id"),
            about: None,
            directory: text_of(value, "cwd"),
        }
    }
}

/// Returns whether a database is one of Cursor's. Other editors have the same table of keys, without its keys.
pub(super) fn is_of(database: &ForeignDatabase) -> io::Result<bool> {
    if tables::has_table(database, "cursorDiskKV")? {
        return Ok(true);
    }
    if !tables::has_table(database, "ItemTable")? {
        return Ok(false);
    }
    for key in chat::TAB_KEYS.iter().chain(&KEYS) {
        if tables::item(database, key)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the conversations of one of the editor's databases, and the unit that closes it. An unchanged
/// database is not opened.
fn database_units(path: &Path, known: &dyn Known) -> Vec<Unit> {
    let (Ok(stamp), Some(whole)) = (ForeignDatabase::stamp(path), Unit::records(path.to_path_buf())) else { return Vec::new() };
    let unit = |part: Option<String>, stamp: Stamp, began: Option<String>, closes_file: bool| Unit {
        part,
        stamp,
        began,
        closes_file,
        ..whole.clone()
    };
    let closing = unit(None, stamp, None, true);
    if closing.name().and_then(|name| known.stamp(&name)) == Some(stamp) {
        return vec![closing];
    }
    match database::list(path) {
        Ok(listed) => {
            let parts = listed.into_iter().map(|one| unit(Some(one.part), one.stamp, one.began, false));
            parts.chain([closing]).collect()
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        // The unit fails in the same way, so that the failure is reported; and the database is not marked as
        // read.
        Err(_) => vec![unit(Some(UNLISTED_PART.to_owned()), stamp, None, false), closing],
    }
}

/// Returns the stores and transcripts of conversations without a fuller copy.
fn poorer_copies(root: &Path, found: &Found) -> Vec<Unit> {
    if found.stores.is_empty() && found.transcripts.is_empty() {
        return Vec::new();
    }
    let mut databases: Vec<PathBuf> =
        found.databases.iter().filter(|path| place::is_global(path)).cloned().chain(place::databases_of_home(root)).collect();
    databases.sort();
    databases.dedup();
    // A busy database cannot be checked now. Reading a poorer copy meanwhile does no harm.
    let databases: Vec<ForeignDatabase> = databases.iter().filter_map(|path| ForeignDatabase::open(path).ok()).collect();
    let is_told = |id: &str| databases.iter().any(|opened| database::tells(opened, id).unwrap_or(false));
    let mut units = Vec::new();
    for path in &found.stores {
        if place::store_id(path).is_some_and(|id| !is_told(&id)) {
            units.extend(store::unit(path));
        }
    }
    let stored: HashSet<String> =
        found.stores.iter().cloned().chain(place::stores_of_home(root)).filter_map(|path| place::store_id(&path)).collect();
    for path in &found.transcripts {
        let is_told = place::transcript_id(path).is_some_and(|id| stored.contains(&id) || is_told(&id));
        if !is_told {
            units.extend(Unit::records(path.clone()));
        }
    }
    units
}
