//! Sessions, documents, notes and projects as a person handles them: listed, shown, fetched, merged, forgotten.
//!
//! - `sessions`: lists sessions, divides one into exchanges; `show`: a turn or a session, in pages
//! - `notes`: stores and lists notes; `contexts`: finds those that are contexts; `pages`: fetches pages of the web
//! - `projects`: finds, renames and merges projects
//! - `forget`: forgets softly or for good; `cleanup`: forgets what was put away long ago; `replay`: measures memory on one's own history

mod cleanup;
mod contexts;
pub(crate) mod forget;
pub(crate) mod notes;
mod pages;
pub(crate) mod projects;
mod replay;
pub(crate) mod sessions;
mod show;

pub use self::cleanup::CleanedUp;
pub use self::contexts::{
    Context, ContextDepth, ContextMatch, ContextPage, ContextPlace, ContextReading, ContextSearch, ContextTree, FoundContexts,
    OpenedContext, RELATED_TAG, ReachedContext,
};
pub use self::forget::{ForgetRequest, ForgetSelection};
pub use self::notes::{NoteSummary, NotesRequest, RememberRequest, Remembered, STANDING, WhichVersion};
pub use self::pages::{FetchOptions, PageChange, PageReport};
pub use self::projects::{MergeOffer, ProjectMerged, ProjectQuery};
pub use self::replay::{CUTS, ReplayReport, ReplayRequest, ReplayRow};
pub use self::sessions::SessionsRequest;
pub use self::show::{NoPlace, Page, PageTurn, ShowAnswer, ShowRequest, Start, Surroundings};
