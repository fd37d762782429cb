//! Undoes the content codings of bodies (gzip, deflate, br, zstd), with bounded output.

use std::io::Read;

/// A body whose content coding was undone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub bytes: Vec<u8>,
    /// True if the coded data came to its end without a mistake.
    pub is_whole: bool,
}

/// The largest window that a sender of zstd may ask for, as a power of two: 8 MiB, which RFC 9659 sets for HTTP.
const LARGEST_WINDOW: u32 = 23;

/// Undoes the codings named in a `Content-Encoding` header, the last first. `None` if one is unknown, if there are more than
/// three, or if the result is longer than `longest` bytes. Data that breaks off gives what came before.
pub(crate) fn decode(codings: &str, bytes: &[u8], longest: usize) -> Option<Decoded> {
    let codings = codings.split(',').map(|coding| coding.trim().to_ascii_lowercase());
    let codings: Vec<String> = codings.filter(|coding| !coding.is_empty() && coding != "identity").collect();
    if codings.len() > 3 {
        return None;
    }
    let mut decoded = Decoded { bytes: Vec::new(), is_whole: true };
    let mut is_first = true;
    for coding in codings.iter().rev() {
        let coded = if is_first { bytes } else { &decoded.bytes };
        let next = decode_one(coding, coded, longest)?;
        decoded = Decoded { bytes: next.bytes, is_whole: decoded.is_whole && next.is_whole };
        is_first = false;
    }
    if is_first {
        decoded.bytes = (bytes.len() <= longest).then(|| bytes.to_vec())?;
    }
    Some(decoded)
}

fn decode_one(coding: &str, bytes: &[u8], longest: usize) -> Option<Decoded> {
    match coding {
        "gzip" | "x-gzip" => read(flate2::read::MultiGzDecoder::new(bytes), longest),
        "deflate" => {
            // The coding is zlib's format, but some send bare deflate.
            let zlib = read(flate2::read::ZlibDecoder::new(bytes), longest)?;
            if zlib.is_whole || !zlib.bytes.is_empty() {
                return Some(zlib);
            }
            read(flate2::read::DeflateDecoder::new(bytes), longest)
        }
        "br" => read(brotli_decompressor::Decompressor::new(bytes, 4096), longest),
        "zstd" => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).ok()?;
            decoder.window_log_max(LARGEST_WINDOW).ok()?;
            read(decoder, longest)
        }
        _ => None,
    }
}

fn read(mut decoder: impl Read, longest: usize) -> Option<Decoded> {
    let mut out = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        match decoder.read(&mut chunk) {
            Ok(0) => return Some(Decoded { bytes: out, is_whole: true }),
            Ok(length) => out.extend_from_slice(chunk.get(..length)?),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Some(Decoded { bytes: out, is_whole: false }),
        }
        if out.len() > longest {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 1 << 20;
    /// "hello hello hello hello", compressed by brotli.
    const BROTLI: &[u8] = &[
        0x0b, 0x0b, 0x80, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
        0x20, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x03,
    ];

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn whole(bytes: &[u8]) -> Option<Decoded> {
        Some(Decoded { bytes: bytes.to_vec(), is_whole: true })
    }

    #[test]
    fn every_coding_is_undone() {
        let text = b"hello ".repeat(1000);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        zlib.write_all(&text).unwrap();
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        bare.write_all(&text).unwrap();
        assert_eq!(decode("gzip", &gzip(&text), LIMIT), whole(&text));
        assert_eq!(decode("X-GZIP", &gzip(&text), LIMIT), whole(&text));
        assert_eq!(decode("deflate", &zlib.finish().unwrap(), LIMIT), whole(&text));
        assert_eq!(decode("deflate", &bare.finish().unwrap(), LIMIT), whole(&text));
        assert_eq!(decode("zstd", &zstd::encode_all(&text[..], 3).unwrap(), LIMIT), whole(&text));
        assert_eq!(decode("br", BROTLI, LIMIT), whole(b"hello hello hello hello"));
        assert_eq!(decode("", &text, LIMIT), whole(&text));
        assert_eq!(decode("identity", &text, LIMIT), whole(&text));
        assert_eq!(decode("zstd, gzip", &gzip(&zstd::encode_all(&text[..], 3).unwrap()), LIMIT), whole(&text));
    }

    #[test]
    fn unknown_codings_and_too_long_output_give_nothing() {
        assert_eq!(decode("compress", b"x", LIMIT), None);
        assert_eq!(decode("gzip, gzip, gzip, gzip", b"x", LIMIT), None);
        assert_eq!(decode("gzip", &gzip(&vec![0; LIMIT + 1]), LIMIT), None);
        assert_eq!(decode("", &[0; 3], 2), None);
    }

    #[test]
    fn data_that_breaks_off_gives_what_came_before() {
        let text: Vec<u8> = (0..40_000_u32).flat_map(u32::to_le_bytes).collect();
        let coded = gzip(&text);
        let decoded = decode("gzip", &coded[..coded.len() / 2], LIMIT).unwrap();
        assert!(!decoded.is_whole && !decoded.bytes.is_empty() && text.starts_with(&decoded.bytes));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2000), coding in "gzip|deflate|br|zstd") {
            if let Some(decoded) = decode(&coding, &bytes, LIMIT) {
                prop_assert!(decoded.bytes.len() <= LIMIT);
            }
        }
    }
}
