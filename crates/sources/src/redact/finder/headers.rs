//! Finds credentials in URLs and headers: `Authorization`, cookies.

use super::super::names::{self, Strength};
use super::super::rules::{self, BASE64, DOTTED, SecretKind, URLSAFE, is_in};
use super::super::values::{self, Form};
use super::super::verdict;
use super::{Finder, REACH, quote_at, run_end, skip_blanks};
use memchr::memchr;

impl Finder<'_> {
    pub(super) fn url(&mut self, at: usize) {
        if at == 0 || !is_in(self.bytes[at - 1], rules::ALNUM) {
            return;
        }
        let start = at + 3;
        let end = self.bytes.len().min(start + 1024);
        let (mut last_at, mut first_colon) = (None, None);
        for (i, &b) in self.bytes[start..end].iter().enumerate() {
            match b {
                b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b')' | b',' | b'|' | b' ' | b'\t' | b'\r'
                | b'\n' => break,
                b'@' => last_at = Some(start + i),
                b':' if first_colon.is_none() => first_colon = Some(start + i),
                _ => {}
            }
        }
        let Some(host) = last_at else { return };
        if !self.bytes.get(host + 1).is_some_and(|&b| is_in(b, rules::WORD) || matches!(b, b'[' | b'$' | b'{')) {
            return;
        }
        match first_colon.filter(|&colon| colon < host) {
            Some(colon) => {
                let password = self.slice(colon + 1, host);
                let user = self.slice(start, colon);
                if !password.is_empty() && !is_url_placeholder(password) {
                    self.push(colon + 1, host, SecretKind::UrlPassword);
                } else if matches!(password, "x-oauth-basic" | "") && host - start > 20 {
                    let end = start + user.len();
                    if verdict::is_secret(user, Strength::Strong, Form::Quoted) {
                        self.push(start, end, SecretKind::UrlPassword);
                    }
                }
            }
            None => {
                let user = self.slice(start, host);
                // An address of Sentry begins with a key of 32 digits, which is no digest there.
                let is_key = user.len() >= 32 && values::is_hex(user.as_bytes());
                if is_key || user.len() >= 20 && verdict::is_secret(user, Strength::Weak, Form::Quoted) {
                    self.push(start, host, SecretKind::UrlPassword);
                }
            }
        }
    }

    /// Redacts `Authorization: Scheme credentials` in any notation.
    pub(super) fn authorization(&mut self, at: usize) {
        let mut p = at + "authorization".len();
        if let Some((_, _, next)) = quote_at(self.bytes, p) {
            p = next;
        }
        if self.bytes.get(p) == Some(&b']') {
            p += 1;
        }
        p = skip_blanks(self.bytes, p, 8);
        match self.bytes.get(p) {
            Some(b':' | b'=' | b',') => p += 1,
            _ => return,
        }
        if self.bytes.get(p) == Some(&b'>') {
            p += 1;
        }
        p = skip_blanks(self.bytes, p, 8);
        while self.bytes.get(p).is_some_and(|&b| matches!(b, b'b' | b'f' | b'r'))
            && self.bytes.get(p + 1).is_some_and(|&b| matches!(b, b'"' | b'\''))
        {
            p += 1;
        }
        if let Some((_, _, next)) = quote_at(self.bytes, p) {
            p = next;
        }
        let word = run_end(self.bytes, p, URLSAFE, 64);
        let scheme = self.slice(p, word);
        let known = ["bearer", "basic", "token", "bot", "apikey", "api-key", "key", "ssws", "pat", "oauth", "genie", "jwt"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known));
        if known && self.bytes.get(word).is_some_and(|&b| b == b' ' || b == b'=') {
            if scheme.eq_ignore_ascii_case("basic") {
                self.basic_in_header(skip_blanks(self.bytes, word + 1, 4));
            } else {
                self.credentials(skip_blanks(self.bytes, word + 1, 4), 8);
            }
        } else if !known {
            self.credentials(p, 16);
        }
    }

    fn credentials(&mut self, start: usize, min: usize) {
        let is_part = |b: u8| is_in(b, BASE64 | DOTTED) || matches!(b, b'~' | b':' | b'!' | b'%' | b'*');
        let mut end = start;
        while end < self.bytes.len() && end - start < REACH && is_part(self.bytes[end]) {
            end += 1;
        }
        while end > start && matches!(self.bytes[end - 1], b'.' | b':' | b'!') {
            end -= 1;
        }
        let value = self.slice(start, end);
        let has_digit = value.bytes().any(|b| b.is_ascii_digit());
        let is_mixed = value.len() >= 16 && values::restlessness(value.as_bytes()) >= 0.3;
        if end - start >= min
            && (has_digit || is_mixed)
            && (min < 16 || values::restlessness(value.as_bytes()) >= 0.15)
            && !values::is_placeholder(value)
            && !matches!(self.bytes.get(end), Some(b'(' | b'{' | b'$'))
            && !value.contains("//")
        {
            self.push(start, end, SecretKind::Bearer);
        }
    }

    /// Redacts `Bearer credentials` outside a header.
    pub(super) fn bearer(&mut self, at: usize) {
        let word = at + "bearer".len();
        let start = if self.bytes[word.min(self.bytes.len())..].starts_with(b"%20") {
            word + 3
        } else {
            skip_blanks(self.bytes, word, 4)
        };
        if start > word {
            self.credentials(start, 16);
        }
    }

    /// Redacts `Basic credentials`, recognised by the decoded text.
    pub(super) fn basic(&mut self, start: usize) {
        let start = skip_blanks(self.bytes, start, 4);
        let end = run_end(self.bytes, start, BASE64, 1024);
        if end - start >= 8 && decodes_to_pair(&self.bytes[start..end]) {
            self.push(start, end, SecretKind::BasicAuth);
        }
    }

    fn basic_in_header(&mut self, start: usize) {
        let end = run_end(self.bytes, start, BASE64, 1024);
        let value = self.slice(start, end);
        if end - start >= 8
            && (decodes_to_pair(value.as_bytes())
                || (value.bytes().any(|b| b.is_ascii_digit()) && !values::is_placeholder(value)))
        {
            self.push(start, end, SecretKind::BasicAuth);
        }
    }

    /// Redacts the values of session-like names in `Cookie: a=b; c=d`.
    pub(super) fn cookie(&mut self, at: usize) {
        let bytes = self.bytes;
        let mut p = at + "cookie".len();
        if bytes.get(p) == Some(&b's') {
            p += 1;
        }
        if let Some((_, _, next)) = quote_at(bytes, p) {
            p = next;
        }
        p = skip_blanks(bytes, p, 4);
        let is_flag = at >= 2 && &bytes[at - 2..at] == b"--" && bytes.get(p.wrapping_sub(1)) == Some(&b' ');
        match bytes.get(p) {
            Some(b':' | b'=' | b',') => p += 1,
            Some(_) if is_flag => {}
            _ => return,
        }
        p = skip_blanks(bytes, p, 4);
        if let Some((_, _, next)) = quote_at(bytes, p) {
            p = next;
        }
        self.cookie_pairs(p);
    }

    /// Reads `name=value; name=value` from `start`.
    pub(in super::super) fn cookie_pairs(&mut self, start: usize) {
        let bytes = self.bytes;
        let end = bytes.len().min(start + 2 * REACH);
        let mut p = start;
        while p < end {
            let name_end = run_end(bytes, p, DOTTED, 128);
            if name_end == p || bytes.get(name_end) != Some(&b'=') {
                return;
            }
            let from = name_end + 1;
            let mut to = from;
            while to < end && !matches!(bytes[to], b';' | b'"' | b'\'' | b'\\' | b'`' | b',') && !bytes[to].is_ascii_whitespace()
            {
                to += 1;
            }
            let (name, value) = (self.slice(p, name_end), self.slice(from, to));
            let is_random = value.bytes().any(|b| b.is_ascii_digit()) || value.len() >= 20;
            // A cookie with another name counts only if its value cannot have been written by hand.
            let is_long = value.len() >= 24 && values::restlessness(value.as_bytes()) >= 0.3 && !values::reads_as_words(value);
            if (is_long || names::is_session(name) && value.len() >= 8 && is_random)
                && !values::is_placeholder(value)
                && !values::is_reference(value)
            {
                self.push(from, to, SecretKind::SessionCookie);
            }
            p = to;
            if bytes.get(p) != Some(&b';') {
                return;
            }
            p = skip_blanks(bytes, p + 1, 8);
        }
    }
}

/// Returns whether the password of a URL is a placeholder, judged by the whole of it: an encoded character at
/// the start (`%29`) does not make it a variable.
fn is_url_placeholder(part: &str) -> bool {
    let lower = part.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "password" | "passwd" | "pass" | "pwd" | "pw" | "user" | "username" | "x-oauth-basic" | "token" | "xxx" | "..."
    ) || lower.starts_with("${")
        || values::is_reference(&lower)
        || (lower.starts_with('[') && lower.ends_with(']'))
        || ["***", "...", "redacted", "xxxx"].iter().any(|mark| lower.contains(mark))
        || (lower.contains("your") && values::reads_as_words(&lower))
        || lower.bytes().all(|b| matches!(b, b'*' | b'x' | b'.' | b'-' | b'_'))
}

/// Returns whether base64 decodes to `user:password` in printable characters.
fn decodes_to_pair(encoded: &[u8]) -> bool {
    let mut decoded = Vec::with_capacity(encoded.len());
    let (mut bits, mut held) = (0u32, 0u32);
    for &b in encoded {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        held = (held << 6 | u32::from(six)) & 0xFFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            decoded.push((held >> bits) as u8);
        }
    }
    let colon = memchr(b':', &decoded);
    colon.is_some_and(|i| i > 0 && i + 1 < decoded.len()) && decoded.iter().all(|b| (b' '..=b'~').contains(b))
}
