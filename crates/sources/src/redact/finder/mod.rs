//! Finds all secrets in one text, in one pass from triggers to spans.
//!
//! * [`Span`]: a range of bytes to be redacted, and its kind.
//! * [`Patterns`]: the few forms that are easier to express as regular expressions; compiled once, run only
//!   around a trigger.
//! * [`Finder`]: checks the text around each trigger. The checks are divided by topic into `tokens`,
//!   `armour`, `headers`, `assignment`, `variables`; payloads, private blocks and command lines are here.
//!   Every check has a bounded length, or its length is covered by the span that it yields, so a pass is
//!   linear.

mod armour;
mod assignment;
mod headers;
mod tokens;
mod variables;

use memchr::memmem;
use regex::Regex;

use super::rules::{self, BASE64, DOTTED, SecretKind, URLSAFE, is_in};
use super::trigger::{Action, Command, Mention};
use super::values;

/// A range of bytes to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: SecretKind,
}

/// Maximum number of bytes that a check at one trigger covers.
const REACH: usize = 4096;
/// Maximum number of bytes before a trigger where the user and scheme of a URL, a media type, or a line may
/// begin.
const BACK: usize = 256;

/// Regular expressions, each anchored at a trigger or run over a text that mentions the service.
#[derive(Default)]
pub(super) struct Patterns {
    private_tag: Option<Regex>,
    discord: Option<Regex>,
    twilio: Option<Regex>,
    vault: Option<Regex>,
    mysql: Option<Regex>,
    sshpass: Option<Regex>,
    redis: Option<Regex>,
    mongo: Option<Regex>,
    docker: Option<Regex>,
    curl: Option<Regex>,
    openssl: Option<Regex>,
    netrc: Option<Regex>,
    login: Option<Regex>,
    copilot: Option<Regex>,
    jwk: Option<Regex>,
    piped: Option<Regex>,
}

impl Patterns {
    /// Compiles all patterns. A pattern that does not compile would be `None`; a test checks that there is
    /// none.
    pub(super) fn new() -> Self {
        let compile = |pattern: &str| Regex::new(pattern).ok();
        Patterns {
            private_tag: compile(r"(?i)(?:<|\\u003c)(/?)private(?:[\s\\/][^<>]{0,1000}?)??(?:>|\\u003e)"),
            discord: compile(r"\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
            twilio: compile(r"\bSK[0-9a-f]{32}\b"),
            vault: compile(r"\b[sbr]\.[A-Za-z0-9]{24}\b"),
            mysql: compile(
                r#"^(?:mysql|mariadb)(?:dump|admin|import|-dump|-admin)?\s(?:[^|;&\n]{0,300}?\s)?-p(?:'([^'\n]+)'|"([^"\n]+)"|([^\s'"\\|;&-][^\s'"\\|;&]{3,}))"#,
            ),
            sshpass: compile(r#"^sshpass\s+-p\s*(?:'([^'\n]+)'|"([^"\n]+)"|([^\s'"\\]{3,}))"#),
            redis: compile(
                r#"^redis-cli\s(?:[^|;&\n]{0,300}?\s)?(?:-a|--pass)[ =](?:'([^'\n]+)'|"([^"\n]+)"|([^\s'"\\|;&]{4,}))"#,
            ),
            mongo: compile(
                r#"^mongo(?:sh|dump|restore|export|import)?\s(?:[^|;&\n]{0,300}?\s)?-p[ =]?(?:'([^'\n]+)'|"([^"\n]+)"|([^\s'"\\|;&]{4,}))"#,
            ),
            docker: compile(
                r#"^(?:docker|podman|az) login\s(?:[^|;&\n]{0,300}?\s)?-p[ =]?(?:'([^'\n]+)'|"([^"\n]+)"|([^\s'"\\|;&]{4,}))"#,
            ),
            curl: compile(
                r#"^curl\s(?:[^\n]{0,1500}?\s)?(?:-u|--user|-U|--proxy-user)[ =]?['"]?[^\s:'"/]{1,100}:([^\s'"\\]{3,})"#,
            ),
            openssl: compile(r#"^-pass(?:in|out)?\s+(?:'pass:([^'\n]+)'|"pass:([^"\n]+)"|pass:([^\s'"\\]{3,}))"#),
            netrc: compile(r#"^machine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+([^\s\\"']{3,})"#),
            login: compile(
                r#"^(?:(?:wandb|cargo) login|vastai set api-key|snyk auth|add-authtoken|ngrok authtoken|--with-token\s*<<<)\s+(?:--?[a-z-]+(?:[ =]https?://\S+)?\s+)*['"]?([A-Za-z0-9_.-]{16,200})"#,
            ),
            copilot: compile(r"^tid=[0-9a-f]{16,64};[A-Za-z0-9=;:_.-]{8,2000}[A-Za-z0-9]"),
            jwk: compile(r#"\\*["'](?:d|p|q|dp|dq|qi|k)\\*["']\s*:\s*\\*["']([A-Za-z0-9_-]{16,1200})"#),
            piped: compile(r#"(?:echo|printf)\s+(?:-n\s+)?(?:'([^'\n]+)'|"([^"\n]+)"|([^\s'"|]+))\s*\|[^|\n]*$"#),
        }
    }

    /// Returns a value without any pattern.
    pub(super) fn none() -> Self {
        Patterns::default()
    }

    #[cfg(test)]
    pub(super) fn all_compiled(&self) -> bool {
        [
            &self.private_tag,
            &self.discord,
            &self.twilio,
            &self.vault,
            &self.mysql,
            &self.sshpass,
            &self.redis,
            &self.mongo,
            &self.docker,
            &self.curl,
            &self.openssl,
            &self.netrc,
            &self.login,
            &self.copilot,
            &self.jwk,
            &self.piped,
        ]
        .iter()
        .all(|pattern| pattern.is_some())
    }
}

/// The state of one pass over one text.
pub(super) struct Finder<'a> {
    text: &'a str,
    bytes: &'a [u8],
    patterns: &'a Patterns,
    spans: Vec<Span>,
    /// End of the name judged last.
    name_done: usize,
    /// Position of the token found last.
    token_at: Option<usize>,
    private_done: bool,
    mentions: [bool; 3],
}

fn is_name_byte(b: u8) -> bool {
    is_in(b, URLSAFE)
}

/// Returns the end of the run of `class` that begins at `from`, within at most `reach` bytes.
fn run_end(bytes: &[u8], from: usize, class: u8, reach: usize) -> usize {
    let end = bytes.len().min(from.saturating_add(reach));
    let mut at = from;
    while at < end && is_in(bytes[at], class) {
        at += 1;
    }
    at
}

fn skip_blanks(bytes: &[u8], mut at: usize, most: usize) -> usize {
    let end = bytes.len().min(at + most);
    while at < end && (bytes[at] == b' ' || bytes[at] == b'\t') {
        at += 1;
    }
    at
}

/// Skips the backslashes before a quotation mark. Returns the number of backslashes, the mark and the
/// position after it, or `None` if no mark follows.
fn quote_at(bytes: &[u8], from: usize) -> Option<(usize, u8, usize)> {
    let mut at = from;
    while at < bytes.len() && at - from < 8 && bytes[at] == b'\\' {
        at += 1;
    }
    let quote = *bytes.get(at)?;
    matches!(quote, b'"' | b'\'' | b'`').then_some((at - from, quote, at + 1))
}

/// Returns whether a token may begin at `at`: the byte before is not a letter or digit, or it is the last
/// letter of an escape (`\n`, `\u001b[0m`, `%3D`).
fn is_edge(bytes: &[u8], at: usize) -> bool {
    let Some(&before) = at.checked_sub(1).and_then(|i| bytes.get(i)) else {
        return true;
    };
    if !is_in(before, rules::WORD) {
        return true;
    }
    let back = |n: usize| at.checked_sub(n).and_then(|i| bytes.get(i)).copied().unwrap_or(0);
    match before {
        b'n' | b'r' | b't' if back(2) == b'\\' => true,
        b'm' => {
            let mut i = 2;
            while i < 10 && (back(i).is_ascii_digit() || back(i) == b';') {
                i += 1;
            }
            back(i) == b'['
        }
        _ => back(3) == b'%' && back(2).is_ascii_hexdigit() && before.is_ascii_hexdigit(),
    }
}

/// Returns the start of the line that holds `at`. A written-out `\n` ends a line too.
fn line_start(bytes: &[u8], at: usize) -> usize {
    let floor = at.saturating_sub(BACK);
    let mut i = at;
    while i > floor {
        if bytes[i - 1] == b'\n' || (bytes[i - 1] == b'n' && i >= 2 && bytes[i - 2] == b'\\') {
            return i;
        }
        i -= 1;
    }
    i
}

/// Returns the end of the line that holds `at`, at most `REACH` bytes further on.
fn line_end(bytes: &[u8], at: usize) -> usize {
    let end = bytes.len().min(at.saturating_add(REACH));
    let mut i = at;
    while i < end {
        if bytes[i] == b'\n' || (bytes[i] == b'\\' && bytes.get(i + 1) == Some(&b'n')) {
            return i;
        }
        i += 1;
    }
    i
}

impl<'a> Finder<'a> {
    /// Creates the state for a new pass over `text`.
    pub(super) fn new(text: &'a str, patterns: &'a Patterns) -> Self {
        Finder {
            text,
            bytes: text.as_bytes(),
            patterns,
            spans: Vec::new(),
            name_done: 0,
            token_at: None,
            private_done: false,
            mentions: [false; 3],
        }
    }

    /// Returns the spans found, unsorted and possibly overlapping.
    pub(super) fn finish(mut self) -> Vec<Span> {
        if self.mentions[0] {
            self.everywhere(self.patterns.discord.as_ref(), SecretKind::DiscordToken);
        }
        if self.mentions[1] {
            self.everywhere(self.patterns.twilio.as_ref(), SecretKind::TwilioKey);
        }
        if self.mentions[2] {
            self.everywhere(self.patterns.vault.as_ref(), SecretKind::VaultToken);
        }
        self.spans
    }

    fn everywhere(&mut self, pattern: Option<&Regex>, kind: SecretKind) {
        let Some(pattern) = pattern else { return };
        for found in pattern.find_iter(self.text) {
            if values::is_token_body(found.as_str(), true) {
                self.spans.push(Span { start: found.start(), end: found.end(), kind });
            }
        }
    }

    fn push(&mut self, start: usize, end: usize, kind: SecretKind) {
        if start < end {
            self.spans.push(Span { start, end, kind });
        }
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        // Both ends are beside ASCII bytes, or the text is skipped.
        self.text.get(start..end).unwrap_or("")
    }

    /// Checks the text around one trigger.
    pub(super) fn visit(&mut self, at: usize, action: Action) {
        match action {
            Action::Token(rule) => self.token(at, rule),
            Action::Name => self.name(at),
            Action::Url => self.url(at),
            Action::Pem => self.pem(at),
            Action::Putty => self.putty(at),
            Action::DataUrl => self.data_url(at),
            Action::Private => self.private(),
            Action::Authorization => self.authorization(at),
            Action::Bearer => self.bearer(at),
            Action::Basic => self.basic(at + "basic ".len()),
            Action::Cookie => self.cookie(at),
            Action::Jwt => self.jwt(at),
            Action::Telegram => self.telegram(at),
            Action::AzureSecret => self.azure_secret(at),
            Action::Terraform => self.terraform(at),
            Action::Airtable => self.airtable(at),
            Action::Sendgrid => self.sendgrid(at),
            Action::Signature => self.signature(at),
            Action::AzureDevops => self.azure_devops(at),
            Action::Firebase => self.firebase(at),
            Action::Copilot => self.copilot(at),
            Action::Jwk => self.jwk(at),
            Action::PasswordHash => self.password_hash(at),
            Action::PipedPassword => self.piped_password(at),
            Action::Command(command) => self.command(at, command),
            Action::Mention(Mention::Discord) => self.mentions[0] = true,
            Action::Mention(Mention::Twilio) => self.mentions[1] = true,
            Action::Mention(Mention::Vault) => self.mentions[2] = true,
        }
    }

    // Payloads.

    fn data_url(&mut self, at: usize) {
        let start = at + ";base64,".len();
        let end = run_end(self.bytes, start, BASE64, usize::MAX);
        if end - start < 32 {
            return;
        }
        let floor = at.saturating_sub(BACK);
        let mut begin = at;
        while begin > floor
            && (is_in(self.bytes[begin - 1], DOTTED) || matches!(self.bytes[begin - 1], b'/' | b'+' | b';' | b'=' | b':'))
        {
            begin -= 1;
        }
        let head = self.bytes[begin..at].to_ascii_lowercase();
        if let Some(offset) = memmem::rfind(&head, b"data:") {
            self.push(begin + offset, end, SecretKind::Base64Payload);
        }
    }

    // Private blocks.

    /// Redacts every `<private>` block in the text, once. Nested tags count. An opening tag that is never
    /// closed covers the rest of the text only if it begins a line, since a mention in a sentence must not
    /// swallow a document. If nested tags lack closing tags, everything up to the last closing tag is
    /// redacted.
    pub(super) fn private(&mut self) {
        if std::mem::replace(&mut self.private_done, true) {
            return;
        }
        let Some(pattern) = &self.patterns.private_tag else {
            return;
        };
        let mut tags = Vec::new();
        for found in pattern.captures_iter(self.text) {
            if let (Some(tag), Some(slash)) = (found.get(0), found.get(1))
                && !tag.as_str().ends_with("/>")
            {
                tags.push((tag.start(), tag.end(), !slash.is_empty()));
            }
        }
        let last_close = tags.iter().rposition(|&(_, _, is_close)| is_close);
        let (mut depth, mut opened) = (0usize, 0);
        for (i, &(start, end, is_close)) in tags.iter().enumerate() {
            match (is_close, depth) {
                (true, 0) => {}
                (true, 1) => {
                    depth = 0;
                    self.push(opened, end, SecretKind::PrivateBlock);
                }
                (true, _) => depth -= 1,
                (false, 0) => {
                    // An unclosed tag within a sentence is only a mention.
                    if last_close.is_some_and(|last| i < last) || self.begins_line(start) {
                        opened = start;
                        depth = 1;
                    }
                }
                (false, _) => depth += 1,
            }
        }
        if depth > 0 {
            let end = match last_close {
                Some(last) if !self.begins_line(opened) => tags[last].1,
                _ => self.bytes.len(),
            };
            self.push(opened, end, SecretKind::PrivateBlock);
        }
    }

    fn begins_line(&self, at: usize) -> bool {
        let mut i = at;
        while i > 0 && matches!(self.bytes[i - 1], b' ' | b'\t' | b'\r') {
            i -= 1;
        }
        i == 0 || self.bytes[i - 1] == b'\n' || (i >= 2 && self.bytes[i - 2..i] == *b"\\n")
    }

    // Command lines.

    fn command(&mut self, at: usize, command: Command) {
        let patterns = self.patterns;
        let pattern = match command {
            Command::Mysql => &patterns.mysql,
            Command::Sshpass => &patterns.sshpass,
            Command::Redis => &patterns.redis,
            Command::Mongo => &patterns.mongo,
            Command::DockerLogin => &patterns.docker,
            Command::Curl => &patterns.curl,
            Command::Openssl => &patterns.openssl,
            Command::Netrc => &patterns.netrc,
            Command::Login => &patterns.login,
        };
        let Some(pattern) = pattern else { return };
        let mut end = self.bytes.len().min(at + 2048);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let Some(found) = pattern.captures(self.slice(at, end)) else {
            return;
        };
        let Some(value) = found.iter().skip(1).flatten().next() else {
            return;
        };
        let password = value.as_str();
        let is_word = command == Command::Login && values::reads_as_words(password);
        if !is_word && is_given(password) {
            self.push(at + value.start(), at + value.end(), SecretKind::CliPassword);
        }
    }

    /// Redacts the secret in `echo SECRET | command --password-stdin`. `at` is the position of the option.
    fn piped_password(&mut self, at: usize) {
        let Some(pattern) = &self.patterns.piped else { return };
        let start = line_start(self.bytes, at);
        let mut start = start;
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        let Some(found) = pattern.captures(self.slice(start, at)) else { return };
        if let Some(value) = found.iter().skip(1).flatten().next()
            && value.len() >= 4
            && is_given(value.as_str())
        {
            self.push(start + value.start(), start + value.end(), SecretKind::CliPassword);
        }
    }

    /// Redacts the secret members of a JSON web key, on both sides of its `kty`.
    fn jwk(&mut self, at: usize) {
        let Some(pattern) = &self.patterns.jwk else { return };
        let (mut start, mut end) = (at.saturating_sub(REACH), self.bytes.len().min(at + REACH));
        // A key is one object: nothing outside its braces belongs to it.
        if let Some(brace) = memchr::memrchr2(b'{', b'}', &self.bytes[start..at]) {
            start += brace;
        }
        if let Some(brace) = memchr::memchr2(b'{', b'}', &self.bytes[at..end]) {
            end = at + brace;
        }
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        for found in pattern.captures_iter(self.slice(start, end)) {
            if let Some(value) = found.get(1) {
                self.push(start + value.start(), start + value.end(), SecretKind::PrivateKey);
            }
        }
    }
}

/// Returns whether the argument of a command is a password: not a placeholder, a variable reference or a
/// number.
fn is_given(password: &str) -> bool {
    !values::is_placeholder(password) && !values::is_reference(password) && !password.bytes().all(|b| b.is_ascii_digit())
}

fn run_of(bytes: &[u8], from: usize, byte: u8) -> usize {
    let mut at = from;
    while bytes.get(at) == Some(&byte) {
        at += 1;
    }
    at
}

fn run_while(bytes: &[u8], from: usize, reach: usize, accept: impl Fn(u8) -> bool) -> usize {
    let end = bytes.len().min(from.saturating_add(reach));
    let mut at = from;
    while at < end && accept(bytes[at]) {
        at += 1;
    }
    at
}
