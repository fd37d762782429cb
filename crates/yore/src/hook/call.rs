//! Parses the command line of a hook. It is parsed by hand: the parser of all commands rejects unknown arguments, and a hook that
//! an older or newer yore installed must still end well.

use std::ffi::OsString;
use std::path::PathBuf;

/// The arguments of a hook.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Call {
    /// The agent, as given.
    pub agent: Option<String>,
    /// The event, as given.
    pub event: Option<String>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// `--config KEY=VALUE`.
    pub settings: Vec<(String, String)>,
}

impl Call {
    /// Returns the call, if these arguments (without the program's name) call `yore hook` and do not ask for
    /// help.
    pub fn of(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut call = Self::default();
        let mut is_hook = false;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = argument.to_str().unwrap_or_default();
            match text {
                "-h" | "--help" | "-V" | "--version" => return None,
                "--data-dir" => call.data_dir = arguments.next().map(PathBuf::from),
                "-c" | "--config" => call.setting(arguments.next()),
                "--color" => drop(arguments.next()),
                "hook" if !is_hook => is_hook = true,
                _ => {
                    if let Some(directory) = text.strip_prefix("--data-dir=") {
                        call.data_dir = Some(PathBuf::from(directory));
                    } else if let Some(setting) = text.strip_prefix("--config=") {
                        call.setting(Some(setting.into()));
                    } else if text.starts_with('-') {
                        // An option of another version; ignored.
                    } else if !is_hook {
                        return None;
                    } else if call.agent.is_none() {
                        call.agent = Some(text.to_owned());
                    } else if call.event.is_none() {
                        call.event = Some(text.to_owned());
                    }
                }
            }
        }
        is_hook.then_some(call)
    }

    fn setting(&mut self, argument: Option<OsString>) {
        let argument = argument.and_then(|argument| argument.into_string().ok());
        if let Some((key, value)) = argument.as_deref().and_then(|argument| argument.split_once('=')) {
            self.settings.push((key.trim().to_owned(), value.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &[&str]) -> Option<Call> {
        Call::of(arguments.iter().map(OsString::from))
    }

    #[test]
    fn hooks_are_told_from_other_commands() {
        let hook = Call { agent: Some("codex".into()), event: Some("Stop".into()), ..Call::default() };
        assert_eq!(call(&["hook", "codex", "Stop"]), Some(hook.clone()));
        assert_eq!(call(&["hook", "codex", "Stop", "--later-option", "more"]), Some(hook));
        assert_eq!(call(&["hook"]), Some(Call::default()));
        assert_eq!(call(&["recall", "hook"]), None);
        assert_eq!(call(&["hook", "--help"]), None);
        assert_eq!(call(&[]), None);
    }

    #[test]
    fn global_options_hold_before_and_after() {
        let expected = Call {
            agent: Some("cursor".into()),
            event: Some("stop".into()),
            data_dir: Some("/d".into()),
            settings: vec![("capture.enabled".into(), "no".into())],
        };
        assert_eq!(
            call(&["--data-dir", "/d", "-c", "capture.enabled=no", "--json", "hook", "cursor", "stop"]),
            Some(expected.clone())
        );
        assert_eq!(call(&["hook", "cursor", "stop", "--data-dir=/d", "--config=capture.enabled=no"]), Some(expected));
    }
}
