//! Settings as a user keeps them: wrong files and how they are repaired, and the effects that a project's
//! file may and may not have on the memory.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::environment::{Outcome, TestEnvironment};
use crate::transcript::Transcript;

const SHIP: &str = "5e110001-a91c-4f3e-8d52-17c0b6e4f9a1";
const SHORE: &str = "5e110002-6b27-4c08-b1f4-d8052ae93c76";
const UNKNOWN: &str = "5e110003-0e5d-49a2-9637-fb418c7d2e50";
const BROKEN: &str = "[recall]\nlimit = 0\nscop = \"all\"\n\n[capture]\nenabled = \"maybe\"\n";

/// Returns the path where the program looks for the user's file.
fn user_file(environment: &TestEnvironment) -> PathBuf {
    environment.yore(["config", "path"]).run().success().stdout.trim_end().into()
}

fn with_user_file(text: &str) -> (TestEnvironment, PathBuf) {
    let environment = TestEnvironment::new();
    let path = user_file(&environment);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    (environment, path)
}

/// Two projects, `ship` and `shore`, each with a directory and a session.
struct Projects {
    environment: TestEnvironment,
    ship: PathBuf,
    shore: PathBuf,
    ship_file: PathBuf,
}

impl Projects {
    fn new() -> Self {
        let environment = TestEnvironment::new();
        let session = |name: &str, id: &str, words: &str| {
            let directory = environment.path(&format!("code/{name}"));
            fs::create_dir_all(directory.join("deep")).unwrap();
            let file = Transcript::new(id, directory.join("deep").to_str().unwrap())
                .human(&format!("what of the {words}?"))
                .assistant(&format!("The {words} is well."))
                .write(&environment.projects());
            (directory, file)
        };
        let (ship, ship_file) = session("ship", SHIP, "mainsail");
        let (shore, _) = session("shore", SHORE, "lighthouse");
        Self { environment, ship, shore, ship_file }
    }

    /// Reads everything, with these settings for the one command.
    fn ingest(&self, settings: &[String]) -> Outcome {
        let settings = settings.iter().flat_map(|setting| ["-c", setting]);
        self.environment.yore(["ingest", "--json"]).args(settings).run().success()
    }

    /// Returns which of the two sessions are in the memory.
    fn kept(&self) -> Vec<&'static str> {
        let sessions = self.environment.yore(["sessions", "--json"]).run().stdout;
        let archived = self.environment.yore(["recall", "--all", "--json", "well"]).run().stdout;
        let is_kept = |id: &str, words: &str| {
            assert_eq!(sessions.contains(id), archived.contains(words), "{sessions}\n{archived}");
            sessions.contains(id)
        };
        [("ship", is_kept(SHIP, "mainsail")), ("shore", is_kept(SHORE, "lighthouse"))]
            .into_iter()
            .filter_map(|(name, is_kept)| is_kept.then_some(name))
            .collect()
    }
}

fn list(paths: &[&PathBuf]) -> String {
    json!(paths).to_string()
}

#[test]
fn broken_file_stops_other_commands_and_names_the_line_and_the_nearest_key() {
    let (environment, path) = with_user_file("[recall]\nlimits = 3\n");
    for command in [&["stats"][..], &["recall", "x"], &["up"], &["config", "show"], &["config", "get", "recall.limit"]] {
        let outcome = environment.yore(command).run().ends_with(2);
        assert_eq!(outcome.code(), "config/unknown-key");
        let expected = format!("`recall.limits` in {}, line 2; did you mean `recall.limit`?", path.display());
        assert!(outcome.stderr.contains(&expected), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("yore config check"), "{}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
    }
    assert!(!environment.data().exists());
}

#[test]
fn check_lists_every_problem_of_a_broken_file() {
    let (environment, _) = with_user_file(BROKEN);
    let checked = environment.yore(["config", "check", "--json", "-c", "up.nothing=1"]).run().ends_with(2).json();
    let codes: Vec<&str> = checked.as_array().unwrap().iter().map(|problem| problem["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["config/bad-value", "config/unknown-key", "config/wrong-type", "config/unknown-key"]);
    let shown = environment.yore(["config", "check"]).run().ends_with(2).stdout;
    for line in ["line 2 is 0; expected a whole number", "line 3; did you mean `recall.scope`?", "line 6 is \"maybe\""] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    environment.yore(["config", "check"]).env("YORE_CONFIG", environment.write("fine.toml", "")).run().success();
}

#[test]
fn check_names_the_address_and_the_model_that_a_provider_lacks() {
    let environment = TestEnvironment::new();
    for (settings, lacks) in [
        (&["llm.provider=openai"][..], "openai needs a model; set llm.model"),
        (&["llm.provider=openai-compatible", "llm.model=m"], "openai-compatible needs an address; set llm.address"),
        (&["models.embedder=openai-compatible/m"], "openai-compatible needs an address; set models.embedder_address"),
        (&["models.reranker=jina-compatible/m"], "jina-compatible needs an address; set models.reranker_address"),
        (&["llm.provider=command"], "llm.command is empty; set it to the program and its arguments"),
    ] {
        let given = settings.iter().flat_map(|setting| ["-c", *setting]);
        let shown = environment.yore(["config", "check"].into_iter().chain(given)).run().ends_with(2).stdout;
        assert!(shown.contains(lacks) && !shown.contains("is valid"), "{settings:?}: {shown}");
    }
    let whole = ["-c", "models.embedder=openai-compatible/m", "-c", "models.embedder_address=http://127.0.0.1:9/v1"];
    environment.yore(["config", "check"].into_iter().chain(whole)).run().success();
}

#[test]
fn broken_file_can_be_mended_key_by_key() {
    let (environment, path) = with_user_file(BROKEN);
    environment.yore(["config", "set", "recall.limit", "7"]).run().success();
    environment.yore(["config", "unset", "recall.scop"]).run().success();
    environment.yore(["config", "check"]).run().ends_with(2);
    environment.yore(["config", "set", "capture.enabled", "true"]).run().success();
    environment.yore(["config", "check"]).run().success();
    assert_eq!(fs::read_to_string(path).unwrap(), "[recall]\nlimit = 7\n\n[capture]\nenabled = true\n");
    assert_eq!(environment.yore(["config", "get", "recall.limit"]).run().success().stdout, "7\n");
}

#[test]
fn file_that_is_no_toml_is_left_alone_but_named() {
    let (environment, path) = with_user_file("[recall\nlimit = 7\n");
    for command in [&["stats"][..], &["config", "set", "recall.limit", "8"]] {
        let outcome = environment.yore(command).run().ends_with(2);
        assert_eq!(outcome.code(), "config/syntax");
        assert!(outcome.stderr.contains(&format!("{}, line 1", path.display())), "{}", outcome.stderr);
    }
    assert_eq!(fs::read_to_string(path).unwrap(), "[recall\nlimit = 7\n");
}

#[test]
fn what_needs_no_settings_works_with_broken_ones() {
    let (environment, path) = with_user_file(BROKEN);
    assert_eq!(user_file(&environment), path);
    let defaults = environment.yore(["config", "defaults"]).run().success().stdout;
    assert!(defaults.contains("tool_weight = 0.15"), "{defaults}");
    let schema = environment.yore(["config", "schema"]).run().success().json();
    assert!(schema["properties"]["redaction"]["properties"]["extra_patterns"].is_object());
    assert!(environment.yore(["completions", "bash"]).run().success().stdout.contains("yore"));
}

#[test]
fn show_tells_where_each_value_comes_from() {
    let (environment, path) = with_user_file("[recall]\nlimit = 7\nquote_chars = 99\n");
    let project_file = environment.write("work/.yore.toml", "recall.scope = \"project\"\n");
    let shown = environment
        .yore(["config", "show", "--origin", "--json", "-c", "recall.tool_weight=0.5"])
        .env("YORE_RECALL__LIMIT", "8")
        .run()
        .success()
        .json();
    let row = |key: &str| -> Value {
        let row = shown.as_array().unwrap().iter().find(|row| row["key"] == key).unwrap();
        json!([row["value"], row["origin"]])
    };
    assert_eq!(row("recall.limit"), json!(["8", ["environment variable YORE_RECALL__LIMIT"]]));
    assert_eq!(row("recall.quote_chars"), json!(["99", [format!("{}, line 3", path.display())]]));
    assert_eq!(row("recall.scope"), json!(["\"project\"", [format!("{}, line 1", project_file.display())]]));
    assert_eq!(row("recall.tool_weight"), json!(["0.5", ["the command line"]]));
    assert_eq!(row("store.busy_timeout_ms"), json!(["5000", ["the default"]]));
}

#[test]
fn project_file_that_asks_for_what_it_may_not_is_ignored_with_a_warning_and_memory_still_works() {
    let (environment, _) = with_user_file("capture.mode = \"opt-in\"\n");
    let key = |name: &str| {
        let shown = environment.yore(["config", "show", "--json"]).run().success().json();
        shown.as_array().unwrap().iter().find(|row| row["key"] == name).unwrap()["value"].clone()
    };
    for (name, line) in [
        ("capture.mode", "capture.mode = \"all\""),
        ("capture.projects", "capture.projects = [\".\"]"),
        ("sources.claude-code.roots", "sources.claude-code.roots = [\"/\"]"),
        ("http.enabled", "http.enabled = true"),
        ("recall.tool_weight", "recall.tool_weight = 1"),
        ("recall.rerank", "recall.rerank = \"always\""),
        ("recall.embedder", "recall.embedder = \"local\""),
        ("llm.provider", "llm.provider = \"command\""),
    ] {
        let file = environment.write("work/.yore.toml", "");
        let before = key(name);
        environment.write("work/.yore.toml", format!("{line}\n"));
        let outcome = environment.yore(["ingest"]).run().success();
        assert!(outcome.stderr.contains("ignored in this project's settings"), "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(&format!("{}, line 1", file.display())), "{}", outcome.stderr);
        assert_eq!(key(name), before, "{line}");
        assert_eq!(environment.yore(["config", "check"]).run().status.code(), Some(2), "{line}");
    }
    for odd in ["[nonsense]\nx = 1\n", "recall.limit = \"many\"\n", "not toml ["] {
        environment.write("work/.yore.toml", odd);
        let outcome = environment.yore(["sessions"]).run();
        assert!(outcome.stderr.contains("ignored in this project's settings"), "{odd}: {}", outcome.stderr);
        assert_ne!(outcome.status.code(), Some(2), "{odd}");
    }
}

#[test]
fn project_that_switches_capture_off_is_kept_out_and_others_are_not() {
    let projects = Projects::new();
    fs::write(projects.ship.join(".yore.toml"), "[capture]\nenabled = false\n").unwrap();
    projects.ingest(&[]);
    assert_eq!(projects.kept(), ["shore"]);
}

#[test]
fn project_file_that_cannot_be_understood_keeps_the_project_out() {
    let projects = Projects::new();
    fs::write(projects.ship.join(".yore.toml"), "[capture]\nenabled = nope\n").unwrap();
    projects.ingest(&[]);
    assert_eq!(projects.kept(), ["shore"]);
}

#[test]
fn without_rules_every_project_is_kept() {
    let projects = Projects::new();
    projects.ingest(&[]);
    assert_eq!(projects.kept(), ["ship", "shore"]);
}

#[test]
fn opt_in_fails_closed() {
    let projects = Projects::new();
    projects.ingest(&["capture.mode=opt-in".to_owned()]);
    assert_eq!(projects.kept(), [""; 0], "nothing is listed, so nothing is kept");
    let projects = Projects::new();
    // A transcript that does not name its directory.
    let unknown = projects.environment.projects().join("unknown").join(format!("{UNKNOWN}.jsonl"));
    let text = fs::read_to_string(&projects.ship_file).unwrap();
    let lines: String = text
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(&line.replace(SHIP, UNKNOWN).replace("mainsail", "foresail")).unwrap();
            line.as_object_mut().unwrap().remove("cwd");
            format!("{line}\n")
        })
        .collect();
    fs::create_dir_all(unknown.parent().unwrap()).unwrap();
    fs::write(unknown, lines).unwrap();
    projects.ingest(&["capture.mode=opt-in".to_owned(), format!("capture.projects={}", list(&[&projects.shore]))]);
    assert_eq!(projects.kept(), ["shore"]);
    let found = projects.environment.yore(["recall", "--all", "foresail"]).run().ends_with(1);
    assert_eq!(found.stdout, "");
}

#[test]
fn excluded_paths_and_projects_are_not_read() {
    let by_path = Projects::new();
    let pattern = json!([by_path.ship_file.parent().unwrap().join("*.jsonl")]);
    let report = by_path.ingest(&[format!("capture.exclude_paths={pattern}")]).json();
    assert_eq!((&report["files"], &report["files_excluded"]), (&json!(1), &json!(1)));
    assert_eq!(by_path.kept(), ["shore"]);
    let by_project = Projects::new();
    by_project.ingest(&[format!("capture.exclude_projects={}", list(&[&by_project.shore]))]);
    assert_eq!(by_project.kept(), ["ship"]);
}

#[test]
fn own_patterns_are_redacted_before_anything_is_written() {
    let projects = Projects::new();
    let report = projects.ingest(&["redaction.extra_patterns=(?i)MAINsail".to_owned()]).json();
    assert_eq!(report["redactions"], json!({"custom": 2}));
    let shown = projects.environment.yore(["recall", "--all", "--json", "what well"]).run().success().stdout;
    assert!(shown.contains("[yore:redacted custom ") && shown.contains("lighthouse") && !shown.contains("mainsail"), "{shown}");
    let outcome = projects.environment.yore(["ingest", "-c", "redaction.extra_patterns=sail("]).run().ends_with(2);
    assert_eq!(outcome.code(), "config/bad-value");
    assert!(outcome.stderr.contains("`redaction.extra_patterns` on the command line"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("sail(") && outcome.stderr.contains("unclosed group"), "{}", outcome.stderr);
}

#[test]
fn scope_says_whose_words_are_searched() {
    let projects = Projects::new();
    projects.ingest(&[]);
    let ask = |scope: &str, here: &PathBuf| {
        let setting = format!("recall.scope={scope}");
        projects.environment.yore(["recall", "--json", "-c", &setting, "well"]).current_dir(here).run()
    };
    let elsewhere = projects.environment.path("home");
    let count = |outcome: &Outcome| outcome.json()["results"].as_array().unwrap().len();
    for (scope, inside, outside) in [("auto", 1, 2), ("project", 1, 0), ("all", 2, 2)] {
        assert_eq!(count(&ask(scope, &projects.ship.join("deep"))), inside, "{scope}");
        assert_eq!(count(&ask(scope, &elsewhere)), outside, "{scope}");
    }
    let nothing = ask("project", &elsewhere).ends_with(1);
    assert!(nothing.stderr.contains("belongs to no known project"), "{}", nothing.stderr);
    let told = projects.environment.yore(["recall", "-c", "recall.scope=project", "--all", "well"]).current_dir(&elsewhere).run();
    assert!(told.success().stderr.is_empty(), "what is named wins");
}
