//! Identifiers of episodes, turns, projects, memories, entities and relations: how each is derived or drawn.
//!
//! [`EpisodeId`] and [`TurnId`] are *derived*: the same native ids always give the same id, so
//! reading a history again, on another day or by a better reader, never changes them. They never
//! depend on a path or on content. [`ProjectId`], [`MemoryId`], [`EntityId`] and [`RelationId`] are
//! *drawn*: time-ordered and random (UUIDv7), because they have no native name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// Hex digits of an id that are displayed; `show` accepts any unambiguous prefix.
pub const SHORT_ID_CHARS: usize = 10;
/// Hex digits of an id.
const HEX_DIGITS: usize = 32;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $short:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps 16 bytes that were stored before.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The 16 bytes to store.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// Returns [`SHORT_ID_CHARS`] of its hex digits for display: those in which ids differ.
            pub fn short(&self) -> String {
                self.to_string()[$short].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0.simple())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

id_type! {
    /// One conversation, file, page or note, independent of the file it was read from.
    EpisodeId, ..SHORT_ID_CHARS
}
id_type! {
    /// One message of an episode. Two snapshots of a session share their turn ids.
    TurnId, ..SHORT_ID_CHARS
}
id_type! {
    /// One scope of isolation: a repository with all its worktrees, or a directory.
    // The first digits are the time, which is the same for all ids made on one day.
    ProjectId, HEX_DIGITS - SHORT_ID_CHARS..
}

id_type! {
    /// One memory.
    MemoryId, HEX_DIGITS - SHORT_ID_CHARS..
}
id_type! {
    /// One entity.
    EntityId, HEX_DIGITS - SHORT_ID_CHARS..
}
id_type! {
    /// One relation.
    RelationId, HEX_DIGITS - SHORT_ID_CHARS..
}

macro_rules! drawn {
    ($($name:ident)+) => {$(
        impl $name {
            /// Returns the time at which it was drawn, in milliseconds since 1970.
            pub fn drawn_at(&self) -> i64 {
                self.as_bytes()[..6].iter().fold(0, |time, byte| time << 8 | i64::from(*byte))
            }

            /// Makes a new id from the time and 10 random bytes drawn by the caller.
            pub fn new(unix_ms: u64, random: [u8; 10]) -> Self {
                Self(uuid::Builder::from_unix_timestamp_millis(unix_ms, &random).into_uuid())
            }
        }
    )+};
}

drawn! { ProjectId MemoryId EntityId RelationId }

impl EntityId {
    /// The person whose memory this is: there is one, with this id everywhere.
    pub const USER: Self = Self(Uuid::from_u128(0x7573_6572_0000_8000_8000_0000_0000_0001));
}

impl EpisodeId {
    /// Derives the id from the agent (source kind) and the agent's own session id.
    pub fn derive(agent: &str, native_session: &str) -> Self {
        Self(derive("episode", &[agent, native_session]))
    }
}

impl TurnId {
    /// Derives the id from agent, session and message ids of the agent, and the ordinal among the
    /// turns that one native message yields (0 for the first).
    pub fn derive(agent: &str, native_session: &str, native_message: &str, ordinal: u32) -> Self {
        Self(derive("turn", &[agent, native_session, native_message, &ordinal.to_string()]))
    }
}

/// Derives a UUIDv8 from a BLAKE3 hash of length-prefixed parts, so that no two lists of parts collide by
/// moving a boundary.
fn derive(domain: &str, parts: &[&str]) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    for part in std::iter::once(&domain).chain(parts) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn turn_id_is_stable_across_releases() {
        // Stored ids depend on this value: if it changes, every database changes.
        let id = TurnId::derive("claude-code", "s", "m", 0);
        assert_eq!(id.to_string().len(), 32);
        assert_eq!(id.to_string().chars().nth(12), Some('8'), "{id} is a UUIDv8");
        assert_eq!(id, TurnId::derive("claude-code", "s", "m", 0));
    }

    #[test]
    fn short_ids_of_projects_that_were_met_at_once_differ() {
        let id = |random: u8| ProjectId::new(1_772_323_200_000, [random; 10]);
        assert_ne!(id(1).short(), id(2).short());
        assert_eq!(id(1).short().len(), SHORT_ID_CHARS);
        let turn = TurnId::derive("claude-code", "s", "m", 0);
        assert!(turn.to_string().starts_with(&turn.short()));
    }

    proptest! {
        #[test]
        fn different_native_ids_give_different_turn_ids(a in ".{0,12}", b in ".{0,12}", c in ".{0,12}", d in ".{0,12}") {
            prop_assume!((&a, &b) != (&c, &d));
            prop_assert_ne!(TurnId::derive("x", &a, &b, 0), TurnId::derive("x", &c, &d, 0));
        }

        #[test]
        fn ids_survive_text_form(a in ".{0,12}") {
            let id = EpisodeId::derive("x", &a);
            prop_assert_eq!(id.to_string().parse::<EpisodeId>().unwrap(), id);
        }
    }
}
