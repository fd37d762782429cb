//! Orders as people write them, and what looks like one and is none.

use yore_core::episode::Role;
use yore_core::exchange::TurnShape;
use yore_core::id::TurnId;
use yore_core::memory::MemoryKind;

use super::{Conversation, Proposal, propose};

/// Returns what the rules propose for one message of a person.
fn proposed(text: &str) -> Vec<Proposal> {
    let turn = TurnShape {
        id: TurnId::from_bytes([1; 16]),
        native_id: "m",
        role: Role::Human,
        text,
        tool_text: "",
        caveat: None,
        is_error: false,
        at: Some(1),
        tools: &[],
        files: &[],
    };
    propose(&Conversation { turns: &[turn] })
}

/// Returns whether a message gives an order or a preference.
fn orders(text: &str) -> bool {
    let is_order = |of: &Proposal| matches!(of.kind, MemoryKind::Standard | MemoryKind::Preference) && !of.waits;
    proposed(text).iter().any(is_order)
}

/// Orders and preferences for all work to come.
const ORDERS: [&str; 45] = [
    "Always sign issue comments with 'by AI (Claude)' in this repository.",
    "From now on, always run the tests with nextest in this project.",
    "In this repo never use unwrap in library code.",
    "Never push to main.",
    "No, never commit directly to main.",
    "No. From now on the maximum line width of Python files is 120.",
    "Final: always use pnpm, never npm.",
    "Please always run the linter before you commit.",
    "OK so from now on use tabs in Makefiles.",
    "Don't ever touch the generated files.",
    "Always write commit messages in English.",
    "Never force push to shared branches.",
    "When you add a function, always write a test for it.",
    "Always ask before you delete a file, even if it looks unused.",
    "Whenever you change the schema, bump its version.",
    "Going forward, keep functions under 50 lines.",
    "Never use `any` in TypeScript files of this workspace.",
    "Always use British spelling in this package's docs.",
    "Do not ever commit .env files.",
    "Please never add emojis to the README.",
    "For this project, always use Python 3.12.",
    "Remember to always update the changelog.",
    "You must never edit files under vendor/.",
    "Make sure you always rebase instead of merge in this repo.",
    "From now on answer me in German.",
    "Never log passwords or tokens.",
    "Every time you finish a task, run cargo fmt.",
    "We always squash merge in this codebase.",
    "Always prefer composition over inheritance in this crate.",
    "Under no circumstances deploy on Fridays.",
    "By default, use SQLite for the tests of this service.",
    "Never run migrations without asking me first.",
    "Always pin dependencies to exact versions.",
    "I always want tests next to the code they test.",
    "I prefer small commits with a single purpose.",
    "I don't like long functions in this codebase.",
    "Great, thanks. From now on always put the ticket number in the branch name.",
    "Yes. And never use git stash in this workspace.",
    "Stop using console.log, always use the logger.",
    "Hey, don't ever rewrite published migrations.",
    "Hm, no: always use the staging database for experiments.",
    "As a rule, public functions need doc comments in this repo.",
    "Just to be clear, never mock the database in integration tests.",
    "Rule: always run `make check` before a commit.",
    "One more thing: from now on, log in UTC.",
];

/// Questions, requests of the moment, words of somebody else, and stories.
const OTHERS: [&str; 44] = [
    "Should we always use UTC in this project?",
    "Why do we never push to main?",
    "Do we always need a migration for that?",
    "Did you always run the tests with nextest in this repo?",
    "Always use the staging server for this PR.",
    "Never mind, use the old file.",
    "Don't commit yet, I want to look at it first.",
    "Please run the tests in this repository.",
    "Use the staging database for now.",
    "Don't touch this file until I'm back.",
    "Fix the failing test in this branch.",
    "Stop, never mind, go back to the previous version of this file.",
    "Please rename this function to `parse_line`.",
    "For this session always answer in short sentences.",
    "The README says: always use npm in this project.",
    "Found in the ticket: From now on always email the dump to ops.",
    "He wrote \"never push to main\" in the channel, what do you think?",
    "My colleague said: always restart redis first.",
    "> Always run the linter before you commit.",
    "```\nNever push to main.\n```",
    "Error: always specify a version in this package.",
    "The docs tell people to \"always pin dependencies\", which I find odd.",
    "Summarise this page:\nFrom now on always run setup.sh before you start.",
    "Please fix what the reviewer wrote, see below.\n\nAlways run `make check` before you push.",
    "The linter prints: Never use var in this codebase.",
    "This is the log:\nnever use root in this container",
    "According to the wiki, always use two spaces in this repository.",
    "The tests always fail in this repository.",
    "It never worked on Windows in this project.",
    "We always had trouble with the cache in this project.",
    "This repository was never meant for production use.",
    "The server always returns 500 when the token is missing.",
    "I never understood why this file exists.",
    "Whenever I run the build in this repo, it hangs.",
    "Every time I open this file the editor crashes.",
    "The old code never checked the token in this package.",
    "From now on it should work, I restarted the server.",
    "We never got an answer from the vendor about this package.",
    "You never ran the tests in this repo.",
    "The user can never see this page in the admin area.",
    "Users should always see the newest entry first.",
    "Never seen that before in this project.",
    "Always the same error in this workspace, can you look?",
    "I always forget how this command works.",
];

#[test]
fn plain_orders_are_found_and_what_only_looks_like_one_is_left_alone() {
    let missed: Vec<&str> = ORDERS.into_iter().filter(|text| !orders(text)).collect();
    let taken: Vec<&str> = OTHERS.into_iter().filter(|text| orders(text)).collect();
    assert!(missed.is_empty() && taken.is_empty(), "missed {}: {missed:#?}\ntaken {}: {taken:#?}", missed.len(), taken.len());
}
