//! Placeholder while the server is written.
use crate::engine_handle::EngineHandle;
use yore_engine::ingest::ProjectNames;
/// Serves until standard input closes.
pub fn serve_stdio(_handle: EngineHandle, _here: Option<ProjectNames>) -> Result<(), String> {
    Err("being written".into())
}
