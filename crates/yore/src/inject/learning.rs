//! Decides what a brief tells of the sessions that wait to be understood: their number, the offer of a model once, or nothing.

use std::path::Path;

use crate::config::Config;

/// File in the data directory that exists once the offer was made in a brief, or need not be made.
const TOLD: &str = "learn.told";
/// Sessions that wait before a model is offered.
const MANY: u64 = 10;

/// The part of a brief about sessions that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Their number.
    Told,
    /// A model is offered.
    Offered,
    /// Nothing: a model reads them.
    Silent,
}

impl Waiting {
    /// Chooses it for so many sessions.
    pub fn of(sessions: u64, config: &Config, directory: &Path) -> Self {
        if config.learn.auto {
            Self::Silent
        } else if sessions >= MANY && !directory.join(TOLD).exists() {
            Self::Offered
        } else {
            Self::Told
        }
    }
}

/// Notes that the offer was made, or that the person chose a model without it. Where that cannot be written, it is made again.
pub fn note_told(directory: &Path) {
    let _ = yore_engine::platform::create_private_file(&directory.join(TOLD));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_offered_once_when_many_sessions_wait_and_never_where_one_reads() {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        let of = |sessions, config: &Config| Waiting::of(sessions, config, directory.path());
        assert_eq!((of(9, &config), of(10, &config)), (Waiting::Told, Waiting::Offered));
        note_told(directory.path());
        assert_eq!(of(10, &config), Waiting::Told);
        config.learn.auto = true;
        assert_eq!(of(10, &config), Waiting::Silent);
    }
}
