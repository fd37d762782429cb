//! Edits JSON and JSONC as text: inserts and removes members, and keeps every other byte (comments, order, indentation).
//!
//! - [`Document`]: a text and the positions of its values
//! - [`insert_member`], [`insert_element`], [`replace`], [`remove`]: one change each, as a new text
//!
//! A change is planned with the positions that the parser reports and made in the text. An inserted value
//! looks like its neighbours; a removed one takes its comma and its line with it.

use std::ops::Range;

use jsonc_parser::ast::{ObjectPropName, Value as Parsed};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};
use yore_core::text::without_lone_surrogates;

const BOM: &str = "\u{feff}";

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Range of the value in the text.
    pub span: Range<usize>,
    /// Kind of the value.
    pub kind: Kind,
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Members, in order; a name may occur twice.
    Object(Vec<Member>),
    /// Elements.
    Array(Vec<Node>),
    /// Anything else.
    Scalar(Value),
}

/// A name and its value.
#[derive(Clone, Debug)]
pub struct Member {
    /// The name.
    pub name: String,
    /// Range from the name's first byte to the value's last.
    pub span: Range<usize>,
    /// The value.
    pub value: Node,
}

impl Node {
    fn of(parsed: Parsed<'_>, offset: usize) -> Self {
        let place = |range: jsonc_parser::common::Range| range.start + offset..range.end + offset;
        let span = place(parsed.range());
        let kind = match parsed {
            Parsed::Object(object) => Kind::Object(
                object
                    .properties
                    .into_iter()
                    .map(|property| Member {
                        span: place(property.range),
                        name: match property.name {
                            ObjectPropName::String(name) => name.value.into_owned(),
                            ObjectPropName::Word(word) => word.value.to_owned(),
                        },
                        value: Self::of(property.value, offset),
                    })
                    .collect(),
            ),
            Parsed::Array(array) => Kind::Array(array.elements.into_iter().map(|element| Self::of(element, offset)).collect()),
            Parsed::StringLit(text) => Kind::Scalar(Value::String(text.value.into_owned())),
            Parsed::BooleanLit(literal) => Kind::Scalar(Value::Bool(literal.value)),
            Parsed::NullKeyword(_) => Kind::Scalar(Value::Null),
            Parsed::NumberLit(number) => {
                let exact = number.value.parse::<Number>().map(Value::Number);
                Kind::Scalar(exact.unwrap_or_else(|_| Value::String(number.value.to_owned())))
            }
        };
        Self { span, kind }
    }

    /// Returns the members of an object.
    pub fn members(&self) -> Option<&[Member]> {
        if let Kind::Object(members) = &self.kind { Some(members) } else { None }
    }

    /// Returns the elements of an array.
    pub fn elements(&self) -> Option<&[Node]> {
        if let Kind::Array(elements) = &self.kind { Some(elements) } else { None }
    }

    /// Returns a member by name. If the name occurs twice the last one counts, as in JavaScript.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.members()?.iter().rfind(|member| member.name == name).map(|member| &member.value)
    }

    /// Returns the value without its positions.
    pub fn value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                let mut map = Map::new();
                for member in members {
                    map.insert(member.name.clone(), member.value.value());
                }
                Value::Object(map)
            }
            Kind::Array(elements) => Value::Array(elements.iter().map(Self::value).collect()),
            Kind::Scalar(value) => value.clone(),
        }
    }

    fn places(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            Kind::Array(elements) => elements.iter().map(|element| element.span.clone()).collect(),
            Kind::Scalar(_) => Vec::new(),
        }
    }
}

/// A text and the positions of its values.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    /// The root value, if there is any.
    pub root: Option<Node>,
}

impl<'t> Document<'t> {
    /// Parses a text, with comments and trailing commas.
    ///
    /// # Errors
    /// A description of the fault and its position.
    pub fn parse(text: &'t str) -> Result<Self, String> {
        let offset = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
        };
        let readable = without_lone_surrogates(&text[offset..]);
        let parsed = parse_to_ast(&readable, &CollectOptions::default(), &options).map_err(|error| error.to_string())?;
        Ok(Self { text, root: parsed.value.map(|value| Node::of(value, offset)) })
    }

    /// Returns the value at the end of a path of names.
    pub fn at(&self, path: &[impl AsRef<str>]) -> Option<&Node> {
        path.iter().try_fold(self.root.as_ref()?, |node, name| node.get(name.as_ref()))
    }

    fn newline(&self) -> &'static str {
        match self.text.find('\n') {
            Some(at) if self.text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    /// Returns the white space at the beginning of the line that contains `at`.
    fn indentation(&self, at: usize) -> &'t str {
        let line = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = &self.text[line..at];
        let line = line.strip_prefix(BOM).unwrap_or(line);
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Returns the indentation that one level adds.
    fn unit(&self) -> String {
        self.root.as_ref().and_then(|root| self.unit_of(root)).unwrap_or_else(|| "  ".to_owned())
    }

    fn unit_of(&self, container: &Node) -> Option<String> {
        let outer = self.indentation(container.span.start);
        let own_line = |place: &Range<usize>| self.text[container.span.start..place.start].contains('\n');
        if let Some(first) = container.places().first().filter(|first| own_line(first))
            && let Some(deeper) = self.indentation(first.start).strip_prefix(outer)
            && !deeper.is_empty()
        {
            return Some(deeper.to_owned());
        }
        match &container.kind {
            Kind::Object(members) => members.iter().find_map(|member| self.unit_of(&member.value)),
            Kind::Array(elements) => elements.iter().find_map(|element| self.unit_of(element)),
            Kind::Scalar(_) => None,
        }
    }

    /// Returns whether values on one line are separated by spaces.
    fn is_spaced(&self) -> bool {
        if let Some(first) = self.root.as_ref().and_then(Node::members).and_then(<[Member]>::first) {
            return self.text[..first.value.span.start].ends_with(char::is_whitespace);
        }
        true
    }

    /// Returns the next position that is neither space nor comment.
    fn past_trivia(&self, mut at: usize) -> usize {
        loop {
            let rest = &self.text[at..];
            let trimmed = rest.trim_start();
            at += rest.len() - trimmed.len();
            let Some(comment) = comment_at(trimmed) else { return at };
            at += comment;
        }
    }

    fn comma_after(&self, at: usize) -> Option<usize> {
        let next = self.past_trivia(at);
        self.text[next..].starts_with(',').then_some(next)
    }
}

/// Returns the length of the comment that a text begins with.
fn comment_at(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        Some(text.find('\n').map_or(text.len(), |end| if text[..end].ends_with('\r') { end - 1 } else { end }))
    } else {
        let inside = text.strip_prefix("/*")?;
        Some(inside.find("*/").map_or(text.len(), |end| end + 4))
    }
}

/// Returns whether text that follows this trivia on the same line would be part of a comment.
fn ends_in_line_comment(trivia: &str) -> bool {
    let mut rest = trivia.trim_start();
    while let Some(length) = comment_at(rest) {
        let is_open = rest.starts_with("//") && length == rest.len();
        if is_open {
            return true;
        }
        rest = rest[length..].trim_start();
    }
    false
}

/// The layout of new text.
struct Layout {
    /// Indentation of its line; `None` if everything is on one line.
    indentation: Option<String>,
    unit: String,
    newline: &'static str,
    spaced: bool,
}

impl Layout {
    fn render(&self, value: &Value, out: &mut String) {
        let indentation = self.indentation.clone().unwrap_or_default();
        self.write(value, &indentation, out);
    }

    fn write(&self, value: &Value, indentation: &str, out: &mut String) {
        let (open, close, length) = match value {
            Value::Object(members) => ('{', '}', members.len()),
            Value::Array(elements) => ('[', ']', elements.len()),
            scalar => return out.push_str(&scalar.to_string()),
        };
        // A list of scalars is most readable on one line.
        let is_list =
            value.as_array().is_some_and(|elements| elements.iter().all(|element| !element.is_array() && !element.is_object()));
        let lines = self.indentation.is_some() && !is_list;
        let inner = format!("{indentation}{}", self.unit);
        out.push(open);
        let mut item = |index: usize, name: Option<&String>, value: &Value| {
            if index > 0 {
                out.push(',');
            }
            if lines {
                out.push_str(self.newline);
                out.push_str(&inner);
            } else if index > 0 && self.spaced {
                out.push(' ');
            }
            if let Some(name) = name {
                out.push_str(&Value::String(name.clone()).to_string());
                out.push_str(if self.spaced { ": " } else { ":" });
            }
            self.write(value, &inner, out);
        };
        match value {
            Value::Object(members) => {
                members.iter().enumerate().for_each(|(index, (name, value))| item(index, Some(name), value));
            }
            Value::Array(elements) => elements.iter().enumerate().for_each(|(index, value)| item(index, None, value)),
            _ => {}
        }
        if lines && length > 0 {
            out.push_str(self.newline);
            out.push_str(indentation);
        }
        out.push(close);
    }
}

/// Returns the text with a new member after the existing ones.
pub fn insert_member(document: &Document<'_>, object: &Node, name: &str, value: &Value) -> String {
    insert(document, object, |layout, out| {
        out.push_str(&Value::String(name.to_owned()).to_string());
        out.push_str(if layout.spaced { ": " } else { ":" });
        layout.render(value, out);
    })
}

/// Returns the text with a new element after the existing ones.
pub fn insert_element(document: &Document<'_>, array: &Node, value: &Value) -> String {
    insert(document, array, |layout, out| layout.render(value, out))
}

fn insert(document: &Document<'_>, container: &Node, write: impl FnOnce(&Layout, &mut String)) -> String {
    let text = document.text;
    let (open, close) = (container.span.start + 1, container.span.end - 1);
    let newline = document.newline();
    let layout = |indentation| Layout { indentation, unit: document.unit(), newline, spaced: document.is_spaced() };
    let places = container.places();
    let mut new = String::new();
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        // After a comment, if the container holds one.
        let mut anchor = open;
        let mut at = open;
        loop {
            at += text[at..close].len() - text[at..close].trim_start().len();
            let Some(length) = comment_at(&text[at..close]) else { break };
            at += length;
            anchor = at;
        }
        let rest = &text[anchor..close];
        let is_lined = text.contains('\n') || container.span.len() == text.trim_start_matches(BOM).trim().len();
        if !is_lined {
            write(&layout(None), &mut new);
            return format!("{}{new}{}", &text[..anchor], &text[anchor..]);
        }
        let base = document.indentation(container.span.start);
        let layout = layout(Some(format!("{base}{}", document.unit())));
        new.push_str(newline);
        new.push_str(layout.indentation.as_deref().unwrap_or_default());
        write(&layout, &mut new);
        let after = if rest.contains('\n') { anchor } else { close };
        if after == close {
            new.push_str(newline);
            new.push_str(base);
        }
        return format!("{}{new}{}", &text[..anchor], &text[after..]);
    };
    let comma = document.comma_after(last.end);
    let is_lined = text[open..first.start].contains('\n');
    if !is_lined {
        let layout = layout(None);
        let at = comma.map_or(last.end, |comma| comma + 1);
        let space = if layout.spaced { " " } else { "" };
        write(&layout, &mut new);
        let new = if comma.is_some() { format!("{space}{new},") } else { format!(",{space}{new}") };
        return format!("{}{new}{}", &text[..at], &text[at..]);
    }
    let layout = layout(Some(document.indentation(last_line_start(document, &places)).to_owned()));
    new.push_str(newline);
    new.push_str(layout.indentation.as_deref().unwrap_or_default());
    write(&layout, &mut new);
    if comma.is_some() {
        new.push(',');
    }
    // A comment beside the last value stays beside it.
    let end = comma.map_or(last.end, |comma| comma + 1);
    let beside = end + length_beside(&text[end..close]);
    let own_comma = if comma.is_some() { "" } else { "," };
    format!("{}{own_comma}{}{new}{}", &text[..last.end], &text[last.end..beside], &text[beside..])
}

/// Returns the position of the last child that begins a line.
fn last_line_start(document: &Document<'_>, places: &[Range<usize>]) -> usize {
    let begins_line = |place: &&Range<usize>| {
        let line = document.text[..place.start].rfind('\n').map_or(0, |newline| newline + 1);
        document.text[line..place.start].trim().is_empty()
    };
    places.iter().rfind(begins_line).or(places.first()).map_or(0, |place| place.start)
}

/// Returns the length of the comments that follow on the same line.
fn length_beside(text: &str) -> usize {
    let mut beside = 0;
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start_matches([' ', '\t']).len();
        match comment_at(&text[at..]) {
            Some(length) if !text[at..at + length].contains('\n') => {
                at += length;
                beside = at;
            }
            _ => return beside,
        }
    }
}

/// Returns the text with one value replaced.
pub fn replace(document: &Document<'_>, old: &Node, value: &Value) -> String {
    let text = document.text;
    let is_lined = text.contains('\n');
    let layout = Layout {
        indentation: is_lined.then(|| document.indentation(old.span.start).to_owned()),
        unit: document.unit(),
        newline: document.newline(),
        spaced: document.is_spaced(),
    };
    let mut new = String::new();
    layout.render(value, &mut new);
    format!("{}{new}{}", &text[..old.span.start], &text[old.span.end..])
}

/// Returns the text without one member or element of a container.
pub fn remove(document: &Document<'_>, container: &Node, index: usize) -> String {
    let text = document.text;
    let places = container.places();
    let Some(place) = places.get(index) else { return text.to_owned() };
    let (open, close) = (container.span.start + 1, container.span.end - 1);
    let before = index.checked_sub(1).and_then(|index| places.get(index)).map_or(open, |place| place.end);
    let comma_after = document.comma_after(place.end);
    let comma_before = if index > 0 { document.comma_after(before) } else { None };
    let blank = text[before..place.start].len() - text[before..place.start].trim_end().len();
    let blank_start = place.start - blank;
    // The next value is on the same line and moves to this one's position.
    let shares_line =
        comma_after.is_some_and(|comma| places.get(index + 1).is_some_and(|next| !text[comma..next.start].contains('\n')));
    let own_line = text[blank_start..place.start].rfind('\n').filter(|_| !shares_line).map(|newline| {
        let newline = blank_start + newline;
        if newline > blank_start && text[..newline].ends_with('\r') { newline - 1 } else { newline }
    });
    let is_last = index + 1 == places.len();
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let (mut start, mut end) = (own_line.unwrap_or(if is_last { blank_start } else { place.start }), place.end);
    match (comma_after, comma_before) {
        // The comma is removed with the value; a comment between the two stays.
        (Some(comma), _) if text[end..comma].trim().is_empty() => end = comma + 1,
        (Some(comma), _) => cuts.push(comma..comma + 1),
        (None, Some(comma)) if own_line.is_none() && text[comma + 1..start].trim().is_empty() => {
            start = if text[before..comma].trim().is_empty() { before } else { comma };
        }
        (None, Some(comma)) => cuts.push(comma..comma + 1),
        (None, None) => {}
    }
    if shares_line {
        end += text[end..close].len() - text[end..close].trim_start_matches([' ', '\t']).len();
    }
    // Nothing may follow a line comment on its line.
    if start < place.start && !text[end..].trim_start_matches([' ', '\t']).starts_with(['\n', '\r']) {
        let gap = &text[comma_before.map_or(before, |comma| comma + 1).min(start)..start];
        if ends_in_line_comment(gap) {
            start = place.start;
        }
    }
    cuts.push(start..end);
    cuts.sort_by_key(|cut| cut.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for cut in &cuts {
        out.push_str(&text[at..cut.start.max(at)]);
        at = cut.end.max(at);
    }
    out.push_str(&text[at..]);
    if places.len() == 1 {
        // If only white space is left inside the container, it is removed.
        let removed: usize = cuts.iter().map(ExactSizeIterator::len).sum();
        let inside = open..close - removed;
        if out[inside.clone()].trim().is_empty() {
            out.replace_range(inside, "");
        }
    }
    out
}

#[cfg(test)]
pub(in crate::install) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn inserted(text: &str, path: &[&str], name: &str, value: &Value) -> String {
        let document = Document::parse(text).unwrap();
        insert_member(&document, document.at(path).unwrap(), name, value)
    }

    fn removed(text: &str, path: &[&str], name: &str) -> String {
        let document = Document::parse(text).unwrap();
        let container = document.at(path).unwrap();
        let index = container.members().unwrap().iter().rposition(|member| member.name == name).unwrap();
        remove(&document, container, index)
    }

    fn server() -> Value {
        json!({"command": "/bin/yore", "args": ["mcp"]})
    }

    #[test]
    fn half_a_character_is_read_and_stays_where_it_stands() {
        let text = r#"{"a": "x\ud83d", "b\udc00": "\ud83d\ude00 \\ud83d", "c": "\ud83d\u0041 é"}"#;
        let value = Document::parse(text).unwrap().root.unwrap().value();
        assert_eq!(value, json!({"a": "x\u{fffd}", "b\u{fffd}": "\u{1f600} \\ud83d", "c": "\u{fffd}A é"}));
        let with_one_more = inserted(text, &[], "y", &json!(1));
        assert_eq!(with_one_more, text.replace('}', ", \"y\": 1}"));
        assert_eq!(removed(&with_one_more, &[], "y"), text);
        for odd in ["{\"a\": \"\\ud83", "\\", "\\u", "{\"a\": \"\\ud83d\\", "// \\é\n{}"] {
            // Must not panic, whether it parses or not.
            let _ = Document::parse(odd);
        }
    }

    #[test]
    fn member_looks_like_its_neighbours() {
        let cases = [
            ("{}", "{\n  \"y\": {\n    \"command\": \"/bin/yore\",\n    \"args\": [\"mcp\"]\n  }\n}"),
            ("{\n}\n", "{\n  \"y\": {\n    \"command\": \"/bin/yore\",\n    \"args\": [\"mcp\"]\n  }\n}\n"),
            ("{\"a\":1}", "{\"a\":1,\"y\":{\"command\":\"/bin/yore\",\"args\":[\"mcp\"]}}"),
            ("{\"a\": 1}\n", "{\"a\": 1, \"y\": {\"command\": \"/bin/yore\", \"args\": [\"mcp\"]}}\n"),
            (
                "{\n\t\"a\": 1 // one\n}\n",
                "{\n\t\"a\": 1, // one\n\t\"y\": {\n\t\t\"command\": \"/bin/yore\",\n\t\t\"args\": [\"mcp\"]\n\t}\n}\n",
            ),
            (
                "{\r\n    \"a\": 1,\r\n}\r\n",
                "{\r\n    \"a\": 1,\r\n    \"y\": {\r\n        \"command\": \"/bin/yore\",\r\n        \"args\": [\"mcp\"]\r\n    },\r\n}\r\n",
            ),
            (
                "{\n  \"a\": 1\n  // the end\n}",
                "{\n  \"a\": 1,\n  \"y\": {\n    \"command\": \"/bin/yore\",\n    \"args\": [\"mcp\"]\n  }\n  // the end\n}",
            ),
            (
                "{\n  // nothing\n}",
                "{\n  // nothing\n  \"y\": {\n    \"command\": \"/bin/yore\",\n    \"args\": [\"mcp\"]\n  }\n}",
            ),
        ];
        for (before, after) in cases {
            assert_eq!(inserted(before, &[], "y", &server()), after, "{before}");
            let emptied = before.starts_with("{\n}");
            assert_eq!(removed(after, &[], "y"), if emptied { "{}\n" } else { before }, "{before}");
        }
    }

    #[test]
    fn member_is_taken_from_every_place() {
        let cases = [
            ("{\"y\": 1, \"b\": 2}", "{\"b\": 2}"),
            ("{\"a\": 1, \"y\": 1, \"b\": 2}", "{\"a\": 1, \"b\": 2}"),
            ("{\"a\": 1, \"y\": 1}", "{\"a\": 1}"),
            ("{ \"a\": 1, \"y\": 1 }", "{ \"a\": 1 }"),
            ("{\n  \"y\": 1, // mine\n  \"b\": 2\n}", "{ // mine\n  \"b\": 2\n}"),
            ("{\n  // about a\n  \"a\": 1,\n\n  // about y\n  \"y\": 1\n}", "{\n  // about a\n  \"a\": 1\n\n  // about y\n}"),
            ("{\n  \"a\": 1, // one\n  \"y\": 1, \"b\": 2\n}", "{\n  \"a\": 1, // one\n  \"b\": 2\n}"),
            ("{\n  \"a\": 1\n  , \"y\": 1\n}", "{\n  \"a\": 1\n}"),
            ("{\"y\": 1 /* x */ , \"b\": 2}", "{/* x */  \"b\": 2}"),
        ];
        for (before, after) in cases {
            assert_eq!(removed(before, &[], "y"), after, "{before}");
        }
    }

    #[test]
    fn what_is_no_json_is_told_and_depth_is_bounded() {
        for text in ["{", "{\"a\": }", "[1 2]", "{'a': 1}", "{a: 1}", "{\"a\": 1} {}", "{\"a\": 0x1}"] {
            assert!(Document::parse(text).is_err(), "{text}");
        }
        assert!(Document::parse(&"[".repeat(100_000)).is_err());
        assert!(Document::parse("").unwrap().root.is_none());
        assert_eq!(Document::parse("{\"a\": 1, \"a\": 2}").unwrap().at(&["a"]).unwrap().value(), json!(2));
    }

    /// A value as a person may have written it: any layout, comments, trailing commas.
    pub(in crate::install) fn written() -> impl Strategy<Value = String> {
        let space = prop::sample::select(vec!["", " ", "\n", "\n  ", "\r\n\t", " /* c, } */ ", " // \"x\": {\n "]);
        let scalar =
            prop::sample::select(vec!["1", "-2.5e3", "true", "null", "\"\"", "\"é \\\" { // \\u00e9\"", "{}", "[]", "{ \n}"]);
        let leaf = (space.clone(), scalar, space.clone()).prop_map(|(before, scalar, after)| format!("{before}{scalar}{after}"));
        leaf.prop_recursive(4, 24, 4, move |inner| {
            let space = space.clone();
            let items = prop::collection::vec(inner, 1..4);
            (items, any::<bool>(), any::<bool>(), space.clone(), space).prop_map(|(items, object, trailing, before, after)| {
                let count = items.len();
                let mut out = String::from(before);
                out.push(if object { '{' } else { '[' });
                for (index, item) in items.iter().enumerate() {
                    if object {
                        out.push_str(&format!("{before}\"k{index}\"{after}:"));
                    }
                    out.push_str(item);
                    if index + 1 < count || trailing {
                        out.push(',');
                    }
                }
                out.push_str(after);
                out.push(if object { '}' } else { ']' });
                out + after
            })
        })
    }

    proptest! {
        #[test]
        fn what_is_inserted_changes_nothing_else_and_comes_out_again(text in written()) {
            let document = Document::parse(&text).unwrap();
            let root = document.root.clone().unwrap();
            let new = json!({"command": "/a b/yore", "args": ["mcp"]});
            let Some(members) = root.members() else { return Ok(()) };
            let after = insert_member(&document, &root, "yore", &new);
            let mut expected = root.value();
            expected["yore"] = new;
            let again = Document::parse(&after).unwrap();
            prop_assert_eq!(again.root.as_ref().unwrap().value(), expected);
            let index = again.root.as_ref().unwrap().members().unwrap().len() - 1;
            let back = remove(&again, again.root.as_ref().unwrap(), index);
            if members.is_empty() {
                prop_assert_eq!(Document::parse(&back).unwrap().root.unwrap().value(), root.value());
            } else {
                prop_assert_eq!(&back, &text);
            }
            // Removing any other member leaves the rest intact.
            for index in 0..members.len() {
                let rest = remove(&document, &root, index);
                let mut expected = root.value();
                expected.as_object_mut().unwrap().shift_remove(&members[index].name);
                prop_assert_eq!(Document::parse(&rest).unwrap().root.unwrap().value(), expected);
                let other = replace(&document, &members[index].value, &json!(["x", {"y": 1}]));
                let mut expected = root.value();
                expected[&members[index].name] = json!(["x", {"y": 1}]);
                prop_assert_eq!(Document::parse(&other).unwrap().root.unwrap().value(), expected);
            }
        }

        #[test]
        fn elements_too(text in written()) {
            let document = Document::parse(&text).unwrap();
            let root = document.root.clone().unwrap();
            let Some(elements) = root.elements() else { return Ok(()) };
            let after = insert_element(&document, &root, &json!({"hooks": [{"command": "yore"}]}));
            let again = Document::parse(&after).unwrap();
            let back = remove(&again, again.root.as_ref().unwrap(), elements.len());
            if elements.is_empty() {
                prop_assert_eq!(Document::parse(&back).unwrap().root.unwrap().value(), root.value());
            } else {
                prop_assert_eq!(&back, &text);
            }
        }

        #[test]
        fn any_text_is_survived(text in "[{}\\[\\]\",:/*\\\\\n a0é]{0,40}") {
            let _ = Document::parse(&text);
        }
    }
}
