//! Fenced code blocks of Markdown: their language, the file that they are attributed to, their lines.

use std::borrow::Cow;

use super::paths::paths;

/// Longest name in an info string or comment, in bytes.
const MAX_NAME_BYTES: usize = 300;
/// Longest line before a block that counts as its caption.
const MAX_CAPTION_CHARS: usize = 120;
/// Most blocks of a text; a text with more is a file, not an answer.
const MAX_BLOCKS: usize = 500;

/// A fenced block of code.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CodeBlock {
    /// Language by [`language_name`]: from the info string, else from the file's extension.
    pub language: Option<String>,
    /// Name of its file, as written: from the info string, the first line's comment or the line before the
    /// block.
    pub file: Option<String>,
    /// 1-based line of the text where the code begins: the one after the fence.
    pub first_line: u32,
    /// Number of lines of code; 0 for an empty block.
    pub line_count: u32,
    /// Byte range of the code in the text, including the last newline.
    pub code: std::ops::Range<usize>,
}

impl CodeBlock {
    /// Returns the range of the block with its fences and the caption line before it, in bytes of `text`,
    /// which must be the text that the block was found in.
    ///
    /// ```
    /// let text = "First.\n\nThe cure:\n\n```sh\nmake clean\n```\nDone.";
    /// let blocks = yore_core::text::code_blocks(text);
    /// assert_eq!(&text[blocks[0].with_caption(text)], "The cure:\n\n```sh\nmake clean\n```");
    /// ```
    pub fn with_caption(&self, text: &str) -> std::ops::Range<usize> {
        let (before, behind) = (&text[..self.code.start], &text[self.code.end..]);
        let mut start = self.code.start;
        let mut blank = 0;
        for (at, line) in before.split_inclusive('\n').rev().enumerate() {
            let content = line.trim();
            if at == 0 {
                start -= line.len();
            } else if content.is_empty() && blank == 0 {
                blank = line.len();
            } else {
                let is_caption = !content.is_empty() && Fence::open(content).is_none();
                if is_caption {
                    start -= blank + line.len();
                }
                break;
            }
        }
        // An unterminated block has no closing fence.
        let end = self.code.end + behind.lines().next().map_or(0, |fence| fence.trim_end().len());
        start..end
    }
}

/// Returns the fenced blocks of a text, in order. A block ends at a fence of the same character that is at
/// least as long; an unterminated block reaches to the end of the text. A block inside a longer fence is part
/// of that fence's code.
///
/// ```
/// let blocks = yore_core::text::code_blocks("Try\n```rust:src/main.rs\nfn main() {}\n```\n");
/// assert_eq!((blocks[0].language.as_deref(), blocks[0].file.as_deref()), (Some("rust"), Some("src/main.rs")));
/// assert_eq!((blocks[0].first_line, blocks[0].line_count), (3, 1));
/// ```
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    // Most turns have no code block.
    if !text.contains("```") && !text.contains("~~~") {
        return blocks;
    }
    let mut open: Option<Open<'_>> = None;
    // The last non-empty line before a block, and the number of empty lines after it.
    let (mut caption, mut blank) = ("", 0);
    let (mut start, mut number) = (0, 0);
    for line in text.split_inclusive('\n') {
        number += 1;
        let end = start + line.len();
        let content = line.trim();
        match &mut open {
            Some(block) if block.fence.is_closed_by(content) => {
                blocks.extend(open.take().map(|block| block.close(text, start)));
                (caption, blank) = ("", 0);
                if blocks.len() == MAX_BLOCKS {
                    return blocks;
                }
            }
            Some(block) => block.lines += 1,
            None => match Fence::open(content) {
                Some((fence, info)) => {
                    let caption = if blank <= 1 { caption } else { "" };
                    open = Some(Open { fence, info, caption, first_line: number + 1, lines: 0, start: end });
                }
                None if content.is_empty() => blank += 1,
                None => (caption, blank) = (content, 0),
            },
        }
        start = end;
    }
    blocks.extend(open.map(|block| block.close(text, text.len())));
    blocks
}

/// Returns the canonical name of a language: lower case, with well-known short forms written out.
pub fn language_name(tag: &str) -> String {
    let tag = tag.to_lowercase();
    let name = match tag.as_str() {
        "rs" => "rust",
        "py" | "python3" | "py3" => "python",
        "js" | "node" | "mjs" | "cjs" => "javascript",
        "ts" | "mts" | "cts" => "typescript",
        "sh" | "shell" | "zsh" | "shellscript" => "bash",
        "console" | "shell-session" | "terminal" => "console",
        "yml" => "yaml",
        "md" | "mdx" => "markdown",
        "rb" => "ruby",
        "kt" | "kts" => "kotlin",
        "cs" | "c#" => "csharp",
        "c++" | "cc" | "cxx" | "hpp" | "h++" => "cpp",
        "h" => "c",
        "golang" => "go",
        "ps1" | "pwsh" | "ps" => "powershell",
        "docker" => "dockerfile",
        "make" | "mk" => "makefile",
        "tf" | "hcl" => "terraform",
        "ex" | "exs" => "elixir",
        "hs" => "haskell",
        "pl" => "perl",
        "patch" => "diff",
        "plaintext" | "txt" | "plain" => "text",
        "postgresql" | "postgres" | "mysql" | "sqlite" | "plpgsql" => "sql",
        "gql" => "graphql",
        "jsonc" | "json5" => "json",
        "objc" | "obj-c" => "objective-c",
        _ => return tag,
    };
    name.to_owned()
}

/// Returns the language of a file, if its name identifies it.
pub(super) fn language_of_file(path: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next()?;
    match name {
        "Dockerfile" | "Containerfile" => return Some("dockerfile"),
        "Makefile" | "makefile" | "GNUmakefile" => return Some("makefile"),
        _ => {}
    }
    Some(match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "rs" => "rust",
        "py" | "pyi" => "python",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "jsx",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "tsx",
        "go" => "go",
        "java" => "java",
        "kt" | "kts" => "kotlin",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" => "cpp",
        "cs" => "csharp",
        "swift" => "swift",
        "rb" => "ruby",
        "php" => "php",
        "pl" | "pm" => "perl",
        "lua" => "lua",
        "ex" | "exs" => "elixir",
        "hs" => "haskell",
        "scala" => "scala",
        "dart" => "dart",
        "zig" => "zig",
        "sh" | "bash" | "zsh" => "bash",
        "ps1" => "powershell",
        "sql" => "sql",
        "html" | "htm" => "html",
        "css" => "css",
        "scss" => "scss",
        "vue" => "vue",
        "svelte" => "svelte",
        "json" | "jsonc" | "json5" => "json",
        "yaml" | "yml" => "yaml",
        "toml" => "toml",
        "xml" => "xml",
        "md" | "mdx" => "markdown",
        "proto" => "protobuf",
        "graphql" | "gql" => "graphql",
        "tf" => "terraform",
        "nix" => "nix",
        "diff" | "patch" => "diff",
        _ => return None,
    })
}

/// A row of backticks or tildes.
#[derive(Clone, Copy)]
struct Fence {
    letter: char,
    length: usize,
}

impl Fence {
    /// Parses the opening fence of a line (without its indentation), and returns it with its info string.
    fn open(line: &str) -> Option<(Self, &str)> {
        let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
        let info = line.trim_start_matches(letter);
        let length = line.len() - info.len();
        // "```x```" is a code span, not a fence.
        (length >= 3 && !(letter == '`' && info.contains('`'))).then(|| (Self { letter, length }, info.trim()))
    }

    fn is_closed_by(self, line: &str) -> bool {
        line.len() >= self.length && line.chars().all(|letter| letter == self.letter)
    }
}

struct Open<'t> {
    fence: Fence,
    info: &'t str,
    /// The line before the block.
    caption: &'t str,
    first_line: u32,
    lines: u32,
    start: usize,
}

impl Open<'_> {
    fn close(self, text: &str, end: usize) -> CodeBlock {
        let info = Info::of(self.info);
        let code = self.start.min(end)..end;
        let file = info.file.map(Cow::into_owned).or_else(|| {
            let first = text[code.clone()].lines().find(|line| !line.trim().is_empty()).unwrap_or("");
            file_of_comment(first).or_else(|| file_of_caption(self.caption, info.language)).map(str::to_owned)
        });
        let language = match info.language {
            Some(language) => Some(language_name(language)),
            None => file.as_deref().and_then(language_of_file).map(str::to_owned),
        };
        CodeBlock { language, file, first_line: self.first_line, line_count: self.lines, code }
    }
}

/// The info string after an opening fence.
struct Info<'t> {
    language: Option<&'t str>,
    file: Option<Cow<'t, str>>,
}

impl<'t> Info<'t> {
    /// Parses `rust`, `rust,ignore`, `rust:src/a.rs`, `src/a.rs`, `12:40:src/a.rs`, `rust title="src/a.rs"`,
    /// `{.rust file=a.rs}`.
    fn of(info: &'t str) -> Self {
        let inner = info.strip_prefix('{').map_or(info, |inner| inner.strip_suffix('}').unwrap_or(inner));
        let (mut language, mut file) = (None, None);
        for (at, word) in inner.split_whitespace().enumerate() {
            if let Some((key, value)) = word.split_once('=') {
                let is_name = matches!(key, "title" | "file" | "filename" | "path" | "name");
                let value = value.trim_matches(['"', '\'']);
                if is_name && !value.is_empty() && value.len() <= MAX_NAME_BYTES && paths(value).len() == 1 {
                    file.get_or_insert(Cow::Borrowed(value));
                }
                continue;
            }
            if at == 0 {
                let word = word.strip_prefix('.').filter(|_| info.starts_with('{')).unwrap_or(word);
                match only_path(word) {
                    Some(path) => {
                        file = Some(Cow::Borrowed(path));
                        let before = &word[..word.find(path).unwrap_or(0)];
                        language = before.strip_suffix(':').filter(|name| is_language(name));
                    }
                    None => language = word.split([',', ':', '{', '(']).next().filter(|name| is_language(name)),
                }
            } else if file.is_none() {
                file = only_path(word).map(Cow::Borrowed);
            }
        }
        Self { language, file }
    }
}

fn is_language(name: &str) -> bool {
    (1..=24).contains(&name.len())
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '#' | '-' | '_' | '.'))
}

/// Returns the path in a word that may also have a language or line numbers.
fn only_path(word: &str) -> Option<&str> {
    if word.len() > MAX_NAME_BYTES {
        return None;
    }
    match paths(word).as_slice() {
        [only] => Some(only.path),
        _ => None,
    }
}

/// Returns the path in a comment line that holds nothing else.
fn file_of_comment(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.len() > MAX_NAME_BYTES {
        return None;
    }
    let inner = ["//", "#", "--", ";;", ";", "/*", "<!--", "%"].iter().find_map(|mark| line.strip_prefix(mark))?;
    let inner = inner.trim_start_matches(['/', '!', '*', '#']).trim();
    let inner = inner.trim_end_matches("*/").trim_end_matches("-->").trim();
    let inner = ["File:", "file:", "Filename:", "filename:", "Path:", "path:"]
        .iter()
        .find_map(|mark| inner.strip_prefix(mark))
        .unwrap_or(inner)
        .trim();
    let path = only_path(inner)?;
    // "// see src/a.rs" is about another file.
    (path == inner || inner.strip_prefix(path).is_some_and(|rest| rest.starts_with([' ', ':', '('])) && rest_is_note(inner, path))
        .then_some(path)
}

/// Returns whether the text after a path in a comment is a remark in brackets or a line number.
fn rest_is_note(inner: &str, path: &str) -> bool {
    let rest = inner[path.len()..].trim();
    rest.starts_with('(') && rest.ends_with(')')
        || rest.trim_start_matches([':', ' ']).chars().all(|letter| letter.is_ascii_digit() || letter == ':')
}

/// Returns the path that the line before a block gives for it: alone on the line, or before a colon. Commands
/// and output belong to no file.
fn file_of_caption<'t>(line: &'t str, language: Option<&str>) -> Option<&'t str> {
    let language = language.map(language_name).unwrap_or_default();
    if matches!(language.as_str(), "bash" | "console" | "text" | "powershell" | "output" | "log")
        || line.is_empty()
        || line.chars().nth(MAX_CAPTION_CHARS).is_some()
    {
        return None;
    }
    let path = only_path(line)?;
    let bare = line.trim_matches(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '/' | '~' | '.' | '_'));
    let is_alone = bare.trim_end_matches('.') == path || bare.strip_suffix(path).is_some_and(is_word_for_file);
    (is_alone || line.ends_with([':', '：'])).then_some(path)
}

/// Returns whether the words before a path only say that a file follows ("File: ", "In `").
fn is_word_for_file(before: &str) -> bool {
    let word = before.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    matches!(word.as_str(), "file" | "in" | "filename" | "path" | "create" | "edit" | "update")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(text: &str) -> CodeBlock {
        let blocks = code_blocks(text);
        assert_eq!(blocks.len(), 1, "{text:?} {blocks:?}");
        blocks[0].clone()
    }

    fn language_and_file(text: &str) -> (Option<String>, Option<String>) {
        let block = one(text);
        (block.language, block.file)
    }

    fn pair(language: &str, file: &str) -> (Option<String>, Option<String>) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (some(language), some(file))
    }

    #[test]
    fn info_strings_tell_language_and_file() {
        for (info, language, file) in [
            ("rust", "rust", ""),
            ("RS", "rust", ""),
            ("rust,ignore", "rust", ""),
            ("c++", "cpp", ""),
            ("rust:src/main.rs", "rust", "src/main.rs"),
            ("src/cache/mod.rs", "rust", "src/cache/mod.rs"),
            ("12:40:src/lanterns.py", "python", "src/lanterns.py"),
            ("ts title=\"web/app.ts\"", "typescript", "web/app.ts"),
            ("js {1,3} filename=app.js", "javascript", "app.js"),
            ("{.python file=tide.py}", "python", "tide.py"),
            ("{python}", "python", ""),
            ("", "", ""),
        ] {
            assert_eq!(language_and_file(&format!("```{info}\ncode()\n```")), pair(language, file), "{info:?}");
        }
    }

    #[test]
    fn file_comes_from_the_first_comment_or_the_line_before() {
        for (text, language, file) in [
            ("```rust\n// src/otter.rs\nfn a() {}\n```", "rust", "src/otter.rs"),
            ("```\n# config/app.toml\nx = 1\n```", "toml", "config/app.toml"),
            ("```html\n<!-- web/index.html -->\n```", "html", "web/index.html"),
            ("```css\n/* web/site.css */\n```", "css", "web/site.css"),
            ("```rust\n// File: src/otter.rs (new)\n```", "rust", "src/otter.rs"),
            ("```rust\n// see src/otter.rs for more\n```", "rust", ""),
            ("**src/otter.rs**\n\n```rust\n```", "rust", "src/otter.rs"),
            ("### `src/otter.rs`\n```\n```", "rust", "src/otter.rs"),
            ("Change `src/otter.rs` like this:\n```rust\n```", "rust", "src/otter.rs"),
            ("I read src/otter.rs yesterday\n```rust\n```", "rust", ""),
            ("Move src/a.rs to src/b.rs:\n```rust\n```", "rust", ""),
            ("Run scripts/build.sh:\n```sh\nmake\n```", "bash", ""),
            ("src/otter.rs:\n\n\n```rust\n```", "rust", ""),
        ] {
            assert_eq!(language_and_file(text), pair(language, file), "{text:?}");
        }
    }

    #[test]
    fn fences_end_with_their_like() {
        let nested = "````markdown\n```rust\nfn a() {}\n```\n````\nafter";
        let block = one(nested);
        assert_eq!((block.first_line, block.line_count), (2, 3));
        assert_eq!(&nested[block.code], "```rust\nfn a() {}\n```\n");
        assert_eq!(one("~~~\n```\n~~~").line_count, 1);
        assert_eq!(one("  ```js\n  a\n  ```").line_count, 1);
        let unfinished = one("say\n```py\na = 1\nb = 2");
        assert_eq!((unfinished.first_line, unfinished.line_count), (3, 2));
        assert_eq!(one("```py\n``\n```x\n```").line_count, 2);
        assert!(code_blocks("```inline``` and `a`").is_empty());
        assert_eq!(code_blocks("```a\n```\n```b\n```").len(), 2);
    }

    proptest! {
        #[test]
        fn blocks_are_in_order_and_inside_the_text(text in "(```[a-z:./=\"{}]{0,9}|~~~|\n|\\PC|// a/b.rs){0,40}") {
            let mut end = 0;
            for block in code_blocks(&text) {
                prop_assert!(block.code.start >= end && block.code.end <= text.len());
                prop_assert_eq!(text[block.code.clone()].lines().count(), block.line_count as usize);
                prop_assert_eq!(text[..block.code.start].lines().count() + 1, block.first_line as usize);
                end = block.code.end;
            }
        }
    }
}
