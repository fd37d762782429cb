//! Imports edited Markdown pages of memories: each change becomes an operation.

use std::path::Path;

use yore_core::entity::EntityKind;
use yore_core::operation::Cause;
use yore_core::relation::{Node, RelationType};
use yore_engine::{EngineError, MemoryEdit, MemoryError, RememberRequest};

use super::{Import, LINK, Written};
use crate::config::replace_file;
use crate::error::{CliError, CliResult};
use crate::portable::page::{self, EntityPage, MemoryPage, NotePage, Page};

/// A page whose record is not there: it may have been forgotten, and must not come back by itself.
const UNKNOWN: &str = "nothing with its id is known here, or it was forgotten; --as-new records it anew";

impl Import<'_> {
    /// Reads a page.
    pub(super) fn page(&mut self, path: &Path, text: &str) -> CliResult<()> {
        // It may have to be written anew, which would change a file elsewhere.
        if path.is_symlink() {
            self.skip(path, LINK);
            return Ok(());
        }
        let done = match page::read(text) {
            Ok(Page::Memory(page)) => self.memory(&page),
            Ok(Page::Note(page)) => self.note(&page),
            Ok(Page::Entity(page)) => self.entity(&page),
            Err(problem) => Ok(Err(problem)),
        };
        match done {
            Ok(Ok(true)) => self.rewrite(path)?,
            Ok(Ok(false)) => self.imported.known += 1,
            Ok(Err(problem)) => self.skip(path, &problem),
            // A fault of one page does not stop the others.
            Err(
                error @ (EngineError::Memory(_)
                | EngineError::BadNote(_)
                | EngineError::AmbiguousId { .. }
                | EngineError::UnknownProject { .. }),
            ) => self.skip(path, &error.to_string()),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Writes a page anew after it changed something, so that it can be changed again.
    fn rewrite(&mut self, path: &Path) -> CliResult<()> {
        let page = match self.written.take() {
            Some(Written::Memory(id)) => page::of_memory(&self.engine.read_memory(id)?),
            Some(Written::Note(id)) => page::of_note(&self.engine.note(&id)?),
            None => return Ok(()),
        };
        replace_file(path, page).map_err(|error| CliError::io(path, &error))
    }

    /// Changes a memory as its page says. Returns whether anything was changed, or why it is not.
    fn memory(&mut self, page: &MemoryPage) -> Result<Result<bool, String>, EngineError> {
        let cause = by_person();
        let known = match &page.front.id {
            Some(id) => match self.engine.memory(id) {
                Ok(stored) => Some(stored),
                Err(EngineError::Memory(MemoryError::Unknown(_))) => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let Some(stored) = known else {
            if page.front.id.is_some() && !self.arguments.as_new {
                return Ok(Err(UNKNOWN.to_owned()));
            }
            let mut new = match page.as_new() {
                Ok(new) => new,
                Err(problem) => return Ok(Err(problem)),
            };
            let is_chosen = self.arguments.project.is_some() || self.arguments.global;
            if let Some(project) = page.front.project.clone().filter(|_| !is_chosen) {
                new.project = Some(project);
            } else if page.front.id.is_none() || is_chosen {
                new = self.project().takes(new);
            }
            if self.arguments.dry_run {
                return Ok(self.plan(new.memory.kind.as_str(), &new.memory.statement, None));
            }
            let done = match self.engine.add_memory(&new, &cause) {
                Err(EngineError::UnknownProject { name, .. }) => {
                    return Ok(Err(format!(
                        "no project here is called {name:?}: say --project (such as a directory) or --global"
                    )));
                }
                done => done?,
            };
            self.operations.extend(done.operation);
            self.imported.stored.memories += u64::from(done.operation.is_some());
            self.written = Some(Written::Memory(done.memory));
            return Ok(Ok(done.operation.is_some()));
        };
        let id = stored.memory.id.to_string();
        let relations = self.engine.named_relations(&Node::Memory(stored.memory.id), &stored.relations)?;
        let about = relations.into_iter().filter(|relation| relation.name == RelationType::About.as_str());
        let entities: Vec<String> = about.filter_map(|relation| relation.label).collect();
        let is_older = page.changed().is_some_and(|changed| changed < stored.memory.changed);
        let changes = match page.changes(&stored, &entities) {
            Ok(changes) if changes == page::Changes::default() => return Ok(Ok(false)),
            _ if is_older => {
                return Ok(Err("the memory has changed since the page was written; export it again".to_owned()));
            }
            Ok(changes) => changes,
            Err(problem) => return Ok(Err(problem)),
        };
        if self.arguments.dry_run {
            return Ok(self.plan("change", &stored.memory.statement, None));
        }
        let mut operations = Vec::new();
        // Taken out before it is changed, put away after that.
        if changes.archived == Some(false) {
            operations.push(self.engine.archive_memory(&id, false, &cause)?.operation);
        }
        let (mut id, mut held) = (id, stored.memory.id);
        if changes.edit != MemoryEdit::default() {
            let done = self.engine.edit_memory(&id, &changes.edit, &cause)?;
            (id, held) = (done.memory.to_string(), done.memory);
            operations.push(done.operation);
        }
        if let Some(pinned) = changes.pinned {
            operations.push(self.engine.pin_memory(&id, pinned, &cause)?.operation);
        }
        if changes.is_wrong {
            operations.push(self.engine.invalidate_memory(&id, None, &cause)?.operation);
        }
        if changes.archived == Some(true) {
            operations.push(self.engine.archive_memory(&id, true, &cause)?.operation);
        }
        self.operations.extend(operations.into_iter().flatten());
        self.imported.stored.memories += 1;
        self.written = Some(Written::Memory(held));
        Ok(Ok(true))
    }

    /// Stores a note, or another version of it.
    fn note(&mut self, page: &NotePage) -> Result<Result<bool, String>, EngineError> {
        let NotePage { id, project, kind, title, tags, priority, is_by_agent, is_unconfirmed, version, text } = page;
        let known = match id {
            Some(id) => match self.engine.note(id) {
                Ok(known) => Some(known),
                Err(EngineError::UnknownId(_)) => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        if let Some(known) = &known {
            if page.says(known) {
                return Ok(Ok(false));
            }
            if version.is_some_and(|version| version < known.version) {
                return Ok(Err("the note has changed since the page was written; export it again".to_owned()));
            }
        }
        if known.is_none() && id.is_some() && !self.arguments.as_new {
            return Ok(Err(UNKNOWN.to_owned()));
        }
        let directory = match (&known, self.arguments.project.as_ref().or(project.as_ref())) {
            (None, Some(name)) if !self.arguments.global => match self.directory_of(name)? {
                Some(directory) => Some(directory),
                // A directory that is no project yet becomes one.
                None if Path::new(name).is_dir() => Some(name.clone()),
                None => {
                    let problem = format!("no project with a directory is called {name:?}: say --project DIRECTORY or --global");
                    return Ok(Err(problem));
                }
            },
            _ => None,
        };
        if self.arguments.dry_run {
            return Ok(self.plan(kind.as_str(), text, None));
        }
        let by_agent = known.as_ref().map_or(*is_by_agent, |known| known.is_by_agent);
        let mut tags = tags.clone();
        // An empty tag stands for no tags; an empty list would keep the former ones.
        tags.extend(tags.is_empty().then(String::new));
        let remembered = self.engine.remember(&RememberRequest {
            replaces: known.as_ref().map(|known| known.episode.to_string()),
            text: text.clone(),
            title: Some(title.clone().unwrap_or_default()),
            tags,
            kind: Some(*kind),
            priority: *priority,
            is_unconfirmed: known.map_or(*is_unconfirmed, |known| !known.facts.is_confirmed),
            directory,
            is_by_agent: by_agent,
            ..RememberRequest::default()
        })?;
        self.imported.stored.notes += u64::from(!remembered.was_known);
        self.written = Some(Written::Note(remembered.episode.to_string()));
        Ok(Ok(!remembered.was_known))
    }

    /// Records an entity, or changes it.
    fn entity(&mut self, page: &EntityPage) -> Result<Result<bool, String>, EngineError> {
        let EntityPage { kind, name, aliases, description, .. } = page;
        if name.trim().is_empty() {
            return Ok(Err("it has no name".to_owned()));
        }
        if self.arguments.dry_run {
            return Ok(if self.is_known(page)? { Ok(false) } else { self.plan("entity", name, None) });
        }
        let (_, operation) = self.engine.put_entity(kind, name, aliases, description.as_deref(), &by_person())?;
        self.operations.extend(operation);
        self.imported.stored.entities += u64::from(operation.is_some());
        Ok(Ok(operation.is_some()))
    }

    /// Returns whether the memory knows all that a page says of an entity.
    fn is_known(&self, page: &EntityPage) -> Result<bool, EngineError> {
        let known = match self.engine.entity_named(&format!("{}:{}", EntityKind::read(&page.kind).0.as_str(), page.name)) {
            Ok(known) => known,
            Err(EngineError::Memory(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        let says_same = page.description.as_deref().is_none_or(|said| known.description.as_deref().map(str::trim) == Some(said));
        Ok(says_same && page.aliases.iter().all(|alias| known.aliases.contains(alias)))
    }

    /// Returns the directory of the project with a name, id or directory.
    fn directory_of(&self, name: &str) -> Result<Option<String>, EngineError> {
        let found = self.engine.projects()?.into_iter().find(|project| {
            project.name == name || project.id.to_string() == name || project.aliases.iter().any(|(_, value)| value == name)
        });
        Ok(found.and_then(|project| project.aliases.into_iter().find(|(kind, _)| kind == "directory")).map(|(_, value)| value))
    }
}

/// A person changes pages.
fn by_person() -> Cause {
    Cause { by: "import".to_owned(), ..Cause::default() }
}
