//! One memory: its words, evidence, history, relations and uses, and the buttons that change it.

use maud::{Markup, html};
use serde_json::{Value, json};
use yore_core::memory::Confidence;

use super::forms::{act, opener, plain, select};
use super::graph::{self, Neighbour};
use super::operations;
use super::parts::{self, segment};
use super::view::{Content, Input, Row};
use crate::api::calls::changes;
use crate::api::calls::entities::{self, Follow};
use crate::api::calls::memories::{self as calls, Id};
use crate::api::route::Caller;
use crate::error::CliResult;
use crate::results::{ChangedThing, ConflictRecord, MemoryRecord, MemoryRelation, OperationRecord, ReachedNode};

/// Most operations that are shown with a memory.
const OPERATIONS: usize = 12;
/// Most steps of a chain of replacements, in each direction.
const CHAIN: usize = 5;
/// Relations by which one memory takes the place of another, read from the later one and from the earlier one.
const LATER: &str = "supersedes";
const EARLIER: &str = "superseded_by";

/// Returns the views.
pub fn views() -> Vec<Row> {
    vec![Row { path: "/memories/{id}", view: one }]
}

/// All that the view of a memory shows.
struct Shown {
    memory: MemoryRecord,
    conflicts: Vec<ConflictRecord>,
    chain: Vec<ReachedNode>,
    code: Vec<ChangedThing>,
    operations: Vec<OperationRecord>,
    has_more: bool,
}

fn one(caller: &mut Caller<'_>, input: &Input) -> CliResult<Content> {
    let memory = calls::open(caller, input.read::<Id>()?)?;
    let id = || Id { id: memory.id.clone() };
    let is_replacing = memory.relations.iter().any(|relation| [LATER, EARLIER].contains(&relation.name.as_str()));
    let chain = if is_replacing {
        let name = vec![LATER.to_owned()];
        let follow = Follow { from: memory.id.clone(), depth: Some(CHAIN), limit: Some(20), name, min_weight: None };
        entities::follow(caller, follow)?
    } else {
        Vec::new()
    };
    let list = changes::List { memory: Some(memory.id.clone()), limit: Some(OPERATIONS), after: None };
    let listed = changes::list(caller, list)?;
    let operations = listed
        .items
        .into_iter()
        .map(|operation| operations::opened(caller, operation))
        .collect::<CliResult<Vec<OperationRecord>>>()?;
    let shown = Shown {
        conflicts: calls::conflicts_of(caller, id())?,
        chain,
        code: if memory.anchors.is_empty() { Vec::new() } else { calls::code(caller, id())? },
        operations,
        has_more: listed.next.is_some(),
        memory,
    };
    Ok(Content::new(shown.memory.title.clone().unwrap_or_else(|| "A memory".to_owned()), whole(&shown)))
}

fn whole(shown: &Shown) -> Markup {
    let memory = &shown.memory;
    html! {
        h1 { @if let Some(title) = &memory.title { (title) } @else { (in_words(&memory.kind)) } }
        p.meta { (standing(memory)) }
        p.statement.large { (memory.statement) }
        @if let Some(details) = &memory.details { p.said.words { (details) } }
        (fields(&memory.fields))
        @if !memory.tags.is_empty() {
            p.chips { @for tag in &memory.tags { a.chip href={ "memories?tag=" (segment(tag)) } { "#" (tag) } } }
        }
        (buttons(memory))
        @if !shown.conflicts.is_empty() { (conflicts(memory, &shown.conflicts)) }
        div.columns {
            div {
                (evidence(memory))
                (chain(memory, &shown.chain))
                (neighbourhood(memory))
                (history(shown))
            }
            div { (facts(memory, &shown.code)) }
        }
    }
}

/// Returns the name of a kind, a status or a field, as it is read.
fn in_words(name: &str) -> String {
    let mut letters = name.replace('_', " ");
    if let Some(first) = letters.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    letters
}

/// Says whether a memory holds, and since when.
fn standing(memory: &MemoryRecord) -> Markup {
    let status = match memory.status.as_str() {
        "holds" => "Holds",
        "superseded" => "No longer holds: another one took its place",
        "invalidated" => "Was wrong",
        "contested" => "Contested: another one contradicts it",
        "archived" => "Put away",
        "proposed" => "Waits for your review",
        other => other,
    };
    html! {
        @if memory.title.is_some() { span.kind { (memory.kind.replace('_', " ")) } }
        span.mark.warn[memory.status != "holds"] { (status) }
        @if let Some(cause) = &memory.cause { span { "because " (cause) } }
        @if memory.valid_from.is_some() { span { "true since " (parts::day(memory.valid_from.as_deref())) } }
        @else { span { "said " (parts::day(memory.recorded.as_deref())) } }
        @if memory.valid_until.is_some() { span { "until " (parts::day(memory.valid_until.as_deref())) } }
        @match (&memory.project, &memory.reach) {
            (Some(project), _) => a.project href={ "memories?project=" (segment(project)) } { (project) },
            (None, None) => span.project { "everywhere" },
            (None, Some(_)) => span.project { "of no known project" },
        }
        @if memory.pinned { span.mark { "pinned" } }
    }
}

/// Returns the fields of its kind, such as the reason of a decision.
fn fields(fields: &Value) -> Markup {
    let given: Vec<(&String, &Value)> =
        fields.as_object().into_iter().flatten().filter(|(_, value)| has_content(value)).collect();
    html! {
        @if !given.is_empty() {
            dl { @for (name, value) in given { dt { (in_words(name)) } dd { (field(value)) } } }
        }
    }
}

fn has_content(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        _ => true,
    }
}

fn field(value: &Value) -> Markup {
    html! {
        @match value {
            Value::String(text) => span.said.words { (text) },
            Value::Array(values) => ul { @for value in values { li { (field(value)) } } },
            Value::Object(members) => {
                @for (name, value) in members.iter().filter(|(_, value)| has_content(value)) {
                    @if ["before", "after"].contains(&name.as_str()) {
                        p.quiet { (in_words(name)) }
                        pre.wrapped tabindex="0" { (value.as_str().unwrap_or_default()) }
                    } @else {
                        div { span.quiet { (in_words(name)) ": " } (field(value)) }
                    }
                }
            },
            Value::Bool(is_so) => (if *is_so { "yes" } else { "no" }),
            other => (other),
        }
    }
}

fn buttons(memory: &MemoryRecord) -> Markup {
    let path = |verb: &str| format!("memories/{}/{verb}", memory.id);
    let is_archived = memory.status == "archived";
    let confidences = plain(Confidence::ALL.iter().map(|confidence| confidence.as_str()));
    html! {
        section.change aria-label="Change it" {
            div.actions {
                (act("Confirm", "c", &path("confirm"), &json!({})))
                @if memory.pinned { (act("Unpin", "p", &path("pin"), &json!({"on": false}))) }
                @else { (act("Pin", "p", &path("pin"), &json!({}))) }
                @if is_archived { (act("Take out again", "a", &path("archive"), &json!({"on": false}))) }
                @else { (act("Put away", "a", &path("archive"), &json!({}))) }
                a.button.danger href={ "forget/" (memory.id) } { "Forget…" }
            }
            details {
                (opener("It is wrong", "w"))
                form.form data-method="POST" data-path={ "api/v1/" (path("wrong")) } data-words="It no longer holds" {
                    label.wide { "Why (may be empty) " input name="reason"; }
                    p.quiet { "It no longer holds, and nothing takes its place. Where you know what is right, use Edit instead." }
                    button type="submit" { "It is wrong" }
                }
            }
            details {
                (opener("Edit", "e"))
                form.form data-method="PATCH" data-path={ "api/v1/memories/" (memory.id) } data-changed data-then="memories/{memory}" {
                    label.wide {
                        "Statement " textarea name="statement" rows="3" required { (memory.statement) }
                        span.quiet { "Other words are a new memory, which takes the place of this one." }
                    }
                    label.wide { "Title " input name="title" value=(memory.title.as_deref().unwrap_or_default()); }
                    label.wide { "Details " textarea name="details" rows="3" { (memory.details.as_deref().unwrap_or_default()) } }
                    (select("kind", "Kind", &memory.kind, &super::memories::kinds()))
                    (select("confidence", "Sure", &memory.confidence, &confidences))
                    label { "Tags " input name="tags" data-type="list" value=(memory.tags.join(", ")); }
                    label {
                        "Importance "
                        input name="importance" type="number" min="0" max="1" step="0.05" value=(format!("{:.2}", memory.importance));
                    }
                    button.primary type="submit" { "Save" }
                }
            }
        }
    }
}

fn conflicts(memory: &MemoryRecord, conflicts: &[ConflictRecord]) -> Markup {
    html! {
        section {
            h2 { "Not settled" }
            ul.plain {
                @for conflict in conflicts {
                    @let other = if conflict.older.id == memory.id { &conflict.newer } else { &conflict.older };
                    li {
                        span.mark.warn { @if conflict.change.is_some() { "may be changed by" } @else { "contradicts" } } " "
                        a href={ "memories/" (other.id) } { (other.statement) } " "
                        (parts::day(other.valid_from.as_deref().or(other.recorded.as_deref())))
                    }
                }
            }
            p { a href="inbox" { "Settle it in the inbox" } }
        }
    }
}

fn evidence(memory: &MemoryRecord) -> Markup {
    html! {
        section {
            h2 { "Evidence" }
            @if memory.evidence.is_empty() { p.quiet { (parts::no_evidence(&memory.lane)) } }
            @for evidence in &memory.evidence {
                figure.evidence {
                    blockquote { (evidence.quote) }
                    figcaption { a href={ "turn/" (evidence.turn) } { "Where it was said" } }
                }
            }
        }
    }
}

/// Shows what a memory replaced, and what replaced it, the latest first.
fn chain(memory: &MemoryRecord, chain: &[ReachedNode]) -> Markup {
    let others =
        |name: &str| -> Vec<&ReachedNode> { chain.iter().filter(|node| node.kind == "memory" && node.name == name).collect() };
    let (mut later, earlier) = (others(EARLIER), others(LATER));
    later.reverse();
    let item = |node: &ReachedNode| {
        let label = node.label.as_deref().unwrap_or("(forgotten)");
        html! { li { a href={ "memories/" (node.id) } { (label) } } }
    };
    html! {
        @if !later.is_empty() || !earlier.is_empty() {
            section {
                h2 { "What replaced what" }
                ol.chain {
                    @for node in later { (item(node)) }
                    li aria-current="true" { strong { (memory.statement) } " " span.quiet { "(this one)" } }
                    @for node in earlier { (item(node)) }
                }
                p.quiet { "The latest first." }
            }
        }
    }
}

fn neighbourhood(memory: &MemoryRecord) -> Markup {
    let neighbours: Vec<Neighbour> = memory.relations.iter().map(neighbour).collect();
    html! {
        @if !neighbours.is_empty() {
            section {
                h2 { "Related" }
                (graph::around(&memory.statement, &neighbours))
                ul.plain {
                    @for (relation, neighbour) in memory.relations.iter().zip(&neighbours) {
                        li {
                            span.quiet { (relation.name.replace('_', " ")) " " } (graph::link(neighbour))
                            @if let Some(reason) = &relation.reason { span.quiet { " (" (reason) ")" } }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a relation as a neighbour.
pub fn neighbour(relation: &MemoryRelation) -> Neighbour {
    Neighbour {
        kind: relation.kind.clone(),
        id: relation.id.clone(),
        label: relation.label.clone().unwrap_or_else(|| match relation.kind.as_str() {
            "file" => relation.id.clone(),
            kind => format!("a {kind}"),
        }),
        relation: relation.name.replace('_', " "),
    }
}

fn facts(memory: &MemoryRecord, code: &[ChangedThing]) -> Markup {
    let (uses, standing) = (&memory.uses, &memory.standing);
    let share = |part: f64| format!("{:.0} %", part * 100.0);
    let strength = match standing.strength {
        strong if strong >= 0.7 => "strong",
        fair if fair >= 0.35 => "fair",
        _ => "weak",
    };
    let tier = match standing.tier.as_str() {
        "active" => "active: told unasked too",
        "warm" => "warm: told unasked too",
        "cool" => "cool: told unasked too",
        "cold" => "cold: only told to whoever asks",
        "frozen" => "frozen: only told to whoever asks",
        other => other,
    };
    let source = memory.source.replace('_', " ");
    html! {
        section {
            h2 { "Facts" }
            dl {
                dt { "Sure" } dd { (memory.confidence) }
                dt { "From" } dd { (source) @if memory.lane == "extracted" { ", not confirmed" } }
                dt { "Importance" } dd { (share(memory.importance)) }
                dt { "Kept" } dd { (tier) }
                dt { "Strength" } dd { (strength) ", " (share(standing.strength)) }
                @if let Some(asserts) = &memory.asserts {
                    dt { (in_words(&asserts.aspect)) } dd { (asserts.subject) ": " (asserts.value) }
                }
                dt { "Recorded" } dd { (parts::time(memory.recorded.as_deref())) }
                dt { "Changed" } dd { (parts::time(memory.changed.as_deref())) }
            }
        }
        section {
            h2 { "Uses" }
            dl {
                dt { "Given unasked" } dd { (uses.given) }
                dt { "Cited" } dd { (uses.cited) }
                dt { "Opened" } dd { (uses.opened) }
                dt { "Found" } dd { (uses.shown) }
                dt { "Last" } dd { @if uses.accessed.is_some() { (parts::time(uses.accessed.as_deref())) } @else { "never" } }
            }
        }
        @if !memory.anchors.is_empty() {
            section {
                h2 { "Speaks of" }
                ul.plain {
                    @for anchor in &memory.anchors {
                        @let verdict = code.iter().find(|thing| thing.kind == anchor.kind && thing.name == anchor.value);
                        li {
                            span.quiet { (anchor.kind) " " } code { (anchor.value) }
                            @if let Some(verdict) = verdict {
                                " " span.mark.warn { (if verdict.verdict == "orphaned" { "gone" } else { "changed since" }) }
                                @if let Some(detail) = &verdict.detail { span.quiet { " " (detail) } }
                            }
                        }
                    }
                }
                @if code.is_empty() { p.quiet { "No change in code is known." } }
            }
        }
    }
}

fn history(shown: &Shown) -> Markup {
    let confirmed =
        shown.operations.iter().filter(|operation| operation.kind == "confirm" && operation.undone_by.is_none()).count();
    html! {
        section {
            h2 { "History" }
            @if confirmed > 0 { p.quiet { "Confirmed by a person." } }
            ul.items { @for operation in &shown.operations { (operations::item(operation)) } }
            @if shown.has_more { p.more { a href={ "log?memory=" (shown.memory.id) } { "All changes of this memory" } } }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::results::{MemoryEvidence, MemoryStanding, MemoryUses};

    pub(in crate::page) fn record(statement: &str) -> MemoryRecord {
        MemoryRecord {
            id: "0".repeat(32),
            kind: "decision".to_owned(),
            memory_type: "semantic".to_owned(),
            project: Some("harbour".to_owned()),
            reach: None,
            title: None,
            statement: statement.to_owned(),
            details: None,
            fields: json!({"reason": "it is <b>quick</b>", "alternatives": ["a", "b"], "tradeoffs": []}),
            tags: vec!["a&b".to_owned()],
            status: "holds".to_owned(),
            cause: None,
            confidence: "verified".to_owned(),
            lane: "curated".to_owned(),
            source: "user".to_owned(),
            importance: 0.5,
            pinned: false,
            asserts: None,
            valid_from: None,
            valid_until: None,
            recorded: Some("2026-01-02T03:04:05Z".to_owned()),
            changed: Some("2026-01-02T03:04:05Z".to_owned()),
            evidence: vec![MemoryEvidence { turn: "1".repeat(32), quote: "<script>alert(1)</script>".to_owned() }],
            anchors: Vec::new(),
            relations: vec![MemoryRelation {
                name: "about".to_owned(),
                kind: "entity".to_owned(),
                id: "2".repeat(32),
                label: Some("\"><img src=x>".to_owned()),
                weight: 0.5,
                reason: None,
            }],
            uses: MemoryUses { shown: 0, opened: 1, given: 2, cited: 3, accessed: None },
            standing: MemoryStanding { tier: "active".to_owned(), strength: 0.9, retention: 0.9, decay: 0.1 },
        }
    }

    fn shown(memory: MemoryRecord) -> Shown {
        Shown { memory, conflicts: Vec::new(), chain: Vec::new(), code: Vec::new(), operations: Vec::new(), has_more: false }
    }

    #[test]
    fn recorded_text_is_no_markup() {
        let page = whole(&shown(record("<img src=x onerror=alert(1)>"))).into_string();
        for markup in ["<script", "<img", "<b>", "style="] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert!(page.contains("&lt;script&gt;"));
    }

    #[test]
    fn fields_of_the_kind_are_told_and_empty_ones_left_out() {
        let page = whole(&shown(record("We use SQLite."))).into_string();
        assert!(page.contains("Reason") && page.contains("Alternatives") && !page.contains("Tradeoffs"));
    }

    #[test]
    fn a_chain_has_the_latest_first() {
        let node = |name: &str, label: &str, depth: u64| ReachedNode {
            depth,
            name: name.to_owned(),
            kind: "memory".to_owned(),
            id: "3".repeat(32),
            from_kind: "memory".to_owned(),
            from: "0".repeat(32),
            label: Some(label.to_owned()),
            weight: 1.0,
        };
        let nodes = [node(LATER, "first", 1), node(EARLIER, "third", 1), node(EARLIER, "fourth", 2)];
        let page = chain(&record("second"), &nodes).into_string();
        let at = |words: &str| page.find(words).unwrap();
        assert!(at("fourth") < at("third") && at("third") < at("second") && at("second") < at("first"));
    }
}
