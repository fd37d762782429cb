//! Converts URLs of files and folders, as editors write them, to paths.

use serde_json::Value;

/// Prefix of the authority of a folder in a container. The hexadecimal digits of a JSON value follow.
const CONTAINER: &str = "dev-container+";

/// Returns the path in a URL of a file on this computer, or on the one that the window was connected to. For
/// a folder mounted into a development container it returns the path outside, so that both are one project.
/// Returns `None` for any other URL. Text without a scheme is already a path.
pub fn path_of_address(address: &str) -> Option<String> {
    if let Some(rest) = address.strip_prefix("vscode-remote://") {
        let (authority, path) = rest.split_at(rest.find('/')?);
        let path = path_of_file(path)?;
        return Some(path_on_host(&unescaped(authority), &path).unwrap_or(path));
    }
    match address.strip_prefix("file://") {
        Some(rest) => path_of_file(rest),
        None => (!address.is_empty() && !address.contains("://")).then(|| address.to_owned()),
    }
}

/// Returns the path after a scheme, with percent escapes decoded.
fn path_of_file(rest: &str) -> Option<String> {
    let path = unescaped(rest.split(['#', '?']).next().unwrap_or(rest));
    // `/c:/Users` is a drive, not a root.
    let bytes = path.as_bytes();
    let is_drive = bytes.len() > 2 && bytes[0] == b'/' && bytes[1].is_ascii_alphabetic() && bytes[2] == b':';
    Some(if is_drive { path[1..].to_owned() } else { path }).filter(|path| !path.is_empty())
}

/// Returns the path on the host computer of a path in a development container: the folder of the workspace,
/// and the path below it if the folder has the same name in the container.
fn path_on_host(authority: &str, path: &str) -> Option<String> {
    let digits = authority.strip_prefix(CONTAINER)?.split('@').next()?;
    let bytes: Option<Vec<u8>> = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
        .collect();
    let value: Value = serde_json::from_slice(&bytes?).ok()?;
    let host = value.get("hostPath")?.as_str()?.trim_end_matches(['/', '\\']);
    let name = host.rsplit(['/', '\\']).next().filter(|name| !name.is_empty())?;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.iter().position(|part| *part == name) {
        Some(at) => {
            let separator = if host.contains('\\') { "\\" } else { "/" };
            Some(parts[at + 1..].iter().fold(host.to_owned(), |whole, part| whole + separator + part))
        }
        // This is `/workspace`, whatever the folder is called outside.
        None if parts.len() < 3 => Some(host.to_owned()),
        None => None,
    }
}

fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| std::str::from_utf8(bytes.get(at + 1..at + 3)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(escaped.unwrap_or(bytes[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_become_paths() {
        for (address, path) in [
            ("file:///home/ada/my%20code", Some("/home/ada/my code")),
            ("file:///c%3A/code/tides", Some("c:/code/tides")),
            ("/home/ada", Some("/home/ada")),
            ("file://%", Some("%")),
            ("vscode-remote://ssh-remote%2Bharbour/srv/tides", Some("/srv/tides")),
            ("vscode-remote://wsl%2Bubuntu/home/mira", Some("/home/mira")),
            ("vscode-remote://nothing", None),
            ("untitled://a", None),
            ("", None),
        ] {
            assert_eq!(path_of_address(address).as_deref(), path, "{address}");
        }
    }

    #[test]
    fn folder_in_a_container_is_the_one_that_is_mounted() {
        let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        let address = |host: &str, path: &str| {
            let authority = hex(&serde_json::json!({"hostPath": host, "localDocker": false}).to_string());
            path_of_address(&format!("vscode-remote://dev-container%2B{authority}{path}"))
        };
        assert_eq!(address("/home/ada/tides", "/workspaces/tides").as_deref(), Some("/home/ada/tides"));
        assert_eq!(address("/home/ada/tides", "/workspaces/tides/src/a.rs").as_deref(), Some("/home/ada/tides/src/a.rs"));
        assert_eq!(address("C:\\code\\tides", "/workspaces/tides/src").as_deref(), Some("C:\\code\\tides\\src"));
        assert_eq!(address("/home/ada/tides", "/workspace").as_deref(), Some("/home/ada/tides"));
        assert_eq!(address("/home/ada/tides", "/usr/lib/python/x.py").as_deref(), Some("/usr/lib/python/x.py"));
        assert_eq!(path_of_address("vscode-remote://dev-container%2B7b7/workspaces/a").as_deref(), Some("/workspaces/a"));
    }

    proptest! {
        #[test]
        fn addresses_never_panic(address in "(file://|vscode-remote://(dev-container\\+)?)?[%a-f0-9:/é#?@]{0,40}") {
            path_of_address(&address);
        }
    }
}
