//! Aider: a text for its model, which the user names in its settings. It has neither servers nor hooks; yore reads
//! its conversations from its history file.

use super::AgentProfile;
use super::entry::{NEEDED, NONE_IDLE, scoped, whole};
use crate::install::edit::whole::Role;
use crate::install::{Agent, FileEdit, Part, Scope, Wanted};

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
    advice: |wanted| {
        let add = match wanted.scope {
            Scope::User => "add `read: [~/.aider.yore.md]` to ~/.aider.conf.yml, so that Aider reads the file",
            Scope::Project => "add `read: [.aider.yore.md]` to .aider.conf.yml, so that Aider reads the file",
        };
        let proxy = "`yore proxy on` and `yore proxy env aider --memory` give it memories without asking";
        vec![add, "the file tells the model of yore; `/run yore recall ...` searches", proxy]
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let text = scoped(wanted, || wanted.machine.at_home(FILE), FILE);
    text.map(|text| whole(text, Part::Rules, RULES.to_owned(), Role::Rules)).into_iter().collect()
}
