//! Converts rule files of agents (`CLAUDE.md`) to memories, one for each statement. Those of a project may come with a clone, so
//! nobody has confirmed them; those of the person, or that they let hold everywhere, are their own word.

use std::path::{Path, PathBuf};

use yore_core::memory::{Anchor, AnchorKind, MemoryKind, RULE_FILES, RULE_FOLDERS, SourceKind};
use yore_engine::{GivenRecords, NewMemory};
use yore_sources::document::statements::{Statement, statements};

use super::common::{Home, by_agent, short, title};
use super::front;

/// A fact that is no sentence has at least so many words.
const LEAST_WORDS: usize = 4;

/// Returns the files of rules that the directory of a project has, each once.
pub fn files_of(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = RULE_FILES.iter().map(|name| directory.join(name)).filter(|path| path.is_file()).collect();
    for folder in RULE_FOLDERS {
        found.extend(rules_in(&directory.join(folder)));
    }
    found
}

/// Returns the rules in a folder, sorted.
fn rules_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_rule =
        |path: &PathBuf| path.is_file() && path.extension().is_some_and(|extension| extension == "md" || extension == "mdc");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_rule).collect();
    files.sort();
    files
}

/// Files of agents, relative to the person's home, that apply to every project; and folders of such files.
const OF_THE_PERSON: [&str; 6] = [
    ".claude/CLAUDE.md",
    ".codex/AGENTS.md",
    ".gemini/GEMINI.md",
    ".config/opencode/AGENTS.md",
    ".config/goose/.goosehints",
    ".codeium/windsurf/memories/global_rules.md",
];
const FOLDERS_OF_THE_PERSON: [&str; 2] = [".claude/rules", ".cursor/rules"];

/// Returns the files of agents that apply to everything that a person does, as far as they exist.
pub fn of_the_person(home: &Path) -> Vec<PathBuf> {
    let files = OF_THE_PERSON.iter().map(|name| home.join(name)).filter(|path| path.is_file());
    files.chain(FOLDERS_OF_THE_PERSON.iter().flat_map(|folder| rules_in(&home.join(folder)))).collect()
}

/// Returns whether a file is one of rules, by its name: a known one, or Markdown.
pub fn is_one(path: &Path) -> bool {
    let is_markdown = path.extension().is_some_and(|extension| extension == "md" || extension == "mdc" || extension == "txt");
    is_markdown || RULE_FILES.iter().any(|name| path.ends_with(name))
}

/// Returns whether a file of an agent applies to every project.
pub fn is_of_the_person(path: &Path, home: Option<&Path>) -> bool {
    home.is_some_and(|home| {
        OF_THE_PERSON.iter().any(|file| path == home.join(file))
            || FOLDERS_OF_THE_PERSON.iter().any(|folder| path.starts_with(home.join(folder)))
    })
}

/// Returns the name of the folder of Claude Code's histories that an automatic memory file belongs to.
pub fn claude_folder(path: &Path) -> Option<String> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let at = parts.windows(2).position(|pair| pair == [".claude", "projects"])?;
    (parts.get(at + 3) == Some(&"memory")).then(|| parts[at + 2].to_owned())
}

/// Returns the name of that folder for a directory.
pub fn folder_of(directory: &str) -> String {
    directory.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

/// Reads the statements of a file.
pub fn read(path: &Path, text: &str, home: &Home) -> GivenRecords {
    let place = path.to_string_lossy().into_owned();
    let about = front::value(text);
    let globs = ["globs", "paths", "applyTo"].iter().flat_map(|name| front::strings(&about[*name]));
    let anchors: Vec<Anchor> = globs.map(|text| Anchor { kind: AnchorKind::SourceFile, text }).collect();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let of = |said: Statement| {
        let (statement, mut details) = short(&said.text);
        let mut new = NewMemory::new(MemoryKind::of_statement(&statement), statement);
        details.extend(said.code);
        new.memory.details = Some(details.join("\n\n")).filter(|details| !details.is_empty());
        new.memory.title = title(&said.headings);
        new.memory.tags = vec![name.clone()];
        new.memory.anchors = anchors.clone();
        if *home != Home::Everywhere {
            by_agent(&mut new);
        }
        new.memory.source.kind = SourceKind::Import;
        new.memory.source.place = Some(format!("{place}:{}", said.line));
        home.takes(new)
    };
    GivenRecords {
        memories: statements(text).into_iter().filter(is_whole).map(of).collect(),
        whole: vec![place.clone()],
        ..GivenRecords::default()
    }
}

/// Returns whether a statement can be understood alone: an order, a sentence, or words about code. A few words, such as an entry of
/// a list of files, cannot.
fn is_whole(said: &Statement) -> bool {
    let words = said.text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    let is_sentence = said.text.trim_end_matches(['*', '_', '`', ')', '"']).ends_with(['.', '!', '\u{3002}']);
    said.code.is_some() || is_sentence || words >= LEAST_WORDS || MemoryKind::of_statement(&said.text) != MemoryKind::Fact
}

#[cfg(test)]
mod tests {
    use yore_core::memory::{Confidence, Lane};

    use super::*;

    #[test]
    fn statements_of_rules_have_kind_title_and_place() {
        let text = "---\nglobs: \"src/**, tests/**\"\n---\n# Harbour\n## Style\n- **Never** log a token.\n- Prefer short names.\n- Nottingham is far.\n- Errors are typed, we must name them.\n";
        let read = read(Path::new("/home/dev/AGENTS.md"), text, &Home::Everywhere);
        let told: Vec<_> = read
            .memories
            .iter()
            .map(|new| (new.memory.kind, new.memory.source.place.clone().unwrap(), new.memory.title.clone().unwrap()))
            .collect();
        let expected = [(MemoryKind::Standard, 6), (MemoryKind::Preference, 7), (MemoryKind::Fact, 8), (MemoryKind::Standard, 9)];
        assert_eq!(
            told,
            expected.map(|(kind, line)| (kind, format!("/home/dev/AGENTS.md:{line}"), "Harbour / Style".to_owned()))
        );
        assert_eq!(read.memories[0].memory.anchors.len(), 2);
        assert_eq!(read.whole, ["/home/dev/AGENTS.md"]);
    }

    #[test]
    fn pieces_of_lists_are_no_facts_and_rules_of_a_project_are_nobodys_confirmed_word() {
        let text = "# Harbour\n\n**Do NOT:**\n\n- log a token\n\n## Folders\n\n- `cmd/` - commands\n- Register in root.go\n- Always gofmt\n- The daemon owns the lock file\n";
        let of = |home: &Home| read(Path::new("/home/dev/AGENTS.md"), text, home).memories;
        let told: Vec<(MemoryKind, String)> =
            of(&Home::Everywhere).into_iter().map(|new| (new.memory.kind, new.memory.statement)).collect();
        let expected = [
            (MemoryKind::Standard, "Do NOT: log a token"),
            (MemoryKind::Standard, "Always gofmt"),
            (MemoryKind::Fact, "The daemon owns the lock file"),
        ];
        assert_eq!(told, expected.map(|(kind, said)| (kind, said.to_owned())));
        let trust = |home: &Home| of(home).into_iter().map(|new| (new.memory.lane, new.memory.confidence)).next();
        assert_eq!(trust(&Home::Everywhere), Some((Lane::Curated, Confidence::Verified)));
        assert_eq!(trust(&Home::Named("harbour".to_owned())), Some((Lane::Extracted, Confidence::Inferred)));
    }

    #[test]
    fn place_of_a_file_says_whom_it_is_for() {
        let home = Path::new("/home/dev");
        assert!(is_of_the_person(Path::new("/home/dev/.claude/CLAUDE.md"), Some(home)));
        assert!(!is_of_the_person(Path::new("/home/dev/harbour/.claude/CLAUDE.md"), Some(home)));
        assert!(!is_of_the_person(Path::new("/home/dev/.config/nvim/AGENTS.md"), Some(home)));
        assert_eq!(
            claude_folder(Path::new("/home/dev/.claude/projects/-home-dev-tide.web/memory/MEMORY.md")).as_deref(),
            Some("-home-dev-tide.web")
        );
        assert_eq!(claude_folder(Path::new("/home/dev/.claude/CLAUDE.md")), None);
        assert_eq!(folder_of("/home/dev/tide.web"), "-home-dev-tide-web");
    }
}
