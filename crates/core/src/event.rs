//! Events: what tools report to have happened in a conversation, such as a command that passed or a pull request that was merged.

use crate::time::UtcMillis;

named_enum! {
    /// The kind of thing that an event is about.
    EventKind {
        /// A command with a purpose that was run.
        Command = "command",
        /// A pull request, by its number.
        PullRequest = "pull_request",
        /// An issue or a ticket, by its number or key.
        Issue = "issue",
        /// A commit, by its abbreviated hash.
        Commit = "commit",
        /// A release or a version tag.
        Release = "release",
        /// A step of an agent's list of steps, as it stood last.
        Todo = "todo",
        /// A plan that an agent presented.
        Plan = "plan",
        /// A call of a tool that the person refused.
        Refusal = "refusal",
        /// An error that a tool reported.
        Error = "error",
        /// A document that guides work in the project and was read whole, by its path.
        Guide = "guide",
        /// Edits of a file, by its path, that were taken back or refused.
        TakenBack = "taken_back",
    }
}

named_enum! {
    /// The state into which the thing came.
    EventState {
        /// It was seen, and nothing is known of its state.
        Seen = "seen",
        /// It was done, or passed.
        Done = "done",
        /// It failed.
        Failed = "failed",
        /// It was opened.
        Opened = "opened",
        /// It was merged.
        Merged = "merged",
        /// It was closed.
        Closed = "closed",
        /// It was seen to be open.
        WasOpen = "was_open",
        /// It was seen to have been merged.
        WasMerged = "was_merged",
        /// It was seen to have been closed.
        WasClosed = "was_closed",
        /// It waits.
        Pending = "pending",
        /// Somebody works on it.
        InProgress = "in_progress",
        /// The person approved it.
        Approved = "approved",
        /// The person refused it.
        Refused = "refused",
    }
}

/// Something that happened in a conversation.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Event<Turn> {
    /// Kind of thing.
    pub kind: EventKind,
    /// The state into which it came.
    pub state: EventState,
    /// Name by which it is known again: a command, `#12`, a hash, the beginning of a step.
    pub name: String,
    /// Further words about it: the title of a pull request, the words with which something was refused; may be empty.
    pub text: String,
    /// The turn that reports it last.
    pub turn: Turn,
    /// Time of that turn.
    pub at: Option<UtcMillis>,
    /// Number of times that it happened in the conversation.
    pub count: u32,
}

impl EventState {
    /// Returns whether it was only seen there, and done somewhere else.
    pub const fn is_only_seen(self) -> bool {
        matches!(self, Self::Seen | Self::WasOpen | Self::WasMerged | Self::WasClosed)
    }

    /// Returns the state of the thing, wherever it came into it.
    pub const fn of_thing(self) -> Self {
        match self {
            Self::WasOpen => Self::Opened,
            Self::WasMerged => Self::Merged,
            Self::WasClosed => Self::Closed,
            state => state,
        }
    }
}

impl<Turn> Event<Turn> {
    /// Returns the event with another name of its turn.
    pub fn at_turn<Other>(self, name: impl FnOnce(Turn) -> Other) -> Event<Other> {
        let Self { kind, state, name: known, text, turn, at, count } = self;
        Event { kind, state, name: known, text, turn: name(turn), at, count }
    }
}

/// Returns whether a text is the key of a ticket.
///
/// ```
/// use yore_core::event::is_ticket;
/// assert!(is_ticket("ENT-260") && !is_ticket("UTF-8x") && !is_ticket("260"));
/// ```
pub fn is_ticket(text: &str) -> bool {
    text.split_once('-').is_some_and(|(team, number)| {
        team.len() >= 2
            && team.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

named_enum! {
    /// The purpose of a command.
    Purpose {
        /// It runs tests.
        Test = "test",
        /// It runs a linter.
        Lint = "lint",
        /// It formats code.
        Format = "format",
        /// It builds the project.
        Build = "build",
        /// It measures speed.
        Bench = "bench",
        /// It checks types or the whole project.
        Check = "check",
        /// It makes a release.
        Release = "release",
        /// It deploys the project.
        Deploy = "deploy",
        /// It migrates a database.
        Migrate = "migrate",
        /// It installs tools or the project.
        Install = "install",
        /// It starts the program.
        Run = "run",
    }
}

impl Purpose {
    /// Words of a command by which it is known to serve the purpose.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Test => &["test", "tests", "pytest", "vitest", "jest", "nextest", "tox", "unittest"],
            Self::Lint => &["lint", "linter", "clippy", "golangci-lint", "eslint", "ruff", "flake8", "shellcheck"],
            Self::Format => &["fmt", "format", "prettier", "gofmt", "gofumpt", "black"],
            Self::Build => &["build", "compile"],
            Self::Bench => &["bench", "benchmark", "benchmarks", "hyperfine"],
            Self::Check => &["check", "vet", "tsc", "typecheck", "mypy", "pyright", "ty"],
            Self::Release => &["release", "publish", "goreleaser"],
            Self::Deploy => &["deploy"],
            Self::Migrate => &["migrate", "migration", "migrations"],
            Self::Install => &["install", "setup", "sync", "bootstrap", "ci"],
            Self::Run => &["run", "start", "serve", "dev"],
        }
    }

    /// Returns the statement that a command of this purpose makes about itself.
    pub fn said(self) -> &'static str {
        match self {
            Self::Test => "runs the tests",
            Self::Lint => "runs the linter",
            Self::Format => "formats the code",
            Self::Build => "builds the project",
            Self::Bench => "runs the benchmarks",
            Self::Check => "checks the project",
            Self::Release => "makes a release",
            Self::Deploy => "deploys the project",
            Self::Migrate => "migrates the database",
            Self::Install => "installs",
            Self::Run => "runs the program",
        }
    }

    /// Returns the purpose of a command by its words; `None` for one that only looks at something or has none.
    ///
    /// ```
    /// use yore_core::event::Purpose;
    /// assert_eq!(Purpose::of("mise run test:ci"), Some(Purpose::Test));
    /// assert_eq!(Purpose::of("cargo run --release"), Some(Purpose::Run));
    /// assert_eq!(Purpose::of("git log test"), None);
    /// assert_eq!(Purpose::of("gh release create v1.2"), Some(Purpose::Release));
    /// ```
    pub fn of(command: &str) -> Option<Self> {
        let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
        let first = words.clone().next()?;
        let first = first.rsplit('/').next().unwrap_or(first);
        if first.starts_with('#') {
            return None;
        }
        if matches!(first, "gh" | "git") {
            let (second, third) = (words.nth(1)?, words.next());
            let is_release = match (first, second) {
                ("gh", "release") => matches!(third, Some("create" | "upload")),
                // Without a name, or with another option, it lists or deletes tags.
                ("git", "tag") => third.is_some_and(|name| !name.starts_with('-') || TAGS.contains(&name)),
                _ => false,
            };
            return is_release.then_some(Self::Release);
        }
        let is_go_test_only_built = first == "go" && words.clone().any(|word| word == "-c");
        if LOOKS.contains(&first) || is_go_test_only_built || words.clone().any(|word| LOOKING.contains(&word)) {
            return None;
        }
        let parts: Vec<&str> =
            words.take(MOST_WORDS).flat_map(|word| word.rsplit('/').next()).flat_map(|word| word.split(':')).collect();
        // The first purposes are the more specific ones: `npm run test` runs tests.
        Self::ALL.iter().copied().find(|purpose| parts.iter().any(|word| purpose.words().contains(word)))
    }
}

/// Words of a command that may tell its purpose; later ones are arguments.
const MOST_WORDS: usize = 5;
/// First words of commands that only look at something, or say it.
const LOOKS: [&str; 22] = [
    "awk", "cat", "cd", "cp", "curl", "echo", "export", "find", "grep", "head", "ls", "mkdir", "mv", "printf", "rg", "rm", "sed",
    "sleep", "source", "tail", "wc", "which",
];

/// Options by which a command does not do what its words say.
const LOOKING: [&str; 6] = ["--help", "--version", "--list", "--no-run", "--dry-run", "--collect-only"];
/// Options of `git tag` that make a tag.
const TAGS: [&str; 6] = ["-a", "-s", "-m", "-f", "--annotate", "--sign"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purpose_of_a_command_is_told_by_its_words() {
        for (command, purpose) in [
            ("cargo clippy --all-targets", Some(Purpose::Lint)),
            ("pnpm run build", Some(Purpose::Build)),
            ("./scripts/deploy staging", Some(Purpose::Deploy)),
            ("GOFLAGS=-mod=mod go test ./...", Some(Purpose::Test)),
            ("npm start", Some(Purpose::Run)),
            ("git tag v1.2", Some(Purpose::Release)),
            ("git tag -a v1.2 -m 'first'", Some(Purpose::Release)),
            ("git tag -l --sort=-v:refname", None),
            ("git tag", None),
            ("gh release view v1.2", None),
            ("go test -c ./cmd/gauge", None),
            ("cargo test --no-run", None),
            ("pytest --collect-only", None),
            ("cat test", None),
            ("make", None),
            ("", None),
        ] {
            assert_eq!(Purpose::of(command), purpose, "{command}");
        }
    }
}
