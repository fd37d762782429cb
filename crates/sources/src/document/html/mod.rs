//! Extracts the main text of a web page as Markdown, without navigation and scripts. Headings, lists, code and tables are kept.
//!
//! - [`read`]: parses HTML into a [`Page`]; [`cut`]: cuts a page into sections
//! - [`Page`]: the text and the metadata of a page
//! - `Scan`: rewrites the tags of a page, plain and well nested
//! - `LinkedData`: the JSON metadata of a page
//!
//! A page may be built to attack its reader: a million open tags cost a tree builder quadratic time, and
//! formatting left open is repeated in every paragraph. So the tree is built from the output of `Scan`, not
//! from the page: known tags only, each closed, at most `MAX_DEPTH` deep and `MAX_ELEMENTS` in all.
//! Beyond these limits, tags are dropped and their text is kept.

use std::collections::HashSet;
use std::fmt::Write as _;

use dom_smoothie::{Config, Readability};
use memchr::{memchr, memchr2, memmem};
use serde_json::Value;
use url::Url;

use super::{Document, markdown};

/// Bytes of a page that are read.
const MAX_HTML_BYTES: usize = 10 << 20;
/// Maximum number of tags. Further tags are dropped, and their text is kept.
const MAX_ELEMENTS: usize = 50_000;
/// Maximum depth of nested tags; deeper ones are dropped the same way.
const MAX_DEPTH: usize = 100;
/// Maximum depth of nested formatting tags, because a tree builder repeats them; deeper ones are dropped too.
const MAX_FORMATTING: usize = 8;
/// Maximum depth of nested lists, quotes and tables, because each indents all lines within it; deeper ones
/// are dropped too.
const MAX_INDENTED: usize = 24;
/// Longer values of attributes are cut.
const MAX_ATTRIBUTE_BYTES: usize = 512;
/// Maximum number of attributes read of a tag.
const MAX_ATTRIBUTES: usize = 40;
/// Maximum number of metadata elements read in the head of a page.
const MAX_FACTS: usize = 300;
/// Longer linked data is ignored.
const MAX_LINKED_BYTES: usize = 256 * 1024;
/// A shorter text is not taken as the article if the page has more.
const SHORT_ARTICLE_CHARS: usize = 400;

/// The text and metadata of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its title.
    pub title: Option<String>,
    /// Its author.
    pub author: Option<String>,
    /// Date of publication, or of the last change if that is the only date; as written.
    pub date: Option<String>,
    /// The canonical address of the page, if it is on the same host.
    pub canonical: Option<String>,
    /// Its main text, as Markdown.
    pub text: String,
}

/// Reads a page that was found at `address`.
pub fn read(html: &str, address: Option<&str>) -> Page {
    let html = &html[..html.floor_char_boundary(html.len().min(MAX_HTML_BYTES))];
    let scan = Scan::of(html);
    let clean = scan.html();
    let base = address.and_then(|address| Url::parse(address).ok());
    let reader = reader(&clean);
    let facts = reader.get_article_metadata(None);
    let linked = LinkedData::of(&scan.linked);
    let dates = [linked.published, facts.published_time, scan.date.clone(), linked.modified, facts.modified_time];
    Page {
        title: line(Some(facts.title)).or_else(|| line(linked.title)),
        author: line(facts.byline.filter(|author| !author.starts_with("http")).or(linked.author)),
        date: dates.into_iter().flatten().find(|date| !date.trim().is_empty()),
        canonical: canonical(scan.canonical.as_deref(), base.as_ref()),
        text: main_text(&clean, reader),
    }
}

/// Cuts a page into sections by its headings.
pub fn cut(page: &Page) -> Document {
    let mut document = markdown::cut(&page.text);
    document.language = Some("html".to_owned());
    if page.title.is_some() {
        document.title.clone_from(&page.title);
    }
    document
}

fn reader(clean: &str) -> Readability {
    let config = Config { keep_classes: true, disable_json_ld: true, ..Config::default() };
    // Without an address, the constructor cannot fail.
    Readability::new(clean, None, Some(config)).unwrap_or_else(|_| Readability::from(clean))
}

/// Returns the article found by readability; the part that the page marks as its main part, if that is far
/// longer; the whole page, if both are nearly empty.
fn main_text(clean: &str, mut article: Readability) -> String {
    let has_main = article.doc.select("main, [role=main]").length() == 1;
    let text = match article.parse() {
        Ok(_) => markdown(&article, "#readability-page-1"),
        Err(_) => String::new(),
    };
    let length = words_in(&text);
    if length >= SHORT_ARTICLE_CHARS && !has_main {
        return text;
    }
    let page = reader(clean);
    page.doc.select("nav, aside").remove();
    if has_main {
        let main = markdown(&page, "main, [role=main]");
        if words_in(&main) > length.saturating_mul(2) {
            return main;
        }
    }
    if length >= SHORT_ARTICLE_CHARS {
        return text;
    }
    let body = markdown(&page, "body");
    if words_in(&body) > length.saturating_add(length / 2) { body } else { text }
}

/// Counts letters and digits, the length of a text without its markup.
fn words_in(text: &str) -> usize {
    text.chars().filter(|character| character.is_alphanumeric()).count()
}

/// Converts one element of a document to Markdown.
fn markdown(page: &Readability, selector: &str) -> String {
    // Signs that link a heading to itself are not text.
    for link in page.doc.select("h1 a, h2 a, h3 a, h4 a, h5 a, h6 a").nodes() {
        if !link.text().chars().any(char::is_alphanumeric) {
            link.remove_from_parent();
        }
    }
    // The target of a link is of little use to a reader of the text, but adds many terms to an index.
    page.doc.select("a").rename("span");
    let text = page.doc.select_single(selector).nodes().first().map(|node| node.md(None).to_string()).unwrap_or_default();
    plain(&text)
}

/// Removes Markdown escapes that only a renderer needs: they would split `a_name` in two. Escapes at the
/// beginning of a line stay, because they keep text from becoming a heading or a list.
fn plain(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut fence: Option<usize> = None;
    let mut blank = 0;
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        let ticks = trimmed.bytes().take_while(|byte| *byte == b'`').count();
        match fence {
            Some(open) if ticks >= open && trimmed.len() == ticks => fence = None,
            Some(_) => {}
            None if ticks >= 3 && !trimmed[ticks..].contains('`') => fence = Some(ticks),
            None => {
                let line = line.trim_end();
                blank = if line.is_empty() { blank + 1 } else { 0 };
                if blank < 2 {
                    unescape(line, &mut text);
                    text.push('\n');
                }
                continue;
            }
        }
        blank = 0;
        text.push_str(line);
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

fn unescape(line: &str, out: &mut String) {
    let start = line.len() - line.trim_start().len();
    let mut rest = line;
    let mut code = 0;
    while let Some(at) = memchr2(b'\\', b'`', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let here = line.len() - rest.len() + at;
        if rest.as_bytes()[at] == b'`' {
            let ticks = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
            code = if code == 0 {
                ticks
            } else if code == ticks {
                0
            } else {
                code
            };
            out.push_str(&rest[at..at + ticks]);
            rest = &rest[at + ticks..];
            continue;
        }
        let next = rest.as_bytes().get(at + 1).copied().unwrap_or(b' ');
        let is_escape = code == 0 && next.is_ascii_punctuation();
        if !is_escape || (here == start && next != b'`') {
            out.push('\\');
        }
        let taken = if is_escape { 2 } else { 1 };
        out.push_str(&rest[at + 1..at + taken]);
        rest = &rest[at + taken..];
    }
    out.push_str(rest);
}

/// Returns the text as one line, or `None` if it is empty.
fn line(words: Option<String>) -> Option<String> {
    let words = words?.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = words.floor_char_boundary(words.len().min(300));
    (!words.is_empty()).then(|| words[..end].to_owned())
}

/// Returns the canonical address of a page. One on another host is ignored: any page could pose as another
/// host's.
fn canonical(said: Option<&str>, base: Option<&Url>) -> Option<String> {
    let base = base?;
    let mut url = base.join(said?.trim()).ok()?;
    let is_same = url.host_str() == base.host_str() && matches!(url.scheme(), "http" | "https") && url.username().is_empty();
    url.set_fragment(None);
    (is_same && url.password().is_none()).then(|| url.into())
}

/// Metadata of a page in JSON (schema.org).
#[derive(Default)]
struct LinkedData {
    title: Option<String>,
    author: Option<String>,
    published: Option<String>,
    modified: Option<String>,
}

impl LinkedData {
    fn of(scripts: &[&str]) -> Self {
        let mut data = Self::default();
        for script in scripts.iter().filter(|script| script.len() <= MAX_LINKED_BYTES) {
            let Ok(value) = serde_json::from_str::<Value>(script.trim()) else { continue };
            let graph = value["@graph"].as_array().map(Vec::as_slice).unwrap_or_default();
            let listed = value.as_array().map(Vec::as_slice).unwrap_or_default();
            for object in std::iter::once(&value).chain(graph).chain(listed).take(MAX_FACTS) {
                data.take(object);
            }
        }
        data
    }

    fn take(&mut self, object: &Value) {
        // Articles are recognised by a date or a headline among all objects that a page describes.
        if !object["datePublished"].is_string() && !object["headline"].is_string() {
            return;
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let author = &object["author"];
        let author = text(&author["name"]).or_else(|| text(&author[0]["name"])).or_else(|| text(author));
        self.title = self.title.take().or_else(|| text(&object["headline"]));
        self.author = self.author.take().or(author);
        self.published = self.published.take().or_else(|| text(&object["datePublished"]));
        self.modified = self.modified.take().or_else(|| text(&object["dateModified"]));
    }
}

/// The treatment of a tag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// Kept; a block, which ends a paragraph.
    Block,
    /// Kept; a block that indents its content.
    Indenting,
    /// Kept; an item, row or cell, which ends the previous one.
    Item,
    /// Kept; within a line.
    Inline,
    /// Kept; within a line, and repeated by a tree builder when left open.
    Formatting,
    /// Kept; never closed.
    Void,
    /// Dropped with its content.
    Hidden,
    /// Dropped; its content stays, separated from the text around it.
    Unknown,
    /// Dropped; its content stays, joined to the text around it, even within a word.
    Through,
}

/// Returns the name and treatment of a tag, known ones by their lower-case name.
fn tag_of(name: &str) -> (&'static str, Tag) {
    const TAGS: [(&str, Tag); 100] = [
        ("a", Tag::Formatting),
        ("abbr", Tag::Inline),
        ("address", Tag::Block),
        ("article", Tag::Block),
        ("aside", Tag::Block),
        ("audio", Tag::Hidden),
        ("b", Tag::Formatting),
        ("bdi", Tag::Through),
        ("bdo", Tag::Through),
        ("big", Tag::Through),
        ("blockquote", Tag::Indenting),
        ("br", Tag::Void),
        ("button", Tag::Hidden),
        ("canvas", Tag::Hidden),
        ("caption", Tag::Item),
        ("cite", Tag::Inline),
        ("code", Tag::Formatting),
        ("data", Tag::Through),
        ("datalist", Tag::Hidden),
        ("dd", Tag::Item),
        ("del", Tag::Inline),
        ("details", Tag::Block),
        ("dfn", Tag::Inline),
        ("dialog", Tag::Hidden),
        ("div", Tag::Block),
        ("dl", Tag::Block),
        ("dt", Tag::Item),
        ("em", Tag::Formatting),
        ("fieldset", Tag::Block),
        ("figcaption", Tag::Block),
        ("figure", Tag::Block),
        ("footer", Tag::Block),
        ("font", Tag::Through),
        ("form", Tag::Unknown),
        ("h1", Tag::Block),
        ("h2", Tag::Block),
        ("h3", Tag::Block),
        ("h4", Tag::Block),
        ("h5", Tag::Block),
        ("h6", Tag::Block),
        ("header", Tag::Block),
        ("hgroup", Tag::Block),
        ("hr", Tag::Void),
        ("i", Tag::Formatting),
        ("iframe", Tag::Hidden),
        ("ins", Tag::Inline),
        ("kbd", Tag::Inline),
        ("label", Tag::Through),
        ("li", Tag::Item),
        ("link", Tag::Void),
        ("main", Tag::Block),
        ("mark", Tag::Inline),
        ("math", Tag::Hidden),
        ("menu", Tag::Indenting),
        ("meta", Tag::Void),
        ("nav", Tag::Block),
        ("nobr", Tag::Through),
        ("noembed", Tag::Hidden),
        ("noframes", Tag::Hidden),
        ("noscript", Tag::Hidden),
        ("object", Tag::Hidden),
        ("ol", Tag::Indenting),
        ("optgroup", Tag::Unknown),
        ("option", Tag::Unknown),
        ("p", Tag::Block),
        ("plaintext", Tag::Unknown),
        ("pre", Tag::Block),
        ("q", Tag::Inline),
        ("s", Tag::Formatting),
        ("samp", Tag::Inline),
        ("script", Tag::Hidden),
        ("section", Tag::Block),
        ("select", Tag::Hidden),
        ("small", Tag::Formatting),
        ("span", Tag::Inline),
        ("strike", Tag::Formatting),
        ("strong", Tag::Formatting),
        ("style", Tag::Hidden),
        ("sub", Tag::Inline),
        ("summary", Tag::Block),
        ("sup", Tag::Inline),
        ("svg", Tag::Hidden),
        ("table", Tag::Indenting),
        ("tbody", Tag::Item),
        ("td", Tag::Item),
        ("template", Tag::Hidden),
        ("textarea", Tag::Hidden),
        ("tfoot", Tag::Item),
        ("th", Tag::Item),
        ("thead", Tag::Item),
        ("time", Tag::Inline),
        ("title", Tag::Hidden),
        ("tr", Tag::Item),
        ("tt", Tag::Formatting),
        ("u", Tag::Formatting),
        ("ul", Tag::Indenting),
        ("var", Tag::Inline),
        ("video", Tag::Hidden),
        ("wbr", Tag::Through),
        ("xmp", Tag::Hidden),
    ];
    TAGS.binary_search_by(|(known, _)| (*known).cmp(name)).map_or(("", Tag::Unknown), |at| TAGS[at])
}

/// Returns the open items that a new one ends, and the tags at which the search for them stops.
fn ends(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match name {
        "li" => (&["li"], &["ul", "ol", "menu", "table"]),
        "dd" | "dt" => (&["dd", "dt"], &["dl", "table"]),
        "td" | "th" => (&["td", "th", "caption"], &["tr", "table"]),
        "tr" => (&["tr", "caption"], &["tbody", "thead", "tfoot", "table"]),
        _ => (&["tbody", "thead", "tfoot", "caption"], &["table"]),
    }
}

/// Attributes by which readability distinguishes an article from its surroundings, and some that Markdown
/// shows.
const ATTRIBUTES: [&str; 12] =
    ["aria-hidden", "class", "datetime", "dir", "hidden", "href", "id", "itemprop", "lang", "rel", "role", "start"];

/// The rewritten page.
#[derive(Default)]
struct Scan<'h> {
    head: String,
    body: String,
    open: Vec<(&'static str, Tag)>,
    elements: usize,
    facts: usize,
    /// JSON metadata of the page.
    linked: Vec<&'h str>,
    canonical: Option<String>,
    /// Date of the first element marked as the date of publication.
    date: Option<String>,
    has_title: bool,
    /// Tags without a closing tag from here on.
    unclosed: HashSet<&'static str>,
}

impl<'h> Scan<'h> {
    fn of(html: &'h str) -> Self {
        let mut scan = Self { body: String::with_capacity(html.len() / 2), ..Self::default() };
        let mut at = 0;
        while let Some(found) = memchr(b'<', &html.as_bytes()[at..]) {
            let here = at + found;
            scan.text(&html[at..here]);
            at = scan.markup(html, here);
        }
        scan.text(&html[at..]);
        while let Some((name, _)) = scan.open.pop() {
            scan.close(name);
        }
        scan
    }

    fn html(&self) -> String {
        format!("<!DOCTYPE html><html><head>{}</head><body>{}</body></html>", self.head, self.body)
    }

    fn text(&mut self, text: &str) {
        if memchr(0, text.as_bytes()).is_none() {
            self.body.push_str(text);
        } else {
            self.body.extend(text.chars().filter(|character| *character != '\0'));
        }
    }

    fn close(&mut self, name: &str) {
        let _ = write!(self.body, "</{name}>");
    }

    /// Reads the markup that begins with the `<` at `here`; returns the position after it.
    fn markup(&mut self, html: &'h str, here: usize) -> usize {
        let rest = &html[here..];
        let after = |needle: &str, from: usize| {
            memmem::find(&rest.as_bytes()[from..], needle.as_bytes()).map_or(html.len(), |at| here + from + at + needle.len())
        };
        match rest.as_bytes().get(1) {
            Some(b'!') if rest.starts_with("<!--") => {
                // `<!-->` and `<!--->` are whole comments.
                if rest[4..].starts_with('>') || rest[4..].starts_with("->") { after(">", 4) } else { after("-->", 4) }
            }
            Some(b'!' | b'?') => after(">", 2),
            Some(b'/') => {
                let end = after(">", 2);
                let name = name_at(&rest[2..]);
                self.end_tag(tag_of(&name).0);
                end
            }
            Some(byte) if byte.is_ascii_alphabetic() => self.start_tag(html, here),
            _ => {
                self.body.push_str("&lt;");
                here + 1
            }
        }
    }

    fn end_tag(&mut self, name: &str) {
        if name.is_empty() {
            return;
        }
        if let Some(at) = self.open.iter().rposition(|(open, _)| *open == name) {
            // A formatting tag closes only itself and inline tags.
            let is_inline = matches!(self.open[at].1, Tag::Formatting | Tag::Inline);
            if is_inline && self.open[at..].iter().any(|(_, tag)| !matches!(tag, Tag::Formatting | Tag::Inline)) {
                return;
            }
            self.close_from(at);
        }
    }

    fn close_from(&mut self, at: usize) {
        while self.open.len() > at {
            if let Some((name, _)) = self.open.pop() {
                self.close(name);
            }
        }
    }

    fn start_tag(&mut self, html: &'h str, here: usize) -> usize {
        let raw_name = name_at(&html[here + 1..]);
        let (name, tag) = tag_of(&raw_name);
        let (attributes, end) = attributes(html, here + 1 + raw_name.len());
        match tag {
            Tag::Unknown => {
                // The space separates the words on both sides.
                self.body.push(' ');
                end
            }
            Tag::Through => end,
            Tag::Hidden => self.hidden(html, name, &attributes, end),
            Tag::Void => {
                self.void(name, &attributes);
                end
            }
            _ => {
                self.begin(name, tag, &attributes);
                end
            }
        }
    }

    /// Skips a tag with its content; returns the position after it.
    fn hidden(&mut self, html: &'h str, name: &'static str, attributes: &Attributes<'_>, from: usize) -> usize {
        let close = if self.unclosed.contains(name) { None } else { find_close(html, from, name) };
        let Some((close, after)) = close else {
            self.unclosed.insert(name);
            // The rest of an unclosed script or style is never text.
            return if matches!(name, "script" | "style") { html.len() } else { from };
        };
        let content = &html[from..close];
        if name == "title" && !std::mem::replace(&mut self.has_title, true) {
            let words = content.replace('<', "&lt;");
            let end = words.floor_char_boundary(words.len().min(2 * MAX_ATTRIBUTE_BYTES));
            let _ = write!(self.head, "<title>{}</title>", &words[..end]);
        } else if name == "script" && attributes.get("type").is_some_and(|kind| kind.eq_ignore_ascii_case("application/ld+json"))
        {
            self.linked.push(content);
        } else {
            self.body.push(' ');
        }
        after
    }

    fn void(&mut self, name: &'static str, attributes: &Attributes<'_>) {
        match name {
            "br" | "hr" if self.elements < MAX_ELEMENTS => {
                self.elements += 1;
                let _ = write!(self.body, "<{name}>");
            }
            "meta" | "link" if self.facts < MAX_FACTS => {
                self.facts += 1;
                let is_canonical =
                    name == "link" && attributes.get("rel").is_some_and(|rel| rel.eq_ignore_ascii_case("canonical"));
                if is_canonical && self.canonical.is_none() {
                    self.canonical = attributes.get("href").map(|href| href.replace("&amp;", "&"));
                }
                if name == "meta" && attributes.get("content").is_some() {
                    self.head.push_str("<meta");
                    for key in ["name", "property", "content"] {
                        if let Some(value) = attributes.get(key) {
                            write_attribute(&mut self.head, key, value);
                        }
                    }
                    self.head.push('>');
                }
                if attributes.get("itemprop") == Some("datePublished") && self.date.is_none() {
                    self.date = attributes.get("content").map(str::to_owned);
                }
            }
            _ => self.body.push(' '),
        }
    }

    fn begin(&mut self, name: &'static str, tag: Tag, attributes: &Attributes<'_>) {
        if name == "time" && self.date.is_none() {
            let is_publication = attributes.get("itemprop") == Some("datePublished") || attributes.has("pubdate");
            self.date = attributes.get("datetime").filter(|_| is_publication).map(str::to_owned);
        }
        if !matches!(tag, Tag::Inline | Tag::Formatting) {
            self.end_paragraph();
        }
        if tag == Tag::Item {
            let (ended, limits) = ends(name);
            let limit = self.open.iter().rposition(|(open, _)| limits.contains(open)).map_or(0, |at| at + 1);
            if let Some(at) = self.open[limit..].iter().position(|(open, _)| ended.contains(open)) {
                self.close_from(limit + at);
            }
        }
        let open_with = |tag: Tag| self.open.iter().filter(|(_, open)| *open == tag).count();
        let is_too_much = self.elements >= MAX_ELEMENTS
            || self.open.len() >= MAX_DEPTH
            || (tag == Tag::Formatting && open_with(Tag::Formatting) >= MAX_FORMATTING)
            || (tag == Tag::Indenting && open_with(Tag::Indenting) >= MAX_INDENTED)
            || (name == "a" && self.open.iter().any(|(open, _)| *open == "a"));
        if is_too_much {
            if !matches!(tag, Tag::Inline | Tag::Formatting) {
                self.body.push('\n');
            }
            return;
        }
        self.elements += 1;
        self.open.push((name, tag));
        let _ = write!(self.body, "<{name}");
        for (key, value) in &attributes.0 {
            if ATTRIBUTES.contains(&key.as_str()) {
                write_attribute(&mut self.body, key, value);
            } else if key == "style" && value.to_ascii_lowercase().replace(' ', "").contains("display:none") {
                self.body.push_str(" style=\"display:none\"");
            }
        }
        self.body.push('>');
    }

    /// Closes the paragraph that a block ends.
    fn end_paragraph(&mut self) {
        let lines = self.open.iter().rev().take_while(|(_, tag)| matches!(tag, Tag::Inline | Tag::Formatting)).count();
        let at = self.open.len() - lines;
        if at > 0 && self.open[at - 1].0 == "p" {
            self.close_from(at - 1);
        }
    }
}

/// Returns the tag name at the beginning of a text, in lower case.
fn name_at(text: &str) -> String {
    let is_end = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    let length = text.bytes().position(is_end).unwrap_or(text.len());
    text[..length].to_ascii_lowercase()
}

/// Attributes of a tag, names in lower case, values as written.
struct Attributes<'h>(Vec<(String, &'h str)>);

impl<'h> Attributes<'h> {
    fn get(&self, name: &str) -> Option<&'h str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim())
    }

    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// Reads attributes from `at` on; returns the position after the tag.
fn attributes(html: &str, mut at: usize) -> (Attributes<'_>, usize) {
    let bytes = html.as_bytes();
    let mut found = Vec::new();
    let is_space = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'/');
    loop {
        while is_space(at) {
            at += 1;
        }
        match bytes.get(at) {
            None => return (Attributes(found), html.len()),
            Some(b'>') => return (Attributes(found), at + 1),
            Some(_) => {}
        }
        let start = at;
        // An attribute name may begin with `=`, which is then part of it.
        at += 1;
        while bytes.get(at).is_some_and(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'=')) {
            at += 1;
        }
        let name = (start, at);
        let mut next = at;
        while bytes.get(next).is_some_and(u8::is_ascii_whitespace) {
            next += 1;
        }
        let mut value = (at, at);
        if bytes.get(next) == Some(&b'=') {
            next += 1;
            while bytes.get(next).is_some_and(u8::is_ascii_whitespace) {
                next += 1;
            }
            (value, at) = match bytes.get(next) {
                Some(quote @ (b'"' | b'\'')) => {
                    let end = memchr(*quote, &bytes[next + 1..]).map_or(html.len(), |found| next + 1 + found);
                    ((next + 1, end), (end + 1).min(html.len()))
                }
                _ => {
                    let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'>';
                    let end = bytes[next..].iter().position(is_end).map_or(html.len(), |found| next + found);
                    ((next, end), end)
                }
            };
        }
        if found.len() < MAX_ATTRIBUTES {
            // Both ends are next to ASCII characters, so they are character boundaries.
            let name = html.get(name.0..name.1).unwrap_or_default().to_ascii_lowercase();
            found.push((name, html.get(value.0..value.1).unwrap_or_default()));
        }
    }
}

fn write_attribute(out: &mut String, name: &str, value: &str) {
    let end = value.floor_char_boundary(value.len().min(MAX_ATTRIBUTE_BYTES));
    let _ = write!(out, " {name}=\"{}\"", value[..end].replace('"', "&quot;"));
}

/// Returns the beginning and end of the closing tag of `name`, from `from` on.
fn find_close(html: &str, from: usize, name: &str) -> Option<(usize, usize)> {
    let bytes = html.as_bytes();
    let mut at = from;
    loop {
        let here = at + memmem::find(&bytes[at..], b"</")?;
        let end = here + 2 + name.len();
        let is_it = bytes.get(here + 2..end).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
            && bytes.get(end).is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'));
        if is_it {
            let after = memchr(b'>', &bytes[here..]).map_or(html.len(), |found| here + found + 1);
            return Some((here, after));
        }
        at = here + 2;
    }
}

#[cfg(test)]
mod tests;
