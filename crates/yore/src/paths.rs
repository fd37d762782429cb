//! Directories of data, configuration and histories by the conventions of each platform. Reads nothing but the environment it is
//! given.

use std::path::PathBuf;

use yore_sources::source::{self, Computer, Source, UnreadAgent, unread_agents};

/// Folder in the data directory in which a program that answers as a model runs.
pub const MODEL_WORK: &str = "llm-work";

/// Directories of this user on this computer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Home directory.
    pub home: Option<PathBuf>,
    /// Default directory of yore's data.
    pub data: Option<PathBuf>,
    /// Directory of models, if the environment sets it.
    pub models: Option<PathBuf>,
    /// Directory of files that yore can make or download again.
    pub cache: Option<PathBuf>,
    /// Directory of configurations.
    pub config: Option<PathBuf>,
    /// Platform, which decides the conventions.
    pub platform: Platform,
}

/// The platform, which decides the conventions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other Unix: the XDG base directories.
    #[default]
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

impl From<Platform> for source::Platform {
    fn from(platform: Platform) -> Self {
        match platform {
            Platform::Xdg => Self::Xdg,
            Platform::Mac => Self::Mac,
            Platform::Windows => Self::Windows,
        }
    }
}

impl Paths {
    /// Expands `~/` to the home directory in an entry of a list of directories or patterns.
    pub fn below_home(&self, entry: &str) -> String {
        match (entry.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
            _ => entry.to_owned(),
        }
    }

    /// Returns the default directories of a source's histories; `variable` reads the environment. Empty
    /// without a home directory.
    pub fn places_of(&self, source: &dyn Source, variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let Some(home) = &self.home else { return Vec::new() };
        source.places(&Computer { platform: self.platform.into(), home, variable })
    }

    /// Returns the agents with histories on this computer that yore does not read. Empty without a home directory.
    pub fn unread_agents(&self) -> Vec<UnreadAgent> {
        let Some(home) = &self.home else { return Vec::new() };
        unread_agents(&Computer { platform: self.platform.into(), home, variable: &|_| None })
    }

    /// Finds the directories for a platform; `get` reads the environment.
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
        let cache = match platform {
            Platform::Xdg => xdg("XDG_CACHE_HOME").or_else(|| below(&[".cache"])).map(|cache| cache.join("yore")),
            Platform::Mac => below(&["Library", "Caches", "yore"]),
            // On Windows, caches and data share a directory.
            Platform::Windows => data.as_ref().map(|data| data.join("yore").join("cache")),
        };
        let data = directory("YORE_HOME").or_else(|| data.map(|data| data.join("yore")));
        Self { home, data, models: directory("YORE_MODELS"), cache, config, platform }
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
    fn cache_follows_the_platform() {
        assert_eq!(locate(Platform::Xdg, &[("HOME", "/home/dev")]).cache, Some("/home/dev/.cache/yore".into()));
        let moved = [("HOME", "/home/dev"), ("XDG_CACHE_HOME", "/cache"), ("YORE_HOME", "/x")];
        assert_eq!(locate(Platform::Xdg, &moved).cache, Some("/cache/yore".into()));
        assert_eq!(locate(Platform::Mac, &[("HOME", "/Users/sam")]).cache, Some("/Users/sam/Library/Caches/yore".into()));
        assert_eq!(locate(Platform::Windows, &[("LOCALAPPDATA", "C:/L")]).cache, Some("C:/L/yore/cache".into()));
        assert_eq!(locate(Platform::Xdg, &[("YORE_MODELS", "/m")]).models, Some("/m".into()));
    }
}
