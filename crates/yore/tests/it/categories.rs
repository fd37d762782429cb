//! `yore categories`: the tree, the summary of one, and what recall and the brief make of it.

use crate::environment::TestEnvironment;

fn harbour() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("work/harbor/.git/HEAD", "ref: refs/heads/main\n");
    for (kind, statement) in [
        ("decision", "Tests of the gauge run against a recorded tide."),
        ("standard", "Every fix comes with a test."),
        ("fact", "The tests take four minutes."),
        ("fact", "Failing tests block the release of a map."),
        ("todo", "Test the export of berths."),
        ("fact", "The gulls are loud."),
    ] {
        remember(&environment, kind, statement);
    }
    environment
}

fn remember(environment: &TestEnvironment, kind: &str, statement: &str) {
    call(environment, &["remember", "--kind", kind, statement]).success();
}

fn call(environment: &TestEnvironment, arguments: &[&str]) -> crate::environment::Outcome {
    environment.yore(arguments.iter().copied()).current_dir(environment.path("work/harbor")).run()
}

#[test]
fn categories_are_listed_and_one_is_summarised_with_sources() {
    let environment = harbour();
    let listed = call(&environment, &["categories"]).success().stdout;
    assert!(listed.lines().any(|line| line.starts_with("testing 5 memories · ")), "{listed}");
    assert!(listed.lines().any(|line| line.starts_with("general 1 memory · ")), "{listed}");
    let tree = call(&environment, &["categories", "--json"]).json();
    assert_eq!((&tree[0]["name"], &tree[0]["items"]), (&"testing".into(), &5.into()), "{tree}");
    let told = call(&environment, &["categories", "Testing"]).success().stdout;
    assert!(told.starts_with("# Testing\n\nTests, test suites, "), "{told}");
    let headings: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(headings, ["What holds", "Decisions", "Rules", "Open points"]);
    let found = call(&environment, &["categories", "testing", "--json"]).json();
    let line = &found["lines"][0];
    let source = line["source"].as_str().unwrap();
    assert!(call(&environment, &["show", source]).success().stdout.contains(line["text"].as_str().unwrap()));
    assert_eq!(found["members"].as_array().unwrap().len(), 5);
    assert!(found["members"][0]["relevance"].as_f64().unwrap() > 0.5);
    let refused = call(&environment, &["categories", "atlantis"]).ends_with(1);
    assert!(
        refused.stderr.contains("no category \"atlantis\"; there are ") && refused.stderr.contains("testing"),
        "{}",
        refused.stderr
    );
}

#[test]
fn recall_answers_an_overview_from_the_summary_and_says_so() {
    let environment = harbour();
    let told = call(&environment, &["recall", "what do we know about testing?"]).success().stdout;
    assert!(told.starts_with("Overview about “testing”: answered from the summary of category testing\n- "), "{told}");
    assert!(!told.contains("What was said"), "{told}");
    let data = call(&environment, &["recall", "what do we know about testing?", "--json"]).json();
    assert_eq!((&data["view"]["sufficed"], &data["view"]["category"]), (&true.into(), &"testing".into()));
    assert_eq!(data["results"], serde_json::json!([]));
}

#[test]
fn the_brief_names_large_categories() {
    let environment = harbour();
    let told = call(&environment, &["brief"]).success().stdout;
    assert!(told.contains("Summaries (`yore categories NAME`): testing (5)."), "{told}");
}
