//! Reads the path of a request: the token, the project's directory, whether memory is asked for, and the upstream.

use percent_encoding::percent_decode_str;

/// Where a request goes, read from its path `/TOKEN[/in/DIRECTORY][/as/AGENT][/memory|/plain]/UPSTREAM/REST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Name of the upstream.
    pub upstream: String,
    /// Absolute directory of the project, if the path names one.
    pub directory: Option<String>,
    /// Name of the agent, if the path tells one.
    pub agent: Option<String>,
    /// Memory asked for by the path (`memory`) or ruled out (`plain`).
    pub memory: Option<bool>,
    /// Path below the upstream's address, as the client wrote it: empty, or with a slash at its start. Without the query.
    pub rest: String,
}

/// A path that is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// The token is missing or wrong.
    Token,
    /// The token is right; the rest names no upstream that is known, or no directory.
    Unknown,
}

/// Reads a path. `is_known` says whether there is an upstream of this name.
pub(crate) fn read(path: &str, token: &str, is_known: impl Fn(&str) -> bool) -> Result<Route, NoRoute> {
    let (given, rest) = segment(path).ok_or(NoRoute::Token)?;
    // Digests are compared in constant time, and hide the length too.
    if blake3::hash(given.as_bytes()) != blake3::hash(token.as_bytes()) {
        return Err(NoRoute::Token);
    }
    read_rest(rest, is_known).ok_or(NoRoute::Unknown)
}

fn read_rest(path: &str, is_known: impl Fn(&str) -> bool) -> Option<Route> {
    let (mut word, mut rest) = segment(path)?;
    let (mut directory, mut agent) = (None, None);
    if word == "in" {
        let (decoded, after) = decoded(rest)?;
        directory = Some(decoded).filter(|directory| is_absolute(directory));
        directory.as_ref()?;
        (word, rest) = segment(after)?;
    }
    if word == "as" {
        let (decoded, after) = decoded(rest)?;
        agent = Some(decoded).filter(|agent| !agent.is_empty());
        agent.as_ref()?;
        (word, rest) = segment(after)?;
    }
    let memory = match word {
        "memory" => Some(true),
        "plain" => Some(false),
        _ => None,
    };
    if memory.is_some() {
        (word, rest) = segment(rest)?;
    }
    if word == "to" {
        (word, rest) = segment(rest)?;
    }
    is_known(word).then(|| Route { upstream: word.to_owned(), directory, agent, memory, rest: rest.to_owned() })
}

/// Returns the first segment of a path, decoded, and the rest behind it; `None` if it is no text.
fn decoded(path: &str) -> Option<(String, &str)> {
    let (encoded, rest) = segment(path)?;
    let decoded = percent_decode_str(encoded).decode_utf8().ok()?;
    (!decoded.contains('\0')).then(|| (decoded.into_owned(), rest))
}

/// Returns the first segment of a path and the rest behind it, which is empty or begins with a slash.
fn segment(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix('/')?;
    Some(path.split_at(path.find('/').unwrap_or(path.len())))
}

/// Returns whether a directory is absolute on any system: `/home`, `C:\src`, `C:/src`, `\\server\share`.
fn is_absolute(directory: &str) -> bool {
    let bytes = directory.as_bytes();
    let has_drive = matches!(bytes, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    directory.starts_with('/') || directory.starts_with("\\\\") || has_drive
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn of(path: &str) -> Result<Route, NoRoute> {
        read(path, TOKEN, |name| ["openai", "local", "memory"].contains(&name))
    }

    fn route(upstream: &str, directory: Option<&str>, memory: Option<bool>, rest: &str) -> Result<Route, NoRoute> {
        Ok(Route { upstream: upstream.into(), directory: directory.map(Into::into), agent: None, memory, rest: rest.into() })
    }

    #[test]
    fn every_form_of_the_path_is_read() {
        assert_eq!(of("/0123456789abcdef/openai/v1/models"), route("openai", None, None, "/v1/models"));
        assert_eq!(of("/0123456789abcdef/to/local/v1"), route("local", None, None, "/v1"));
        assert_eq!(of("/0123456789abcdef/memory/openai"), route("openai", None, Some(true), ""));
        assert_eq!(of("/0123456789abcdef/plain/to/openai/"), route("openai", None, Some(false), "/"));
        assert_eq!(of("/0123456789abcdef/in/%2Fsrc%2Fa%20b/local/x"), route("local", Some("/src/a b"), None, "/x"));
        let named = Route { agent: Some("ai der".into()), ..route("local", Some("/src"), Some(true), "/x").unwrap() };
        assert_eq!(of("/0123456789abcdef/in/%2Fsrc/as/ai%20der/memory/local/x"), Ok(named));
        assert_eq!(of("/0123456789abcdef/in/C%3A%5Csrc/memory/local/x"), route("local", Some("C:\\src"), Some(true), "/x"));
    }

    #[test]
    fn the_rest_is_kept_byte_for_byte() {
        let rest = "/v1//a/../b/%2e%2E/%7Euser;x=1/";
        assert_eq!(of(&format!("/{TOKEN}/openai{rest}")), route("openai", None, None, rest));
    }

    #[test]
    fn an_upstream_named_like_a_word_of_the_path_is_reached_through_to() {
        assert_eq!(of("/0123456789abcdef/to/memory/x"), route("memory", None, None, "/x"));
    }

    #[test]
    fn a_wrong_token_is_told_from_an_unknown_upstream() {
        for path in ["", "/", "*", "/openai/v1", "/0123456789abcde/openai", "/0123456789abcdef0/openai", "//openai"] {
            assert_eq!(of(path), Err(NoRoute::Token), "{path}");
        }
        for path in [
            "",
            "/",
            "/nobody/v1",
            "/in",
            "/in/relative/openai",
            "/in/%00/openai",
            "/in/%ff%fe/openai",
            "/as",
            "/as//openai",
            "/memory",
            "/to",
        ] {
            assert_eq!(of(&format!("/{TOKEN}{path}")), Err(NoRoute::Unknown), "{path}");
        }
    }
}
