//! Removes from texts what names this computer: paths of the project become relative, the home directory becomes `~`.
//!
//! A text that still names a person's directory is refused, not changed: only the author knows what it is to say instead.
//!
//! - Refused: `/home/NAME/`, `/Users/NAME/`, `C:\Users\NAME\` and the places from which other systems see these, whoever NAME is;
//!   and the own home and user name in every spelling, also inside other words of a path (`%2Fhome%2FNAME`, `-home-NAME-tide`,
//!   `~NAME`).
//! - Passed: names that are nobody's ([`NOBODY`]): placeholders (`/home/user/`, `/Users/me/`), accounts of CI and images
//!   (`/home/runner/`, `/home/app/`), folders of the system (`C:\Users\Public\`). `/root` is on every Linux and names nobody. A
//!   name in brackets or a variable (`/home/$USER/`, `/home/<name>/`) is none. If the own account has such a name, it is refused
//!   like any other.
//! - Without a separator after it, only the own name is refused: `/home/feed` is a route of a web page more often than a person.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use yore_core::scope::tidy_path;

/// Names that name nobody, in lower case.
const NOBODY: [&str; 3] = [
    // Placeholders.
    "user, username, user-name, user_name, your-name, your_name, yourname, your-user, you, me, name, someone, somebody, foo, xxx",
    // Accounts of CI, containers, images and package managers.
    "runner, runneradmin, vsts, circleci, jenkins, app, appuser, node, nonroot, docker, vscode, codespace, gitpod, jovyan, \
     vagrant, ubuntu, debian, ec2-user, linuxbrew, containeruser, containeradministrator",
    // Folders of the system, and the account of every Linux.
    "shared, public, default, guest, all users, root",
];

/// One or more separators of a path.
const SEPARATORS: &str = r"[/\\]+";
/// Separators of a path, also in addresses.
const ANY_SEPARATORS: &str = r"(?:[/\\]|%2f|%5c)+";

/// The directory of a person, with its name: on this or another computer, or seen from another system.
static PERSONAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let system = r"var|usr|export|nfs|host|private|System/Volumes/Data|Volumes/[^/\\\n]+";
    let windows_on_unix = r"[a-z]|(?:mnt|cygdrive)/[a-z]|wsl(?:\$|\.localhost)[/\\]+[^/\\\n]+";
    let unix =
        format!(r"{SEPARATORS}(?:(?:{system}|{windows_on_unix}){SEPARATORS})?(?:home|Users){SEPARATORS}(\w[\w.@+~-]*)[/\\]");
    let windows = format!(
        r"\b(?i:[a-z]:{SEPARATORS}(?:users|documents and settings)){SEPARATORS}(\w[\w.@+~-]*(?: [\w.@+~-]+){{0,3}})[/\\]"
    );
    Regex::new(&format!("{windows}|{unix}")).ok()
});

/// Paths of this computer that must not leave it.
#[derive(Debug)]
pub struct Machine {
    roots: Vec<Regex>,
    homes: Vec<Regex>,
    /// Spellings of the own home and user name that no left boundary protects.
    own: Vec<Regex>,
    user: Option<String>,
}

impl Machine {
    /// Creates it for a project's root and the person's home directory, as they are given and as they resolve.
    pub fn new(root: &Path, home: Option<&Path>) -> Self {
        let homes = home.map(spellings).unwrap_or_default();
        let user = homes.first().and_then(|home| parts(home)?.1.last().map(|name| name.to_lowercase()));
        // This account is on every computer.
        let user = user.filter(|name| name != "root");
        let mut own: Vec<String> = homes.iter().flat_map(|home| hidden(home)).collect();
        if let Some(user) = &user {
            let user = regex::escape(user);
            let above = "home|users|media|documents and settings";
            own.push(format!("(?i){ANY_SEPARATORS}(?:{above}){ANY_SEPARATORS}{user}"));
            own.push(format!("(?i)~{user}"));
        }
        let compiled = |patterns: Vec<String>| patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect();
        Self {
            roots: compiled(spellings(root).iter().filter_map(|root| spelled(root)).collect()),
            homes: compiled(homes.iter().filter_map(|home| spelled(home)).collect()),
            own: compiled(own),
            user,
        }
    }

    /// Returns a text with paths below the project made relative and the home directory as `~`.
    ///
    /// # Errors
    /// It still names the directory of a person on this or another computer. The error says which, in one line.
    pub fn portable(&self, text: &str) -> Result<String, String> {
        let mut text = text.to_owned();
        for root in &self.roots {
            text = replaced(&text, root, |after| match after.trim_start_matches(is_separator) {
                below if below.len() < after.len() && below.starts_with(is_of_name) => ("", after.len() - below.len()),
                rest => ("./", after.len() - rest.len()),
            });
        }
        for home in &self.homes {
            text = replaced(&text, home, |_| ("~", 0));
        }
        match self.personal(&text) {
            Some(found) => Err(format!("it names the directory of a person: {found}")),
            None => Ok(text),
        }
    }

    /// Returns the first directory of a person that a text names.
    fn personal<'t>(&self, text: &'t str) -> Option<&'t str> {
        let is_whole = |after: &str| !after.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let own = self.own.iter().flat_map(|own| own.find_iter(text)).find(|found| is_whole(&text[found.end()..]));
        let is_personal = |name: &str| {
            let name = name.to_lowercase();
            self.user.as_ref() == Some(&name) || !NOBODY.iter().any(|names| names.split(", ").any(|nobody| nobody == name))
        };
        let mut named = PERSONAL.iter().flat_map(|personal| personal.captures_iter(text)).filter_map(|found| {
            let name = found.get(1).or_else(|| found.get(2))?;
            let whole = found.get(0)?;
            (is_personal(name.as_str()) && is_beginning(&text[..whole.start()])).then_some(whole)
        });
        own.or_else(|| named.next()).map(|found| found.as_str())
    }
}

/// Returns the spellings of a directory: as it is given and with links resolved, without the prefix of Windows.
fn spellings(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in [Some(directory.to_owned()), directory.canonicalize().ok()].into_iter().flatten() {
        let path = path.to_string_lossy();
        let path = tidy_path(path.strip_prefix(r"\\?\").unwrap_or(&path));
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Returns the parts of an absolute path and its drive; `None` for a path that is not absolute, and for the topmost directory.
fn parts(path: &str) -> Option<(Option<char>, Vec<&str>)> {
    let (drive, below) = match path.split_once(':') {
        Some((drive, below)) if drive.len() == 1 => (drive.chars().next(), below),
        _ => (None, path),
    };
    let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
    (below.starts_with('/') && !parts.is_empty()).then_some((drive, parts))
}

/// Returns the pattern of an absolute path: with any separators, its drive as any system sees it, also the address of a file.
fn spelled(path: &str) -> Option<String> {
    let (drive, parts) = parts(path)?;
    let below = parts.iter().map(|part| format!("{SEPARATORS}{}", regex::escape(part))).collect::<String>();
    Some(match drive {
        Some(drive) => {
            let seen = format!(
                r"(?:{SEPARATORS}\?{SEPARATORS}|{SEPARATORS})?{drive}:|{SEPARATORS}(?:(?:mnt|cygdrive){SEPARATORS})?{drive}"
            );
            format!("(?i)(?:file:)?(?:{seen}){below}")
        }
        None => format!("(?:file:)?{below}"),
    })
}

/// Returns patterns of a home directory inside other names: in an address, and as the name of a folder that an agent made of it,
/// with a dash for each sign. Of one part alone, such as `/root`, any word could be meant.
fn hidden(home: &str) -> Vec<String> {
    let Some((_, parts)) = parts(home).filter(|(_, parts)| parts.len() > 1) else { return Vec::new() };
    let dashed: String = parts.join("/").chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
    let below = parts.iter().map(|part| format!("{ANY_SEPARATORS}{}", regex::escape(part))).collect::<String>();
    vec![format!("(?i){below}"), format!("(?i)-{}", regex::escape(&dashed))]
}

/// Replaces a directory where it is one by what `shown` makes of the text after it: the replacement, and how many bytes of that
/// text it takes as well.
fn replaced(text: &str, directory: &Regex, shown: impl Fn(&str) -> (&'static str, usize)) -> String {
    let (mut result, mut from, mut at) = (String::with_capacity(text.len()), 0, 0);
    while let Some(found) = directory.find_at(text, at) {
        let after = &text[found.end()..];
        if is_beginning(&text[..found.start()]) && is_end(after) {
            let (replacement, taken) = shown(after);
            result.push_str(&text[from..found.start()]);
            result.push_str(replacement);
            from = found.end() + taken;
            at = from;
        } else {
            at = found.end();
        }
    }
    result.push_str(&text[from..]);
    result
}

fn is_separator(letter: char) -> bool {
    matches!(letter, '/' | '\\')
}

/// Returns whether a character may begin the name of a file, rather than end a sentence or a quote.
fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '*' | '@' | '$' | '{' | '[' | '<' | '+' | '~' | '%' | '#')
}

/// Returns whether an absolute path may begin after a text: not inside another path, but after an option such as `-I`.
fn is_beginning(before: &str) -> bool {
    let Some(last) = before.chars().next_back() else { return true };
    if last.is_ascii_uppercase() {
        let option = before[..before.len() - 1].strip_suffix('-');
        return option.is_some_and(|before| !before.ends_with(|letter: char| letter.is_alphanumeric() || is_separator(letter)));
    }
    !(last.is_alphanumeric() || is_separator(last) || matches!(last, '_' | '-' | '.' | '~' | '$' | '}' | ')' | ']' | '%' | '*'))
}

/// Returns whether the name of a directory ends before a text.
fn is_end(after: &str) -> bool {
    let mut letters = after.chars();
    match letters.next() {
        Some('.') => !letters.next().is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '-')),
        Some(letter) => !(letter.is_alphanumeric() || matches!(letter, '_' | '-' | '+' | '@' | '~' | '$' | '%' | '{')),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(root: &str, home: &str) -> Machine {
        Machine::new(Path::new(root), Some(Path::new(home)))
    }

    #[test]
    fn paths_of_the_project_are_relative_and_the_home_directory_is_a_tilde() {
        for root in ["/home/mira/tide", "/home/mira/tide/", "/home/mira/./tide"] {
            let machine = on(root, "/home/mira/");
            for (text, expected) in [
                ("Leases are in /home/mira/tide/src/lease.rs:12.", "Leases are in src/lease.rs:12."),
                ("`/home/mira/tide/.env` (not /home/mira/tide/*.toml)", "`.env` (not *.toml)"),
                ("run it in /home/mira/tide", "run it in ./"),
                ("cd /home/mira/tide/ && make", "cd ./ && make"),
                ("It is built in /home/mira/tide.", "It is built in ./."),
                ("\"/home/mira/tide\",\"/home/mira//tide//a\"", "\"./\",\"a\""),
                ("/home/mira/tide", "./"),
                ("PATH=/home/mira/tide/bin:/home/mira/bin:/usr/bin", "PATH=bin:~/bin:/usr/bin"),
                ("file:///home/mira/tide/doc/a.md and file:///home/mira/a.md", "doc/a.md and ~/a.md"),
                ("gcc -I/home/mira/tide/include -L/home/mira/lib", "gcc -Iinclude -L~/lib"),
                ("\\home\\mira\\tide\\src\\a.rs", "src\\a.rs"),
                ("/home/mira/tide-old/a and /home/mira/tide.bak/a", "~/tide-old/a and ~/tide.bak/a"),
                ("/home/mira/tide/../pond/a", "../pond/a"),
                ("/home/mira/.config, /home/mira and (/home/mira)", "~/.config, ~ and (~)"),
                ("scp x tide.example:/home/mira/x", "scp x tide.example:~/x"),
                ("Mira says: no path at all, /etc/hosts and ./home/x", "Mira says: no path at all, /etc/hosts and ./home/x"),
                ("", ""),
            ] {
                assert_eq!(machine.portable(text).as_deref(), Ok(expected), "{root}: {text}");
                assert_eq!(machine.portable(expected).as_deref(), Ok(expected), "{text}");
            }
        }
    }

    #[test]
    fn windows_is_understood_as_every_program_there_spells_it() {
        let machine = on(r"C:\Users\Mira Osei\tide\", r"C:\Users\Mira Osei");
        for (text, expected) in [
            (r"C:\Users\Mira Osei\tide\src\lease.rs", r"src\lease.rs"),
            (r"c:/users/mira osei/tide/src/lease.rs", "src/lease.rs"),
            (r#"{"cwd":"C:\\Users\\Mira Osei\\tide"}"#, r#"{"cwd":"./"}"#),
            (r"\\?\C:\Users\Mira Osei\tide\a", "a"),
            ("/mnt/c/Users/Mira Osei/tide/a, /c/Users/Mira Osei/tide/b", "a, b"),
            ("file:///C:/Users/Mira Osei/tide/a", "a"),
            (r"C:\Users\Mira Osei\AppData", r"~\AppData"),
            (r"D:\build\a and C:\Users\Public\a", r"D:\build\a and C:\Users\Public\a"),
        ] {
            assert_eq!(machine.portable(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            r"X-C:\Users\Mira Osei\a",
            "C%3A%5CUsers%5CMira Osei",
            r"D:\Users\Mira Osei\a",
            r"C:\Users\MIRA~1\a",
            "C--Users-Mira-Osei-tide",
        ] {
            assert!(machine.portable(text).is_err(), "{text}");
        }
    }

    #[test]
    fn directory_of_a_person_is_refused_on_any_computer() {
        let machine = on("/home/dev/tide", "/home/dev");
        for (text, found) in [
            ("see /home/devon/a", "/home/devon/"),
            ("see /home/anna/a", "/home/anna/"),
            ("(/Users/anna.b/a)", "/Users/anna.b/"),
            (r"C:\Users\Anna Berg\a", r"C:\Users\Anna Berg\"),
            (r"d:\\users\\anna\\a", r"d:\\users\\anna\"),
            ("/mnt/c/Users/anna/a", "/mnt/c/Users/anna/"),
            ("/c/Users/anna/a", "/c/Users/anna/"),
            (r"\\wsl$\Ubuntu\home\anna\a", r"\\wsl$\Ubuntu\home\anna\"),
            ("/var/home/anna/a", "/var/home/anna/"),
            ("gcc -I/home/anna/include", "/home/anna/"),
            ("file:///home/anna/a", "///home/anna/"),
            ("PATH=/home/anna/bin", "/home/anna/"),
            ("C:\\Users\\anna and others/x", "C:\\Users\\anna and others/"),
            // The own name, wherever it is hidden.
            ("$ROOT/home/dev/a", "/home/dev"),
            ("rootfs/home/dev", "/home/dev"),
            ("/home/dev.old", "/home/dev"),
            ("\\n/home/dev/a", "/home/dev"),
            ("https://x.example/?p=%2Fhome%2Fdev%2Ftide", "%2Fhome%2Fdev"),
            ("~/.claude/projects/-home-dev-tide/a.jsonl", "-home-dev"),
            ("/Users/dev", "/Users/dev"),
            ("C:\\Users\\Dev\\a", "\\Users\\Dev"),
            ("/run/media/dev/stick", "/media/dev"),
            ("~dev/a", "~dev"),
        ] {
            let refused = machine.portable(text);
            assert_eq!(refused, Err(format!("it names the directory of a person: {found}")), "{text}");
        }
    }

    #[test]
    fn placeholder_or_account_of_an_image_is_nobody_unless_it_is_the_own_one() {
        let honest = [
            "/home/user/a",
            "/Users/me/a",
            "/home/runner/tide",
            "/home/app/.cache",
            r"C:\Users\<name>\a",
            "/home/$USER/a and /home/${USER}/a and /home/{user}/a and /home/<you>/a",
            "/root",
            "the route /home/feed and GET /users/42/posts",
            "src/home/page/index.tsx and app/Users/list/a.rs",
            "/home",
            "/home/.../a",
            "https://example.org/home/feed/latest",
            "non-root-user",
        ];
        let machine = on("/home/dev/tide", "/home/dev");
        for text in honest {
            assert_eq!(machine.portable(text).as_deref(), Ok(text));
        }
        assert!(on("/home/user/tide", "/home/user").portable("/Users/user/a").is_err());
        assert!(on("/home/runner/tide", "/home/runner").portable("x/home/runner/a").is_err());
        assert_eq!(on("/home/runner/tide", "/home/runner").portable("/home/runner/a").as_deref(), Ok("~/a"));
        // Many sessions in containers are those of root, whose home names nobody.
        let home = "/root";
        let root = on(&format!("{home}/tide"), home);
        for (text, expected) in [
            (format!("{home}/tide/a and {home}/.cargo"), "a and ~/.cargo"),
            (format!("src{home}/mod.rs, a non-root-user, /rooted"), &*format!("src{home}/mod.rs, a non-root-user, /rooted")),
        ] {
            assert_eq!(root.portable(&text).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn root_of_everything_and_a_missing_home_replace_nothing() {
        for machine in [on("/", "/"), Machine::new(Path::new("tide"), None), on("", "")] {
            assert_eq!(machine.portable("/etc/hosts in tide/a").as_deref(), Ok("/etc/hosts in tide/a"));
            assert!(machine.portable("/home/anna/a").is_err());
        }
    }

    #[cfg(unix)]
    #[test]
    fn link_to_the_project_is_the_project() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("tide")).unwrap();
        std::os::unix::fs::symlink(real.join("tide"), real.join("link")).unwrap();
        let machine = Machine::new(&real.join("link"), None);
        let text = format!("{0}/link/a, {0}/tide/b, {0}/other", real.display());
        assert_eq!(machine.portable(&text), Ok(format!("a, b, {}/other", real.display())));
    }
}
