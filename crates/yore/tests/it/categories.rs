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

/// A call with a program as the model: it answers about a subject with `lines.json` and about memories with `decisions.json`, and notes
/// what it was asked.
fn with_model(environment: &TestEnvironment, arguments: &[&str]) -> crate::environment::Outcome {
    let [prompt, asked, lines, decisions] =
        ["prompt", "asked", "lines.json", "decisions.json"].map(|name| environment.path(name).display().to_string());
    let script = format!(
        "cat > '{prompt}'; if grep -q '\"subject\"' '{prompt}'; then echo subject >> '{asked}'; cat '{lines}'; \
         else echo memories >> '{asked}'; cat '{decisions}'; fi"
    );
    let runner = environment.yore(arguments.iter().copied()).current_dir(environment.path("work/harbor"));
    let runner = runner.env("YORE_LLM__PROVIDER", "command").env("YORE_LLM__DAILY_TOKENS", "500000");
    runner.env("YORE_LLM__COMMAND", serde_json::json!(["/bin/sh", "-c", script]).to_string()).run()
}

fn asked(environment: &TestEnvironment) -> Vec<String> {
    let log = std::fs::read_to_string(environment.path("asked")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

/// Lines of a model: one that all five memories support, and one with a number that none of them has.
fn write_lines(environment: &TestEnvironment) {
    let lines = serde_json::json!({"lines": [
        {"section": "decisions", "text": "Tests of the gauge run against a recorded tide and take four minutes.", "sources": [1, 2, 3, 4, 5]},
        {"section": "holds", "text": "The tests take 90 seconds.", "sources": [1]},
    ]});
    environment.write("lines.json", lines.to_string());
    environment.write("decisions.json", "{\"decisions\": []}");
}

#[cfg(unix)]
#[test]
fn a_model_writes_a_summary_once_and_its_lines_follow_their_memories() {
    let environment = harbour();
    write_lines(&environment);
    let written = with_model(&environment, &["categories", "--summarise"]).success();
    assert!(
        written.stderr.contains("1 summary written, 0 unchanged; 1 line left out that no memory supports"),
        "{}",
        written.stderr
    );
    let prompt = std::fs::read_to_string(environment.path("prompt")).unwrap();
    assert!(prompt.contains("Every fix comes with a test.") && !prompt.contains("gulls"), "{prompt}");
    let again = with_model(&environment, &["categories", "--summarise"]).success();
    assert!(again.stderr.contains("0 summaries written, 1 unchanged"), "{}", again.stderr);
    assert_eq!(asked(&environment), ["subject"], "what the model knows is not paid for again");

    let told = call(&environment, &["categories", "testing"]).success();
    let line = "- Tests of the gauge run against a recorded tide and take four minutes (";
    let line = told.stdout.lines().find(|told| told.starts_with(line)).unwrap().to_owned();
    assert_eq!(line.split_once('[').unwrap().1.split(", ").count(), 5, "each memory that it rests on is named: {line}");
    assert!(told.stderr.contains("written by command"), "{}", told.stderr);
    assert!(!told.stdout.contains("90 seconds"), "{}", told.stdout);
    let data = call(&environment, &["categories", "testing", "--json"]).json();
    assert_eq!((&data["written_by"], data["lines"][0]["also"].as_array().unwrap().len()), (&"command".into(), 4), "{data}");
    let overview = call(&environment, &["recall", "what do we know about testing?"]).success().stdout;
    assert!(overview.contains("recorded tide and take four minutes"), "{overview}");

    remember(&environment, "standard", "Tests never wait for the network.");
    let told = call(&environment, &["categories", "testing"]).success().stdout;
    assert!(told.contains(&line) && told.contains("Tests never wait for the network."), "what is new is told beside it: {told}");

    let id = line.split(['[', ',']).nth(1).unwrap();
    call(&environment, &["forget", id]).success();
    let told = call(&environment, &["categories", "testing"]).success().stdout;
    assert!(!told.contains("recorded tide and take"), "a line falls with one of its memories: {told}");
    assert!(told.contains("Every fix comes with a test.") || told.contains("Tests of the gauge run"), "{told}");
}

#[cfg(unix)]
#[test]
fn what_a_model_wrote_goes_with_a_memory_that_is_forgotten_for_good() {
    let environment = harbour();
    write_lines(&environment);
    with_model(&environment, &["categories", "testing", "--summarise"]).success();
    let kept = || {
        let found = std::process::Command::new("grep").args(["-rla", "recorded tide and take"]).arg(environment.data()).output();
        String::from_utf8(found.unwrap().stdout).unwrap()
    };
    assert_ne!(kept(), "");
    let other = call(&environment, &["memories", "--json"]).json();
    let gulls = other.as_array().unwrap().iter().find(|memory| memory["statement"] == "The gulls are loud.").unwrap();
    call(&environment, &["forget", "--hard", gulls["id"].as_str().unwrap()]).success();
    assert_eq!(kept(), "", "the words may be those of what was forgotten");
}

#[cfg(unix)]
#[test]
fn at_night_the_model_compares_and_summarises_only_with_consent() {
    let environment = harbour();
    write_lines(&environment);
    let run = |consent: &[&str]| {
        let arguments = [&["upkeep", "run", "understand", "--json"][..], consent].concat();
        with_model(&environment, &arguments).success().json()[0]["counts"].clone()
    };
    assert_eq!(run(&[]), serde_json::json!({}));
    assert_eq!(asked(&environment), Vec::<String>::new());
    let counts = run(&["-c", "learn.auto=true"]);
    assert_eq!((&counts["compared"], &counts["summaries"]), (&6.into(), &1.into()), "{counts}");
    assert_eq!(asked(&environment), ["memories", "subject"]);
    let counts = run(&["-c", "learn.auto=true"]);
    assert_eq!((&counts["compared"], &counts["summaries"], &counts["calls"]), (&0.into(), &0.into(), &0.into()), "{counts}");
    let counts = run(&["-c", "learn.auto=true", "-c", "llm.provider=", "-c", "llm.uses=[\"extract=command\"]"]);
    assert_eq!(counts["calls"], 0, "a model for sessions alone compares nothing, and that is no failure");
}
