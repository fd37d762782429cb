//! Finds provider tokens by their prefix, or by the characters around a fixed part in their middle.

use super::super::rules::{self, BASE64, DOTTED, HEX, SecretKind, TokenRule, URLSAFE, is_in};
use super::super::values;
use super::{Finder, REACH, is_edge, run_end, run_of, run_while};
use memchr::{memchr, memchr_iter};

impl Finder<'_> {
    pub(super) fn token(&mut self, at: usize, rule: &TokenRule) {
        if self.token_at == Some(at) || (rule.is_edged && !is_edge(self.bytes, at)) {
            return;
        }
        let body = at + rule.prefix.len();
        let mut end = run_end(self.bytes, body, rule.class, REACH);
        while end > body && matches!(self.bytes[end - 1], b'.' | b'%') {
            end -= 1;
        }
        let length = end - body;
        if length < rule.min || (rule.is_exact && length != rule.min) {
            return;
        }
        if rule.is_exact && self.bytes.get(end).is_some_and(|&b| is_in(b, rules::ALNUM)) {
            return;
        }
        if rule.class == BASE64 {
            // `=` only occurs at the end of base64; after it another word begins.
            if let Some(padding) = memchr(b'=', &self.bytes[body..end]) {
                let after = run_of(self.bytes, body + padding, b'=');
                if after < end {
                    end = after;
                }
            }
        }
        if end - body < rule.min || !values::is_token_body(self.slice(body, end), rule.is_random) {
            return;
        }
        if end - body >= REACH {
            end = run_end(self.bytes, end, rule.class, usize::MAX);
        }
        self.token_at = Some(at);
        let start = if rule.keeps_prefix { body } else { at };
        self.push(start, end, rule.kind);
    }

    pub(super) fn jwt(&mut self, at: usize) {
        if at > 0 && is_in(self.bytes[at - 1], URLSAFE) && !is_edge(self.bytes, at) {
            return;
        }
        let header = run_end(self.bytes, at, URLSAFE, REACH);
        if header - at < 12 || self.bytes.get(header) != Some(&b'.') {
            return;
        }
        let mut end = run_end(self.bytes, header + 1, URLSAFE, 64 * 1024);
        let is_signed = self.bytes[header + 1..].starts_with(b"eyJ") && end - header > 8;
        let mut parts = 2;
        while parts < 5 && self.bytes.get(end) == Some(&b'.') {
            let next = run_end(self.bytes, end + 1, URLSAFE, 64 * 1024);
            if next == end + 1 {
                break;
            }
            end = next;
            parts += 1;
            if is_signed && parts == 3 {
                break;
            }
        }
        if (is_signed && parts >= 2) || (!is_signed && parts == 5) {
            self.push(at, end, SecretKind::Jwt);
        }
    }

    /// `$2b$12$...`, `$6$salt$...`, `$argon2id$v=19$...$salt$hash`: a hash that can be guessed against.
    pub(super) fn password_hash(&mut self, at: usize) {
        let end = run_while(self.bytes, at, 512, |b| b.is_ascii_alphanumeric() || b"$./=,+-".contains(&b));
        let hash = self.slice(at, end).trim_end_matches(['.', ',', '=', '-']);
        let mut parts = hash.split('$').skip(1);
        // Characters of the hash, with bcrypt's salt; a full stop at its end may be one of them.
        let least = match parts.next().unwrap_or_default() {
            "2a" | "2b" | "2y" => 52,
            "6" => 85,
            "5" | "y" => 42,
            _ => 22,
        };
        let last = parts.last().unwrap_or_default();
        if last.len() >= least && values::is_token_body(last, false) {
            self.push(at, at + hash.len(), SecretKind::PasswordHash);
        }
    }

    pub(super) fn telegram(&mut self, at: usize) {
        let mut start = at;
        while start > 0 && at - start < 12 && self.bytes[start - 1].is_ascii_digit() {
            start -= 1;
        }
        let end = run_end(self.bytes, at + 1, URLSAFE, 64);
        if (8..=11).contains(&(at - start))
            && (34..=36).contains(&(end - at - 1))
            && values::is_token_body(self.slice(at + 1, end), true)
        {
            self.push(start, end, SecretKind::TelegramToken);
        }
    }

    pub(super) fn azure_secret(&mut self, at: usize) {
        let is_part = |b: u8| is_in(b, DOTTED) || b == b'~';
        let Some(start) = at.checked_sub(3) else {
            return;
        };
        let end = run_while(self.bytes, at + 3, 64, is_part);
        if self.bytes[start..at].iter().copied().all(is_part) && (31..=37).contains(&(end - at - 3)) {
            self.push(start, end, SecretKind::AzureKey);
        }
    }

    pub(super) fn terraform(&mut self, at: usize) {
        let Some(start) = at.checked_sub(14) else {
            return;
        };
        let end = run_end(self.bytes, at + ".atlasv1.".len(), URLSAFE, 256);
        let is_part = |&b: &u8| is_in(b, rules::ALNUM);
        if self.bytes[start..at].iter().all(is_part) && end - at > 50 {
            self.push(start, end, SecretKind::VaultToken);
        }
    }

    pub(super) fn airtable(&mut self, at: usize) {
        if self.bytes.get(at + 17) != Some(&b'.') || !is_edge(self.bytes, at) {
            return;
        }
        let end = run_end(self.bytes, at + 18, HEX, 128);
        if run_end(self.bytes, at, rules::ALNUM, 64) == at + 17 && end - at - 18 >= 60 {
            self.push(at, end, SecretKind::ProviderToken);
        }
    }

    pub(super) fn sendgrid(&mut self, at: usize) {
        if !is_edge(self.bytes, at) {
            return;
        }
        let middle = run_end(self.bytes, at + 3, URLSAFE, 64);
        if middle - at - 3 < 16 || self.bytes.get(middle) != Some(&b'.') {
            return;
        }
        let end = run_end(self.bytes, middle + 1, URLSAFE, 128);
        if end - middle > 30 {
            self.push(at, end, SecretKind::SendgridKey);
        }
    }

    pub(super) fn signature(&mut self, at: usize) {
        if at == 0 || !matches!(self.bytes[at - 1], b'?' | b'&' | b';') {
            return;
        }
        let start = at + "sig=".len();
        let is_part = |b: u8| is_in(b, BASE64) || b == b'%';
        let mut end = start;
        while end < self.bytes.len() && end - start < 512 && is_part(self.bytes[end]) {
            end += 1;
        }
        if end - start >= 40 && values::is_token_body(self.slice(start, end), true) {
            self.push(start, end, SecretKind::UrlSignature);
        }
    }

    /// Redacts 84 letters and digits with `AZDO` before the last four.
    pub(super) fn azure_devops(&mut self, at: usize) {
        let Some(start) = at.checked_sub(76) else { return };
        let end = run_end(self.bytes, at, rules::ALNUM, 64);
        if end - start == 84 && self.bytes[start..at].iter().all(|b| is_in(*b, rules::ALNUM)) {
            self.push(start, end, SecretKind::AzureKey);
        }
    }

    /// Redacts `AAAAxxxxxxx:APA91b` and about 130 following characters.
    pub(super) fn firebase(&mut self, at: usize) {
        let Some(start) = at.checked_sub(11) else { return };
        let end = run_end(self.bytes, at + 1, URLSAFE, 512);
        if self.bytes[start..at].iter().all(|b| is_in(*b, URLSAFE)) && end - at >= 60 {
            self.push(start, end, SecretKind::GoogleKey);
        }
    }

    /// Redacts `tid=...;exp=...;sku=...;8kp=1:HASH`.
    pub(super) fn copilot(&mut self, at: usize) {
        if !is_edge(self.bytes, at) {
            return;
        }
        let mut end = self.bytes.len().min(at + REACH);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let found = self.patterns.copilot.as_ref().and_then(|pattern| pattern.find(self.slice(at, end)));
        if let Some(found) = found {
            self.push(at, at + found.end(), SecretKind::GithubToken);
        }
    }

    /// Redacts tokens of Discord bots, found by their dots: the bot's number in base64, six characters, and
    /// 27 or more.
    pub(in crate::redact) fn discord(&mut self) {
        let bytes = self.bytes;
        for dot in memchr_iter(b'.', bytes) {
            let body = dot + 8;
            if bytes.get(dot + 7) != Some(&b'.') || run_end(bytes, dot + 1, URLSAFE, 7) != dot + 7 {
                continue;
            }
            let floor = dot.saturating_sub(29);
            let id = bytes[floor..dot].iter().rev().take_while(|&&byte| is_in(byte, rules::ALNUM)).count();
            let end = run_end(bytes, body, URLSAFE, 64);
            if !(27..=45).contains(&(end - body)) {
                continue;
            }
            // The letter of an escape may precede it.
            let starts = (22..=28.min(id)).rev().map(|length| dot - length);
            let is_start = |start: &usize| is_edge(bytes, *start) && begins_number_in_base64(&bytes[*start..dot]);
            if let Some(start) = starts.into_iter().find(is_start) {
                self.push(start, end, SecretKind::DiscordToken);
            }
        }
    }
}

/// Returns whether base64 begins with three decimal digits.
fn begins_number_in_base64(text: &[u8]) -> bool {
    // The high half of a digit's byte is always 3.
    const GROUP: [&[u8]; 4] = [b"MNO", b"DTjz", b"AEIMQUYcgk", b"wxyz012345"];
    text.len() >= GROUP.len() && text.iter().zip(GROUP).all(|(letter, of)| of.contains(letter))
}
