//! Tests of `{env:NAME}` in the strings of a file.

use super::test_support::Setup;

#[test]
fn a_reference_keeps_quotes_and_newlines_as_text() {
    let awkward = "a\"b'\n[recall]\nlimit = 1\n\\ {env:OTHER}";
    let resolved = Setup::new()
        .user("capture.exclude_paths = [\"x-{env:AWKWARD}-{env:OTHER:-y}\"]\n")
        .environment(&[("AWKWARD", awkward)])
        .load()
        .unwrap();
    assert_eq!(resolved.config.capture.exclude_paths, [format!("x-{awkward}-y")]);
    assert_eq!(resolved.config.recall.limit, 10);
}

#[test]
fn a_value_from_a_reference_is_shown_as_the_reference() {
    let resolved = Setup::new()
        .user("capture.exclude_projects = [\"{env:TOKEN}\"]\n")
        .project("capture.exclude_projects = [\"{env:OTHER:-more}\"]\n")
        .environment(&[("TOKEN", "hunter2")])
        .load()
        .unwrap();
    let setting = resolved.get("capture.exclude_projects").unwrap();
    assert_eq!(setting.shown, "[\"{env:TOKEN}\", \"{env:OTHER:-more}\"]");
    assert_eq!(resolved.config.capture.exclude_projects, ["hunter2", "more"]);

    let error = Setup::new().user("recall.scope = \"{env:TOKEN}\"\n").environment(&[("TOKEN", "hunter2")]).error();
    assert!(error.1.contains("{env:TOKEN}") && !error.1.contains("hunter2"), "{}", error.1);
}

#[test]
fn a_reference_can_stand_for_a_number_or_a_switch() {
    let resolved = Setup::new()
        .user("recall.limit = \"{env:N}\"\ncapture.enabled = \"{env:ON:-no}\"\n")
        .environment(&[("N", "7"), ("ON", "")])
        .load()
        .unwrap();
    assert_eq!(resolved.config.recall.limit, 7);
    assert!(!resolved.config.capture.enabled);
}

#[test]
fn a_missing_variable_is_named_with_its_key_and_file() {
    let error = Setup::new().user("\ncapture.projects = [\"{env:WORK}/x\"]\n").error();
    let expected = "`capture.projects` in DIR/config.toml, line 2 refers to the environment \
                    variable WORK, which is not set; set it, or write {env:WORK:-other}";
    assert_eq!(error, ("config/missing-variable", expected.to_owned()));
}

#[test]
fn a_reference_that_cannot_be_read_is_refused() {
    for text in ["{env:", "{env:}", "{env:A B}", "{env:1A}", "{env:A", "{env::-x}"] {
        let error = Setup::new().user(&format!("recall.scope = \"{text}\"\n")).error();
        assert_eq!(error.0, "config/bad-reference", "{text}");
    }
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_unicode_is_refused() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let value = OsString::from_vec(vec![b'a', 0xff]);
    let variables = |name: &str| [(OsString::from(name), value.clone())].into_iter().collect();
    let setup = Setup::new().variables(variables("YORE_CAPTURE__PROJECTS"));
    assert_eq!(setup.error().0, "config/not-unicode");
    let setup = Setup::new().user("capture.projects = [\"{env:RAW}\"]").variables(variables("RAW"));
    assert_eq!(setup.error().0, "config/not-unicode");
}
