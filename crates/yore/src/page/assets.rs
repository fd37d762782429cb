//! Files of the page that are part of the program.

/// The files: name, media type, content.
const FILES: &[(&str, &str, &str)] = &[
    ("page.css", "text/css; charset=utf-8", include_str!("assets/page.css")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("assets/page.js")),
    ("live.js", "text/javascript; charset=utf-8", include_str!("assets/live.js")),
    ("yore.svg", "image/svg+xml", include_str!("assets/yore.svg")),
];

/// Returns the media type and the content of a file.
pub fn find(name: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(known, ..)| *known == name).map(|(_, kind, content)| (*kind, *content))
}
