//! Aider: one growing Markdown file per repository.

use yore_core::episode::Role;
use yore_core::time::TimeQuality;
use yore_testing::Memory;

const HISTORY: &str = "tide/.aider.chat.history.md";

const FIRST: &str = "\n# aider chat started at 2026-01-05 10:00:00\n\n\
> /usr/bin/aider src/gauge.rs  \n> Aider v0.80.0  \n> Model: tide-4 with diff edit format  \n> Git repo: .git with 12 files  \n\n\
#### /ask why do the gauges drift?  \n\n#### why do the gauges drift?  \n\n\
They were never calibrated:\n\n```md\n#### Calibration  \n> not said\n```\n\n\
#### A heading\n\nThat is all.\n\n> Tokens: 3.1k sent, 200 received. Cost: $0.02 message.  \n\n";

const SECOND: &str = "#### calibrate them  \n#### <blank>  \n#### against the datum  \n\nDone.\n\n\
> Applied edit to src/gauge.rs  \n> Commit 1a2b3c4 fix: calibrate gauges  \n\n#### /undo  \n\n\
# aider chat started at 2026-01-05 11:30:00\n\n> Aider v0.80.0  \n> Main model: tide-5 with architect edit format  \n\n\
#### run the tests  \n\nOn it.\n\n> Error: no tests found  \n";

fn read(memory: &Memory) {
    let report = memory.read_as("aider", &memory.sources());
    assert!(report.skips.is_empty(), "{:?}", report.skips);
    memory.index();
}

fn sessions(memory: &Memory) -> Vec<String> {
    let mut sessions: Vec<String> = memory.episodes().into_iter().map(|episode| episode.native_id).collect();
    sessions.sort();
    sessions
}

#[test]
fn history_is_read_as_sessions_with_prompts_answers_and_what_was_done() {
    let memory = Memory::new();
    memory.write(HISTORY, format!("{FIRST}{SECOND}"));
    read(&memory);
    assert_eq!(sessions(&memory), ["tide/2026-01-05 10:00:00", "tide/2026-01-05 11:30:00"]);
    let turns = memory.turns("tide/2026-01-05 10:00:00");
    let said: Vec<(Role, &str)> = turns.iter().map(|turn| (turn.role, turn.text.as_str())).collect();
    assert_eq!(said[1], (Role::Human, "/ask why do the gauges drift?"));
    assert!(said[2].0 == Role::Assistant && said[2].1.contains("#### Calibration") && said[2].1.ends_with("That is all."));
    assert_eq!(said[3], (Role::Human, "calibrate them\n\nagainst the datum"));
    assert_eq!(said[4], (Role::Assistant, "Done."));
    assert_eq!(turns[5].tool_text, "Applied edit to src/gauge.rs\nCommit 1a2b3c4 fix: calibrate gauges");
    assert_eq!(said[6], (Role::System, "/undo"));
    assert_eq!(turns.len(), 7, "a question is not said twice, costs are no words: {said:?}");
    assert_eq!(turns[1].native_message, "aider-2026-01-05T10:00:00-2:9", "the lines of the session and of the words");
    let cwd = memory.sources().join("tide");
    assert_eq!(turns[1].cwd.as_deref(), cwd.to_str());
    assert_eq!(turns[1].time.quality, TimeQuality::Session);
    assert_eq!(turns[1].time.offset_minutes, None, "nobody knows the zone");
    let first = memory.episodes().into_iter().find(|episode| episode.native_id.ends_with("10:00:00")).unwrap();
    assert_eq!(first.links, [("commit".to_owned(), "1a2b3c4".to_owned())]);
    let second = memory.turns("tide/2026-01-05 11:30:00");
    assert!(second[3].is_error, "{:?}", second[3]);
    assert_eq!(second[2].model.as_deref(), Some("tide-5"));
}

#[test]
fn appended_text_adds_turns_and_leaves_the_others() {
    let (whole, steps) = (Memory::new(), Memory::new());
    whole.write(HISTORY, format!("{FIRST}{SECOND}"));
    read(&whole);
    steps.write(HISTORY, FIRST);
    read(&steps);
    steps.append(HISTORY, SECOND.as_bytes());
    let report = steps.read_as("aider", &steps.sources());
    steps.index();
    assert_eq!(report.turns_updated, 0);
    // The text includes the directory, which differs between the memories.
    let words = |memory: &Memory| memory.words().replace(memory.sources().to_str().unwrap(), "");
    assert_eq!(words(&steps), words(&whole));
}

#[test]
fn moved_repository_keeps_its_sessions() {
    let memory = Memory::new();
    memory.write(HISTORY, FIRST);
    read(&memory);
    memory.write("elsewhere/tide/.aider.chat.history.md", FIRST);
    let report = memory.read_as("aider", &memory.sources());
    assert_eq!((report.files, report.turns_added), (2, 0));
}

#[test]
fn histories_are_looked_for_where_repositories_are() {
    let memory = Memory::new();
    memory.write("a/b/tide/.aider.chat.history.md", FIRST);
    memory.write("a/node_modules/x/.aider.chat.history.md", FIRST);
    memory.write("a/.git/.aider.chat.history.md", FIRST);
    memory.write("a/notes.md", FIRST);
    assert_eq!(memory.read_as("aider", &memory.sources()).files, 1);
    // A history under another name is read if it is named.
    let named = memory.write("named/chat-history.md", FIRST);
    assert_eq!(memory.read_as("aider", &named).files, 1);
}

#[test]
fn forgotten_session_leaves_the_others_and_does_not_come_back() {
    let memory = Memory::new();
    memory.write(HISTORY, format!("{FIRST}{SECOND}"));
    read(&memory);
    memory.forget_hard("tide/2026-01-05 10:00:00");
    memory.append(HISTORY, b"\n#### and now?  \n");
    memory.read_as("aider", &memory.sources());
    memory.index();
    assert_eq!(sessions(&memory), ["tide/2026-01-05 11:30:00"]);
    assert!(!memory.words().contains("calibrated"));
}

#[test]
fn long_history_is_read_in_a_blink() {
    let memory = Memory::new();
    let mut text = String::new();
    for session in 0..500 {
        text.push_str(&format!(
            "# aider chat started at 2026-01-05 {:02}:{:02}:00\n\n> Aider v0.80.0  \n\n",
            session / 60,
            session % 60
        ));
        for question in 0..4 {
            text.push_str(&format!(
                "#### question {question}  \n\n```py\n{}```\n\n> Tokens: 1k sent  \n\n",
                "x = 1\n".repeat(40)
            ));
        }
    }
    let path = memory.write(HISTORY, &text);
    let report = memory.read_as("aider", &path);
    assert_eq!(report.turns_added, 500 * 9, "a banner, and four prompts with their answers, in each");
}

#[test]
fn blank_line_in_the_output_of_a_command_makes_no_answer_of_the_rest() {
    let memory = Memory::new();
    let output = "> == test session starts ==\ndef test_gauge():\n    \n    # Create a gauge\n1 failed  \n";
    memory.write(HISTORY, format!("{FIRST}#### /test pytest  \n\n{output}\n#### mend it  \n\nDone.\n"));
    read(&memory);
    let turns = memory.turns("tide/2026-01-05 10:00:00");
    let last: Vec<(Role, &str)> = turns.iter().rev().take(3).map(|turn| (turn.role, turn.text.as_str())).collect();
    assert_eq!(last, [(Role::Assistant, "Done."), (Role::Human, "mend it"), (Role::ToolResult, "")]);
    assert!(turns[turns.len() - 3].tool_text.ends_with("1 failed"), "{turns:?}");
}
