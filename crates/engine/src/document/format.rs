//! Which text is what, by name and first bytes, and which is none.

use std::borrow::Cow;

use super::code::Language;
use super::{Document, code, html, markdown, text};

/// Changes whenever texts are cut differently: files are then read again.
pub const CUTTER_VERSION: i64 = 1;
/// Longer files are no texts that somebody wrote.
pub const MAX_TEXT_BYTES: u64 = 2 << 20;
/// The same for PDFs, most of whose bytes are pictures and fonts.
pub const MAX_PDF_BYTES: u64 = 50 << 20;

/// A line that nobody wrote.
const MAX_LINE_BYTES: usize = 20_000;
/// Code whose lines are longer on average is a product of a program.
const MAX_MEAN_LINE_BYTES: usize = 400;
/// Less is judged by its words only.
const MIN_JUDGED_BYTES: usize = 4_096;
/// What generated files say of themselves stands at the top.
const HEAD_BYTES: usize = 1_024;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// By headings.
    Markdown,
    /// By definitions.
    Code(Language),
    /// By its main text.
    Html,
    /// By a process of its own.
    Pdf,
    /// By paragraphs; the language, if the name says it.
    Text(Option<&'static str>),
}

/// Why a file is not read: a stable reason, and which kind of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Stable, to count.
    pub reason: &'static str,
    /// More of it, never the file's words.
    pub detail: &'static str,
}

/// Files that programs write to pin versions.
const LOCK_FILES: [&str; 16] = [
    "cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "poetry.lock",
    "uv.lock",
    "pipfile.lock",
    "pdm.lock",
    "go.sum",
    "gemfile.lock",
    "composer.lock",
    "mix.lock",
    "flake.lock",
    "deno.lock",
];

/// Endings of files that hold pictures, sounds, programs or data, never a text.
const MEDIA: [&str; 84] = [
    "7z",
    "a",
    "aac",
    "avi",
    "avif",
    "bin",
    "bmp",
    "bz2",
    "class",
    "db",
    "deb",
    "dll",
    "dmg",
    "doc",
    "docx",
    "dylib",
    "eot",
    "epub",
    "exe",
    "flac",
    "gguf",
    "gif",
    "glb",
    "gz",
    "heic",
    "ico",
    "icns",
    "iso",
    "jar",
    "jpeg",
    "jpg",
    "lib",
    "m4a",
    "map",
    "mkv",
    "mov",
    "mp3",
    "mp4",
    "npy",
    "npz",
    "o",
    "obj",
    "odt",
    "ogg",
    "onnx",
    "otf",
    "parquet",
    "pkl",
    "png",
    "ppt",
    "pptx",
    "psd",
    "pt",
    "pyc",
    "pyo",
    "rar",
    "rlib",
    "rmeta",
    "safetensors",
    "snap",
    "so",
    "sqlite",
    "sqlite3",
    "stl",
    "svg",
    "swf",
    "tar",
    "tgz",
    "tif",
    "tiff",
    "ttf",
    "wasm",
    "wav",
    "webm",
    "webp",
    "whl",
    "woff",
    "woff2",
    "xls",
    "xlsx",
    "xz",
    "zip",
    "zst",
    "profraw",
];

/// The end of a file name behind its last dot, in lower case.
fn extension(file_name: &str) -> String {
    file_name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default()
}

impl Format {
    /// By the file's name.
    pub fn of(file_name: &str) -> Self {
        let extension = extension(file_name);
        if let Some(language) = Language::of_extension(&extension) {
            return Self::Code(language);
        }
        match extension.as_str() {
            "md" | "markdown" | "mdx" | "mdown" | "mkd" | "mdc" => Self::Markdown,
            "html" | "htm" | "xhtml" => Self::Html,
            "pdf" => Self::Pdf,
            "toml" => Self::Text(Some("toml")),
            "yaml" | "yml" => Self::Text(Some("yaml")),
            "json" | "jsonc" | "json5" => Self::Text(Some("json")),
            "sh" | "bash" | "zsh" => Self::Text(Some("shell")),
            "cc" | "cpp" | "cxx" | "hpp" | "hh" => Self::Text(Some("cpp")),
            "cs" => Self::Text(Some("csharp")),
            "rb" => Self::Text(Some("ruby")),
            "php" => Self::Text(Some("php")),
            "kt" | "kts" => Self::Text(Some("kotlin")),
            "swift" => Self::Text(Some("swift")),
            "sql" => Self::Text(Some("sql")),
            "css" | "scss" | "less" => Self::Text(Some("css")),
            _ => Self::Text(None),
        }
    }

    /// The largest file that is read.
    pub fn max_bytes(self) -> u64 {
        if self == Self::Pdf { MAX_PDF_BYTES } else { MAX_TEXT_BYTES }
    }
}

/// Whether a file of this name holds no text at all, so that it is nothing to look at.
pub fn is_media(file_name: &str) -> bool {
    MEDIA.contains(&extension(file_name).as_str())
}

/// Whether a file of this name holds, or may hold, keys and passwords: it is never opened.
pub fn is_credential(file_name: &str) -> bool {
    const NAMES: [&str; 10] = [
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".htpasswd",
        ".git-credentials",
        ".dockercfg",
        ".vault-token",
        "kubeconfig",
    ];
    const BEGINNINGS: [&str; 8] =
        [".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "secrets", ".credentials"];
    const ENDINGS: [&str; 10] = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".env", ".tfstate"];
    let name = file_name.to_ascii_lowercase();
    NAMES.contains(&name.as_str())
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.ends_with(".tfstate.backup")
}

/// Whether programs write files of this name to pin versions.
pub fn is_lock_file(file_name: &str) -> bool {
    LOCK_FILES.contains(&file_name.to_ascii_lowercase().as_str())
}

/// Cuts a file into sections. PDFs are not read here: see [`super::pdf`].
///
/// # Errors
/// [`Unreadable`] when it is no text that somebody wrote.
pub fn read(bytes: &[u8], file_name: &str) -> Result<Document, Unreadable> {
    let format = Format::of(file_name);
    if is_lock_file(file_name) {
        return Err(Unreadable { reason: "lock-file", detail: "" });
    }
    if bytes.len() as u64 > format.max_bytes() {
        return Err(Unreadable { reason: "file-too-large", detail: "" });
    }
    let text = decode(bytes).ok_or(Unreadable { reason: "binary-file", detail: "" })?;
    if text.trim().is_empty() {
        return Err(Unreadable { reason: "empty-file", detail: "" });
    }
    judge(&text, format)?;
    Ok(match format {
        Format::Markdown => markdown::cut(&text),
        Format::Code(language) => code::cut(&text, language),
        Format::Html => Some(html::cut(&html::read(&text, None)))
            .filter(|page| !page.sections.is_empty())
            .unwrap_or_else(|| text::cut(&text, Some("html"))),
        Format::Pdf => return Err(Unreadable { reason: "pdf-not-readable", detail: "" }),
        Format::Text(language) => text::cut(&text, Some(language.unwrap_or("text"))),
    })
}

/// Text of bytes, with plain ends of lines; `None` when they are no text.
fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    let text = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        [0xff, 0xfe, rest @ ..] => Cow::Owned(wide(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(wide(rest, u16::from_be_bytes)),
        _ => String::from_utf8_lossy(bytes),
    };
    let strange = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    if text.contains('\0') || strange * 20 > text.len() {
        return None;
    }
    Some(if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")) } else { text })
}

/// Whether a person may have written it.
fn judge(text: &str, format: Format) -> Result<(), Unreadable> {
    let longest = text.split('\n').map(str::len).max().unwrap_or_default();
    let mean = text.len() / (1 + memchr::memchr_iter(b'\n', text.as_bytes()).count());
    let is_prose = matches!(format, Format::Markdown | Format::Html | Format::Text(None));
    if longest > MAX_LINE_BYTES || text.len() > MIN_JUDGED_BYTES && mean > MAX_MEAN_LINE_BYTES && !is_prose {
        return Err(Unreadable { reason: "minified-file", detail: "" });
    }
    let head = &text[..text.floor_char_boundary(HEAD_BYTES.min(text.len()))];
    // Go's convention, and the one of most other generators.
    let is_generated = head.lines().any(|line| {
        let comment = line.trim_start().trim_start_matches(['/', '*', '#', ';', '-', ' ']);
        comment.starts_with("@generated") || comment.starts_with("Code generated ") && comment.contains("DO NOT EDIT")
    });
    if is_generated && matches!(format, Format::Code(_) | Format::Text(Some(_))) {
        return Err(Unreadable { reason: "generated-file", detail: "" });
    }
    Ok(())
}
