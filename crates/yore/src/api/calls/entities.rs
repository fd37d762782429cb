//! Entities and relations: lists, one of them, walks along relations, and changes.

use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::relation::{Node, RelationType};
use yore_core::text::preview;
use yore_engine::Traversal;

use super::{by_person, limit, none, place};
use crate::api::route::{Caller, Route};
use crate::cursor::{self, Cursor};
use crate::error::{CliError, CliResult};
use crate::results::{AlikePair, Changed, EntityChanged, EntityRecord, OpenedEntity, Page, ReachedNode, node_id};

/// Letter of this list in cursors.
const LIST: char = 'e';
/// Most pairs that may be one thing.
const MOST_ALIKE: usize = 100;
/// Most characters of a statement in a walk.
const LABEL_CHARS: usize = 120;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/entities", "Lists entities", &["entities"], list),
        Route::get("/entities/alike", "Lists pairs of entities that may be one thing", &["alike_entities"], alike),
        Route::get("/entities/named", "Returns the entity with a name", &["entity_named"], named),
        Route::get("/entities/{id}", "Opens an entity with its relations", &["open_entity"], open),
        Route::get("/entities/{id}/record", "Returns the entity with a whole id", &["entity"], record),
        Route::change(
            Method::POST,
            "/entities",
            "Records an entity, or another name or a description of one",
            &["put_entity"],
            put,
        ),
        Route::change(Method::POST, "/entities/user", "Gives the user a name", &["name_user"], name_user),
        Route::change(Method::POST, "/entities/merge", "Makes one entity of two", &["merge_entities"], merge),
        Route::change(Method::POST, "/entities/split", "Makes two entities of one", &["split_entity"], split),
        Route::get("/relations", "Follows relations from a memory, an entity or a file", &["traverse"], follow),
        Route::change(Method::POST, "/relations", "States a relation", &["relate"], relate),
        Route::change(Method::POST, "/relations/remove", "Takes a relation back", &["unrelate"], unrelate),
    ]
}

/// A filter of the list of entities.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Most entities, 1 to 500
    pub limit: Option<usize>,
    /// The cursor at the end of the page before
    pub after: Option<String>,
}

/// Lists entities.
pub fn list(caller: &mut Caller<'_>, list: List) -> CliResult<Page<EntityRecord>> {
    let limit = limit(list.limit, 100)?;
    let skip: usize = place(LIST, list.after.as_deref())?.and_then(|cursor| cursor.id.parse().ok()).unwrap_or(0);
    let mut found = caller.memory.entities(skip.saturating_add(limit + 1))?;
    found.drain(..skip.min(found.len()));
    let next = cursor::page(&mut found, limit, |_| Cursor::of(LIST, None, skip + limit));
    Ok(Page { items: found.iter().map(EntityRecord::from).collect(), next: next.map(|next| next.encode()) })
}

/// How many pairs are listed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Alike {
    /// Most pairs, 1 to 100
    pub limit: Option<usize>,
}

/// Lists pairs of entities that may be one thing.
pub fn alike(caller: &mut Caller<'_>, Alike { limit: given }: Alike) -> CliResult<Vec<AlikePair>> {
    let limit = limit(given, 20)?.min(MOST_ALIKE);
    Ok(caller.memory.alike_entities(limit)?.iter().map(AlikePair::from).collect())
}

/// The name of an entity.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Name {
    /// The name, as NAME or KIND:NAME
    pub name: String,
}

/// Returns the entity with a name.
pub fn named(caller: &mut Caller<'_>, Name { name }: Name) -> CliResult<EntityRecord> {
    Ok((&caller.memory.entity_named(name)?).into())
}

/// The id of an entity.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Id {
    /// Its id, or the beginning of it
    pub id: String,
}

/// Opens an entity.
pub fn open(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<OpenedEntity> {
    let opened = caller.memory.open_entity(id.clone())?;
    Ok((&opened.ok_or_else(|| none("entity/unknown", format!("there is no entity {id:?}")))?).into())
}

/// Returns the entity with a whole id.
pub fn record(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<EntityRecord> {
    let whole = id.parse().map_err(|_| CliError::usage(format!("id: expected 32 hexadecimal digits, not {id:?}"), None))?;
    let found = caller.memory.entity(whole)?;
    Ok((&found.ok_or_else(|| none("entity/unknown", format!("there is no entity {id}")))?).into())
}

/// An entity to record, or what is new about one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// Its kind, such as tool, person or component
    pub kind: String,
    /// Its name
    pub name: String,
    /// Other names
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Its description
    pub description: Option<String>,
}

/// Records an entity.
pub fn put(caller: &mut Caller<'_>, put: Put) -> CliResult<EntityChanged> {
    let (entity, operation) = caller.memory.put_entity(put.kind, put.name, put.aliases, put.description, by_person())?;
    Ok(EntityChanged { entity: (&entity).into(), operation })
}

/// Gives the user a name.
pub fn name_user(caller: &mut Caller<'_>, Name { name }: Name) -> CliResult<Changed> {
    let operation = caller.memory.name_user(name, by_person())?;
    Ok(Changed { operation, ..Changed::default() })
}

/// Two entities that are one thing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The one that ends, as NAME or KIND:NAME
    pub from: String,
    /// The one that gets its names and relations, as NAME or KIND:NAME
    pub into: String,
}

/// Makes one entity of two.
pub fn merge(caller: &mut Caller<'_>, Merge { from, into }: Merge) -> CliResult<EntityChanged> {
    let (entity, operation) = caller.memory.merge_entities(from, into, by_person())?;
    Ok(EntityChanged { entity: (&entity).into(), operation })
}

/// An entity that is two things.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The entity, as NAME or KIND:NAME
    pub name: String,
    /// Name of the new entity
    pub new: String,
    /// Ids of the memories whose relations the new entity gets
    pub memories: Vec<String>,
}

/// Makes two entities of one.
pub fn split(caller: &mut Caller<'_>, Split { name, new, memories }: Split) -> CliResult<EntityChanged> {
    let nodes =
        memories.into_iter().map(|id| Ok(Node::Memory(caller.memory.memory(id)?.memory.id))).collect::<CliResult<Vec<Node>>>()?;
    let (entity, operation) = caller.memory.split_entity(name, new, nodes, by_person())?;
    Ok(EntityChanged { entity: (&entity).into(), operation })
}

/// Where a walk begins, and how far it goes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// Id of a memory, id or name of an entity, or a path with a slash
    pub from: String,
    /// Most steps, 1 to 5
    pub depth: Option<usize>,
    /// Most things, 1 to 500
    pub limit: Option<usize>,
    /// Only relations with these names, or their inverse
    #[serde(default)]
    pub name: Vec<String>,
    /// Only relations of at least this weight, 0 to 1
    pub min_weight: Option<f32>,
}

/// Follows relations.
pub fn follow(caller: &mut Caller<'_>, follow: Follow) -> CliResult<Vec<ReachedNode>> {
    let depth = follow.depth.unwrap_or(1);
    if !(1..=5).contains(&depth) {
        return Err(CliError::usage(format!("depth: expected 1 to 5, not {depth}"), None));
    }
    let types = follow.name.iter().map(|name| Ok(relation(name)?.0)).collect::<CliResult<Vec<RelationType>>>()?;
    let limit = limit(follow.limit, 50)?;
    let min_weight = follow.min_weight.unwrap_or_default();
    let start = node(caller, &follow.from)?;
    let reached = caller.memory.traverse(start, Traversal { depth, limit, types, min_weight, ..Traversal::default() })?;
    let mut nodes = Vec::with_capacity(reached.len());
    for reached in reached {
        let label = match &reached.node {
            // It may have been forgotten.
            Node::Memory(id) => match caller.memory.memory(id.to_string()) {
                Ok(stored) if !stored.memory.is_forgotten() => Some(preview(&stored.memory.statement, LABEL_CHARS)),
                _ => continue,
            },
            Node::Entity(id) => caller.memory.entity(*id)?.map(|entity| entity.name),
            _ => None,
        };
        nodes.push(ReachedNode {
            depth: reached.depth as u64,
            name: reached.name,
            kind: reached.node.kind().to_owned(),
            id: node_id(&reached.node),
            from_kind: reached.from.kind().to_owned(),
            from: node_id(&reached.from),
            label,
            weight: f64::from(reached.weight),
        });
    }
    Ok(nodes)
}

/// A relation to state.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relate {
    /// The first end: id of a memory, id or name of an entity, or a path with a slash
    pub from: String,
    /// Name of the relation, such as supersedes, or of an inverse, such as superseded_by
    pub name: String,
    /// The second end
    pub to: String,
    /// Weight, 0 to 1
    pub weight: Option<f32>,
    /// Why it is so
    pub reason: Option<String>,
}

/// States a relation.
pub fn relate(caller: &mut Caller<'_>, relate: Relate) -> CliResult<Changed> {
    let name = relation(&relate.name)?;
    let (from, to) = (node(caller, &relate.from)?, node(caller, &relate.to)?);
    let (_, operation) = caller.memory.relate(from, name, to, relate.weight.unwrap_or(0.5), relate.reason, by_person())?;
    Ok(Changed { operation, ..Changed::default() })
}

/// A relation to take back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unrelate {
    /// The first end: id of a memory, id or name of an entity, or a path with a slash
    pub from: String,
    /// Name of the relation, read from the first end
    pub name: String,
    /// The second end
    pub to: String,
}

/// Takes a relation back.
pub fn unrelate(caller: &mut Caller<'_>, unrelate: Unrelate) -> CliResult<Changed> {
    let name = relation(&unrelate.name)?;
    let (from, to) = (node(caller, &unrelate.from)?, node(caller, &unrelate.to)?);
    let operation = caller.memory.unrelate(from, name, to, by_person())?;
    Ok(Changed { operation, ..Changed::default() })
}

fn relation(name: &str) -> CliResult<(RelationType, bool)> {
    let names: Vec<&str> = RelationType::ALL.iter().map(|known| known.as_str()).collect();
    let wrong = || CliError::usage(format!("there is no relation {name:?}; expected one of {}", names.join(", ")), None);
    RelationType::read(name).ok_or_else(wrong)
}

/// Returns the node that a word means.
fn node(caller: &mut Caller<'_>, word: &str) -> CliResult<Node> {
    match caller.memory.memory(word.to_owned()) {
        Ok(stored) => return Ok(Node::Memory(stored.memory.id)),
        Err(error) if error.code == "memory/unknown" => {}
        Err(error) => return Err(error),
    }
    if let Some(entity) = word.parse().ok().map(|id| caller.memory.entity(id)).transpose()?.flatten() {
        return Ok(Node::Entity(entity.id));
    }
    match caller.memory.entity_named(word.to_owned()) {
        Ok(entity) => Ok(Node::Entity(entity.id)),
        Err(error) if error.code == "memory/unknown-entity" && word.contains('/') => Ok(Node::Path(word.to_owned())),
        Err(error) => Err(error),
    }
}
