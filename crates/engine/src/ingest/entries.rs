//! Converts what a reader returned to entries for the store: resolves projects, redacts titles.

use std::borrow::Cow;
use std::collections::HashMap;

use yore_core::episode::Title;
use yore_core::id::TurnId;
use yore_core::note::NoteFacts;
use yore_core::scope::ProjectAlias;
use yore_core::time::UtcMillis;

use crate::store::{Entries, Entry, Home, SaidTurn};
use yore_sources::project_names::{ProjectNames, ProjectResolver};
use yore_sources::redact::{RedactionCounts, Redactor};
use yore_sources::source::{Nature, Reading, Source};

/// Converts the readings of one source into entries.
pub(super) struct EntryMaker<'a> {
    pub(super) redactor: &'a Redactor,
    pub(super) resolver: &'a mut ProjectResolver,
    pub(super) source: &'static dyn Source,
    /// Number of this pass over the whole archive; 0 when a file is read.
    pub(super) pass: i64,
    pub(super) now: fn() -> UtcMillis,
}

impl EntryMaker<'_> {
    /// Returns whether a new reading of a file replaces the old one.
    pub(super) fn is_document(&self) -> bool {
        self.source.nature() == Nature::Document
    }

    /// Looks up every directory of these readings. Runs before the transaction, because it may access the
    /// disk.
    pub(super) fn project_names(&mut self, readings: &[Reading]) -> HashMap<String, ProjectNames> {
        let mut names = HashMap::new();
        for reading in readings {
            let Reading::Turn(read) = reading else { continue };
            for cwd in [&read.episode.cwd, &read.turn.cwd].into_iter().flatten() {
                if !names.contains_key(cwd) {
                    names.insert(cwd.clone(), self.resolver.resolve(cwd).clone());
                }
            }
        }
        names
    }

    /// Returns the entries to store for these readings. Omits skipped lines.
    pub(super) fn entries<'r>(&self, readings: &'r [Reading], names: &'r HashMap<String, ProjectNames>) -> Entries<'r> {
        let notes: HashMap<TurnId, &NoteFacts> = readings
            .iter()
            .filter_map(|reading| if let Reading::Note(turn, facts) = reading { Some((*turn, &**facts)) } else { None })
            .collect();
        let list = readings
            .iter()
            .filter_map(|reading| {
                Some(match reading {
                    Reading::Turn(read) => {
                        let of_directory = |cwd: &'r Option<String>| cwd.as_ref().and_then(|cwd| names.get(cwd)).map(home);
                        let episode = &read.episode;
                        Entry::Turn(SaidTurn {
                            turn: &read.turn,
                            line: read.line,
                            episode,
                            begun_in: match (&episode.project, &episode.remote) {
                                (Some(name), _) => Some(named_home(name)),
                                (None, Some(remote)) => {
                                    home_of_remote(remote, episode.cwd.as_ref().and_then(|cwd| names.get(cwd)))
                                }
                                (None, None) => of_directory(&episode.cwd),
                            },
                            said_in: of_directory(&read.turn.cwd),
                            note: notes.get(&read.turn.id).copied(),
                        })
                    }
                    Reading::Title(episode, title) => Entry::Title(episode.id, self.redacted_title(title)),
                    Reading::TitleOfMessage(message, title) => Entry::TitleOfMessage(message, self.redacted_title(title)),
                    Reading::Link(episode, kind, value) => Entry::Link(episode.id, kind, value),
                    Reading::Caveat(episode, messages, caveat) => Entry::Caveat(episode.id, messages, *caveat),
                    Reading::Note(..) | Reading::Skip(..) => return None,
                })
            })
            .collect();
        Entries { source: self.source.kind(), pass: self.pass, is_document: self.is_document(), now: (self.now)(), list }
    }

    /// Returns a title as it is stored. It is redacted here because a title taken from a file name was not
    /// redacted with a record.
    fn redacted_title(&self, title: &Title) -> Title {
        let text = self.redactor.text(&title.text, &mut RedactionCounts::default());
        Title { text: text.unwrap_or_else(|| title.text.clone()), ..title.clone() }
    }
}

fn home(names: &ProjectNames) -> Home<'_> {
    Home { aliases: Cow::Borrowed(&names.aliases), name: Cow::Borrowed(&names.name) }
}

/// Returns the project of a directory whose remote the conversation records.
fn home_of_remote<'r>(remote: &str, of_directory: Option<&'r ProjectNames>) -> Option<Home<'r>> {
    let names = of_directory.cloned().unwrap_or_default().with_remote(remote);
    (!names.aliases.is_empty()).then_some(Home { aliases: Cow::Owned(names.aliases), name: Cow::Owned(names.name) })
}

/// Returns a project that has only a name.
fn named_home(name: &str) -> Home<'_> {
    Home { aliases: Cow::Owned(vec![(ProjectAlias::Name(name.to_owned()), name.to_owned())]), name: Cow::Borrowed(name) }
}
