//! Files generated from the command line's definition: the reference in `docs/cli.md`, man pages,
//! completions.

use std::path::Path;

use crate::environment::TestEnvironment;

fn reference() -> String {
    TestEnvironment::new().yore(["completions", "markdown"]).run().success().stdout
}

/// Returns every command with its subcommands, such as `config set`, as named in the reference.
fn commands() -> Vec<String> {
    let reference = reference();
    let names = reference.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(" `yore")?.strip_suffix('`'));
    names.map(|name| name.trim().to_owned()).collect()
}

#[test]
fn reference_of_the_commands_is_the_one_that_is_published() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let reference = reference();
    if yore_testing::is_blessing() {
        std::fs::write(&path, &reference).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(published == reference, "docs/cli.md is out of date; run the tests with YORE_BLESS=1");
}

#[test]
fn reference_does_not_depend_on_the_terminal() {
    let environment = TestEnvironment::new();
    let narrow = environment.yore(["completions", "markdown"]).env("COLUMNS", "40").run().success().stdout;
    assert_eq!(narrow, reference());
}

#[test]
fn reference_names_exit_codes_and_subcommands() {
    let commands = commands();
    for name in ["", "recall", "up", "config set", "completions"] {
        assert!(commands.iter().any(|command| command == name), "{name:?}: {commands:?}");
    }
    assert!(reference().contains("Exit codes: 0 done"));
}

#[test]
fn help_lists_the_commands_in_groups() {
    let environment = TestEnvironment::new();
    let help = |arguments: &[&str]| environment.yore(["help"]).args(arguments).run().success().stdout;
    let all = help(&["all"]);
    assert!(reference().contains(all.split("Options:\n").next().unwrap()), "{all}");
    assert_eq!(help(&[]), environment.yore(["--help"]).run().success().stdout);
    assert_eq!(environment.yore(Vec::<&str>::new()).run().ends_with(2).stderr, help(&[]));
    assert_eq!(help(&["data", "backup"]), environment.yore(["data", "backup", "--help"]).run().success().stdout);
    assert_eq!(help(&["op", "undo"]), help(&["undo"]), "an old name");
    environment.yore(["help", "nothing"]).run().ends_with(2);
}

#[test]
fn every_command_has_a_man_page() {
    let environment = TestEnvironment::new();
    let whole = environment.yore(["completions", "man"]).run().success().stdout;
    assert!(whole.contains(".TH yore 1"), "{whole}");
    for name in commands().iter().filter(|name| !name.is_empty()) {
        let page = environment.yore(["completions", "man", "--man-of", name]).run().success().stdout;
        let last = name.split(' ').next_back().unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(last), "{name}: {page}");
        assert_ne!(page, whole, "{name}");
    }
    let outcome = environment.yore(["completions", "man", "--man-of", "config sit"]).run().ends_with(2);
    assert!(outcome.stderr.contains("unknown command \"config sit\""), "{}", outcome.stderr);
}

#[test]
fn every_shell_has_completions_that_know_the_commands() {
    let environment = TestEnvironment::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = environment.yore(["completions", shell]).run().success().stdout;
        for word in ["yore", "recall", "--explain", "unset"] {
            // Fish writes long options without their dashes.
            assert!(script.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
    }
}
