//! `yore` as a user meets it: the built program, run in a separate home. All tests are one binary, so that
//! the program is linked once and no file is forgotten.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "what is skipped or measured is told")]

mod account;
mod agent;
mod agent_life;
mod agent_matcher;
mod api;
mod audit;
mod broken_input;
mod categories;
mod config;
mod control;
mod crash;
mod daemon;
mod data_directory;
mod digest;
mod distil;
mod doctor;
mod environment;
mod faults;
mod forget;
mod formats;
mod handoff;
mod hook;
mod http;
mod ingest;
mod insights;
mod install;
mod language_model;
mod learn;
mod lists;
mod mcp;
mod mcp_peers;
mod memories;
mod models;
mod output;
mod own_version;
mod page;
mod pdf;
mod plugin;
mod proxy;
mod readme;
mod recall;
mod reference;
mod remember;
mod rlm;
mod shape;
mod share;
mod show;
mod small_memory;
mod stats;
mod status_line;
mod team;
mod team_sessions;
mod transcript;
mod unread;
mod up;
mod upkeep;
mod upkeep_jobs;
mod walk;

#[test]
fn every_file_of_this_folder_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name != "main")
        .collect();
    files.sort();
    let listed: Vec<&str> =
        include_str!("main.rs").lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    assert_eq!(listed, files);
}
