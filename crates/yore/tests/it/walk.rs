//! The first hour with memories: remember, correct, ask for another time, undo, export, begin anew, import, ask again, forget.

use std::fs;

use crate::environment::{Outcome, TestEnvironment};

const QUESTION: &str = "which port does the harbour server listen on?";

/// Two projects, each with a directory.
struct Walk(TestEnvironment);

impl Walk {
    fn new() -> Self {
        let environment = TestEnvironment::new();
        for name in ["alpha", "beta"] {
            fs::create_dir_all(environment.path(name).join(".git")).unwrap();
        }
        Self(environment)
    }

    /// Runs the program in a project.
    #[track_caller]
    fn at(&self, project: &str, arguments: &[&str]) -> Outcome {
        self.0.yore(arguments).current_dir(self.0.path(project)).run()
    }

    /// Records a memory and returns its id.
    #[track_caller]
    fn remember(&self, project: &str, statement: &str, kind: &str) -> String {
        self.at(project, &["remember", statement, "--kind", kind]).success().stdout.trim().to_owned()
    }

    /// Returns the statements that answer the question in alpha, with what else is told of them.
    fn answer(&self, more: &[&str]) -> String {
        let outcome = self.at("alpha", &[&["recall", QUESTION, "--memories"], more].concat());
        outcome.stdout
    }

    /// Returns the times of the operations, by number.
    fn times(&self) -> Vec<(u64, String)> {
        let log = self.at("alpha", &["op", "log", "--json"]).success().json();
        let row = |row: &serde_json::Value| (row["number"].as_u64().unwrap(), row["at"].as_str().unwrap().to_owned());
        log.as_array().unwrap().iter().map(row).collect()
    }

    fn time_of(&self, number: u64) -> String {
        self.times().into_iter().find(|(known, _)| *known == number).unwrap().1
    }

    fn wipe(&self) {
        fs::remove_dir_all(self.0.data()).unwrap();
    }
}

#[test]
fn what_was_remembered_corrected_undone_and_moved_is_there_and_what_was_forgotten_is_not() {
    let walk = Walk::new();
    walk.remember("alpha", "we chose SQLite, because it needs no server", "decision");
    let port = walk.remember("alpha", "the harbour server listens on port 4711", "fact");
    walk.remember("beta", "commits have one purpose", "standard");
    walk.at("alpha", &["memories", "edit", &port, "the harbour server listens on port 4800"]).success();
    assert!(walk.answer(&[]).contains("port 4800"), "{}", walk.answer(&[]));
    let corrected = walk.time_of(4);
    let before = walk.answer(&["--as-of", &corrected]);
    assert!(before.contains("port 4711") && !before.contains("port 4800"), "{before}");

    let undone = walk.at("alpha", &["op", "undo"]).success();
    assert!(undone.stderr.contains("yore redo 4"), "{undone:?}");
    let present = walk.answer(&[]);
    assert!(present.contains("port 4711") && !present.contains("port 4800"), "{present}");
    let between = walk.answer(&["--as-of", &walk.time_of(5)]);
    assert!(between.contains("port 4800"), "as it was believed while the correction stood: {between}");
    walk.at("alpha", &["op", "redo"]).success();
    assert!(walk.answer(&[]).contains("port 4800"));

    // To another computer, as lines and as pages.
    let (lines, pages) = (walk.0.path("all.jsonl"), walk.0.path("pages"));
    walk.at("alpha", &["export", lines.to_str().unwrap()]).success();
    walk.at("alpha", &["export", "--markdown", pages.to_str().unwrap()]).success();
    walk.wipe();
    walk.at("alpha", &["import", lines.to_str().unwrap(), "--trust"]).success();
    let moved = walk.answer(&[]);
    assert!(moved.contains("port 4800") && moved.contains("port 4711"), "with what it replaced: {moved}");
    assert!(walk.at("alpha", &["import", lines.to_str().unwrap()]).success().stdout.contains("0 memories"));
    let of_beta = walk.at("beta", &["recall", "commits", "--memories"]).success().stdout;
    assert!(of_beta.contains("commits have one purpose"), "{of_beta}");

    walk.wipe();
    let refused = walk.at("alpha", &["import", pages.to_str().unwrap(), "--as-new"]);
    assert!(refused.stderr.contains("--project"), "{refused:?}");
    walk.at("alpha", &["import", pages.to_str().unwrap(), "--as-new", "--project", "."]).success();
    let renewed = walk.answer(&[]);
    assert!(renewed.contains("port 4800"), "{renewed}");

    // What was undone is forgotten like anything else, and what stood before a forgotten correction may hold again.
    let old = walk.remember("alpha", "the vault opens at nine", "fact");
    walk.at("alpha", &["memories", "edit", &old, "the vault opens with zanzquux"]).success();
    let shown = walk.at("alpha", &["memories", "--json"]).success().json();
    let newer = shown.as_array().unwrap().iter().find(|one| one["statement"].as_str().unwrap().contains("zanzquux")).unwrap();
    let newer = newer["id"].as_str().unwrap().to_owned();
    walk.at("alpha", &["forget", &newer, "--hard"]).success();
    let late = walk.at("alpha", &["memories", "edit", &old, "the vault opens at ten"]);
    assert!(!late.status.success() && late.stderr.contains("memories confirm"), "{late:?}");
    walk.at("alpha", &["memories", "confirm", &old]).success();
    walk.at("alpha", &["memories", "edit", &old, "the vault opens at ten"]).success();
    let secret = walk.remember("alpha", "the other code is zanzquux", "fact");
    walk.at("alpha", &["op", "undo"]).success();
    walk.at("alpha", &["forget", &secret, "--hard"]).success();
    for file in ["yore.db", "yore.db-wal"] {
        let bytes = fs::read(walk.0.data().join(file)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains("zanzquux"), "{file}");
    }
    walk.0.is_sound();
}
