//! Properties of an assigned value on which `verdict` bases its decision: entropy, form, placeholders.
//!
//! * [`Form`]: how the value was written.
//! * [`is_placeholder`], [`is_reference`]: values in place of a secret.
//! * [`entropy`], [`restlessness`]: two measures of randomness; a third is
//!   [`wordiness`](super::words::wordiness).

use super::words::wordiness;

/// How a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Between quotation marks, or a whole JSON string.
    Quoted,
    /// `NAME=value`, as in a shell or an environment file.
    Variable,
    /// Unquoted, and name and value fill a line, as in YAML and property files. A line of code may have this
    /// form too.
    Line,
    /// Unquoted in any other context: may also be an expression.
    Bare,
}

/// Returns the Shannon entropy in bits per byte.
pub(super) fn entropy(value: &[u8]) -> f32 {
    let mut counts = [0u32; 256];
    for &b in value {
        counts[b as usize] += 1;
    }
    let total = value.len() as f32;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = count as f32 / total;
            -share * share.log2()
        })
        .sum()
}

/// Returns how often the class of character changes, as a share of all steps: about 0.5 for random text,
/// below 0.2 for words, even in camel case. A step from a capital to a small letter and steps around
/// separators do not count.
pub(super) fn restlessness(value: &[u8]) -> f32 {
    let class = |b: u8| match b {
        b'a'..=b'z' => 1u8,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        b'-' | b'_' | b'.' | b'/' | b' ' => 0,
        _ => 4,
    };
    let mut changes = 0u32;
    let mut previous = 0u8;
    for &b in value.iter().take(256) {
        let now = class(b);
        if previous != 0 && now != 0 && now != previous && !(previous == 2 && now == 1) {
            changes += 1;
        }
        previous = now;
    }
    let steps = value.len().min(256).saturating_sub(1).max(1);
    changes as f32 / steps as f32
}

/// Returns the length of the longest run of one byte.
fn longest_run(value: &[u8]) -> usize {
    let (mut best, mut run, mut previous) = (0, 0, None);
    for &b in value.iter().take(512) {
        run = if previous == Some(b) { run + 1 } else { 1 };
        previous = Some(b);
        best = best.max(run);
    }
    best
}

fn distinct(value: &[u8]) -> u32 {
    let mut seen = [0u64; 4];
    for &b in value.iter().take(512) {
        seen[(b >> 6) as usize] |= 1 << (b & 63);
    }
    seen.iter().map(|word| word.count_ones()).sum()
}

const PLACEHOLDERS: &[&str] = &[
    "your",
    "xxxx",
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "replace",
    "redacted",
    "dummy",
    "sample",
    "insert",
    "todo",
    "…",
    "***",
    "•••",
    "foobar",
    "notreal",
    "not-a-real",
    "not_a_real",
    "-here",
    "_here",
    "my-secret",
    "my_secret",
    "my-api",
    "my_api",
    "my-token",
    "my_token",
    "my-password",
    "my_password",
    "[yore:",
    "fake-",
    "fake_",
    "mock-",
    "mock_",
    "undefined",
    "[object",
    "hidden",
    "omitted",
    "masked",
    "filtered",
    "secret-key",
    "secret_key",
    "api-key",
    "api_key",
    "test-key",
    "test_key",
    "test-token",
    "test_token",
    "process.env",
    "os.environ",
    "goes-here",
];

/// Returns whether a value is recognisably a placeholder for a secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let mut lower = String::new();
    for c in value.chars().take(160) {
        lower.push(c.to_ascii_lowercase());
    }
    PLACEHOLDERS.iter().any(|word| lower.contains(word))
        || holds_template(value)
        || lower.starts_with("...")
        || lower.ends_with("...")
        || matches!(
            lower.as_str(),
            "password"
                | "passwd"
                | "pass"
                | "pwd"
                | "pw"
                | "none"
                | "null"
                | "nil"
                | "true"
                | "false"
                | "yes"
                | "no"
                | "string"
                | "required"
                | "optional"
                | "empty"
                | "unset"
                | "n/a"
                | "xxx"
                | "x-oauth-basic"
                | "foo"
                | "bar"
                | "pswd"
        )
        || distinct(value.as_bytes()) <= 2
}

/// Returns whether a value refers to a variable instead of being a secret: `$TOKEN`, `%TOKEN%`,
/// `${TOKEN:-x}`, `{token}`.
pub(super) fn is_reference(value: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
    if let Some(rest) = value.strip_prefix('$') {
        return rest.starts_with(['{', '(']) || is_name(rest) || rest.starts_with("env:");
    }
    if let Some(rest) = value.strip_prefix('%') {
        return rest.strip_suffix('%').is_some_and(is_name) || rest.len() <= 2;
    }
    holds_template(value) || (value.starts_with('`') && reads_as_words(value))
}

/// Returns whether a part of a value is a blank to be filled in: `<name>`, `{name}`, `${name}`, `{{ name }}`,
/// `$(command)`. Random text has brackets too, but no words between them.
fn holds_template(value: &str) -> bool {
    let is_blank = |open: char, close: char| {
        let Some((before, rest)) = value.split_once(open) else { return false };
        // A blank that was cut off at white space has no closing character.
        let (inside, after) = match rest.rsplit_once(close) {
            Some(parts) => parts,
            None if before.is_empty() || before.ends_with(['$', '%', '#', '{']) => (rest, ""),
            None => return false,
        };
        let is_short = inside.len() <= 3 && inside.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let is_alone = before.len() + after.len() <= 3 || reads_as_words(before) || reads_as_words(after);
        is_alone && (is_short || reads_as_words(inside))
    };
    is_blank('<', '>') || is_blank('{', '}') || (value.contains("$(") && is_blank('(', ')'))
}

/// Returns whether most of a value consists of words. This holds for 98 of 100 identifiers of eight letters
/// or more, and for 1 of 100 random strings of sixteen letters.
pub(super) fn reads_as_words(value: &str) -> bool {
    wordiness(value) >= 0.7
}

pub(super) fn is_hex(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_hexdigit)
}

pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(i, &b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Returns whether a value is words joined by separators, each followed by at most two digits, or short
/// numbers: `tls-cert-2`, `us_east_1`.
pub(super) fn is_slug(value: &str) -> bool {
    let mut segments = 0;
    for segment in value.split(['-', '_', '.', '/', ':', '@']) {
        segments += 1;
        let letters = segment.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = segment.len() - letters.len();
        let is_word = letters.bytes().all(|b| b.is_ascii_alphabetic())
            && restlessness(letters.as_bytes()) < 0.3
            && (digits <= 2 || (letters.is_empty() && digits <= 4));
        if !is_word {
            return false;
        }
    }
    segments > 1
}

/// Returns whether a value is an id, digest or date of a kind that often follows harmless names.
pub(super) fn is_identifier(value: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "toolu_",
        "msg_",
        "req_",
        "call_",
        "chatcmpl-",
        "run_",
        "thread_",
        "asst_",
        "resp_",
        "item_",
        "rs_",
        "sha256-",
        "sha512-",
        "sha384-",
        "sha1-",
        "sha256:",
        "sha512:",
        "md5:",
        "claude-",
        "gpt-",
        "gemini-",
        "session_",
        "agent-",
        "evt_",
        "cus_",
        "pi_",
        "sub_",
        "acct_",
        "pk_live_",
        "pk_test_",
        "urn:",
        "arn:",
        "$2a$",
        "$2b$",
        "$2y$",
        "$argon2",
        "pbkdf2",
    ];
    let bytes = value.as_bytes();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_date = bytes.len() >= 10
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && value.bytes().skip(8).all(|b| b.is_ascii_digit() || b":-.+TZ".contains(&b));
    let is_version = {
        let rest = value.trim_start_matches(['v', '^', '~', '=', '>', '<']);
        // `1.2.3-beta.4+linux`: numbers, followed by words and short numbers.
        let (numbers, suffix) = rest.find(['-', '+']).map_or((rest, ""), |at| rest.split_at(at));
        numbers.contains('.')
            && numbers.split('.').all(|part| is_number(part) && part.len() < 5)
            && suffix.split(['-', '+', '.']).all(|part| part.len() < 5 || is_number(part) || reads_as_words(part))
    };
    let is_colour = value.strip_prefix('#').is_some_and(|digits| matches!(digits.len(), 6 | 8) && is_hex(digits.as_bytes()));
    is_date || is_version || is_colour || PREFIXES.iter().any(|prefix| value.starts_with(prefix))
}

pub(super) fn is_path(value: &str) -> bool {
    let bytes = value.as_bytes();
    let begins = value.starts_with("./")
        || value.starts_with("../")
        || value.starts_with("~/")
        || value.starts_with("/")
        || value.starts_with("\\")
        || (bytes.len() > 2 && bytes[1] == b':' && (bytes[2] == b'\\' || bytes[2] == b'/'));
    let is_file = value.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=5).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_lowercase())
    });
    let slashes = bytes.iter().filter(|&&b| b == b'/').count();
    (begins || slashes > 0 || is_file) && restlessness(bytes) < 0.3
}

/// Returns whether text after a known prefix can be a token at all: neither a placeholder nor words.
pub(super) fn is_token_body(body: &str, is_random: bool) -> bool {
    let bytes = body.as_bytes();
    let has_digit = bytes.iter().take(512).any(u8::is_ascii_digit);
    let has_upper = bytes.iter().take(512).any(u8::is_ascii_uppercase);
    if distinct(bytes) < 6 || longest_run(bytes) > 7 {
        return false;
    }
    let lower: String = body.chars().take(160).map(|c| c.to_ascii_lowercase()).collect();
    const WORDS: &[&str] = &["your", "xxxx", "placeholder", "redacted", "replace", "-here", "_here"];
    if WORDS.iter().any(|word| lower.contains(word)) {
        return false;
    }
    if !has_digit && !has_upper && body.contains(['-', '_', '.']) {
        return false;
    }
    !is_random || (has_digit && entropy(&bytes[..bytes.len().min(256)]) >= 3.0 && restlessness(bytes) >= 0.18)
}

/// Returns whether a value has the form of an AWS secret key, which has no prefix: forty characters of
/// base64. The example in the AWS documentation counts too.
pub(super) fn is_aws_secret(value: &[u8]) -> bool {
    value.len() == 40
        && value.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'/' || b == b'+')
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_lowercase)
        && restlessness(value) >= 0.18
}
