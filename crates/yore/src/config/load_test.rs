//! Tests of the layers: the origins of values, and what is refused.

use toml::Value;

use super::key::{Key, Shape};
use super::origin::Origin;
use super::test_support::Setup;
use super::{Config, ConfigError, Environment, UserFile};

#[test]
fn without_layers_every_value_is_the_default() {
    let resolved = Setup::new().load().unwrap();
    assert_eq!(resolved.config, Config::default());
    assert!(resolved.rows().iter().all(|row| *row.origin() == Origin::Default));
    assert_eq!(resolved.rows().len(), Key::all().count());
}

#[test]
fn each_layer_wins_over_the_ones_below_and_is_named_as_the_origin() {
    let user = "[recall]\nlimit = 20\nquote_chars = 200\nbudget = 500\n\n[up]\nask_question = false\n";
    let project = "[recall]\nlimit = 30\nquote_chars = 300\nbudget = 700\n";
    let setup = Setup::new()
        .user(user)
        .project(project)
        .environment(&[("YORE_RECALL__LIMIT", "40"), ("YORE_RECALL__QUOTE_CHARS", "400")])
        .flag("recall.limit", "50");
    let resolved = setup.load().unwrap();

    let row = |key| {
        let setting = resolved.get(key).unwrap();
        (setting.shown.as_str(), setting.origin().clone())
    };
    let variable = Origin::Environment { name: "YORE_RECALL__QUOTE_CHARS".to_owned() };
    let project = Origin::ProjectFile { path: setup.path(".yore.toml"), line: 4 };
    let user = Origin::UserFile { path: setup.path("config.toml"), line: 7 };
    assert_eq!(row("recall.limit"), ("50", Origin::Flag));
    assert_eq!(row("recall.quote_chars"), ("400", variable));
    assert_eq!(row("recall.budget"), ("700", project));
    assert_eq!(row("up.ask_question"), ("false", user));
    assert_eq!(row("recall.scope"), ("\"auto\"", Origin::Default));
    assert_eq!(resolved.config.recall.limit, 50);
    assert!(!resolved.config.up.ask_question);
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_one_and_its_line() {
    for (text, expected) in [
        ("\n\nrecal.limit = 3\n", "unknown key `recal.limit` in DIR/config.toml, line 3; did you mean `recall.limit`?"),
        (
            "[sources.claude_code]\nenabled = true\n",
            "unknown key `sources.claude_code.enabled` in DIR/config.toml, line 2; \
             did you mean `sources.claude-code.enabled`?",
        ),
        ("limit = 3\n", "unknown key `limit` in DIR/config.toml, line 1; did you mean `recall.limit`?"),
        ("\"recall.limit\" = 3\n", "unknown key `\"recall.limit\"` in DIR/config.toml, line 1; did you mean `recall.limit`?"),
        (
            "[oracle]\nquestion = \"x\"\n",
            "unknown key `oracle.question` in DIR/config.toml, line 2; \
             `yore config show` lists every key",
        ),
    ] {
        let error = Setup::new().user(text).error();
        assert_eq!(error, ("config/unknown-key", expected.to_owned()));
    }
}

#[test]
fn an_unknown_section_is_refused_even_when_empty() {
    let (code, words) = Setup::new().user("[recal]\n").error();
    assert_eq!(code, "config/unknown-key");
    assert_eq!(words, "unknown section `recal` in DIR/config.toml, line 1; did you mean `recall`?");
}

#[test]
fn unknown_variables_and_flags_are_refused() {
    let error = Setup::new().environment(&[("YORE_RECAL__LIMIT", "3")]).error();
    let expected = "unknown key `YORE_RECAL__LIMIT`; did you mean `YORE_RECALL__LIMIT`?";
    assert_eq!(error, ("config/unknown-key", expected.to_owned()));

    let error = Setup::new().flag("recall.limits", "3").error();
    let expected = "unknown key `recall.limits` on the command line; did you mean `recall.limit`?";
    assert_eq!(error, ("config/unknown-key", expected.to_owned()));

    let other = [("YORE_CONFIG", ""), ("YORE_LOG", "debug"), ("PATH", "/bin")];
    assert!(Setup::new().environment(&other).check().is_empty());
}

#[test]
fn a_value_that_does_not_fit_is_refused_with_what_is_expected() {
    for (text, code, words) in [
        ("recall.limit = \"ten\"", "config/wrong-type", "is \"ten\" (a string); expected a whole number from 1 to 1000"),
        ("recall.limit = 0", "config/bad-value", "is 0; expected a whole number from 1 to 1000"),
        ("recall.tool_weight = nan", "config/bad-value", "is nan; expected a number from 0 to 1"),
        (
            "recall.scope = \"world\"",
            "config/bad-value",
            "is \"world\" (a string); expected one of \"project\", \"auto\", \"all\"",
        ),
        ("capture.enabled = 1", "config/wrong-type", "is 1; expected true or false"),
        (
            "capture.exclude_paths = [\"a\", 1]",
            "config/wrong-type",
            "is [\"a\", 1]; expected a list, such as [\"one\", \"two\"], of strings of 1 to 4096 characters",
        ),
        (
            "capture.exclude_paths = [\"\"]",
            "config/bad-value",
            "is [\"\"]; expected a list, such as [\"one\", \"two\"], of strings of 1 to 4096 characters",
        ),
        ("recall = 3", "config/wrong-type", "is 3; expected a section, written [recall]"),
        (
            "[[recall]]\nlimit = 3",
            "config/wrong-type",
            "is a list with an item that is not a string; expected a section, written [recall]",
        ),
        ("recall.limit.most = 3", "config/wrong-type", "is a table; expected a whole number from 1 to 1000"),
    ] {
        let (found_code, found) = Setup::new().user(text).error();
        assert_eq!(found_code, code, "{text}");
        assert!(found.contains(words), "{text}: {found}");
        assert!(found.contains("in DIR/config.toml, line 1"), "{found}");
    }
    let long = format!("redaction.extra_patterns = [\"{}\"]", "x".repeat(501));
    assert_eq!(Setup::new().user(&long).error().0, "config/bad-value");
}

#[test]
fn a_pattern_that_cannot_be_used_is_named_with_its_key_place_and_reason() {
    let setup = Setup::new().user("\nredaction.extra_patterns = ['EMP-\\d+', 'a(b']\n");
    let words = "`redaction.extra_patterns` in DIR/config.toml, line 2 is ['EMP-\\d+', \"a(b\"], \
                 but its pattern 2 cannot be used: unclosed group; correct it";
    assert_eq!(setup.error(), ("config/bad-value", words.to_owned()));
    let error =
        Setup::new().user("redaction.extra_patterns = [\"{env:TOKEN}\"]\n").environment(&[("TOKEN", "hunter2*|")]).error();
    assert!(error.1.contains("{env:TOKEN}") && error.1.contains("matches the empty string"), "{}", error.1);
    assert!(!error.1.contains("hunter2"), "{}", error.1);
    let (_, words) = Setup::new().flag("redaction.extra_patterns", "x*").error();
    assert!(words.contains("on the command line is \"x*\", but its pattern 1 cannot be used: it matches"), "{words}");
}

#[test]
fn check_reports_every_problem_in_the_order_of_the_lines() {
    let setup = Setup::new().user("recall.limit = 0\nrecal.x = 1\nup.ask_question = 3\n").flag("recall.limit", "many");
    let codes: Vec<_> = setup.check().iter().map(super::ConfigError::code).collect();
    assert_eq!(codes, ["config/bad-value", "config/unknown-key", "config/wrong-type", "config/wrong-type"]);
    assert_eq!(setup.load().unwrap_err().code(), "config/bad-value");
}

#[test]
fn a_file_that_is_not_toml_is_refused_without_repeating_its_text() {
    let (code, words) = Setup::new().project("\nssh-rsa AAAAsecret user@host\n").error();
    assert_eq!(code, "config/syntax");
    assert!(words.starts_with("DIR/.yore.toml, line 2 is not TOML"), "{words}");
    assert!(!words.contains("AAAA"), "{words}");
}

#[test]
fn what_is_not_a_regular_text_file_is_refused() {
    let setup = Setup::new();
    let path = setup.path("directory");
    std::fs::create_dir(&path).unwrap();
    let setup = setup.user_file(UserFile { path: path.clone(), named: false });
    assert_eq!(setup.error().0, "config/unreadable");

    let path = setup.path("latin1");
    std::fs::write(&path, b"# caf\xe9\n").unwrap();
    let setup = setup.user_file(UserFile { path: path.clone(), named: false });
    assert_eq!(setup.error().0, "config/unreadable");

    std::fs::write(&path, "#".repeat(1024 * 1024 + 1)).unwrap();
    assert_eq!(setup.error().0, "config/unreadable");
}

#[test]
fn a_missing_file_is_no_error_unless_it_was_named() {
    let config_dir = std::path::Path::new("/nowhere");
    let named: Environment = [("YORE_CONFIG", "/nowhere/mine.toml")].into_iter().collect();
    let empty: Environment = [("YORE_CONFIG", "")].into_iter().collect();

    let file = UserFile::locate(&empty, Some(config_dir)).unwrap();
    assert_eq!(file.path, config_dir.join("yore").join("config.toml"));
    assert!(Setup::new().user_file(file).check().is_empty());
    assert_eq!(UserFile::locate(&empty, None), None);

    let file = UserFile::locate(&named, Some(config_dir)).unwrap();
    let (code, words) = Setup::new().user_file(file).error();
    assert_eq!(code, "config/unreadable");
    assert!(words.contains("/nowhere/mine.toml") && words.contains("unset YORE_CONFIG"), "{words}");
}

#[test]
fn every_key_has_its_own_variable_which_sets_it() {
    let mut variables: Vec<_> = Key::all().map(Key::variable).collect();
    assert!(variables.contains(&"YORE_SOURCES__CLAUDE_CODE__ENABLED".to_owned()));
    for key in Key::all() {
        let (text, expected) = match key.shape {
            Shape::Switch => ("oFF", Value::Boolean(false)),
            Shape::Count { max, .. } => (&*max.to_string(), Value::Integer(max)),
            Shape::Number { max, .. } => (&*max.to_string(), Value::Float(max)),
            Shape::Text { .. } => ("a b", Value::String("a b".to_owned())),
            Shape::Named { names, .. } => (names.example(), Value::String(names.example().to_owned())),
            Shape::NamedList { names, .. } => (names.example(), vec![names.example()].into()),
            Shape::Choice(words) => (words[0], Value::String(words[0].to_owned())),
            Shape::List { .. } | Shape::Patterns { .. } => ("[\"a,b\", 'c']", vec!["a,b", "c"].into()),
        };
        let setup = Setup::new().environment(&[(&key.variable(), text)]);
        let resolved = setup.load().unwrap();
        assert_eq!(resolved.get(key.name).unwrap().value, expected, "{}", key.name);
    }
    let count = variables.len();
    variables.sort();
    variables.dedup();
    assert_eq!(variables.len(), count);
}

#[test]
fn text_of_variables_and_flags_is_read_by_the_type_of_the_key() {
    let read = |key: &str, text: &str| {
        let resolved = Setup::new().flag(key, text).load().ok()?;
        Some(resolved.get(key).unwrap().shown.clone())
    };
    for on in ["true", "Yes", "ON", "1", " true "] {
        assert_eq!(read("index.tool_output", on).as_deref(), Some("true"));
    }
    for neither in ["", "maybe", "2"] {
        assert_eq!(read("index.tool_output", neither), None);
    }
    assert_eq!(read("recall.tool_weight", "1").as_deref(), Some("1.0"));
    assert_eq!(read("capture.projects", "").as_deref(), Some("[]"));
    assert_eq!(read("capture.projects", "~/work").as_deref(), Some("[\"~/work\"]"));
    // A comma may belong to a glob, so yore refuses the value instead of guessing.
    assert_eq!(read("capture.exclude_paths", "*.{js,ts}"), None);
    assert_eq!(read("capture.exclude_paths", "[1]"), None);
    assert_eq!(read("capture.exclude_paths", "[\"*.{js,ts}\"]").as_deref(), Some("[\"*.{js,ts}\"]"));
}

#[test]
fn an_environment_shows_names_but_no_values() {
    let environment: Environment = [("TOKEN", "hunter2")].into_iter().collect();
    assert_eq!(format!("{environment:?}"), "{\"TOKEN\"}");
}

#[test]
fn asking_for_an_unknown_key_names_the_nearest() {
    let resolved = Setup::new().load().unwrap();
    let error = resolved.get("recall.limt").unwrap_err();
    assert_eq!(error.to_string(), "unknown key `recall.limt`; did you mean `recall.limit`?");
}

#[test]
fn a_key_that_was_removed_is_no_fault_of_a_file_or_variable_that_sets_it() {
    let setup = Setup::new().user("[llm]\nstream = true\n").environment(&[("YORE_LLM__STREAM", "true")]);
    assert!(setup.load().is_ok() && setup.check().is_empty(), "{:?}", setup.check());
}

#[test]
fn former_names_of_keys_are_understood_and_the_check_tells_the_present_ones() {
    let setup = Setup::new()
        .user("[give]\nfloor = 0.9\nprompt_tokens = 90\n\n[inject]\nprompt_tokens = 70\n")
        .project("give.on_edit = false\n")
        .environment(&[("YORE_GIVE__BRIEF_TOKENS", "50")])
        .flag("give.on_error", "no");
    let resolved = setup.load().unwrap();
    let inject = &resolved.config.inject;
    assert_eq!((inject.floor, inject.prompt_tokens, inject.brief_tokens), (0.9, 70, 50), "the present name counts");
    assert!(!inject.on_edit && !inject.on_error);
    assert_eq!(resolved.get("give.floor").unwrap().key.name, "inject.floor");
    let problems = setup.check();
    assert!(problems.iter().all(|problem| problem.is_note() && problem.code() == "config/renamed"), "{problems:?}");
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("`give.floor` in ") && told[0].ends_with("is called `inject.floor` now"), "{told:?}");
    let moved = Setup::new().user("[mcp]\nhttp = true\nhttp_port = 4711\nstructured = true\n");
    let config = moved.load().unwrap().config;
    assert!(config.http.enabled && config.mcp.structured && config.http.port == 4_711, "a key that moved to another section");
    assert!(Setup::new().environment(&[("YORE_MCP__HTTP", "true")]).load().unwrap().config.http.enabled);
    assert_eq!(moved.check().iter().map(ConfigError::code).collect::<Vec<_>>(), ["config/renamed", "config/renamed"]);
    let problems = Setup::new().user("[give]\nfloor = 2\n").check();
    let wrong: Vec<&ConfigError> = problems.iter().filter(|problem| !problem.is_note()).collect();
    assert_eq!(wrong.iter().map(|problem| problem.code()).collect::<Vec<_>>(), ["config/bad-value"], "{problems:?}");
    let (code, _) = Setup::new().user("[give]\nfluor = 1\n").error();
    assert_eq!(code, "config/unknown-key");
}
