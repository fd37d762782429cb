//! Fields of the full-text index, and the conversion of turns and memories to its documents.

use tantivy::TantivyDocument;
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};

use crate::index::filter::{NO_TIME, class_number};
use crate::index::names;
use crate::index::tantivy_tokenizer::NAME;
use crate::store::{IndexedItem, LabelKey, ProjectKey, RowKey};

/// Raised whenever the fields change.
pub(super) const SCHEMA_NUMBER: u32 = 3;

#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub row: Field,
    episode: Field,
    project: Field,
    branch: Field,
    role: Field,
    at: Field,
    position: Field,
    document: Field,
    pub text: Field,
    pub tool: Field,
    name: Field,
    title: Field,
}

impl Fields {
    /// Makes the document of a turn or memory.
    pub(super) fn document(&self, item: &IndexedItem) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_u64(self.row, item.head.key.get() as u64);
        document.add_u64(self.episode, item.head.episode.get() as u64);
        document.add_u64(self.project, item.head.project.map_or(0, ProjectKey::get) as u64);
        document.add_u64(self.branch, item.head.branch.map_or(0, LabelKey::get) as u64);
        document.add_u64(self.role, u64::from(class_number(item.head.class)));
        document.add_i64(self.at, item.head.at.unwrap_or(NO_TIME));
        document.add_i64(self.position, item.head.position);
        document.add_bool(self.document, item.head.is_document);
        if let Some(speaker) = &item.speaker {
            document.add_text(self.text, speaker);
        }
        if !item.text.is_empty() {
            document.add_text(self.text, &item.text);
        }
        if !item.tool_text.is_empty() {
            document.add_text(self.tool, &item.tool_text);
        }
        let (names, title) = names::names_of(item);
        names.iter().for_each(|name| document.add_text(self.name, name));
        if let Some(title) = title {
            document.add_text(self.title, &title);
        }
        document
    }
}

/// Returns the schema and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(NAME)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions)
            .set_fieldnorms(true),
    );
    let fields = Fields {
        row: builder.add_u64_field("row", INDEXED | FAST),
        episode: builder.add_u64_field("episode", FAST),
        project: builder.add_u64_field("project", FAST),
        branch: builder.add_u64_field("branch", FAST),
        role: builder.add_u64_field("role", FAST),
        at: builder.add_i64_field("at", FAST),
        position: builder.add_i64_field("position", FAST),
        document: builder.add_bool_field("document", FAST),
        text: builder.add_text_field("text", words.clone()),
        tool: builder.add_text_field("tool", words),
        name: builder.add_text_field(names::NAME, FAST),
        title: builder.add_text_field(names::TITLE, FAST),
    };
    (builder.build(), fields)
}
