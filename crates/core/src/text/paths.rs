//! Finds file names in running text, tool output and stack traces, by their extension or their beginning.

/// Longest path, in bytes; a longer one is data.
const MAX_PATH_BYTES: usize = 260;
/// Most files of one text; a text that names more is a listing.
const MAX_PATHS: usize = 256;

/// Extensions that make a bare word a file.
const EXTENSIONS: &[&str] = &[
    "7z",
    "adoc",
    "astro",
    "avif",
    "bash",
    "bat",
    "bazel",
    "bib",
    "bmp",
    "bz2",
    "bzl",
    "c",
    "cabal",
    "cc",
    "cfg",
    "cjs",
    "clj",
    "cljs",
    "cmake",
    "cmd",
    "conf",
    "cpp",
    "crt",
    "cs",
    "cshtml",
    "csproj",
    "css",
    "csv",
    "cts",
    "cxx",
    "dart",
    "db",
    "diff",
    "dll",
    "docx",
    "edn",
    "ejs",
    "elm",
    "erb",
    "erl",
    "ex",
    "exe",
    "exs",
    "fish",
    "fs",
    "gemspec",
    "gif",
    "go",
    "gql",
    "gradle",
    "graphql",
    "gz",
    "h",
    "hbs",
    "hcl",
    "hh",
    "hpp",
    "hrl",
    "hs",
    "htm",
    "html",
    "ico",
    "ini",
    "ipynb",
    "jar",
    "java",
    "jl",
    "jpeg",
    "jpg",
    "js",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "jsx",
    "kt",
    "kts",
    "less",
    "lock",
    "log",
    "lua",
    "m",
    "md",
    "mdx",
    "mjs",
    "mk",
    "ml",
    "mli",
    "mm",
    "mmd",
    "mp3",
    "mp4",
    "mts",
    "ndjson",
    "nim",
    "nix",
    "parquet",
    "patch",
    "pdf",
    "pem",
    "php",
    "pl",
    "plist",
    "pm",
    "png",
    "pptx",
    "properties",
    "proto",
    "ps1",
    "puml",
    "py",
    "pyi",
    "r",
    "rb",
    "rs",
    "rst",
    "sass",
    "scala",
    "scss",
    "sh",
    "sln",
    "snap",
    "sol",
    "sql",
    "sqlite",
    "svelte",
    "svg",
    "swift",
    "tar",
    "tex",
    "tf",
    "tfvars",
    "tgz",
    "toml",
    "tpl",
    "ts",
    "tsv",
    "tsx",
    "txt",
    "vue",
    "war",
    "wasm",
    "wat",
    "webp",
    "woff2",
    "xlsx",
    "xml",
    "xz",
    "yaml",
    "yml",
    "zig",
    "zip",
];

/// Files without extension, and files that begin with a dot.
const NAMES: &[&str] = &[
    ".bashrc",
    ".clang-format",
    ".dockerignore",
    ".editorconfig",
    ".env",
    ".eslintrc",
    ".gitattributes",
    ".gitignore",
    ".gitmodules",
    ".mcp.json",
    ".npmrc",
    ".nvmrc",
    ".prettierrc",
    ".profile",
    ".python-version",
    ".tool-versions",
    ".zshrc",
    "BUILD",
    "Brewfile",
    "CHANGELOG",
    "CMakeLists.txt",
    "CODEOWNERS",
    "Cargo.lock",
    "Containerfile",
    "Dockerfile",
    "GNUmakefile",
    "Gemfile",
    "Jenkinsfile",
    "Justfile",
    "LICENSE",
    "Makefile",
    "Pipfile",
    "Procfile",
    "README",
    "Rakefile",
    "Vagrantfile",
];

/// Files whose bare name is not a common word.
const BARE_NAMES: &[&str] = &[
    "Brewfile",
    "CODEOWNERS",
    "Containerfile",
    "Dockerfile",
    "Gemfile",
    "Jenkinsfile",
    "Makefile",
    "Pipfile",
    "Procfile",
    "Rakefile",
];

/// First directories that make a relative path without extension a path.
const FOLDERS: &[&str] = &[
    ".claude",
    ".config",
    ".cursor",
    ".github",
    ".vscode",
    "app",
    "apps",
    "assets",
    "bin",
    "cmd",
    "components",
    "config",
    "crates",
    "docs",
    "examples",
    "include",
    "internal",
    "lib",
    "migrations",
    "packages",
    "pkg",
    "public",
    "scripts",
    "spec",
    "src",
    "test",
    "tests",
    "tools",
];

/// First directories that make an absolute path without extension a path, and not a route of some server or a
/// command.
const ROOTS: &[&str] = &[
    "Applications",
    "Library",
    "Users",
    "Volumes",
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "tmp",
    "usr",
    "var",
];

/// Ends of host names, some of which are extensions too.
const DOMAINS: &[&str] = &[
    "ai", "app", "at", "au", "br", "ch", "co", "com", "de", "dev", "edu", "eu", "fr", "gov", "info", "io", "jp", "net", "nl",
    "org", "rs", "sh", "uk", "xyz",
];

/// Objects whose fields look like files.
const OBJECTS: &[&str] =
    &["cls", "console", "ctx", "document", "math", "module", "np", "os", "process", "self", "std", "super", "this", "window"];

/// Products with names like a script.
const PRODUCTS: &[&str] = &[
    "alpine",
    "angular",
    "backbone",
    "bun",
    "chart",
    "d3",
    "discord",
    "ember",
    "express",
    "fuse",
    "moment",
    "nest",
    "next",
    "node",
    "nuxt",
    "react",
    "three",
    "transformers",
    "vue",
];

/// A file that a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMention<'t> {
    /// The path as written, without line and column.
    pub path: &'t str,
    /// Offset of its first byte in the text.
    pub start: usize,
    /// 1-based line in that file, if one is given.
    pub line: Option<u32>,
    /// 1-based column, if one is given.
    pub column: Option<u32>,
}

/// Returns the files that a text names, in order, one entry for each occurrence.
///
/// ```
/// let text = "main.ts imports ./util; see src/lib.rs:12:5, e.g. version 1.2.3 of https://example.com/a.js";
/// let found: Vec<&str> = yore_core::text::paths(text).iter().map(|mention| mention.path).collect();
/// assert_eq!(found, ["main.ts", "./util", "src/lib.rs"]);
/// ```
pub fn paths(text: &str) -> Vec<PathMention<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_path_byte(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        // Neither an extension nor a directory: not a path. Bare names are examined as well.
        let mut is_possible = bytes[at].is_ascii_uppercase();
        while at < bytes.len() {
            let byte = bytes[at];
            if is_path_byte(byte) {
                is_possible |= matches!(byte, b'.' | b'/' | b'\\');
                at += 1;
            } else if let Some(end) = group_end(bytes, at) {
                at = end;
            } else {
                break;
            }
        }
        if is_possible && at - start >= 3 {
            let before = start.checked_sub(1).map(|before| bytes[before]);
            if let Some(mention) = mention(text, start, at, before) {
                found.push(mention);
                if found.len() == MAX_PATHS {
                    break;
                }
            }
        }
    }
    found
}

/// Returns whether a byte can be part of a path; a colon separates line numbers, languages and schemes from
/// it. Letters beyond ASCII count as letters.
fn is_path_byte(byte: u8) -> bool {
    const TABLE: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            let letter = byte as u8;
            table[byte] = letter.is_ascii_alphanumeric()
                || byte >= 128
                || matches!(letter, b'_' | b'-' | b'.' | b'/' | b'\\' | b'~' | b'@' | b'+' | b'%' | b'$' | b':');
            byte += 1;
        }
        table
    };
    TABLE[usize::from(byte)]
}

/// Returns the end of a bracket that is part of a path: `app/[id]/page.tsx`, `app/(shop)/page.tsx`.
fn group_end(bytes: &[u8], at: usize) -> Option<usize> {
    let close = match bytes[at] {
        b'[' => b']',
        b'(' => b')',
        _ => return None,
    };
    if !matches!(bytes.get(at.wrapping_sub(1)), Some(b'/' | b'\\')) {
        return None;
    }
    let length = bytes[at + 1..].iter().take(48).position(|byte| *byte == close)?;
    let end = at + 1 + length + 1;
    let is_inside = bytes[at + 1..at + 1 + length].iter().all(|byte| is_path_byte(*byte));
    (length > 0 && is_inside && matches!(bytes.get(end), Some(b'/' | b'\\' | b'.'))).then_some(end)
}

/// Returns the path in one token.
fn mention(text: &str, start: usize, end: usize, before: Option<u8>) -> Option<PathMention<'_>> {
    let (mut start, token) = match text[start..end].strip_prefix("file://") {
        Some(rest) => (end - rest.len(), rest),
        None => (start, &text[start..end]),
    };
    // A token next to a pattern, a placeholder or a tag is part of something else; stars on both sides are
    // emphasis.
    let is_starred = text.as_bytes().get(end) == Some(&b'*');
    let is_pattern = match before {
        Some(b'}' | b'>' | b'<' | b'?') => true,
        Some(b'*') => !is_starred || token.starts_with(['/', '.', '_', '-']),
        _ => is_starred,
    };
    if token.contains("://") || is_pattern {
        return None;
    }
    let is_diff = matches!(&text.as_bytes()[..start], [.., b'-', b'-', b'-', b' '] | [.., b'+', b'+', b'+', b' ']);
    let token = match token.strip_prefix("a/").or_else(|| token.strip_prefix("b/")) {
        Some(rest) if is_diff => {
            start += 2;
            rest
        }
        _ => token,
    };
    // Each part between colons may be the path: after a language or a key, before line numbers.
    let drive = usize::from(is_drive(token)) * 2;
    let mut from = 0;
    while from < token.len() {
        let search = if from == 0 { drive } else { from };
        let to = token[search..].find(':').map_or(token.len(), |colon| search + colon);
        let is_last = to == token.len();
        if let Some(path) = judged(&token[from..to], is_last.then(|| &text[end..])) {
            let begin = start + from + (path.as_ptr() as usize - token[from..].as_ptr() as usize);
            let mut numbers = token[to..].split(':').skip(1).map(|number| number.parse::<u32>().ok());
            let (mut line, mut column) = (numbers.next().flatten(), numbers.next().flatten());
            if is_last {
                (line, column) = numbers_behind(&text[end..]);
            }
            return Some(PathMention { path, start: begin, line, column });
        }
        from = to + 1;
    }
    None
}

fn is_drive(token: &str) -> bool {
    matches!(token.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic())
}

/// Parses `(12,5)` and `#L12` after a path.
fn numbers_behind(rest: &str) -> (Option<u32>, Option<u32>) {
    let number = |text: &str| -> Option<(u32, usize)> {
        let length = text.bytes().take_while(u8::is_ascii_digit).count();
        Some((text[..length].parse().ok()?, length))
    };
    if let Some((line, _)) = rest.strip_prefix("#L").and_then(number) {
        return (Some(line), None);
    }
    let Some(inner) = rest.strip_prefix('(') else { return (None, None) };
    let Some((line, length)) = number(inner) else { return (None, None) };
    match inner[length..].strip_prefix(',').and_then(|inner| Some((number(inner)?, inner))) {
        Some(((column, length), inner)) if inner[length..].starts_with(')') => (Some(line), Some(column)),
        _ if inner[length..].starts_with(')') => (Some(line), None),
        _ => (None, None),
    }
}

/// Returns the part as a path, if it is one. `behind` is the text that follows if the part ends a token.
fn judged<'t>(part: &'t str, behind: Option<&str>) -> Option<&'t str> {
    let path = part.trim_end_matches(['.', '-', '+', '$', '%', '@']);
    // Agents name a file `@src/main.rs`; names of packages have the same form.
    let (path, is_at) = path.strip_prefix('@').map_or((path, false), |rest| (rest, true));
    if !(3..=MAX_PATH_BYTES).contains(&path.len()) {
        return None;
    }
    let split = |letter: char| letter == '/' || letter == '\\';
    let name = path.rsplit(split).next().unwrap_or(path);
    let is_bare = name.len() == path.len();
    if let Some(at) = path.find('@')
        && !path[..at].contains(split)
    {
        // An address, or a package with its version.
        return None;
    }
    let is_call = behind.is_some_and(|rest| rest.starts_with('(') && numbers_behind(rest).0.is_none());
    if is_call
        || path.contains("//")
        || path.contains("...")
        || !path.bytes().any(|byte| byte.is_ascii_alphabetic() || byte >= 128)
    {
        return None;
    }
    let first = path.split(split).find(|part| !part.is_empty()).unwrap_or("");
    let is_anchored = is_drive(path) || ["/", "./", "../", "~/", ".\\", "..\\"].iter().any(|begin| path.starts_with(begin));
    if !is_bare && !is_anchored && is_host(first) {
        return None;
    }
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && if is_bare { is_bare_file(stem, extension) } else { is_extension(extension) }
    });
    let is_file = match (has_extension, is_bare) {
        (true, _) => !(path.starts_with('/') && path[1..].find(split).is_none() && !is_known_extension(name)),
        (false, true) => !is_at && (BARE_NAMES.contains(&name) || name.starts_with('.') && NAMES.contains(&name)),
        (false, false) => !is_at && is_folder_path(path, first, name),
    };
    is_file.then_some(path)
}

/// Returns whether the first part of a path is a host name, as in an address without scheme: `github.com`,
/// `docs.rs`.
fn is_host(first: &str) -> bool {
    first.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && DOMAINS.contains(&end.to_ascii_lowercase().as_str()))
}

/// Returns whether a word without directory is a file, by its extension.
fn is_bare_file(stem: &str, extension: &str) -> bool {
    let lower = extension.to_ascii_lowercase();
    if EXTENSIONS.binary_search(&lower.as_str()).is_err() {
        return false;
    }
    let stem = stem.to_ascii_lowercase();
    // "a.m.", "U.S.C": a single letter is an extension only after a real name.
    let is_named = extension.len() > 1
        || stem.len() > 1 && extension.chars().all(|letter| letter.is_ascii_lowercase()) && !stem.contains('.');
    let is_product = lower == "js" && PRODUCTS.contains(&stem.as_str()) || stem == "docs" && lower == "rs";
    is_named && !is_product && !OBJECTS.contains(&stem.as_str())
}

fn is_known_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.binary_search(&extension.to_ascii_lowercase().as_str()).is_ok())
}

/// Returns whether a word after a directory ends in an extension of any kind.
fn is_extension(extension: &str) -> bool {
    (1..=10).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns whether a path without extension is a path: "and/or" is not.
fn is_folder_path(path: &str, first: &str, name: &str) -> bool {
    let parts = path.split(['/', '\\']).filter(|part| !part.is_empty()).count();
    if ["./", "../", "~/", ".\\", "..\\"].iter().any(|begin| path.starts_with(begin)) || is_drive(path) {
        return parts >= 2;
    }
    if path.starts_with('/') {
        return parts >= 2 && ROOTS.contains(&first);
    }
    parts >= 2 && (FOLDERS.contains(&first) || NAMES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<(&str, Option<u32>, Option<u32>)> {
        paths(text).iter().map(|mention| (mention.path, mention.line, mention.column)).collect()
    }

    fn names(text: &str) -> Vec<&str> {
        paths(text).iter().map(|mention| mention.path).collect()
    }

    #[test]
    fn tables_are_in_order() {
        assert!(EXTENSIONS.is_sorted());
    }

    #[test]
    fn paths_in_prose_are_found() {
        for (text, expected) in [
            ("main.ts imports the cache", vec!["main.ts"]),
            ("the file src/engine/lib.rs is too long.", vec!["src/engine/lib.rs"]),
            ("open `crates/core/src/id.rs`, then (docs/guide.md).", vec!["crates/core/src/id.rs", "docs/guide.md"]),
            ("I edited C:\\Users\\sam\\glow\\main.py today", vec!["C:\\Users\\sam\\glow\\main.py"]),
            ("look at ./scripts/build and ~/.config/lantern", vec!["./scripts/build", "~/.config/lantern"]),
            ("logs are in /var/log/lantern/server.log:", vec!["/var/log/lantern/server.log"]),
            ("see @web/app/[id]/page.tsx and web/(shop)/cart.vue", vec!["web/app/[id]/page.tsx", "web/(shop)/cart.vue"]),
            ("add it to .gitignore and the Dockerfile", vec![".gitignore", "Dockerfile"]),
            ("README.md? CHANGELOG.md! Cargo.toml;", vec!["README.md", "CHANGELOG.md", "Cargo.toml"]),
            ("\"name\": \"package.json\", 'tsconfig.base.json'", vec!["package.json", "tsconfig.base.json"]),
            ("die Datei straße/größe.py fehlt", vec!["straße/größe.py"]),
            ("crates/engine and bin/rails", vec!["crates/engine", "bin/rails"]),
            ("**src/otter.rs** and *tide.md*", vec!["src/otter.rs", "tide.md"]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn places_in_tool_output_and_stack_traces_are_found() {
        for (text, expected) in [
            ("  --> crates/core/src/id.rs:41:9", ("crates/core/src/id.rs", Some(41), Some(9))),
            ("src/tide.rs:12:let x = 1;", ("src/tide.rs", Some(12), None)),
            ("web/app.ts(12,5): error TS2304: Cannot find name", ("web/app.ts", Some(12), Some(5))),
            ("    at Object.run (/srv/lantern/app.js:10:15)", ("/srv/lantern/app.js", Some(10), Some(15))),
            ("  File \"/home/kim/otter/tide.py\", line 7, in run", ("/home/kim/otter/tide.py", None, None)),
            ("E:\\otter\\Tide.cs:3: error", ("E:\\otter\\Tide.cs", Some(3), None)),
            ("tests/test_tide.py::test_ebb FAILED", ("tests/test_tide.py", None, None)),
            ("\tat dev.otter.Tide.run(Tide.java:33)", ("Tide.java", Some(33), None)),
            ("+++ b/src/otter.rs", ("src/otter.rs", None, None)),
            ("see src/otter.rs#L77 for it", ("src/otter.rs", Some(77), None)),
            ("file:///home/kim/notes.md", ("/home/kim/notes.md", None, None)),
            ("main.go:9:2: undefined: x", ("main.go", Some(9), Some(2))),
        ] {
            assert_eq!(found(text), vec![expected], "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_path_is_none() {
        for text in [
            "version 1.2.3 and v2.0.1-rc.1 of it",
            "https://example.com/a/main.rs and http://localhost:8080/x.js",
            "write to kim.otter@example.com or root@host.md",
            "e.g. this, i.e. that, at 9 a.m. or p.m.",
            "example.com, www.otter.org and crates.io/crates/serde",
            "at 10:30 or 2026-01-31T12:00:00.000Z",
            "foo.bar() and console.log(x) and response.json()",
            "and/or, read/write, I/O, n/a, 24/7, 1/2",
            "self.log and this.db and std::fs::read",
            "Node.js with Next.js and three.js",
            "application/json and text/html; origin/main",
            "/clear and GET /api/users/17",
            "serde@1.0.2 and @types/node and react@18.2.0",
            "src/**/*.ts and *.rs and {name}.json",
            "$5.00 and 3.5% of 2026/01/31 ...",
            "the word file and the word extension",
            "</div> <br/> a.b.c x.y",
            "cat.dog and Vec.new and config.load",
        ] {
            assert_eq!(names(text), Vec::<&str>::new(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn mentions_stand_where_they_say(text in "([a-zé./:@\\\\ (\\[\\])#~-]|\\.rs|src/|:12|\n){0,60}") {
            for mention in paths(&text) {
                prop_assert_eq!(text.get(mention.start..mention.start + mention.path.len()), Some(mention.path));
            }
        }

        #[test]
        fn any_text_is_survived(text in "\\PC{0,200}") { paths(&text); }

        #[test]
        fn path_in_a_sentence_is_found(folder in "[a-z]{2,8}", stem in "[a-z]{2,8}", line in 1u32..10_000) {
            let path = format!("{folder}/{stem}.rs");
            let text = format!("error in {path}:{line}, again");
            prop_assert_eq!(found(&text), vec![(path.as_str(), Some(line), None)]);
        }
    }
}
