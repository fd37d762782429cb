//! All tests of the engine's facade in one binary: each file here is a module of it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails must panic")]

mod agents;
mod aider;
mod answers;
mod antigravity;
mod architecture;
mod archive;
mod ask;
mod bench;
mod branches;
mod categories;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod cline;
mod codex;
mod conflicts;
mod consolidation;
mod contexts;
mod continue_dev;
mod copilot_chat;
mod cursor;
mod damage;
mod deepseek;
mod dependencies;
mod distil;
mod documents;
mod dynamics;
mod embed;
mod extract;
mod forget;
mod gate;
mod gemini;
mod git;
mod ground;
mod harm;
mod levels;
mod lifecycle;
mod links;
mod memories;
mod merge_duplicates;
mod models;
mod notes;
mod opencode;
mod order;
mod pages;
mod planted;
mod projects;
mod recall;
mod recall_memories;
mod records;
mod recursion;
mod redaction;
mod reindex;
mod replay;
mod requirements;
mod rows;
mod servers;
mod shape;
mod show;
mod speaker;
mod specstory;
mod statistics;
mod suggest;
mod told;
mod topics;
mod transcripts;
mod transport;
mod upgrade;
mod vectors;
mod witness;
mod zed;

/// A file that is not in the list would never run.
#[test]
fn every_file_of_the_folder_is_a_module() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(name == "main" || listed.contains(&format!("\nmod {name};\n")), "main.rs lacks `mod {name};`");
    }
}
