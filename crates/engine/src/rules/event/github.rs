//! Reads commits, pull requests, issues and releases from commands of `gh` and `git` and from what they print.

use yore_core::event::{EventKind, EventState};

use crate::rules::milestone::option;
use crate::rules::passed_commands::steps;

/// Something that a command did, or that its output shows.
pub(super) struct Told {
    pub kind: EventKind,
    pub state: EventState,
    pub name: String,
    pub text: String,
}

impl Told {
    fn new(kind: EventKind, state: EventState, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { kind, state, name: name.into(), text: text.into() }
    }
}

/// Returns what a command did, if it is sure to have passed, and what its output shows. `input` is the whole input of the call.
pub(super) fn told(command: &str, input: &str, output: &str, has_passed: bool) -> Vec<Told> {
    let mut found = Vec::new();
    if !(command.contains("gh ") || command.contains("git ")) {
        return found;
    }
    for step in steps(command).filter(|_| has_passed) {
        let words: Vec<&str> = step.split_whitespace().collect();
        let number = || words.iter().skip(3).find_map(|word| number_in(word));
        match words.as_slice() {
            ["gh", "pr", "create", ..] => {
                let title = option(input, &["--title ", "-t "]).unwrap_or_default();
                found.extend(
                    address(output, "/pull/").map(|number| Told::new(EventKind::PullRequest, EventState::Opened, number, title)),
                );
            }
            ["gh", "issue", "create", ..] => {
                let title = option(input, &["--title ", "-t "]).unwrap_or_default();
                found.extend(
                    address(output, "/issues/").map(|number| Told::new(EventKind::Issue, EventState::Opened, number, title)),
                );
            }
            ["gh", what @ ("pr" | "issue"), action @ ("merge" | "close" | "reopen"), ..] if !step.contains("--auto") => {
                let kind = if *what == "pr" { EventKind::PullRequest } else { EventKind::Issue };
                let state = match *action {
                    "merge" => EventState::Merged,
                    "close" => EventState::Closed,
                    _ => EventState::Opened,
                };
                found.extend(number().map(|number| Told::new(kind, state, number, "")));
            }
            ["gh", "release", "create", tag, ..] => {
                let title = option(input, &["--title ", "-t "]).unwrap_or_default();
                found.push(Told::new(EventKind::Release, EventState::Done, unquoted(tag), title));
            }
            ["git", "tag", rest @ ..] => {
                let tag = rest.iter().find(|word| !word.starts_with('-') && is_version(unquoted(word)));
                let is_deleted = rest.first().is_some_and(|first| matches!(*first, "-d" | "-l" | "--list"));
                found.extend(
                    tag.filter(|_| !is_deleted).map(|tag| Told::new(EventKind::Release, EventState::Done, unquoted(tag), "")),
                );
            }
            _ => {}
        }
    }
    for line in output.lines() {
        found.extend(commit(line).filter(|_| command.contains("git commit")));
        found.extend(
            merged(line).filter(|_| command.contains("git log") || command.contains("git show") || command.contains("git merge")),
        );
        found.extend(listed(line, command));
    }
    if let Some(viewed) = viewed(command, output) {
        found.push(viewed);
    }
    found
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\''])
}

/// Returns `#12` of `12`, `#12` or an address that ends in `/12`.
fn number_in(word: &str) -> Option<String> {
    let digits = unquoted(word).rsplit(['/', '#']).next()?;
    (!digits.is_empty() && digits.len() < 8 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("#{digits}"))
}

/// Returns the number of the pull request or issue whose address a command printed.
fn address(output: &str, path: &str) -> Option<String> {
    let digits: String = output.split_once(path)?.1.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then(|| format!("#{digits}"))
}

fn is_version(tag: &str) -> bool {
    let number = tag.rsplit('/').next().unwrap_or(tag).trim_start_matches('v');
    number.contains('.') && number.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Returns the commit that Git reports: `[branch 1a2b3c4] subject`.
fn commit(line: &str) -> Option<Told> {
    let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let hash = place.split_whitespace().last()?;
    (is_hash(hash) && place.contains(' ')).then(|| Told::new(EventKind::Commit, EventState::Done, hash, subject))
}

fn is_hash(word: &str) -> bool {
    word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the pull request whose merge a line of a log shows.
fn merged(line: &str) -> Option<Told> {
    let line = line.trim();
    if let Some((_, rest)) = line.split_once("Merge pull request #") {
        let (number, rest) = rest.split_once(" from ")?;
        let branch = rest.split_whitespace().next().unwrap_or_default();
        return Some(Told::new(EventKind::PullRequest, EventState::WasMerged, number_in(number)?, branch));
    }
    // A squashed one: `1a2b3c4 title (#12)`, perhaps with the hashes of its parents.
    let (mut title, number) = line.strip_suffix(')')?.rsplit_once(" (#")?;
    while let Some((_, rest)) = title.split_once(' ').filter(|(hash, _)| is_hash(hash)) {
        title = rest;
    }
    Some(Told::new(EventKind::PullRequest, EventState::WasMerged, number_in(number)?, title))
}

/// Returns the row of a list of `gh`: number, title, branch or labels, state, separated by tabs; of releases title, type, tag.
fn listed(line: &str, command: &str) -> Option<Told> {
    let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
    if command.contains("gh release list") {
        let [title, _, tag, ..] = cells.as_slice() else { return None };
        return is_version(tag).then(|| Told::new(EventKind::Release, EventState::Done, *tag, *title));
    }
    let kind = match () {
        () if command.contains("gh pr list") => EventKind::PullRequest,
        () if command.contains("gh issue list") => EventKind::Issue,
        () => return None,
    };
    let [number, title, rest @ ..] = cells.as_slice() else { return None };
    let is_state = |cell: &&&str| matches!(**cell, "OPEN" | "MERGED" | "CLOSED" | "DRAFT");
    let state = state_of(rest.iter().find(is_state)?);
    Some(Told::new(kind, state, number_in(number)?, *title))
}

fn state_of(name: &str) -> EventState {
    match name.to_ascii_uppercase().as_str() {
        "MERGED" => EventState::WasMerged,
        "CLOSED" => EventState::WasClosed,
        "OPEN" | "DRAFT" => EventState::WasOpen,
        _ => EventState::Seen,
    }
}

/// Returns the pull request or issue that `gh pr view` shows, as lines (`title:` and a tab) or as JSON.
fn viewed(command: &str, output: &str) -> Option<Told> {
    let kind = match () {
        () if command.contains("gh pr view") => EventKind::PullRequest,
        () if command.contains("gh issue view") => EventKind::Issue,
        () => return None,
    };
    let asked = command.split(if kind == EventKind::PullRequest { "gh pr view" } else { "gh issue view" }).nth(1);
    let asked = asked.and_then(|rest| rest.split_whitespace().next()).and_then(number_in);
    let json: Option<serde_json::Value> = output.find('{').and_then(|start| serde_json::from_str(output[start..].trim()).ok());
    let line = |name: &str| output.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(":\t")?.trim().to_owned()));
    let field = |name: &str| match &json {
        Some(json) => json.get(name)?.as_str().map(str::to_owned),
        None => line(name),
    };
    let number = json.as_ref().and_then(|json| json.get("number")?.as_u64()).map(|number| format!("#{number}"));
    let number = number.or_else(|| line("number").as_deref().and_then(number_in)).or(asked)?;
    let state = field("state").map_or(EventState::Seen, |state| state_of(&state));
    Some(Told::new(kind, state, number, field("title").unwrap_or_default()))
}

/// Returns the pull requests whose number, state and address stand in the JSON that a tool shows, even if it is torn.
pub(super) fn shown(output: &str) -> Vec<Told> {
    let start = output.find(['{', '[']).unwrap_or(output.len());
    let mut found = Vec::new();
    match serde_json::Deserializer::from_str(&output[start..]).into_iter().next() {
        Some(Ok(json)) => shown_in(&json, &mut found),
        _ => found.extend(shown_in_torn(output)),
    }
    found
}

/// Adds the pull requests that a JSON value has anywhere.
fn shown_in(json: &serde_json::Value, found: &mut Vec<Told>) {
    match json {
        serde_json::Value::Array(items) => items.iter().for_each(|item| shown_in(item, found)),
        serde_json::Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(|value| value.as_str());
            let addresses = ["html_url", "url"].into_iter().filter_map(text);
            let number = fields.get("number").and_then(serde_json::Value::as_u64);
            let is_pull = |number: u64| {
                let ends = [format!("/pull/{number}"), format!("/pulls/{number}")];
                addresses.clone().any(|address| ends.iter().any(|end| address.ends_with(end)))
            };
            if let (Some(number), Some(state)) = (number.filter(|number| is_pull(*number)), text("state")) {
                let is_merged = fields.get("merged").and_then(serde_json::Value::as_bool) == Some(true)
                    || ["merged_at", "mergedAt"].into_iter().any(|name| text(name).is_some());
                let state = if is_merged { EventState::WasMerged } else { state_of(state) };
                found.push(Told::new(EventKind::PullRequest, state, format!("#{number}"), text("title").unwrap_or_default()));
            }
            fields.values().for_each(|value| shown_in(value, found));
        }
        _ => {}
    }
}

/// Returns the pull requests of JSON that is torn: each by the fields that follow its number in the same object.
fn shown_in_torn(output: &str) -> Vec<Told> {
    let mut found = Vec::new();
    for (at, _) in output.match_indices(NUMBER).take(MOST_SHOWN) {
        let own = rest_of_object(&output[at + NUMBER.len()..]);
        let digits: String = own.trim_start().chars().take_while(char::is_ascii_digit).collect();
        let is_addressed = !digits.is_empty() && output.contains(&format!("/pull/{digits}\""));
        let text = |name: &str| {
            let (_, value) = own.split_once(&format!("\"{name}\":"))?;
            value.trim_start().strip_prefix('"')?.split('"').next()
        };
        let Some(state) = text("state").filter(|_| is_addressed) else { continue };
        let merged = own.split_once("\"merged\":").map(|(_, value)| value.trim_start().starts_with("true"));
        let state = match (merged, state_of(state)) {
            (Some(true), _) => EventState::WasMerged,
            // The field that says whether it was merged may stand before its number.
            (None, EventState::WasClosed) => continue,
            (_, state) => state,
        };
        found.push(Told::new(EventKind::PullRequest, state, format!("#{digits}"), ""));
    }
    found
}

/// Returns the text up to the end of the JSON object in which it begins; all of it if that is torn off.
fn rest_of_object(text: &str) -> &str {
    let (mut depth, mut is_text, mut is_escaped) = (0usize, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_text,
            '"' => is_text = !is_text,
            '{' if !is_text => depth += 1,
            '}' if !is_text && depth == 0 => return &text[..at],
            '}' if !is_text => depth -= 1,
            _ => {}
        }
    }
    text
}

/// Name of the field that begins a pull request's own part of JSON.
const NUMBER: &str = "\"number\":";
/// Most numbers that are looked at.
const MOST_SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(command: &str, output: &str) -> Vec<String> {
        let told = told(command, command, output, true);
        told.into_iter().map(|known| format!("{} {} {}", known.name, known.state.as_str(), known.text)).collect()
    }

    #[test]
    fn what_commands_print_is_read_with_its_state() {
        assert_eq!(names("gh pr merge 41 --squash", ""), ["#41 merged "]);
        assert_eq!(names("gh pr list", "41\tDraw the map\tmap\tOPEN\t2026"), ["#41 was_open Draw the map"]);
        assert_eq!(
            names("gh pr view 41 --json state", r#"{"number": 41, "state": "CLOSED", "title": "Map"}"#),
            ["#41 was_closed Map"]
        );
        assert_eq!(
            names("git log --oneline", "1a2b3c4 Draw the map (#41)\n2b3c4d5 Merge pull request #40 from acme/tide"),
            ["#41 was_merged Draw the map", "#40 was_merged acme/tide"]
        );
        assert_eq!(names("git tag v1.2.0 && git tag -d v1.1.0", ""), ["v1.2.0 done "]);
        assert_eq!(names("cat pr.txt", "41\tDraw the map\tmap\tOPEN"), [""; 0]);
    }

    fn shown_names(output: &str) -> Vec<String> {
        shown(output).into_iter().map(|known| format!("{} {} {}", known.name, known.state.as_str(), known.text)).collect()
    }

    #[test]
    fn pull_requests_in_json_have_their_state() {
        let output = r#"Output: {"pr41": {"url": "https://github.com/acme/tide/pull/41", "number": 41, "state": "closed",
            "milestone": {"number": 3, "state": "open", "title": "May"}, "merged": true, "title": "Draw the \"map\""},
            "list": [{"html_url": "https://github.com/acme/tide/pull/42", "merged_at": null, "number": 42, "state": "closed", "title": "Fold {it}"},
            {"html_url": "https://github.com/acme/tide/pull/43", "merged_at": "2026-07-01T10:00:00Z", "number": 43, "state": "closed"}],
            "issue": {"url": "https://github.com/acme/tide/issues/7", "number": 7, "state": "open"}}"#;
        assert_eq!(shown_names(output), ["#41 was_merged Draw the \"map\"", "#42 was_closed Fold {it}", "#43 was_merged "]);
    }

    #[test]
    fn pull_requests_in_torn_json_have_their_state_if_that_is_sure() {
        let output = r#"[{"merged": true, "number": 61, "state": "closed", "url": "https://github.com/acme/tide/pull/61"},
            {"number": 62, "state": "closed", "merged": false, "title": "Fold it", "url": "https://github.com/acme/tide/pull/62"},
            {"number": 63, "state": "open", "url": "https://github.com/acme/tide/pull/63", "tit"#;
        assert_eq!(shown_names(output), ["#62 was_closed ", "#63 was_open "]);
    }

    proptest! {
        #[test]
        fn any_output_is_read_without_panic(
            command in "(gh (pr|issue|release) (view|list|merge|create) |git (log|commit|tag) |&& |[a-z\"' 0-9#]{0,8}){0,5}",
            output in "([0-9]{1,3}\t|\\[main [0-9a-f]{7}\\] |Merge pull request #|\\(#|\\)|\\{\"number\": |/pull/|OPEN|\n|\\PC){0,20}",
        ) {
            names(&command, &output);
            shown(&output);
        }
    }
}
