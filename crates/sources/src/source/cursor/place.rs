//! Finds the purpose of each of Cursor's folders. Everything here is decided by names; only the files `workspace.json` and
//! `meta.json` are read.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::address::path_of_address;
use super::super::shapes::text_of;
use super::super::{folders_in, walk};

const DATABASE: &str = "state.vscdb";
const STORE: &str = "store.db";
const TRANSCRIPTS: &str = "agent-transcripts";

/// Folders that are skipped when searching a folder that is not Cursor's own.
const PASSED_OVER: [&str; 9] =
    ["extensions", "node_modules", "History", "Cache", "CachedData", "Code Cache", "logs", "target", ".git"];

/// The editor's user folder below a home directory, on the three platforms.
const USER_FOLDERS: [&str; 3] = [".config/Cursor/User", "Library/Application Support/Cursor/User", "AppData/Roaming/Cursor/User"];

/// Files found below a root, each list in order.
#[derive(Default)]
pub(super) struct Found {
    /// Databases of the editor.
    pub databases: Vec<PathBuf>,
    /// Stores of the command line.
    pub stores: Vec<PathBuf>,
    /// Plain transcripts.
    pub transcripts: Vec<PathBuf>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.databases.is_empty() && self.stores.is_empty() && self.transcripts.is_empty()
    }

    fn add_database(&mut self, path: PathBuf) {
        if path.is_file() {
            self.databases.push(path);
        }
    }

    fn add_store(&mut self, path: PathBuf) {
        if path.is_file() {
            self.stores.push(path);
        }
    }
}

/// Returns the files below `root`, which may be a file, a folder of Cursor, a folder that holds one, or any
/// folder of copies.
pub(super) fn find(root: &Path) -> Found {
    let mut found = Found::default();
    if root.is_file() {
        match root.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl" | "txt") => found.transcripts.push(root.to_path_buf()),
            _ if is_store(root) => found.stores.push(root.to_path_buf()),
            _ => found.databases.push(root.to_path_buf()),
        }
        return found;
    }
    match root.file_name().and_then(|name| name.to_str()) {
        Some("globalStorage") => found.add_database(root.join(DATABASE)),
        Some("workspaceStorage") => workspaces_below(root, &mut found),
        Some("chats") => folders_in(root).iter().for_each(|folder| stores_below(folder, &mut found)),
        Some("acp-sessions") => stores_below(root, &mut found),
        Some("projects") => transcripts_of_projects(root, &mut found),
        _ => {
            // A folder of Cursor, or one that contains such a folder.
            for user in [root.to_path_buf(), root.join("User"), root.join("Cursor/User")] {
                user_folder(&user, &mut found);
            }
            for user in USER_FOLDERS {
                user_folder(&root.join(user), &mut found);
            }
            for own in [root.to_path_buf(), root.join(".cursor")] {
                folders_in(&own.join("chats")).iter().for_each(|folder| stores_below(folder, &mut found));
                stores_below(&own.join("acp-sessions"), &mut found);
                transcripts_of_projects(&own.join("projects"), &mut found);
            }
            if found.is_empty() {
                copies_below(root, &mut found);
            }
        }
    }
    for list in [&mut found.databases, &mut found.stores, &mut found.transcripts] {
        list.sort();
        list.dedup();
    }
    found
}

fn user_folder(user: &Path, found: &mut Found) {
    found.add_database(user.join("globalStorage").join(DATABASE));
    workspaces_below(&user.join("workspaceStorage"), found);
}

fn workspaces_below(storage: &Path, found: &mut Found) {
    for folder in folders_in(storage) {
        found.add_database(folder.join(DATABASE));
    }
}

fn stores_below(folder: &Path, found: &mut Found) {
    for folder in folders_in(folder) {
        found.add_store(folder.join(STORE));
    }
}

fn transcripts_of_projects(projects: &Path, found: &mut Found) {
    for project in folders_in(projects) {
        transcripts_below(&project.join(TRANSCRIPTS), found);
    }
}

/// Finds `<uuid>/<uuid>.jsonl`, `<uuid>/subagents/<id>.jsonl` and `<uuid>.txt`.
fn transcripts_below(folder: &Path, found: &mut Found) {
    let is_wanted = |path: &Path| matches!(path.extension().and_then(|found| found.to_str()), Some("jsonl" | "txt"));
    found.transcripts.extend(walk(folder, &|_, depth| depth <= 3, &is_wanted));
}

/// Searches a folder of copies, in any arrangement.
fn copies_below(folder: &Path, found: &mut Found) {
    let is_named = |path: &Path, names: &[&str]| name_of(Some(path)).is_some_and(|name| names.contains(&name));
    let enters = |path: &Path, depth: usize| depth <= 8 && !is_named(path, &PASSED_OVER);
    let ends = |path: &Path, ending: &str| name_of(Some(path)).is_some_and(|name| name.ends_with(ending));
    let is_of_transcripts =
        |path: &Path| path.strip_prefix(folder).is_ok_and(|below| below.iter().any(|part| part == TRANSCRIPTS));
    let is_wanted = |path: &Path| {
        ends(path, ".vscdb") || is_store(path) || ends(path, ".jsonl") || ends(path, ".txt") && is_of_transcripts(path)
    };
    for path in walk(folder, &enters, &is_wanted) {
        if ends(&path, ".vscdb") {
            found.databases.push(path);
        } else if is_store(&path) {
            found.stores.push(path);
        } else {
            found.transcripts.push(path);
        }
    }
}

pub(super) fn is_store(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == STORE)
}

fn name_of(path: Option<&Path>) -> Option<&str> {
    path?.file_name()?.to_str()
}

/// Returns the native id of a store's conversation: its folder's name.
pub(super) fn store_id(path: &Path) -> Option<String> {
    name_of(path.parent()).map(str::to_owned)
}

/// Returns the native id of a transcript's conversation: the file's name.
pub(super) fn transcript_id(path: &Path) -> Option<String> {
    path.file_stem()?.to_str().map(str::to_owned)
}

/// Returns the conversation that a transcript of a sub-agent belongs to.
pub(super) fn parent_of_transcript(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    (folder.file_name()? == "subagents").then(|| name_of(folder.parent()).map(str::to_owned)).flatten()
}

/// Returns the slug in `projects/<slug>/agent-transcripts/…`.
pub(super) fn slug_of_transcript(path: &Path) -> Option<String> {
    let folder = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == TRANSCRIPTS))?;
    name_of(folder.parent()).map(str::to_owned)
}

/// Returns the home directory whose `.cursor` contains a path.
fn home_of(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == ".cursor"))?.parent()
}

fn user_folders_of_home(path: &Path) -> Vec<PathBuf> {
    let Some(home) = home_of(path) else { return Vec::new() };
    USER_FOLDERS.iter().map(|folder| home.join(folder)).filter(|folder| folder.is_dir()).collect()
}

/// Returns the editor's global databases of the home directory whose `.cursor` contains a path.
pub(super) fn databases_of_home(path: &Path) -> Vec<PathBuf> {
    let databases = user_folders_of_home(path).into_iter().map(|user| user.join("globalStorage").join(DATABASE));
    databases.filter(|path| path.is_file()).collect()
}

/// Returns the command line's stores of the home directory whose `.cursor` contains a path.
pub(super) fn stores_of_home(path: &Path) -> Vec<PathBuf> {
    let mut found = Found::default();
    if let Some(home) = home_of(path) {
        let own = home.join(".cursor");
        folders_in(&own.join("chats")).iter().for_each(|folder| stores_below(folder, &mut found));
        stores_below(&own.join("acp-sessions"), &mut found);
    }
    found.stores
}

/// Returns the user folder that a database belongs to.
pub(super) fn user_folder_of(database: &Path) -> Option<&Path> {
    let folder = database.parent()?;
    if folder.file_name()? == "globalStorage" {
        return folder.parent();
    }
    let storage = folder.parent()?;
    if storage.file_name()? == "workspaceStorage" { storage.parent() } else { None }
}

/// Returns whether a database is not one of a window's.
pub(super) fn is_global(database: &Path) -> bool {
    name_of(database.parent().and_then(Path::parent)) != Some("workspaceStorage")
}

/// Returns the user folder's global database, unless it is this one.
pub(super) fn global_database(database: &Path) -> Option<PathBuf> {
    let global = user_folder_of(database)?.join("globalStorage").join(DATABASE);
    (global != database && global.is_file()).then_some(global)
}

/// A window's storage folder and the folder that it had open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workspace {
    /// Name of the storage folder.
    pub id: String,
    /// Its database.
    pub database: PathBuf,
    /// Path of the open folder.
    pub folder: String,
}

/// Returns the windows of a user folder that had a folder open.
pub(super) fn workspaces(user: &Path) -> Vec<Workspace> {
    let folders = folders_in(&user.join("workspaceStorage"));
    folders
        .into_iter()
        .filter_map(|storage| {
            let id = name_of(Some(&storage))?.to_owned();
            Some(Workspace { id, folder: folder_of_workspace(&storage)?, database: storage.join(DATABASE) })
        })
        .collect()
}

/// Returns the folder that the window of a storage folder had open, from its `workspace.json`.
pub(super) fn folder_of_workspace(storage: &Path) -> Option<String> {
    let file = storage.join("workspace.json");
    if file.metadata().ok()?.len() > 1 << 20 {
        return None;
    }
    let value: Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    match text_of(&value, "workspace") {
        Some(file) => path_of_uri(file).and_then(|path| folder_of_workspace_file(&path)),
        None => text_of(&value, "folder").and_then(path_of_uri),
    }
}

/// Returns the folder of a `.code-workspace` file, which is the folder that it describes.
pub(super) fn folder_of_workspace_file(path: &str) -> Option<String> {
    let at = path.rfind(['/', '\\'])?;
    Some(path[..at.max(1)].to_owned())
}

/// Returns the path in a URL. A path with a drive is written as Cursor itself does.
pub(super) fn path_of_uri(uri: &str) -> Option<String> {
    let path = path_of_address(uri)?;
    let is_drive = path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && path.as_bytes().get(1) == Some(&b':');
    if !is_drive {
        return Some(path);
    }
    let mut path = path.replace('/', "\\");
    path[..1].make_ascii_uppercase();
    Some(path)
}

/// Returns the name that Cursor gives a folder below `projects`. Another folder may have the same name.
pub(super) fn slug(folder: &str) -> String {
    let folder = folder.trim_start_matches('/');
    let mut slug: String = folder.chars().map(|c| if matches!(c, '/' | '\\' | ':' | '.') { '-' } else { c }).collect();
    if folder.as_bytes().get(1) == Some(&b':') {
        slug[..1].make_ascii_lowercase();
    }
    slug
}

/// Returns the folder that has this slug, if exactly one folder known in the same home directory has it.
pub(super) fn folder_of_slug(slug_wanted: &str, transcript: &Path) -> Option<String> {
    let simple = |slug: &str| {
        let mut simple = slug.to_lowercase();
        while simple.contains("--") {
            simple = simple.replace("--", "-");
        }
        simple
    };
    let wanted = simple(slug_wanted);
    let mut folders: Vec<String> =
        user_folders_of_home(transcript).iter().flat_map(|user| workspaces(user)).map(|found| found.folder).collect();
    folders.extend(stores_of_home(transcript).iter().filter_map(|store| folder_of_store(store)));
    folders.retain(|folder| simple(&slug(folder)) == wanted);
    folders.sort();
    folders.dedup();
    if folders.len() == 1 { folders.pop() } else { None }
}

/// Reads `meta.json` beside a store.
pub(super) fn meta_of_store(store: &Path) -> Option<Value> {
    let file = store.parent()?.join("meta.json");
    if file.metadata().ok()?.len() > 1 << 20 {
        return None;
    }
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn folder_of_store(store: &Path) -> Option<String> {
    text_of(&meta_of_store(store)?, "cwd").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_every_kind_of_window_become_paths() {
        for (uri, path) in [
            ("file:///home/mira/code/tide%20tables", "/home/mira/code/tide tables"),
            ("file:///c%3A/Users/mira/tides", "C:\\Users\\mira\\tides"),
            ("vscode-remote://ssh-remote%2Bharbour/srv/tides", "/srv/tides"),
            ("vscode-remote://wsl%2Bubuntu/home/mira", "/home/mira"),
            ("/home/mira", "/home/mira"),
        ] {
            assert_eq!(path_of_uri(uri).as_deref(), Some(path));
        }
        assert_eq!(path_of_uri("vscode-remote://nothing"), None);
        assert_eq!(folder_of_workspace_file("/srv/tides/all.code-workspace").as_deref(), Some("/srv/tides"));
        assert_eq!(slug("/home/mira/tide.tables"), "home-mira-tide-tables");
        assert_eq!(slug("C:\\Users\\mira"), "c--Users-mira");
    }
}
