//! Reads manifests (`Cargo.toml`, `package.json`, `Makefile`) for versions and commands that a memory names.

use serde_json::Value;
use yore_core::memory::{Anchor, AnchorKind};

/// Names of such files.
pub(super) const NAMES: [&str; 29] = [
    "Cargo.toml",
    "Cargo.lock",
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "pyproject.toml",
    "requirements.txt",
    "poetry.lock",
    "uv.lock",
    "go.mod",
    "Gemfile",
    "Gemfile.lock",
    "composer.json",
    "composer.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".nvmrc",
    ".node-version",
    ".python-version",
    ".ruby-version",
    ".tool-versions",
    "Dockerfile",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Taskfile.yml",
    "Taskfile.yaml",
];
/// Files that state one version, and the tools of which it is.
const OF_ONE: &[(&str, &[&str])] = &[
    (".nvmrc", &["node", "nodejs", "node.js"]),
    (".node-version", &["node", "nodejs", "node.js"]),
    (".python-version", &["python"]),
    (".ruby-version", &["ruby"]),
    ("rust-toolchain", &["rust", "rustc"]),
    ("rust-toolchain.toml", &["rust", "rustc"]),
];
/// Files of make.
const MAKEFILES: [&str; 3] = ["Makefile", "makefile", "GNUmakefile"];
/// Longest line that is read, in bytes.
const LONGEST_LINE: usize = 2_000;

/// Returns the last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a file may say something of a version or of a command.
pub(super) fn may_say(file: &str, anchor: &Anchor) -> bool {
    let file = file_name(file);
    let program = anchor.text.split(' ').next().unwrap_or_default();
    let defines = match program {
        "npm" | "pnpm" | "yarn" | "bun" => file == "package.json",
        "make" => MAKEFILES.contains(&file),
        "just" => file == "justfile",
        "task" => file.starts_with("Taskfile."),
        _ => false,
    };
    match anchor.kind {
        AnchorKind::Command => defines,
        _ => !MAKEFILES.contains(&file) && file != "justfile" && !file.starts_with("Taskfile."),
    }
}

/// Returns the versions that a file states of a tool or library: in a lock file those that were chosen, else those that are asked for.
pub(super) fn versions_of(file: &str, text: &str, name: &str) -> Vec<String> {
    let (file, name) = (file_name(file), name.to_ascii_lowercase());
    if let Some((_, tools)) = OF_ONE.iter().find(|(known, _)| *known == file) {
        return if tools.contains(&name.as_str()) { numbers(text) } else { Vec::new() };
    }
    let lines: Vec<String> = text.lines().filter(|line| line.len() <= LONGEST_LINE).map(str::to_ascii_lowercase).collect();
    let below = |is_head: &dyn Fn(&str) -> bool| {
        let pairs = lines.windows(2).filter(|pair| is_head(pair[0].trim()) && pair[1].contains("version"));
        pairs.filter_map(|pair| numbers(&pair[1]).into_iter().next()).collect()
    };
    match file {
        "Cargo.lock" | "poetry.lock" | "uv.lock" => below(&|line| line == format!("name = \"{name}\"")),
        "composer.lock" => below(&|line| line == format!("\"name\": \"{name}\",")),
        "package-lock.json" => {
            below(&|line| [format!("\"node_modules/{name}\": {{"), format!("\"{name}\": {{")].iter().any(|head| line == head))
        }
        "yarn.lock" => below(&|line| line.trim_start_matches('"').strip_prefix(&name).is_some_and(|rest| rest.starts_with('@'))),
        "pnpm-lock.yaml" => {
            let chosen = |line: &String| {
                let line = line.trim().trim_start_matches(['\'', '"', '/']);
                let rest = line.strip_prefix(&name)?.strip_prefix(['@', '/'])?;
                numbers(rest.split(['(', ':', '\'']).next()?).into_iter().next()
            };
            lines.iter().filter_map(chosen).collect()
        }
        "Gemfile.lock" => {
            let chosen = |line: &String| numbers(line.trim().strip_prefix(&name)?.strip_prefix(" (")?).into_iter().next();
            lines.iter().filter_map(chosen).collect()
        }
        _ => {
            let asked = |line: &String| {
                let is_read =
                    file != "Dockerfile" || ["from ", "arg ", "env "].iter().any(|word| line.trim_start().starts_with(word));
                let rest = &line[end_of_name(line, &name).filter(|_| is_read)?..];
                let number = numbers(rest).into_iter().next().filter(|number| number.contains('.'))?;
                // A range says less than a version.
                let is_range = rest[..rest.find(&number)?].contains(['<', '>', '*']);
                (!is_range).then_some(number)
            };
            lines.iter().filter_map(asked).collect()
        }
    }
}

/// Returns whether a file names a tool or library at all.
pub(super) fn names(text: &str, name: &str) -> bool {
    text.lines().any(|line| end_of_name(&line.to_ascii_lowercase(), &name.to_ascii_lowercase()).is_some())
}

/// Returns whether a version is one of those that are stated, or a more or less exact form of one.
pub(super) fn has_version(stated: &[String], version: &str) -> bool {
    let begins = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    stated.iter().any(|known| begins(known, version) || known.contains('.') && begins(version, known))
}

/// Returns whether a file defines a command; `None`: it defines no such commands, or that is not certain.
pub(super) fn has_command(file: &str, text: &str, command: &str) -> Option<bool> {
    let (file, (program, script)) = (file_name(file), command.split_once(' ')?);
    let script = script.strip_prefix("run ").unwrap_or(script);
    let begins = |line: &str| line.strip_prefix(script).is_some_and(|rest| rest.starts_with([':', ' ']));
    match program {
        "npm" | "pnpm" | "yarn" | "bun" if file == "package.json" => {
            let package: Value = serde_json::from_str(text).ok()?;
            Some(package["scripts"].get(script).is_some())
        }
        "make" if MAKEFILES.contains(&file) => {
            // Other files, and rules with patterns, may define it.
            let is_open =
                text.lines().any(|line| line.starts_with("include") || line.starts_with("-include") || line.starts_with('%'));
            let is_target = |line: &str| {
                let targets = line.split_once(':').filter(|(_, rest)| !rest.starts_with('=')).map(|(targets, _)| targets);
                targets
                    .is_some_and(|targets| !line.starts_with('\t') && targets.split_whitespace().any(|target| target == script))
            };
            if text.lines().any(is_target) { Some(true) } else { (!is_open).then_some(false) }
        }
        "just" if file == "justfile" => Some(text.lines().any(|line| begins(line.trim_start_matches('@')) && line.contains(':'))),
        "task" if file.starts_with("Taskfile.") => {
            Some(text.lines().any(|line| line.starts_with(' ') && begins(line.trim_start())))
        }
        _ => None,
    }
}

/// Returns where a name ends in a line, if it stands there with no other letter of a name beside it.
fn end_of_name(line: &str, name: &str) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-./@".contains(letter);
    line.match_indices(name).map(|(at, _)| (at, at + name.len())).find_map(|(at, end)| {
        let before = line[..at].chars().next_back().is_some_and(is_part);
        let after = line[end..].chars().next().is_some_and(|letter| letter != '@' && is_part(letter));
        (!before && !after).then_some(end)
    })
}

/// Returns the versions in a text: numbers with dots, or one number alone after a name.
fn numbers(text: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || ".-+".contains(letter);
    text.split(|letter: char| !is_part(letter))
        .map(|word| word.strip_prefix('v').unwrap_or(word).trim_end_matches(['.', '-']))
        .filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))
        .map(|word| word.split("-alpine").next().unwrap_or(word).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_manifests_and_locks() {
        for (file, text, name, expected) in [
            ("Cargo.toml", "serde = \"1.0.200\"\nserde_json = \"1\"", "serde", &["1.0.200"][..]),
            ("a/Cargo.toml", "serde = { version = \"1.0\", features = [] }", "serde", &["1.0"]),
            ("Cargo.lock", "[[package]]\nname = \"serde\"\nversion = \"1.0.210\"\n", "serde", &["1.0.210"]),
            ("package.json", "{\n \"typescript\": \"^5.4.2\",\n \"engines\": {\"node\": \">=20\"}}", "typescript", &["5.4.2"]),
            ("package.json", "{\"engines\": {\"node\": \">=20.1\"}}", "node", &[]),
            ("package.json", "\"@types/react\": \"^18.2.0\",\n\"react\": \"19.0.1\"", "react", &["19.0.1"]),
            (
                "package-lock.json",
                " \"node_modules/react\": {\n \"version\": \"18.3.1\",\n \"peerDependencies\": {\"react\": \">=18\"}",
                "react",
                &["18.3.1"],
            ),
            ("yarn.lock", "react@^18.2.0:\n  version \"18.3.1\"\n", "react", &["18.3.1"]),
            ("pnpm-lock.yaml", "packages:\n  /react@18.3.1(x@1.0.0):\n", "react", &["18.3.1"]),
            ("Gemfile.lock", "    rails (7.1.2)\n      rails-dom (>= 1)\n", "rails", &["7.1.2"]),
            ("Dockerfile", "RUN pip install flask --retries 2.5", "flask", &[]),
            ("requirements.txt", "Flask==2.3.1\nFlask-Login==0.6", "flask", &["2.3.1"]),
            (".nvmrc", "v20.11.0\n", "node", &["20.11.0"]),
            (".nvmrc", "v20.11.0\n", "python", &[]),
            ("go.mod", "module x\n\ngo 1.22\n", "go", &["1.22"]),
            ("Dockerfile", "FROM node:20.1-alpine AS build", "node", &["20.1"]),
        ] {
            assert_eq!(versions_of(file, text, name), expected, "{file} {name}");
        }
        let stated = vec!["1.0.200".to_owned()];
        assert_eq!(["1.0.200", "1.0", "1.0.20", "2.0"].map(|version| has_version(&stated, version)), [true, true, false, false]);
        assert!(!has_version(&["18".to_owned()], "18.2.0"), "a number alone says too little");
    }

    #[test]
    fn commands_are_looked_up_where_they_are_defined() {
        let package = "{\"scripts\": {\"lint\": \"eslint .\"}}";
        assert_eq!(has_command("package.json", package, "npm run lint"), Some(true));
        assert_eq!(has_command("web/package.json", package, "yarn run build"), Some(false));
        assert_eq!(has_command("package.json", "{", "npm run lint"), None, "torn");
        assert_eq!(has_command("Makefile", "all dist: x\n\tmake dist\nA := 1\n", "make dist"), Some(true));
        assert_eq!(has_command("Makefile", "all: x\n\tdist: y\n", "make dist"), Some(false));
        assert_eq!(has_command("Makefile", "include other.mk\nall:\n", "make dist"), None);
        assert_eq!(has_command("justfile", "@build arg='x': deps\n  cargo build\n", "just build"), Some(true));
        assert_eq!(has_command("Taskfile.yml", "tasks:\n  lint:\n    cmds: []\n", "task lint"), Some(true));
        assert_eq!(has_command("package.json", package, "make lint"), None);
    }
}
