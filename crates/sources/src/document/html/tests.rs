use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const ARTICLE: &str = r##"<!doctype html><html lang=en><head><title>Tides of the harbour | Tidepool</title>
<meta property="og:title" content="Tides of the harbour">
<meta name=author content="Mira Osei"><link rel=canonical href="/tides?a=1&amp;b=2#top">
<script type="application/ld+json">{"@type":"Article","headline":"Tides","datePublished":"2026-02-03T10:00:00+01:00","author":[{"name":"M. Osei"}]}</script>
<script>if (a<b && c>d) { document.write("<p>not a word</p>"); }</script><style>p > a { color: red }</style></head>
<body><nav><ul><li><a href="/">Home</a><li><a href="/about">About us</a></ul></nav>
<div class="content"><article><h1>Tides of the harbour</h1>
<p>The harbour fills twice a day, and the <b>gauge_reader</b> writes a line each minute, which is more than anybody needs, but
disks are cheap and a missed surge is not. It was built by a retired pilot, who still looks at it in the morning.
<p>The second paragraph is long enough to count as one as well: the level is measured with a float in a pipe, the pipe is cleaned
in spring, and the float is replaced when barnacles, those patient animals, have made it heavy.
<h2 id=setup>Setting up <a class=anchor href="#setup">&#182;</a></h2>
<p>Install <code>tide-gauge</code> first, then call <a href="https://example.org/very/long/address">the calibration page</a>.
Numbers such as a*b*c, and [brackets], stay as they are, and so does 5 &lt; 6, which is true everywhere along this coast.</p>
<pre><code class="language-rust">fn main() {
    let level_mm = read_gauge(1) * 2;
}
</code></pre>
<ul><li>first the float, which must hang free in the pipe<li>then the paper roll, one a month</ul>
<table><tr><th>Hour<th>Level<tr><td>6<td>120</table>
</article></div><footer>All rights reserved <script>ads()</script></footer></body></html>"##;

fn text_of(html: &str) -> String {
    read(html, Some("https://tides.example/page")).text
}

#[test]
fn article_is_taken_with_headings_code_and_lists_and_without_its_surroundings() {
    let page = read(ARTICLE, Some("https://tides.example/page"));
    assert_eq!(page.title.as_deref(), Some("Tides of the harbour"));
    assert_eq!(page.author.as_deref(), Some("Mira Osei"));
    assert_eq!(page.date.as_deref(), Some("2026-02-03T10:00:00+01:00"));
    assert_eq!(page.canonical.as_deref(), Some("https://tides.example/tides?a=1&b=2"));
    let text = page.text;
    for expected in [
        "gauge_reader",
        "## Setting up\n",
        "`tide-gauge`",
        "the calibration page.",
        "a*b*c, and [brackets]",
        "5 < 6",
        "    let level_mm = read_gauge(1) * 2;",
        "```rust",
        "- first the float",
        "- then the paper roll",
        "| 6",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    for unexpected in ["About us", "not a word", "color", "example.org", "rights reserved", "\u{b6}", "ads()"] {
        assert!(!text.contains(unexpected), "{unexpected:?} is in\n{text}");
    }
    let document = cut(&read(ARTICLE, None));
    assert!(document.sections.iter().any(|section| section.heading == ["Setting up"]), "{document:?}");
    assert_eq!(document.title.as_deref(), Some("Tides of the harbour"));
}

#[test]
fn page_without_an_article_gives_all_its_words() {
    let text = text_of("<title>Keys</title><body><h1>Keys</h1><dl><dt>ctrl-a<dd>to the beginning<dt>ctrl-e<dd>to the end</dl>");
    assert!(text.contains("ctrl-a") && text.contains("to the end"), "{text}");
    assert_eq!(text_of("just words, no tags"), "just words, no tags");
    assert_eq!(text_of(""), "");
}

#[test]
fn marked_main_part_wins_over_a_fragment_of_it() {
    let rows: String = (0..80).map(|at| format!("<section><h3>Option --flag-{at}</h3><div>sets it</div></section>")).collect();
    let comment =
        "<p>I like this page a lot, really, it has helped me, and also my cousin, who has a boat, and a dog. </p>".repeat(6);
    let text = text_of(&format!("<body><main><h1>Options</h1>{rows}</main><div class=post>{comment}</div>"));
    assert!(text.contains("### Option --flag-79"), "{text}");
}

#[test]
fn address_of_another_host_is_not_believed() {
    let said =
        |href: &str| read(&format!("<link rel=canonical href='{href}'>words"), Some("https://tides.example/a/b")).canonical;
    assert_eq!(said("../c").as_deref(), Some("https://tides.example/c"));
    assert_eq!(said("https://bank.example/"), None);
    assert_eq!(said("javascript:alert(1)"), None);
    assert_eq!(said("https://ada@tides.example/"), None);
}

#[test]
fn words_at_the_beginning_of_a_line_do_not_become_headings() {
    let text = text_of("<p># not a heading</p><p>1. not a list, snake_case and a\\b</p><p>`tick` and <code>a\\_b</code></p>");
    assert!(text.contains("\\# not a heading"), "{text}");
    assert!(text.contains("snake_case and a\\b"), "{text}");
    assert!(text.contains("`a\\_b`"), "{text}");
}

#[test]
fn tags_are_known_by_their_names() {
    for name in ["a", "blockquote", "h6", "script", "wbr", "xmp", "td", "option"] {
        assert_eq!(tag_of(name).0, name);
    }
    assert!(tag_of("marquee").1 == Tag::Unknown && tag_of("").1 == Tag::Unknown);
    assert_eq!(text_of("one<wbr>word <font color=red>red</font>dish<x-tag>apart"), "oneword reddish apart");
}

#[test]
fn comments_and_hidden_parts_end_where_a_browser_ends_them() {
    assert_eq!(text_of("a<!-- <p>hidden --> b<!-->c<!--->d<?x y?>e"), "a bcde");
    assert_eq!(text_of("a <svg><style></style><text>x</text></svg >b <script>'</scriptx>'</SCRIPT\n>c"), "a b c");
    assert_eq!(text_of("a <button>unclosed words"), "a unclosed words");
    assert_eq!(text_of("x <script>never closed <p>words"), "x");
    assert_eq!(text_of("a < b <3 <"), "a < b <3 <");
    assert_eq!(text_of("<p title='a > b' class=x>words</p"), "words");
}

/// Pages that would cost a plain tree builder minutes or gigabytes.
#[test]
fn pages_made_to_hurt_are_read_in_time() {
    let shapes: Vec<(&str, String)> = vec![
        ("nested divs", "<div>".repeat(500_000)),
        ("nested formatting", "<b><i>".repeat(400_000)),
        (
            "formatting repeated",
            format!(
                "{}{}",
                (0..500).map(|at| format!("<font size={at}><b id={at}>")).collect::<String>(),
                "<p>x".repeat(200_000)
            ),
        ),
        ("nested lists", format!("{}{}", "<ul><li>".repeat(100_000), "word<br>".repeat(100_000))),
        ("nested quotes", format!("{}{}", "<blockquote>".repeat(100_000), "word<p>".repeat(100_000))),
        ("nested tables", "<table><tr><td>".repeat(100_000)),
        ("flat paragraphs", "<p>some words, and some more, of a page</p>".repeat(60_000)),
        ("flat divs", "<div>a<br><br>b</div>".repeat(60_000)),
        ("links", "<a href=x>y</a> ".repeat(100_000)),
        ("open links", "<a href=x>y ".repeat(100_000)),
        ("unclosed comments", "<!-- ".repeat(500_000)),
        ("unclosed scripts", "<button><select><svg>".repeat(200_000)),
        ("open attributes", "<a b=\"".repeat(300_000)),
        ("many attributes", format!("<p {}>x", "a=b ".repeat(500_000))),
        ("lesser signs", "<".repeat(2_000_000)),
        ("close tags", format!("<p>{}", "</div></p></b>".repeat(300_000))),
        ("bare names", "</".repeat(500_000)),
        ("spans", "<p><span>a</span></p>".repeat(30_000)),
        ("nested spans", format!("{}x", "<span>".repeat(300_000))),
        ("cells", format!("<table>{}</table>", "<tr><td>a<td>b<td>c".repeat(15_000))),
        ("list", format!("<ul>{}</ul>", "<li>a word of it, and another".repeat(45_000))),
        ("headings", "<h2>head</h2>x".repeat(25_000)),
        ("backslashes", "<p>\\*_`".repeat(40_000)),
    ];
    for (name, html) in shapes {
        let began = Instant::now();
        let text = text_of(&html);
        let took = began.elapsed();
        eprintln!("{name}: {} bytes, {took:?}, {} bytes of text", html.len(), text.len());
        assert!(text.len() <= html.len() * 4 + 1000, "{name}: {} bytes of text", text.len());
        assert!(took < Duration::from_secs(30), "{name} took {took:?}");
    }
}

fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec![
            "<p>", "</p>", "<div class=\"article\">", "</div>", "<b>", "</b>", "<a href='x'>", "</a>", "<ul>", "<li>", "</ul>", "<table>",
            "<tr>", "<td>", "<th colspan=2>", "</table>", "<pre>", "<code>", "</code>", "</pre>", "<h1>", "</h1>", "<h2>", "<br>", "<br/>",
            "<blockquote>", "</blockquote>", "<main>", "</main>", "<article>", "<section>", "<script>", "</script>", "<svg>", "</svg>",
            "<!--", "-->", "<title>", "</title>", "<meta name=author content=\"x\">", "<template>", "<select><option>", "<noscript>",
            "<img src=x alt=y>", "<span style='display: none'>", "</span>", "<dl><dt>", "<dd>", "<time datetime=2026-01-01 pubdate>",
            "<ol start=3>", "<hr>", "&amp;", "&lt;", "&#0;", "\\", "`", "```", "*", "_", "#", "|", "\n", "\n\n", "\0", "<", ">", "\"",
            "<script type=\"application/ld+json\">{\"datePublished\":\"x\"}</script>",
        ]).prop_map(str::to_owned),
        2 => "[ a-z,.\u{e9}\u{4e2d}]{0,60}",
        1 => ".{0,12}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_soup_of_tags_is_read(html in soup()) {
        cut(&read(&html, Some("https://tides.example/")));
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&String::from_utf8_lossy(&bytes), None);
    }

    #[test]
    fn long_soup_is_read(soup in soup(), times in 1usize..60) {
        read(&soup.repeat(times), None);
    }
}
