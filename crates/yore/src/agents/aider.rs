//! Aider: a text that it reads, named in its settings. It has neither servers nor hooks; yore reads its
//! conversations from its history file.

use super::AgentProfile;
use super::entry::{NEEDED, NONE_IDLE, scoped, whole};
use crate::install::edit::Content;
use crate::install::edit::whole::Role;
use crate::install::edit::yaml::ReadFile;
use crate::install::{Agent, FileEdit, Part, Wanted};

const RULES: &str = include_str!("assets/rules-aider.md");
/// Aider keeps files with such names out of the repository.
const FILE: &str = ".aider.yore.md";
const SETTINGS: &str = ".aider.conf.yml";

const NAME: &str = "aider";

/// Aider has no hooks; scripts may report for it.
pub(super) const PROFILE: AgentProfile = AgentProfile { source: NAME, names: &[NAME], ..AgentProfile::UNKNOWN };

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &[],
    title: "Aider",
    traces: |machine| {
        let mut traces = vec![machine.at_home(".aider"), machine.at_home(SETTINGS)];
        traces.extend([".aider.chat.history.md", SETTINGS].iter().filter_map(|name| machine.in_project(name)));
        traces
    },
    edits,
    advice: |_| vec!["Aider supports only rules that mention yore; `/run yore recall ...` searches it"],
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let place = |name: &str| scoped(wanted, || machine.at_home(name), name);
    let (Some(text), Some(settings)) = (place(FILE), place(SETTINGS)) else { return Vec::new() };
    let read = ReadFile { path: text.to_string_lossy().into_owned() };
    vec![
        whole(text, Part::Rules, RULES.to_owned(), Role::Rules),
        FileEdit { path: settings, content: Content::Yaml(read), is_own: false },
    ]
}
