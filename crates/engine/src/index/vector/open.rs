//! Opens a vector index for reading or writing.

use std::sync::{Arc, RwLock};

use super::error::{MAX_DIMENSIONS, VectorError};
use super::manifest::Owner;
use super::simd::Kernel;
use super::state::{State, load};
use super::tuning::Tuning;
use super::vector_index::{VectorIndex, VectorOptions};
use super::writer::{self, VectorWriter};

impl VectorIndex {
    /// Opens the index of this owner, or an empty one: [`VectorIndex::reset_reason`] returns the reason.
    /// Removes leftovers of a killed writer, unless another process is writing.
    pub fn open(options: &VectorOptions) -> Result<Self, VectorError> {
        Self::open_tuned(options, Tuning::DEFAULT)
    }

    pub(super) fn open_tuned(options: &VectorOptions, tuning: Tuning) -> Result<Self, VectorError> {
        let VectorOptions { directory, identity, token, dimensions } = options.clone();
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(VectorError::BadDimensions(dimensions));
        }
        crate::platform::create_private_directory(&directory).map_err(|error| VectorError::io(&directory, error))?;
        let owner = Owner { identity, token, dimensions };
        let state = Arc::new(load(&directory, &owner, None)?.unwrap_or_else(|| State::empty(&owner, None)));
        let index = Self { directory, owner, kernel: Kernel::detect(), tuning, state: RwLock::new(state) };
        if writer::has_leftovers(&index.directory, &index.state()) {
            // If that fails, the next writer reports the error.
            let _ = index.writer();
        }
        Ok(index)
    }

    /// Returns the writer, of which all processes together have one at a time; `None` while another has it.
    /// The writer starts from the last written state.
    pub fn writer(&self) -> Result<Option<VectorWriter<'_>>, VectorError> {
        VectorWriter::new(self)
    }
}
