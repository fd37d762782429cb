//! What concerns a file that is about to be changed.

use yore_core::episode::Role;
use yore_core::query::Filter;

use super::occasion::{ask, chosen};
use super::{Offer, OfferRequest};
use crate::{Engine, EngineError};

/// What people said about a file, and notes that name it. That an agent once read it is no news.
pub(super) fn of_edit(engine: &Engine, request: &OfferRequest, filter: Filter, path: &str) -> Result<Offer, EngineError> {
    let normal = path.trim().replace('\\', "/");
    // Two components tell most files apart and hold on every computer.
    let parts: Vec<&str> = normal.split('/').filter(|part| !part.is_empty()).collect();
    let Some(name) = parts.last() else { return Ok(Offer::silent("short", 0.0)) };
    let suffix = parts[parts.len().saturating_sub(2)..].join("/");
    let filter = Filter { files: vec![suffix], roles: vec![Role::Human, Role::Summary], ..filter };
    let answer = ask(engine, request, filter, name)?;
    // The filter answers only with turns that name the file.
    let is_found = !answer.hits.is_empty();
    if !is_found {
        return Ok(Offer::silent("nothing", 0.0));
    }
    chosen(request, answer, 1.0, |_| Ok(None))
}

