//! Splits a command line into its simple commands, and takes off wrappers such as `timeout 60`.

/// How a simple command follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// After `;`, `&` or a line break, or the first: it runs whatever became of the one before.
    Then,
    /// After `&&`.
    And,
    /// After `||`.
    Or,
    /// After `|`.
    Pipe,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word without its quotes.
    pub text: String,
    /// True if it was in quotes, at least in part.
    pub is_quoted: bool,
}

/// A simple command: a program with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its words, without redirections. The first may be assignments.
    pub words: Vec<Word>,
    /// How it follows the one before.
    pub link: Link,
    /// Its text as it was written, without line breaks.
    pub text: String,
    /// True if it only starts the next one, such as `sudo` or `timeout`.
    pub is_wrapper: bool,
}

/// Programs that start the command that follows them.
const WRAPPERS: [&str; 11] =
    ["timeout", "gtimeout", "sudo", "time", "nohup", "nice", "env", "xargs", "command", "exec", "caffeinate"];
/// Shells that run a text.
const SHELLS: [&str; 4] = ["bash", "sh", "zsh", "dash"];
/// Words of the shell's grammar before a command.
const KEYWORDS: [&str; 9] = ["do", "then", "else", "elif", "if", "while", "until", "!", "{"];
/// First words of what is no command.
const NO_COMMANDS: [&str; 8] = ["for", "case", "done", "fi", "esac", "}", "function", "select"];
/// Most characters of a command that are read, and most simple commands.
const LONGEST: usize = 8_000;
const MOST_STEPS: usize = 40;

impl Step {
    /// Returns the words after the assignments before the program.
    pub fn called(&self) -> &[Word] {
        let start = self.words.iter().position(|word| !is_assignment(word)).unwrap_or(self.words.len());
        &self.words[start..]
    }

    /// Returns the name of the program without its directory; empty for assignments alone.
    pub fn program(&self) -> &str {
        self.called().first().map_or("", |word| word.text.rsplit('/').next().unwrap_or(&word.text))
    }
}

/// Returns whether a word gives a variable a value: `A=b`.
pub(super) fn is_assignment(word: &Word) -> bool {
    word.text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.as_bytes()[0].is_ascii_digit()
    })
}

/// Returns the simple commands of a command line, in order. A wrapper and the command that it starts are two; so are `bash -c` and
/// the commands in its text.
///
/// ```
/// let steps = yore_core::command::steps("cd web && timeout 60 npm test 2>&1 | tail -5");
/// let programs: Vec<&str> = steps.iter().map(|step| step.program()).collect();
/// assert_eq!(programs, ["cd", "timeout", "npm", "tail"]);
/// ```
pub fn steps(command: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    add(command, Link::Then, true, &mut steps);
    steps.truncate(MOST_STEPS);
    steps
}

fn add(command: &str, first: Link, with_shells: bool, steps: &mut Vec<Step>) {
    for mut step in split(&command[..command.floor_char_boundary(LONGEST)]) {
        if step.link == Link::Then && steps.is_empty() {
            step.link = first;
        }
        while step.words.first().is_some_and(|word| !word.is_quoted && KEYWORDS.contains(&word.text.as_str())) {
            step.words.remove(0);
        }
        if step.words.first().is_none_or(|word| NO_COMMANDS.contains(&word.text.as_str())) {
            continue;
        }
        unwrap(step, with_shells, steps);
    }
}

/// Adds a simple command, with its wrappers before it.
fn unwrap(mut step: Step, with_shells: bool, steps: &mut Vec<Step>) {
    while WRAPPERS.contains(&step.program()) {
        let assignments = step.words.len() - step.called().len();
        let words = &step.words[assignments + 1..];
        let is_own = |word: &&Word| word.text.starts_with('-') || is_measure(&word.text) || is_assignment(word);
        let own = words.iter().take_while(is_own).count();
        let inner = step.words.split_off(assignments + 1 + own);
        let wrapper = Step { is_wrapper: true, ..step.clone() };
        steps.push(wrapper);
        if inner.is_empty() {
            return;
        }
        let text = inner.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        step = Step { words: inner, link: step.link, text, is_wrapper: false };
    }
    let called = step.called();
    if with_shells
        && SHELLS.contains(&step.program())
        && let Some(at) = called.iter().position(|word| matches!(word.text.as_str(), "-c" | "-lc" | "-ic"))
        && let Some(text) = called.get(at + 1).filter(|word| word.is_quoted)
    {
        add(&text.text, step.link, false, steps);
        return;
    }
    if step.program().starts_with("python")
        && let [_, option, module, ..] = called
        && option.text == "-m"
        && !module.is_quoted
    {
        let words = called[2..].to_vec();
        let (link, text) = (step.link, step.text.clone());
        steps.push(Step { words: called[..1].to_vec(), link, text: called[0].text.clone(), is_wrapper: true });
        step = Step { words, link, text, is_wrapper: false };
    }
    steps.push(step);
}

/// Returns whether a word is a duration or a number, as `timeout` takes it.
fn is_measure(word: &str) -> bool {
    let digits = word.trim_end_matches(['s', 'm', 'h']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// A command line that is being read.
struct Reader {
    found: Vec<Step>,
    words: Vec<Word>,
    word: Option<Word>,
    text: String,
    link: Link,
    /// True if the next word is the target of a redirection.
    is_target: bool,
    /// The end of a document in the command, if one begins with this line; read at the line's end.
    document: Option<String>,
    is_document_next: bool,
}

impl Reader {
    fn put(&mut self, letter: char, is_quoted: bool) {
        let word = self.word.get_or_insert_with(|| Word { text: String::new(), is_quoted: false });
        word.text.push(letter);
        word.is_quoted |= is_quoted;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.is_document_next) {
            self.document = Some(word.text);
        } else if !std::mem::take(&mut self.is_target) {
            self.words.push(word);
        }
    }

    fn end_step(&mut self, next: Link) {
        self.end_word();
        let text = std::mem::take(&mut self.text).split_whitespace().collect::<Vec<_>>().join(" ");
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.found.push(Step { words, link: self.link, text, is_wrapper: false });
        }
        self.link = next;
    }
}

/// Returns the simple commands as they are written.
fn split(command: &str) -> Vec<Step> {
    let letters: Vec<char> = command.chars().collect();
    let mut reader = Reader {
        found: Vec::new(),
        words: Vec::new(),
        word: None,
        text: String::new(),
        link: Link::Then,
        is_target: false,
        document: None,
        is_document_next: false,
    };
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        let next = letters.get(at + 1).copied();
        let from = at;
        at += 1;
        match letter {
            '\'' | '"' => {
                reader.word.get_or_insert_with(|| Word { text: String::new(), is_quoted: true }).is_quoted = true;
                while let Some(inner) = letters.get(at).copied() {
                    at += 1;
                    match inner {
                        _ if inner == letter => break,
                        '\\' if letter == '"' => {
                            reader.put(letters.get(at).copied().unwrap_or(inner), true);
                            at += 1;
                        }
                        _ => reader.put(inner, true),
                    }
                }
            }
            '\\' if next == Some('\n') => {
                reader.end_word();
                at += 1;
            }
            '\\' => {
                reader.put(next.unwrap_or('\\'), false);
                at += 1;
            }
            '$' if next == Some('(') => {
                let end = closing(&letters, at);
                letters[from..end].iter().for_each(|inner| reader.put(*inner, true));
                at = end;
            }
            '#' if reader.word.is_none() => {
                while letters.get(at).is_some_and(|inner| *inner != '\n') {
                    at += 1;
                }
                continue;
            }
            '\n' => {
                reader.end_step(Link::Then);
                if let Some(end) = reader.document.take() {
                    at = after_document(&letters, at, &end);
                }
                continue;
            }
            '<' | '>' => {
                // The number of the stream belongs to the redirection.
                let is_stream = reader.word.as_ref().is_some_and(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()));
                if is_stream {
                    reader.word = None;
                }
                reader.end_word();
                let is_document = letter == '<' && next == Some('<') && letters.get(at + 1) != Some(&'<');
                while letters.get(at).is_some_and(|inner| matches!(inner, '<' | '>' | '&' | '|' | '-')) {
                    at += 1;
                }
                reader.is_document_next = is_document;
                reader.is_target = !is_document;
            }
            '&' if next == Some('>') => reader.end_word(),
            '&' if next == Some('&') => {
                reader.end_step(Link::And);
                at += 1;
                continue;
            }
            '|' if next == Some('|') => {
                reader.end_step(Link::Or);
                at += 1;
                continue;
            }
            '|' => {
                reader.end_step(Link::Pipe);
                at += usize::from(next == Some('&'));
                continue;
            }
            ';' | '&' | '(' | ')' => {
                reader.end_step(Link::Then);
                continue;
            }
            _ if letter.is_whitespace() => reader.end_word(),
            _ => reader.put(letter, false),
        }
        reader.text.extend(letters.get(from..at.min(letters.len())).into_iter().flatten());
    }
    reader.end_step(Link::Then);
    reader.found
}

/// Returns the place after the parenthesis that closes the one at `open`.
fn closing(letters: &[char], open: usize) -> usize {
    let mut depth = 0;
    for (at, letter) in letters.iter().enumerate().skip(open) {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    letters.len()
}

/// Returns the place after the line that ends a document.
fn after_document(letters: &[char], from: usize, end: &str) -> usize {
    let rest: String = letters[from.min(letters.len())..].iter().collect();
    let mut place = from;
    for line in rest.split_inclusive('\n') {
        place += line.chars().count();
        if line.trim() == end {
            return place;
        }
    }
    letters.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(command: &str) -> Vec<String> {
        let words = |step: &Step| step.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        steps(command).iter().map(words).collect()
    }

    #[test]
    fn simple_commands_are_found_with_their_words() {
        for (command, expected) in [
            ("a b && c || d; e | f & g", vec!["a b", "c", "d", "e", "f", "g"]),
            ("grep 'a; b' \"c && d\" x\\ y", vec!["grep a; b c && d x y"]),
            ("make 2>&1 >log.txt <in | tee out", vec!["make", "tee out"]),
            (
                "git commit -m \"$(cat <<'EOF'\nfix; it\nEOF\n)\" && git push",
                vec!["git commit -m $(cat <<'EOF'\nfix; it\nEOF\n)", "git push"],
            ),
            ("python3 - <<'EOF'\nimport os; x\nEOF\nls", vec!["python3 -", "ls"]),
            ("# a comment; rm x\nls # more", vec!["ls"]),
            ("A=1 B=$(go env X) make \\\n  all", vec!["A=1 B=$(go env X) make all"]),
            ("timeout 60s env A=b npm test", vec!["timeout 60s", "env A=b", "npm test"]),
            ("bash -lc 'cd x && make'", vec!["cd x", "make"]),
            ("python3 -m pytest -q", vec!["python3", "pytest -q"]),
            ("for f in *; do wc $f; done", vec!["wc $f"]),
            ("(cd a; make)", vec!["cd a", "make"]),
            ("", vec![]),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }

    #[test]
    fn links_say_whether_a_command_depends_on_the_one_before() {
        let links: Vec<Link> = steps("a && b | c || d; e").iter().map(|step| step.link).collect();
        assert_eq!(links, [Link::Then, Link::And, Link::Pipe, Link::Or, Link::Then]);
    }

    proptest! {
        #[test]
        fn any_command_is_split_without_panic(command in "([a-z]{1,4}| |'|\"|\\\\|\\$\\(|\\)|\\(|<<|>|&&?|\\|\\|?|;|\n|#|EOF|é|\\PC){0,40}") {
            for step in steps(&command) {
                prop_assert!(!step.words.is_empty());
            }
        }
    }
}
