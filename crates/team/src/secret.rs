//! Secrets of members: tokens and invitations. The server stores their hashes alone.
//!
//! A secret is `yore-team-TEAM-RANDOM`: the id of the team, which tells the server where to look, and 256 random bits.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// Beginning of every secret.
const PREFIX: &str = "yore-team-";
/// Random bytes.
const RANDOM: usize = 32;

/// A token or an invitation.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The team.
    pub team: Uuid,
    random: [u8; RANDOM],
}

impl Secret {
    /// Creates one of random bytes.
    pub fn new(team: Uuid, random: [u8; RANDOM]) -> Self {
        Self { team, random }
    }

    /// Returns the hash by which the server knows it.
    pub fn hash(&self) -> [u8; 32] {
        *blake3::hash(self.text().as_bytes()).as_bytes()
    }

    /// Returns it as it is shown to the person, once.
    pub fn text(&self) -> String {
        let random: String = self.random.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{PREFIX}{}-{random}", self.team.simple())
    }
}

/// Shows the team alone: a secret must not get into a log.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}-...", self.team.simple())
    }
}

/// It is not a secret of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a token or an invitation of a team")]
pub struct NoSecret;

impl FromStr for Secret {
    type Err = NoSecret;

    fn from_str(text: &str) -> Result<Self, NoSecret> {
        let (team, random) = text.trim().strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')).ok_or(NoSecret)?;
        let is_plain = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if team.len() != 32 || random.len() != 2 * RANDOM || !is_plain(team) || !is_plain(random) {
            return Err(NoSecret);
        }
        let team = Uuid::try_parse(team).map_err(|_| NoSecret)?;
        let mut bytes = [0; RANDOM];
        for (byte, digits) in bytes.iter_mut().zip(random.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| NoSecret)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NoSecret)?;
        }
        Ok(Self { team, random: bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_read_as_it_was_shown_and_debug_hides_it() {
        let secret = Secret::new(Uuid::from_u128(7), [0xa5; RANDOM]);
        assert_eq!(secret.text().parse(), Ok(secret.clone()));
        assert!(!format!("{secret:?}").contains("a5a5"));
        let text = secret.text();
        for wrong in ["", "yore-team-", &text[..text.len() - 1], &text.to_uppercase(), &text.replace("a5", "+5")] {
            assert_eq!(wrong.parse::<Secret>(), Err(NoSecret), "{wrong}");
        }
        assert_ne!(Secret::new(Uuid::from_u128(8), [0xa5; RANDOM]).hash(), secret.hash());
    }
}
