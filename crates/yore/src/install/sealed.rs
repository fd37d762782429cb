//! Encrypts backups of agents' settings with the data directory's key.
//!
//! Agents' settings hold tokens of servers. The copies that `install` keeps for `uninstall` to restore byte
//! for byte are encrypted (ChaCha20-Poly1305, RFC 8439), so that no search, no copy of the folder and no
//! backup of the disk without the key finds the secrets in the clear.

use std::io;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

/// Prefix of a sealed text; the nonce and the ciphertext follow.
const MARK: &[u8] = b"yore sealed 1\n";

/// Encrypts a text.
///
/// # Errors
/// The system gives no random bytes.
pub fn seal(key: &[u8; 32], text: &str) -> io::Result<Vec<u8>> {
    let fail = |_| io::Error::other("the text could not be encrypted");
    let mut nonce = [0u8; NONCE_LEN];
    SystemRandom::new().fill(&mut nonce).map_err(fail)?;
    let mut body = text.as_bytes().to_vec();
    cipher(key)?.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(MARK), &mut body).map_err(fail)?;
    Ok([MARK, &nonce, &body].concat())
}

/// Decrypts a text from [`seal`]; returns a text that an older yore stored in the clear unchanged. `None` if
/// the key is wrong or the bytes were changed.
pub fn open(key: &[u8; 32], bytes: Vec<u8>) -> Option<String> {
    let Some(sealed) = bytes.strip_prefix(MARK) else { return String::from_utf8(bytes).ok() };
    let (nonce, body) = sealed.split_first_chunk::<NONCE_LEN>()?;
    let mut body = body.to_vec();
    let plain = cipher(key).ok()?.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(MARK), &mut body).ok()?;
    String::from_utf8(plain.to_vec()).ok()
}

fn cipher(key: &[u8; 32]) -> io::Result<LessSafeKey> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key).map_err(|_| io::Error::other("the key cannot be used"))?;
    Ok(LessSafeKey::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_text_opens_with_its_key_only_and_as_it_was() {
        let text = "{\"env\":{\"GITHUB_TOKEN\":\"not a real one\"}}\r\n\u{feff}";
        let sealed = seal(&[1; 32], text).unwrap();
        assert!(!String::from_utf8_lossy(&sealed).contains("GITHUB"));
        assert_ne!(sealed, seal(&[1; 32], text).unwrap(), "each has its own nonce");
        assert_eq!(open(&[1; 32], sealed.clone()).as_deref(), Some(text));
        assert_eq!(open(&[2; 32], sealed.clone()), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            // With a changed mark it counts as a text of an older yore, which is not UTF-8 or not the same
            // text.
            assert_ne!(open(&[1; 32], changed).as_deref(), Some(text));
        }
        assert_eq!(open(&[1; 32], text.as_bytes().to_vec()).as_deref(), Some(text), "an older yore's");
    }
}
