//! The page in a real browser: every view, by keyboard, with hostile text, and from other origins. `scripts/browser/fetch` makes the
//! folder in `YORE_TEST_BROWSER`; without it the tests report that they were skipped, `YORE_REQUIRE_BROWSER=1` makes that an error.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::api::{Browser, link};
use crate::environment::TestEnvironment;
use crate::http::Daemon;
use crate::transcript::Transcript;

/// Views that need no id.
const VIEWS: [&str; 17] = [
    "",
    "?q=pelican",
    "sessions",
    "memories",
    "timeline",
    "inbox",
    "receipts",
    "categories",
    "insights",
    "projects",
    "team",
    "cost",
    "account",
    "health",
    "settings",
    "entities",
    "log",
];

/// Share of the pixels in which a view may differ from its picture: days, ids and folders are those of the run.
const TOLERANCE: f64 = 0.03;

/// Drives a browser over the page of a daemon.
struct Walker<'d, 'e> {
    environment: &'e TestEnvironment,
    daemon: &'d Daemon<'e>,
    folder: PathBuf,
    browser: Browser<'d, 'e>,
    /// Folder of the pictures that screenshots are compared with.
    reference: Option<PathBuf>,
}

/// Returns the folder of the driver; if there is none, prints that the test is skipped.
fn folder() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("YORE_TEST_BROWSER").filter(|folder| !folder.is_empty()) else {
        let is_required = std::env::var_os("YORE_REQUIRE_BROWSER").is_some_and(|value| value == "1");
        assert!(!is_required, "YORE_REQUIRE_BROWSER is set, but YORE_TEST_BROWSER names no folder");
        let words =
            b"SKIPPED: no YORE_TEST_BROWSER (`scripts/browser/fetch FOLDER` makes one), so the page is tried in no browser\n";
        // Written past the test runner, which captures the output of a passing test.
        std::io::stderr().write_all(words).unwrap();
        return None;
    };
    let folder = PathBuf::from(folder);
    assert!(folder.join("stamp").is_file(), "{} was not made by scripts/browser/fetch", folder.display());
    Some(folder)
}

impl<'d, 'e> Walker<'d, 'e> {
    fn new(environment: &'e TestEnvironment, daemon: &'d Daemon<'e>, folder: PathBuf) -> Self {
        Self { environment, daemon, folder, browser: Browser::open(environment, daemon), reference: None }
    }

    /// Walks over pages; returns the result.
    fn walk(&self, pages: &[Value], cross_origin: &[String]) -> Value {
        let origin = format!("http://127.0.0.1:{}", self.daemon.port);
        let job = json!({
            "enter": format!("{origin}{}", link(self.environment)),
            "base": format!("{origin}{}/", self.browser.base),
            "out": null,
            "reference": self.reference,
            "bless": std::env::var_os("YORE_BLESS").is_some(),
            "tolerance": TOLERANCE,
            "pages": pages,
            "cross_origin": cross_origin,
        });
        let file = self.environment.write("job.json", job.to_string());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/browser/walk.mjs");
        let mut call = self.environment.program("node").arg(script).arg(file).env("YORE_TEST_BROWSER", &self.folder);
        for name in ["PATH", "YORE_TEST_CHROMIUM"] {
            if let Some(value) = std::env::var_os(name) {
                call = call.env(name, value);
            }
        }
        let result = call.run().success().json();
        assert_eq!(result["ended_early"], Value::Null, "{result:#}");
        assert_eq!(result["pages"].as_array().unwrap().len(), pages.len());
        result
    }

    /// Walks over pages; returns what is wrong with each.
    fn faults(&self, pages: &[Value]) -> Vec<String> {
        let mut named = pages.to_vec();
        for (number, page) in named.iter_mut().enumerate() {
            // Names are those of files, each once.
            page["name"] = if self.reference.is_some() { picture_of(page) } else { number.to_string() }.into();
        }
        let result = self.walk(&named, &[]);
        let mut faults: Vec<String> = Vec::new();
        for (page, wanted) in result["pages"].as_array().unwrap().iter().zip(pages) {
            let at = wanted["name"].as_str().unwrap();
            if page["reference"]["within"] == false {
                faults.push(format!(
                    "{at}: differs from {}.png in {} of the pixels; if that is intended, YORE_BLESS=1 renews it",
                    picture_of(wanted),
                    page["reference"]["share"]
                ));
            }
            if page["status"] != 200 {
                faults.push(format!("{at}: status {}", page["status"]));
            }
            let lists = [
                "failures",
                "console_errors",
                "page_errors",
                "csp",
                "foreign_requests",
                "dialogs",
                "popups",
                "downloads",
                "sticking_out",
            ];
            for list in lists {
                let found = page[list].as_array().map_or(0, Vec::len);
                if found > 0 {
                    faults.push(format!("{at}: {list}: {}", page[list]));
                }
            }
            if page["scrolls_sideways"] == true {
                faults.push(format!("{at}: scrolls sideways"));
            }
            if let Some(found) = page["axe"]["violations"].as_array().filter(|found| !found.is_empty()) {
                faults.push(format!("{at}: axe: {}", json!(found)));
            }
        }
        if result["left"].as_array().is_some_and(|left| !left.is_empty()) {
            faults.push(format!("the browser wanted to leave this computer: {}", result["left"]));
        }
        faults
    }
}

/// Returns the file name of the picture of a page, without ids.
fn picture_of(page: &Value) -> String {
    let place = page["path"].as_str().unwrap();
    let view = match place.split(['/', '?']).next() {
        Some("") | None => {
            if place.is_empty() {
                "front"
            } else {
                "search"
            }
        }
        Some(view) => view,
    };
    let is_one = if place.contains('/') { "-one" } else { "" };
    format!("{view}{is_one}-{}", page["width"])
}

/// A page to walk to, wide and light, with scripts.
fn page(name: &str, path: &str, steps: &[Value]) -> Value {
    json!({"name": name, "path": path, "width": 1200, "height": 900, "scheme": "light", "script": true, "steps": steps, "axe": true})
}

/// The same on a telephone, dark, without scripts.
fn narrow(name: &str, path: &str) -> Value {
    json!({"name": name, "path": path, "width": 360, "height": 800, "scheme": "dark", "script": false, "steps": [], "axe": true})
}

/// Makes a memory of the example project and a few memories.
fn memory() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("example/projects");
    copy(&example, &environment.projects());
    let directory = environment.path("work/tide");
    fs::create_dir_all(&directory).unwrap();
    Transcript::new("6a7e0001-0001-4001-8001-000000000001", directory.to_str().unwrap())
        .human("The pelican is called Skagen. How do we feed it?")
        .assistant("At noon:\n\n```rust\nfn feed() -> &'static str { \"fish\" }\n```\n\nSee **the pier**.")
        .tool("I look.", "cat pelican.txt", "error: no such file", true)
        .assistant("There is no such file.")
        .write(&environment.projects());
    let _ = environment.yore(["ingest", "--no-embed"]).run().success();
    let _ = environment.yore(["extract"]).run();
    for (kind, words) in [
        ("decision", "The harbour server listens on port 7000."),
        ("preference", "Answer in short sentences."),
        ("fact", "The pelican sleeps on the pier."),
    ] {
        let _ = environment.yore(["remember", "--kind", kind, "--global", words]).run().success();
    }
    environment
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[track_caller]
fn none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the ids of sessions.
fn sessions(environment: &TestEnvironment) -> Vec<String> {
    let listed = environment.yore(["sessions", "--json", "-n", "100"]).run().success().json();
    listed.as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

fn memories(environment: &TestEnvironment) -> Vec<String> {
    let listed = environment.yore(["memories", "--all", "--json", "-n", "100"]).run().success().json();
    listed.as_array().unwrap().iter().map(|memory| memory["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_view_is_sound_in_a_browser() {
    let Some(folder) = folder() else { return };
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let mut walker = Walker::new(&environment, &daemon, folder);
    walker.reference = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../testing/fixtures/page/views"));
    let mut paths: Vec<String> = VIEWS.iter().map(|&view| view.to_owned()).collect();
    paths.push(format!("session/{}", sessions(&environment)[0]));
    paths.push(format!("memories/{}", memories(&environment)[0]));
    let pages: Vec<Value> =
        paths.iter().flat_map(|path| [page(path, path, &[]), narrow(&format!("{path}, narrow"), path)]).collect();
    none(&walker.faults(&pages));
}

#[test]
fn the_page_is_used_by_keyboard_alone() {
    let Some(folder) = folder() else { return };
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let walker = Walker::new(&environment, &daemon, folder);
    let press = |key: &str| json!({"press": key});
    let search = [
        press("/"),
        json!({"focus_is": "input[type=search]"}),
        json!({"type": ["input[type=search]", "pelican sleeps"]}),
        press("Enter"),
        json!({"see": "on the pier"}),
        press("Escape"),
        press("j"),
        json!({"focus_is": "[data-item] *"}),
    ];
    let list = [
        press("?"),
        json!({"see": "next, previous item"}),
        press("Escape"),
        press("g"),
        press("m"),
        json!({"see": "The pelican sleeps on the pier."}),
        press("j"),
        json!({"focus_is": "[data-item] *"}),
        press("Enter"),
        json!({"wait": "main h1"}),
        press("p"),
        json!({"see": "Done"}),
    ];
    none(&walker.faults(&[page("search", "", &search), page("list", "sessions", &list)]));
    let pinned = environment.yore(["memories", "--all", "--json"]).run().success().json();
    assert_eq!(pinned.as_array().unwrap().iter().filter(|memory| memory["pinned"] == true).count(), 1, "{pinned}");
}

#[test]
fn an_empty_memory_says_what_to_do() {
    let Some(folder) = folder() else { return };
    let environment = TestEnvironment::new();
    let _ = environment.yore(["remember", "--note", "the first note"]).run().success();
    let daemon = Daemon::start(&environment);
    let walker = Walker::new(&environment, &daemon, folder);
    let pages: Vec<Value> = VIEWS.iter().map(|view| page(view, view, &[])).collect();
    none(&walker.faults(&pages));
}

#[test]
fn other_origins_read_nothing() {
    let Some(folder) = folder() else { return };
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let walker = Walker::new(&environment, &daemon, folder);
    let paths = ["memories", "api/v1/memories", "assets/page.js", ""].map(str::to_owned);
    let result = walker.walk(&[], &paths);
    let tried = result["cross_origin"].as_array().unwrap();
    assert!(tried.len() >= paths.len(), "{result:#}");
    for url in tried {
        for check in url["checks"].as_array().unwrap() {
            assert_eq!(check["read"], false, "{url:#}");
        }
    }
    let count = environment.yore(["memories", "--all", "--json"]).run().json();
    assert_eq!(count.as_array().unwrap().len(), memories(&environment).len());
}

/// A piece of hostile text.
fn hostile() -> Vec<(String, String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testing/fixtures/page/hostile.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let piece = |line: &str| {
        let piece: Value = serde_json::from_str(line).unwrap();
        let text = match piece["text"].as_str() {
            Some(text) => text.to_owned(),
            None => piece["repeat"][0].as_str().unwrap().repeat(piece["repeat"][1].as_u64().unwrap() as usize),
        };
        (piece["name"].as_str().unwrap().to_owned(), piece["where"].as_str().unwrap().to_owned(), text)
    };
    text.lines().map(piece).collect()
}

/// Begins a session in a directory of this name.
fn begin(environment: &TestEnvironment, at: usize, name: &str) -> Transcript {
    let directory = environment.path("work").join(name);
    let kind = name.len() % 10;
    Transcript::new(&format!("6a7e{at:04}-000{kind}-4001-8001-{at:012}"), &directory.display().to_string()).human("the pelican")
}

#[test]
fn hostile_text_runs_nothing_and_breaks_no_layout() {
    let Some(folder) = folder() else { return };
    let environment = TestEnvironment::new();
    let pieces = hostile();
    assert!(pieces.len() >= 60);
    // Several pieces are one session, so that there are fewer pages to walk to.
    let mut session = begin(&environment, 0, "tide");
    for (at, (_, place, text)) in pieces.iter().enumerate() {
        session = match place.as_str() {
            "message" => session.human(text).assistant(text),
            "tool_output" => session.human("look at the pelican").tool("I look.", "cat pelican.txt", text, at % 2 == 0),
            "memory" => {
                let short: String = text.chars().take(4_000).collect();
                let _ = environment.yore(["remember", "--kind", "fact", "--global", "-"]).stdin(short).run();
                session
            }
            "tag" => {
                let statement = format!("berth {at} is free");
                let _ = environment.yore(["remember", "--kind", "fact", "--global", "--tag", text, &statement]).run();
                session
            }
            // A title or a directory is that of a session of its own.
            "title" => {
                begin(&environment, at, "title").human("look at the pelican").title(text).write(&environment.projects());
                session
            }
            _ => {
                let name = text.replace(['\0', '\n', '/'], " ");
                begin(&environment, at, &name).human("look at the pelican").write(&environment.projects());
                session
            }
        };
        if at % 6 == 5 {
            session.write(&environment.projects());
            session = begin(&environment, at, "tide");
        }
    }
    session.human("the last pelican").write(&environment.projects());
    let _ = environment.yore(["ingest", "--no-embed"]).run().success();
    let daemon = Daemon::start(&environment);
    let walker = Walker::new(&environment, &daemon, folder);
    let mut pages: Vec<Value> = VIEWS.iter().map(|view| page(view, view, &[])).collect();
    for id in sessions(&environment) {
        pages.push(narrow(&format!("session {id}, narrow"), &format!("session/{id}")));
        pages.push(page(&format!("session {id}"), &format!("session/{id}"), &[]));
    }
    for id in memories(&environment) {
        pages.push(page(&format!("memory {id}"), &format!("memories/{id}"), &[]));
    }
    // Recorded text is looked at for what it does, not for what it says.
    for page in &mut pages {
        page["axe"] = false.into();
    }
    let mut faults = Vec::new();
    for some in pages.chunks(40) {
        faults.extend(walker.faults(some));
    }
    none(&faults);
}
