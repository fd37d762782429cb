//! Detects content type and character set of an HTTP answer.

use std::borrow::Cow;

use memchr::memmem;

/// Content of a page, by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// HTML, decoded.
    Html(String),
    /// Markdown.
    Markdown(String),
    /// Plain text.
    Text(String),
    /// JSON.
    Json(String),
    /// A PDF, undecoded.
    Pdf(Vec<u8>),
}

/// A page declares its own character set within this many first bytes.
const SNIFFED_BYTES: usize = 2048;
/// Character set of a page that declares none and is not UTF-8.
const OLD_CHARSET: &str = "windows-1252";

/// The kinds of content that are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Markdown,
    Text,
    Json,
    Pdf,
}

/// Returns the kind that a content type names; `None` if it is not supported. Without a content type the
/// first bytes decide.
pub(super) fn kind_of(content_type: Option<&str>, bytes: &[u8]) -> Option<Kind> {
    let Some(content_type) = content_type else { return sniff(bytes) };
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "" => sniff(bytes),
        "text/html" | "application/xhtml+xml" => Some(Kind::Html),
        "text/markdown" | "text/x-markdown" => Some(Kind::Markdown),
        "text/plain" => Some(Kind::Text),
        "application/pdf" | "application/x-pdf" => Some(Kind::Pdf),
        "application/json" | "text/json" => Some(Kind::Json),
        other => (other.starts_with("application/") && other.ends_with("+json")).then_some(Kind::Json),
    }
}

fn sniff(bytes: &[u8]) -> Option<Kind> {
    let start = bytes.trim_ascii_start();
    if start.starts_with(b"%PDF-") {
        return Some(Kind::Pdf);
    }
    let head: Vec<u8> = start.iter().take(64).map(u8::to_ascii_lowercase).collect();
    if head.starts_with(b"<!doctype html") || head.starts_with(b"<html") {
        return Some(Kind::Html);
    }
    (!bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()).then_some(Kind::Text)
}

/// Returns the character set that a content type names.
pub(super) fn charset_of(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then(|| value.to_ascii_lowercase())
    })
}

/// Decodes the content, or keeps it as bytes for a PDF.
pub(super) fn content(kind: Kind, charset: Option<&str>, bytes: Vec<u8>) -> Content {
    match kind {
        Kind::Pdf => Content::Pdf(bytes),
        Kind::Html => Content::Html(text(bytes, charset, true)),
        Kind::Markdown => Content::Markdown(text(bytes, charset, false)),
        Kind::Text => Content::Text(text(bytes, charset, false)),
        Kind::Json => Content::Json(text(bytes, charset, false)),
    }
}

/// Decodes by the byte order mark, the content type, or the page's own declaration, in this order.
fn text(bytes: Vec<u8>, charset: Option<&str>, is_html: bool) -> String {
    let marked = match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, ..] => Some("utf-8"),
        [0xff, 0xfe, ..] => Some("utf-16le"),
        [0xfe, 0xff, ..] => Some("utf-16be"),
        _ => None,
    };
    let said = marked.map(Cow::Borrowed).or(charset.map(Cow::Borrowed));
    let said = said.or_else(|| if is_html { said_in_page(&bytes).map(Cow::Owned) } else { None });
    let text = match said.as_deref() {
        Some("utf-8" | "utf8") => lossy(bytes),
        // A page whose declaration was readable as bytes is not UTF-16.
        Some("utf-16" | "utf-16le" | "utf-16be") if marked.is_none() && charset.is_none() => lossy(bytes),
        Some(label) => recoded(bytes, label),
        None => String::from_utf8(bytes).unwrap_or_else(|error| recoded(error.into_bytes(), OLD_CHARSET)),
    };
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Decodes by the label of a character set; an unknown label counts as UTF-8.
fn recoded(bytes: Vec<u8>, label: &str) -> String {
    // Uses the decoder of the HTTP client, so that a label has the same effect as a header.
    let mut body = ureq::Body::builder().mime_type("text/plain").charset(label).data(bytes);
    body.with_config().limit(u64::MAX).lossy_utf8(true).read_to_string().unwrap_or_default()
}

/// Finds `<meta charset="...">`, or the same in a content type.
fn said_in_page(bytes: &[u8]) -> Option<String> {
    let head = bytes[..bytes.len().min(SNIFFED_BYTES)].to_ascii_lowercase();
    let at = memmem::find_iter(&head, b"charset").find(|at| memmem::rfind(&head[..*at], b"<meta").is_some())?;
    let rest = head[at + b"charset".len()..].trim_ascii_start().strip_prefix(b"=")?;
    let label: Vec<u8> = rest
        .trim_ascii_start()
        .iter()
        .skip_while(|byte| matches!(byte, b'"' | b'\''))
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte))
        .take(40)
        .copied()
        .collect();
    String::from_utf8(label).ok().filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn html(bytes: &[u8], charset: Option<&str>) -> String {
        match content(Kind::Html, charset, bytes.to_vec()) {
            Content::Html(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn content_type_decides_and_first_bytes_where_there_is_none() {
        assert_eq!(kind_of(Some("Text/HTML; charset=utf-8"), b""), Some(Kind::Html));
        assert_eq!(kind_of(Some("application/ld+json"), b""), Some(Kind::Json));
        assert_eq!(kind_of(Some("image/png"), b"<html>"), None);
        assert_eq!(kind_of(Some("application/octet-stream"), b"%PDF-1.7"), None);
        assert_eq!(kind_of(None, b"\n<!DOCTYPE html><p>"), Some(Kind::Html));
        assert_eq!(kind_of(None, b"%PDF-1.7"), Some(Kind::Pdf));
        assert_eq!(kind_of(None, b"plain"), Some(Kind::Text));
        assert_eq!(kind_of(None, b"\0\x01\xff"), None);
    }

    #[test]
    fn character_set_is_taken_from_mark_header_or_page() {
        assert_eq!(charset_of("text/html; Charset=\"ISO-8859-1\"").as_deref(), Some("iso-8859-1"));
        assert_eq!(charset_of("text/html"), None);
        assert_eq!(html(b"caf\xe9", Some("iso-8859-1")), "caf\u{e9}");
        assert_eq!(html(b"<meta charset=windows-1251>\xcf", None), "<meta charset=windows-1251>\u{41f}");
        assert_eq!(html(b"<meta content='text/html; charset=shift_jis'>\x82\xa0", None).chars().last(), Some('\u{3042}'));
        assert_eq!(html(b"\xef\xbb\xbfh\xc3\xa9", Some("iso-8859-1")), "h\u{e9}");
        assert_eq!(html(b"\xff\xfeh\0i\0", None), "hi");
        assert_eq!(html("h\u{e9}".as_bytes(), None), "h\u{e9}");
        assert_eq!(html(b"smart \x93quotes\x94", None), "smart \u{201c}quotes\u{201d}");
        assert_eq!(html("h\u{e9}".as_bytes(), Some("no-such-set")), "h\u{e9}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_some_text(bytes in prop::collection::vec(any::<u8>(), 0..300), label in "[a-z0-9-]{0,12}") {
            html(&bytes, None);
            html(&bytes, Some(&label));
            kind_of(None, &bytes);
        }
    }
}
