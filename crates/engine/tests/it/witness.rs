//! Memories that speak of code are compared with a real repository.
#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

use std::path::{Path, PathBuf};
use std::process::Command;

use yore_core::memory::{Anchor, AnchorKind, MemoryKind, Status, Verdict};
use yore_core::operation::{Actor, Cause};
use yore_engine::{CodeReport, Distilled, DistilledItem, Engine, Found, MemoryList, NewMemory};
use yore_sources::project_names::names_of;
use yore_testing::{Memory, SessionBuilder};

const DAY: i64 = 86_400;
const BEGIN: i64 = 1_772_352_000;

/// A repository whose commits are a day apart.
struct Repository {
    directory: PathBuf,
    day: i64,
    /// Seconds of the day that have passed.
    seconds: i64,
}

impl Repository {
    fn new(directory: &Path) -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            eprintln!("SKIPPED: there is no git program");
            return None;
        }
        std::fs::create_dir_all(directory).unwrap();
        let repository = Self { directory: directory.canonicalize().unwrap(), day: 0, seconds: 0 };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        Some(repository)
    }

    fn git(&self, arguments: &[&str]) {
        let date = format!("{} +0000", BEGIN + self.day * DAY + self.seconds);
        let mut git = Command::new("git");
        git.current_dir(&self.directory).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git.envs([("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)]);
        git.args(["-c", "user.name=Mira", "-c", "user.email=mira@tides.example"]).args(arguments);
        let output = git.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Commits everything on the next day; returns the time of that in milliseconds.
    fn commit(&mut self) -> i64 {
        self.day += 1;
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "gauge"]);
        (BEGIN + self.day * DAY) * 1_000
    }
}

fn add(engine: &Engine, repository: &Repository, statement: &str, anchors: &[(AnchorKind, &str)], at: i64) -> String {
    let mut new = NewMemory::new(MemoryKind::Fact, statement);
    new.memory.valid_from = Some(at);
    new.memory.anchors = anchors.iter().map(|(kind, text)| Anchor { kind: *kind, text: (*text).to_owned() }).collect();
    new.here = Some(names_of(repository.directory.to_str().unwrap()));
    let cause = Cause { actor: Actor::Agent, by: "test".to_owned(), input: None };
    engine.add_memory(&new, &cause).unwrap().memory.to_string()
}

fn checked(engine: &Engine) -> CodeReport {
    engine.check_code(&[], &mut || true).unwrap()
}

/// Returns the verdicts that are not fresh: statement, verdict, detail of the first thing.
fn told(report: &CodeReport) -> Vec<(String, Verdict, String)> {
    let mut told: Vec<_> = report
        .changed
        .iter()
        .map(|checked| {
            let detail = checked.found[0].detail.clone().unwrap_or_default();
            (checked.memory.statement.clone(), checked.verdict, detail)
        })
        .collect();
    told.sort_by(|a, b| a.0.cmp(&b.0));
    told
}

#[test]
fn files_names_and_commits_are_fresh_drifted_or_orphaned_as_the_history_of_the_branch_tells() {
    let memory = Memory::new();
    let Some(mut repository) = Repository::new(&memory.sources().join("quay")) else { return };
    let engine = memory.engine();
    let long = |name: &str| format!("fn {name}() {{}}\n{}", "// the tide gauge of the north quay\n".repeat(20));
    for name in ["kept", "edited", "moved", "gone"] {
        repository.write(&format!("src/{name}.rs"), &long(name));
    }
    let at = repository.commit();
    let file = AnchorKind::SourceFile;
    for name in ["kept", "edited", "moved", "gone"] {
        add(engine, &repository, &format!("The {name} file reads the gauge."), &[(file, &format!("src/{name}.rs"))], at);
    }
    add(engine, &repository, "The short name is enough.", &[(file, "kept.rs:12")], at);
    add(engine, &repository, "What is nowhere has no verdict.", &[(file, "src/never.rs")], at);
    let symbol = [(file, "src/edited.rs"), (AnchorKind::Symbol, "edited()")];
    add(engine, &repository, "The name stays although its file was edited.", &symbol, at);
    let lost = [(AnchorKind::Symbol, "gone"), (file, "src/gone.rs")];
    add(engine, &repository, "The name is gone with its file.", &lost, at);
    let report = checked(engine);
    assert_eq!((report.projects, report.fresh, report.unknown), (1, 7, 1), "{report:?}");
    assert!(report.changed.is_empty(), "{report:?}");

    repository.write("src/edited.rs", &format!("{}// and of the south quay\n", long("edited")));
    repository.commit();
    repository.git(&["mv", "src/moved.rs", "src/harbour.rs"]);
    repository.commit();
    repository.git(&["rm", "--quiet", "src/gone.rs"]);
    repository.commit();
    let drifted = |statement: &str, detail: &str| (statement.to_owned(), Verdict::Drifted, detail.to_owned());
    let orphaned = |statement: &str, detail: &str| (statement.to_owned(), Verdict::Orphaned, detail.to_owned());
    let expected = vec![
        drifted("The edited file reads the gauge.", "it was changed since"),
        orphaned("The gone file reads the gauge.", "it was removed"),
        drifted("The moved file reads the gauge.", "it is src/harbour.rs now"),
        orphaned("The name is gone with its file.", "it was removed"),
        drifted("The name stays although its file was edited.", "it was changed since"),
    ];
    let report = checked(engine);
    assert_eq!(told(&report), expected);
    assert_eq!((report.fresh, report.unknown), (2, 1));

    // A change in the working tree alone counts too.
    repository.write("src/kept.rs", "fn kept() { todo!() }\n");
    std::fs::remove_file(repository.directory.join("src/harbour.rs")).unwrap();
    let told_now = told(&checked(engine));
    assert!(told_now.contains(&drifted("The kept file reads the gauge.", "it was changed since")), "{told_now:?}");
    let gone = orphaned("The moved file reads the gauge.", "it is gone from the working tree");
    assert!(told_now.contains(&gone), "{told_now:?}");
    repository.git(&["checkout", "--quiet", "--", "."]);
    assert_eq!(told(&checked(engine)), expected, "and are as before when that is taken back");
}

#[test]
fn a_branch_that_is_checked_out_counts_and_what_is_on_another_is_not_taken_for_lost() {
    let memory = Memory::new();
    let Some(mut repository) = Repository::new(&memory.sources().join("quay")) else { return };
    let engine = memory.engine();
    repository.write("src/main.rs", "fn main() {}\n");
    repository.commit();
    repository.git(&["checkout", "--quiet", "-b", "crane"]);
    repository.write("src/crane.rs", "fn lift() {}\n");
    let at = repository.commit();
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&repository.directory).output().unwrap();
    let head = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    add(engine, &repository, "The crane lifts.", &[(AnchorKind::SourceFile, "src/crane.rs")], at);
    add(engine, &repository, "The crane came with a commit.", &[(AnchorKind::Commit, &head[..9])], at);
    add(engine, &repository, "That commit was thrown away.", &[(AnchorKind::Commit, "0123456789ab")], at);
    let thrown = ("That commit was thrown away.".to_owned(), Verdict::Orphaned, "the commit is gone".to_owned());
    assert_eq!(told(&checked(engine)), std::slice::from_ref(&thrown));
    repository.git(&["checkout", "--quiet", "main"]);
    let elsewhere = |statement: &str| (statement.to_owned(), Verdict::Drifted, "it is on another branch".to_owned());
    let expected = [thrown.clone(), elsewhere("The crane came with a commit."), elsewhere("The crane lifts.")];
    assert_eq!(told(&checked(engine)), expected);
    repository.day += 1;
    repository.git(&["merge", "--quiet", "--no-ff", "-m", "merge", "crane"]);
    assert_eq!(told(&checked(engine)), [thrown], "merged");
}

#[test]
fn a_verdict_is_shown_with_the_memory_lowers_its_rank_and_is_looked_up_again_where_it_is_recalled() {
    let memory = Memory::new();
    let Some(mut repository) = Repository::new(&memory.sources().join("quay")) else { return };
    let engine = memory.engine();
    repository.write("src/tide.rs", "fn tide() {}\n");
    repository.write("src/wind.rs", "fn wind() {}\n");
    let at = repository.commit();
    let file = AnchorKind::SourceFile;
    let tide = add(engine, &repository, "The gauge reader of the harbour is src/tide.rs.", &[(file, "src/tide.rs")], at);
    let wind = add(engine, &repository, "The gauge reader of the harbour is src/wind.rs.", &[(file, "src/wind.rs")], at);
    memory.index();
    let question = "which file is the gauge reader of the harbour?";
    let order =
        |hits: &[yore_engine::Hit]| hits.iter().filter_map(|hit| Some(hit.id().memory()?.to_string())).collect::<Vec<_>>();
    // The one that comes first loses its file.
    let first = order(&memory.ask(question))[0].clone();
    let (lost, kept, file) = if first == tide { (tide, wind, "src/tide.rs") } else { (wind, tide, "src/wind.rs") };
    repository.git(&["rm", "--quiet", file]);
    repository.commit();
    let mut hits = memory.ask(question);
    let here = names_of(repository.directory.to_str().unwrap());
    engine.check_found(&here, &mut hits).unwrap();
    let changed = |hit: &yore_engine::Hit| match &hit.found {
        Found::Memory(found) => found.changed.clone(),
        Found::Turn(_) => Vec::new(),
    };
    assert_eq!((changed(&hits[0])[0].verdict, changed(&hits[1]).len()), (Verdict::Orphaned, 0));
    // A question stores nothing; the upkeep does, and the verdict is known the next time.
    assert_eq!(order(&memory.ask(question)), [lost.clone(), kept.clone()]);
    checked(engine);
    let after = memory.ask(question);
    assert_eq!(order(&after), [kept, lost]);
    assert_eq!(changed(&after[1])[0].detail.as_deref(), Some("it was removed"));
}

#[test]
fn a_directory_without_a_repository_a_commit_or_a_whole_database_is_told_and_changes_nothing() {
    let memory = Memory::new();
    let Some(mut repository) = Repository::new(&memory.sources().join("quay")) else { return };
    let engine = memory.engine();
    add(engine, &repository, "The crane lifts.", &[(AnchorKind::SourceFile, "src/crane.rs")], BEGIN * 1_000);
    let empty = checked(engine);
    assert_eq!((empty.projects, empty.without_tree.len(), empty.failed.len()), (0, 1, 0), "no commit yet: {empty:?}");
    repository.write("src/crane.rs", "fn lift() {}\n");
    repository.commit();
    assert_eq!(checked(engine).fresh, 1, "written before it was committed");
    for object in walk(&repository.directory.join(".git/objects")) {
        std::fs::remove_file(object).unwrap();
    }
    let broken = checked(engine);
    assert_eq!((broken.projects, broken.changed.len()), (0, 0), "{broken:?}");
    assert_eq!(broken.failed.len() + broken.without_tree.len(), 1, "{broken:?}");
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn a_file_that_is_removed_soon_after_it_was_spoken_of_is_lost_and_not_unknown() {
    let memory = Memory::new();
    let Some(mut repository) = Repository::new(&memory.sources().join("quay")) else { return };
    repository.write("src/crane.rs", "fn lift() {}\n");
    let at = repository.commit();
    add(memory.engine(), &repository, "The crane lifts.", &[(AnchorKind::SourceFile, "src/crane.rs")], at + 60_000);
    repository.git(&["rm", "--quiet", "src/crane.rs"]);
    repository.seconds = 600;
    repository.git(&["commit", "--quiet", "-m", "gone"]);
    let lost = ("The crane lifts.".to_owned(), Verdict::Orphaned, "it was removed".to_owned());
    assert_eq!(told(&checked(memory.engine())), [lost]);
}

#[test]
fn no_program_that_a_repository_names_runs() {
    let memory = Memory::new();
    let Some(mut repository) = Repository::new(&memory.sources().join("quay")) else { return };
    let engine = memory.engine();
    repository.write("src/crane.rs", "fn lift() {}\n");
    let at = repository.commit();
    let anchors = [(AnchorKind::SourceFile, "src/crane.rs"), (AnchorKind::Symbol, "lift"), (AnchorKind::Symbol, "lower")];
    add(engine, &repository, "The crane lifts.", &anchors, at);
    let proof = repository.directory.join("ran");
    let program = format!("touch {}; cat", proof.display());
    for name in ["filter.x.clean", "filter.x.smudge", "diff.x.textconv", "core.fsmonitor", "core.pager"] {
        repository.git(&["config", name, &program]);
    }
    repository.write(".git/info/attributes", "*.rs filter=x diff=x\n");
    repository.write("src/crane.rs", "fn lift() { todo!() }\n");
    assert_eq!(told(&checked(engine)).len(), 1);
    assert!(!proof.exists());
}

/// Lets an agent distil a session on a branch that says on which port the harbour server listens.
fn said_on(memory: &Memory, repository: &Repository, seed: u64, branch: &str, port: &str, at: i64) {
    let mut session = SessionBuilder::new(seed).cwd(repository.directory.to_str().unwrap()).branch(branch).at(at);
    session.human(&format!("the harbour server listens on port {port}"));
    session.assistant("Noted.");
    memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    memory.learn();
    let item = DistilledItem {
        kind: "fact".to_owned(),
        statement: format!("The harbour server listens on port {port}."),
        line: 1,
        quote: format!("listens on port {port}"),
        ..DistilledItem::default()
    };
    let distilled = Distilled { session: session.id().to_owned(), items: vec![item], upto: Some(2), ..Distilled::default() };
    assert_eq!(memory.engine().record_distilled(&distilled).unwrap().recorded, 1);
}

/// Returns the statuses of the facts, by their port.
fn ports(memory: &Memory) -> Vec<(String, Status)> {
    let mut all = memory.engine().memories(&MemoryList { limit: 10, ..MemoryList::default() }).unwrap();
    all.sort_by(|a, b| a.memory.statement.cmp(&b.memory.statement));
    all.into_iter()
        .map(|stored| (stored.memory.statement.replace("The harbour server listens on port ", ""), stored.memory.status))
        .collect()
}

#[test]
fn the_fact_of_a_branch_holds_beside_that_of_the_trunk_until_the_branch_is_merged() {
    let both = [("8080.".to_owned(), Status::Holds), ("9090.".to_owned(), Status::Holds)];
    for is_deleted in [false, true] {
        let (memory, home) = (Memory::new(), tempfile::tempdir().unwrap());
        let Some(mut repository) = Repository::new(&home.path().join("quay")) else { return };
        repository.write("port", "8080");
        let first = repository.commit();
        said_on(&memory, &repository, 1, "main", "8080", first + 1_000);
        repository.git(&["checkout", "--quiet", "-b", "tide/port"]);
        said_on(&memory, &repository, 2, "tide/port", "9090", first + 3_600_000);
        assert_eq!(ports(&memory), both);
        assert!(memory.engine().conflicts(&[], None, 10).unwrap().is_empty(), "both hold, each on its branch");
        // The branch stands where the trunk stands, so far.
        assert_eq!((checked(memory.engine()).merged, ports(&memory)), (0, both.to_vec()));
        repository.write("port", "9090");
        repository.commit();
        assert_eq!((checked(memory.engine()).merged, ports(&memory)), (0, both.to_vec()), "committed and not merged");
        repository.git(&["checkout", "--quiet", "main"]);
        repository.day += 1;
        repository.git(&["merge", "--quiet", "--no-ff", "-m", "Merge pull request #7 from mira/tide/port", "tide/port"]);
        if is_deleted {
            repository.git(&["branch", "--quiet", "-D", "tide/port"]);
        }
        assert_eq!(checked(memory.engine()).merged, 1, "deleted: {is_deleted}");
        assert_eq!(ports(&memory), [("8080.".to_owned(), Status::Superseded), ("9090.".to_owned(), Status::Holds)]);
        assert_eq!(checked(memory.engine()).merged, 0);
        let log = memory.engine().operations(None, None, 1).unwrap();
        assert!(log[0].summary.contains("its branch was merged"), "{log:?}");
        memory.engine().undo(log[0].number, &Cause { actor: Actor::Person, by: "test".to_owned(), input: None }).unwrap();
        assert_eq!((checked(memory.engine()).merged, ports(&memory)), (0, both.to_vec()), "what was taken back stays so");
    }
}

#[test]
fn after_the_merge_of_a_branch_recency_counts_again_and_another_branch_keeps_its_own_fact() {
    let (memory, home) = (Memory::new(), tempfile::tempdir().unwrap());
    let Some(mut repository) = Repository::new(&home.path().join("quay")) else { return };
    let first = repository.commit();
    said_on(&memory, &repository, 1, "main", "8080", first + 1_000);
    for (seed, branch, port) in [(2, "tide/one", "9090"), (3, "tide/two", "7070")] {
        repository.git(&["checkout", "--quiet", "-b", branch, "main"]);
        said_on(&memory, &repository, seed, branch, port, first + seed as i64 * 3_600_000);
        repository.write(branch, port);
        repository.commit();
    }
    let statuses =
        |memory: &Memory| ports(memory).into_iter().map(|(port, status)| format!("{port} {status:?}")).collect::<Vec<_>>();
    assert_eq!(statuses(&memory), ["7070. Holds", "8080. Holds", "9090. Holds"]);
    let merge = |repository: &mut Repository, branch: &str| {
        repository.git(&["checkout", "--quiet", "main"]);
        repository.day += 1;
        repository.git(&["merge", "--quiet", "--no-ff", "-m", &format!("Merge branch '{branch}'"), branch]);
    };
    merge(&mut repository, "tide/two");
    assert_eq!(checked(memory.engine()).merged, 1, "one fact, beside two others");
    assert_eq!(statuses(&memory), ["7070. Holds", "8080. Superseded", "9090. Holds"], "that of the open branch stays");
    merge(&mut repository, "tide/one");
    assert_eq!(checked(memory.engine()).merged, 1);
    assert_eq!(statuses(&memory), ["7070. Holds", "8080. Superseded", "9090. Superseded"], "the later of two that are merged");
    said_on(&memory, &repository, 4, "main", "6060", first + 90 * DAY * 1_000);
    let all = statuses(&memory);
    assert_eq!(all, ["6060. Holds", "7070. Superseded", "8080. Superseded", "9090. Superseded"]);
}

#[test]
fn versions_and_commands_are_judged_by_the_files_that_said_so_at_the_time() {
    let memory = Memory::new();
    let Some(mut repository) = Repository::new(&memory.sources().join("quay")) else { return };
    let engine = memory.engine();
    repository.write("Cargo.toml", "[dependencies]\nserde = \"1.0.100\"\ntokio = \"1.38\"\n");
    repository.write("web/package.json", "{\"scripts\": {\"lint\": \"eslint .\", \"build\": \"vite\"}}");
    repository.write("Makefile", "dist: all\n\tmake all\n");
    repository.write(".nvmrc", "20.1.0\n");
    let at = repository.commit() + 3_600_000;
    let note = |statement: &str| add(engine, &repository, statement, &[], at);
    let ids = [
        note("The harbour server is built with serde 1.0.100."),
        note("The harbour server is built with tokio 1.38.0."),
        note("The page is linted with `npm run lint`."),
        note("The page is built with `yarn build`."),
        note("`make dist` packs the harbour server."),
        note("The page needs node 20.1.0."),
        note("The gauge speaks protocol 3.1 with the harbour."),
        note("`make tides` prints the table."),
    ];
    assert_eq!((checked(engine).fresh, checked(engine).unknown), (6, 2), "what no file said is not judged");
    repository.write("Cargo.toml", "[dependencies]\nserde = \"1.0.210\"\ntokio = \"1.38\"\n");
    repository.write("web/package.json", "{\"scripts\": {\"lint:all\": \"eslint .\", \"build\": \"vite\"}}");
    repository.git(&["rm", "--quiet", "Makefile"]);
    repository.commit();
    repository.write(".nvmrc", "22.0.0\n");
    let report = checked(engine);
    let mut told: Vec<(String, Verdict, String)> = report
        .changed
        .iter()
        .map(|one| {
            let found = &one.found[0];
            (found.anchor.text.clone(), found.verdict, found.detail.clone().unwrap())
        })
        .collect();
    told.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("make dist", Verdict::Orphaned, "Makefile was removed"),
        ("node 20.1.0", Verdict::Drifted, "it is 22.0.0 in .nvmrc now"),
        ("npm run lint", Verdict::Orphaned, "web/package.json has it no more"),
        ("serde 1.0.100", Verdict::Drifted, "it is 1.0.210 in Cargo.toml now"),
    ];
    assert_eq!(told, expected.map(|(name, verdict, detail)| (name.to_owned(), verdict, detail.to_owned())));
    assert_eq!((report.fresh, report.unknown), (2, 2));
    // It is looked up again where it is recalled.
    repository.write(".nvmrc", "20.1.0\n");
    memory.index();
    let mut hits = memory.ask("which node does the page need?");
    engine.check_found(&names_of(repository.directory.to_str().unwrap()), &mut hits).unwrap();
    let found = hits.iter().filter_map(|hit| hit.as_memory()).find(|found| found.memory.id.to_string() == ids[5]).unwrap();
    assert!(found.changed.is_empty(), "{:?}", found.changed);
}

#[test]
fn what_was_committed_soon_after_a_memory_is_judged_by_the_state_at_the_very_time() {
    let memory = Memory::new();
    let Some(mut repository) = Repository::new(&memory.sources().join("quay")) else { return };
    repository.write("Cargo.toml", "[dependencies]\nserde = \"1.0.100\"\n");
    let at = repository.commit() + 60_000;
    add(memory.engine(), &repository, "The harbour server is built with serde 1.0.100.", &[], at);
    repository.write("Cargo.toml", "[dependencies]\nserde = \"1.0.219\"\n");
    repository.seconds = 600;
    repository.git(&["commit", "--quiet", "--all", "-m", "newer serde"]);
    let report = checked(memory.engine());
    assert_eq!(
        told(&report).iter().map(|(_, verdict, detail)| (*verdict, detail.as_str())).collect::<Vec<_>>(),
        [(Verdict::Drifted, "it is 1.0.219 in Cargo.toml now")]
    );
}
