//! Tests of what a project's file may and may not do.

use super::key::{Key, ProjectMay, Shape};
use super::origin::Origin;
use super::test_support::Setup;
use super::{CaptureMode, ConfigError, RecallScope};

#[test]
fn a_project_file_may_turn_off_but_not_on_and_narrow_but_not_widen() {
    let resolved =
        Setup::new().project("capture.enabled = false\ncapture.mode = \"opt-in\"\nrecall.scope = \"project\"\n").load().unwrap();
    assert!(!resolved.config.capture.enabled);
    assert_eq!(resolved.config.capture.mode, CaptureMode::OptIn);
    assert_eq!(resolved.config.recall.scope, RecallScope::Project);

    for (user, project) in [
        ("capture.enabled = false", "capture.enabled = true"),
        ("capture.mode = \"opt-in\"", "capture.mode = \"all\""),
        ("", "capture.projects = [\".\"]"),
        ("", "capture.headless = \"person\""),
        ("sources.jsonl.enabled = false", "sources.jsonl.enabled = true"),
        ("", "sources.claude-code.roots = [\"/\"]"),
        ("", "redaction.extra_patterns = [\".+\"]"),
        ("", "recall.scope = \"all\""),
        ("", "recall.tool_weight = 1"),
        ("", "recall.rerank = \"always\""),
        ("", "recall.embedder = \"local\""),
        ("", "forget.keep_tombstones = true"),
        ("", "store.busy_timeout_ms = 5000"),
    ] {
        let setup = Setup::new().user(user).project(project);
        let (code, words) = setup.error();
        assert_eq!(code, "config/project-may-not", "{project}");
        assert!(words.contains("DIR/.yore.toml, line 1"), "{words}");
        assert!(words.contains("remove the line"), "{words}");
        // The person may: the same line in their own file is not an error.
        assert!(Setup::new().user(project).check().is_empty());
    }
    let (_, words) = Setup::new().user("\ncapture.enabled = false").project("capture.enabled = true").error();
    assert_eq!(
        words,
        "`capture.enabled` in DIR/.yore.toml, line 1 is true, but a project's file may only turn \
         it off (here over false from DIR/config.toml, line 2); remove the line, or set it in \
         your own file or on the command line"
    );
}

#[test]
fn faults_of_a_project_file_are_told_and_the_rest_of_it_counts() {
    let own = "[recall]\nlimit = 7\nquote_chars = 99\n";
    for (fault, code) in [
        ("http.enabled = true", "config/project-may-not"),
        ("recall.tool_weight = 1", "config/project-may-not"),
        ("recall.limits = 3", "config/unknown-key"),
        ("recall.quote_chars = \"many\"", "config/wrong-type"),
        ("recall.quote_chars = 1", "config/bad-value"),
    ] {
        let setup = Setup::new().user(own).project(&format!("{fault}\nrecall.limit = 3\n"));
        let (resolved, faults) = setup.load_here().unwrap();
        assert_eq!(faults.iter().map(ConfigError::code).collect::<Vec<_>>(), [code], "{fault}");
        assert_eq!((resolved.config.recall.limit, resolved.config.recall.quote_chars), (3, 99), "{fault}");
        assert!((resolved.config.recall.tool_weight - 0.15).abs() < 1e-9, "{fault}");
    }
    // A file that is no TOML counts for nothing; the person's own file must be right.
    let (resolved, faults) = Setup::new().user(own).project("recall.limit = = 3").load_here().unwrap();
    assert!(resolved.config.recall.limit == 7 && faults.iter().any(|fault| fault.code() == "config/syntax"), "{faults:?}");
    assert!(Setup::new().user("recall.limits = 3").project(own).load_here().is_err());
}

#[test]
fn a_project_file_adds_to_the_exclusions() {
    let setup = Setup::new()
        .user("capture.exclude_projects = [\"/a\", \"/b\"]\n")
        .project("capture.exclude_projects = [\"/b\", \"/c\"]\n");
    let resolved = setup.load().unwrap();
    assert_eq!(resolved.config.capture.exclude_projects, ["/a", "/b", "/c"]);
    let setting = resolved.get("capture.exclude_projects").unwrap();
    assert_eq!(setting.shown, "[\"/a\", \"/b\", \"/c\"]");
    assert_eq!(setting.origins.len(), 2);
    assert!(matches!(setting.origin(), Origin::ProjectFile { line: 1, .. }));

    let emptied =
        Setup::new().user("capture.exclude_projects = [\"/a\"]\n").project("capture.exclude_projects = []\n").load().unwrap();
    assert_eq!(emptied.config.capture.exclude_projects, ["/a"]);
}

#[test]
fn a_project_file_may_not_touch_capture_sources_or_redaction_freely() {
    for key in Key::all() {
        let guarded = ["capture.", "sources.", "redaction."];
        let is_guarded = guarded.iter().any(|section| key.name.starts_with(section));
        assert!(!is_guarded || key.project != ProjectMay::Set, "{}", key.name);
        let fits = match key.project {
            ProjectMay::Turn(_) => key.shape == Shape::Switch,
            ProjectMay::Narrow => matches!(key.shape, Shape::Choice(_)),
            ProjectMay::Add => matches!(key.shape, Shape::List { .. }),
            ProjectMay::Set | ProjectMay::Nothing => true,
        };
        assert!(fits, "{}", key.name);
    }
}
