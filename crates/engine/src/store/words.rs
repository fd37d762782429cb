//! How the words of a turn are stored: text and tool text in one value, compressed when that
//! pays. First byte: 0 plain, 1 zstd. Then the length of the text as a little-endian u32 (inside
//! the compressed part), the text, the tool text. This layout is persisted.

/// Shorter values do not repay a frame.
const COMPRESS_FROM: usize = 160;
/// More than any turn holds; bounds what a damaged value can make us allocate.
const MAX_BYTES: usize = 1 << 28;

pub(super) fn encode(text: &str, tool_text: &str) -> Vec<u8> {
    let mut plain = Vec::with_capacity(5 + text.len() + tool_text.len());
    plain.push(0);
    plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
    plain.extend_from_slice(text.as_bytes());
    plain.extend_from_slice(tool_text.as_bytes());
    if plain.len() < COMPRESS_FROM {
        return plain;
    }
    match zstd::bulk::compress(&plain[1..], 6) {
        Ok(mut frame) if frame.len() + 1 < plain.len() => {
            frame.insert(0, 1);
            frame
        }
        _ => plain,
    }
}

/// Text and tool text, or `None` when the value is damaged.
pub(super) fn decode(words: &[u8]) -> Option<(String, String)> {
    let (kind, rest) = words.split_first()?;
    let unpacked;
    let plain: &[u8] = match kind {
        0 => rest,
        1 => {
            unpacked = zstd::stream::decode_all(rest).ok()?;
            &unpacked
        }
        _ => return None,
    };
    if plain.len() > MAX_BYTES {
        return None;
    }
    let (length, both) = plain.split_first_chunk::<4>()?;
    let (text, tool_text) = both.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((String::from_utf8(text.to_vec()).ok()?, String::from_utf8(tool_text.to_vec()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_survive_storage(text in "\\PC{0,300}", tool in "\\PC{0,300}") {
            prop_assert_eq!(decode(&encode(&text, &tool)), Some((text, tool)));
        }

        #[test]
        fn damaged_words_are_refused_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            decode(&bytes);
        }
    }
}
