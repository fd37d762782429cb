//! Builds the command lines that agents run, quoted for each shell, and recognises yore's own in their settings.
//!
//! - [`Program`]: the yore program, as agents will call it
//! - [`Shell`]: the shell that reads a command line
//! - [`words`]: splits a command line
//! - [`is_yore`], [`is_hook`]: recognize yore's entries
//! - [`called`]: the use for which an agent calls yore

use crate::paths::Platform;

/// The shell that reads a command line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shell {
    /// A POSIX shell.
    Posix,
    /// PowerShell.
    Pwsh,
    /// On Windows, if an agent does not say which: `cmd` or PowerShell.
    WindowsAny,
}

impl Shell {
    /// Returns the shell that reads command lines on this platform.
    pub fn of(platform: Platform) -> Self {
        if platform == Platform::Windows { Self::WindowsAny } else { Self::Posix }
    }

    /// Returns the command line of a hook. If the program is gone, a POSIX shell does nothing, so that the
    /// agent does not report an error at each of its steps.
    pub fn hook_line(self, program: &str, arguments: &[String]) -> String {
        let line = self.line(program, arguments);
        match self {
            Self::Posix => format!("[ ! -x {} ] || {line}", quoted_for_posix(program)),
            Self::Pwsh | Self::WindowsAny => line,
        }
    }

    /// Returns a command line that calls `program` with these arguments.
    pub fn line(self, program: &str, arguments: &[String]) -> String {
        let mut line = match self {
            Self::Posix => quoted_for_posix(program),
            Self::Pwsh => format!("& {}", quoted_for_powershell(program)),
            Self::WindowsAny if program.chars().all(is_plain_on_windows) => program.to_owned(),
            // PowerShell takes a line that begins with a quote as a text, and `cmd` drops quotes at the
            // start. Both read this form alike.
            Self::WindowsAny => format!("cmd /c call \"{program}\""),
        };
        for argument in arguments {
            line.push(' ');
            let is_plain = !argument.is_empty() && argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
            match self {
                _ if is_plain => line.push_str(argument),
                Self::Posix => line.push_str(&quoted_for_posix(argument)),
                Self::Pwsh => line.push_str(&quoted_for_powershell(argument)),
                Self::WindowsAny => line.push_str(&format!("\"{argument}\"")),
            }
        }
        line
    }
}

fn is_plain_on_windows(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, ':' | '\\' | '.' | '_' | '-' | '~')
}

fn quoted_for_posix(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        if matches!(character, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted + "\""
}

fn quoted_for_powershell(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The yore program, as agents will call it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Program {
    /// Absolute path of the program.
    pub path: String,
    /// The data directory to name on the command line, if it is not the default.
    pub data_dir: Option<String>,
}

impl Program {
    /// Returns the arguments of a hook.
    pub fn hook(&self, agent: &str, event: &str) -> Vec<String> {
        self.with_data(["hook", agent, event])
    }

    /// Returns the arguments of the MCP server.
    pub fn mcp(&self) -> Vec<String> {
        self.with_data(["mcp"])
    }

    /// Returns the arguments of the status line.
    pub fn status_line(&self) -> Vec<String> {
        self.with_data(["status-line"])
    }

    fn with_data<const N: usize>(&self, arguments: [&str; N]) -> Vec<String> {
        let mut arguments: Vec<String> = arguments.map(str::to_owned).into();
        if let Some(directory) = &self.data_dir {
            arguments.extend(["--data-dir".to_owned(), directory.clone()]);
        }
        arguments
    }
}

/// Splits a command line as a shell would, as far as yore's own lines need it. A prefix before the program
/// (`[ ! -x program ] ||`, `cmd /c call`, `&`, `NAME=value`, `exec`, `env`) is left out.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(inner) = characters.next() {
                    match inner {
                        '"' => break,
                        '\\' => match characters.peek() {
                            Some('"' | '\\' | '$' | '`') => word.extend(characters.next()),
                            _ => word.push('\\'),
                        },
                        _ => word.push(inner),
                    }
                }
            }
            '\'' => word.get_or_insert_default().extend(characters.by_ref().take_while(|inner| *inner != '\'')),
            _ if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    if words.first().is_some_and(|word| word == "[")
        && let Some(at) = words.iter().position(|word| word == "||")
    {
        words.drain(..=at);
    }
    let mut leading = 0;
    if words.first().is_some_and(|word| word == "&") {
        leading = 1;
    } else if words.first().is_some_and(|word| matches!(base_name(word).as_str(), "cmd" | "cmd.exe")) {
        leading = 1;
        while words.get(leading).is_some_and(|word| word.starts_with('/') && word.len() == 2 || word == "call") {
            leading += 1;
        }
    } else {
        while words.get(leading).is_some_and(|word| is_assignment(word) || word == "exec" || base_name(word) == "env") {
            leading += 1;
        }
    }
    words.split_off(leading.min(words.len()))
}

/// Returns whether a word sets a variable for the program that follows.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

fn base_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase()
}

/// Returns whether a program is yore, in any directory.
pub fn is_yore(program: &str) -> bool {
    matches!(base_name(program).as_str(), "yore" | "yore.exe")
}

/// Returns whether these words call `yore hook` for one of `agents`. A call that names no agent matches any.
pub fn is_hook(words: &[String], agents: &[&str]) -> bool {
    let [program, first, rest @ ..] = words else { return false };
    is_yore(program) && first == "hook" && rest.first().is_none_or(|agent| agents.contains(&agent.as_str()))
}

/// The uses for which an agent may call yore.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Use<'a> {
    /// The MCP server.
    Mcp,
    /// A hook, of this agent and event.
    Hook(Option<&'a str>, Option<&'a str>),
    /// The status line.
    StatusLine,
}

/// A call of yore that an agent may make.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Called<'a> {
    /// The use it is called for.
    pub what: Use<'a>,
    /// The data directory named in the call.
    pub data_dir: Option<&'a str>,
    /// True if the call has no arguments beyond those that `yore install` writes, and a choice of tools.
    pub is_plain: bool,
}

/// Parses these arguments (without the program); `None` if they are no call that an agent makes.
pub fn called(arguments: &[String]) -> Option<Called<'_>> {
    let (mut names, mut data_dir, mut tools, mut is_plain) = (Vec::new(), None, None, true);
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--data-dir" => {
                is_plain &= data_dir.is_none();
                data_dir = Some(arguments.next()?);
            }
            "--tools" => {
                is_plain &= tools.is_none();
                tools = Some(arguments.next()?);
            }
            "-c" | "--config" | "--color" => {
                is_plain = false;
                arguments.next()?;
            }
            option if option.starts_with('-') => is_plain = false,
            name => names.push(name),
        }
    }
    let is_hook = |names: &[&str]| names.first() == Some(&"hook");
    let what = match names.as_slice() {
        ["mcp"] => Use::Mcp,
        ["status-line"] => Use::StatusLine,
        names if is_hook(names) => Use::Hook(names.get(1).copied(), names.get(2).copied()),
        _ => return None,
    };
    let is_odd = |word: Option<&str>| word.is_some_and(|word| word.starts_with('-'));
    is_plain &= match what {
        Use::Mcp => !is_odd(tools),
        Use::Hook(agent, event) => agent.is_some() && event.is_some() && names.len() == 3 && tools.is_none(),
        Use::StatusLine => tools.is_none(),
    };
    Some(Called { what, data_dir, is_plain: is_plain && !is_odd(data_dir) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(path: &str) -> (Program, Vec<String>) {
        let program = Program { path: path.to_owned(), data_dir: None };
        let arguments = program.hook("codex", "Stop");
        (program, arguments)
    }

    #[test]
    fn every_shell_reads_the_path_whatever_is_in_it() {
        let (_, arguments) = hook("");
        let line = |shell: Shell, path: &str| shell.line(path, &arguments);
        assert_eq!(line(Shell::Posix, "/home/dev/bin/yore"), "\"/home/dev/bin/yore\" hook codex Stop");
        assert_eq!(Shell::Posix.hook_line("/a b/yore", &arguments), "[ ! -x \"/a b/yore\" ] || \"/a b/yore\" hook codex Stop");
        assert_eq!(line(Shell::Posix, "/a b/$c`\"\\/yore"), "\"/a b/\\$c\\`\\\"\\\\/yore\" hook codex Stop");
        assert_eq!(line(Shell::Pwsh, "C:\\it's\\yore.exe"), "& 'C:\\it''s\\yore.exe' hook codex Stop");
        assert_eq!(line(Shell::WindowsAny, "C:\\Users\\sam\\yore.exe"), "C:\\Users\\sam\\yore.exe hook codex Stop");
        assert_eq!(
            line(Shell::WindowsAny, "C:\\Program Files (x86)\\yore.exe"),
            "cmd /c call \"C:\\Program Files (x86)\\yore.exe\" hook codex Stop"
        );
    }

    #[test]
    fn data_directory_is_named_where_it_is_not_the_usual_one() {
        let program = Program { path: "/bin/yore".into(), data_dir: Some("/my data".into()) };
        assert_eq!(
            Shell::Posix.line(&program.path, &program.hook("cursor", "stop")),
            "\"/bin/yore\" hook cursor stop --data-dir \"/my data\""
        );
        assert_eq!(program.mcp(), ["mcp", "--data-dir", "/my data"]);
    }

    #[test]
    fn what_was_written_is_known_again() {
        for path in ["/a/yore", "/a b/yore", "/$x/`/\"/\\/yore", "C:\\a\\yore.exe", "C:\\a (b)\\c d\\Yore.exe"] {
            let (program, arguments) = hook(path);
            let is_windows = path.starts_with('C');
            let shells: &[Shell] = if is_windows { &[Shell::Pwsh, Shell::WindowsAny] } else { &[Shell::Posix] };
            for shell in shells {
                let found = words(&shell.line(&program.path, &arguments));
                assert_eq!(found, [&[path.to_owned()], arguments.as_slice()].concat(), "{shell:?} {path}");
                assert!(is_hook(&found, &["codex"]), "{found:?}");
                assert!(!is_hook(&found, &["cursor"]), "{found:?}");
                assert_eq!(words(&shell.hook_line(&program.path, &arguments)), found);
            }
        }
    }

    #[test]
    fn what_is_not_ours_is_not_taken_for_it() {
        for line in ["yore recall hook", "echo yore hook codex", "yored hook codex", "/yore/other hook codex", "", "yore", "\""] {
            assert!(!is_hook(&words(line), &["codex"]), "{line}");
        }
        assert!(is_hook(&words("yore hook"), &["codex"]));
    }

    #[test]
    fn what_a_shell_does_before_it_starts_a_program_is_passed_over() {
        for line in [
            "YORE_HOME=/x yore hook codex Stop",
            "YORE_HOME=\"/a b\" _B2= /bin/yore hook codex Stop",
            "exec yore hook codex Stop",
            "exec /usr/bin/env A=b yore hook codex Stop",
        ] {
            assert!(is_hook(&words(line), &["codex"]), "{line}");
        }
        for line in ["env -u A yore hook codex", "2=3 yore hook codex", "--a=b yore hook codex", "env", "A=b"] {
            assert!(!is_hook(&words(line), &["codex"]), "{line}");
        }
    }

    #[test]
    fn only_servers_hooks_and_status_lines_are_what_agents_call() {
        let is = |line: &str, what: Use<'_>, is_plain: bool| {
            let words = words(line);
            let called = called(&words).unwrap();
            assert_eq!((called.what, called.is_plain), (what, is_plain), "{line}");
        };
        is("mcp", Use::Mcp, true);
        is("mcp --tools core --data-dir /d", Use::Mcp, true);
        is("hook codex Stop --data-dir /d", Use::Hook(Some("codex"), Some("Stop")), true);
        is("status-line", Use::StatusLine, true);
        for more in ["mcp -c a=b", "mcp --tools --hard", "mcp --later", "--data-dir /a mcp --data-dir /b", "mcp --data-dir=/d"] {
            is(more, Use::Mcp, false);
        }
        for more in ["hook codex Stop more", "hook codex Stop --tools all"] {
            is(more, Use::Hook(Some("codex"), Some("Stop")), false);
        }
        is("hook codex", Use::Hook(Some("codex"), None), false);
        for other in ["", "mcp url", "forget 71de0004 --hard", "capture off", "doctor", "--tools mcp", "recall mcp", "--later"] {
            assert_eq!(called(&words(other)), None, "{other}");
        }
    }
}
