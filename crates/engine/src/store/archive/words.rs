//! Encodes a turn's text and tool text as one stored value, compressed if that saves space. First byte: 0 plain, 1 zstd. Then the
//! length of the text as a little-endian u32 (inside the compressed part), the text, the tool text. This layout is persisted.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

/// Shorter values are not worth compressing.
const COMPRESS_FROM: usize = 160;
/// Larger than any turn; limits the memory that a damaged value can request.
const MAX_BYTES: u64 = 1 << 28;
const LEVEL: i32 = 6;

thread_local! {
    // Creating a codec takes longer than coding the few hundred bytes of a usual turn.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(LEVEL).ok());
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = RefCell::new(Decompressor::new().ok());
}

pub(super) fn encode(text: &str, tool_text: &str) -> Vec<u8> {
    let mut plain = Vec::with_capacity(5 + text.len() + tool_text.len());
    plain.push(0);
    plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
    plain.extend_from_slice(text.as_bytes());
    plain.extend_from_slice(tool_text.as_bytes());
    if plain.len() < COMPRESS_FROM {
        return plain;
    }
    let frame = COMPRESSOR.with_borrow_mut(|compressor| compressor.as_mut()?.compress(&plain[1..]).ok());
    match frame {
        Some(mut frame) if frame.len() + 1 < plain.len() => {
            frame.insert(0, 1);
            frame
        }
        _ => plain,
    }
}

/// Returns text and tool text, or `None` if the value is damaged.
pub(in crate::store) fn decode(words: &[u8]) -> Option<(String, String)> {
    let (kind, rest) = words.split_first()?;
    let unpacked;
    let plain: &[u8] = match kind {
        0 => rest,
        1 => {
            let size = zstd::zstd_safe::get_frame_content_size(rest).ok()??;
            let size = usize::try_from(size).ok().filter(|_| size <= MAX_BYTES)?;
            unpacked = DECOMPRESSOR.with_borrow_mut(|decompressor| decompressor.as_mut()?.decompress(rest, size).ok())?;
            &unpacked
        }
        _ => return None,
    };
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
