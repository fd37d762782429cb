//! `yore up`: the first run, later runs, and a computer without any history.

use std::fs;

use serde_json::json;

use crate::environment::TestEnvironment;
use crate::transcript::Transcript;

const LANTERN: &str = "1a47e401-5d0c-4f7e-9a51-8f0c7b6a1101";
const ORCHARD: &str = "0c4a4d02-77b1-4c56-8d55-2b9d3f4a2202";

/// Creates two sessions of two projects, with a secret that must not be kept.
fn computer_with_history() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let secret = format!("ghp_{}", "a8Kd03Lm5Qz7Xc9Vb1Nn2Mp4Rt6Yw8Eu0Io3".get(..36).unwrap());
    Transcript::new(LANTERN, "/home/dev/lanternfish")
        .human("why does the uploader stop after the first album?")
        .tool("Let me run it.", "cargo run -- upload", "error[E42]: album queue closed early", true)
        .assistant("The album queue is closed by the first worker that finishes; the uploader must close it itself.")
        .human(&format!("right. the token is {secret}"))
        .assistant("Noted, and the uploader now closes the queue after the last worker.")
        .title("Uploader stops after the first album")
        .write(&environment.projects());
    let session = Transcript::new(ORCHARD, "/home/dev/orchard-api").at(1_772_355_600_000).human("look at the VAT rounding");
    session
        .subagent("a7f3c19d")
        .human("find every use of round()")
        .assistant("Four uses, all in the invoice module.")
        .write(&environment.projects());
    session
        .assistant("The VAT is rounded per line, the law wants it per invoice.")
        .human("change it")
        .assistant("It is rounded per invoice now.")
        .write(&environment.projects());
    environment
}

#[test]
fn first_up_keeps_every_session_and_answers_a_question() {
    let environment = computer_with_history();
    let outcome = environment.yore(["up"]).run().success();
    insta::assert_snapshot!(outcome.shown(), @r#"
    3 files: 3 read, 0 unchanged
    15 lines archived; 12 turns new, 0 completed
    redacted before storing: 1 github-token

    claude-code: 2 sessions, 1 side conversation, 12 turns
      lanternfish  1 session  6 turns  last 2026-03-02
      orchard-api  1 session  6 turns  last 2026-03-01

    kept in [root]/data: [size] for [size] of transcripts
    Claude Code deletes transcripts after 30 days: the oldest of 3 transcripts has 30 days left, 0 due within a week; all are kept here now

    for example, yore recall "Uploader stops after the first album"
    [c5e46ca70c] you 2026-03-02 lanternfish
      why does the uploader stop after the first album?
    [ce8fb1b43f] assistant
      The album queue is closed by the first worker that finishes; the uploader must close it itself.

    no memories yet: rules found none, `yore learn` has a language model look for them

    next: `yore install` connects your agents to it (without a name it only lists what it would do)
    next: `yore recall "…"` searches it; `yore up` again reads what is new; `yore doctor` checks everything
    --- standard error
    `yore doctor --fix --yes` lets Claude Code keep its transcripts longer
    `yore models fetch` brings a local model that finds what was said in other words, `yore embed` runs it
    "#);
    environment.yore(["recall", "--all", "who closes the album queue"]).run().success();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for path in [environment.data(), environment.database(), environment.data().join("key")] {
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{path:?}");
        }
    }
}

#[test]
fn second_up_says_unchanged_and_writes_nothing() {
    let environment = computer_with_history();
    environment.yore(["up"]).run().success();
    let state = || {
        let database = environment.database();
        (fs::metadata(&database).unwrap().modified().unwrap(), fs::read(&database).unwrap())
    };
    let before = state();
    let outcome = environment.yore(["up"]).run().success();
    insta::assert_snapshot!(outcome.shown().lines().take(2).collect::<Vec<_>>().join("\n"), @"
    3 files: 0 read, 3 unchanged
    0 lines archived; 0 turns new, 0 completed
    ");
    assert!(before == state(), "the database was written");
}

#[test]
fn later_up_takes_only_what_is_new() {
    let environment = computer_with_history();
    environment.yore(["up"]).run().success();
    let session = Transcript::new("2b58f503-6e1d-4f7e-9b62-8f0c7b6a1103", "/home/dev/lanternfish").at(1_772_528_400_000);
    session.human("shrink the thumbnails").assistant("Thumbnails are 256 pixels wide now.").write(&environment.projects());
    let report = environment.yore(["up", "--json"]).run().success().json();
    assert_eq!(
        json!([report["files"], report["files_read"], report["files_unchanged"], report["turns_added"]]),
        json!([4, 1, 3, 2])
    );
}

#[test]
fn newest_sessions_answer_a_question_before_the_rest_is_read_and_the_report_is_of_all() {
    let environment = computer_with_history();
    let long = "planks and more planks of the pier, ".repeat(30_000);
    for (number, subject) in ["barges", "cranes", "docks"].iter().enumerate() {
        let session = format!("7d0c4a4d-02b{number}-4c56-8d55-2b9d3f4a330{number}");
        Transcript::new(&session, "/home/dev/harbour")
            .at(1_772_528_400_000 + 86_400_000 * number as i64)
            .human(&format!("how many {subject} does the harbour have?"))
            .assistant(&format!("{long} The harbour has {number} {subject}."))
            .title(&format!("Number of {subject} in the harbour"))
            .write(&environment.projects());
    }
    environment.yore(["config", "set", "up.newest_mib", "1"]).run().success();
    let shown = environment.yore(["up"]).run().success().shown();
    let at = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words} is missing in {shown}"));
    assert!(shown.starts_with("the newest 1 file can be searched; the other 5 are being read"), "{shown}");
    assert!(at("for example, yore recall \"Number of docks") < at("6 files: 6 read, 0 unchanged"), "{shown}");
    assert_eq!(shown.matches("for example").count(), 1, "{shown}");
    assert!(shown.contains("claude-code: 5 sessions, 1 side conversation, 18 turns"), "{shown}");
    assert!(environment.yore(["up"]).run().success().shown().starts_with("6 files: 0 read, 6 unchanged"));
}

#[test]
fn the_tour_shows_each_step_and_leaves_nothing_behind() {
    let environment = TestEnvironment::new();
    let shown = environment.yore(["tour"]).run().success().stdout;
    for words in [
        "1 of 8",
        "8 of 8",
        "$ yore recall --all \"why did we move the cache out of redis?\"",
        "the curve cache moves out of Redis into the process",
        "The curve cache lives in the process, not in Redis.",
        "yore up  ",
    ] {
        assert!(shown.contains(words), "{words} is missing in {shown}");
    }
    let of = |command: &str| shown.split(command).nth(1).unwrap().split(" of 8").next().unwrap();
    assert!(of("$ yore hook claude-code").contains("Redis was shared with the cameras"), "{shown}");
    assert!(of("$ yore undo").contains("undid operation 1"), "{shown}");
    assert!(!environment.data().join("tour").exists() && !environment.database().exists());
}

#[test]
fn retention_follows_the_agents_settings() {
    let environment = computer_with_history();
    environment.write("home/.claude/settings.json", json!({"cleanupPeriodDays": 5}).to_string());
    let outcome = environment.yore(["up"]).run().success();
    let told = outcome.stdout.lines().find(|line| line.contains("deletes transcripts")).unwrap();
    insta::assert_snapshot!(told, @"Claude Code deletes transcripts after 5 days: the oldest of 3 transcripts has 5 days left, 3 due within a week; all are kept here now");
}

#[test]
fn old_list_of_prompts_is_kept_and_is_no_transcript_that_will_be_deleted() {
    let environment = computer_with_history();
    let prompt = json!({"display": "is the tide table an hour late?", "pastedContents": {}, "timestamp": 1_740_000_000_000_i64,
        "project": "/home/dev/tides", "sessionId": "7de00000-0000-4000-8000-000000000001"});
    let list = environment.write("home/.claude/history.jsonl", format!("{prompt}\n"));
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60 * 86_400);
    fs::File::options().append(true).open(list).unwrap().set_modified(earlier).unwrap();
    let outcome = environment.yore(["up"]).run().success();
    let told = outcome.stdout.lines().find(|line| line.contains("deletes transcripts")).unwrap();
    assert!(told.contains("the oldest of 3 transcripts has 30 days left, 0 due within a week; all are kept here now"), "{told}");
    let found = environment.yore(["recall", "--all", "tide table"]).run().success();
    assert!(found.stdout.contains("is the tide table an hour late?"), "{}", found.stdout);
}

#[test]
fn up_as_json_is_one_document() {
    let environment = computer_with_history();
    let outcome = environment.yore(["up", "--json"]).run().success();
    assert_eq!(outcome.stderr, "");
    let report = outcome.json();
    assert_eq!(report["is_example"], false);
    assert_eq!(report["files"], 3);
    assert_eq!(report["redactions"], json!({"github-token": 1}));
    assert_eq!(report["failures"], json!([]));
    let mut projects: Vec<&str> =
        report["projects"].as_array().unwrap().iter().map(|project| project["name"].as_str().unwrap()).collect();
    projects.sort_unstable();
    assert_eq!(projects, ["lanternfish", "orchard-api"]);
    assert_eq!(report["answer"]["question"], "Uploader stops after the first album");
    assert_eq!(report["answer"]["results"][0]["session"], LANTERN);
    assert_eq!(report["answer"]["results"][0]["role"], "assistant");
}

#[test]
fn question_and_its_answer_can_be_switched_off() {
    let environment = computer_with_history();
    let outcome = environment.yore(["up", "-c", "up.ask_question=false"]).run().success();
    assert!(!outcome.stdout.contains("for example"), "{}", outcome.stdout);
}

#[test]
fn init_is_another_name_of_up() {
    let (first, second) = (computer_with_history(), computer_with_history());
    let up = first.yore(["up"]).run().success().shown();
    assert_eq!(second.yore(["init"]).run().success().shown(), up);
}

#[test]
fn computer_without_history_gets_an_example_kept_apart() {
    let environment = TestEnvironment::new();
    let outcome = environment.yore(["up"]).run().success();
    insta::assert_snapshot!(outcome.shown(), @r#"
    no history of a known agent was found on this computer
    so this is an invented example project, kept apart from your own memory:

    4 files: 4 read, 0 unchanged
    151 lines archived; 124 turns new, 0 completed

    for example, yore recall "why did we move the cache out of redis?"
    [8032ecc255] you 2026-06-11 tidepool
      then option 2, throw redis out completely. the box must show the tide even if everything else on it is dead
    [af43c207f4] assistant
      Decision: the curve cache moves out of Redis into the process (`moka`, [size], ten minutes). Why: Redis was shared with the cameras, ran out of memory and took `/curve` down with it for 40 minutes; the SMS binary never used the shared keys; and recomputing everything after a restart takes under two seconds. This replaces the choice of April.
    [fbf7c0a8bd] assistant
      Good sign: the cache can no longer fail, so the `?` has nothing to convert.
    [05f29ee94c] assistant weak
      24 tests pass, a cached curve takes 4 microseconds instead of 0.9 ms, and the binary lost [size] because the Redis client is gone.
    [40edd00412] you 2026-06-11 tidepool
      … ERROR tidepool::http: curve failed: Connection refused (os error 111) - redis://127.0.0.1:6379
      can you look how we depend on redis there
    [c522264d5a] assistant fair
      The camera recordings filled Redis until the kernel killed it, and systemd gave up after five restarts. Our `/curve` has a `?` on the cache, so a missing *cache* became a missing *answer*, although the numbers were all in SQLite and could have been summed in 42 ms.

    next: ask it more with `yore --no-daemon --data-dir "[root]/data/example" recall "…"`,
    or read your own transcripts with `yore ingest PATH`
    "#);
    assert!(environment.data().join("example").join("yore.db").exists());
    assert!(!environment.database().exists(), "the person's own memory must stay empty");

    let outcome = environment.yore(["recall", "cache"]).run().ends_with(3);
    assert_eq!(outcome.code(), "store/missing");
    assert!(outcome.stderr.contains("the example project answers with `yore --no-daemon --data-dir"), "{}", outcome.stderr);

    let example = environment.data().join("example");
    let outcome = environment.yore(["--data-dir"]).arg(example).args(["recall", "--json", "why not redis"]).run().success();
    assert!(!outcome.json()["results"].as_array().unwrap().is_empty());
}

#[test]
fn example_as_json_says_that_it_is_one() {
    let environment = TestEnvironment::new();
    let report = environment.yore(["up", "--json"]).run().success().json();
    assert_eq!(report["is_example"], true);
    assert!(!report["answer"]["results"].as_array().unwrap().is_empty());
}

#[test]
fn example_can_be_switched_off() {
    let environment = TestEnvironment::new();
    let outcome = environment.yore(["up", "-c", "up.example_when_empty=false"]).run().ends_with(1);
    insta::assert_snapshot!(outcome.shown(), @"
    --- standard error
    error: no history of a known agent on this computer [usage]
    hint: name a path: `yore ingest PATH`
    --- exit code Some(1)
    ");
    assert!(!environment.data().exists());
}

#[test]
fn history_that_comes_later_replaces_the_example() {
    let environment = TestEnvironment::new();
    environment.yore(["up"]).run().success();
    Transcript::new(LANTERN, "/home/dev/lanternfish")
        .human("hello lanternfish")
        .assistant("Hello.")
        .write(&environment.projects());
    let report = environment.yore(["up", "--json"]).run().success().json();
    assert_eq!(report["is_example"], false);
    let answer = environment.yore(["recall", "--all", "--json", "redis"]).run().json();
    assert_eq!(answer["results"], json!([]), "nothing of the example may come into the person's memory");
}

#[test]
fn up_tells_of_a_damaged_memory_instead_of_showing_the_example() {
    let environment = TestEnvironment::new();
    environment.write("data/yore.db", "this is no database ".repeat(500));
    let outcome = environment.yore(["up"]).run().ends_with(3);
    assert_eq!(outcome.code(), "store/corrupt");
}
