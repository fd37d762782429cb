//! Markdown of recorded text as markup: raw HTML stays text, images are their descriptions, links lead to http and https only.

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

use super::marker::Marker;

/// Deepest nesting of quotes and lists that is shown as such, and of anything.
const MOST_DEEP: usize = 12;
const MOST_OPEN: usize = 64;
/// Longest name of a language.
const LONGEST_LANGUAGE: usize = 20;

/// Returns Markdown as markup. Headings are bold lines, because the headings of a page are its own.
pub fn markdown(text: &str, marker: &Marker) -> Markup {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer { marker, open: Vec::new(), nested: 0, markup: String::new() };
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    while !writer.open.is_empty() {
        writer.end();
    }
    // Every piece of it was made by `html!`.
    PreEscaped(writer.markup)
}

/// An element that is not closed yet.
struct Open {
    kind: Kind,
    /// The markup before it; empty for [`Kind::Bare`], whose content goes on where it began.
    before: String,
}

enum Kind {
    /// Its content alone.
    Bare,
    Paragraph,
    Heading(HeadingLevel),
    Quote,
    Code(Option<String>),
    List(Option<u64>),
    Item,
    Table,
    TableHead,
    TableRow,
    Cell {
        is_head: bool,
    },
    Emphasis,
    Strong,
    Struck,
    Link(String),
}

struct Writer<'m> {
    marker: &'m Marker,
    open: Vec<Open>,
    /// Number of open quotes, lists and their items.
    nested: usize,
    markup: String,
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Text(words) | Event::Html(words) | Event::InlineHtml(words) => {
                let words = self.marker.mark(&words);
                self.markup.push_str(&words.0);
            }
            Event::Code(words) => {
                let words = self.marker.mark(&words);
                self.push(html! { code { (words) } });
            }
            Event::InlineMath(words) | Event::DisplayMath(words) => self.push(html! { code { (words) } }),
            Event::SoftBreak => self.markup.push('\n'),
            Event::HardBreak => self.push(html! { br; }),
            Event::Rule => self.push(html! { hr; }),
            Event::TaskListMarker(is_done) => self.push(html! { span.task { @if is_done { "☑ " } @else { "☐ " } } }),
            Event::FootnoteReference(name) => self.push(html! { "[" (name) "]" }),
        }
    }

    fn push(&mut self, markup: Markup) {
        self.markup.push_str(&markup.0);
    }

    fn start(&mut self, tag: Tag<'_>) {
        let kind = match tag {
            Tag::Paragraph => Kind::Paragraph,
            Tag::Heading { level, .. } => Kind::Heading(level),
            Tag::BlockQuote(_) => Kind::Quote,
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => Kind::Code(language(&info)),
            Tag::CodeBlock(CodeBlockKind::Indented) => Kind::Code(None),
            Tag::List(first) => Kind::List(first),
            Tag::Item => Kind::Item,
            Tag::Table(_) => Kind::Table,
            Tag::TableHead => Kind::TableHead,
            Tag::TableRow => Kind::TableRow,
            Tag::TableCell => Kind::Cell { is_head: matches!(self.open.last(), Some(Open { kind: Kind::TableHead, .. })) },
            Tag::Emphasis => Kind::Emphasis,
            Tag::Strong => Kind::Strong,
            Tag::Strikethrough => Kind::Struck,
            Tag::Link { dest_url, .. } => outside(&dest_url).map_or(Kind::Bare, Kind::Link),
            // The description of an image is its content.
            _ => Kind::Bare,
        };
        // Nesting that nobody wrote to be read costs nothing.
        let is_nested = matches!(kind, Kind::Quote | Kind::List(_) | Kind::Item);
        let is_deep = is_nested && self.nested >= MOST_DEEP || self.open.len() >= MOST_OPEN;
        let kind = if is_deep { Kind::Bare } else { kind };
        self.nested += usize::from(is_nested && !is_deep);
        let before = if matches!(kind, Kind::Bare) { String::new() } else { std::mem::take(&mut self.markup) };
        self.open.push(Open { kind, before });
    }

    fn end(&mut self) {
        let Some(Open { kind, before }) = self.open.pop() else { return };
        self.nested -= usize::from(matches!(kind, Kind::Quote | Kind::List(_) | Kind::Item));
        if matches!(kind, Kind::Bare) {
            return;
        }
        let inner = PreEscaped(std::mem::replace(&mut self.markup, before));
        self.push(match kind {
            Kind::Bare | Kind::Paragraph => html! { p { (inner) } },
            Kind::Heading(HeadingLevel::H1 | HeadingLevel::H2) => html! { p.heading.large { strong { (inner) } } },
            Kind::Heading(_) => html! { p.heading { strong { (inner) } } },
            Kind::Quote => html! { blockquote.quoted { (inner) } },
            Kind::Code(Some(language)) => {
                html! { pre tabindex="0" { code class={ "language-" (language) } { (inner) } } }
            }
            Kind::Code(None) => html! { pre tabindex="0" { code { (inner) } } },
            Kind::List(None) => html! { ul { (inner) } },
            Kind::List(Some(first)) => html! { ol start=[(first != 1).then_some(first)] { (inner) } },
            Kind::Item => html! { li { (inner) } },
            Kind::Table => html! { div.table tabindex="0" { table { (inner) } } },
            Kind::TableHead => html! { thead { tr { (inner) } } },
            Kind::TableRow => html! { tr { (inner) } },
            Kind::Cell { is_head: true } => html! { th scope="col" { (inner) } },
            Kind::Cell { is_head: false } => html! { td { (inner) } },
            Kind::Emphasis => html! { em { (inner) } },
            Kind::Strong => html! { strong { (inner) } },
            Kind::Struck => html! { s { (inner) } },
            Kind::Link(to) => html! { a href=(to) rel="noreferrer noopener" target="_blank" title=(to) { (inner) } },
        });
    }
}

/// Returns the name of a code block's language, if it is one.
fn language(info: &str) -> Option<String> {
    let name = info.split([' ', ',', '{', ':', '\t']).next()?.to_lowercase();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '#' | '-' | '_');
    (!name.is_empty() && name.len() <= LONGEST_LANGUAGE && name.chars().all(is_name)).then_some(name)
}

/// Returns an address that leads to the web.
pub fn outside(address: &str) -> Option<String> {
    let url = url::Url::parse(address.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then(|| url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> String {
        markdown(text, &Marker::Nothing).0
    }

    #[test]
    fn code_has_the_name_of_its_language() {
        assert_eq!(
            made("```rust,ignore\nlet a = 1 < 2;\n```"),
            "<pre tabindex=\"0\"><code class=\"language-rust\">let a = 1 &lt; 2;\n</code></pre>"
        );
        assert!(made("```\" onclick=x\na\n```").starts_with("<pre tabindex=\"0\"><code>"));
    }

    #[test]
    fn raw_markup_is_text_and_images_are_their_descriptions() {
        let html = made("a <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n![a *cat*](http://x.test/c.png)");
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("c.png"), "{html}");
        assert!(html.contains("&lt;script&gt;") && html.contains("a <em>cat</em>"), "{html}");
    }

    #[test]
    fn links_lead_to_the_web_or_nowhere() {
        let html = made("[a](javascript:alert(1)) [b](data:text/html,x) [c](//x.test) [d](/x) [e](https://x.test/?a=\"b)");
        assert_eq!(html.matches("<a ").count(), 1, "{html}");
        assert!(html.contains("rel=\"noreferrer noopener\"") && !html.contains("javascript"), "{html}");
    }

    #[test]
    fn tables_and_lists_are_what_they_are() {
        let html = made("| a | b |\n|---|--:|\n| 1 | 2 |\n\n3. x\n4. y\n\n- [x] z");
        assert!(html.contains("<thead><tr><th scope=\"col\">a</th>") && html.contains("<td>1</td>"), "{html}");
        assert!(html.contains("<ol start=\"3\"><li>x</li>") && html.contains("☑ "), "{html}");
    }

    #[test]
    fn deep_nesting_and_unclosed_pieces_do_no_harm() {
        let html = made(&format!("{} x", "> ".repeat(5_000)));
        assert!(html.matches("<blockquote").count() <= MOST_DEEP && html.contains('x'), "{}", html.len());
        assert!(made("**a\n```\nb").contains('b'));
    }

    #[test]
    fn words_are_marked_in_code_too() {
        let html = markdown("gull `gull`", &Marker::of_text(Some("gull"))).0;
        assert_eq!(html.matches("<mark>gull</mark>").count(), 2, "{html}");
    }
}
