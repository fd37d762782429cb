//! Cuts Markdown into a section for each heading; long sections are cut between blocks.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::Document;
use super::blocks::{Place, Sections, TOP, pieces_of};

/// Longer sections are cut between blocks.
const SECTION_BYTES: usize = 2_000;

/// A block at the top level of the text.
enum Block {
    Heading { level: HeadingLevel, words: String },
    Front(String),
    Other { fence: Option<String> },
}

/// Cuts at headings. The title is that of the front matter, else the first heading of the first level.
pub fn cut(text: &str) -> Document {
    let blocks = blocks(text);
    let mut sections = Sections::new(text);
    let mut title = None;
    let mut headings: Vec<(HeadingLevel, String)> = Vec::new();
    let mut at = 0;
    while at <= blocks.len() {
        // The heading, if the block is one, and the blocks up to the next heading.
        let (heading, first) = match blocks.get(at) {
            Some((range, Block::Heading { level, words })) => (Some((range.clone(), *level, words)), at + 1),
            Some(_) => (None, at),
            None => break,
        };
        let next = (first..blocks.len()).find(|at| matches!(blocks[*at].1, Block::Heading { .. })).unwrap_or(blocks.len());
        let mut from = None;
        let body_start = match heading {
            Some((range, level, words)) => {
                while headings.last().is_some_and(|(above, _)| *above >= level) {
                    headings.pop();
                }
                headings.push((level, words.clone()));
                if level == HeadingLevel::H1 {
                    title = title.or_else(|| Some(words.clone()).filter(|words| !words.is_empty()));
                }
                from = Some(range.start);
                range.end
            }
            None => 0,
        };
        for (_, block) in &blocks[first..next] {
            if let Block::Front(front) = block {
                title = front_title(front).or(title);
            }
        }
        let body_end = blocks.get(next).map_or(text.len(), |(range, _)| range.start).max(body_start);
        // Text that the parser skips, such as link definitions, belongs to the block before it.
        let mut starts: Vec<usize> = vec![body_start];
        starts.extend(blocks[first..next].iter().skip(1).map(|(range, _)| range.start).filter(|start| *start > body_start));
        starts.dedup();
        let ends = starts.iter().skip(1).copied().chain([body_end]);
        let parts: Vec<Range<usize>> = starts.iter().copied().zip(ends).map(|(start, end)| start..end.max(start)).collect();
        let path: Vec<String> = headings.iter().map(|(_, words)| words.clone()).collect();
        let pieces = pieces_of(text, &parts, SECTION_BYTES);
        let top = [TOP.to_owned()];
        let key = if path.is_empty() { &top[..] } else { &path };
        sections.add(Place { path: key, heading: &path, from }, &pieces, |piece| {
            blocks[first..next].iter().find_map(|(range, block)| match block {
                Block::Other { fence } if piece.contains(&range.start) => fence.clone(),
                _ => None,
            })
        });
        at = next.max(at + 1);
    }
    if sections.is_empty() && !blocks.is_empty() {
        // The text has nothing but headings.
        let whole = std::iter::once(0..text.len()).collect::<Vec<_>>();
        let pieces = pieces_of(text, &whole, SECTION_BYTES);
        sections.add(Place { path: &[TOP.to_owned()], heading: &[], from: None }, &pieces, |_| None);
    }
    sections.into_document(title, Some("markdown"))
}

/// Returns the blocks of the top level, in order.
fn blocks(text: &str) -> Vec<(Range<usize>, Block)> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut found: Vec<(Range<usize>, Block)> = Vec::new();
    let mut depth = 0usize;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let block = match tag {
                        Tag::Heading { level, .. } => Block::Heading { level, words: String::new() },
                        Tag::MetadataBlock(_) => Block::Front(String::new()),
                        Tag::CodeBlock(CodeBlockKind::Fenced(info)) => Block::Other { fence: fence_language(&info) },
                        _ => Block::Other { fence: None },
                    };
                    found.push((range, block));
                }
                depth += 1;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                if depth == 0
                    && matches!(end, TagEnd::Heading(_))
                    && let Some((_, Block::Heading { words, .. })) = found.last_mut()
                {
                    *words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                }
            }
            Event::Text(words) | Event::Code(words) if depth > 0 => {
                if let Some((_, Block::Heading { words: into, .. } | Block::Front(into))) = found.last_mut() {
                    into.push_str(&words);
                }
            }
            Event::SoftBreak | Event::HardBreak if depth > 0 => {
                if let Some((_, Block::Heading { words, .. })) = found.last_mut() {
                    words.push(' ');
                }
            }
            _ if depth == 0 => found.push((range, Block::Other { fence: None })),
            _ => {}
        }
    }
    found
}

/// Returns `rust` for `rust,ignore`.
fn fence_language(info: &str) -> Option<String> {
    let word = info.split(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | ':')).find(|word| !word.is_empty())?;
    (word.len() <= 32).then(|| word.to_ascii_lowercase())
}

/// Returns the value of `title` in YAML or TOML, if it is on one line.
fn front_title(front: &str) -> Option<String> {
    front.lines().find_map(|line| {
        let rest = line.strip_prefix("title")?.trim_start();
        let value = rest.strip_prefix([':', '='])?.trim();
        let bare = value.trim_matches(|c| matches!(c, '"' | '\'')).trim();
        (!bare.is_empty() && !matches!(bare, "|" | ">" | "|-" | ">-")).then(|| bare.to_owned())
    })
}
