//! Files and notes: which are read, which never are, and the effect of changed texts.

use std::collections::BTreeSet;
use std::path::Path;

use yore_core::episode::{EpisodeKind, Role};
use yore_core::note::NoteFacts;
use yore_engine::ingest::{GivenDocument, IngestReport, IngestRequest, Silent, SourceRoot};
use yore_sources::source::note::{Note, note_episode, note_records, note_unit};
use yore_sources::source::{Files, NothingKnown, ReaderOptions, Source, Stamp, Unit};
use yore_testing::{Memory, TurnOf};

fn learn(memory: &Memory, folder: &str) -> IngestReport {
    let report = memory.read_as("file", &memory.sources().join(folder));
    memory.index();
    report
}

fn quotes(memory: &Memory, question: &str) -> Vec<String> {
    memory.ask(question).into_iter().map(|hit| hit.quote).collect()
}

/// Returns the files below a directory that the source would read, relative to it.
fn found(root: &Path) -> BTreeSet<String> {
    let units = Files.discover(root, &NothingKnown);
    units.iter().map(|unit| unit.path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/")).collect()
}

fn skips(report: &IngestReport) -> Vec<(&str, &str, u64)> {
    report.skips.iter().map(|((reason, detail), count)| (reason.as_str(), detail.as_str(), *count)).collect()
}

#[test]
fn changed_sections_are_replaced_dropped_ones_go_and_the_others_stay() {
    let memory = Memory::new();
    let guide =
        "# Harbour\n\nThe crane opens at six.\n\n# Lighthouse\n\nThe lamp burns whale oil.\n\n# Ferry\n\nIt leaves at noon.\n";
    memory.write("docs/guide.md", guide);
    let report = learn(&memory, "docs");
    assert_eq!((report.turns_added, report.files_read), (3, 1));
    let ferry = memory.ask("when does the ferry leave").remove(0);
    assert_eq!((ferry.turn().role, ferry.turn().kind, ferry.turn().line), (Role::Assistant, EpisodeKind::Document, 9));
    assert!(ferry.turn().text.starts_with("guide.md › Ferry\n\nIt leaves at noon."), "{}", ferry.turn().text);

    let changed = "# Harbour\n\nSince spring.\n\nThe crane opens at seven.\n\n# Ferry\n\nIt leaves at noon.\n";
    memory.write("docs/guide.md", changed);
    let report = learn(&memory, "docs");
    assert_eq!((report.turns_added, report.turns_updated), (0, 1));
    assert!(quotes(&memory, "whale oil lamp").iter().all(|quote| !quote.contains("whale")));
    assert!(quotes(&memory, "when does the crane open")[0].contains("seven"));
    let moved = memory.ask("when does the ferry leave").remove(0);
    assert_eq!((moved.turn().id, moved.turn().line, &moved.turn().text), (ferry.turn().id, 7, &ferry.turn().text));

    let report = learn(&memory, "docs");
    assert_eq!((report.files_unchanged, report.files_read), (1, 0));
}

#[test]
fn reading_the_archive_again_gives_the_same() {
    let memory = Memory::new();
    memory.write("docs/guide.md", "# Harbour\n\nThe crane opens at six.\n\n# Ferry\n\nNoon.\n");
    memory.write("docs/crane.rs", "/// Opens the crane.\nfn open() {}\n");
    learn(&memory, "docs");
    memory.write("docs/guide.md", "# Harbour\n\nThe crane opens at eight.\n");
    learn(&memory, "docs");
    let before = memory.state();
    memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!(memory.state(), before);
}

#[test]
fn code_is_found_by_its_symbols_in_its_project() {
    let memory = Memory::new();
    memory.write("harbor/.git/config", "[remote \"origin\"]\n\turl = git@example.com:acme/harbor.git\n");
    memory.write("harbor/.git/HEAD", "ref: refs/heads/main\n");
    memory.write("harbor/.git/objects/info/packs", "");
    memory.write("harbor/src/crane.rs", "use std::io;\n\n/// Lifts a crate of figs.\npub fn lift_crate() {}\n\nfn lower() {}\n");
    learn(&memory, "harbor/src");
    let hit = memory.ask("lift_crate").remove(0);
    assert_eq!(hit.turn().text, "src/crane.rs › lift_crate\n\n/// Lifts a crate of figs.\npub fn lift_crate() {}");
    assert_eq!(hit.turn().line, 3);
    let episode = memory.episodes().remove(0);
    assert_eq!(episode.native_id, "example.com/acme/harbor/src/crane.rs");
    assert_eq!(memory.engine().projects().unwrap()[0].name, "harbor");
}

#[test]
fn every_checkout_of_a_repository_gives_the_same_ids() {
    let memory = Memory::new();
    for checkout in ["one", "two"] {
        memory.write(&format!("{checkout}/.git/config"), "[remote \"origin\"]\n\turl = https://example.com/acme/harbor\n");
        memory.write(&format!("{checkout}/.git/HEAD"), "ref: refs/heads/main\n");
        memory.write(&format!("{checkout}/.git/objects/info/packs"), "");
        memory.write(&format!("{checkout}/README.md"), "# Crane\n\nIt lifts figs.\n");
    }
    assert_eq!(learn(&memory, "one").turns_added, 1);
    let report = learn(&memory, "two");
    assert_eq!((report.turns_added, report.turns_updated), (0, 0));
    assert_eq!(memory.episodes().len(), 1);
    // Without a remote, two directories of the same name are different projects.
    for place in ["a/notes", "b/notes"] {
        memory.write(&format!("{place}/todo.md"), "# Todo\n\nBuy figs.\n");
        assert_eq!(learn(&memory, place).turns_added, 1);
    }
}

#[test]
fn ignored_hidden_and_linked_files_are_left_out() {
    let memory = Memory::new();
    for (name, text) in [
        ("p/.gitignore", "ignored.md\n/build/\n"),
        ("p/.yoreignore", "private/\n"),
        ("p/sub/.ignore", "drafts.md\n"),
        ("p/ignored.md", "x"),
        ("p/build/out.md", "x"),
        ("p/private/diary.md", "x"),
        ("p/.hidden.md", "x"),
        ("p/.config/settings.toml", "x"),
        ("p/.git/HEAD", "x"),
        ("p/sub/drafts.md", "x"),
        ("p/sub/kept.md", "x"),
        ("p/kept.rs", "x"),
        ("p/photo.png", "x"),
        ("elsewhere/linked.md", "x"),
    ] {
        memory.write(name, text);
    }
    let root = memory.sources().join("p");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(memory.sources().join("elsewhere"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(memory.sources().join("elsewhere/linked.md"), root.join("link.md")).unwrap();
    }
    assert_eq!(found(&root), ["kept.rs", "sub/kept.md"].map(str::to_owned).into());
}

#[test]
fn files_with_keys_are_never_opened() {
    let memory = Memory::new();
    let names = [
        "prod.env",
        "server.pem",
        "id_rsa",
        "id_ed25519.pub",
        "tls.key",
        "credentials.json",
        "secrets.yaml",
        "Secrets.toml",
        "store.p12",
    ];
    for name in names {
        memory.write(&format!("p/{name}"), "the planted words");
    }
    memory.write("p/kept.md", "harmless");
    let root = memory.sources().join("p");
    assert_eq!(found(&root), ["kept.md".to_owned()].into());
    for name in names.into_iter().chain([".env", ".netrc"]) {
        // A file that is named explicitly is refused before it is opened; some of these do not even exist.
        assert!(Files.discover(&root.join(name), &NothingKnown).is_empty());
        let unit = Unit { path: root.join(name), ..Unit::records(root.join("kept.md")).unwrap() };
        let refused = Files.records_with(&unit, &ReaderOptions::default(), &mut |_| panic!("{name} was read")).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied, "{name}");
    }
    learn(&memory, "p");
    assert!(quotes(&memory, "planted words").is_empty());
}

#[test]
fn what_is_no_text_is_counted_by_reason() {
    let memory = Memory::new();
    memory.write("p/Cargo.lock", "[[package]]\n");
    memory.write("p/data", b"\0\x01\x02");
    memory.write("p/huge.txt", vec![b'a'; 3 << 20]);
    memory.write("p/app.js", "var a=1;".repeat(5_000));
    memory.write("p/empty.md", "");
    memory.write("p/generated.go", "// Code generated by protoc. DO NOT EDIT.\npackage p\n");
    memory.write("p/paper.pdf", "%PDF-1.4");
    let report = learn(&memory, "p");
    let expected = [
        ("binary-file", "", 1),
        ("empty-file", "", 1),
        ("file-too-large", "text", 1),
        ("generated-file", "", 1),
        ("lock-file", "", 1),
        ("minified-file", "", 1),
        ("pdf-without-extractor", "", 1),
    ];
    assert_eq!(skips(&report), expected);
    assert_eq!(report.turns_added, 0);
    let again = learn(&memory, "p");
    assert_eq!(again.files_unchanged, 7, "what was skipped is not looked at again");
    // Once the file has content, it is read.
    memory.write("p/empty.md", "# Figs\n\nThey are ripe.\n");
    assert_eq!(learn(&memory, "p").turns_added, 1);
}

#[test]
fn pdf_extractor_that_dies_is_a_counted_skip() {
    let memory = Memory::new();
    let path = memory.write("p/paper.pdf", "%PDF-1.4");
    memory.write("p/kept.md", "# Figs\n\nThey are ripe.\n");
    let mut request =
        IngestRequest::new(vec![SourceRoot { source: "file".to_owned(), path: path.parent().unwrap().to_path_buf() }]);
    request.reader.pdf_extractor = Some(memory.sources().join("no-such-program"));
    let report = memory.engine().ingest(&request, &mut Silent).unwrap();
    assert_eq!(skips(&report), [("pdf-not-readable", "extractor does not start", 1)]);
    assert_eq!((report.turns_added, report.failures.len()), (1, 0));
}

#[test]
fn secrets_in_files_are_redacted() {
    let memory = Memory::new();
    let secret = ["ghp_", "Zk3vQ9xW2mLr8TnB", "5yHc7JdFs1AgUe0P4iXo"].concat();
    memory.write("p/deploy.md", format!("# Deploy\n\nUse the token {secret} for pushes.\n"));
    let report = learn(&memory, "p");
    assert_eq!(report.redactions.secrets_total(), 1);
    assert!(!memory.ask("token for pushes")[0].turn().text.contains(&secret));
}

#[test]
fn note_is_kept_word_for_word_as_a_persons_words() {
    let memory = Memory::new();
    let text = "  Figs are ripe in September.\n\n\tNot before!  ";
    let put = |text: &str, version: i64| {
        let facts = NoteFacts { title: Some("Figs".to_owned()), tags: vec!["orchard".to_owned()], ..NoteFacts::default() };
        let note = Note { id: "n-1", text, facts: &facts, directory: None, is_by_agent: false, at: 1_780_000_000_000 };
        let document = GivenDocument {
            name: note_unit("n-1"),
            stamp: Stamp { size: text.len() as u64, version },
            state: String::new(),
            records: note_records(&note),
        };
        let report = memory.engine().put_document("note", document, &IngestRequest::new(Vec::new())).unwrap();
        memory.index();
        report
    };
    assert_eq!(put(text, 1).turns_added, 1);
    let hit = memory.ask("when are figs ripe").remove(0);
    assert_eq!((hit.turn().text.as_str(), hit.turn().role), (text, Role::Human));
    assert_eq!(hit.turn().time.utc, Some(1_780_000_000_000));
    assert_eq!(memory.ask("orchard").len(), 1, "a tag finds it");
    let episode = memory.episodes().remove(0);
    assert_eq!((episode.id, episode.title.as_deref()), (note_episode("n-1"), Some("Figs")));
    assert_eq!(put("Figs are ripe in August.", 2).turns_updated, 1);
    assert!(memory.ask("when are figs ripe")[0].turn().text.contains("August"));
    assert_eq!(memory.episodes().len(), 1);
}

#[test]
fn forgotten_file_does_not_come_back() {
    let memory = Memory::new();
    memory.write("p/guide.md", "# Figs\n\nThey are ripe.\n");
    memory.write("p/other.md", "# Figs\n\nThey are dried.\n");
    learn(&memory, "p");
    let native = memory.sources().join("p/guide.md").to_str().unwrap().to_owned();
    memory.forget_hard(&native);
    memory.write("p/guide.md", "# Figs\n\nThey are ripe again.\n");
    learn(&memory, "p");
    let left = quotes(&memory, "figs");
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].contains("dried"), "a section of the same name in another file stays");
}
