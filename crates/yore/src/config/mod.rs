//! The configuration: its five layers, its keys, and who may set them.
//!
//! There are five layers, each over the one before:
//!
//! 1. the compiled-in defaults ([`Config::default`]);
//! 2. the person's file, `$YORE_CONFIG` or `yore/config.toml` in the platform's directory for
//!    configurations;
//! 3. the project's file, `.yore.toml` at the project's root, which may narrow but not widen what
//!    is captured or recalled (`ProjectMay`);
//! 4. the environment, `YORE_<SECTION>__<KEY>`, where two underscores replace a dot and one replaces a
//!    hyphen:
//!    `YORE_SOURCES__CLAUDE_CODE__ENABLED=no`;
//! 5. flags.
//!
//! A value replaces the one below. Only lists that a project's file may add to are joined. Nothing is
//! ignored: an unknown key, section or `YORE_…__…` variable is an error.
//!
//! The module reads no environment and knows no directories: both are passed in. A project's settings for
//! capture apply to the conversations *of that project*, so code that reads conversations loads the
//! configuration once for each project that it meets.
//!
//! Reading order: [`Config`] and its sections, a file each (`section`); properties of a key beside its type
//! (`key`); origins of values (`origin`, `environment`); references in strings (`reference`); one file
//! (`file`); the layers (`load`); changing a file (`edit`, `replace`); the schema and the commented default
//! file, generated from these (`document`).

mod document;
mod edit;
mod environment;
mod error;
mod file;
mod key;
mod load;
mod lookup;
mod names;
mod origin;
mod reference;
mod replace;
mod section;

#[cfg(test)]
mod design_defaults_test;
#[cfg(test)]
mod document_test;
#[cfg(test)]
mod edit_test;
#[cfg(test)]
mod fuzz_test;
#[cfg(test)]
mod load_test;
#[cfg(test)]
mod project_test;
#[cfg(test)]
mod reference_test;
#[cfg(test)]
mod test_support;

pub use document::{defaults_toml, description_of, schema};
pub use edit::{set, unset};
pub use environment::Environment;
pub use error::ConfigError;
pub use key::Key;
pub use load::{Layers, PROJECT_FILE, Resolved, Setting, UserFile, check, defaults, load, load_here, load_only};
pub use names::{COMMAND, FOLDER, ModelPrice, ModelUse, NONE, PURPOSES};
pub use origin::{FileKind, Origin};
pub use replace::replace_file;
pub use section::{CaptureMode, Config, Daemon, Headless, Inject, Llm, RecallEmbedder, RecallScope, SharedLevel, Upkeep, When};
