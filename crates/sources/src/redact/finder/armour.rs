//! Finds private keys in armour: PEM, OpenSSH, PGP, PuTTY. Line breaks may be real or written out, lines may have numbers or
//! quotation marks, and the end may be missing.

use super::super::rules::{BASE64, SecretKind, is_in};
use super::super::values;
use super::{Finder, line_end, run_of, run_while};
use memchr::{memchr, memmem};

impl Finder<'_> {
    /// Redacts from `-----BEGIN ... PRIVATE KEY...-----` to its end line, or to the end of the base64 if the
    /// end line is missing. A header without a body (in code or prose) is kept.
    pub(super) fn pem(&mut self, at: usize) {
        let bytes = self.bytes;
        let mut start = at;
        while start > 0 && at - start < 5 && bytes[start - 1] == b'-' {
            start -= 1;
        }
        let mut label = at;
        if at - start < 4 {
            // `---- BEGIN SSH2 ...` has a space before the word.
            if at >= 5 && &bytes[at - 5..at] == b"---- " {
                start = at - 5;
            } else {
                return;
            }
        }
        while label < bytes.len() && label - at < 80 && bytes[label] != b'-' {
            label += 1;
        }
        let name = self.slice(at, label);
        if !(name.contains("PRIVATE KEY") || name.contains("SSH2 ENCRYPTED")) {
            return;
        }
        let body = run_of(bytes, label, b'-');
        if body - label < 4 {
            return;
        }
        if let Some(end) = armour_end(bytes, body) {
            self.push(start, end, SecretKind::PrivateKey);
        }
    }

    pub(super) fn putty(&mut self, at: usize) {
        let from = at + "Private-Lines:".len();
        let line = line_end(self.bytes, from);
        if let Some(end) = armour_end(self.bytes, line) {
            self.push(line, end, SecretKind::PrivateKey);
        }
    }
}

/// The element at a position within armour.
enum Piece {
    /// The end of a line.
    Break,
    /// White space, quotation marks, line numbers, or written-out line breaks, up to this position.
    Decoration(usize),
    /// A header such as `Proc-Type: 4,ENCRYPTED`, up to this position.
    Header(usize),
    /// `-----END ...-----`, up to this position.
    End(usize),
    /// Base64 characters, up to this position.
    Run(usize),
    /// Anything else: the armour ends here.
    Stop,
}

const DECORATION: &[u8] = b" \t\r\"'`+,>|\\;()#*";

fn piece_at(bytes: &[u8], at: usize) -> Piece {
    let Some(&b) = bytes.get(at) else {
        return Piece::Stop;
    };
    let arrow = "→".as_bytes();
    if b == b'\n' {
        return Piece::Break;
    }
    if b == b'\\' && matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't')) {
        return Piece::Decoration(at + 2);
    }
    if DECORATION.contains(&b) {
        return Piece::Decoration(at + 1);
    }
    if bytes[at..].starts_with(arrow) {
        return Piece::Decoration(at + arrow.len());
    }
    if b == b'-' {
        let dashes = run_of(bytes, at, b'-');
        let rest = &bytes[dashes..];
        return match dashes - at {
            1 => Piece::Decoration(dashes),
            4.. if rest.starts_with(b"END ") || rest.starts_with(b" END ") => {
                let label = run_while(bytes, dashes + 1, 80, |b| !b"-\n\\\"".contains(&b));
                Piece::End(run_of(bytes, label, b'-'))
            }
            _ => Piece::Stop,
        };
    }
    let end = run_while(bytes, at, usize::MAX, |b| is_in(b, BASE64) && b != b'-');
    let after = bytes.get(end).copied();
    if end == at {
        return Piece::Stop;
    }
    if matches!(after, Some(b':' | b'-')) && end - at < 40 {
        let line = &bytes[at..line_end(bytes, end)];
        let is_header = memchr(b':', &line[..line.len().min(40)]).is_some() && line.len() < 200;
        return if is_header { Piece::Header(at + line.len()) } else { Piece::Stop };
    }
    let is_number = bytes[at..end].iter().all(u8::is_ascii_digit);
    if is_number && (after == Some(b'\t') || bytes[end..].starts_with(arrow)) {
        return Piece::Decoration(end);
    }
    Piece::Run(end)
}

/// Returns whether a run of base64 belongs to a key of which `count` characters came before. A long run does;
/// a short one only where a key may end.
fn is_key_material(bytes: &[u8], at: usize, end: usize, count: usize) -> bool {
    if bytes[end..].starts_with(b"...") {
        return false;
    }
    if count == 0 {
        // A toy key counts only if its end line follows.
        let window = &bytes[end..bytes.len().min(end + 200)];
        return end - at >= 16 || memmem::find(window, b"-----END ").is_some();
    }
    if end - at >= 32 {
        return true;
    }
    let is_open = bytes.get(end).is_some_and(|b| !b"\n\r\\\"'-`,;)<".contains(b));
    let next = run_while(bytes, end, 8, |b| DECORATION.contains(&b) || b == b'\n' || b == b'n');
    let ends_key = bytes[at] == b'='
        || bytes[end - 1] == b'='
        || next >= bytes.len()
        || bytes[next..].starts_with(b"--")
        || bytes[next] == b'='
        || (end - at >= 4 && values::restlessness(&bytes[at..end]) >= 0.3);
    !is_open && ends_key
}

/// Returns the end of an armoured key that begins after its first line, or `None` if nothing that looks like
/// a key follows.
fn armour_end(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut last, mut count, mut empty) = (from, None, 0usize, 0);
    loop {
        match piece_at(bytes, at) {
            Piece::Break => {
                empty += 1;
                at += 1;
                if empty > 3 {
                    break;
                }
            }
            Piece::Decoration(next) => at = next,
            Piece::Header(next) => {
                at = next;
                empty = 0;
            }
            Piece::End(next) => return (count >= 8).then_some(next),
            Piece::Run(end) if is_key_material(bytes, at, end, count) => {
                count += end - at;
                last = Some(end);
                at = end;
                empty = 0;
            }
            Piece::Run(_) | Piece::Stop => break,
        }
    }
    if count >= 16 { last } else { None }
}
