//! Choice of the data directory, and commands without a memory.

use serde_json::Value;

use crate::environment::TestEnvironment;
use crate::small_memory::{HARBOR, text};
use crate::transcript::Transcript;

#[test]
fn every_command_that_needs_a_memory_says_how_to_get_one() {
    let environment = TestEnvironment::new();
    for arguments in [
        &["recall", "x"][..],
        &["show", "abcd1234"],
        &["sessions"],
        &["projects"],
        &["stats"],
        &["reindex"],
        &["forget", "--session", "abcd1234"],
    ] {
        let outcome = environment.yore(arguments).run().ends_with(3);
        assert_eq!(outcome.code(), "store/missing", "{arguments:?}");
        assert!(outcome.stderr.contains("hint: run `yore up`"), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
    }
    assert!(!environment.data().exists(), "asking must not make anything");
    let outcome = environment.yore(["recall", "--json", "x"]).run().ends_with(3);
    let error: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(error["error"]["code"], "store/missing");
    assert!(text(&error["error"]["hint"]).contains("yore up"));
}

#[test]
fn data_directory_is_chosen_by_flag_then_variable_then_convention() {
    let environment = TestEnvironment::new();
    Transcript::new(HARBOR, "/home/dev/harbor").human("hello").assistant("Hello.").write(&environment.projects());
    environment.yore(["ingest", "--data-dir"]).arg(environment.path("flag")).run().success();
    assert!(environment.path("flag/yore.db").exists() && !environment.data().exists());
    environment.yore(["ingest"]).run().success();
    assert!(environment.database().exists());
    if cfg!(target_os = "linux") {
        environment.yore(["ingest"]).without_env("YORE_HOME").run().success();
        assert!(environment.path("home/.local/share/yore/yore.db").exists());
    }
}
