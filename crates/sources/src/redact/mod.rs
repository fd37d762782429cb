//! [`Redactor`]: replaces secrets by markers, before anything is written.
//!
//! Map of the module, from the outside in:
//!
//! * [`Redactor`]: the interface for callers; [`Redactor::text`] for one string, [`Redactor::json`] for a
//!   whole record, where the name of a string and the file it comes from are known too.
//! * [`RedactionCounts`]: how many spans of each [`SecretKind`] were redacted.
//! * `rules`: the kinds and the table of provider tokens.
//! * `trigger`: the prefilter that finds where to look.
//! * `finder`: looks there and yields spans.
//! * `escapes`: decodes escapes such as `\u005f`, so that the decoded text is scanned too.
//! * `custom`: patterns defined by the user.
//! * `names`, `values`, `passwords`, `words`, `verdict`: decide whether `name = value` assigns a secret.
//!
//! Guarantees: a pass takes time linear in the length of the text, except for custom patterns that match from
//! marker to marker; the output is valid text with markers in place of the spans; redacting twice gives the
//! same as redacting once; the same secret under the same key always gives the same marker, and the marker
//! reveals neither the key nor the secret.
//!
//! Not redacted: a password in a sentence that looks like a word, and a random string without a telling name or prefix.

mod custom;
mod escapes;
mod finder;
mod names;
mod passwords;
mod rules;
#[cfg(test)]
mod tests;
mod trigger;
mod values;
mod verdict;
mod words;

use memchr::memmem;
use serde_json::{Map, Value};

use custom::CustomPatterns;
pub use custom::{RedactionPatternError, check_pattern};
use finder::{Finder, Patterns, Span};
pub use rules::SecretKind;
use rules::{BASE64, DOTTED, is_in};
use trigger::Prefilter;
use values::Form;

/// Version of the rules, incremented whenever a rule changes. Stored per episode.
pub const RULES_VERSION: u32 = 6;

/// Minimum length of a text that is scanned. In shorter texts a secret cannot be told from a word.
const SHORTEST: usize = 8;
/// Minimum length from which a text of nothing but base64 counts as a payload.
const PAYLOAD: usize = 1024;
/// Minimum length from which a signature counts as opaque.
const SIGNATURE: usize = 64;
/// Maximum number of passes. Redacting can expose the edge of another token, so passes are repeated until
/// nothing changes; usually two suffice.
const MOST_PASSES: usize = 8;

/// Number of redacted spans of each kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactionCounts([u64; SecretKind::ALL.len()]);

impl Default for RedactionCounts {
    fn default() -> Self {
        RedactionCounts([0; SecretKind::ALL.len()])
    }
}

impl RedactionCounts {
    /// Counts one more span of a kind.
    pub fn add(&mut self, kind: SecretKind) {
        self.0[kind as usize] += 1;
    }

    /// Returns the number of spans of one kind.
    pub fn get(&self, kind: SecretKind) -> u64 {
        self.0[kind as usize]
    }

    /// Adds the counts of another text.
    pub fn merge(&mut self, other: &RedactionCounts) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// Returns the kinds that occurred, by their stable names, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        SecretKind::ALL.iter().map(|&kind| (kind.as_str(), self.get(kind))).filter(|&(_, count)| count > 0)
    }

    /// Returns the number of spans of all kinds, including payloads.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the number of spans of all kinds except payloads.
    pub fn secrets_total(&self) -> u64 {
        self.total() - self.get(SecretKind::Base64Payload)
    }

    /// Returns whether nothing was redacted.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }
}

/// Replaces secrets by markers.
///
/// A secret becomes `[yore:redacted KIND xxxxxxxx]`, a payload
/// `[yore:base64 TYPE LEN bytes xxxxxxxxxxxxxxxx]`. The hexadecimal digits are the beginning of the keyed
/// BLAKE3 hash of the replaced text (for a payload, of the text still encoded), so that equal secrets can be
/// recognised as equal. Creating a redactor compiles the rules; share it by reference.
pub struct Redactor {
    key: [u8; 32],
    prefilter: Prefilter,
    patterns: Patterns,
    custom: CustomPatterns,
}

impl std::fmt::Debug for Redactor {
    /// Formats the redactor without its key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// Knowledge about a text from the file it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Origin {
    /// Unknown file.
    #[default]
    Unknown,
    /// A file of credentials: the value of every `KEY=value` is redacted.
    CredentialFile,
    /// The same record contained a file of credentials: texts that consist only of `KEY=value` lines are
    /// treated the same way.
    BesideCredentialFile,
}

/// Knowledge about a JSON value from the values around it.
#[derive(Debug, Clone, Copy, Default)]
struct Surroundings {
    origin: Origin,
    /// True if the members of this object are environment variables.
    is_environment: bool,
}

/// Knowledge about an object's members from its other members.
#[derive(Debug, Default)]
struct Members {
    is_base64: bool,
    is_thinking: bool,
    media_type: Option<String>,
    /// The `name` or `key` that a `value` in the same object belongs to.
    named: Option<String>,
    is_credential_file: bool,
    /// True if the object is a JSON web key.
    is_web_key: bool,
}

/// Returns the text of a part of a message's content: a string, or an object with its text.
fn part_text(item: &mut Value) -> Option<&mut String> {
    match item {
        Value::String(text) => Some(text),
        Value::Object(members) => {
            // Kiro's blocks have their text in `data`.
            let is_of_kiro = !members.contains_key("text") && members.get("kind").is_some_and(|kind| kind == "text");
            let key = if is_of_kiro { "data" } else { "text" };
            match members.get_mut(key) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether a text may contain the opening tag of a private block.
fn opens_private(text: &str) -> bool {
    const NAME: &[u8] = b"private";
    let bytes = text.as_bytes();
    let follows = |at: usize| bytes.get(at..at + NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME));
    memchr::memchr_iter(b'<', bytes).any(|at| follows(at + 1))
        || memmem::find_iter(bytes, "\\u003").any(|at| follows(at + "\\u003c".len()))
}

impl Redactor {
    /// Compiles the rules. `key` keys the hashes in the markers.
    pub fn new(key: &[u8; 32]) -> Self {
        Redactor { key: *key, prefilter: Prefilter::new(), patterns: Patterns::new(), custom: CustomPatterns::default() }
    }

    /// Like [`Redactor::new`], and also redacts the matches of these regular expressions in a string or a
    /// key, with the kind `custom`.
    ///
    /// # Errors
    /// For the first pattern that does not parse, is too large when compiled or matches the empty string.
    pub fn with_patterns(key: &[u8; 32], patterns: &[String]) -> Result<Self, RedactionPatternError> {
        Ok(Redactor { custom: CustomPatterns::new(patterns)?, ..Redactor::new(key) })
    }

    /// Creates a redactor for names at almost no cost: it omits the few rules that are regular expressions.
    /// Those match commands and services and find nothing in the name of a directory.
    pub fn for_names(key: &[u8; 32]) -> Self {
        Redactor { key: *key, prefilter: Prefilter::new(), patterns: Patterns::none(), custom: CustomPatterns::default() }
    }

    /// Returns whether its markers use this key.
    pub fn is_of(&self, key: &[u8; 32]) -> bool {
        self.key == *key
    }

    /// Returns a fingerprint of the user's own patterns.
    pub fn fingerprint(&self) -> String {
        self.custom.fingerprint()
    }

    /// Redacts one text. Returns `None` if it is unchanged.
    pub fn text(&self, text: &str, counts: &mut RedactionCounts) -> Option<String> {
        self.text_from(text, Origin::Unknown, counts)
    }

    /// Redacts every string and every key of a JSON value in place, based on names, neighbours and paths.
    /// Returns whether anything changed.
    pub fn json(&self, value: &mut Value, counts: &mut RedactionCounts) -> bool {
        let is_divided = self.divided_blocks(value, counts);
        let (mut changed, is_credential_file) = self.walk(value, Surroundings::default(), counts);
        changed |= is_divided;
        if is_credential_file {
            // The transcript contains a file twice: with its path, and as text.
            let beside = Surroundings { origin: Origin::BesideCredentialFile, is_environment: false };
            changed |= self.walk(value, beside, counts).0;
        }
        changed
    }

    // Text.

    #[inline]
    fn text_from(&self, text: &str, origin: Origin, counts: &mut RedactionCounts) -> Option<String> {
        if text.len() < SHORTEST && origin == Origin::Unknown && self.custom.is_empty() {
            return None;
        }
        if text.len() >= PAYLOAD && is_payload(text) {
            counts.add(SecretKind::Base64Payload);
            return Some(self.payload_marker("unknown", text));
        }
        let mut redacted = self.pass(text, origin, counts)?;
        for _ in 1..MOST_PASSES {
            match self.pass(&redacted, origin, counts) {
                Some(again) => redacted = again,
                None => return Some(redacted),
            }
        }
        Some(self.unrest(redacted, counts))
    }

    /// If custom patterns would still match beside each new marker, bit by bit, this redacts all the
    /// remaining text.
    fn unrest(&self, text: String, counts: &mut RedactionCounts) -> String {
        let markers = markers_in(&text);
        if self.custom.is_empty() || !self.custom.find_any(&text, &markers) {
            return text;
        }
        let starts = std::iter::once(0).chain(markers.iter().map(|&(_, end)| end));
        let ends = markers.iter().map(|&(start, _)| start).chain(std::iter::once(text.len()));
        let gaps = starts.zip(ends).filter(|(start, end)| start < end);
        let spans = gaps.map(|(start, end)| Span { start, end, kind: SecretKind::Custom }).collect();
        self.apply(&text, spans, counts).unwrap_or(text)
    }

    /// Makes one pass over a text. Returns `None` if nothing was found.
    #[inline]
    fn pass(&self, text: &str, origin: Origin, counts: &mut RedactionCounts) -> Option<String> {
        let mut finder = Finder::new(text, &self.patterns);
        if text.len() >= SHORTEST || origin != Origin::Unknown {
            self.prefilter.scan(text.as_bytes(), |at, action| finder.visit(at, action));
            finder.discord();
        }
        match origin {
            Origin::Unknown => {}
            Origin::CredentialFile => finder.credential_file(),
            Origin::BesideCredentialFile => {
                if finder.is_variables_only() {
                    finder.credential_file();
                }
            }
        }
        let mut spans = finder.finish();
        if let Some(view) = escapes::Decoded::of(text) {
            let mut finder = Finder::new(view.text(), &self.patterns);
            self.prefilter.scan(view.text().as_bytes(), |at, action| finder.visit(at, action));
            finder.discord();
            spans.extend(finder.finish().into_iter().map(|span| view.original(span)));
        }
        if !self.custom.is_empty() {
            self.custom.find(text, &markers_in(text), &mut spans);
        }
        if spans.is_empty() {
            return None;
        }
        self.apply(text, spans, counts)
    }

    fn apply(&self, text: &str, mut spans: Vec<Span>, counts: &mut RedactionCounts) -> Option<String> {
        let markers = markers_in(text);
        for span in &mut spans {
            while !text.is_char_boundary(span.start) {
                span.start -= 1;
            }
            while !text.is_char_boundary(span.end) {
                span.end += 1;
            }
        }
        spans.retain(|span| {
            // Markers are kept, except within text that its author marked as private.
            let first = markers.partition_point(|&(_, end)| end <= span.start);
            let Some(&(start, end)) = markers.get(first) else {
                return true;
            };
            let overlaps = start < span.end;
            let contains = span.start < start && end < span.end;
            !overlaps || (contains && span.kind == SecretKind::PrivateBlock)
        });
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.start < last.end => {
                    last.end = last.end.max(span.end);
                    last.kind = last.kind.min(span.kind);
                }
                _ => merged.push(span),
            }
        }
        if merged.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len() + merged.len() * 24);
        let mut done = 0;
        for span in merged {
            out.push_str(&text[done..span.start]);
            let secret = &text[span.start..span.end];
            if span.kind == SecretKind::Base64Payload {
                out.push_str(&self.data_url_marker(secret));
            } else {
                out.push_str(&self.marker(span.kind, secret));
            }
            counts.add(span.kind);
            done = span.end;
        }
        out.push_str(&text[done..]);
        Some(out)
    }

    // Markers.

    fn digest(&self, secret: &str, digits: usize) -> String {
        let hash = blake3::keyed_hash(&self.key, secret.as_bytes());
        hash.to_hex().as_str()[..digits].to_owned()
    }

    fn marker(&self, kind: SecretKind, secret: &str) -> String {
        format!("[yore:redacted {} {}]", kind.as_str(), self.digest(secret, 8))
    }

    fn payload_marker(&self, media_type: &str, payload: &str) -> String {
        let is_plain = !media_type.is_empty()
            && media_type.len() <= 80
            && media_type.bytes().all(|b| is_in(b, DOTTED) || b == b'/' || b == b'+');
        let media_type = if is_plain { media_type } else { "unknown" };
        let digits = payload.bytes().filter(|&b| is_in(b, BASE64) && b != b'=').count();
        let digest = self.digest(payload, 16);
        format!("[yore:base64 {media_type} {} bytes {digest}]", digits * 3 / 4)
    }

    /// Returns the marker for `data:TYPE;...;base64,PAYLOAD`.
    fn data_url_marker(&self, url: &str) -> String {
        let (head, payload) = url.rsplit_once(',').unwrap_or(("", url));
        let media_type = head.get("data:".len()..).and_then(|rest| rest.split(';').next()).unwrap_or("");
        self.payload_marker(media_type, payload)
    }

    // JSON.

    /// Redacts the private blocks that begin in one part of a message's content and end in another, or nowhere: the parts are
    /// read as one text. Returns whether anything changed.
    fn divided_blocks(&self, root: &mut Value, counts: &mut RedactionCounts) -> bool {
        let mut changed = false;
        let mut open = vec![root];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(items) => {
                    changed |= self.divided_block(items, counts);
                    open.extend(items.iter_mut());
                }
                Value::Object(members) => open.extend(members.values_mut()),
                Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        changed
    }

    fn divided_block(&self, items: &mut [Value], counts: &mut RedactionCounts) -> bool {
        let mut parts: Vec<&mut String> = items.iter_mut().filter_map(part_text).collect();
        if parts.len() < 2 || !parts.iter().any(|part| opens_private(part)) {
            return false;
        }
        let mut whole = String::new();
        let mut places = Vec::with_capacity(parts.len());
        for part in &parts {
            let start = whole.len();
            whole.push_str(part);
            places.push((start, whole.len()));
            whole.push('\n');
        }
        let mut finder = Finder::new(&whole, &self.patterns);
        finder.private();
        let mut changed = false;
        let mut spans = finder.finish();
        // From the last to the first, so that the places before stay where they are.
        spans.sort_by_key(|span| std::cmp::Reverse(span.start));
        for span in spans {
            if places.iter().any(|(start, end)| *start <= span.start && span.end <= *end) {
                continue;
            }
            counts.add(SecretKind::PrivateBlock);
            for (part, (start, end)) in parts.iter_mut().zip(&places) {
                let (from, to) = (span.start.max(*start), span.end.min(*end));
                if from < to {
                    changed = true;
                    let marker = self.marker(SecretKind::PrivateBlock, &whole[from..to]);
                    // What comes behind the block in this part may have been replaced already.
                    let rest = part.split_off(to - start);
                    part.truncate(from - start);
                    part.push_str(&marker);
                    part.push_str(&rest);
                }
            }
        }
        changed
    }

    /// Walks a value without recursion. Returns whether anything changed and whether a file of credentials
    /// was seen.
    fn walk(&self, root: &mut Value, around: Surroundings, counts: &mut RedactionCounts) -> (bool, bool) {
        let (mut changed, mut saw_file) = (false, false);
        let mut open = vec![(root, around)];
        while let Some((value, around)) = open.pop() {
            match value {
                Value::String(text) => changed |= self.string(text, around.origin, counts),
                Value::Array(items) => {
                    if let [Value::String(name), Value::String(text)] = items.as_mut_slice()
                        && self.prefilter.has_name(name.as_bytes())
                    {
                        changed |= self.member(name, text, around, counts);
                    }
                    let mut flag: Option<String> = None;
                    for item in items {
                        match item {
                            Value::String(text) => {
                                // `["--api-key", "..."]`
                                let named = flag.take();
                                if text.starts_with("--")
                                    && text.len() <= names::MAX_NAME
                                    && self.prefilter.has_name(text.as_bytes())
                                {
                                    flag = Some(text.clone());
                                }
                                let is_whole = named.is_some_and(|name| self.member(&name, text, around, counts));
                                changed |= is_whole || self.string(text, around.origin, counts);
                            }
                            Value::Array(_) | Value::Object(_) => open.push((item, around)),
                            Value::Null | Value::Bool(_) | Value::Number(_) => {}
                        }
                    }
                }
                Value::Object(object) => {
                    changed |= self.keys(object, counts);
                    let members = Members::of(object);
                    saw_file |= members.is_credential_file;
                    let mut inside = Surroundings { origin: around.origin, is_environment: false };
                    if members.is_credential_file {
                        inside.origin = Origin::CredentialFile;
                    }
                    for (name, item) in object.iter_mut() {
                        match item {
                            Value::String(text) => {
                                let here = Surroundings { is_environment: around.is_environment, ..inside };
                                changed |= self.named(name, text, &members, here, counts);
                            }
                            Value::Array(_) | Value::Object(_) => {
                                inside.is_environment = matches!(name.as_str(), "env" | "environment" | "environmentVariables");
                                open.push((item, inside));
                            }
                            Value::Null | Value::Bool(_) | Value::Number(_) => {}
                        }
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        (changed, saw_file)
    }

    /// Redacts keys and keeps the order of the members.
    fn keys(&self, object: &mut Map<String, Value>, counts: &mut RedactionCounts) -> bool {
        let shortest = if self.custom.is_empty() { 16 } else { 1 };
        let redact = |key: &str, counts: &mut RedactionCounts| (key.len() >= shortest).then(|| self.text(key, counts)).flatten();
        let mut unseen = RedactionCounts::default();
        if !object.keys().any(|key| redact(key, &mut unseen).is_some()) {
            return false;
        }
        for (key, value) in std::mem::take(object) {
            let mut key = redact(&key, counts).unwrap_or(key);
            // Two keys may become equal; neither value is lost.
            while object.contains_key(&key) {
                key.push('+');
            }
            object.insert(key, value);
        }
        true
    }

    fn string(&self, text: &mut String, origin: Origin, counts: &mut RedactionCounts) -> bool {
        let inner = self.embedded(text, counts);
        let outer = self.text_from(inner.as_deref().unwrap_or(text), origin, counts);
        match outer.or(inner) {
            Some(redacted) => {
                *text = redacted;
                true
            }
            None => false,
        }
    }

    /// Redacts JSON within a string that names a file of credentials: only the members show that all values
    /// of the content beside the path are secret. Returns `None` if it is unchanged.
    fn embedded(&self, text: &str, counts: &mut RedactionCounts) -> Option<String> {
        let is_object = text.starts_with('{') || text.starts_with("[{");
        if !is_object || !CREDENTIAL_FILES.iter().any(|name| memmem::find(text.as_bytes(), name.as_bytes()).is_some()) {
            return None;
        }
        let mut value: Value = serde_json::from_str(text).ok()?;
        self.json(&mut value, counts).then(|| value.to_string())
    }

    /// Redacts a member of an object, based on its name and its neighbours.
    fn named(
        &self,
        name: &str,
        text: &mut String,
        members: &Members,
        around: Surroundings,
        counts: &mut RedactionCounts,
    ) -> bool {
        if text.len() < 3 {
            return !self.custom.is_empty() && self.string(text, Origin::Unknown, counts);
        }
        let payload = match name {
            "data" | "base64" | "blob" if members.is_base64 && text.len() >= 16 => {
                Some(members.media_type.as_deref().unwrap_or("unknown"))
            }
            "data" | "encrypted_content" | "encryptedContent" if text.len() > SIGNATURE => {
                let is_opaque = name != "data" || members.is_thinking;
                is_opaque.then_some("unknown")
            }
            "thoughtSignature" | "thought_signature" if text.len() > SIGNATURE => Some("signature"),
            "signature" if members.is_thinking && text.len() > SIGNATURE => Some("signature"),
            _ => None,
        };
        if let Some(media_type) = payload
            && text.bytes().all(|b| is_in(b, BASE64) || matches!(b, b'\n' | b'\r' | b':'))
        {
            *text = self.payload_marker(media_type, text);
            counts.add(SecretKind::Base64Payload);
            return true;
        }
        if members.is_web_key && names::is_private_jwk(name) && text.len() >= 16 && !text.contains("[yore:") {
            *text = self.marker(SecretKind::PrivateKey, text);
            counts.add(SecretKind::PrivateKey);
            return true;
        }
        if (around.is_environment || text.len() >= SHORTEST)
            && self.prefilter.has_name(name.as_bytes())
            && self.member(name, text, around, counts)
        {
            return true;
        }
        if name == "value"
            && let Some(named) = &members.named
            && self.member(named, text, around, counts)
        {
            return true;
        }
        self.string(text, around.origin, counts)
    }

    /// Redacts a whole text if its name calls for it.
    fn member(&self, name: &str, text: &mut String, around: Surroundings, counts: &mut RedactionCounts) -> bool {
        if text.contains("[yore:") {
            return false;
        }
        let lower = name.to_ascii_lowercase();
        if lower.ends_with("cookie") || lower.ends_with("cookies") {
            let mut finder = Finder::new(text, &self.patterns);
            finder.cookie_pairs(0);
            let spans = finder.finish();
            let redacted = self.apply(text, spans, counts);
            return match redacted {
                Some(redacted) => {
                    *text = redacted;
                    true
                }
                None => false,
            };
        }
        let kind = if lower.ends_with("authorization") {
            let is_secret = !text.contains(' ') && verdict::is_secret(text, names::Strength::Strong, Form::Quoted);
            is_secret.then_some(SecretKind::Bearer)
        } else if around.is_environment
            && let Some(strength) = names::classify_variable(name)
        {
            let is_variable = !values::is_placeholder(text)
                && !values::is_reference(text)
                && !text.contains("://")
                && !text.starts_with(['/', '~']);
            (is_variable || verdict::is_secret(text, strength, Form::Quoted)).then_some(SecretKind::EnvFile)
        } else if let Some(strength) = names::classify(name) {
            verdict::is_secret(text, strength, Form::Quoted).then_some(SecretKind::Assignment)
        } else {
            None
        };
        let Some(mut kind) = kind else { return false };
        // A token with a recognisable form keeps its own kind and marker.
        let mut own = RedactionCounts::default();
        if let Some(redacted) = self.text(text, &mut own) {
            let is_whole =
                redacted.starts_with("[yore:redacted ") && redacted.ends_with(']') && redacted.matches("[yore:").count() == 1;
            if is_whole {
                *text = redacted;
                counts.merge(&own);
                return true;
            }
            kind = SecretKind::ALL.iter().copied().find(|&k| own.get(k) > 0).unwrap_or(kind).min(kind);
        }
        *text = self.marker(kind, text);
        counts.add(kind);
        true
    }
}

impl Members {
    fn of(object: &Map<String, Value>) -> Self {
        let mut members = Members::default();
        let mut has_value = false;
        let mut name = None;
        let mut media_type = None;
        for (key, value) in object {
            let Value::String(text) = value else { continue };
            match key.as_str() {
                "type" => match text.as_str() {
                    "base64" | "image" | "audio" | "input_audio" | "document" | "blob" => {
                        members.is_base64 = true;
                    }
                    "thinking" | "redacted_thinking" | "reasoning" => members.is_thinking = true,
                    _ => {
                        if text.contains('/') {
                            media_type = Some(text);
                        }
                    }
                },
                "media_type" | "mediaType" | "mimeType" | "mime_type" => media_type = Some(text),
                "base64" => members.is_base64 = true,
                "kty" => members.is_web_key = true,
                "thinking" => members.is_thinking = true,
                "value" => has_value = true,
                "name" | "key" | "Name" | "Key" => name = Some(text),
                "filePath" | "file_path" | "path" | "filepath" | "filename" | "file" | "notebook_path" | "uri"
                | "relativePath" | "relative_path" => {
                    members.is_credential_file |= is_credential_path(text);
                }
                _ => {}
            }
        }
        if let Some(media_type) = media_type {
            members.is_base64 |= object.contains_key("data") || object.contains_key("blob");
            if members.is_base64 {
                members.media_type = Some(media_type.clone());
            }
        }
        if has_value && let Some(name) = name.filter(|name| name.len() <= names::MAX_NAME) {
            members.named = Some(name.clone());
        }
        members
    }
}

/// Parts of the names of credential files, for a quick first check.
const CREDENTIAL_FILES: &[&str] = &[
    ".env",
    "credentials",
    "netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".htpasswd",
    ".dev.vars",
    ".flaskenv",
    ".secrets",
];

/// Returns whether the file at a path usually holds credentials.
fn is_credential_path(path: &str) -> bool {
    let base = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if base.len() > 64 {
        return false;
    }
    let is_template = [".example", ".sample", ".template", ".dist", ".defaults", ".md", ".go", ".ts", ".rs", ".py", ".js"]
        .iter()
        .any(|end| base.ends_with(end));
    if is_template {
        return false;
    }
    base == ".env"
        || base.starts_with(".env.")
        || (base.ends_with(".env") && base.len() > 4)
        || matches!(
            base,
            ".envrc"
                | "credentials"
                | ".credentials"
                | ".netrc"
                | "_netrc"
                | ".pgpass"
                | ".npmrc"
                | ".pypirc"
                | ".my.cnf"
                | ".git-credentials"
                | ".s3cfg"
                | ".boto"
                | "id_rsa"
                | "id_dsa"
                | "id_ecdsa"
                | "id_ed25519"
                | ".htpasswd"
                | ".dev.vars"
                | ".flaskenv"
                | ".secrets"
        )
}

/// Returns whether a text is one encoded payload: base64 without spaces, or in lines of equal length as mail
/// and PEM wrap it (a list of words, one per line, is not).
fn is_payload(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_part = |b: u8| is_in(b, BASE64) || b == b'\n' || b == b'\r';
    if !bytes[..64.min(bytes.len())].iter().copied().all(is_part) || !bytes.iter().copied().all(is_part) {
        return false;
    }
    let mut lines = text.trim_end().lines();
    let width = lines.next().map_or(0, str::len);
    if width == text.trim_end().len() {
        return true;
    }
    width >= 40
        && lines.by_ref().all(|line| line.len() <= width)
        && text.trim_end().lines().rev().skip(1).all(|line| line.len() == width)
}

/// Returns the positions of markers that an earlier run wrote. Only their exact form counts, so that nothing
/// can hide behind half of one.
fn markers_in(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for start in memmem::find_iter(text.as_bytes(), b"[yore:") {
        let rest = &text.as_bytes()[start..];
        let Some(close) = memchr::memchr(b']', &rest[..rest.len().min(160)]) else {
            continue;
        };
        let Some(inner) = text.get(start + "[yore:".len()..start + close) else {
            continue;
        };
        let is_hex = |part: &str, digits: usize| part.len() == digits && part.bytes().all(|b| b.is_ascii_hexdigit());
        let parts: Vec<&str> = inner.split(' ').collect();
        let is_marker = match parts.as_slice() {
            ["redacted", kind, digest] => is_hex(digest, 8) && SecretKind::ALL.iter().any(|k| k.as_str() == *kind),
            ["base64", _, length, "bytes", digest] => is_hex(digest, 16) && length.bytes().all(|b| b.is_ascii_digit()),
            _ => false,
        };
        if is_marker {
            found.push((start, start + close + 1));
        }
    }
    found
}
