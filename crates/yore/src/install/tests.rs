//! Installs every agent of the table, in both scopes and on every platform, on realistic files: in, in again,
//! out, and everything is as before.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::edit::entries::Entry;
use super::edit::json::Document;
use super::edit::{Content, Original};
use super::found::{Installed, installed};
use super::what::{Call, What};
use super::*;
use crate::agents::{self, AGENTS};
use crate::paths::Platform;

const PLATFORMS: [Platform; 3] = [Platform::Xdg, Platform::Mac, Platform::Windows];
const SCOPES: [Scope; 2] = [Scope::User, Scope::Project];
const EVERYTHING: &dyn Fn(Part) -> bool = &|_| true;

/// A simulated computer in a folder of its own.
struct Computer {
    root: PathBuf,
    platform: Platform,
    variables: BTreeMap<String, String>,
    program: Program,
    _directory: tempfile::TempDir,
}

impl Computer {
    fn new(platform: Platform) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["home", "work/.git"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let path = if platform == Platform::Windows { "C:\\Program Files\\yore\\yore.exe" } else { "/opt/a b/yore" };
        let program = Program { path: path.to_owned(), data_dir: None };
        Self { root, platform, variables: BTreeMap::new(), program, _directory: directory }
    }

    fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    fn with_machine<T>(&self, act: impl FnOnce(&Machine<'_>) -> T) -> T {
        let variable = |name: &str| self.variables.get(name).cloned();
        act(&Machine {
            platform: self.platform,
            home: self.root.join("home"),
            project: Some(self.root.join("work")),
            variable: &variable,
        })
    }

    fn with_installer<T>(&self, scope: Scope, act: impl FnOnce(&mut Installer<'_>) -> T) -> T {
        self.with_machine(|machine| {
            let mut installer = Installer::open(machine, &self.program, scope, &self.data(), Purpose::Put, false).unwrap();
            act(&mut installer)
        })
    }

    #[track_caller]
    fn install(&self, agent: &Agent, scope: Scope) -> Vec<Done> {
        self.with_installer(scope, |installer| installer.install(agent, EVERYTHING))
    }

    fn uninstall(&self, agent: &Agent, scope: Scope) -> Vec<Done> {
        self.with_installer(scope, |installer| installer.uninstall(agent))
    }

    fn edits(&self, agent: &Agent, scope: Scope) -> Vec<FileEdit> {
        self.with_machine(|machine| (agent.edits)(&Wanted { machine, program: &self.program, scope, purpose: Purpose::Put }))
    }

    /// Returns all files and folders with their content, except the data directory's key.
    fn state(&self) -> BTreeMap<PathBuf, Option<String>> {
        fn walk(directory: &Path, state: &mut BTreeMap<PathBuf, Option<String>>) {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    state.insert(path.clone(), None);
                    walk(&path, state);
                } else if path.file_name().is_none_or(|name| name != "key") {
                    state.insert(path.clone(), Some(String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
                }
            }
        }
        let mut state = BTreeMap::new();
        walk(&self.root, &mut state);
        state.retain(|path, _| !path.starts_with(self.data().join("locks")));
        // Created by the first record entry, and empty after the last is dropped.
        if state.keys().filter(|path| path.starts_with(self.data())).count() == 1 {
            state.remove(&self.data());
        }
        state
    }
}

/// Returns settings objects as people write them, with the names that matter to `content`.
fn objects(content: &Content) -> Vec<(&'static str, Option<String>)> {
    let Content::Json(entries) = content else { return Vec::new() };
    let others = others(entries);
    let lines = serde_json::to_string_pretty(&others).unwrap();
    let commented = lines.replacen('{', "{ // mine, not \"yours\": {", 1).replacen("\n    ", "\n    /* a, b */\n    ", 1);
    let with_tail = |text: &str, tail: &str| format!("{}{tail}\n}}", text.trim_end_matches('}').trim_end());
    let mut large = others.clone();
    for number in 0..100 {
        large[format!("key {number}")] = json!({"number": number, "list": [number, null, "é"]});
    }
    let mut empty = json!({});
    for entry in entries {
        match entry {
            Entry::Server { at, .. } => empty[at[0]] = json!({}),
            Entry::Hooks { events, .. } => empty["hooks"] = json!({events[0].0: []}),
            _ => {}
        }
    }
    let names = others.as_object().unwrap().keys().map(|name| format!("\"{name}\": [1], ")).collect::<String>();
    let repeated = format!("{{{names}{}", &others.to_string()[1..]);
    vec![
        ("missing", None),
        ("empty", Some(String::new())),
        ("blank", Some("\n  \n".to_owned())),
        ("an empty object", Some("{}".to_owned())),
        ("an empty object on a line", Some("{}\n".to_owned())),
        ("an empty object with a space", Some("{ }\n".to_owned())),
        ("an empty object on two lines", Some("{\n}\n".to_owned())),
        ("only a comment", Some("// nothing yet".to_owned())),
        ("an object with only a comment", Some("{\n  // nothing yet\n}\n".to_owned())),
        ("a byte order mark and nothing", Some("\u{feff}".to_owned())),
        ("lines", Some(lines.clone() + "\n")),
        ("no final line break", Some(lines.clone())),
        ("four spaces", Some(lines.replace("  ", "    "))),
        ("tabs", Some(lines.replace("  ", "\t") + "\n")),
        ("Windows' line breaks and a byte order mark", Some(format!("\u{feff}{}\r\n", lines.replace('\n', "\r\n")))),
        ("mixed line breaks", Some(lines.replacen('\n', "\r\n", 2))),
        ("comments", Some(commented.clone())),
        ("comments and commas behind the last", Some(with_tail(&commented, ", // last\n  // \"end\": 1"))),
        ("one line", Some(others.to_string())),
        ("one line with spaces", Some(json_line(&others))),
        ("large", Some(serde_json::to_string_pretty(&large).unwrap())),
        ("empty containers", Some(serde_json::to_string_pretty(&empty).unwrap())),
        ("empty containers on one line", Some(empty.to_string())),
        ("the same names twice", Some(repeated)),
        ("deep", Some(with_tail(&lines, &format!(",\n  \"deep\": {}{}", "[".repeat(300), "]".repeat(300))))),
    ]
}

/// Returns JSON on one line, as typed by hand.
fn json_line(value: &Value) -> String {
    let compact = value.to_string();
    let (mut out, mut quoted, mut escaped) = (String::new(), false, false);
    for character in compact.chars() {
        out.push(character);
        quoted ^= character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        if !quoted && matches!(character, ',' | ':') {
            out.push(' ');
        }
    }
    out
}

/// Returns other programs' settings at the very places where yore's are entered.
fn others(entries: &[Entry]) -> Value {
    let mut value = json!({
        "theme": "dark \u{1f319} \u{e9}",
        "nested": {"mcpServers": {"yore": {"command": "npx"}}, "hooks": {"Stop": ["yore hook claude-code Stop"]}, "n": -1.5e-7},
        "escaped": "C:\\dir\\\"x\" // no comment { [",
    });
    for entry in entries {
        match entry {
            Entry::Server { at, .. } => {
                value[at[0]] = json!({"other": {"command": "npx", "args": ["-y", "yore"], "env": {"A": "b"}}, "yore-too": {"url": "http://x"}});
            }
            Entry::Hooks { events, .. } => {
                let mut hooks = json!({"SomethingElse": []});
                for (event, element) in events {
                    let mut foreign = json!({"type": "command", "command": "echo yore hook; other hook", "timeout": 1});
                    if element.get("hooks").is_some() {
                        foreign = json!({"matcher": "x|y", "hooks": [foreign, {"type": "command", "command": "./yored hook"}]});
                    }
                    hooks[*event] = json!([foreign]);
                }
                value["hooks"] = hooks;
            }
            Entry::Version => value["version"] = json!(1),
            Entry::StatusLine(_) => {}
        }
    }
    value
}

fn tables() -> Vec<(&'static str, Option<String>)> {
    let usual = "# mine\nmodel = \"o3\" # best\n\n[mcp_servers.other]\ncommand = \"npx\"\nargs = [\n  \"-y\",\n  \"yore\", # not ours\n]\n\n[mcp_servers.other.env]\nA = 'b'\n\n[[profiles]]\nname = \"é\"\ntext = \"\"\"\n[mcp_servers.yore]\ncommand = 1\n\"\"\"\n";
    let large: String = (0..300).map(|number| format!("[t{number}]\nx = {number}\n\n")).collect();
    vec![
        ("missing", None),
        ("empty", Some(String::new())),
        ("blank", Some("\n\n".to_owned())),
        ("a byte order mark and nothing", Some("\u{feff}".to_owned())),
        ("only a comment", Some("# nothing yet".to_owned())),
        ("one key", Some("model = \"o3\"\n".to_owned())),
        ("no final line break", Some("model = \"o3\"".to_owned())),
        ("usual", Some(usual.to_owned())),
        ("usual without a final line break", Some(usual.trim_end().to_owned())),
        ("Windows' line breaks", Some(usual.replace('\n', "\r\n"))),
        ("a byte order mark", Some(format!("\u{feff}{usual}"))),
        ("mixed line breaks", Some(usual.replacen('\n', "\r\n", 3))),
        ("blank lines at the end", Some(format!("{usual}\n\n\n"))),
        ("tabs", Some("\t[a]\n\tb = 1\n".to_owned())),
        ("a table of servers with a heading", Some("[mcp_servers]\n\n[other]\n".to_owned())),
        ("servers with dots", Some("mcp_servers.other.command = \"x\"\nmodel = \"y\"\n".to_owned())),
        ("servers in one line", Some("mcp_servers = { other = { command = \"x\" } }\n".to_owned())),
        ("no servers in one line", Some("mcp_servers = {}\n".to_owned())),
        ("numbers and dates", Some("a = 1_000\nb = 0xff\nc = 1979-05-27T07:32:00Z\nd = [inf, -0.0]\n".to_owned())),
        ("quoted names", Some("[\"mcp_servers\".\"a.b\"]\n'x y' = { \"mcp_servers.yore\" = 1 }\n".to_owned())),
        ("large", Some(large)),
        ("hooks of its own", Some("[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\n".to_owned())),
    ]
}

fn texts() -> Vec<(&'static str, Option<String>)> {
    let usual = "# House rules\n\n- Use tabs.\n\n```md\n<!-- yore -->\n```\n";
    let mut texts = vec![
        ("missing", None),
        ("empty", Some(String::new())),
        ("blank", Some("\n".to_owned())),
        ("blanks", Some("\n\n \n".to_owned())),
        ("one line", Some("Be brief.".to_owned())),
        ("usual", Some(usual.to_owned())),
        ("no final line break", Some(usual.trim_end().to_owned())),
        ("blank lines at the end", Some(format!("{usual}\n\n"))),
        ("Windows' line breaks", Some(usual.replace('\n', "\r\n"))),
        ("Windows' line breaks, none at the end", Some(usual.trim_end().replace('\n', "\r\n"))),
        ("mixed line breaks", Some(usual.replacen('\n', "\r\n", 1))),
        ("a byte order mark", Some(format!("\u{feff}{usual}"))),
        ("a comment that is open", Some("<!-- a note\n".to_owned())),
        ("front matter", Some("---\na: b\n---\n\nText\n".to_owned())),
        ("large", Some("A line of text.\n".repeat(2_000))),
    ];
    texts.extend(["é\n", "\t\n", "a\n\n\n", "`<!-- yore: end -->`\n", "no\nend\n\n "].map(|text| ("odd", Some(text.to_owned()))));
    texts
}

fn lists() -> Vec<(&'static str, Option<String>)> {
    let cases = [
        "",
        "\n",
        "model: x\n",
        "model: x",
        "# read: y\nmodel: x\n",
        "model: x\r\nauto-commits: false\r\n",
        "read: CONVENTIONS.md\n",
        "read: CONVENTIONS.md",
        "read: \"a b.md\"\nmodel: x\n",
        "read: 'it''s.md'\n",
        "read: [a.md]\n",
        "read: [a.md, 'b, c.md']\nmodel: x\n",
        "read: [ a.md , b.md ]\n",
        "read: []\n",
        "read:\n  - a.md\n  - b.md\n",
        "read:\n- a.md\n\nmodel: x\n",
        "read:\n    - a.md\n    # more\n    - b.md",
        "\u{feff}model: x\nread:\n  - \"a.md\"\n",
        "---\nmodel: x\n",
        "readonly: x\nthread: y\n",
        "model: x\nread:\nauto: y\n",
        "read:\r\n  - a.md\r\nmodel: x\r\n",
    ];
    let mut lists = vec![("missing", None)];
    lists.extend(cases.map(|text| (text, Some(text.to_owned()))));
    lists
}

fn fixtures(edit: &FileEdit) -> Vec<(&'static str, Option<String>)> {
    match &edit.content {
        Content::Json(_) => objects(&edit.content),
        Content::Toml(_) => tables(),
        Content::Markdown(_) => texts(),
        Content::YamlServer(_) => lists(),
        Content::Whole(_) => vec![("missing", None), ("empty", Some(String::new()))],
    }
}

/// Puts the `number`th text of its kind into every file of an agent; returns their names.
fn prepare(computer: &Computer, agent: &Agent, scope: Scope, number: usize) -> Option<String> {
    let mut names = Vec::new();
    let mut is_new = false;
    let mut written = Vec::new();
    for edit in computer.edits(agent, scope) {
        if written.contains(&edit.path) {
            continue;
        }
        written.push(edit.path.clone());
        let texts = fixtures(&edit);
        is_new |= number < texts.len();
        let (name, text) = &texts[number % texts.len()];
        names.push(*name);
        if let Some(text) = text {
            fs::create_dir_all(edit.path.parent().unwrap()).unwrap();
            fs::write(&edit.path, text).unwrap();
        }
    }
    is_new.then(|| names.join(", "))
}

fn value(text: &str) -> Value {
    Document::parse(text).unwrap().root.map(|root| root.value()).unwrap_or_default()
}

/// Returns the values of a JSON file without yore's entries and without what is then empty. It does not use
/// the program's own code for that.
fn foreign(text: &str) -> Value {
    fn prune(value: &mut Value, name: &str) {
        match value {
            Value::Object(members) => {
                let is_server =
                    |value: &Value| value.to_string().contains("/opt/a b/yore") || value.to_string().contains("yore.exe");
                if members.get("yore").is_some_and(is_server) {
                    members.shift_remove("yore");
                }
                for (name, value) in members.iter_mut() {
                    prune(value, name);
                }
                members.retain(|_, value| *value != json!({}) && *value != json!([]) && !value.is_null());
            }
            Value::Array(elements) if name != "args" => {
                elements.retain(|element| {
                    let text = element.to_string();
                    !((text.contains("/opt/a b/yore") || text.contains("yore.exe")) && text.contains("hook"))
                });
                elements.iter_mut().for_each(|element| prune(element, ""));
            }
            _ => {}
        }
    }
    let mut value = value(text);
    prune(&mut value, "");
    if let Value::Object(members) = &mut value {
        if members.get("version") == Some(&json!(1)) {
            members.shift_remove("version");
        }
        members.shift_remove("statusLine");
    }
    if value.is_null() { json!({}) } else { value }
}

/// Runs `act` for every agent, scope, platform and fixture. With a `stride`, only every so many fixtures are
/// used, but different ones for each agent.
fn everywhere(stride: usize, act: impl Fn(&Computer, &'static Agent, Scope, &str) + Sync) {
    let of_agent = |place: usize| {
        let agent = &AGENTS[place];
        for (platform, scope) in PLATFORMS.into_iter().flat_map(|platform| SCOPES.map(|scope| (platform, scope))) {
            // The texts are changed alike on every platform; only paths and commands differ.
            let stride = if platform == Platform::Xdg { stride } else { stride.max(10) };
            for number in (0..).skip(place % stride).step_by(stride) {
                let computer = Computer::new(platform);
                let Some(names) = prepare(&computer, agent, scope, number) else { break };
                act(&computer, agent, scope, &format!("{} {} {platform:?}: {names}", agent.name, scope.name()));
            }
        }
    };
    // Most of the time is spent waiting for the disk.
    std::thread::scope(|scope| {
        for place in 0..AGENTS.len() {
            let of_agent = &of_agent;
            scope.spawn(move || of_agent(place));
        }
    });
}

#[test]
fn twenty_texts_of_every_kind_are_tried() {
    let computer = Computer::new(Platform::Xdg);
    for agent in &AGENTS {
        for edit in SCOPES.into_iter().flat_map(|scope| computer.edits(agent, scope)) {
            let is_whole = matches!(edit.content, Content::Whole(_));
            assert!(is_whole || fixtures(&edit).len() >= 20, "{}", edit.path.display());
        }
    }
}

#[test]
fn in_and_in_again_and_out_leaves_every_file_as_it_was() {
    everywhere(1, |computer, agent, scope, case| {
        let before = computer.state();
        let first = computer.install(agent, scope);
        assert!(!first.is_empty() && first.iter().all(|done| done.outcome.is_change()), "{case}: {first:#?}");
        let installed = computer.state();
        for done in &first {
            let old = before.get(&done.path).cloned().flatten().unwrap_or_default();
            let new = fs::read_to_string(&done.path).unwrap();
            if done.path.extension().is_some_and(|ending| ending == "json") {
                assert_eq!(foreign(&old), foreign(&new), "{case}: {}", done.path.display());
            }
        }
        let second = computer.install(agent, scope);
        assert!(second.iter().all(|done| done.outcome == Outcome::Already), "{case}: {second:#?}");
        assert_eq!(computer.state(), installed, "{case}");
        let out = computer.uninstall(agent, scope);
        assert!(out.iter().all(|done| matches!(done.outcome, Outcome::Restored | Outcome::Removed)), "{case}: {out:#?}");
        assert_eq!(computer.state(), before, "{case}");
        assert!(computer.uninstall(agent, scope).is_empty(), "{case}");
    });
}

#[test]
fn comments_alone_come_back_as_they_were_and_a_lone_carriage_return_is_refused() {
    let computer = Computer::new(Platform::Xdg);
    let mut tried = 0;
    for edit in AGENTS.iter().flat_map(|agent| computer.edits(agent, Scope::User)) {
        let path = edit.path.display();
        if matches!(edit.content, Content::Json(_)) {
            let text = "// mine, all of it\n";
            let Ok(put) = edit.content.put(Some(text)) else { continue };
            let taken = edit.content.take(&put, super::edit::Original::Text(text));
            assert_eq!(taken, Ok(Some(text.to_owned())), "{path}");
            tried += 1;
        }
        assert!(edit.content.put(Some("# mine\r")).is_err(), "{path}");
    }
    assert!(tried > 3, "{tried}");
}

#[test]
fn without_the_record_ours_goes_and_the_rest_stays() {
    everywhere(4, |computer, agent, scope, case| {
        let before = computer.state();
        computer.install(agent, scope);
        fs::remove_dir_all(computer.data()).unwrap();
        let out = computer.uninstall(agent, scope);
        assert!(out.iter().all(|done| matches!(done.outcome, Outcome::Cleaned | Outcome::Removed)), "{case}: {out:#?}");
        let found = computer.with_machine(|machine| installed(&AGENTS, machine));
        assert!(found.is_empty(), "{case}: {found:#?}");
        for edit in computer.edits(agent, scope) {
            let old = before.get(&edit.path).cloned().flatten().unwrap_or_default();
            let new = fs::read_to_string(&edit.path).unwrap_or_default();
            match &edit.content {
                Content::Json(_) => assert_eq!(foreign(&old), foreign(&new), "{case}"),
                _ => assert_eq!(new, old, "{case}: {}", edit.path.display()),
            }
        }
    });
}

#[test]
fn continue_has_the_server_in_its_own_settings_where_there_are_some() {
    let agent = agents::agent("continue").unwrap();
    for text in ["name: mine\nversion: 0.0.1\n", "name: mine", "mcpServers:\n- name: other\n  command: x\n"] {
        let computer = Computer::new(Platform::Xdg);
        let settings = computer.with_machine(|machine| machine.at_home(".continue/config.yaml"));
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, text).unwrap();
        computer.install(agent, Scope::User);
        let written = fs::read_to_string(&settings).unwrap();
        assert!(written.contains("- name: yore"), "{written}");
        assert!(!settings.with_file_name("mcpServers").exists(), "it would be there twice");
        let after = computer.state();
        computer.install(agent, Scope::User);
        assert_eq!(computer.state(), after);
        computer.uninstall(agent, Scope::User);
        assert_eq!(fs::read_to_string(&settings).unwrap(), text);
    }
}

#[test]
fn what_somebody_changed_since_stays() {
    everywhere(4, |computer, agent, scope, case| {
        let before = computer.state();
        computer.install(agent, scope);
        let mut edited = Vec::new();
        for edit in computer.edits(agent, scope) {
            let text = fs::read_to_string(&edit.path).unwrap();
            let changed = match &edit.content {
                Content::Json(_) => {
                    let document = Document::parse(&text).unwrap();
                    super::edit::json::insert_member(&document, document.root.as_ref().unwrap(), "since", &json!([true]))
                }
                Content::Toml(_) => format!("{text}\n\n# since\n[since]\nx = 1\n"),
                Content::Markdown(_) => format!("{text}\nSince.\n"),
                Content::YamlServer(_) => format!("{text}\nsince: true\n"),
                Content::Whole(_) => format!("{text}\n# since\n"),
            };
            fs::write(&edit.path, changed).unwrap();
            if !edited.contains(&edit.path) {
                edited.push(edit.path);
            }
        }
        let out = computer.uninstall(agent, scope);
        assert_eq!(out.len(), edited.len(), "{case}: {out:#?}");
        for done in out {
            let new = fs::read_to_string(&done.path).ok();
            match done.outcome {
                Outcome::Cleaned => assert!(new.unwrap().to_lowercase().contains("since"), "{case}"),
                Outcome::RemovedWithCopy(copy) => {
                    assert!(new.is_none() && fs::read_to_string(copy).unwrap().contains("# since"), "{case}");
                }
                outcome => panic!("{case}: {outcome:?}"),
            }
        }
        let found = computer.with_machine(|machine| installed(&AGENTS, machine));
        assert!(found.is_empty(), "{case}: {found:#?}");
        for path in edited.iter().filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
            let mut old = before.get(path).cloned().flatten().map(|text| value(&text)).unwrap_or_default();
            if old.is_null() {
                old = json!({});
            }
            old["since"] = json!([true]);
            assert_eq!(value(&fs::read_to_string(path).unwrap()), old, "{case}: {}", path.display());
        }
    });
}

#[test]
fn older_entry_is_corrected_where_it_stands_and_does_not_come_back() {
    for platform in PLATFORMS {
        for agent in &AGENTS {
            for scope in SCOPES {
                let mut computer = Computer::new(platform);
                let new = computer.program.path.clone();
                computer.program.path = new.replace("yore.exe", "old\\yore.exe").replace("/yore", "/old/yore");
                let clean = computer.state();
                computer.install(agent, scope);
                // The record is lost.
                fs::remove_dir_all(computer.data()).unwrap();
                computer.program.path = new;
                let old = computer.state();
                let case = format!("{} {} {platform:?}", agent.name, scope.name());
                let done = computer.install(agent, scope);
                let changed: Vec<&Done> = done.iter().filter(|done| done.outcome.is_change()).collect();
                assert!(changed.iter().all(|done| done.outcome == Outcome::Changed), "{case}: {done:#?}");
                let names_program = |done: &Done| done.parts.iter().any(|part| *part != Part::Rules);
                assert_eq!(changed.len(), done.iter().filter(|done| names_program(done)).count(), "{case}: {done:#?}");
                for done in &changed {
                    let (before, after) = (old[&done.path].clone().unwrap(), fs::read_to_string(&done.path).unwrap());
                    assert_eq!(before.lines().count(), after.lines().count(), "{case}");
                    let names_old = ["old/yore", "old\\yore", "old\\\\yore"].iter().any(|path| after.contains(path));
                    assert!(!names_old, "{case}: {after}");
                }
                computer.uninstall(agent, scope);
                let left: Vec<PathBuf> =
                    computer.state().into_iter().filter(|(_, text)| text.is_some()).map(|(path, _)| path).collect();
                let found = computer.with_machine(|machine| installed(&AGENTS, machine));
                assert!(found.is_empty(), "{case}: {found:#?}");
                for path in left {
                    // A file that existed before the record may also belong to others.
                    assert!(
                        clean.contains_key(&path)
                            || matches!(fs::read_to_string(&path).unwrap().trim(), "" | "{}" | "{\n  \"version\": 1\n}"),
                        "{case}: {}",
                        path.display()
                    );
                }
            }
        }
    }
}

#[test]
fn what_a_person_set_in_our_entries_stays() {
    let computer = Computer::new(Platform::Xdg);
    let agent = agents::agent("cursor").unwrap();
    let place = computer.root.join("home/.cursor/mcp.json");
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let text = "{\n  \"mcpServers\": {\n    // ours\n    \"yore\": {\n      \"command\": \"/old/yore\",\n      \"env\": {\"A\": \"b\"}, // mine\n      \"disabled\": true\n    }\n  }\n}\n";
    fs::write(&place, text).unwrap();
    computer.install(agent, Scope::User);
    let after = fs::read_to_string(&place).unwrap();
    let expected = text
        .replace("/old/yore", "/opt/a b/yore")
        .replace("\"disabled\": true\n", "\"disabled\": true,\n      \"args\": [\"mcp\"]\n");
    assert_eq!(after, expected);
}

#[test]
fn foreign_entry_of_our_name_and_broken_files_are_left_alone() {
    let broken = [
        "{",
        "[]",
        "7",
        "{\"a\": 1} x",
        "{\"mcpServers\": 1, \"servers\": 1, \"mcp\": 1, \"context_servers\": 1, \"hooks\": 1, \"version\": 1}",
        "{'a': 1}",
    ];
    let foreign = "{\"mcpServers\": {\"yore\": {\"command\": \"npx\"}}, \"servers\": {\"yore\": {\"url\": \"x\"}}, \"mcp\": {\"yore\": {\"command\": [\"npx\"]}}, \"context_servers\": {\"yore\": 1}, \"hooks\": []}";
    for agent in &AGENTS {
        for scope in SCOPES {
            for text in broken.iter().chain([&foreign, &"a = ", &"mcp_servers.yore.command = \"npx\""]) {
                let computer = Computer::new(Platform::Xdg);
                for edit in computer.edits(agent, scope) {
                    let text = match &edit.content {
                        Content::Json(_) | Content::Toml(_) => text,
                        Content::Markdown(_) => "<!-- yore: written by `yore install`, taken away by `yore uninstall` -->\n",
                        Content::YamlServer(_) => "mcpServers: []\n",
                        Content::Whole(_) => "somebody else's",
                    };
                    fs::create_dir_all(edit.path.parent().unwrap()).unwrap();
                    fs::write(&edit.path, text).unwrap();
                }
                let before = computer.state();
                let not_the_status_line = |part: Part| part != Part::StatusLine;
                let done = computer.with_installer(scope, |installer| installer.install(agent, &not_the_status_line));
                for done in &done {
                    assert!(matches!(&done.outcome, Outcome::Refused(why) if !why.is_empty()), "{text}: {done:#?}");
                }
                assert_eq!(computer.state(), before, "{} {text}", agent.name);
                computer.uninstall(agent, scope);
                assert_eq!(computer.state(), before, "{} {text}", agent.name);
            }
        }
    }
}

#[test]
fn files_of_agents_that_share_them_go_with_the_last() {
    let computer = Computer::new(Platform::Xdg);
    let (editor, terminal) = (agents::agent("vscode").unwrap(), agents::agent("copilot-cli").unwrap());
    let before = computer.state();
    computer.install(editor, Scope::Project);
    let with_editor = computer.state();
    let done = computer.install(terminal, Scope::Project);
    assert!(done.iter().any(|done| done.outcome == Outcome::Already), "{done:#?}");
    let out = computer.uninstall(terminal, Scope::Project);
    assert!(out.iter().any(|done| done.outcome == Outcome::Kept(vec!["vscode".to_owned()])), "{out:#?}");
    let ours = |state: BTreeMap<PathBuf, Option<String>>| -> BTreeMap<PathBuf, Option<String>> {
        state.into_iter().filter(|(path, _)| !path.starts_with(computer.data())).collect()
    };
    assert_eq!(ours(computer.state()), ours(with_editor));
    computer.uninstall(editor, Scope::Project);
    assert_eq!(computer.state(), before);
}

#[test]
fn parts_can_be_left_out_and_added_later() {
    for agent in &AGENTS {
        for scope in SCOPES {
            let computer = Computer::new(Platform::Xdg);
            let before = computer.state();
            computer.with_installer(scope, |installer| installer.install(agent, &|part| part == Part::Mcp));
            let found = computer.with_machine(|machine| installed(&AGENTS, machine));
            assert!(found.iter().all(|found| matches!(found.what, What::Mcp { .. })), "{found:#?}");
            computer.with_installer(scope, |installer| installer.install(agent, &|part| part != Part::Mcp));
            computer.install(agent, scope);
            computer.uninstall(agent, scope);
            assert_eq!(computer.state(), before, "{} {}", agent.name, scope.name());
        }
    }
}

#[test]
fn status_line_of_somebody_is_left_and_ours_is_put_where_there_is_none() {
    let computer = Computer::new(Platform::Xdg);
    let agent = agents::agent("claude").unwrap();
    let settings = computer.root.join("home/.claude/settings.json");
    computer.install(agent, Scope::User);
    let text = fs::read_to_string(&settings).unwrap();
    assert_eq!(value(&text)["statusLine"], json!({"type": "command", "command": "\"/opt/a b/yore\" status-line"}));
    computer.uninstall(agent, Scope::User);
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}}").unwrap();
    let done = computer.install(agent, Scope::User);
    let refused: Vec<&Done> = done.iter().filter(|done| matches!(done.outcome, Outcome::Refused(_))).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].parts, [Part::StatusLine]);
    assert!(fs::read_to_string(&settings).unwrap().contains("SessionStart"));
}

#[test]
fn what_is_installed_is_read_back_as_the_agent_reads_it() {
    for platform in PLATFORMS {
        let computer = Computer::new(platform);
        let program = &computer.program.path;
        for agent in &AGENTS {
            for scope in SCOPES {
                computer.install(agent, scope);
            }
        }
        let found = computer.with_machine(|machine| installed(&AGENTS, machine));
        for one in &found {
            match &one.what {
                What::Mcp { program: found, args, .. } => {
                    assert_eq!((found, args.as_slice()), (program, ["mcp".to_owned()].as_slice()));
                }
                What::Plugin { program: found, args } => assert_eq!((found, args.as_slice()), (program, [].as_slice())),
                What::Hook { call, event, timeout, .. } => {
                    let words = match call {
                        Call::Line(line) => super::command::words(line),
                        Call::Program { program, args } => [std::slice::from_ref(program), args.as_slice()].concat(),
                        Call::File { file, program: found } => {
                            assert!(fs::read_to_string(file).unwrap().contains("hook cline"));
                            assert_eq!(found, program);
                            continue;
                        }
                    };
                    let name = if one.agent == "vscode" { "copilot-chat" } else { one.agent };
                    assert_eq!(words, [program, "hook", name, event], "{one:#?}");
                    assert!(
                        one.agent == "windsurf" || timeout.is_some_and(|timeout| (2..=10).contains(&timeout.as_secs())),
                        "{one:#?}"
                    );
                }
                What::Rules | What::Skill | What::StatusLine { .. } => {}
                What::Unreadable(problem) => panic!("{problem}"),
            }
        }
        for agent in &AGENTS {
            for scope in SCOPES {
                let parts: Vec<Part> = computer.edits(agent, scope).iter().flat_map(|edit| edit.content.parts()).collect();
                let has = |part: Part| {
                    found.iter().any(|one| {
                        one.agent == agent.name
                            && one.scope == scope
                            && match one.what {
                                What::Mcp { .. } => part == Part::Mcp,
                                What::Hook { .. } | What::Plugin { .. } => part == Part::Hooks,
                                What::StatusLine { .. } => part == Part::StatusLine,
                                What::Skill => part == Part::Skill,
                                _ => part == Part::Rules,
                            }
                    })
                };
                assert!(parts.iter().all(|part| has(*part)), "{} {} {platform:?}", agent.name, scope.name());
            }
        }
    }
}

/// Returns the files of each agent below a home and a project, with these environment variables.
fn places(platform: Platform, scope: Scope, variables: &[(&str, &str)], folders: &[&str]) -> String {
    let mut computer = Computer::new(platform);
    let root = computer.root.to_str().unwrap().to_owned();
    computer.variables =
        variables.iter().map(|(name, value)| ((*name).to_owned(), value.replace('~', &format!("{root}/home")))).collect();
    for folder in folders {
        fs::create_dir_all(computer.root.join(folder)).unwrap();
    }
    let mut lines = String::new();
    for agent in &AGENTS {
        let paths: Vec<String> = computer
            .edits(agent, scope)
            .iter()
            .map(|edit| edit.path.to_str().unwrap().replace(&format!("{root}/home"), "~").replace(&format!("{root}/work"), "."))
            .collect();
        let mut seen = paths.clone();
        seen.dedup();
        lines.push_str(&format!("{}: {}\n", agent.name, seen.join(", ")));
    }
    lines
}

#[test]
fn files_lie_where_each_platform_has_them() {
    insta::assert_snapshot!(places(Platform::Xdg, Scope::User, &[], &[]), @r#"
    claude-code: ~/.claude/settings.json, ~/.claude.json, ~/.claude/skills/yore-distil/SKILL.md
    cursor: ~/.cursor/mcp.json, ~/.cursor/hooks.json
    codex: ~/.codex/config.toml, ~/.codex/hooks.json, ~/.codex/skills/yore-distil/SKILL.md
    gemini: ~/.gemini/settings.json, ~/.gemini/skills/yore-distil/SKILL.md
    qwen: ~/.qwen/settings.json, ~/.qwen/skills/yore-distil/SKILL.md
    opencode: ~/.config/opencode/opencode.json, ~/.config/opencode/plugins/yore.js
    vscode: ~/.config/Code/User/mcp.json, ~/.config/Code/User/prompts/yore.instructions.md, ~/.copilot/hooks/yore-vscode.json
    copilot-cli: ~/.copilot/mcp-config.json, ~/.copilot/hooks/yore.json, ~/.copilot/copilot-instructions.md
    windsurf: ~/.codeium/windsurf/mcp_config.json, ~/.codeium/windsurf/hooks.json, ~/.codeium/windsurf/memories/global_rules.md
    zed: ~/.config/zed/settings.json
    cline: ~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json, ~/Documents/Cline/Hooks/TaskStart, ~/Documents/Cline/Hooks/TaskResume, ~/Documents/Cline/Hooks/UserPromptSubmit, ~/Documents/Cline/Hooks/PreCompact, ~/Documents/Cline/Hooks/TaskComplete, ~/Documents/Cline/Hooks/TaskCancel, ~/Documents/Cline/Rules/yore.md
    roo: ~/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json, ~/.roo/rules/yore.md
    kilo: ~/.config/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json, ~/.kilocode/rules/yore.md
    continue: ~/.continue/mcpServers/yore.yaml, ~/.continue/rules/yore.md
    aider: ~/.aider.yore.md
    "#);
    insta::assert_snapshot!(places(Platform::Mac, Scope::User, &[], &[]), @r#"
    claude-code: ~/.claude/settings.json, ~/.claude.json, ~/.claude/skills/yore-distil/SKILL.md
    cursor: ~/.cursor/mcp.json, ~/.cursor/hooks.json
    codex: ~/.codex/config.toml, ~/.codex/hooks.json, ~/.codex/skills/yore-distil/SKILL.md
    gemini: ~/.gemini/settings.json, ~/.gemini/skills/yore-distil/SKILL.md
    qwen: ~/.qwen/settings.json, ~/.qwen/skills/yore-distil/SKILL.md
    opencode: ~/.config/opencode/opencode.json, ~/.config/opencode/plugins/yore.js
    vscode: ~/Library/Application Support/Code/User/mcp.json, ~/Library/Application Support/Code/User/prompts/yore.instructions.md, ~/.copilot/hooks/yore-vscode.json
    copilot-cli: ~/.copilot/mcp-config.json, ~/.copilot/hooks/yore.json, ~/.copilot/copilot-instructions.md
    windsurf: ~/.codeium/windsurf/mcp_config.json, ~/.codeium/windsurf/hooks.json, ~/.codeium/windsurf/memories/global_rules.md
    zed: ~/.config/zed/settings.json
    cline: ~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json, ~/Documents/Cline/Hooks/TaskStart, ~/Documents/Cline/Hooks/TaskResume, ~/Documents/Cline/Hooks/UserPromptSubmit, ~/Documents/Cline/Hooks/PreCompact, ~/Documents/Cline/Hooks/TaskComplete, ~/Documents/Cline/Hooks/TaskCancel, ~/Documents/Cline/Rules/yore.md
    roo: ~/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json, ~/.roo/rules/yore.md
    kilo: ~/Library/Application Support/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json, ~/.kilocode/rules/yore.md
    continue: ~/.continue/mcpServers/yore.yaml, ~/.continue/rules/yore.md
    aider: ~/.aider.yore.md
    "#);
    insta::assert_snapshot!(places(Platform::Windows, Scope::User, &[], &[]), @r#"
    claude-code: ~/.claude/settings.json, ~/.claude.json, ~/.claude/skills/yore-distil/SKILL.md
    cursor: ~/.cursor/mcp.json, ~/.cursor/hooks.json
    codex: ~/.codex/config.toml, ~/.codex/hooks.json, ~/.codex/skills/yore-distil/SKILL.md
    gemini: ~/.gemini/settings.json, ~/.gemini/skills/yore-distil/SKILL.md
    qwen: ~/.qwen/settings.json, ~/.qwen/skills/yore-distil/SKILL.md
    opencode: ~/.config/opencode/opencode.json, ~/.config/opencode/plugins/yore.js
    vscode: ~/AppData/Roaming/Code/User/mcp.json, ~/AppData/Roaming/Code/User/prompts/yore.instructions.md, ~/.copilot/hooks/yore-vscode.json
    copilot-cli: ~/.copilot/mcp-config.json, ~/.copilot/hooks/yore.json, ~/.copilot/copilot-instructions.md
    windsurf: ~/.codeium/windsurf/mcp_config.json, ~/.codeium/windsurf/hooks.json, ~/.codeium/windsurf/memories/global_rules.md
    zed: ~/AppData/Roaming/Zed/settings.json
    cline: ~/AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json, ~/Documents/Cline/Rules/yore.md
    roo: ~/AppData/Roaming/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json, ~/.roo/rules/yore.md
    kilo: ~/AppData/Roaming/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json, ~/.kilocode/rules/yore.md
    continue: ~/.continue/mcpServers/yore.yaml, ~/.continue/rules/yore.md
    aider: ~/.aider.yore.md
    "#);
    insta::assert_snapshot!(places(Platform::Windows, Scope::Project, &[], &[]), @r#"
    claude-code: ./.claude/settings.local.json, ./.mcp.json, ./.claude/skills/yore-distil/SKILL.md
    cursor: ./.cursor/mcp.json, ./.cursor/hooks.json, ./.cursor/rules/yore.mdc
    codex: ./.codex/config.toml, ./.codex/hooks.json, ./.codex/skills/yore-distil/SKILL.md
    gemini: ./.gemini/settings.json, ./.gemini/skills/yore-distil/SKILL.md
    qwen: ./.qwen/settings.json, ./.qwen/skills/yore-distil/SKILL.md
    opencode: ./opencode.json, ./.opencode/plugins/yore.js
    vscode: ./.vscode/mcp.json, ./.github/hooks/yore-vscode.json, ./.github/instructions/yore.instructions.md
    copilot-cli: ./.github/hooks/yore.json, ./.github/instructions/yore.instructions.md
    windsurf: ./.windsurf/hooks.json, ./.windsurf/rules/yore.md
    zed: ./.zed/settings.json, ./AGENTS.md
    cline: ./.clinerules/yore.md
    roo: ./.roo/mcp.json, ./.roo/rules/yore.md
    kilo: ./.kilocode/mcp.json, ./.kilocode/rules/yore.md
    continue: ./.continue/mcpServers/yore.yaml, ./.continue/rules/yore.md
    aider: ./.aider.yore.md
    "#);
    for platform in PLATFORMS {
        let with_hooks = places(Platform::Xdg, Scope::Project, &[], &[]);
        let others = |text: &str| text.lines().filter(|line| !line.starts_with("cline")).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(others(&places(platform, Scope::Project, &[], &[])), others(&with_hooks));
    }
}

#[test]
fn variables_and_what_is_there_move_them() {
    let variables = [
        ("CLAUDE_CONFIG_DIR", "~/cc"),
        ("CODEX_HOME", "~/cx"),
        ("GEMINI_CLI_HOME", "~/g"),
        ("XDG_CONFIG_HOME", "~/xdg"),
        ("COPILOT_HOME", "~/cp"),
        ("CLINE_DATA_DIR", "~/cl"),
        ("CONTINUE_GLOBAL_DIR", "~/cn"),
    ];
    let folders = [
        "home/cl",
        "home/xdg/kilo",
        "home/xdg/Code - Insiders/User",
        "home/xdg/VSCodium/User/globalStorage/saoudrizwan.claude-dev",
        "home/xdg/Cursor/User/globalStorage/saoudrizwan.claude-dev",
        "home/xdg/Cursor/User/globalStorage/rooveterinaryinc.roo-cline",
    ];
    insta::assert_snapshot!(places(Platform::Xdg, Scope::User, &variables, &folders), @r#"
    claude-code: ~/cc/settings.json, ~/cc/.claude.json, ~/cc/skills/yore-distil/SKILL.md
    cursor: ~/.cursor/mcp.json, ~/.cursor/hooks.json
    codex: ~/cx/config.toml, ~/cx/hooks.json, ~/cx/skills/yore-distil/SKILL.md
    gemini: ~/g/.gemini/settings.json, ~/g/.gemini/skills/yore-distil/SKILL.md
    qwen: ~/.qwen/settings.json, ~/.qwen/skills/yore-distil/SKILL.md
    opencode: ~/xdg/opencode/opencode.json, ~/xdg/opencode/plugins/yore.js
    vscode: ~/xdg/Code - Insiders/User/mcp.json, ~/xdg/Code - Insiders/User/prompts/yore.instructions.md, ~/xdg/VSCodium/User/mcp.json, ~/xdg/VSCodium/User/prompts/yore.instructions.md, ~/.copilot/hooks/yore-vscode.json
    copilot-cli: ~/cp/mcp-config.json, ~/cp/hooks/yore.json, ~/cp/copilot-instructions.md
    windsurf: ~/.codeium/windsurf/mcp_config.json, ~/.codeium/windsurf/hooks.json, ~/.codeium/windsurf/memories/global_rules.md
    zed: ~/xdg/zed/settings.json
    cline: ~/.cline/plugins/yore.js, ~/xdg/VSCodium/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json, ~/xdg/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json, ~/cl/settings/cline_mcp_settings.json, ~/Documents/Cline/Hooks/TaskStart, ~/Documents/Cline/Hooks/TaskResume, ~/Documents/Cline/Hooks/UserPromptSubmit, ~/Documents/Cline/Hooks/PreCompact, ~/Documents/Cline/Hooks/TaskComplete, ~/Documents/Cline/Hooks/TaskCancel, ~/Documents/Cline/Rules/yore.md
    roo: ~/xdg/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json, ~/.roo/rules/yore.md
    kilo: ~/xdg/kilo/kilo.jsonc, ~/xdg/kilo/plugins/yore.js, ~/.kilocode/rules/yore.md
    continue: ~/cn/mcpServers/yore.yaml, ~/cn/rules/yore.md
    aider: ~/.aider.yore.md
    "#);
    let windows = places(Platform::Windows, Scope::User, &[("APPDATA", "~/roaming")], &[]);
    assert!(
        windows.contains("vscode: ~/roaming/Code/User/mcp.json") && windows.contains("zed: ~/roaming/Zed/settings.json"),
        "{windows}"
    );
    let computer = Computer::new(Platform::Xdg);
    for file in ["home/.config/opencode/opencode.jsonc", "work/.rules", "work/AGENTS.md", "work/.clinerules"] {
        fs::create_dir_all(computer.root.join(file).parent().unwrap()).unwrap();
        fs::write(computer.root.join(file), "").unwrap();
    }
    let paths = |name: &str, scope: Scope| -> Vec<PathBuf> {
        let edits = computer.edits(agents::agent(name).unwrap(), scope);
        edits.into_iter().map(|edit| edit.path.strip_prefix(&computer.root).unwrap().to_path_buf()).collect()
    };
    assert_eq!(paths("opencode", Scope::User)[0], Path::new("home/.config/opencode/opencode.jsonc"));
    assert_eq!(paths("zed", Scope::Project)[1], Path::new("work/.rules"));
    assert_eq!(paths("cline", Scope::Project), [Path::new("work/.clinerules")]);
}

#[test]
fn windows_is_spoken_to_as_each_agent_asks_for_it() {
    let computer = Computer::new(Platform::Windows);
    for agent in &AGENTS {
        computer.install(agent, Scope::User);
    }
    let home = computer.root.join("home");
    let read = |name: &str| value(&fs::read_to_string(home.join(name)).unwrap());
    let path = "C:\\Program Files\\yore\\yore.exe";
    let claude = &read(".claude/settings.json")["hooks"]["Stop"][0]["hooks"][0];
    assert_eq!(*claude, json!({"type": "command", "command": path, "args": ["hook", "claude-code", "Stop"], "timeout": 5}));
    let line = "cmd /c call \"C:\\Program Files\\yore\\yore.exe\"";
    let codex = &read(".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0];
    assert_eq!(codex["commandWindows"], format!("{line} hook codex Stop"));
    assert_eq!(codex["command"], codex["commandWindows"]);
    let copilot = &read(".copilot/hooks/yore.json")["hooks"]["agentStop"][0];
    assert_eq!(
        *copilot,
        json!({"type": "command", "powershell": format!("& '{path}' hook copilot-cli agentStop"), "timeoutSec": 5})
    );
    let windsurf = &read(".codeium/windsurf/hooks.json")["hooks"]["pre_user_prompt"][0];
    assert_eq!(windsurf["powershell"], format!("& '{path}' hook windsurf pre_user_prompt"));
    assert_eq!(read(".cursor/mcp.json")["mcpServers"]["yore"], json!({"command": path, "args": ["mcp"]}));
    let codex = fs::read_to_string(home.join(".codex/config.toml")).unwrap();
    assert_eq!(codex, format!("[mcp_servers.yore]\ncommand = '{path}'\nargs = [\"mcp\"]\n"));
    let yaml = fs::read_to_string(home.join(".continue/mcpServers/yore.yaml")).unwrap();
    assert!(yaml.ends_with("    command: \"C:\\\\Program Files\\\\yore\\\\yore.exe\"\n    args: [\"mcp\"]\n"), "{yaml}");
    let plugin = fs::read_to_string(home.join(".config/opencode/plugins/yore.js")).unwrap();
    assert!(plugin.contains("const YORE = \"C:\\\\Program Files\\\\yore\\\\yore.exe\""), "{plugin}");
    assert!(!home.join("Documents/Cline/Hooks").exists());
}

proptest! {
    #[test]
    fn any_object_takes_entries_and_gives_them_back(text in super::edit::json::tests::written(), agent in 0..AGENTS.len()) {
        let document = Document::parse(&text).unwrap();
        let Some(members) = document.root.as_ref().and_then(|root| root.members()) else { return Ok(()) };
        let computer = Computer::new(Platform::Xdg);
        for edit in computer.edits(&AGENTS[agent], Scope::User) {
            if !matches!(edit.content, Content::Json(_)) {
                continue;
            }
            let after = edit.content.put(Some(&text)).unwrap();
            prop_assert_eq!(&edit.content.put(Some(&after)).unwrap(), &after);
            let back = edit.content.take(&after, Original::Text(&text)).unwrap().unwrap();
            if members.is_empty() {
                prop_assert_eq!(value(&back), value(&text));
            } else {
                prop_assert_eq!(&back, &text);
            }
            // Taking from a text without yore's entries changes nothing.
            let same = edit.content.take(&text, Original::Unknown).unwrap();
            prop_assert_eq!(same.as_ref(), Some(&text));
        }
    }
}

#[test]
fn data_directory_is_read_back_from_whatever_names_it() {
    let mut computer = Computer::new(Platform::Xdg);
    let data = "/my [data]/\"x\"";
    computer.program.data_dir = Some(data.to_owned());
    for name in ["opencode", "cline", "continue"] {
        computer.install(agents::agent(name).unwrap(), Scope::Project);
    }
    let found = computer.with_machine(|machine| installed(&AGENTS, machine));
    let named = ["--data-dir".to_owned(), data.to_owned()];
    let plugin = found.iter().find_map(|one| if let What::Plugin { args, .. } = &one.what { Some(args) } else { None });
    assert_eq!(plugin.unwrap(), &named);
    let is_written = |one: &Installed, program: &Program| {
        let agent = agents::agent(one.agent).unwrap();
        computer.with_machine(|machine| is_as_written(agent, one, machine, program))
    };
    let hook = found.iter().find(|one| matches!(one.what, What::Hook { .. })).unwrap();
    assert!(is_written(hook, &computer.program));
    assert!(!is_written(hook, &Program { data_dir: None, ..computer.program.clone() }), "another memory");
    fs::write(&hook.file, fs::read_to_string(&hook.file).unwrap() + "true\n").unwrap();
    assert!(!is_written(hook, &computer.program), "somebody changed it");
}
