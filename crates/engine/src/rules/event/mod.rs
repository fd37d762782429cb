//! Reads from a conversation what its tools report to have happened, from commands and commits to plans and errors.
//!
//! - [`events`]: all of them, each thing once
//! - `github`: what `gh` and `git` print

mod github;

use std::collections::HashMap;

use yore_core::episode::{FileAction, FileUse, Outcome, Role};
use yore_core::event::{Event, EventKind, EventState, Purpose, is_ticket};
use yore_core::exchange::TurnShape;
use yore_core::text::{command_of, cut, error_line, plain, steady};

use super::undone::{is_path, restored, written_after};

/// Longest name and longest text of an event, in characters.
const MOST_NAME_CHARS: usize = 160;
const MOST_TEXT_CHARS: usize = 300;
/// Most events of a conversation; one that has more repeats itself.
const MOST_EVENTS: usize = 2_000;
/// Words before what the person said when they refused a call.
const SAID: &str = "the user said:";
/// Beginnings of the notices that a call was refused.
pub(super) const REFUSED: [&str; 3] =
    ["The user doesn't want to proceed", "The user doesn't want to take this action", "User rejected"];
/// States of issues on which nobody works any more.
const CLOSED_STATES: [&str; 8] = ["done", "closed", "completed", "resolved", "canceled", "cancelled", "duplicate", "won't do"];
/// Words with which a program gives a plan to carry out.
const PLAN_GIVEN: &str = "Implement the following plan:";
/// Names of documents that guide work in a project, and the fewest lines and the beginning of a message with one.
const GUIDES: [&str; 7] =
    ["CLAUDE.md", "AGENTS.md", "GEMINI.md", "CONTRIBUTING.md", "README.md", "DEVELOPMENT.md", "copilot-instructions.md"];
const GUIDE_LINES: usize = 8;
/// Text of the event of a reading of a part.
const PART: &str = "part";
/// Share of the length of an earlier reading that a reading of the whole document has, in percent.
const WHOLE_PERCENT: usize = 80;
const GUIDE_HEAD: usize = 300;
/// States in lists of steps.
const STEP_STATES: [(&str, EventState); 3] =
    [("pending", EventState::Pending), ("in_progress", EventState::InProgress), ("completed", EventState::Done)];

/// A call of a tool with its answer.
#[derive(Clone, Copy, Debug)]
pub struct Call<'t> {
    /// Name of the tool.
    pub tool: &'t str,
    /// Its inputs, by lines.
    pub input: &'t str,
    /// Index of the turn that calls it.
    pub at: usize,
    /// Its outcome, if that was recorded.
    pub outcome: Option<Outcome>,
    /// Index and text of the turn with its answer.
    pub answer: Option<(usize, &'t str)>,
}

/// Returns the events of a conversation, in the order in which they were last reported. Turns are named by their index.
pub fn events(turns: &[TurnShape<'_>]) -> Vec<Event<usize>> {
    let mut found = Found { turns, events: Vec::new(), places: HashMap::new() };
    let mut steps = Steps::default();
    for call in calls(turns) {
        match call.tool {
            "TodoWrite" | "update_plan" => steps.replace(&call),
            "TaskCreate" | "TaskUpdate" => steps.change(&call),
            "ExitPlanMode" => found.plan(&call),
            tool if tool.ends_with("create_issue") || tool.ends_with("update_issue") => found.issue(&call),
            _ => found.commands(&call),
        }
        found.shown_pull_requests(&call);
        found.guide(&call);
        found.refusal(&call);
        found.taken_back(&call);
    }
    for (at, turn) in turns.iter().enumerate() {
        match turn.role {
            Role::Injected => found.given_guide(at, turn),
            Role::Human => found.given_plan(at, turn),
            Role::ToolResult if turn.is_error => found.error(at, turn),
            _ => {}
        }
    }
    for (at, name, state) in steps.known {
        found.add(EventKind::Todo, state, &name, "", at);
    }
    let mut events = found.events;
    events.sort_by_key(|event| event.turn);
    events.truncate(MOST_EVENTS);
    events
}

/// Returns the calls of tools, each with its answer. A message may make several calls: each begins with a line that is the tool's name.
pub fn calls<'t>(turns: &[TurnShape<'t>]) -> Vec<Call<'t>> {
    let mut calls: Vec<Call<'t>> = Vec::new();
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    for (at, turn) in turns.iter().enumerate() {
        if turn.role == Role::ToolResult {
            let [tool] = turn.tools else { continue };
            let call = tool.call_id.as_deref().and_then(|id| by_id.get(id)).map(|call| &mut calls[*call]);
            if let Some(call) = call {
                call.answer = Some((at, turn.tool_text));
                call.outcome = call.outcome.or(tool.outcome);
            }
            continue;
        }
        let mut rest = turn.tool_text;
        for (number, tool) in turn.tools.iter().enumerate() {
            let input = rest.strip_prefix(tool.name.as_str()).unwrap_or(rest);
            let next = turn.tools.get(number + 1).and_then(|next| input.find(&format!("\n{}\n", next.name)));
            let end = next.unwrap_or(input.len());
            rest = input[end..].trim_start_matches('\n');
            if let Some(id) = tool.call_id.as_deref() {
                by_id.insert(id, calls.len());
            }
            calls.push(Call { tool: &tool.name, input: &input[..end], at, outcome: tool.outcome, answer: None });
        }
    }
    calls
}

/// Returns the whole command of a call, without the change of directory before it.
pub fn command(input: &str) -> Option<String> {
    let line =
        input.lines().map(str::trim_start).find_map(|line| line.strip_prefix("command: ").or(line.strip_prefix("cmd: ")))?;
    // A program that runs other tools writes their input as code.
    let written = line.trim_end_matches(',');
    let command = serde_json::from_str::<String>(written).unwrap_or_else(|_| line.to_owned());
    Some(command).filter(|command| !command.trim().is_empty())
}

struct Found<'a, 't> {
    turns: &'a [TurnShape<'t>],
    events: Vec<Event<usize>>,
    /// Where an event is among the events.
    places: HashMap<(EventKind, String), usize>,
}

impl Found<'_, '_> {
    /// Adds an event, or to the count of a known one. A state that only was seen changes none that is known.
    fn add(&mut self, kind: EventKind, state: EventState, name: &str, text: &str, turn: usize) {
        let name = cut(name.trim(), MOST_NAME_CHARS);
        if name.is_empty() {
            return;
        }
        let (text, at) = (cut(text.trim(), MOST_TEXT_CHARS), self.turns[turn].at);
        // A command that passed and one that failed are two events, and so are readings of a document and of its part.
        let key = match kind {
            EventKind::Guide => format!("{name}\n{text}"),
            EventKind::Command => format!("{name}\n{}", state.as_str()),
            _ => name.clone(),
        };
        if let Some(place) = self.places.get(&(kind, key.clone())) {
            let known = &mut self.events[*place];
            known.count += 1;
            if !text.is_empty() && (known.text.is_empty() || kind == EventKind::Plan) {
                known.text = text;
            }
            if !state.is_only_seen() || known.state.is_only_seen() {
                (known.state, known.turn, known.at) = (state, turn, at.or(known.at));
            }
            return;
        }
        self.places.insert((kind, key), self.events.len());
        self.events.push(Event { kind, state, name, text, turn, at, count: 1 });
    }

    /// Adds what a shell command did.
    fn commands(&mut self, call: &Call<'_>) {
        let Some(command) = command(call.input) else { return };
        let (result, output) = call.answer.unwrap_or((call.at, ""));
        let has_failed = call.outcome == Some(Outcome::Failed) || self.turns[result].is_error;
        // A pipe or a list has one outcome, that of its last command; `&&` stops at the first that fails.
        let is_sure = !command.contains([';', '|']);
        for step in super::passed_commands::steps(&command) {
            let step = step.split(" | ").next().unwrap_or(step).split(" >").next().unwrap_or(step).trim();
            let step = step.strip_suffix("2>&1").unwrap_or(step).trim();
            if let Some(purpose) = Purpose::of(step).filter(|_| !step.contains('\n') && step.len() <= MOST_NAME_CHARS) {
                let state = match (has_failed, call.outcome) {
                    (true, _) => EventState::Failed,
                    (false, Some(Outcome::Done)) => EventState::Done,
                    _ => EventState::Seen,
                };
                self.add(EventKind::Command, state, step, purpose.as_str(), call.at);
            }
        }
        if !has_failed || !is_sure {
            for known in github::told(&command, call.input, output, is_sure && !has_failed) {
                self.add(known.kind, known.state, &known.name, &known.text, result);
            }
        }
    }

    /// Adds a document that guides work, if the agent read it from its first line.
    fn guide(&mut self, call: &Call<'_>) {
        let Some((result, text)) = call.answer else { return };
        let [file] = self.turns[call.at].files else { return };
        let first = text.trim_start().split(['→', '\t', '\n']).next().unwrap_or_default();
        // Some tools write the number before each line; another first line is a part.
        let is_whole = first.parse::<u32>().map_or(call.tool == "Read", |number| number == 1);
        if is_guide(&file.path) && is_whole && file.action == FileAction::Read && !self.turns[result].is_error {
            // One that ends early is of a part: it may be newer, and the whole one has the rest.
            let known = self.places.get(&(EventKind::Guide, format!("{}\n", file.path))).map(|place| self.events[*place].turn);
            let is_part = known.is_some_and(|turn| 100 * text.len() < WHOLE_PERCENT * self.turns[turn].tool_text.len());
            self.add(EventKind::Guide, EventState::Seen, &file.path, if is_part { PART } else { "" }, result);
        }
    }

    /// Adds a document that a program gave the agent with the first message.
    fn given_guide(&mut self, at: usize, turn: &TurnShape<'_>) {
        let head = &turn.text[..turn.text.floor_char_boundary(GUIDE_HEAD)];
        let named = head.split(|letter: char| letter.is_whitespace() || matches!(letter, '`' | '(' | ')' | ':'));
        let file = named.into_iter().find(|word| is_guide(word));
        if let Some(file) = file.filter(|_| turn.text.lines().count() >= GUIDE_LINES) {
            self.add(EventKind::Guide, EventState::Seen, file, "", at);
        }
    }

    /// Adds a plan that an agent presented.
    fn plan(&mut self, call: &Call<'_>) {
        let text = call.input.lines().map(str::trim);
        let Some(title) = text.map(|line| line.trim_start_matches("plan: ")).find_map(title_of_plan) else { return };
        let state = match call.outcome {
            Some(Outcome::Done) => EventState::Approved,
            Some(_) => EventState::Refused,
            None => EventState::Seen,
        };
        let said = call.answer.and_then(|(_, answer)| answer.split_once(SAID)).map(|(_, said)| plain(said));
        self.add(EventKind::Plan, state, &title, &said.unwrap_or_default(), call.at);
    }

    /// Adds a plan that was given to be carried out, and so was approved.
    fn given_plan(&mut self, at: usize, turn: &TurnShape<'_>) {
        let Some((_, plan)) = turn.text.split_once(PLAN_GIVEN) else { return };
        if let Some(title) = plan.lines().map(str::trim).find_map(title_of_plan) {
            self.add(EventKind::Plan, EventState::Approved, &title, "", at);
        }
    }

    /// Adds an issue of a tracker that a tool opened or changed. The state that the call asks for counts before the one that the answer
    /// has: a tracker may answer with what was there before.
    fn issue(&mut self, call: &Call<'_>) {
        let Some((result, answer)) = call.answer.filter(|(_, answer)| !is_refusal(answer)) else { return };
        if call.outcome == Some(Outcome::Failed) || self.turns[result].is_error {
            return;
        }
        let answered: Option<serde_json::Value> = serde_json::from_str(answer.trim()).ok();
        // A long answer is torn: then its first fields are read as text.
        let told = |name: &str| match &answered {
            Some(json) => json.get(name)?.as_str().map(str::to_owned),
            None => answer.split_once(&format!("\"{name}\":\""))?.1.split('"').next().map(str::to_owned),
        };
        let asked =
            |name: &str| call.input.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.to_owned()));
        let keys = ["identifier", "id"].into_iter().flat_map(|name| [told(name), asked(name)]).flatten();
        let Some(key) = keys.into_iter().find(|key| is_ticket(key)) else { return };
        // A tracker takes the id of a state as well, which says nothing.
        let is_name = |state: &String| !state.contains(|letter: char| letter.is_ascii_digit());
        let state = ["state", "status"].into_iter().find_map(asked);
        let is_asked = state.is_some() || call.tool.ends_with("create_issue");
        let is_closed = state
            .filter(is_name)
            .or_else(|| told("status"))
            .or_else(|| told("state"))
            .is_some_and(|state| is_closed_state(&state));
        let state = match (is_closed, is_asked) {
            (true, true) => EventState::Closed,
            (true, false) => EventState::WasClosed,
            (false, true) => EventState::Opened,
            (false, false) => EventState::WasOpen,
        };
        let title = told("title").or_else(|| asked("title")).unwrap_or_default();
        self.add(EventKind::Issue, state, &key, &title, result);
    }

    /// Adds the pull requests that a tool of GitHub shows.
    fn shown_pull_requests(&mut self, call: &Call<'_>) {
        let by_script = || call.tool == "exec" && call.input.contains("__github_");
        let by_command = || command(call.input).is_some_and(|command| command.contains("gh api "));
        if !(call.tool.to_lowercase().contains("github") || by_script() || by_command()) {
            return;
        }
        let Some((result, answer)) = call.answer else { return };
        for known in github::shown(answer) {
            self.add(known.kind, known.state, &known.name, &known.text, result);
        }
    }

    /// Adds a call that the person refused, with their words.
    fn refusal(&mut self, call: &Call<'_>) {
        let Some((result, answer)) = call.answer else { return };
        if call.tool == "ExitPlanMode" || !is_refusal(answer) {
            return;
        }
        let said = answer.split_once(SAID).map(|(_, said)| plain(said)).unwrap_or_default();
        let first = || {
            let input = call.input.lines().map(str::trim).filter(|line| !line.is_empty());
            input
                .filter_map(|line| line.split_once(": ").map(|(_, value)| value))
                .find(|value| !value.is_empty())
                .map(str::to_owned)
        };
        let input = command_of(call.input).map(str::to_owned).or_else(first);
        let name = format!("{} {}", call.tool, input.unwrap_or_default());
        self.add(EventKind::Refusal, EventState::Refused, &name, &said, result);
    }

    /// Adds the files whose edits a command took back, or whose edit the person refused, if they were not edited again.
    fn taken_back(&mut self, call: &Call<'_>) {
        let Some((result, answer)) = call.answer else { return };
        let is_refused = is_refusal(answer);
        let is_written = |file: &&FileUse| file.action == FileAction::Written;
        let mut found: Vec<(String, String)> = Vec::new();
        if is_refused {
            let said = answer.split_once(SAID).map(|(_, said)| plain(said)).unwrap_or_default();
            found.extend(self.turns[call.at].files.iter().filter(is_written).map(|file| (file.path.clone(), said.clone())));
        } else if let Some(command) = command(call.input).filter(|_| call.outcome == Some(Outcome::Done)) {
            let mut edits: Vec<&str> = Vec::new();
            for turn in &self.turns[..call.at] {
                // A committed change is not taken back.
                if turn.tool_text.contains("git commit") {
                    edits.clear();
                }
                edits.extend(turn.files.iter().filter(is_written).map(|file| file.path.as_str()));
            }
            for step in super::passed_commands::steps(&command) {
                for named in restored(step) {
                    let edited = edits.iter().rev().find(|path| is_path(path, named));
                    found.extend(edited.map(|path| ((*path).to_owned(), step.to_owned())));
                }
            }
        }
        for (path, by) in found {
            if !written_after(&self.turns[call.at + 1..], 0, std::slice::from_ref(&path)) {
                let state = if is_refused { EventState::Refused } else { EventState::Done };
                self.add(EventKind::TakenBack, state, &path, &by, result);
            }
        }
    }

    /// Adds the error that a tool reported.
    fn error(&mut self, at: usize, turn: &TurnShape<'_>) {
        let output = turn.tool_text;
        if is_refusal(output) {
            return;
        }
        let Some(line) = error_line(output) else { return };
        let steady = steady(line);
        self.add(EventKind::Error, EventState::Failed, steady.lines().next().unwrap_or_default(), line.trim(), at);
    }
}

/// Returns whether an answer is the notice that the person refused the call.
fn is_refusal(answer: &str) -> bool {
    REFUSED.iter().any(|notice| answer.trim_start().starts_with(notice))
}

/// Returns whether the name of an issue's state says that nobody works on it any more.
fn is_closed_state(state: &str) -> bool {
    CLOSED_STATES.contains(&state.to_lowercase().as_str())
}

fn is_guide(path: &str) -> bool {
    GUIDES.contains(&path.rsplit(['/', '\\']).next().unwrap_or(path))
}

/// Returns the title that a line of a plan is, if it is one.
fn title_of_plan(line: &str) -> Option<String> {
    let title = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let title = title.strip_prefix("Plan:").unwrap_or(title).trim();
    (!title.is_empty()).then(|| plain(title))
}

/// The steps of an agent's list, each as it stood last.
#[derive(Default)]
struct Steps {
    known: Vec<(usize, String, EventState)>,
    /// Places of the steps that have a number.
    by_number: HashMap<String, usize>,
}

impl Steps {
    /// Puts a whole list in the place of what is known.
    fn replace(&mut self, call: &Call<'_>) {
        let mut step: Option<&str> = None;
        for line in call.input.lines().map(str::trim) {
            let line = line.strip_prefix("todos: ").or(line.strip_prefix("plan: ")).unwrap_or(line);
            match (STEP_STATES.iter().find(|(name, _)| *name == line), step) {
                (Some((_, state)), Some(name)) => {
                    match self.known.iter_mut().find(|(_, known, _)| known == name) {
                        Some(known) => (known.0, known.2) = (call.at, *state),
                        None => self.known.push((call.at, name.to_owned(), *state)),
                    }
                    step = None;
                }
                (Some(_), None) => {}
                // The words for "while it is done" follow the state; what comes last before a state is the step.
                (None, _) => step = Some(line).filter(|line| !line.is_empty()),
            }
        }
    }

    /// Adds or changes one step.
    fn change(&mut self, call: &Call<'_>) {
        let field = |name: &str| call.input.lines().find_map(|line| line.trim().strip_prefix(name));
        if let Some(subject) = field("subject: ").filter(|_| call.tool == "TaskCreate") {
            let told = call.answer.and_then(|(_, answer)| answer.split_once("Task #")).map(|(_, rest)| rest);
            let number = told.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
            self.by_number.insert(number.unwrap_or_else(|| (self.by_number.len() + 1).to_string()), self.known.len());
            self.known.push((call.at, subject.to_owned(), EventState::Pending));
        } else if let (Some(number), Some(status)) = (field("taskId: "), field("status: ")) {
            let Some(place) = self.by_number.get(number.trim()) else { return };
            let state = STEP_STATES.iter().find(|(name, _)| *name == status.trim()).map(|(_, state)| *state);
            (self.known[*place].0, self.known[*place].2) = (call.at, state.unwrap_or(EventState::Closed));
        }
    }
}
