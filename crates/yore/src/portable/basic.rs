//! Converts notes of basic-memory to memories. They are Markdown with front matter, observations (`- [decision] ... #tag
//! (context)`) and relations (`- implements [[Search]] (context)`).

use std::path::Path;

use yore_core::memory::{MemoryKind, SourceKind};
use yore_engine::{GivenEntity, GivenRecords, GivenRelation, NewMemory};
use yore_sources::document::statements::statements;

use super::common::{Home, by_agent, short, title};
use super::front;

/// Categories that are kinds of memories under another name.
const CATEGORIES: [(&str, MemoryKind); 10] = [
    ("requirement", MemoryKind::Standard),
    ("rule", MemoryKind::Standard),
    ("technique", MemoryKind::Pattern),
    ("method", MemoryKind::Pattern),
    ("issue", MemoryKind::Problem),
    ("bug", MemoryKind::Problem),
    ("fix", MemoryKind::Solution),
    ("tip", MemoryKind::Insight),
    ("idea", MemoryKind::Insight),
    ("tech", MemoryKind::Fact),
];

/// Returns whether a text is such a note.
pub fn is_one(text: &str) -> bool {
    let about = front::value(text);
    let has_marks = || text.lines().any(|line| observation(line.trim()).is_some() || relation(line.trim()).is_some());
    about["permalink"].is_string() || about["title"].is_string() && about["type"].is_string() && has_marks()
}

/// Reads a note.
pub fn read(path: &Path, text: &str, home: &Home) -> GivenRecords {
    let place = path.to_string_lossy().into_owned();
    let about = front::value(text);
    let lines: Vec<&str> = text.lines().collect();
    let named = |name: &str| about[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = named("title").unwrap_or(&stem).to_owned();
    let own_tags = front::strings(&about["tags"]);
    let kind = named("type").filter(|kind| *kind != "note").unwrap_or("concept").to_owned();
    let mut records = GivenRecords { whole: vec![place.clone()], ..GivenRecords::default() };
    records.entities.push(GivenEntity { kind, name: name.clone(), aliases: Vec::new(), description: None });
    for said in statements(text) {
        let is_item = lines.get(said.line as usize - 1).is_some_and(|line| line.trim_start().starts_with("- "));
        let item = if is_item { format!("- {}", said.text) } else { String::new() };
        if let Some((relation, to)) = relation(&item) {
            records.relations.push(GivenRelation { from: name.clone(), name: relation, to });
            continue;
        }
        for to in links(&said.text) {
            records.relations.push(GivenRelation { from: name.clone(), name: "relates_to".to_owned(), to });
        }
        let (kind, words, mut tags) = match observation(&item) {
            Some((category, words)) => {
                let known = CATEGORIES.iter().find(|(name, _)| *name == category).map(|(_, kind)| *kind);
                let kind = MemoryKind::parse(&category).or(known).unwrap_or(MemoryKind::Observation);
                let (words, mut tags) = without_tags(&words);
                tags.push(category);
                (kind, words, tags)
            }
            None => (MemoryKind::Documentation, said.text.clone(), Vec::new()),
        };
        tags.extend(own_tags.iter().cloned());
        let (statement, mut details) = short(&words);
        let mut new = NewMemory::new(kind, statement);
        details.extend(said.code);
        new.memory.details = Some(details.join("\n\n")).filter(|details| !details.is_empty());
        let mut headings = said.headings.clone();
        headings.retain(|heading| heading != "Observations" && *heading != name);
        headings.insert(0, name.clone());
        new.memory.title = title(&headings);
        new.memory.tags = tags;
        by_agent(&mut new);
        new.memory.source.kind = SourceKind::Import;
        new.memory.source.place = Some(format!("{place}:{}", said.line));
        new.entities = vec![name.clone()];
        records.memories.push(home.takes(new));
    }
    records
}

/// Returns category and words of `- [category] words`; a box to tick is none.
fn observation(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("- [")?;
    let (category, words) = rest.split_once(']')?;
    let is_category = category.chars().all(|letter| letter.is_alphanumeric() || "_- ".contains(letter));
    let category = category.trim().to_lowercase();
    let is_box = category.is_empty() || category == "x";
    (is_category && !is_box && words.starts_with(' ')).then(|| (category, words.trim().to_owned()))
}

/// Returns name and target of `- name [[Target]]`.
fn relation(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("- ")?;
    let (name, rest) = rest.split_once("[[")?;
    let (target, _) = rest.split_once("]]")?;
    let name = name.trim().trim_matches('"').to_owned();
    let is_name = name.split_whitespace().count() <= 4 && !name.starts_with('[') && !target.trim().is_empty();
    let name = if name.is_empty() { "relates_to".to_owned() } else { name };
    is_name.then(|| (name, target.trim().to_owned()))
}

/// Returns the targets of `[[Target]]` and `[[Target|words]]`.
fn links(text: &str) -> Vec<String> {
    let parts = text.split("[[").skip(1).filter_map(|part| part.split_once("]]"));
    parts
        .map(|(target, _)| target.split('|').next().unwrap_or_default().trim().to_owned())
        .filter(|target| !target.is_empty())
        .collect()
}

/// Removes `#tags` at the end of words, and returns them.
fn without_tags(words: &str) -> (String, Vec<String>) {
    let is_tag = |word: &&str| word.len() > 1 && word.starts_with('#') && !word[1..].starts_with('#');
    let tags = words.split_whitespace().filter(is_tag).map(|tag| tag[1..].trim_end_matches([',', '.']).to_owned()).collect();
    (words.split_whitespace().filter(|word| !is_tag(word)).collect::<Vec<_>>().join(" "), tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "---\ntitle: Search Design\ntype: note\npermalink: specs/search\ntags: [spec, search]\n---\n# Search Design\n\nIt finds words, see [[Index|the index]].\n\n## Observations\n- [decision] SQLite holds the words #storage (since May)\n- [mood] Nobody liked it\n- [ ] a box\n\n## Relations\n- implements [[Search]] (v2)\n- [[Tide]]\n";

    #[test]
    fn observations_and_relations_of_a_note_are_read() {
        assert!(is_one(NOTE) && !is_one("# Rules\n- [ ] do it\n") && !is_one("---\ntitle: x\n---\ntext"));
        let read = read(Path::new("specs/search.md"), NOTE, &Home::Everywhere);
        let told: Vec<(MemoryKind, &str, Vec<String>)> =
            read.memories.iter().map(|new| (new.memory.kind, new.memory.statement.as_str(), new.memory.tags.clone())).collect();
        let tags = |names: &[&str]| names.iter().chain(&["spec", "search"]).map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            told,
            [
                (MemoryKind::Documentation, "It finds words, see [[Index|the index]].", tags(&[])),
                (MemoryKind::Decision, "SQLite holds the words (since May)", tags(&["storage", "decision"])),
                (MemoryKind::Observation, "Nobody liked it", tags(&["mood"])),
                (MemoryKind::Documentation, "a box", tags(&[])),
            ]
        );
        let relations: Vec<(&str, &str)> = read.relations.iter().map(|found| (found.name.as_str(), found.to.as_str())).collect();
        assert_eq!(relations, [("relates_to", "Index"), ("implements", "Search"), ("relates_to", "Tide")]);
        assert_eq!((read.entities[0].name.as_str(), read.entities[0].kind.as_str()), ("Search Design", "concept"));
        assert_eq!(read.memories[1].memory.title.as_deref(), Some("Search Design"));
    }
}
