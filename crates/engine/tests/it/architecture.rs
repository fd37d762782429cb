//! The invariants of `ARCHITECTURE.md`, checked against the source tree.
//!
//! - [`Repository`]: the files, found from this crate's directory
//! - [`SourceFile`]: a Rust source without comments, string contents and test items
//! - the tests: levels, forbidden items, the places of SQL, the names in the documents
//!
//! A test that fails names every violation at once.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Crates whose code ships.
const SHIPPED: [&str; 4] = ["core", "sources", "engine", "yore"];

/// The repository.
struct Repository {
    root: PathBuf,
}

/// A Rust source. `code` has as many bytes and lines as the file, with spaces in place of comments, the
/// content of strings, and items for tests.
struct SourceFile {
    /// Path relative to the crate's `src`.
    path: PathBuf,
    code: String,
    /// String literals outside comments and test items: line and content.
    literals: Vec<(usize, String)>,
}

impl Repository {
    fn here() -> Self {
        Self { root: Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf() }
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns the files below `directory`, relative to the root, without build products and git's own files.
    fn files(&self, directory: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut pending = vec![self.root.join(directory)];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                let name = entry.file_name();
                if kind.is_dir() && name != ".git" && name != "target" {
                    pending.push(path);
                } else if kind.is_file() {
                    found.push(path.strip_prefix(&self.root).unwrap().to_path_buf());
                }
            }
        }
        found.sort();
        found
    }

    /// Every crate's directory name.
    fn crates(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.root.join("crates"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| self.root.join("crates").join(name).join("Cargo.toml").is_file())
            .collect();
        names.sort();
        names
    }

    /// Returns the sources of a crate, without files that are compiled for tests only.
    fn sources(&self, name: &str) -> Vec<SourceFile> {
        let src = format!("crates/{name}/src");
        let mut sources = Vec::new();
        let mut only_for_tests = BTreeSet::new();
        for file in self.files(&src).into_iter().filter(|file| file.extension().is_some_and(|found| found == "rs")) {
            let path = file.strip_prefix(&src).unwrap().to_path_buf();
            let (source, test_modules) = SourceFile::parse(path, &self.read(file.to_str().unwrap()));
            let below = match source.path.file_stem().and_then(|stem| stem.to_str()) {
                Some("mod" | "lib" | "main") => source.path.parent().unwrap().to_path_buf(),
                _ => source.path.with_extension(""),
            };
            only_for_tests.extend(test_modules.iter().map(|module| below.join(format!("{module}.rs"))));
            sources.push(source);
        }
        sources.retain(|source| !only_for_tests.contains(&source.path));
        sources
    }
}

impl SourceFile {
    /// Parses a source; also returns the names of the modules that it declares for tests.
    fn parse(path: PathBuf, text: &str) -> (Self, Vec<String>) {
        let (mut code, literals) = without_comments_and_strings(text);
        let mut test_modules = Vec::new();
        let mut test_items = Vec::new();
        let marker = Regex::new(r"#\[cfg\((all\()?test\b[^\]]*\]").unwrap();
        let mut from = 0;
        while let Some(found) = marker.find_at(&code, from).map(|found| found.range()) {
            let at = found.start;
            let end = end_of_item(&code, found.end);
            let item = &code[found.end..end];
            if let Some(module) = item.trim().strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
                test_modules.push(module.trim().to_owned());
            }
            test_items.push(at..end);
            let blank: String = code[at..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
            code.replace_range(at..end, &blank);
            from = end;
        }
        let literals = literals
            .into_iter()
            .filter(|(at, _)| !test_items.iter().any(|item| item.contains(at)))
            .map(|(at, literal)| (line_of(&code, at), literal))
            .collect();
        (Self { path, code, literals }, test_modules)
    }

    /// Returns the path as modules: `store/archive.rs` is `store::archive`, `store/mod.rs` is `store`.
    fn module(&self) -> Vec<String> {
        let mut parts: Vec<String> = self.path.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            parts.pop();
        }
        parts
    }

    /// Returns the names that the file uses from the root of its crate: line and first name after it.
    fn taken_from_root(&self) -> Vec<(usize, String)> {
        let module = self.module();
        let mut taken = Vec::new();
        for (line, path) in self.paths("crate") {
            taken.extend(path.get(1).map(|name| (line, name.clone())));
        }
        for (line, path) in self.paths("super") {
            let climbed = path.iter().take_while(|part| *part == "super").count();
            if climbed >= module.len() {
                taken.extend(path.get(climbed).map(|name| (line, name.clone())));
            }
        }
        taken
    }

    /// Returns every path that begins with `head`, with groups expanded: `std::{fs, io::Read}` is `std::fs`
    /// and `std::io::Read`.
    fn paths(&self, head: &str) -> Vec<(usize, Vec<String>)> {
        let head_word = Regex::new(&format!(r"\b{head}\s*::")).unwrap();
        let mut found = Vec::new();
        for place in head_word.find_iter(&self.code) {
            if !self.code[..place.start()].trim_end().ends_with("::") {
                let mut paths = Vec::new();
                use_tree(&self.code, place.start(), &[], &mut paths);
                found.extend(paths.into_iter().map(|path| (line_of(&self.code, place.start()), path)));
            }
        }
        found
    }

    /// Returns the lines where a pattern matches the code.
    fn lines_with(&self, pattern: &Regex) -> Vec<(usize, String)> {
        pattern.find_iter(&self.code).map(|found| (line_of(&self.code, found.start()), found.as_str().to_owned())).collect()
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Replaces comments and the content of strings by spaces; returns the strings, by offset.
fn without_comments_and_strings(text: &str) -> (String, Vec<(usize, String)>) {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut literals = Vec::new();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let blank = |code: &mut Vec<u8>, from: usize, to: usize| {
        code[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    };
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        if rest.starts_with("//") {
            let end = at + rest.find('\n').unwrap_or(rest.len());
            blank(&mut code, at, end);
            at = end;
        } else if rest.starts_with("/*") {
            let (mut depth, mut end) = (0, at);
            while end < bytes.len() {
                match &bytes[end..(end + 2).min(bytes.len())] {
                    b"/*" => (depth, end) = (depth + 1, end + 2),
                    b"*/" => (depth, end) = (depth - 1, end + 2),
                    _ => end += 1,
                }
                if depth == 0 {
                    break;
                }
            }
            blank(&mut code, at, end);
            at = end;
        } else if bytes[at] == b'"' {
            let mut end = at + 1;
            while end < bytes.len() && bytes[end] != b'"' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            literals.push((at, text[at + 1..end].to_owned()));
            blank(&mut code, at + 1, end);
            at = end + 1;
        } else if bytes[at] == b'\'' {
            let mut following = rest[1..].chars();
            match (following.next(), following.next()) {
                (Some('\\'), _) => {
                    let end = at + 3 + rest[3..].find('\'').unwrap();
                    blank(&mut code, at + 1, end);
                    at = end + 1;
                }
                (Some(character), Some('\'')) => {
                    blank(&mut code, at + 1, at + 1 + character.len_utf8());
                    at += 2 + character.len_utf8();
                }
                // A lifetime.
                _ => at += 1,
            }
        } else if is_word(bytes[at]) {
            let end = (at..bytes.len()).find(|at| !is_word(bytes[*at])).unwrap_or(bytes.len());
            let hashes = bytes[end..].iter().take_while(|byte| **byte == b'#').count();
            let is_raw = matches!(&text[at..end], "r" | "br" | "cr") && bytes.get(end + hashes) == Some(&b'"');
            if is_raw {
                let start = end + hashes + 1;
                let close = format!("\"{}", "#".repeat(hashes));
                let stop = start + text[start..].find(&close).unwrap();
                literals.push((at, text[start..stop].to_owned()));
                blank(&mut code, start, stop);
                at = stop + close.len();
            } else {
                at = end;
            }
        } else {
            at += 1;
        }
    }
    (String::from_utf8(code).unwrap(), literals)
}

/// Returns the end of the item that begins after an attribute: its `;`, or its closing brace.
fn end_of_item(code: &str, from: usize) -> usize {
    let is_use = code[from..].trim_start().starts_with("use ");
    let (mut depth, mut braces) = (0i32, 0i32);
    for (at, character) in code[from..].char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' => braces += 1,
            '}' => {
                braces -= 1;
                if braces == 0 && !is_use {
                    return from + at + 1;
                }
            }
            ';' if depth == 0 && braces == 0 => return from + at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Reads a path or a tree of paths; returns the position after it.
fn use_tree(code: &str, from: usize, before: &[String], out: &mut Vec<Vec<String>>) -> usize {
    let skip = |at: usize| at + (code[at..].len() - code[at..].trim_start().len());
    let mut at = skip(from);
    if code[at..].starts_with('{') {
        at = skip(at + 1);
        while at < code.len() && !code[at..].starts_with('}') {
            let end = skip(use_tree(code, at, before, out));
            let end = if code[end..].starts_with(',') { skip(end + 1) } else { end };
            if end == at {
                return at;
            }
            at = end;
        }
        return (at + 1).min(code.len());
    }
    let length = code[at..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len() - at);
    if length == 0 {
        out.push(before.to_vec());
        return at + usize::from(code[at..].starts_with('*'));
    }
    let path: Vec<String> = before.iter().cloned().chain([code[at..at + length].to_owned()]).collect();
    at = skip(at + length);
    if code[at..].starts_with("::") {
        let next = skip(at + 2);
        if code[next..].starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '{' || c == '*') {
            return use_tree(code, next, &path, out);
        }
    }
    if let Some(rest) = code[at..].strip_prefix("as ") {
        at += 3 + rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    }
    out.push(path);
    at
}

/// Fails with every complaint, or passes if there is none.
fn none(complaints: Vec<String>, rule: &str) {
    assert!(complaints.is_empty(), "{rule}\n  {}", complaints.join("\n  "));
}

/// Returns the words in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns a document without its fenced blocks.
fn prose(document: &str) -> String {
    let mut is_fenced = false;
    document
        .lines()
        .filter(|line| {
            let is_fence = line.trim_start().starts_with("```");
            is_fenced ^= is_fence;
            !is_fenced && !is_fence
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn reader_of_sources_sees_code_only() {
    let text = r####"//! crate::doc
use crate::{store::{Store, words}, index as list};
const A: &str = "crate::quoted // \" no"; // crate::comment
const B: &str = r#"SELECT "raw""#;
fn f<'a>(c: char) -> bool { c == '"' || c == '\'' || super::super::top() }
/* /* crate::nested */ */
#[cfg(test)]
mod tests { use crate::ingest; const S: &str = "test { only"; }
#[cfg(test)]
mod elsewhere;
"####;
    let (source, test_modules) = SourceFile::parse("store/words.rs".into(), text);
    let taken: Vec<String> = source.taken_from_root().into_iter().map(|(_, name)| name).collect();
    assert_eq!(taken, ["store", "store", "index", "top"]);
    assert_eq!(source.literals.len(), 2);
    assert_eq!(source.literals[1], (4, "SELECT \"raw\"".to_owned()));
    assert_eq!(test_modules, ["elsewhere"]);
    assert_eq!(source.code.lines().count(), text.lines().count());
}

/// Returns the levels below a heading of `ARCHITECTURE.md`, a numbered list from 0 with the modules of each level in backticks.
fn levels(heading: &str) -> BTreeMap<String, u8> {
    let document = Repository::here().read("ARCHITECTURE.md");
    let (_, below) = document.split_once(&format!("### {heading}\n")).unwrap_or_else(|| panic!("no {heading:?}"));
    let rows = below.lines().take_while(|line| !line.starts_with('#'));
    rows.filter_map(|row| row.split_once(". ").and_then(|(level, row)| Some((level.parse().ok()?, row))))
        .flat_map(|(level, row): (u8, &str)| quoted(row).into_iter().map(move |name| (name.to_owned(), level)))
        .collect()
}

/// Returns complaints about modules without a level, and about modules that use others of their own level or
/// a higher one. Items of the crate's root itself have the level `root`.
fn climbs(crate_name: &str, heading: &str, root: u8) -> Vec<String> {
    let levels = levels(heading);
    let mut complaints = Vec::new();
    let mut met = BTreeSet::new();
    for source in Repository::here().sources(crate_name) {
        let module = source.module();
        let Some(own) = module.first() else { continue };
        met.insert(own.clone());
        let Some(own_level) = levels.get(own) else {
            complaints.push(format!("{}: module `{own}` has no level", source.path.display()));
            continue;
        };
        for (line, name) in source.taken_from_root() {
            let level = levels.get(&name).copied().unwrap_or(root);
            if level >= *own_level && name != *own {
                complaints.push(format!("{}:{line}: `{own}` uses `{name}`", source.path.display()));
            }
        }
    }
    complaints.extend(levels.keys().filter(|name| !met.contains(*name)).map(|name| format!("there is no module `{name}`")));
    complaints
}

#[test]
fn modules_of_the_sources_use_lower_levels_only() {
    let complaints = climbs("sources", "Levels of the sources", 9);
    none(complaints, "a module uses modules of lower levels only (ARCHITECTURE.md, \"Levels of the sources\")");
}

#[test]
fn modules_of_the_engine_use_lower_levels_only() {
    let complaints = climbs("engine", "Levels of the engine", 5);
    none(complaints, "a module uses modules of lower levels only (ARCHITECTURE.md, \"Levels of the engine\")");
}

#[test]
fn modules_of_the_program_use_lower_levels_only() {
    let complaints = climbs("yore", "Levels of the program", 12);
    none(complaints, "a module uses modules of lower levels only (ARCHITECTURE.md, \"Levels of the program\")");
}

/// Tables: their rows are written in terms of the table, so a table may name its rows all the same.
const TABLES: [(&str, &str); 5] =
    [("sources", "source"), ("yore", "agents"), ("yore", "cli"), ("yore", "config::section"), ("yore", "mcp::tools")];

/// Returns the files that each file of a crate uses, by their modules. A re-exported name counts for its
/// original file.
fn uses_of_files(sources: &[SourceFile]) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let modules: BTreeSet<Vec<String>> = sources.iter().map(SourceFile::module).collect();
    let absolute = |module: &[String], path: &[String]| -> Vec<String> {
        let climbed = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match path[0].as_str() {
            "crate" => (&module[..0], &path[1..]),
            "self" => (module, &path[1..]),
            "super" => (&module[..module.len().saturating_sub(climbed)], &path[climbed..]),
            // A module of its own.
            _ => (module, path),
        };
        base.iter().chain(rest).cloned().collect()
    };
    let hands_on = Regex::new(r"\bpub(\([a-z: ]*\))?\s+use\s[^;]*;|\(in [^)]*\)").unwrap();
    let paths_in = |source: &SourceFile| -> Vec<Vec<String>> {
        let module = source.module();
        let own = modules.iter().filter(|known| known.len() == module.len() + 1 && known.starts_with(&module));
        let own = own.filter_map(|known| known.last().cloned());
        let heads = ["crate", "self", "super"].map(str::to_owned).into_iter().chain(own);
        heads.flat_map(|head| source.paths(&head)).map(|(_, path)| absolute(&module, &path)).collect()
    };
    let paths: BTreeMap<Vec<String>, Vec<Vec<String>>> =
        sources.iter().map(|source| (source.module(), paths_in(source))).collect();
    let file_of = |path: &[String]| (0..=path.len()).rev().map(|end| path[..end].to_vec()).find(|path| modules.contains(path));
    let owner = |path: &[String]| {
        let mut path = path.to_vec();
        for _ in 0..8 {
            let file = file_of(&path)?;
            let Some(name) = path.get(file.len()) else { return Some(file) };
            let handed_on = paths[&file].iter().find(|used| used.last() == Some(name) && !used.starts_with(&path));
            match handed_on {
                Some(used) => path = used.iter().chain(&path[file.len() + 1..]).cloned().collect(),
                None => return Some(file),
            }
        }
        file_of(&path)
    };
    let used = |source: &SourceFile| {
        let module = source.module();
        let code = hands_on.replace_all(&source.code, "").into_owned();
        let own = SourceFile { path: source.path.clone(), code, literals: Vec::new() };
        let used = paths_in(&own).iter().filter_map(|path| owner(path)).filter(|used| *used != module).collect();
        (module, used)
    };
    sources.iter().map(used).collect()
}

#[test]
fn files_use_each_other_one_way_except_tables_and_their_rows() {
    let mut complaints = Vec::new();
    for name in SHIPPED {
        let mut uses = uses_of_files(&Repository::here().sources(name));
        for (_, table) in TABLES.iter().filter(|(of, _)| *of == name) {
            let table: Vec<String> = table.split("::").map(str::to_owned).collect();
            uses.get_mut(&table).unwrap().retain(|used| !used.starts_with(&table));
        }
        // Modules that no remaining module uses are on no cycle, nor are modules that use no remaining
        // module.
        loop {
            let used: BTreeSet<Vec<String>> = uses.values().flatten().cloned().collect();
            let before = uses.len();
            let left: BTreeSet<Vec<String>> = uses.keys().cloned().collect();
            uses.values_mut().for_each(|of| of.retain(|used| left.contains(used)));
            uses.retain(|module, of| used.contains(module) && !of.is_empty());
            if uses.len() == before {
                break;
            }
        }
        let told = uses.iter().map(|(module, used)| {
            let used: Vec<String> = used.iter().map(|used| used.join("::")).collect();
            format!("{name}: {} uses {}", module.join("::"), used.join(", "))
        });
        complaints.extend(told);
    }
    none(complaints, "files use each other one way; these are on circles, or between them");
}

#[test]
fn core_is_pure() {
    let repository = Repository::here();
    let mut complaints = Vec::new();
    let manifest = repository.read("crates/core/Cargo.toml");
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    for name in dependencies.lines().filter_map(|line| line.split(['.', ' ', '=']).next()) {
        if matches!(name, "rusqlite" | "tantivy" | "tokio" | "clap" | "rand" | "getrandom" | "reqwest" | "rmcp" | "tempfile") {
            complaints.push(format!("crates/core/Cargo.toml: {name}"));
        }
    }
    let forbidden = Regex::new(r"\b(rusqlite|tantivy|tokio|clap|rand|getrandom|SystemTime|Instant|File|OpenOptions)\b").unwrap();
    for source in repository.sources("core") {
        for (line, word) in source.lines_with(&forbidden) {
            complaints.push(format!("crates/core/src/{}:{line}: {word}", source.path.display()));
        }
        for (line, path) in source.paths("std") {
            if matches!(path[1].as_str(), "fs" | "env" | "net" | "process" | "thread" | "io") {
                complaints.push(format!("crates/core/src/{}:{line}: {}", source.path.display(), path.join("::")));
            }
        }
    }
    none(complaints, "core knows no files, database, clock, randomness, environment or runtime");
}

#[test]
fn everything_below_the_program_neither_waits_nor_prints_nor_exits_nor_reads_the_environment() {
    let forbidden =
        Regex::new(r"\basync\b|\.await\b|\b(print|println|eprint|eprintln|dbg)!|\b(process::(exit|abort))\b|\benv::[a-z]|\bSystemTime::now\b")
            .unwrap();
    let mut complaints = Vec::new();
    for name in ["core", "sources", "engine"] {
        for source in Repository::here().sources(name) {
            for (line, word) in source.lines_with(&forbidden) {
                complaints.push(format!("crates/{name}/src/{}:{line}: {word}", source.path.display()));
            }
            for (line, path) in source.paths("std") {
                if path[1] == "env" {
                    complaints.push(format!("crates/{name}/src/{}:{line}: {}", source.path.display(), path.join("::")));
                }
            }
        }
    }
    none(complaints, "no async, printing, exiting, environment or clock below the voices: pass what is needed");
}

/// The workspace lint only denies, so that these two files may be excepted; this test forbids the rest.
#[test]
fn unsafe_code_stands_where_vectors_are_mapped_and_multiplied_and_nowhere_else() {
    const MAY: [&str; 2] = ["index/vector/mapped.rs", "index/vector/simd.rs"];
    let unsafe_code = Regex::new(r"\bunsafe(_code)?\b").unwrap();
    let mut complaints = Vec::new();
    let mut met = 0;
    for name in SHIPPED {
        for source in Repository::here().sources(name) {
            let found = source.lines_with(&unsafe_code);
            if name == "engine" && MAY.iter().any(|file| source.path == Path::new(file)) {
                met += usize::from(!found.is_empty());
            } else {
                let forbids =
                    |line: usize| source.code.lines().nth(line - 1).is_some_and(|code| code.contains("forbid(unsafe_code)"));
                complaints.extend(
                    found
                        .into_iter()
                        .filter(|(line, _)| !forbids(*line))
                        .map(|(line, what)| format!("crates/{name}/src/{}:{line}: {what}", source.path.display())),
                );
            }
        }
    }
    assert_eq!(met, MAY.len(), "a file of the list has none: take it off");
    none(complaints, "unsafe code stands in index/vector/mapped.rs and index/vector/simd.rs only");
}

#[test]
fn connections_are_opened_in_three_places_only() {
    let forbidden = Regex::new(r"\b(TcpStream|TcpListener|UdpSocket|reqwest|hyper|ureq)\b").unwrap();
    let mut complaints = Vec::new();
    for name in SHIPPED {
        for source in Repository::here().sources(name) {
            // Connects to addresses that the user names.
            if name == "engine" && source.path.starts_with("transport") {
                continue;
            }
            // The daemon's socket, which is a loopback port on platforms without Unix sockets, and its port
            // for HTTP.
            let of_daemon = ["ipc/socket.rs", "http/listener.rs"];
            if name == "yore" && of_daemon.iter().any(|file| source.path == Path::new(file)) {
                continue;
            }
            let words = source.lines_with(&forbidden);
            let paths = source.paths("std").into_iter().chain(source.paths("tokio")).filter(|(_, path)| path[1] == "net");
            for (line, what) in words.into_iter().chain(paths.map(|(line, path)| (line, path.join("::")))) {
                complaints.push(format!("crates/{name}/src/{}:{line}: {what}", source.path.display()));
            }
        }
    }
    none(
        complaints,
        "requests are made in `transport` of the engine, ports opened in `ipc/socket.rs` and `http/listener.rs` of yore, nowhere else",
    );
}

#[test]
fn sources_write_no_file() {
    let writing = Regex::new(
        r"\bfs::(write|create_\w+|remove_\w+|rename|copy|hard_link|set_permissions)\b|\bFile::create\w*|\bOpenOptions\b",
    )
    .unwrap();
    let mut complaints = Vec::new();
    for source in Repository::here().sources("sources") {
        for (line, word) in source.lines_with(&writing) {
            complaints.push(format!("crates/sources/src/{}:{line}: {word}", source.path.display()));
        }
    }
    none(complaints, "what other programs left is read, never written; the engine writes");
}

#[test]
fn sql_stands_in_the_store_and_the_index_only_and_reads_of_other_programs_in_their_sources() {
    let writing = Regex::new(
        r"(?s)\bINSERT\s+(OR\s+\w+\s+)?INTO\b|\bREPLACE\s+INTO\b|\bUPDATE\s+\w+\s+SET\b|\bDELETE\s+FROM\b|\b(CREATE|DROP|ALTER)\s+(VIRTUAL\s+)?(TABLE|INDEX)\b|\bPRAGMA\s+\w|\bATTACH\s+DATABASE\b|\bVACUUM\b",
    )
    .unwrap();
    let reading = Regex::new(r"(?s)\bSELECT\s.*\bFROM\b").unwrap();
    let mut complaints = Vec::new();
    for name in SHIPPED {
        for source in Repository::here().sources(name) {
            if name == "engine" && (source.path.starts_with("store") || source.path.starts_with("index")) {
                continue;
            }
            // Other programs' databases are read.
            let may_read = name == "sources";
            let is_sql = |literal: &str| writing.is_match(literal) || (!may_read && reading.is_match(literal));
            for (line, _) in source.literals.iter().filter(|(_, literal)| is_sql(literal)) {
                complaints.push(format!("crates/{name}/src/{}:{line}", source.path.display()));
            }
        }
    }
    none(
        complaints,
        "SQL text stands in crates/engine/src/store and crates/engine/src/index only; what reads (SELECT) also in crates/sources/src",
    );
}

#[test]
fn each_engine_of_storage_and_search_has_one_door() {
    let full_text = Regex::new(r"\btantivy\b").unwrap();
    let connection = Regex::new(r"\brusqlite\b").unwrap();
    let mut complaints = Vec::new();
    for name in SHIPPED {
        for source in Repository::here().sources(name) {
            let is_engine = name == "engine";
            let full_text =
                if is_engine && source.path.starts_with("index") { Vec::new() } else { source.lines_with(&full_text) };
            // Other programs' databases are opened in one place, for reading only.
            let may_connect =
                is_engine && source.path.starts_with("store") || name == "sources" && source.path.starts_with("foreign");
            let connection = if may_connect { Vec::new() } else { source.lines_with(&connection) };
            for (line, word) in full_text.into_iter().chain(connection) {
                complaints.push(format!("crates/{name}/src/{}:{line}: {word}", source.path.display()));
            }
        }
    }
    none(complaints, "tantivy is used in `index` only, rusqlite in `store` and `foreign` of the sources only");
}

/// Where requests are served: MCP, the port, the server of a team, and the routers of the API and the page, without what they call.
const ASYNC: [&str; 7] =
    ["mcp", "http", "api/mod.rs", "api/events.rs", "page/mod.rs", "cli/serve.rs", "cli/eval/through_server.rs"];

#[test]
fn async_crosses_to_the_engine_in_one_place_and_one_module_prints() {
    let crossing = Regex::new(r"\b(spawn_blocking|block_in_place)\b").unwrap();
    let waiting = Regex::new(r"\basync\b|\btokio\b").unwrap();
    let printing = Regex::new(r"\b(print|println|eprint|eprintln)!|\bstd(out|err)\(\)").unwrap();
    let mut complaints = Vec::new();
    for source in Repository::here().sources("yore") {
        let is_handle = source.path == Path::new("engine_handle.rs");
        let mut forbid = |what: &Regex, is_allowed: bool| {
            for (line, word) in source.lines_with(what).into_iter().filter(|_| !is_allowed) {
                complaints.push(format!("crates/yore/src/{}:{line}: {word}", source.path.display()));
            }
        };
        forbid(&crossing, is_handle);
        forbid(&waiting, is_handle || ASYNC.iter().any(|place| source.path.starts_with(place)));
        forbid(&printing, source.path.starts_with("render"));
    }
    none(complaints, "async is for what serves (ASYNC) and `engine_handle.rs`, which alone crosses; `render` alone prints");
}

/// Where a front end opens the database itself, although a daemon may run: it streams, or maintains the data directory. Everything
/// else is a verb.
const IN_PROCESS: [&str; 25] = [
    "cli/ask.rs",
    "cli/budget.rs",
    "cli/categories.rs",
    "cli/consolidate.rs",
    "cli/daemon.rs",
    "cli/data/",
    "cli/doctor/",
    "cli/embed.rs",
    "cli/eval/",
    "cli/export.rs",
    "cli/extract.rs",
    "cli/import/",
    "cli/ingest.rs",
    "cli/language_model.rs",
    "cli/learn/",
    "cli/remember.rs",
    "cli/replay.rs",
    "cli/sessions.rs",
    "cli/show.rs",
    "cli/topics.rs",
    "cli/up.rs",
    "cli/upkeep.rs",
    "histories/waiting.rs",
    "llm/reading.rs",
    // A memory that lasts as long as a question.
    "team/search.rs",
];

#[test]
fn commands_that_read_or_change_what_is_kept_go_through_verbs() {
    let opening = Regex::new(r"\bsettings\.engine\(|\bEngine::open\(").unwrap();
    let mut complaints = Vec::new();
    for source in Repository::here().sources("yore") {
        let path = source.path.display().to_string();
        // The daemon has it open, a hook and the status line open it passively, and the handle opens it where no daemon runs.
        let opens = ["daemon/", "hook/", "cli/status_line.rs", "engine_handle.rs"];
        if !IN_PROCESS.iter().chain(&opens).any(|known| path.starts_with(known)) {
            complaints.extend(source.lines_with(&opening).into_iter().map(|(line, word)| format!("{path}:{line}: {word}")));
        }
    }
    none(complaints, "ask the daemon by a verb of crates/yore/src/verbs.rs");
}

#[test]
fn every_migration_is_listed_and_numbered_in_order() {
    let repository = Repository::here();
    let list = repository.read("crates/engine/src/store/local/migrate.rs");
    let files = repository.files("crates/engine/src/store/local/migrations");
    let mut numbers: Vec<i32> = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let number: i32 = name.strip_suffix(".sql").unwrap().parse().unwrap();
        let row = Regex::new(&format!(r#"version: {number}, is_precious: \w+, sql: include_str!\("migrations/{number}.sql"\)"#))
            .unwrap();
        assert!(row.is_match(&list), "store/local/migrate.rs does not list {name} as version {number}");
        numbers.push(number);
    }
    numbers.sort_unstable();
    assert!(!numbers.is_empty() && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    assert_eq!(numbers.last(), Some(&yore_engine::SCHEMA_VERSION));
}

/// Most methods of the three ports of the store together: fewer is better, more is a decision.
const MOST_PORT_METHODS: usize = 120;

/// Returns the methods of a port: those of the store, its views and its operations that other modules may call.
fn port_methods(port: &str) -> BTreeSet<String> {
    let method = Regex::new(r"(?m)^impl(?:<[^>]*>)? (\w+)|^    pub(?:\(crate\))? fn (\w+)").unwrap();
    let mut methods = BTreeSet::new();
    for source in Repository::here().sources("engine").iter().filter(|source| source.path.starts_with(format!("store/{port}"))) {
        let mut owner = "";
        for found in method.captures_iter(&source.code) {
            owner = found.get(1).map_or(owner, |of| of.as_str());
            if let Some(name) = found.get(2).filter(|_| ["Store", "View", "OperationTx"].contains(&owner)) {
                methods.insert(name.as_str().to_owned());
            }
        }
    }
    assert!(methods.len() > 5, "{port}: {methods:?}");
    methods
}

#[test]
fn ports_of_the_store_have_no_more_methods_than_were_agreed() {
    let counts = ["archive", "statements", "feed"].map(|port| (port, port_methods(port).len()));
    let sum: usize = counts.iter().map(|(_, count)| count).sum();
    assert!(sum <= MOST_PORT_METHODS, "{sum} methods: {counts:?}; fold the new one into a query of the same kind");
}

#[test]
fn every_method_of_a_port_is_called_by_a_story() {
    let stories = Repository::here().read("crates/engine/src/store/conformance.rs");
    let mut complaints = Vec::new();
    for port in ["archive", "statements", "feed"] {
        for name in port_methods(port) {
            if !Regex::new(&format!(r"\.{name}(::<[^>]*>)?\(")).unwrap().is_match(&stories) {
                complaints.push(format!("store/{port}: `{name}`"));
            }
        }
    }
    none(complaints, "store/conformance.rs tells a story of each method of a port, so that a second implementation must have it");
}

#[test]
fn the_status_of_a_memory_is_assigned_in_one_file() {
    let assigned = Regex::new(r"\bstatus: Status::|\.status = |\.status, [a-z]+\.cause\b|status_since: Some").unwrap();
    let mut complaints = Vec::new();
    for name in SHIPPED {
        for source in Repository::here().sources(name) {
            let is_of_tests = source.path.ends_with("store/conformance.rs");
            // Rows are read, pages are written by people; a new record holds.
            let reads = ["statements/memories.rs", "portable/page.rs", "memory/record.rs", "memory/lifecycle.rs"];
            if is_of_tests || reads.iter().any(|file| source.path.ends_with(file)) {
                continue;
            }
            for (line, what) in source.lines_with(&assigned) {
                complaints.push(format!("crates/{name}/src/{}:{line}: {what}", source.path.display()));
            }
        }
    }
    none(complaints, "a memory gets another status by `Memory::after` of core alone");
}

#[test]
fn every_table_is_placed_in_a_state_of_data() {
    let repository = Repository::here();
    let architecture = repository.read("ARCHITECTURE.md");
    let rows: Vec<&str> = architecture
        .lines()
        .filter(|line| ["| Ground |", "| Derived |", "| Index |"].iter().any(|state| line.starts_with(state)))
        .collect();
    let table = Regex::new(r"CREATE TABLE (\w+)").unwrap();
    let mut complaints = Vec::new();
    let schema = repository.read("crates/engine/src/store/local/schema.sql");
    for name in table.captures_iter(&schema).map(|found| found[1].to_owned()) {
        let places = rows.iter().filter(|row| quoted(row).contains(&name.as_str())).count();
        if places != 1 {
            complaints.push(format!("`{name}` is in {places} rows"));
        }
    }
    none(complaints, "ARCHITECTURE.md places every table in one of the three states of data");
}

#[test]
fn every_crate_takes_lints_and_licence_from_the_workspace() {
    let repository = Repository::here();
    let workspace = repository.read("Cargo.toml");
    assert!(workspace.contains("license = \"MIT OR Apache-2.0\""));
    assert!(repository.read("LICENSE-MIT").contains("Permission is hereby granted, free of charge"));
    assert!(repository.read("LICENSE-APACHE").contains("Version 2.0, January 2004"));
    let mut complaints = Vec::new();
    for name in repository.crates() {
        let path = format!("crates/{name}/Cargo.toml");
        let manifest = repository.read(&path);
        let lints = manifest.split("[lints]").nth(1).is_some_and(|rest| rest.trim_start().starts_with("workspace = true"));
        if !lints && !manifest.contains("lints.workspace = true") {
            complaints.push(format!("{path}: no `[lints] workspace = true`"));
        }
        if !manifest.contains("license.workspace = true") {
            complaints.push(format!("{path}: no `license.workspace = true`"));
        }
        if !workspace.contains(&format!("\"crates/{name}\"")) {
            complaints.push(format!("{path}: not a member of the workspace"));
        }
    }
    none(complaints, "lints and licence are set in one place");
}

/// Longest first sentence of a file, in characters: it is a row of the map.
const LONGEST_SENTENCE: usize = 130;

/// Returns the first sentence of a file's own comment or, if it has none, of its first public item's comment: that of a command is
/// its help.
fn first_sentence(text: &str) -> String {
    let comment = Regex::new(r"(?m)(?:\A((?://!.*\n)+)|^((?:///.*\n)+)(?:#\[.*\n)*pub (?:struct|enum|trait|fn) )").unwrap();
    let sentence = Regex::new(r"^(.+?)(?:\. [A-Z`\[(<].*|[.:]?)$").unwrap();
    let link = Regex::new(r"\[(`[^`]+`)\](?:\([^)]*\))?").unwrap();
    let comment = comment.captures(text).and_then(|found| found.get(1).or(found.get(2))).map_or("", |found| found.as_str());
    let lines = comment.lines().map(|line| line[3..].trim()).take_while(|line| !line.is_empty());
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    sentence.captures(&paragraph).map(|found| link.replace_all(&found[1], "$1").into_owned()).unwrap_or_default()
}

#[test]
fn first_sentence_of_a_file_is_read_from_its_comment_or_its_first_public_item() {
    let of_module =
        "//! [`Store`]: opens `yore.db`, and\n//! more (1.5, ...). Rest.\n//!\n//! More.\n\n/// No.\npub fn no() {}\n";
    assert_eq!(first_sentence(of_module), "`Store`: opens `yore.db`, and more (1.5, ...)");
    let of_item =
        "/// A limit.\nconst A: u8 = 1;\n\n/// List sessions\n///\n/// Newest first.\n#[derive(Args)]\npub struct Arguments;\n";
    assert_eq!(first_sentence(of_item), "List sessions");
    assert_eq!(first_sentence("use std::fs;\n"), "");
}

#[test]
fn map_of_the_sources_is_made_of_the_first_sentences_of_the_files() {
    let repository = Repository::here();
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut complaints = Vec::new();
    for name in SHIPPED {
        for source in repository.sources(name) {
            let path = format!("crates/{name}/src/{}", source.path.display()).replace('\\', "/");
            let sentence = first_sentence(&repository.read(&path));
            if !(1..=LONGEST_SENTENCE).contains(&sentence.chars().count()) {
                complaints.push(format!("{path}: {sentence:?}"));
            }
            let (folder, file) = path.rsplit_once('/').unwrap();
            let rows = folders.entry(folder.to_owned()).or_default();
            let at = if matches!(file, "mod.rs" | "lib.rs") { 0 } else { rows.len() };
            rows.insert(at, format!("- `{file}`: {sentence}\n"));
        }
    }
    let folders: Vec<String> = folders.iter().map(|(folder, rows)| format!("\n## `{folder}/`\n\n{}", rows.concat())).collect();
    let map = format!(
        "# Map of the sources\n\nThe first sentence of every file, by folder. Generated: change the comment at the top of the file, \
         then run\n`YORE_BLESS=1 cargo test -p yore-engine --test it map_of_the_sources`.\n{}",
        folders.concat()
    );
    let path = repository.root.join("docs/map.md");
    if yore_testing::is_blessing() {
        fs::write(&path, &map).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(published == map, "docs/map.md is out of date; run the tests with YORE_BLESS=1");
    none(complaints, "the first sentence of a file names its task in at most 130 characters");
}

#[test]
fn every_path_that_the_documents_name_is_there() {
    let repository = Repository::here();
    let roots: Vec<PathBuf> =
        repository.crates().iter().map(|name| repository.root.join("crates").join(name).join("src")).collect();
    let link = Regex::new(r"\]\(([^)#]+)(?:#[^)]*)?\)").unwrap();
    let mut complaints = Vec::new();
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let text = prose(&repository.read(document));
        for target in link.captures_iter(&text).map(|found| found[1].to_owned()).filter(|target| !target.contains("://")) {
            if !repository.root.join(&target).exists() {
                complaints.push(format!("{document}: link to {target}"));
            }
        }
        for word in quoted(&text) {
            let is_path = word.contains('/') || [".rs", ".md", ".toml", ".sql"].iter().any(|end| word.ends_with(end));
            let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
            let is_ours = !word.starts_with('/') && word != ".yore.toml" && !word.starts_with("yore/") && !word.contains("//");
            if is_path && is_plain && is_ours {
                let is_there = repository.root.join(word).exists() || roots.iter().any(|root| root.join(word).exists());
                if !is_there {
                    complaints.push(format!("{document}: `{word}`"));
                }
            }
        }
    }
    for page in repository.files("docs").iter().filter(|page| page.extension().is_some_and(|found| found == "md")) {
        let text = prose(&repository.read(page.to_str().unwrap()));
        for target in link.captures_iter(&text).map(|found| found[1].to_owned()).filter(|target| !target.contains("://")) {
            if !repository.root.join(page).with_file_name(&target).exists() {
                complaints.push(format!("{}: link to {target}", page.display()));
            }
        }
    }
    none(complaints, "a path in the documents is one of the repository's, or stands below some crate's `src`");
}

#[test]
fn test_command_of_the_readme_is_the_one_that_ci_runs() {
    let repository = Repository::here();
    let (readme, ci) = (repository.read("README.md"), repository.read(".ci/run"));
    let commands: Vec<&str> = readme.lines().filter(|line| line.starts_with("cargo test")).collect();
    let [command] = commands.as_slice() else { panic!("README.md gives {} test commands: {commands:?}", commands.len()) };
    assert!(ci.lines().any(|line| line.trim_end().ends_with(command)), ".ci/run does not run {command:?}");
    assert!(readme.contains("cargo run --release -p yore-memory -- up"));
    let foreign = ["cargo install yore", "cargo install yore-memory"];
    assert!(foreign.iter().all(|command| !readme.contains(command)), "no crate of this repository is published");
}

#[test]
fn no_file_names_a_directory_of_the_machine_that_it_was_written_on() {
    let repository = Repository::here();
    // Assembled here, so that this file does not contain them.
    let forbidden = ["work", "root"].map(|name| format!("/{name}/"));
    let mut complaints = Vec::new();
    for file in repository.files("") {
        let name = file.to_str().unwrap();
        if name == "Cargo.lock" || name.ends_with(".profraw") || name.ends_with(".tmp") {
            continue;
        }
        let Ok(text) = fs::read_to_string(repository.root.join(&file)) else { continue };
        for (number, line) in text.lines().enumerate() {
            for path in forbidden.iter().filter(|path| line.contains(path.as_str())) {
                complaints.push(format!("{name}:{}: {path}", number + 1));
            }
        }
    }
    none(complaints, "files hold no path of one machine");
}
