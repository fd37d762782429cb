//! Decides whether the value assigned to a password's name is a password.
//!
//! A value assigned to a password's name is a password, however random it looks, unless it refers to one, is
//! a placeholder, names its type or is an expression of code. Each of these is judged by the whole value.
//!
//! * [`is_password`]: the decision.
//! * [`is_expression`]: whether an unquoted value is code.

use super::values::{Form, entropy, is_identifier, is_path, is_placeholder, is_reference, reads_as_words};

/// Maximum length of a value that is judged.
const LONGEST: usize = 512;

/// Words that make a value of words the name of a password instead of a password (`db-password`,
/// `current_password`).
const OWN_NAMES: &[&str] = &["password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "passcode"];

/// Default passwords of programs, and placeholders used in forms, tests and manuals.
const WELL_KNOWN: &[&str] = &[
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "mongodb",
    "admin",
    "administrator",
    "guest",
    "root",
    "redis",
    "rabbitmq",
    "minioadmin",
    "letmein",
    "changeit",
    "qwerty",
    "default",
    "testing",
    "tester",
    "invalid",
    "incorrect",
    "missing",
    "unknown",
    "disabled",
    "enabled",
    "visible",
    "forgotten",
    "prompt",
    "plain",
    "plaintext",
    "encrypted",
    "numeric",
    "alphanumeric",
    "interactive",
    "keyring",
    "keychain",
    "environment",
    "stdin",
    "external",
    "internal",
    "inherit",
    "automatic",
    "generated",
    "random",
    "something",
    "anything",
    "whatever",
    "database",
    "username",
    "number",
    "boolean",
    "object",
    "varchar",
    "nvarchar",
    "nullable",
    "notnull",
    "function",
    "callback",
    "promise",
];

/// Words that a number follows in names of algorithms and types.
const NUMBERED: &[&str] = &[
    "argon", "base", "bcrypt", "blake", "char", "crypt", "double", "float", "oauth", "pbkdf", "scrypt", "string", "uint",
    "varchar",
];

/// Returns whether a value, assigned to the name of a password, is one.
pub(super) fn is_password(value: &str, form: Form) -> bool {
    let bytes = value.as_bytes();
    let shortest = if matches!(form, Form::Quoted | Form::Variable) { 6 } else { 8 };
    if bytes.len() < shortest
        || bytes.len() > LONGEST
        || bytes.iter().any(|b| b.is_ascii_whitespace() || b.is_ascii_control())
        || value.contains("://")
        || is_placeholder(value)
        || is_reference(value)
        || is_identifier(value)
        || entropy(bytes) < 2.0
    {
        return false;
    }
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let has_letter = bytes.iter().any(u8::is_ascii_alphabetic);
    let has_symbol = bytes.iter().any(|&b| b.is_ascii_punctuation() && !b"-_./:,;'\"[]()<>|\\".contains(&b));
    if !has_letter {
        return has_symbol && digits > 0 && matches!(form, Form::Quoted | Form::Variable) && entropy(bytes) >= 2.5;
    }
    let lower = value.to_ascii_lowercase();
    let is_named = OWN_NAMES.iter().any(|name| lower.contains(name));
    let is_unquoted = matches!(form, Form::Line | Form::Bare);
    // `user.pwdHash`: the name of a password, however short its other parts are.
    if is_named
        && (digits == 0 || (is_unquoted && digits < 3))
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
    {
        return false;
    }
    if !reads_as_words(value) {
        // A short name of variables and methods: `i18n.t(k)`.
        let is_short_code = bytes.len() < 12 && is_unquoted && digits < 3 && is_code_shaped(value);
        return !is_path_of_words(value) && !is_short_code && !is_call(value);
    }
    if is_call(value) || (is_path(value) && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./\\:~+@".contains(&b))) {
        return false;
    }
    let words = value.split('-').filter(|word| word.len() >= 2 && word.bytes().all(|b| b.is_ascii_alphanumeric())).count();
    let is_phrase = words >= 2 && words == value.split('-').count() && !is_named;
    match form {
        Form::Variable => {
            let is_word = bytes.iter().all(u8::is_ascii_alphabetic);
            if is_word {
                return bytes.len() >= 8 && !lower.ends_with("pass") && !WELL_KNOWN.contains(&lower.as_str());
            }
            let is_code = value.contains(['.', '(', '[', ':']) && is_expression(value);
            is_phrase || digits >= 3 || ((digits > 0 || has_symbol) && !is_code)
        }
        Form::Quoted => (is_phrase && words >= 3) || digits > 0 || has_symbol,
        Form::Line => {
            (is_phrase && words >= 3) || ((digits >= 3 || has_symbol) && !is_expression(value)) || has_inner_number(value)
        }
        Form::Bare => (digits >= 3 || has_symbol) && !is_expression(value),
    }
}

/// Returns whether a value is two words with a number between them, as people make passwords (`tide7harbour`), and no name of an
/// algorithm or a type (`base64encoded`).
fn has_inner_number(value: &str) -> bool {
    let is_number = |letter: char| letter.is_ascii_digit();
    let Some(start) = value.find(is_number) else { return false };
    let (first, rest) = value.split_at(start);
    let second = rest.trim_start_matches(is_number);
    let is_word = |word: &str| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_word(first) && is_word(second) && !NUMBERED.contains(&first.to_ascii_lowercase().as_str())
}

/// Returns whether unquoted text can be code: words joined by the operators of code, with few digits.
pub(super) fn is_expression(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_code = value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:->()[]{}<>?!&*|,;=+'\"/$".contains(&b) || b >= 0x80);
    // No code ends with a number and an exclamation mark.
    let is_exclaimed = value.strip_suffix('!').is_some_and(|rest| rest.ends_with(|letter: char| letter.is_ascii_digit()));
    is_code && !is_exclaimed && digits <= 2 && reads_as_words(value)
}

/// Returns whether a value has the form `name(...)`, `name[...]` or `name{...}`. Nothing random has this form
/// from end to end.
fn is_call(value: &str) -> bool {
    let value = value.trim_end_matches([',', ';', '?', '!', '.']).trim_start_matches(['&', '*', '!', '(']);
    let Some(open) = value.find(['(', '[', '{']) else { return false };
    let (name, rest) = value.split_at(open);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || "_$@".contains(c))
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:$!?@".contains(&b));
    let is_closed = match rest.as_bytes()[0] {
        b'(' => rest.ends_with(')'),
        b'[' => rest.ends_with(']'),
        _ => rest.ends_with('}'),
    };
    // A call that was cut off at white space or a quotation mark has no closing bracket.
    let is_cut = rest.len() == 1 || matches!(rest.as_bytes()[1], b'"' | b'\'' | b'`' | b'\\');
    is_name && (is_closed || is_cut || reads_as_words(name))
}

/// Returns whether a value consists of names and numbers joined by dots, brackets and arrows.
fn is_code_shaped(value: &str) -> bool {
    value.contains(['.', '(', '[', '>', ':']) && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:->()[]".contains(&b))
}

/// Returns whether a value is a path whose names are mostly words, even if some are short.
fn is_path_of_words(value: &str) -> bool {
    (value.starts_with(['/', '~']) || value.starts_with("./") || value.starts_with("../") || value.matches('/').count() >= 2)
        && super::words::wordiness(value) >= 0.4
}
