//! Suggestions: few, from this project, and never a turn that the session has already.

use yore_core::memory::MemoryKind;
use yore_core::operation::Cause;
use yore_core::query::{Filter, ItemId, SearchMode};
use yore_core::relevance::SkipReason;
use yore_engine::{
    BriefRequest, Engine, EngineError, EngineOptions, ExtractRequest, NewMemory, Packing, Passage, StoreError, SuggestRequest,
    Suggestion, Suggestions, Trigger, exchanges,
};
use yore_sources::project_names::names_of;
use yore_testing::{Memory, SessionBuilder, TurnOf};

const TIDE: &str = "/home/dev/tide";

pub fn request(trigger: Trigger, directory: &str) -> SuggestRequest {
    SuggestRequest {
        trigger,
        here: Some(names_of(directory)),
        filter: Filter::default(),
        session: Some("asking".to_owned()),
        given: Vec::new(),
        is_later: false,
        is_compacted: false,
        limit: 8,
        quote_chars: 300,
        packing: Packing { budget: 700, group_cost: 44, hit_cost: 44, broad: 4, least_gain: 0.0 },
        floor: 0.5,
        mode: SearchMode::Static,
    }
}

fn prompt(engine: &Engine, text: &str) -> Suggestions {
    engine.suggest(&request(Trigger::Prompt(text.to_owned()), TIDE)).unwrap()
}

/// Creates two projects. In one of them a decision was made long ago, an error was met and solved, and a file
/// was discussed, among other talk.
fn memory() -> Memory {
    let memory = Memory::new();
    for seed in 0..6 {
        let directory = if seed % 2 == 0 { TIDE } else { "/home/dev/reef" };
        memory.write(&format!("projects/p/{seed}.jsonl"), SessionBuilder::new(seed).cwd(directory).turns(60).text());
    }
    let mut decided = SessionBuilder::new(90).cwd(TIDE).at(1_772_323_200_000);
    decided.human("Where shall the harmonics go, Redis or SQLite?");
    decided.assistant("We keep the harmonics in SQLite, because Redis lost them at every restart of the harbour box.");
    decided.human("Good, and never touch src/tables.rs by hand, it is generated from the almanac");
    decided.assistant("Understood.");
    decided.human("now build it all");
    decided.tool(
        "Bash",
        &serde_json::json!({"command": "make almanac"}),
        "Compiling\nerror: almanac.toml: unknown gauge `Hven-Nord` in station list",
        true,
    );
    decided.assistant("The gauge was renamed: writing `Hven North` in almanac.toml mends it.");
    memory.write("projects/p/decided.jsonl", decided.text());
    memory.learn();
    memory
}

#[test]
fn decision_is_offered_where_the_prompt_asks_for_it_and_nothing_for_everyday_prompts() {
    let memory = memory();
    let suggestions = prompt(memory.engine(), "why do we keep the harmonics in SQLite and not in Redis?");
    assert!(
        suggestions.memories.iter().any(|memory| memory.hit.turn().text.contains("because Redis lost them")),
        "{suggestions:?}"
    );
    assert_eq!(suggestions.skipped, None);
    for everyday in ["run the tests", "yes, go on", "fix the typo in the readme", "commit this", "ok", "/clear"] {
        let suggestions = prompt(memory.engine(), everyday);
        assert!(suggestions.memories.is_empty(), "{everyday}: {suggestions:?}");
        assert!(suggestions.skipped.is_some());
    }
}

#[test]
fn another_projects_words_are_never_offered() {
    let memory = memory();
    for directory in ["/home/dev/reef", "/home/dev/unknown"] {
        let question = Trigger::Prompt("why do we keep the harmonics in SQLite and not in Redis?".to_owned());
        let suggestions = memory.engine().suggest(&request(question, directory)).unwrap();
        assert!(suggestions.memories.is_empty(), "{directory}: {suggestions:?}");
    }
}

#[test]
fn what_the_session_said_or_was_given_is_not_offered() {
    let memory = memory();
    let question = || Trigger::Prompt("why do we keep the harmonics in SQLite and not in Redis?".to_owned());
    let all = memory.engine().suggest(&request(question(), TIDE)).unwrap().memories;
    let given = all.iter().map(|memory| memory.hit.id()).collect();
    let again = memory.engine().suggest(&SuggestRequest { given, ..request(question(), TIDE) }).unwrap();
    let known = |suggestions: &Suggestions| {
        suggestions.memories.iter().any(|memory| all.iter().any(|known| known.hit.turn().id == memory.hit.turn().id))
    };
    assert!(!known(&again), "{again:?}");
    let session = Some(all[0].hit.turn().native_session.clone());
    let own = memory.engine().suggest(&SuggestRequest { session: session.clone(), ..request(question(), TIDE) }).unwrap();
    assert!(own.memories.iter().all(|memory| Some(&memory.hit.turn().native_session) != session.as_ref()), "{own:?}");
}

#[test]
fn a_later_prompt_is_answered_only_if_it_is_about_something_else_than_the_session() {
    let memory = memory();
    let later = |asked_before: &str, seed: u64| {
        let mut asking = SessionBuilder::new(seed).cwd(TIDE).at(1_782_000_000_000);
        asking.human(asked_before);
        asking.assistant("Done.");
        let path = format!("projects/p/asking-{seed}.jsonl");
        memory.write(&path, asking.text());
        memory.learn();
        let question = Trigger::Prompt("why do we keep the harmonics in SQLite and not in Redis?".to_owned());
        let session = Some(asking.id().to_owned());
        memory.engine().suggest(&SuggestRequest { session, is_later: true, ..request(question, TIDE) }).unwrap()
    };
    let going_on = later("move the harmonics from Redis to SQLite", 70);
    assert_eq!((going_on.memories.len(), going_on.skipped), (0, Some(SkipReason::SameSubject)));
    let other = later("paint the legend of the chart in blue", 71);
    assert!(other.memories.iter().any(|memory| memory.hit.turn().text.contains("because Redis lost them")), "{other:?}");
    let question = Trigger::Prompt("why do we keep the harmonics in SQLite and not in Redis?".to_owned());
    let unknown = memory.engine().suggest(&SuggestRequest { is_later: true, ..request(question, TIDE) }).unwrap();
    assert_eq!(unknown.skipped, Some(SkipReason::SameSubject), "of a session that is not known nothing is sure");
}

/// Makes a session in which a rule is proposed, corrected and concluded.
fn decided(memory: &Memory, seed: u64, turns: [&str; 4]) {
    let mut session = SessionBuilder::new(seed).cwd(TIDE).at(1_772_000_000_000 + seed as i64 * 86_400_000);
    for exchange in turns.chunks(2) {
        session.human(exchange[0]);
        session.assistant(exchange[1]);
    }
    memory.write(&format!("projects/p/decided-{seed}.jsonl"), session.text());
}

const DUPLICATES: [&str; 4] = [
    "The merge of gauge readings leaves duplicate readings of one gauge in the almanac.",
    "I would call two readings of a gauge duplicates if their timestamps are equal, and keep the latest reading.",
    "Almost: duplicate readings are those of one gauge within a minute, clocks drift.",
    "Rule for duplicate readings: same gauge, within one minute; the merge keeps the latest reading.",
];
const AMENDED: [&str; 4] = [
    "Amendment to the rule for duplicate readings: the latest reading of a gauge is often the emptiest, the merge loses values.",
    "Then the merge of duplicate readings could keep the reading with most values.",
    "Yes, and of two equally full readings of a gauge keep the one of the harbour.",
    "Amended rule for duplicate readings: same gauge, within one minute; the fullest reading wins, then that of the harbour.",
];
const ORDER: &str = "The merge keeps duplicate readings of a gauge in the almanac again, fix the merge of gauge readings.";

#[test]
fn an_order_brings_what_a_session_about_it_concluded_in_place_of_the_proposals_before() {
    let memory = memory();
    decided(&memory, 101, DUPLICATES);
    memory.learn();
    let quotes = |suggestions: &Suggestions| -> Vec<String> {
        suggestions.memories.iter().map(|memory| memory.hit.quote.clone()).collect()
    };
    assert_eq!(quotes(&prompt(memory.engine(), ORDER)), [DUPLICATES[3]]);
    let asked = prompt(memory.engine(), "Why do we call readings of a gauge duplicates, which timestamps did the merge compare?");
    assert!(asked.memories.len() > 1, "a question is answered by passages: {asked:?}");
    decided(&memory, 109, AMENDED);
    memory.learn();
    let amended = quotes(&prompt(memory.engine(), ORDER));
    assert_eq!(amended.len(), 2, "{amended:?}");
    assert_eq!(amended[0], AMENDED[3]);
    let marked = "(likely replaced by the one above) Rule for duplicate readings";
    assert!(amended[1].starts_with(marked) && amended[1].chars().count() <= 140, "{amended:?}");
    let given = prompt(memory.engine(), ORDER).memories.iter().map(|memory| memory.hit.id()).collect();
    let again = SuggestRequest { given, ..request(Trigger::Prompt(ORDER.to_owned()), TIDE) };
    let again = memory.engine().suggest(&again).unwrap();
    assert!(again.memories.iter().all(|memory| memory.hit.turn().text != AMENDED[3]), "{again:?}");
}

#[test]
fn turn_that_the_session_was_given_is_not_given_again_beside_a_memory_or_another_turn() {
    let memory = memory();
    let mut ordered = SessionBuilder::new(91).cwd(TIDE).at(1_772_323_300_000);
    ordered.human("From now on always run the linter before a commit, because the harbour box rejects unformatted code.");
    ordered.assistant("The linter runs before each commit now.");
    memory.write("projects/p/ordered.jsonl", ordered.text());
    memory.learn();
    let passages = |given: Vec<ItemId>| -> Vec<ItemId> {
        let text = "must the linter always run before a commit, because the harbour box rejects unformatted code?".to_owned();
        let asked = SuggestRequest { given, ..request(Trigger::Prompt(text), TIDE) };
        let found = memory.engine().suggest(&asked).unwrap().memories;
        exchanges(found.iter().map(|memory| &memory.hit))
            .into_iter()
            .flat_map(|exchange| exchange.passages.into_iter().map(Passage::id))
            .collect()
    };
    let said = passages(Vec::new());
    let report = memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    assert!(report.counts.recorded > 0, "{report:?}");
    memory.index();
    let all = passages(Vec::new());
    assert!(all.iter().any(|id| matches!(id, ItemId::Memory(_))), "{all:?}");
    assert!(all.len() > 1, "{all:?}");
    for given in said.iter().chain(&all) {
        let again = passages(vec![*given]);
        assert!(!again.contains(given), "{given} of {again:?}");
    }
    // The statement of an extracted memory repeats the turns that it rests on.
    let turns: Vec<ItemId> = all.iter().chain(&said).copied().filter(|id| matches!(id, ItemId::Turn(_))).collect();
    let again = passages(turns);
    assert!(!again.iter().any(|id| matches!(id, ItemId::Memory(_))), "{again:?}");
}

#[test]
fn file_brings_what_people_said_about_it_and_nothing_where_nobody_did() {
    let memory = memory();
    let edit = |path: &str| memory.engine().suggest(&request(Trigger::Edit(path.to_owned()), TIDE)).unwrap();
    let suggestions = edit("/home/dev/tide/src/tables.rs");
    assert_eq!(suggestions.memories.len(), 1, "{suggestions:?}");
    assert!(suggestions.memories[0].hit.turn().text.contains("never touch src/tables.rs by hand"));
    assert!(edit("/home/dev/tide/lib/tables.rs").memories.is_empty(), "another file of that name");
    assert!(edit("/home/dev/tide/src/never.rs").memories.is_empty());
    assert!(edit("").memories.is_empty());
}

#[test]
fn error_brings_where_it_was_met_and_what_came_of_it() {
    let memory = memory();
    let failure = |output: &str| memory.engine().suggest(&request(Trigger::Failure(output.to_owned()), TIDE)).unwrap();
    let suggestions = failure("make: entering\nerror: almanac.toml: unknown gauge `Hven-Nord` in station list\nmake: *** stop");
    let outcome = suggestions.memories.first().and_then(|memory| memory.outcome.as_ref());
    assert!(outcome.is_some_and(|said| said.text.contains("Hven North")), "{suggestions:?}");
    assert!(failure("error: almanac.toml: unknown gauge `Lomma` in station list").memories.is_empty(), "another gauge");
    assert!(failure("error: the disk is full of plankton").memories.is_empty());
    assert!(failure("all went well").memories.is_empty());
}

/// Makes a session that runs a tool, which fails, and describes the remedy.
fn failed(memory: &Memory, seed: u64, output: &str, done: &str) {
    let mut session = SessionBuilder::new(seed).cwd(TIDE).at(1_775_000_000_000 + seed as i64 * 60_000);
    session.human("check all of it");
    session.tool("Bash", &serde_json::json!({"command": "make check"}), output, true);
    session.assistant(done);
    memory.write(&format!("projects/p/failed-{seed}.jsonl"), session.text());
}

fn outcomes(suggestions: &Suggestions) -> Vec<&str> {
    suggestions.memories.iter().filter_map(|memory| memory.outcome.as_ref()).map(|said| said.text.as_str()).collect()
}

#[test]
fn error_whose_outcome_is_known_brings_no_other_sessions_way() {
    let memory = memory();
    let output = "Exit code 1\nerror: tide.lock is held by process 4711, gave up after 3 s";
    failed(&memory, 73, output, "I set the patience to 8 s.");
    failed(&memory, 74, output, "The lock was never given back after a crash; it is now, and the patience is 3 s again.");
    memory.learn();
    let failure = |given: Vec<yore_core::id::TurnId>| {
        let given = given.into_iter().map(ItemId::Turn).collect();
        let request = SuggestRequest { given, limit: 1, ..request(Trigger::Failure(output.to_owned()), TIDE) };
        memory.engine().suggest(&request).unwrap()
    };
    let first = failure(Vec::new());
    assert_eq!(first.memories.len(), 1, "{first:?}");
    let Suggestion { hit, outcome } = &first.memories[0];
    for known in [hit.turn().id, outcome.as_ref().unwrap().turn] {
        let again = failure(vec![known]);
        assert!(again.memories.is_empty(), "{again:?}");
        assert_eq!(again.skipped, Some(SkipReason::Known));
    }
}

#[test]
fn line_of_a_compiler_or_linter_is_an_error_that_is_known_again() {
    let memory = memory();
    let lint = "Exit code 1\n[lint] $ tidelint ./...\n[lint] ERROR task failed\n\nclean.go:12:3: undefined: HarborGauge\n";
    failed(&memory, 70, lint, "HarborGauge lives in package gauges since the split; imported it.");
    failed(&memory, 71, "Exit code 1\ngh: Not Found (HTTP 404)", "The repository was renamed to tide-tables.");
    memory.learn();
    let failure = |output: &str| memory.engine().suggest(&request(Trigger::Failure(output.to_owned()), TIDE)).unwrap();
    let elsewhere = failure("Exit code 1\n[lint] ERROR task failed\nclean.go:80:17: undefined: HarborGauge");
    assert_eq!(outcomes(&elsewhere), ["HarborGauge lives in package gauges since the split; imported it."], "{elsewhere:?}");
    assert_eq!(outcomes(&failure("gh: Not Found (HTTP 404)")), ["The repository was renamed to tide-tables."]);
    let other = failure("[lint] ERROR task failed\nclean.go:12:3: undefined: RiptideCurve");
    assert!(other.memories.is_empty(), "{other:?}");
}

#[test]
fn failed_test_is_the_same_whatever_its_duration() {
    let memory = memory();
    let output =
        "Exit code 1\n--- FAIL: TestFlushTicker (0.01s)\n    flush_test.go:33: data race: goroutine 17 at 0x7ffe12ab\nFAIL";
    failed(&memory, 72, output, "The ticker was stopped twice; a mutex guards it now.");
    memory.learn();
    let again = output.replace("0.01s", "0.02s").replace(":33:", ":35:").replace("17 at 0x7ffe12ab", "9 at 0x7ffe98cd");
    let suggestions = memory.engine().suggest(&request(Trigger::Failure(again), TIDE)).unwrap();
    assert_eq!(outcomes(&suggestions), ["The ticker was stopped twice; a mutex guards it now."], "{suggestions:?}");
    assert!(suggestions.confidence > 0.9, "{}", suggestions.confidence);
}

#[test]
fn failure_without_a_line_that_reports_an_error_is_known_by_its_first_words() {
    let memory = memory();
    failed(
        &memory,
        73,
        "Exit code 1\naccepts at most one almanac, received seven",
        "It takes one file at a time: called in a loop.",
    );
    memory.learn();
    let failure = |output: &str| memory.engine().suggest(&request(Trigger::Failure(output.to_owned()), TIDE)).unwrap();
    let suggestions = failure("Exit code 1\naccepts at most one almanac, received seven\n");
    assert_eq!(outcomes(&suggestions), ["It takes one file at a time: called in a loop."], "{suggestions:?}");
    assert!(failure("Exit code 1\naccepts every gauge and never an almanac").memories.is_empty());
    assert_eq!(failure("Exit code 1\n").skipped, Some(SkipReason::NoError));
}

#[test]
fn file_brings_what_came_of_its_last_changes_in_other_sessions() {
    let memory = memory();
    let mut ids = Vec::new();
    for (seed, done) in
        [(80, "Curve drawn first."), (81, "Curve smoothed."), (82, "Curve cut at ebb, because the axis ran over.")]
    {
        let mut session = SessionBuilder::new(seed).cwd(TIDE).at(1_775_000_000_000 + seed as i64 * 86_400_000);
        session.human("make the curve better");
        let input = serde_json::json!({"file_path": "/home/dev/tide/src/draw/curve.rs", "old_string": "a", "new_string": "b"});
        session.tool("Edit", &input, "The file was updated.", false);
        session.assistant(done);
        session.human("and now something else");
        session.assistant("Done with something else.");
        memory.write(&format!("projects/p/curve-{seed}.jsonl"), session.text());
        ids.push(session.id().to_owned());
    }
    memory.learn();
    let edit = |path: &str, request: SuggestRequest| {
        memory.engine().suggest(&SuggestRequest { trigger: Trigger::Edit(path.to_owned()), ..request }).unwrap()
    };
    let asking = || request(Trigger::Edit(String::new()), TIDE);
    let path = "/home/dev/tide/src/draw/curve.rs";
    let suggestions = edit(path, asking());
    assert_eq!(outcomes(&suggestions), ["Curve cut at ebb, because the axis ran over.", "Curve smoothed."], "{suggestions:?}");
    assert!(suggestions.memories.iter().all(|memory| memory.hit.turn().text == "make the curve better"));
    let own = edit(path, SuggestRequest { session: Some(ids[2].clone()), ..asking() });
    assert_eq!(outcomes(&own), ["Curve smoothed.", "Curve drawn first."]);
    let given =
        suggestions.memories.iter().filter_map(|memory| memory.outcome.as_ref()).map(|said| ItemId::Turn(said.turn)).collect();
    assert_eq!(outcomes(&edit(path, SuggestRequest { given, ..asking() })), ["Curve drawn first."]);
    let before = edit(
        path,
        SuggestRequest { filter: Filter { as_of: Some(1_775_000_000_000 + 81 * 86_400_000), ..Filter::default() }, ..asking() },
    );
    assert_eq!(outcomes(&before), ["Curve drawn first."]);
    assert!(edit("/home/dev/tide/lib/draw/curve.rs", asking()).memories.is_empty(), "another file of that name");
    let reef = edit(path, request(Trigger::Edit(String::new()), "/home/dev/reef"));
    assert!(reef.memories.is_empty(), "{reef:?}");
}

#[test]
fn brief_tells_where_the_last_session_stopped_and_not_of_the_session_that_asks() {
    let memory = memory();
    let mut last = SessionBuilder::new(91).cwd(TIDE).at(1_780_000_000_000);
    last.human("Please draw the tide curve in the terminal with braille dots");
    last.assistant("Half of it is done: the curve is drawn, the axis is missing.");
    memory.write("projects/p/last.jsonl", last.text());
    memory.learn();
    let brief = |session: Option<&str>, is_compacted| {
        let request = BriefRequest { here: Some(names_of(TIDE)), session: session.map(str::to_owned), is_compacted };
        memory.engine().brief(&request).unwrap()
    };
    let first = brief(None, false);
    assert_eq!(first.project.as_deref(), Some("tide"));
    assert_eq!(first.sessions[0].asked[0].text, "Please draw the tide curve in the terminal with braille dots");
    assert!(first.sessions[0].stopped.as_ref().unwrap().text.contains("the axis is missing"));
    assert!(first.sessions.len() > 1 && first.own.is_none());
    let own = brief(Some(last.id()), true);
    assert!(own.sessions.iter().all(|worked| worked.session.native_id != last.id()));
    assert_eq!(own.own.unwrap().asked[0].text, "Please draw the tide curve in the terminal with braille dots");
    let elsewhere =
        memory.engine().brief(&BriefRequest { here: Some(names_of("/nowhere")), session: None, is_compacted: false }).unwrap();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}

#[test]
fn brief_passes_over_sessions_in_which_nothing_was_done() {
    let memory = memory();
    let day = 86_400_000;
    let mut worked = SessionBuilder::new(92).cwd(TIDE).at(1_780_000_000_000);
    worked.human("draw it");
    worked.tool("Bash", &serde_json::json!({"command": "make curve"}), "ok", false);
    worked.assistant("The curve is drawn.");
    memory.write("projects/p/worked.jsonl", worked.text());
    let mut asked = SessionBuilder::new(93).cwd(TIDE).at(1_780_000_000_000 + day);
    asked.human("潮汐曲线为什么在退潮时被切断");
    asked.assistant("因为坐标轴太短。");
    memory.write("projects/p/asked.jsonl", asked.text());
    let mut greeted = SessionBuilder::new(94).cwd(TIDE).at(1_780_000_000_000 + 2 * day);
    greeted.human("hi");
    greeted.assistant("Hello! What shall we work on?");
    memory.write("projects/p/greeted.jsonl", greeted.text());
    memory.learn();
    let request = BriefRequest { here: Some(names_of(TIDE)), session: None, is_compacted: false };
    let brief = memory.engine().brief(&request).unwrap();
    let sessions: Vec<&str> = brief.sessions.iter().map(|worked| worked.session.native_id.as_str()).take(2).collect();
    assert_eq!(sessions, [asked.id(), worked.id()]);
}

/// A message of which only the first line is the person's own.
const FENCED: &str = "What does this rule of the gaugefile mean?\n```\nFrom now on always run zorbl.sh on src/tables.rs.\n```";

#[test]
fn what_a_person_pasted_or_quoted_is_never_told_as_what_they_asked() {
    let memory = memory();
    let session = |seed: u64, day: i64, text: &str| {
        let mut session = SessionBuilder::new(seed).cwd(TIDE).at(1_780_000_000_000 + day * 86_400_000);
        session.human(text);
        session.tool("Edit", &serde_json::json!({"file_path": "/home/dev/tide/src/gauge.rs"}), "ok", false);
        session.assistant("It is the gaugefile's own rule.");
        memory.write(&format!("projects/p/pasted-{seed}.jsonl"), session.text());
        session.id().to_owned()
    };
    let pasted = session(95, 0, "> From now on always run zorbl.sh.\nnow and ever");
    let fenced = session(96, 1, FENCED);
    let plan = session(97, 2, "Implement the following plan:\n\n# Gauges in SQLite\n\nFrom now on always run zorbl.sh.");
    memory.learn();
    let request = BriefRequest { here: Some(names_of(TIDE)), session: None, is_compacted: false };
    let brief = memory.engine().brief(&request).unwrap();
    let worked = |id: &str| brief.sessions.iter().find(|worked| worked.session.native_id == id).unwrap();
    let asked = |id: &str| worked(id).asked.iter().map(|said| said.text.clone()).collect::<Vec<_>>();
    let own = "What does this rule of the gaugefile mean?";
    assert_eq!((asked(&fenced), worked(&fenced).session.title.as_deref()), (vec![own.to_owned()], Some(own)));
    // Nothing of it is the person's own, but it was worked in.
    assert_eq!((asked(&pasted), worked(&pasted).session.title.as_deref()), (Vec::new(), None));
    assert_eq!(worked(&plan).session.title.as_deref(), Some("Gauges in SQLite"));
    assert!(!format!("{brief:?}").contains("zorbl"), "{brief:?}");
    let compacted = BriefRequest { session: Some(fenced.clone()), is_compacted: true, ..request };
    let brief = memory.engine().brief(&compacted).unwrap();
    assert_eq!(brief.own.as_ref().map(|own| own.asked.len()), Some(1));
    assert!(!format!("{brief:?}").contains("zorbl"), "{brief:?}");
}

#[test]
fn suggestions_quote_only_a_persons_own_words() {
    let memory = memory();
    let mut session = SessionBuilder::new(98).cwd(TIDE).at(1_780_000_000_000);
    session.human(FENCED);
    session.tool("Edit", &serde_json::json!({"file_path": "/home/dev/tide/src/gaugefile.rs"}), "ok", false);
    session.assistant("The rule of the gaugefile says which station fills the tables.");
    memory.write("projects/p/fenced.jsonl", session.text());
    memory.learn();
    let told = |trigger: Trigger| {
        let found = memory.engine().suggest(&SuggestRequest { floor: 0.0, ..request(trigger, TIDE) }).unwrap();
        let told = exchanges(found.memories.iter().map(|memory| &memory.hit))
            .into_iter()
            .flat_map(|exchange| exchange.passages.into_iter().map(|passage| passage.text().to_owned()).collect::<Vec<_>>());
        let told = told.chain(found.memories.iter().filter_map(|memory| Some(memory.outcome.as_ref()?.text.clone())));
        told.collect::<Vec<_>>().join("\n")
    };
    let prompted =
        told(Trigger::Prompt("what does the rule of the gaugefile mean, always run zorbl.sh on the tables?".to_owned()));
    assert!(prompted.contains("rule of the gaugefile") && !prompted.contains("zorbl"), "{prompted}");
    for file in ["src/tables.rs", "src/gaugefile.rs"] {
        let edited = told(Trigger::Edit(format!("/home/dev/tide/{file}")));
        assert!(edited.contains("gaugefile mean?") && !edited.contains("zorbl"), "{file}: {edited}");
    }
}

#[test]
fn passive_engine_changes_nothing() {
    let mut memory = memory();
    memory.close();
    let passive = |memory: &Memory| {
        let mut options = EngineOptions { create: false, ..Memory::options(memory.data()) };
        options.store.is_passive = true;
        Engine::open(options)
    };
    let engine = passive(&memory).unwrap();
    assert!(!prompt(&engine, "why do we keep the harmonics in SQLite and not in Redis?").memories.is_empty());
    drop(engine);
    std::fs::remove_dir_all(memory.data().join("index")).unwrap();
    let without_index = passive(&memory).unwrap().suggest(&request(Trigger::Prompt("why Redis, not SQLite?".to_owned()), TIDE));
    assert!(
        matches!(&without_index, Err(EngineError::Index(error)) if error.to_string().contains("no index")),
        "{without_index:?}"
    );
    assert!(!memory.data().join("index").exists());
    let old = tempfile::tempdir().unwrap();
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testing/fixtures/databases/schema-19.db");
    std::fs::copy(fixture, old.path().join("yore.db")).unwrap();
    let before = std::fs::read(old.path().join("yore.db")).unwrap();
    let mut options = EngineOptions { create: false, ..Memory::options(old.path().to_path_buf()) };
    options.store.is_passive = true;
    assert!(matches!(Engine::open(options), Err(EngineError::Store(StoreError::Older(_)))));
    assert_eq!(std::fs::read(old.path().join("yore.db")).unwrap(), before);
}

#[test]
fn documents_and_notes_hide_no_session_and_every_standing_note_is_told() {
    let memory = memory();
    memory.write("docs/.keep", "");
    for number in 0..70 {
        memory.write(&format!("docs/{number}.md"), format!("# Pier {number}\n\nPlank {number}\n"));
    }
    memory.read_as("file", &memory.sources().join("docs"));
    let remember = |text: &str, is_standing: bool| {
        let tags = if is_standing { vec![yore_engine::STANDING.to_owned()] } else { Vec::new() };
        let request =
            yore_engine::RememberRequest { text: text.to_owned(), tags, directory: Some(TIDE.to_owned()), ..Default::default() };
        memory.engine().remember(&request).unwrap();
    };
    remember("the gauge at Hven is off by 3 cm", false);
    for number in 0..15 {
        remember(&format!("rule number {number}"), true);
    }
    let request = BriefRequest { here: Some(names_of(TIDE)), session: None, is_compacted: false };
    let brief = memory.engine().brief(&request).unwrap();
    assert!(!brief.sessions.is_empty());
    assert_eq!(brief.standing.len(), 15);
    assert_eq!(brief.notes.len(), 1);
    let native = brief.sessions[0].session.native_id.clone();
    let request = BriefRequest { session: Some(native), is_compacted: true, ..request };
    assert!(memory.engine().brief(&request).unwrap().own.is_some());
}

#[test]
fn memories_of_a_project_that_rests_are_told_and_those_that_nobody_needs_while_it_is_worked_on_are_not() {
    let mut memory = memory();
    let statement = "The gauge of Hven North is calibrated against the lighthouse every spring.";
    let mut new = NewMemory::new(MemoryKind::Fact, statement);
    new.project = Some("tide".to_owned());
    memory.engine().add_memory(&new, &Cause::default()).unwrap();
    memory.index();
    let is_told = |memory: &Memory| {
        let told = prompt(memory.engine(), "against what is the gauge of Hven North calibrated every spring, the lighthouse?");
        told.memories.iter().any(|told| told.hit.as_memory().is_some_and(|found| found.memory.statement == statement))
    };
    assert!(is_told(&memory));
    memory.open_at(|| Memory::now() + 4_000 * 86_400_000);
    assert!(is_told(&memory), "nobody worked in the project since");
    let work = |number: u64, day: i64| {
        let session = SessionBuilder::new(1_000 + number).cwd(TIDE).at(Memory::now() + day * 86_400_000).turns(4);
        memory.write(&format!("projects/p/later{number}.jsonl"), session.text());
    };
    work(0, 3_999);
    memory.learn();
    assert!(is_told(&memory), "a pause is no work");
    (1..138).for_each(|number| work(number, 29 * number as i64));
    memory.learn();
    assert!(!is_told(&memory), "it was not needed in years of work");
}
