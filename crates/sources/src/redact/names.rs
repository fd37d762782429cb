//! Rates how strongly a name suggests that its value is secret.
//!
//! * [`Strength`]: the strength of a name.
//! * [`classify`]: splits a name into words (snake, kebab, camel) and judges by its last words, because
//!   `access_token` names a token but `token_count` a count.
//! * [`is_session`]: names of cookies that keep a user logged in.

/// How strongly a name suggests that its value is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// `token`, `secret`: often something else, so only random-looking values count.
    Weak,
    /// `api_key`, `client_secret`, `GITHUB_TOKEN`: digests and UUIDs count too.
    Strong,
    /// `password` and similar names: values are chosen by people, so less random.
    Password,
}

/// Maximum length of a name that is judged.
pub(super) const MAX_NAME: usize = 80;

/// Words that do not affect secrecy at the end of a name.
const QUALIFIERS: &[&str] = &[
    "prod",
    "production",
    "dev",
    "development",
    "test",
    "testing",
    "staging",
    "live",
    "old",
    "new",
    "current",
    "previous",
    "base64",
    "b64",
    "value",
    "val",
    "raw",
    "plain",
    "plaintext",
    "default",
    "string",
    "str",
    "text",
    "literal",
    "primary",
    "secondary",
    "v",
];

/// Words that make a key a secret one.
const KEY_OWNERS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "encryption",
    "encrypt",
    "signing",
    "account",
    "master",
    "storage",
    "hmac",
    "jwt",
    "subscription",
    "admin",
    "shared",
    "authorization",
    "aes",
    "crypto",
    "decryption",
    "apim",
    "webhook",
    "authentication",
    "consumer",
];

/// Words that make a token a secret one, whatever its spelling.
const TOKEN_OWNERS: &[&str] = &[
    "access",
    "auth",
    "api",
    "refresh",
    "bearer",
    "session",
    "bot",
    "personal",
    "private",
    "deploy",
    "secret",
    "service",
    "admin",
    "security",
    "webhook",
    "registry",
    "npm",
    "github",
    "gitlab",
    "slack",
    "oauth",
    "user",
    "id",
    "jwt",
    "login",
    "authentication",
    "app",
    "pat",
    "vault",
    "cloudflare",
    "heroku",
    "discord",
    "telegram",
    "aws",
    "azure",
    "hf",
    "consul",
    "authorization",
    "runner",
    "job",
    "client",
    "publish",
    "pypi",
    "cargo",
    "sentry",
    "web",
    "server",
    "account",
];

/// Words that make a token a piece of text or a position in a list.
const HARMLESS_OWNERS: &[&str] = &[
    "next",
    "page",
    "sync",
    "cancel",
    "cancellation",
    "continuation",
    "pagination",
    "lexer",
    "syntax",
    "design",
    "color",
    "css",
    "peek",
    "current",
    "prev",
    "last",
    "first",
    "max",
    "min",
    "total",
    "num",
    "input",
    "output",
    "stop",
    "special",
    "eos",
    "bos",
    "pad",
    "unk",
    "mask",
    "start",
    "end",
    "per",
    "abort",
    "match",
    "separator",
    "delimiter",
    "keyword",
    "operator",
    "search",
    "cursor",
    "parse",
    "parser",
    "resume",
    "template",
    "cls",
    "sep",
    "no",
    "not",
    "theme",
    "completion",
    "prompt",
    "public",
    "watermark",
    "change",
    "etag",
    "fencing",
    "lease",
];

fn words(name: &str) -> Vec<String> {
    let bytes = name.as_bytes();
    let mut found: Vec<String> = Vec::new();
    let mut word = String::new();
    for (i, &b) in bytes.iter().enumerate() {
        if !b.is_ascii_alphanumeric() {
            if !word.is_empty() {
                found.push(std::mem::take(&mut word));
            }
            continue;
        }
        let before = if i > 0 { bytes[i - 1] } else { 0 };
        let after = bytes.get(i + 1).copied().unwrap_or(0);
        let starts = b.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || (before.is_ascii_digit() && !after.is_ascii_uppercase())
                || (before.is_ascii_uppercase() && after.is_ascii_lowercase()));
        if starts && !word.is_empty() {
            found.push(std::mem::take(&mut word));
        }
        word.push(b.to_ascii_lowercase() as char);
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

/// Returns whether a name is written like an environment variable.
pub(super) fn is_upper(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && name.bytes().any(|b| b.is_ascii_uppercase())
}

fn core_words(name: &str) -> Vec<String> {
    let mut words = words(name);
    while let Some(last) = words.last() {
        let trimmed = last.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let is_qualifier = trimmed == 0 || QUALIFIERS.contains(&last.as_str()) || QUALIFIERS.contains(&&last[..trimmed]);
        if is_qualifier && words.len() > 1 {
            words.pop();
            continue;
        }
        if trimmed > 0
            && let Some(last) = words.last_mut()
        {
            last.truncate(trimmed);
        }
        break;
    }
    words
}

/// Judges a name. Returns `None` if it does not name a secret.
pub(super) fn classify(name: &str) -> Option<Strength> {
    if name.len() > MAX_NAME || matches!(name, "PWD" | "OLDPWD") {
        return None;
    }
    let words = core_words(name);
    let last = words.last()?.as_str();
    let before = words.len().checked_sub(2).map(|i| words[i].as_str());
    match last {
        "password" | "passwd" | "passphrase" | "pwd" | "pass" | "passcode" | "pgpassword" | "passwort" | "kennwort"
        | "wachtwoord" | "contrasena" | "senha" => Some(Strength::Password),
        "secret" => match before {
            None => Some(Strength::Weak),
            Some("no" | "not" | "is" | "has") => None,
            Some(_) => Some(Strength::Strong),
        },
        "token" => match before {
            None => Some(Strength::Weak),
            Some(owner) if HARMLESS_OWNERS.contains(&owner) => None,
            Some(owner) if TOKEN_OWNERS.contains(&owner) || is_upper(name) => Some(Strength::Strong),
            Some(_) => Some(Strength::Weak),
        },
        "key" => match before {
            Some(owner) if KEY_OWNERS.contains(&owner) => Some(Strength::Strong),
            _ => None,
        },
        // `SECRET_KEY_BASE` of Rails, `client-key-data` of Kubernetes.
        "base" if words.ends_with(&["secret".into(), "key".into(), "base".into()]) => Some(Strength::Strong),
        "data" if words.ends_with(&["client".into(), "key".into(), "data".into()]) => Some(Strength::Strong),
        "credential" | "credentials" | "creds" | "auth" => Some(Strength::Weak),
        joined => {
            const JOINED: &[&str] = &[
                "apikey",
                "accesskey",
                "secretkey",
                "privatekey",
                "authtoken",
                "accesstoken",
                "clientsecret",
                "apitoken",
                "authkey",
                "refreshtoken",
                "apisecret",
                "accountkey",
                "bearertoken",
                "sessiontoken",
                "appsecret",
                "authpassword",
                "signingkey",
                "userpassword",
                "dbpassword",
                "encryptionkey",
                "masterkey",
                "secretaccesskey",
            ];
            if joined.ends_with("password") || joined.ends_with("passwd") {
                Some(Strength::Password)
            } else if JOINED.iter().any(|end| joined.ends_with(end)) {
                Some(Strength::Strong)
            } else {
                None
            }
        }
    }
}

/// Judges a name inside a body of environment variables, where plain `KEY` and `SALT` are secret as well.
pub(super) fn classify_variable(name: &str) -> Option<Strength> {
    if let Some(strength) = classify(name) {
        return Some(strength);
    }
    if name.len() > MAX_NAME || !is_upper(name) {
        return None;
    }
    let words = core_words(name);
    let before = words.len().checked_sub(2).map(|i| words[i].as_str());
    match words.last()?.as_str() {
        "key" => match before {
            Some(
                "public" | "pub" | "site" | "cache" | "primary" | "foreign" | "sort" | "partition" | "publishable" | "host"
                | "hot" | "index" | "registry" | "state" | "lookup",
            ) => None,
            _ => Some(Strength::Strong),
        },
        "salt" | "pepper" => Some(Strength::Strong),
        _ => None,
    }
}

/// Returns whether a key of this name (`"d"`, `"k"`, ...) in a JSON web key is a secret one (RFC 7518,
/// sections 6.2.2, 6.3.2 and 6.4.1).
pub(super) fn is_private_jwk(name: &str) -> bool {
    matches!(name, "d" | "p" | "q" | "dp" | "dq" | "qi" | "k")
}

/// Returns whether a cookie of this name keeps a user logged in.
pub(super) fn is_session(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["sess", "auth", "token", "jwt", "login", "remember", "csrf", "xsrf"].iter().any(|part| lower.contains(part))
        || matches!(lower.as_str(), "sid" | "li_at" | "sapisid" | "apisid" | "hsid" | "ssid" | "cf_clearance" | "xs")
        || lower.ends_with(".sid")
        || lower.ends_with("_sid")
        || lower.ends_with("-sid")
}
