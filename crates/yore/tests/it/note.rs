//! `yore note`: words that a person gives.

use crate::environment::TestEnvironment;

#[test]
fn note_is_found_shown_and_forgotten_by_its_id() {
    let environment = TestEnvironment::new();
    let outcome = environment.yore(["note", "Figs are ripe in September", "--title", "Figs", "--tag", "orchard"]).run();
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    let id = outcome.stdout.trim().to_owned();
    assert_eq!(id.len(), 32);
    let found = environment.yore(["recall", "when are figs ripe", "--json"]).run().json();
    assert_eq!(found["results"][0]["quote"], "Figs are ripe in September");
    assert_eq!(found["results"][0]["role"], "human");
    assert_eq!(found["results"][0]["title"], "Figs");
    assert!(environment.yore(["show", &id]).run().stdout.contains("Figs are ripe"));
    assert_eq!(environment.yore(["forget", "--session", &id, "--hard"]).run().status.code(), Some(0));
    assert_eq!(environment.yore(["recall", "when are figs ripe"]).run().status.code(), Some(1));
}

#[test]
fn note_comes_from_standard_input_and_belongs_to_a_project() {
    let environment = TestEnvironment::new();
    environment.write("work/harbor/.git/HEAD", "ref: refs/heads/main\n");
    let outcome =
        environment.yore(["note", "-", "--json", "--project", "harbor"]).stdin("The crane opens at six.\nAlways.\n").run();
    let answer = outcome.json();
    assert!(answer["directory"].as_str().unwrap().ends_with("harbor"), "{answer}");
    let found = environment.yore(["recall", "crane", "--json", "--all"]).run().json();
    assert_eq!(found["results"][0]["project"], "harbor");
    // Without a word and without a terminal the input is read as well.
    assert_eq!(environment.yore(["note"]).stdin("second").run().status.code(), Some(0));
}

#[test]
fn empty_and_endless_notes_are_refused() {
    let environment = TestEnvironment::new();
    for input in [String::new(), " \n".to_owned(), "x".repeat((1 << 20) + 1)] {
        let outcome = environment.yore(["note", "-"]).stdin(&input).run();
        assert_eq!((outcome.status.code(), outcome.code()), (Some(2), "usage"));
    }
    assert_eq!(environment.yore(["note", "x", "--project", "nowhere"]).run().code(), "usage");
}
