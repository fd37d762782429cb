use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::Args;
use yore_core::conflict::{Aspect, StatedValue, Touch};
use yore_core::id::MemoryId;
use yore_core::memory::MemoryKind;
use yore_core::note::NoteKind;
use yore_core::time::UtcMillis;
use yore_engine::{GivenEvidence, NewMemory, ProjectQuery, RememberRequest, Touched};
use yore_sources::project_names::{ProjectNames, names_of};
use yore_sources::source::note::MAX_BYTES;

use super::memories::aspect;
use super::{Context, memories};
use crate::config::SharedLevel;
use crate::engine_handle::{MemoryClient, Outcome};
use crate::error::{CliError, CliResult, Exit};
use crate::recall_request;
use crate::render::plain::one_line;
use crate::render::{self, text};
use crate::results::{self, RememberedFacts};
use crate::shared::mirror;
use crate::shared::publish::{FOR_EVERYBODY, is_personal};

/// Remember a statement, or a longer text as a note
///
/// The text is kept word for word, as your own, and can be found at once, from its project or from
/// everywhere. Prints its id: `yore show` shows it, `yore remember --replace` changes it and `yore forget` forgets it.
///
/// One line of at most 500 characters is a statement: yore tells which known statement it changes, contradicts or
/// repeats; it can be replaced and undone, and `yore memories` lists it. --kind says its kind, else its words do.
///
/// A longer text, one with a title and a standing instruction are notes, which are compared with nothing. `yore
/// memories --notes` lists them.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The text; `-`, or nothing, reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// Title; a text with a title and nothing that only a statement has is a note
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// Keep the text as a note, however short it is
    #[arg(long)]
    note: bool,
    /// Tag to find it by; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// A standing instruction: every session gets it at its beginning; `--standing=false` removes that from a
    /// note that is replaced
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    standing: Option<bool>,
    /// A JSON object to keep with the note
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Let it hold everywhere, not only in this project
    #[arg(long)]
    global: bool,
    /// Directory whose project it belongs to [default: the project of this directory]
    #[arg(short, long, value_name = "DIR", conflicts_with = "global")]
    project: Option<PathBuf>,
    /// Replace this. The statement takes the place of a memory. A note keeps its id, its project, and its title and tags
    /// unless they are given; an empty title or tag removes them
    #[arg(long, alias = "replaces", value_name = "ID")]
    replace: Option<String>,
    /// A memory beside which the statement holds, so that neither changes the other; may be repeated
    #[arg(long, value_name = "ID")]
    beside: Vec<String>,
    /// The memory that says the same; nothing new is recorded
    #[arg(long, value_name = "ID", conflicts_with = "replace")]
    same: Option<String>,
    #[command(flatten)]
    memory: MemoryArguments,
}

/// What only a statement has.
#[derive(Args, Debug)]
#[command(next_help_heading = "A statement (see `yore memories`)")]
struct MemoryArguments {
    /// Its kind, such as decision, solution, pattern, standard, preference, question or fact
    #[arg(short, long, value_name = "KIND", value_parser = memories::kind, conflicts_with_all = ["note", "standing", "metadata"])]
    kind: Option<MemoryKind>,
    /// More about the statement
    #[arg(long, value_name = "TEXT")]
    details: Option<String>,
    /// An entity that it is about, as NAME or KIND:NAME; may be repeated
    #[arg(short, long = "entity", value_name = "NAME")]
    entities: Vec<String>,
    /// A turn that says it; may be repeated
    #[arg(long = "evidence", value_name = "TURN")]
    evidence: Vec<String>,
    /// The thing that has one value at a time, such as `port of the harbour server`: a later memory with the same subject and aspect
    /// takes the place of this one
    #[arg(long, value_name = "NAME", requires = "value")]
    subject: Option<String>,
    /// The aspect of the subject that is told: value, version, place, owner, choice, status, rule [default: value]
    #[arg(long, value_name = "ASPECT", value_parser = aspect, requires = "subject")]
    aspect: Option<Aspect>,
    /// The value
    #[arg(long, value_name = "TEXT", requires = "subject")]
    value: Option<String>,
    /// Since when it is true
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    valid_from: Option<UtcMillis>,
    /// Until when it was true (exclusive)
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    valid_until: Option<UtcMillis>,
}

impl Arguments {
    /// Returns the kind of the memory to record; `None` if the text is to be kept as a note.
    fn kind_of(&self, words: &str, memory: &mut MemoryClient) -> CliResult<Option<MemoryKind>> {
        if self.memory.kind.is_some() {
            return Ok(self.memory.kind);
        }
        let is_note = self.note || self.standing.is_some() || self.metadata.is_some();
        if self.says_more_of_statement() {
            if is_note {
                let hint = "leave --note, --standing and --metadata out";
                return Err(CliError::usage("a note has no evidence, entities, value, time and other memory", Some(hint)));
            }
            let kind = memory.kind_of_text(words, self.replace.as_deref())?;
            return Ok(Some(kind.unwrap_or_else(|| MemoryKind::of_statement(words))));
        }
        if is_note || self.title.is_some() { Ok(None) } else { memory.kind_of_text(words, self.replace.as_deref()) }
    }

    /// Returns whether anything is given that only a statement has.
    fn says_more_of_statement(&self) -> bool {
        let MemoryArguments { kind: _, details, entities, evidence, subject, aspect: _, value: _, valid_from, valid_until } =
            &self.memory;
        let (is_related, has_time) = (!self.beside.is_empty() || self.same.is_some(), valid_from.or(*valid_until).is_some());
        is_related || has_time || details.is_some() || !entities.is_empty() || !evidence.is_empty() || subject.is_some()
    }
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let words = match arguments.text.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        given => read_input(given.is_some())?,
    };
    if words.trim().is_empty() {
        return Err(CliError::usage("the text is empty", None));
    }
    if words.len() > MAX_BYTES {
        return Err(CliError::usage(
            format!("the text is longer than {}", text::bytes(MAX_BYTES as u64)),
            Some("save it as a file and read that with `yore ingest --source file`"),
        ));
    }
    let mut memory = memory(context)?;
    if let Some(kind) = arguments.kind_of(&words, &mut memory)? {
        return remember_memory(kind, words, arguments, memory, context);
    }
    if arguments.replace.is_some() && (arguments.global || arguments.project.is_some()) {
        return Err(CliError::usage("a note that is replaced keeps its project", Some("leave --global and --project out")));
    }
    let directory = match &arguments.project {
        _ if arguments.global || arguments.replace.is_some() => None,
        Some(directory) if !directory.is_dir() => {
            return Err(CliError::usage(format!("{} is not a directory", directory.display()), None));
        }
        Some(directory) => directory.canonicalize().ok().and_then(|path| path.to_str().map(str::to_owned)),
        None => match context.settings.project_here() {
            Some(here) => memory.directory_of_note(here)?,
            None => None,
        },
    };
    let remembered = memory.remember(RememberRequest {
        replaces: arguments.replace.clone(),
        text: words,
        title: arguments.title.clone(),
        tags: arguments.tags.clone(),
        kind: arguments.standing.map(|is_standing| if is_standing { NoteKind::Standing } else { NoteKind::Note }),
        priority: None,
        is_unconfirmed: false,
        session: None,
        metadata: arguments.metadata.clone(),
        directory: directory.clone(),
        is_by_agent: false,
        related: None,
    })?;
    let id = remembered.episode.to_string();
    if context.printer.is_json() {
        let note = memory.note(id.clone())?;
        context.printer.json(&results::Remembered {
            id,
            turn: remembered.turn.to_string(),
            kind: Some(note.facts.kind),
            facts: Some(RememberedFacts {
                title: note.facts.title,
                tags: note.facts.tags,
                version: note.version,
                project: note.project,
                directory,
            }),
            was_known: remembered.was_known,
            redactions: remembered.redactions,
        })?;
        return Ok(Exit::Success);
    }
    context.printer.line(id)?;
    if remembered.was_known {
        context.printer.note("already known: nothing was stored")?;
    } else {
        let what = if arguments.standing == Some(true) { "a standing note" } else { "a note" };
        let place = match (&arguments.replace, &directory) {
            (Some(_), _) => "in the place of the former version".to_owned(),
            (None, Some(directory)) => format!("for the project in {}", text::harmless(directory)),
            (None, None) => "for all projects".to_owned(),
        };
        context.printer.note(format!("stored as {what} {place}"))?;
    }
    if !remembered.was_known && remembered.redactions > 0 {
        context.printer.note(format!("{} redacted before storing", text::counted(remembered.redactions, "secret")))?;
    }
    Ok(Exit::Success)
}

/// Records a memory.
fn remember_memory(
    kind: MemoryKind,
    statement: String,
    arguments: &Arguments,
    mut memory: MemoryClient,
    context: &mut Context,
) -> CliResult {
    let given = &arguments.memory;
    let mut new = NewMemory::new(kind, statement);
    if let Some(directory) = arguments.project.as_ref().filter(|_| !arguments.global) {
        let here = directory.canonicalize().ok().and_then(|path| path.to_str().map(names_of));
        if let Some(here) = here
            && (here.is_in_repository() || memory.find_project(ProjectQuery::Directory(here.clone()))?.is_some())
        {
            new.here = Some(here);
        } else {
            return Err(CliError::usage(
                format!("{} belongs to no known project", directory.display()),
                Some("`yore projects` lists them; --global lets it hold everywhere, --note keeps a note for the directory"),
            ));
        }
    } else if !arguments.global {
        new.here = context.settings.project_here();
    }
    new.memory.title.clone_from(&arguments.title);
    new.memory.details.clone_from(&given.details);
    new.memory.tags.clone_from(&arguments.tags);
    (new.memory.valid_from, new.memory.valid_until) = (given.valid_from, given.valid_until);
    new.memory.asserts = given.subject.clone().zip(given.value.clone()).map(|(subject, value)| StatedValue {
        subject,
        aspect: given.aspect.unwrap_or_default(),
        value,
    });
    new.entities.clone_from(&given.entities);
    new.replaces.clone_from(&arguments.replace);
    new.beside.clone_from(&arguments.beside);
    new.same.clone_from(&arguments.same);
    new.evidence = given.evidence.iter().map(|turn| GivenEvidence { turn: turn.clone(), quote: None }).collect();
    let is_anywhere = match &new.here {
        Some(here) if !here.is_in_repository() => memory.find_project(ProjectQuery::Directory(here.clone()))?.is_none(),
        Some(_) => false,
        None => !arguments.global,
    };
    let (here, words) = (new.here.clone(), new.memory.statement.clone());
    let done = memory.add_memory(new, memories::by_person("remember"))?;
    let outcome = memory.outcome_of(done.memory)?;
    if context.printer.is_json() {
        let outcome = if done.operation.is_some() { outcome } else { Outcome::default() };
        context.printer.json(&results::Changed::with(done, &outcome.replaced, &outcome.conflicts, &outcome.touches))?;
        return Ok(Exit::Success);
    }
    context.printer.line(done.memory.to_string())?;
    if done.operation.is_none() {
        context.printer.note("already known: nothing was stored")?;
        // Somebody who says it again may mean that it holds again.
        let known = memory.memory(done.memory.to_string())?.memory.recorded;
        for touched in outcome.touches.iter().filter(|touched| is_at_odds(touched.touch) && touched.recorded > known) {
            context.printer.note(format!(
                "since then [{}]: {}; with --replace {} this takes its place",
                touched.id.short(),
                one_line(&touched.statement),
                touched.id.short()
            ))?;
        }
        return Ok(Exit::Success);
    } else if is_anywhere {
        context.printer.note(format!(
            "stored as a memory of the kind {}; no project here: it holds everywhere",
            render::memories::kind_name(kind)
        ))?;
    } else {
        let place = if here.is_some() { "for this project" } else { "for all projects" };
        context.printer.note(format!("stored as a memory of the kind {} {place}", render::memories::kind_name(kind)))?;
    }
    let stored = memory.memory(done.memory.to_string())?.memory;
    if let Some(line) = render::memories::redacted(&words, &stored.statement) {
        context.printer.note(line)?;
    }
    if let Some(here) = here.filter(|_| FOR_EVERYBODY.contains(&kind) && !is_personal(&stored)) {
        tell_who_gets_it(stored.id, here, context)?;
    }
    let is_open = |touched: &&Touched| matches!(touched.touch, Touch::LikelyChanges | Touch::MayChange | Touch::Same);
    for line in render::memories::outcome(&outcome.replaced, &outcome.conflicts, &outcome.touches) {
        context.printer.note(line)?;
    }
    if outcome.touches.iter().any(|touched| is_open(&touched)) {
        context.printer.note("decide with the same words and --replace ID, --beside ID or --same ID")?;
    }
    Ok(Exit::Success)
}

/// Tells that a memory goes to the team, if its project is shared so.
fn tell_who_gets_it(id: MemoryId, project: ProjectNames, context: &mut Context) -> CliResult<()> {
    let shared = mirror::project_of(&context.settings.directory, || project);
    if shared.is_some_and(|shared| shared.level != SharedLevel::Named) {
        let id = id.short();
        context.printer.note(format!("shared with the team of this project; `yore team take-back {id}` keeps it here"))?;
    }
    Ok(())
}

/// Returns whether two memories that touch each other so cannot both hold, as far as yore sees.
const fn is_at_odds(touch: Touch) -> bool {
    matches!(touch, Touch::LikelyChanges | Touch::MayChange | Touch::Contradicts)
}

/// Opens the memory, or creates it: a note may be the first thing that is remembered.
fn memory(context: &Context) -> CliResult<MemoryClient> {
    match context.settings.memory() {
        Err(error) if error.code == "store/missing" => {
            context.settings.engine(true)?;
            context.settings.memory()
        }
        opened => opened,
    }
}

/// Reads all of standard input. Refuses a terminal unless the input was explicitly requested.
fn read_input(is_asked: bool) -> CliResult<String> {
    let input = std::io::stdin();
    if !is_asked && input.is_terminal() {
        let hint = "`yore remember \"...\"`, or `yore remember -` to type it";
        return Err(CliError::usage("nothing to remember", Some(hint)));
    }
    let mut bytes = Vec::new();
    input.lock().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| CliError {
        exit: Exit::Data,
        code: "input".to_owned(),
        message: format!("cannot read standard input: {error}"),
        hint: None,
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
