//! Commands for entities and relations.

use clap::{Args, Subcommand};
use yore_core::entity::Entity;
use yore_core::id::EntityId;
use yore_core::query::{Filter, SearchMode, Wanted};
use yore_core::relation::{Node, RelationType};
use yore_core::scope::ScopeChoice;
use yore_core::text::preview;
use yore_engine::{Found, ShownTurn, Traversal};

use super::common::{by_person, usage};
use crate::cli::Context;
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult, Exit};
use crate::recall_request;
use crate::render::plain::one_line;
use crate::render::text::{self, DIM, RESET};
use crate::results::{AlikePair, Changed, EntityRecord, MemoryRelation};

/// State a relation: `yore memories relate ID supersedes OTHER`
///
/// An end is the id of a memory, the name of an entity (or KIND:NAME), or a path with a slash. The name of the relation
/// may be that of an inverse (superseded_by) or of another design (REPLACES).
#[derive(Args, Debug)]
pub struct Relate {
    /// The first end
    from: String,
    /// The relation
    name: String,
    /// The second end
    to: String,
    /// Weight, 0 to 1
    #[arg(long, value_name = "W", default_value_t = 0.5)]
    weight: f32,
    /// Why it is so
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Take the relation back
    #[arg(long, conflicts_with_all = ["weight", "reason"])]
    off: bool,
}

/// List entities, or merge or split them
#[derive(Args, Debug)]
pub struct Entities {
    #[command(subcommand)]
    action: Option<EntityAction>,
    /// Show what this entity is related to, and where it was said
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Number of steps from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    depth: usize,
    /// List pairs of entities that may be one thing by the meaning of their names, for you to merge
    #[arg(long, conflicts_with = "name")]
    alike: bool,
    /// At most N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    limit: usize,
}

#[derive(Debug, Subcommand)]
enum EntityAction {
    /// Make one entity of two: INTO gets the names and relations of FROM
    Merge {
        /// Name, or KIND:NAME
        from: String,
        /// Name, or KIND:NAME
        into: String,
    },
    /// Make two entities of one: NEW gets the relations with these memories
    Split {
        /// Name, or KIND:NAME
        name: String,
        /// Name of the new entity
        new: String,
        /// Ids of memories
        memories: Vec<String>,
    },
    /// Say who you are: your name stands where memories are about the user
    Me {
        /// Your name
        name: String,
    },
    /// Record an entity, or another name or a description of one
    Add {
        /// Kind, such as tool, person or component
        kind: String,
        /// Name
        name: String,
        /// Another name; may be repeated
        #[arg(long = "alias", value_name = "NAME")]
        aliases: Vec<String>,
        /// What it is
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
}

/// Returns the node that a word means.
fn node(memory: &mut MemoryClient, word: &str) -> CliResult<Node> {
    match memory.memory(word.to_owned()) {
        Ok(stored) => return Ok(Node::Memory(stored.memory.id)),
        Err(error) if error.code == "memory/unknown" => {}
        Err(error) => return Err(error),
    }
    match memory.entity_named(word.to_owned()) {
        Ok(entity) => Ok(Node::Entity(entity.id)),
        Err(error) if error.code == "memory/unknown-entity" && word.contains('/') => Ok(Node::Path(word.to_owned())),
        Err(error) => Err(error),
    }
}

/// States a relation, or takes it back.
pub fn relate(arguments: &Relate, context: &mut Context) -> CliResult {
    let Some(name) = RelationType::read(&arguments.name) else {
        let names: Vec<&str> = RelationType::ALL.iter().map(|known| known.as_str()).collect();
        return Err(usage(format!("there is no relation {:?}; expected one of {}", arguments.name, names.join(", "))));
    };
    let mut memory = context.settings.memory()?;
    let (from, to) = (node(&mut memory, &arguments.from)?, node(&mut memory, &arguments.to)?);
    let cause = by_person("memories relate");
    let operation = if arguments.off {
        memory.unrelate(from, name, to, cause)?
    } else {
        memory.relate(from, name, to, arguments.weight, arguments.reason.clone(), cause)?.1
    };
    finish(context, operation)
}

/// Lists entities, or changes them.
pub fn run(arguments: &Entities, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let cause = by_person("memories entities");
    match &arguments.action {
        Some(EntityAction::Merge { from, into }) => {
            let (_, operation) = memory.merge_entities(from.clone(), into.clone(), cause)?;
            return finish(context, operation);
        }
        Some(EntityAction::Split { name, new, memories }) => {
            let nodes: Vec<Node> = memories
                .iter()
                .map(|id| memory.memory(id.clone()).map(|stored| Node::Memory(stored.memory.id)))
                .collect::<Result<_, _>>()?;
            let (_, operation) = memory.split_entity(name.clone(), new.clone(), nodes, cause)?;
            return finish(context, operation);
        }
        Some(EntityAction::Me { name }) => return finish(context, memory.name_user(name.clone(), cause)?),
        Some(EntityAction::Add { kind, name, aliases, description }) => {
            let (_, operation) = memory.put_entity(kind.clone(), name.clone(), aliases.clone(), description.clone(), cause)?;
            return finish(context, operation);
        }
        None => {}
    }
    match &arguments.name {
        Some(name) => around(&mut memory, name, arguments, context),
        None if arguments.alike => alike(&mut memory, arguments.limit, context),
        None => list(&mut memory, arguments.limit, context),
    }
}

/// Lists entities that may be one thing.
fn alike(memory: &mut MemoryClient, limit: usize, context: &mut Context) -> CliResult {
    let pairs = memory.alike_entities(limit)?;
    if context.printer.is_json() {
        context.printer.json(&pairs.iter().map(AlikePair::from).collect::<Vec<_>>())?;
    } else {
        for line in text::table(
            &pairs
                .iter()
                .map(|pair| {
                    let name = |entity: &Entity| format!("{}:{}", entity.kind.as_str(), one_line(&entity.name));
                    vec![format!("{:.2}", pair.nearness), name(&pair.newer), name(&pair.older)]
                })
                .collect::<Vec<_>>(),
        ) {
            context.printer.line(line)?;
        }
        if !pairs.is_empty() {
            context.printer.note(
                "`yore memories entities merge FROM INTO` makes one of two; most that are near in meaning are two things",
            )?;
        }
    }
    Ok(if pairs.is_empty() { Exit::Nothing } else { Exit::Success })
}

fn list(memory: &mut MemoryClient, limit: usize, context: &mut Context) -> CliResult {
    let entities = memory.entities(limit)?;
    if context.printer.is_json() {
        context.printer.json(&entities.iter().map(EntityRecord::from).collect::<Vec<_>>())?;
    } else {
        let rows: Vec<Vec<String>> = entities
            .iter()
            .map(|entity| {
                let aliases = entity.aliases.iter().map(|alias| one_line(alias)).collect::<Vec<_>>().join(", ");
                vec![entity.kind.as_str().to_owned(), one_line(&entity.name), aliases]
            })
            .collect();
        context.printer.table(&rows)?;
        if entities.is_empty() {
            context.printer.note("no entities yet; `yore remember --entity NAME` records them with a memory")?;
        }
    }
    Ok(if entities.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Most turns that name an entity, and characters of each.
const MOST_TURNS: usize = 5;
const PREVIEW_CHARS: usize = 100;

/// Returns turns that name an entity, by the full-text index: which turns name it follows from their words.
fn turns_naming(memory: &mut MemoryClient, entity: &Entity, context: &Context) -> CliResult<Vec<ShownTurn>> {
    let mut turns: Vec<ShownTurn> = Vec::new();
    for name in std::iter::once(&entity.name).chain(&entity.aliases).filter(|_| entity.id != EntityId::USER) {
        let question = format!("\"{}\"", name.replace('"', " "));
        let mut request = recall_request::request(&question, context.settings.config(), None);
        request.filter = Filter { scope: ScopeChoice::All, wanted: Wanted::Turns, ..Filter::default() };
        (request.mode, request.limit, request.min_confidence, request.is_bare) =
            (SearchMode::Lexical, MOST_TURNS, Some(0.0), true);
        for hit in memory.recall(&request, false)?.hits {
            if let Found::Turn(turn) = hit.found
                && turns.len() < MOST_TURNS
                && turns.iter().all(|known| known.id != turn.id)
                // The index knows words, not signs.
                && [&turn.text, &turn.tool_text].iter().any(|text| text.to_lowercase().contains(&name.to_lowercase()))
            {
                turns.push(turn);
            }
        }
    }
    Ok(turns)
}

/// Shows what an entity is related to.
fn around(memory: &mut MemoryClient, name: &str, arguments: &Entities, context: &mut Context) -> CliResult {
    let entity = memory.entity_named(name.to_owned())?;
    let start = Node::Entity(entity.id);
    let traversal = Traversal { depth: arguments.depth, limit: arguments.limit, ..Traversal::default() };
    let reached = memory.traverse(start, traversal)?;
    let mut rows = Vec::new();
    let mut data = Vec::new();
    for reached in &reached {
        let (id, shown) = match &reached.node {
            Node::Memory(id) => {
                let stored = memory.memory(id.to_string())?;
                (id.to_string(), format!("[{}] {}", id.short(), one_line(&stored.memory.statement)))
            }
            Node::Entity(id) => {
                let name = memory.entity(*id)?.map(|entity| entity.name).unwrap_or_default();
                (id.to_string(), one_line(&name))
            }
            Node::Path(path) => (path.clone(), one_line(path)),
            Node::Turn(id) => (id.to_string(), format!("[{}]", id.short())),
            Node::Session(id) | Node::Context(id) => (id.to_string(), format!("[{}]", id.short())),
        };
        data.push(MemoryRelation {
            name: reached.name.clone(),
            kind: reached.node.kind().to_owned(),
            id,
            label: None,
            weight: f64::from(reached.weight),
            reason: None,
        });
        let indent = "  ".repeat(reached.depth - 1);
        rows.push(format!("{indent}{DIM}{}{RESET} {} {shown}", reached.name.replace('_', " "), reached.node.kind()));
    }
    let turns = turns_naming(memory, &entity, context)?;
    for turn in &turns {
        data.push(MemoryRelation {
            name: RelationType::Mentions.name_from(true).to_owned(),
            kind: Node::Turn(turn.id).kind().to_owned(),
            id: turn.id.to_string(),
            label: None,
            weight: 1.0,
            reason: None,
        });
        let at = text::day(turn.time.utc);
        rows.push(format!("{DIM}named in{RESET} [{}] {at} {}", turn.id.short(), one_line(&preview(&turn.text, PREVIEW_CHARS))));
    }
    if context.printer.is_json() {
        context.printer.json(&data)?;
    } else {
        for row in rows {
            context.printer.line(row)?;
        }
    }
    Ok(if reached.is_empty() && turns.is_empty() { Exit::Nothing } else { Exit::Success })
}

fn finish(context: &mut Context, operation: Option<u64>) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&Changed { operation, ..Changed::default() })?;
        return Ok(Exit::Success);
    }
    context.printer.line(match operation {
        Some(number) => format!("done (`yore undo {number}` takes it back)"),
        None => "nothing changed: it was so already".to_owned(),
    })?;
    Ok::<Exit, CliError>(Exit::Success)
}
