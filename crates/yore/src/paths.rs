//! Where things lie, by the conventions of each platform. Reads nothing but the environment that
//! it is given.

use std::path::PathBuf;

/// Directories of this person on this computer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Home.
    pub home: Option<PathBuf>,
    /// Where yore keeps its data unless told otherwise.
    pub data: Option<PathBuf>,
    /// Where configurations lie.
    pub config: Option<PathBuf>,
    /// Where Claude Code keeps its transcripts.
    pub claude: Vec<PathBuf>,
}

/// Which conventions hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other Unix: the XDG base directories.
    Xdg,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl Platform {
    /// The platform that this program was built for.
    pub const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Mac
    } else {
        Self::Xdg
    };
}

impl Paths {
    /// Finds the directories, given the platform and a look into the environment.
    pub fn locate(platform: Platform, get: &dyn Fn(&str) -> Option<String>) -> Self {
        let directory = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG specification ignores relative paths.
        let xdg = |name: &str| directory(name).filter(|path| path.is_absolute());
        let home = match platform {
            Platform::Windows => directory("USERPROFILE"),
            _ => directory("HOME"),
        };
        let below = |parts: &[&str]| home.as_ref().map(|home| parts.iter().fold(home.clone(), |path, part| path.join(part)));
        let (data, config) = match platform {
            Platform::Xdg => (
                xdg("XDG_DATA_HOME").or_else(|| below(&[".local", "share"])),
                xdg("XDG_CONFIG_HOME").or_else(|| below(&[".config"])),
            ),
            Platform::Mac => (below(&["Library", "Application Support"]), below(&["Library", "Application Support"])),
            Platform::Windows => (
                directory("LOCALAPPDATA").or_else(|| below(&["AppData", "Local"])),
                directory("APPDATA").or_else(|| below(&["AppData", "Roaming"])),
            ),
        };
        let mut claude: Vec<PathBuf> = get("CLAUDE_CONFIG_DIR")
            .into_iter()
            .flat_map(|list| list.split(',').map(|part| PathBuf::from(part.trim())).collect::<Vec<_>>())
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        if claude.is_empty() {
            claude.extend(below(&[".claude"]));
        }
        // Some versions keep theirs here; a transcript found twice is stored once.
        claude.extend(config.as_ref().filter(|_| platform == Platform::Xdg).map(|config| config.join("claude")));
        let data = directory("YORE_HOME").or_else(|| data.map(|data| data.join("yore")));
        Self { home, data, config, claude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locate(platform: Platform, variables: &[(&str, &str)]) -> Paths {
        Paths::locate(platform, &|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn data_directory_follows_the_platform_unless_overridden() {
        assert_eq!(locate(Platform::Xdg, &[("HOME", "/home/dev")]).data, Some("/home/dev/.local/share/yore".into()));
        assert_eq!(locate(Platform::Xdg, &[("HOME", "/home/dev"), ("XDG_DATA_HOME", "/data")]).data, Some("/data/yore".into()));
        assert_eq!(
            locate(Platform::Xdg, &[("HOME", "/home/dev"), ("XDG_DATA_HOME", "relative")]).data,
            Some("/home/dev/.local/share/yore".into())
        );
        assert_eq!(
            locate(Platform::Mac, &[("HOME", "/Users/sam")]).data,
            Some("/Users/sam/Library/Application Support/yore".into())
        );
        assert_eq!(
            locate(Platform::Windows, &[("USERPROFILE", "C:/Users/sam"), ("LOCALAPPDATA", "C:/L")]).data,
            Some("C:/L/yore".into())
        );
        assert_eq!(locate(Platform::Xdg, &[("HOME", "/home/dev"), ("YORE_HOME", "/x")]).data, Some("/x".into()));
        assert_eq!(locate(Platform::Xdg, &[]).data, None);
    }

    #[test]
    fn claude_directory_may_be_a_list() {
        let paths = locate(Platform::Mac, &[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/a, /b")]);
        assert_eq!(paths.claude, [PathBuf::from("/a"), PathBuf::from("/b")]);
    }
}
