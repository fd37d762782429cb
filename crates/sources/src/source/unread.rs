//! Agents whose folders yore recognises but does not read.

use std::path::{Path, PathBuf};

use super::Computer;

/// Maximum number of entries that are counted below a folder.
const MOST_ENTRIES: usize = 20_000;
/// Maximum depth at which files are counted.
const MAX_DEPTH: usize = 8;

/// Agents by the folders where they keep histories, below the home directory. Some of them use the same folders
/// on all platforms.
const AGENTS: [(&str, &[&str]); 37] = [
    ("Amp", &[".local/share/amp/threads"]),
    ("Augment", &[".augment/sessions"]),
    ("Amazon Q", &[".local/share/amazon-q", "Library/Application Support/amazon-q", ".aws/amazonq/history"]),
    ("Claude Cowork", &["Library/Application Support/Claude/local-agent-mode-sessions"]),
    ("Codebuff", &[".config/manicode/projects"]),
    ("CodeBuddy", &[".codebuddy/projects"]),
    ("Command Code", &[".commandcode/projects"]),
    ("Cortex Code", &[".snowflake/cortex/conversations"]),
    ("DeepSeek TUI", &[".codewhale/sessions", ".deepseek/sessions"]),
    ("Devin", &[".local/share/devin", "Library/Application Support/devin", "AppData/Roaming/devin"]),
    ("Forge", &[".forge"]),
    ("gptme", &[".local/share/gptme/logs"]),
    ("IcodeMate", &[".local/share/icodemate"]),
    ("iFlow", &[".iflow/projects"]),
    ("Junie", &[".junie/sessions"]),
    ("MiMoCode", &[".local/share/mimocode"]),
    ("Omnigent", &[".omnigent"]),
    ("OpenClaude", &[".openclaude/projects"]),
    ("OpenHands", &[".openhands/conversations", ".openhands/sessions"]),
    ("Piebald", &[".local/share/piebald", "Library/Application Support/piebald", "AppData/Roaming/piebald"]),
    ("Plandex", &[".plandex-home-v2", ".plandex-home"]),
    ("Poolside", &[".local/state/poolside", "Library/Application Support/poolside", "AppData/Roaming/poolside"]),
    ("Posit Assistant", &[".posit/assistant/workspaces"]),
    ("QClaw", &[".qclaw/agents"]),
    ("Qoder", &[".qoder/projects", ".qoderwork/projects"]),
    ("QwenPaw", &[".copaw/workspaces", ".qwenpaw/workspaces"]),
    ("Reasonix", &[".reasonix", "AppData/Roaming/reasonix"]),
    ("Shelley", &[".config/shelley"]),
    (
        "Trae",
        &[
            ".config/Trae/User/workspaceStorage",
            "Library/Application Support/Trae/User/workspaceStorage",
            "AppData/Roaming/Trae/User/workspaceStorage",
        ],
    ),
    ("TRAE CLI", &[".trae/cli/sessions"]),
    ("Tabnine", &[".tabnine/agent/tmp"]),
    ("Visual Studio Copilot", &["AppData/Local/Temp/VSGitHubCopilotLogs/traces"]),
    ("Warp", &[".local/state/warp-terminal", "Library/Group Containers/2BBY89MBSN.dev.warp", "AppData/Local/warp/Warp/data"]),
    ("Windsurf", &[".codeium/windsurf/cascade"]),
    ("WorkBuddy", &[".workbuddy/projects"]),
    ("ZCode", &[".zcode/cli"]),
    ("Zencoder", &[".zencoder/sessions"]),
];

/// Agents that encrypt their histories.
const ENCRYPTED: [&str; 1] = ["Windsurf"];

/// An agent whose histories yore does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadAgent {
    /// Name shown to people.
    pub name: &'static str,
    /// True if nobody else can read its histories, because they are encrypted.
    pub is_encrypted: bool,
    /// Folder of its histories.
    pub path: PathBuf,
    /// Number of files in it.
    pub files: u64,
}

/// Returns the agents with files on a computer, in order of their names.
pub fn unread_agents(computer: &Computer<'_>) -> Vec<UnreadAgent> {
    let mut found = Vec::new();
    for (name, places) in AGENTS {
        found.extend(places.iter().filter_map(|place| with_files(name, computer.home.join(place))));
    }
    found
}

/// Returns the agents whose histories a named path holds: it lies in their folder, is a part of the way there,
/// or contains it.
pub fn unread_agents_at(path: &Path) -> Vec<UnreadAgent> {
    let mut found = Vec::new();
    for (name, places) in AGENTS {
        let folder = places.iter().find_map(|place| {
            let place = Path::new(place);
            if path.ancestors().any(|above| above.ends_with(place)) {
                return Some(path.to_path_buf());
            }
            let parts: Vec<_> = place.iter().collect();
            (0..parts.len()).rev().find_map(|count| {
                let (before, after): (PathBuf, PathBuf) = (parts[..count].iter().collect(), parts[count..].iter().collect());
                let folder = path.join(after);
                (path.ends_with(before) && folder.is_dir()).then_some(folder)
            })
        });
        found.extend(folder.and_then(|folder| with_files(name, folder)));
    }
    found
}

fn with_files(name: &'static str, path: PathBuf) -> Option<UnreadAgent> {
    let files = count_files(&path);
    (files > 0).then(|| UnreadAgent { name, is_encrypted: ENCRYPTED.contains(&name), path, files })
}

/// Counts the files of a folder. Does not follow symbolic links.
fn count_files(folder: &Path) -> u64 {
    if folder.is_file() {
        return 1;
    }
    let (mut files, mut seen) = (0, 0);
    let mut pending = vec![(folder.to_path_buf(), 0)];
    while let Some((directory, depth)) = pending.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return files;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_file() => files += 1,
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => pending.push((entry.path(), depth + 1)),
                _ => {}
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::super::{Platform, SOURCES};
    use super::*;

    fn computer(home: &Path) -> Computer<'_> {
        Computer { platform: Platform::Xdg, home, variable: &|_| None }
    }

    #[test]
    fn every_agent_is_named_where_its_files_lie_and_nowhere_else() {
        for (name, places) in AGENTS {
            for place in places {
                let home = tempfile::tempdir().unwrap();
                let folder = home.path().join(place).join("a");
                assert_eq!(unread_agents(&computer(home.path())), []);
                std::fs::create_dir_all(&folder).unwrap();
                assert_eq!(unread_agents(&computer(home.path())), [], "an empty folder");
                std::fs::write(folder.join("1.json"), "{}").unwrap();
                std::fs::write(folder.join("2.json"), "{}").unwrap();
                let [found] = &unread_agents(&computer(home.path()))[..] else { panic!("{name} in {place}") };
                assert_eq!((found.name, &found.path, found.files), (name, &home.path().join(place), 2));
                // The folder, folders above and below it, a file.
                let near = [home.path().to_path_buf(), home.path().join(place), folder.clone(), folder.join("1.json")];
                for path in near.iter().chain([&home.path().join(Path::new(place).iter().next().unwrap())]) {
                    let found: Vec<&str> = unread_agents_at(path).iter().map(|agent| agent.name).collect();
                    assert_eq!(found, [name], "{}", path.display());
                }
                assert_eq!(unread_agents_at(&home.path().join("other")), []);
            }
        }
    }

    #[test]
    fn no_agent_that_is_read_is_called_unread() {
        let home = Path::new("/home/ada");
        let read: Vec<PathBuf> = SOURCES.iter().flat_map(|source| source.places(&computer(home))).collect();
        for (name, places) in AGENTS {
            assert!(SOURCES.iter().all(|source| source.display_name() != name), "{name}");
            for place in places.iter().map(|place| home.join(place)) {
                assert!(read.iter().all(|read| !place.starts_with(read)), "{} is read", place.display());
            }
        }
    }
}
