//! Notes: kept word for word, once, in their scope; found at once; changed and forgotten.

use std::collections::HashSet;

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;
use yore_core::episode::Role;
use yore_core::note::{NoteFacts, NoteKind, Priority};
use yore_core::operation::Cause;
use yore_core::query::SearchMode;
use yore_core::scope::ScopeChoice;
use yore_engine::ingest::{GivenDocument, IngestRequest, Silent};
use yore_engine::{
    Engine, EngineError, ForgetRequest, NoteSummary, NotesRequest, ProjectQuery, RememberRequest, Remembered, STANDING,
    SessionsRequest, ShowRequest, Surroundings, WhichVersion,
};
use yore_sources::project_names::{ProjectNames, names_of};
use yore_sources::source::document::{DocumentFacts, document_records};
use yore_sources::source::note::{MAX_BYTES, Note, note_records, note_unit};
use yore_sources::source::{ReaderOptions, Stamp};
use yore_testing::{Memory, Scan, SessionBuilder, TurnOf};

const HARBOR: &str = "/home/dev/harbor";
const QUARRY: &str = "/home/dev/quarry";

fn new(text: &str) -> RememberRequest {
    RememberRequest { text: text.to_owned(), ..RememberRequest::default() }
}

fn of(directory: &str, text: &str) -> RememberRequest {
    RememberRequest { directory: Some(directory.to_owned()), ..new(text) }
}

fn instead(id: &str, text: &str) -> RememberRequest {
    RememberRequest { replaces: Some(id.to_owned()), ..new(text) }
}

fn tagged(tags: &[&str], request: RememberRequest) -> RememberRequest {
    RememberRequest { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..request }
}

fn titled(title: &str, request: RememberRequest) -> RememberRequest {
    RememberRequest { title: Some(title.to_owned()), ..request }
}

fn by_agent(request: RememberRequest) -> RememberRequest {
    RememberRequest { is_by_agent: true, ..request }
}

fn of_kind(kind: NoteKind, request: RememberRequest) -> RememberRequest {
    RememberRequest { kind: Some(kind), ..request }
}

#[track_caller]
fn remember(memory: &Memory, request: RememberRequest) -> Remembered {
    memory.engine().remember(&request).unwrap()
}

fn in_scope(scope: ScopeChoice, here: Option<&str>) -> NotesRequest {
    NotesRequest {
        here: here.map(names_of),
        scope,
        tags: Vec::new(),
        kind: None,
        is_confirmed: None,
        title: None,
        after: None,
        limit: 100,
    }
}

fn texts(notes: Vec<NoteSummary>) -> Vec<String> {
    notes.into_iter().map(|note| note.text).collect()
}

/// Returns the texts of all notes, latest first.
fn all(memory: &Memory) -> Vec<String> {
    texts(memory.engine().notes(&in_scope(ScopeChoice::All, None)).unwrap())
}

fn known_as(memory: &Memory, id: &str) -> NoteSummary {
    memory.engine().note(id).unwrap()
}

fn forget(memory: &Memory, id: &str, is_hard: bool, restore: bool) {
    let session = id.to_owned();
    let request = ForgetRequest { session, is_hard, is_dry_run: false, restore, keep_tombstones: true };
    assert_eq!(memory.engine().forget(&request).unwrap().episodes.len(), 1);
}

/// Returns the answers to a question, from all lists and from full text alone.
fn found(memory: &Memory, question: &str, scope: ScopeChoice, here: Option<&str>) -> HashSet<String> {
    let ask = |mode: SearchMode| -> HashSet<String> {
        let answer = memory.ask_with(question, |request| {
            request.filter.scope = scope.clone();
            request.here = here.map(names_of);
            request.mode = mode;
            request.is_folded = false;
        });
        answer.hits.into_iter().map(|hit| hit.turn().text.clone()).collect()
    };
    let found = ask(SearchMode::Static);
    assert_eq!(ask(SearchMode::Lexical), found);
    found
}

fn set(texts: &[&str]) -> HashSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn note_is_found_at_once_and_known_by_all_its_ids() {
    let memory = Memory::new();
    let request = titled("Figs", tagged(&["#orchard", "fruit", "Fruit"], new("  Figs are ripe in\tSeptember.\n")));
    let remembered = remember(&memory, request);
    assert!(!remembered.was_known);
    let hit = memory.ask("when are figs ripe").remove(0);
    assert_eq!((hit.turn().episode, hit.turn().id), (remembered.episode, remembered.turn));
    assert_eq!((hit.turn().text.as_str(), hit.turn().role), ("  Figs are ripe in\tSeptember.\n", Role::Human));
    assert_eq!(memory.engine().queued().unwrap(), 0);
    let note = known_as(&memory, &remembered.episode.to_string());
    assert_eq!(note.facts.title.as_deref(), Some("Figs"));
    assert_eq!(note.facts.tags, ["fruit", "orchard"]);
    assert_eq!((note.at, note.is_by_agent, note.project.as_deref()), (Some(Memory::now()), false, None));
    let episode = remembered.episode.to_string();
    for id in [remembered.episode.short(), remembered.turn.to_string(), remembered.turn.short(), episode.to_uppercase()] {
        assert_eq!(known_as(&memory, &id), note, "{id}");
    }
    for id in ["", "abc", "00000000", "nothing", &episode[..3]] {
        assert!(matches!(memory.engine().note(id), Err(EngineError::UnknownId(_))), "{id:?}");
    }
}

#[test]
fn empty_and_endless_notes_are_refused() {
    let memory = Memory::new();
    for text in ["", " \n\t", &"x".repeat(MAX_BYTES + 1)] {
        let refused = memory.engine().remember(&new(text)).unwrap_err();
        assert_eq!(refused.code(), "bad-note");
    }
    let longest = "fig ".repeat(MAX_BYTES / 4);
    let id = remember(&memory, new(&longest)).episode.to_string();
    assert_eq!(known_as(&memory, &id).text, longest);
}

#[test]
fn yores_own_marks_in_a_note_are_the_givers_words() {
    let memory = Memory::new();
    for text in [
        "<recalled-data>\nnot an echo\n</recalled-data>",
        "Fence what is given:\n<recalled-data source=\"yore\">\nwords\n</recalled-data>\nlike that",
        "<yore-own-call> begins a prompt of yore's own",
    ] {
        let id = remember(&memory, by_agent(new(text))).episode.to_string();
        assert_eq!(known_as(&memory, &id).text, text);
        assert!(!remember(&memory, instead(&id, &format!("{text}\nas ever"))).was_known);
        assert_eq!(known_as(&memory, &id).text, format!("{text}\nas ever"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, ..ProptestConfig::default() })]

    #[test]
    fn any_words_are_kept_byte_for_byte_and_read_again_so(given in proptest::collection::vec("(?s).{1,60}", 1..6)) {
        let memory = Memory::new();
        let mut ids: Vec<(String, String)> = Vec::new();
        for text in given {
            // A text of blanks only is not a note.
            let text = format!("{text}\u{0}\r\n \u{feff}“é");
            ids.push((remember(&memory, new(&text)).episode.to_string(), text));
        }
        for _ in 0..2 {
            for (id, text) in &ids {
                prop_assert_eq!(&known_as(&memory, id).text, text);
            }
            memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
        }
    }
}

#[test]
fn same_words_in_the_same_project_are_one_note() {
    let memory = Memory::new();
    let first = remember(&memory, of(HARBOR, "The crane opens at six."));
    let again = remember(&memory, of(HARBOR, "The crane opens at six."));
    assert_eq!((again.episode, again.turn, again.was_known), (first.episode, first.turn, true));
    let before = memory.state();
    assert!(remember(&memory, of(&format!("{HARBOR}/pier/north"), "The crane opens at six.")).was_known, "below the project");
    assert_eq!(memory.state(), before, "nothing is stored");
    for other in [of(QUARRY, "The crane opens at six."), new("The crane opens at six."), of(HARBOR, "The crane opens at six")] {
        assert!(!remember(&memory, other).was_known);
    }
    assert_eq!(all(&memory).len(), 4);
    assert_eq!(memory.engine().projects().unwrap().len(), 2);
    // A forgotten note may be stored again.
    forget(&memory, &first.episode.to_string(), false, false);
    let anew = remember(&memory, of(HARBOR, "The crane opens at six."));
    assert!(!anew.was_known && anew.episode != first.episode);
}

#[test]
fn what_is_new_about_known_words_is_added_to_them() {
    let memory = Memory::new();
    let words = "Deploy on Tuesdays only.";
    let id = remember(&memory, by_agent(tagged(&["deploy"], new(words)))).episode.to_string();
    assert!(known_as(&memory, &id).is_by_agent);
    assert_eq!(memory.ask("when to deploy")[0].turn().role, Role::Assistant);
    // A person says the same: the note is now the person's.
    let said = remember(&memory, tagged(&[STANDING], new(words)));
    assert_eq!((said.episode.to_string(), said.was_known), (id.clone(), false));
    let note = known_as(&memory, &id);
    assert_eq!((note.is_by_agent, note.facts.kind, note.facts.tags.join(" ").as_str()), (false, NoteKind::Standing, "deploy"));
    assert_eq!(memory.ask("when to deploy")[0].turn().role, Role::Human);
    // An agent that says the same changes nothing about it.
    assert!(remember(&memory, by_agent(titled("Mine", tagged(&["agents"], new(words))))).was_known);
    assert_eq!(known_as(&memory, &id), note);
    assert!(remember(&memory, tagged(&["Deploy"], new(words))).was_known, "a known tag is nothing new");
    assert!(!remember(&memory, titled("Deploying", new(words))).was_known);
    assert_eq!(known_as(&memory, &id).facts.title.as_deref(), Some("Deploying"));
    assert_eq!(all(&memory), [words]);
}

#[test]
fn same_words_under_another_title_are_another_note() {
    let memory = Memory::new();
    let crane = remember(&memory, titled("Crane", of(HARBOR, "v2")));
    let lamp = remember(&memory, titled("Lamp", of(HARBOR, "v2")));
    assert!(!lamp.was_known && lamp.episode != crane.episode);
    assert_eq!(remember(&memory, titled(" crane", of(HARBOR, "v2"))).episode, crane.episode, "whatever the case of letters");
    // Without a title the note is stored again: the latest of them.
    assert!(remember(&memory, of(HARBOR, "v2")).was_known);
    assert_eq!(all(&memory), ["v2", "v2"]);
    let (crane, lamp) = (known_as(&memory, &crane.episode.to_string()), known_as(&memory, &lamp.episode.to_string()));
    assert_eq!((crane.facts.title.as_deref(), lamp.facts.title.as_deref()), (Some("crane"), Some("Lamp")));
}

#[test]
fn context_is_known_by_its_title_and_is_nothing_else() {
    let memory = Memory::new();
    let words = "Ask before you rotate keys.";
    let context = |title: &str| of_kind(NoteKind::Context, by_agent(titled(title, of(HARBOR, words))));
    let said = remember(&memory, of(HARBOR, words));
    let keys = remember(&memory, context("keys"));
    let other = remember(&memory, context("rotation"));
    let noted = remember(&memory, by_agent(titled("keys", of(QUARRY, words))));
    let ids: HashSet<_> = [&said, &keys, &other, &noted].map(|remembered| remembered.episode).into_iter().collect();
    assert_eq!((ids.len(), remember(&memory, context("KEYS")).episode), (4, keys.episode));
    let is_context = |remembered: &Remembered| known_as(&memory, &remembered.episode.to_string()).facts.kind == NoteKind::Context;
    assert_eq!([&said, &keys, &other, &noted].map(is_context), [false, true, true, false]);
    // A note that a person gives is the person's own.
    let said_anew = instead(&keys.episode.to_string(), "Never rotate keys.");
    assert!(!is_context(&remember(&memory, said_anew)));
    assert!(!is_context(&remember(
        &memory,
        of_kind(NoteKind::Context, by_agent(tagged(&[STANDING], titled("keys", of(HARBOR, "x")))))
    )));
}

#[test]
fn many_who_remember_the_same_words_at_once_leave_one_note() {
    let memory = Memory::new();
    let other = Engine::open(Memory::options(memory.data())).unwrap();
    let ids: HashSet<(String, bool)> = std::thread::scope(|scope| {
        let threads: Vec<_> = [memory.engine(), &other, memory.engine(), &other]
            .into_iter()
            .map(|engine| scope.spawn(move || engine.remember(&of(HARBOR, "The lamp burns whale oil.")).unwrap()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .map(|remembered| (remembered.episode.to_string(), remembered.was_known))
            .collect()
    });
    assert_eq!(ids.iter().filter(|(_, was_known)| !was_known).count(), 1, "{ids:?}");
    assert_eq!(ids.iter().map(|(id, _)| id).collect::<HashSet<_>>().len(), 1, "{ids:?}");
    assert_eq!(all(&memory), ["The lamp burns whale oil."]);
    assert_eq!(memory.ask("whale oil lamp").len(), 1);
}

#[test]
fn note_that_is_replaced_keeps_its_id_and_the_old_words_answer_no_more() {
    let memory = Memory::new();
    let first = remember(&memory, titled("Ferry", tagged(&["sea"], of(HARBOR, "The ferry leaves at dawn."))));
    // Texts of one length in one millisecond, by all ids.
    for (id, words) in [
        (first.episode.to_string(), "The ferry leaves at noon."),
        (first.turn.short(), "The ferry leaves at dusk."),
        (first.episode.short(), "The ferry leaves at five."),
    ] {
        let replaced = remember(&memory, instead(&id, words));
        assert_eq!((replaced.episode, replaced.turn, replaced.was_known), (first.episode, first.turn, false));
        assert!(remember(&memory, instead(&id, words)).was_known, "asked again");
        assert_eq!(all(&memory), [words]);
        let hits = memory.ask("when does the ferry leave");
        assert_eq!(hits.iter().map(|hit| hit.turn().text.as_str()).collect::<Vec<_>>(), [words]);
    }
    let note = known_as(&memory, &first.episode.to_string());
    let stayed = (note.facts.title.as_deref(), note.facts.tags.join(" "), note.project.as_deref());
    assert_eq!(stayed, (Some("Ferry"), "sea".to_owned(), Some("harbor")));
    assert!(memory.ask("dawn noon dusk").is_empty());
    let archived = memory.archive().into_iter().flat_map(|(.., bytes)| bytes).collect();
    let archived = String::from_utf8(archived).unwrap();
    for words in ["dawn", "noon", "dusk", "five"] {
        assert!(archived.contains(&format!("The ferry leaves at {words}.")), "{archived}");
    }
    let unknown = memory.engine().remember(&instead("ffffffffffff", "x")).unwrap_err();
    assert!(matches!(unknown, EngineError::UnknownId(_)), "{unknown}");
}

#[test]
fn title_and_tags_of_a_replaced_note_are_those_that_were_given_last() {
    let memory = Memory::new();
    let words = "Figs are ripe in September.";
    let id = remember(&memory, titled("Figs", tagged(&["orchard", "fruit"], new(words)))).episode.to_string();
    let now = |memory: &Memory| {
        let note = known_as(memory, &id);
        (note.facts.title.unwrap_or_default(), note.facts.tags.join(" "))
    };
    assert!(!remember(&memory, tagged(&["garden"], instead(&id, words))).was_known);
    assert_eq!(now(&memory), ("Figs".to_owned(), "garden".to_owned()));
    assert_eq!(memory.ask("orchard").len(), 0, "an old tag finds nothing");
    assert_eq!(memory.ask("garden").len(), 1);
    remember(&memory, titled("Early\n figs", instead(&id, words)));
    assert_eq!(now(&memory), ("Early figs".to_owned(), "garden".to_owned()));
    remember(&memory, titled("", tagged(&[""], instead(&id, words))));
    assert_eq!(now(&memory), (String::new(), String::new()));
    memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!(now(&memory), (String::new(), String::new()));
}

#[test]
fn reading_the_archive_again_gives_the_same_notes() {
    let memory = Memory::new();
    let first = remember(&memory, titled("Ferry", tagged(&["sea"], of(HARBOR, "The ferry leaves at dawn."))));
    remember(&memory, by_agent(tagged(&[STANDING], new("Answer briefly."))));
    remember(&memory, instead(&first.episode.to_string(), "The ferry leaves at noon."));
    let forgotten = remember(&memory, new("A mistake.")).episode.to_string();
    forget(&memory, &forgotten, false, false);
    let (state, notes) = (memory.state(), memory.engine().notes(&in_scope(ScopeChoice::All, None)).unwrap());
    let (report, _) = memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!((report.turns_added, report.turns_updated, report.turns_removed), (0, 0, 0));
    assert_eq!(memory.state(), state);
    assert_eq!(memory.engine().notes(&in_scope(ScopeChoice::All, None)).unwrap(), notes);
    assert!(memory.ask("mistake").is_empty());
}

#[test]
fn secrets_in_a_note_are_redacted_and_the_note_is_still_known() {
    let mut memory = Memory::new();
    let secret = ["ghp_", "9fK2mQ7xLp4RtZ8vNc3WbY6sHd1JgA5eUo0T"].concat();
    let words = format!("The token is {secret}, ask Ada.");
    let first = remember(&memory, titled(&secret, tagged(&[&secret], new(&words))));
    assert_eq!(first.redactions, 3);
    let note = known_as(&memory, &first.episode.to_string());
    assert!(note.text.starts_with("The token is [yore:redacted ") && note.text.ends_with(", ask Ada."), "{}", note.text);
    let again = remember(&memory, titled(&secret, tagged(&[&secret], new(&words))));
    assert_eq!((again.episode, again.was_known), (first.episode, true));
    assert!(remember(&memory, new(&note.text)).was_known, "as it is stored");
    memory.close();
    assert!(Scan::of(&memory.data()).places(&secret).is_empty());
}

#[test]
fn forgotten_notes_are_in_no_list_and_no_answer() {
    let mut memory = Memory::new();
    let kept = remember(&memory, of(HARBOR, "The crane opens at six."));
    let gone = remember(&memory, titled("Ferry", tagged(&["sea"], of(HARBOR, "The ferry leaves at dawn."))));
    remember(&memory, instead(&gone.episode.to_string(), "The ferry leaves at noon."));
    for id in [gone.turn.to_string(), gone.episode.short()] {
        forget(&memory, &id, false, false);
        assert_eq!(all(&memory), ["The crane opens at six."]);
        assert!(memory.ask("ferry").is_empty());
        assert!(matches!(memory.engine().note(&id), Err(EngineError::UnknownId(_))));
        assert!(memory.engine().remember(&instead(&id, "x")).is_err());
        forget(&memory, &id, false, true);
        assert_eq!(memory.ask("ferry").len(), 1);
        assert_eq!(known_as(&memory, &id).facts.tags, ["sea"]);
    }
    forget(&memory, &gone.turn.short(), true, false);
    assert_eq!(all(&memory), ["The crane opens at six."]);
    assert!(memory.ask("ferry").is_empty());
    forget(&memory, &kept.turn.to_string(), false, false);
    assert!(all(&memory).is_empty());
    memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
    assert!(all(&memory).is_empty());
    memory.close();
    let scan = Scan::of(&memory.data());
    for words in ["The ferry leaves at dawn.", "The ferry leaves at noon.", "Ferry"] {
        assert!(scan.places(words).is_empty(), "{words}");
    }
}

#[test]
fn notes_are_listed_where_they_hold_by_tag_and_title() {
    let memory = Memory::new();
    remember(&memory, titled("Crane", tagged(&["Hours"], of(HARBOR, "The crane opens at six."))));
    remember(&memory, tagged(&["hours", STANDING], of(QUARRY, "Blasting is at noon.")));
    remember(&memory, tagged(&[STANDING], new("Answer briefly.")));
    let list =
        |request: NotesRequest| -> HashSet<String> { texts(memory.engine().notes(&request).unwrap()).into_iter().collect() };
    let (crane, blasting, brief) = ("The crane opens at six.", "Blasting is at noon.", "Answer briefly.");
    let below = format!("{HARBOR}/pier");
    for scope in [ScopeChoice::Current, ScopeChoice::CurrentOnly] {
        assert_eq!(list(in_scope(scope.clone(), Some(HARBOR))), set(&[crane, brief]));
        assert_eq!(list(in_scope(scope.clone(), Some(&below))), set(&[crane, brief]));
        assert_eq!(list(in_scope(scope.clone(), Some("/home/dev/unknown"))), set(&[brief]));
        assert_eq!(list(in_scope(scope.clone(), None)), set(&[brief]));
    }
    let named = |name: &str| in_scope(ScopeChoice::Projects(vec![name.to_owned()]), Some(HARBOR));
    assert_eq!(list(named("quarry")), set(&[blasting]));
    assert!(matches!(memory.engine().notes(&named("nowhere")), Err(EngineError::UnknownProject { .. })));
    let every = in_scope(ScopeChoice::All, None);
    assert_eq!(list(every.clone()), set(&[crane, blasting, brief]));
    let with = |tags: &[&str]| NotesRequest { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..every.clone() };
    assert_eq!(list(with(&["HOURS"])), set(&[crane, blasting]));
    assert_eq!(list(with(&["#hours", STANDING])), set(&[crane, blasting, brief]));
    assert!(list(with(&["tides"])).is_empty());
    assert_eq!(list(NotesRequest { title: Some(" crane ".to_owned()), ..every.clone() }), set(&[crane]));
    assert_eq!(texts(memory.engine().notes(&NotesRequest { limit: 2, ..every }).unwrap()), [brief, blasting], "latest first");
}

/// Stores a page that belongs to no project, like one that is fetched outside of all.
fn put_page(memory: &Memory, text: &str) {
    let facts = DocumentFacts { id: "https://example.com/lemons".to_owned(), ..DocumentFacts::default() };
    let mut records = document_records(&facts, &yore_sources::document::Document::default());
    records.push(json!({"section": {"document": facts.id, "key": "1", "text": text}}));
    let document = GivenDocument { name: facts.id, stamp: Stamp { size: 1, version: 1 }, state: String::new(), records };
    memory.engine().put_document("web", document, &IngestRequest::new(Vec::new())).unwrap();
}

#[test]
fn what_was_given_for_no_project_answers_in_every_project() {
    let memory = Memory::new();
    for (seed, project) in [(1, HARBOR), (2, QUARRY)] {
        let mut session = SessionBuilder::new(seed).cwd(project);
        session.human(&format!("lemon of {project}"));
        memory.write(&format!("projects/{seed}.jsonl"), session.text());
    }
    // The directory is unknown, and the turn is not marked as global.
    let lost = json!({"type": "user", "sessionId": "0f0c0001-0001-4000-8001-000000000001", "uuid": "0f0c0001-0001-4000-8001-000000000002",
        "timestamp": "2026-03-01T10:00:00Z", "message": {"role": "user", "content": "lemon of nowhere"}});
    memory.write("projects/lost.jsonl", format!("{lost}\n"));
    memory.learn();
    let (harbor, quarry) = (format!("lemon of {HARBOR}"), format!("lemon of {QUARRY}"));
    let only = set(&[harbor.as_str()]);
    assert_eq!(found(&memory, "lemon", ScopeChoice::Current, Some(HARBOR)), only, "nothing is global yet");
    remember(&memory, of(HARBOR, "a lemon noted here"));
    remember(&memory, of(QUARRY, "a lemon noted there"));
    remember(&memory, new("a lemon noted for all"));
    put_page(&memory, "a lemon on a page");
    let here = set(&[harbor.as_str(), "a lemon noted here", "a lemon noted for all", "a lemon on a page"]);
    let ask = |scope: ScopeChoice, here: Option<&str>| found(&memory, "lemon", scope, here);
    // In the first round the page waits for the index.
    for _ in 0..2 {
        for scope in [ScopeChoice::Current, ScopeChoice::CurrentOnly] {
            assert_eq!(ask(scope.clone(), Some(HARBOR)), here);
            assert_eq!(ask(scope.clone(), Some(&format!("{HARBOR}/pier"))), here);
        }
        let named = ScopeChoice::Projects(vec!["harbor".to_owned()]);
        assert_eq!(ask(named, Some(HARBOR)), set(&[harbor.as_str(), "a lemon noted here"]), "a project that is named");
        memory.index();
    }
    assert_eq!(ask(ScopeChoice::Current, Some("/home/dev/unknown")).len(), 7, "everything, as ever");
    assert!(ask(ScopeChoice::Current, None).contains(&quarry));
    assert!(ask(ScopeChoice::CurrentOnly, Some("/home/dev/unknown")).is_empty(), "never widened");
    // Forgotten and moved notes are not returned.
    let global = memory.engine().notes(&in_scope(ScopeChoice::Current, None)).unwrap().remove(0);
    forget(&memory, &global.episode.to_string(), false, false);
    assert!(!ask(ScopeChoice::Current, Some(HARBOR)).contains("a lemon noted for all"));
}

#[test]
fn note_for_a_directory_below_a_known_project_is_the_projects() {
    let memory = Memory::new();
    let known: ProjectNames = names_of(HARBOR);
    remember(&memory, of(HARBOR, "The crane opens at six."));
    let below = remember(&memory, of(&format!("{HARBOR}/pier/north/"), "Mind the bollards."));
    assert_eq!(known_as(&memory, &below.episode.to_string()).project.as_deref(), Some("harbor"));
    assert_eq!(memory.engine().projects().unwrap().len(), 1);
    assert_eq!(memory.engine().find_project(&ProjectQuery::Directory(known)).unwrap().unwrap().turns, 2);
}

#[test]
fn note_belongs_to_a_repository_or_a_known_project_and_else_holds_everywhere() {
    let home = tempfile::tempdir().unwrap();
    let path = |below: &str| home.path().join(below).to_str().unwrap().to_owned();
    for directory in ["repository/.git", "repository/src", "known/src", "loose"] {
        std::fs::create_dir_all(path(directory)).unwrap();
    }
    let memory = Memory::new();
    remember(&memory, of(&path("known"), "The crane opens at six."));
    let directory_of = |below: &str| memory.engine().directory_of_note(&names_of(&path(below))).unwrap();
    for directory in ["repository", "repository/src", "known", "known/src"] {
        assert_eq!(directory_of(directory), Some(path(directory)));
    }
    assert_eq!(directory_of("loose"), None);
}

#[test]
fn project_is_found_by_its_name_id_or_directory() {
    let memory = Memory::new();
    remember(&memory, of(HARBOR, "The crane opens at six."));
    let engine = memory.engine();
    let harbor = engine.projects().unwrap().remove(0).id;
    let named = |name: &str| engine.find_project(&ProjectQuery::Name(name.to_owned())).unwrap().map(|project| project.id);
    for name in ["harbor", "Harbor", HARBOR, &harbor.to_string(), &harbor.short()] {
        assert_eq!(named(name), Some(harbor), "{name}");
    }
    assert_eq!(named("quay"), None);
}

#[test]
fn note_for_a_repository_below_a_known_project_is_the_repositorys() {
    let memory = Memory::new();
    let home = tempfile::tempdir().unwrap();
    let path = |below: &str| home.path().join(below).to_str().unwrap().to_owned();
    std::fs::create_dir_all(path("dev/fresh/.git")).unwrap();
    std::fs::create_dir_all(path("dev/fresh/src")).unwrap();
    remember(&memory, of(&path("dev"), "The crane opens at six."));
    let fresh = remember(&memory, of(&path("dev/fresh"), "Mind the bollards."));
    assert_eq!(known_as(&memory, &fresh.episode.to_string()).project.as_deref(), Some("fresh"));
    assert!(!remember(&memory, of(&path("dev/fresh/src"), "The crane opens at six.")).was_known, "not of this project");
    // The repository becomes known, and keeps its notes.
    let mut session = SessionBuilder::new(12).cwd(&path("dev/fresh"));
    session.human("paint the bollards");
    memory.write("projects/p/fresh.jsonl", session.text());
    memory.learn();
    let here = |directory: &str| memory.engine().notes(&in_scope(ScopeChoice::CurrentOnly, Some(&path(directory)))).unwrap();
    let of_fresh = ["The crane opens at six.", "Mind the bollards."].map(str::to_owned);
    assert_eq!(texts(here("dev/fresh")), of_fresh);
    assert_eq!(texts(here("dev/fresh/src")), of_fresh);
    assert_eq!(texts(here("dev")), ["The crane opens at six."]);
}

#[test]
fn notes_of_an_older_yore_are_listed_and_replaced() {
    let memory = Memory::new();
    let note = Note {
        id: "n-1",
        text: "Figs are ripe.",
        facts: &NoteFacts::default(),
        directory: None,
        is_by_agent: false,
        at: 1_780_000_000_000,
    };
    let document = GivenDocument {
        name: note_unit("n-1"),
        stamp: Stamp { size: 14, version: 1_780_000_000_000 },
        state: String::new(),
        records: note_records(&note),
    };
    memory.engine().put_document("note", document, &IngestRequest::new(Vec::new())).unwrap();
    assert_eq!(all(&memory), ["Figs are ripe."]);
    assert!(remember(&memory, new("Figs are ripe.")).was_known);
    let id = memory.engine().notes(&in_scope(ScopeChoice::All, None)).unwrap()[0].episode.to_string();
    assert!(!remember(&memory, instead(&id, "Figs are eaten.")).was_known);
    assert_eq!(all(&memory), ["Figs are eaten."]);
}

/// Returns the text of every version of a note, the first one first.
fn versions(memory: &Memory, id: &str) -> Vec<String> {
    let load = |number| memory.engine().load_note(id, WhichVersion::Number(number)).ok().map(|note| note.text);
    (1..).map_while(load).collect()
}

/// Returns the answers among turns stored before an instant.
fn known_before(memory: &Memory, question: &str, as_of: i64) -> Vec<String> {
    let answer = memory.ask_with(question, |request| request.filter.as_of = Some(as_of));
    answer.hits.into_iter().map(|hit| hit.turn().text.clone()).collect()
}

#[test]
fn every_version_of_a_note_can_be_loaded_and_is_found_as_of_its_time() {
    let memory = Memory::new();
    let id = remember(&memory, titled("Ferry", new("The ferry leaves at dawn."))).episode.to_string();
    let session = RememberRequest { session: Some("s-1".to_owned()), ..instead(&id, "The ferry leaves at noon.") };
    remember(&memory, session);
    remember(
        &memory,
        RememberRequest { metadata: Some(r#"{"b": 2, "a": [1]}"#.to_owned()), ..instead(&id, "The ferry leaves at dusk.") },
    );
    let words = ["The ferry leaves at dawn.", "The ferry leaves at noon.", "The ferry leaves at dusk."];
    assert_eq!(versions(&memory, &id), words);
    let given: Vec<i64> =
        (1..=3).map(|number| memory.engine().load_note(&id, WhichVersion::Number(number)).unwrap().at.unwrap()).collect();
    for reindexed in [false, true] {
        if reindexed {
            let (report, _) = memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
            assert_eq!((report.turns_added, report.turns_updated, report.turns_removed), (0, 0, 0));
            assert_eq!(versions(&memory, &id), words);
        }
        for (number, words) in words.iter().enumerate() {
            let as_of = given[number] + 1;
            assert_eq!(memory.engine().load_note(&id, WhichVersion::AsOf(as_of)).unwrap().text, *words);
            assert_eq!(known_before(&memory, "when does the ferry leave", as_of), [*words], "version {}", number + 1);
        }
        assert!(known_before(&memory, "when does the ferry leave", given[0]).is_empty());
        assert_eq!(memory.ask("when does the ferry leave")[0].turn().text, words[2]);
        assert_eq!(memory.ask("when does the ferry leave").len(), 1);
    }
    let newest = memory.engine().load_note(&id, WhichVersion::Newest).unwrap();
    assert_eq!((newest.version, newest.facts.title.as_deref(), newest.facts.session.as_deref()), (3, Some("Ferry"), Some("s-1")));
    assert_eq!(newest.facts.metadata, r#"{"b":2,"a":[1]}"#);
    let before = known_as(&memory, &id);
    assert_eq!((before.access_count > 6, before.accessed), (true, Some(Memory::now())));
    memory.engine().load_note(&id, WhichVersion::Number(1)).unwrap();
    assert_eq!(known_as(&memory, &id).access_count, before.access_count + 1);
    for which in [WhichVersion::Number(0), WhichVersion::Number(4), WhichVersion::AsOf(given[0])] {
        assert!(matches!(memory.engine().load_note(&id, which), Err(EngineError::UnknownVersion { count: 3, .. })));
    }
    // After the note is forgotten for good, no version is left.
    forget(&memory, &id, true, false);
    assert!(known_before(&memory, "when does the ferry leave", given[1] + 1).is_empty());
    let archived = String::from_utf8(memory.archive().into_iter().flat_map(|(.., bytes)| bytes).collect()).unwrap();
    assert!(!archived.contains("ferry"), "{archived}");
}

#[test]
fn older_version_is_opened_by_its_own_id_under_the_title_that_it_had() {
    let memory = Memory::new();
    let id = remember(&memory, titled("Morning ferry", new("The ferry leaves at dawn."))).episode.to_string();
    let at = known_as(&memory, &id).at.unwrap();
    remember(&memory, titled("Evening ferry", instead(&id, "The ferry leaves at dusk.")));
    let answer = memory.ask_with("when does the ferry leave", |request| request.filter.as_of = Some(at + 1));
    let older = answer.hits[0].turn();
    assert_eq!((older.text.as_str(), older.title.as_deref()), ("The ferry leaves at dawn.", Some("Morning ferry")));
    let shown = memory.engine().show(&ShowRequest::new(older.id.to_string(), Surroundings::Turns(3))).unwrap();
    assert_eq!((shown.focus, shown.turns.len()), (Some(older.id), 1));
    assert_eq!(shown.turns[0].text, "The ferry leaves at dawn.");
    assert_eq!(known_as(&memory, &older.id.to_string()).text, "The ferry leaves at dusk.", "the note of that version");
}

#[test]
fn lists_and_counts_know_a_note_by_its_newest_version() {
    let memory = Memory::new();
    let id = remember(&memory, new("The ferry leaves at dawn.\n```rust\n```")).episode.to_string();
    remember(&memory, instead(&id, "The ferry leaves at dusk."));
    let listed = |text: Option<&str>, has_code| {
        let request = SessionsRequest { text: text.map(str::to_owned), has_code, ..SessionsRequest::default() };
        memory.engine().sessions(&request).unwrap()
    };
    let note = listed(None, false).remove(0);
    assert_eq!((note.title.as_deref(), note.turns), (Some("The ferry leaves at dusk."), 1));
    assert!(listed(Some("dawn"), false).is_empty() && listed(None, true).is_empty());
    assert_eq!(listed(Some("dusk"), false).len(), 1);
    let summary = memory.engine().summary(note).unwrap();
    assert_eq!((summary.message_count, summary.has_code), (1, false));
    assert_eq!(summary.preview, "The ferry leaves at dusk.");
    let store = memory.statistics().store;
    assert_eq!((store.agents[0].turns, store.roles[0].turns), (1, 1));
}

#[test]
fn note_that_is_confirmed_in_the_same_words_counts_as_used_then() {
    let memory = Memory::new();
    let unconfirmed = RememberRequest { is_unconfirmed: true, ..by_agent(new("The ferry leaves at dawn.")) };
    let id = remember(&memory, unconfirmed).episode.to_string();
    remember(&memory, new("The ferry leaves at dawn."));
    let session = memory.engine().sessions(&SessionsRequest::default()).unwrap().remove(0);
    assert_eq!(session.updated, known_as(&memory, &id).at);
}

/// Stores words of the note `n-1` as given at a time, as programs did that did not look at the clock twice.
fn put_note(memory: &Memory, text: &str, at: i64, version: i64) {
    let facts = NoteFacts { title: Some("Ferry".to_owned()), ..NoteFacts::default() };
    let note = Note { id: "n-1", text, facts: &facts, directory: None, is_by_agent: false, at };
    let document = GivenDocument {
        name: note_unit("n-1"),
        stamp: Stamp { size: text.len() as u64, version },
        state: String::new(),
        records: note_records(&note),
    };
    memory.engine().put_document("note", document, &IngestRequest::new(Vec::new())).unwrap();
}

#[test]
fn words_that_were_given_last_hold_whatever_the_clock_said() {
    for times in [[2_000, 2_000, 2_000], [2_000, 1_000, 1_500], [3_000, 2_000, 1_000]] {
        let memory = Memory::new();
        let words = ["The ferry leaves at dawn.", "The ferry leaves at noon.", "The ferry leaves at dusk."];
        for (version, (text, at)) in words.iter().zip(times).enumerate() {
            put_note(&memory, text, 1_780_000_000_000 + at, version as i64);
        }
        // The archive alone tells, as after the upgrade of a yore that kept no versions.
        Connection::open(memory.data().join("yore.db")).unwrap().execute_batch("DELETE FROM turn; DELETE FROM episode;").unwrap();
        memory.engine().reindex(&ReaderOptions::default(), &mut Silent).unwrap();
        let id = memory.engine().notes(&in_scope(ScopeChoice::All, None)).unwrap()[0].episode.to_string();
        assert_eq!(versions(&memory, &id), words, "{times:?}");
        assert_eq!(all(&memory), ["The ferry leaves at dusk."], "{times:?}");
        assert_eq!(memory.episodes()[0].title.as_deref(), Some("Ferry"), "{times:?}");
    }
}

#[test]
fn scan_leaves_a_notes_facts_to_the_archive_and_is_clean_the_next_time() {
    let memory = Memory::new();
    let metadata = r#"{"key":"a8Fk29xLq02MnZ7tQwer9","username":"kim"}"#.to_owned();
    let id = remember(&memory, RememberRequest { metadata: Some(metadata), ..new("Mind the quay.") }).episode.to_string();
    let before = known_as(&memory, &id);
    let report = memory.engine().scan(false, &ReaderOptions::default(), &mut Silent).unwrap();
    assert_eq!((report.changed_lines, report.changed_names), (0, 0));
    assert_eq!(known_as(&memory, &id), before);
}

#[test]
fn what_a_note_is_for_is_kept_beside_its_words() {
    let memory = Memory::new();
    let request = RememberRequest {
        priority: Some(Priority::Important),
        is_unconfirmed: true,
        ..of_kind(NoteKind::Context, by_agent(titled("berths", tagged(&["ports"], new("Berth four is free.")))))
    };
    let id = remember(&memory, request).episode.to_string();
    // Attributes that are not given again stay.
    remember(&memory, RememberRequest { is_unconfirmed: true, ..by_agent(instead(&id, "Berth five is free.")) });
    let facts = known_as(&memory, &id).facts;
    assert_eq!((facts.kind, facts.priority, facts.is_confirmed), (NoteKind::Context, Some(Priority::Important), false));
    assert_eq!(facts.tags, ["ports"]);
    let listed = |request: NotesRequest| memory.engine().notes(&request).unwrap().len();
    let everywhere = in_scope(ScopeChoice::All, None);
    assert_eq!(listed(NotesRequest { kind: Some(NoteKind::Context), ..everywhere.clone() }), 1);
    assert_eq!(listed(NotesRequest { kind: Some(NoteKind::Standing), ..everywhere.clone() }), 0);
    assert_eq!(listed(NotesRequest { is_confirmed: Some(true), ..everywhere.clone() }), 0);
    let bad = memory.engine().remember(&RememberRequest { metadata: Some("[1]".to_owned()), ..new("x") }).unwrap_err();
    assert_eq!(bad.code(), "bad-note");
    // A standing instruction stays one until that is withdrawn.
    let id = remember(&memory, tagged(&[STANDING, "deploy"], new("Deploy on Tuesdays."))).episode.to_string();
    remember(&memory, tagged(&["release"], instead(&id, "Deploy on Mondays.")));
    assert_eq!(
        (known_as(&memory, &id).facts.kind, known_as(&memory, &id).facts.tags),
        (NoteKind::Standing, vec!["release".to_owned()])
    );
    assert_eq!(listed(NotesRequest { tags: vec![STANDING.to_owned()], ..everywhere }), 1);
    remember(&memory, of_kind(NoteKind::Note, instead(&id, "Deploy on Mondays.")));
    assert_eq!(known_as(&memory, &id).facts.kind, NoteKind::Note);
}

#[test]
fn notes_and_contexts_move_with_every_version_and_with_what_they_are_related_to() {
    let (from, to) = (Memory::new(), Memory::new());
    let context = |title: &str, text: &str, related: &[&str]| RememberRequest {
        is_unconfirmed: true,
        session: Some("s-1".to_owned()),
        related: Some(related.iter().map(|topic| (*topic).to_owned()).collect()),
        ..of_kind(NoteKind::Context, by_agent(titled(title, of("/home/dev/harbour", text))))
    };
    let first = remember(&from, context("berths", "Berth four is free.", &["tides"])).episode.to_string();
    remember(&from, RememberRequest { replaces: Some(first.clone()), ..context("berths", "Berth five is free.", &["tides"]) });
    remember(&from, context("tides", "High water is at noon.", &[]));
    let metadata = Some("{\"b\":2}".to_owned());
    remember(&from, RememberRequest { metadata, ..tagged(&["ropes", STANDING], new("Count the ropes.")) });
    let forgotten = remember(&from, new("Nobody shall know.")).episode.to_string();
    let export = |memory: &Memory| {
        let mut lines = Vec::new();
        let exported = memory.engine().export_memories(&mut lines).unwrap();
        let lines = String::from_utf8(lines).unwrap();
        // No other memory can write the last line.
        let told =
            lines.lines().filter(|line| !line.starts_with("{\"seal\"")).map(|line| format!("{line}\n")).collect::<String>();
        (exported, told)
    };
    let (exported, lines) = export(&from);
    assert_eq!((exported.notes, exported.relations, exported.memories), (4, 1, 0));
    let import =
        |memory: &Memory, lines: &str| memory.engine().import_memories(&mut lines.as_bytes(), true, &Cause::default()).unwrap();
    let imported = import(&to, &lines);
    assert_eq!((imported.stored, imported.skipped), (exported, 0), "{imported:?}");
    assert_eq!(export(&to), (exported, lines.clone()), "exactly, ids included");
    assert_eq!(versions(&to, &first), ["Berth four is free.", "Berth five is free."]);
    assert_eq!(known_as(&to, &first).related, ["tides"]);
    let again = import(&to, &lines);
    assert_eq!((again.stored, again.known, again.operation), (Default::default(), 5, None), "1 relation, 4 notes");
    // A note that was forgotten for good does not come back, and a later version stays.
    to.forget_hard(&forgotten);
    remember(&to, instead(&first, "Berth six is free."));
    let after = import(&to, &lines);
    assert_eq!((after.skipped, after.problems[0].1.as_str()), (1, "it was forgotten for good"));
    assert_eq!(known_as(&to, &first).text, "Berth six is free.");
    assert!(!export(&to).1.contains("Nobody shall know."));
}
