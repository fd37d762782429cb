//! Values assigned to secret-like names, in whatever language.
//!
//! * [`Operator`]: how a value is tied to a name.
//! * `Finder::name`: from a part of a name to the verdict on its value. The
//!   cheap question, whether anything is assigned at all, comes first.

use super::super::names::{self, Strength};
use super::super::rules::{self, DOTTED, SecretKind, URLSAFE, is_in};
use super::super::values::{self, Form};
use super::{Finder, REACH, is_name_byte, quote_at, run_end, run_of, skip_blanks};

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
        // The cheap way out first: nothing is assigned here.
        let Some((value_at, how)) = operator_after(bytes, end, at) else {
            self.name_done = end;
            return;
        };
        let floor = at.saturating_sub(names::MAX_NAME);
        let mut start = at;
        while start > floor && is_name_byte(bytes[start - 1]) {
            start -= 1;
        }
        self.name_done = end;
        // `\napi_key`: the `n` belongs to the escape.
        if start > 0 && start < at && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b't' | b'r') {
            start += 1;
        }
        let is_flag = bytes[start..end].starts_with(b"--");
        while start < at && bytes[start] == b'-' {
            start += 1;
        }
        let name = self.slice(start, end);
        let (strength, variable) = match names::classify(name) {
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
        self.value(name, strength, value_at, how, is_flag);
    }

    /// Judges the value that begins at `from`.
    fn value(&mut self, name: &str, strength: Strength, from: usize, how: Operator, is_flag: bool) {
        let bytes = self.bytes;
        let is_flag = is_flag || name.eq_ignore_ascii_case("aws_secret_access_key");
        if matches!(how, Operator::Blank) && !is_flag {
            return;
        }
        let mut from = from;
        if matches!(how, Operator::Colon | Operator::Blank)
            && let Some(next) = skip_type(bytes, from)
        {
            from = next;
        }
        from = skip_wrapper(bytes, from);
        if let Some((slashes, quote, start)) = quote_at(bytes, from) {
            let Some(end) = closing_quote(bytes, start, slashes, quote) else {
                return;
            };
            // `("password", "scram-sha-256")` may as well be a list of words.
            let strength = match (how, strength) {
                (Operator::Call, Strength::Password) => Strength::Strong,
                _ => strength,
            };
            if values::is_secret(self.slice(start, end), strength, Form::Quoted) {
                self.push(start, end, SecretKind::Assignment);
            }
            return;
        }
        if matches!(how, Operator::Call) {
            return;
        }
        let ends_value = |at: usize| match bytes[at] {
            b if b.is_ascii_whitespace() || b.is_ascii_control() => true,
            b'<' => true,
            _ if how == Operator::Tag => false,
            b'&' if strength == Strength::Password || names::is_upper(name) => {
                // The next parameter of a query, or the shell's sign?
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
        if matches!(bytes.get(end), Some(b'(' | b'[' | b'{' | b'<')) && !matches!(how, Operator::Tag) {
            return;
        }
        while end > from && matches!(bytes[end - 1], b'.' | b':' | b'?' | b'!' | b'*') {
            end -= 1;
        }
        let is_variable = matches!(how, Operator::Equals)
            && from > 0
            && bytes[from - 1] == b'='
            && (names::is_upper(name) || is_flag || self.is_query(from));
        let form = match how {
            Operator::Tag => Form::Quoted,
            Operator::Blank if is_flag && bytes.get(from) != Some(&b'-') => Form::Variable,
            _ if is_variable => Form::Variable,
            _ => Form::Bare,
        };
        let value = self.slice(from, end);
        if how == Operator::Tag && !bytes[end..].starts_with(b"</") {
            return;
        }
        // `STORAGE_KEY: X509KeyUsage = 4` declares a type.
        if how == Operator::Colon && bytes.get(skip_blanks(bytes, end, 4)) == Some(&b'=') {
            return;
        }
        // `--- PASS: TestBase64V2` is the outcome of a test.
        let is_outcome = form == Form::Bare && name.eq_ignore_ascii_case("pass");
        let is_expression = form == Form::Bare && value.contains('.') && values::restlessness(value.as_bytes()) < 0.3;
        if !is_expression && !is_outcome && values::is_secret(value, strength, form) {
            self.push(from, end, SecretKind::Assignment);
        }
    }

    /// Whether the name before `from` is a parameter of a URL or part of a
    /// connection string.
    fn is_query(&self, from: usize) -> bool {
        let mut i = from - 1;
        let floor = from.saturating_sub(names::MAX_NAME);
        while i > floor && is_name_byte(self.bytes[i - 1]) {
            i -= 1;
        }
        i > 0 && matches!(self.bytes[i - 1], b'?' | b'&' | b';')
    }
}

/// How a value is tied to its name.
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
}

/// The operator behind a name that ends at `end`, and where the value begins.
/// `trigger` is the place in the name that was found.
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

/// Behind `name: Type = "` or `name Type = "`, the place of the quote.
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

/// Behind the letters and calls that wrap a literal: `b"`, `Some("`,
/// `String::from("`.
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

/// The quotation mark that closes what was opened with as many backslashes.
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
