//! Tests of changing a file.

use std::fs;

use proptest::prelude::*;

use super::test_support::Setup;
use super::{ConfigError, FileKind, set, unset};

const FILE: &str = "# mine\n\n[recall] # how\n# few\nlimit = 5 # enough\nscope = \"all\"\n\n# end\n";

fn edited(text: &str, key: &str, value: &str) -> Result<String, ConfigError> {
    let path = Setup::new().user(text).path("config.toml");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(path.file_name().unwrap());
    fs::write(&path, text).unwrap();
    let outcome = set(&path, FileKind::User, key, value);
    let written = fs::read_to_string(&path).unwrap();
    match outcome {
        Ok(()) => Ok(written),
        Err(error) => {
            assert_eq!(written, text, "a refused edit changes nothing");
            Err(error)
        }
    }
}

#[test]
fn setting_a_key_keeps_comments_and_order() {
    assert_eq!(edited(FILE, "recall.limit", "7").unwrap(), FILE.replace("limit = 5", "limit = 7"));
    assert_eq!(
        edited(FILE, "recall.quote_chars", "100").unwrap(),
        FILE.replace("scope = \"all\"\n", "scope = \"all\"\nquote_chars = 100\n")
    );
    let with_section = edited(FILE, "sources.jsonl.enabled", "off").unwrap();
    assert!(with_section.starts_with("# mine\n\n[recall] # how\n# few\nlimit = 5 # enough\n"));
    assert!(with_section.contains("\n[sources.jsonl]\nenabled = false\n"), "{with_section}");
    assert!(with_section.contains("# end"));
}

#[test]
fn setting_a_key_follows_the_way_the_file_is_written() {
    let inline = edited("recall = { limit = 5 } # short\n", "recall.scope", "all").unwrap();
    assert!(inline.starts_with("recall = { limit = 5") && inline.ends_with("} # short\n"));
    let resolved = Setup::new().user(&inline).load().unwrap();
    assert_eq!(resolved.get("recall.scope").unwrap().shown, "\"all\"");
    assert_eq!(edited("recall.limit = 5\n", "recall.limit", "6").unwrap(), "recall.limit = 6\n");
    let dotted = edited("sources.jsonl.enabled = true\n", "sources.claude-code.enabled", "no");
    let resolved = Setup::new().user(&dotted.unwrap()).load().unwrap();
    assert!(!resolved.config.sources.claude_code.enabled);
    assert!(resolved.config.sources.jsonl.enabled);
}

#[test]
fn key_under_its_former_name_is_set_and_removed_as_well() {
    let former = "[give]\nfloor = 0.9\n";
    assert_eq!(edited(former, "give.floor", "0.5").unwrap(), "[inject]\nfloor = 0.5\n");
    assert_eq!(edited(former, "inject.floor", "0.5").unwrap(), "[inject]\nfloor = 0.5\n");
    let moved = "[mcp]\nhttp = true\nstructured = true\n";
    assert_eq!(edited(moved, "mcp.http", "false").unwrap(), "[mcp]\nstructured = true\n\n[http]\nenabled = false\n");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    for name in ["give.floor", "inject.floor"] {
        std::fs::write(&path, former).unwrap();
        assert!(unset(&path, FileKind::User, name).unwrap(), "{name}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "", "{name}");
    }
}

#[test]
fn setting_a_key_keeps_the_line_ends_of_the_file() {
    let windows = FILE.replace('\n', "\r\n");
    assert_eq!(edited(&windows, "recall.limit", "7").unwrap(), windows.replace("limit = 5", "limit = 7"));
    let more = edited(&windows, "up.ask_question", "off").unwrap();
    assert_eq!(more.matches('\n').count(), more.matches("\r\n").count());
}

#[test]
fn setting_a_list_or_a_reference_writes_it_as_toml() {
    assert_eq!(
        edited("", "capture.exclude_paths", "['*.{js,ts}', \"b\"]").unwrap(),
        "[capture]\nexclude_paths = [\"*.{js,ts}\", \"b\"]\n"
    );
    assert_eq!(edited("", "recall.limit", "{env:LIMIT:-3}").unwrap(), "[recall]\nlimit = \"{env:LIMIT:-3}\"\n");
}

#[test]
fn an_unknown_key_or_a_value_that_does_not_fit_is_not_written() {
    let error = edited(FILE, "recal.limit", "7").unwrap_err();
    assert_eq!(error.to_string(), "unknown key `recal.limit`; did you mean `recall.limit`?");
    let error = edited(FILE, "recall.limit", "7000").unwrap_err();
    assert_eq!(error.to_string(), "`recall.limit` is \"7000\"; expected a whole number from 1 to 1000");
    assert_eq!(edited(FILE, "recall.limit", "many").unwrap_err().code(), "config/wrong-type");
}

#[test]
fn a_file_that_does_not_parse_is_not_rewritten() {
    let error = edited("[recall\nlimit = 5\n", "recall.limit", "7").unwrap_err();
    assert_eq!(error.code(), "config/syntax");
    let error = edited("recall = 3\n", "recall.limit", "7").unwrap_err();
    assert_eq!(error.code(), "config/edit-failed");
}

#[test]
fn other_faults_of_a_file_do_not_stop_the_remedy() {
    let faulty = "recal.limit = 1\n\n[recall]\nlimit = 0\n";
    let better = edited(faulty, "recall.limit", "7").unwrap();
    assert_eq!(better, faulty.replace("limit = 0", "limit = 7"));
}

#[test]
fn a_project_file_is_refused_what_it_may_not_have() {
    let path = Setup::new().project("").path(".yore.toml");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(path.file_name().unwrap());
    for (key, value) in [("capture.projects", "."), ("redaction.extra_patterns", "x+")] {
        let error = set(&path, FileKind::Project, key, value).unwrap_err();
        assert_eq!(error.code(), "config/project-may-not");
    }
    assert!(!path.exists());
    set(&path, FileKind::Project, "capture.enabled", "false").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "[capture]\nenabled = false\n");
}

#[test]
fn unsetting_removes_the_key_known_or_not_and_says_whether_it_was_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    assert!(!unset(&path, FileKind::User, "recall.limit").unwrap());
    assert!(!path.exists());

    fs::write(&path, format!("{FILE}\n[recal]\nlimit = 1\n")).unwrap();
    assert!(unset(&path, FileKind::User, "recal.limit").unwrap());
    assert!(unset(&path, FileKind::User, "recall.limit").unwrap());
    assert!(!unset(&path, FileKind::User, "recall.limit").unwrap());
    let left = fs::read_to_string(&path).unwrap();
    assert!(left.starts_with("# mine\n\n[recall] # how\nscope = \"all\"\n"), "{left}");
    assert!(!left.contains("recal]"), "{left}");

    fs::write(&path, "\"recall.limit\" = 1\n").unwrap();
    assert!(unset(&path, FileKind::User, "\"recall.limit\"").unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
}

#[cfg(unix)]
#[test]
fn a_new_file_is_for_its_owner_only_and_an_old_one_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("yore").join("config.toml");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;

    set(&path, FileKind::User, "recall.limit", "7").unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    set(&path, FileKind::User, "recall.limit", "8").unwrap();
    assert_eq!(mode(&path), 0o640);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays_one_also_when_it_leads_nowhere_yet() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("config.toml");
    let target = directory.path().join("dotfiles").join("yore.toml");
    std::os::unix::fs::symlink("dotfiles/yore.toml", &link).unwrap();
    for limit in ["7", "8"] {
        set(&link, FileKind::User, "recall.limit", limit).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&target).unwrap().contains(limit));
    }
    let around = directory.path().join("around.toml");
    std::os::unix::fs::symlink(&around, &around).unwrap();
    assert!(set(&around, FileKind::User, "recall.limit", "7").is_err());
}

#[test]
fn a_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    fs::write(&path, FILE).unwrap();
    // While many writers write, readers see the old or the new file, never a part.
    std::thread::scope(|scope| {
        for limit in 1..=4 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..10 {
                    set(path, FileKind::User, "recall.limit", &limit.to_string()).unwrap();
                    let seen = fs::read_to_string(path).unwrap();
                    assert!(seen.starts_with("# mine") && seen.ends_with("# end\n"), "{seen}");
                }
            });
        }
    });
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);

    // A file where a directory should be is left unchanged.
    let blocked = directory.path().join("config.toml").join("config.toml");
    let error = set(&blocked, FileKind::User, "recall.limit", "7").unwrap_err();
    assert!(matches!(error.code(), "config/unreadable" | "config/unwritable"));
}

proptest! {
    #[test]
    fn setting_never_panics_and_what_was_set_is_read(text in any::<String>(), limit in 1_i64..=1000) {
        if let Ok(after) = edited(&text, "recall.limit", &limit.to_string()) {
            let setup = Setup::new().user(&after);
            let others = setup.check().len();
            prop_assert_eq!(others, Setup::new().user(&text).check().len());
            if let Ok(resolved) = setup.load() {
                prop_assert_eq!(i64::try_from(resolved.config.recall.limit), Ok(limit));
            }
        }
    }
}
