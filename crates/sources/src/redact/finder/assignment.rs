//! Finds values that are assigned to secret-like names, in any language.
//!
//! * [`Operator`]: how a value is assigned to a name.
//! * `Finder::name`: from a part of a name to the decision on its value. The cheap check, whether anything is
//!   assigned at all, comes first.

use super::super::names::{self, Strength};
use super::super::rules::{self, DOTTED, SecretKind, URLSAFE, is_in};
use super::super::values::{self, Form};
use super::super::verdict;
use super::line_start;
use super::variables::skip_line_prefix;
use super::{Finder, REACH, is_name_byte, quote_at, run_end, run_of, run_while, skip_blanks};

impl Finder<'_> {
    pub(super) fn name(&mut self, at: usize) {
        if at < self.name_done {
            return;
        }
        let bytes = self.bytes;
        let end = run_end(bytes, at, URLSAFE, names::MAX_NAME + 1);
        if end - at > names::MAX_NAME {
            return;
        }
        // The cheap check first: return if nothing is assigned here.
        let operator = operator_after(bytes, end, at);
        if operator.is_none() && bytes.get(end) != Some(&b' ') {
            self.name_done = end;
            return;
        }
        let floor = at.saturating_sub(names::MAX_NAME);
        let mut start = at;
        while start > floor && is_name_byte(bytes[start - 1]) {
            start -= 1;
        }
        self.name_done = end;
        // In `\napi_key` the `n` belongs to the escape.
        if start > 0 && start < at && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b't' | b'r') {
            start += 1;
        }
        let is_flag = bytes[start..end].starts_with(b"--");
        // Any character may follow the space after an option.
        let next = skip_blanks(bytes, end, 4);
        let is_option = is_flag && next > end && bytes.get(next).is_some_and(|b| !matches!(b, b'=' | b':'));
        let operator = if is_option { Some((next, Operator::Blank)) } else { operator };
        let Some((value_at, how)) = operator else { return };
        while start < at && bytes[start] == b'-' {
            start += 1;
        }
        let name = self.slice(start, end);
        // `the key of`: most names occur in sentences and code.
        let may_take_blank = is_flag || names::is_upper(name) || name.eq_ignore_ascii_case("aws_secret_access_key");
        if how == Operator::Blank && !may_take_blank {
            if names::classify(name) == Some(Strength::Password) {
                self.password_in_sentence(value_at);
            }
            return;
        }
        let (strength, variable) = match self.classify(start, end) {
            Some(strength) => (strength, None),
            None => match names::classify_variable(name) {
                Some(strength) => match self.variable_in_body(start) {
                    Some(variable) => (strength, Some(variable)),
                    None => return,
                },
                None => return,
            },
        };
        let variable = variable
            .or_else(|| (names::is_upper(name) && matches!(how, Operator::Equals)).then(|| self.variable_in_body(start))?);
        if let Some(variable) = variable.filter(|v| v.name == (start, end)) {
            let (from, to) = variable.value;
            let value = self.slice(from, to);
            if value.len() >= 3
                && !values::is_placeholder(value)
                && !values::is_reference(value)
                && !value.starts_with(['/', '~', '<', '('])
                && !value.contains("://")
                && !value.bytes().any(|b| b == b'(' || b == b'$')
            {
                self.push(from, to, SecretKind::EnvFile);
                return;
            }
        }
        self.value((start, end), strength, value_at, how, is_flag);
    }

    /// Redacts what follows the word password in a sentence (`the password is Kx7!mQ2v`), if no word and no name looks like it.
    fn password_in_sentence(&mut self, from: usize) {
        const VERBS: [&[u8]; 5] = [b"is ", b"was ", b"to ", b"ist ", b"lautet "];
        let bytes = self.bytes;
        let verb = VERBS.iter().find(|verb| bytes[from..].starts_with(verb));
        let mut from = from + verb.map_or(0, |verb| verb.len());
        from += usize::from(bytes.get(from).is_some_and(|b| is_quote(*b)));
        let mut end = run_while(bytes, from, 64, |b| b.is_ascii_graphic() && !is_quote(b) && !b"\\,;)<".contains(&b));
        while end > from && matches!(bytes[end - 1], b'.' | b':' | b'?') {
            end -= 1;
        }
        let value = self.slice(from, end);
        let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
        let has_sign = value.bytes().any(|b| b"!#$%&*@^+~?".contains(&b));
        let year = value.bytes().rev().take_while(u8::is_ascii_digit).count();
        let is_plain = value.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&*@^+~?-".contains(&b));
        let is_mixed =
            count(u8::is_ascii_lowercase) > 0 && count(u8::is_ascii_digit) > 0 && (has_sign || count(u8::is_ascii_uppercase) > 0);
        let is_likely = is_plain && is_mixed && (has_sign || year >= 4 || values::restlessness(value.as_bytes()) >= 0.4);
        if value.len() >= 8 && is_likely && verdict::is_secret(value, Strength::Password, Form::Quoted) {
            self.push(from, end, SecretKind::Assignment);
        }
    }

    /// Classifies the name between `start` and `end`. Includes the word before it if the two form a name
    /// (`Access Key:`, `private key:`), and its surroundings if the name alone is ambiguous (`"key"` beside
    /// `"username"`, `?key=`).
    fn classify(&self, start: usize, end: usize) -> Option<Strength> {
        let name = self.slice(start, end);
        let own = names::classify(name);
        if own.is_some_and(|strength| strength != Strength::Weak) {
            return own;
        }
        let bytes = self.bytes;
        let is_key = name.eq_ignore_ascii_case("key");
        if start >= 4 && bytes[start - 1] == b' ' && bytes[start - 2].is_ascii_alphabetic() {
            let mut word = start - 1;
            while word > 0 && start - word < 16 && bytes[word - 1].is_ascii_alphabetic() {
                word -= 1;
            }
            let both = names::classify(&format!("{}_{name}", self.slice(word, start - 1).to_ascii_lowercase()));
            return both.or(own);
        }
        if is_key && start > 0 && matches!(bytes[start - 1], b'?' | b'&') {
            return Some(Strength::Weak);
        }
        if is_key && start > 0 && is_quote(bytes[start - 1]) {
            let around = &bytes[start.saturating_sub(120)..bytes.len().min(end + 160)];
            let is_kaggle = memchr::memmem::find(around, b"username").is_some();
            return is_kaggle.then_some(Strength::Strong).or(own);
        }
        own
    }

    /// Judges the value that begins at `from`, and redacts it if it is a secret.
    fn value(&mut self, (name_at, name_end): (usize, usize), strength: Strength, from: usize, how: Operator, is_flag: bool) {
        let bytes = self.bytes;
        let name = self.slice(name_at, name_end);
        let is_flag = is_flag
            || name.eq_ignore_ascii_case("aws_secret_access_key")
            || (how == Operator::Blank && names::is_upper(name) && is_fish_variable(&bytes[..name_at]));
        if matches!(how, Operator::Blank) && !is_flag {
            return;
        }
        // `| PASS | `cmdPrefix` |`: a table of test results has names in its other cells.
        if how == Operator::Cell {
            let cell = bytes[from..].split(|b| matches!(b, b'|' | b'\n')).next().unwrap_or_default();
            if name.eq_ignore_ascii_case("pass") || !cell.iter().any(u8::is_ascii_digit) {
                return;
            }
        }
        let mut from = from;
        if matches!(how, Operator::Colon | Operator::Blank)
            && let Some(next) = skip_type(bytes, from)
        {
            from = next;
        }
        from = skip_wrapper(bytes, from);
        let quoted = quote_at(bytes, from).map(|(slashes, quote, start)| (start, closing_quote(bytes, start, slashes, quote)));
        if let Some((start, Some(end))) = quoted {
            // `("password", "scram-sha-256")` may also be a list of words.
            let strength = match (how, strength) {
                (Operator::Call, Strength::Password) => Strength::Strong,
                _ => strength,
            };
            let value = self.slice(start, end);
            if verdict::is_secret(value, strength, Form::Quoted) {
                self.push(start, end, SecretKind::Assignment);
                return;
            }
            // If spaces follow, the quotation mark may belong to an unquoted password.
            if strength != Strength::Password || !value.contains([' ', '\t']) {
                return;
            }
        }
        // Only a password may begin with a quotation mark that is never closed.
        if matches!(how, Operator::Call) || (quoted.is_some() && strength != Strength::Password) {
            return;
        }
        let is_password = strength == Strength::Password && how != Operator::Tag;
        let end = if is_password { self.password_end(name_at, from) } else { self.bare_end(name, strength, how, from) };
        let Some(end) = end else { return };
        let is_variable = matches!(how, Operator::Equals)
            && from > 0
            && bytes[from - 1] == b'='
            && (names::is_upper(name) || is_flag || self.is_query(from));
        let form = match how {
            Operator::Tag => Form::Quoted,
            Operator::Blank if is_flag && bytes.get(from) != Some(&b'-') => Form::Variable,
            Operator::Cell => Form::Line,
            _ if is_variable => Form::Variable,
            _ if self.fills_line(name_at, end) => Form::Line,
            _ => Form::Bare,
        };
        // After a digit, an exclamation mark may belong to the password: `Dragon2025!`.
        let is_exclaimed = is_password && bytes.get(end) == Some(&b'!') && bytes[end - 1].is_ascii_digit();
        let value = self.slice(from, end + usize::from(is_exclaimed));
        if how == Operator::Tag && !bytes[end..].starts_with(b"</") {
            return;
        }
        // `STORAGE_KEY: X509KeyUsage = 4` declares a type.
        if how == Operator::Colon && bytes.get(skip_blanks(bytes, end, 4)) == Some(&b'=') {
            return;
        }
        let is_bare = matches!(form, Form::Line | Form::Bare);
        // `--- PASS: TestBase64V2` is a test result.
        let is_outcome = is_bare && name.eq_ignore_ascii_case("pass");
        let is_expression = is_bare && !is_password && value.contains('.') && values::restlessness(value.as_bytes()) < 0.3;
        // `--password option` may be part of a sentence, and the next cell of a table may hold words.
        let is_sentence = matches!(how, Operator::Blank | Operator::Cell)
            && value.bytes().all(|b| b.is_ascii_alphabetic())
            && values::reads_as_words(value);
        if !is_expression && !is_outcome && !is_sentence && verdict::is_secret(value, strength, form) {
            self.push(from, end, SecretKind::Assignment);
        }
    }

    /// Returns the end of an unquoted value that is not a password: the first character with which code, a
    /// shell or a sentence ends it. Returns `None` if an expression follows.
    fn bare_end(&self, name: &str, strength: Strength, how: Operator, from: usize) -> Option<usize> {
        let bytes = self.bytes;
        let ends_value = |at: usize| match bytes[at] {
            b if b.is_ascii_whitespace() || b.is_ascii_control() => true,
            b'<' => true,
            _ if how == Operator::Tag => false,
            b'&' if strength == Strength::Password || names::is_upper(name) => {
                // Either the next parameter of a query follows, or this is the shell's operator.
                let next = run_end(bytes, at + 1, DOTTED, names::MAX_NAME);
                let is_open = bytes.get(at + 1).is_some_and(u8::is_ascii_graphic);
                !is_open || bytes[at + 1] == b'&' || bytes.get(next) == Some(&b'=')
            }
            b => b"\"'`,;()[]{}>|&\\".contains(&b),
        };
        let mut end = from;
        while end < bytes.len() && end - from < REACH && !ends_value(end) {
            end += 1;
        }
        if matches!(bytes.get(end), Some(b'(' | b'[' | b'{' | b'<')) && how != Operator::Tag {
            return None;
        }
        while end > from && matches!(bytes[end - 1], b'.' | b':' | b'?' | b'!' | b'*') {
            end -= 1;
        }
        Some(end)
    }

    /// Returns the end of an unquoted password, which may contain any character. Only white space ends it, or
    /// a character that closes what was opened before the name, or a separator followed by the next pair.
    fn password_end(&self, name_at: usize, from: usize) -> Option<usize> {
        let bytes = self.bytes;
        let before = &bytes[line_start(bytes, name_at)..name_at];
        let is_open =
            |open: u8, close: u8| memchr::memchr_iter(open, before).count() > memchr::memchr_iter(close, before).count();
        let is_quoted = |quote: u8| memchr::memchr_iter(quote, before).count() % 2 == 1;
        // A final closing character may be followed by others, and then by white space or the end of the line
        // or text.
        let is_last = |at: usize| {
            let next = run_while(bytes, at + 1, 8, |b| b"\"'`,;.:)]}>".contains(&b));
            match bytes.get(next) {
                None => true,
                Some(b'\\') => matches!(bytes.get(next + 1), Some(b'n' | b'r' | b't' | b'"')),
                Some(b) => b.is_ascii_whitespace() || b.is_ascii_control(),
            }
        };
        let mut end = from;
        while end < bytes.len() && end - from < REACH {
            let next = bytes.get(end + 1).copied().unwrap_or(0);
            let ends = match bytes[end] {
                b if b.is_ascii_whitespace() || b.is_ascii_control() => true,
                // A quotation mark at the start does not open a closed quotation.
                b'"' | b'\'' | b'`' if end == from => false,
                quote @ (b'"' | b'\'' | b'`') => is_quoted(quote) || is_last(end),
                b'\\' if is_quote(next) => {
                    let closes = is_quoted(next) && is_last(end + 1);
                    end += usize::from(!closes);
                    closes
                }
                b'\\' => matches!(next, b'n' | b'r' | b't'),
                b',' | b';' => is_last(end) || is_pair(bytes, end + 1),
                b'&' => is_last(end) || (next == b'&' && bytes.get(end + 2) == Some(&b' ')) || is_pair(bytes, end + 1),
                b'|' => matches!(next, b'|' | b' '),
                b'<' => next == b'/',
                b')' => is_open(b'(', b')') && is_last(end),
                b']' => is_open(b'[', b']') && is_last(end),
                b'}' => is_open(b'{', b'}') && is_last(end),
                b'>' => is_open(b'<', b'>') && is_last(end),
                _ => false,
            };
            if ends {
                break;
            }
            end += 1;
        }
        while end > from && matches!(bytes[end - 1], b'.' | b':' | b'?' | b'!' | b'*') {
            end -= 1;
        }
        (end > from).then_some(end)
    }

    /// Returns whether a name and the value that ends at `end` are alone in their line. Before them there may
    /// be a line number, the mark of a diff, a list or a comment, `export` and the like.
    fn fills_line(&self, name_at: usize, end: usize) -> bool {
        let bytes = self.bytes;
        let is_end = match bytes.get(end) {
            None | Some(b'\n' | b'\r') => true,
            Some(b'\\') => matches!(bytes.get(end + 1), Some(b'n' | b'r')),
            _ => false,
        };
        let mut start = name_at;
        while start > 0 && is_in(bytes[start - 1], DOTTED) && name_at - start < names::MAX_NAME {
            start -= 1;
        }
        let line = line_start(bytes, name_at);
        let mut before = start;
        while before > 0 && start - before < 32 && bytes[before - 1] == b' ' {
            before -= 1;
        }
        let opens_string = before > 0 && is_quote(bytes[before - 1]);
        is_end && (opens_string || start <= skip_line_prefix(bytes, line, name_at).max(line))
    }

    /// Returns whether the name before `from` is a parameter of a URL or part of a connection string.
    fn is_query(&self, from: usize) -> bool {
        let mut i = from - 1;
        let floor = from.saturating_sub(names::MAX_NAME);
        while i > floor && is_name_byte(self.bytes[i - 1]) {
            i -= 1;
        }
        i > 0 && matches!(self.bytes[i - 1], b'?' | b'&' | b';')
    }
}

/// Returns whether another `name=` begins at `from`: `;Database=shop`, `,user=bob`, `&id=1`.
fn is_pair(bytes: &[u8], from: usize) -> bool {
    let end = run_while(bytes, from, 40, |b| is_in(b, DOTTED) || b == b' ');
    let name = &bytes[from..end];
    let is_short = name.len() <= 3 && name.iter().all(u8::is_ascii_lowercase);
    !name.is_empty() && bytes.get(end) == Some(&b'=') && (is_short || std::str::from_utf8(name).is_ok_and(values::reads_as_words))
}

fn is_quote(b: u8) -> bool {
    matches!(b, b'"' | b'\'' | b'`')
}

/// How a value is assigned to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    /// `=`, `:=`, `=>`, `==`.
    Equals,
    /// `:`.
    Colon,
    /// An argument: `("name", "value")`, `name("value")`.
    Call,
    /// `<name>value</name>`.
    Tag,
    /// `--name value`, `name type = "value"`.
    Blank,
    /// `| name | value |`, two cells of a table.
    Cell,
}

/// Returns whether the text before a name sets a variable of the fish shell: `set -gx `.
fn is_fish_variable(before: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b" ") else { return false };
    let option = before.iter().rev().take(6).position(|b| *b == b' ').map_or(0, |at| before.len() - at);
    before[option..].starts_with(b"-") && before[..option].ends_with(b"set ")
}

/// Returns the operator after a name that ends at `end`, and the start of the value. `trigger` is the
/// position of the trigger within the name.
fn operator_after(bytes: &[u8], end: usize, trigger: usize) -> Option<(usize, Operator)> {
    let mut p = end;
    let mut is_quoted = false;
    match bytes.get(p)? {
        b'"' | b'\'' | b'`' | b'\\' => {
            let (_, _, next) = quote_at(bytes, p)?;
            p = next;
            is_quoted = true;
            if bytes.get(p) == Some(&b']') {
                p += 1;
            }
        }
        b'[' => {
            p = run_end(bytes, p + 1, rules::ALNUM, 8);
            if bytes.get(p) != Some(&b']') {
                return None;
            }
            p += 1;
        }
        b'>' => {
            let mut start = trigger;
            while start > 0 && trigger - start < names::MAX_NAME && is_name_byte(bytes[start - 1]) {
                start -= 1;
            }
            return (start > 0 && bytes[start - 1] == b'<').then_some((p + 1, Operator::Tag));
        }
        b'(' => {
            let next = skip_blanks(bytes, p + 1, 2);
            quote_at(bytes, next)?;
            return Some((next, Operator::Call));
        }
        b'!' | b'?' | b'+' | b'|' | b' ' | b'\t' | b'=' | b':' => {}
        _ => return None,
    }
    let blank = p;
    p = skip_blanks(bytes, p, 32);
    let had_blank = p > blank;
    let here = *bytes.get(p)?;
    let next = bytes.get(p + 1).copied().unwrap_or(0);
    match here {
        b':' if next == b':' => None,
        b':' if next == b'=' => Some((skip_blanks(bytes, p + 2, 32), Operator::Equals)),
        b':' => Some((skip_blanks(bytes, p + 1, 32), Operator::Colon)),
        b'=' => {
            let mut q = run_of(bytes, p, b'=');
            if bytes.get(q) == Some(&b'>') {
                q += 1;
            }
            Some((skip_blanks(bytes, q, 32), Operator::Equals))
        }
        // `| DB_PASSWORD | value |`
        b'|' if had_blank && next == b' ' => Some((skip_blanks(bytes, p + 1, 32), Operator::Cell)),
        // `AWS Secret Access Key [None]: value`
        b'[' if had_blank => {
            let close = run_while(bytes, p + 1, 40, |b| b != b']' && b != b'\n');
            (bytes.get(close) == Some(&b']') && bytes.get(close + 1) == Some(&b':'))
                .then(|| (skip_blanks(bytes, close + 2, 32), Operator::Colon))
        }
        b'!' | b'?' | b'+' | b'|' => {
            let q = run_of(bytes, p, here);
            (bytes.get(q) == Some(&b'=')).then(|| (skip_blanks(bytes, run_of(bytes, q, b'='), 32), Operator::Equals))
        }
        b',' if is_quoted => {
            let q = skip_blanks(bytes, p + 1, 8);
            quote_at(bytes, q)?;
            Some((q, Operator::Call))
        }
        // `<add key="ApiKey" value="..."/>`
        b'v' if is_quoted && bytes[p..].starts_with(b"value=\"") => Some((p + "value=".len(), Operator::Call)),
        _ if had_blank && !is_quoted => Some((p, Operator::Blank)),
        _ => None,
    }
}

/// Returns the position of the quotation mark after `name: Type = "` or `name Type = "`.
fn skip_type(bytes: &[u8], from: usize) -> Option<usize> {
    let first = *bytes.get(from)?;
    if !(first.is_ascii_alphabetic() || matches!(first, b'&' | b'*' | b'[')) {
        return None;
    }
    let end = bytes.len().min(from + 48);
    let mut at = from;
    while at < end {
        match bytes[at] {
            b'=' => {
                let value = skip_blanks(bytes, at + 1, 8);
                quote_at(bytes, skip_wrapper(bytes, value))?;
                return Some(value);
            }
            b if is_in(b, DOTTED) || matches!(b, b' ' | b'&' | b'\'' | b'<' | b'>' | b'[' | b']' | b'|' | b'?' | b':' | b'*') => {
            }
            _ => return None,
        }
        at += 1;
    }
    None
}

/// Skips the letters and calls that wrap a literal: `b"`, `Some("`, `String::from("`.
fn skip_wrapper(bytes: &[u8], from: usize) -> usize {
    const CALLS: &[&str] = &[
        "Some(",
        "String::from(",
        "str(",
        "Secret(",
        "SecretString::from(",
        "SecretString::new(",
        "SecretStr(",
        "bytes(",
        "Buffer.from(",
        "[]byte(",
        "aws.String(",
        "ptr.To(",
        "new String(",
        "pointer.String(",
        "strPtr(",
        "std::string(",
        "Ok(",
        "stringPtr(",
        "to.Ptr(",
        "R(",
    ];
    let rest = &bytes[from.min(bytes.len())..];
    for call in CALLS {
        if rest.starts_with(call.as_bytes()) {
            return from + call.len();
        }
    }
    let letters = rest
        .iter()
        .take(2)
        .take_while(|b| matches!(b, b'b' | b'B' | b'r' | b'R' | b'f' | b'F' | b'u' | b'U' | b'@' | b'$'))
        .count();
    let hashes = rest[letters..].iter().take(2).take_while(|&&b| b == b'#').count();
    if letters > 0 && matches!(rest.get(letters + hashes), Some(b'"' | b'\'')) {
        return from + letters + hashes;
    }
    from
}

/// Finds the closing quotation mark, preceded by as many backslashes as the opening one.
fn closing_quote(bytes: &[u8], start: usize, slashes: usize, quote: u8) -> Option<usize> {
    let end = bytes.len().min(start + REACH);
    let mut at = start;
    while at < end {
        let b = bytes[at];
        if b == b'\n' {
            return None;
        }
        if b == b'\\' {
            let run = run_of(bytes, at, b'\\') - at;
            if bytes.get(at + run) == Some(&quote) {
                if run <= slashes {
                    return Some(at);
                }
                at += run + 1;
                continue;
            }
            at += run;
            continue;
        }
        if b == quote {
            return Some(at);
        }
        at += 1;
    }
    None
}
