//! Finds why a command failed, in the words of its output, and the keys under which such a failure is known again.
//!
//! A cause that the output names (a program that is not installed, an option or a task that does not exist) is known again in every
//! command with that program, option or task. Any other is known again in the same command only.

use super::split::{Step, Word, is_assignment};
use crate::text::error_reasons;

/// Most lines of an output in which a cause is looked for; each has at most so many bytes.
const MOST_LINES: usize = 400;
const MOST_LINE_BYTES: usize = 400;
/// Longest key, and longest word in one, in bytes.
const MOST_KEY_BYTES: usize = 300;
const MOST_WORD_BYTES: usize = 60;
/// Most lines with a reason that are compared with words about the surroundings.
const MOST_REASONS: usize = 3;
/// Words of a command that may be tasks of a program.
const MOST_TASK_WORDS: usize = 3;

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The kind of cause.
    pub kind: CauseKind,
    /// The key under which it is known again.
    pub key: String,
    /// The line of the output that tells it.
    pub line: String,
    /// Index of the simple command that failed; `None`: it is not known which.
    pub step: Option<usize>,
}

named_enum! {
    /// The kind of a cause.
    CauseKind {
        /// A program, option, task or module does not exist, and the output names it.
        Named = "named",
        /// The surroundings: a permission, a service, a variable, the form of the command.
        Surroundings = "surroundings",
        /// Anything else, such as the state of the code.
        Other = "other",
    }
}

/// Words after which a line names a program that is missing, and words before which it does.
const NO_PROGRAM_AFTER: [&str; 2] = ["command not found: ", "executable file not found: "];
const NO_PROGRAM_BEFORE: [&str; 3] = [": command not found", ": not found", " is not recognized as "];
/// Words after which a line names an option that does not exist.
const NO_OPTION: [&str; 17] = [
    "unknown flag: ",
    "unknown option: ",
    "unknown option ",
    "unrecognized option ",
    "unrecognized option: ",
    "unrecognized argument: ",
    "unrecognized arguments: ",
    "unrecognized flag ",
    "unexpected argument ",
    "unexpected arguments: ",
    "invalid option -- ",
    "illegal option -- ",
    "invalid option: ",
    "flag provided but not defined: ",
    "no such option: ",
    "No such option: ",
    "Unknown option: ",
];
/// Words after which a line names a task or subcommand that does not exist.
const NO_TASK: [&str; 13] = [
    "no task ",
    "unknown command ",
    "Unknown command: ",
    "unknown subcommand ",
    "unrecognized subcommand ",
    "Missing script: ",
    "missing script: ",
    "No rule to make target ",
    "no such command: ",
    "invalid choice: ",
    "Justfile does not contain recipe ",
    "unknown command: ",
    "git: ",
];
/// Words of lines about the surroundings of a command, in lower case.
const SURROUNDINGS: [&str; 24] = [
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "address already in use",
    "eaddrinuse",
    "connection refused",
    "econnrefused",
    "could not resolve host",
    "no such host",
    "cannot connect to",
    "not logged in",
    "authentication failed",
    "bad credentials",
    "unbound variable",
    "must be set",
    "is not set",
    "no matches found: ",
    "parse error near ",
    "syntax error near ",
    "arg(s), received",
    "requires at least ",
    "no module named ",
    "error while importing test module",
    "are not trusted",
];

/// Returns why a command failed, by its simple commands and its output; `None` if the output gives no reason.
///
/// ```
/// use yore_core::command::{CauseKind, cause, steps};
/// let cause = cause(&steps("gh pr diff 88 --stat"), "unknown flag: --stat\n\nUsage: gh pr diff").unwrap();
/// assert_eq!((cause.kind, cause.key.as_str()), (CauseKind::Named, "option gh pr diff --stat"));
/// ```
pub fn cause(steps: &[Step], output: &str) -> Option<Cause> {
    if let Some(cause) = named(steps, output) {
        return Some(cause);
    }
    let reasons = error_reasons(output, MOST_REASONS);
    let of_surroundings = reasons.iter().find(|line| is_of_surroundings(line));
    let line = *of_surroundings.or(reasons.first())?;
    let acting: Vec<usize> = (0..steps.len()).filter(|at| is_acting(&steps[*at])).collect();
    let step = match acting.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let kind = if of_surroundings.is_some() { CauseKind::Surroundings } else { CauseKind::Other };
    Some(Cause { kind, key: run_key(steps)?, line: line.to_owned(), step })
}

/// Returns the cause that an output names, if a command has what it names.
pub fn named(steps: &[Step], output: &str) -> Option<Cause> {
    for line in output.lines().take(MOST_LINES) {
        let line = line[..line.floor_char_boundary(MOST_LINE_BYTES)].trim();
        for (kind, names) in [("program", programs_in(line)), ("option", options_in(line)), ("task", tasks_in(line))] {
            for name in names {
                for (at, step) in steps.iter().enumerate() {
                    if let Some(key) = key_of(step, kind, &name) {
                        return Some(Cause { kind: CauseKind::Named, key, line: line.to_owned(), step: Some(at) });
                    }
                }
            }
        }
    }
    None
}

/// Returns the key of a step for a name in an output, if the step has that name.
fn key_of(step: &Step, kind: &str, name: &str) -> Option<String> {
    let subject = subject(step);
    let options = || step.called().iter().skip(1).filter(|word| !word.is_quoted).map(|word| option_of(&word.text));
    match kind {
        "program" => (step.program() == name.rsplit('/').next().unwrap_or(name)).then(|| format!("program {}", step.program())),
        "option" => {
            // Short options may be written as one word: `-la`.
            let is_letter = name.chars().count() == 1;
            let is_same = |option: &&str| {
                *option == name
                    || option.starts_with('-') && option.trim_start_matches('-') == name
                    || is_letter && option.starts_with('-') && !option.starts_with("--") && option.contains(name)
            };
            options().find(|option| option.starts_with('-') && is_same(option)).map(|option| format!("option {subject} {option}"))
        }
        _ => tasks(step).find(|task| *task == name).map(|task| format!("task {} {task}", step.program())),
    }
}

/// Returns the keys under which a failure of a simple command may be known, except [`run_key`].
pub fn keys(step: &Step) -> Vec<String> {
    let program = step.program();
    if program.is_empty() {
        return Vec::new();
    }
    let mut keys = vec![format!("program {program}")];
    let subject = subject(step);
    let options = step.called().iter().skip(1).filter(|word| !word.is_quoted && word.text.starts_with('-'));
    keys.extend(options.map(|word| format!("option {subject} {}", option_of(&word.text))));
    keys.extend(tasks(step).map(|task| format!("task {program} {task}")));
    keys.retain(|key| key.len() <= MOST_KEY_BYTES);
    keys.dedup();
    keys
}

/// Returns the key of a whole command: the normal forms of its simple commands that act. `None` if none acts.
pub fn run_key(steps: &[Step]) -> Option<String> {
    let forms: Vec<String> = steps.iter().filter(|step| is_acting(step)).map(normal).collect();
    let key = format!("run {}", forms.join(" && "));
    (!forms.is_empty()).then(|| key[..key.floor_char_boundary(MOST_KEY_BYTES)].to_owned())
}

/// Returns whether a simple command does something, and is not only a view of another's output or a change of directory.
pub fn is_acting(step: &Step) -> bool {
    const VIEWS: [&str; 16] =
        ["awk", "cat", "column", "cut", "grep", "head", "jq", "less", "rg", "sed", "sort", "tail", "tee", "tr", "uniq", "wc"];
    const NOTHING: [&str; 9] = [":", "cd", "echo", "export", "printf", "set", "sleep", "true", "pwd"];
    let program = step.program();
    let is_view = step.link == super::Link::Pipe && VIEWS.contains(&program);
    !is_view && !program.is_empty() && !NOTHING.contains(&program) && !step.is_wrapper
}

/// Returns the words of a simple command that stay: without values of variables, numbers, hashes, texts and temporary names.
pub fn normal(step: &Step) -> String {
    let words = step.words.iter().map(|word| {
        if is_assignment(word) && word.text.len() > 1 {
            return format!("{}=*", word.text.split('=').next().unwrap_or_default());
        }
        let text = word.text.as_str();
        let name = text.rsplit('/').next().unwrap_or(text);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_hash = text.len() >= 7
            && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
            && text.bytes().any(|byte| byte.is_ascii_digit())
            && !text.starts_with('-');
        match text {
            _ if text.contains(char::is_whitespace) => "…".to_owned(),
            _ if is_number(text.trim_start_matches('#')) => "N".to_owned(),
            _ if is_hash => "HASH".to_owned(),
            _ if text.starts_with("/tmp/") || text.starts_with("/private/") || text.starts_with("/var/folders/") => {
                "/tmp/*".to_owned()
            }
            // The directory above differs between clones and worktrees.
            _ if text.starts_with('/') || text.starts_with("~/") => format!("*/{name}"),
            _ => text[..text.floor_char_boundary(MOST_WORD_BYTES)].to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the program with its subcommands, which decide what its options are: `gh pr diff`.
pub fn subject(step: &Step) -> String {
    const TWO: [&str; 20] = [
        "aws", "bun", "cargo", "conda", "deno", "docker", "gcloud", "gh", "glab", "go", "helm", "just", "kubectl", "mise", "npm",
        "npx", "pnpm", "poetry", "uv", "yarn",
    ];
    const NONE: [&str; 14] =
        ["awk", "bash", "cat", "find", "grep", "head", "ls", "python", "python3", "rg", "sed", "sh", "tail", "node"];
    let program = step.program();
    let most = match program {
        _ if NONE.contains(&program) => 0,
        _ if TWO.contains(&program) => 2,
        _ => 1,
    };
    let is_name = |word: &&Word| {
        !word.is_quoted
            && word.text.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '.')
            && word.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_:./".contains(&byte))
    };
    let words = step.called().iter().skip(1).take_while(is_name).take(most).map(|word| word.text.as_str());
    std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns the words of a simple command that may be tasks of its program.
fn tasks(step: &Step) -> impl Iterator<Item = &str> {
    let words = step.called().iter().skip(1).filter(|word| !word.is_quoted && !word.text.starts_with('-'));
    words.map(|word| word.text.as_str()).filter(|word| is_name(word)).take(MOST_TASK_WORDS)
}

/// Returns an option without its value.
fn option_of(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= MOST_WORD_BYTES
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_:./@+".contains(&byte))
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns the first word of a text without its quotes.
fn first_word(text: &str) -> Option<String> {
    let word = text.trim_start().trim_start_matches(['`', '\'', '"', '‘', '“']);
    let word = word.split(|letter: char| letter.is_whitespace() || "`'\"’”,;".contains(letter)).next()?;
    let word = word.trim_end_matches(['.', ':', ')']);
    (is_name(word) || word.chars().count() == 1 && word.is_ascii()).then(|| word.to_owned())
}

fn after(line: &str, marks: &[&str]) -> Vec<String> {
    marks.iter().filter_map(|mark| first_word(line.split_once(mark)?.1)).collect()
}

fn programs_in(line: &str) -> Vec<String> {
    let before = NO_PROGRAM_BEFORE.iter().filter_map(|mark| {
        let words = line.split_once(mark)?.0;
        let word = words.rsplit([':', ' ']).next()?.trim_matches(['\'', '"', '`']);
        is_name(word).then(|| word.to_owned())
    });
    after(line, &NO_PROGRAM_AFTER).into_iter().chain(before).collect()
}

fn options_in(line: &str) -> Vec<String> {
    let lower = line.to_ascii_lowercase();
    if !["option", "flag", "argument"].iter().any(|word| lower.contains(word)) {
        return Vec::new();
    }
    after(line, &NO_OPTION)
}

fn tasks_in(line: &str) -> Vec<String> {
    if line.contains("git: ") && !line.contains("is not a git command") {
        return Vec::new();
    }
    after(line, &NO_TASK)
}

fn is_of_surroundings(line: &str) -> bool {
    let line = line.to_lowercase();
    SURROUNDINGS.iter().any(|words| line.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::steps;

    fn key(command: &str, output: &str) -> Option<(CauseKind, String)> {
        cause(&steps(command), output).map(|cause| (cause.kind, cause.key))
    }

    #[test]
    fn missing_programs_options_and_tasks_are_named_by_the_output() {
        use CauseKind::Named;
        for (command, output, expected) in [
            ("golangci-lint run ./... 2>&1", "(eval):1: command not found: golangci-lint", "program golangci-lint"),
            ("pytest", "/bin/bash: line 1: pytest: command not found", "program pytest"),
            ("timeout 60 go test | tail", "zsh: command not found: timeout", "program timeout"),
            ("git show 8312232 --no-stat", "fatal: unrecognized argument: --no-stat", "option git show --no-stat"),
            (
                "golangci-lint run --disable-all ./a",
                "Error: unknown flag: --disable-all",
                "option golangci-lint run --disable-all",
            ),
            ("git gc --auto --dry-run", "error: unknown option `dry-run'", "option git gc --dry-run"),
            ("sed -n 1p x | cat -A", "cat: illegal option -- A", "option cat -A"),
            ("cargo test --bad=1", "error: unexpected argument '--bad' found", "option cargo test --bad"),
            ("mise run lint:full", "mise ERROR no task lint:full found", "task mise lint:full"),
            ("npm run tide", "npm error Missing script: \"tide\"", "task npm tide"),
            ("git tide x", "git: 'tide' is not a git command. See 'git --help'.", "task git tide"),
            ("make flood", "make: *** No rule to make target `flood'.  Stop.", "task make flood"),
        ] {
            assert_eq!(key(command, output), Some((Named, expected.to_owned())), "{command}");
        }
    }

    #[test]
    fn what_the_command_does_not_have_names_no_cause() {
        for (command, output) in [
            ("make test", "error: unknown flag: --stat"),
            ("go test ./...", "--- FAIL: TestTide\n    tide.go:3: gauge: command not found"),
            ("git tag x", "git: tide.go is fine\nerror: no"),
        ] {
            assert_ne!(key(command, output).map(|(kind, _)| kind), Some(CauseKind::Named), "{command}");
        }
    }

    #[test]
    fn other_failures_are_known_by_the_whole_command_in_its_normal_form() {
        use CauseKind::{Other, Surroundings};
        let run = |form: &str| format!("run {form}");
        let import = "ERROR collecting tests/test_a.py\nImportError while importing test module\nE   ModuleNotFoundError: No module named 'tide'";
        assert_eq!(key("pytest -q 2>&1 | tail -5", import), Some((Surroundings, run("pytest -q"))));
        assert_eq!(key("PYTHONPATH=. pytest -q", import), Some((Surroundings, run("PYTHONPATH=* pytest -q"))));
        assert_eq!(
            key("cd /a && gh pr diff 343 -- a/b.go", "accepts at most 1 arg(s), received 3"),
            Some((Surroundings, run("gh pr diff N -- a/b.go")))
        );
        assert_eq!(key("go build ./... && ls", "a.go:1:2: undefined: tide"), Some((Other, run("go build ./... && ls"))));
        assert_eq!(key("make", ""), None);
        assert_eq!(key("cd nowhere", "cd: no such file or directory: nowhere"), None, "nothing acts");
    }

    #[test]
    fn failure_is_found_again_by_the_keys_of_a_command() {
        let steps = steps("gh pr diff 104 --stat --color=never");
        let keys = keys(&steps[0]);
        for key in ["program gh", "option gh pr diff --stat", "option gh pr diff --color", "task gh pr", "task gh diff"] {
            assert!(keys.iter().any(|known| known == key), "{key}: {keys:?}");
        }
    }
}
