//! Files of the page that are part of the program.

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The files: name, media type, content.
const FILES: &[(&str, &str, &str)] = &[
    ("page.css", "text/css; charset=utf-8", include_str!("assets/page.css")),
    ("page.js", JAVASCRIPT, include_str!("assets/page.js")),
    ("load.js", JAVASCRIPT, include_str!("assets/load.js")),
    ("live.js", JAVASCRIPT, include_str!("assets/live.js")),
    ("search.js", JAVASCRIPT, include_str!("assets/search.js")),
    ("reader.js", JAVASCRIPT, include_str!("assets/reader.js")),
    ("timeline.js", JAVASCRIPT, include_str!("assets/timeline.js")),
    ("colours.js", JAVASCRIPT, include_str!("assets/colours.js")),
    ("hljs-bash.js", JAVASCRIPT, include_str!("assets/vendor/hljs-bash.js")),
    ("hljs-core.js", JAVASCRIPT, include_str!("assets/vendor/hljs-core.js")),
    ("hljs-cpp.js", JAVASCRIPT, include_str!("assets/vendor/hljs-cpp.js")),
    ("hljs-diff.js", JAVASCRIPT, include_str!("assets/vendor/hljs-diff.js")),
    ("hljs-go.js", JAVASCRIPT, include_str!("assets/vendor/hljs-go.js")),
    ("hljs-ini.js", JAVASCRIPT, include_str!("assets/vendor/hljs-ini.js")),
    ("hljs-java.js", JAVASCRIPT, include_str!("assets/vendor/hljs-java.js")),
    ("hljs-javascript.js", JAVASCRIPT, include_str!("assets/vendor/hljs-javascript.js")),
    ("hljs-json.js", JAVASCRIPT, include_str!("assets/vendor/hljs-json.js")),
    ("hljs-python.js", JAVASCRIPT, include_str!("assets/vendor/hljs-python.js")),
    ("hljs-rust.js", JAVASCRIPT, include_str!("assets/vendor/hljs-rust.js")),
    ("hljs-sql.js", JAVASCRIPT, include_str!("assets/vendor/hljs-sql.js")),
    ("hljs-typescript.js", JAVASCRIPT, include_str!("assets/vendor/hljs-typescript.js")),
    ("hljs-xml.js", JAVASCRIPT, include_str!("assets/vendor/hljs-xml.js")),
    ("hljs-yaml.js", JAVASCRIPT, include_str!("assets/vendor/hljs-yaml.js")),
    ("yore.svg", "image/svg+xml", include_str!("assets/yore.svg")),
];

/// Returns the media type and the content of a file.
pub fn find(name: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(known, ..)| *known == name).map(|(_, kind, content)| (*kind, *content))
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn files_of_other_projects_are_as_their_packages_have_them() {
        let versions: toml::Value = toml::from_str(include_str!("assets/vendor/versions.toml")).unwrap();
        let files = versions["file"].as_array().unwrap();
        for file in files {
            let name = file["name"].as_str().unwrap();
            let (_, content) = find(name).unwrap();
            let hash: String = Sha256::digest(content.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(file["sha256"].as_str(), Some(hash.as_str()), "{name}");
        }
        let brought = FILES.iter().filter(|(name, ..)| name.starts_with("hljs-")).count();
        assert_eq!(brought, files.len(), "each is listed");
    }

    #[test]
    fn modules_import_only_files_that_are_there() {
        for (name, _, content) in FILES.iter().filter(|(name, ..)| !name.starts_with("hljs-") && name.ends_with(".js")) {
            for imported in content.split("\"./").skip(1).filter_map(|rest| rest.split('"').next()) {
                let is_there = !imported.ends_with(".js") || find(imported).is_some();
                assert!(is_there, "{name} imports {imported}");
            }
        }
    }
}
