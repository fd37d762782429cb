//! Names of the rule files that coding agents load at the start of a session (`CLAUDE.md`, `.cursor/rules`).

/// Names of these files, relative to the directory of a project.
pub const RULE_FILES: [&str; 12] = [
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
    "CONVENTIONS.md",
    ".junie/guidelines.md",
    ".goosehints",
];
/// Folders that hold such files, relative to the directory of a project.
pub const RULE_FOLDERS: [&str; 6] =
    [".claude/rules", ".cursor/rules", ".windsurf/rules", ".clinerules", ".github/instructions", ".kiro/steering"];

/// Returns whether a place, a path with or without `:` and a line, is in a file that agents read by themselves.
///
/// ```
/// use yore_core::memory::is_of_rules;
/// assert!(is_of_rules("/home/dev/tide/AGENTS.md:7") && is_of_rules("C:\\tide\\.cursor\\rules\\style.mdc:1"));
/// assert!(!is_of_rules("/home/dev/tide/docs/agents.md:7"));
/// ```
pub fn is_of_rules(place: &str) -> bool {
    let place = place.replace('\\', "/");
    let file = match place.rsplit_once(':') {
        Some((file, line)) if !line.is_empty() && line.bytes().all(|letter| letter.is_ascii_digit()) => file,
        _ => place.as_str(),
    };
    let ends_with =
        |path: &str, name: &str| path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'));
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    RULE_FILES.iter().any(|name| ends_with(file, name)) || RULE_FOLDERS.iter().any(|name| ends_with(folder, name))
}
