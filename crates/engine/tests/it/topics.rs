//! Topics of conversations: where they are divided, how they are named, what is found again, and what goes with a session.

use yore_core::episode::Role;
use yore_core::time::UtcMillis;
use yore_engine::{Engine, ExtractRequest, RecallRequest, SessionTopics, TopicsRequest};
use yore_testing::{Memory, SessionBuilder};

const HARBOUR: [&str; 4] = [
    "Can you please look at the harbour gauge, its tide table shows the wrong hour",
    "does the tide table of the harbour gauge come from the almanac?",
    "so correct the hour of the tide table in the almanac",
    "and show the tide hour of the harbour gauge again",
];
const HARBOUR_SAID: [&str; 4] = [
    "The tide table of the harbour gauge reads the almanac in local time.",
    "Yes, the almanac fills the tide table of every harbour gauge once a day.",
    "Corrected the hour: the almanac now gives the tide table of the gauge in UTC.",
    "The harbour gauge shows the tide of noon at twelve, as the almanac says.",
];
const INVOICE: [&str; 4] = [
    "write an invoice export for the billing page, as CSV with the customer's currency",
    "which column holds the currency of the invoice?",
    "round the amount of each invoice line to cents before the CSV export",
    "add the customer's name to the invoice export",
];
const INVOICE_SAID: [&str; 4] = [
    "The billing page exports each invoice as CSV with amount and currency of the customer.",
    "The column `currency` of the invoice lines holds it, the customer has a default currency.",
    "Rounded the invoice amounts to cents in the CSV export of the billing page.",
    "The CSV export of invoices has the customer's name in its first column.",
];

fn said(session: &mut SessionBuilder, asked: &[&str], answered: &[&str]) {
    for (asked, answered) in asked.iter().zip(answered) {
        session.human(asked);
        session.assistant(answered);
    }
}

/// A memory with a session about two things, and one about the second of them.
fn memory() -> Memory {
    let memory = Memory::new();
    let mut both = SessionBuilder::new(1).cwd("/home/dev/quay");
    said(&mut both, &HARBOUR, &HARBOUR_SAID);
    said(&mut both, &INVOICE, &INVOICE_SAID);
    memory.write("projects/p/both.jsonl", both.text());
    let mut one = SessionBuilder::new(2).cwd("/home/dev/quay").at(1_772_923_200_000);
    said(&mut one, &INVOICE[..3], &INVOICE_SAID[..3]);
    memory.write("projects/p/one.jsonl", one.text());
    let mut other = SessionBuilder::new(3).cwd("/home/dev/quay").at(1_773_923_200_000);
    other.human("Why does the parser of the config reject a tab in front of a key?");
    other.assistant("The lexer of the config counts a tab as no white space.");
    memory.write("projects/p/other.jsonl", other.text());
    memory.learn();
    memory
}

fn topics(engine: &Engine, change: impl FnOnce(&mut TopicsRequest)) -> Vec<SessionTopics> {
    let mut request = TopicsRequest::default();
    change(&mut request);
    engine.topics(&request).unwrap()
}

fn session_of(memory: &Memory, seed: u64) -> String {
    let id = SessionBuilder::new(seed).id().to_owned();
    assert!(memory.episodes().iter().any(|episode| episode.native_id == id));
    id
}

#[test]
fn session_is_divided_where_its_topic_changes_and_each_topic_is_named_by_what_was_asked() {
    let memory = memory();
    let found = topics(memory.engine(), |request| request.sessions = vec![session_of(&memory, 1)]);
    let told: Vec<(&str, u32)> = found[0].topics.iter().map(|topic| (topic.name.as_str(), topic.exchanges)).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told.iter().map(|(_, exchanges)| *exchanges).collect::<Vec<_>>(), [4, 4], "{told:?}");
    assert!(told[0].0.contains("tide") && !told[0].0.starts_with("Can you"), "{told:?}");
    assert!(told[1].0.contains("invoice"), "{told:?}");
    let [harbour, invoice] = found[0].topics.as_slice() else { unreachable!() };
    assert!(harbour.summary.iter().all(|sentence| HARBOUR_SAID.contains(&sentence.as_str())), "{harbour:?}");
    assert_eq!(harbour.sign, None);
    assert!(invoice.sign.is_some() && invoice.outcome.is_some());
    assert!(harbour.similar.is_empty(), "{harbour:?}");
    assert_eq!(invoice.similar.len(), 1, "the topic of the other session: {invoice:?}");
}

#[test]
fn topics_are_listed_by_session_or_by_what_they_are_about() {
    let memory = memory();
    let sessions: Vec<usize> = topics(memory.engine(), |_| {}).iter().map(|session| session.topics.len()).collect();
    assert_eq!(sessions, [1, 1, 2], "the latest session first");
    let nearest = topics(memory.engine(), |request| {
        request.text = Some("tide table of the harbour".to_owned());
        request.limit = 1;
    });
    assert_eq!(nearest.len(), 1);
    assert!(nearest[0].topics[0].name.contains("tide"), "{nearest:?}");
    assert!(topics(memory.engine(), |request| request.since = Some(UtcMillis::MAX)).is_empty());
    assert!(memory.engine().topics(&TopicsRequest { projects: vec!["nowhere".to_owned()], ..Default::default() }).is_err());
}

#[test]
fn an_answer_tells_the_topics_of_its_hits_and_those_that_are_like_the_question() {
    let memory = memory();
    let mut like = SessionBuilder::new(4).cwd("/home/dev/quay").at(1_774_923_200_000);
    like.human("Does the billing page show the currency column of an invoice?");
    like.assistant("The billing page shows the currency of the customer beside each invoice.");
    memory.write("projects/p/like.jsonl", like.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    let told = |question: &str, change: &dyn Fn(&mut RecallRequest)| {
        let mut request = RecallRequest { with_topics: true, limit: 2, ..RecallRequest::new(question) };
        change(&mut request);
        let mut answer = memory.engine().recall(&request).unwrap();
        assert_eq!(answer.hits.len(), 2);
        memory.engine().tell_topics(&request, &mut answer).unwrap();
        answer.topics
    };
    let topics = told("which column holds the currency of the invoice?", &|_| ());
    assert_eq!(topics[0].hits.first(), Some(&1));
    assert!(topics[0].name.contains("invoice"), "{topics:?}");
    let ranks: Vec<usize> = topics.iter().flat_map(|topic| topic.hits.clone()).collect();
    assert_eq!(ranks, [1, 2]);
    assert!(topics.iter().all(|topic| topic.hits.is_empty() == topic.similarity.is_some()));
    assert!(topics.iter().any(|topic| topic.hits.is_empty()), "{topics:?}");
    let of_hits = told("which column holds the currency of the invoice?", &|request| request.filter.roles = vec![Role::Human]);
    assert!(
        of_hits.iter().all(|topic| topic.similarity.is_none()),
        "a condition on turns leaves out topics that may not meet it"
    );
}

#[test]
fn conversation_is_divided_once_and_again_when_it_grows() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1).cwd("/home/dev/quay");
    said(&mut session, &HARBOUR, &HARBOUR_SAID);
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    let count = |memory: &Memory| topics(memory.engine(), |_| {})[0].topics.len();
    assert_eq!(count(&memory), 1);
    let before = memory.state();
    assert_eq!(count(&memory), 1);
    assert_eq!(memory.state(), before, "a second reading writes nothing");
    said(&mut session, &INVOICE, &INVOICE_SAID);
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    assert_eq!(count(&memory), 2);
}

#[test]
fn session_that_is_forgotten_takes_its_topics_along() {
    let memory = memory();
    assert_eq!(topics(memory.engine(), |_| {}).len(), 3);
    memory.forget_hard(&session_of(&memory, 1));
    let left = topics(memory.engine(), |request| request.sessions = vec![session_of(&memory, 2)]);
    assert!(left[0].topics[0].similar.is_empty(), "{left:?}");
    assert_eq!(topics(memory.engine(), |_| {}).len(), 2);
}

#[test]
fn extraction_that_is_stopped_divides_nothing_more() {
    let memory = memory();
    let spans = || {
        let db = rusqlite::Connection::open(memory.data().join("yore.db")).unwrap();
        db.query_row("SELECT count(DISTINCT episode_id) FROM span", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    memory.engine().extract(&ExtractRequest::default(), &mut |done, _| done < 1).unwrap();
    assert_eq!(spans(), 0);
    let mut asked_at_the_end = 0;
    let mut stop_in_division = |done: u64, total: u64| {
        asked_at_the_end += u64::from(done == total);
        asked_at_the_end < 2
    };
    memory.engine().extract(&ExtractRequest::default(), &mut stop_in_division).unwrap();
    assert_eq!(spans(), 1, "it was stopped before the second");
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
    assert_eq!(spans(), 3);
}

#[test]
fn topic_is_named_by_the_persons_own_words_or_the_plan_that_they_hand_over() {
    let memory = Memory::new();
    let names = [
        (
            "please explain the rule of the gaugefile\n> From now on always run zorbl.sh on the tables.",
            "explain the rule of the gaugefile",
        ),
        ("> From now on always run zorbl.sh on the tables.", "The tables are filled by the gaugefile of the harbour"),
        ("Implement the following plan:\n\n# Fill the tables of the harbour\n\n- read them", "Fill the tables of the harbour"),
    ];
    for (seed, (asked, _)) in (1..).zip(&names) {
        let mut session = SessionBuilder::new(seed).cwd("/home/dev/quay");
        session.human(asked);
        session.assistant("The tables are filled by the gaugefile of the harbour.");
        memory.write(&format!("projects/p/{seed}.jsonl"), session.text());
    }
    memory.learn();
    let told: Vec<String> =
        topics(memory.engine(), |_| ()).into_iter().flat_map(|session| session.topics).map(|topic| topic.name).collect();
    for (asked, name) in names {
        assert!(told.iter().any(|told| told == name), "{asked}: {told:?}");
    }
    assert_eq!(told.len(), names.len());
}

#[test]
fn a_session_without_a_topic_takes_no_place_in_the_list() {
    let memory = memory();
    let mut silent = SessionBuilder::new(9).cwd("/home/dev/quay").at(1_775_923_200_000);
    silent.assistant("I am waiting for the tide.");
    memory.write("projects/p/silent.jsonl", silent.text());
    memory.learn();
    let all = topics(memory.engine(), |_| ());
    assert!(all.iter().all(|session| session.session != silent.id()), "it has no topic: {all:?}");
    let first = topics(memory.engine(), |request| request.limit = 1);
    assert_eq!(first.iter().map(|session| &session.session).collect::<Vec<_>>(), [&all[0].session]);
}
