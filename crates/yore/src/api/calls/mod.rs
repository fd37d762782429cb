//! The functions behind the routes, by subject. Each file has the arguments of its routes, and lists them in `routes`.
//!
//! - `memories`: memories, conflicts and what waits for a person; `changes`: the log, undo and redo
//! - `entities`: entities and relations; `forget`: forgetting
//! - `notes`: notes and contexts; `agents`: what agents get unasked, and what they tell
//! - `categories`, `insights`, `projects`; `receipts`: what sessions were given; `cost`: what models took
//! - `upkeep`: the memory itself: sizes, sources, jobs; `health`: what is wrong with it; `settings`
//! - `recall`: search, answers, levels; `sessions`: sessions, turns, topics, handoffs
//! - `reading`: how arguments are read
//!
//! The page calls the same functions.

pub mod agents;
pub mod categories;
pub mod changes;
pub mod cost;
pub mod entities;
pub mod forget;
pub mod health;
pub mod insights;
pub mod memories;
pub mod notes;
pub mod projects;
mod reading;
pub mod recall;
pub mod receipts;
pub mod sessions;
pub mod settings;
pub mod team;
pub mod upkeep;

pub use self::reading::{all_named, by_person, limit, named, none, place, time};
use super::route::Route;

/// Returns all routes.
pub fn routes() -> Vec<Route> {
    [
        recall::routes(),
        sessions::routes(),
        memories::routes(),
        changes::routes(),
        notes::routes(),
        agents::routes(),
        categories::routes(),
        insights::routes(),
        projects::routes(),
        receipts::routes(),
        cost::routes(),
        upkeep::routes(),
        entities::routes(),
        forget::routes(),
        health::routes(),
        settings::routes(),
        team::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
