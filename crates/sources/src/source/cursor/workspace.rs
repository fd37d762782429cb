//! Finds the folder that a Cursor conversation is about. A conversation does not name it itself. These rules are tried in order,
//! and the record of the conversation names the one that applied:
//!
//! 1. `header`: the list of conversations, a table or one value, or the conversation's own member
//! 2. `window-list`: a window's database names it among its conversations
//! 3. `window-pane`: a window's database has a pane that shows it
//! 4. `project-layout`: the project layout that Cursor gave the model
//! 5. `files`: the folder of a window that contains most of its files
//! 6. `unknown`

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::super::shapes::text_of;
use super::place::{self, Workspace, folder_of_workspace_file, path_of_uri};
use super::record::parse;
use super::tables::{has_table, item};
use crate::foreign::ForeignDatabase;

/// Maximum number of requests of a conversation that are searched for a layout.
const MAX_LAYOUTS: i64 = 8;

/// The latest attribution by database: reading five hundred conversations must not open every window's
/// database five hundred times. Replaced whenever the database's conversations are listed.
static LATEST: Mutex<Option<HashMap<PathBuf, Arc<Attribution>>>> = Mutex::new(None);

/// Information in the editor's lists about the conversations of a global database.
#[derive(Default)]
pub(super) struct Attribution {
    headers: HashMap<String, Header>,
    /// Index of the window, by conversation.
    lists: HashMap<String, usize>,
    panes: HashMap<String, usize>,
    windows: Vec<Workspace>,
}

/// A conversation in the list of conversations.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    pub folder: Option<String>,
    window: Option<String>,
    pub title: Option<String>,
    pub parent: Option<String>,
    pub is_subagent: bool,
    pub is_archived: bool,
}

impl Attribution {
    /// Reads the lists and stores them in `LATEST`.
    pub(super) fn load(database: &ForeignDatabase, path: &Path) -> io::Result<Arc<Self>> {
        let mut loaded = Self { headers: headers(database)?, ..Self::default() };
        if let Some(user) = place::user_folder_of(path) {
            loaded.windows = place::workspaces(user);
        }
        for (at, window) in loaded.windows.iter().enumerate() {
            // If a window's database is busy or damaged, only its hint is lost.
            if let Ok((listed, panes)) = conversations_of_window(&window.database) {
                loaded.lists.extend(listed.into_iter().map(|id| (id, at)));
                loaded.panes.extend(panes.into_iter().map(|id| (id, at)));
            }
        }
        let loaded = Arc::new(loaded);
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        latest.get_or_insert_default().insert(path.to_path_buf(), Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Returns the lists that were read last.
    pub(super) fn latest(database: &ForeignDatabase, path: &Path) -> io::Result<Arc<Self>> {
        let known = LATEST.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|latest| latest.get(path).cloned());
        known.map_or_else(|| Self::load(database, path), Ok)
    }

    pub(super) fn header(&self, id: &str) -> Option<&Header> {
        self.headers.get(id)
    }

    /// Returns the folder according to the lists alone.
    pub(super) fn folder_of(&self, id: &str) -> Option<String> {
        self.by_lists(id).map(|(folder, _)| folder)
    }

    fn by_lists(&self, id: &str) -> Option<(String, &'static str)> {
        let header = self.headers.get(id);
        if let Some(folder) = header.and_then(|header| header.folder.clone()) {
            return Some((folder, "header"));
        }
        let named = header.and_then(|header| header.window.as_deref());
        if let Some(window) = self.windows.iter().find(|window| Some(window.id.as_str()) == named) {
            return Some((window.folder.clone(), "header"));
        }
        let at = |found: &HashMap<String, usize>| found.get(id).and_then(|at| self.windows.get(*at));
        if let Some(window) = at(&self.lists) {
            return Some((window.folder.clone(), "window-list"));
        }
        at(&self.panes).map(|window| (window.folder.clone(), "window-pane"))
    }

    /// Returns the folder and the rule that found it. `files` are the files that the conversation touches.
    pub(super) fn decide(
        &self,
        database: &ForeignDatabase,
        id: &str,
        composer: &Value,
        files: &[String],
    ) -> io::Result<(Option<String>, &'static str)> {
        if let Some(folder) = folder_of_identifier(&composer["workspaceIdentifier"]) {
            return Ok((Some(folder), "header"));
        }
        if let Some((folder, rule)) = self.by_lists(id) {
            return Ok((Some(folder), rule));
        }
        if let Some(folder) = layout(database, id)? {
            return Ok((Some(folder), "project-layout"));
        }
        Ok(match self.by_files(files) {
            Some(folder) => (Some(folder), "files"),
            None => (None, "unknown"),
        })
    }

    /// Returns the window's folder that holds most of the files, and at least half of them; of several such
    /// folders, the deepest.
    fn by_files(&self, files: &[String]) -> Option<String> {
        let holds = |folder: &str, file: &str| {
            file.strip_prefix(folder.trim_end_matches(['/', '\\'])).is_some_and(|rest| rest.starts_with(['/', '\\']))
        };
        self.windows
            .iter()
            .map(|window| (files.iter().filter(|file| holds(&window.folder, file)).count(), window.folder.len(), &window.folder))
            .filter(|(held, ..)| *held > 0 && held * 2 >= files.len())
            .max()
            .map(|(.., folder)| folder.clone())
    }

    /// Returns the database of the window that had a folder open.
    pub(super) fn window_of_folder(&self, folder: &str) -> Option<&Path> {
        self.windows.iter().find(|window| window.folder == folder).map(|window| window.database.as_path())
    }
}

/// Returns the folder in `{id, uri{fsPath, external, path}}` or `{id, configPath}`.
fn folder_of_identifier(identifier: &Value) -> Option<String> {
    if let Some(path) = path_of_value(&identifier["uri"]) {
        return Some(path);
    }
    folder_of_workspace_file(&path_of_value(&identifier["configPath"])?)
}

/// Returns the path in a URL, or in an object that represents one.
pub(super) fn path_of_value(value: &Value) -> Option<String> {
    match value {
        Value::String(uri) => path_of_uri(uri),
        Value::Object(_) => text_of(value, "fsPath")
            .map(str::to_owned)
            .or_else(|| text_of(value, "external").and_then(path_of_uri))
            .or_else(|| text_of(value, "path").and_then(path_of_uri)),
        _ => None,
    }
}

fn headers(database: &ForeignDatabase) -> io::Result<HashMap<String, Header>> {
    let mut headers = HashMap::new();
    if has_table(database, "ItemTable")?
        && let Some(list) = item(database, "composer.composerHeaders")?.and_then(|text| parse(&text))
    {
        for value in list["allComposers"].as_array().into_iter().flatten() {
            if let Some(id) = text_of(value, "composerId") {
                headers.insert(id.to_owned(), header_of(value));
            }
        }
    }
    let columns = database.columns("composerHeaders")?;
    let column = |name: &str| if columns.iter().any(|column| column == name) { name.to_owned() } else { "NULL".to_owned() };
    if !columns.iter().any(|column| column == "composerId") {
        return Ok(headers);
    }
    let (value, window, subagent, archived) =
        (column("value"), column("workspaceId"), column("isSubagent"), column("isArchived"));
    let sql = format!("SELECT composerId, {value}, {window}, {subagent}, {archived} FROM composerHeaders");
    database.each(&sql, &[], |row| {
        if let Some(id) = row.text(0) {
            let mut header = row.text(1).and_then(|text| parse(&text)).map_or_else(Header::default, |value| header_of(&value));
            header.window = row.text(2).or(header.window);
            header.is_subagent |= row.integer(3).unwrap_or(0) != 0;
            header.is_archived |= row.integer(4).unwrap_or(0) != 0;
            headers.insert(id, header);
        }
        Ok(true)
    })?;
    Ok(headers)
}

fn header_of(value: &Value) -> Header {
    let identifier = &value["workspaceIdentifier"];
    Header {
        folder: folder_of_identifier(identifier),
        window: text_of(identifier, "id").map(str::to_owned),
        title: text_of(value, "name").map(str::to_owned),
        parent: parent_of(value),
        is_subagent: is_subagent(value),
        is_archived: value["isArchived"].as_bool() == Some(true),
    }
}

/// Returns whether a conversation belongs to a sub-agent.
pub(super) fn is_subagent(value: &Value) -> bool {
    value["isSubagent"].as_bool() == Some(true) || value["subagentInfo"].is_object()
}

/// Returns the conversation that started it.
pub(super) fn parent_of(value: &Value) -> Option<String> {
    text_of(&value["subagentInfo"], "parentComposerId").or_else(|| text_of(value, "parentComposerId")).map(str::to_owned)
}

/// Returns the conversations that a window's database names, and those that its panes show.
fn conversations_of_window(path: &Path) -> io::Result<(Vec<String>, Vec<String>)> {
    let database = ForeignDatabase::open(path)?;
    let (mut listed, mut panes) = (Vec::new(), Vec::new());
    if !has_table(&database, "ItemTable")? {
        return Ok((listed, panes));
    }
    if let Some(value) = item(&database, "composer.composerData")?.and_then(|text| parse(&text)) {
        let all = value["allComposers"].as_array().into_iter().flatten().filter_map(|head| text_of(head, "composerId"));
        listed.extend(all.map(str::to_owned));
        for key in ["selectedComposerIds", "lastFocusedComposerIds"] {
            listed.extend(value[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
        }
    }
    database.each(
        "SELECT key, value FROM ItemTable WHERE key >= 'workbench.panel.composerChatViewPane.'
             AND key < 'workbench.panel.composerChatViewPane/'",
        &[],
        |row| {
            panes.extend(row.text(0).iter().flat_map(|key| ids_in(key)));
            // The value's keys name the views of the pane, one per conversation.
            let views = row.text(1).and_then(|text| parse(&text));
            panes.extend(
                views.as_ref().and_then(Value::as_object).into_iter().flat_map(|views| views.keys()).flat_map(|key| ids_in(key)),
            );
            Ok(true)
        },
    )?;
    Ok((listed, panes))
}

/// Returns the UUIDs among the parts of a key.
fn ids_in(key: &str) -> Vec<String> {
    key.split(['.', ':', '/']).filter(|part| part.len() == 36 && uuid::Uuid::try_parse(part).is_ok()).map(str::to_owned).collect()
}

/// Returns the root of the project that the model was given.
fn layout(database: &ForeignDatabase, id: &str) -> io::Result<Option<String>> {
    let (from, to) = (format!("messageRequestContext:{id}:"), format!("messageRequestContext:{id};"));
    let mut root = None;
    database.each(
        "SELECT value FROM cursorDiskKV WHERE key >= ?1 AND key < ?2 AND octet_length(value) < 4194304 LIMIT ?3",
        &[&from, &to, &MAX_LAYOUTS],
        |row| {
            let Some(value) = row.text(0).and_then(|text| parse(&text)) else { return Ok(true) };
            let layouts = value["projectLayouts"].as_array().into_iter().flatten();
            root = layouts
                .filter_map(|layout| match layout {
                    Value::String(text) => parse(text),
                    other => Some(other.clone()),
                })
                .find_map(|layout| text_of(&layout, "rootPath").and_then(path_of_uri));
            Ok(root.is_none())
        },
    )?;
    Ok(root)
}
