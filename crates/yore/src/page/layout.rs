//! The document around every view: head, navigation, content policy; and the documents outside of the memory.

use maud::{DOCTYPE, Markup, html};

use super::view::Content;
use crate::error::CliError;

/// Views in the navigation: path, name, and the key that opens it after `g`.
pub const NAVIGATION: [(&str, &str, &str); 12] = [
    ("", "Search", "f"),
    ("sessions", "Sessions", "s"),
    ("memories", "Memories", "m"),
    ("inbox", "Inbox", "i"),
    ("receipts", "Receipts", "r"),
    ("categories", "Categories", "c"),
    ("insights", "Insights", "n"),
    ("projects", "Projects", "p"),
    ("team", "Team", "t"),
    ("cost", "Cost", "k"),
    ("health", "Health", "h"),
    ("settings", "Settings", "e"),
];

/// The policy of a document without scripts.
pub const NO_SCRIPTS: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the content policy of a document whose scripts and styles carry a nonce.
pub fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src 'self'; base-uri 'self'; \
form-action 'self'; frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; trusted-types yore"
    )
}

/// The parts of the document around a view.
pub struct Around<'a> {
    /// Path of the page, without a slash at the end.
    pub base: &'a str,
    /// The token of changes.
    pub csrf: &'a str,
    /// The nonce of scripts and styles.
    pub nonce: &'a str,
    /// Path of the view, as it stands in the table.
    pub view: &'a str,
    /// The whole path that was asked for.
    pub path: &'a str,
    /// The query.
    pub query: &'a str,
}

/// Returns the whole document of a view.
pub fn whole(around: &Around<'_>, content: &Content) -> Markup {
    let current = around.view.trim_start_matches('/').split('/').next().unwrap_or_default();
    let current = match current {
        "session" | "turn" | "topics" => "sessions",
        "deepen" => "",
        "timeline" | "entities" | "log" | "forget" => "memories",
        other => other,
    };
    let head = html! {
        meta name="yore-csrf" content=(around.csrf);
        base href={ (around.base) "/" };
        link rel="icon" href="assets/yore.svg" type="image/svg+xml";
        link rel="stylesheet" href="assets/page.css" nonce=(around.nonce);
        script type="module" src="assets/page.js" nonce=(around.nonce) {}
    };
    let body = html! {
        a.skip href={ (around.path) @if !around.query.is_empty() { "?" (around.query) } "#main" } { "Skip to the content" }
        header.top {
            a.brand href="" { "yore" }
            nav aria-label="Views" {
                ul {
                    @for (path, name, key) in NAVIGATION {
                        li {
                            a href={ @if path.is_empty() { "./" } @else { (path) } } data-key=(key)
                                aria-current=[(path == current).then_some("page")] { (name) }
                        }
                    }
                }
            }
        }
        main #main tabindex="-1" data-live=[live(current)] { (content.body) }
        div #news role="status" aria-live="polite" {}
        div #said role="status" aria-live="polite" {}
    };
    document(&format!("{} · yore", content.title), head, body)
}

/// Returns the events that change what a view shows; the page offers to show it anew when one happens.
fn live(current: &str) -> Option<&'static str> {
    match current {
        "" | "sessions" => Some("captured"),
        "health" => Some("captured upkeep"),
        _ => None,
    }
}

/// Returns the content that shows an error.
pub fn error(error: &CliError) -> Content {
    let body = html! {
        section.empty {
            h1 { "That did not work" }
            p { (error.message) }
            @if let Some(hint) = &error.hint { p { (hint) } }
            p.quiet { "Code: " code { (error.code) } }
        }
    };
    Content::new("Error", body)
}

/// Returns the document at `/`, for whoever has no link.
pub fn landing(why: Option<&str>) -> Markup {
    outside(html! {
        h1 { "yore" }
        @if let Some(why) = why { p { (why) } }
        p { "This is the memory of your coding agents. To open it, enter " code { "yore page" } " in a terminal." }
    })
}

/// Returns the document for a path at which there is nothing.
pub fn nothing(base: &str) -> Markup {
    outside(html! {
        h1 { "There is nothing at this address" }
        p { a href={ (base) "/" } { "To the beginning" } }
    })
}

/// Returns the document that goes on to the page.
pub fn entering(target: &str) -> Markup {
    document(
        "yore",
        html! { meta http-equiv="refresh" content={ "0;url=" (target) }; },
        html! { main { p { a href=(target) { "Open the page" } } } },
    )
}

fn outside(body: Markup) -> Markup {
    document("yore", Markup::default(), html! { main { (body) } })
}

/// Returns a document with a title and what else its head has.
fn document(title: &str, head: Markup, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                (head)
                title { (title) }
            }
            body { (body) }
        }
    }
}
