//! The functions behind the routes, by subject. Each file has the arguments of its routes, and lists them in `routes`.
//!
//! - `memories`: memories, conflicts and what waits for a person; `changes`: the log, undo and redo
//! - `entities`: entities and relations; `forget`: forgetting
//! - `notes`: notes and contexts; `agents`: what agents get unasked, and what they tell
//! - `recall`: search, answers, levels; `sessions`: sessions, turns, topics, handoffs
//! - `reading`: how arguments are read
//!
//! The page calls the same functions.

pub mod agents;
pub mod changes;
pub mod entities;
pub mod forget;
pub mod memories;
pub mod notes;
mod reading;
pub mod recall;
pub mod sessions;

pub use self::reading::{all_named, by_person, limit, named, none, place, time};
use super::route::Route;

/// Returns all routes.
pub fn routes() -> Vec<Route> {
    [
        memories::routes(),
        changes::routes(),
        entities::routes(),
        forget::routes(),
        notes::routes(),
        agents::routes(),
        recall::routes(),
        sessions::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
