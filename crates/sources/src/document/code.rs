//! Cuts code into a section for each definition, with the comments before it, under the path of its enclosing
//! symbols. The lines between definitions (imports, constants) stay together.
//!
//! Small classes and blocks of methods are one section. In large ones each method is a section, and the lines
//! between methods belong to the class. Text without definitions is cut at blank lines.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::Document;
use super::blocks::{Place, Sections, TOP, pieces};
use super::language::Language;
use super::text;

/// A longer definition with members is split into its members.
const WHOLE_BYTES: usize = 1_500;
/// Longer definitions are cut into pieces.
const SECTION_BYTES: usize = 2_500;
/// Longer names are cut.
const MAX_NAME_CHARS: usize = 120;
/// Maximum nesting of definitions that are searched.
const MAX_DEPTH: usize = 24;

/// Kinds of nodes of a grammar.
struct Grammar {
    /// Definitions whose inside is not searched.
    leaves: &'static [&'static str],
    /// Definitions whose members are definitions.
    containers: &'static [&'static str],
    /// Nodes that wrap a definition, and the field that holds it.
    wrappers: &'static [(&'static str, &'static str)],
    /// Nodes that only group definitions.
    transparent: &'static [&'static str],
    /// Nodes that belong to the definition that follows them.
    leading: &'static [&'static str],
    /// Declarations that are definitions only if their value is a function.
    values: &'static [&'static str],
}

const RUST: Grammar = Grammar {
    leaves: &["function_item", "function_signature_item", "macro_definition", "struct_item", "enum_item", "union_item"],
    containers: &["impl_item", "trait_item", "mod_item"],
    wrappers: &[],
    transparent: &["declaration_list", "foreign_mod_item"],
    leading: &["line_comment", "block_comment", "attribute_item"],
    values: &[],
};
const PYTHON: Grammar = Grammar {
    leaves: &["function_definition"],
    containers: &["class_definition"],
    wrappers: &[("decorated_definition", "definition")],
    transparent: &["block"],
    leading: &["comment"],
    values: &[],
};
const JAVASCRIPT: Grammar = Grammar {
    leaves: &["function_declaration", "generator_function_declaration", "method_definition"],
    containers: &["class_declaration", "class"],
    wrappers: &[("export_statement", "declaration"), ("export_statement", "value")],
    transparent: &["class_body"],
    leading: &["comment", "decorator"],
    values: &["lexical_declaration", "variable_declaration", "field_definition"],
};
const TYPESCRIPT: Grammar = Grammar {
    leaves: &[
        "function_declaration",
        "generator_function_declaration",
        "function_signature",
        "method_definition",
        "interface_declaration",
        "type_alias_declaration",
        "enum_declaration",
    ],
    containers: &["class_declaration", "abstract_class_declaration", "class", "internal_module", "module"],
    wrappers: &[
        ("export_statement", "declaration"),
        ("export_statement", "value"),
        ("ambient_declaration", ""),
        ("expression_statement", ""),
    ],
    transparent: &["class_body", "statement_block"],
    leading: &["comment", "decorator"],
    values: &["lexical_declaration", "variable_declaration", "public_field_definition"],
};
const GO: Grammar = Grammar {
    leaves: &["function_declaration", "method_declaration", "type_declaration"],
    containers: &[],
    wrappers: &[],
    transparent: &[],
    leading: &["comment"],
    values: &[],
};
const JAVA: Grammar = Grammar {
    leaves: &["method_declaration", "constructor_declaration", "compact_constructor_declaration", "annotation_type_declaration"],
    containers: &["class_declaration", "interface_declaration", "enum_declaration", "record_declaration"],
    wrappers: &[],
    transparent: &["class_body", "interface_body", "enum_body", "enum_body_declarations"],
    leading: &["line_comment", "block_comment"],
    values: &[],
};
const C: Grammar = Grammar {
    leaves: &["function_definition", "struct_specifier", "union_specifier", "enum_specifier", "type_definition"],
    containers: &[],
    wrappers: &[],
    transparent: &["preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "linkage_specification", "declaration_list"],
    leading: &["comment"],
    values: &[],
};

impl Language {
    fn parser(self) -> Option<Parser> {
        let language = match self {
            Self::Rust => tree_sitter_rust::LANGUAGE,
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Self::Go => tree_sitter_go::LANGUAGE,
            Self::Java => tree_sitter_java::LANGUAGE,
            Self::C => tree_sitter_c::LANGUAGE,
        };
        let mut parser = Parser::new();
        parser.set_language(&language.into()).ok()?;
        Some(parser)
    }

    fn grammar(self) -> &'static Grammar {
        match self {
            Self::Rust => &RUST,
            Self::Python => &PYTHON,
            Self::JavaScript => &JAVASCRIPT,
            Self::TypeScript | Self::Tsx => &TYPESCRIPT,
            Self::Go => &GO,
            Self::Java => &JAVA,
            Self::C => &C,
        }
    }
}

/// A named definition, with its comments and members.
struct Definition {
    /// From its comments to the end of its last line.
    range: Range<usize>,
    /// Its name within the enclosing definition.
    name: Vec<String>,
    members: Vec<Definition>,
}

/// Cuts code at definitions.
pub fn cut(source: &str, language: Language) -> Document {
    let definitions = match parse(source, language) {
        Some(tree) => {
            let mut finder = Finder { source, grammar: language.grammar(), from: 0 };
            let mut found = Vec::new();
            finder.find(tree.root_node(), 0, &mut found);
            found
        }
        None => Vec::new(),
    };
    if definitions.is_empty() {
        return text::cut(source, Some(language.as_str()));
    }
    let mut sections = Sections::new(source);
    add_parts(&mut sections, source, 0..source.len(), &definitions, &[], language);
    sections.into_document(None, Some(language.as_str()))
}

/// Parses the source; `None` when it takes too long.
fn parse(source: &str, language: Language) -> Option<Tree> {
    let mut parser = language.parser()?;
    // The parser calls this once in many steps: far more calls than a text can need end the parse.
    let mut left = source.len().max(10_000);
    let mut is_patient = |_: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let bytes = source.as_bytes();
    let options = ParseOptions::new().progress_callback(&mut is_patient);
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

/// Adds the definitions of a part of the text, and the text between them.
fn add_parts(
    sections: &mut Sections<'_>,
    source: &str,
    range: Range<usize>,
    definitions: &[Definition],
    path: &[String],
    language: Language,
) {
    let mut at = range.start;
    for (number, definition) in definitions.iter().enumerate() {
        // Text between definitions is named after the next definition, so that its key stays the same when
        // something is added elsewhere.
        let mut key = path.to_vec();
        match number {
            0 if path.is_empty() => key.push(TOP.to_owned()),
            0 => {}
            _ => key.push(format!("(before {})", definition.name.join("/"))),
        }
        add_between(sections, source, at..definition.range.start, &key, path, language);
        let mut path = path.to_vec();
        path.extend(definition.name.iter().cloned());
        if definition.members.is_empty() || definition.range.len() <= WHOLE_BYTES {
            let found = pieces(source, definition.range.clone(), SECTION_BYTES);
            sections.add(Place { path: &path, heading: &path, from: None }, &found, |_| Some(language.as_str().to_owned()));
        } else {
            add_parts(sections, source, definition.range.clone(), &definition.members, &path, language);
        }
        at = definition.range.end;
    }
    let mut key = path.to_vec();
    key.push("(end)".to_owned());
    add_between(sections, source, at..range.end, &key, path, language);
}

fn add_between(
    sections: &mut Sections<'_>,
    source: &str,
    range: Range<usize>,
    key: &[String],
    heading: &[String],
    language: Language,
) {
    // Text of brackets only has no content.
    if range.start < range.end && source[range.clone()].chars().any(char::is_alphanumeric) {
        let found = pieces(source, range, text::TEXT_BYTES);
        sections.add(Place { path: key, heading, from: None }, &found, |_| Some(language.as_str().to_owned()));
    }
}

/// Finds the definitions that are not nested, in order.
struct Finder<'s> {
    source: &'s str,
    grammar: &'static Grammar,
    /// End of the last definition.
    from: usize,
}

impl Finder<'_> {
    fn find(&mut self, node: Node<'_>, depth: usize, found: &mut Vec<Definition>) {
        if depth > MAX_DEPTH {
            return;
        }
        // Comments that are separated from the next node by no more than a line break.
        let mut lead: Option<Range<usize>> = None;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            let start = self.line_start(child.start_byte());
            if self.grammar.leading.contains(&child.kind()) {
                lead = match (start, lead) {
                    // A comment after code on the same line.
                    (None, _) => None,
                    (Some(_), Some(lead)) if self.is_adjacent(lead.end, child.start_byte()) => Some(lead.start..child.end_byte()),
                    (Some(start), _) => Some(start..child.end_byte()),
                };
                continue;
            }
            let lead = lead.take();
            if let Some(inner) = self.definition(child) {
                let start = match lead {
                    Some(lead) if self.is_adjacent(lead.end, child.start_byte()) => lead.start,
                    _ => start.unwrap_or(child.start_byte()),
                };
                let start = start.max(self.from);
                let end = self.line_end(child.end_byte());
                if start >= end {
                    continue;
                }
                let mut members = Vec::new();
                if self.grammar.containers.contains(&inner.kind()) {
                    self.from = start;
                    self.find(inner, depth + 1, &mut members);
                }
                self.from = end;
                found.push(Definition { range: start..end, name: self.name(inner), members });
            } else if self.grammar.transparent.contains(&child.kind()) || child.is_error() {
                self.find(child, depth + 1, found);
            }
        }
    }

    /// Returns the node itself if it is a definition, or the definition that it holds.
    fn definition<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        let is_definition = |node: &Node<'_>| {
            let kind = node.kind();
            (self.grammar.leaves.contains(&kind) && (!kind.ends_with("_specifier") || node.child_by_field_name("body").is_some()))
                || self.grammar.containers.contains(&kind)
                || self.grammar.values.contains(&kind) && holds_function(node)
        };
        if is_definition(&node) {
            return Some(node);
        }
        self.grammar.wrappers.iter().filter(|(kind, _)| *kind == node.kind()).find_map(|(_, field)| {
            let inner = if field.is_empty() { node.named_child(0) } else { node.child_by_field_name(field) };
            inner.filter(is_definition)
        })
    }

    fn name(&self, node: Node<'_>) -> Vec<String> {
        let field = |name: &str| node.child_by_field_name(name).map(|node| self.words(node));
        let unnamed = || "default".to_owned();
        match node.kind() {
            "impl_item" => {
                let of = field("type").unwrap_or_else(unnamed);
                vec![field("trait").map_or_else(|| format!("impl {of}"), |what| format!("impl {what} for {of}"))]
            }
            // Go: a method belongs to the type of its receiver.
            "method_declaration" if node.child_by_field_name("receiver").is_some() => {
                let receiver = field("receiver").unwrap_or_default();
                let of = receiver
                    .trim_matches(|c| matches!(c, '(' | ')'))
                    .split('[')
                    .next()
                    .and_then(|words| words.split([' ', '*']).rfind(|word| !word.is_empty()))
                    .unwrap_or_default()
                    .to_owned();
                [of, field("name").unwrap_or_else(unnamed)].into_iter().filter(|name| !name.is_empty()).collect()
            }
            "type_declaration" => {
                let mut cursor = node.walk();
                let named = node.named_children(&mut cursor).find_map(|child| child.child_by_field_name("name"));
                vec![named.map_or_else(unnamed, |name| self.words(name))]
            }
            "lexical_declaration" | "variable_declaration" => {
                let declarator = node.named_child(0).and_then(|first| first.child_by_field_name("name"));
                vec![declarator.map_or_else(unnamed, |name| self.words(name))]
            }
            _ => vec![field("name").or_else(|| field("property")).or_else(|| self.declared(node)).unwrap_or_else(unnamed)],
        }
    }

    /// Returns the name inside pointers, parameters and brackets, for C.
    fn declared(&self, node: Node<'_>) -> Option<String> {
        let mut inner = node.child_by_field_name("declarator")?;
        for _ in 0..MAX_DEPTH {
            match inner.child_by_field_name("declarator").or_else(|| inner.named_child(0)) {
                Some(next) => inner = next,
                None => break,
            }
        }
        Some(self.words(inner))
    }

    fn words(&self, node: Node<'_>) -> String {
        let words = self.source.get(node.byte_range()).unwrap_or_default();
        words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_NAME_CHARS).collect()
    }

    /// Returns the beginning of the line, if only white space is before `at`.
    fn line_start(&self, at: usize) -> Option<usize> {
        let before = &self.source[..at];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        before[start..].trim().is_empty().then_some(start)
    }

    /// Returns the end of the line, if only punctuation or a comment is after `at`.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.source[at..].split('\n').next().unwrap_or_default();
        let words = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ','));
        let is_quiet = words.is_empty() || words.starts_with("//") || words.starts_with('#');
        // A node that includes its newline ends before the next line.
        if is_quiet && !self.source[..at].ends_with('\n') { at + rest.len() } else { at }
    }

    /// Returns whether there is no blank line between the two positions.
    fn is_adjacent(&self, end: usize, start: usize) -> bool {
        let end = self.source[..end].trim_end().len().min(start);
        self.source.as_bytes()[end..start].iter().filter(|byte| **byte == b'\n').count() <= 1
    }
}

/// Returns whether the value of a declaration is a function.
fn holds_function(node: &Node<'_>) -> bool {
    let is_function = |node: Node<'_>| {
        matches!(node.kind(), "arrow_function" | "function_expression" | "function" | "generator_function" | "class")
    };
    match node.child_by_field_name("value") {
        Some(value) => is_function(value),
        None => {
            node.named_child_count() == 1
                && node.named_child(0).and_then(|first| first.child_by_field_name("value")).is_some_and(is_function)
        }
    }
}
